//! Framing of files whose records are lines, without the content of the records: marks, line
//! endings, the last line.
//!
//! [`FramedLines`] returns the lines of such a file and remembers the properties that most of them
//! share, so that a record notes only the deviations; [`ParsedLines`] lets an idle thread parse them
//! ahead; [`Reading`] makes a stream of the records;
//! [`Pen`] writes the file again, and [`Chain`] links messages whose lines name none.

mod ahead;
mod chain;
mod each;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::Cx;
use crate::json::Json;
use crate::lines::{BOM, Line, Lines, OwnedLine, empty};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
pub use ahead::ParsedLines;
use bytes::Bytes;
pub use chain::Chain;
pub use each::{ParseLines, each_line, each_line_by, show_lines};
use std::collections::VecDeque;
use std::io::{Read, Write};

/// A line with its own copy of the bytes, which its record's values share.
#[derive(Clone, Debug)]
pub struct Framing {
    /// The bytes without the line ending.
    pub bytes: Bytes,
    /// Where it begins.
    pub at: Position,
    /// Whether a line ending follows.
    pub terminated: bool,
    /// Whether that is `\r\n`.
    pub cr: bool,
    /// Whether the line contains only white space.
    pub blank: bool,
}

impl Framing {
    /// Returns the line in the form that the checks need.
    pub fn line(&self) -> Line<'_> {
        Line { bytes: &self.bytes, at: self.at, terminated: self.terminated }
    }
}

/// The lines of a part.
pub struct FramedLines {
    lines: Lines<Box<dyn Read>>,
    /// Whether the part begins with a byte order mark.
    pub bom: bool,
    /// Whether the first record's line ends with `\r\n`; unknown before it.
    crlf: Option<bool>,
    /// Position of the last line if it has no line ending, and whether it is a whole record.
    unterminated: Option<(Position, bool)>,
    /// Number of the part of the session.
    part: u32,
}

impl FramedLines {
    /// Opens the lines of a part.
    pub fn over(part: Box<dyn Read>, limit: usize) -> Result<Self> {
        let mut lines = Lines::new(part, limit);
        let bom = lines.skip_bom()?;
        Ok(Self { lines, bom, crlf: None, unterminated: None, part: 0 })
    }

    /// Sets the number of the part.
    pub fn of_part(self, part: u32) -> Self {
        Self { part, ..self }
    }

    /// Returns the next line.
    ///
    /// # Errors
    /// The errors of [`Lines::next`].
    #[allow(clippy::should_implement_trait, reason = "an error does not end the lines")]
    pub fn next(&mut self) -> Result<Option<Framing>> {
        let Some(mut kept) = self.lines.next_owned()? else { return Ok(None) };
        let (blank, cr) = (kept.line().is_blank(), kept.take_cr());
        let OwnedLine { bytes, at, terminated } = kept;
        let at = Position { part: self.part, ..at };
        self.unterminated = (!terminated).then_some((at, true));
        Ok(Some(Framing { bytes, at, terminated, cr, blank }))
    }

    /// Returns the record of a line that is kept unchanged. A line before the first
    /// record keeps the byte order mark.
    pub fn record_of_line(&mut self, frame: &Framing) -> Record {
        match self.crlf.is_none() && std::mem::take(&mut self.bom) {
            true => Record::of_line(&Bytes::from([BOM, &frame.bytes].concat())),
            false => Record::of_line(&frame.bytes),
        }
    }

    /// Reports the damage of a line, and keeps the line.
    pub fn damaged(&mut self, frame: &Framing, error: Error, cx: &Cx<'_>) -> Result<Record> {
        let keeps = cx.keeps(&error);
        if !frame.terminated {
            self.unterminated = keeps.then_some((frame.at, false));
        }
        if !keeps {
            return Err(error);
        }
        cx.report(error.into_diagnostic());
        Ok(self.record_of_line(frame))
    }

    /// Returns where the next line begins.
    pub fn position(&self) -> Position {
        Position { part: self.part, ..self.lines.position() }
    }

    /// Sets the line ending of the file, which begins at `at` if it is one of several. Returns the
    /// properties of the file.
    pub fn begin(&mut self, crlf: bool, at: Option<Position>, cx: &Cx<'_>) -> Option<Node> {
        self.crlf = Some(crlf);
        cx.file(self.bom, crlf, at)
    }

    /// Notes the properties of the file in its first record, which determines the line ending.
    pub fn note(&mut self, frame: &Framing, record: &mut Record, first: bool, cx: &Cx<'_>) {
        if first {
            let at = (self.part > 0).then_some(frame.at);
            record.node.put(Field::File, self.begin(frame.cr, at, cx));
        }
    }

    /// Returns a record of the property that is known only at the end: that the last line has no
    /// ending.
    pub fn tail(&mut self, cx: &Cx<'_>) -> Option<Located<Record>> {
        let (at, whole) = self.unterminated.take()?;
        // The rest of a torn record is missing, too, which was reported.
        if whole {
            let message = Code::NoFinalNewline.title();
            cx.report(Diagnostic::new(Code::NoFinalNewline, message).at(at));
        }
        let file = Node::default().with(Field::FinalNewline, Json::constant("false"));
        let value = Record::new(Kind::Session).with(Field::File, file);
        Some(Located { value, at })
    }
}

/// Reader of the records of lines.
pub trait ReadLines {
    /// Queues the records of the next line; returns false at the end.
    ///
    /// # Errors
    /// If the line cannot be read. Reading continues after it if the options tolerate that.
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool>;

    /// Queues the records that are known only at the end.
    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()>;

    /// Whether the lines behind an error can be read: not before the first record, where the format
    /// needs it.
    fn has_begun(&self) -> bool {
        true
    }
}

/// The records of a reader of lines, one by one.
pub struct Reading<'a, R> {
    /// The reader.
    pub reader: R,
    cx: &'a Cx<'a>,
    ready: VecDeque<Located<Record>>,
    done: bool,
}

impl<'a, R: ReadLines> Reading<'a, R> {
    /// Begins to read.
    pub fn new(reader: R, cx: &'a Cx<'a>) -> Self {
        Self::behind(VecDeque::new(), reader, cx)
    }

    /// Begins to read behind these records.
    pub fn behind(ready: VecDeque<Located<Record>>, reader: R, cx: &'a Cx<'a>) -> Self {
        Self { reader, cx, ready, done: false }
    }
}

impl<R: ReadLines> Iterator for Reading<'_, R> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            if self.done {
                return None;
            }
            match self.reader.line(&mut self.ready) {
                Ok(true) => {}
                Ok(false) => {
                    self.done = true;
                    if let Err(error) = self.reader.tail(&mut self.ready) {
                        return Some(Err(error));
                    }
                }
                Err(error) => {
                    if let Err(error) = self.cx.tolerate(error) {
                        self.done = !error.is_recoverable() || !self.reader.has_begun();
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}

/// Size, in bytes, of the pieces in which output is passed on.
const CHUNK: usize = 256 << 10;

/// Writes lines to a part.
pub struct Pen {
    to: Box<dyn Write>,
    out: Vec<u8>,
    eol: &'static [u8],
    /// The line ending that the line written last still lacks.
    pending: Option<&'static [u8]>,
    final_newline: bool,
}

impl Pen {
    /// Begins writing to a part.
    pub fn to(part: Box<dyn Write>) -> Self {
        Self { to: part, out: Vec::new(), eol: b"\n", pending: None, final_newline: true }
    }

    /// Applies the properties of the file that a session record contains; the `first` record comes
    /// before all lines.
    pub fn file(&mut self, session: &Node, first: bool) {
        let Some(file) = session.node(Field::File) else { return };
        if file.json(Field::FinalNewline).is_some_and(|b| b.as_bytes() == b"false") {
            self.final_newline = false;
        }
        if first && file.is(Field::Eol, "crlf") {
            self.eol = b"\r\n";
        }
        if first && file.is_true(Field::Bom) {
            self.out.extend_from_slice(BOM);
        }
    }

    /// Begins a line; returns the buffer for its bytes.
    pub fn line(&mut self) -> Result<&mut Vec<u8>> {
        self.more()?;
        if let Some(eol) = self.pending.replace(self.eol) {
            self.out.extend_from_slice(eol);
        }
        Ok(&mut self.out)
    }

    /// Writes a line.
    pub fn put(&mut self, line: &[u8]) -> Result<()> {
        self.put_pieces(&[line])
    }

    /// Writes a line by its pieces. A large one is not copied into the buffer.
    pub fn put_pieces(&mut self, line: &[&[u8]]) -> Result<()> {
        self.line()?;
        for piece in line {
            if piece.len() < CHUNK {
                self.out.extend_from_slice(piece);
                continue;
            }
            self.flush()?;
            self.to.write_all(piece).cannot("write")?;
        }
        Ok(())
    }

    /// Writes a line, unless `write` returns false; returns whether it did.
    pub fn try_line(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> Result<bool> {
        let (pending, start) = (self.pending, self.more()?.len());
        let written = write(self.line()?);
        if !written {
            self.out.truncate(start);
            self.pending = pending;
        }
        Ok(written)
    }

    /// Continues a line that may be too long for memory.
    pub fn more(&mut self) -> Result<&mut Vec<u8>> {
        if self.out.len() >= CHUNK {
            self.flush()?;
        }
        Ok(&mut self.out)
    }

    /// Writes a line that was kept as it is; returns false if the record is not such a line.
    pub fn write_unchanged(&mut self, record: &Record) -> Result<bool> {
        let line = record.node.line().filter(|_| record.kind == Kind::Opaque);
        let Some(line) = line else { return Ok(false) };
        self.put(&line)?;
        Ok(true)
    }

    fn flush(&mut self) -> Result<()> {
        self.to.write_all(&self.out).cannot("write")?;
        empty(&mut self.out);
        Ok(())
    }

    /// Whether no line was written.
    pub fn is_unused(&self) -> bool {
        self.pending.is_none()
    }

    /// Ends the last line and passes all output on.
    pub fn finish(mut self) -> Result<()> {
        if let Some(eol) = self.pending.take().filter(|_| self.final_newline) {
            self.out.extend_from_slice(eol);
        }
        self.flush()?;
        self.to.flush().cannot("write")
    }
}
