//! Plan of a three-way merge of lists: which items of the source stay, which are edited, and where
//! new items go.
//!
//! There are three lists: the source, the list `before` that the format's writer made of the
//! source, and the list `after` that the same writer made of the edited source. What is equal in
//! `before` and `after` stays as the source has it.

use crate::alignment;
use std::collections::HashMap;
use std::ops::Range;

/// Pair of ranges in two lists whose items correspond, each to the one in the same place, or of
/// which one is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    a: Range<u32>,
    b: Range<u32>,
    same: bool,
}

/// Item of the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The source's item in this place.
    Own(u32),
    /// The source's item in the first place, with the changes between the items in the second and
    /// third place, of `before` and `after`.
    Edited(u32, u32, u32),
    /// The item of `after` in this place.
    New(u32),
}

/// Items of a list, for alignment.
pub trait Items {
    /// Hashes of the items: equal for items with the same content.
    fn hashes(&self) -> &[u64];

    /// Returns the hash of what an item is, so that an edited item can be recognized: its kind and
    /// its identifier, or its kind alone. `None` if the item cannot be read.
    fn likeness(&mut self, item: u32, level: Level) -> Option<u64>;
}

/// Fineness of a likeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Items of one kind with one identifier are alike.
    Identity,
    /// Items of one kind are alike.
    Kind,
}

/// Returns the merged list.
pub fn plan(
    source: &mut dyn Items,
    before: &mut dyn Items,
    after: &mut dyn Items,
) -> impl Iterator<Item = Piece> + use<> {
    let kept = runs(source, before);
    let changes = runs(before, after);
    let counterparts = Counterparts::of(&kept, before.hashes().len());
    let moved = moved(&changes, before.hashes(), after.hashes());
    let mut plan = Plan { counterparts, next: 0, end: source.hashes().len() as u32 };
    let mut pieces = Vec::new();
    let count = changes.len();
    for (place, run) in changes.into_iter().enumerate() {
        let is_last = place + 1 == count;
        plan.run(run, is_last, &moved, &mut pieces);
    }
    plan.flush(plan.end, &mut pieces);
    pieces.into_iter()
}

/// The counterparts in the source of the items of `before`.
struct Counterparts(Vec<u32>);

const NONE: u32 = u32::MAX;

impl Counterparts {
    fn of(kept: &[Run], count: usize) -> Self {
        let mut places = vec![NONE; count];
        for run in kept {
            for (own, item) in run.a.clone().zip(run.b.clone()) {
                places.get_mut(item as usize).into_iter().for_each(|place| *place = own);
            }
        }
        Self(places)
    }

    fn get(&self, item: u32) -> Option<u32> {
        self.0.get(item as usize).copied().filter(|place| *place != NONE)
    }
}

/// Work on a plan.
struct Plan {
    counterparts: Counterparts,
    /// First item of the source that has no place yet.
    next: u32,
    end: u32,
}

impl Plan {
    /// Adds the source's items before `to` that `before` does not have.
    fn flush(&mut self, to: u32, pieces: &mut Vec<Piece>) {
        pieces.extend((self.next..to).map(Piece::Own));
        self.next = self.next.max(to);
    }

    /// Adds a run of corresponding items, of removed ones or of new ones.
    fn run(&mut self, run: Run, is_last: bool, moved: &HashMap<u32, u32>, pieces: &mut Vec<Piece>) {
        if run.a.is_empty() {
            if is_last {
                self.flush(self.end, pieces);
            }
            for new in run.b {
                let own = moved.get(&new).and_then(|old| self.counterparts.get(*old));
                pieces.push(own.map_or(Piece::New(new), Piece::Own));
            }
            return;
        }
        let mut after = run.b.clone();
        for before in run.a {
            let after = after.next();
            let Some(own) = self.counterparts.get(before) else {
                // The writer adds this item to the source's; an edit of it is an edit all the same.
                pieces.extend(after.filter(|_| !run.same).map(Piece::New));
                continue;
            };
            self.flush(own, pieces);
            self.next = own + 1;
            pieces.extend(after.map(|after| match run.same {
                true => Piece::Own(own),
                false => Piece::Edited(own, before, after),
            }));
        }
    }
}

/// Returns the new items that equal a removed one, which moved: the place of the old one by the
/// place of the new one.
fn moved(changes: &[Run], before: &[u64], after: &[u64]) -> HashMap<u32, u32> {
    let mut removed: HashMap<u64, Vec<u32>> = HashMap::new();
    for run in changes.iter().filter(|run| run.b.is_empty()).rev() {
        for item in run.a.clone().rev() {
            if let Some(hash) = before.get(item as usize) {
                removed.entry(*hash).or_default().push(item);
            }
        }
    }
    let new = changes.iter().filter(|run| run.a.is_empty()).flat_map(|run| run.b.clone());
    let moved = new.filter_map(|new| {
        let hash = after.get(new as usize)?;
        Some((new, removed.get_mut(hash)?.pop()?))
    });
    moved.collect()
}

/// Aligns two lists: returns runs that cover both.
fn runs(a: &mut dyn Items, b: &mut dyn Items) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut at_a, mut at_b) = (0, 0);
    let (count_a, count_b) = (a.hashes().len() as u32, b.hashes().len() as u32);
    for hunk in alignment::hunks(a.hashes(), b.hashes()) {
        add(Run { a: at_a..hunk.a.start, b: at_b..hunk.b.start, same: true }, &mut runs);
        (at_a, at_b) = (hunk.a.end, hunk.b.end);
        differing((hunk.a, a), (hunk.b, b), Some(Level::Identity), &mut runs);
    }
    add(Run { a: at_a..count_a, b: at_b..count_b, same: true }, &mut runs);
    runs
}

fn add(run: Run, runs: &mut Vec<Run>) {
    if !(run.a.is_empty() && run.b.is_empty()) {
        runs.push(run);
    }
}

/// Aligns ranges of two lists in which nothing is the same by what their items are.
fn differing(
    (in_a, a): (Range<u32>, &mut dyn Items),
    (in_b, b): (Range<u32>, &mut dyn Items),
    level: Option<Level>,
    runs: &mut Vec<Run>,
) {
    let both = !in_a.is_empty() && !in_b.is_empty();
    let Some(level) = level.filter(|_| both) else {
        add(Run { a: in_a, b: in_b.start..in_b.start, same: false }, runs);
        let end = runs.last().map_or(0, |run| run.a.end);
        return add(Run { a: end..end, b: in_b, same: false }, runs);
    };
    // Items that cannot be read are like no other.
    let mut unlike = 0;
    let mut likeness = |items: &mut dyn Items, range: Range<u32>| -> Vec<u64> {
        let of = |item| {
            unlike += 1;
            items.likeness(item, level).unwrap_or(unlike)
        };
        range.map(of).collect()
    };
    let (like_a, like_b) = (likeness(a, in_a.clone()), likeness(b, in_b.clone()));
    let below = match level {
        Level::Identity => Some(Level::Kind),
        Level::Kind => None,
    };
    let (mut at_a, mut at_b) = (0, 0);
    let range =
        |from: &Range<u32>, part: Range<u32>| from.start + part.start..from.start + part.end;
    let alike = |a: Range<u32>, b: Range<u32>, runs: &mut Vec<Run>| {
        add(Run { a: range(&in_a, a), b: range(&in_b, b), same: false }, runs);
    };
    for hunk in alignment::hunks(&like_a, &like_b) {
        alike(at_a..hunk.a.start, at_b..hunk.b.start, runs);
        (at_a, at_b) = (hunk.a.end, hunk.b.end);
        differing((range(&in_a, hunk.a), a), (range(&in_b, hunk.b), b), below, runs);
    }
    alike(at_a..like_a.len() as u32, at_b..like_b.len() as u32, runs);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items that are words; words with the same first letter are alike.
    struct Words(Vec<&'static str>, Vec<u64>);

    fn words(text: &'static str) -> Words {
        let words: Vec<_> = text.split_whitespace().collect();
        let hashes = words.iter().map(|word| crate::ids::hash(word.as_bytes())).collect();
        Words(words, hashes)
    }

    impl Items for Words {
        fn hashes(&self) -> &[u64] {
            &self.1
        }

        fn likeness(&mut self, item: u32, _: Level) -> Option<u64> {
            self.0[item as usize].bytes().next().map(u64::from)
        }
    }

    /// Merges three lists of words. An edited word shows the source's word and the new one.
    fn merged(source: &'static str, before: &'static str, after: &'static str) -> String {
        let [mut source, mut before, mut after] = [source, before, after].map(words);
        let pieces = plan(&mut source, &mut before, &mut after);
        let shown = pieces.map(|piece| match piece {
            Piece::Own(own) => source.0[own as usize].to_owned(),
            Piece::Edited(own, _, new) => {
                format!("{}→{}", source.0[own as usize], after.0[new as usize])
            }
            Piece::New(new) => format!("+{}", after.0[new as usize]),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_did_not_change_stays_as_the_source_has_it() {
        assert_eq!(merged("A b1 C", "a b c", "a b c"), "A b1 C");
        assert_eq!(merged("x a y", "a", "a"), "x a y");
        assert_eq!(merged("a", "h a", "h a"), "a", "what the writer adds itself is not new");
    }

    #[test]
    fn edits_additions_and_deletions_find_their_places() {
        assert_eq!(merged("x a y b z", "a b", "a b1"), "x a y b→b1 z");
        assert_eq!(merged("x a y b z", "a b", "b"), "x y b z");
        assert_eq!(merged("x a y b z", "a b", "a b n m"), "x a y b z +n +m");
        assert_eq!(merged("x a y b z", "a b", "a n b"), "x a +n y b z");
        assert_eq!(merged("a b c", "a b c", "c a b"), "c a b");
        assert_eq!(merged("", "", "n"), "+n");
    }
}
