//! Reader of a transcript as a stream of records.

use super::about::About;
use super::kept::Kept;
use super::lineage::Lineage;
use super::{NAME, line};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::{FramedLines, Framing};
use crate::json::Json;
use crate::lines::{empty, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use std::collections::VecDeque;
use std::io::Read;

/// Opens a session for reading.
///
/// # Errors
/// If the part cannot be read.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let kept = Kept::of(parts, cx.options.max_line)?;
    let mut head = Vec::new();
    let read = parts.main()?.take(About::HEAD).read_to_end(&mut head);
    read.map_err(|error| Error::io("cannot read", error))?;
    let about = About::of(&head);
    let lines = FramedLines::over(parts.main()?, cx.options.max_line)?;
    let lineage = Lineage::of(about.agent, kept);
    Ok(Box::new(Records {
        lines,
        cx,
        about,
        lineage,
        title: Title::default(),
        ready: VecDeque::new(),
        records: 0,
        done: false,
        scratch: Vec::new(),
    }))
}

struct Records<'a> {
    lines: FramedLines,
    cx: &'a Cx<'a>,
    about: About,
    lineage: Lineage,
    title: Title,
    /// Records that were read and not yet returned.
    ready: VecDeque<Located<Record>>,
    records: u64,
    done: bool,
    scratch: Vec<u8>,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            if self.done {
                return None;
            }
            match self.line() {
                Ok(true) => {}
                Ok(false) => {
                    self.done = true;
                    if self.records == 0 {
                        let found = Diagnostic::new(Code::Empty, Code::Empty.title());
                        return Some(Err(Error::unfit(found)));
                    }
                    self.tail();
                }
                Err(error) => {
                    if let Err(error) = self.cx.tolerate(error) {
                        self.done = !error.is_recoverable();
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}

impl Records<'_> {
    /// Queues the records of the next line; false at the end.
    fn line(&mut self) -> Result<bool> {
        let Some(frame) = self.lines.next()? else { return Ok(false) };
        if self.records == 0 {
            let mut session = Record { kind: Kind::Session, node: self.about.session(NAME) };
            self.lines.note(&frame, &mut session, true, self.cx);
            self.push(session, frame.at);
        }
        let mut records = match self.parse(&frame) {
            Ok(records) => records,
            Err(error) => vec![self.lines.damaged(&frame, error, self.cx)?],
        };
        self.lineage.link(&mut records);
        records.first_mut().into_iter().for_each(|first| {
            self.title.note(&first.node);
            self.lines.note(&frame, first, false, self.cx);
        });
        records.into_iter().for_each(|record| self.push(record, frame.at));
        Ok(true)
    }

    fn push(&mut self, value: Record, at: Position) {
        let at = Position { record: self.records, ..at };
        self.records += 1;
        self.ready.push_back(Located { value, at });
    }

    fn parse(&mut self, frame: &Framing) -> Result<Vec<Record>> {
        let line = frame.line();
        if frame.blank {
            return Ok(vec![Record::of_line(&frame.bytes)]);
        }
        utf8(&line)?;
        let read = line::read(&frame.bytes);
        let mut records = read.map_err(|fault| Error::json(fault, &frame.bytes, frame.at))?;
        if frame.bytes.trim_ascii_start().first() != Some(&b'{') {
            let found = Diagnostic::new(Code::NotObject, Code::NotObject.title());
            return Err(Error::damaged(found.at(frame.at).showing(&frame.bytes, 0)));
        }
        if self.cx.options.spelling {
            line::write(&records, &mut self.scratch);
            if let Some(first) = records.first_mut().filter(|_| self.scratch != frame.bytes) {
                let text = String::from_utf8_lossy(&frame.bytes);
                first.node.set(Field::Raw, Json::string(&text));
            }
            empty(&mut self.scratch);
        }
        Ok(records)
    }

    /// Queues the record of the facts that are known only at the end.
    fn tail(&mut self) {
        let tail = self.lines.tail(self.cx);
        let at = tail.as_ref().map_or(self.lines.position(), |tail| tail.at);
        let mut node = tail.map(|tail| tail.value.node).unwrap_or_default();
        if let Some(leaf) = self.lineage.leaf() {
            node.set(Field::Leaf, leaf.clone());
        }
        if let Some(title) = self.title.of(&self.lineage) {
            node.set(Field::Name, title);
        }
        if !node.is_empty() {
            self.push(Record { kind: Kind::Session, node }, at);
        }
    }
}

/// Title of the session: the last that the user gave, else the last that a model gave.
#[derive(Default)]
struct Title {
    custom: Option<Json>,
    made: Option<Json>,
    /// Summaries of releases before 2.1, each with the line of the session that it is about.
    summaries: Vec<(Json, Json)>,
}

/// Maximum number of summaries that are kept.
const SUMMARIES: usize = 256;

impl Title {
    fn note(&mut self, node: &Node) {
        let Some(data) = node.json(Field::Data) else { return };
        let text = |name| data.member(name).filter(|text| text.text().is_some());
        if node.is(Field::Type, "custom-title") {
            self.custom = text("customTitle").or(self.custom.take());
        } else if node.is(Field::Type, "ai-title") {
            self.made = text("aiTitle").or(self.made.take());
        } else if node.is(Field::Type, "summary") && self.summaries.len() < SUMMARIES {
            self.summaries.extend(text("summary").zip(text("leafUuid")));
        }
    }

    fn of(&mut self, lineage: &Lineage) -> Option<Json> {
        let about = |(_, leaf): &&(Json, Json)| lineage.knows(leaf);
        let summary = || self.summaries.iter().rev().find(about).map(|(title, _)| title.clone());
        self.custom.take().or(self.made.take()).or_else(summary)
    }
}
