//! Content of a scalar.

use crate::json::text as json;
use std::borrow::Cow;
use std::fmt;

/// Text that may contain half of a surrogate pair, which no Rust string can.
///
/// Sessions get such halves from JSON and Python: a tool's output cut in the middle of an emoji is
/// `"\ud83d"` in both. The bytes are [WTF-8](https://simonsapin.github.io/wtf-8/): UTF-8, and a
/// lone half spelled as UTF-8 would spell it. Two halves that meet are always one character.
///
/// ```
/// use copyist::yaml::Text;
/// assert_eq!(Text::from("é").as_str(), Some("é"));
///
/// let half = Text::from_json(br#""cut \ud83d""#).unwrap();
/// assert_eq!(half.as_str(), None);
/// assert_eq!(half.to_json(), br#""cut \ud83d""#);
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(Cow<'a, [u8]>);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:?})", String::from_utf8_lossy(&self.0))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }
}

impl<'a> From<&'a Text<'_>> for Text<'a> {
    fn from(text: &'a Text<'_>) -> Self {
        Self(Cow::Borrowed(&text.0))
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl<'a> Text<'a> {
    /// Returns the content of a JSON string; `None` if the bytes, quotes included, are not a JSON
    /// string.
    ///
    /// A string without escapes is not copied.
    pub fn from_json(spelling: &'a [u8]) -> Option<Self> {
        let inner = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr::memchr(b'\\', inner).is_none() {
            return simdutf8::basic::from_utf8(inner).ok().map(Self::from);
        }
        json::decode_wtf8(spelling).map(|bytes| Self(Cow::Owned(bytes)))
    }

    /// Makes text of bytes that are known to be WTF-8.
    pub(super) fn from_wtf8(bytes: Vec<u8>) -> Self {
        Self(Cow::Owned(bytes))
    }

    /// Borrows text from bytes that are known to be WTF-8.
    pub(super) fn of_wtf8(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }

    /// Returns the text as a JSON string, spelled as JavaScript's `JSON.stringify` spells it.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() + 2);
        self.write_json(&mut out);
        out
    }

    /// Appends the text as a JSON string, spelled as JavaScript's `JSON.stringify` spells it.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        json::quote_wtf8(&self.0, out);
    }

    /// Returns the text, unless it contains half of a surrogate pair.
    pub fn as_str(&self) -> Option<&str> {
        simdutf8::basic::from_utf8(&self.0).ok()
    }

    /// Returns the bytes, in WTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text as a value that borrows nothing.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }
}
