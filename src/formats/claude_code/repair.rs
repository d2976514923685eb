//! Repair of a transcript: whole lines come back, also out of glued ones; everything else is set aside.

use super::wire;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Cx, Mend, Reach, Records, RepairIo, RepairOptions, Repaired, Rescued};
use crate::json::{Cursor, Json, salvage, text};
use crate::repair::{Walk, mark, nothing_back};

/// Recognition of lines, and restoration of torn ones.
static RECORDS: Records = Records { begins: BEGINS, recognise, restore };

/// Beginnings of lines.
const BEGINS: &[&[u8]] = &[b"{\"parentUuid\":", b"{\"type\":", b"{\"logicalParentUuid\":"];

/// Whether an object is a line, not an object from inside a line.
fn recognise(object: &[u8]) -> bool {
    if std::str::from_utf8(object).is_err() {
        return false;
    }
    let mut cursor = Cursor::new(object);
    let (mut typed, mut linked) = (false, false);
    if cursor.begin_object().is_err() {
        return false;
    }
    while let Ok(Some(key)) = cursor.next_key() {
        let string = cursor.peek() == Some(b'"');
        let key = key.of(object);
        typed |= string && text::is(key, "type");
        linked |= ["sessionId", "leafUuid", "messageId", "uuid", wire::PARENT]
            .iter()
            .any(|name| text::is(key, name));
        if cursor.skip_value().is_err() {
            return false;
        }
    }
    typed && linked
}

/// Returns the complete members of a torn line, if they make a line. A message without content is
/// none: older releases end with an error on it.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(String::from_utf8_lossy(torn).as_bytes()).filter(|o| recognise(o))?;
    let line = Json::checked(object.clone().into());
    let kind = line.member("type").and_then(|kind| kind.text());
    let spoken = kind.is_some_and(|kind| ["user", "assistant"].contains(&kind.as_str()));
    let content = || line.member("message")?.member("content");
    let empty = |content: Json| matches!(content.as_bytes(), b"" | b"\"\"" | b"[]" | b"null");
    (!spoken || content().is_some_and(|content| !empty(content))).then_some(object)
}

/// Whether a line is one JSON object in UTF-8.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let mut cursor = Cursor::new(line);
    let object = line.starts_with(b"{") && std::str::from_utf8(line).is_ok();
    object && cursor.skip_value().is_ok() && cursor.end().is_ok()
}

/// Repairs a session.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(bench: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut lines = Lines::default();
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(bench, &mut lines)?;
    let found = walk.found();
    if lines.after.entries == 0 {
        return Err(nothing_back());
    }
    bench.begin(walk.removes(&lines))?;
    let changed = walk.changes(&lines);
    walk.write(bench, &mut lines)?;
    let (records, rescued) = (lines.after.entries, found.rescued);
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }
        .reaching(lines.before, lines.after))
}

#[derive(Default)]
struct Lines {
    before: Reach,
    after: Reach,
}

impl Mend for Lines {
    fn look(&mut self, record: &Rescued<'_>) -> bool {
        if !is_whole(record.bytes) {
            return false;
        }
        self.after.entries += 1;
        self.before.entries += u64::from(record.read);
        true
    }

    fn changes(&self) -> bool {
        false
    }

    fn write(&mut self, record: &Rescued<'_>, out: &mut Vec<u8>) -> Option<Code> {
        match record.repaired {
            Some(code) => mark(record.bytes, code, out),
            None => out.extend_from_slice(record.bytes),
        }
        out.push(b'\n');
        None
    }
}
