//! Queue of turns that come before their messages, kept outside of memory until the messages come.

use super::turn::KEYED;
use crate::error::{Error, Result};
use crate::format::Spool;
use crate::record::{Kind, Record};
use std::io::{self, SeekFrom};

/// Turns in the order in which they came.
pub struct Queue {
    spool: Box<dyn Spool>,
    /// Where the next turn is read, and where the next one is written.
    read: u64,
    end: u64,
    /// How many turns were taken out.
    pub taken: u64,
}

impl Queue {
    /// Makes an empty queue.
    #[must_use]
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { spool, read: 0, end: 0, taken: 0 }
    }

    /// Adds a turn.
    ///
    /// # Errors
    /// If there is no room for the turn.
    pub fn push(&mut self, turn: &Record) -> Result<()> {
        let mut json = vec![0; LENGTH];
        KEYED.write(turn, None, &mut json);
        let length = (json.len() - LENGTH) as u64;
        json.splice(..LENGTH, length.to_le_bytes());
        let written = self.spool.seek(SeekFrom::Start(self.end));
        let written = written.and_then(|_| self.spool.write_all(&json));
        written.map_err(|error| Error::io("cannot write to a temporary file", error))?;
        self.end += json.len() as u64;
        Ok(())
    }

    /// Takes the first turn out.
    ///
    /// # Errors
    /// If the turn cannot be read again.
    pub fn pop(&mut self) -> Result<Option<Record>> {
        if self.read == self.end {
            return Ok(None);
        }
        let json = self.next().map_err(|error| Error::io("cannot read a temporary file", error))?;
        self.taken += 1;
        let read = KEYED.read(&json.into());
        Ok(Some(read.map_or_else(|_| Record::new(Kind::Turn), |(turn, _)| turn)))
    }

    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; LENGTH];
        self.spool.seek(SeekFrom::Start(self.read))?;
        self.spool.read_exact(&mut length)?;
        let mut json = vec![0; u64::from_le_bytes(length) as usize];
        self.spool.read_exact(&mut json)?;
        self.read += (LENGTH + json.len()) as u64;
        Ok(json)
    }
}

/// Length in bytes of the number before each turn.
const LENGTH: usize = 8;
