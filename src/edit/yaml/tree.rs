//! Nodes of a document: their places in the text, and what they say.

use super::lines::Lines;
use super::meaning::Hash;
use crate::yaml::Text;
use crate::yaml::read::{Layout, ScalarStyle};

/// Index of a node.
pub type Id = usize;

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Scalar(ScalarStyle),
    /// A repetition of this node.
    Alias(Id),
    Sequence(Layout),
    Mapping(Layout),
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    /// Begin of the node, anchor and tag included.
    pub start: usize,
    /// End of anchor and tag, or `start` if there are none. A collection in lines begins here.
    pub content: usize,
    /// End of the node's text, without the line break of its last line.
    pub end: usize,
    pub anchored: bool,
    pub tag: Option<Box<str>>,
    /// Hash of the node's meaning.
    pub hash: Hash,
    /// A hash that is equal for nodes that differ only in the types of scalars and in tags.
    pub loose: u64,
    /// Content of a scalar.
    pub text: Text<'static>,
    /// Whether a scalar is text and has no tag.
    pub is_text: bool,
    pub entries: Vec<Entry>,
    /// Whether the entries of a collection are not what they seem: merge keys, keys that occur
    /// twice or are not scalars, a pair without braces.
    pub irregular: bool,
    /// The last node in this one.
    pub last: Id,
}

impl Node {
    /// Whether the node takes lines of its own, and ends with one.
    pub fn is_block(&self) -> bool {
        match self.kind {
            Kind::Scalar(style) => matches!(style, ScalarStyle::Literal | ScalarStyle::Folded),
            Kind::Alias(_) => false,
            Kind::Sequence(layout) | Kind::Mapping(layout) => layout == Layout::Block,
        }
    }

    pub fn is_block_collection(&self) -> bool {
        self.is_block() && !matches!(self.kind, Kind::Scalar(_))
    }
}

/// An entry of a collection.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Begin of the entry: of its `-`, its `?` or its key.
    pub start: usize,
    /// The end of the `-` or `:` before the value.
    pub head: usize,
    pub key: Option<Id>,
    pub value: Id,
}

/// The first document of a text.
#[derive(Debug, Default)]
pub struct Tree<'t> {
    pub text: &'t [u8],
    pub nodes: Vec<Node>,
    pub root: Option<Id>,
    /// End of the line `---`, or the text's beginning.
    pub head: usize,
    /// The aliases, in order.
    pub aliases: Vec<Id>,
}

impl<'t> Tree<'t> {
    pub fn lines(&self) -> Lines<'t> {
        Lines(self.text)
    }

    /// Returns a node.
    #[allow(clippy::indexing_slicing, reason = "every Id is an index of its tree")]
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub fn value(&self, entry: &Entry) -> &Node {
        self.node(entry.value)
    }

    /// Returns where an entry ends, without the comment and the line break behind it.
    pub fn end_of(&self, entry: &Entry) -> usize {
        self.value(entry).end
    }

    /// Returns the ids of the aliases in a node.
    pub fn aliases_in(&self, id: Id) -> &[Id] {
        let from = self.aliases.partition_point(|alias| *alias < id);
        let to = self.aliases.partition_point(|alias| *alias <= self.node(id).last);
        self.aliases.get(from..to).unwrap_or_default()
    }
}
