//! A tree that may be broken, and the decision how its entries are linked.
//!
//! An entry costs 24 bytes: hashes of its identifier and of its parent's, its ordinal, and its
//! marks. The changes are decided on these alone, in two orders. Sorted by identifier, the entries
//! show which refer to which ([`Skeleton::decide`]). In the order of the file, they show which
//! entry can have been before which ([`Plan`]).

use super::column::Column;
use super::marked::{Aim, FIRST, MarkedEntry, key_of_id, marks};
use super::plan::Plan;
use super::{Bits, MISSING, ROOT};
use crate::format::Reach;
use crate::ids::{Id, Maker};
use std::collections::HashMap;

/// An entry in the form in which it is noted.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Key of the identifier.
    pub id: Option<u64>,
    /// Key of the parent, as [`parent_of`](super::parent_of) returns it.
    pub parent: u64,
    /// A hash of its bytes.
    pub content: u64,
    /// Marks of the entry.
    pub marks: u32,
}

/// Reference of an entry to another one that is not its parent.
#[derive(Clone, Copy, Debug)]
struct Reference {
    from: u32,
    target: u64,
    first_kept: bool,
}

/// Collects the data for the decision.
#[derive(Debug)]
pub struct Skeleton {
    entries: Column<MarkedEntry>,
    references: Vec<Reference>,
    /// Parents of entries that are not in the file, as far as torn records show them.
    torn: HashMap<u64, u64>,
    wished: Vec<(u64, u64)>,
}

impl Skeleton {
    /// Returns a tree of no entries, which will take at most so many bytes of memory for them.
    #[must_use]
    pub fn within(bytes: usize) -> Self {
        let (torn, (references, wished)) = Default::default();
        Self { entries: Column::within(bytes), references, torn, wished }
    }

    /// Notes an entry, in the order of the file.
    pub fn entry(&mut self, seen: Seen) {
        let ordinal = self.entries.len() as u32;
        if let (Some(id), true) = (seen.id, seen.marks & marks::UNUSABLE != 0) {
            self.torn.insert(id, seen.parent);
        }
        // Most entries follow the one before, so that their parents need no search.
        let before = self.entries.len().checked_sub(1).and_then(|before| self.entries.get(before));
        let follows = before.is_some_and(|b| seen.parent == b.id && !b.is(marks::PASSED));
        let follows = if follows && seen.parent > MISSING { marks::FOLLOWS } else { 0 };
        let note = seen.marks | follows | (seen.content as u32) << marks::BITS;
        self.entries.push(MarkedEntry {
            id: seen.id.unwrap_or(0),
            parent: seen.parent,
            ordinal,
            note,
        });
    }

    /// Notes that the entry noted last refers to another; `first_kept` for a compaction's first
    /// kept one.
    pub fn refer(&mut self, target: u64, first_kept: bool) {
        let from = (self.entries.len() as u32).saturating_sub(1);
        self.references.push(Reference { from, target, first_kept });
    }

    /// Notes the parent that a torn record names.
    pub fn torn(&mut self, id: u64, parent: u64) {
        self.torn.entry(id).or_insert(parent);
    }

    /// Whether an entry with this identifier exists, and stays.
    #[must_use]
    pub fn knows(&self, id: u64) -> bool {
        self.entries.iter().any(|entry| entry.id == id && !entry.is(marks::PASSED))
    }

    /// Notes the parent that the user wants for an entry.
    pub fn wanted(&mut self, id: u64, parent: u64) {
        self.wished.push((id, parent));
    }

    /// Returns how many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Decides about a tree. New identifiers come from `maker`.
    #[must_use]
    pub fn decide(mut self, maker: Maker) -> Plan {
        self.entries.sort_by_key(|entry| (entry.id, entry.ordinal));
        let before = self.reach();
        let removed = self.find_duplicates();
        let names = self.rename(&maker);
        let wishes = self.grant();
        let (missing, firsts) = self.resolve(&removed);
        let aims = self.aim(&firsts);
        self.entries.sort_by_key(|entry| entry.ordinal);
        Plan::new(self.entries, maker, names, missing, wishes, aims, before)
    }

    /// Decides about a list. Entries have no identifiers; where a record could not legitimately
    /// occur twice, the hash of its content takes the place of one.
    #[must_use]
    pub fn decide_list(mut self, maker: Maker) -> Plan {
        self.entries.sort_by_key(|entry| (entry.id, entry.ordinal));
        for place in 1..self.entries.len() {
            let [before, id] =
                [place - 1, place].map(|place| self.entries.get(place).map(|b| b.id));
            if before == id && id != Some(0) {
                self.mark(place, marks::DUPLICATE);
            }
        }
        self.entries.sort_by_key(|entry| entry.ordinal);
        Plan::of_list(self.entries, maker)
    }

    fn set_parent(&mut self, place: usize, parent: u64) {
        self.entries.change(place, |entry| entry.parent = parent);
    }

    fn mark(&mut self, place: usize, marks: u32) {
        self.entries.change(place, |entry| entry.note |= marks);
    }

    /// Returns all places of an identifier.
    fn group(&self, id: u64) -> std::ops::Range<usize> {
        let start =
            id.checked_sub(1).map_or(0, |below| self.entries.after(below, |entry| entry.id));
        let is = |place| self.entries.get(place).is_some_and(|entry| entry.id == id);
        // Most identifiers have one place, and each search is expensive in so large a table.
        match is(start + 1) {
            true => start..self.entries.after(id, |entry| entry.id),
            false => start..start + usize::from(is(start)),
        }
    }

    /// Removes the copies among entries with one identifier; the others except the first get new
    /// identifiers. Returns the ordinals of the copies.
    fn find_duplicates(&mut self) -> Bits {
        /// Maximum number of entries of the same identifier with which each is compared.
        const COMPARED: usize = 64;
        let mut copies = Bits::default();
        for place in 0..self.entries.len() {
            let Some(entry) = self.entries.get(place) else { break };
            let before = place.checked_sub(1).and_then(|before| self.entries.get(before));
            let first = before.is_none_or(|before| before.id != entry.id);
            if entry.id == 0 || entry.is(marks::PASSED) || first {
                continue;
            }
            let earlier = self.entries.range(self.group(entry.id).start..place);
            let mut earlier = earlier.filter(|b| !b.is(marks::PASSED)).peekable();
            if earlier.peek().is_none() {
                continue;
            }
            let same = |b: MarkedEntry| b.content() == entry.content() && b.parent == entry.parent;
            let twice = earlier.take(COMPARED).any(same);
            if twice {
                copies.insert(entry.ordinal);
            }
            self.mark(place, if twice { marks::DUPLICATE } else { marks::RENAMED });
        }
        copies
    }

    /// Finds new identifiers that no entry has. Most follow from the ordinal; the others are
    /// returned.
    fn rename(&mut self, maker: &Maker) -> HashMap<u32, Id> {
        let mut names = HashMap::new();
        let mut next = self.entries.len() as u64;
        for place in 0..self.entries.len() {
            let Some(entry) = self.entries.get(place) else { break };
            if entry.id == 0 && !entry.is(marks::PASSED) {
                self.mark(place, marks::RENAMED | marks::NAMELESS);
            } else if !entry.is(marks::RENAMED) {
                continue;
            }
            let mut id = maker.id(u64::from(entry.ordinal) + 1);
            while !self.group(key_of_id(&id)).is_empty() {
                next += 1;
                id = maker.id(next);
                names.insert(entry.ordinal, id);
            }
        }
        names
    }

    /// Gives entries the parents that the user wants for them.
    fn grant(&mut self) -> Bits {
        let mut granted = Bits::default();
        for (id, parent) in std::mem::take(&mut self.wished) {
            for place in self.group(id) {
                let entry = self.entries.get(place);
                if let Some(entry) = entry.filter(|entry| entry.parent != parent) {
                    self.entries.change(place, |entry| {
                        (entry.parent, entry.note) = (parent, entry.note & !marks::FOLLOWS);
                    });
                    granted.insert(entry.ordinal);
                }
            }
        }
        granted
    }

    /// Returns the entry that an identifier means to an entry: the nearest before it, else one
    /// behind it.
    fn nearest(&self, id: u64, own: u32) -> Option<u32> {
        /// Maximum number of removed entries that are skipped.
        const PASSED: usize = 64;
        let group = self.group(id);
        let here = self.entries.partition_point(group.clone(), |entry| entry.ordinal < own);
        let there = |entry: &MarkedEntry| !entry.is(marks::PASSED);
        let before = || self.entries.range(group.start..here);
        let mut behind = self.entries.range(here..group.end);
        let near = before().rev().take(PASSED).find(there);
        let found = near.or_else(|| before().take(PASSED).find(there));
        let other = || behind.clone().take(PASSED).filter(|b| b.ordinal != own).find(there);
        let found = found.or_else(other);
        let found = found.or_else(|| behind.next().filter(there));
        found.map(|entry| entry.ordinal)
    }

    /// Returns the parent of a missing entry: the next ancestor that exists. `None` if no record
    /// names one.
    fn through_torn(&self, id: u64, own: u32) -> Option<u64> {
        /// Maximum number of torn records that may follow each other.
        const LONGEST: usize = 1000;
        let mut at = id;
        for _ in 0..LONGEST {
            match *self.torn.get(&at)? {
                parent if parent <= MISSING => return Some(ROOT),
                parent => match self.nearest(parent, own).filter(|found| *found < own) {
                    Some(found) => return Some(FIRST + u64::from(found)),
                    None => at = parent,
                },
            }
        }
        None
    }

    /// Replaces parents' hashes by ordinals. Returns the hashes of the missing ones, by entry, and
    /// the first entry that had each of them as its parent.
    fn resolve(&mut self, removed: &Bits) -> (HashMap<u32, u64>, HashMap<u64, u32>) {
        let (mut missing, mut firsts) = (HashMap::new(), HashMap::<u64, u32>::new());
        for place in 0..self.entries.len() {
            let Some(entry) = self.entries.get(place) else { break };
            if entry.parent <= MISSING || entry.is(marks::PASSED) {
                continue;
            }
            let own = entry.ordinal;
            let before = own.checked_sub(1).filter(|before| !removed.contains(*before));
            let before = before.filter(|_| entry.is(marks::FOLLOWS));
            if let Some(found) = before.or_else(|| self.nearest(entry.parent, own)) {
                self.set_parent(place, FIRST + u64::from(found));
                continue;
            }
            firsts
                .entry(entry.parent)
                .and_modify(|first| *first = (*first).min(own))
                .or_insert(own);
            let known = self.through_torn(entry.parent, own);
            if known.is_none() {
                missing.insert(own, entry.parent);
            } else {
                self.mark(place, marks::LINKED);
            }
            self.set_parent(place, known.unwrap_or(MISSING));
        }
        (missing, firsts)
    }

    /// Returns the new targets of references whose target is missing or has a new identifier, and
    /// the first entries that compactions keep.
    fn aim(&self, firsts: &HashMap<u64, u32>) -> (HashMap<(u32, bool), Aim>, HashMap<u32, u32>) {
        let mut renamed: Vec<u32> = Vec::new();
        renamed.extend(self.entries.iter().filter(|b| b.is(marks::RENAMED)).map(|b| b.ordinal));
        renamed.sort_unstable();
        let (mut aims, mut keeps) = (HashMap::new(), HashMap::new());
        for Reference { from, target, first_kept } in &self.references {
            let found = self.nearest(*target, *from);
            if let (Some(found), true) = (found, *first_kept) {
                keeps.insert(*from, found);
            }
            let aim = match found {
                Some(found) if renamed.binary_search(&found).is_ok() => Aim::At(found),
                Some(_) => continue,
                // A fork that left labels out kept the entry behind a label.
                None => match firsts.get(target).filter(|first| *first_kept && *first < from) {
                    Some(first) => {
                        keeps.insert(*from, *first);
                        Aim::At(*first)
                    }
                    None => Aim::Itself,
                },
            };
            aims.insert((*from, *first_kept), aim);
        }
        (aims, keeps)
    }

    /// Returns the counts that the software reaches in the tree as it is. The software takes the
    /// last of several entries with one identifier, and hangs where it returns to an entry.
    fn reach(&self) -> Reach {
        let read = |entry: &MarkedEntry| entry.is(marks::READ) && !entry.is(marks::OUTSIDE);
        let of = |id: u64| self.entries.range(self.group(id)).rev().find(read);
        let mut here = self.entries.iter().filter(read).max_by_key(|entry| entry.ordinal);
        let mut way = Bits::default();
        let (mut entries, mut sent, mut compaction) = (0, Vec::new(), None);
        while let Some(entry) = here {
            if !way.insert(entry.ordinal) || entry.is(marks::UNUSABLE) {
                return Reach::default();
            }
            entries += 1;
            if entry.is(marks::COMPACTION) && compaction.is_none() {
                compaction = Some(entry.ordinal);
            } else if entry.is(marks::MESSAGE) {
                sent.push(entry.ordinal);
            }
            here = if entry.parent <= MISSING || entry.id == 0 { None } else { of(entry.parent) };
        }
        let first_kept = compaction.and_then(|compaction| {
            let first_kept =
                self.references.iter().find(|r| r.from == compaction && r.first_kept)?;
            of(first_kept.target)
                .map(|entry| entry.ordinal)
                .filter(|first_kept| way.contains(*first_kept))
        });
        let counts = |ordinal: &&u32| match compaction {
            None => true,
            Some(compaction) => {
                **ordinal > compaction
                    || first_kept.is_some_and(|first_kept| **ordinal >= first_kept)
            }
        };
        let messages = sent.iter().filter(counts).count() + usize::from(compaction.is_some());
        Reach { entries, messages: messages as u64 }
    }
}
