//! Keys by which records of a file are recognised.

use super::matching::align::Tag;
use super::record_hash;
use crate::ids::hash;
use crate::record::{Field, Record};

/// Key by which a record of the file is recognised.
#[derive(Clone, Copy, Debug)]
pub struct RecordKey {
    pub tag: Tag,
    pub hash: u64,
    /// Hash of the record's identifier, where the file has one for each entry; otherwise 0.
    pub id: u64,
}

impl RecordKey {
    /// Builds the key of a record. `named` states whether the entries of the file have identifiers.
    pub fn of(record: &Record, named: bool) -> Self {
        let id = record.node.json(Field::Id).filter(|_| named && record.is_node());
        let own = id.filter(|_| record.node.get(Field::IdMade).is_none());
        let id = own.map_or(0, |id| hash(id.as_bytes()));
        Self { tag: Tag::of(record), hash: record_hash::of(record), id }
    }

    /// Whether the record of this key may be the record of the other key, edited.
    pub fn may_be(&self, other: &Self, ids: bool) -> bool {
        self.tag == other.tag && !(ids && self.id != 0 && other.id != 0 && self.id != other.id)
    }
}
