//! Plan of the changes to each entry of a broken tree, in the order of the file.

use super::marked::{Aim, FIRST, MarkedEntry, key_of_id, marks};
use super::{ABSENT, Bits, Column, MISSING, ROOT};
use crate::format::Reach;
use crate::ids::{Id, Maker};
use std::collections::{HashMap, HashSet};

/// Plan of the changes to the entries of a session.
#[derive(Debug)]
pub struct Plan {
    entries: Column<MarkedEntry>,
    maker: Maker,
    /// New identifiers that do not follow from the ordinal.
    names: HashMap<u32, Id>,
    aims: HashMap<(u32, bool), Aim>,
    /// The first entries that compactions keep.
    first_kept: HashMap<u32, u32>,
    /// Entries whose identifiers others need.
    wanted: Bits,
    /// The active branch.
    path: Bits,
    leaf: Option<u32>,
    /// The last entry, if it was linked to the end of the conversation.
    moved: Option<u32>,
    before: Reach,
}

impl Plan {
    pub(super) fn new(
        entries: Column<MarkedEntry>,
        maker: Maker,
        names: HashMap<u32, Id>,
        missing: HashMap<u32, u64>,
        wishes: Bits,
        (aims, first_kept): (HashMap<(u32, bool), Aim>, HashMap<u32, u32>),
        before: Reach,
    ) -> Self {
        let mut plan = Self { names, aims, first_kept, before, ..Self::empty(entries, maker) };
        plan.break_circles();
        plan.adopt(&missing, &wishes);
        plan.move_leaf();
        plan.follow();
        plan.note_wanted();
        plan
    }

    fn empty(entries: Column<MarkedEntry>, maker: Maker) -> Self {
        Self {
            entries,
            maker,
            names: HashMap::new(),
            aims: HashMap::new(),
            first_kept: HashMap::new(),
            wanted: Bits::default(),
            path: Bits::default(),
            leaf: None,
            moved: None,
            before: Reach::default(),
        }
    }

    pub(super) fn of_list(entries: Column<MarkedEntry>, maker: Maker) -> Self {
        let mut plan = Self::empty(entries, maker);
        let there = |entry: &MarkedEntry| !entry.is(marks::PASSED);
        for entry in plan.entries.iter().filter(there) {
            plan.path.insert(entry.ordinal);
        }
        plan.leaf = plan.entries.iter().rev().find(there).map(|entry| entry.ordinal);
        plan
    }

    fn entry(&self, ordinal: u32) -> Option<MarkedEntry> {
        self.entries.get(ordinal as usize)
    }

    fn mark(&mut self, ordinal: u32, marks: u32) {
        self.entries.change(ordinal as usize, |entry| entry.note |= marks);
    }

    fn link(&mut self, ordinal: u32, parent: Option<u32>, marks: u32) {
        self.entries.change(ordinal as usize, |entry| {
            entry.parent = parent.map_or(ROOT, |parent| FIRST + u64::from(parent));
            entry.note |= marks;
        });
    }

    /// Removes the parent of the first entry of each circle. A circle needs a parent behind its
    /// child, so only such entries are followed.
    fn break_circles(&mut self) {
        let starts = self.entries.iter().filter(|entry| entry.leads_forward());
        let starts: Vec<u32> = starts.map(|entry| entry.ordinal).collect();
        let mut seen = if starts.is_empty() { Vec::new() } else { vec![0u32; self.entries.len()] };
        for (walk, start) in (1u32..).zip(starts) {
            let mut here = Some(start);
            while let Some(at) = here {
                match seen.get_mut(at as usize) {
                    Some(mark) if *mark == 0 => *mark = walk,
                    Some(mark) if *mark == walk => {
                        self.cut(at);
                        break;
                    }
                    _ => break,
                }
                here = self.entry(at).and_then(|entry| entry.parent());
            }
        }
    }

    /// Cuts the circle that an entry is on.
    fn cut(&mut self, on: u32) {
        let (mut first, mut here) = (on, self.entry(on).and_then(|entry| entry.parent()));
        while let Some(at) = here.filter(|at| *at != on) {
            first = first.min(at);
            here = self.entry(at).and_then(|entry| entry.parent());
        }
        self.entries.change(first as usize, |entry| {
            entry.parent = MISSING;
            entry.note |= marks::CIRCLE;
        });
    }

    /// Finds parents for entries that have lost theirs.
    ///
    /// Software writes an entry behind the one that it follows, unless the user went back.
    /// Therefore, as long as the last entry is the only earlier one without a child, it is the
    /// parent.
    fn adopt(&mut self, missing: &HashMap<u32, u64>, wishes: &Bits) {
        let mut parents = Bits::with_room(self.entries.len());
        let mut adopted: HashMap<u64, Option<u32>> = HashMap::new();
        let (mut childless, mut last) = (0u32, None);
        let mut roots = Roots::of(&self.entries);
        for ordinal in 0..self.entries.len() as u32 {
            let Some(entry) = self.entry(ordinal).filter(|b| !b.is(marks::PASSED)) else {
                continue;
            };
            let lost = missing.get(&ordinal);
            match entry.parent {
                ABSENT => {
                    let parent = self.not_from(last, ordinal, &mut roots);
                    self.link(ordinal, parent, marks::LINKED);
                }
                MISSING => {
                    let known = lost.and_then(|lost| adopted.get(lost)).copied();
                    let only = last.is_none_or(|last| childless == 1 && !parents.contains(last));
                    let orphan = known.is_none() && !only;
                    let parent = known.unwrap_or(if only { last } else { None });
                    let parent = self.not_from(parent, ordinal, &mut roots);
                    let marks = if orphan { marks::ORPHAN } else { 0 };
                    self.link(ordinal, parent, marks::LINKED | marks);
                    if let (Some(lost), false) = (lost, orphan) {
                        adopted.entry(*lost).or_insert(parent);
                    }
                }
                _ if wishes.contains(ordinal) => self.mark(ordinal, marks::LINKED),
                _ => {}
            }
            if let Some(parent) = self.entry(ordinal).and_then(|entry| entry.parent())
                && parents.insert(parent)
                && parent < ordinal
            {
                childless -= 1;
            }
            childless += u32::from(!parents.contains(ordinal));
            last = Some(ordinal);
        }
        self.leaf = last;
    }

    /// Returns the entry, or the nearest one before it that does not descend from `root`, which
    /// gets it as its parent. In a file with changed order, an entry may descend from `root`
    /// although it comes before it.
    fn not_from(&self, entry: Option<u32>, root: u32, roots: &mut Roots) -> Option<u32> {
        /// Maximum number of entries that the search looks at.
        const LOOKED_AT: usize = 64;
        let before = (0..=entry?).rev().filter(|at| self.marks(*at) & marks::PASSED == 0);
        let found = before.take(LOOKED_AT).find(|at| roots.root(*at) != root);
        roots.link(root, found);
        found
    }

    /// Whether an entry descends from another one.
    fn comes_from(&self, entry: u32, ancestor: u32) -> bool {
        let mut here = Some(entry);
        for _ in 0..self.entries.len() {
            match here {
                Some(at) if at == ancestor => return true,
                Some(at) => here = self.entry(at).and_then(|entry| entry.parent()),
                None => return false,
            }
        }
        false
    }

    /// Links an entry at the end that only describes the session, and follows an earlier entry than
    /// the last one of the conversation, to that last one.
    fn move_leaf(&mut self) {
        let Some(leaf) = self.leaf.filter(|leaf| self.marks(*leaf) & marks::ASIDE != 0) else {
            return;
        };
        let there = |entry: &MarkedEntry| !entry.is(marks::PASSED | marks::ASIDE);
        let Some(end) = self.entries.iter().rev().find(there).map(|entry| entry.ordinal) else {
            return;
        };
        let (mut here, mut top) = (Some(leaf), leaf);
        let mut steps = self.entries.len();
        while let Some(at) = here.filter(|at| *at != end && steps > 0) {
            if at > end {
                top = at;
            }
            here = self.entry(at).and_then(|entry| entry.parent());
            steps -= 1;
        }
        if here.is_none() && !self.comes_from(end, top) {
            self.link(top, Some(end), marks::LINKED);
            self.moved = Some(top);
        }
    }

    /// Returns the first entry behind the last message that leads to the leaf, and the number of
    /// newer messages that are not reached, where the leaf is not a message and on an older branch.
    pub fn old_branch(&self) -> Option<(u32, u64)> {
        let said = |entry: &MarkedEntry| entry.is(marks::MESSAGE) && !entry.is(marks::PASSED);
        let tip = self.entries.iter().rev().find(said)?.ordinal;
        let active = self.entries.iter().filter(|entry| self.is_active(entry.ordinal));
        let last = active.clone().rev().find(said).map_or(0, |entry| entry.ordinal);
        if self.is_active(tip) || last > tip {
            return None;
        }
        let newer = |entry: &MarkedEntry| entry.ordinal > last && !self.is_active(entry.ordinal);
        let count = self.entries.iter().filter(said).filter(newer).count() as u64;
        active.map(|entry| entry.ordinal).find(|ordinal| *ordinal > tip).map(|top| (top, count))
    }

    /// Notes the active branch.
    fn follow(&mut self) {
        let mut here = self.leaf;
        while let Some(at) = here {
            if !self.path.insert(at) {
                break;
            }
            here = self.entry(at).and_then(|entry| entry.parent());
        }
    }

    /// Notes the entries whose identifiers are needed: parents of linked entries. Children of
    /// renamed entries are linked to the new identifiers.
    fn note_wanted(&mut self) {
        for ordinal in 0..self.entries.len() as u32 {
            let Some(entry) = self.entry(ordinal).filter(|b| !b.is(marks::PASSED)) else {
                continue;
            };
            let Some(parent) = entry.parent() else { continue };
            if self.marks(parent) & marks::RENAMED != 0 {
                self.mark(ordinal, marks::LINKED);
            }
            if self.marks(ordinal) & marks::LINKED != 0 {
                self.wanted.insert(parent);
            }
        }
        for aim in self.aims.values() {
            if let Aim::At(target) = aim {
                self.wanted.insert(*target);
            }
        }
    }

    /// Returns the marks of an entry.
    pub fn marks(&self, ordinal: u32) -> u32 {
        self.entry(ordinal)
            .map_or(0, |entry| entry.note & ((1 << marks::BITS) - 1) & !marks::FOLLOWS)
    }

    /// Returns the parent that an entry gets, `Some(None)` for a root; `None` where it keeps its
    /// own.
    pub fn linked(&self, ordinal: u32) -> Option<Option<u32>> {
        let entry = self.entry(ordinal).filter(|entry| entry.is(marks::LINKED))?;
        Some(entry.parent())
    }

    /// Whether the entry is the last one, moved to the end of the conversation.
    pub fn is_moved(&self, ordinal: u32) -> bool {
        self.moved == Some(ordinal)
    }

    /// Returns the new identifier of an entry that gets one.
    pub fn name(&self, ordinal: u32) -> Option<Id> {
        let renamed = self.marks(ordinal) & marks::RENAMED != 0;
        let own = || self.maker.id(u64::from(ordinal) + 1);
        renamed.then(|| self.names.get(&ordinal).copied().unwrap_or_else(own))
    }

    /// Returns the new target of a reference that cannot stay as it is.
    pub fn aim(&self, ordinal: u32, first_kept: bool) -> Option<Aim> {
        self.aims.get(&(ordinal, first_kept)).copied()
    }

    /// Whether another entry needs this one's identifier.
    pub fn is_wanted(&self, ordinal: u32) -> bool {
        self.wanted.contains(ordinal)
    }

    /// Whether an entry is on the active branch.
    pub fn is_active(&self, ordinal: u32) -> bool {
        self.path.contains(ordinal)
    }

    /// Returns the entries of the active branch from its root on.
    pub fn active(&self) -> Vec<u32> {
        let parent = |at: &u32| self.entry(*at).and_then(|entry| entry.parent());
        let on_path = std::iter::successors(self.leaf, parent);
        let mut found: Vec<u32> = on_path.take(self.entries.len()).collect();
        found.reverse();
        found
    }

    /// Whether all parents come before their children.
    pub fn is_in_file_order(&self) -> bool {
        !self.entries.iter().any(|entry| entry.leads_forward())
    }

    /// Returns how many entries there are, removed ones included.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the plan contains a change.
    pub fn changes(&self) -> bool {
        let fixes = marks::REMOVED | marks::RENAMED | marks::LINKED;
        !self.aims.is_empty() || self.entries.iter().any(|entry| entry.is(fixes))
    }

    /// Whether entries are removed.
    pub fn removes(&self) -> bool {
        self.entries.iter().any(|entry| entry.is(marks::REMOVED))
    }

    /// Returns the last compaction of the active branch.
    pub fn compaction(&self) -> Option<u32> {
        let active = |b: &MarkedEntry| b.is(marks::COMPACTION) && self.is_active(b.ordinal);
        self.entries.iter().rev().find(active).map(|entry| entry.ordinal)
    }

    /// Returns the first entry that a compaction keeps, if it comes before it on the active branch.
    pub fn first_kept_by(&self, compaction: u32) -> Option<u32> {
        let first_kept = self.first_kept.get(&compaction).copied();
        first_kept.filter(|first_kept| *first_kept < compaction && self.is_active(*first_kept))
    }

    /// Returns identifiers that no entry has or gets.
    pub fn free_names(&self, maker: &Maker, count: usize) -> Vec<Id> {
        let mut next = self.entries.len() as u64 + self.names.len() as u64;
        let given: HashSet<&Id> = self.names.values().collect();
        let mut free = Vec::with_capacity(count);
        while free.len() < count {
            let wanted = (count - free.len()) as u64;
            let ids: Vec<Id> = (next + 1..=next + wanted).map(|n| maker.id(n)).collect();
            next += wanted;
            let keys: HashSet<u64> = ids.iter().map(key_of_id).collect();
            let taken = self.entries.iter().map(|entry| entry.id).filter(|id| keys.contains(id));
            let taken: HashSet<u64> = taken.collect();
            let unused = |id: &Id| !taken.contains(&key_of_id(id)) && !given.contains(id);
            free.extend(ids.into_iter().filter(unused));
        }
        free
    }

    /// Returns the counts that the software reached before.
    pub fn before(&self) -> Reach {
        self.before
    }

    /// Returns the counts that the software reaches on the active branch, where `first_kept` is the
    /// first entry that the last compaction keeps.
    pub fn reach(&self, first_kept: Option<u32>) -> Reach {
        let compaction = self.compaction();
        let mut reach = Reach { entries: 0, messages: u64::from(compaction.is_some()) };
        for entry in self.entries.iter().filter(|entry| self.is_active(entry.ordinal)) {
            reach.entries += 1;
            let sent = self.is_sent(entry.ordinal, compaction, first_kept);
            reach.messages += u64::from(sent && entry.is(marks::MESSAGE));
        }
        reach
    }

    /// Whether an entry of the active branch is in the context.
    pub fn is_sent(&self, ordinal: u32, compaction: Option<u32>, first_kept: Option<u32>) -> bool {
        match compaction {
            None => true,
            Some(at) if ordinal < at => first_kept.is_some_and(|first_kept| ordinal >= first_kept),
            Some(at) => ordinal > at,
        }
    }
}

/// Roots of the entries, while entries get parents. Where no entry comes before its parent, no
/// entry descends from a later one, and nothing is kept.
struct Roots(Vec<u32>);

impl Roots {
    fn of(entries: &Column<MarkedEntry>) -> Self {
        if !entries.iter().any(|entry| entry.leads_forward()) {
            return Self(Vec::new());
        }
        Self(entries.iter().map(|entry| entry.parent().unwrap_or(entry.ordinal)).collect())
    }

    fn link(&mut self, entry: u32, parent: Option<u32>) {
        if let (Some(parent), Some(above)) = (parent, self.0.get_mut(entry as usize)) {
            *above = parent;
        }
    }

    /// Returns the root of an entry; shortens the way there for later searches.
    fn root(&mut self, entry: u32) -> u32 {
        let mut here = entry;
        while let Some(above) = self.above(here).filter(|above| *above != here) {
            let next = self.above(above).unwrap_or(above);
            if let Some(link) = self.0.get_mut(here as usize) {
                *link = next;
            }
            here = next;
        }
        here
    }

    fn above(&self, entry: u32) -> Option<u32> {
        self.0.get(entry as usize).copied()
    }
}
