//! The records of a file beside which an origin is.

use super::record_key::RecordKey;
use super::record_store::RecordStore;
use crate::error::Result;
use crate::format::{Cx, Format, Parts, Reader};
use crate::formats::{Spec, canonical};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The records of a file as it is now.
pub struct FileRecords {
    /// The records.
    pub store: RecordStore,
    /// Key of each record.
    pub names: Vec<RecordKey>,
    /// Position of each record, if the user can look there.
    pub places: Vec<Position>,
    /// Records that a model reads in the place of the file's records.
    pub replacements: BTreeMap<u32, Record>,
    /// Numbers of records that repeat others, and contain nothing of their own.
    pub again: HashSet<u32>,
    /// Numbers of records that the reader added: they are nowhere in the file.
    pub put_in: HashSet<u32>,
    /// Whether a message follows another one than the one before it.
    pub branches: bool,
}

impl FileRecords {
    /// Returns a file without records.
    pub fn on(store: RecordStore) -> Self {
        Self {
            store,
            names: Vec::new(),
            places: Vec::new(),
            replacements: BTreeMap::new(),
            again: HashSet::new(),
            put_in: HashSet::new(),
            branches: false,
        }
    }

    /// Returns a record as a model reads it.
    pub fn record(&mut self, number: u32) -> Result<Record> {
        match self.replacements.get(&number) {
            _ if self.again.contains(&number) => Ok(Record::new(Kind::Opaque)),
            Some(record) => Ok(record.clone()),
            None => canonical::record(&self.store.line(number)?),
        }
    }

    /// Returns the format of the file, by the record of its session.
    pub fn format(&mut self) -> Result<Option<Spec>> {
        if self.names.is_empty() {
            return Ok(None);
        }
        let source = self.record(0)?.node.text(Field::Source);
        Ok(source.and_then(|source| Spec::parse(&source).ok()))
    }

    /// Whether the file is of another format than the source.
    pub fn is_foreign(&mut self, source: Option<Spec>) -> Result<bool> {
        let file = self.format()?;
        Ok(source.zip(file).is_some_and(|(own, file)| own.format.name != file.format.name))
    }

    /// Reads a file.
    pub fn of(
        format: &Format,
        parts: &mut dyn Parts,
        store: RecordStore,
        cx: &Cx<'_>,
    ) -> Result<Self> {
        Self::read(format.records(parts, cx)?, format.links(), store)
    }

    /// Collects the records of a reader. `links` states whether the entries of the format have
    /// links.
    pub fn read(reader: Reader<'_>, links: bool, store: RecordStore) -> Result<Self> {
        let (mut now, mut last) = (Self::on(store), None);
        for item in reader {
            let located = item?;
            // Playback follows the record that it repeats.
            if located.value.is_repetition() {
                continue;
            }
            if located.value.is_node() && !located.value.is_aside() {
                let node = &located.value.node;
                let parent = node.json(Field::Parent).filter(|parent| !parent.is_null());
                now.branches |= parent != last.as_ref();
                last = node.json(Field::Id).cloned();
            }
            if located.value.is_restored() {
                now.put_in.insert(now.names.len() as u32);
            }
            now.names.push(RecordKey::of(&located.value, links));
            now.places.push(located.at);
            now.store.add(&located.value)?;
        }
        Ok(now)
    }

    /// Replaces identifiers in these fields of all records.
    pub fn rename(&mut self, fields: &[Field], names: &HashMap<Json, Json>) -> Result<()> {
        for number in 0..self.names.len() as u32 {
            let mut record = self.record(number)?;
            let mut changed = false;
            for field in fields {
                let Some(before) = record.node.json(*field) else { continue };
                let after = renamed(before, names);
                if after != *before {
                    record.node.set(*field, after);
                    changed = true;
                }
            }
            if changed {
                self.replacements.insert(number, record);
            }
        }
        Ok(())
    }
}

/// Replaces the identifiers of messages in references.
pub fn renamed(list: &Json, names: &HashMap<Json, Json>) -> Json {
    if list.as_bytes().first() != Some(&b'[') {
        return names.get(list).unwrap_or(list).clone();
    }
    Json::list(list.elements().map(|item| renamed(&item, names)))
}
