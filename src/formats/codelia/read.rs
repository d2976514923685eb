//! Reader of a run's file as a stream of records.

mod run_messages;
mod stored;

use super::NAME;
use super::answers::Answers;
use super::history::History;
use super::survey::Survey;
use super::wire::{self, Parsed};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, no_header};
use crate::framing::{FramedLines, Framing, ReadLines, Reading};
use crate::ids::{Maker, hash};
use crate::json::Json;
use crate::lines::utf8;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use std::collections::{HashSet, VecDeque};
use stored::Stores;
pub use stored::{open_whole, stored_of};

/// Fields of a run's header that the session record contains if the run is the first.
pub const SHARED: &[Field] = &[
    Field::Created,
    Field::Cwd,
    Field::Provider,
    Field::Model,
    Field::ThinkingLevel,
    Field::SystemPrompt,
    Field::Tools,
    Field::Client,
    Field::Server,
    Field::Runtime,
];

/// Opens a run for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let place = NamedPart { part: 0, name: parts.names().into_iter().next().unwrap_or_default() };
    let records = Records::over(parts, cx, vec![place], Stores::default(), "run")?;
    Ok(Box::new(Reading::new(records, cx)))
}

/// Part of a session.
#[derive(Clone, Debug)]
struct NamedPart {
    part: u32,
    name: String,
}

struct Records<'a> {
    parts: &'a mut dyn Parts,
    cx: &'a Cx<'a>,
    /// Lines of the run that is read.
    frames: FramedLines,
    part: u32,
    survey: Survey,
    /// Answers of tools in parts, once an output needed them.
    answers: Option<Answers>,
    /// Runs that follow this one, and the places where the state is stored.
    runs: VecDeque<NamedPart>,
    stores: Stores,
    /// Layout that the session record gets; empty for a whole session.
    layout: &'static str,
    /// First header of the session.
    first: Node,
    /// History of the session; `None` before the header.
    history: Option<History>,
    run: Run,
    /// Lines that were read ahead of their turn.
    ahead: VecDeque<Result<Framing>>,
    ready: VecDeque<Located<Record>>,
    /// Identifier of the last message that the reader returned.
    last: Option<Json>,
    number: u64,
}

/// Facts about the run that is read.
#[derive(Debug, Default)]
struct Run {
    id: Option<Json>,
    session: Option<Json>,
    /// Requests so far, by the hashes of their numbers: a value itself would keep its whole line in
    /// memory.
    requests: HashSet<u64>,
    /// Calls of tools so far, by the hashes of their identifiers.
    calls: HashSet<u64>,
    /// Last number of an event.
    event: Option<f64>,
    /// Whether the last message is an answer that calls no tool.
    answered: bool,
    ended: bool,
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let more = match self.step() {
            Ok(false) => self.next_run(),
            step => step,
        };
        ready.append(&mut self.ready);
        more
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        let ended = self.end();
        ready.append(&mut self.ready);
        ended
    }

    fn has_begun(&self) -> bool {
        self.history.is_some()
    }
}

impl<'a> Records<'a> {
    fn over(
        parts: &'a mut dyn Parts,
        cx: &'a Cx<'a>,
        runs: Vec<NamedPart>,
        stores: Stores,
        layout: &'static str,
    ) -> Result<Self> {
        parts.keep()?;
        let mut runs = VecDeque::from(runs);
        let first = runs.pop_front();
        let (survey, frames) = match &first {
            Some(first) => opened(parts, cx, first)?,
            None => (Survey::default(), FramedLines::over(Box::new(std::io::empty()), 0)?),
        };
        Ok(Self {
            parts,
            cx,
            frames,
            part: first.map_or(0, |first| first.part),
            survey,
            answers: None,
            runs,
            stores,
            layout,
            first: Node::default(),
            history: None,
            run: Run::default(),
            ahead: VecDeque::new(),
            ready: VecDeque::new(),
            last: None,
            number: 0,
        })
    }
}

/// Opens a run after its first reading.
fn opened(parts: &mut dyn Parts, cx: &Cx<'_>, place: &NamedPart) -> Result<(Survey, FramedLines)> {
    let survey = Survey::of(&mut || parts.open(&place.name), cx.options.max_line)?;
    let frames = FramedLines::over(parts.open(&place.name)?, cx.options.max_line)?;
    Ok((survey, frames.of_part(place.part)))
}

impl Records<'_> {
    /// Reads the next line; false at the end.
    fn step(&mut self) -> Result<bool> {
        let frame = match self.ahead.pop_front() {
            Some(frame) => frame?,
            None => match self.frames.next()? {
                Some(frame) => frame,
                None => return Ok(false),
            },
        };
        let at = Position { part: self.part, record: self.number, ..frame.at };
        if frame.blank && self.history.is_some() {
            self.put(Record::of_line(&frame.bytes), at, &frame);
            return Ok(true);
        }
        match self.parse(&frame) {
            Ok(parsed) => {
                self.number += 1;
                self.line(parsed, &frame, at)?;
            }
            Err(error) if self.history.is_none() => return Err(error),
            Err(error) => {
                let kept = self.frames.damaged(&frame, error, self.cx)?;
                self.put(kept, at, &frame);
            }
        }
        Ok(true)
    }

    fn parse(&self, frame: &Framing) -> Result<Parsed> {
        let line = frame.line();
        if self.history.is_none() && frame.blank {
            return Err(no_header(&line, NOT_A_HEADER));
        }
        utf8(&line)?;
        let fault = |fault| Error::json(fault, line.bytes, line.at);
        let parsed = wire::read(&frame.bytes).map_err(fault)?;
        if self.history.is_none() && !parsed.is("header") {
            return Err(no_header(&line, NOT_A_HEADER));
        }
        if parsed.of.is_none() && frame.bytes.trim_ascii_start().first() != Some(&b'{') {
            let found = Diagnostic::of(Code::NotObject);
            let error = Error::damaged(found.at(line.at).showing(line.bytes, 0));
            if !self.cx.keeps(&error) {
                return Err(error);
            }
            self.cx.report(error.into_diagnostic());
        }
        Ok(parsed)
    }

    /// Converts a line to records.
    fn line(&mut self, parsed: Parsed, frame: &Framing, at: Position) -> Result<()> {
        let Parsed { mut record, of, apart } = parsed;
        let messages = apart.map(|span| Json::trusted(frame.bytes.slice(span.start..span.end)));
        let Some(wire) = of.map(|of| of.wire) else {
            self.put(record, at, frame);
            return Ok(());
        };
        if wire == "header" {
            self.header(record, frame, at);
            return Ok(());
        }
        self.check(wire, &record.node, at);
        self.strip(wire, &mut record.node);
        if wire == "tool.output" {
            self.follow(&mut record.node, at)?;
        }
        let (before, behind) = match wire {
            "run.start" => self.start(&mut record.node, messages),
            "llm.request" => (self.request(&mut record.node, messages), Vec::new()),
            "llm.response" => (Vec::new(), self.response(&mut record.node, messages)),
            "tool.output" => (Vec::new(), self.output(&mut record.node, at)),
            "agent.event" | "run.end" => (self.last_answer(&record.node), Vec::new()),
            _ => (Vec::new(), Vec::new()),
        };
        // Only the message's own record contains the time of a message.
        let time = record.node.json(Field::Time).cloned().filter(|_| !behind.is_empty());
        if time.is_some() {
            record.node.take(Field::Time);
        }
        before.into_iter().for_each(|message| self.message(message, at));
        self.put(record, at, frame);
        for mut message in behind {
            message.node.put(Field::Time, time.clone());
            self.message(message, at);
        }
        Ok(())
    }

    fn put(&mut self, mut value: Record, at: Position, frame: &Framing) {
        if value.kind == Kind::Opaque && value.node.json(Field::Data).is_some() {
            // Code that looks for the end of the conversation must not take this record for it.
            self.last = None;
        }
        self.frames.note(frame, &mut value, false, self.cx);
        self.ready.push_back(Located { value, at });
    }

    fn message(&mut self, value: Record, at: Position) {
        self.last = value.node.json(Field::Id).cloned();
        self.run.answered = run_messages::is_answer(&value);
        self.ready.push_back(Located { value, at });
    }

    fn header(&mut self, mut run: Record, frame: &Framing, at: Position) {
        let node = &mut run.node;
        let schema = node.json(Field::Extra).and_then(|extra| extra.member("schema_version"));
        if let Some(version) = schema {
            let message = format!("schema_version {version:?} is not 1");
            self.cx.report(Diagnostic::new(Code::NewerVersion, message).at(at));
        }
        self.run = Run {
            id: node.json(Field::Run).cloned(),
            session: node.json(Field::Session).cloned(),
            ..Run::default()
        };
        if let Some(history) = &mut self.history {
            history.begin(node);
            History::header(node, &self.first);
            if at.line > 1 {
                let message = Code::FurtherHeader.title();
                self.cx.report(Diagnostic::new(Code::FurtherHeader, message).at(at));
                self.put(run, at, frame);
                return;
            }
            let mut session = Record::new(Kind::Session);
            self.frames.note(frame, &mut session, true, self.cx);
            if !session.node.is_empty() {
                self.ready.push_back(Located { value: session, at });
            }
            self.ready.push_back(Located { value: run, at });
            return;
        }
        self.first = node.clone();
        let own = self.run.session.as_ref().or(self.run.id.as_ref());
        let key = own.map_or(&b""[..], Json::as_bytes);
        let mut history = History::new(Maker::new(self.cx.options.ids, key));
        history.begin(node);
        self.history = Some(history);
        let mut session = Record::new(Kind::Session);
        let source = format!("{NAME}@{}", self.stores.version());
        session.node.set(Field::Source, Json::string(&source));
        if !self.layout.is_empty() {
            session.node.set(Field::Layout, Json::string(self.layout));
        }
        session.node.put(Field::Id, own.cloned());
        if node.take(Field::Session).is_none() {
            session.node.set(Field::IdMade, Json::constant("true"));
        }
        for &field in SHARED {
            session.node.put(field, node.take(field));
        }
        self.frames.note(frame, &mut session, true, self.cx);
        self.ready.push_back(Located { value: session, at });
        self.ready.push_back(Located { value: run, at });
    }

    /// Removes the members that every line of a run repeats.
    fn strip(&self, wire: &str, node: &mut Node) {
        let mut same = vec![(Field::Run, &self.run.id)];
        if wire == "run.start" {
            same.push((Field::Session, &self.run.session));
        }
        for (field, known) in same {
            if node.json(field).is_some() && node.json(field) == known.as_ref() {
                node.take(field);
            }
        }
    }

    /// Checks a line against the lines before it.
    fn check(&mut self, wire: &str, node: &Node, at: Position) {
        let seq = node.json(Field::Seq);
        match wire {
            "llm.request" => self.run.requests.extend(seq.map(key)),
            // A run that was made from another format's session contains no requests.
            "llm.response"
                if !self.run.requests.is_empty()
                    && seq.is_some_and(|seq| !self.run.requests.contains(&key(seq))) =>
            {
                self.unpaired("the response answers no request of this run", at);
            }
            "agent.event" => {
                let number = seq.and_then(Json::float);
                if number <= self.run.event && number.is_some() {
                    let message = Code::EventOrder.title();
                    self.cx.report(Diagnostic::new(Code::EventOrder, message).at(at));
                }
                self.run.event = number.or(self.run.event);
            }
            "run.end" => self.run.ended = true,
            _ => {}
        }
    }

    fn unpaired(&self, message: &str, at: Position) {
        self.cx.report(Diagnostic::new(Code::Unpaired, message).at(at));
    }

    /// Ends a run and begins the next one; false if there is none.
    fn next_run(&mut self) -> Result<bool> {
        if self.history.is_none() {
            return Ok(false);
        }
        if !self.run.ended {
            let at = self.position();
            self.cx.report_at(Code::NoRunEnd, at);
        }
        self.ready.extend(self.frames.tail(self.cx));
        let Some(next) = self.runs.pop_front() else { return Ok(false) };
        (self.survey, self.frames) = opened(self.parts, self.cx, &next)?;
        self.part = next.part;
        self.run = Run { ended: true, ..Run::default() };
        Ok(true)
    }

    fn position(&self) -> Position {
        Position { part: self.part, ..self.frames.position() }
    }

    /// Reads the state after the last run.
    fn end(&mut self) -> Result<()> {
        if self.history.is_none() {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        }
        let at = self.position();
        self.stored()?;
        let last = self.history.as_ref().and_then(History::last);
        if let Some(leaf) = last.filter(|leaf| self.last.as_ref() != Some(leaf)) {
            let session = Record::new(Kind::Session).with(Field::Leaf, leaf);
            self.ready.push_back(Located { value: session, at });
        }
        Ok(())
    }
}

/// Message for a first line that is not a header.
const NOT_A_HEADER: &str = "first line is not the header of a run";

/// Key of a value that is only looked up.
fn key(value: &Json) -> u64 {
    hash(value.as_bytes())
}
