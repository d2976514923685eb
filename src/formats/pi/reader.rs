//! Reader of pi's file as a stream of records.

use super::dialect::{is_slot, set_name};
use super::lineage::Lineage;
use super::version::Named;
use super::{NAME, read};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header};
use crate::framing::{FramedLines, ReadLines, Reading};
use crate::json::{Json, member, text};
use crate::lines::{Line, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Record};
use bytes::Bytes;
use std::collections::VecDeque;

/// Opens a session for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    Ok(Box::new(Records::open(parts, cx)?))
}

struct Records<'a> {
    lines: FramedLines,
    cx: &'a Cx<'a>,
    session: Option<Session>,
    /// The title slot before the header.
    slot: Option<Bytes>,
}

#[derive(Debug)]
struct Session {
    version: u32,
    lineage: Lineage,
}

impl<'a> Records<'a> {
    fn open(parts: &mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reading<'a, Self>> {
        let lines = FramedLines::over(parts.main()?, cx.options.max_line)?;
        let records = Self { lines, cx, session: None, slot: None };
        Ok(Reading::new(records, cx))
    }
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(frame) = self.lines.next()? else { return Ok(false) };
        let had_session = self.has_begun();
        let record = self.session.as_ref().map_or(0, |session| session.lineage.records());
        let at = Position { record, ..frame.at };
        let slot = !had_session && self.slot.is_none() && is_slot(&frame.bytes);
        if slot {
            self.slot = Some(frame.bytes.clone());
        }
        let mut value = match frame.blank || slot {
            true => self.lines.record_of_line(&frame),
            false => self
                .parse(&frame.line(), &frame.bytes)
                .or_else(|error| self.lines.damaged(&frame, error, self.cx))?,
        };
        let first = !had_session && self.has_begun();
        self.lines.note(&frame, &mut value, first, self.cx);
        if first {
            self.slot.iter().for_each(|slot| set_name(slot, &mut value.node));
        }
        ready.push_back(Located { value, at });
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        if !self.has_begun() {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        }
        ready.extend(self.lines.tail(self.cx));
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.session.is_some()
    }
}

impl Records<'_> {
    fn parse(&mut self, line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
        utf8(line)?;
        let fault = |fault| Error::json(fault, line.bytes, line.at);
        let record = if let Some(session) = &mut self.session {
            let version = session.version;
            let headers = session.lineage.headers();
            let contents = self.cx.options.contents;
            let parsed = read::entry(bytes, version, contents, &mut session.lineage);
            let parsed = parsed.map_err(fault)?;
            if session.lineage.headers() > headers {
                self.cx.report(further_header(line));
            }
            if bytes.trim_ascii_start().first() != Some(&b'{') {
                self.not_an_object(line)?;
            }
            parsed
        } else {
            let header = read::header(bytes, NAME).map_err(fault)?;
            let header = header.ok_or_else(|| no_header(line, NOT_A_HEADER))?;
            let version = header.named.read_as();
            if let Some(found) = unknown_version(header.named) {
                self.cx.report(found.at(line.at));
            }
            let id = header.record.node.json(Field::Id).map_or(&b""[..], Json::as_bytes);
            self.session = Some(Session { version, lineage: Lineage::new(id, self.cx) });
            header.record
        };
        Ok(record)
    }

    /// Reports or refuses a line that is JSON but not an object.
    fn not_an_object(&self, line: &Line<'_>) -> Result<()> {
        let error = not_an_object(line);
        if !self.cx.keeps(&error) {
            return Err(error);
        }
        self.cx.report(error.into_diagnostic());
        Ok(())
    }
}

/// Message about a first record that is not a header.
pub const NOT_A_HEADER: &str = "first record is not a session header with a string `id`";

/// Builds the error for a line that is JSON but not an object.
pub fn not_an_object(line: &Line<'_>) -> Error {
    let found = Diagnostic::of(Code::NotObject);
    Error::damaged(found.at(line.at).showing(line.bytes, 0))
}

/// Builds the finding about a header after the first, with the session and the folder that it
/// names.
pub fn further_header(line: &Line<'_>) -> Diagnostic {
    let named = |key| member(line.bytes, key).and_then(text::decode);
    let mut message = Code::FurtherHeader.title().to_owned();
    for (word, key) in [(": session", "id"), (" of", "cwd")] {
        named(key).into_iter().for_each(|value| message += &format!("{word} {value}"));
    }
    Diagnostic::new(Code::FurtherHeader, message).at(line.at)
}

/// Builds the finding about a version that copyist does not know.
pub fn unknown_version(named: Named) -> Option<Diagnostic> {
    match named {
        Named::Known(_) => None,
        Named::Newer(version) => {
            let message = format!("version {version} is newer than {}", super::version::NEWEST);
            Some(Diagnostic::new(Code::NewerVersion, message))
        }
        Named::NotANumber => Some(Diagnostic::of(Code::StrangeVersion)),
    }
}
