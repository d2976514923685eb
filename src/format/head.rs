//! The beginning of a file, by which formats are told apart.

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

    /// Whether this is JSON with its values on several lines, as programs print it for people.
    #[must_use]
    pub fn is_pretty_json(&self) -> bool {
        let opens = |line: &[u8]| matches!(line.trim_ascii(), b"{" | b"[");
        self.lacks_objects() && self.lines().next().is_some_and(opens)
    }
}
