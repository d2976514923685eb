//! Order in which the newest release sends the lines of a transcript.
//!
//! Source: what release 2.1.332 sends of transcripts with one thing after the other changed.
//!
//! * Lines with one identifier and the same message are one: the first one's place, the last one's
//!   parent. Of lines with one identifier and different messages, the last one counts.
//! * A line whose parent is not in the chain follows the line with the newest time up to its own,
//!   if that is at most five seconds older (`gaps`); otherwise the conversation begins at it. Of
//!   lines with one time, it follows the first. Behind the last message, times do not count.
//! * The lines of one answer follow each other, then the results of its calls, whichever lines are
//!   their parents; what follows any of these lines follows all of them.
//!   Lines beside a line with the whole answer are copies that release 2.0 wrote, and another branch:
//!   release 2.1.332 would send their texts twice.
//!   A text of the program and a command of the user come in their place on the way to the leaf, and
//!   end the answer unless its results are complete. Words that waited end no answer: they come behind
//!   its lines, before texts directly before them. On another branch all these are sent with the
//!   results of an answer that calls tools, and not otherwise.
//! * A result that comes right before its call is put behind it.
//! * The session continues at the newest line behind the last line of the file, of which copies are
//!   also ones, but not lines about progress.
//!
//! Lines of an answer and its results keep the order of the file among themselves, as far as each
//! line follows its parent; a context puts results behind all calls of an answer, as it does with
//! results that come late, behind a message of the user.

use super::gaps::ByTime;
use super::links::{Lines, Link, NO_KEY, Sort};
use super::members::NONE;
use super::runs::{Children, NO, Runs, at_place, put};
use crate::json::Json;
use crate::tree::Bits;
use std::collections::{HashMap, HashSet};

/// Maximum number of lines that are not sent between those of an answer.
const UNSENT: usize = 64;

/// Places of the lines of a transcript.
#[derive(Debug, Default)]
pub struct Chain {
    copies: Bits,
    /// Lines whose own parent is not in the file.
    lost: Bits,
    /// New parents, by the ordinals of the lines; `None` for a line that becomes the first.
    parents: HashMap<u32, Option<Json>>,
    /// Leaf of the session, where the last line is a copy.
    leaf: Option<Json>,
}

impl Chain {
    /// Returns the leaf of the session, where the last line is a copy.
    #[must_use]
    pub fn leaf(&self) -> Option<&Json> {
        self.leaf.as_ref()
    }

    /// Whether an earlier line is the same message.
    #[must_use]
    pub fn is_copy(&self, ordinal: u32) -> bool {
        self.copies.contains(ordinal)
    }

    /// Whether the line's own parent is not in the file.
    #[must_use]
    pub fn has_lost_parent(&self, ordinal: u32) -> bool {
        self.lost.contains(ordinal)
    }

    /// Returns the new parent of a line, if it has one.
    #[must_use]
    pub fn parent(&self, ordinal: u32) -> Option<Option<&Json>> {
        self.parents.get(&ordinal).map(Option::as_ref)
    }
}

/// Parents of lines, by ordinals.
#[derive(Debug, Default)]
pub struct Places {
    pub copies: Bits,
    lost: Bits,
    parents: Vec<u32>,
    /// The lines whose parent is another than they name.
    changed: Bits,
    /// The lines that a compaction puts behind its summary.
    pub kept: Bits,
    /// The run of each line, and the last line of each run.
    runs: Vec<u32>,
    ends: Vec<u32>,
    /// The line at which the session continues, where the last line is a copy.
    pub leaf: Option<u32>,
}

impl Places {
    /// Returns the parent of a line.
    #[must_use]
    pub fn parent(&self, at: u32) -> Option<u32> {
        at_place(&self.parents, at)
    }

    /// Returns the last line that is sent together with this one.
    #[must_use]
    pub fn end(&self, at: u32) -> u32 {
        at_place(&self.runs, at).and_then(|run| at_place(&self.ends, run)).unwrap_or(at)
    }

    /// Whether both lines are sent together.
    #[must_use]
    pub fn are_together(&self, a: u32, b: u32) -> bool {
        self.end(a) == self.end(b)
    }

    fn chain(self, lines: &Lines) -> Chain {
        let changed = (0..self.parents.len() as u32).filter(|at| self.changed.contains(*at));
        let parent = |at| (at, self.parent(at).map(|parent| lines.name(parent)));
        let parents = changed.map(parent).collect();
        let leaf = self.leaf.map(|leaf| lines.name(self.end(leaf)));
        Chain { copies: self.copies, lost: self.lost, parents, leaf }
    }
}

impl Lines {
    /// Returns the places of all lines.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.decide(true).chain(self)
    }

    /// Decides where each line is. With `moves`, a result goes behind a call that follows it.
    #[must_use]
    pub fn decide(&self, moves: bool) -> Places {
        let mut deciding = Deciding::new(self, moves);
        deciding.group();
        deciding.finish()
    }
}

struct Deciding<'l> {
    lines: &'l Lines,
    links: &'l [Link],
    moves: bool,
    copies: Bits,
    lost: Bits,
    kept: Bits,
    /// Whether all parents so far come before their children.
    backward: bool,
    /// Parents as the lines name them, or as they are found.
    parents: Vec<u32>,
    found: Bits,
    children: Children,
    runs: Runs,
    /// Results that leave their places.
    moved: Bits,
    /// Words at the ends of branches, each with the run above it.
    branch_ends: Vec<(u32, u32)>,
    branch_runs: HashMap<u32, u32>,
}

impl<'l> Deciding<'l> {
    fn new(lines: &'l Lines, moves: bool) -> Self {
        let links = lines.links();
        let mut deciding = Self {
            lines,
            links,
            moves,
            copies: Bits::default(),
            lost: Bits::default(),
            kept: Bits::default(),
            backward: true,
            parents: vec![NO; links.len()],
            found: Bits::default(),
            children: Children::of(&[], &Bits::default()),
            runs: Runs::over(links.len()),
            moved: Bits::default(),
            branch_ends: Vec::new(),
            branch_runs: HashMap::new(),
        };
        deciding.find_parents();
        deciding.children = Children::of(&deciding.parents, &deciding.copies);
        deciding
    }

    fn link(&self, at: u32) -> Link {
        self.links.get(at as usize).copied().unwrap_or_default()
    }

    fn parent(&self, at: u32) -> Option<u32> {
        at_place(&self.parents, at)
    }

    fn set_parent(&mut self, at: u32, parent: Option<u32>) {
        put(&mut self.parents, at, parent);
    }

    fn find_parents(&mut self) {
        let (mut first, mut named) = (HashMap::<u64, u32>::new(), Vec::new());
        let counts = |link: &Link| link.sort != Sort::Aside;
        for (at, link) in (0..).zip(self.links).filter(|(_, link)| counts(link)) {
            match first.get(&link.id).copied() {
                None => drop(first.insert(link.id, at)),
                Some(own) if self.link(own).content == link.content => {
                    self.copies.insert(at);
                    named.push((own, link.parent));
                }
                Some(own) => {
                    self.copies.insert(own);
                    first.insert(link.id, at);
                }
            }
        }
        let preserved = self.lines.segments().kept(&|id| first.contains_key(id));
        let mut lost = Vec::new();
        for (at, link) in (0..).zip(self.links).filter(|(_, link)| counts(link)) {
            if self.copies.contains(at) {
                continue;
            }
            let kept = preserved.parent_of(link.id, link.parent);
            if kept.is_some() {
                self.kept.insert(at);
            }
            let wanted = kept.unwrap_or(link.parent);
            let mut parent = first.get(&wanted).copied().filter(|_| wanted != NONE);
            // The program passes over lines about progress when it reads them.
            let over = parent.filter(|parent| self.link(*parent).sort == Sort::Progress);
            if over.is_some_and(|over| self.lost.contains(over)) {
                parent = None;
            }
            if parent.is_none() && wanted != NONE {
                self.lost.insert(at);
                lost.push(at);
            }
            self.set_parent(at, parent);
            self.backward &= parent.is_none_or(|parent| parent < at);
        }
        self.bridge(&lost);
        // The last copy's parent counts, unless the line would be its own ancestor.
        for (own, parent) in named {
            if parent == NONE {
                self.set_parent(own, None);
            } else if let Some(parent) = first.get(&parent) {
                self.link_unless_cycle(own, *parent);
            }
        }
        for (at, link) in (0..).zip(self.links) {
            let named = first.get(&link.parent).copied().filter(|_| link.parent != NONE);
            // A parent that is not in the chain does not count, also on the first line.
            let other = self.parent(at) != named || (named.is_none() && link.parent != NONE);
            if counts(link) && !self.copies.contains(at) && other {
                self.found.insert(at);
            }
        }
    }

    /// Links lines whose parent is lost.
    fn bridge(&mut self, lost: &[u32]) {
        if lost.is_empty() {
            return;
        }
        let left_out = |at| {
            let begun = self.lines.segments().begin() > at && !self.kept.contains(at);
            begun || self.copies.contains(at)
        };
        let by_time = ByTime::of(self.links, &left_out);
        for at in lost.iter().copied() {
            let time = self.link(at).time;
            by_time.before(time).any(|before| self.link_unless_cycle(at, before));
        }
        let mut above_messages = Bits::default();
        for at in (0..self.links.len() as u32).rev() {
            if self.link(at).is_message || above_messages.contains(at) {
                self.parent(at).map(|parent| above_messages.insert(parent));
            }
        }
        let behind = |at: &u32| !self.link(*at).is_message && !above_messages.contains(*at);
        for at in lost.iter().copied().filter(behind).collect::<Vec<_>>() {
            let counts =
                |at: &u32| self.link(*at).sort != Sort::Aside && !self.copies.contains(*at);
            let before = (0..at).rev().find(counts);
            before.map(|before| self.link_unless_cycle(at, before));
        }
    }

    /// Gives a line a parent, and returns true, unless it would be its own ancestor.
    fn link_unless_cycle(&mut self, at: u32, parent: u32) -> bool {
        let old = self.parent(at);
        if old == Some(parent) {
            return true;
        }
        if at == parent {
            return false;
        }
        self.set_parent(at, Some(parent));
        self.backward &= parent < at;
        let is_cycle = !self.backward && self.is_own_ancestor(at);
        if is_cycle {
            self.set_parent(at, old);
        }
        !is_cycle
    }

    fn is_own_ancestor(&self, own: u32) -> bool {
        let mut above = self.parent(own);
        for _ in 0..self.links.len() {
            match above {
                None => return false,
                Some(at) if at == own => return true,
                Some(at) => above = self.parent(at),
            }
        }
        true
    }

    /// Finds the runs, parents before their children.
    fn group(&mut self) {
        let root = |at: &u32| {
            let sort = self.link(*at).sort;
            self.parent(*at).is_none() && sort != Sort::Aside && !self.copies.contains(*at)
        };
        let mut waiting: Vec<u32> = (0..self.links.len() as u32).rev().filter(root).collect();
        let mut begun = HashMap::new();
        while let Some(at) = waiting.pop() {
            self.place(at, &mut begun);
            let before = waiting.len();
            waiting.extend(self.children.of_line(at));
            waiting.get_mut(before..).unwrap_or_default().reverse();
        }
        // A text at the end of a branch is sent with the results of an answer.
        for (at, run) in std::mem::take(&mut self.branch_ends) {
            if self.runs.called.contains(run) {
                self.runs.join(at, run);
            }
        }
        self.runs.order(self.lines, &self.parents, &self.moved);
    }

    fn place(&mut self, at: u32, begun: &mut HashMap<(Option<u32>, u32), Option<u32>>) {
        let (link, parent) = (self.link(at), self.parent(at));
        let above = parent.and_then(|parent| self.runs.of(parent));
        match link.sort {
            Sort::Answer if link.group != NO_KEY => {
                let groups = &self.runs.groups;
                let same = |run: &u32| at_place(groups, *run) == Some(link.group);
                let above = above.or_else(|| self.run_above(parent)).filter(same);
                let next = groups.len() as u32;
                let beside = (!link.is_whole).then_some(above.unwrap_or(next));
                // A run is never begun beside a line with the whole answer.
                let alone = parent.is_some_and(|it| self.children.of_line(it).nth(1).is_none());
                let first = match alone {
                    true => beside,
                    false => *begun.entry((parent, link.group)).or_insert(beside),
                };
                let run = above.or(first.filter(|_| !link.is_whole)).unwrap_or(next);
                if run == next {
                    self.runs.begin(link.group);
                }
                self.runs.join(at, run);
                if link.call != NO_KEY {
                    self.runs.called.insert(run);
                    let more = self.lines.more_calls(at).iter().copied();
                    for call in std::iter::once(link.call).chain(more) {
                        *self.runs.open.entry((run, call)).or_default() += 1;
                    }
                }
                self.pull_early(at, run);
            }
            Sort::Result => {
                let above = above.or_else(|| self.run_above(parent));
                if let Some(run) = above.filter(|run| self.runs.answers(*run, link.call)) {
                    self.runs.join(at, run);
                }
            }
            Sort::Text | Sort::Waited => self.place_words(at),
            Sort::Answer | Sort::Prompt | Sort::Other | Sort::Progress | Sort::Aside => {}
        }
    }

    /// Puts words of the program, or of the user on a line of another type, into the run above.
    fn place_words(&mut self, at: u32) {
        let parent = self.parent(at);
        let of_branch = |at: u32| self.branch_runs.get(&at).copied();
        let above = parent.and_then(|above| self.runs.of(above).or_else(|| of_branch(above)));
        let Some(run) = above else { return };
        let is_waiting = self.link(at).sort == Sort::Waited;
        let mut below = self.children.of_line(at).map(|child| self.link(child).sort);
        if self.is_branch_end(at) {
            self.branch_ends.push((at, run));
            self.branch_runs.insert(at, run);
        } else if is_waiting || below.all(|sort| [Sort::Result, Sort::Waited].contains(&sort)) {
            self.runs.join(at, run);
        }
    }

    /// Whether only such words follow a line.
    fn is_branch_end(&self, at: u32) -> bool {
        let mut here = at;
        for _ in 0..UNSENT {
            let mut below = self.children.of_line(here);
            let Some(child) = below.next() else { return true };
            let is_more = [Sort::Text, Sort::Waited].contains(&self.link(child).sort);
            if !is_more || below.next().is_some() {
                return false;
            }
            here = child;
        }
        false
    }

    /// Returns the run above lines that are not sent.
    fn run_above(&self, mut above: Option<u32>) -> Option<u32> {
        for _ in 0..UNSENT {
            let here = above?;
            let run = self.runs.of(here);
            if run.is_some() || ![Sort::Other, Sort::Progress].contains(&self.link(here).sort) {
                return run;
            }
            above = self.parent(here);
        }
        None
    }

    /// Takes a result that comes right before its call.
    fn pull_early(&mut self, at: u32, run: u32) {
        let call = self.link(at).call;
        let before = self.parent(at).filter(|_| call != NO_KEY && self.moves);
        let Some(before) = before else { return };
        let link = self.link(before);
        let free = link.sort == Sort::Result && self.runs.of(before).is_none();
        if free && link.call == call && self.runs.answers(run, call) {
            self.moved.insert(before);
            self.runs.join(before, run);
        }
    }

    /// Returns the parents: each run is one sequence, and what follows one of its lines follows it.
    fn finish(mut self) -> Places {
        let mut new = self.parents.clone();
        let firsts = self.runs.each().filter_map(<[u32]>::first).copied();
        let outside = (0..self.links.len() as u32).filter(|at| self.runs.of(*at).is_none());
        for at in outside.chain(firsts) {
            put(&mut new, at, self.follows(at));
        }
        for run in self.runs.each() {
            let pairs = run.iter().zip(run.iter().skip(1));
            pairs.for_each(|(before, line)| put(&mut new, *line, Some(*before)));
        }
        for (at, (new, old)) in (0..).zip(new.iter().zip(&self.parents)) {
            if new != old && !self.copies.contains(at) && self.link(at).sort != Sort::Aside {
                self.found.insert(at);
            }
        }
        let ends = self.runs.each().map(|run| run.last().copied().unwrap_or(NO)).collect();
        let leaf = self.leaf_of_copy();
        let Self { copies, lost, kept, found: changed, runs, .. } = self;
        Places { copies, lost, parents: new, changed, kept, runs: runs.of, ends, leaf }
    }

    /// Returns the newest line behind the last one, if that is a copy.
    fn leaf_of_copy(&self) -> Option<u32> {
        let counts = |link: &Link| ![Sort::Aside, Sort::Progress].contains(&link.sort);
        let last = self.links.iter().rposition(counts)? as u32;
        if !self.copies.contains(last) {
            return None;
        }
        let id = self.link(last).id;
        let own = self.links.iter().position(|link| counts(link) && link.id == id)? as u32;
        let (mut below, mut newest) = (HashSet::from([own]), own);
        let others = (0..).zip(self.links).filter(|(at, _)| !self.copies.contains(*at));
        for (at, link) in others {
            if self.parent(at).is_some_and(|parent| below.contains(&parent)) {
                below.insert(at);
                newest = if counts(link) { at } else { newest };
            }
        }
        Some(newest)
    }

    /// Returns the line that a line follows which is in no run, or is the first of one. What follows
    /// a result that leaves its place follows the line before that place.
    fn follows(&self, at: u32) -> Option<u32> {
        let own = self.runs.of(at);
        let mut parent = self.parent(at);
        for _ in 0..self.links.len() {
            let over = parent.filter(|over| {
                let run = self.runs.of(*over);
                self.moved.contains(*over) || (run.is_some() && run == own)
            });
            let Some(over) = over else { break };
            parent = self.parent(over);
        }
        let run = parent.and_then(|parent| self.runs.of(parent));
        run.and_then(|run| self.runs.end(run)).or(parent)
    }
}
