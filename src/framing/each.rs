//! Records of a part each line of which is one record.

use super::{FramedLines, Framing, ReadLines, Reading};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Piece, Reader};
use crate::json::Json;
use crate::lines::utf8;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Read;
use std::ops::ControlFlow;

/// Makes records of lines.
pub trait ParseLines {
    /// Makes a record of a line in UTF-8 that is not blank. A first line that is not the session is
    /// refused with an error after which reading cannot continue.
    ///
    /// # Errors
    /// If the line is no record.
    fn line(&mut self, frame: &Framing) -> Result<Record>;

    /// Returns the session's current node behind the last line, if that is not the last one.
    fn leaf(&self) -> Option<Json> {
        None
    }
}

impl<P: FnMut(&Framing) -> Result<Record>> ParseLines for P {
    fn line(&mut self, frame: &Framing) -> Result<Record> {
        self(frame)
    }
}

/// Reads a part each line of which is one record. Damaged lines behind the first are kept if the
/// options demand that.
///
/// # Errors
/// If the part cannot be read.
pub fn each_line<'a>(
    part: Box<dyn Read>,
    cx: &'a Cx<'a>,
    parse: impl FnMut(&Framing) -> Result<Record> + 'a,
) -> Result<Reader<'a>> {
    each_line_by(part, cx, parse)
}

/// Reads a part as [`each_line`] does, with a parser that may know the current node.
///
/// # Errors
/// If the part cannot be read.
pub fn each_line_by<'a>(
    part: Box<dyn Read>,
    cx: &'a Cx<'a>,
    parse: impl ParseLines + 'a,
) -> Result<Reader<'a>> {
    let frames = FramedLines::over(part, cx.options.max_line)?;
    Ok(Box::new(Reading::new(EachLine { frames, cx, parse, count: 0, begun: false }, cx)))
}

/// Shows the lines of a part with this number of which `json` makes a piece of the session. Others
/// are passed over, as the reader reports them.
///
/// # Errors
/// If the part cannot be read.
pub fn show_lines(
    part: Box<dyn Read>,
    number: u32,
    cx: &Cx<'_>,
    json: fn(&[u8]) -> Option<Cow<'_, [u8]>>,
    show: Piece<'_>,
) -> Result<ControlFlow<()>> {
    let mut frames = FramedLines::over(part, cx.options.max_line)?.of_part(number);
    loop {
        let frame = match frames.next() {
            Ok(Some(frame)) if frame.blank || utf8(&frame.line()).is_err() => continue,
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(ControlFlow::Continue(())),
            Err(error) if error.is_recoverable() => continue,
            Err(error) => return Err(error),
        };
        if json(&frame.bytes).is_some_and(|text| show(frame.at, &text).is_break()) {
            return Ok(ControlFlow::Break(()));
        }
    }
}

struct EachLine<'a, P> {
    frames: FramedLines,
    cx: &'a Cx<'a>,
    parse: P,
    /// Number of records.
    count: u64,
    begun: bool,
}

impl<P: ParseLines> ReadLines for EachLine<'_, P> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(frame) = self.frames.next()? else { return Ok(false) };
        let at = Position { record: self.count, ..frame.at };
        if frame.blank {
            let value = self.frames.record_of_line(&frame);
            ready.push_back(Located { value, at });
            return Ok(true);
        }
        let parsed = utf8(&frame.line()).and_then(|_| self.parse.line(&frame));
        let mut value = match parsed {
            Ok(value) => value,
            Err(error) => self.frames.damaged(&frame, error, self.cx)?,
        };
        self.count += 1;
        self.frames.note(&frame, &mut value, !std::mem::replace(&mut self.begun, true), self.cx);
        ready.push_back(Located { value, at });
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        if !self.begun {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        }
        let (tail, at) = (self.frames.tail(self.cx), self.frames.position());
        let leaf = self.parse.leaf();
        if tail.is_some() || leaf.is_some() {
            let new = || Located { value: Record::new(Kind::Session), at };
            let mut tail = tail.unwrap_or_else(new);
            tail.value.node.put(Field::Leaf, leaf);
            ready.push_back(tail);
        }
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.begun
    }
}
