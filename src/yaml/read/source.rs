//! The text that the parser reads: a window of the stream, as wide as the longest scalar.
//!
//! The parser comes with an input over a string, which is fast, and one over an iterator of
//! characters, which is bounded. The input of this module is both: it takes the stream in chunks
//! and keeps the text from the end of the last event on. The parser can request slices of the
//! scalar that it is reading and knows its place in bytes.
//!
//! # Halves of surrogate pairs
//!
//! PyYAML writes half of a surrogate pair as `"\ud800"`, and the spelling of an emoji by
//! `json.dumps` as `"\ud83d\ude00"`. Parsers in Rust refuse the first: their scalars are strings.
//! Therefore the `\u` of every escape that can only be a half is replaced by [`MARK`], which is as
//! long, and restored in every scalar except those in double quotes, where it is decoded (see
//! [`halves`](super::halves)). A `MARK` that the stream itself contains is doubled.

use granit_parser::input::{BorrowedInput, Input};
use granit_parser::{ErrorKind, InputIoError};
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Replacement for `\u` in front of the digits of a surrogate. Unicode leaves U+03A2 empty, because
/// there is no capital final sigma. In a stream that contains it nevertheless, places behind each
/// are two bytes too far.
pub const MARK: char = '\u{3a2}';

/// Number of bytes requested from the reader at a time.
const CHUNK: usize = 64 << 10;

/// Number of characters that the parser may look ahead.
const LOOKAHEAD: usize = 16;

/// State that reader and parser share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Offset before which text is not requested again.
    pub floor: Cell<usize>,
    /// Whether the parser looked for more text than there is.
    pub past_end: Cell<bool>,
    /// Whether the text contains a [`MARK`].
    pub marked: Cell<bool>,
    /// Line and offset of the first byte that is not UTF-8.
    pub bad: Cell<Option<(u64, usize)>>,
}

/// A stream of UTF-8 as input for the parser.
#[derive(Debug)]
pub struct Source<R> {
    reader: R,
    /// Bytes that are not text yet: the beginning of a character or of an escape.
    raw: Vec<u8>,
    text: String,
    /// Offset in the stream of the first byte of `text`.
    base: usize,
    /// The next byte in `text`.
    at: usize,
    /// Distance that the parser may look ahead.
    window: usize,
    /// Line breaks in all text so far.
    breaks: u64,
    limit: usize,
    ended: bool,
    error: Option<ErrorKind>,
    shared: Rc<Shared>,
}

impl<R: Read> Source<R> {
    /// Reads from `reader`; a scalar of more than `limit` bytes is an error.
    pub fn new(reader: R, limit: usize, shared: Rc<Shared>) -> Self {
        Self {
            reader,
            raw: Vec::new(),
            text: String::new(),
            base: 0,
            at: 0,
            window: 0,
            breaks: 0,
            limit,
            ended: false,
            error: None,
            shared,
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Makes sure that this number of bytes can be read, if the stream has as many.
    #[inline]
    fn want(&mut self, bytes: usize) {
        if self.text.len() - self.at < bytes {
            self.fill_up(bytes);
        }
    }

    #[cold]
    fn fill_up(&mut self, bytes: usize) {
        while self.text.len() - self.at < bytes && !self.ended {
            self.fill();
        }
    }

    fn fill(&mut self) {
        self.forget();
        if self.text.len() > self.limit {
            return self.fail(ErrorKind::InputByteLimitExceeded { limit: self.limit });
        }
        let held = self.raw.len();
        self.raw.resize(held + CHUNK, 0);
        let read = loop {
            match self.reader.read(self.raw.get_mut(held..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.raw.truncate(held + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(n) => self.decode(n == 0),
            Err(error) => self.fail(ErrorKind::InputIo { error: InputIoError::from_io(error) }),
        }
    }

    /// Drops text that was read, once that saves more than the move of the rest costs.
    fn forget(&mut self) {
        let dead = self.shared.floor.get().saturating_sub(self.base).min(self.at);
        if dead > CHUNK && dead > self.text.len() / 2 && self.text.is_char_boundary(dead) {
            self.text.drain(..dead);
            self.base += dead;
            self.at -= dead;
        }
    }

    fn fail(&mut self, error: ErrorKind) {
        self.error = Some(error);
        self.ended = true;
    }

    /// Decodes the bytes that were read; `last` is true if nothing follows.
    fn decode(&mut self, last: bool) {
        let raw = std::mem::take(&mut self.raw);
        let (text, damaged) = match simdutf8::compat::from_utf8(&raw) {
            Ok(text) => (text, false),
            Err(fault) => {
                let valid = raw.get(..fault.valid_up_to()).unwrap_or_default();
                let text = simdutf8::basic::from_utf8(valid).unwrap_or_default();
                (text, last || fault.error_len().is_some())
            }
        };
        let before = self.text.len();
        let taken = self.take(text, last || damaged);
        let new = self.text.as_bytes().get(before..).unwrap_or_default();
        self.breaks += memchr::memchr_iter(b'\n', new).count() as u64;
        self.raw = raw.get(taken..).unwrap_or_default().to_vec();
        self.ended = last;
        if damaged {
            self.shared.bad.set(Some((self.breaks + 1, self.base + self.text.len())));
            self.fail(ErrorKind::InputDecoding { message: String::new() });
        }
    }

    /// Appends text with halves of surrogate pairs marked; returns how much of it was taken.
    fn take(&mut self, text: &str, last: bool) -> usize {
        let bytes = text.as_bytes();
        let (mut from, mut at, mut end) = (0, 0, bytes.len());
        while let Some(i) = memchr::memchr2(b'\\', 0xce, bytes.get(at..).unwrap_or_default()) {
            at += i;
            let marks = match Found::at(bytes.get(at..).unwrap_or_default(), last) {
                Found::Half => 1,
                Found::Mark => 2,
                Found::Other(length) => {
                    at += length;
                    continue;
                }
                Found::Cut => {
                    end = at;
                    break;
                }
            };
            self.text.push_str(text.get(from..at).unwrap_or_default());
            self.text.extend(std::iter::repeat_n(MARK, marks));
            self.shared.marked.set(true);
            at += MARK.len_utf8();
            from = at;
        }
        self.text.push_str(text.get(from..end).unwrap_or_default());
        end
    }

    /// Steps over text without line breaks that is also appended to `out`; returns the number of
    /// its characters.
    fn pass(&mut self, length: usize, out: &mut String) -> usize {
        let passed = self.text.get(self.at..self.at + length).unwrap_or_default();
        self.at += passed.len();
        out.push_str(passed);
        passed.chars().count()
    }
}

/// Sequences that a backslash or the first byte of a [`MARK`] begins.
enum Found {
    /// The escape of a surrogate.
    Half,
    Mark,
    /// Another sequence, of this number of bytes.
    Other(usize),
    /// Possibly the escape of a surrogate, which continues in the next chunk.
    Cut,
}

impl Found {
    /// Classifies a sequence. Backslashes are taken in pairs, as the parser takes them: in double
    /// quotes a row of them begins with an escape.
    fn at(bytes: &[u8], last: bool) -> Self {
        match bytes {
            [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => Self::Half,
            [b'\\'] | [b'\\', b'u'] | [b'\\', b'u', b'd' | b'D'] if !last => Self::Cut,
            [b'\\', b'\\', ..] => Self::Other(2),
            [0xce, 0xa2, ..] => Self::Mark,
            _ => Self::Other(1),
        }
    }
}

impl<R: Read> Input for Source<R> {
    #[inline]
    fn lookahead(&mut self, count: usize) {
        self.window = self.window.max(count.min(LOOKAHEAD));
        // A character has at most four bytes.
        self.want(4 * count);
    }

    #[inline]
    fn buflen(&self) -> usize {
        self.window
    }

    #[inline]
    fn bufmaxlen(&self) -> usize {
        LOOKAHEAD
    }

    #[inline]
    fn raw_read_ch(&mut self) -> char {
        self.want(1);
        let c = self.peek();
        self.skip();
        c
    }

    #[inline]
    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.want(1);
        match self.peek() {
            '\n' | '\r' | '\0' => None,
            _ => Some(self.raw_read_ch()),
        }
    }

    #[inline]
    fn skip(&mut self) {
        self.want(1);
        self.at += match self.byte(0) {
            Some(..0x80) => 1,
            Some(..0xe0) => 2,
            Some(..0xf0) => 3,
            Some(_) => 4,
            None => 0,
        };
    }

    #[inline]
    fn skip_n(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    #[inline]
    fn peek(&self) -> char {
        match self.byte(0) {
            Some(b @ ..0x80) => char::from(b),
            _ => self.peek_nth(0),
        }
    }

    #[inline]
    fn peek_nth(&self, n: usize) -> char {
        if n == 1
            && let (Some(..0x80), Some(b @ ..0x80)) = (self.byte(0), self.byte(1))
        {
            return char::from(b);
        }
        self.rest().chars().nth(n).unwrap_or_else(|| {
            self.shared.past_end.set(true);
            '\0'
        })
    }

    #[inline]
    fn byte_offset(&self) -> Option<usize> {
        Some(self.base + self.at)
    }

    #[inline]
    fn slice_bytes(&self, start: usize, end: usize) -> Option<&str> {
        self.text.get(start.checked_sub(self.base)?..end.checked_sub(self.base)?)
    }

    /// Returns the error, once all text before it was read.
    fn take_source_error(&mut self) -> Option<ErrorKind> {
        self.byte(0).is_none().then(|| self.error.take())?
    }

    #[inline]
    fn next_is_z(&self) -> bool {
        let ended = self.ended && self.byte(0).is_none();
        self.shared.past_end.set(self.shared.past_end.get() || ended);
        ended
    }

    fn fetch_block_scalar_line(&mut self, out: &mut String) -> usize {
        let mut passed = 0;
        loop {
            self.want(1);
            let rest = self.rest().as_bytes();
            let found = memchr::memchr3(b'\n', b'\r', b'\0', rest);
            let length = found.unwrap_or(rest.len());
            passed += self.pass(length, out);
            if found.is_some() || (self.ended && self.byte(0).is_none()) {
                return passed;
            }
        }
    }

    #[inline]
    fn take_quoted_scalar_chunk(&mut self, single: bool) -> (&str, usize) {
        self.want(1);
        let start = self.at;
        let (length, characters) = quoted_run(self.rest(), single);
        self.at += length;
        (self.text.get(start..self.at).unwrap_or_default(), characters)
    }

    fn fetch_plain_scalar_chunk(
        &mut self,
        out: &mut String,
        _count: usize,
        flow: bool,
    ) -> (bool, usize) {
        let mut passed = 0;
        loop {
            self.want(2);
            let (length, stopped) = plain_run(self.rest().as_bytes(), flow, self.ended);
            passed += self.pass(length, out);
            if stopped {
                return (true, passed);
            }
        }
    }
}

impl<R: Read> BorrowedInput<'static> for Source<R> {
    fn slice_borrowed(&self, _start: usize, _end: usize) -> Option<&'static str> {
        None
    }
}

/// Returns the numbers of literal bytes and characters within quotes, from the beginning of a text.
fn quoted_run(text: &str, single: bool) -> (usize, usize) {
    let (mut at, mut characters) = (0, 0);
    while let Some(&b) = text.as_bytes().get(at) {
        at += match b {
            b'\'' if single => break,
            b'"' | b'\\' if !single => break,
            b'!'..=b'~' => 1,
            0x80.. => match text.get(at..).and_then(|rest| rest.chars().next()) {
                Some(c) if is_printable(c) => c.len_utf8(),
                _ => break,
            },
            _ => break,
        };
        characters += 1;
    }
    (at, characters)
}

/// Whether YAML allows a character beyond ASCII as it is.
fn is_printable(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the number of bytes of a text without quotes up to a blank, a line break or an indicator
/// that ends it, and whether that was found; `last` is true if nothing follows.
fn plain_run(bytes: &[u8], flow: bool, last: bool) -> (usize, bool) {
    let is_blank = |b: u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b'\0');
    let is_flow = |b: u8| flow && matches!(b, b',' | b'[' | b']' | b'{' | b'}');
    for (at, &b) in bytes.iter().enumerate() {
        if is_blank(b) || is_flow(b) {
            return (at, true);
        }
        if b == b':' {
            match bytes.get(at + 1) {
                Some(&next) if is_blank(next) || is_flow(next) => return (at, true),
                Some(_) => {}
                None => return (at, last),
            }
        }
    }
    (bytes.len(), last)
}
