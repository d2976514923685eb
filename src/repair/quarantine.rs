//! Quarantine: the bytes that repair sets aside, as JSON Lines.

use crate::diagnostic::Code;
use crate::error::{Cannot, Error, Result};
use crate::format::Sink;
use crate::json::text;
use crate::parts::room::{Part, Room};
use crate::position::Position;
use std::io::{BufWriter, Write};

/// The part for bytes that cannot be in the output.
pub const QUARANTINE: &str = ".quarantine.jsonl";

/// Writes the bytes that are set aside, each piece with its place and the reason.
#[derive(Default)]
pub struct Quarantine {
    part: Option<Part>,
    out: Option<BufWriter<Part>>,
    /// Number of repairs before this one.
    pass: u32,
    /// Number of bytes that were set aside.
    taken: u64,
    /// Number of bytes set aside, and length of the part, when this repair began.
    before: (u64, u64),
}

impl Quarantine {
    /// Begins another repair, of the result of the one before.
    pub fn turn(&mut self) {
        self.pass += 1;
        self.out = None;
        self.before = (self.taken, self.part.as_ref().map_or(0, Part::length));
    }

    /// Whether this repair set anything aside.
    pub fn has_additions(&self) -> bool {
        self.taken > self.before.0
    }

    /// Removes the bytes that this repair set aside, because its result is not used.
    pub fn turn_back(&mut self) {
        let (taken, length) = self.before;
        self.taken = taken;
        // Buffered bytes are dropped, not written.
        self.out.take().map(BufWriter::into_parts);
        self.part.iter_mut().for_each(|part| part.cut(length));
        self.part.take_if(|_| length == 0);
    }

    /// Opens the part for writing, behind the bytes that it has.
    pub fn open(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let part = match &mut self.part {
            Some(part) => part,
            empty => empty.insert(Room::of(sink.spool()?).part()),
        };
        self.out = Some(BufWriter::new(part.clone()));
        Ok(())
    }

    /// Sets bytes of a part aside.
    pub fn take(&mut self, part: &str, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        let Some(out) = &mut self.out else {
            return Err(Error::request(Code::NoQuarantine, Code::NoQuarantine.title()));
        };
        self.taken += bytes.len() as u64;
        let mut line = Vec::with_capacity(bytes.len() + 160);
        let head = format!(
            "{{\"code\":\"{}\",\"reason\":\"{}\",\"line\":{},\"offset\":{},\"length\":{},",
            code.name(),
            code.title(),
            at.line,
            at.byte,
            bytes.len()
        );
        line.extend_from_slice(head.as_bytes());
        if self.pass > 0 {
            line.extend_from_slice(format!("\"pass\":{},", self.pass + 1).as_bytes());
        }
        if !part.is_empty() {
            line.extend_from_slice(b"\"part\":");
            text::quote(part, &mut line);
            line.push(b',');
        }
        match std::str::from_utf8(bytes) {
            // NUL bytes are valid text in name only.
            Ok(plain) if !bytes.contains(&0) => {
                line.extend_from_slice(b"\"text\":");
                text::quote(plain, &mut line);
            }
            _ => {
                line.extend_from_slice(b"\"base64\":");
                text::quote(&text::to_base64(bytes), &mut line);
            }
        }
        line.extend_from_slice(b"}\n");
        out.write_all(&line).cannot("write the quarantine")
    }

    /// Writes the buffered bytes.
    pub fn flush(&mut self) -> Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush).cannot("write the quarantine")
    }

    /// Returns how many bytes were set aside.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the part, if anything was set aside.
    pub fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }
}
