//! Records that were written twice: after a crash some programs write again what they are not sure
//! of, one record or a block of them.

use std::collections::HashMap;

/// Finds them by 64 bits of each record.
///
/// Some records are unlike any other of their session, for a time or an identifier stands in them:
/// a second one is a copy. Others may be said twice; they are copies only in the midst of a block
/// whose other records are.
///
/// ```
/// use copyist::repair::Twice;
/// let mut twice = Twice::default();
/// for (content, unlike) in [(1, true), (2, false), (3, true), (1, true), (2, false), (3, true), (2, false)] {
///     twice.record(content, unlike);
/// }
/// assert_eq!(twice.copies(), [3, 4, 5]);
/// ```
#[derive(Debug, Default)]
pub struct Twice {
    records: Vec<u64>,
    /// Where each record stands first that is unlike any other.
    first: HashMap<u64, u32>,
    /// Copies of those, and the place of what they are copies of.
    copies: Vec<(u32, u32)>,
}

impl Twice {
    /// The next record.
    pub fn record(&mut self, content: u64, unlike: bool) {
        let place = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        self.records.push(content);
        if !unlike {
            return;
        }
        match self.first.get(&content) {
            Some(first) => self.copies.push((place, *first)),
            None => drop(self.first.insert(content, place)),
        }
    }

    /// The places of all copies, ascending.
    #[must_use]
    pub fn copies(&self) -> Vec<u32> {
        let same = |a: u32, b: u32| {
            let at = |place: u32| self.records.get(place as usize);
            at(a).is_some() && at(a) == at(b)
        };
        // Another copy of the same block looks on from its own place.
        let copied = |place: u32, room: u32| {
            let found = self.copies.binary_search_by_key(&place, |(place, _)| *place).ok();
            found.and_then(|at| self.copies.get(at)).is_some_and(|(p, first)| p - first == room)
        };
        let mut found = Vec::new();
        for (place, first) in &self.copies {
            found.push(*place);
            // The rest of the block, as long as it is not the block itself.
            let room = place - first;
            let rest = |place: u32, first: u32| same(place, first) && !copied(place, room);
            let before = (1..room).take_while(|n| n <= first && rest(place - n, first - n));
            found.extend(before.map(|n| place - n));
            let behind = (1..room).take_while(|n| rest(place + n, first + n));
            found.extend(behind.map(|n| place + n));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
