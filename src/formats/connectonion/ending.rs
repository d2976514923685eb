//! Output that tracks whether its last line has an ending.

use std::io::{self, Write};

/// An output that knows its last byte.
pub struct Ending<W> {
    out: W,
    last: u8,
}

impl<W: Write> Ending<W> {
    /// Wraps an output to which nothing was written.
    pub fn of(out: W) -> Self {
        Self { out, last: b'\n' }
    }

    /// Whether the last line has an ending.
    pub fn ends(&self) -> bool {
        self.last == b'\n'
    }
}

impl<W: Write> Write for Ending<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let last = written.checked_sub(1).and_then(|last| bytes.get(last));
        self.last = last.copied().unwrap_or(self.last);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
