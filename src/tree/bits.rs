//! A set of ordinals, one bit each.

/// Ordinals below a number that grows as needed.
///
/// ```
/// use copyist::tree::Bits;
/// let mut bits = Bits::default();
/// assert!(bits.insert(70));
/// assert!(!bits.insert(70));
/// assert!(bits.contains(70) && !bits.contains(7) && !bits.contains(7000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Returns an empty set with room for ordinals below `count`.
    pub fn with_room(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    /// Adds an ordinal; returns whether it is new.
    pub fn insert(&mut self, ordinal: u32) -> bool {
        let place = ordinal as usize / 64;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        let Some(word) = self.words.get_mut(place) else { return false };
        let bit = 1 << (ordinal % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether an ordinal is in the set.
    pub fn contains(&self, ordinal: u32) -> bool {
        let word = self.words.get(ordinal as usize / 64).copied().unwrap_or(0);
        word >> (ordinal % 64) & 1 == 1
    }

    /// Returns the bits, 64 a word.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}
