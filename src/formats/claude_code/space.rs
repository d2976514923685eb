//! Identifiers in the files of sub-agents: a space of their own in each file. A side question's
//! file, for example, begins with lines of the conversation.

use super::line;
use super::members::key;
use super::uuid::uuid_of;
use crate::json::Json;
use crate::record::{Field, Record};
use std::collections::{HashMap, HashSet};

/// Identifiers of the file that is read, and of all before it.
#[derive(Debug, Default)]
pub struct Space {
    /// Keys of the identifiers that other files have.
    taken: HashSet<u64>,
    /// Name of each line of this file, by the key of its identifier.
    names: HashMap<u64, Json>,
    last: Option<Json>,
}

impl Space {
    /// Begins with the identifiers of the conversation.
    #[must_use]
    pub fn beside(taken: HashSet<u64>) -> Self {
        Self { taken, ..Self::default() }
    }

    /// Begins a file.
    pub fn begin(&mut self) {
        let names = std::mem::take(&mut self.names);
        self.taken.extend(names.values().map(|name| key(name.as_bytes())));
        self.last = None;
    }

    /// Whether a line before has the identifier of this one.
    #[must_use]
    pub fn has(&self, records: &[Record]) -> bool {
        let id = records.last().and_then(|last| last.node.json(Field::Id));
        id.is_some_and(|id| self.names.contains_key(&key(id.as_bytes())))
    }

    /// Gives the records of a line names that no other file has. A line whose parent is not in the
    /// file follows the line before it, as in the conversation.
    pub fn link(&mut self, records: &mut [Record], part: &str) {
        let line = records.last().and_then(|last| last.node.json(Field::Id)).cloned();
        let (Some(line), Some(first)) = (line, records.first_mut()) else { return };
        let parent = first.node.json(Field::Parent).filter(|parent| !parent.is_null());
        if let Some(parent) = parent.cloned() {
            let known = self.names.get(&key(parent.as_bytes())).or(self.last.as_ref());
            let new = known.cloned().unwrap_or(Json::constant("null"));
            if new != parent {
                line::reparent(&mut first.node, new);
            }
        }
        if self.taken.contains(&key(line.as_bytes())) {
            line::keep_id(&mut first.node, &line);
        }
        let mut before = None;
        for record in records {
            let Some(id) = record.node.json(Field::Id).cloned() else { continue };
            let mut name = id.clone();
            if self.taken.contains(&key(line.as_bytes())) {
                name = Json::string(&uuid_of(&[part.as_bytes(), id.as_bytes()].concat()));
                record.node.set(Field::Id, name.clone());
            }
            if let Some(before) = before.replace(name.clone()) {
                record.node.set(Field::Parent, before);
            }
            self.names.insert(key(id.as_bytes()), name.clone());
            self.last = Some(name);
        }
    }
}
