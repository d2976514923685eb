//! Blocks of lines that are checked ahead, and output that is written behind, by any thread that
//! has time; both stay in order.

use crate::error::{Cannot, Error, Result};
use crate::format::{ByteLines, Out};
use crate::lines::{Block, Line};
use crate::members::{Found, Scan};
use crate::position::Position;
use crate::threads::{Busy, InOrder, ThreadBudget};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// A block and the members found in its lines. Lines that are not good are checked again in order.
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

    /// Returns the lines, the first of which has the number `first` in its file.
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

    /// Returns how many bytes the lines have.
    pub fn size(&self) -> usize {
        self.block.bytes().len()
    }

    /// Returns how many lines there are.
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }
}

/// The blocks that were read and not yet processed, and the output that was not yet written.
pub struct Ahead<'o> {
    kind: ByteLines,
    thread_budget: ThreadBudget,
    state: Mutex<State>,
    changed: Condvar,
    /// Output, if any thread may write it.
    out: Option<Mutex<Box<dyn Write + Send + 'o>>>,
}

#[derive(Debug, Default)]
struct State {
    blocks: InOrder<Checked, Checked>,
    /// Output in its order.
    outgoing: VecDeque<Vec<u8>>,
    /// Whether a thread writes the output before the queue.
    writing: bool,
    /// Error of the writing.
    failed: Option<io::Error>,
    helpers: usize,
    /// Number of threads that wait for a change.
    waiting: usize,
    over: bool,
    /// Memory of processed blocks and of written output, for further use.
    spare: Vec<Vec<Found>>,
    written: Vec<Vec<u8>>,
}

/// Maximum number of pieces of output that wait to be written.
const MOST_OUTGOING: usize = 4;

impl State {
    /// Returns the next output, if no thread writes; the calling thread has to write it.
    fn outgoing(&mut self) -> Option<Vec<u8>> {
        if self.writing {
            return None;
        }
        let next = self.outgoing.pop_front()?;
        self.writing = true;
        Some(next)
    }
}

thread_local! {
    /// Memory of the last session that this thread read, for the next one.
    static STATE: RefCell<State> = RefCell::default();
}

/// Maximum number of lines and of bytes of output for which room is kept.
const MOST_ROOM: (usize, usize) = (1 << 10, 1 << 20);

impl State {
    /// Keeps the memory that can be used again: one buffer of each sort, within the limits.
    fn emptied(mut self) -> Self {
        let (most_lines, most_bytes) = MOST_ROOM;
        self.blocks.clear();
        self.outgoing.clear();
        self.spare.truncate(1);
        self.spare.retain(|lines| lines.capacity() <= most_lines);
        self.written.truncate(1);
        self.written.retain(|out| out.capacity() <= most_bytes);
        let Self { blocks, outgoing, spare, written, .. } = self;
        Self { blocks, outgoing, spare, written, ..Self::default() }
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        STATE.set(std::mem::take(state).emptied());
    }
}

impl<'o> Ahead<'o> {
    /// Begins without blocks; blocks will be checked by `kind`, with threads from `thread_budget`. Returns
    /// the output if only the calling thread may write it.
    pub fn new(
        kind: ByteLines,
        thread_budget: &ThreadBudget,
        out: Out<'o>,
    ) -> (Self, Option<Box<dyn Write + 'o>>) {
        let (out, own) = match out {
            Out::Anywhere(out) => (Some(Mutex::new(out)), None),
            Out::Here(own) => (None, Some(own)),
        };
        let (state, changed) = (Mutex::new(STATE.take()), Condvar::new());
        (Self { kind, thread_budget: thread_budget.clone(), state, changed, out }, own)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether another block is useful: two for each thread, and some so that no thread is idle
    /// while output is written.
    pub fn has_room(&self) -> bool {
        let state = self.lock();
        let most = if state.helpers > 0 { 5 + 2 * state.helpers } else { 1 };
        state.blocks.len() < most
    }

    /// Adds a block behind the others.
    pub fn push(&self, block: Block) {
        let mut state = self.lock();
        let lines = state.spare.pop().unwrap_or_default();
        state.blocks.push(Checked { block, lines });
        self.wake(state);
    }

    /// Wakes the waiting threads. Mostly there are none, and a call of the system is saved.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.changed.notify_all();
        }
    }

    /// Borrows the help of an idle thread.
    pub fn borrow_help<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        if let Some(busy) = self.thread_budget.borrow() {
            self.lock().helpers += 1;
            scope.spawn(move || self.help(busy));
        }
    }

    /// Writes and checks until the work is over, or the thread must be returned.
    fn help(&self, _busy: Busy) {
        let _helping = Helping(self);
        let mut state = self.lock();
        while !state.over && !self.thread_budget.are_short() {
            state = self.step(state);
        }
    }

    /// Does work that no thread has begun, or waits for a change. Writing comes first, because only
    /// one thread can do it at a time.
    fn step<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if let Some(next) = state.outgoing() {
            drop(state);
            self.write(next);
        } else if let Some((number, block)) = state.blocks.claim() {
            drop(state);
            self.check(number, block);
        } else {
            state.waiting += 1;
            let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            return state;
        }
        self.lock()
    }

    fn check(&self, number: usize, mut block: Checked) {
        let checked = catch_unwind(AssertUnwindSafe(|| block.check(self.kind)));
        let mut state = self.lock();
        if let Err(panic) = checked {
            // The thread that processes the lines checks them again and reports the fault.
            block.lines.clear();
            state.blocks.give_back(number, block);
            self.wake(state);
            resume_unwind(panic);
        }
        state.blocks.finish(number, block);
        self.wake(state);
    }

    /// Writes a piece of output that was taken from the queue. Other threads wait until that is
    /// done, so a panic becomes an error here.
    fn write(&self, mut piece: Vec<u8>) {
        let all = || self.out.as_ref().map_or(Ok(()), |out| lock(out).write_all(&piece));
        let written = catch_unwind(AssertUnwindSafe(all));
        let written = written.unwrap_or_else(|_| Err(io::Error::other("the output panicked")));
        piece.clear();
        let mut state = self.lock();
        state.writing = false;
        state.written.push(piece);
        if let Err(error) = written {
            state.failed.get_or_insert(error);
        }
        self.wake(state);
    }

    /// Returns the next block; `None` if there is none. The calling thread does work that others
    /// have not begun.
    pub fn next(&self) -> Option<Checked> {
        let mut state = self.lock();
        loop {
            if let Some(block) = state.blocks.next_done() {
                return Some(block);
            }
            if state.blocks.is_empty() {
                return None;
            }
            state = self.step(state);
        }
    }

    /// Takes back a block that was processed; returns its memory.
    pub fn recycle(&self, block: Checked) -> Vec<u8> {
        let Checked { block, mut lines } = block;
        lines.clear();
        self.lock().spare.push(lines);
        block.into_memory()
    }

    /// Returns an empty buffer for output.
    pub fn buffer(&self) -> Vec<u8> {
        self.lock().written.pop().unwrap_or_default()
    }

    /// Adds output behind the earlier output, and leaves an empty buffer. Without helpers, the
    /// output is written at once.
    ///
    /// # Errors
    /// If output could not be written.
    pub fn send(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut state = self.lock();
        let empty = state.written.pop().unwrap_or_default();
        state.outgoing.push_back(std::mem::replace(out, empty));
        let most = if state.helpers > 0 { MOST_OUTGOING } else { 0 };
        self.wake(state);
        self.settle(most)
    }

    /// Waits until at most `most` pieces of output wait.
    ///
    /// # Errors
    /// If output could not be written.
    pub fn settle(&self, most: usize) -> Result<()> {
        let mut state = self.lock();
        loop {
            if let Some(error) = state.failed.take() {
                return Err(Error::io("cannot write", error));
            }
            if state.outgoing.len() <= most && (most > 0 || !state.writing) {
                return Ok(());
            }
            state = self.step(state);
        }
    }

    /// Writes the waiting output, and flushes the destination.
    ///
    /// # Errors
    /// If output could not be written.
    pub fn flush(&self) -> Result<()> {
        self.settle(0)?;
        self.out.as_ref().map_or(Ok(()), |out| lock(out).flush()).cannot("write")
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A helper at work, whose end is noticed even after a panic.
struct Helping<'a, 'o>(&'a Ahead<'o>);

impl Drop for Helping<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.helpers -= 1;
        self.0.wake(state);
    }
}

/// Releases the helpers when the work ends, with or without an error.
pub struct Over<'a, 'o>(pub &'a Ahead<'o>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.over = true;
        self.0.wake(state);
    }
}
