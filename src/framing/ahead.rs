//! Lines that an idle thread parses ahead, in their order.
//!
//! The calling thread reads the part. If the session is large and a thread has nothing else to do,
//! it parses batches of lines that were read ahead, and so does the calling thread while it waits.
//! Each line is parsed alone, so the results are the same for any number of threads.

use super::{FramedLines, Framing};
use crate::error::{Error, Result};
use crate::threads::{Busy, InOrder, ThreadBudget};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Size of a batch, and of all batches that wait, in bytes.
const BATCH: usize = 128 << 10;
const MOST: usize = 8 * BATCH;

/// Number of bytes after which an idle thread is looked for, again and again.
const LOOK: u64 = 1 << 20;

type Parse<T> = fn(&Framing) -> T;
type Batch<T> = Vec<(Framing, T)>;

/// The lines of a part, each with what a function makes of it.
pub struct ParsedLines<T: Send + 'static> {
    /// The lines, of which some may have been read ahead.
    pub frames: FramedLines,
    parse: Parse<T>,
    thread_budget: ThreadBudget,
    helped: Option<Helped<T>>,
    /// Lines of a batch that was parsed.
    current: std::vec::IntoIter<(Framing, T)>,
    /// Number of bytes of the batches that wait.
    waiting: usize,
    /// Error behind the lines that were read ahead.
    failed: Option<Error>,
    /// Place from which on an idle thread is looked for. Lines longer than all batches are parsed
    /// one by one, because each takes as much memory as it is long.
    look: u64,
}

impl<T: Send + 'static> ParsedLines<T> {
    /// Begins with these lines.
    pub fn of(frames: FramedLines, parse: Parse<T>, thread_budget: &ThreadBudget) -> Self {
        Self {
            frames,
            parse,
            thread_budget: thread_budget.clone(),
            helped: None,
            current: Vec::new().into_iter(),
            waiting: 0,
            failed: None,
            look: LOOK,
        }
    }

    /// Returns the next line.
    ///
    /// # Errors
    /// The errors of [`FramedLines::next`], after which reading goes on.
    #[allow(clippy::should_implement_trait, reason = "an error does not end the lines")]
    pub fn next(&mut self) -> Result<Option<(Framing, T)>> {
        loop {
            if let Some(line) = self.current.next() {
                return Ok(Some(line));
            }
            if self.helped.is_none() {
                return self.one();
            }
            self.read_ahead();
            let batch = self.helped.as_ref().and_then(|helped| helped.queue.next(self.parse));
            let Some(batch) = batch else {
                // The end, an error, or the thread has other work.
                self.helped = None;
                match self.failed.take() {
                    Some(error) => return Err(error),
                    None => continue,
                }
            };
            self.waiting -= batch.iter().map(|(line, _)| line.bytes.len()).sum::<usize>();
            self.current = batch.into_iter();
        }
    }

    /// Reads and parses one line.
    fn one(&mut self) -> Result<Option<(Framing, T)>> {
        let Some(line) = self.frames.next()? else { return Ok(None) };
        let parsed = (self.parse)(&line);
        self.note_long(&line);
        if line.at.byte >= self.look {
            self.look = line.at.byte + LOOK;
            self.helped = Helped::begin(&self.thread_budget, self.parse);
        }
        Ok(Some((line, parsed)))
    }

    fn note_long(&mut self, line: &Framing) {
        if line.bytes.len() > MOST {
            self.look = u64::MAX;
        }
    }

    /// Reads batches, as many as may wait.
    fn read_ahead(&mut self) {
        let Some(queue) = self.helped.as_ref().map(|helped| Arc::clone(&helped.queue)) else {
            return;
        };
        while self.failed.is_none()
            && self.waiting < MOST
            && self.look != u64::MAX
            && queue.lock().is_helped
        {
            let (mut batch, mut size) = (Vec::new(), 0);
            while size < BATCH && self.failed.is_none() {
                match self.frames.next() {
                    Ok(None) => break,
                    Ok(Some(line)) => {
                        self.note_long(&line);
                        size += line.bytes.len();
                        batch.push(line);
                    }
                    Err(error) => self.failed = Some(error),
                }
            }
            if batch.is_empty() {
                return;
            }
            self.waiting += size;
            queue.push(batch);
        }
    }
}

/// Batches in their order, and the thread that parses them, too.
struct Helped<T: Send + 'static> {
    queue: Arc<Queue<T>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<T: Send + 'static> Helped<T> {
    /// Begins with an idle thread; `None` if there is none.
    fn begin(thread_budget: &ThreadBudget, parse: Parse<T>) -> Option<Self> {
        let busy = thread_budget.borrow()?;
        let state = State { batches: InOrder::default(), is_helped: true, is_over: false };
        let queue = Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new() });
        let (own, thread_budget) = (Arc::clone(&queue), thread_budget.clone());
        let thread = thread::Builder::new().spawn(move || own.help(&busy, &thread_budget, parse));
        Some(Self { queue, thread: Some(thread.ok()?) })
    }
}

impl<T: Send + 'static> Drop for Helped<T> {
    fn drop(&mut self) {
        self.queue.lock().is_over = true;
        self.queue.changed.notify_all();
        // A panic of the thread happened in this thread, too.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    batches: InOrder<Vec<Framing>, Batch<T>>,
    /// Whether another thread parses batches.
    is_helped: bool,
    /// Whether no batch is needed any more.
    is_over: bool,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, batch: Vec<Framing>) {
        self.lock().batches.push(batch);
        self.changed.notify_all();
    }

    /// Returns the next batch; `None` if there is none. The calling thread parses batches until it
    /// is done.
    fn next(&self, parse: Parse<T>) -> Option<Batch<T>> {
        let mut state = self.lock();
        loop {
            if let Some(batch) = state.batches.next_done() {
                return Some(batch);
            }
            if state.batches.is_empty() {
                return None;
            }
            match state.batches.claim() {
                Some((number, batch)) => {
                    drop(state);
                    let parsed = batch.iter().map(parse).collect::<Vec<_>>();
                    state = self.lock();
                    state.batches.finish(number, batch.into_iter().zip(parsed).collect());
                }
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Parses batches until none are needed, or the thread must be returned.
    fn help(&self, _busy: &Busy, thread_budget: &ThreadBudget, parse: Parse<T>) {
        let mut state = self.lock();
        while !state.is_over && !thread_budget.are_short() {
            let Some((number, batch)) = state.batches.claim() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let all = || batch.iter().map(parse).collect::<Vec<_>>();
            let parsed = catch_unwind(AssertUnwindSafe(all));
            state = self.lock();
            let Ok(parsed) = parsed else {
                // The thread that needs the lines parses them again, and panics.
                state.batches.give_back(number, batch);
                break;
            };
            state.batches.finish(number, batch.into_iter().zip(parsed).collect());
            self.changed.notify_all();
        }
        state.is_helped = false;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};

    /// Lines of about 5 MB, some of them long, one of them too long.
    fn part() -> Vec<u8> {
        let mut part = Vec::new();
        for number in 0..3000_usize {
            let length = 1 + number * 7919 % 3301 + if number == 2100 { 2 << 20 } else { 0 };
            part.extend(number.to_string().bytes().cycle().take(length));
            part.extend(if number % 97 == 0 { &b"\r\n"[..] } else { b"\n" });
        }
        part.extend(std::iter::repeat_n(b'x', 4 << 20));
        part.extend(b"\nend");
        part
    }

    fn read(part: Vec<u8>, threads: usize, parse: Parse<u64>) -> Vec<String> {
        let part: Box<dyn Read> = Box::new(Cursor::new(part));
        let lines = FramedLines::over(part, 3 << 20).expect("memory");
        let thread_budget = ThreadBudget::new(threads);
        let _own = thread_budget.work();
        let (mut lines, mut all) = (ParsedLines::of(lines, parse, &thread_budget), Vec::new());
        loop {
            match lines.next() {
                Ok(None) => break,
                Ok(Some((line, parsed))) => all.push(format!("{:?} {} {parsed}", line.at, line.cr)),
                Err(error) => all.push(error.to_string()),
            }
        }
        all.push(format!("{:?}", lines.frames.position()));
        all
    }

    #[test]
    fn lines_are_the_same_for_any_number_of_threads() {
        let parse: Parse<u64> = |line| line.bytes.iter().map(|byte| u64::from(*byte)).sum();
        let expected = read(part(), 0, parse);
        assert_eq!(expected.len(), 3003);
        for threads in [1, 2, 3] {
            assert_eq!(read(part(), threads, parse), expected, "{threads}");
        }
    }

    #[test]
    fn panics_reach_the_thread_that_needs_the_lines() {
        let parse: Parse<u64> = |line| {
            assert!(line.at.line < 2050, "wanted");
            line.at.line
        };
        for threads in [1, 2] {
            let done = catch_unwind(|| read(part(), threads, parse));
            let panic = done.expect_err("a panic");
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"wanted"), "{threads}");
        }
    }
}
