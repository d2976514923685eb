//! Strict reader of the stream: only known kinds, only their fields, only values of their shape.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::{ReadLines, Reading};
use crate::lines::Lines;
use crate::mapping::record_text::parse;
use crate::position::{Located, Position};
use crate::record::{Kind, Record};
use std::collections::VecDeque;
use std::io::Read;

/// Opens a stream for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut lines = Lines::new(parts.main()?, cx.options.max_line);
    lines.skip_bom()?;
    Ok(Box::new(Reading::new(Records { lines, cx, number: 0, begun: false }, cx)))
}

struct Records<'a> {
    lines: Lines<Box<dyn Read>>,
    cx: &'a Cx<'a>,
    number: u64,
    /// Whether the session record came.
    begun: bool,
}

impl ReadLines for Records<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(kept) = self.lines.next_owned()? else { return Ok(false) };
        let (line, bytes) = (kept.line(), &kept.bytes);
        if line.is_blank() {
            return Ok(true);
        }
        let at = Position { record: self.number, ..line.at };
        self.number += 1;
        let value = match parse(&line, bytes) {
            Ok(value) => {
                self.begun |= value.kind == Kind::Session;
                if !self.begun && value.kind.is_named() {
                    return Err(Error::unfit(headless(value.kind).at(at)));
                }
                value
            }
            Err(error) if self.cx.keeps(&error) => {
                self.cx.report(error.into_diagnostic());
                Record::of_line(bytes)
            }
            Err(error) => return Err(error),
        };
        ready.push_back(Located { value, at });
        Ok(true)
    }

    fn tail(&mut self, _: &mut VecDeque<Located<Record>>) -> Result<()> {
        Ok(())
    }
}

/// Returns the finding for a stream in which a record of this kind comes before the session
/// record: the source, and with it the rules for reading, are not known yet.
pub fn headless(kind: Kind) -> Diagnostic {
    let message = format!(
        "a record `{}` precedes the record `session`, which must be first, or there is no such record",
        kind.name()
    );
    Diagnostic::new(Code::BadRecord, message)
}
