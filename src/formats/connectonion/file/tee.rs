//! Properties of a file's text, noted while the text is read.

use crate::yaml::encoding::{Decoder, Encoding, Found};
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Properties of the text that was read so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The encoding that the decoder found.
    pub found: Option<Found>,
    /// Whether the first line ends with `\r\n`, once it was read.
    crlf: Option<bool>,
    last: u8,
}

impl Seen {
    /// Whether lines end with `\r\n`.
    pub fn crlf(&self) -> bool {
        self.crlf == Some(true)
    }

    /// Whether the text ends with a line ending; valid only at its end.
    pub fn is_ended(&self) -> bool {
        self.last == b'\n'
    }
}

/// Reader that decodes a part, and notes the properties of its text.
pub struct Tee {
    source: Decoder<Box<dyn Read>>,
    seen: Rc<Cell<Seen>>,
}

impl Tee {
    /// Wraps a part, and decodes it; the encoding is detected unless it is named.
    pub fn new(part: Box<dyn Read>, encoding: Option<&'static Encoding>) -> (Self, Rc<Cell<Seen>>) {
        let seen = Rc::<Cell<Seen>>::default();
        (Self { source: Decoder::new(part, encoding), seen: Rc::clone(&seen) }, seen)
    }
}

impl Read for Tee {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        let mut seen = self.seen.get();
        let text = into.get(..read).unwrap_or_default();
        if seen.crlf.is_none()
            && let Some(end) = memchr::memchr(b'\n', text)
        {
            let before = end.checked_sub(1).and_then(|at| text.get(at)).copied();
            seen.crlf = Some(before.unwrap_or(seen.last) == b'\r');
        }
        seen.last = text.last().copied().unwrap_or(seen.last);
        seen.found = Some(self.source.found());
        self.seen.set(seen);
        Ok(read)
    }
}
