//! Places of entries.
//!
//! Each place is stored as its distance from the one before: three to four bytes an entry, where
//! line and byte would be twelve.

use super::column::{Column, plain};
use crate::position::Position;

/// Places in the order in which they were noted.
#[derive(Debug)]
pub struct Places {
    /// Distances of each place from the one before, in lines and bytes.
    steps: Column<u8>,
    blocks: Column<Block>,
    last: Position,
    count: usize,
}

/// The first place of a block, and the beginning of the steps behind it.
#[derive(Clone, Copy, Debug)]
struct Block {
    part: u32,
    line: u64,
    byte: u64,
    record: u64,
    steps: u64,
}

plain!(Block { part: u32, line: u64, byte: u64, record: u64, steps: u64 });

/// Number of places in a block, which limits the steps to find one.
const BLOCK: usize = 64;

impl Places {
    /// Returns no places; at most so many bytes of them will be in memory.
    pub fn within(bytes: usize) -> Self {
        let (steps, blocks) = (Column::within(bytes / 4 * 3), Column::within(bytes / 4));
        Self { steps, blocks, last: Position::default(), count: 0 }
    }

    /// Notes the next place.
    pub fn push(&mut self, at: Position) {
        if self.count.is_multiple_of(BLOCK) {
            let Position { part, line, byte, record } = at;
            let steps = self.steps.len() as u64;
            self.blocks.push(Block { part, line, byte, record, steps });
        } else {
            self.step(self.last.line, at.line);
            self.step(self.last.byte, at.byte);
        }
        self.last = at;
        self.count += 1;
    }

    /// Returns the place with this number, counted from 0.
    pub fn at(&self, ordinal: u32) -> Position {
        let ordinal = ordinal as usize;
        let Some(block) = self.blocks.get(ordinal / BLOCK) else { return Position::default() };
        let Block { part, line, byte, record, steps } = block;
        let mut at = Position { part, line, byte, record };
        let mut steps = self.steps.range(steps as usize..self.steps.len());
        for _ in 0..ordinal % BLOCK {
            at.line = at.line.wrapping_add(step(&mut steps));
            at.byte = at.byte.wrapping_add(step(&mut steps));
        }
        at
    }

    /// Adds a step forward or, from one part of a session to the next, backward: seven bits a byte,
    /// the lowest first, in which the lowest bit is set if the step is backward.
    fn step(&mut self, from: u64, to: u64) {
        let forward = to >= from;
        let mut left = (to.abs_diff(from) << 1) | u64::from(!forward);
        while left > 0x7f {
            self.steps.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.steps.push(left as u8);
    }
}

/// Returns the next step, to be added.
fn step(steps: &mut impl Iterator<Item = u8>) -> u64 {
    let (mut step, mut shift) = (0_u64, 0);
    for byte in steps {
        step |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let far = step >> 1;
    if step & 1 == 0 { far } else { far.wrapping_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_again_however_far_they_are() {
        let at = |n: u64| {
            let (line, byte) = (n % 777 * n % 5000, n * n * 7919 % (1 << 40));
            Position { line, byte, ..Position::default() }
        };
        let mut places = Places::within(500);
        (0..1000).for_each(|n| places.push(at(n)));
        for n in 0..1000 {
            assert_eq!(places.at(n), at(n.into()), "{n}");
        }
    }
}
