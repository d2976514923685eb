//! Repair of files in UTF-16 as the same text in UTF-8: repair takes files apart by lines, and
//! looks for the lines in bytes.
//!
//! The repaired file and the quarantined bytes are written in UTF-16 again. A file that was cut may
//! end in half of a character, which is set aside as it is.

use crate::diagnostic::Code;
use crate::error::{Cannot, Error, Result};
use crate::format::{Change, Parts, RepairIo};
use crate::position::Position;
use crate::yaml::encoding::{Decoder, Encoder, Encoding, Found, UTF_16BE, UTF_16LE, encode};
use std::io::{self, ErrorKind, Read, Write};

/// Whether a text is in UTF-16.
pub fn is_wide(found: &Found) -> bool {
    found.encoding == UTF_16LE || found.encoding == UTF_16BE
}

/// A wrapper of the repair's input and output that shows the main part in UTF-8.
pub struct Narrow<'b> {
    io: &'b mut dyn RepairIo,
    encoding: &'static Encoding,
    /// Whether the text begins with a byte order mark.
    mark: bool,
    /// Length of the text in bytes, without the half of a character at its end.
    length: u64,
    /// The half of a character at the end.
    half: Vec<u8>,
    /// Length of the text in UTF-8, which is the unit of reported positions.
    utf8_length: u64,
}

impl<'b> Narrow<'b> {
    /// Wraps a text in the encoding that was `found`; `None` if not all of it is in that encoding.
    pub fn over(io: &'b mut dyn RepairIo, found: &Found) -> Result<Option<Self>> {
        let (encoding, mark) = (found.encoding, found.mark);
        let mut narrow =
            Self { io, encoding, mark, length: u64::MAX, half: Vec::new(), utf8_length: 0 };
        narrow.halve()?;
        match io::copy(&mut narrow.main()?, &mut io::sink()) {
            Ok(utf8_length) => Ok(Some(Self { utf8_length, ..narrow })),
            Err(error) if error.kind() == ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(Error::io("cannot read", error)),
        }
    }

    /// Detects half of a character at the end of the text.
    fn halve(&mut self) -> Result<()> {
        let mut end = Ended::default();
        let bytes = io::copy(&mut self.io.parts().main()?, &mut end).cannot("read")?;
        let odd = usize::from(bytes % 2 == 1);
        let last = end.0.get(..end.0.len() - odd).unwrap_or_default();
        let unit = match last.last_chunk() {
            Some(unit) if self.encoding == UTF_16LE => u16::from_le_bytes(*unit),
            Some(unit) => u16::from_be_bytes(*unit),
            None => 0,
        };
        let half = odd + if (0xd800..0xdc00).contains(&unit) { 2 } else { 0 };
        self.half = end.0.split_off(end.0.len() - half.min(end.0.len()));
        self.length = bytes - self.half.len() as u64;
        Ok(())
    }

    /// Whether the file ends in half of a character.
    pub fn is_cut(&self) -> bool {
        !self.half.is_empty()
    }
}

impl Parts for Narrow<'_> {
    fn names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn open(&mut self, _: &str) -> Result<Box<dyn Read>> {
        let text = self.io.parts().main()?.take(self.length);
        Ok(Box::new(Decoder::new(text, Some(self.encoding))))
    }

    fn keep(&mut self) -> Result<()> {
        self.io.parts().keep()
    }
}

impl RepairIo for Narrow<'_> {
    fn parts(&mut self) -> &mut dyn Parts {
        self
    }

    fn takes_parts(&self) -> bool {
        self.io.takes_parts()
    }

    fn is_in_place(&self) -> bool {
        self.io.is_in_place()
    }

    fn begin(&mut self, removes: bool) -> Result<()> {
        self.io.begin(removes || self.is_cut())?;
        if self.is_cut() {
            let at = Position { byte: self.utf8_length, ..Position::default() };
            self.io.aside("", &self.half, at, Code::TornRecord)?;
        }
        Ok(())
    }

    fn create(&mut self, part: &str) -> Result<Box<dyn Write>> {
        let mut wide = Encoder::new(self.io.create(part)?, self.encoding);
        let mark = if self.mark { "\u{feff}" } else { "" };
        wide.write_all(mark.as_bytes()).cannot("write")?;
        Ok(Box::new(wide))
    }

    fn share(&mut self, part: &str, change: Option<Box<dyn Change>>) {
        self.io.share(part, change);
    }

    fn keep(&mut self, part: &str) -> Result<()> {
        if !self.is_cut() {
            return self.io.keep(part);
        }
        let (mut text, mut out) = (self.open(part)?, self.create(part)?);
        io::copy(&mut text, &mut out).and_then(|_| out.flush()).cannot("write")
    }

    fn aside(&mut self, part: &str, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        let mut wide = Vec::new();
        match std::str::from_utf8(bytes).map(|text| encode(text, self.encoding, &mut wide)) {
            Ok(Ok(())) => self.io.aside(part, &wide, at, code),
            _ => self.io.aside(part, bytes, at, code),
        }
    }
}

/// Writer that keeps the last bytes written to it.
#[derive(Default)]
struct Ended(Vec<u8>);

impl Write for Ended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        /// Maximum number of bytes to keep: one byte, and a pair of surrogates before it.
        const MOST: usize = 5;
        let new = bytes.len().saturating_sub(MOST);
        self.0.extend_from_slice(bytes.get(new..).unwrap_or_default());
        self.0.drain(..self.0.len().saturating_sub(MOST));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
