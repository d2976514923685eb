//! State of a session in one file, which the agent loads when it resumes the session.

use super::NAME;
use super::history::{History, record_of};
use super::made::{EPOCH, is_uuid, uuid};
use super::message;
use super::resolve::Sources;
use super::wire::{joined, members};
use crate::diagnostic::{Code, Diagnostic, FieldOutcome, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Piece, Reader, Sink, Writer, no_session};
use crate::framing::Pen;
use crate::ids::Maker;
use crate::json::{Cursor, EscapeStyle, Fault, Flow, Json, text};
use crate::lines::{BOM, Line, utf8};
use crate::mapping::{Object, Row, Source, apart, fixed, row};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::{self, Read};
use std::ops::ControlFlow;

const ROWS: &[Row] = &[
    fixed("schema_version", "1"),
    row("session_id", Field::Session),
    row("updated_at", Field::Updated),
    row("run_id", Field::Run),
    row("invoke_seq", Field::Seq),
    apart("messages"),
    row("meta", Field::Meta),
];

/// Whether the beginning of a file is that of a state.
pub fn is_state(head: &[u8]) -> bool {
    let text = Bytes::copy_from_slice(head);
    let source = Source::new(&text);
    // The messages may reach beyond the head, so the members before them must identify a state.
    let has = |name| source.peek(name).ok().flatten().is_some_and(|value| value.text().is_some());
    has("session_id") && has("updated_at") && source.peek("type").ok().flatten().is_none()
}

/// Part that is read as a whole.
#[derive(Debug)]
pub struct State {
    /// Properties of the file: byte order mark and final newline.
    pub file: Option<Node>,
    /// Text without the byte order mark and the last line ending.
    pub text: Bytes,
}

impl State {
    /// Whether the text begins with a byte order mark.
    pub fn is_marked(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.get(Field::Bom).is_some())
    }
}

/// Reads the text of a part.
pub fn text_of(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<State> {
    let (mut text, limit) = (Vec::new(), cx.options.max_line as u64);
    let read = part.take(limit.saturating_add(1)).read_to_end(&mut text);
    if read.map_err(|error| Error::io("cannot read", error))? as u64 > limit {
        let message = format!("state of more than {limit} bytes, the limit");
        return Err(Error::unfit(Diagnostic::new(Code::LineTooLong, message)));
    }
    let bom = text.starts_with(BOM);
    let mut text = Bytes::from(text).slice(if bom { BOM.len() } else { 0 }..);
    let mut file = cx.file(bom, false, None);
    if text.ends_with(b"\n") {
        text.truncate(text.len() - 1);
    } else if !text.is_empty() {
        let node = file.get_or_insert_default();
        node.set(Field::FinalNewline, Json::constant("false"));
    }
    Ok(State { file, text })
}

/// Parsed state.
struct Parsed {
    snapshot: Record,
    messages: Vec<Json>,
}

fn has_lines(text: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', text).is_some()
}

/// Returns JSON without the line breaks that users and other programs lay it out with, for values
/// in records contain none.
fn on_one_line(text: &Bytes) -> Bytes {
    if !has_lines(text) {
        return text.clone();
    }
    let mut line = Vec::with_capacity(text.len());
    EscapeStyle::SCRIPT.spell(text, &mut line);
    line.into()
}

fn parse(text: &Bytes) -> Result<Option<Parsed>, Fault> {
    if has_lines(text) {
        let mut whole = Cursor::new(text);
        whole.skip_value()?;
        whole.end()?;
    }
    let line = on_one_line(text);
    let mut source = Source::new(&line);
    let mut snapshot = Record::new(Kind::Snapshot);
    source.unique = true;
    source.object(ROWS, None, &mut snapshot.node)?;
    source.cursor.end()?;
    let list = match has_lines(text) {
        true => Source::new(text).peek("messages")?,
        false => source.apart.map(|span| source.json(span)),
    };
    let on_one_line = |message: &Json| Json::checked(on_one_line(message.bytes()));
    let messages = list.as_ref().and_then(message::each);
    let messages = messages.map(|messages| messages.iter().map(on_one_line).collect());
    let whole = !source.ambiguous && snapshot.node.json(Field::Session).is_some();
    Ok(messages.filter(|_| whole).map(|messages| Parsed { snapshot, messages }))
}

/// Whether a text is a state that can be read.
pub fn is_read(text: &Bytes) -> bool {
    simdutf8::basic::from_utf8(text).is_ok() && parse(text).is_ok_and(|state| state.is_some())
}

/// State that was read.
#[derive(Debug)]
pub struct Stored {
    /// Record of the state, without the messages.
    pub snapshot: Record,
    /// Messages of the state.
    pub messages: Vec<Json>,
    /// Properties of the file: byte order mark and final newline.
    pub file: Option<Node>,
    text: Bytes,
}

impl Stored {
    /// Returns the position at which each message begins.
    fn places(&self) -> impl Iterator<Item = Position> {
        let list = Source::new(&self.text).peek("messages").ok().flatten();
        let spelled = list.as_ref().and_then(message::each).unwrap_or_default();
        let begin = self.text.as_ptr() as usize;
        let mut at = Position { line: 1, ..Position::default() };
        spelled.into_iter().map(move |message| {
            let byte = (message.as_bytes().as_ptr() as usize).saturating_sub(begin);
            let passed = self.text.get(at.byte as usize..byte).unwrap_or_default();
            at.line += memchr::memchr_iter(b'\n', passed).count() as u64;
            at.byte = byte as u64;
            at
        })
    }
}

/// Reads a state.
pub fn read(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Stored> {
    let State { file, text } = text_of(part, cx)?;
    let at = Position { line: 1, ..Position::default() };
    utf8(&Line { bytes: &text, at, terminated: true })?;
    let parsed = parse(&text).map_err(|fault| Error::json(fault, &text, at))?;
    let Some(Parsed { snapshot, messages }) = parsed else {
        let message = "no state of a session: session_id or messages are missing, or come twice";
        return Err(Error::unfit(Diagnostic::new(Code::NoHeader, message).at(at)));
    };
    Ok(Stored { snapshot, messages, file, text })
}

/// Reads through a state that may be too long for memory. Returns its record, without the messages;
/// `None` unless the state is as the runtime writes it, byte for byte.
pub fn survey(part: Box<dyn Read>, limit: usize) -> Result<Option<Record>> {
    let found = surveyed(Flow::new(part, limit));
    found.map_err(|error| Error::io("cannot read", error))
}

fn surveyed(flow: Flow<Box<dyn Read>>) -> io::Result<Option<Record>> {
    let Some(mut list) = List::of(flow)? else { return Ok(None) };
    let mut text = std::mem::take(&mut list.head);
    while list.next()?.is_some() {}
    let Some(tail) = list.flow.rest()?.filter(|_| list.ended) else { return Ok(None) };
    text.push(b']');
    text.extend_from_slice(&tail);
    let ended = text.pop() == Some(b'\n');
    let text = Bytes::from(text);
    let valid = ended && simdutf8::basic::from_utf8(&text).is_ok();
    let Some(parsed) = parse(&text).ok().flatten().filter(|_| valid) else { return Ok(None) };
    let mut again = Vec::with_capacity(text.len());
    write(&parsed.snapshot.node, &parsed.messages, &mut again);
    Ok((again == text).then_some(parsed.snapshot))
}

/// Returns the messages of a state that [`survey`] accepted, one by one.
pub fn messages(part: Box<dyn Read>, limit: usize) -> Result<impl Iterator<Item = Result<Json>>> {
    let failed = |error| Error::io("cannot read", error);
    let mut list = List::of(Flow::new(part, limit)).map_err(failed)?;
    let mut next = move || list.as_mut().map_or(Ok(None), List::next);
    let on_one_line = |message: Json| Json::checked(on_one_line(message.bytes()));
    Ok(std::iter::from_fn(move || next().map(|it| it.map(on_one_line)).map_err(failed).transpose()))
}

/// Reader of the list of messages of a state.
struct List {
    flow: Flow<Box<dyn Read>>,
    /// Text before the first message.
    head: Vec<u8>,
    /// Whether the reader has reached the end of the list.
    ended: bool,
}

impl List {
    /// Finds the list of messages; `None` if it does not begin near the state's beginning.
    fn of(mut flow: Flow<Box<dyn Read>>) -> io::Result<Option<Self>> {
        flow.more()?;
        let Some((head, behind)) = list_of(flow.ahead()) else { return Ok(None) };
        flow.pass(behind);
        let ended = behind > head.len();
        Ok(Some(Self { flow, head, ended }))
    }

    /// Returns the next message; `None` at the end, and where there is anything else.
    fn next(&mut self) -> io::Result<Option<Json>> {
        if self.ended {
            return Ok(None);
        }
        let Some(message) = self.flow.value()? else { return Ok(None) };
        let after = self.flow.byte()?;
        self.ended = after == Some(b']');
        Ok(Some(message).filter(|_| matches!(after, Some(b',' | b']'))))
    }
}

/// Returns the text of a state's beginning up to the first message, and the offset at which that
/// message begins, or at which the text after an empty list begins.
fn list_of(head: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut cursor = Cursor::new(head);
    cursor.begin_object().ok()?;
    while !text::is(cursor.next_key().ok()??.of(head), "messages") {
        cursor.skip_value().ok()?;
    }
    cursor.begin_array().ok()?;
    let before = head.get(..cursor.at())?.to_vec();
    cursor.next_element().ok()?;
    Some((before, cursor.at()))
}

/// Opens a state for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut stored = read(parts.main()?, cx)?;
    let at = Position { line: 1, ..Position::default() };
    let session = session(&mut stored.snapshot.node, stored.file.take());
    let key = session.node.json(Field::Id).map_or(&b""[..], Json::as_bytes);
    let mut history = History::new(Maker::new(cx.options.ids, key));
    let mut records = vec![Located { value: session, at }];
    let mut ends: Option<(Json, Json)> = None;
    for (message, at) in stored.messages.iter().zip(stored.places()) {
        let value = history.append(record_of(message), message.as_bytes());
        if let Some(id) = history.last() {
            let first = ends.take().map_or_else(|| id.clone(), |(first, _)| first);
            ends = Some((first, id));
        }
        records.push(Located { value, at });
    }
    let at = records.last().map_or(at, |last| last.at);
    stored.snapshot.node.set(Field::Messages, piece(ends.as_ref()));
    records.push(Located { value: stored.snapshot, at });
    Ok(Box::new(records.into_iter().map(Ok)))
}

/// Refers to all messages between these two, both included.
fn piece(ends: Option<&(Json, Json)>) -> Json {
    let reference = match ends {
        None => joined(&[]),
        Some((first, last)) if first == last => joined(std::slice::from_ref(first)),
        Some((first, last)) => {
            let piece = joined(&[first.clone(), last.clone()]);
            joined(&[Json::checked(piece.into())])
        }
    };
    Json::checked(reference.into())
}

/// Creates the session record of a state.
fn session(snapshot: &mut Node, file: Option<Node>) -> Record {
    let mut session = Record::new(Kind::Session);
    session.node.set(Field::Source, Json::string(&format!("{NAME}@1")));
    session.node.set(Field::Layout, Json::constant("\"state\""));
    for (from, to) in [(Field::Session, Field::Id), (Field::Updated, Field::Updated)] {
        session.node.put(to, snapshot.take(from));
    }
    session.node.put(Field::File, file);
    session.node.put(Field::Cwd, workspace(snapshot));
    session
}

/// Returns the folder that a session worked in, from its state.
pub fn workspace(snapshot: &Node) -> Option<Json> {
    let meta = snapshot.json(Field::Meta);
    let resumed = || meta?.member("codelia_resume_context")?.member("working_dir");
    let root = || meta?.member("codelia_workspace_root");
    let column = || snapshot.json(Field::Extra)?.member("workspace_root");
    let is_text = |value: &Json| value.text().is_some();
    resumed()
        .filter(is_text)
        .or_else(|| root().filter(is_text))
        .or_else(|| column().filter(is_text))
}

/// Passes the text of a state to `show`, as the one value that the schema describes.
pub fn shown(part: Box<dyn Read>, cx: &Cx<'_>, show: Piece<'_>) -> Result<ControlFlow<()>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let State { text, .. } = text_of(part, &quiet)?;
    Ok(show(Position { line: 1, ..Position::default() }, &text))
}

/// Returns the text of a state before its messages, and the text after them.
pub fn around(node: &Node) -> (Vec<u8>, Vec<u8>) {
    let mut head = Vec::new();
    write(node, &[], &mut head);
    let list = list_of(&head).map_or(head.len(), |(before, _)| before.len());
    let tail = head.split_off(list);
    (head, tail)
}

/// Appends a state.
pub fn write(node: &Node, messages: &[Json], out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let said = joined(messages);
    members(ROWS, node, node.json(Field::Extra), Some(&said), &mut object);
    object.close();
}

/// Opens a state for writing. A state that comes from a log of messages, which does not name its
/// session, gets the name of the output if that is a session's identifier.
pub fn open_writer<'a>(sink: &'a mut dyn Sink, cx: &'a Cx<'a>) -> Result<Box<dyn Writer + 'a>> {
    let sources = Sources::new(sink.spool()?);
    let name = sink.stem().filter(|stem| is_uuid(stem));
    let pen = Pen::to(sink.create("")?);
    Ok(Box::new(Snapshot { pen, cx, sources, session: None, name, ends: None, done: false }))
}

struct Snapshot<'a> {
    pen: Pen,
    cx: &'a Cx<'a>,
    sources: Sources,
    session: Option<Node>,
    /// Identifier of the session if the session record has none.
    name: Option<String>,
    /// Identifiers of the first and the last message.
    ends: Option<(Json, Json)>,
    done: bool,
}

impl Writer for Snapshot<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let Located { value, at } = located;
        match value.kind {
            _ if value.is_restored() => self.sources.message(value).map(drop),
            Kind::Session => {
                self.pen.file(&value.node, self.session.is_none());
                self.session.get_or_insert_with(|| value.node.clone());
                Ok(())
            }
            _ if self.session.is_none() => Err(no_session(*at)),
            Kind::Snapshot if !self.done => self.snapshot(&value.node, *at),
            _ => {
                if !self.sources.message(value)? {
                    self.cx.log.count(FieldOutcome::Dropped, value.kind.name());
                } else if let Some(id) = value.node.json(Field::Id) {
                    let first = self.ends.take().map_or_else(|| id.clone(), |(first, _)| first);
                    self.ends = Some((first, id.clone()));
                }
                Ok(())
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.done {
            let snapshot = self.made()?;
            self.snapshot(&snapshot, Position::default())?;
        }
        self.pen.finish()
    }
}

impl Snapshot<'_> {
    /// Creates the record of a state that consists of all messages.
    fn made(&mut self) -> Result<Node> {
        let Some(session) = &mut self.session else {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        };
        if session.json(Field::Id).is_none() {
            let first = self.ends.as_ref().map_or(&b""[..], |(first, _)| first.as_bytes());
            let name = self.name.take().unwrap_or_else(|| uuid(first));
            session.set(Field::Id, Json::string(&name));
        }
        if session.json(Field::Updated).is_none() {
            session.set(Field::Updated, Json::string(EPOCH));
        }
        let mut node = Node::default();
        node.set(Field::Messages, piece(self.ends.as_ref()));
        Ok(node)
    }

    fn snapshot(&mut self, record: &Node, at: Position) -> Result<()> {
        self.done = true;
        let mut node = record.clone();
        for (from, to) in [(Field::Id, Field::Session), (Field::Updated, Field::Updated)] {
            node.put(to, self.session.as_ref().and_then(|session| session.get(from)).cloned());
        }
        let references = record.json(Field::Messages).cloned().unwrap_or_default();
        let found = self.sources.messages(&references)?;
        if found.missing > 0 {
            let message = format!("{} messages of the state are not in the stream", found.missing);
            self.cx.report(Diagnostic::new(Code::MissingTarget, message).at(at));
        }
        write(&node, &found.messages, self.pen.line()?);
        Ok(())
    }
}
