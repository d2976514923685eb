//! Lines whose parent is not in the file, and the lines that they follow.
//!
//! Source: what release 2.1.332 sends of transcripts with one line after the other left out.

use super::links::{Link, NO_TIME, Sort};
use std::cmp::Reverse;

/// Maximum number of milliseconds between a line whose parent is lost and the line that it follows.
const MAXIMUM: i64 = 5000;

/// Maximum number of lines that are tried.
const TRIES: usize = 64;

/// The lines of a transcript in the order of their times; of those with one time, the first in the
/// file is the last.
pub struct ByTime(Vec<(i64, Reverse<u32>)>);

impl ByTime {
    /// Orders the lines, except those left out, and those about progress, which the program does
    /// not keep.
    pub fn of(links: &[Link], omitted: &dyn Fn(u32) -> bool) -> Self {
        let counts = |(at, link): &(u32, &Link)| {
            ![Sort::Aside, Sort::Progress].contains(&link.sort)
                && link.time != NO_TIME
                && !omitted(*at)
        };
        let lines = (0..).zip(links).filter(counts);
        let mut list: Vec<_> = lines.map(|(at, link)| (link.time, Reverse(at))).collect();
        list.sort_unstable();
        Self(list)
    }

    /// Returns the lines that one of this time can follow, the one that the program takes first.
    pub fn before(&self, time: i64) -> impl Iterator<Item = u32> + '_ {
        let end = self.0.partition_point(|(other, _)| *other <= time);
        let lines = self.0.get(..end).unwrap_or_default().iter().rev();
        let near = lines.take_while(move |(other, _)| time - other <= MAXIMUM);
        near.map(|(_, Reverse(at))| *at).take(TRIES)
    }
}
