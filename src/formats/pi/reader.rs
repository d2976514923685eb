//! Reader of pi's file as a stream of records.

use super::dialect::{is_slot, set_name};
use super::foreign;
use super::lineage::Lineage;
use super::repair::record::member;
use super::version::{Named, TREE};
use super::{NAME, read, write};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header, skip_to};
use crate::json::{Json, text};
use crate::lines::{BOM, Kept, Line, Lines, empty, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::Read;

/// Opens a session for reading.
///
/// # Errors
/// If the part cannot be opened.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    Ok(Box::new(Records::open(parts, cx)?))
}

/// Opens a session at the record that stands at `from`.
///
/// # Errors
/// If the part cannot be opened, or has no header any more.
pub fn resume<'a>(parts: &'a mut dyn Parts, from: Position, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut records = Records::open(parts, cx)?;
    while records.session.is_none() {
        match records.next() {
            None => return Ok(Box::new(records)),
            Some(item) => drop(item?),
        }
    }
    match &mut records.session {
        Some(session) if session.version >= TREE && from.byte > 0 => {
            session.lineage.resume(from.record);
            let part = parts.open_at("", from.byte)?;
            records.lines = Lines::starting(from, part, cx.options.max_line);
            Ok(Box::new(records))
        }
        // The identifiers of a list follow from all its entries.
        _ => Ok(skip_to((super::FORMAT.read)(parts, cx)?, from)),
    }
}

struct Records<'a> {
    lines: Lines<Box<dyn Read>>,
    cx: &'a Cx<'a>,
    bom: bool,
    session: Option<Session>,
    /// The title slot before the header.
    slot: Option<Bytes>,
    /// Whether the header's line ends with `\r\n`.
    crlf: bool,
    unterminated: Option<Unterminated>,
    done: bool,
    scratch: Vec<u8>,
}

/// A last line without its line ending.
struct Unterminated {
    at: Position,
    /// Whether the line is a whole record. The damage of a torn record was reported already.
    whole: bool,
}

#[derive(Debug)]
struct Session {
    version: u32,
    lineage: Lineage,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.line() {
                Ok(Some(record)) => return Some(Ok(record)),
                Ok(None) => {
                    self.done = true;
                    return self.tail();
                }
                Err(error) => match self.cx.tolerate(error) {
                    Ok(_) => {}
                    Err(error) => {
                        self.done = !error.is_recoverable() || self.session.is_none();
                        return Some(Err(error));
                    }
                },
            }
        }
        None
    }
}

impl<'a> Records<'a> {
    fn open(parts: &mut dyn Parts, cx: &'a Cx<'a>) -> Result<Self> {
        let mut lines = Lines::new(parts.main()?, cx.options.max_line);
        let bom = lines.skip_bom()?;
        Ok(Self {
            lines,
            cx,
            bom,
            session: None,
            slot: None,
            crlf: false,
            unterminated: None,
            done: false,
            scratch: Vec::new(),
        })
    }
}

impl Records<'_> {
    /// Returns the record of the next line; `None` at the end.
    fn line(&mut self) -> Result<Option<Located<Record>>> {
        let Some(mut kept) = self.lines.kept()? else {
            return Ok(None);
        };
        let (blank, cr) = (kept.line().is_blank(), kept.take_cr());
        let Kept { bytes, mut at, terminated } = kept;
        let begin = at;
        let line = Line { bytes: &bytes, at, terminated };
        let had_session = self.session.is_some();
        at.record = self.session.as_ref().map_or(0, |session| session.lineage.records());
        let mut whole = true;
        let mut record = if blank {
            Record::of_line(&self.with_mark(&bytes))
        } else if !had_session && self.slot.is_none() && is_slot(&bytes) {
            self.slot = Some(bytes.clone());
            Record::of_line(&self.with_mark(&bytes))
        } else {
            match self.parse(&line, &bytes) {
                Ok(record) => record,
                Err(error) if self.cx.keeps(&error) => {
                    self.cx.report(error.into_diagnostic());
                    whole = false;
                    Record::of_line(&self.with_mark(&bytes))
                }
                Err(error) => return Err(error),
            }
        };
        if !terminated {
            self.unterminated = Some(Unterminated { at: begin, whole });
        }
        if !had_session && self.session.is_some() {
            self.crlf = cr;
            self.file(&mut record);
            self.slot.iter().for_each(|slot| set_name(slot, &mut record.node));
        } else if terminated && cr != self.crlf {
            let eol = if cr { "\"crlf\"" } else { "\"lf\"" };
            record.node.set(Field::Eol, Json::constant(eol));
        }
        Ok(Some(Located { value: record, at }))
    }

    fn parse(&mut self, line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
        utf8(line)?;
        let fault = |fault| Error::json(fault, line.bytes, line.at);
        let mut record = if let Some(session) = &mut self.session {
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
            if !self.cx.options.spelling {
                return Ok(parsed.record);
            }
            let kept = parsed.kept.map(Json::number);
            write::entry(&parsed.record, version, kept.as_ref(), &mut self.scratch);
            parsed.record
        } else {
            let header = read::header(bytes, NAME).map_err(fault)?;
            let header = header.ok_or_else(|| no_header(line, NOT_A_HEADER))?;
            let version = header.named.read_as();
            if let Some(found) = strange_version(header.named) {
                self.cx.report(found.at(line.at));
            }
            let id = header.record.node.json(Field::Id).map_or(&b""[..], Json::as_bytes);
            self.session = Some(Session { version, lineage: Lineage::new(id, self.cx) });
            write::header(&header.record.node, version, &mut self.scratch);
            header.record
        };
        // In a stream, a message without these fields would count as one that the user added.
        if self.scratch != bytes.as_ref() || foreign::is_bare(&record) {
            record.node.set(Field::Raw, spelling(bytes));
        }
        empty(&mut self.scratch);
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

    /// Returns the line as it stands in the file: the first line before the header has the byte
    /// order mark.
    fn with_mark(&mut self, bytes: &Bytes) -> Bytes {
        if self.session.is_none() && std::mem::take(&mut self.bom) {
            return [BOM, bytes].concat().into();
        }
        bytes.clone()
    }

    /// Sets the properties of the file in the header's record.
    fn file(&self, record: &mut Record) {
        if let Some(file) = self.cx.file(self.bom, self.crlf, None) {
            record.node.set(Field::File, file);
        }
    }

    /// Returns the record or the error that is known only at the end.
    fn tail(&mut self) -> Option<Result<Located<Record>>> {
        if self.session.is_none() {
            let found = Diagnostic::new(Code::Empty, Code::Empty.title());
            return Some(Err(Error::unfit(found)));
        }
        let Unterminated { at, whole } = self.unterminated.take()?;
        if whole {
            let message = Code::NoFinalNewline.title();
            self.cx.report(Diagnostic::new(Code::NoFinalNewline, message).at(at));
        }
        let mut file = Node::default();
        file.set(Field::FinalNewline, Json::constant("false"));
        let mut record = Record::new(Kind::Session);
        record.node.set(Field::File, file);
        Some(Ok(Located { value: record, at }))
    }
}

/// Message about a first record that is not a header.
pub const NOT_A_HEADER: &str = "first record is not a session header with a string `id`";

/// Builds the error for a line that is JSON but not an object.
#[must_use]
pub fn not_an_object(line: &Line<'_>) -> Error {
    let found = Diagnostic::new(Code::NotObject, Code::NotObject.title());
    Error::damaged(found.at(line.at).showing(line.bytes, 0))
}

/// Builds the finding about a header after the first, with the session and the folder that it names.
#[must_use]
pub fn further_header(line: &Line<'_>) -> Diagnostic {
    let named = |key| member(line.bytes, key).and_then(text::decode);
    let mut message = Code::FurtherHeader.title().to_owned();
    for (word, key) in [(": session", "id"), (" of", "cwd")] {
        named(key).into_iter().for_each(|value| message += &format!("{word} {value}"));
    }
    Diagnostic::new(Code::FurtherHeader, message).at(line.at)
}

/// Builds the finding about a version that copyist does not know.
#[must_use]
pub fn strange_version(named: Named) -> Option<Diagnostic> {
    match named {
        Named::Known(_) => None,
        Named::Newer(version) => {
            let message = format!("version {version} is newer than {}", super::version::NEWEST);
            Some(Diagnostic::new(Code::NewerVersion, message))
        }
        Named::NotANumber => {
            Some(Diagnostic::new(Code::StrangeVersion, Code::StrangeVersion.title()))
        }
    }
}

fn spelling(bytes: &Bytes) -> Json {
    // The line was checked to be UTF-8.
    Json::string(&String::from_utf8_lossy(bytes))
}
