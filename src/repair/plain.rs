//! Repair of files whose lines do not depend on each other, except that the first is the header.

use super::{Walk, mark, nothing_back};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reach, Records, RepairIo, RepairOptions, Repaired,
};
use crate::json::Cursor;
use crate::position::Position;

/// Properties of a format with such files.
#[derive(Debug)]
pub struct PlainLines {
    /// Recognition and restoration of all lines, the header included.
    pub records: Records,
    /// Whether a record is the header.
    pub is_header: fn(&[u8]) -> bool,
    /// Makes a header from facts outside of the file, as the name of the file.
    pub header: fn(&RepairOptions) -> Vec<u8>,
}

/// Repairs a session that is one such file.
///
/// # Errors
/// If not one record is there, or reading or writing fails.
pub fn repair_lines(
    rules: &'static PlainLines,
    io: &mut dyn RepairIo,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let mut mend = Plain { rules, wanted, cx, header: None, first: None, ends: Reaches::default() };
    let mut walk = Walk::new("", &rules.records, wanted, cx);
    walk.look(io, &mut mend)?;
    let found = walk.found();
    if found.records == 0 {
        return Err(nothing_back());
    }
    let (before, after) = (mend.ends.before, mend.ends.after);
    let changed = walk.settle(io, &mut mend)?;
    Ok(Repaired { changed, records: found.records, rescued: found.rescued, ..Repaired::default() }
        .reaching(before, after))
}

#[derive(Default)]
struct Reaches {
    before: Reach,
    after: Reach,
}

struct Plain<'a> {
    rules: &'static PlainLines,
    wanted: &'a RepairOptions,
    cx: &'a Cx<'a>,
    /// The first header, and where it is.
    header: Option<(Position, Vec<u8>)>,
    /// Position of the first record.
    first: Option<Position>,
    ends: Reaches,
}

impl Plain<'_> {
    /// Whether the file begins with its header.
    fn is_headed(&self) -> bool {
        self.header.as_ref().is_some_and(|(at, _)| Some(*at) == self.first)
    }

    fn report(&self, code: Code) {
        self.cx.report(Diagnostic::of(code).at(self.first.unwrap_or_default()));
    }
}

impl LineRepair for Plain<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let mut cursor = Cursor::new(record.bytes);
        let whole = cursor.skip_value().and_then(|_| cursor.end()).is_ok();
        if !whole || !(self.rules.records.recognise)(record.bytes) {
            return false;
        }
        self.first.get_or_insert(record.at);
        if (self.rules.is_header)(record.bytes) {
            self.header.get_or_insert_with(|| (record.at, record.bytes.to_vec()));
            return true;
        }
        let read = record.read && self.is_headed();
        for reach in [Some(&mut self.ends.after), read.then_some(&mut self.ends.before)] {
            let Some(reach) = reach else { continue };
            reach.entries += 1;
            reach.messages += 1;
        }
        true
    }

    fn changes(&self) -> bool {
        !self.is_headed()
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_headed() {
            return;
        }
        match &self.header {
            Some((_, header)) => {
                self.report(Code::HeaderMoved);
                mark(header, Code::HeaderMoved, out);
            }
            None => {
                self.report(Code::HeaderRebuilt);
                mark(&(self.rules.header)(self.wanted), Code::HeaderRebuilt, out);
            }
        }
        out.push(b'\n');
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let moved =
            !self.is_headed() && self.header.as_ref().is_some_and(|(at, _)| *at == record.at);
        if moved {
            return None;
        }
        match record.repaired {
            Some(code) => mark(record.bytes, code, out),
            None => out.extend_from_slice(record.bytes),
        }
        out.push(b'\n');
        None
    }
}
