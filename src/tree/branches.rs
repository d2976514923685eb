//! A tree from the roots to the leaves.

use super::{Entry, MISSING, Path};

/// The nodes of a tree, each with its children at hand.
///
/// ```
/// use copyist::json::Json;
/// use copyist::position::Position;
/// use copyist::tree::{Path, Shape};
/// let mut shape = Shape::default();
/// let (a, null) = (Json::string("a"), Json::constant("null"));
/// shape.node(&a, Some(&null), Position::default());
/// shape.node(&Json::string("b"), Some(&a), Position::default());
/// shape.node(&Json::string("c"), Some(&a), Position::default());
/// let branches = shape.finish().into_branches();
/// let mut seen = Vec::new();
/// branches.walk(&Path::default(), &mut |stop| {
///     seen.push((stop.ordinal, stop.depth));
///     true
/// });
/// // The younger of two branches goes on at its parent's depth.
/// assert_eq!(seen, [(0, 0), (1, 1), (2, 0)]);
/// ```
#[derive(Debug)]
pub struct Branches {
    /// Sorted by parent, then by ordinal.
    entries: Vec<Entry>,
}

/// A node on a walk over the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Ordinal among the nodes in source order.
    pub ordinal: u32,
    /// Number of open branches beside the node's branch.
    pub depth: u32,
    /// Number of children.
    pub children: u32,
    /// Whether the node begins a branch: a root, or a child beside others.
    pub begins: bool,
    /// Whether the node has no parent.
    pub root: bool,
}

/// Siblings of which some are not shown yet: first the branches beside the straight one, then the
/// straight one.
struct Siblings<'t> {
    nodes: &'t [Entry],
    next: usize,
    straight: Option<usize>,
    /// The depth of the straight sibling.
    depth: u32,
}

impl Branches {
    /// Makes branches of `entries`, sorted by identifier, then by ordinal.
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        for at in 0..entries.len() {
            let next = entries.get(at + 1).map(|entry| entry.id);
            if let Some(entry) = entries.get_mut(at) {
                // Of nodes with one identifier the last has the children, as in `Tree`.
                if next == Some(entry.id) {
                    entry.id = CHILDLESS;
                }
                entry.parent = entry.parent.max(MISSING);
            }
        }
        entries.sort_unstable_by_key(|entry| (entry.parent, entry.ordinal));
        Self { entries }
    }

    /// Returns the children of a parent, sorted by ordinal.
    fn children(&self, parent: u64) -> &[Entry] {
        let from = self.entries.partition_point(|entry| entry.parent < parent);
        let to = self.entries.partition_point(|entry| entry.parent <= parent);
        self.entries.get(from..to).unwrap_or_default()
    }

    /// Shows every node to which a root leads, in the order in which a user would draw them: a
    /// branch straight down, beside each fork the branches that were left there. At a fork, the
    /// walk goes straight on with the child on `main`, or else the youngest. The walk ends when
    /// `show` returns false. Nodes in a cycle have no root and are not shown.
    pub fn walk(&self, main: &Path, show: &mut dyn FnMut(Stop) -> bool) {
        let mut open = vec![Siblings::of(self.children(MISSING), 0, main)];
        while let Some(siblings) = open.last_mut() {
            let alone = siblings.nodes.len() == 1;
            let Some((node, depth)) = siblings.step() else {
                open.pop();
                continue;
            };
            if siblings.is_done() {
                open.pop();
            }
            let children = if node.id == CHILDLESS { &[] } else { self.children(node.id) };
            let stop = Stop {
                ordinal: node.ordinal,
                depth,
                children: children.len() as u32,
                begins: !alone || node.parent == MISSING,
                root: node.parent == MISSING,
            };
            if !show(stop) {
                return;
            }
            open.push(Siblings::of(children, depth, main));
        }
    }
}

/// Identifier of a node that certainly has no children.
const CHILDLESS: u64 = 0;

impl<'t> Siblings<'t> {
    fn of(nodes: &'t [Entry], depth: u32, main: &Path) -> Self {
        let on_main = nodes.iter().position(|node| main.contains(node.ordinal));
        Self { nodes, next: 0, straight: on_main.or(nodes.len().checked_sub(1)), depth }
    }

    /// Returns the next sibling, and its depth.
    fn step(&mut self) -> Option<(Entry, u32)> {
        if Some(self.next) == self.straight {
            self.next += 1;
        }
        if let Some(node) = self.nodes.get(self.next) {
            self.next += 1;
            return Some((*node, self.depth + 1));
        }
        let straight = self.straight.take()?;
        Some((*self.nodes.get(straight)?, self.depth))
    }

    fn is_done(&self) -> bool {
        self.straight.is_none()
    }
}
