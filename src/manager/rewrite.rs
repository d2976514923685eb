//! Messages in sessions whose files depend on all their records: documents, and sessions of several
//! files. A message is added to the stream of the session, and the stream restores the files: what
//! the message does not change keeps its bytes.

use super::Session;
use super::open::reading;
use super::rewritten::Rewritten;
use crate::convert;
use crate::diagnostic::{Code, Log};
use crate::error::Result;
use crate::format::{Cx, Options, Parts};
use crate::formats::{Spec, canonical};
use crate::memory::{Buffer, Bytes};
use crate::record::Record;

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
