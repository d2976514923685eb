//! How many bytes were read, for whoever watches the work.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a whole run, in bytes of its inputs. It can be asked from any thread.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<AtomicU64>);

impl Meter {
    /// How many bytes are dealt with. What is read more than once counts in part each time, what
    /// need not be read at the end of the input's work.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One input's part of a [`Meter`].
#[derive(Clone, Debug, Default)]
pub struct Tally(Rc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    meter: Meter,
    /// How often the input will be read, less one.
    again: Cell<u64>,
    read: Cell<u64>,
    furthest: Cell<u64>,
}

impl Tally {
    /// Of an input of which nothing is read yet.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        Self(Rc::new(Counts { meter: meter.clone(), ..Counts::default() }))
    }

    /// How many of the input's bytes were read, those read again not counted again.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.furthest.get()
    }

    /// Says that the work on the input is done; its `size` bytes are dealt with, read or not.
    pub fn settle(&self, size: u64) {
        self.advance(size.saturating_sub(self.metered()));
    }

    /// Says that everything will be read `more` times again.
    pub(super) fn again(&self, more: u64) {
        self.0.again.set(self.0.again.get() + more);
    }

    /// Counts what is read through `reader`, which stands at the input's beginning.
    pub(super) fn reader<R: Read>(&self, reader: R) -> Counted<R> {
        Counted { reader, at: 0, tally: self.clone() }
    }

    fn add(&self, bytes: u64, at: u64) {
        let counts = &*self.0;
        let before = self.metered();
        counts.read.set(counts.read.get() + bytes);
        counts.furthest.set(counts.furthest.get().max(at));
        self.advance(self.metered().saturating_sub(before));
    }

    /// How much the meter was told while the input was read.
    fn metered(&self) -> u64 {
        self.0.read.get() / (1 + self.0.again.get())
    }

    fn advance(&self, bytes: u64) {
        self.0.meter.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A reader that counts.
pub(super) struct Counted<R> {
    reader: R,
    at: u64,
    tally: Tally,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.at += read as u64;
        self.tally.add(read as u64, self.at);
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
        for expected in [5, 11] {
            let mut reader = tally.reader(&b"eleven long"[..]);
            io::copy(&mut reader, &mut io::sink()).expect("memory");
            assert_eq!((meter.bytes(), tally.bytes()), (expected, 11));
        }
        tally.settle(20);
        assert_eq!((meter.bytes(), tally.bytes()), (20, 11));
    }
}
