//! Lists by the ordinals of lines: which lines are sent together, and which follow which.

use super::links::{Lines, Sort};
use crate::tree::Bits;
use std::collections::{HashMap, HashSet};

/// Ordinal of no line, and number of no run.
pub const NO: u32 = u32::MAX;

/// Returns the value of a line or run, if it has one.
pub fn at_place(list: &[u32], at: u32) -> Option<u32> {
    list.get(at as usize).copied().filter(|value| *value != NO)
}

/// Sets the value of a line or run, or that it has none.
pub fn put(list: &mut [u32], at: u32, value: Option<u32>) {
    if let Some(place) = list.get_mut(at as usize) {
        *place = value.unwrap_or(NO);
    }
}

/// Runs of lines that are sent together: an answer and the results of its calls.
#[derive(Default)]
pub struct Runs {
    /// The answer of each run.
    pub groups: Vec<u32>,
    /// The run of each line.
    pub of: Vec<u32>,
    /// The lines in runs, in the order in which they came: blocks, results, and texts that the
    /// program adds to results.
    joined: Vec<u32>,
    /// The runs with calls.
    pub called: Bits,
    /// Number of calls without a result, by the run and the call.
    pub open: HashMap<(u32, u32), u32>,
    /// The lines in the order of the runs, and where each run ends there.
    lines: Vec<u32>,
    ends: Vec<u32>,
}

impl Runs {
    /// Begins with so many lines, none of which is in a run.
    pub fn over(count: usize) -> Self {
        Self { of: vec![NO; count], ..Self::default() }
    }

    /// Returns the run of a line.
    pub fn of(&self, at: u32) -> Option<u32> {
        at_place(&self.of, at)
    }

    /// Begins a run; returns its number.
    pub fn begin(&mut self, group: u32) -> u32 {
        self.groups.push(group);
        self.groups.len() as u32 - 1
    }

    /// Adds a line to a run.
    pub fn join(&mut self, at: u32, run: u32) {
        put(&mut self.of, at, Some(run));
        self.joined.push(at);
    }

    /// Takes a call that waits out of a run.
    pub fn answers(&mut self, run: u32, call: u32) -> bool {
        let Some(count) = self.open.get_mut(&(run, call)) else { return false };
        *count -= 1;
        if *count == 0 {
            self.open.remove(&(run, call));
        }
        true
    }

    /// Puts the lines into their order: each block behind its parent, the others where they are in
    /// the file but texts behind the results of the calls before them, those that leave their places
    /// last. Where the file has a line before its parent, the line comes behind it.
    pub fn order(&mut self, all: &Lines, parents: &[u32], moved: &Bits) {
        let mut next = vec![0_u32; self.groups.len() + 1];
        let count = |list: &mut Vec<u32>, run: u32| {
            list.get_mut(run as usize).map(|place| std::mem::replace(place, *place + 1))
        };
        for run in self.joined.iter().filter_map(|at| self.of(*at)) {
            count(&mut next, run + 1);
        }
        for run in 1..next.len() {
            next[run] += next[run - 1];
        }
        self.lines = vec![NO; self.joined.len()];
        for at in std::mem::take(&mut self.joined) {
            let place = self.of(at).and_then(|run| count(&mut next, run));
            place.into_iter().for_each(|place| put(&mut self.lines, place, Some(at)));
        }
        next.pop();
        self.ends = next;
        let mut from = 0;
        for end in &self.ends {
            if let Some(run) = self.lines.get_mut(from..*end as usize) {
                ordered(run, (all, parents), moved);
            }
            from = *end as usize;
        }
    }

    /// Returns the lines of each run.
    pub fn each(&self) -> impl Iterator<Item = &[u32]> {
        let mut from = 0;
        self.ends.iter().map(move |end| {
            let from = std::mem::replace(&mut from, *end as usize);
            self.lines.get(from..*end as usize).unwrap_or_default()
        })
    }

    /// Returns the last line of a run.
    pub fn end(&self, run: u32) -> Option<u32> {
        let end = at_place(&self.ends, run)?.checked_sub(1)?;
        at_place(&self.lines, end)
    }
}

fn ordered(run: &mut [u32], (lines, parents): (&Lines, &[u32]), moved: &Bits) {
    let link = |at: u32| lines.links().get(at as usize).copied().unwrap_or_default();
    let (later, stays): (Vec<u32>, Vec<u32>) = run.iter().partition(|at| moved.contains(**at));
    let (blocks, mut others): (Vec<u32>, Vec<u32>) =
        stays.into_iter().partition(|at| link(*at).sort == Sort::Answer);
    others.sort_unstable();
    // Words that waited come before texts that are directly before them.
    let is = |at: u32, sort: Sort| link(at).sort == sort;
    if others.iter().any(|at| is(*at, Sort::Waited)) {
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        let blocks_to = |at: u32| sorted.partition_point(|block| *block < at);
        let is_directly =
            |at: &u32, next: &u32| !is(*next, Sort::Result) && blocks_to(*at) == blocks_to(*next);
        let near = others.chunk_by_mut(is_directly);
        near.for_each(|words| words.sort_by_key(|at| is(*at, Sort::Text)));
    }
    let mut results = HashMap::<u32, Vec<u32>>::new();
    for at in others.iter().copied().filter(|at| link(*at).sort == Sort::Result) {
        results.entry(link(at).call).or_default().push(at);
    }
    let behind: HashSet<u32> =
        others.iter().copied().filter(|at| at_place(parents, *at) > Some(*at)).collect();
    let of_run: HashSet<u32> = if behind.is_empty() {
        HashSet::new()
    } else {
        blocks.iter().chain(&others).copied().collect()
    };
    let mut order = Placed::default();
    let (mut tail, mut is_answered) = (Vec::new(), false);
    let (mut others, mut ready) = (others.into_iter().peekable(), Vec::new());
    for block in blocks {
        let waits = |at: &u32, order: &Placed| {
            let parent = at_place(parents, *at).filter(|_| behind.contains(at));
            parent.is_some_and(|parent| of_run.contains(&parent) && !order.has.contains(&parent))
        };
        while let Some(other) = others.next_if(|at| *at < block && !waits(at, &order)) {
            if is(other, Sort::Text) || is(other, Sort::Waited) {
                is_answered |= !ready.is_empty();
                ready.sort_unstable();
                ready.drain(..).for_each(|at| order.place(at));
            }
            // Behind no result, they are behind the whole answer.
            is_answered |= is(other, Sort::Result);
            if is(other, Sort::Waited) && !is_answered {
                tail.push(other);
            } else {
                order.place(other);
            }
        }
        order.place(block);
        let calls =
            std::iter::once(link(block).call).chain(lines.more_calls(block).iter().copied());
        ready.extend(calls.filter_map(|call| results.remove(&call)).flatten());
    }
    for other in others.chain(tail) {
        // Its ancestors first.
        let above = |at: &u32| at_place(parents, *at).filter(|_| behind.contains(at));
        let waits = |at: &u32| of_run.contains(at) && !order.has.contains(at);
        let mut way = vec![other];
        while let Some(parent) = way.last().and_then(above).filter(waits) {
            way.push(parent);
        }
        way.into_iter().rev().for_each(|at| order.place(at));
    }
    later.into_iter().for_each(|at| order.place(at));
    run.copy_from_slice(&order.list);
}

/// Lines of a run in their order.
#[derive(Default)]
struct Placed {
    list: Vec<u32>,
    has: HashSet<u32>,
}

impl Placed {
    fn place(&mut self, at: u32) {
        self.list.extend(self.has.insert(at).then_some(at));
    }
}

/// Children of lines, in the order of the file.
pub struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    /// Collects the children, except those left out.
    pub fn of(parents: &[u32], omitted: &Bits) -> Self {
        let none = || vec![NO; parents.len()];
        let mut children = Self { first: none(), next: none() };
        let linked =
            (0..parents.len() as u32).zip(parents).rev().filter(|(at, _)| !omitted.contains(*at));
        for (at, parent) in linked.filter(|(_, parent)| **parent != NO) {
            let next = at_place(&children.first, *parent);
            put(&mut children.next, at, next);
            put(&mut children.first, *parent, Some(at));
        }
        children
    }

    /// Returns the children of a line.
    pub fn of_line(&self, at: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(at_place(&self.first, at), |at| at_place(&self.next, *at))
    }
}
