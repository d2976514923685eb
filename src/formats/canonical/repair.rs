//! Repair of a stream: whole records stay, everything else is removed. A record has no place for a
//! note of a repair, so the repair edits none; it reports the faults of the tree that the records
//! make.

use super::naming::Naming;
use super::read::headless;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reaches, Records, RepairIo, RepairOptions, Repaired,
};
use crate::lines::Line;
use crate::mapping::record_text::parse;
use crate::position::{Located, Position};
use crate::record::{Kind, Record};
use crate::repair::{Walk, nothing_back};
use crate::tree::Shape;
use bytes::Bytes;

static RECORDS: Records = Records {
    begins: &[b"{\"kind\":"],
    recognise: |object| record(object).is_some(),
    restore: |_| None,
};

fn record(line: &[u8]) -> Option<Record> {
    let bytes = Bytes::copy_from_slice(line.trim_ascii());
    let line = Line { bytes: &bytes, at: Position::default(), terminated: true };
    parse(&line, &bytes).ok()
}

/// Repairs a stream.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = Stream::new(cx);
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(io, &mut mend)?;
    let found = walk.found();
    if mend.reaches.after.entries == 0 {
        return Err(nothing_back());
    }
    let changed = walk.settle(io, &mut mend)?;
    match mend.headless {
        Some(found) => cx.report(found),
        None => mend.shape.finish().findings().for_each(|found| cx.report(found)),
    }
    let (records, rescued) = (mend.reaches.after.entries, found.rescued);
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }
        .reaching(mend.reaches.before, mend.reaches.after))
}

struct Stream<'a> {
    reaches: Reaches,
    /// Naming of the records that stay.
    naming: Naming<'a>,
    shape: Shape,
    /// Finding for a record before the session record, if there is one.
    headless: Option<Diagnostic>,
}

impl<'a> Stream<'a> {
    fn new(cx: &'a Cx<'a>) -> Self {
        let shape = Shape::within(cx.options.index_memory);
        // Entries without identifiers are reported if others have some, regardless of the source.
        let naming = Naming::new(|_| false, cx);
        Self { reaches: Reaches::default(), naming, shape, headless: None }
    }
}

impl LineRepair for Stream<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let Some(value) = self::record(record.bytes) else { return false };
        if record.repaired.is_some() {
            return true;
        }
        self.reaches.count(value.kind == Kind::Message, record.read);
        let at = Position { record: self.reaches.after.entries, ..record.at };
        let mut located = Located { value, at };
        self.naming.record(&mut located);
        let kind = located.value.kind;
        if !self.naming.has_begun() && kind.is_named() {
            self.headless.get_or_insert_with(|| headless(kind).at(record.at));
        }
        self.shape.record(&located);
        true
    }

    fn changes(&self) -> bool {
        false
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        if record.repaired.is_none() {
            out.extend_from_slice(record.bytes);
            out.push(b'\n');
        }
        record.repaired
    }
}
