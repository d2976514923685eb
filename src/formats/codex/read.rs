//! Reader of a rollout as a stream of records.

use super::base::{self, History};
use super::chain::Chain;
use super::twin::{self, Speaker};
use super::{NAME, line, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header};
use crate::json::{Cursor, Json};
use crate::lines::{BOM, Kept, Line, Lines, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::Read;

/// Opens a session for reading.
///
/// # Errors
/// If the part cannot be opened.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut lines = Lines::new(parts.main()?, cx.options.max_line);
    let history = History::default();
    let bom = lines.skip_bom()?;
    let state = State::default();
    let (session, unterminated) = (None, None);
    let records = Records {
        lines,
        parts,
        history,
        cx,
        bom,
        state,
        session,
        crlf: false,
        unterminated,
        records: 0,
        done: false,
        scratch: Vec::new(),
    };
    Ok(Box::new(records))
}

/// Message about a first record that is not a header.
pub const NOT_A_HEADER: &str = "the first record is no session_meta with a string `id`";

/// Text and model of the lines read so far, on which the meaning of a line depends.
#[derive(Debug, Default)]
pub struct State {
    model: Option<Json>,
    said: [Option<Json>; 3],
}

impl State {
    /// Marks an event that repeats the last item of its speaker, and settings with the model of
    /// those before.
    pub fn settle(&mut self, mut record: Record) -> Record {
        match record.kind {
            Kind::ModelChange => {
                let model = record
                    .node
                    .json(Field::Model)
                    .map(|m| Json::checked(m.as_bytes().to_vec().into()));
                if model == self.model {
                    return line::repeated(record);
                }
                self.model = model;
            }
            Kind::Message => {
                if let Some((speaker, said)) = twin::of_message(&record.node) {
                    *self.said_by(speaker) = Some(said);
                }
            }
            Kind::Event => {
                let payload = record.node.json(Field::Data).and_then(twin::of_event);
                let Some((speaker, said)) = payload else { return record };
                let item = self.said_by(speaker).take();
                if item.is_some_and(|item| item == said || item.text() == said.text()) {
                    record.node.set(Field::Derived, Json::constant("true"));
                }
            }
            _ => {}
        }
        record
    }

    fn said_by(&mut self, speaker: Speaker) -> &mut Option<Json> {
        let [user, agent, thought] = &mut self.said;
        match speaker {
            Speaker::User => user,
            Speaker::Agent => agent,
            Speaker::Thought => thought,
        }
    }
}

struct Records<'a> {
    lines: Lines<Box<dyn Read>>,
    /// The session's parts, among which other rollouts are looked for.
    parts: &'a mut dyn Parts,
    history: History,
    cx: &'a Cx<'a>,
    bom: bool,
    state: State,
    session: Option<Session>,
    /// Whether the header's line ends with `\r\n`.
    crlf: bool,
    /// Position of the last line if it has no line ending, and whether it is a whole record.
    unterminated: Option<(Position, bool)>,
    records: u64,
    done: bool,
    scratch: Vec<u8>,
}

struct Session {
    /// Place of the first line.
    at: Position,
    bare: bool,
    chain: Chain,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.inherited().and_then(|found| found.map_or_else(|| self.line(), ready)) {
                Ok(Some(record)) => return Some(Ok(record)),
                Ok(None) => {
                    self.done = true;
                    return self.tail();
                }
                Err(error) => {
                    if let Err(error) = self.cx.tolerate(error) {
                        self.done = !error.is_recoverable() || self.session.is_none();
                        return Some(Err(error));
                    }
                }
            }
        }
        None
    }
}

/// Returns a record as one that was found.
fn ready(record: Located<Record>) -> Result<Option<Located<Record>>> {
    Ok(Some(record))
}

impl Records<'_> {
    /// Returns the next record of the history that stands in other rollouts.
    fn inherited(&mut self) -> Result<Option<Located<Record>>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let line = self.history.next(self.parts, self.cx.options.max_line)?;
        if std::mem::take(&mut self.history.lost) {
            let found = Diagnostic::new(Code::HistoryMissing, Code::HistoryMissing.title());
            self.cx.report(found.at(session.at));
        }
        let Some(line) = line else { return Ok(None) };
        let mut record = self.state.settle(super::line::read(&line, false));
        session.chain.link(&mut record);
        record.node.set(Field::Synthesized, Json::constant("true"));
        Ok(Some(Located { value: record, at: session.at }))
    }

    /// Returns the record of the next line; `None` at the end.
    fn line(&mut self) -> Result<Option<Located<Record>>> {
        let Some(mut kept) = self.lines.kept()? else { return Ok(None) };
        let (blank, cr) = (kept.line().is_blank(), kept.take_cr());
        let Kept { bytes, mut at, terminated } = kept;
        at.record = self.records;
        let line = Line { bytes: &bytes, at, terminated };
        let had_session = self.session.is_some();
        let mut whole = true;
        let mut record = if blank {
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
        self.unterminated = (!terminated).then_some((at, whole));
        if !had_session && self.session.is_some() {
            self.crlf = cr;
            if let Some(file) = self.cx.file(self.bom, self.crlf, None) {
                record.node.set(Field::File, file);
            }
        } else if terminated && cr != self.crlf {
            let eol = if cr { "\"crlf\"" } else { "\"lf\"" };
            record.node.set(Field::Eol, Json::constant(eol));
        }
        self.records += 1;
        Ok(Some(Located { value: record, at }))
    }

    fn parse(&mut self, line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
        utf8(line)?;
        let value = value(bytes).map_err(|fault| Error::json(fault, line.bytes, line.at))?;
        let object = value.as_bytes().starts_with(b"{");
        let mut record = match &mut self.session {
            None if !object => return Err(no_header(line, NOT_A_HEADER)),
            None => self.header(&value, line)?,
            Some(_) if !object => {
                let found = Diagnostic::new(Code::NotObject, Code::NotObject.title());
                return Err(Error::damaged(found.at(line.at).showing(line.bytes, 0)));
            }
            Some(session) => {
                let mut record = self.state.settle(super::line::read(&value, session.bare));
                session.chain.link(&mut record);
                if record.node.is(Field::Subtype, wire::META) {
                    let message = Code::FurtherHeader.title();
                    self.cx.report(Diagnostic::new(Code::FurtherHeader, message).at(line.at));
                }
                record
            }
        };
        if !self.cx.options.spelling {
            return Ok(record);
        }
        let bare = self.session.as_ref().is_some_and(|session| session.bare);
        self.scratch.clear();
        match record.kind {
            Kind::Session => super::line::write_meta(&record.node, bare, &mut self.scratch),
            _ => drop(super::line::write(&record, bare, &mut self.scratch)),
        }
        if self.scratch != bytes.as_ref() {
            // The line was checked to be UTF-8.
            record.node.set(Field::Raw, Json::string(&String::from_utf8_lossy(bytes)));
        }
        Ok(record)
    }

    fn header(&mut self, value: &Json, line: &Line<'_>) -> Result<Record> {
        let read = super::line::read_meta(value);
        let (mut node, bare) = read.ok_or_else(|| no_header(line, NOT_A_HEADER))?;
        let version = version_of(&node, bare);
        node.set(Field::Source, Json::string(&format!("{NAME}@{version}")));
        self.session = Some(Session { at: line.at, bare, chain: Chain::of(&node, self.cx) });
        let payload = node.json(Field::Extra).and_then(|extra| extra.member("payload"));
        if let Some(meta) = payload.filter(|meta| base::reference(meta).is_some()) {
            self.history.begin(&meta, self.parts, self.cx.options.max_line)?;
        }
        Ok(Record { kind: Kind::Session, node })
    }

    /// Returns the line as it stands in the file: the first line before the header has the byte
    /// order mark.
    fn with_mark(&mut self, bytes: &Bytes) -> Bytes {
        if self.session.is_none() && std::mem::take(&mut self.bom) {
            return [BOM, bytes].concat().into();
        }
        bytes.clone()
    }

    /// Returns the record or the error that is known only at the end.
    fn tail(&mut self) -> Option<Result<Located<Record>>> {
        let Some(session) = &self.session else {
            let found = Diagnostic::new(Code::Empty, Code::Empty.title());
            return Some(Err(Error::unfit(found)));
        };
        let mut record = Record::new(Kind::Session);
        session.chain.leaf().into_iter().for_each(|leaf| record.node.set(Field::Leaf, leaf));
        let mut at = self.lines.position();
        if let Some((begin, whole)) = self.unterminated.take() {
            at = begin;
            if whole {
                let message = Code::NoFinalNewline.title();
                self.cx.report(Diagnostic::new(Code::NoFinalNewline, message).at(at));
            }
            let mut file = Node::default();
            file.set(Field::FinalNewline, Json::constant("false"));
            record.node.set(Field::File, file);
        }
        (!record.node.is_empty()).then_some(Ok(Located { value: record, at }))
    }
}

/// Returns the version of a session by its first line.
#[must_use]
pub fn version_of(session: &Node, bare: bool) -> u32 {
    let payload = session.json(Field::Extra).and_then(|extra| extra.member("payload"));
    let mode = payload.and_then(|payload| payload.member(wire::HISTORY_MODE)?.text());
    match (bare, mode.as_deref()) {
        (true, _) => 1,
        (false, Some(wire::PAGINATED)) => 3,
        _ => 2,
    }
}

/// Checks that a line is one JSON value, and returns the value.
///
/// # Errors
/// If it is not.
pub fn value(bytes: &Bytes) -> std::result::Result<Json, crate::json::Fault> {
    let mut cursor = Cursor::new(bytes);
    let span = cursor.skip_value()?;
    cursor.end()?;
    Ok(Json::checked(bytes.slice(span.start..span.end)))
}
