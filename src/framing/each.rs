//! Records of a part each line of which is one record.

use super::{FramedLines, Framing, ReadLines, Reading};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Reader};
use crate::lines::utf8;
use crate::position::{Located, Position};
use crate::record::Record;
use std::collections::VecDeque;
use std::io::Read;

/// Reads a part each line of which is one record. `parse` makes a record of a line in UTF-8 that is
/// not blank; it refuses a first line that is not the session with an error after which reading
/// cannot continue. Other damaged lines are kept if the options demand that.
///
/// # Errors
/// If the part cannot be read.
pub fn each_line<'a>(
    part: Box<dyn Read>,
    cx: &'a Cx<'a>,
    parse: impl FnMut(&Framing) -> Result<Record> + 'a,
) -> Result<Reader<'a>> {
    let frames = FramedLines::over(part, cx.options.max_line)?;
    Ok(Box::new(Reading::new(EachLine { frames, cx, parse, count: 0, begun: false }, cx)))
}

struct EachLine<'a, P> {
    frames: FramedLines,
    cx: &'a Cx<'a>,
    parse: P,
    /// Number of records.
    count: u64,
    begun: bool,
}

impl<P: FnMut(&Framing) -> Result<Record>> ReadLines for EachLine<'_, P> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(frame) = self.frames.next()? else { return Ok(false) };
        let at = Position { record: self.count, ..frame.at };
        if frame.blank {
            let value = self.frames.record_of_line(&frame);
            ready.push_back(Located { value, at });
            return Ok(true);
        }
        let parsed = utf8(&frame.line()).and_then(|_| (self.parse)(&frame));
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
        ready.extend(self.frames.tail(self.cx));
        Ok(())
    }

    fn has_begun(&self) -> bool {
        self.begun
    }
}
