//! The shape of a session's tree, without its contents.
//!
//! An entry costs 24 bytes: the hashes of its identifier and of its parent's, its ordinal, and its
//! place. That is enough to find duplicate identifiers, missing parents and cycles, and to follow
//! the path from the leaf to the root, in a file of any size. Above a size
//! ([`Options::index_memory`]) these tables continue in temporary files.

mod bits;
mod branches;
mod column;
mod joints;
mod links;
mod marked;
mod order;
mod path;
mod places;
mod plan;
mod reach;
mod skeleton;
mod spilled;

pub use bits::Bits;
pub use branches::{Branches, Stop};
pub use marked::{Aim, key_of, marks, parent_of};
pub use order::InOrder;
pub use path::Path;
pub use plan::Plan;
pub use reach::{Tail, links_to_leaf};
pub use skeleton::{Seen, Skeleton};

use crate::diagnostic::{Code, Diagnostic};
use crate::format::Options;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use column::{Column, plain};
use links::{Jump, Links};
use places::Places;
use reach::Nodes;

/// Data of an entry, without its place; packed, so that it is as large as its members.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
struct Entry {
    id: u64,
    parent: u64,
    /// Ordinal among the nodes; it wraps only in files larger than any real file.
    ordinal: u32,
}

plain!(Entry { id: u64, parent: u64, ordinal: u32 });

/// Key of a parent that is `null`: a root.
const ROOT: u64 = 0;
/// Key of a missing parent member.
const ABSENT: u64 = 1;
/// Key of a parent that is not a node. The lowest hash of an identifier is above it.
const MISSING: u64 = 2;

/// Returns the hash of an identifier. Two spellings of one text are one identifier.
fn key(id: &Json) -> u64 {
    key_of(id.as_bytes())
}

/// A reference from one node to another that is not its parent.
#[derive(Clone, Copy, Debug)]
struct Reference {
    target: u64,
    at: Position,
    /// Whether it is a compaction's first kept entry.
    first_kept: bool,
}

/// Collects the shape of a tree.
///
/// ```
/// use copyist::json::Json;
/// use copyist::position::Position;
/// use copyist::tree::Shape;
/// let mut shape = Shape::default();
/// let at = Position { line: 3, byte: 70, ..Position::default() };
/// shape.node(&Json::string("a"), Some(&Json::constant("null")), Position::default());
/// shape.node(&Json::string("b"), Some(&Json::string("gone")), at);
/// let tree = shape.finish();
/// assert_eq!(tree.findings().next().unwrap().message, "parent of the entry on line 3 is not in the file");
/// ```
#[derive(Debug)]
pub struct Shape {
    entries: Column<Entry>,
    links: Links,
    places: Places,
    references: Vec<Reference>,
    without_id: Vec<Position>,
    nodes: Nodes,
    /// Nodes without a parent that continue the conversation behind another node, by ordinal.
    joints: Vec<(u32, u64)>,
    /// Identifier of the last node.
    leaf: Option<u64>,
}

impl Default for Shape {
    fn default() -> Self {
        Self::within(Options::INDEX_MEMORY)
    }
}

impl Shape {
    /// Returns the shape of no tree, which will take at most so many bytes of memory for its nodes.
    pub fn within(bytes: usize) -> Self {
        // A place takes a sixth of what the other data of an entry take, a jump at most a half.
        Self {
            entries: Column::within(bytes / 2),
            links: Links::within(bytes / 4),
            places: Places::within(bytes / 4),
            references: Vec::new(),
            without_id: Vec::new(),
            nodes: Nodes::default(),
            joints: Vec::new(),
            leaf: None,
        }
    }

    /// Notes a node, in source order.
    pub fn node(&mut self, id: &Json, parent: Option<&Json>, at: Position) {
        let parent = parent_of(parent.map(Json::as_bytes));
        let ordinal = self.entries.len() as u32;
        let id = key(id);
        if parent > MISSING && self.leaf == Some(parent) {
            self.links.follow.insert(ordinal);
        } else {
            self.links.jumps.push(Jump { ordinal, parent });
        }
        self.leaf = Some(id);
        self.entries.push(Entry { id, parent, ordinal });
        self.places.push(at);
    }

    /// Notes what the node noted last is, by its [`marks`]: a message, or an entry that describes
    /// the session.
    pub fn is(&mut self, id: &Json, marks: u32) {
        let ordinal = (self.entries.len() as u32).saturating_sub(1);
        self.nodes.note(ordinal, id.as_bytes(), marks);
    }

    /// Notes an entry of the tree that has no identifier.
    pub fn node_without_id(&mut self, at: Position) {
        self.without_id.push(at);
    }

    /// Returns how many nodes were noted.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no node was noted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes that the node noted last, which has no parent, continues the conversation behind another
    /// one.
    pub fn continues(&mut self, behind: &Json) {
        let ordinal = (self.entries.len() as u32).saturating_sub(1);
        let is_root = self.links.jump(ordinal).is_some_and(|parent| parent <= MISSING);
        self.joints.extend(is_root.then(|| (ordinal, key(behind))));
    }

    /// Notes that a node refers to another; `first_kept` for a compaction's first kept entry.
    pub fn reference(&mut self, target: &Json, first_kept: bool, at: Position) {
        self.references.push(Reference { target: key(target), at, first_kept });
    }

    /// Notes a record with all its references.
    pub fn record(&mut self, located: &Located<Record>) {
        let Located { value: Record { kind, node }, at } = located;
        if !kind.is_node() {
            let leaf =
                node.json(Field::Leaf).filter(|leaf| *kind == Kind::Session && !leaf.is_null());
            self.nodes.leaf_named |= leaf.is_some();
            leaf.into_iter().for_each(|leaf| self.reference(leaf, false, *at));
            return;
        }
        match node.json(Field::Id) {
            Some(id) => {
                self.node(id, node.json(Field::Parent), *at);
                self.is(id, marks_of(*kind, node));
            }
            None if kind.is_named() => self.node_without_id(*at),
            None => {}
        }
        self.nodes.leaf_named |= *kind == Kind::Leaf;
        for (field, first_kept) in [(Field::Target, false), (Field::FirstKept, true)] {
            if let Some(target) = node.json(field).filter(|target| !target.is_null()) {
                self.reference(target, first_kept, *at);
            }
        }
    }

    /// Sorts the noted nodes.
    pub fn finish(mut self) -> Tree {
        self.entries.sort_by_key(|entry| (entry.id, entry.ordinal));
        let Self { entries, links, places, references, without_id, nodes, joints, leaf } = self;
        let mut tree = Tree { entries, links, places, references, without_id, nodes, joints, leaf };
        tree.find_twice();
        tree.mark_missing();
        tree.settle_joints();
        tree
    }
}

/// Returns the marks of a record of a tree.
fn marks_of(kind: Kind, node: &Node) -> u32 {
    let notes = || node.json(Field::Extra).map(Json::as_bytes).unwrap_or_default();
    match kind {
        Kind::Message | Kind::BranchSummary => marks::MESSAGE,
        Kind::Label | Kind::SessionInfo | Kind::Usage if !links_to_leaf(notes()) => marks::ASIDE,
        _ => 0,
    }
}

/// A finding in 24 bytes: a broken file can have one for each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    line: u32,
    code: Code,
    other: u32,
    byte: u64,
}

impl Finding {
    fn new(code: Code, at: Position, other: u64) -> Self {
        Self { line: at.line as u32, code, other: other as u32, byte: at.byte }
    }

    fn into_diagnostic(self) -> Diagnostic {
        let Self { line, code, other, byte } = self;
        let message = match code {
            Code::NoId => format!("entry on line {line} has no identifier"),
            Code::DuplicateId => format!("entry on line {line} has the identifier of line {other}"),
            Code::MissingParent => format!("parent of the entry on line {line} is not in the file"),
            Code::ForwardParent => {
                format!("parent of the entry on line {line} is on line {other}")
            }
            Code::MissingTarget if other > 0 => {
                format!("first kept entry of line {line} is not in the file")
            }
            Code::MissingTarget => format!("target of the entry on line {line} is not in the file"),
            _ => format!("entry on line {line} is its own ancestor"),
        };
        let at = Position { line: line.into(), byte, ..Position::default() };
        Diagnostic::new(code, message).at(at)
    }
}

/// The shape of a whole tree.
#[derive(Debug)]
pub struct Tree {
    /// Entries sorted by identifier, then by ordinal.
    entries: Column<Entry>,
    links: Links,
    places: Places,
    references: Vec<Reference>,
    without_id: Vec<Position>,
    nodes: Nodes,
    joints: Vec<(u32, u64)>,
    leaf: Option<u64>,
}

impl Tree {
    /// Finds the entries that follow one of several with one identifier: their parent is the last of
    /// these.
    fn find_twice(&mut self) {
        let Self { entries, links, .. } = self;
        for (a, b) in entries.iter().zip(entries.iter().skip(1)).filter(|(a, b)| a.id == b.id) {
            let next = [a.ordinal, b.ordinal].map(|ordinal| ordinal + 1).into_iter();
            links.twice.extend(next.filter(|at| links.follow.contains(*at)).map(|at| (at, a.id)));
        }
    }

    /// Marks missing parents, so that they are not searched for again.
    fn mark_missing(&mut self) {
        for place in 0..self.entries.len() {
            let Some(Entry { parent, ordinal, .. }) = self.entries.get(place) else { return };
            let jumps = parent > MISSING && !self.links.follows(ordinal);
            if jumps && self.find(parent).is_none() {
                self.entries.change(place, |entry| entry.parent = MISSING);
            }
        }
    }

    /// Returns the last entry with this identifier, as in pi's own index, by place in `entries`.
    fn find(&self, id: u64) -> Option<usize> {
        let last = self.entries.after(id, |entry| entry.id).checked_sub(1)?;
        (self.entries.get(last)?.id == id).then_some(last)
    }

    /// Returns the defects of the tree, in the order of the lines.
    pub fn findings(&self) -> impl Iterator<Item = Diagnostic> + use<> {
        let mut found: Vec<Finding> = Vec::new();
        let mut say = |code, at, other| found.push(Finding::new(code, at, other));
        let at = |entry: Entry| self.places.at(entry.ordinal);
        for place in &self.without_id {
            say(Code::NoId, *place, 0);
        }
        for (a, b) in self.entries.iter().zip(self.entries.iter().skip(1)) {
            if a.id == b.id {
                say(Code::DuplicateId, at(b), at(a).line);
            }
        }
        let mut turns = false;
        let jumps = |entry: &Entry| entry.parent > ABSENT && !self.links.follows(entry.ordinal);
        for entry in self.entries.iter().filter(jumps) {
            match self.find(entry.parent).and_then(|place| self.entries.get(place)) {
                _ if entry.parent == MISSING => say(Code::MissingParent, at(entry), 0),
                Some(parent) if parent.ordinal >= entry.ordinal => {
                    turns = true;
                    if parent.ordinal > entry.ordinal {
                        say(Code::ForwardParent, at(entry), at(parent).line);
                    }
                }
                _ => {}
            }
        }
        // In a cycle some entry comes before its parent, or is its own.
        for ordinal in turns.then(|| self.cycles()).into_iter().flatten() {
            say(Code::Cycle, self.places.at(ordinal), 0);
        }
        for reference in self.references.iter().filter(|r| self.find(r.target).is_none()) {
            say(Code::MissingTarget, reference.at, reference.first_kept.into());
        }
        found.sort_unstable();
        found.into_iter().map(Finding::into_diagnostic)
    }

    /// Returns one node of each cycle, by its ordinal.
    fn cycles(&self) -> Vec<u32> {
        let mut seen = Bits::with_room(self.entries.len());
        let mut met = Vec::new();
        for start in 0..self.entries.len() {
            let (mut place, mut walked) = (Some(start), 0);
            // The walk ends at a node that was seen.
            while let Some(here) = place.filter(|here| seen.insert(*here as u32)) {
                walked += 1;
                place = self.parent_place(here);
            }
            // Where that node is of this very walk, the walk came round.
            let mut on_the_way =
                std::iter::successors(Some(start), |here| self.parent_place(*here));
            if let Some(end) = place
                && on_the_way.by_ref().take(walked).any(|here| here == end)
            {
                met.extend(self.entries.get(end).map(|entry| entry.ordinal));
            }
        }
        met
    }

    fn parent_place(&self, place: usize) -> Option<usize> {
        let parent = self.entries.get(place)?.parent;
        if parent <= MISSING { None } else { self.find(parent) }
    }

    /// Returns the parent of an entry, by ordinals.
    fn parent_of(&self, ordinal: u32) -> Option<u32> {
        if self.links.follows(ordinal) {
            return ordinal.checked_sub(1);
        }
        let parent = self.links.jump(ordinal).filter(|parent| *parent > MISSING)?;
        Some(self.entries.get(self.find(parent)?)?.ordinal)
    }

    /// Returns the nodes from the root to the leaf. The leaf is `leaf`, else the last node; `None`
    /// if there is no such node. The path stops before it would meet itself, and contains a finding
    /// about that.
    pub fn path(&self, leaf: Option<&Json>) -> Option<Path> {
        let leaf = self.find(leaf.map(key).or(self.leaf)?)?;
        let leaf = self.entries.get(leaf)?.ordinal;
        let at = |ordinal| self.places.at(ordinal);
        Some(Path::up(self.entries.len(), leaf, at, |ordinal| self.parent_of(ordinal)))
    }

    /// Returns the ordinal of the node that has this identifier; of several, the last.
    pub fn ordinal(&self, id: &Json) -> Option<u32> {
        Some(self.entries.get(self.find(key(id))?)?.ordinal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nodes: &[(&str, &str)]) -> Tree {
        let mut shape = Shape::default();
        for (i, (id, parent)) in nodes.iter().enumerate() {
            let parent =
                if parent.is_empty() { Json::constant("null") } else { Json::string(parent) };
            let at = Position { line: i as u64 + 2, ..Position::default() };
            shape.node(&Json::string(id), Some(&parent), at);
        }
        shape.finish()
    }

    fn codes(nodes: &[(&str, &str)]) -> Vec<(&'static str, u64)> {
        tree(nodes).findings().map(|d| (d.code.name(), d.at.map_or(0, |at| at.line))).collect()
    }

    #[test]
    fn each_defect_is_found_where_it_is() {
        assert_eq!(codes(&[("a", ""), ("b", "a"), ("c", "a")]), []);
        assert_eq!(codes(&[("a", ""), ("b", "x")]), [("CY0402", 3)]);
        assert_eq!(codes(&[("a", ""), ("a", "")]), [("CY0401", 3)]);
        assert_eq!(codes(&[("a", "a")]), [("CY0404", 2)]);
        assert_eq!(codes(&[("a", "b"), ("b", "")]), [("CY0407", 2)]);
        let cycle = codes(&[("a", "c"), ("b", "a"), ("c", "b"), ("d", "c")]);
        assert_eq!(cycle.iter().filter(|(code, _)| *code == "CY0404").count(), 1, "{cycle:?}");
    }

    #[test]
    fn the_path_follows_parents_and_ends_on_a_cycle() {
        let branched = tree(&[("a", ""), ("b", "a"), ("c", "b"), ("d", "a")]);
        let path = |tree: &Tree, leaf: Option<&str>| {
            let path = tree.path(leaf.map(Json::string).as_ref()).expect("a leaf");
            let mut order: Vec<_> =
                (0..9).filter_map(|at| Some((path.position(at)?, at))).collect();
            order.sort_unstable();
            assert_eq!(order.len(), path.len());
            let order: Vec<_> = order.into_iter().map(|(_, ordinal)| ordinal).collect();
            (order, path.cycle().is_some())
        };
        assert_eq!(path(&branched, None), (vec![0, 3], false));
        assert_eq!(path(&branched, Some("c")), (vec![0, 1, 2], false));
        assert_eq!(path(&tree(&[("a", "b"), ("b", "a")]), None), (vec![0, 1], true));
        assert!(branched.path(Some(&Json::string("x"))).is_none());
    }

    /// The walk as text: each node's name at its depth, with a mark where a branch begins.
    fn drawn(nodes: &[(&str, &str)], leaf: &str) -> String {
        let tree = tree(nodes);
        let main = tree.path(Some(&Json::string(leaf))).expect("a leaf");
        let mut out = String::new();
        tree.into_branches().walk(&main, &mut |stop| {
            let (name, _) = nodes[stop.ordinal as usize];
            let mark = if stop.begins { "*" } else { "" };
            out += &format!("{}{mark}{name} ", ".".repeat(stop.depth as usize));
            true
        });
        out
    }

    #[test]
    fn branches_are_walked_beside_the_main_one() {
        let forked = [("a", ""), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"), ("f", "b")];
        assert_eq!(drawn(&forked, "e"), "*a .*b ..*c .*f *d e ");
        assert_eq!(drawn(&forked, "c"), "*a .*d .e *b .*f *c ");
        let roots = [("a", ""), ("b", "gone"), ("c", "b")];
        assert_eq!(drawn(&roots, "a"), ".*b .c *a ");
        // What was written twice has its children once; a cycle hangs from no root.
        let twice = [("a", ""), ("b", "a"), ("a", ""), ("x", "y"), ("y", "x")];
        assert_eq!(drawn(&twice, "b"), ".*a *a b ");
    }

    #[test]
    fn positions_are_right_beyond_one_block() {
        let names: Vec<String> = (0..1500).map(|n| format!("n{n}")).collect();
        let parent = |n: usize| if n < 3 { "" } else { names[n - 3].as_str() };
        let nodes: Vec<_> = (0..1500).map(|n| (names[n].as_str(), parent(n))).collect();
        let path = tree(&nodes).path(None).expect("a leaf");
        assert!(path.is_in_file_order());
        for n in 0..1500 {
            assert_eq!(path.position(n), (n % 3 == 2).then_some(n / 3), "{n}");
        }
    }
}
