//! Alignment of two lists: finds the items that both lists have in one order.
//!
//! The search begins with items that occur once in each list. As many of them as are in one order
//! divide the lists, as in patience diff. The parts between them are divided likewise, and then by
//! the histogram diff. The histogram diff alone is as good, but takes the square of the time where
//! many items far apart differ. Therefore long lists in which nothing occurs once are divided at
//! items that occur equally often in both: the first is paired with the first, and so on. Where
//! these do not help either, they are divided at all items that occur in both, if most of a list is
//! in order then. Otherwise they are left to Myers' diff, which gives up on the best answer where
//! that takes too long.

use imara_diff::{Algorithm, Diff, InternedInput};
use serde::Serialize;
use std::ops::Range;

/// Places of two lists that have nothing in common: one of the ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Places in the first list.
    pub a: Range<u32>,
    /// Places in the second list.
    pub b: Range<u32>,
}

/// Counts of items that two lists have in common or alone, such as records or turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Items of the first list.
    pub a: u64,
    /// Items of the second list.
    pub b: u64,
    /// Items that are the same in both.
    pub same: u64,
    /// Items that differ from their corresponding items.
    pub changed: u64,
    /// Items of the first list without corresponding items.
    pub only_a: u64,
    /// Items of the second list without corresponding items.
    pub only_b: u64,
}

impl Counts {
    /// Whether there is no difference.
    pub fn is_same(&self) -> bool {
        self.changed + self.only_a + self.only_b == 0
    }
}

/// Maximum number of times that lists are divided: an item that occurs twice in a list may occur
/// once in a part of it.
const LEVELS: usize = 8;

/// Number of items of both lists together above which lists are long. Up to this number the time of
/// the histogram diff is negligible.
const LONG: usize = 20_000;

/// Returns where two lists differ, in order. The items between two hunks, before the first and
/// after the last are the same in both lists.
///
/// ```
/// use copyist::alignment::{Hunk, hunks};
///
/// let differ = hunks(&[1, 2, 3, 4], &[1, 3, 4, 5]);
/// assert_eq!(differ, [Hunk { a: 1..2, b: 1..1 }, Hunk { a: 4..4, b: 3..4 }]);
/// ```
pub fn hunks(a: &[u64], b: &[u64]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let whole = Part { a, b, from: (0, 0) };
    whole.align(LEVELS, &mut hunks);
    hunks
}

/// A part of each list.
struct Part<'l> {
    a: &'l [u64],
    b: &'l [u64],
    /// Places in the lists at which the parts begin.
    from: (usize, usize),
}

impl Part<'_> {
    fn align(&self, levels: usize, hunks: &mut Vec<Hunk>) {
        let part = self.without_equal_ends();
        if part.a.is_empty() || part.b.is_empty() {
            return part.add(0..part.a.len(), 0..part.b.len(), hunks);
        }
        let anchors = if levels == 0 { Vec::new() } else { part.anchors() };
        if anchors.is_empty() {
            return part.compare(hunks);
        }
        let mut from = (0, 0);
        for (at_a, at_b) in anchors {
            part.part(from.0..at_a, from.1..at_b).align(levels - 1, hunks);
            from = (at_a + 1, at_b + 1);
        }
        part.part(from.0..part.a.len(), from.1..part.b.len()).align(levels - 1, hunks);
    }

    fn part(&self, a: Range<usize>, b: Range<usize>) -> Part<'_> {
        let from = (self.from.0 + a.start, self.from.1 + b.start);
        Part { a: self.a.get(a).unwrap_or_default(), b: self.b.get(b).unwrap_or_default(), from }
    }

    fn without_equal_ends(&self) -> Part<'_> {
        let same = |pair: &(&u64, &u64)| pair.0 == pair.1;
        let start = self.a.iter().zip(self.b).take_while(same).count();
        let rest = self.part(start..self.a.len(), start..self.b.len());
        let end = rest.a.iter().rev().zip(rest.b.iter().rev()).take_while(same).count();
        self.part(start..self.a.len() - end, start..self.b.len() - end)
    }

    fn is_long(&self) -> bool {
        self.a.len() + self.b.len() > LONG
    }

    /// Returns the largest choice of items that occur once in each part and in one order in both,
    /// by their places. In long parts without such items, items that occur more often are chosen.
    fn anchors(&self) -> Vec<(usize, usize)> {
        let (a, b) = (sorted(self.a), sorted(self.b));
        let once = rising(&pairs(&a, &b, |a, b| (a, b) == (1, 1)));
        if !once.is_empty() || !self.is_long() {
            return once;
        }
        // One more or less of an item may pair all that follow it wrongly: then few are in order.
        let most = self.a.len().min(self.b.len()) / 2;
        let ways: [fn(usize, usize) -> bool; 2] = [|a, b| a == b, |_, _| true];
        let mut often = ways.iter().map(|fits| rising(&pairs(&a, &b, *fits)));
        often.find(|found| found.len() > most).unwrap_or_default()
    }

    fn compare(&self, hunks: &mut Vec<Hunk>) {
        let algorithm = if self.is_long() { Algorithm::Myers } else { Algorithm::Histogram };
        let mut input = InternedInput::default();
        input.update_before(self.a.iter().copied());
        input.update_after(self.b.iter().copied());
        for hunk in Diff::compute(algorithm, &input).hunks() {
            let range = |range: Range<u32>| range.start as usize..range.end as usize;
            self.add(range(hunk.before), range(hunk.after), hunks);
        }
    }

    fn add(&self, a: Range<usize>, b: Range<usize>, hunks: &mut Vec<Hunk>) {
        let range =
            |from: usize, part: Range<usize>| (from + part.start) as u32..(from + part.end) as u32;
        if !(a.is_empty() && b.is_empty()) {
            hunks.push(Hunk { a: range(self.from.0, a), b: range(self.from.1, b) });
        }
    }
}

/// Returns the items of a list with their places, sorted.
fn sorted(list: &[u64]) -> Vec<(u64, usize)> {
    let mut items: Vec<_> = list.iter().copied().zip(0..).collect();
    items.sort_unstable();
    items
}

/// Returns the places of each item that occurs in both of two sorted lists, where its counts
/// satisfy `fits`: the first place in one with the first in the other, and so on. The pairs are in
/// order.
fn pairs(
    a: &[(u64, usize)],
    b: &[(u64, usize)],
    fits: fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let same = |one: &(u64, usize), other: &(u64, usize)| one.0 == other.0;
    let item = |chunk: &[(u64, usize)]| chunk.first().map(|(item, _)| *item);
    let mut others = b.chunk_by(same).peekable();
    let mut pairs = Vec::new();
    for own in a.chunk_by(same) {
        while others.next_if(|other| item(other) < item(own)).is_some() {}
        let other = others.next_if(|other| item(other) == item(own));
        if let Some(other) = other.filter(|other| fits(own.len(), other.len())) {
            pairs.extend(own.iter().zip(other).map(|((_, a), (_, b))| (*a, *b)));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Returns the longest choice of pairs, sorted by their first places, whose second places rise,
/// too.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Of the choices of each length, the pair that ends the one whose end is lowest.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = Vec::with_capacity(pairs.len());
    let second = |index: &usize| pairs.get(*index).map(|(_, b)| *b);
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(end) < Some(pair.1));
        before.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let chain = std::iter::successors(ends.last().copied(), |index| *before.get(*index)?);
    let mut chosen: Vec<_> = chain.filter_map(|index| pairs.get(index).copied()).collect();
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the items that two lists share according to their hunks, each of which must be a
    /// difference.
    fn common(a: &[u64], b: &[u64]) -> Vec<u64> {
        let (mut at_a, mut at_b, mut common) = (0, 0, Vec::new());
        for Hunk { a: in_a, b: in_b } in hunks(a, b) {
            assert!(in_a.start > at_a || at_a + at_b == 0, "two hunks touch");
            assert_eq!(
                a[at_a as usize..in_a.start as usize],
                b[at_b as usize..in_b.start as usize]
            );
            common.extend(&a[at_a as usize..in_a.start as usize]);
            (at_a, at_b) = (in_a.end, in_b.end);
        }
        assert_eq!(a[at_a as usize..], b[at_b as usize..]);
        common.extend(&a[at_a as usize..]);
        common
    }

    proptest! {
        #[test]
        fn what_is_between_hunks_is_the_same(
            a in proptest::collection::vec(0..12u64, 0..40),
            b in proptest::collection::vec(0..12u64, 0..40),
        ) {
            common(&a, &b);
        }

        #[test]
        fn what_only_one_list_has_costs_nothing_of_the_rest(
            list in proptest::collection::vec(0..400u64, 0..60),
            new in proptest::collection::vec(0..60usize, 0..20),
        ) {
            let mut longer = list.clone();
            for (at, item) in new.into_iter().zip(1000..) {
                longer.insert(at.min(longer.len()), item);
            }
            prop_assert_eq!(common(&list, &longer), list);
        }
    }

    #[test]
    fn alignment_of_unique_items_keeps_their_order() {
        let moved: Vec<u64> = (10..90).chain(0..10).chain(90..100).collect();
        let list: Vec<u64> = (0..100).collect();
        assert_eq!(common(&list, &moved), (10..100).collect::<Vec<_>>());
    }

    #[test]
    fn many_scattered_differences_take_no_time() {
        let list: Vec<u64> = (0..400_000).collect();
        let swapped: Vec<u64> = list.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        assert_eq!(common(&list, &swapped).len(), list.len() / 2);
    }

    #[test]
    fn alignment_of_long_lists_without_unique_items_is_fast() {
        let list: Vec<u64> = (0..100_000).collect();
        let often = |times: usize| -> Vec<u64> {
            list.iter().flat_map(|item| std::iter::repeat_n(*item, times)).collect()
        };
        assert_eq!(common(&list, &often(2)), list);
        assert_eq!(common(&often(3), &often(2)), often(2));
        let backwards: Vec<u64> = often(2).into_iter().rev().collect();
        assert!(!common(&often(2), &backwards).is_empty());
        let changed: Vec<u64> = often(2)
            .into_iter()
            .zip(0..)
            .map(|(item, at)| item + u64::from(at % 8 == 0) * 1_000_000)
            .collect();
        assert_eq!(common(&often(2), &changed).len(), 175_000);
    }
}
