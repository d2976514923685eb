//! Blocks of lines that are checked ahead, by whichever thread has time, and come back in order.

use crate::format::ByteLines;
use crate::hands::{Busy, Hands};
use crate::lines::{Block, Line};
use crate::members::{Found, Scan};
use crate::position::Position;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// A block and what was found in its lines. What is not good goes the slow way.
#[derive(Debug, Default)]
pub struct Checked {
    block: Block,
    lines: Vec<Found>,
}

impl Checked {
    fn check(&mut self, kind: ByteLines) {
        let bytes = self.block.bytes();
        let mut start = kind.many.map_or(0, |many| many(bytes, &mut self.lines));
        while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let text = rest.get(..end).unwrap_or_default();
            let line = Line { bytes: text, at: Position::default(), terminated: true };
            self.lines.push(Found::at(start + end));
            if let (false, Some(found)) = (line.is_blank(), self.lines.last_mut()) {
                found.good = (kind.check)(&line, &mut found.scan).unwrap_or(false);
            }
            start += end + 1;
        }
    }

    /// The lines, the first of which has the number `first` in its file.
    pub fn lines(&self, first: u64) -> impl Iterator<Item = (Line<'_>, Option<&Scan>)> {
        let mut start = 0;
        (first..).zip(&self.lines).map(move |(number, found)| {
            let bytes = self.block.bytes().get(start..found.end).unwrap_or_default();
            let byte = self.block.byte() + start as u64;
            start = found.end + 1;
            let at = Position { line: number, byte, ..Position::default() };
            (Line { bytes, at, terminated: true }, found.good.then_some(&found.scan))
        })
    }

    /// How many bytes the lines have.
    pub fn size(&self) -> usize {
        self.block.bytes().len()
    }

    /// How many lines there are.
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }
}

/// The blocks that were read and not yet dealt with.
#[derive(Debug)]
pub struct Ahead {
    kind: ByteLines,
    hands: Hands,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    blocks: VecDeque<Stage>,
    /// The number of the first of them.
    first: usize,
    helpers: usize,
    over: bool,
    /// The memory of blocks that were dealt with.
    spare: Vec<Vec<Found>>,
}

#[derive(Debug)]
enum Stage {
    Waiting(Checked),
    Taken,
    Done(Checked),
}

impl State {
    /// The oldest block that nobody checks yet.
    fn claim(&mut self) -> Option<(usize, Checked)> {
        let waiting = |stage: &Stage| matches!(stage, Stage::Waiting(_));
        let place = self.blocks.iter().position(waiting)?;
        match std::mem::replace(self.blocks.get_mut(place)?, Stage::Taken) {
            Stage::Waiting(block) => Some((self.first + place, block)),
            Stage::Taken | Stage::Done(_) => None,
        }
    }

    fn put(&mut self, number: usize, stage: Stage) {
        if let Some(place) = self.blocks.get_mut(number - self.first) {
            *place = stage;
        }
    }
}

impl Ahead {
    /// Nothing yet; blocks will be checked as `kind` says, with threads from `hands`.
    pub fn new(kind: ByteLines, hands: &Hands) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { kind, hands: hands.clone(), state, changed }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another block is of use: two for each thread, and some so that none stands idle
    /// while output is written.
    pub fn has_room(&self) -> bool {
        let state = self.lock();
        let most = if state.helpers > 0 { 5 + 2 * state.helpers } else { 1 };
        state.blocks.len() < most
    }

    /// Takes a block behind the others.
    pub fn push(&self, block: Block) {
        let mut state = self.lock();
        let lines = state.spare.pop().unwrap_or_default();
        state.blocks.push_back(Stage::Waiting(Checked { block, lines }));
        self.wake(state);
    }

    /// Wakes the helpers. Most inputs have none, and the system would be asked all the same.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let helped = state.helpers > 0;
        drop(state);
        if helped {
            self.changed.notify_all();
        }
    }

    /// Gets the help of a thread that would stand idle.
    pub fn ask<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        if let Some(busy) = self.hands.borrow() {
            self.lock().helpers += 1;
            scope.spawn(move || self.help(busy));
        }
    }

    /// Checks blocks until there are no more to come, or the thread is wanted back.
    fn help(&self, _busy: Busy) {
        let mut state = self.lock();
        while !state.over && !self.hands.are_short() {
            let Some((number, mut block)) = state.claim() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let checked = catch_unwind(AssertUnwindSafe(|| block.check(self.kind)));
            state = self.lock();
            if checked.is_err() {
                // Whoever deals with the lines checks them again, and says what is to be said.
                block.lines.clear();
                state.put(number, Stage::Waiting(block));
                break;
            }
            state.put(number, Stage::Done(block));
            self.changed.notify_all();
        }
        state.helpers -= 1;
        self.changed.notify_all();
    }

    /// The next block; `None` if there is none. The calling thread does what others have not begun.
    pub fn next(&self) -> Option<Checked> {
        let mut state = self.lock();
        loop {
            match state.blocks.front()? {
                Stage::Done(_) => {}
                _ => {
                    let Some((number, mut block)) = state.claim() else {
                        state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                        continue;
                    };
                    drop(state);
                    block.check(self.kind);
                    state = self.lock();
                    state.put(number, Stage::Done(block));
                    continue;
                }
            }
            let Some(Stage::Done(block)) = state.blocks.pop_front() else { return None };
            state.first += 1;
            return Some(block);
        }
    }

    /// Takes a block back that was dealt with; gives its memory.
    pub fn recycle(&self, block: Checked) -> Vec<u8> {
        let Checked { block, mut lines } = block;
        lines.clear();
        self.lock().spare.push(lines);
        block.into_memory()
    }
}

/// Sends the helpers home when the work ends, well or not.
pub struct Over<'a>(pub &'a Ahead);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.over = true;
        self.0.wake(state);
    }
}
