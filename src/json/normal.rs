//! Normal spelling, which is equal for values with the same meaning.

use super::{EscapeStyle, Json, strings, text};
use bytes::BytesMut;

impl Json {
    /// Joins this string and another one, in their own spelling. A buffer that is not shared is
    /// extended in place, so that each of many pieces is copied only once.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::string("a\n").joined(&Json::string("b")), Json::string("a\nb"));
    /// ```
    pub fn joined(self, behind: &Self) -> Self {
        let own = self.into_bytes().try_into_mut();
        let mut out = own.unwrap_or_else(|shared| BytesMut::from(&*shared));
        out.truncate(out.len().saturating_sub(1));
        out.extend_from_slice(behind.as_bytes().get(1..).unwrap_or_default());
        Self::trusted(out.freeze())
    }

    /// Returns the value without white space between its parts, its strings with as few escapes as
    /// possible. Numbers and the order of members stay as they are. A surrogate without its other
    /// half keeps its escape.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let spelled = Json::trusted(br#"{ "\u0061": [1.50, "\u00e9\/", "\ud800"] }"#.to_vec().into());
    /// assert_eq!(spelled.normal(), r#"{"a":[1.50,"é/","\ud800"]}"#.as_bytes());
    /// ```
    pub fn normal(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.as_bytes().len());
        self.normal_into(&mut out);
        out
    }

    /// Appends the value in its normal spelling.
    pub fn normal_into(&self, out: &mut Vec<u8>) {
        let bytes = self.as_bytes();
        let odd = !text::is_simple(bytes);
        if !odd && !matches!(bytes.first(), Some(b'{' | b'[')) && is_closed(bytes) {
            return out.extend_from_slice(bytes);
        }
        let (mut at, mut copied) = (0, 0);
        let copy = |from: usize, to: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
        };
        while let Some(&first) = bytes.get(at) {
            let start = at;
            if first == b'"' {
                at = string_end(bytes, at);
                if odd {
                    copy(copied, start, out);
                    string_normal(bytes.get(start..at).unwrap_or_default(), out);
                    copied = at;
                }
                continue;
            }
            at += 1;
            if first.is_ascii_whitespace() {
                copy(copied, start, out);
                copied = at;
            }
        }
        copy(copied, at, out);
    }

    /// Returns the value as `json.dumps` of Python spells it: a space behind each comma and colon,
    /// and only ASCII. Numbers stay as they are.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let spelled = Json::trusted(r#"{"a":[1.50,"é/😀\u007f","\ud800"]}"#.into());
    /// let python = r#"{"a": [1.50, "\u00e9/\ud83d\ude00\u007f", "\ud800"]}"#;
    /// assert_eq!(spelled.python(), python.as_bytes());
    /// ```
    pub fn python(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.as_bytes().len() * 9 / 8);
        EscapeStyle::PYTHON.spell(self.as_bytes(), &mut out);
        out
    }
}

/// Whether a scalar has no white space around it.
fn is_closed(scalar: &[u8]) -> bool {
    let [Some(first), Some(last)] = [scalar.first(), scalar.last()] else { return false };
    !first.is_ascii_whitespace() && !last.is_ascii_whitespace()
}

/// Returns the place behind the string that begins at `at`.
fn string_end(text: &[u8], mut at: usize) -> usize {
    at += 1;
    loop {
        at = strings::stop(text, at);
        match text.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at = (at + 2).min(text.len()),
            Some(_) => at += 1,
            None => return text.len(),
        }
    }
}

fn string_normal(string: &[u8], out: &mut Vec<u8>) {
    if text::is_simple(string) {
        out.extend_from_slice(string);
        return;
    }
    let start = out.len();
    if text::respell(string, out).is_none() {
        out.truncate(start);
        out.extend_from_slice(string);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pieces_are_one_in_no_time() {
        let piece = Json::string("what is said, in pieces");
        let many = std::iter::repeat_n(piece.clone(), 200_000);
        let whole = many.reduce(|a, b| a.joined(&b)).expect("pieces");
        let repeated = piece.text().expect("a string").repeat(200_000);
        assert!(
            whole == Json::string(&repeated) && piece == Json::string("what is said, in pieces")
        );
    }

    #[test]
    fn escapes_that_are_needed_stay_and_others_go() {
        let pieces = [
            "a",
            "é",
            "\\u0041",
            "\\u00e9",
            "\\u000a",
            "\\u001B",
            "\\u0022",
            "\\u005C",
            "\\u007f",
            "\\/",
            "\\\\",
            "\\\"",
            "\\n",
            "\\b",
            "\\uD83D",
            "\\ude00",
            "\\ud83d\\ude00",
        ];
        for first in pieces {
            for second in pieces {
                let spelled = format!("\"{first}{second}\"");
                let text = text::decode_wtf8(spelled.as_bytes()).expect("JSON");
                let mut simplest = Vec::new();
                text::quote_wtf8(&text, &mut simplest);
                let normal = Json::trusted(spelled.clone().into()).normal();
                assert_eq!(normal, simplest, "{spelled}");
            }
        }
    }
}
