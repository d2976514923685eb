//! Interface by which records are added to a session whose files are lines.

use crate::error::{Error, Result};
use crate::json::Fault;
use crate::position::Position;
use crate::record::Record;
use bytes::Bytes;
use std::fmt::Debug;

/// Opens a session that was read from a file of this version, behind its session record. `None`
/// where no line can be added to it.
pub type AppendFn = fn(&Record, u32) -> Option<Box<dyn Appender>>;

/// State at the end of a session, behind which records are added: what a further line depends on.
/// Adding a record costs the same however long the session is.
pub trait Appender: Debug + Send + Sync {
    /// Notes a record that the session has already. Returns false if no line can be added to such a
    /// session without the rest of it.
    fn note(&mut self, record: &Record) -> bool;

    /// Adds a record behind the others: appends its lines to `out`, and returns the records as which
    /// these lines are read. There are none if the format has no line for the record.
    ///
    /// # Errors
    /// If the lines cannot be read.
    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>>;
}

/// End of a session in which each record has lines of its own.
pub trait LineAppender: Debug + Send + Sync {
    /// Notes a record that the session has already.
    fn note(&mut self, record: &Record);

    /// Returns the lines of a new record.
    fn lines(&mut self, record: &Record) -> Vec<Vec<u8>>;

    /// Reads such a line behind those before it.
    ///
    /// # Errors
    /// If the line is not JSON.
    fn read(&mut self, line: &Bytes) -> Result<Vec<Record>, Fault>;
}

impl<L: LineAppender> Appender for L {
    fn note(&mut self, record: &Record) -> bool {
        LineAppender::note(self, record);
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let mut added = Vec::new();
        for line in self.lines(record) {
            let line = Bytes::from(line);
            let read = self.read(&line);
            added.extend(read.map_err(|fault| Error::json(fault, &line, Position::default()))?);
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        Ok(added)
    }
}
