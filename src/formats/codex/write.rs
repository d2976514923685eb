//! Writer of a stream of records as a rollout.

use super::foreign::Foreign;
use super::read::{State, value, version_of};
use super::{NAME, line, twin};
use crate::diagnostic::{Code, Diagnostic, FieldOutcome};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, no_session};
use crate::json::{Json, text};
use crate::lines::{BOM, empty};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::Write;

/// Opens a session for writing.
///
/// # Errors
/// If the part cannot be created.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    version: &'static Version,
    cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    Ok(Box::new(Rollout {
        to: sink.create("")?,
        cx,
        version: version.number,
        session: None,
        lines: Lines::default(),
        state: State::default(),
        last_texts: [None, None, None],
    }))
}

/// Size in bytes of the pieces in which output is written.
const CHUNK: usize = 256 << 10;

struct Rollout<'a> {
    to: Box<dyn Write>,
    cx: &'a Cx<'a>,
    version: u32,
    session: Option<Session>,
    lines: Lines,
    /// State in which stored lines are read.
    state: State,
    /// The last text of each speaker, for the events that repeat it.
    last_texts: [Option<Json>; 3],
}

enum Session {
    /// The records come from a rollout of this version.
    Same,
    /// The records come from elsewhere.
    Other(Box<Foreign>),
}

/// Lines of the output.
#[derive(Default)]
struct Lines {
    out: Vec<u8>,
    crlf: bool,
    /// The line ending that the line written last still lacks.
    pending: Option<&'static [u8]>,
    unterminated: bool,
}

impl Lines {
    /// Ends the line before; the record may name the ending of the line that follows.
    fn begin(&mut self, node: &Node) -> &mut Vec<u8> {
        let eol: &[u8] = match node.text(Field::Eol).as_deref() {
            Some("crlf") => b"\r\n",
            Some("lf") => b"\n",
            _ if self.crlf => b"\r\n",
            _ => b"\n",
        };
        self.pending.replace(eol).into_iter().for_each(|eol| self.out.extend_from_slice(eol));
        &mut self.out
    }

    /// Adds a line of a session from elsewhere, and reports one that Codex drops.
    fn foreign(&mut self, line: &[u8], at: Position, cx: &Cx<'_>) {
        self.begin(&Node::default()).extend_from_slice(line);
        if !text::lone_halves(line).is_empty() {
            cx.report(Diagnostic::new(Code::LineDropped, Code::LineDropped.title()).at(at));
        }
    }
}

impl Writer for Rollout<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        match (&mut self.session, record.kind) {
            (None, Kind::Session) => self.header(located)?,
            (None, Kind::Opaque) if record.node.line().is_some() => {
                self.unchanged_line(&record.node)
            }
            (None, _) => return Err(no_session(located.at)),
            (Some(Session::Same), Kind::Session) => self.file(&record.node),
            (Some(Session::Same), _) => self.same(located),
            (Some(Session::Other(foreign)), _) => {
                let (lines, cx) = (&mut self.lines, self.cx);
                foreign.record(record, cx, &mut |line| lines.foreign(line, located.at, cx));
            }
        }
        if self.lines.out.len() >= CHUNK {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        match &mut self.session {
            None => return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record"))),
            Some(Session::Same) => {}
            Some(Session::Other(foreign)) => {
                let (lines, cx) = (&mut self.lines, self.cx);
                foreign.finish(cx, &mut |line| lines.foreign(line, Position::default(), cx));
            }
        }
        if let Some(eol) = self.lines.pending.take().filter(|_| !self.lines.unterminated) {
            self.lines.out.extend_from_slice(eol);
        }
        self.flush()?;
        self.to.flush().map_err(|error| Error::io("cannot write", error))
    }
}

impl Rollout<'_> {
    fn flush(&mut self) -> Result<()> {
        let out = &mut self.lines.out;
        self.to.write_all(out).map_err(|error| Error::io("cannot write", error))?;
        empty(out);
        Ok(())
    }

    fn unchanged_line(&mut self, node: &Node) {
        let line = node.line().unwrap_or_default();
        self.lines.begin(node).extend_from_slice(&line);
    }

    /// Takes the properties of the file.
    fn file(&mut self, node: &Node) {
        let Some(file) = node.node(Field::File) else { return };
        let newline = file.json(Field::FinalNewline);
        self.lines.unterminated |= newline.is_some_and(|newline| newline.as_bytes() == b"false");
    }

    fn header(&mut self, located: &Located<Record>) -> Result<()> {
        let node = &located.value.node;
        let same = node.is(Field::Source, &format!("{NAME}@{}", self.version));
        if !same {
            self.session = Some(Session::Other(Box::new(Foreign::of(node, self.version, self.cx))));
            return Ok(());
        }
        if node.json(Field::Id).is_none() {
            let found = Diagnostic::new(Code::BadRecord, "the session record has no `id`");
            return Err(Error::unfit(found.at(located.at)));
        }
        let file = node.node(Field::File);
        self.lines.crlf = file.is_some_and(|file| file.is(Field::Eol, "crlf"));
        if file.is_some_and(|file| file.is_true(Field::Bom)) {
            self.lines.out.extend_from_slice(BOM);
        }
        self.file(node);
        self.session = Some(Session::Same);
        let gives = |raw: &Json| {
            let read = line::read_meta(raw);
            read.is_some_and(|(read, bare)| {
                version_of(&read, bare) == self.version
                    && read.is_same(node, &[Field::File, Field::Source])
            })
        };
        match raw_of(node) {
            Some((raw, value)) if gives(&value) => {
                self.lines.begin(node).extend_from_slice(&raw);
            }
            raw => {
                raw.into_iter().for_each(|_| self.cx.raw_refused(located.at));
                line::write_meta(node, self.version == 1, self.lines.begin(node));
            }
        }
        Ok(())
    }

    /// Writes a record of a rollout of this version.
    fn same(&mut self, located: &Located<Record>) {
        let record = &located.value;
        let is_line = record.node.json(Field::Text).or(record.node.json(Field::RawBytes));
        if record.kind == Kind::Opaque && is_line.is_some() {
            return self.unchanged_line(&record.node);
        }
        if record.node.is_true(Field::Synthesized) {
            return;
        }
        let bare = self.version == 1;
        let twin = self.twin(record);
        if let Some((raw, value)) = raw_of(&record.node).filter(|_| twin.is_none()) {
            let read = self.state.settle(line::read(&value, bare));
            let made = [Field::Id, Field::IdMade, Field::Parent, Field::Eol, Field::Derived];
            if read.kind == record.kind && read.node.is_same(&record.node, &made) {
                self.lines.begin(&record.node).extend_from_slice(&raw);
                return;
            }
            self.cx.raw_refused(located.at);
        } else {
            self.state.settle(record.clone());
        }
        let record = twin.as_ref().unwrap_or(record);
        let mut text = Vec::new();
        if line::write(record, bare, &mut text) {
            self.lines.begin(&record.node).extend_from_slice(&text);
        } else {
            self.cx.log.count(FieldOutcome::Dropped, record.kind.name());
        }
    }

    /// Notes the text of an item; returns an event with the present text of the item that it
    /// repeats, if the item was edited.
    fn twin(&mut self, record: &Record) -> Option<Record> {
        if let Some((speaker, said)) =
            twin::of_message(&record.node).filter(|_| record.kind == Kind::Message)
        {
            *self.last_texts.get_mut(speaker as usize)? = Some(said);
            return None;
        }
        if record.kind != Kind::Event || !record.node.is_true(Field::Derived) {
            return None;
        }
        let payload = record.node.json(Field::Data)?;
        let (speaker, old) = twin::of_event(payload)?;
        let new = self.last_texts.get(speaker as usize)?.as_ref()?;
        if *new == old || new.text() == old.text() {
            return None;
        }
        let mut edited = record.clone();
        edited.node.set(Field::Data, twin::with_text(payload, &old, new));
        edited.node.take(Field::Raw);
        Some(edited)
    }
}

/// Returns the stored line of a record, as text and as a value.
fn raw_of(node: &Node) -> Option<(Bytes, Json)> {
    let raw = Bytes::from(node.text(Field::Raw)?);
    let value = value(&raw).ok()?;
    Some((raw, value))
}
