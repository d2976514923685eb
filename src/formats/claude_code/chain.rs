//! Order in which the newest release sends the lines of a transcript.
//!
//! Source: what release 2.1.332 sends of transcripts with one thing after the other changed.
//!
//! * Lines with one identifier and the same message are one: the first one's place, the last one's
//!   parent.
//! * A line whose parent is not in the chain follows the line before it.
//! * The lines of one answer follow each other, then the results of its calls, whichever lines are
//!   their parents; what follows any of these lines follows all of them.
//!   Lines beside a line with the whole answer are copies that release 2.0 wrote, and another branch:
//!   release 2.1.332 would send their texts twice.
//! * A result that comes right before its call is put behind it.
//! * The session continues at the newest line behind the last line of the file, of which copies are
//!   also ones, but not lines about progress.
//!
//! Lines of an answer and its results keep the order of the file among themselves, as far as each
//! line follows its parent; a context puts results behind all calls of an answer, as it does with
//! results that come late, behind a message of the user.

use super::links::{Lines, Link, NONE, Sort};
use crate::error::Result;
use crate::format::Parts;
use crate::json::Json;
use crate::lines;
use crate::tree::Bits;
use std::collections::{HashMap, HashSet};

/// Maximum number of lines that are not sent between those of an answer.
const UNSENT: usize = 64;

/// Places of the lines of a transcript.
#[derive(Debug, Default)]
pub struct Chain {
    copies: Bits,
    /// New parents, by the ordinals of the lines; `None` for a line that becomes the first.
    parents: HashMap<u32, Option<Json>>,
    /// Keys of all identifiers, of a session with further parts.
    ids: HashSet<u64>,
    /// Leaf of the session, where the last line is a copy.
    leaf: Option<Json>,
}

impl Chain {
    /// Reads the links of a transcript; `agent` is true for the file of one sub-agent.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(parts: &mut dyn Parts, agent: bool, limit: usize) -> Result<Self> {
        let several = parts.names().len() > 1;
        let mut reader = lines::Lines::new(parts.main()?, limit);
        let mut links = Lines::new(agent);
        reader.skip_bom()?;
        loop {
            match reader.next() {
                Ok(None) => return Ok(links.decide(true).chain(&links, several)),
                Ok(Some(line)) => links.note(line.bytes),
                // The reader reports it.
                Err(error) if error.is_recoverable() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the keys of all identifiers, of a session with further parts.
    pub fn take_ids(&mut self) -> HashSet<u64> {
        std::mem::take(&mut self.ids)
    }

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
    /// The parent of each line.
    pub parents: Vec<Option<u32>>,
    /// The lines whose parent is another than they name.
    changed: Bits,
    /// The lines that a compaction puts behind its summary.
    pub kept: Bits,
    /// The last line of the run to which a line belongs.
    ends: HashMap<u32, u32>,
    /// The line at which the session continues, where the last line is a copy.
    pub leaf: Option<u32>,
}

impl Places {
    /// Returns the last line that is sent together with this one.
    #[must_use]
    pub fn end(&self, at: u32) -> u32 {
        self.ends.get(&at).copied().unwrap_or(at)
    }

    /// Whether both lines are sent together.
    #[must_use]
    pub fn are_together(&self, a: u32, b: u32) -> bool {
        self.end(a) == self.end(b)
    }

    fn chain(self, lines: &Lines, several: bool) -> Chain {
        let changed = (0..self.parents.len() as u32).filter(|at| self.changed.contains(*at));
        let parent = |at: u32| self.parents.get(at as usize).copied().flatten();
        let parents = changed.map(|at| (at, parent(at).map(|parent| lines.name(parent)))).collect();
        let ids = lines.links().iter().filter(|_| several).map(|link| link.id).collect();
        let leaf = self.leaf.map(|leaf| lines.name(self.end(leaf)));
        Chain { copies: self.copies, parents, ids, leaf }
    }
}

impl Lines {
    /// Decides where each line is. With `moves`, a result goes behind a call that follows it.
    #[must_use]
    pub fn decide(&self, moves: bool) -> Places {
        let mut deciding = Deciding::new(self, moves);
        deciding.group();
        deciding.finish()
    }
}

/// Run of lines that are sent together: an answer and the results of its calls.
#[derive(Debug, Default)]
struct Run {
    group: u64,
    /// Calls without a result.
    calls: Vec<u64>,
    blocks: Vec<u32>,
    /// Results, and texts that the program adds to results.
    others: Vec<u32>,
    /// All of these in their order.
    lines: Vec<u32>,
}

impl Run {
    /// Puts the lines into their order: each block behind its parent, the others where they are in
    /// the file.
    fn order(&mut self, moved: &Bits) {
        let (now, later): (Vec<u32>, Vec<u32>) =
            std::mem::take(&mut self.others).into_iter().partition(|at| !moved.contains(*at));
        let mut others = now;
        others.sort_unstable();
        let mut others = others.into_iter().peekable();
        for block in &self.blocks {
            self.lines.extend(std::iter::from_fn(|| others.next_if(|other| other < block)));
            self.lines.push(*block);
        }
        self.lines.extend(others.chain(later));
    }

    fn end(&self) -> Option<u32> {
        self.lines.last().copied()
    }
}

struct Deciding<'l> {
    lines: &'l Lines,
    links: &'l [Link],
    moves: bool,
    copies: Bits,
    kept: Bits,
    /// Whether all parents so far come before their children.
    backward: bool,
    /// Parents as the lines name them, or as they are found.
    parents: Vec<Option<u32>>,
    found: Bits,
    children: HashMap<u32, Vec<u32>>,
    runs: Vec<Run>,
    run_of: HashMap<u32, usize>,
    /// Results that leave their places.
    moved: Bits,
}

impl<'l> Deciding<'l> {
    fn new(lines: &'l Lines, moves: bool) -> Self {
        let links = lines.links();
        let mut deciding = Self {
            lines,
            links,
            moves,
            copies: Bits::default(),
            kept: Bits::default(),
            backward: true,
            parents: vec![None; links.len()],
            found: Bits::default(),
            children: HashMap::new(),
            runs: Vec::new(),
            run_of: HashMap::new(),
            moved: Bits::default(),
        };
        deciding.find_parents();
        for (at, parent) in (0..).zip(&deciding.parents) {
            if let Some(parent) = parent.filter(|_| !deciding.copies.contains(at)) {
                deciding.children.entry(parent).or_default().push(at);
            }
        }
        deciding
    }

    fn link(&self, at: u32) -> Link {
        self.links.get(at as usize).copied().unwrap_or_default()
    }

    fn parent(&self, at: u32) -> Option<u32> {
        self.parents.get(at as usize).copied().flatten()
    }

    fn set_parent(&mut self, at: u32, parent: Option<u32>) {
        if let Some(place) = self.parents.get_mut(at as usize) {
            *place = parent;
        }
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
                Some(_) => {}
            }
        }
        let preserved = self.lines.segments().kept(&|id| first.contains_key(id));
        let (mut before, mut lost) = (None, Vec::new());
        for (at, link) in (0..).zip(self.links).filter(|(_, link)| counts(link)) {
            if self.copies.contains(at) {
                continue;
            }
            let kept = preserved.parent_of(link.id, link.parent);
            if kept.is_some() {
                self.kept.insert(at);
            }
            let wanted = kept.unwrap_or(link.parent);
            let parent = first.get(&wanted).copied().filter(|_| wanted != NONE);
            if parent.is_none() && wanted != NONE {
                lost.push((at, before));
            }
            self.set_parent(at, parent);
            self.backward &= parent.is_none_or(|parent| parent < at);
            before = Some(at);
        }
        for (at, before) in lost {
            let mut before = before;
            for _ in 0..UNSENT {
                let Some(line) = before.filter(|line| !self.link_unless_cycle(at, *line)) else {
                    break;
                };
                let counted = |at: &u32| counts(&self.link(*at)) && !self.copies.contains(*at);
                before = (0..line).rev().find(counted);
            }
        }
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

    /// Gives a line a parent, and returns true, unless it would be its own ancestor.
    fn link_unless_cycle(&mut self, at: u32, parent: u32) -> bool {
        let old = self.parent(at);
        if old == Some(parent) {
            return true;
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
            let below = self.children.get(&at).into_iter().flatten();
            waiting.extend(below.rev().copied());
        }
        self.runs.iter_mut().for_each(|run| run.order(&self.moved));
    }

    fn join(&mut self, at: u32, run: usize, list: fn(&mut Run) -> &mut Vec<u32>) {
        self.run_of.insert(at, run);
        if let Some(run) = self.runs.get_mut(run) {
            list(run).push(at);
        }
    }

    /// Takes a call that waits out of a run.
    fn answers(&mut self, run: usize, call: u64) -> bool {
        let calls = self.runs.get_mut(run).map(|run| &mut run.calls);
        let place = calls.as_ref().and_then(|calls| calls.iter().position(|own| *own == call));
        calls.zip(place).map(|(calls, place)| calls.remove(place)).is_some()
    }

    fn place(&mut self, at: u32, begun: &mut HashMap<(Option<u32>, u64), Option<usize>>) {
        let (link, parent) = (self.link(at), self.parent(at));
        let above = parent.and_then(|parent| self.run_of.get(&parent).copied());
        match link.sort {
            Sort::Answer if link.group != NONE => {
                let same =
                    |run: &usize| self.runs.get(*run).is_some_and(|run| run.group == link.group);
                let above = above.or_else(|| self.run_above(parent)).filter(same);
                let next = self.runs.len();
                let beside = (!link.is_whole).then_some(above.unwrap_or(next));
                // A run is never begun beside a line with the whole answer.
                let first = *begun.entry((parent, link.group)).or_insert(beside);
                let run = above.or(first.filter(|_| !link.is_whole)).unwrap_or(next);
                if run == next {
                    self.runs.push(Run { group: link.group, ..Run::default() });
                }
                self.join(at, run, |run| &mut run.blocks);
                if let Some(run) = self.runs.get_mut(run).filter(|_| link.call != NONE) {
                    run.calls.push(link.call);
                    run.calls.extend(self.lines.more_calls(at));
                }
                self.pull_early(at, run);
            }
            Sort::Result => {
                let above = above.or_else(|| self.run_above(parent));
                if let Some(run) = above.filter(|run| self.answers(*run, link.call)) {
                    self.join(at, run, |run| &mut run.others);
                }
            }
            Sort::Text => {
                let alone = !self.children.contains_key(&at);
                let only_results = || {
                    let below = self.children.get(&at).into_iter().flatten();
                    below.copied().all(|child| self.link(child).sort == Sort::Result)
                };
                if let Some(run) = above.filter(|_| alone || only_results()) {
                    self.join(at, run, |run| &mut run.others);
                }
            }
            Sort::Answer | Sort::Prompt | Sort::Other | Sort::Progress | Sort::Aside => {}
        }
    }

    /// Returns the run above lines that are not sent.
    fn run_above(&self, mut above: Option<u32>) -> Option<usize> {
        for _ in 0..UNSENT {
            let here = above?;
            let run = self.run_of.get(&here).copied();
            if run.is_some()
                || ![Sort::Other, Sort::Progress, Sort::Text].contains(&self.link(here).sort)
            {
                return run;
            }
            above = self.parent(here);
        }
        None
    }

    /// Takes a result that comes right before its call.
    fn pull_early(&mut self, at: u32, run: usize) {
        let call = self.link(at).call;
        let before = self.parent(at).filter(|_| call != NONE && self.moves);
        let Some(before) = before else { return };
        let link = self.link(before);
        let free = link.sort == Sort::Result && !self.run_of.contains_key(&before);
        if free && link.call == call && self.answers(run, call) {
            self.moved.insert(before);
            self.join(before, run, |run| &mut run.others);
        }
    }

    /// Returns the parents: each run is one sequence, and what follows one of its lines follows it.
    fn finish(mut self) -> Places {
        let mut new = self.parents.clone();
        let set = |new: &mut Vec<Option<u32>>, at: u32, parent: Option<u32>| {
            if let Some(place) = new.get_mut(at as usize) {
                *place = parent;
            }
        };
        for at in 0..self.links.len() as u32 {
            set(&mut new, at, self.follows(at));
        }
        for run in &self.runs {
            let mut before = None;
            for line in run.lines.iter().copied() {
                if before.is_some() {
                    set(&mut new, line, before);
                }
                before = Some(line);
            }
        }
        for (at, (new, old)) in (0..).zip(new.iter().zip(&self.parents)) {
            if new != old && !self.copies.contains(at) && self.link(at).sort != Sort::Aside {
                self.found.insert(at);
            }
        }
        let mut ends = HashMap::new();
        for run in &self.runs {
            ends.extend(run.end().iter().flat_map(|end| run.lines.iter().map(|at| (*at, *end))));
        }
        let leaf = self.leaf_of_copy();
        let Self { copies, kept, found: changed, .. } = self;
        Places { copies, parents: new, changed, kept, ends, leaf }
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
        let own = self.run_of.get(&at);
        let mut parent = self.parent(at);
        for _ in 0..self.links.len() {
            let over = parent.filter(|over| {
                let run = self.run_of.get(over);
                self.moved.contains(*over) || (run.is_some() && run == own)
            });
            let Some(over) = over else { break };
            parent = self.parent(over);
        }
        let run = parent.and_then(|parent| self.run_of.get(&parent));
        let run = run.and_then(|run| self.runs.get(*run));
        run.and_then(Run::end).or(parent)
    }
}
