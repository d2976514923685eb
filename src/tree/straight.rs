//! Sessions that are one straight path, as most are, found out while they are read.

use super::{Bits, Path};
use crate::json::Json;
use crate::record::{Field, Record};

/// The nodes of a session that is assumed to be one straight path in the order of the file, with
/// nothing beside it but messages that are never sent, such as those of sub-agents.
#[derive(Debug, Default)]
pub struct Straight {
    /// Identifier of the last node on the path.
    last: Option<Json>,
    /// Number of nodes, and of those on the path.
    nodes: u32,
    length: u32,
    beside: Bits,
    /// Whether each node so far followed the one before it.
    broken: bool,
}

/// Place of a node in such a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the path, behind so many nodes.
    On(u32),
    /// Beside the path.
    Beside,
    /// Not behind the node before it: the session is no straight path.
    Elsewhere,
}

impl Straight {
    /// Takes the next node; returns its place.
    pub fn node(&mut self, record: &Record) -> Place {
        self.nodes += 1;
        let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
        let follows = parent == self.last.as_ref();
        if !follows && record.is_aside() {
            self.beside.insert(self.nodes - 1);
            return Place::Beside;
        }
        self.broken |= !follows;
        if self.broken {
            return Place::Elsewhere;
        }
        self.last = record.node.json(Field::Id).cloned();
        self.length += 1;
        Place::On(self.length - 1)
    }

    /// Returns the identifier of the last node on the path.
    pub fn last(&self) -> Option<&Json> {
        self.last.as_ref()
    }

    /// Whether this path has all nodes that are not beside it, in their order.
    pub fn is(&self, path: &Path) -> bool {
        let on = (0..self.nodes).filter(|node| !self.beside.contains(*node));
        let mut places = on.zip(0..).map(|(node, place)| path.position(node) == Some(place));
        !self.broken && path.len() == self.length as usize && places.all(|same| same)
    }
}
