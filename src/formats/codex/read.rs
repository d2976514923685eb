//! Reader of a rollout as a stream of records.

use super::base::{self, History};
use super::chain::Chain;
use super::twin::{self, Speaker};
use super::{NAME, line, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header};
use crate::framing::{FramedLines, Framing, ParsedLines, ReadLines, Reading};
use crate::json::Json;
use crate::lines::{Line, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use std::collections::VecDeque;

/// Opens a session for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let lines = FramedLines::over(parts.main()?, cx.options.max_line)?;
    let lines = ParsedLines::of(lines, Parsed::of, &cx.options.thread_budget);
    let (history, state) = (History::default(), State::default());
    let session = None;
    let records = Records { lines, parts, history, cx, state, session, records: 0 };
    Ok(Box::new(Reading::new(records, cx)))
}

/// Message about a first record that is not a header.
pub const NOT_A_HEADER: &str = "the first record is not a session_meta with a string `id`";

/// Text and model of the lines read so far, on which the meaning of a line depends.
#[derive(Debug, Default)]
pub struct State {
    model: Option<Json>,
    last_texts: [Option<Json>; 3],
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
                    .map(|m| Json::trusted(m.as_bytes().to_vec().into()));
                if model == self.model {
                    return line::repeated(record);
                }
                self.model = model;
            }
            Kind::Message => {
                if let Some((speaker, text)) = twin::of_message(&record.node) {
                    *self.last_text_of(speaker) = Some(text);
                }
            }
            Kind::Event => {
                let payload = record.node.json(Field::Data).and_then(twin::of_event);
                let Some((speaker, text)) = payload else { return record };
                let item = self.last_text_of(speaker).take();
                if item.is_some_and(|item| item == text || item.text() == text.text()) {
                    record.node.set(Field::Derived, Json::constant("true"));
                }
            }
            _ => {}
        }
        record
    }

    fn last_text_of(&mut self, speaker: Speaker) -> &mut Option<Json> {
        let [user, agent, thought] = &mut self.last_texts;
        match speaker {
            Speaker::User => user,
            Speaker::Agent => agent,
            Speaker::Thought => thought,
        }
    }
}

/// A line by itself.
struct Parsed {
    value: Json,
    /// Its record, if it is an object with a payload.
    record: Option<Record>,
}

impl Parsed {
    /// Reads a line; `None` if it is blank.
    fn of(frame: &Framing) -> Result<Option<Self>> {
        if frame.blank {
            return Ok(None);
        }
        utf8(&frame.line())?;
        let value = Json::read(&frame.bytes);
        let value = value.map_err(|fault| Error::json(fault, &frame.bytes, frame.at))?;
        let is_object = value.is_object();
        let record = is_object.then(|| super::line::read(&value, false));
        Ok(Some(Self { value, record }))
    }
}

struct Records<'a> {
    lines: ParsedLines<Result<Option<Parsed>>>,
    /// The session's parts, among which other rollouts are looked for.
    parts: &'a mut dyn Parts,
    history: History,
    cx: &'a Cx<'a>,
    state: State,
    session: Option<Session>,
    records: u64,
}

struct Session {
    /// Place of the first line.
    at: Position,
    id: Option<Json>,
    bare: bool,
    chain: Chain,
    /// The number of the last line.
    number: Option<f64>,
}

impl Session {
    /// Looks at the number of a line, and returns whether numbers before it are missing.
    fn misses(&mut self, line: &Json) -> bool {
        let number = line.member("ordinal").and_then(|number| number.float());
        let before = self.number;
        self.number = number.or(before);
        number.zip(before).is_some_and(|(number, before)| number > before + 1.0)
    }
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        if let Some(inherited) = self.inherited()? {
            ready.push_back(inherited);
            return Ok(true);
        }
        let Some((frame, parsed)) = self.lines.next()? else { return Ok(false) };
        let at = Position { record: self.records, ..frame.at };
        let had_session = self.has_begun();
        let line = Line { at, ..frame.line() };
        let read = parsed.and_then(|parsed| parsed.map(|it| self.record(&line, it)).transpose());
        let mut value = match read {
            Ok(Some(record)) => record,
            Ok(None) => self.lines.frames.record_of_line(&frame),
            Err(error) => self.lines.frames.damaged(&frame, error, self.cx)?,
        };
        self.lines.frames.note(&frame, &mut value, !had_session && self.has_begun(), self.cx);
        self.records += 1;
        ready.push_back(Located { value, at });
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        let Some(session) = &self.session else {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        };
        let tail = self.lines.frames.tail(self.cx);
        let at = tail.as_ref().map_or(self.lines.frames.position(), |tail| tail.at);
        let mut value = tail.map_or_else(|| Record::new(Kind::Session), |tail| tail.value);
        value.node.put(Field::Leaf, session.chain.leaf());
        if !value.node.is_empty() {
            ready.push_back(Located { value, at });
        }
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.session.is_some()
    }
}

impl Records<'_> {
    /// Returns the next record of the history in other rollouts.
    fn inherited(&mut self) -> Result<Option<Located<Record>>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let line = self.history.next(self.parts, self.cx.options.max_line)?;
        if std::mem::take(&mut self.history.lost) {
            let found = Diagnostic::of(Code::HistoryMissing);
            self.cx.report(found.at(session.at));
        }
        let Some(line) = line else { return Ok(None) };
        let mut record = self.state.settle(super::line::read(&line, false));
        session.chain.link(&mut record);
        record.node.set(Field::Synthesized, Json::constant("true"));
        Ok(Some(Located { value: record, at: session.at }))
    }

    /// Returns the record of a line in its place.
    fn record(&mut self, line: &Line<'_>, Parsed { value, record }: Parsed) -> Result<Record> {
        let record = match (&mut self.session, record) {
            (None, None) => return Err(no_header(line, NOT_A_HEADER)),
            (None, Some(_)) => self.header(&value, line)?,
            (Some(_), None) => {
                let found = Diagnostic::of(Code::NotObject);
                return Err(Error::damaged(found.at(line.at).showing(line.bytes, 0)));
            }
            (Some(session), Some(record)) => {
                let bare = || super::line::read(&value, true);
                let mut record = self.state.settle(if session.bare { bare() } else { record });
                session.chain.link(&mut record);
                if session.misses(&value) {
                    self.cx.report_at(Code::NumbersMissing, line.at);
                }
                // Codex writes the line again each time it resumes the session.
                let id = |meta: Json| meta.member("payload").unwrap_or(meta).member("id");
                if record.node.is(Field::Subtype, wire::META) && id(value) != session.id {
                    let message = Code::FurtherHeader.title();
                    self.cx.report(Diagnostic::new(Code::FurtherHeader, message).at(line.at));
                }
                record
            }
        };
        Ok(record)
    }

    fn header(&mut self, value: &Json, line: &Line<'_>) -> Result<Record> {
        let read = super::line::read_meta(value);
        let (mut node, bare) = read.ok_or_else(|| no_meta(value, line))?;
        let version = version_of(&node, bare);
        node.set(Field::Source, Json::string(&format!("{NAME}@{version}")));
        let (id, chain) = (node.json(Field::Id).cloned(), Chain::of(&node, self.cx));
        let number = value.member("ordinal").and_then(|number| number.float());
        self.session = Some(Session { at: line.at, id, bare, chain, number });
        let payload = node.json(Field::Extra).and_then(|extra| extra.member("payload"));
        if let Some(meta) = payload.filter(|meta| base::reference(meta).is_some()) {
            self.history.begin(&meta, self.parts, self.cx.options.max_line)?;
        }
        Ok(Record { kind: Kind::Session, node })
    }
}

/// Returns why the first line does not begin a rollout.
fn no_meta(value: &Json, line: &Line<'_>) -> Error {
    match super::line::dated(value) {
        Some((dated, _)) if super::line::read_meta(&dated).is_some() => {
            let message = "the time of the first record is a number, not a text";
            let found = Diagnostic::new(Code::TimeNumber, message);
            Error::unfit(found.at(line.at).showing(line.bytes, 0))
        }
        _ => no_header(line, NOT_A_HEADER),
    }
}

/// Returns the version of a session by its first line.
pub fn version_of(session: &Node, bare: bool) -> u32 {
    let payload = session.json(Field::Extra).and_then(|extra| extra.member("payload"));
    let mode = payload.and_then(|payload| payload.member(wire::HISTORY_MODE)?.text());
    match (bare, mode.as_deref()) {
        (true, _) => 1,
        (false, Some(wire::PAGINATED)) => 3,
        _ => 2,
    }
}
