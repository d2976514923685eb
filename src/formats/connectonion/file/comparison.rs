//! Comparison of the file with the text that PyYAML would write.
//!
//! If both are equal, a record needs no spelling of its own: the writer writes the same text.

use super::is_remark;
use crate::yaml::encoding::{Decoder, Encoding, Found};
use crate::yaml::write::{Emitter, Style};
use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Text that was read and may still be requested.
#[derive(Debug, Default)]
pub struct ReadText {
    bytes: Vec<u8>,
    /// Number of bytes of `bytes` that were taken.
    taken: usize,
    /// Offset in the stream of the first byte that was not taken.
    base: u64,
    /// The encoding that the decoder found.
    pub found: Option<Found>,
    /// Whether the first line ends with `\r\n`; `last` is the last byte of all.
    pub crlf: Option<bool>,
    pub last: u8,
}

/// Reader that keeps the text that passes through.
pub struct Tee {
    source: Decoder<Box<dyn Read>>,
    read_text: Rc<RefCell<ReadText>>,
}

impl Tee {
    /// Wraps a part, and decodes it; the encoding is detected unless it is named.
    #[must_use]
    pub fn new(
        part: Box<dyn Read>,
        encoding: Option<&'static Encoding>,
    ) -> (Self, Rc<RefCell<ReadText>>) {
        let read_text = Rc::<RefCell<ReadText>>::default();
        (Self { source: Decoder::new(part, encoding), read_text: Rc::clone(&read_text) }, read_text)
    }
}

impl Read for Tee {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        let mut read_text = self.read_text.borrow_mut();
        let text = into.get(..read).unwrap_or_default();
        if read_text.crlf.is_none()
            && let Some(end) = memchr::memchr(b'\n', text)
        {
            let before = end.checked_sub(1).and_then(|at| text.get(at)).copied();
            read_text.crlf = Some(before.unwrap_or(read_text.last) == b'\r');
        }
        read_text.last = text.last().copied().unwrap_or(read_text.last);
        read_text.bytes.extend_from_slice(text);
        read_text.found = Some(self.source.found());
        Ok(read)
    }
}

/// Number of taken bytes that may stay in memory.
const SLACK: usize = 256 << 10;

impl ReadText {
    /// Whether `what` is at a byte that was not taken.
    fn is_at(&self, byte: u64, what: u8) -> bool {
        let offset = byte.checked_sub(self.base).map(|offset| offset as usize + self.taken);
        offset.and_then(|offset| self.bytes.get(offset)) == Some(&what)
    }

    /// Takes the text up to `end`, which is then no longer kept.
    fn take(&mut self, end: u64) -> Vec<u8> {
        let length = end.saturating_sub(self.base) as usize;
        let length = length.min(self.bytes.len() - self.taken);
        let text = self.bytes.get(self.taken..self.taken + length).unwrap_or_default();
        let text = before_line_end(text).to_vec();
        self.taken += text.len();
        self.base += text.len() as u64;
        // The rest is rarely moved to the front, because it is as long as a chunk.
        if self.taken > SLACK && self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        text
    }
}

/// Returns the text without the line ending and the spaces behind it that a block scalar includes:
/// the following text begins with them.
fn before_line_end(text: &[u8]) -> &[u8] {
    let spaces = text.iter().rev().take_while(|b| **b == b' ').count();
    let line = text.get(..text.len() - spaces).and_then(|text| text.strip_suffix(b"\n"));
    line.map_or(text, |line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// The file's text and PyYAML's text, from the end of the last record on.
pub struct Comparison {
    read_text: Rc<RefCell<ReadText>>,
    /// Emitter for the text that PyYAML would write.
    pub yaml: Emitter,
    /// Whether lines end in two ways; only one is kept.
    mixed: bool,
}

impl Comparison {
    /// Compares the text that the tee keeps.
    #[must_use]
    pub fn new(read_text: Rc<RefCell<ReadText>>) -> Self {
        Self { read_text, yaml: Emitter::new(Style::PyYaml), mixed: false }
    }

    /// Whether lines end with `\r\n`.
    #[must_use]
    pub fn crlf(&self) -> bool {
        self.read_text.borrow().crlf == Some(true)
    }

    /// Whether the text ends with a line ending; valid only at its end.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.read_text.borrow().last == b'\n'
    }

    /// Whether lines end in two ways; valid only at the end of the text.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        let read_text = self.read_text.borrow();
        let rest = read_text.bytes.get(read_text.taken..).unwrap_or_default();
        self.mixed || (read_text.crlf != Some(true) && memchr::memchr(b'\r', rest).is_some())
    }

    /// Returns the encoding that the decoder found.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        self.read_text.borrow().found
    }

    /// Whether the node at `byte` is indented by one level and is the first on its line.
    #[must_use]
    pub fn is_indented(&self, byte: u64) -> bool {
        let read_text = self.read_text.borrow();
        let length = byte.saturating_sub(read_text.base) as usize;
        let text = read_text.bytes.get(read_text.taken..).and_then(|text| text.get(..length));
        text.is_some_and(|text| text.ends_with(b"\n  "))
    }

    /// Takes comments and blank lines between the last record and the line of the node at `next`,
    /// behind `opener`. No node begins at [`u64::MAX`], the end.
    pub fn take_remark(&mut self, next: u64, opener: &str) -> Option<String> {
        let mut read_text = self.read_text.borrow_mut();
        let length = next
            .saturating_sub(read_text.base)
            .min((read_text.bytes.len() - read_text.taken) as u64);
        let text = read_text.bytes.get(read_text.taken..read_text.taken + length as usize)?;
        let unended = next == u64::MAX && read_text.last != b'\n';
        let end = if unended { text.len() } else { memchr::memrchr(b'\n', text)? };
        let before_returns = memchr::memchr(b'\r', text).is_some();
        let before = text.get(..end)?;
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        let remark = before.strip_prefix(opener.as_bytes())?;
        let (remark, taken) = (String::from_utf8(unix(remark)).ok()?, before.len());
        if remark.is_empty() || !is_remark(&remark) {
            return None;
        }
        read_text.taken += taken;
        read_text.base += taken as u64;
        self.mixed |= read_text.crlf != Some(true) && before_returns;
        self.yaml.remark(remark.as_bytes());
        self.yaml.buffer().clear();
        Some(remark)
    }

    /// Returns the file's own text up to `end` without `gap`, whether or not the other text is the
    /// same.
    pub fn own(&mut self, end: u64, gap: &str) -> Option<String> {
        let colon = self.read_text.borrow().is_at(end, b':');
        let (source, _) = self.texts(end + u64::from(colon));
        String::from_utf8(source.strip_prefix(gap.as_bytes())?.to_vec()).ok()
    }

    /// Compares both texts up to `end`. If they differ, returns the file's own text without `gap`,
    /// with which it must begin; `Some(None)` if it does not begin so.
    pub fn compare(&mut self, end: u64, gap: &str) -> Option<Option<String>> {
        // An absent value ends at the colon of its name, which is not part of a gap.
        let colon = self.read_text.borrow().is_at(end, b':');
        self.compare_name(end + u64::from(colon), gap)
    }

    /// Compares both texts up to the end of a name; the text behind the name belongs to the next
    /// comparison.
    pub fn compare_name(&mut self, end: u64, gap: &str) -> Option<Option<String>> {
        let (source, ours) = self.texts(end);
        if source == ours {
            return None;
        }
        let own = source.strip_prefix(gap.as_bytes());
        Some(own.and_then(|own| String::from_utf8(own.to_vec()).ok()))
    }

    /// Returns both texts up to `end`.
    fn texts(&mut self, end: u64) -> (Vec<u8>, Vec<u8>) {
        let mut source = self.read_text.borrow_mut().take(end);
        if self.crlf() {
            let ends = memchr::memchr_iter(b'\n', &source).count();
            self.mixed |= memchr::memmem::find_iter(&source, b"\r\n").count() < ends;
            source = unix(&source);
        }
        (source, std::mem::take(self.yaml.buffer()))
    }
}

/// Returns the text with `\n` for each `\r\n`.
fn unix(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, b"\r\n") {
        let (line, after) = rest.split_at(at);
        out.extend_from_slice(line);
        rest = after.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}
