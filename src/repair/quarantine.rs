//! What is set aside, as JSON Lines.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::json::text;
use crate::position::Position;
use std::io::{BufWriter, Write};

/// The part that takes what cannot stand in the output.
pub const QUARANTINE: &str = ".quarantine.jsonl";

/// Writes what is set aside, each piece with where it stood and why it could not stay.
#[derive(Default)]
pub struct Quarantine {
    out: Option<BufWriter<Box<dyn Write>>>,
    /// How many bytes were set aside.
    taken: u64,
}

impl Quarantine {
    /// Into a part.
    pub fn new(part: Box<dyn Write>) -> Self {
        Self { out: Some(BufWriter::new(part)), taken: 0 }
    }

    /// Sets bytes of a part aside.
    ///
    /// # Errors
    /// If they cannot be written.
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
        if !part.is_empty() {
            line.extend_from_slice(b"\"part\":");
            text::quote(part, &mut line);
            line.push(b',');
        }
        match std::str::from_utf8(bytes) {
            // NUL bytes are text by name only.
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
        out.write_all(&line).map_err(|error| Error::io("cannot write the quarantine", error))
    }

    /// Writes what is left; says how many bytes were set aside.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(&mut self) -> Result<u64> {
        let flushed = self.out.as_mut().map_or(Ok(()), Write::flush);
        flushed
            .map(|()| self.taken)
            .map_err(|error| Error::io("cannot write the quarantine", error))
    }
}
