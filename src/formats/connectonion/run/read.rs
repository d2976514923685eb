//! Reader for runs, line by line.

use super::super::chain_of;
use super::super::{NAME, REMARK, message};
use super::edited;
use super::header::{self, Header};
use super::{CLOSE, INDENT, MESSAGES, OPEN, TORN, is_remark, note_file, parse};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Piece, Reader, no_header};
use crate::framing::Chain;
use crate::json::Json;
use crate::lines::{Line, Lines, utf8};
use crate::mapping::Spacing;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::encoding::{Decoder, Found};
use bytes::Bytes;
use std::io::Read;

/// Opens a run for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, encoding: Found, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    if !edited::is_by_hand(&mut lines(parts, encoding, cx)?)? {
        return edited::open(parts, encoding, cx);
    }
    Ok(Box::new(Records {
        lines: lines(parts, encoding, cx)?,
        cx,
        encoding,
        crlf: false,
        stage: Stage::Header,
        chain: Chain::default(),
        records: 0,
        unterminated: None,
        faulty: false,
        comma: None,
        unlisted: false,
    }))
}

fn lines(parts: &mut dyn Parts, encoding: Found, cx: &Cx<'_>) -> Result<Lines<Box<dyn Read>>> {
    let part: Box<dyn Read> = match encoding.is_utf8() {
        true => parts.main()?,
        false => Box::new(Decoder::new(parts.main()?, Some(encoding.encoding))),
    };
    let mut lines = Lines::new(part, cx.options.max_line);
    lines.skip_bom()?;
    Ok(lines)
}

/// Progress of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Header,
    /// Between the header and the bracket that opens the array.
    Before,
    Messages,
    /// Behind the bracket that closes the array.
    Closed,
    Done,
}

struct Records<'a> {
    lines: Lines<Box<dyn Read>>,
    cx: &'a Cx<'a>,
    encoding: Found,
    crlf: bool,
    stage: Stage,
    chain: Chain,
    records: u64,
    unterminated: Option<Position>,
    /// Whether the line read last was damaged.
    faulty: bool,
    /// Whether a comma followed the last message; `None` before the first message. `unlisted`
    /// is whether a fault in the list was reported, which is done once.
    comma: Option<bool>,
    unlisted: bool,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.stage != Stage::Done {
            let step = if self.stage == Stage::Header { self.header() } else { self.line() };
            match step {
                Ok(Some(record)) => return Some(Ok(record)),
                Ok(None) => {}
                Err(error) => match self.cx.tolerate(error) {
                    Ok(_) => {}
                    Err(error) => {
                        if !error.is_recoverable() {
                            self.stage = Stage::Done;
                        }
                        return Some(Err(error));
                    }
                },
            }
        }
        None
    }
}

impl Records<'_> {
    fn header(&mut self) -> Result<Option<Located<Record>>> {
        let mut header = Header::default();
        let (mut at, mut frame) = (None, String::new());
        loop {
            let Some(line) = self.lines.next()? else {
                if at.is_none() {
                    return Err(Error::unfit(Diagnostic::of(Code::Empty)));
                }
                let found = Diagnostic::new(Code::CutShort, "the file ends before its messages");
                self.cx.tolerate(Error::damaged(found.at(self.lines.position())))?;
                self.faulty = true;
                break;
            };
            at.get_or_insert(line.at);
            let text = utf8(&line).map_err(|error| Error::unfit(error.into_diagnostic()))?;
            if text.strip_suffix('\r').unwrap_or(text) == MESSAGES {
                frame = format!("{text}\n");
                break;
            }
            if !header.line(text) {
                return Err(no_header(&line, "neither a line of a run's header nor `messages: |`"));
            }
        }
        let at = at.unwrap_or_default();
        for name in header.twice() {
            let message = format!("member {name:?} occurs twice");
            self.cx.report(Diagnostic::new(Code::TwiceNamed, message).at(at));
        }
        let (mut record, source) = header.finish(&format!("{NAME}@3"));
        self.crlf = crlf(&source, &frame);
        self.chain = chain_of(&record.node, Field::Updated, self.cx);
        note_file(&mut record, self.encoding, self.crlf, self.cx);
        self.stage = Stage::Before;
        self.records = 1;
        Ok(Some(Located { value: record, at }))
    }

    /// Reads one line behind the header.
    fn line(&mut self) -> Result<Option<Located<Record>>> {
        let Some(line) = self.lines.next()? else { return self.end() };
        let mut at = line.at;
        at.record = self.records;
        let text = line.bytes.strip_suffix(b"\r").filter(|_| self.crlf).unwrap_or(line.bytes);
        let bytes = Bytes::copy_from_slice(text);
        let line = Line { bytes: &bytes, at, terminated: line.terminated };
        self.unterminated = (!line.terminated).then_some(at);
        let bare = bytes.trim_ascii_end();
        match self.stage {
            Stage::Before if bare == OPEN.as_bytes() => {
                self.stage = Stage::Messages;
                Ok(None)
            }
            Stage::Messages if bare == CLOSE.as_bytes() => {
                self.stage = Stage::Closed;
                self.list(self.comma != Some(true), at);
                Ok(None)
            }
            Stage::Before | Stage::Messages if bare.is_empty() => Ok(None),
            Stage::Closed if bare.is_empty() || is_remark(&bytes) => {
                if !bare.is_empty() {
                    let found = Diagnostic::of(Code::YamlComment);
                    self.cx.report(found.at(at));
                }
                Ok(None)
            }
            Stage::Messages => {
                let message = self.message(&line, &bytes, bare.len())?;
                if !self.faulty {
                    // The block of text that holds the list ends before a line that is not
                    // indented.
                    let within = bytes.starts_with(b"  ");
                    self.list(within && self.comma != Some(false), at);
                    self.comma = Some(bare.ends_with(b","));
                }
                Ok(Some(message))
            }
            _ => {
                let message = "a line that belongs to no message";
                let found = Diagnostic::new(Code::Syntax, message).at(at).showing(&bytes, 0);
                let mut line = self.keep_damaged(Error::damaged(found), &bytes, at)?;
                if matches!(self.stage, Stage::Closed) {
                    line.value.node.set(Field::Layout, Json::constant("\"behind\""));
                }
                Ok(Some(line))
            }
        }
    }

    /// Reports once that lines are read one by one, but do not form a list.
    fn list(&mut self, fits: bool, at: Position) {
        if !fits && !std::mem::replace(&mut self.unlisted, true) {
            self.cx.report_at(Code::ListUnread, at);
        }
    }

    /// Reads the message of a line, which is `end` bytes long without the space behind it.
    fn message(&mut self, line: &Line<'_>, bytes: &Bytes, end: usize) -> Result<Located<Record>> {
        let at = line.at;
        let parsed = self.parse(line, &bytes.slice(..end));
        self.faulty = parsed.is_err();
        let mut record = match parsed {
            Ok(record) => record,
            Err(error) => return self.keep_damaged(error, bytes, at),
        };
        self.records += 1;
        self.chain.link(&mut record.node);
        Ok(Located { value: record, at })
    }

    fn parse(&mut self, line: &Line<'_>, bytes: &Bytes) -> Result<Record> {
        utf8(line)?;
        let start = bytes.len() - bytes.strip_prefix(INDENT.as_bytes()).unwrap_or(bytes).len();
        let text = bytes.slice(start..);
        let text = text.strip_suffix(b",").map_or(text.clone(), |inner| text.slice(..inner.len()));
        let (record, beyond_json) = parse(&text).map_err(|mut fault| {
            fault.at += start;
            Error::json(fault, line.bytes, line.at)
        })?;
        message::report_opaque(&record, line.at, self.cx);
        if beyond_json {
            let found = Diagnostic::of(Code::PythonNumber);
            self.cx.report(found.at(line.at));
        }
        Ok(record)
    }

    /// Keeps a damaged line as a record, if the options request that.
    fn keep_damaged(
        &mut self,
        error: Error,
        bytes: &Bytes,
        at: Position,
    ) -> Result<Located<Record>> {
        if !self.cx.keeps(&error) {
            return Err(error);
        }
        self.cx.report(error.into_diagnostic());
        Ok(Located { value: Record::of_line(bytes), at })
    }

    fn end(&mut self) -> Result<Option<Located<Record>>> {
        let closed = matches!(self.stage, Stage::Closed);
        self.stage = Stage::Done;
        // A line that was cut short was reported already.
        if !closed {
            let at = self.lines.position();
            if !self.faulty {
                let found = Diagnostic::new(Code::CutShort, "the list of messages is not closed");
                self.cx.tolerate(Error::damaged(found.at(at)))?;
            }
            let torn = Record::new(Kind::Notice)
                .with(Field::Subtype, Json::string(REMARK))
                .with(Field::Layout, Json::string(TORN));
            return Ok(Some(Located { value: torn, at }));
        }
        let Some(at) = self.unterminated.filter(|_| closed) else { return Ok(None) };
        let message = Code::NoFinalNewline.title();
        self.cx.report(Diagnostic::new(Code::NoFinalNewline, message).at(at));
        let file = Node::default().with(Field::FinalNewline, Json::constant("false"));
        let record = Record::new(Kind::Session).with(Field::File, file);
        Ok(Some(Located { value: record, at }))
    }
}

/// Whether all lines of a header and the line behind it end with a carriage return.
fn crlf(header: &str, frame: &str) -> bool {
    let mut lines = header.split_inclusive('\n').chain(frame.split_inclusive('\n')).peekable();
    lines.peek().is_some() && lines.all(|line| line.ends_with("\r\n"))
}

/// Shows the header and the messages as JSON.
pub fn pieces(parts: &mut dyn Parts, encoding: Found, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut out = Vec::new();
    for item in open(parts, encoding, &quiet)? {
        let Ok(Located { value, at }) = item else { continue };
        out.clear();
        match value.kind {
            Kind::Session if value.node.json(Field::Source).is_some() => {
                out = header::piece(&value.node);
            }
            _ if !message::write(&value, Spacing::None, true, &mut out) => continue,
            _ => {}
        }
        if show(at, &out).is_break() {
            break;
        }
    }
    Ok(())
}
