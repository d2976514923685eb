//! Lines of a stream, borrowed from one buffer that grows to the longest of them.
//!
//! Only `\n` ends a line: U+2028 and a lone `\r` occur inside JSON strings of real files.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::position::Position;
use bytes::Bytes;
use std::cell::RefCell;
use std::io::{ErrorKind, Read};

/// Usual maximum length of a line, in bytes: buffers have this room before a line is written.
pub const USUAL: usize = 2 << 10;

/// The byte order mark in UTF-8.
pub const BOM: &[u8] = "\u{feff}".as_bytes();

/// Number of bytes requested from the system at a time.
const CHUNK: usize = 64 << 10;
/// Minimum free room, in bytes; the buffer makes more room where less is left.
const LEAST_ROOM: usize = 8 << 10;

/// Maximum step, in bytes, by which the buffer grows. `Vec` may reserve twice as much as it holds,
/// but memory that is not written to costs nothing.
const LARGEST_STEP: usize = 16 << 20;

/// Number of bytes from which a line gets the buffer that contains it. A smaller line is copied,
/// which is faster than a new buffer from the system.
const LARGE: usize = 8 << 20;

/// One line without its `\n`.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The bytes; a `\r` before the `\n` is still there.
    pub bytes: &'a [u8],
    /// Place where the line begins. `record` is left to code that counts records.
    pub at: Position,
    /// Whether a `\n` follows; only the last line can lack it.
    pub terminated: bool,
}

impl Line<'_> {
    /// Whether the line contains only white space as JavaScript defines it.
    ///
    /// pi skips such lines: it trims with `String.prototype.trim`, which takes more than JSON's
    /// four kinds of space, U+00A0 and U+FEFF among them.
    pub fn is_blank(&self) -> bool {
        match self.bytes.first() {
            None => true,
            Some(b'{') => false,
            Some(_) => std::str::from_utf8(self.bytes).is_ok_and(|text| {
                text.chars().all(|c| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
            }),
        }
    }
}

/// A [`Line`] with bytes of its own.
#[derive(Clone, Debug)]
pub struct OwnedLine {
    /// The bytes.
    pub bytes: Bytes,
    /// Where it begins.
    pub at: Position,
    /// Whether a `\n` follows.
    pub terminated: bool,
}

impl OwnedLine {
    /// Returns the line itself.
    pub fn line(&self) -> Line<'_> {
        Line { bytes: &self.bytes, at: self.at, terminated: self.terminated }
    }

    /// Removes the `\r` before the `\n`; returns whether there was one.
    pub fn take_cr(&mut self) -> bool {
        let cr = self.terminated && self.bytes.ends_with(b"\r");
        self.bytes.truncate(self.bytes.len() - usize::from(cr));
        cr
    }
}

/// Whole lines, each with its `\n`, in a buffer of their own.
#[derive(Debug, Default)]
pub struct Block {
    memory: Vec<u8>,
    start: usize,
    end: usize,
    byte: u64,
}

impl Block {
    /// Returns the lines.
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns where they begin in their part.
    pub fn byte(&self) -> u64 {
        self.byte
    }

    /// Returns the buffer, for other uses.
    pub fn into_memory(self) -> Vec<u8> {
        self.memory
    }
}

thread_local! {
    /// Buffers that were used for reading, for the next reader: a fresh one is filled with zeros
    /// first, which takes a large part of the work for a small session.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Maximum number of spare buffers, and maximum size of each in bytes.
const SPARES: (usize, usize) = (3, 1 << 20);

/// Returns a buffer for reading; its contents are arbitrary.
pub fn lend() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Takes a buffer back, for later reading.
pub fn give_back(buffer: Vec<u8>) {
    let (most, size) = SPARES;
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < most && (1..=size).contains(&buffer.capacity()) {
            spare.push(buffer);
        }
    });
}

/// Empties a buffer for further use. The room for a large record is released, so that others can
/// use it.
pub fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(LARGE);
}

/// Splits a stream into lines.
///
/// ```
/// use copyist::lines::Lines;
/// let mut lines = Lines::new(&b"{}\n{}"[..], 1 << 30);
/// assert!(lines.next().unwrap().unwrap().terminated);
/// let last = lines.next().unwrap().unwrap();
/// assert_eq!((last.bytes, last.at.line, last.at.byte), (&b"{}"[..], 2, 3));
/// assert!(lines.next().unwrap().is_none());
/// ```
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// Number of unread bytes that are known to contain no `\n`.
    searched: usize,
    at: Position,
    limit: usize,
    bom: bool,
    /// Whether the unread part begins with a line that was reported as too long.
    overlong: bool,
    /// Whether the source is at its end. A terminal would wait for input once more.
    ended: bool,
}

impl<R> Drop for Lines<R> {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.buffer));
    }
}

impl<R: Read> Lines<R> {
    /// Reads from `source`; a line longer than `limit` bytes is an error.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: lend(),
            start: 0,
            end: 0,
            searched: 0,
            at: Position { line: 1, ..Position::default() },
            limit,
            bom: false,
            overlong: false,
            ended: false,
        }
    }

    /// Steps over a byte order mark at the beginning; returns whether there was one.
    pub fn skip_bom(&mut self) -> Result<bool> {
        while self.end - self.start < BOM.len() && self.fill()? {}
        if self.at.byte == 0 && self.pending().starts_with(BOM) {
            self.start += BOM.len();
            self.at.byte += BOM.len() as u64;
            self.bom = true;
        }
        Ok(self.bom)
    }

    /// Returns where the next line begins.
    pub fn position(&self) -> Position {
        self.at
    }

    fn pending(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns the next line, or `None` at the end. After a line that was too long, it returns the
    /// line behind that.
    ///
    /// # Errors
    /// [`Code::LineTooLong`], after which reading can go on, and errors of the source.
    #[allow(clippy::should_implement_trait, reason = "lines are lent, an Iterator cannot lend")]
    pub fn next(&mut self) -> Result<Option<Line<'_>>> {
        if std::mem::take(&mut self.overlong) {
            self.pass_over()?;
        }
        let length = loop {
            let unread = self.buffer.get(self.start + self.searched..self.end).unwrap_or_default();
            if let Some(i) = memchr::memchr(b'\n', unread) {
                break self.searched + i;
            }
            self.searched = self.end - self.start;
            if self.searched > self.limit {
                return self.too_long();
            }
            if !self.fill()? {
                break self.searched;
            }
        };
        if length > self.limit {
            return self.too_long();
        }
        let terminated = self.start + length < self.end;
        if length == 0 && !terminated {
            return Ok(None);
        }
        let (from, at) = (self.start, self.at);
        self.advance(length, terminated);
        let bytes = self.buffer.get(from..from + length).unwrap_or_default();
        Ok(Some(Line { bytes, at, terminated }))
    }

    /// Returns the next line with bytes of its own. A large line gets the buffer instead of a copy.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next).
    pub fn next_owned(&mut self) -> Result<Option<OwnedLine>> {
        let Some(Line { bytes, at, terminated }) = self.next()? else { return Ok(None) };
        let length = bytes.len();
        if length < LARGE {
            return Ok(Some(OwnedLine { bytes: Bytes::copy_from_slice(bytes), at, terminated }));
        }
        let (end, rest) = (self.start - usize::from(terminated), self.pending().to_vec());
        (self.start, self.end) = (0, rest.len());
        let mut memory = std::mem::replace(&mut self.buffer, rest);
        memory.truncate(end);
        let bytes = Bytes::from(memory).slice(end - length..);
        Ok(Some(OwnedLine { bytes, at, terminated }))
    }

    /// Takes many lines at once, about `room` bytes of them, and leaves `spare` in place of their
    /// buffer. `None` if the next line is longer, has no ending or may be longer than the limit, or
    /// if there is none; [`next`](Self::next) handles these cases. The lines are counted when
    /// [`passed`](Self::passed) is called.
    pub fn take(&mut self, room: usize, spare: &mut Vec<u8>) -> Result<Option<Block>> {
        while !self.overlong && self.end - self.start < room && self.fill()? {}
        let unread = if self.overlong { &[] } else { self.pending() };
        let searched = self.searched.min(unread.len());
        let Some(last) = memchr::memrchr(b'\n', unread.get(searched..).unwrap_or_default()) else {
            return Ok(None);
        };
        let size = searched + last + 1;
        if size > self.limit {
            // One of the lines may be too long.
            return Ok(None);
        }
        let rest = unread.get(size..).unwrap_or_default();
        let mut next = std::mem::take(spare);
        if next.is_empty() {
            next = lend();
        }
        if next.len() < rest.len() {
            next.resize(rest.len(), 0);
        }
        if let Some(head) = next.get_mut(..rest.len()) {
            head.copy_from_slice(rest);
        }
        let kept = rest.len();
        let memory = std::mem::replace(&mut self.buffer, next);
        let block = Block { memory, start: self.start, end: self.start + size, byte: self.at.byte };
        (self.start, self.end, self.searched) = (0, kept, 0);
        self.at.byte += size as u64;
        Ok(Some(block))
    }

    /// Counts lines that were [taken](Self::take).
    pub fn passed(&mut self, lines: u64) {
        self.at.line += lines;
    }

    fn advance(&mut self, length: usize, terminated: bool) {
        let step = length + usize::from(terminated);
        self.start += step;
        self.searched = 0;
        self.at.line += u64::from(terminated);
        self.at.byte += step as u64;
    }

    /// Reads more; returns false at the end of the source.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 && (self.start == self.end || self.buffer.len() - self.end < LEAST_ROOM) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < LEAST_ROOM {
            let more = self.buffer.len().clamp(CHUNK, LARGEST_STEP);
            self.buffer.resize(self.buffer.len() + more, 0);
        }
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(room) {
                Ok(n) => {
                    self.end += n;
                    self.ended = n == 0;
                    return Ok(!self.ended);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The fault that a decoder found in its input.
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let found = Diagnostic::new(Code::NotUtf8, error.to_string()).at(self.at);
                    return Err(Error::damaged(found));
                }
                Err(error) => return Err(Error::io("cannot read", error)),
            }
        }
    }

    /// Reports a line that is too long. The rest of it is skipped when the next line is requested,
    /// because it may have no end.
    fn too_long(&mut self) -> Result<Option<Line<'_>>> {
        let shown = self.pending().get(..64).unwrap_or_default();
        let message = format!("line of more than {} bytes, the limit", self.limit);
        let found = Diagnostic::new(Code::LineTooLong, message).at(self.at).showing(shown, 0);
        self.overlong = true;
        Err(Error::damaged(found))
    }

    /// Steps behind the end of the line.
    fn pass_over(&mut self) -> Result<()> {
        loop {
            let found = memchr::memchr(b'\n', self.pending());
            self.advance(found.unwrap_or(self.end - self.start), found.is_some());
            if found.is_some() || !self.fill()? {
                return Ok(());
            }
        }
    }
}

/// Checks that a line is UTF-8.
///
/// # Errors
/// [`Code::NotUtf8`] with the place of the first byte that is not.
pub fn utf8<'a>(line: &Line<'a>) -> Result<&'a str> {
    if let Ok(text) = simdutf8::basic::from_utf8(line.bytes) {
        return Ok(text);
    }
    match simdutf8::compat::from_utf8(line.bytes) {
        Ok(text) => Ok(text),
        Err(fault) => {
            let offset = fault.valid_up_to();
            let byte = line.bytes.get(offset).copied().unwrap_or_default();
            let found = Diagnostic::new(Code::NotUtf8, format!("byte 0x{byte:02x} is not UTF-8"));
            Err(Error::damaged(found.at(line.at.plus(offset)).showing(line.bytes, offset)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `step` bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn lines_large_and_owned_contain_no_other_line() {
        let large = vec![b'x'; LARGE + 3];
        let text = [b"a\n", &large[..], b"\nb\n\n", &large[..], b"\n", &large[..]].concat();
        for step in [7001, 1 << 20, 1 << 30] {
            let mut borrowed = Lines::new(Drip(&text, step), 1 << 30);
            let mut kept = Lines::new(Drip(&text, step), 1 << 30);
            for _ in 0..6 {
                let ours = kept.next_owned().expect("a stream").expect("a line");
                let theirs = borrowed.next().expect("a stream").expect("a line");
                assert!(ours.bytes == theirs.bytes);
                assert_eq!((ours.at, ours.terminated), (theirs.at, theirs.terminated));
            }
            assert!(kept.next_owned().expect("a stream").is_none());
        }
    }

    fn collect(text: &[u8], step: usize, limit: usize) -> Vec<String> {
        let mut lines = Lines::new(Drip(text, step), limit);
        let mut out = vec![format!("bom {}", lines.skip_bom().unwrap())];
        loop {
            match lines.next() {
                Ok(None) => return out,
                Ok(Some(line)) => out.push(format!(
                    "{}:{} {} {:?}",
                    line.at.line,
                    line.at.byte,
                    line.terminated,
                    String::from_utf8_lossy(line.bytes)
                )),
                Err(error) => out.push(error.message().to_owned()),
            }
        }
    }

    #[test]
    fn the_size_of_reads_never_shows() {
        let long = "x".repeat(1000);
        let text = format!("\u{feff}{{}}\n\n{long}\nab\r\n{{}}");
        let whole = collect(text.as_bytes(), usize::MAX, 500);
        for step in [1, 2, 3, 7, 499, 500, 501] {
            assert_eq!(collect(text.as_bytes(), step, 500), whole, "step {step}");
        }
        assert_eq!(
            whole,
            [
                "bom true",
                "1:3 true \"{}\"",
                "2:6 true \"\"",
                "line of more than 500 bytes, the limit",
                "4:1008 true \"ab\\r\"",
                "5:1012 false \"{}\"",
            ]
        );
    }
}
