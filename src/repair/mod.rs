//! Getting back from a damaged session every record that is there, and a session with which the
//! real software goes on.
//!
//! The stream is taken apart into records and bytes that are none (`pieces`). The format looks at
//! the records and decides how they hang together; then all is read again and written: records
//! that nothing is wrong with byte for byte, others with the few bytes changed that must be and a
//! note of what was done, and what cannot stand in the output to the quarantine. Nothing of the
//! session is kept in memory but an index.

mod pieces;
mod quarantine;

pub use quarantine::QUARANTINE;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Mend, Parts, Reach, Sink, Wish};
use pieces::{Part, Pieces};
use quarantine::Quarantine;
use serde::Serialize;
use std::io::Write;

/// What was done, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Whether anything was wrong.
    #[serde(skip)]
    pub changed: bool,
    /// Records that were found.
    #[serde(skip)]
    pub records: u64,
    /// Records found that the software did not read.
    pub rescued: u64,
    /// Entries of the active branch that the software reached before.
    pub entries_before: u64,
    /// Those that it reaches now.
    pub entries: u64,
    /// Messages of the context that it built before.
    pub messages_before: u64,
    /// Those of the context that it builds now.
    pub messages: u64,
    /// Bytes that were set aside.
    pub quarantined: u64,
    /// Fixes.
    pub fixes: u64,
}

/// Output is handed on in pieces of this size.
const CHUNK: usize = 64 << 10;

/// Repairs one session.
///
/// A session that nothing is wrong with passes byte for byte. What cannot stand in the output goes
/// to the part [`QUARANTINE`], which is made only if there is something to put into it.
///
/// # Errors
/// If not one record is there, the format cannot be repaired, or if reading or writing fails.
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
    let Some(repair) = format.repair else {
        let message = format!("{} cannot be repaired yet", format.name);
        return Err(Error::request(Code::NoRepair, message));
    };
    parts.keep()?;
    let mut pieces = Pieces::new(repair, wish.salvage, cx);
    let mut mend = (repair.open)(wish, cx);
    loop {
        pieces.walk(parts.main()?, &mut |part| Ok(look(mend.as_mut(), part)))?;
        if !mend.again() {
            break;
        }
    }
    if pieces.found.records == 0 {
        return Err(Error::unfit(Diagnostic::new(Code::NothingBack, Code::NothingBack.title())));
    }
    let removes = pieces.found.aside > 0 || mend.removes();
    // It gets its place before the output does, so that no byte is nowhere at any moment.
    let quarantine = if removes { Some(sink.create(QUARANTINE)?) } else { None };
    let mut writing = Writing {
        out: Vec::with_capacity(2 * CHUNK),
        main: sink.create("")?,
        quarantine: Quarantine::new(quarantine),
        aside: pieces.found.aside,
    };
    pieces.walk(parts.main()?, &mut |part| writing.part(mend.as_mut(), part).map(|()| true))?;
    mend.finish(&mut writing.out);
    writing.finish()?;
    let (before, after) = mend.reach();
    let found = pieces.found;
    Ok(Repaired {
        changed: found.damaged || mend.changes(),
        records: found.records,
        rescued: found.rescued,
        quarantined: writing.aside,
        fixes: fixes(cx),
        ..reached(before, after)
    })
}

fn reached(before: Reach, after: Reach) -> Repaired {
    Repaired {
        entries_before: before.entries,
        entries: after.entries,
        messages_before: before.messages,
        messages: after.messages,
        ..Repaired::default()
    }
}

/// How many fixes were told of.
fn fixes(cx: &Cx<'_>) -> u64 {
    let fixes = Code::ALL.iter().filter(|code| code.is_fix());
    fixes.map(|code| cx.log.count_of(*code)).sum()
}

fn look(mend: &mut dyn Mend, part: Part<'_>) -> bool {
    match part {
        Part::Blank(..) => true,
        Part::Record(record) => mend.look(&record),
        Part::Aside(bytes, _, code) => {
            mend.aside(bytes, code);
            true
        }
    }
}

/// The outputs, while they are written.
struct Writing {
    out: Vec<u8>,
    main: Box<dyn Write>,
    quarantine: Quarantine,
    aside: u64,
}

impl Writing {
    fn part(&mut self, mend: &mut dyn Mend, part: Part<'_>) -> Result<()> {
        match part {
            Part::Blank(bytes, terminated) => {
                self.out.extend_from_slice(bytes);
                if terminated {
                    self.out.push(b'\n');
                }
            }
            Part::Record(record) => {
                let code = mend.write(&record, &mut self.out);
                // The bytes of what was repaired before stand there already.
                if let Some(code) = code.filter(|_| record.repaired.is_none()) {
                    self.aside += record.bytes.len() as u64;
                    self.quarantine.take(record.bytes, record.at, code)?;
                }
            }
            Part::Aside(bytes, at, code) => self.quarantine.take(bytes, at, code)?,
        }
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.main.write_all(&self.out);
        self.out.clear();
        written.map_err(|error| Error::io("cannot write", error))
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.quarantine.finish()?;
        self.main.flush().map_err(|error| Error::io("cannot write", error))
    }
}
