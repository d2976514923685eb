//! The text that the scanner of the plain layout sees: a window of the stream, checked.

use std::io::{self, Read};

/// Number of bytes requested from the reader at a time.
const CHUNK: usize = 64 << 10;

/// A stream from the last place on to which the scanner may have to return.
#[derive(Debug)]
pub struct Window<R> {
    reader: R,
    bytes: Vec<u8>,
    /// Offset in the stream of the first of `bytes`.
    pub base: usize,
    /// Number of `bytes` that are text without any surprise.
    plain: usize,
    /// End of the stream, or of the text that the scanner surely understands.
    end: End,
}

#[derive(Debug)]
enum End {
    /// No end was seen yet.
    Open,
    /// The stream is at its end.
    Stream,
    /// Text that is left to the parser follows: a surprise, or an error of the reader.
    Surprise(Option<io::Error>),
}

impl<R: Read> Window<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, bytes: Vec::new(), base: 0, plain: 0, end: End::Open }
    }

    /// Returns the visible text.
    pub fn text(&self) -> &[u8] {
        self.bytes.get(..self.plain).unwrap_or_default()
    }

    /// Whether the stream ends with the visible text.
    pub fn is_last(&self) -> bool {
        matches!(self.end, End::Stream)
    }

    /// Drops the bytes before `start`, once that saves more than the move of the rest costs;
    /// returns how many bytes were dropped.
    pub fn forget(&mut self, start: usize) -> usize {
        if start < CHUNK || start < self.bytes.len() / 2 {
            return 0;
        }
        self.bytes.drain(..start);
        self.base += start;
        self.plain -= start;
        start
    }

    /// Reads on, at least as many bytes as there are behind `start`, because the reader of a long
    /// scalar begins again each time. Returns false if no more text becomes visible.
    pub fn widen(&mut self, start: usize) -> bool {
        if !matches!(self.end, End::Open) {
            return false;
        }
        let held = self.bytes.len();
        let wanted = CHUNK.max(held - start) as u64;
        let read = self.reader.by_ref().take(wanted).read_to_end(&mut self.bytes);
        let new = self.bytes.get(self.plain..).unwrap_or_default();
        let (plain, surprise) = plain(new);
        // The beginning of a character waits for the rest of it.
        let cut = !surprise && plain < new.len();
        self.plain += plain;
        self.end = match read {
            Err(error) => End::Surprise(Some(error)),
            Ok(_) if surprise => End::Surprise(None),
            Ok(n) if (n as u64) < wanted && cut => End::Surprise(None),
            Ok(n) if (n as u64) < wanted => End::Stream,
            Ok(_) => End::Open,
        };
        true
    }

    /// Returns the stream from `start` on, with text before it that the stream does not contain.
    pub fn into_rest(self, start: usize, before: Vec<u8>) -> Rest<R> {
        let mut text = before;
        text.extend_from_slice(self.bytes.get(start..).unwrap_or_default());
        let error = match self.end {
            End::Surprise(error) => error,
            _ => None,
        };
        Rest { text: io::Cursor::new(text), error, reader: self.reader }
    }
}

/// Remainder of a stream.
#[derive(Debug)]
pub struct Rest<R> {
    text: io::Cursor<Vec<u8>>,
    error: Option<io::Error>,
    reader: R,
}

impl<R: Read> Rest<R> {
    /// Returns a whole stream.
    pub fn whole(reader: R) -> Self {
        Self { text: io::Cursor::default(), error: None, reader }
    }
}

impl<R: Read> Read for Rest<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(into)?;
        if read > 0 || into.is_empty() {
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.reader.read(into),
        }
    }
}

/// Returns how many of some bytes are text without a surprise, and whether a surprise follows,
/// rather than the first bytes of a character.
///
/// Surprises are bytes that are not UTF-8, control characters except `\n`, the marks and line
/// breaks of YAML 1.1 (U+0085, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF), and the character that
/// [`source`](super::source) uses itself.
fn plain(bytes: &[u8]) -> (usize, bool) {
    let (valid, broken) = match simdutf8::compat::from_utf8(bytes) {
        Ok(_) => (bytes.len(), false),
        Err(fault) => (fault.valid_up_to(), fault.error_len().is_some()),
    };
    let text = bytes.get(..valid).unwrap_or_default();
    match surprise(text) {
        Some(at) => (at, true),
        None => (valid, broken),
    }
}

/// Returns the place of the first surprise in text.
fn surprise(text: &[u8]) -> Option<usize> {
    // Sixty-four bytes are tested at a time, without a branch within; few such blocks need a second
    // test.
    let mut at = 0;
    for block in text.chunks(64) {
        if block.iter().fold(false, |found, b| found | is_suspect(*b)) {
            let suspects = block.iter().enumerate().filter(|(_, b)| is_suspect(**b));
            for (i, _) in suspects {
                if is_surprise(text.get(at + i..).unwrap_or_default()) {
                    return Some(at + i);
                }
            }
        }
        at += block.len();
    }
    None
}

/// Whether a byte may begin a surprise.
#[inline]
fn is_suspect(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n')
        | (byte == 0x7f)
        | (byte == 0xc2)
        | (byte == 0xce)
        | (byte == 0xe2)
        | (byte == 0xef)
}

fn is_surprise(text: &[u8]) -> bool {
    match text {
        [0xc2, 0x80..0xa0, ..] | [0xce, 0xa2, ..] => true,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..] => {
            true
        }
        [byte, ..] => *byte < 0x20 || *byte == 0x7f,
        [] => false,
    }
}
