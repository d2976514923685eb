//! Counts of what rows do not contain, or contain otherwise than the session.

use std::collections::BTreeMap;

/// Numbers by kind, in words for people: `images`, `tool results cut`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Counts a number of one kind.
    pub fn add(&mut self, kind: &'static str, number: u64) {
        if number > 0 {
            *self.0.entry(kind).or_default() += number;
        }
    }

    /// Adds the numbers of other rows.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(kind, number)| self.add(kind, number));
    }

    /// Returns the kinds and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(kind, number)| (*kind, *number))
    }
}
