//! Parents of the entries of a tree, in the order of the file.

use super::Bits;
use super::column::{Column, plain};
use std::collections::HashMap;

/// Parent of an entry that does not follow its parent at once.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    pub ordinal: u32,
    /// Key of the parent.
    pub parent: u64,
}

plain!(Jump { ordinal: u32, parent: u64 });

/// Parents of the entries. Nearly all entries follow their parents at once, and cost one bit.
#[derive(Debug)]
pub struct Links {
    pub follow: Bits,
    /// The others, by their ordinals.
    pub jumps: Column<Jump>,
    /// Entries that follow one whose identifier occurs twice, each with that identifier.
    pub twice: HashMap<u32, u64>,
}

impl Links {
    /// Begins a tree whose links take at most so many bytes of memory, bits aside.
    pub fn within(bytes: usize) -> Self {
        let (follow, twice) = (Bits::default(), HashMap::new());
        Self { follow, jumps: Column::within(bytes), twice }
    }

    /// Whether the parent of an entry is the one before it.
    pub fn follows(&self, ordinal: u32) -> bool {
        self.follow.contains(ordinal) && !self.twice.contains_key(&ordinal)
    }

    /// Returns the key of the parent of an entry that does not follow it.
    pub fn jump(&self, ordinal: u32) -> Option<u64> {
        if let Some(id) = self.twice.get(&ordinal) {
            return Some(*id);
        }
        let jumps = &self.jumps;
        let place = jumps.partition_point(0..jumps.len(), |jump| jump.ordinal < ordinal);
        jumps.get(place).filter(|jump| jump.ordinal == ordinal).map(|jump| jump.parent)
    }
}
