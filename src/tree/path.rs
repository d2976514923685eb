//! Path from a root to a leaf.

use super::{Bits, Finding};
use crate::diagnostic::{Code, Diagnostic};
use crate::position::Position;

/// The nodes from a root to a leaf, known by their ordinals among the nodes in source order.
///
/// The path costs one bit for each node of the session as long as parents come before their
/// children, as agents write them.
#[derive(Debug, Default)]
pub struct Path {
    nodes: Bits,
    /// Number of bits that are set before each block of [`BLOCK`] words.
    before: Vec<u32>,
    /// Ordinals, each with its place on the path, sorted; used where the path's order is not the
    /// file's.
    order: Option<Vec<(u32, u32)>>,
    len: u32,
    cycle: Option<Position>,
}

/// Number of words that are counted one by one.
const BLOCK: usize = 8;

impl Path {
    /// Follows `parent` from `leaf`, one of so many `nodes`, and stops before it would meet itself.
    pub(super) fn up(
        nodes: usize,
        leaf: u32,
        at: impl Fn(u32) -> Position,
        parent: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let mut path = Self { nodes: Bits::with_room(nodes), ..Self::default() };
        let (mut last, mut ascending) = (u32::MAX, true);
        for ordinal in std::iter::successors(Some(leaf), |ordinal| parent(*ordinal)) {
            if !path.nodes.insert(ordinal) {
                path.cycle = Some(at(ordinal));
                break;
            }
            ascending &= ordinal < last;
            last = ordinal;
        }
        let mut before = 0;
        for block in path.nodes.words().chunks(BLOCK) {
            path.before.push(before);
            before += block.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        path.len = before;
        if !ascending {
            path.order = Some(path.places(leaf, parent));
        }
        path
    }

    /// Returns the place of each node on the path.
    fn places(&self, leaf: u32, parent: impl Fn(u32) -> Option<u32>) -> Vec<(u32, u32)> {
        let nodes = std::iter::successors(Some(leaf), |ordinal| parent(*ordinal));
        let mut order: Vec<_> = nodes.zip((0..self.len).rev()).collect();
        order.sort_unstable();
        order
    }

    /// Whether the node of this ordinal is on the path.
    pub fn contains(&self, ordinal: u32) -> bool {
        self.nodes.contains(ordinal)
    }

    /// Returns how many nodes come before the node of this ordinal on the path, if it is on it.
    pub fn position(&self, ordinal: u32) -> Option<u32> {
        if !self.contains(ordinal) {
            return None;
        }
        if let Some(order) = &self.order {
            let found = order.binary_search_by_key(&ordinal, |(ordinal, _)| *ordinal).ok()?;
            return order.get(found).map(|(_, position)| *position);
        }
        let word = ordinal as usize / 64;
        let block = word / BLOCK;
        let bits = self.nodes.words();
        let words = bits.get(block * BLOCK..word)?;
        let lower = bits.get(word)? & ((1 << (ordinal % 64)) - 1);
        let inside: u32 = words.iter().map(|word| word.count_ones()).sum();
        Some(self.before.get(block)? + inside + lower.count_ones())
    }

    /// Returns how many nodes are on the path.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the path has no node.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether parents come before their children all the way, so that the path's order is the
    /// order of the file.
    pub fn is_in_file_order(&self) -> bool {
        self.order.is_none()
    }

    /// Returns the finding about a node that is its own ancestor, where the path returns to one.
    pub fn cycle(&self) -> Option<Diagnostic> {
        let finding = Finding::new(Code::Cycle, self.cycle?, 0);
        Some(finding.into_diagnostic())
    }
}
