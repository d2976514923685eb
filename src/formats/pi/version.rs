//! Version that a header names, by the rules of pi's own loader.

use crate::json::text;

/// The oldest version whose entries have identifiers.
pub const TREE: u32 = 2;
/// The newest version.
pub const NEWEST: u32 = 3;

/// Meaning of a header's `version` to pi.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Named {
    /// Version that pi knows, possibly in an unusual spelling (`"2"`, `2.5`, absent).
    Known(u32),
    /// A number above the newest version. pi opens such files as they are (issue 9426).
    Newer(f64),
    /// Value that is not a number. pi compares it with 2 and 3; both comparisons are false, so pi
    /// migrates nothing.
    NotANumber,
}

impl Named {
    /// Reads the member's spelling; `None` where the header has none.
    ///
    /// JavaScript decides: `version ?? 1`, then `< 2` and `< 3` after conversion to a number.
    pub fn of(spelling: Option<&[u8]>) -> Self {
        let Some(spelling) = spelling.filter(|s| *s != b"null") else {
            return Self::Known(1);
        };
        let number = match spelling {
            b"true" => Some(1.0),
            b"false" => Some(0.0),
            _ => match text::decode(spelling) {
                Some(text) => number_of_text(text.trim()),
                None => parse(spelling),
            },
        };
        match number {
            None => Self::NotANumber,
            Some(n) if n < 2.0 => Self::Known(1),
            Some(n) if n < 3.0 => Self::Known(2),
            Some(3.0) => Self::Known(NEWEST),
            Some(n) => Self::Newer(n),
        }
    }

    /// The version whose shapes the records are read by.
    pub fn read_as(self) -> u32 {
        match self {
            Self::Known(version) => version,
            Self::Newer(_) | Self::NotANumber => NEWEST,
        }
    }
}

fn number_of_text(text: &str) -> Option<f64> {
    if text.is_empty() { Some(0.0) } else { parse(text.as_bytes()) }
}

/// Parses a decimal number, without the words that Rust's parser also accepts.
fn parse(spelling: &[u8]) -> Option<f64> {
    let decimal = |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    if !spelling.iter().all(decimal) {
        return None;
    }
    std::str::from_utf8(spelling).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_converted_as_javascript_converts_them() {
        let cases: &[(&[u8], Named)] = &[
            (b"1", Named::Known(1)),
            (b"0", Named::Known(1)),
            (b"-5", Named::Known(1)),
            (b"null", Named::Known(1)),
            (b"false", Named::Known(1)),
            (b"\"\"", Named::Known(1)),
            (b"2", Named::Known(2)),
            (b"\"2\"", Named::Known(2)),
            (b"2.5", Named::Known(2)),
            (b"2.0", Named::Known(2)),
            (b"3", Named::Known(3)),
            (b"3e0", Named::Known(3)),
            (b"3.5", Named::Newer(3.5)),
            (b"99", Named::Newer(99.0)),
            (b"\"x\"", Named::NotANumber),
            (b"\"0.1.0\"", Named::NotANumber),
            (b"\"inf\"", Named::NotANumber),
            (b"{}", Named::NotANumber),
        ];
        assert_eq!(Named::of(None), Named::Known(1));
        for (spelling, named) in cases {
            assert_eq!(Named::of(Some(spelling)), *named, "{}", String::from_utf8_lossy(spelling));
        }
    }
}
