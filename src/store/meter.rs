//! Counting of the bytes that were read, for a progress display.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a whole run, in bytes of its inputs. Every thread can read it.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Sum>);

#[derive(Debug, Default)]
struct Sum {
    bytes: AtomicU64,
    watched: AtomicBool,
}

impl Meter {
    /// Records that a progress display will read the meter.
    pub fn watch(&self) {
        self.0.watched.store(true, Ordering::Relaxed);
    }

    /// Whether a progress display reads the meter. If none does, the remaining size of an input is
    /// not determined.
    fn is_watched(&self) -> bool {
        self.0.watched.load(Ordering::Relaxed)
    }

    /// Returns how many bytes are done. A byte that is read several times counts in part each time.
    /// A byte that need not be read counts at the end of the work on its input.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }
}

/// One input's part of a [`Meter`].
#[derive(Clone, Debug, Default)]
pub struct Tally(Rc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    meter: Meter,
    /// Number of times that the input will be read, minus one.
    again: Cell<u64>,
    read: Cell<u64>,
    /// Number of bytes that were read for the first time.
    first: Cell<u64>,
}

/// Highest position in one part of an input that was ever read, in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach(Rc<Cell<u64>>);

impl Tally {
    /// Creates the tally of an input of which nothing is read yet.
    pub fn new(meter: &Meter) -> Self {
        Self(Rc::new(Counts { meter: meter.clone(), ..Counts::default() }))
    }

    /// Returns how many of the input's bytes were read. Bytes that were read several times count
    /// once.
    pub fn bytes(&self) -> u64 {
        self.0.first.get()
    }

    /// Records that the work on the input is done. All of its `size` bytes count as done, whether
    /// they were read or not.
    pub fn settle(&self, size: impl FnOnce() -> u64) {
        if self.0.meter.is_watched() {
            self.advance(size().saturating_sub(self.metered()));
        }
    }

    /// Records that the whole input will be read `more` times again.
    pub(super) fn again(&self, more: u64) {
        self.0.again.set(self.0.again.get() + more);
    }

    /// Returns a reader that counts the bytes read from `reader`, which is at the beginning of a
    /// part. `reach` is how far that part was read before.
    pub(super) fn reader<R: Read>(&self, reach: &Reach, reader: R) -> Counted<R> {
        Counted { reader, at: 0, reach: reach.clone(), tally: self.clone() }
    }

    fn add(&self, bytes: u64, first: u64) {
        let counts = &*self.0;
        let before = self.metered();
        counts.read.set(counts.read.get() + bytes);
        counts.first.set(counts.first.get() + first);
        self.advance(self.metered().saturating_sub(before));
    }

    /// Returns how many bytes were added to the meter while the input was read.
    fn metered(&self) -> u64 {
        self.0.read.get() / (1 + self.0.again.get())
    }

    fn advance(&self, bytes: u64) {
        self.0.meter.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A reader that counts its bytes in a tally.
pub(super) struct Counted<R> {
    reader: R,
    at: u64,
    reach: Reach,
    tally: Tally,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.at += read as u64;
        let reach = self.reach.0.replace(self.reach.0.get().max(self.at));
        self.tally.add(read as u64, self.at.saturating_sub(reach));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_read_twice_count_once() {
        let meter = Meter::default();
        let tally = Tally::new(&meter);
        tally.again(1);
        let reach = Reach::default();
        for expected in [5, 11] {
            let mut reader = tally.reader(&reach, &b"eleven long"[..]);
            io::copy(&mut reader, &mut io::sink()).expect("memory");
            assert_eq!((meter.bytes(), tally.bytes()), (expected, 11));
        }
        tally.settle(|| 20);
        assert_eq!(meter.bytes(), 11, "nobody asks");
        meter.watch();
        tally.settle(|| 20);
        assert_eq!((meter.bytes(), tally.bytes()), (20, 11));
    }

    #[test]
    fn the_parts_of_an_input_add_up() {
        let tally = Tally::new(&Meter::default());
        for part in [&b"eleven long"[..], b"seven b"] {
            let mut reader = tally.reader(&Reach::default(), part);
            io::copy(&mut reader, &mut io::sink()).expect("memory");
        }
        assert_eq!(tally.bytes(), 18);
    }
}
