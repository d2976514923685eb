//! Repair of a rollout: whole records stay, everything else is set aside.

use super::{line, read, wire};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Cx, Mend, Reach, Records, RepairIo, RepairOptions, Repaired, Rescued};
use crate::json::Json;
use crate::record::{Kind, Record};
use crate::repair::{Walk, nothing_back};
use bytes::Bytes;

static RECORDS: Records = Records {
    begins: &[b"{\"timestamp\":", b"{\"type\":\"message\",", b"{\"record_type\":"],
    recognise: |object| object_of(object).is_some(),
    restore: |_| None,
};

fn object_of(bytes: &[u8]) -> Option<Json> {
    let bytes = Bytes::copy_from_slice(bytes.trim_ascii());
    let value = read::value(&bytes).ok().filter(|_| std::str::from_utf8(&bytes).is_ok())?;
    super::what(&value).is_some().then_some(value)
}

/// Repairs a rollout.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(bench: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = Rollout::default();
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
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
struct Rollout {
    before: Reach,
    after: Reach,
}

impl Mend for Rollout {
    fn look(&mut self, record: &Rescued<'_>) -> bool {
        let bytes = Bytes::copy_from_slice(record.bytes);
        let Some(value) = read::value(&bytes).ok().filter(|v| v.as_bytes().starts_with(b"{"))
        else {
            return false;
        };
        let bare = value.member("payload").is_none();
        let Record { kind, .. } = line::read(&value, bare);
        for reach in [Some(&mut self.after), record.read.then_some(&mut self.before)] {
            let Some(reach) = reach else { continue };
            reach.entries += 1;
            reach.messages += u64::from(kind == Kind::Message);
        }
        let _ = wire::META;
        true
    }

    fn changes(&self) -> bool {
        false
    }

    fn write(&mut self, record: &Rescued<'_>, out: &mut Vec<u8>) -> Option<Code> {
        out.extend_from_slice(record.bytes);
        out.push(b'\n');
        None
    }
}
