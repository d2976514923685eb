//! Repair of a session that is one document.

use super::{Items, Path, salvage};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Reach, RepairIo, RepairOptions, Repaired};
use crate::json::Json;
use crate::mapping::Object;
use crate::position::Position;
use crate::repair::{mark, nothing_back};
use std::io::{self, Read, Write};

/// Properties of a format whose sessions are documents.
#[derive(Debug)]
pub struct Rules {
    /// Path of the list.
    pub path: Path,
    /// Whether a JSON value is an item, and not a value from the inside of one.
    pub recognise: fn(&[u8]) -> bool,
    /// Returns the members that the software needs and a document lacks; `None` if nothing shows
    /// which session it is.
    pub lacks: fn(&Json, &RepairOptions) -> Option<Vec<(&'static str, Json)>>,
}

/// Repairs a session that is one document, which is in memory for that.
///
/// # Errors
/// If nothing of it can be recovered, or reading or writing fails.
pub fn repair(
    rules: &Rules,
    bench: &mut dyn RepairIo,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let mut text = Vec::new();
    let limit = cx.options.max_line as u64;
    let read = bench.parts().main()?.take(limit.saturating_add(1)).read_to_end(&mut text);
    if read.map_err(|error| Error::io("cannot read", error))? as u64 > limit {
        let message = format!("document of more than {limit} bytes, the limit");
        return Err(Error::unfit(Diagnostic::new(Code::LineTooLong, message)));
    }
    let whole = Items::over(Box::new(io::Cursor::new(text.clone())), rules.path, text.len());
    let items =
        whole.and_then(|mut items| items.try_fold(0, |count, item| item.map(|_| count + 1)));
    let reach = |items| Reach { entries: items, messages: items };
    if let Ok(items) = items {
        bench.begin(false)?;
        bench.keep("")?;
        let done = Repaired { records: items + 1, ..Repaired::default() };
        return Ok(done.reaching(reach(items), reach(items)));
    }
    let found = salvage(&text, rules.path, rules.recognise).ok_or_else(nothing_back)?;
    let document = Json::checked(found.text.into());
    let lacks = (rules.lacks)(&document, wanted).ok_or_else(nothing_back)?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.members_of(&document);
    lacks.iter().for_each(|(name, value)| object.member(name, value.as_bytes()));
    object.close();
    bench.begin(!found.lost.is_empty())?;
    for (place, code) in &found.lost {
        let (bytes, at) = (text.get(place.clone()).unwrap_or_default(), at(&text, place.start));
        cx.report(Diagnostic::new(*code, code.title()).at(at).showing(bytes, 0));
        bench.aside("", bytes, at, *code)?;
    }
    cx.report(Diagnostic::new(Code::StateRestored, Code::StateRestored.title()).at(at(&text, 0)));
    let mut marked = Vec::new();
    mark(&out, Code::StateRestored, &mut marked);
    marked.push(b'\n');
    let mut part = bench.create("")?;
    let written = part.write_all(&marked).and_then(|()| part.flush());
    written.map_err(|error| Error::io("cannot write", error))?;
    let done = Repaired {
        changed: true,
        records: found.items + 1,
        rescued: found.items,
        ..Repaired::default()
    };
    Ok(done.reaching(reach(0), reach(found.items)))
}

fn at(text: &[u8], byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or_default();
    let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
    Position { line, byte: byte as u64, ..Position::default() }
}
