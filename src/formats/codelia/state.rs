//! State of a session in one file, which the agent loads when it resumes the session.

use super::NAME;
use super::history::{History, record_of};
use super::made::{EPOCH, is_uuid, uuid};
use super::resolve::Sources;
use super::wire::{joined, members};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::document::{self, Frame, Items, Style, on_one_line};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Parts, Piece, Reader, Sink, Writer, Writing, no_session};
use crate::framing::{Pen, ReadLines, Reading};
use crate::ids::Maker;
use crate::json::Json;
use crate::lines::BOM;
use crate::mapping::{Object, Row, Source, apart, fixed, row};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::collections::VecDeque;
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
    if part.take(limit.saturating_add(1)).read_to_end(&mut text).cannot("read")? as u64 > limit {
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

/// Path of the list of messages.
pub const LIST: document::Path = &["messages"];

/// Layout of a state.
const STYLE: Style = Style { indented: false, newline: true };

/// Whether a text is a state that can be read.
pub fn is_read(text: &Bytes) -> bool {
    frame(Box::new(io::Cursor::new(text.clone())), text.len()).is_ok()
}

/// State without its messages.
#[derive(Debug)]
pub struct Stored {
    /// Record of the state, without the messages.
    pub snapshot: Record,
    /// Properties of the file: byte order mark and final newline.
    pub file: Option<Node>,
}

/// Reads through a state for its record, without the messages.
fn frame(part: Box<dyn Read>, limit: usize) -> Result<(Record, Frame)> {
    let no_state = || {
        let at = Position { line: 1, ..Position::default() };
        let message = "no state of a session: session_id or messages are missing, or come twice";
        Error::unfit(Diagnostic::new(Code::NoHeader, message).at(at))
    };
    let frame = document::frame(part, LIST, limit)
        .map_err(|error| if error.code() == Code::NoHeader { no_state() } else { error })?;
    let mut source = Source::new(&frame.text);
    let mut snapshot = Record::new(Kind::Snapshot);
    source.unique = true;
    let read = source.object(ROWS, None, &mut snapshot.node);
    let whole = read.is_ok() && !source.ambiguous && snapshot.node.json(Field::Session).is_some();
    if whole { Ok((snapshot, frame)) } else { Err(no_state()) }
}

/// Reads through a state for what it contains beside the messages.
pub fn read(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Stored> {
    let (snapshot, frame) = frame(part, cx.options.max_line)?;
    Ok(Stored { snapshot, file: frame.file(STYLE, cx) })
}

/// Returns the messages of a state that was read, one by one.
pub fn messages(part: Box<dyn Read>, limit: usize) -> Result<impl Iterator<Item = Result<Json>>> {
    Ok(Items::over(part, LIST, limit)?.map(|item| item.map(|item| one_line(&item.value))))
}

fn one_line(message: &Json) -> Json {
    Json::trusted(on_one_line(message.bytes()))
}

/// Opens a state for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let mut stored = read(parts.main()?, cx)?;
    let at = Position { line: 1, ..Position::default() };
    let session = session(&mut stored.snapshot.node, stored.file.take());
    let key = session.node.json(Field::Id).map_or(&b""[..], Json::as_bytes);
    let history = History::new(Maker::new(cx.options.ids, key));
    let items = Items::over(parts.main()?, LIST, cx.options.max_line)?;
    let messages = Messages { items, history, snapshot: stored.snapshot, at, ends: None };
    let first = VecDeque::from([Located { value: session, at }]);
    Ok(Box::new(Reading::behind(first, messages, cx)))
}

/// Messages of a state, and its record behind them.
struct Messages {
    items: Items,
    history: History,
    snapshot: Record,
    /// Position of the last record.
    at: Position,
    /// Identifiers of the first and the last message.
    ends: Option<(Json, Json)>,
}

impl ReadLines for Messages {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(item) = self.items.next().transpose()? else { return Ok(false) };
        let message = one_line(&item.value);
        self.at = Position { record: 0, ..item.at };
        let value = self.history.append(record_of(&message), message.as_bytes());
        if let Some(id) = self.history.last() {
            let first = self.ends.take().map_or_else(|| id.clone(), |(first, _)| first);
            self.ends = Some((first, id));
        }
        ready.push_back(Located { value, at: self.at });
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        let mut value = std::mem::replace(&mut self.snapshot, Record::new(Kind::Snapshot));
        value.node.set(Field::Messages, piece(self.ends.as_ref()));
        ready.push_back(Located { value, at: self.at });
        Ok(())
    }
}

/// Refers to all messages between these two, both included.
fn piece(ends: Option<&(Json, Json)>) -> Json {
    let reference = match ends {
        None => joined(&[]),
        Some((first, last)) if first == last => joined(std::slice::from_ref(first)),
        Some((first, last)) => {
            let piece = joined(&[first.clone(), last.clone()]);
            joined(&[Json::trusted(piece.into())])
        }
    };
    Json::trusted(reference.into())
}

/// Creates the session record of a state.
fn session(snapshot: &mut Node, file: Option<Node>) -> Record {
    let mut session = Record::new(Kind::Session)
        .with(Field::Source, Json::string(&format!("{NAME}@1")))
        .with(Field::Layout, Json::constant("\"state\""));
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

/// Appends a state.
pub fn write(node: &Node, messages: &[Json], out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let joined = joined(messages);
    members(ROWS, node, node.json(Field::Extra), Some(&joined), &mut object);
    object.close();
}

/// Opens a state for writing. A state that comes from a log of messages, which does not name its
/// session, gets the name of the output if that is a session's identifier.
pub fn open_writer<'a>(sink: &'a mut dyn Sink, cx: &'a Cx<'a>) -> Writing<'a> {
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
                    self.cx.log.lost(value.kind.name());
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
        Ok(Node::default().with(Field::Messages, piece(self.ends.as_ref())))
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
