//! What is known of a file before it is read.

use crate::json::Cursor;
use crate::yaml::encoding::{self, Encoding};
use std::borrow::Cow;

/// The beginning of a file.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The file's name, without its folder.
    pub name: &'a str,
    /// The first bytes, without a byte order mark.
    pub bytes: &'a [u8],
    /// Whether these are all the bytes there are.
    pub whole: bool,
    /// The encoding, where the person named one.
    pub encoding: Option<&'static Encoding>,
}

impl<'a> Head<'a> {
    /// How many bytes are looked at.
    pub const SIZE: usize = 64 << 10;

    /// The text, for formats whose files can be in another encoding than UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        encoding::head(self.bytes, self.encoding)
    }

    /// The lines that are not blank. The last may be cut.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
    }

    /// The lines from the first one on that is a record, or at least nothing that a crash leaves of
    /// one in a file that is `called` as sessions are, or not.
    pub fn behind_tears(
        &self,
        called: bool,
        is_record: fn(&[u8]) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut first = true;
        self.lines().skip_while(move |line| {
            let first = std::mem::take(&mut first);
            let mut cursor = Cursor::new(line);
            let mut damaged = || cursor.skip_value().and_then(|_| cursor.end()).is_err();
            !is_record(line) && Self::is_torn(line, first, called) && damaged()
        })
    }

    /// Whether no line begins as a JSON object does. NUL bytes alone say nothing: a power cut
    /// leaves them in files of any format.
    #[must_use]
    pub fn lacks_objects(&self) -> bool {
        let begins = |line: &[u8]| {
            let inside = line.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
            matches!(inside.trim_ascii_start().first(), Some(b'"' | b'}'))
        };
        let text = self.bytes.iter().any(|b| *b != 0 && !b.is_ascii_whitespace());
        text && !self.lines().any(begins)
    }

    /// Whether a name has one of these endings, or there is none, as for standard input.
    #[must_use]
    pub fn is_called(name: &str, endings: &[&str]) -> bool {
        name.is_empty() || endings.iter().any(|ending| name.ends_with(ending))
    }

    /// Whether a line in front of the first whole record can be what a crash left of one there: NUL
    /// bytes, the beginning of a record; and in a file that is `called` as sessions are, as its
    /// `first` line, the end of one or a word of it. Sentences are none of this, nor is what
    /// programs write at the beginning of their own files.
    #[must_use]
    pub fn is_torn(line: &[u8], first: bool, called: bool) -> bool {
        let inner = line.trim_ascii();
        let start = inner.iter().position(|b| *b != 0).unwrap_or(inner.len());
        let inner = inner.get(start..).unwrap_or_default().trim_ascii();
        let end = || inner.ends_with(b"}") && inner.contains(&b'"');
        let word = || !inner.iter().any(|b| b.is_ascii_whitespace() || *b == 0);
        inner.is_empty() || inner.starts_with(b"{\"") || (first && called && (end() || word()))
    }

    /// What kind of archive it is, if it is one. Sessions stand in those as they are, so they look
    /// like text to whoever looks for lines.
    #[must_use]
    pub fn archive(&self) -> Option<&'static str> {
        // Offsets as in POSIX.1-1988 (ustar) and in PKWARE's APPNOTE.
        match self.bytes.get(257..262) {
            Some(b"ustar") => Some("a tar archive"),
            _ if self.bytes.starts_with(b"PK\x03\x04") => Some("a zip archive"),
            _ => None,
        }
    }

    /// Why this can be no text of any session, if that is so: it is empty, or it is no text, or
    /// records in an encoding that no records are in. What is text of another kind is none of this.
    #[must_use]
    pub fn ruin(&self) -> Option<&'static str> {
        // What separates texts and pages, and begins the colours of a terminal, stands in logs.
        let control = |b: &u8| matches!(b, 0..=8 | 14..=26 | 28..=31);
        if self.bytes.trim_ascii().is_empty() {
            return self.whole.then_some("it is empty");
        }
        if self.bytes.iter().all(|b| *b == 0) {
            return Some(if self.whole { NULS } else { "it begins with NUL bytes" });
        }
        match self.bytes {
            [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] if opens_wide(rest) => Some(WIDE),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => None,
            bytes if opens_wide(bytes) => Some(WIDE),
            bytes => bytes.iter().any(control).then_some("it is no text"),
        }
    }

    /// Whether this is JSON with its values on several lines, as programs print it for people.
    #[must_use]
    pub fn is_pretty_json(&self) -> bool {
        let opens = |line: &[u8]| matches!(line.trim_ascii(), b"{" | b"[");
        self.lacks_objects() && self.lines().next().is_some_and(opens)
    }
}

const NULS: &str = "it holds NUL bytes and nothing else";

const WIDE: &str = "its records are UTF-16, and records are read in UTF-8 only; `iconv -f UTF-16 \
                    -t UTF-8 FILE` makes that of it";

/// Whether a text without its mark begins as a record in UTF-16 does.
fn opens_wide(text: &[u8]) -> bool {
    matches!(text, [b'{', 0, ..] | [0, b'{', ..])
}

/// How sure a format is of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It has the marks, but behind what neither its software nor a crash puts there: the file
    /// shows a session, or tells of one. Enough for a file that a person names, not for one that
    /// is found.
    Buried,
    /// It has some of the marks.
    Weak,
    /// It has the marks, but not where they belong.
    Strong,
    /// Its first record says so.
    Certain,
}

impl Confidence {
    /// The word in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Buried => "buried",
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Certain => "certain",
        }
    }
}

/// What a format makes of the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// How sure it is.
    pub confidence: Confidence,
    /// The version that the file would be read as.
    pub version: u32,
}
