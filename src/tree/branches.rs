//! A tree from the roots to the leaves.

use super::{Column, Entry, MISSING, Path};
use std::ops::Range;

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
/// // The younger of two branches continues at its parent's depth.
/// assert_eq!(seen, [(0, 0), (1, 1), (2, 0)]);
/// ```
#[derive(Debug)]
pub struct Branches {
    /// Sorted by parent, then by ordinal.
    entries: Column<Entry>,
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
struct Siblings {
    /// Places that are not shown yet.
    remaining: Range<usize>,
    straight: Option<usize>,
    count: usize,
    /// The depth of the straight sibling.
    depth: u32,
}

impl Branches {
    /// Makes branches of `entries`, sorted by identifier, then by ordinal.
    pub(super) fn new(mut entries: Column<Entry>) -> Self {
        for at in 0..entries.len() {
            let (this, next) = (entries.get(at), entries.get(at + 1));
            // Of nodes with one identifier the last has the children, as in `Tree`.
            let twice = next.map(|next| next.id) == this.map(|this| this.id);
            if twice || this.is_some_and(|this| this.parent < MISSING) {
                entries.change(at, |entry| {
                    entry.id = if twice { CHILDLESS } else { entry.id };
                    entry.parent = entry.parent.max(MISSING);
                });
            }
        }
        entries.sort_by_key(|entry| (entry.parent, entry.ordinal));
        Self { entries }
    }

    /// Returns the places of the children of a parent, sorted by ordinal.
    fn children(&self, parent: u64) -> Range<usize> {
        let after = |parent: u64| self.entries.after(parent, |entry| entry.parent);
        after(parent.saturating_sub(1))..after(parent)
    }

    /// Returns siblings, none of which was shown.
    fn siblings(&self, remaining: Range<usize>, depth: u32, main: &Path) -> Siblings {
        let mut nodes = self.entries.range(remaining.clone());
        let on_main = nodes.position(|node| main.contains(node.ordinal));
        let straight = on_main.map(|at| remaining.start + at).or(remaining.clone().next_back());
        Siblings { count: remaining.len(), remaining, straight, depth }
    }

    /// Returns the next sibling, and its depth.
    fn step(&self, siblings: &mut Siblings) -> Option<(Entry, u32)> {
        let straight = siblings.straight;
        if let Some(place) = siblings.remaining.find(|place| Some(*place) != straight) {
            return Some((self.entries.get(place)?, siblings.depth + 1));
        }
        Some((self.entries.get(siblings.straight.take()?)?, siblings.depth))
    }

    /// Shows every node to which a root leads, in the order in which a user would draw them: a
    /// branch straight down, beside each fork the branches that were left there. At a fork, the
    /// walk goes straight on with the child on `main`, or else the youngest. The walk ends when
    /// `show` returns false. Nodes in a cycle have no root and are not shown.
    pub fn walk(&self, main: &Path, show: &mut dyn FnMut(Stop) -> bool) {
        let mut open = vec![self.siblings(self.children(MISSING), 0, main)];
        while let Some(siblings) = open.last_mut() {
            let Some((node, depth)) = self.step(siblings) else {
                open.pop();
                continue;
            };
            let alone = siblings.count == 1;
            if siblings.straight.is_none() {
                open.pop();
            }
            let children = if node.id == CHILDLESS { 0..0 } else { self.children(node.id) };
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
            open.push(self.siblings(children, depth, main));
        }
    }
}

/// Identifier of a node that certainly has no children.
const CHILDLESS: u64 = 0;
