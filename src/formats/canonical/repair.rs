//! Repair of a stream: records that are whole stay, all else goes. A record has no place for a note
//! of what was done to it, so none is mended.

use super::read::parse;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Bench, Cx, Mend, Reach, Records, Repaired, Rescued, Wish};
use crate::lines::Line;
use crate::position::Position;
use crate::record::Kind;
use crate::repair::{Walk, nothing_back};
use bytes::Bytes;

static RECORDS: Records = Records {
    begins: &[b"{\"kind\":"],
    recognise: |object| kind_of(object).is_some(),
    restore: |_| None,
};

fn kind_of(line: &[u8]) -> Option<Kind> {
    let bytes = Bytes::copy_from_slice(line.trim_ascii());
    let line = Line { bytes: &bytes, at: Position::default(), terminated: true };
    parse(&line, &bytes).ok().map(|record| record.kind)
}

/// Repairs a stream.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(bench: &mut dyn Bench, wish: &Wish, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = Stream::default();
    let mut walk = Walk::new("", &RECORDS, wish, cx);
    walk.look(bench, &mut mend)?;
    let found = walk.found();
    if mend.after.entries == 0 {
        return Err(nothing_back());
    }
    bench.begin(walk.removes(&mend))?;
    let changed = walk.changes(&mend);
    walk.write(bench, &mut mend)?;
    let (records, rescued) = (mend.after.entries, found.rescued);
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }
        .reaching(mend.before, mend.after))
}

#[derive(Default)]
struct Stream {
    before: Reach,
    after: Reach,
}

impl Mend for Stream {
    fn look(&mut self, record: &Rescued<'_>) -> bool {
        let Some(kind) = kind_of(record.bytes) else { return false };
        if record.repaired.is_some() {
            return true;
        }
        for reach in [Some(&mut self.after), record.read.then_some(&mut self.before)] {
            let Some(reach) = reach else { continue };
            reach.entries += 1;
            reach.messages += u64::from(kind == Kind::Message);
        }
        true
    }

    fn changes(&self) -> bool {
        false
    }

    fn write(&mut self, record: &Rescued<'_>, out: &mut Vec<u8>) -> Option<Code> {
        if record.repaired.is_none() {
            out.extend_from_slice(record.bytes);
            out.push(b'\n');
        }
        record.repaired
    }
}
