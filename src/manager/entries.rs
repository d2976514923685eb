//! The records of a session in memory, with their links, labels and leaf.

use super::{Tree, TreeNode};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Reader;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use std::collections::HashMap;

/// The records of a session in the order of the file, the header first.
#[derive(Debug)]
pub struct Entries {
    records: Vec<Located<Record>>,
    /// The place of each entry in `records`, by its identifier; of two the later, as agents do it.
    places: HashMap<Json, usize>,
    labels: HashMap<Json, Json>,
    leaf: Option<Json>,
    /// Whether the leaf is the last entry, not one that was chosen.
    follows: bool,
    /// Whether a record of the session names the leaf.
    names_leaf: bool,
}

impl Entries {
    /// Creates a list that begins with the session record.
    pub fn new(header: Located<Record>) -> Self {
        let leaf = header.value.node.json(Field::Leaf).cloned();
        Self {
            records: vec![header],
            places: HashMap::new(),
            labels: HashMap::new(),
            follows: leaf.is_none(),
            names_leaf: leaf.is_some(),
            leaf,
        }
    }

    /// Takes all records of a session.
    ///
    /// # Errors
    /// If it cannot be read, or has no session record.
    pub fn read(reader: Reader<'_>) -> Result<Self> {
        let (mut entries, mut before) = (None, Vec::new());
        for item in reader {
            let located = item?;
            match &mut entries {
                None if located.value.kind == Kind::Session => entries = Some(Self::new(located)),
                None => before.push(located),
                Some(entries) => entries.push(located),
            }
        }
        let mut entries =
            entries.ok_or_else(|| Error::request(Code::NoHeader, Code::NoHeader.title()))?;
        // What comes before a header is damage; it is kept in its place.
        let header = before.len();
        entries.records.splice(0..0, before);
        entries.records.swap(0, header);
        entries.places.values_mut().for_each(|place| *place += header);
        Ok(entries)
    }

    /// Adds a record behind the others.
    pub fn push(&mut self, located: Located<Record>) {
        let Record { kind, node } = &located.value;
        if *kind == Kind::Session
            && let Some(leaf) = node.json(Field::Leaf)
        {
            (self.leaf, self.follows) = (Some(leaf.clone()), false);
            self.names_leaf = true;
        }
        if *kind == Kind::Label
            && let Some(target) = node.json(Field::Target)
        {
            match node
                .json(Field::Label)
                .filter(|label| label.text().is_some_and(|l| !l.is_empty()))
            {
                Some(label) => drop(self.labels.insert(target.clone(), label.clone())),
                None => drop(self.labels.remove(target)),
            }
        }
        if located.value.is_node()
            && let Some(id) = node.json(Field::Id)
        {
            self.places.insert(id.clone(), self.records.len());
            if self.follows {
                self.leaf = Some(id.clone());
            }
        }
        self.records.push(located);
    }

    /// Returns the session record.
    pub fn header(&self) -> &Record {
        &self.records[0].value
    }

    /// Returns all records, the header first, with their places in the file.
    pub fn located(&self) -> impl Iterator<Item = &Located<Record>> {
        self.records.iter()
    }

    /// Returns all records behind the header.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().skip(1).map(|located| &located.value)
    }

    /// Returns the entry that the next one follows.
    pub fn leaf(&self) -> Option<&Json> {
        self.leaf.as_ref()
    }

    /// Whether a record of the session names the leaf.
    pub fn names_leaf(&self) -> bool {
        self.names_leaf
    }

    /// Whether the leaf is an entry that was chosen, not simply the last one.
    pub fn is_chosen(&self) -> bool {
        !self.follows
    }

    /// Makes an entry the leaf, or goes before the first one.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn set_leaf(&mut self, leaf: Option<Json>) -> Result<()> {
        if let Some(leaf) = &leaf {
            self.must_have(leaf)?;
        }
        (self.leaf, self.follows) = (leaf, false);
        Ok(())
    }

    /// Lets the leaf follow the entries that are added.
    pub fn follow(&mut self) {
        self.follows = true;
    }

    /// Returns the entry with this identifier, if there is one.
    pub fn get(&self, id: &Json) -> Option<&Record> {
        self.records.get(*self.places.get(id)?).map(|located| &located.value)
    }

    /// Returns the entry with this identifier.
    ///
    /// # Errors
    /// If there is none.
    pub fn must_have(&self, id: &Json) -> Result<&Record> {
        let message = || format!("no entry has the identifier {id:?}");
        self.get(id).ok_or_else(|| Error::request(Code::NoContext, message()))
    }

    /// Returns the label of an entry.
    pub fn label(&self, id: &Json) -> Option<&Json> {
        self.labels.get(id)
    }

    /// Returns the entries from the root to `to`, or to the leaf.
    ///
    /// # Errors
    /// If there is no such entry, or one is its own ancestor.
    pub fn path(&self, to: Option<&Json>) -> Result<Vec<&Record>> {
        let Some(to) = to.or(self.leaf.as_ref()) else { return Ok(Vec::new()) };
        self.must_have(to)?;
        let (mut path, mut next) = (Vec::new(), self.get(to));
        while let Some(record) = next {
            if path.len() == self.places.len() {
                return Err(Error::request(Code::Cycle, Code::Cycle.title()));
            }
            path.push(record);
            next = record.node.json(Field::Parent).and_then(|parent| self.get(parent));
        }
        path.reverse();
        Ok(path)
    }

    /// Returns the entries whose parent this is, or the roots.
    pub fn children(&self, parent: Option<&Json>) -> Vec<&Record> {
        let nodes = self.nodes().map(|(_, record)| record);
        nodes.filter(|record| self.parent_of(record) == parent).collect()
    }

    /// Returns the nodes with their identifiers, in the order of the file.
    fn nodes(&self) -> impl Iterator<Item = (&Json, &Record)> {
        let node = |record: &Record| record.is_node().then_some(());
        self.records().filter_map(move |record| {
            node(record)?;
            Some((record.node.json(Field::Id)?, record))
        })
    }

    /// Returns the parent of an entry, if it is in the session.
    fn parent_of<'s>(&'s self, record: &'s Record) -> Option<&'s Json> {
        record.node.json(Field::Parent).filter(|parent| self.places.contains_key(*parent))
    }

    /// Returns the links between the entries.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        let mut places = HashMap::new();
        for (id, _) in self.nodes().filter(|(id, record)| self.get(id) == Some(record)) {
            places.insert(id, tree.nodes.len());
            tree.nodes.push(TreeNode {
                id: id.text().unwrap_or_default(),
                label: self.label(id).and_then(Json::text),
                parent: None,
                children: Vec::new(),
            });
        }
        for place in 0..tree.nodes.len() {
            let id = Json::string(&tree.nodes[place].id);
            let parent = self.get(&id).and_then(|record| self.parent_of(record));
            match parent.and_then(|parent| places.get(parent).copied()) {
                Some(parent) => {
                    tree.nodes[place].parent = Some(parent);
                    tree.nodes[parent].children.push(place);
                }
                None => tree.roots.push(place),
            }
        }
        tree
    }

    /// Returns the records that gave the entries their labels, in the order in which the entries
    /// got them.
    pub fn label_records(&self) -> Vec<&Record> {
        let mut records: Vec<(&Json, &Record)> = Vec::new();
        for record in self.records().filter(|record| record.kind == Kind::Label) {
            let Some(target) = record.node.json(Field::Target) else { continue };
            let label = record.node.text(Field::Label).filter(|label| !label.is_empty());
            let labelled = records.iter().position(|(entry, _)| *entry == target);
            match (labelled, label) {
                (Some(place), Some(_)) => records[place].1 = record,
                (Some(place), None) => drop(records.remove(place)),
                (None, Some(_)) => records.push((target, record)),
                (None, None) => {}
            }
        }
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Returns the number of messages in the file, and the role of the last one that is read.
    pub fn messages(&self) -> (usize, Option<&Json>) {
        let messages = || self.records().filter(|record| record.kind == Kind::Message);
        let last = messages().last().and_then(|record| record.node.json(Field::Role));
        (messages().filter(|record| !record.is_restored()).count(), last)
    }

    /// Whether an entry has this identifier.
    pub fn has(&self, id: &Json) -> bool {
        self.places.contains_key(id)
    }
}
