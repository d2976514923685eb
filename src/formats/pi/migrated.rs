//! Notes of migration about a compaction's index, for the way back to version 1.

use super::lineage::{IndexMeaning, Lineage};
use super::{was, wire};
use crate::diagnostic::{FieldOutcome, Log};
use crate::json::Json;
use crate::mapping::{Source, without};
use crate::record::{Field, Kind, Record};

/// Name of the note with the members that a migration replaced in an entry.
pub const MIGRATED: &str = "migrated";

/// Returns the noted index, and the record without the note, if the index still means the first
/// kept entry of the record, which has record number `number`. `before` has counted the records
/// before this one.
#[must_use]
pub fn index_of(record: &Record, number: Option<u64>, before: &Lineage) -> Option<(Json, Record)> {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Compaction)?;
    let of = |object: &Json, key| Source::new(object.bytes()).peek(key).ok().flatten();
    let note = of(extra, wire::NOTE)?;
    let migrated = of(&note, MIGRATED)?;
    let index = of(&migrated, wire::FIRST_KEPT_INDEX)?;
    let means = match before.next_first_kept(index.as_bytes()) {
        IndexMeaning::Nowhere => None,
        kept => Some(kept.number()?),
    };
    if means != number || record.node.json(Field::FirstKept).is_some() != number.is_some() {
        return None;
    }
    let node = was::without_note(&record.node, MIGRATED)?;
    Some((index, Record { kind: record.kind, node }))
}

/// Returns a compaction of another version without the member by which version 1 names the first
/// kept entry, if it has this member, which means nothing there.
#[must_use]
pub fn without_index(record: &Record, lineage: &Lineage, log: &Log) -> Option<Record> {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Compaction)?;
    let index = wire::FIRST_KEPT_INDEX;
    // A value that is not a number means nothing in version 1 either.
    extra
        .member(index)
        .filter(|old| lineage.next_first_kept(old.as_bytes()) != IndexMeaning::NoNumber)?;
    let rest = without(extra, index);
    let mut record = record.clone();
    record.node.take(Field::Extra);
    record.node.put(Field::Extra, rest);
    log.count(FieldOutcome::Dropped, &format!("{}.extra.{index}", record.kind.name()));
    Some(record)
}
