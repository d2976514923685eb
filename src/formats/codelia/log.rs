//! Log of a session's messages: one message per line. Codelia rewrites the whole log each time.

use super::NAME;
use super::history::{History, record_of};
use super::resolve::spelling;
use super::rows;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader, Sink, Writer, Writing, no_session};
use crate::framing::{FramedLines, Framing, Pen, ReadLines, Reading};
use crate::ids::Maker;
use crate::json::{Cursor, Json};
use crate::lines::utf8;
use crate::mapping::Source;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;

/// Whether a line is one of a log.
pub fn is_message(line: &[u8]) -> bool {
    let text = Bytes::copy_from_slice(line);
    let source = Source::new(&text);
    let has = |name| source.peek(name).ok().flatten().is_some();
    let role = source.peek_text("role").ok().flatten();
    let known = ["system", "user", "assistant", "tool", "reasoning"];
    role.is_some_and(|role| known.contains(&role.as_ref())) && has("content") && !has("type")
}

/// Whether a line has the members of every message, even if its role is not a known one.
pub fn is_like_a_message(line: &[u8]) -> bool {
    let text = Bytes::copy_from_slice(line);
    let source = Source::new(&text);
    let has = |name| source.peek(name).ok().flatten().is_some();
    has("role") && !has("type")
}

/// Whether lines are the first ones of a log. Messages of unknown roles before the first known one
/// do not make a log another file.
pub fn begin_a_log<'l>(lines: impl Iterator<Item = &'l [u8]>) -> bool {
    let mut lines =
        lines.take(LOOKED_AT).skip_while(|line| !is_message(line) && is_like_a_message(line));
    lines.next().is_some_and(is_message)
}

/// Maximum number of lines that detection looks at for the first that is certainly a message.
const LOOKED_AT: usize = 16;

/// Opens a log for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let frames = FramedLines::over(parts.main()?, cx.options.max_line)?;
    let messages = Messages { frames, cx, history: None, number: 0 };
    Ok(Box::new(Reading::new(messages, cx)))
}

struct Messages<'a> {
    frames: FramedLines,
    cx: &'a Cx<'a>,
    /// History of the session; `None` before the first line.
    history: Option<History>,
    number: u64,
}

impl ReadLines for Messages<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(frame) = self.frames.next()? else { return Ok(false) };
        let at = Position { record: self.number, ..frame.at };
        let first = self.history.is_none();
        let history = self
            .history
            .get_or_insert_with(|| History::new(Maker::new(self.cx.options.ids, &frame.bytes)));
        if first {
            let mut session = Record::new(Kind::Session)
                .with(Field::Source, Json::string(&format!("{NAME}@2")))
                .with(Field::Layout, Json::constant("\"log\""));
            self.frames.note(&frame, &mut session, true, self.cx);
            ready.push_back(Located { value: session, at });
        }
        let mut value = match check(&frame) {
            _ if frame.blank => self.frames.record_of_line(&frame),
            Ok(message) => {
                self.number += 1;
                history.append(record_of(&message), message.as_bytes())
            }
            Err(error) => self.frames.damaged(&frame, error, self.cx)?,
        };
        self.frames.note(&frame, &mut value, false, self.cx);
        ready.push_back(Located { value, at });
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        if self.history.is_none() {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        }
        ready.extend(self.frames.tail(self.cx));
        Ok(())
    }
}

fn check(frame: &Framing) -> Result<Json> {
    let line = frame.line();
    utf8(&line)?;
    let mut cursor = Cursor::new(line.bytes);
    let checked = cursor.skip_value().and_then(|_| cursor.end());
    checked.map_err(|fault| Error::json(fault, line.bytes, line.at))?;
    if frame.bytes.trim_ascii_start().first() != Some(&b'{') {
        let found = Diagnostic::of(Code::NotObject);
        return Err(Error::damaged(found.at(line.at).showing(line.bytes, 0)));
    }
    Ok(Json::trusted(frame.bytes.clone()))
}

/// Result of reading through a log.
#[derive(Debug, Default)]
pub struct Survey {
    /// Number of messages in the log.
    pub messages: usize,
    /// Last message of the user.
    pub last_user: Option<Json>,
}

impl Survey {
    /// Counts a message.
    pub fn look(&mut self, message: Json) {
        self.messages += 1;
        if rows::is_of_user(&message) {
            self.last_user = Some(message);
        }
    }
}

/// Reads through a log; `None` unless the log is as the runtime writes it, with a message on each
/// line.
pub fn survey(part: Box<dyn Read>, limit: usize) -> Result<Option<Survey>> {
    let (mut frames, mut found) = (FramedLines::over(part, limit)?, Survey::default());
    loop {
        match frames.next() {
            Ok(None) => return Ok(Some(found).filter(|_| !frames.bom)),
            Ok(Some(frame)) if frame.terminated && !frame.cr && !frame.blank => {
                let Ok(message) = check(&frame) else { return Ok(None) };
                found.look(message);
            }
            Err(error) if !error.is_recoverable() => return Err(error),
            Ok(Some(_)) | Err(_) => return Ok(None),
        }
    }
}

/// Returns the messages of a log that [`survey`] accepted, one by one.
pub fn messages(part: Box<dyn Read>, limit: usize) -> Result<impl Iterator<Item = Result<Json>>> {
    let mut frames = FramedLines::over(part, limit)?;
    Ok(std::iter::from_fn(move || frames.next().transpose().map(|frame| check(&frame?))))
}

/// Splits a log that was read as a whole into its messages and the errors of its other lines.
pub fn split(text: &Bytes, part: u32) -> (Vec<Json>, Vec<Error>) {
    let (mut messages, mut errors) = (Vec::new(), Vec::new());
    let mut byte = 0;
    for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
        let at = Position { part, line: number, byte: byte as u64, record: number - 1 };
        byte += line.len() + 1;
        let blank = line.iter().all(u8::is_ascii_whitespace);
        let bytes = text.slice_ref(line.strip_suffix(b"\r").unwrap_or(line));
        match check(&Framing { bytes, at, terminated: true, cr: false, blank }) {
            _ if blank => {}
            Ok(message) => messages.push(message),
            Err(error) => errors.push(error),
        }
    }
    (messages, errors)
}

/// Opens a log for writing.
pub fn open_writer<'a>(sink: &'a mut dyn Sink, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(Box::new(Log { pen: Pen::to(sink.create("")?), cx, begun: false }))
}

struct Log<'a> {
    pen: Pen,
    cx: &'a Cx<'a>,
    begun: bool,
}

impl Writer for Log<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let Located { value, at } = located;
        if value.is_restored() {
            return Ok(());
        }
        if value.kind == Kind::Session {
            // A log contains no facts about its session.
            const HELD: &[Field] = &[Field::Source, Field::Layout, Field::File, Field::Leaf];
            self.lost(value, HELD);
            self.pen.file(&value.node, !std::mem::replace(&mut self.begun, true));
            return Ok(());
        }
        if !self.begun {
            return Err(no_session(*at));
        }
        if self.pen.write_unchanged(value)? {
            return Ok(());
        }
        match spelling(value) {
            Some(message) => self.pen.put(&message)?,
            None if value.kind == Kind::Snapshot => self.lost(value, &[Field::Messages]),
            None => self.cx.log.lost(value.kind.name()),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if !self.begun {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        }
        self.pen.finish()
    }
}

impl Log<'_> {
    /// Counts the fields of a record that are not among `held`.
    fn lost(&self, record: &Record, held: &[Field]) {
        self.cx.log.count_lost(record.kind.name(), &record.node, |field| held.contains(&field));
    }
}
