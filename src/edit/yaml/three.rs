//! The three texts of a merge: their trees, nodes that correspond, and entries that are new.

use super::tree::{Entry, Id, Tree};

/// The trees of the three texts.
pub struct Trees<'t> {
    pub source: Tree<'t>,
    pub before: Tree<'t>,
    pub after: Tree<'t>,
}

/// A node of each text.
#[derive(Clone, Copy, Debug)]
pub struct Three {
    pub source: Id,
    pub before: Id,
    pub after: Id,
}

/// Place of a node in the source and in `after`: where the `-` or `:` before it ends, and the
/// columns of the collections around it.
#[derive(Clone, Copy, Debug)]
pub struct NodePlace {
    pub heads: (usize, usize),
    pub columns: (usize, usize),
    pub flow: bool,
    pub root: bool,
}

/// A new entry, behind an entry of the source or before all of them.
#[derive(Clone, Copy, Debug)]
pub struct New {
    pub behind: Option<usize>,
    pub what: What,
}

/// Content of a new entry.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// An entry of `after`.
    After(Entry),
    /// An entry of the source that moved.
    Own(Entry),
}

/// The changes of a collection's entries.
#[derive(Debug)]
pub struct Slots {
    /// Whether each entry of the source stays in its place.
    pub kept: Vec<bool>,
    pub new: Vec<New>,
}
