//! Reader of a transcript as a stream of records.

use super::files::{self, Part};
use super::lineage::Lineage;
use super::older::Older;
use super::opening::Opening;
use super::preserved::object;
use super::space::Space;
use super::wire;
use super::{NAME, line};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::{FramedLines, Framing, ParsedLines, ReadLines, Reading};
use crate::json::Json;
use crate::lines::utf8;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

/// Opens a session for reading.
///
/// # Errors
/// If a part cannot be read.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let opening = Opening::of(parts, cx.options.max_line, &cx.options.thread_budget)?;
    let lines = lines(parts.main()?, 0, cx)?;
    let records = Records {
        lines,
        cx,
        files: files::parts(parts, opening.older.as_ref())?,
        parts,
        part: None,
        waiting: None,
        lineage: Lineage::of(opening.about.agent, Arc::clone(&opening.chain)),
        space: Space::beside(opening.ids.clone()),
        opening,
        releases: Vec::new(),
        title: Title::default(),
        ready: VecDeque::new(),
        records: 0,
    };
    Ok(Box::new(Reading::new(records, cx)))
}

/// Opens the lines of the part of this number.
fn lines(part: Box<dyn Read>, number: u32, cx: &Cx<'_>) -> Result<Lines> {
    let lines = FramedLines::over(part, cx.options.max_line)?.of_part(number);
    Ok(ParsedLines::of(lines, parse, &cx.options.thread_budget))
}

/// Lines with their records.
type Lines = ParsedLines<Result<Vec<Record>>>;

struct Records<'a> {
    lines: Lines,
    cx: &'a Cx<'a>,
    opening: Rc<Opening>,
    parts: &'a mut dyn Parts,
    /// Parts that were not read yet, and the one that is read now; `None` for the main part.
    files: VecDeque<Part>,
    part: Option<Part>,
    /// Line of the main part before which the lines of a sub-agent are read.
    waiting: Option<Waiting>,
    lineage: Lineage,
    /// Identifiers in the files of sub-agents.
    space: Space,
    /// Releases that wrote the lines of the main part.
    releases: Vec<Json>,
    title: Title,
    /// Records of the line that is read.
    ready: VecDeque<Located<Record>>,
    records: u64,
}

/// Line with the result of a sub-agent's call, and the lines behind it.
struct Waiting {
    lines: Lines,
    records: Vec<Record>,
    frame: Framing,
}

/// Whether a record contains the result of a call.
fn answers(record: &Record, call: &Json) -> bool {
    let blocks = record.node.content();
    blocks.iter().any(|block| block.json(Field::Call) == Some(call))
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let more = self.next_line();
        ready.append(&mut self.ready);
        more
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        if self.records == 0 {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        }
        self.last();
        ready.append(&mut self.ready);
        Ok(())
    }
}

impl Records<'_> {
    /// Queues the records of the next line; false at the end.
    fn next_line(&mut self) -> Result<bool> {
        let Some((frame, parsed)) = self.lines.next()? else { return self.next_part() };
        if self.records == 0 {
            let name = format!("{NAME}@{}", self.opening.version);
            let mut session =
                Record { kind: Kind::Session, node: self.opening.about.session(&name) };
            self.lines.frames.note(&frame, &mut session, true, self.cx);
            if self.opening.older.as_ref().is_some_and(Older::is_undated) {
                let mut file = session.node.node(Field::File).cloned().unwrap_or_default();
                file.set(Field::Style, Json::constant(UNDATED));
                session.node.set(Field::File, file);
            }
            self.push(session, frame.at);
        }
        let records = match parsed {
            Ok(records) => records,
            Err(error) => vec![self.lines.frames.damaged(&frame, error, self.cx)?],
        };
        self.take(records, frame)
    }

    /// Queues the records of a line. The lines of a sub-agent come before the result of its call,
    /// as releases 1.x write them.
    fn take(&mut self, mut records: Vec<Record>, frame: Framing) -> Result<bool> {
        match &self.part {
            Some(part) => {
                if self.space.has(&records) {
                    records = vec![Record::of_line(&frame.bytes)];
                }
                self.space.link(&mut records, &part.name);
                records
                    .iter_mut()
                    .for_each(|record| files::mark(&mut record.node, record.kind, part));
            }
            None => {
                let answered = |part: &Part| {
                    part.call.as_ref().is_some_and(|call| records.iter().any(|r| answers(r, call)))
                };
                if let Some(place) = self.files.iter().position(answered)
                    && let Some(part) = self.files.remove(place)
                {
                    let lines = self.begin(part)?;
                    self.waiting = Some(Waiting { lines, records, frame });
                    return Ok(true);
                }
                self.note_release(&frame.bytes);
                if self.lineage.is_copy(&records) {
                    self.lineage.skip();
                    records = vec![Record::of_line(&frame.bytes)];
                }
                self.lineage.link(&mut records);
                records.first().into_iter().for_each(|first| self.title.note(&first.node));
            }
        }
        records.first_mut().into_iter().for_each(|first| {
            if let Some(older) = &self.opening.older {
                mark_title(&mut first.node, older);
            }
            self.lines.frames.note(&frame, first, false, self.cx);
        });
        records.into_iter().for_each(|record| self.push(record, frame.at));
        Ok(true)
    }

    /// Begins the next part; false if there is none.
    fn next_part(&mut self) -> Result<bool> {
        if self.records == 0 && !self.files.is_empty() {
            // Of the transcript itself nothing is left.
            let node = self.opening.about.session(&format!("{NAME}@{}", self.opening.version));
            self.push(Record { kind: Kind::Session, node }, Position::default());
        }
        if let Some(Waiting { lines, records, frame }) = self.waiting.take() {
            if let Some(tail) = self.lines.frames.tail(self.cx) {
                self.push(tail.value, tail.at);
            }
            self.lines = lines;
            if let Some(part) = self.part.take() {
                self.push(part.end(), frame.at);
            }
            return self.take(records, frame);
        }
        let Some(part) = self.files.pop_front() else { return Ok(false) };
        if let Some(tail) = self.lines.frames.tail(self.cx) {
            self.push(tail.value, tail.at);
        }
        self.lineage.leave();
        self.begin(part).map(|_| true)
    }

    /// Begins a part. Returns the lines that were read before.
    fn begin(&mut self, part: Part) -> Result<Lines> {
        let at = Position { part: part.number, ..Position::default() };
        let mut file = self.parts.open(&part.name)?;
        let is_lines = files::is_lines(&part.name);
        // Nothing of a text is left to be read as lines.
        let text = if is_lines { None } else { Some(files::read(&mut *file)?) };
        let next = lines(file, part.number, self.cx)?;
        let before = std::mem::replace(&mut self.lines, next);
        self.push(part.begin(is_lines && self.lines.frames.bom, text.as_deref()), at);
        self.part = Some(part);
        self.space.begin();
        Ok(before)
    }

    /// Notes the release that wrote a line.
    fn note_release(&mut self, line: &[u8]) {
        let same = self.releases.last().is_some_and(|last| {
            memchr::memmem::find(line, &[b"\"version\":", last.as_bytes()].concat()).is_some()
        });
        let release = || object(line)?.member("version").filter(|version| version.text().is_some());
        if !same
            && self.releases.len() < RELEASES
            && let Some(release) = release().filter(|release| !self.releases.contains(release))
        {
            self.releases.push(release);
        }
    }

    fn push(&mut self, value: Record, at: Position) {
        let at = Position { record: self.records, ..at };
        self.records += 1;
        self.ready.push_back(Located { value, at });
    }

    /// Queues the record of the facts that are known only at the end.
    fn last(&mut self) {
        let tail = self.lines.frames.tail(self.cx);
        let at = tail.as_ref().map_or(self.lines.frames.position(), |tail| tail.at);
        let mut node = tail.map(|tail| tail.value.node).unwrap_or_default();
        if self.lineage.has_no_conversation() {
            let code = Code::NoConversation;
            self.cx.report(Diagnostic::of(code));
        }
        node.put(Field::Leaf, self.lineage.leaf().cloned());
        node.put(Field::Name, self.title.of(&self.lineage));
        if self.releases.len() > 1 {
            node.set(Field::Client, self.opening.about.client(&self.releases));
        }
        if !node.is_empty() {
            self.push(Record { kind: Kind::Session, node }, at);
        }
    }
}

/// Reads a line by itself.
fn parse(frame: &Framing) -> Result<Vec<Record>> {
    let line = frame.line();
    if frame.blank {
        return Ok(vec![Record::of_line(&frame.bytes)]);
    }
    utf8(&line)?;
    let read = line::read(&frame.bytes);
    let records = read.map_err(|fault| Error::json(fault, &frame.bytes, frame.at))?;
    if frame.bytes.trim_ascii_start().first() != Some(&b'{') {
        let found = Diagnostic::of(Code::NotObject);
        return Err(Error::damaged(found.at(frame.at).showing(&frame.bytes, 0)));
    }
    Ok(records)
}

/// Style of a file whose messages need other times, so that every release continues at the last.
pub const UNDATED: &str = "\"undated\"";

/// Layout of a summary that is the title of its own session.
pub const TITLE: &str = "\"title\"";

/// Marks a summary that is the title of its session.
fn mark_title(node: &mut Node, older: &Older) {
    let leaf = || node.json(Field::Data).and_then(|data| data.member("leafUuid"));
    if node.is(Field::Type, "summary") && leaf().is_some_and(|leaf| older.is_title(&leaf)) {
        node.set(Field::Layout, Json::constant(TITLE));
    }
}

/// Maximum number of releases that are listed.
const RELEASES: usize = 64;

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
        if node.is(Field::Type, wire::CUSTOM_TITLE) {
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
