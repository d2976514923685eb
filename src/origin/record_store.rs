//! Store of records outside of memory, which returns them by number.

use crate::error::{Error, Result};
use crate::format::Spool;
use crate::formats::canonical;
use crate::lines::empty;
use crate::parts::room::{Part, Room};
use crate::record::Record;
use crate::stage::Staged;
use bytes::Bytes;
use std::io::{Read, Write};

/// Records as lines of the canonical stream. Each record costs eight bytes of memory.
pub struct RecordStore {
    lines: Part,
    /// End of each record, in bytes.
    ends: Vec<u64>,
    out: Vec<u8>,
    written: u64,
}

/// Size in bytes of the pieces in which records are written.
const CHUNK: usize = 256 << 10;

impl RecordStore {
    /// Creates a store without records.
    pub fn new(spool: Box<dyn Spool>) -> Self {
        let lines = Room::of(spool).part();
        Self { lines, ends: Vec::new(), out: Vec::new(), written: 0 }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) -> Result<()> {
        canonical::line(record, &mut self.out);
        self.ends.push(self.written + self.out.len() as u64);
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Returns the number of records.
    pub fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.lines.write_all(&self.out);
        written.map_err(|error| Error::io("cannot write a temporary file", error))?;
        self.written += self.out.len() as u64;
        empty(&mut self.out);
        Ok(())
    }

    /// The line of a record, without its line ending.
    pub fn line(&mut self, number: u32) -> Result<Bytes> {
        if !self.out.is_empty() {
            self.flush()?;
        }
        let number = number as usize;
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        let mut line = vec![0; (end - start).saturating_sub(1) as usize];
        let read = self.lines.reading(start).read_exact(&mut line);
        read.map_err(|error| Error::io("cannot read a temporary file", error))?;
        Ok(line.into())
    }

    /// Returns a store of the same records with edits.
    ///
    /// # Errors
    /// If a record cannot be read, or there is no room.
    pub fn rewritten(&mut self, mut to: Self, edit: &dyn Fn(&mut Record)) -> Result<Self> {
        for number in 0..self.count() {
            let mut record = canonical::record(&self.line(number)?)?;
            edit(&mut record);
            to.add(&record)?;
        }
        Ok(to)
    }

    /// Returns all records as a canonical stream.
    pub fn parts(&mut self) -> Result<Staged> {
        self.flush()?;
        Ok(Staged::one(self.lines.clone()))
    }
}
