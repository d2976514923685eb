//! Conversion of the parser's errors.

use super::source::Shared;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Swollen, Torn};
use crate::position::Position;
use granit_parser::{ErrorKind, Marker, ScanError};
use std::io;

/// Returns the error that ends the stream.
pub fn error(error: &ScanError, shared: &Shared, shift: Shift) -> Error {
    let kind = error.kind();
    let at = shift.position(*error.marker());
    match kind {
        ErrorKind::InputIo { error } => {
            let kind = error.io_error().map_or(io::ErrorKind::Other, io::Error::kind);
            // The fault that a decoder found in its input.
            if kind == io::ErrorKind::InvalidData {
                return damaged(Code::NotUtf8, error.message().to_owned(), at);
            }
            Error::io(
                "cannot read",
                match error.io_error().map(|error| (Torn::of(error), Swollen::of(error))) {
                    Some((Some(torn), _)) => io::Error::other(torn.clone()),
                    Some((_, Some(swollen))) => io::Error::other(*swollen),
                    _ => io::Error::new(kind, error.message().to_owned()),
                },
            )
        }
        ErrorKind::InputDecoding { .. } => {
            let bad = shared.bad.get().map(|(line, byte)| shift.place(line, byte as u64));
            let at = bad.unwrap_or(Position { byte: 0, ..at });
            damaged(Code::NotUtf8, "byte that is not UTF-8".into(), at)
        }
        ErrorKind::InputByteLimitExceeded { limit } => {
            damaged(Code::YamlLimit, format!("value of more than {limit} bytes, the limit"), at)
        }
        ErrorKind::RecursionLimitExceeded => {
            damaged(Code::YamlLimit, "collections nested too deep".into(), at)
        }
        ErrorKind::TooManyComments => damaged(Code::YamlLimit, error.info(), at),
        ErrorKind::UnexpectedCharacter { character } if !shared.past_end.get() => {
            let message = format!("character U+{:04X} is not allowed here", u32::from(*character));
            damaged(Code::YamlSyntax, message, at)
        }
        _ if shared.past_end.get() => damaged(Code::YamlCutShort, error.info(), at),
        _ => damaged(Code::YamlSyntax, error.info(), at),
    }
}

/// Returns the error for a scalar that contains only the beginning of a surrogate's escape.
pub fn escape(at: Position) -> Error {
    damaged(Code::YamlSyntax, "escape that lacks hexadecimal digits".into(), at)
}

fn damaged(code: Code, message: String, at: Position) -> Error {
    Error::damaged(Diagnostic::new(code, message).at(at))
}

/// Distance of a place in the stream from the same place in the text that the parser sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shift {
    pub lines: i64,
    pub bytes: i64,
}

impl Shift {
    pub fn position(self, marker: Marker) -> Position {
        self.place(marker.line() as u64, marker.byte_offset().unwrap_or_default() as u64)
    }

    pub fn place(self, line: u64, byte: u64) -> Position {
        let line = line.saturating_add_signed(self.lines);
        Position { line, byte: byte.saturating_add_signed(self.bytes), ..Position::default() }
    }
}
