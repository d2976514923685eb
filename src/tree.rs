//! The shape of a session's tree, without its contents.
//!
//! An entry costs 24 bytes: the hashes of its identifier and of its parent's, and its line. That
//! is enough to find duplicate identifiers, missing parents and cycles, and to follow the path
//! from the leaf to the root, in a file of any size.

use crate::diagnostic::{Code, Diagnostic};
use crate::ids::hash;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};

/// What an entry costs.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    parent: u64,
    /// Ordinal among the nodes, and line; both wrap in files that no one can have.
    ordinal: u32,
    line: u32,
}

/// A parent that is `null`: a root.
const ROOT: u64 = 0;
/// A parent member that is not there.
const ABSENT: u64 = 1;

/// An identifier by its hash. Two spellings of one text are one identifier.
fn key(id: &Json) -> u64 {
    let spelling = id.as_bytes();
    let hashed = match memchr::memchr(b'\\', spelling) {
        None => hash(spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default()),
        Some(_) => hash(id.text().unwrap_or_default().as_bytes()),
    };
    hashed.max(2)
}

/// A reference from one node to another that is not its parent.
#[derive(Clone, Copy, Debug)]
struct Reference {
    target: u64,
    line: u32,
    /// Whether it is a compaction's first kept entry.
    kept: bool,
}

/// Collects the shape of a tree.
///
/// ```
/// use copyist::json::Json;
/// use copyist::tree::Shape;
/// let mut shape = Shape::default();
/// shape.node(&Json::string("a"), Some(&Json::constant("null")), 2);
/// shape.node(&Json::string("b"), Some(&Json::string("gone")), 3);
/// let tree = shape.finish();
/// assert_eq!(tree.findings().next().unwrap().message, "parent of the entry on line 3 is not in the file");
/// ```
#[derive(Debug, Default)]
pub struct Shape {
    entries: Vec<Entry>,
    references: Vec<Reference>,
    without_id: Vec<u32>,
}

impl Shape {
    /// Notes a node, in source order.
    pub fn node(&mut self, id: &Json, parent: Option<&Json>, line: u64) {
        let parent = match parent {
            None => ABSENT,
            // pi follows a parent while it is truthy, so "" is a root too.
            Some(parent) if parent.is_null() || parent.as_bytes() == b"\"\"" => ROOT,
            Some(parent) => key(parent),
        };
        let ordinal = self.entries.len() as u32;
        self.entries.push(Entry { id: key(id), parent, ordinal, line: line as u32 });
    }

    /// Notes an entry of the tree that has no identifier.
    pub fn node_without_id(&mut self, line: u64) {
        self.without_id.push(line as u32);
    }

    /// How many nodes were noted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no node was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes that a node refers to another; `kept` for a compaction's first kept entry.
    pub fn reference(&mut self, target: &Json, kept: bool, line: u64) {
        self.references.push(Reference { target: key(target), line: line as u32, kept });
    }

    /// Notes a record with all its references.
    pub fn record(&mut self, located: &Located<Record>) {
        let Located { value: Record { kind, node }, at } = located;
        if !kind.is_node() {
            return;
        }
        match node.json(Field::Id) {
            Some(id) => self.node(id, node.json(Field::Parent), at.line),
            // What is not understood, a move of the leaf and playback may do without.
            None if matches!(kind, Kind::Opaque | Kind::Leaf | Kind::Event) => {}
            None => self.node_without_id(at.line),
        }
        for (field, kept) in [(Field::Target, false), (Field::FirstKept, true)] {
            if let Some(target) = node.json(field).filter(|target| !target.is_null()) {
                self.reference(target, kept, at.line);
            }
        }
    }

    /// Sorts what was noted.
    #[must_use]
    pub fn finish(self) -> Tree {
        let leaf = self.entries.last().map(|entry| entry.id);
        let mut entries = self.entries;
        entries.sort_unstable_by_key(|entry| (entry.id, entry.ordinal));
        Tree { entries, references: self.references, without_id: self.without_id, leaf }
    }
}

/// A finding in 12 bytes: a broken file can have one for each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    line: u32,
    code: Code,
    other: u32,
}

impl Finding {
    fn into_diagnostic(self) -> Diagnostic {
        let Self { line, code, other } = self;
        let message = match code {
            Code::NoId => format!("entry on line {line} has no identifier"),
            Code::DuplicateId => format!("entry on line {line} has the identifier of line {other}"),
            Code::MissingParent => format!("parent of the entry on line {line} is not in the file"),
            Code::ForwardParent => {
                format!("parent of the entry on line {line} stands on line {other}")
            }
            Code::MissingTarget if other > 0 => {
                format!("first kept entry of line {line} is not in the file")
            }
            Code::MissingTarget => format!("target of the entry on line {line} is not in the file"),
            _ => format!("entry on line {line} is its own ancestor"),
        };
        let at = Position { line: line.into(), ..Position::default() };
        Diagnostic::new(code, message).at(at)
    }
}

/// The shape of a whole tree.
#[derive(Debug)]
pub struct Tree {
    /// Sorted by identifier, then by ordinal.
    entries: Vec<Entry>,
    references: Vec<Reference>,
    without_id: Vec<u32>,
    leaf: Option<u64>,
}

impl Tree {
    /// The last entry with this identifier, as pi's own index has it, by place in `entries`.
    fn find(&self, id: u64) -> Option<usize> {
        let after = self.entries.partition_point(|entry| entry.id <= id);
        let last = after.checked_sub(1)?;
        (self.entries.get(last)?.id == id).then_some(last)
    }

    /// What is wrong with the tree, in the order of the lines.
    pub fn findings(&self) -> impl Iterator<Item = Diagnostic> + use<> {
        let mut found: Vec<Finding> = Vec::new();
        let mut say = |code, line, other| found.push(Finding { line, code, other });
        for line in &self.without_id {
            say(Code::NoId, *line, 0);
        }
        for pair in self.entries.windows(2) {
            if let [a, b] = pair
                && a.id == b.id
            {
                say(Code::DuplicateId, b.line, a.line);
            }
        }
        for entry in self.entries.iter().filter(|entry| entry.parent > ABSENT) {
            match self.find(entry.parent).and_then(|place| self.entries.get(place)) {
                None => say(Code::MissingParent, entry.line, 0),
                Some(parent) if parent.ordinal > entry.ordinal => {
                    say(Code::ForwardParent, entry.line, parent.line);
                }
                Some(_) => {}
            }
        }
        for line in self.cycles() {
            say(Code::Cycle, line, 0);
        }
        for reference in self.references.iter().filter(|r| self.find(r.target).is_none()) {
            say(Code::MissingTarget, reference.line, u32::from(reference.kept));
        }
        found.sort_unstable();
        found.into_iter().map(Finding::into_diagnostic)
    }

    /// One line of each cycle.
    fn cycles(&self) -> Vec<u32> {
        let mut seen = vec![0u32; self.entries.len()];
        let mut lines = Vec::new();
        for start in 0..self.entries.len() {
            let walk = start as u32 + 1;
            let mut place = Some(start);
            while let Some(here) = place {
                match seen.get_mut(here) {
                    Some(mark) if *mark == 0 => *mark = walk,
                    Some(mark) if *mark == walk => {
                        lines.extend(self.entries.get(here).map(|entry| entry.line));
                        break;
                    }
                    _ => break,
                }
                place = self.parent_of(here);
            }
        }
        lines
    }

    fn parent_of(&self, place: usize) -> Option<usize> {
        let parent = self.entries.get(place)?.parent;
        if parent <= ABSENT { None } else { self.find(parent) }
    }

    /// The nodes from the root to the leaf. The leaf is `leaf`, else the last node; `None` if there
    /// is no such node. The path stops before it would meet itself, and says so.
    #[must_use]
    pub fn path(&self, leaf: Option<&Json>) -> Option<Path> {
        let mut place = self.find(leaf.map(key).or(self.leaf)?);
        place?;
        let mut path =
            Path { order: Vec::new(), bits: vec![0; self.entries.len().div_ceil(64)], cycle: None };
        while let Some((here, entry)) = place.and_then(|at| Some((at, self.entries.get(at)?))) {
            if path.contains(entry.ordinal) {
                path.cycle = Some(entry.line);
                break;
            }
            path.insert(entry.ordinal);
            place = self.parent_of(here);
        }
        path.order.reverse();
        Some(path)
    }

    /// The ordinal of the node that has this identifier; of several, the last.
    #[must_use]
    pub fn ordinal(&self, id: &Json) -> Option<u32> {
        Some(self.entries.get(self.find(key(id))?)?.ordinal)
    }
}

/// The nodes from a root to a leaf, as ordinals among the nodes in source order.
#[derive(Debug, Default)]
pub struct Path {
    order: Vec<u32>,
    /// The same as a set, one bit each.
    bits: Vec<u64>,
    cycle: Option<u32>,
}

impl Path {
    /// Whether the node of this ordinal is on the path.
    #[must_use]
    pub fn contains(&self, ordinal: u32) -> bool {
        let word = self.bits.get(ordinal as usize / 64).copied().unwrap_or(0);
        word >> (ordinal % 64) & 1 == 1
    }

    /// How many nodes stand before the node of this ordinal on the path, if it is on it.
    #[must_use]
    pub fn position(&self, ordinal: u32) -> Option<u32> {
        if !self.contains(ordinal) {
            return None;
        }
        // Parents mostly stand before their children, and then the order is that of the file.
        let found = self.order.binary_search(&ordinal).ok();
        let found = found.or_else(|| self.order.iter().position(|other| *other == ordinal));
        found.map(|position| position as u32)
    }

    /// The ordinals from the root to the leaf.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The finding about a node that is its own ancestor, where the path comes back to one.
    #[must_use]
    pub fn cycle(&self) -> Option<Diagnostic> {
        let finding = Finding { line: self.cycle?, code: Code::Cycle, other: 0 };
        Some(finding.into_diagnostic())
    }

    fn insert(&mut self, ordinal: u32) {
        self.order.push(ordinal);
        if let Some(word) = self.bits.get_mut(ordinal as usize / 64) {
            *word |= 1 << (ordinal % 64);
        }
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
            shape.node(&Json::string(id), Some(&parent), i as u64 + 2);
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
            assert!(path.order().iter().all(|ordinal| path.contains(*ordinal)));
            (path.order().to_vec(), path.cycle().is_some())
        };
        assert_eq!(path(&branched, None), (vec![0, 3], false));
        assert_eq!(path(&branched, Some("c")), (vec![0, 1, 2], false));
        assert_eq!(path(&tree(&[("a", "b"), ("b", "a")]), None), (vec![0, 1], true));
        assert!(branched.path(Some(&Json::string("x"))).is_none());
    }
}
