//! A damaged stream divided into pieces: records, and bytes that are not records.
//!
//! A healthy line is one record. Any other line is walked from its beginning. A value that ends
//! where another begins, or where the line ends, is a record if the format recognises it. Behind
//! bytes that are not a record, the next record begins where two conditions hold: the text begins
//! as the format's records do, and the text behind the value there does not show that it is a
//! nested object.

use super::spread::{EFFORT, Held, Spread, Step, literal_backslashes};
use crate::diagnostic::{Code, Diagnostic, plural};
use crate::error::Result;
use crate::format::{Cx, FoundRecord, Records};
use crate::json::Cursor;
use crate::lines::{BOM, Line, Lines};
use crate::position::Position;
use std::borrow::Cow;
use std::io::Read;

/// Piece of the stream.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A line as it is, before the parts in it.
    Line(Line<'a>),
    /// A blank line, its place, and whether a line ending follows.
    Blank(&'a [u8], Position, bool),
    /// A record.
    Record(FoundRecord<'a>),
    /// Bytes that cannot be in the output, and why.
    Aside(&'a [u8], Position, Code),
}

/// Takes parts in the order of the stream. For a record that is alone on its line, returns whether
/// it is a record.
pub type Show<'a> = &'a mut dyn FnMut(Part<'_>) -> Result<bool>;

/// Walks over a stream, as often as needed; later walks use the findings of the first.
pub struct Pieces<'a> {
    kind: &'static Records,
    salvage: bool,
    cx: &'a Cx<'a>,
    /// Whether this is the first walk, which checks every line and reports the defects.
    first: bool,
    /// Places of the lines that are not one record each, and whether the format refused the line as
    /// a whole.
    broken: Vec<(u64, bool)>,
    /// Number of these lines that this walk has met.
    met: usize,
    head: Option<Head>,
    /// A record whose end may be on a later line.
    spread: Option<Spread>,
    /// Whether lines are shown that turned out to be no record together.
    replays: bool,
    /// Findings of the walks.
    pub found: Found,
}

/// Findings in a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Whether the stream has a defect.
    pub damaged: bool,
    /// Number of bytes that are set aside.
    pub aside: u64,
    /// Records, whole or repaired.
    pub records: u64,
    /// Records that the software does not read.
    pub rescued: u64,
}

/// The first piece of a record into which another was written whole, and that other record. The
/// outer record began first, so it comes first if its second piece is found.
struct Head {
    bytes: Vec<u8>,
    at: Position,
    inner: Vec<u8>,
    inner_at: Position,
}

impl<'a> Pieces<'a> {
    /// Begins for sessions of one format.
    pub fn new(kind: &'static Records, salvage: bool, cx: &'a Cx<'a>) -> Self {
        Self {
            kind,
            salvage,
            cx,
            first: true,
            broken: Vec::new(),
            met: 0,
            head: None,
            spread: None,
            replays: false,
            found: Found::default(),
        }
    }

    /// Shows all parts of a stream.
    ///
    /// # Errors
    /// The errors of `show`, and if the stream cannot be read.
    pub fn walk(&mut self, source: Box<dyn Read>, show: Show<'_>) -> Result<()> {
        self.met = 0;
        let mut lines = Lines::new(source, self.cx.options.max_line);
        if lines.skip_bom()? {
            let at = Position { line: 1, ..Position::default() };
            self.aside(BOM, at, Code::MarkRemoved, show)?;
        }
        while let Some(line) = lines.next()? {
            show(Part::Line(line))?;
            self.line(&line, show)?;
        }
        self.give_up(show)?;
        self.settle(show)?;
        self.first = false;
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>, show: Show<'_>) -> Result<()> {
        let health = if line.is_blank() { (true, false) } else { self.health(line) };
        if self.continues(line, health, show)? {
            return Ok(());
        }
        self.line_with(line, health, show)
    }

    /// Shows a line whose health is known.
    fn line_with(&mut self, line: &Line<'_>, health: (bool, bool), show: Show<'_>) -> Result<()> {
        if line.is_blank() {
            self.settle(show)?;
            return show(Part::Blank(line.bytes, line.at, line.terminated)).map(drop);
        }
        let (healthy, mut refused) = health;
        let joined = self.join(line, show)?;
        if healthy && !joined {
            let record = FoundRecord { bytes: line.bytes, at: line.at, read: true, repaired: None };
            if show(Part::Record(record))? {
                self.found.records += u64::from(self.first);
                return self.ending(line);
            }
            refused = true;
        }
        if joined {
            self.note_broken(line.at, refused);
            return Ok(());
        }
        // The lines of a record are looked at together.
        self.spread = if self.replays { None } else { Spread::of(line, (false, refused)) };
        if self.spread.is_some() { Ok(()) } else { self.broken_line(line, refused, show) }
    }

    fn note_broken(&mut self, at: Position, refused: bool) {
        if self.first {
            self.broken.push((at.byte, refused));
            self.found.damaged = true;
        }
    }

    fn broken_line(&mut self, line: &Line<'_>, refused: bool, show: Show<'_>) -> Result<()> {
        self.note_broken(line.at, refused);
        if !refused || !self.masked(line, show)? {
            self.take_apart(line, refused, show)
        } else {
            Ok(())
        }
    }

    /// Shows the record of a line with escapes that JSON does not know, if nothing else is wrong
    /// with it.
    fn masked(&mut self, line: &Line<'_>, show: Show<'_>) -> Result<bool> {
        let Some(text) = literal_backslashes(line.bytes) else { return Ok(false) };
        if !self.is_record(text.trim_ascii_end(), &mut text.len().saturating_mul(EFFORT)) {
            return Ok(false);
        }
        self.report(Code::EscapeRead, Code::EscapeRead.title(), line.at);
        self.record(text.trim_ascii_end(), line.at, Some(Code::EscapeRead), show)?;
        Ok(true)
    }

    /// Whether a line belongs to the record that an earlier one began. If it does not, the lines
    /// that were kept are shown one by one.
    fn continues(&mut self, line: &Line<'_>, health: (bool, bool), show: Show<'_>) -> Result<bool> {
        let Some(mut spread) = self.spread.take() else { return Ok(false) };
        let record = line.bytes.trim_ascii_end();
        let alone = self.is_record(record, &mut record.len().saturating_mul(EFFORT));
        let step = if alone { Step::Wrong } else { spread.add(line, health) };
        let end = spread.text().trim_ascii_end();
        match step {
            Step::Whole if self.is_record(end, &mut end.len().saturating_mul(EFFORT)) => {
                let at = spread.lines.first().map_or(line.at, |first| first.at);
                for held in &spread.lines {
                    let blank = held.line().is_blank();
                    (!blank).then(|| self.note_broken(held.at, held.health.1));
                }
                self.aside(&spread.source(), at, Code::LinesJoined, show)?;
                self.record(end, at, Some(Code::LinesJoined), show)?;
                Ok(true)
            }
            Step::Open => {
                self.spread = Some(spread);
                Ok(true)
            }
            _ => {
                if !alone {
                    // Another record may begin with this line.
                    spread.lines.pop();
                }
                self.spread = Some(spread);
                self.give_up(show).map(|()| false)
            }
        }
    }

    /// Shows the lines that were kept one by one: they are not a record.
    fn give_up(&mut self, show: Show<'_>) -> Result<()> {
        let Some(spread) = self.spread.take() else { return Ok(()) };
        self.replays = true;
        for (place, Held { bytes, at, terminated, health }) in spread.lines.iter().enumerate() {
            let line = Line { bytes, at: *at, terminated: *terminated };
            if place == 0 {
                self.broken_line(&line, health.1, show)?;
            } else {
                self.line_with(&line, *health, show)?;
            }
        }
        self.replays = false;
        Ok(())
    }

    /// Whether a line can be one record, and whether the format refused it. Later walks use the
    /// result of the first.
    fn health(&mut self, line: &Line<'_>) -> (bool, bool) {
        if self.first {
            return (simdutf8::basic::from_utf8(line.bytes).is_ok(), false);
        }
        match self.broken.get(self.met).filter(|(place, _)| *place == line.at.byte) {
            Some((_, refused)) => {
                self.met += 1;
                (false, *refused)
            }
            None => (true, false),
        }
    }

    /// Reports a last record without a line ending.
    fn ending(&mut self, line: &Line<'_>) -> Result<()> {
        if !line.terminated && self.first {
            self.found.damaged = true;
            self.report(Code::LineEnded, Code::LineEnded.title(), line.at);
        }
        Ok(())
    }

    fn report(&self, code: Code, message: impl Into<String>, at: Position) {
        if self.first {
            self.cx.report(Diagnostic::new(code, message).at(at));
        }
    }

    fn aside(&mut self, bytes: &[u8], at: Position, code: Code, show: Show<'_>) -> Result<()> {
        if self.first {
            self.found.damaged = true;
            self.found.aside += bytes.len() as u64;
            let found = Diagnostic::new(
                code,
                format!("{}: {}", code.title(), plural(bytes.len() as u64, "byte")),
            );
            let found = found.at(at);
            // The window of NUL bytes has no information.
            let nuls = code == Code::NulsRemoved;
            self.cx.report(if nuls { found } else { found.showing(bytes, 0) });
        }
        show(Part::Aside(bytes, at, code)).map(drop)
    }

    /// Shows a record that was found on a broken line. Bytes in it that are not UTF-8 are replaced,
    /// as software that reads it does.
    fn record(
        &mut self,
        bytes: &[u8],
        at: Position,
        repaired: Option<Code>,
        show: Show<'_>,
    ) -> Result<()> {
        let (bytes, repaired) = match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => (Cow::Borrowed(text.as_bytes()), repaired),
            Cow::Owned(text) => {
                // The pieces of a joined record are there already.
                if repaired.is_none() {
                    self.aside(bytes, at, Code::Utf8Replaced, show)?;
                }
                (Cow::Owned(text.into_bytes()), Some(Code::Utf8Replaced))
            }
        };
        let read = repaired == Some(Code::Utf8Replaced);
        if self.first {
            self.found.records += 1;
            self.found.rescued += u64::from(!read);
        }
        show(Part::Record(FoundRecord { bytes: &bytes, at, read, repaired })).map(drop)
    }

    /// Shows the pieces of a broken line.
    fn take_apart(&mut self, line: &Line<'_>, refused: bool, show: Show<'_>) -> Result<()> {
        let bytes = line.bytes;
        let mut budget = bytes.len().saturating_mul(EFFORT);
        let (mut at, mut told) = (0, false);
        while let Some(start) = self.skip_space(bytes, at) {
            let rest = bytes.get(start..).unwrap_or_default();
            let here = line.at.plus(start);
            let nuls = rest.iter().take_while(|b| **b == 0).count();
            if nuls > 0 {
                self.aside(rest.get(..nuls).unwrap_or_default(), here, Code::NulsRemoved, show)?;
                at = start + nuls;
            } else if let Some(length) = self.record_at(rest, start == 0 && !refused, &mut budget) {
                let record = rest.get(..length).unwrap_or_default();
                let apart = at > 0 || length < rest.trim_ascii_end().len();
                if apart && !std::mem::replace(&mut told, true) {
                    self.report(Code::GluedSplit, Code::GluedSplit.title(), here);
                }
                self.record(record, here, None, show)?;
                at = start + length;
            } else {
                let next = self.next_record(rest, &mut budget).unwrap_or(rest.len());
                let (piece, behind) = rest.split_at_checked(next).unwrap_or_default();
                let torn = start == 0 && line.terminated && piece.starts_with(b"{");
                if torn && self.is_record(behind.trim_ascii_end(), &mut budget) {
                    return self.keep_head(piece, here, behind.trim_ascii_end());
                }
                self.rubbish(piece, here, show)?;
                at = start + next;
            }
        }
        Ok(())
    }

    /// Whether bytes are exactly one record.
    fn is_record(&self, bytes: &[u8], budget: &mut usize) -> bool {
        !bytes.is_empty() && self.record_at(bytes, false, budget) == Some(bytes.len())
    }

    /// Keeps the bytes before a record at the end of its line until the next line is known: only a
    /// record that was written whole into the middle of another is there.
    fn keep_head(&mut self, head: &[u8], at: Position, inner: &[u8]) -> Result<()> {
        let inner_at = at.plus(head.len());
        self.report(Code::GluedSplit, Code::GluedSplit.title(), inner_at);
        self.head = Some(Head { bytes: head.to_vec(), at, inner: inner.to_vec(), inner_at });
        Ok(())
    }

    fn skip_space(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        rest.iter().position(|b| !b.is_ascii_whitespace()).map(|space| at + space)
    }

    /// Returns the length of the record with which the bytes begin. At the beginning of a line, a
    /// value that the software would read counts as a record, too.
    fn record_at(&self, bytes: &[u8], alone: bool, budget: &mut usize) -> Option<usize> {
        if bytes.first() != Some(&b'{') {
            return None;
        }
        let length = whole(bytes, budget)?;
        let rest = bytes.get(length..).unwrap_or_default();
        let value = bytes.get(..length).unwrap_or_default();
        let line = alone && rest.trim_ascii().is_empty();
        (line || (self.kind.recognise)(value)).then_some(length)
    }

    /// Returns where the next record begins behind other bytes.
    fn next_record(&self, bytes: &[u8], budget: &mut usize) -> Option<usize> {
        let behind = bytes.get(1..).unwrap_or_default();
        memchr::memmem::find_iter(behind, b"{\"").map(|at| at + 1).find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            if !self.kind.begins.iter().any(|begin| rest.starts_with(begin)) {
                return false;
            }
            let Some(length) = whole(rest, budget) else { return false };
            let (record, after) = rest.split_at_checked(length).unwrap_or_default();
            let after = after.iter().find(|b| !b.is_ascii_whitespace());
            !after.is_some_and(|b| matches!(b, b',' | b'}' | b']')) && (self.kind.recognise)(record)
        })
    }

    /// Sets aside bytes that are not a record, and restores the complete members of a torn one.
    fn rubbish(&mut self, bytes: &[u8], at: Position, show: Show<'_>) -> Result<()> {
        let value = || whole(bytes, &mut usize::MAX.clone()) == Some(bytes.trim_ascii_end().len());
        let torn = bytes.starts_with(b"{") && !value();
        let code = if torn { Code::TornRecord } else { Code::StraySetAside };
        self.aside(bytes, at, code, show)?;
        if let Some(record) = (self.kind.restore)(bytes).filter(|_| torn && self.salvage) {
            self.report(Code::Salvaged, Code::Salvaged.title(), at);
            self.record(&record, at, Some(Code::Salvaged), show)?;
        }
        Ok(())
    }

    /// Joins a record into which a whole one was written: its first piece is before that one,
    /// the second on the next line. If the next line is not the second piece, there is none.
    fn join(&mut self, line: &Line<'_>, show: Show<'_>) -> Result<bool> {
        let Some(head) = &self.head else { return Ok(false) };
        let joined = [head.bytes.as_slice(), line.bytes].concat();
        let fits = whole(&joined, &mut usize::MAX.clone()) == Some(joined.trim_ascii_end().len());
        if !fits || !(self.kind.recognise)(&joined) {
            return self.settle(show).map(|()| false);
        }
        let Some(head) = self.head.take() else { return Ok(false) };
        self.aside(&head.bytes, head.at, Code::RecordJoined, show)?;
        self.aside(line.bytes, line.at, Code::RecordJoined, show)?;
        self.record(&joined, head.at, Some(Code::RecordJoined), show)?;
        self.record(&head.inner, head.inner_at, None, show)?;
        Ok(true)
    }

    /// Ends the wait for the second piece.
    fn settle(&mut self, show: Show<'_>) -> Result<()> {
        let Some(head) = self.head.take() else { return Ok(()) };
        self.rubbish(&head.bytes, head.at, show)?;
        self.record(&head.inner, head.inner_at, None, show)
    }
}

/// Returns the length of the JSON value with which the bytes begin; the bytes walked are subtracted
/// from the budget.
pub fn whole(bytes: &[u8], budget: &mut usize) -> Option<usize> {
    if *budget == 0 {
        return None;
    }
    let mut cursor = Cursor::new(bytes);
    let value = cursor.skip_value();
    let walked = value.as_ref().map_or_else(|fault| fault.at, |span| span.end);
    *budget = budget.saturating_sub(walked);
    value.ok().map(|span| span.end)
}
