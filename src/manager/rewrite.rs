//! Messages in sessions whose files depend on all their records: documents, and sessions of several
//! files. A message is added to the stream of the session, and the stream restores the files: what
//! the message does not change keeps its bytes.

use super::Session;
use super::open::reading;
use crate::convert;
use crate::diagnostic::{Code, Log};
use crate::error::Result;
use crate::format::{Change, Cx, Options, Parts, Sink, Spool};
use crate::formats::{Spec, canonical};
use crate::memory::{Buffer, Bytes};
use crate::record::Record;
use std::io::Write;

/// The files of a session with a further message.
#[derive(Default)]
pub struct Rewritten {
    /// The parts.
    pub parts: Buffer,
    /// Changes of files that sessions share, by the names of the parts.
    pub changes: Vec<(String, Box<dyn Change>)>,
}

/// Codes of errors by which a stream has no way back into the files.
const REFUSED: &[Code] = &[Code::OriginRejected, Code::OriginUnreadable, Code::OriginOfAnother];

impl Session {
    /// Returns the files of the session with a further record behind the others. `parts` are its
    /// files as they are.
    ///
    /// # Errors
    /// If the format has no place for the record.
    pub(super) fn rewritten(&self, parts: &mut dyn Parts, record: &Record) -> Result<Rewritten> {
        let (options, log) = (reading(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let stream = &canonical::FORMAT;
        let own = Spec { format: self.format, version: Some(self.version) };
        let mut out = Buffer::default();
        let to = Spec { format: stream, version: None };
        convert::run(self.format, self.version.number, to, parts, &mut out, &cx)?;
        let mut lines = out.main();
        canonical::line(record, &mut lines);
        let origin = out.origin();
        let mut edited = Bytes::new(lines);
        if let Some(origin) = origin {
            edited = edited.with_origin(origin);
        }
        let options = Options { complete: true, ..options };
        let cx = Cx { options: &options, log: &log };
        let mut rewritten = Rewritten::default();
        let number = to.version().number;
        match convert::run(stream, number, own, &mut edited, &mut rewritten, &cx) {
            Ok(_) => Ok(rewritten),
            Err(error) if REFUSED.contains(&error.code()) => Err(self.no_place(record)),
            Err(error) => Err(error),
        }
    }
}

impl Sink for Rewritten {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        self.parts.create(name)
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        self.changes.push((name.to_owned(), change));
        Ok(())
    }

    fn is_in_place(&self) -> bool {
        true
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        None
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.parts.spool()
    }
}
