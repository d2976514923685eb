//! Records whose text another program changed after they were written: spread over several lines,
//! or with escapes that JSON does not know.

use crate::json::{Cursor, What};
use crate::lines::Line;
use crate::position::Position;

/// Number of bytes that the search for records may walk for each byte of a line. Without this
/// limit, a line made to waste time would take the square of its length.
pub const EFFORT: usize = 64;

/// Returns a text in which the backslash of each escape that JSON does not know is literal;
/// `None` if there is no such escape. A mask or an editor leaves such backslashes.
///
/// ```
/// use copyist::repair::literal_backslashes;
/// let fixed = literal_backslashes(br#"{"a":"\*\n\u12"}"#).unwrap();
/// assert_eq!(fixed, br#"{"a":"\\*\n\\u12"}"#);
/// assert!(literal_backslashes(br#"{"a":"\n"}"#).is_none());
/// ```
pub fn literal_backslashes(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut done = 0;
    let mut next = 0;
    while let Some(at) = memchr::memchr(b'\\', text.get(next..)?).map(|found| next + found) {
        let rest = text.get(at + 1..)?;
        let known = match rest.first()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => true,
            b'u' => rest.get(1..5).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)),
            _ => false,
        };
        if !known {
            out.extend_from_slice(text.get(done..at)?);
            out.extend_from_slice(b"\\\\");
            done = at + 1;
        }
        next = at + if known { 2 } else { 1 };
    }
    out.extend_from_slice(text.get(done..)?);
    (done > 0).then_some(out)
}

/// One line of a record that seems to be spread over several.
#[derive(Debug)]
pub struct Held {
    /// The line without its ending.
    pub bytes: Vec<u8>,
    /// Its place.
    pub at: Position,
    /// Whether a line ending follows.
    pub terminated: bool,
    /// Results of the check of the line, as far as it was made.
    pub health: (bool, bool),
}

impl Held {
    /// Keeps a line.
    pub fn of(line: &Line<'_>, health: (bool, bool)) -> Self {
        let Line { bytes, at, terminated } = *line;
        Self { bytes: bytes.to_vec(), at, terminated, health }
    }

    /// The line as it was read.
    pub fn line(&self) -> Line<'_> {
        Line { bytes: &self.bytes, at: self.at, terminated: self.terminated }
    }
}

/// Maximum number of bytes of a record whose end is looked for.
const LONGEST: usize = 16 << 20;

/// A record that ends inside of a string, and the lines that may be the rest of it.
#[derive(Debug)]
pub struct Spread {
    /// The lines, the record's first one included.
    pub lines: Vec<Held>,
    /// The record so far, with an escape for each line ending.
    text: Vec<u8>,
    budget: usize,
}

/// State of the record with one more line.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The record is whole.
    Whole,
    /// The record continues.
    Open,
    /// The lines are not a record.
    Wrong,
}

impl Spread {
    /// Begins with a line, if the line is an object that ends inside of a string.
    pub fn of(line: &Line<'_>, health: (bool, bool)) -> Option<Self> {
        let bytes = bare(line.bytes);
        let ends = line.terminated && bytes.starts_with(b"{");
        if !ends || std::str::from_utf8(bytes).is_err() || fault(bytes)? != What::EndInString {
            return None;
        }
        let text = bytes.to_vec();
        Some(Self { lines: vec![Held::of(line, health)], text, budget: 0 })
    }

    /// Adds a line, which is not a record by itself.
    pub fn add(&mut self, line: &Line<'_>, health: (bool, bool)) -> Step {
        self.lines.push(Held::of(line, health));
        if self.text.len() + line.bytes.len() > LONGEST || std::str::from_utf8(line.bytes).is_err()
        {
            return Step::Wrong;
        }
        self.text.extend_from_slice(b"\\n");
        for byte in bare(line.bytes) {
            match byte {
                b'\t' => self.text.extend_from_slice(b"\\t"),
                byte => self.text.push(*byte),
            }
        }
        self.budget = self.budget.saturating_add(line.bytes.len().saturating_mul(EFFORT));
        // Without a quote the string continues.
        if memchr::memchr(b'"', line.bytes).is_none() {
            return Step::Open;
        }
        if self.budget < self.text.len() {
            return Step::Wrong;
        }
        self.budget -= self.text.len();
        match fault(&self.text) {
            None => Step::Whole,
            Some(What::EndInString) => Step::Open,
            Some(_) => Step::Wrong,
        }
    }

    /// Returns the lines as they are in the file.
    pub fn source(&self) -> Vec<u8> {
        let lines: Vec<&[u8]> = self.lines.iter().map(|line| line.bytes.as_slice()).collect();
        lines.join(&b"\n"[..])
    }

    /// Returns the record on one line.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Returns a line without the first half of its ending.
fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn fault(text: &[u8]) -> Option<What> {
    let mut cursor = Cursor::new(text);
    cursor.skip_value().and_then(|_| cursor.end()).err().map(|fault| fault.what)
}
