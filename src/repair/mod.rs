//! Getting back from a damaged session every record that is there, and a session with which the
//! real software goes on.
//!
//! A format repairs its own sessions, part by part; here is what it works with. A part of lines is
//! taken apart into records and bytes that are none (`pieces`). The format looks at the records and
//! decides how they hang together; then all is read again and written (`walk`): records that
//! nothing is wrong with byte for byte, others with the few bytes changed that must be and a note
//! of what was done, and what cannot stand in the output to the quarantine. Nothing of the session
//! is kept in memory but an index.

mod mark;
mod pieces;
mod quarantine;
mod twice;
mod walk;

pub use mark::{Fixes, mark};
pub(crate) use pieces::{EFFORT, whole};
pub use quarantine::QUARANTINE;
pub use twice::Twice;
pub use walk::Walk;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Bench, Cx, Format, Parts, Repaired, Sink, Wish};
use crate::position::Position;
use quarantine::Quarantine;
use std::io::{self, Write};

/// Repairs one session.
///
/// A session that nothing is wrong with passes byte for byte. What cannot stand in the output goes
/// to the part [`QUARANTINE`], which is made only if there is something to put into it.
///
/// # Errors
/// If not one record is there, or if reading or writing fails.
///
/// ```
/// use copyist::diagnostic::Log;
/// use copyist::format::{Cx, Options, Wish};
/// use copyist::{formats::pi, memory::{Buffer, Bytes}, repair};
/// let torn = concat!(
///     r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#, "\n",
///     r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"#,
///     r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"Hello"}}"#, "\n",
/// );
/// let (options, log) = (Options::default(), Log::default());
/// let (cx, mut out) = (Cx { options: &options, log: &log }, Buffer::default());
/// let done = repair::run(&pi::FORMAT, &mut Bytes::new(torn), &mut out, &Wish::default(), &cx)?;
/// assert_eq!((done.records, done.rescued, done.messages), (2, 1, 1));
/// assert_eq!(out.main().iter().filter(|b| **b == b'\n').count(), 2);
/// assert!(out.part(repair::QUARANTINE).is_some());
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub fn run(
    format: &Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    wish: &Wish,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    parts.keep()?;
    if !format.links() {
        wish.relink.iter().for_each(|(entry, parent)| cx.report(not_linked(entry, parent)));
    }
    let mut work = Work { parts, sink, quarantine: Quarantine::default() };
    let done = (format.repair)(&mut work, wish, cx)?;
    let quarantined = work.quarantine.finish()?;
    Ok(Repaired { quarantined, fixes: fixes(cx), ..done })
}

/// What a result says that is put in for a call of a tool that got none.
pub const OUTCOME_UNKNOWN: &str =
    "The session was interrupted before this tool returned. The outcome of the call is unknown.";

/// The error for a session of which nothing is left.
#[must_use]
pub fn nothing_back() -> Error {
    Error::unfit(Diagnostic::new(Code::NothingBack, Code::NothingBack.title()))
}

/// Says that an entry was not linked to the parent that a person wants for it.
#[must_use]
pub fn not_linked(entry: &str, parent: &str) -> Diagnostic {
    let code = Code::NotLinked;
    Diagnostic::new(code, format!("{}: {entry} to {parent}", code.title()))
}

/// How many fixes were told of.
fn fixes(cx: &Cx<'_>) -> u64 {
    let fixes = Code::ALL.iter().filter(|code| code.is_fix());
    fixes.map(|code| cx.log.count_of(*code)).sum()
}

/// One repair.
struct Work<'a> {
    parts: &'a mut dyn Parts,
    sink: &'a mut dyn Sink,
    quarantine: Quarantine,
}

impl Bench for Work<'_> {
    fn parts(&mut self) -> &mut dyn Parts {
        self.parts
    }

    fn takes_parts(&self) -> bool {
        self.sink.takes_parts()
    }

    fn begin(&mut self, removes: bool) -> Result<()> {
        if removes {
            self.quarantine = Quarantine::new(self.sink.create(QUARANTINE)?);
        }
        Ok(())
    }

    fn create(&mut self, part: &str) -> Result<Box<dyn Write>> {
        self.sink.create(part)
    }

    fn keep(&mut self, part: &str) -> Result<()> {
        if self.sink.is_in_place() {
            return Ok(());
        }
        let (mut from, mut to) = (self.parts.open(part)?, self.sink.create(part)?);
        let copied = io::copy(&mut from, &mut to).and_then(|_| to.flush());
        copied.map_err(|error| Error::io("cannot write", error))
    }

    fn aside(&mut self, part: &str, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        self.quarantine.take(part, bytes, at, code)
    }
}
