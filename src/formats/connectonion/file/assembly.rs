//! Assembly of the file from parts that were written before their places were known.

use super::super::{cannot_write, encoding_of};
use super::top::Shape;
use crate::error::{Cannot, Error, Result};
use crate::format::Spool;
use crate::lines::BOM;
use crate::record::{Field, Node};
use crate::yaml::encoding::{Encoder, UTF_8};
use crate::yaml::write::{Emitter, Style};
use std::io::{self, SeekFrom, Write};

/// A part of the file that is written before its place is known.
pub struct Section {
    /// Emitter for the part's text.
    pub yaml: Emitter,
    spool: Box<dyn Spool>,
}

/// Size in bytes from which output is passed on.
pub const CHUNK: usize = 256 << 10;

impl Section {
    /// Begins the member of this name; `turns` is a sequence, any other a mapping.
    pub fn new(name: &str, spool: Box<dyn Spool>) -> Self {
        let mut yaml = Emitter::new(Style::PyYaml);
        yaml.begin_mapping().string(name);
        if name == "turns" {
            yaml.begin_sequence();
        } else {
            yaml.begin_mapping();
        }
        Self { yaml, spool }
    }

    /// Moves the buffered text to the spool if it has at least `size` bytes.
    pub fn flush(&mut self, size: usize) -> Result<()> {
        let buffer = self.yaml.buffer();
        if buffer.len() >= size {
            self.spool.write_all(buffer).cannot("write to a temporary file")?;
            buffer.clear();
        }
        Ok(())
    }

    /// Moves the buffered text to its place in the file if it has at least `size` bytes. The spool
    /// must be empty.
    pub fn pour(&mut self, size: usize, to: &mut Out) -> Result<()> {
        let buffer = self.yaml.buffer();
        if buffer.len() >= size {
            to.put(buffer)?;
            buffer.clear();
        }
        Ok(())
    }

    /// Copies the whole part to its place in the file.
    pub fn finish(&mut self, to: &mut Out) -> Result<()> {
        let failed = |error| Error::io("cannot read a temporary file", error);
        self.spool.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = self.spool.read(&mut chunk).map_err(failed)?;
            if read == 0 {
                break;
            }
            to.put(chunk.get(..read).unwrap_or_default())?;
        }
        self.yaml.close();
        self.pour(0, to)
    }
}

/// The output file.
pub struct Out {
    to: Encoder<Box<dyn Write>>,
    crlf: bool,
    /// Whether a line ending is not written yet: the last one may be missing.
    pending: bool,
}

impl Out {
    /// Writes text; its last line ending is held back.
    pub fn put(&mut self, text: &[u8]) -> Result<()> {
        let written = if self.crlf {
            text.split_inclusive(|b| *b == b'\n').try_for_each(|line| self.line(line))
        } else {
            self.line(text)
        };
        written.map_err(cannot_write)
    }

    /// Writes text that contains at most one line ending, as its last byte.
    fn line(&mut self, text: &[u8]) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_pending()?;
        let line = text.strip_suffix(b"\n");
        self.pending = line.is_some();
        self.to.write_all(line.unwrap_or(text))
    }

    /// Ends the file; the session record contains whether its last line is ended.
    pub fn end(mut self, session: &Node) -> Result<()> {
        let file = session.node(Field::File);
        let cut = file.is_some_and(|file| file.json(Field::FinalNewline).is_some());
        let ended = if cut { Ok(()) } else { self.end_pending() };
        ended.and_then(|()| self.to.flush()).map_err(cannot_write)
    }

    fn end_pending(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.pending) {
            self.to.write_all(if self.crlf { b"\r\n" } else { b"\n" })?;
        }
        Ok(())
    }
}

/// The text before the turns, and the style in which the whole file is spelled.
pub struct Frame<'f> {
    pub shape: &'static Shape,
    /// The session record.
    pub top: &'f Node,
    /// Whether the record comes from a file of this kind.
    pub own: bool,
    pub style: Style,
}

impl Frame<'_> {
    /// Begins the file; the turns come next.
    pub fn begin(&self, to: Box<dyn Write>) -> Result<Out> {
        let none = Node::default();
        let file = self.top.node(Field::File).unwrap_or(&none);
        let encoding = if self.own { encoding_of(file)? } else { UTF_8 };
        let crlf = file.is(Field::Eol, "crlf");
        let mut out = Out { to: Encoder::new(to, encoding), crlf, pending: false };
        if file.is_true(Field::Bom) {
            out.put(BOM)?;
        }
        out.put(&self.shape.text(self.top, self.style))?;
        Ok(out)
    }
}

/// Merges the file properties of a later session record into the first one.
pub fn add_file(top: &mut Node, later: &Node) {
    let Some(new) = later.node(Field::File) else { return };
    let mut file = top.node(Field::File).cloned().unwrap_or_default();
    new.iter().for_each(|(field, value)| file.set(field, value.clone()));
    top.set(Field::File, file);
}
