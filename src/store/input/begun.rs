//! The first bytes of an input, from which its format is detected. A reader continues after them.

use crate::error::{Error, Result};
use crate::format::Head;
use crate::lines::{give_back, lend};
use crate::store::packed::fill;
use std::io::{self, Read};

/// Maximum length in bytes of a first line that is read as a whole.
const LONGEST_HEAD: usize = 16 << 20;

/// A text whose first bytes were read.
pub struct Begun {
    /// The first bytes.
    pub ahead: First,
    /// The reader of all bytes after them; `None` if there are no more.
    pub rest: Option<Box<dyn Read>>,
}

/// The first bytes, in a buffer from the pool.
pub struct First {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl First {
    /// Returns the bytes that were not read yet.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }
}

impl Read for First {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.unread().read(into)?;
        self.start += read;
        Ok(read)
    }
}

impl Drop for First {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.buffer));
    }
}

impl Begun {
    /// Reads [`Head::SIZE`] bytes, or more until there is a whole line: in old releases the first
    /// line contains the system prompt. If the file has fewer bytes (`size`), it is read with one
    /// request.
    pub fn new(mut reader: Box<dyn Read>, size: u64) -> Result<Self> {
        let mut ahead = First { buffer: lend(), start: 0, end: 0 };
        // One byte more than the file has makes the reader find the end.
        let size = usize::try_from(size).unwrap_or(Head::SIZE);
        let mut room = Head::SIZE.min(size.saturating_add(1));
        loop {
            let First { buffer, end, .. } = &mut ahead;
            if buffer.len() < *end + room {
                buffer.resize(*end + room, 0);
            }
            let new = buffer.get_mut(*end..*end + room).unwrap_or_default();
            let read = fill(&mut *reader, new, room);
            let read = read.map_err(|error| Error::io("cannot read", error))?;
            let ended = read < room;
            let line = memchr::memchr(b'\n', new.get(..read).unwrap_or_default()).is_some();
            *end += read;
            if ended || (*end >= Head::SIZE && line) || *end >= LONGEST_HEAD {
                return Ok(Self { ahead, rest: (!ended).then_some(reader) });
            }
            room = Head::SIZE;
        }
    }
}
