//! The first bytes of an input, which tell what it is; whoever reads it goes on behind them.

use crate::error::{Error, Result};
use crate::format::Head;
use crate::lines::{give_back, lend};
use crate::store::packed::fill;
use std::io::{self, Read};

/// The longest first line that is looked at whole.
const LONGEST_HEAD: usize = 16 << 20;

/// A text whose first bytes were read.
pub struct Begun {
    /// They.
    pub ahead: First,
    /// What follows; `None` if that was all.
    pub rest: Option<Box<dyn Read>>,
}

/// The first bytes, in a buffer that is lent.
pub struct First {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl First {
    /// What nobody read yet.
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
    /// Reads [`Head::SIZE`] bytes, or more until there is a whole line: headers of old releases
    /// carry the system prompt. A file of `size` bytes, if that is less, is read at one go.
    pub fn new(mut reader: Box<dyn Read>, size: u64) -> Result<Self> {
        let mut ahead = First { buffer: lend(), start: 0, end: 0 };
        // The end shows where there is room for more.
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
