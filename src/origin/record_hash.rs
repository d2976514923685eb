//! Hashes by which records are matched: equal for two records with the same content.

use crate::formats::canonical;
use crate::ids::hash;
use crate::record::{Field, Kind, Record};

/// Fields that describe the spelling of a file, or that a reader made up, and so show no edit.
const APART: &[Field] = &[
    Field::IdMade,
    Field::File,
    Field::Layout,
    Field::Group,
    Field::Source,
    // Migration adds these to entries, and keeps the identifier of a session.
    Field::Id,
    Field::Parent,
];

/// Computes the hash of a record's content, its spelling apart.
pub fn of(record: &Record) -> u64 {
    let own = |field| record.kind == Kind::Session && field == Field::Id;
    let counts = |field| own(field) || !APART.contains(&field);
    let mut text = Vec::with_capacity(1 << 10);
    canonical::normal_line_of(record, &counts, &mut text);
    hash(&text)
}
