//! Which entries new ones follow, where the file is a tree.

use crate::context::{as_message, is_plain};
use crate::error::Result;
use crate::format::Context;
use crate::formats::Spec;
use crate::json::Json;
use crate::origin::restore::FileRecords;
use crate::record::{Field, Kind, Record};
use std::collections::HashMap;

/// The entries of a tree that new ones follow.
#[derive(Default)]
pub struct ParentLinks {
    /// What the file is.
    pub abroad: Option<Spec>,
    /// Whether the file is a tree.
    pub tree: bool,
    /// What the file's software tells a model of a record.
    rules: Option<Box<dyn Context>>,
    /// By what the file calls an entry that a new one follows: what the source calls it, once that
    /// is known.
    wanted: HashMap<Json, Option<Json>>,
    /// Entries of the file that the source has none for, and what they follow.
    passed: HashMap<Json, Json>,
    /// What the file and the source call new entries.
    new: HashMap<Json, Json>,
    /// Where the file says that it stands, and what the source calls that.
    stands: Option<(Json, Option<Json>)>,
}

impl ParentLinks {
    /// Of a file with these new records.
    ///
    /// # Errors
    /// If the records cannot be read back.
    pub fn of(now: &mut FileRecords, new: &[u32]) -> Result<Self> {
        let mut kin = Self::default();
        if new.is_empty() || now.names.is_empty() {
            return Ok(kin);
        }
        let session = now.record(0)?;
        let source = session.node.text(Field::Source);
        kin.abroad = source.and_then(|source| Spec::parse(&source).ok());
        kin.tree = kin.abroad.is_some_and(|spec| spec.version().tree);
        kin.rules = kin.abroad.and_then(|spec| spec.format.context).map(|open| open(&session));
        for number in new {
            let record = now.record(*number)?;
            // What a sub-agent says hangs beside the conversation.
            kin.tree |= record.node.get(Field::ParentCall).is_some();
        }
        for number in new {
            let record = now.record(*number)?;
            let leaf = record.node.json(Field::Leaf).filter(|_| record.kind == Kind::Session);
            kin.stands = leaf.map(|leaf| (leaf.clone(), None)).or(kin.stands);
            let parent = record.node.json(Field::Parent).filter(|_| kin.tree && record.is_node());
            parent.into_iter().for_each(|parent| drop(kin.wanted.insert(parent.clone(), None)));
        }
        // Writers end a file with the leaf again, even where that is its last message.
        let last = match &kin.stands {
            Some(_) => last_node(now)?,
            None => None,
        };
        kin.stands = kin.stands.filter(|(leaf, _)| last.as_ref() != Some(leaf));
        Ok(kin)
    }

    /// A new record of the file as other formats know one, by what its software tells a model of it;
    /// `None` if that is nothing.
    pub fn plain(&mut self, record: Record) -> Option<Record> {
        let speaks = matches!(record.kind, Kind::Message | Kind::BranchSummary);
        let Some(rules) = self.rules.as_mut().filter(|_| speaks) else { return Some(record) };
        let sent = rules.sent(&record)?;
        Some(if is_plain(&record) { record } else { as_message(sent, &record.node) })
    }

    /// An entry that the source has none for.
    pub fn pass(&mut self, record: &Record) {
        let Some((id, parent)) = ends(record) else { return };
        if self.wanted.contains_key(id) {
            self.passed.insert(id.clone(), parent.clone());
            self.wanted.entry(parent.clone()).or_default();
        }
    }

    /// These entries of the file are this one of the source.
    pub fn place(&mut self, shown: &[Json], id: &Json) {
        for name in shown {
            self.wanted.get_mut(name).into_iter().for_each(|known| *known = Some(id.clone()));
            let stands = self.stands.iter_mut().filter(|(leaf, _)| leaf == name);
            stands.for_each(|(_, known)| *known = Some(id.clone()));
        }
    }

    /// Whether the file says where it stands since it was made.
    pub fn stands(&self) -> bool {
        self.stands.is_some()
    }

    /// What of the source that is.
    pub fn leaf(&self) -> Option<&Json> {
        self.stands.as_ref()?.1.as_ref()
    }

    /// A new entry is this one in the source.
    pub fn add(&mut self, shown: &Record, id: &Json) {
        if let Some((name, _)) = ends(shown) {
            if self.tree {
                self.new.insert(name.clone(), id.clone());
            }
            self.place(std::slice::from_ref(name), id);
        }
    }

    /// What an entry of the file follows in the source, as far as it is asked for.
    pub fn before(&self, record: &Record) -> Option<&Json> {
        let (_, mut parent) = ends(record)?;
        // No way is longer, unless it leads in a circle.
        for _ in 0..=self.passed.len() {
            match self.passed.get(parent) {
                Some(further) => parent = further,
                None => break,
            }
        }
        self.wanted.get(parent)?.as_ref()
    }

    /// What is new, and followed by this entry of the file.
    pub fn new_before(&self, record: &Record) -> Option<&Json> {
        self.new.get(ends(record)?.1)
    }
}

/// What the last entry of a file is called.
fn last_node(now: &mut FileRecords) -> Result<Option<Json>> {
    for number in (0..now.names.len() as u32).rev() {
        let record = now.record(number)?;
        if record.is_node() {
            return Ok(record.node.json(Field::Id).cloned());
        }
    }
    Ok(None)
}

/// What an entry is called, and what it follows.
fn ends(record: &Record) -> Option<(&Json, &Json)> {
    record.node.json(Field::Id).zip(record.node.json(Field::Parent))
}
