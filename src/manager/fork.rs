//! A new session that begins as a branch of another one.

use super::Session;
use super::entries::Entries;
use super::file::Files;
use super::open::header;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::formats::FORMATS;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use crate::store::folder_of;
use std::collections::{HashMap, HashSet};

impl Session {
    /// Begins a new session with the entries on the path to `at`, or to the leaf, in the folder of
    /// this one. Labels on these entries come along. The new session names this one as its parent.
    ///
    /// # Errors
    /// If the format is a list, there is no such entry, or the new session cannot be written.
    pub fn fork(&self, at: Option<&str>) -> Result<Self> {
        self.must_fork()?;
        let path = self.path(at)?;
        let cwd = self.header().node.text(Field::Cwd).unwrap_or_default();
        let mut head = header(self.format, self.version, &cwd);
        if let Some(file) = self.file() {
            let parent = Node::default().with(Field::Path, Json::string(&file.to_string_lossy()));
            head.value.node.set(Field::ParentSession, parent);
        }
        let mut entries = Entries::new(head);
        let kept = unlabelled(&path);
        let ids: HashSet<Json> =
            kept.iter().filter_map(|record| record.node.json(Field::Id).cloned()).collect();
        kept.into_iter().for_each(|value| entries.push(Located { value, at: Default::default() }));
        let mut new =
            Self { format: self.format, version: self.version, entries, files: None, end: None };
        for record in self.entries.label_records().into_iter().filter(|record| {
            record.node.json(Field::Target).is_some_and(|target| ids.contains(target))
        }) {
            let mut label = record.clone();
            label.node.set(Field::Id, new.new_id());
            label.node.set(Field::Parent, new.entries.leaf().cloned().unwrap_or_default());
            new.entries.push(Located { value: label, at: Default::default() });
        }
        if let Some(file) = self.file() {
            let mut files = Files::new(new.place_in(folder_of(file)), Some(file));
            let writing = files.begin()?;
            files.fill(&new.to_bytes()?)?;
            drop(writing);
            new.files = Some(files);
        }
        Ok(new)
    }

    /// Checks that the format stores branches.
    fn must_fork(&self) -> Result<()> {
        if self.version.tree {
            return Ok(());
        }
        let versions = FORMATS.iter().flat_map(|format| {
            let trees = format.versions.iter().filter(|version| version.tree);
            trees.map(|version| format.at(version.number))
        });
        let message = format!(
            "a session of {} is a list and cannot be forked; formats that can: {}",
            self.format.at(self.version.number),
            versions.collect::<Vec<_>>().join(", ")
        );
        Err(Error::request(Code::NoSuchEntry, message))
    }
}

/// Returns the entries of a path without the labels among them: each follows the one before, and a
/// compaction that kept entries from a label on keeps them from the entry behind it on.
fn unlabelled(path: &[&Record]) -> Vec<Record> {
    let (mut kept, mut waiting) = (Vec::<Record>::new(), Vec::new());
    let mut behind = HashMap::new();
    for record in path {
        let id = record.node.json(Field::Id).cloned().unwrap_or_default();
        if record.kind == Kind::Label {
            waiting.push(id);
            continue;
        }
        behind.extend(waiting.drain(..).map(|label| (label, id.clone())));
        let mut record = (*record).clone();
        let parent = kept.last().and_then(|last| last.node.json(Field::Id).cloned());
        record.node.set(Field::Parent, parent.unwrap_or(Json::constant("null")));
        let moved = record.node.json(Field::FirstKept).and_then(|first| behind.get(first));
        record.node.put(Field::FirstKept, moved.cloned());
        kept.push(record);
    }
    kept
}
