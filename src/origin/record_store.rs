//! Store of records outside of memory, which returns them by number.

use crate::error::Result;
use crate::format::Spool;
use crate::formats::canonical;
use crate::parts::list::SpooledList;
use crate::record::Record;
use crate::stage::Staged;
use bytes::Bytes;

/// Records as lines of the canonical stream. Each record takes eight bytes of memory.
pub struct RecordStore {
    lines: SpooledList,
}

impl RecordStore {
    /// Creates a store without records.
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { lines: SpooledList::new(spool) }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) -> Result<()> {
        self.lines.write(|out| canonical::line(record, out))
    }

    /// Returns the number of records.
    pub fn count(&self) -> u32 {
        self.lines.len() as u32
    }

    /// The line of a record, without its line ending.
    pub fn line(&mut self, number: u32) -> Result<Bytes> {
        let mut line = self.lines.get(number as usize)?;
        line.truncate(line.len().saturating_sub(1));
        Ok(line)
    }

    /// Returns a store of the same records with edits.
    pub fn rewritten(&mut self, mut to: Self, edit: &dyn Fn(&mut Record)) -> Result<Self> {
        for number in 0..self.count() {
            let mut record = canonical::record(&self.line(number)?)?;
            edit(&mut record);
            to.add(&record)?;
        }
        Ok(to)
    }

    /// Returns the records as a stream, with others in the place of some.
    pub fn replaced(
        &mut self,
        mut to: Self,
        replacements: &dyn Fn(u32, &Record) -> Option<Record>,
    ) -> Result<Staged> {
        for number in 0..self.count() {
            let record = canonical::record(&self.line(number)?)?;
            to.add(&replacements(number, &record).unwrap_or(record))?;
        }
        to.parts()
    }

    /// Returns all records as a canonical stream.
    pub fn parts(&mut self) -> Result<Staged> {
        Ok(Staged::one(self.lines.contents()?))
    }
}
