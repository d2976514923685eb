//! Repair of run files and of files of turns.
//!
//! The real software writes a file from its beginning, under its final name, so a crash leaves the
//! beginning of the file; often that is still YAML. A file that reads without fault stays
//! unchanged, in whatever layout. Any other file is taken apart by the layout of the real software.
//!
//! Source: `logger.py` of releases 0.5.0 to 1.9.2, and the observed behavior of its loader.

mod ahead;
mod block;
mod blocks;
mod calls;
mod check;
mod clean;
mod facts;
mod indentation;
mod items;
mod line;
mod merged;
mod respell;
mod resume;
mod run;
mod spell;
mod turns;
mod wide;

use super::ending::Ending;
use super::{Made, beginning, message, read};
use crate::diagnostic::{Code, Diagnostic, Log, plural};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, OnError, Options, Reach, RepairIo, RepairOptions, Repaired};
use crate::lines::BOM;
use crate::position::Position;
use crate::record::Kind;
use crate::yaml::encoding::{Decoder, Encoding, Found, UTF_8};
use crate::yaml::refused::{self, Wanted};
use calls::Calls;
use std::io::{self, Read, Write};
use wide::{Narrow, is_wide};

/// Members of a file of turns that are sent as text.
const TEXTS: &[(&str, &[&str])] = &[("", &["system_prompt"]), ("messages/*", message::TEXTS)];

/// Repairs a session file.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let (made, encoding) = beginning(io.parts(), cx)?;
    // A damaged file may look like one of another version than the user names.
    let named = cx.options.version.filter(|named| *named != made.version());
    let made = named.map_or(made, |named| Made::of(Some(named)));
    let state = State::of(io, cx)?;
    // The user or a release on Windows made a file in another encoding.
    let declared = (!encoding.is_utf8()).then_some(encoding.encoding);
    let state = State { foreign: declared.or(state.foreign), ..state };
    if is_wide(&encoding) && !state.reads {
        return widely(io, &encoding, wanted, cx);
    }
    // The agent loads files of turns with PyYAML; it never loads runs.
    if state.foreign.is_none() && matches!(made, Made::File(_)) {
        let search = Wanted { texts: TEXTS, sent: wanted.resumable };
        let part = io.parts().main()?;
        let refused = match state.reads {
            true => refused::find(part, search)?,
            false => refused::find_unprintable(part)?,
        };
        if !refused.is_empty() {
            return respell::respell(io, &state, &refused, cx);
        }
    }
    if state.foreign.is_some() && state.reads {
        let unmarked = State { unfinished: false, ..state };
        return as_it_is(io, &unmarked, wanted, cx);
    }
    let done = match made {
        Made::Run => run::repair(io, &state, wanted, cx),
        Made::File(shape) => turns::repair(io, shape, &state, wanted, cx),
    };
    done.map_err(|error| state.unless_read(error))
}

/// Repairs a file in UTF-16 as text.
fn widely(
    io: &mut dyn RepairIo,
    encoding: &Found,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let Some(mut narrow) = Narrow::over(io, encoding)? else {
        let code = Code::WideDamaged;
        let message = format!("{}: not all of it is UTF-16", code.title());
        return Err(Error::unfit(Diagnostic::new(code, message)));
    };
    let options = Options { encoding: None, ..cx.options.clone() };
    let done = repair(&mut narrow, wanted, &Cx { options: &options, log: cx.log })?;
    if narrow.is_cut() {
        report_put(Code::TornRecord, "half of a character at the end", cx);
    }
    Ok(Repaired { changed: done.changed || narrow.is_cut(), ..done })
}

/// Result of reading a file as it is, without repair.
struct State {
    /// Whether the reader reads the file without a fault.
    reads: bool,
    /// The first fault.
    fault: Option<Diagnostic>,
    /// Whether the list of messages is one that only this reader accepts.
    unlisted: bool,
    /// Whether the last line has no ending, or a byte order mark is at the beginning.
    unfinished: bool,
    /// Findings where the reader differs from the software: members that occur twice, messages of
    /// an unknown shape.
    differences: Vec<Diagnostic>,
    /// Whether a byte order mark is at the beginning.
    marked: bool,
    /// The encoding of the file, if it is other than UTF-8.
    foreign: Option<&'static Encoding>,
    records: u64,
    /// Number of messages in the file, without restored ones.
    messages: u64,
    /// Position of the first call without a result, or result without a call.
    alone: Option<Position>,
}

impl State {
    fn of(io: &mut dyn RepairIo, cx: &Cx<'_>) -> Result<Self> {
        let log = Log::default();
        let options = Options { on_error: OnError::Stop, ..cx.options.clone() };
        let quiet = Cx { options: &options, log: &log };
        let (mut fault, mut records, mut messages) = (None, 0, 0);
        let mut calls = Calls::default();
        match read(io.parts(), &quiet) {
            Err(error) if error.is_recoverable() || !is_of_the_system(&error) => {
                fault = Some(error.into_diagnostic());
            }
            Err(error) => return Err(error),
            Ok(reader) => {
                for item in reader {
                    match item {
                        Ok(located) => {
                            records += 1;
                            let said = located.value.kind == Kind::Message;
                            if said {
                                calls.message(&located.value.node, located.at);
                            }
                            messages += u64::from(said && !located.value.is_restored());
                        }
                        Err(error) if is_of_the_system(&error) => return Err(error),
                        Err(error) => {
                            fault = Some(error.into_diagnostic());
                            break;
                        }
                    }
                }
            }
        }
        let reads = fault.is_none();
        let said = |code| log.count_of(code) > 0;
        let unlisted = said(Code::ListUnread);
        let marked = begins_marked(io)?;
        let unfinished = marked || said(Code::NoFinalNewline);
        // A reader that stopped early may not have reached the bytes that show the encoding.
        let unknown = cx.options.encoding.is_none() && (!reads || said(Code::GuessedEncoding));
        let foreign = if unknown { guessed(io.parts().main()?)? } else { None };
        let alone = calls.first_alone().filter(|_| reads);
        let mut strange = log.into_findings().diagnostics;
        strange.retain(|found| matches!(found.code, Code::TwiceNamed | Code::OddMessage));
        let state = Self {
            reads,
            fault,
            unlisted,
            unfinished,
            differences: strange,
            marked,
            foreign,
            alone,
            records,
            messages,
        };
        Ok(state)
    }

    /// Whether a mapping has a member twice or a message has an unknown shape; a message with two
    /// roles has one.
    fn is_doubled(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Replaces the error for a file in which repair found nothing although the reader found
    /// records: the layout of the file is not the software's.
    fn unless_read(&self, error: Error) -> Error {
        let found = self.fault.as_ref().filter(|_| error.code() == Code::NothingBack);
        let Some(fault) = found.filter(|_| self.records > 1) else { return error };
        let message = format!(
            "{}: the file is damaged, and its layout is not the agent's; `convert` reads what \
             precedes the damage",
            Code::NothingBack.title()
        );
        let told = Diagnostic::new(Code::NothingBack, message);
        Error::unfit(Diagnostic { at: fault.at, ..told })
    }

    /// Returns what the software reads of the file as it is.
    fn reach(&self) -> Reach {
        if !self.reads {
            return Reach::default();
        }
        Reach { entries: self.records, messages: self.messages }
    }
}

/// Guesses the encoding of a text; returns it if it is other than UTF-8.
fn guessed(text: impl Read) -> Result<Option<&'static Encoding>> {
    let mut text = Decoder::new(text, None);
    let mut piece = vec![0; 64 << 10];
    loop {
        match text.read(&mut piece) {
            Ok(read) if read > 0 && piece.get(..read).is_some_and(<[u8]>::is_ascii) => {}
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(Error::io("cannot read", error));
            }
            _ => return Ok(Some(text.found().encoding).filter(|found| *found != UTF_8)),
        }
    }
}

fn is_of_the_system(error: &Error) -> bool {
    error.code() == Code::Io
}

fn begins_marked(io: &mut dyn RepairIo) -> Result<bool> {
    let mut head = Vec::new();
    io.parts().main()?.take(BOM.len() as u64).read_to_end(&mut head).cannot("read")?;
    Ok(head == BOM)
}

/// Name of the member of the top that lists what repair put in.
const NOTES: &str = "copyist";

/// Leaves a session unchanged except for its last line ending and a mark at its beginning.
fn as_it_is(
    io: &mut dyn RepairIo,
    state: &State,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    if let (Some(at), true) = (state.alone, wanted.resumable) {
        cx.report_at(Code::CallsLeft, at);
    }
    // A file that stays unchanged may still have faults.
    state.fault.iter().chain(&state.differences).for_each(|found| cx.report(found.clone()));
    if state.unfinished { finish(io, state, cx) } else { healthy(io, state) }
}

/// Leaves the session unchanged.
fn healthy(io: &mut dyn RepairIo, state: &State) -> Result<Repaired> {
    io.begin(false)?;
    io.keep("")?;
    let reach = state.reach();
    Ok(Repaired { records: state.records, ..Repaired::default() }.reaching(reach, reach))
}

/// Removes the mark and ends the last line of a file that has no other fault.
fn finish(io: &mut dyn RepairIo, state: &State, cx: &Cx<'_>) -> Result<Repaired> {
    let marked = state.marked;
    io.begin(marked)?;
    let at = Position { line: 1, ..Position::default() };
    let mut part = io.parts().main()?;
    if marked {
        cx.report_at(Code::MarkRemoved, at);
        io.aside("", BOM, at, Code::MarkRemoved)?;
        let passed = part.read_exact(&mut [0; BOM.len()]);
        passed.cannot("read")?;
    }
    let mut out = Ending::of(io.create("")?);
    std::io::copy(&mut part, &mut out).cannot("write")?;
    if !out.ends() {
        cx.report_at(Code::LineEnded, at);
        out.write_all(b"\n").cannot("write")?;
    }
    out.flush().cannot("write")?;
    let (records, reach) = (state.records, state.reach());
    Ok(Repaired { changed: true, records, ..Repaired::default() }.reaching(reach, reach))
}

/// Whether a fix was reported.
fn is_reported(log: &Log) -> bool {
    Code::ALL.iter().any(|code| code.is_fix() && log.count_of(*code) > 0)
}

/// Reports a fix that has no position, because the text that was put in is nowhere in the file.
fn report_put(code: Code, what: &str, cx: &Cx<'_>) {
    cx.report(Diagnostic::new(code, format!("{}: {what}", code.title())));
}

/// Reports bytes that were set aside, at their position.
fn report_aside(code: Code, bytes: &[u8], at: Position, cx: &Cx<'_>) {
    let found =
        Diagnostic::new(code, format!("{}: {}", code.title(), plural(bytes.len() as u64, "byte")))
            .at(at);
    let nuls = bytes.iter().all(|b| *b == 0);
    cx.report(if nuls { found } else { found.showing(bytes, 0) });
}
