//! Parents of new entries, where the file is a tree.

use crate::context::{as_message, is_plain};
use crate::error::Result;
use crate::format::Context;
use crate::formats::Spec;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::record::{Field, Kind, Record};
use std::collections::HashMap;

/// Entries of a tree that new entries follow.
#[derive(Default)]
pub struct ParentLinks {
    /// Format and version of the file.
    pub file_format: Option<Spec>,
    /// Whether the file is a tree, or has new messages of a sub-agent.
    pub tree: bool,
    /// Rules by which the file's agent sends records to a model.
    rules: Option<Box<dyn Context>>,
    /// Parents of new entries by their identifiers in the file, with their identifiers in the
    /// source once these are known.
    wanted: HashMap<Json, Option<Json>>,
    /// Entries of the file that the source does not have, and their parents.
    passed: HashMap<Json, Json>,
    /// Identifiers of new entries in the file and in the source.
    new: HashMap<Json, Json>,
    /// New leaf that the file names, by its identifiers in the file and in the source.
    new_leaf: Option<(Json, Option<Json>)>,
}

impl ParentLinks {
    /// Collects the parents of these new records of the file.
    pub fn of(now: &mut FileRecords, new: &[u32]) -> Result<Self> {
        let mut parent_links = Self::default();
        if now.names.is_empty() {
            return Ok(parent_links);
        }
        let session = now.record(0)?;
        parent_links.file_format = now.format()?;
        if new.is_empty() {
            return Ok(parent_links);
        }
        parent_links.tree = parent_links.file_format.is_some_and(|spec| spec.version().tree);
        parent_links.rules = parent_links
            .file_format
            .and_then(|spec| spec.format.agent.context)
            .map(|open| open(&session));
        for number in new {
            let record = now.record(*number)?;
            // Messages of a sub-agent are beside the conversation.
            parent_links.tree |= record.node.get(Field::ParentCall).is_some();
        }
        for number in new {
            let record = now.record(*number)?;
            let leaf = record.node.json(Field::Leaf).filter(|_| record.kind == Kind::Session);
            parent_links.new_leaf = leaf.map(|leaf| (leaf.clone(), None)).or(parent_links.new_leaf);
            let parent =
                record.node.json(Field::Parent).filter(|_| parent_links.tree && record.is_node());
            parent
                .into_iter()
                .for_each(|parent| drop(parent_links.wanted.insert(parent.clone(), None)));
        }
        // Writers end a file with the leaf again, even where that is its last message.
        let last = match &parent_links.new_leaf {
            Some(_) => last_node(now)?,
            None => None,
        };
        parent_links.new_leaf =
            parent_links.new_leaf.filter(|(leaf, _)| last.as_ref() != Some(leaf));
        Ok(parent_links)
    }

    /// Converts a new record of the file to a form that other formats know, by what the file's
    /// agent sends of it to a model; `None` if it sends nothing.
    pub fn plain(&mut self, record: Record) -> Option<Record> {
        let speaks = matches!(record.kind, Kind::Message | Kind::BranchSummary);
        let Some(rules) = self.rules.as_mut().filter(|_| speaks) else { return Some(record) };
        let sent = rules.sent(&record)?;
        Some(if is_plain(&record) { record } else { as_message(sent, &record.node) })
    }

    /// Notes an entry that the source does not have.
    pub fn pass(&mut self, record: &Record) {
        let Some((id, parent)) = ends(record) else { return };
        if self.wanted.contains_key(id) {
            self.passed.insert(id.clone(), parent.clone());
            self.wanted.entry(parent.clone()).or_default();
        }
    }

    /// Notes that these entries of the file are this entry of the source.
    pub fn place(&mut self, shown: &[Json], id: &Json) {
        for name in shown {
            self.wanted.get_mut(name).into_iter().for_each(|known| *known = Some(id.clone()));
            let new_leaf = self.new_leaf.iter_mut().filter(|(leaf, _)| leaf == name);
            new_leaf.for_each(|(_, known)| *known = Some(id.clone()));
        }
    }

    /// Whether the file names a new leaf since it was made.
    pub fn names_new_leaf(&self) -> bool {
        self.new_leaf.is_some()
    }

    /// Returns the source's identifier of the new leaf.
    pub fn leaf(&self) -> Option<&Json> {
        self.new_leaf.as_ref()?.1.as_ref()
    }

    /// Notes the source's identifier of a new entry.
    pub fn add(&mut self, shown: &Record, id: &Json) {
        if let Some((name, _)) = ends(shown) {
            if self.tree {
                self.new.insert(name.clone(), id.clone());
            }
            self.place(std::slice::from_ref(name), id);
        }
    }

    /// Returns the source's identifier of the parent of an entry of the file, if it is known;
    /// `Some(None)` if the entry begins a path.
    pub fn before(&self, record: &Record) -> Option<Option<&Json>> {
        let (_, mut parent) = ends(record)?;
        // A longer path would lead in a circle.
        for _ in 0..=self.passed.len() {
            match self.passed.get(parent) {
                Some(further) => parent = further,
                None => break,
            }
        }
        match parent.is_null() {
            true => (self.tree && !record.is_aside()).then_some(None),
            false => self.wanted.get(parent)?.as_ref().map(Some),
        }
    }

    /// Returns the source's identifier of the new entry that this entry of the file follows.
    pub fn new_before(&self, record: &Record) -> Option<&Json> {
        self.new.get(ends(record)?.1)
    }
}

/// Returns the identifier of the last entry of a file.
fn last_node(now: &mut FileRecords) -> Result<Option<Json>> {
    for number in (0..now.names.len() as u32).rev() {
        let record = now.record(number)?;
        if record.is_node() {
            return Ok(record.node.json(Field::Id).cloned());
        }
    }
    Ok(None)
}

/// Returns the identifiers of an entry and of its parent.
fn ends(record: &Record) -> Option<(&Json, &Json)> {
    record.node.json(Field::Id).zip(record.node.json(Field::Parent))
}
