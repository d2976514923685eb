//! Repair of a rollout.
//!
//! Every whole line stays. The line about the session goes to the front, or is made of the file's
//! name, because Codex opens no file without one. In a numbered rollout to which an older release
//! appended, the lines behind the last number get numbers: newer releases refuse the file
//! otherwise. Calls without results stay, because Codex completes them itself.

use super::foreign::uuid;
use super::{line, read, template, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{Cx, Mend, Reach, Records, RepairIo, RepairOptions, Repaired, Rescued};
use crate::ids::is_uuid;
use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node};
use crate::repair::{Fixes, Walk, mark, nothing_back};
use bytes::Bytes;

static RECORDS: Records = Records {
    begins: &[
        b"{\"timestamp\":",
        b"{\"record_type\":",
        b"{\"type\":\"message\",",
        b"{\"type\":\"function_call",
        b"{\"type\":\"reasoning\",",
    ],
    recognise,
    // Of a torn item the releases need more than its complete members, so it is set aside.
    restore: |_| None,
};

/// Whether an object is a line of a rollout.
fn recognise(object: &[u8]) -> bool {
    object_of(object).is_some_and(|object| super::what(&object).is_some())
}

fn object_of(bytes: &[u8]) -> Option<Json> {
    let bytes = Bytes::copy_from_slice(bytes.trim_ascii());
    std::str::from_utf8(&bytes).ok()?;
    read::value(&bytes).ok().filter(|value| value.as_bytes().starts_with(b"{"))
}

/// Repairs a rollout.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(bench: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = Rollout { name: wanted.name.clone(), ..Rollout::default() };
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(bench, &mut mend)?;
    let found = walk.found();
    if mend.after.entries == 0 {
        return Err(nothing_back());
    }
    mend.decide(cx);
    bench.begin(walk.removes(&mend))?;
    let changed = walk.changes(&mend);
    walk.write(bench, &mut mend)?;
    let (records, rescued) = (mend.after.entries, found.rescued);
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }
        .reaching(mend.before, mend.after))
}

/// Facts about a rollout, and what is written of it.
#[derive(Default)]
struct Rollout {
    /// The file's name.
    name: String,
    before: Reach,
    after: Reach,
    /// The line about the session, and its place among the records.
    header: Option<(u64, Bytes)>,
    /// Whether the lines are bare items.
    bare: bool,
    /// Time and folder that the lines name first.
    time: Option<Json>,
    cwd: Option<Json>,
    /// The last number of a line, and the place of that line among the records.
    numbered: Option<(u64, u64)>,
    /// Whether a line behind the last number lacks one.
    lacks_numbers: bool,
    /// Place of the record that is written next, and its number.
    place: u64,
    next: u64,
    /// Whether records are set aside.
    removes: bool,
    /// The line to be written first.
    begin: Option<Vec<u8>>,
}

impl Rollout {
    fn note(&mut self, object: &Json) {
        let number = object.member("ordinal").and_then(|number| number.float());
        if let Some(number) = number {
            self.numbered = Some((number as u64, self.after.entries));
            self.lacks_numbers = false;
        } else if self.numbered.is_some() && is_counted(object) {
            self.lacks_numbers = true;
        }
        let payload = object.member("payload");
        if self.after.entries == 0 {
            self.bare = payload.is_none();
        }
        self.time = self.time.take().or_else(|| own(object.member("timestamp")));
        let settings = is_of(object, wire::TURN_CONTEXT).then(|| payload?.member("cwd")).flatten();
        self.cwd = self.cwd.take().or_else(|| own(settings));
        let first = self.header.is_none() && line::read_meta(object).is_some();
        if first {
            self.header = Some((self.after.entries, object.bytes().clone()));
        }
    }

    /// Whether an object is set aside: a replaced byte in a name makes another member of it, and a
    /// bare item in a torn line of a later version is a part of that line.
    fn is_refused(&self, record: &Rescued<'_>, object: &Json) -> bool {
        let part = !record.read && !self.bare && object.member("payload").is_none();
        part || (record.repaired.is_some() && has_spoiled_name(object, DEEPEST))
    }

    /// Decides on the first line.
    fn decide(&mut self, cx: &Cx<'_>) {
        if self.lacks_numbers {
            cx.report(Diagnostic::new(Code::LineNumbered, Code::LineNumbered.title()));
        }
        let (line, code) = match &self.header {
            Some((0, _)) => return,
            Some((_, line)) => (line.to_vec(), Code::HeaderMoved),
            None => (self.header_of_name(), Code::HeaderRebuilt),
        };
        cx.report(Diagnostic::new(code, code.title()));
        let mut begin = Vec::new();
        match code {
            Code::HeaderRebuilt => mark(&line, code, &mut begin),
            _ => begin = line,
        }
        self.begin = Some(begin);
    }

    /// Makes a line about the session of the file's name and what the lines tell.
    fn header_of_name(&self) -> Vec<u8> {
        let mut node = Node::default();
        let name = self.name.split('.').next().unwrap_or_default();
        let id = name.len().checked_sub(36).and_then(|at| name.get(at..)).filter(|id| is_uuid(id));
        node.set(Field::Name, Json::string(name));
        let id = id.map_or_else(|| uuid(&node, None), str::to_owned);
        let time = self.time.clone().unwrap_or(Json::constant("\"1970-01-01T00:00:00.000Z\""));
        node.set(Field::Id, Json::string(&id));
        node.set(Field::Created, time.clone());
        node.set(Field::Time, time);
        let mut out = Vec::new();
        if self.bare {
            template::write(None, wire::HEAD_SLOTS, &node, &mut out);
            return out;
        }
        node.set(Field::Cwd, self.cwd.clone().unwrap_or(Json::constant("\"/\"")));
        let mut payload = Extra::default();
        for (name, value) in [
            (&b"\"id\""[..], &b"null"[..]),
            (b"\"timestamp\"", b"null"),
            (b"\"cwd\"", b"null"),
            (b"\"originator\"", b"\"copyist\""),
            (b"\"cli_version\"", b"\"0.0.0\""),
            (b"\"source\"", b"\"cli\""),
        ] {
            payload.add(name, value);
        }
        if self.numbered.is_some() {
            payload.add(b"\"history_mode\"", b"\"paginated\"");
        }
        let mut extra = Extra::default();
        if self.numbered.is_some() {
            extra.add(b"\"ordinal\"", b"0");
        }
        extra.add(b"\"payload\"", payload.finish().unwrap_or_default().as_bytes());
        extra.finish().into_iter().for_each(|extra| node.set(Field::Extra, extra));
        line::write_meta(&node, false, &mut out);
        out
    }
}

/// Maximum depth at which names of members are looked at.
const DEEPEST: usize = 8;

/// Whether a name of a member holds a replaced byte.
fn has_spoiled_name(value: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let spoiled = |key: &Json| key.text().is_none_or(|name| name.contains('\u{fffd}'));
    let inside = |value: &Json| has_spoiled_name(value, depth);
    value.pairs().iter().any(|(key, value)| spoiled(key) || inside(value))
        || value.elements().any(|value| inside(&value))
}

/// Returns a string with bytes of its own, so that it does not keep its line in memory.
fn own(value: Option<Json>) -> Option<Json> {
    let value = value.filter(|value| value.as_bytes().starts_with(b"\""))?;
    Some(Json::checked(value.as_bytes().to_vec().into()))
}

fn is_of(object: &Json, wire: &str) -> bool {
    object.member("type").is_some_and(|kind| kind.text().as_deref() == Some(wire))
}

/// Whether a line must have a number in a numbered rollout: lines of unknown types need none.
fn is_counted(object: &Json) -> bool {
    super::LINES.iter().any(|wire| is_of(object, wire)) && object.member("payload").is_some()
}

impl Mend for Rollout {
    fn look(&mut self, record: &Rescued<'_>) -> bool {
        let Some(object) = object_of(record.bytes) else { return false };
        if self.is_refused(record, &object) {
            self.removes = true;
            return true;
        }
        self.note(&object);
        let bare = object.member("payload").is_none();
        let message = line::read(&object, bare).kind == Kind::Message;
        for reach in [Some(&mut self.after), record.read.then_some(&mut self.before)] {
            let Some(reach) = reach else { continue };
            reach.entries += 1;
            reach.messages += u64::from(message);
        }
        true
    }

    fn changes(&self) -> bool {
        self.begin.is_some() || self.lacks_numbers || self.removes
    }

    fn removes(&self) -> bool {
        self.removes
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(line) = &self.begin {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        self.next = self.numbered.map_or(0, |(last, _)| last + 1);
    }

    fn write(&mut self, record: &Rescued<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let object = object_of(record.bytes);
        if object.as_ref().is_some_and(|object| self.is_refused(record, object)) {
            return Some(record.repaired.unwrap_or(Code::TornRecord));
        }
        let place = self.place;
        self.place += 1;
        let moved =
            self.begin.is_some() && self.header.as_ref().is_some_and(|(at, _)| *at == place);
        if moved {
            return None;
        }
        let late = self.numbered.is_some_and(|(_, last)| place > last);
        let mut fixes = Fixes::default();
        record.repaired.into_iter().for_each(|code| fixes.note(code, None));
        let mut line = record.bytes.to_vec();
        if let Some(object) = object.filter(|object| late && is_counted(object)) {
            line.clear();
            number(&object, self.next, &mut line);
            self.next += 1;
            fixes.note(Code::LineNumbered, None);
        }
        if fixes.is_empty() {
            out.extend_from_slice(&line);
        } else {
            fixes.apply(&line, out);
        }
        out.push(b'\n');
        None
    }
}

/// Writes a line with a number behind its time.
fn number(object: &Json, number: u64, out: &mut Vec<u8>) {
    let mut members = Extra::default();
    for (key, value) in object.members() {
        members.add(key, value);
        if text::is(key, "timestamp") {
            members.add(b"\"ordinal\"", number.to_string().as_bytes());
        }
    }
    out.extend_from_slice(members.finish().unwrap_or_default().as_bytes());
}
