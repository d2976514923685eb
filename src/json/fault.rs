//! Faults of a JSON text, and their places.

use std::fmt;

/// A half-open range of bytes in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes that the span covers; empty if it reaches outside `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// Fault of a text, and the byte where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {what}")]
pub struct Fault {
    /// Byte offset in the text.
    pub at: usize,
    /// The kind of fault.
    pub what: What,
}

/// The kinds of JSON faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The text ends before the value does.
    End,
    /// The text ends inside a string.
    EndInString,
    /// A byte that is not allowed here.
    Unexpected(u8),
    /// A raw control character inside a string.
    Control(u8),
    /// A `\` that does not begin an escape.
    Escape,
    /// A number that JSON does not allow.
    Number,
    /// A word other than `true`, `false` and `null`.
    Literal,
    /// Text after the value.
    Trailing,
}

impl What {
    /// Whether the text is a whole beginning whose rest is missing.
    pub fn is_truncation(self) -> bool {
        matches!(self, Self::End | Self::EndInString)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("unexpected end of the record"),
            Self::EndInString => f.write_str("unexpected end of the record inside a string"),
            Self::Unexpected(b) => write!(f, "unexpected {}", ByteName(*b)),
            Self::Control(b) => write!(f, "raw control character 0x{b:02x} inside a string"),
            Self::Escape => f.write_str("invalid escape in a string"),
            Self::Number => f.write_str("invalid number"),
            Self::Literal => f.write_str("expected a JSON value"),
            Self::Trailing => f.write_str("more text after the end of the record"),
        }
    }
}

struct ByteName(u8);

impl fmt::Display for ByteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b if b.is_ascii_graphic() => write!(f, "`{}`", b as char),
            b => write!(f, "byte 0x{b:02x}"),
        }
    }
}
