//! What migration noted of a compaction's index, on the way back to version 1.

use super::lineage::{Kept, Lineage};
use super::{was, wire};
use crate::json::Json;
use crate::mapping::Source;
use crate::record::{Field, Kind, Record};

/// In what copyist notes of an entry, what a migration replaced.
pub const MIGRATED: &str = "migrated";

/// The index that was noted, and the record without the note, if behind these records it means the
/// first kept entry that the record has now: that of this number.
#[must_use]
pub fn index_of(record: &Record, number: Option<u64>, before: &Lineage) -> Option<(Json, Record)> {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Compaction)?;
    let of = |object: &Json, key| Source::new(object.bytes()).peek(key).ok().flatten();
    let note = of(extra, wire::NOTE)?;
    let migrated = of(&note, MIGRATED)?;
    let index = of(&migrated, wire::FIRST_KEPT_INDEX)?;
    let means = match before.kept_by_next(index.as_bytes()) {
        Kept::Nowhere => None,
        kept => Some(kept.number()?),
    };
    if means != number || record.node.json(Field::FirstKept).is_some() != number.is_some() {
        return None;
    }
    let node = was::without_note(&record.node, MIGRATED)?;
    Some((index, Record { kind: record.kind, node }))
}
