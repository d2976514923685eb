//! Records that were written twice: after a crash some programs write again the records of which
//! they are not sure, one record or a block of them.

use std::collections::HashMap;

/// Finds records that were written twice, by 64 bits of each record.
///
/// Some records differ from every other one of their session, because they contain a time or an
/// identifier: a second one is a copy. Others may legitimately occur twice; they are copies only
/// inside a block whose other records are copies.
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
    /// First places of the records that differ from every other one.
    first: HashMap<u64, u32>,
    /// Places of their copies, and of the records that were copied.
    copies: Vec<(u32, u32)>,
}

impl Twice {
    /// Notes the next record.
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

    /// Returns the places of all copies, ascending.
    pub fn copies(&self) -> Vec<u32> {
        if self.copies.is_empty() {
            return Vec::new();
        }
        let sums = Sums::of(&self.records);
        // First and last place of each copied block. A block extends to each side of its record by
        // less than the distance to the original.
        let mut blocks: Vec<_> = self
            .copies
            .iter()
            .map(|(place, first)| {
                let (before, behind) = sums.around(*place as usize, *first as usize);
                (*place - before as u32, *place + behind as u32)
            })
            .collect();
        blocks.sort_unstable();
        let (mut found, mut next) = (Vec::new(), 0);
        for (from, to) in blocks {
            found.extend(from.max(next)..=to);
            next = next.max(to.saturating_add(1));
        }
        found
    }
}

/// Sums of the records before each place, so that long blocks are compared at once: if a record was
/// written many times, each copy belongs to a block as long as all records before it.
struct Sums(Vec<u64>);

/// Prime modulus of the sums, whose terms are multiplied by powers of a number.
const PRIME: u64 = (1 << 61) - 1;
const NUMBER: u64 = 0x0e37_79b9_7f4a_7c15;

impl Sums {
    fn of(records: &[u64]) -> Self {
        let (mut sum, mut power, mut sums) = (0, 1, vec![0]);
        for record in records {
            sum = (sum + product(record % PRIME, power)) % PRIME;
            power = product(power, NUMBER);
            sums.push(sum);
        }
        Self(sums)
    }

    /// Returns how many records before and behind two equal ones are equal, too, if the second
    /// follows the first at this distance.
    fn around(&self, place: usize, first: usize) -> (usize, usize) {
        let room = place.saturating_sub(first);
        let factor = power(room as u64);
        let of = |from: usize, to: usize| {
            let sum = |at: usize| self.0.get(at).copied().unwrap_or_default();
            (sum(to) + PRIME - sum(from)) % PRIME
        };
        let same =
            |from: usize, to: usize| product(of(from, to), factor) == of(from + room, to + room);
        let behind = (self.0.len() - 1).saturating_sub(place + 1).min(room.saturating_sub(1));
        let before = first.min(room.saturating_sub(1));
        (
            longest(before, &|length| same(first - length, first)),
            longest(behind, &|length| same(first + 1, first + 1 + length)),
        )
    }
}

/// Returns the greatest length up to this one for which the condition holds; it must hold for all
/// smaller lengths, too.
fn longest(most: usize, is_so: &dyn Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (0, most);
    while least < most {
        let middle = most - (most - least) / 2;
        if is_so(middle) { least = middle } else { most = middle - 1 }
    }
    least
}

fn product(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn power(mut exponent: u64) -> u64 {
    let (mut power, mut square) = (1, NUMBER);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = product(power, square);
        }
        square = product(square, square);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Record by record, as it is meant.
    fn one_by_one(twice: &Twice) -> Vec<u32> {
        let mut found = Vec::new();
        for (place, first) in &twice.copies {
            let room = place - first;
            let at = |place: u32| twice.records.get(place as usize);
            // Another copy of the same block looks on from its own place.
            let copied =
                |place: u32| twice.copies.iter().any(|(p, first)| *p == place && p - first == room);
            let same = |a: u32, b: u32| at(a).is_some() && at(a) == at(b) && !copied(a);
            found.push(*place);
            let before = (1..room).take_while(|n| n <= first && same(place - n, first - n));
            found.extend(before.map(|n| place - n));
            let behind = (1..room).take_while(|n| same(place + n, first + n));
            found.extend(behind.map(|n| place + n));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn blocks_are_as_long_as_record_by_record() {
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..3000 {
            let mut twice = Twice::default();
            let kinds = 1 + next(6);
            for _ in 0..next(40) {
                let content = next(kinds);
                let content = if round % 2 == 0 { content } else { u64::MAX - content };
                twice.record(content, content % 3 != 0);
            }
            assert_eq!(twice.copies(), one_by_one(&twice), "{:?}", twice.records);
        }
    }

    #[test]
    fn a_record_over_and_over_takes_no_time() {
        let mut twice = Twice::default();
        (0..200_000).for_each(|_| twice.record(7, true));
        assert!(twice.copies().into_iter().eq(1..200_000));
    }
}
