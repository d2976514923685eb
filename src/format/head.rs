//! Beginning of a file, from which formats are detected before the file is read.

use crate::json::is_whole;
use crate::yaml::encoding::{self, Encoding};
use std::borrow::Cow;

/// The beginning of a file.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The file's name, without its folder.
    pub name: &'a str,
    /// The first bytes, without a byte order mark.
    pub bytes: &'a [u8],
    /// Whether these are all bytes of the file.
    pub whole: bool,
    /// The encoding, where the user named one.
    pub encoding: Option<&'static Encoding>,
}

impl<'a> Head<'a> {
    /// Maximum number of bytes that detection looks at.
    pub const SIZE: usize = 64 << 10;

    /// Returns the text, for formats whose files can be in another encoding than UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        encoding::head(self.bytes, self.encoding)
    }

    /// Returns the lines that are not blank. The last may be cut.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty())
    }

    /// Whether the first two lines are whole JSON objects, which no one document contains.
    #[must_use]
    pub fn is_json_lines(&self) -> bool {
        let is_object = |line: &[u8]| line.starts_with(b"{") && is_whole(line);
        self.lines().take(2).filter(|line| is_object(line)).count() == 2
    }

    /// Detects a file of lines by the first line that is `known`, among those at the beginning: of
    /// a line and its number, `known` returns whether it begins a session, and the version.
    #[must_use]
    pub fn of_lines(
        &self,
        endings: &[&str],
        known: impl Fn(usize, &[u8]) -> Option<(bool, u32)>,
    ) -> Option<Sniffed> {
        /// Maximum number of lines that are looked at.
        const SNIFFED: usize = 16;
        let (called, mut clean) = (Self::is_called(self.name, endings), true);
        for (number, line) in self.lines().take(SNIFFED).enumerate() {
            if let Some((begins, version)) = known(number, line.trim_ascii()) {
                let confidence = match begins {
                    _ if !clean => Confidence::Buried,
                    true if number == 0 => Confidence::Certain,
                    _ => Confidence::Strong,
                };
                return Some(Sniffed { confidence, version });
            }
            clean &= Self::is_torn(line, number == 0, called);
        }
        None
    }

    /// Returns the lines from the first one on that is a record, or at least cannot be the
    /// remainder of a record after a crash. `called` is true if the file has a name that sessions
    /// have.
    pub fn behind_tears(
        &self,
        called: bool,
        is_record: fn(&[u8]) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut first = true;
        self.lines().skip_while(move |line| {
            let first = std::mem::take(&mut first);
            !is_record(line) && Self::is_torn(line, first, called) && !is_whole(line)
        })
    }

    /// Whether no line begins as a JSON object does. NUL bytes alone prove nothing: a power cut
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

    /// Whether a name has one of these endings, or is empty, as for standard input.
    #[must_use]
    pub fn is_called(name: &str, endings: &[&str]) -> bool {
        name.is_empty() || endings.iter().any(|ending| name.ends_with(ending))
    }

    /// Whether a line in front of the first whole record can be the remainder of a record after a
    /// crash: NUL bytes, or the beginning of a record. In a file that is `called` as sessions are,
    /// its `first` line may also be the end of a record or a word of it. Sentences are not
    /// remainders, and neither is the text that programs write at the beginning of their own files.
    #[must_use]
    pub fn is_torn(line: &[u8], first: bool, called: bool) -> bool {
        let inner = line.trim_ascii();
        let start = inner.iter().position(|b| *b != 0).unwrap_or(inner.len());
        let inner = inner.get(start..).unwrap_or_default().trim_ascii();
        let end = || inner.ends_with(b"}") && inner.contains(&b'"');
        let word = || !inner.iter().any(|b| b.is_ascii_whitespace() || *b == 0);
        inner.is_empty() || inner.starts_with(b"{\"") || (first && called && (end() || word()))
    }

    /// Returns the kind of archive, if the file is one. Sessions are uncompressed in these
    /// archives, so that they look like text to code that looks for lines.
    #[must_use]
    pub fn archive(&self) -> Option<&'static str> {
        // Offsets as in POSIX.1-1988 (ustar) and in PKWARE's APPNOTE.
        match self.bytes.get(257..262) {
            Some(b"ustar") => Some("a tar archive"),
            _ if self.bytes.starts_with(b"PK\x03\x04") => Some("a zip archive"),
            _ => None,
        }
    }

    /// Returns why the file cannot be the text of any session, if that is so: it is empty, it is
    /// not text, or its records are in an encoding that no records have. Text of another kind has
    /// no such reason.
    #[must_use]
    pub fn ruin(&self) -> Option<&'static str> {
        // Bytes that separate texts and pages, and the byte that begins the colours of a terminal,
        // occur in logs.
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
            bytes => bytes.iter().any(control).then_some("it is not text"),
        }
    }

    /// Whether the file is JSON with its values on several lines, as programs print it for users.
    #[must_use]
    pub fn is_pretty_json(&self) -> bool {
        let opens = |line: &[u8]| matches!(line.trim_ascii(), b"{" | b"[");
        self.lacks_objects() && self.lines().next().is_some_and(opens)
    }
}

const NULS: &str = "it holds NUL bytes and nothing else";

const WIDE: &str = "its records are UTF-16 and must be UTF-8; `iconv -f UTF-16 -t UTF-8 FILE` \
                    converts them";

/// Whether a text without a byte order mark begins as a record in UTF-16 does.
fn opens_wide(text: &[u8]) -> bool {
    matches!(text, [b'{', 0, ..] | [0, b'{', ..])
}

/// Certainty with which a format recognises a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The file has the marks of lines that the software writes beside its sessions, and no
    /// session.
    Stray,
    /// The file has the marks, but behind text that neither the format's software nor a crash puts
    /// there: the file shows or describes a session. This is enough for a file that the user names,
    /// not for a file that a search finds.
    Buried,
    /// The file has some of the marks.
    Weak,
    /// The file has the marks, but not in their proper places.
    Strong,
    /// The first record of the file identifies the format.
    Certain,
}

impl Confidence {
    /// The word in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stray => "stray",
            Self::Buried => "buried",
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Certain => "certain",
        }
    }
}

/// Result of a format's detection for the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// Certainty of the result.
    pub confidence: Confidence,
    /// The version that the file would be read as.
    pub version: u32,
}
