//! Repair of a session that is one document.

use super::{Items, Path, Salvaged, salvage};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Reach, RepairIo, RepairOptions, Repaired};
use crate::json::edit::Edits;
use crate::json::{Json, members, text};
use crate::position::Position;
use crate::repair::{mark, nothing_back};
use std::io::{self, Read, Write};
use std::ops::Range;

/// Properties of a format whose sessions are documents.
#[derive(Debug)]
pub struct Rules {
    /// Path of the list.
    pub path: Path,
    /// Whether a JSON value is an item, and not a value from the inside of one.
    pub recognise: fn(&[u8]) -> bool,
    /// Returns an object of the members that the software needs and a document lacks; `None` if
    /// nothing shows which session it is.
    pub lacks: fn(&Json, &RepairOptions) -> Option<Json>,
    /// Adds what the software demands to a document that was put together, and to a whole one where
    /// the user wants to continue the session. `None` where it needs no change.
    pub complete: Option<CompleteFn>,
    /// Member with the object in which repairs are noted, where the software refuses members of the
    /// document that it does not know.
    pub notes_in: Option<&'static str>,
}

/// Returns the text of a document with changes, and the fixes; `None` if there are none. The options
/// are those of the repair.
pub type CompleteFn = fn(&[u8], &RepairOptions, &Cx<'_>) -> Option<(Vec<u8>, Vec<Code>)>;

/// Repairs a session that is one document, which is in memory for that.
///
/// # Errors
/// If nothing of it can be recovered, or reading or writing fails.
pub fn repair(
    rules: &Rules,
    io: &mut dyn RepairIo,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let mut text = Vec::new();
    let limit = cx.options.max_line as u64;
    if io.parts().main()?.take(limit.saturating_add(1)).read_to_end(&mut text).cannot("read")?
        as u64
        > limit
    {
        let message = format!("document of more than {limit} bytes, the limit");
        return Err(Error::unfit(Diagnostic::new(Code::LineTooLong, message)));
    }
    let whole = Items::over(Box::new(io::Cursor::new(text.clone())), rules.path, text.len());
    let items =
        whole.and_then(|mut items| items.try_fold(0, |count, item| item.map(|_| count + 1)));
    let reach = |items| Reach { entries: items, messages: items };
    let resumed = |text: &[u8]| {
        let (mut text, fixes) = rules.complete?(text, wanted, cx)?;
        note(&mut text, &fixes, rules.notes_in);
        Some((text, fixes))
    };
    let at = Position { line: 1, ..Position::default() };
    if let Ok(items) = items {
        io.begin(false)?;
        let done = Repaired { records: items + 1, ..Repaired::default() };
        let done = done.reaching(reach(items), reach(items));
        let Some((text, fixes)) = Some(&text).filter(|_| wanted.resumable).and_then(|t| resumed(t))
        else {
            io.keep("")?;
            return Ok(done);
        };
        fixes.into_iter().for_each(|code| cx.report_at(code, at));
        write(io, &text)?;
        return Ok(Repaired { changed: true, ..done });
    }
    let found = salvage(&text, rules.path, rules.recognise).ok_or_else(nothing_back)?;
    let lacks = (rules.lacks)(&Json::trusted(found.text.clone().into()), wanted);
    let lacks = lacks.ok_or_else(nothing_back)?;
    let mut completed = complete(&text, &found, &lacks, rules.notes_in);
    if let Some((text, fixes)) = resumed(&completed.text) {
        completed.text = text;
        completed.fixes.extend(fixes);
    }
    io.begin(completed.aside.is_some())?;
    if let Some((place, at)) = completed.aside {
        io.aside("", text.get(place).unwrap_or_default(), at, Code::StateRestored)?;
    }
    completed.fixes.into_iter().for_each(|code| cx.report_at(code, at));
    completed.text.push(b'\n');
    write(io, &completed.text)?;
    let done = Repaired {
        changed: true,
        records: found.items + 1,
        rescued: found.items,
        ..Repaired::default()
    };
    Ok(done.reaching(reach(0), reach(found.items)))
}

/// Notes fixes in a document, or in the object of this member.
fn note(text: &mut Vec<u8>, fixes: &[Code], notes_in: Option<&str>) {
    let Some(name) = notes_in.filter(|_| !fixes.is_empty()) else {
        return fixes.iter().for_each(|code| mark(&std::mem::take(text), *code, text));
    };
    let document = Json::trusted(std::mem::take(text).into());
    let own = document.member(name);
    let object = own.clone().filter(Json::is_object);
    let mut inner = object.unwrap_or(Json::constant("{}")).as_bytes().to_vec();
    note(&mut inner, fixes, None);
    let mut edits = Edits::default();
    edits.set(own.map(|own| document.place_of(&own)), name, &inner);
    let close = document.as_bytes().iter().rposition(|byte| *byte == b'}').unwrap_or(0);
    let is_empty = members(document.as_bytes()).next().is_none();
    edits.apply(document.as_bytes(), close, is_empty, text);
}

fn write(io: &mut dyn RepairIo, text: &[u8]) -> Result<()> {
    let mut part = io.create("")?;
    part.write_all(text).and_then(|()| part.flush()).cannot("write")
}

/// Repaired document.
#[derive(Debug)]
pub struct Completed {
    /// Text of the document, with a note of the repair.
    pub text: Vec<u8>,
    /// Bytes of the source that are set aside: all from the first damage on.
    pub aside: Option<(Range<usize>, Position)>,
    /// Fixes that were made.
    pub fixes: Vec<Code>,
}

/// Completes a document that was put together from the pieces of a damaged one. `lacks` is an
/// object of the members that are added, `notes_in` is [`Rules::notes_in`].
#[must_use]
pub fn complete(
    source: &[u8],
    found: &Salvaged,
    lacks: &Json,
    notes_in: Option<&str>,
) -> Completed {
    let mut edits = Edits::default();
    for (key, value) in lacks.members() {
        edits.add(&text::decode(key).unwrap_or_default(), value);
    }
    let close = found.text.len().saturating_sub(1);
    let empty = members(&found.text).next().is_none();
    let mut whole = Vec::new();
    edits.apply(&found.text, close, empty, &mut whole);
    let mut fixes = vec![Code::StateRestored];
    fixes.extend(found.replaced.then_some(Code::Utf8Replaced));
    note(&mut whole, &fixes, notes_in);
    let mut same = source.iter().zip(&whole).take_while(|(a, b)| a == b).count();
    let is_whole = same >= source.trim_ascii_end().len();
    if !is_whole {
        // What a broken piece and the one in its place begin with is a piece of neither.
        let before = source.get(..same).unwrap_or_default();
        let end = before.iter().rposition(|byte| b"{}[],\n".contains(byte));
        same = end.map_or(0, |end| end + 1);
    }
    let before = source.get(..same).unwrap_or_default();
    let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
    let at = Position { line, byte: same as u64, ..Position::default() };
    let aside = (!is_whole).then_some((same..source.len(), at));
    Completed { text: whole, aside, fixes }
}
