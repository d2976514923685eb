//! Reader of a row, or of a session trace, and of the places of rows in a file.

use super::message::{Messages, Shape};
use super::row;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{self, Items};
use crate::error::{Error, Result};
use crate::format::{Cx, Options, Parts, Piece, Reader};
use crate::framing::Chain;
use crate::json::{Json, is_whole};
use crate::lines::{BOM, Lines};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;

/// Number and place of each row of a file: of the lines, of which the first may be broken, or of the
/// values of a list. A session trace has the lines up to the next one. A row on several lines is a
/// file of its own.
///
/// # Errors
/// If the file cannot be read, or its list is broken.
pub fn rows(parts: &mut dyn Parts) -> Result<Vec<(u64, Range<u64>)>> {
    let limit = Options::default().max_line;
    let mut first = Vec::new();
    let begin = parts.main()?.take(LOOK).read_to_end(&mut first);
    begin.map_err(|error| Error::io("cannot read", error))?;
    let begin = first.strip_prefix(BOM).unwrap_or(&first).trim_ascii_start();
    if begin.starts_with(b"[") {
        return Items::over(parts.main()?, &[], limit)?.zip(1..).map(of_list).collect();
    }
    let mut lines = Lines::new(parts.main()?, limit);
    lines.skip_bom()?;
    let mut rows: Vec<(u64, Range<u64>)> = Vec::new();
    let (mut is_broken, mut has_rows, mut has_traces) = (false, false, false);
    while let Some(line) = lines.next()? {
        if line.is_blank() {
            continue;
        }
        let end = line.at.byte + line.bytes.len() as u64;
        let is_trace = row::is_trace(line.bytes);
        match rows.last_mut() {
            None => (is_broken, has_traces) = (!is_whole(line.bytes), is_trace),
            Some((_, span)) if has_traces && !is_trace => {
                span.end = end;
                continue;
            }
            Some(_) => has_rows |= is_broken && row::is_row(line.bytes),
        }
        rows.push((line.at.line, line.at.byte..end));
    }
    // The first line of an object on several lines is broken, too.
    if is_broken && !has_rows {
        rows.clear();
    }
    Ok(rows)
}

/// Number of bytes in which the first one that is no white space is looked for.
const LOOK: u64 = 4 << 10;

fn of_list((item, number): (Result<Located<Json>>, u64)) -> Result<(u64, Range<u64>)> {
    let Located { value, at } = item?;
    Ok((number, at.byte..at.byte + value.as_bytes().len() as u64))
}

/// Opens a row, or a session trace, for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let Text { values, is_trace } = Text::of(parts, cx)?;
    let mut values = values.into_iter();
    let Some(Located { value: first, at }) = values.next() else {
        return Err(Error::unfit(Diagnostic::of(Code::Empty)));
    };
    let (session, messages) = match is_trace {
        true => (row::trace(&first), values.map(|line| (line, Shape::Trace)).collect()),
        false => {
            let place = |message: &Json| first.place_of(message).start;
            let (session, messages) = row::read(&first);
            if messages.is_empty() {
                return Err(no_messages(&first, at));
            }
            let located = |(message, shape): (Json, Shape)| {
                (Located { at: at.plus(place(&message)), value: message }, shape)
            };
            (session, messages.into_iter().map(located).collect())
        }
    };
    let chain = Chain::of(session.node.json(Field::Id).map_or(&[], Json::as_bytes), cx);
    let ready = VecDeque::from([Located { value: session, at }]);
    Ok(Box::new(Records { ready, messages, reader: Messages::default(), chain, cx }))
}

fn no_messages(row: &Json, at: Position) -> Error {
    let found = Diagnostic::new(Code::NoHeader, "the row has no list of messages").at(at);
    Error::unfit(found.showing(row.as_bytes(), 0))
}

/// Values of a text: one row, or the lines of a session trace.
struct Text {
    values: Vec<Located<Json>>,
    is_trace: bool,
}

impl Text {
    fn of(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Self> {
        let text = whole(parts, cx)?;
        let begin = Position { line: 1, ..Position::default() };
        let trimmed = text.slice_ref(text.trim_ascii());
        let lines = || trimmed.split(|byte| *byte == b'\n');
        if lines().next().is_some_and(row::is_trace) {
            let mut values = Vec::new();
            let mut at = begin;
            for line in lines() {
                if !line.trim_ascii().is_empty() {
                    values.push(Located { value: value(&trimmed.slice_ref(line), at)?, at });
                }
                at = Position { line: at.line + 1, ..at.plus(line.len() + 1) };
            }
            return Ok(Self { values, is_trace: true });
        }
        if lines().filter(|line| row::is_row(line)).nth(1).is_some() {
            return Err(several());
        }
        let row = value(&trimmed, begin)?;
        let mut list = row.elements();
        let row = match (list.next(), list.next()) {
            (Some(_), Some(_)) => return Err(several()),
            (Some(only), None) => only,
            _ => row.clone(),
        };
        Ok(Self { values: vec![Located { value: row, at: begin }], is_trace: false })
    }
}

/// Reads a value. It may be on several lines, which no record is.
fn value(text: &Bytes, at: Position) -> Result<Json> {
    let value = Json::read(text).map_err(|fault| Error::json(fault, text, at))?;
    Ok(Json::trusted(document::on_one_line(value.bytes())))
}

fn several() -> Error {
    let message = "there are several rows: a file of them is read by its name, which ends in \
                   .jsonl, .ndjson or .json, or with `-f chat`";
    Error::request(Code::ReadsOnly, message)
}

/// Reads the whole text, without a byte order mark: a row is what other formats have as a line.
fn whole(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Bytes> {
    let limit = cx.options.max_line as u64;
    let mut text = Vec::new();
    let read = parts.main()?.take(limit + 1).read_to_end(&mut text);
    read.map_err(|error| Error::io("cannot read", error))?;
    if text.len() as u64 > limit {
        let message = format!("row of more than {limit} bytes, the limit");
        return Err(Error::unfit(Diagnostic::new(Code::LineTooLong, message)));
    }
    let text = Bytes::from(text);
    Ok(text.slice_ref(text.strip_prefix(BOM).unwrap_or(&text)))
}

/// Records of a row, message by message.
struct Records<'a> {
    ready: VecDeque<Located<Record>>,
    messages: VecDeque<(Located<Json>, Shape)>,
    reader: Messages,
    chain: Chain,
    cx: &'a Cx<'a>,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            let (Located { value, at }, shape) = self.messages.pop_front()?;
            let mut records = match self.reader.read(&value, shape) {
                Ok(records) => records,
                Err(fault) => return Some(Err(Error::json(fault, value.as_bytes(), at))),
            };
            for record in &mut records {
                match record.kind {
                    Kind::Opaque => self.cx.report_at(Code::OddMessage, at),
                    _ => self.chain.link(&mut record.node),
                }
            }
            self.ready.extend(records.into_iter().map(|value| Located { value, at }));
        }
    }
}

/// Shows the row, or the lines of a session trace, as the pieces that the schema describes.
pub fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    for Located { value, at } in Text::of(parts, cx)?.values {
        if show(at, value.as_bytes()).is_break() {
            break;
        }
    }
    Ok(())
}
