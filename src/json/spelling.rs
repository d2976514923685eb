//! The spellings that producers give to JSON, and the words that Python adds to it.

use super::strings;
use super::text::{decode_wtf8, is_simple, quote_wtf8};

/// Style in which a producer spells JSON. Numbers and the order of members are the value's own.
///
/// ```
/// use copyist::json::EscapeStyle;
/// let mut out = Vec::new();
/// EscapeStyle::PYTHON.spell(r#"{"a":[1.50,"é\/"],"b":{}}"#.as_bytes(), &mut out);
/// assert_eq!(out, br#"{"a": [1.50, "\u00e9/"], "b": {}}"#);
/// out.clear();
/// EscapeStyle::PYTHON_FILE.spell(br#"{"a":[1],"b":{}}"#, &mut out);
/// assert_eq!(out, b"{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EscapeStyle {
    /// Whether characters beyond ASCII are escaped.
    ascii: bool,
    comma: &'static [u8],
    colon: &'static [u8],
    /// Whether each member and item has a line of its own.
    lines: bool,
}

impl EscapeStyle {
    /// The style of Python's `json.dump`.
    pub const PYTHON: Self = Self { ascii: true, comma: b", ", colon: b": ", lines: false };
    /// The style of Python's `json.dump` with `indent=2`.
    pub const PYTHON_FILE: Self = Self { ascii: true, comma: b",", colon: b": ", lines: true };
    /// The style of JavaScript's `JSON.stringify`.
    pub const SCRIPT: Self = Self { ascii: false, comma: b",", colon: b":", lines: false };
    /// The style of JavaScript's `JSON.stringify` on several lines, as `jq` and users write it.
    pub const SCRIPT_FILE: Self = Self { ascii: false, comma: b",", colon: b": ", lines: true };

    /// Appends a JSON text in this spelling.
    pub fn spell(self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len() + text.len() / 8);
        let as_it_is = self.keeps_strings(text);
        let mut depth = 0;
        let mut rest = text;
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            match first {
                b'"' => {
                    let (end, special) = string_end(after);
                    let (inner, behind) = after.split_at_checked(end).unwrap_or((after, b""));
                    match as_it_is {
                        true => quoted(out, |out| out.extend_from_slice(inner)),
                        false => self.string(inner, special, out),
                    }
                    rest = behind.get(1..).unwrap_or_default();
                }
                b'{' | b'[' => {
                    out.push(first);
                    let inside = after.trim_ascii_start();
                    if matches!(inside.first(), Some(b'}' | b']')) {
                        out.extend_from_slice(inside.get(..1).unwrap_or_default());
                        rest = inside.get(1..).unwrap_or_default();
                    } else {
                        depth += 1;
                        self.begin_line(depth, out);
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.begin_line(depth, out);
                    out.push(first);
                }
                b',' => {
                    out.extend_from_slice(self.comma);
                    self.begin_line(depth, out);
                }
                b':' => out.extend_from_slice(self.colon),
                space if space.is_ascii_whitespace() => {}
                other => out.push(other),
            }
        }
    }

    /// Whether all strings of a text are already spelled in this style, as far as one look at the
    /// whole text shows; most are.
    fn keeps_strings(self, text: &[u8]) -> bool {
        let is_plain = || match self.ascii {
            true => plain(text) == text.len(),
            false => text.iter().all(|b| *b >= b' ') && simdutf8::basic::from_utf8(text).is_ok(),
        };
        is_simple(text) && is_plain()
    }

    /// Begins a line. Deeper levels share a line, because indentation would grow with the square of
    /// the depth.
    fn begin_line(self, depth: usize, out: &mut Vec<u8>) {
        const DEEPEST: usize = 64;
        if self.lines && depth <= DEEPEST {
            out.push(b'\n');
            out.resize(out.len() + 2 * depth, b' ');
        }
    }

    /// Appends a string, given without its quotes; `special` is true if it contains anything but
    /// plain bytes and escapes of two characters.
    fn string(self, inner: &[u8], special: bool, out: &mut Vec<u8>) {
        let start = out.len();
        // In most strings at most the characters beyond ASCII must be respelled.
        if (!special || inner.iter().all(|b| *b >= b' '))
            && is_simple(inner)
            && let Ok(text) = simdutf8::basic::from_utf8(inner)
        {
            return quoted(out, |out| match self.ascii {
                true => escape(text, out),
                false => out.extend_from_slice(inner),
            });
        }
        match decode_wtf8(&[b"\"", inner, b"\""].concat()) {
            Some(text) => quote_wtf8(&text, out),
            None => return,
        }
        if self.ascii {
            let quoted = out.split_off(start);
            escape(&String::from_utf8_lossy(&quoted), out);
        }
    }
}

fn quoted(out: &mut Vec<u8>, inside: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    inside(out);
    out.push(b'"');
}

/// Appends text with an escape for each character that is not printable ASCII.
fn escape(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain(rest.as_bytes()));
        out.extend_from_slice(plain.as_bytes());
        let mut chars = behind.chars();
        let Some(c) = chars.next() else { return };
        for unit in c.encode_utf16(&mut [0; 2]) {
            let digit = |shift: u32| b"0123456789abcdef"[usize::from(*unit >> shift & 0xf)];
            out.extend([b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
        }
        rest = chars.as_str();
    }
}

/// Returns how many bytes at the beginning of a text are printable ASCII.
fn plain(text: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    // All bytes of a block are tested, because the compiler then tests many at once.
    let all = |block: &[u8; BLOCK]| block.iter().fold(true, |all, byte| all & is_plain(byte));
    let (blocks, _) = text.as_chunks::<BLOCK>();
    let start = blocks.iter().take_while(|block| all(block)).count() * BLOCK;
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len())
}

/// Returns where the string that begins here ends: the place of its closing quote; and whether
/// there is anything but plain bytes and escapes of two characters before it.
fn string_end(text: &[u8]) -> (usize, bool) {
    let (mut at, mut special) = (0, false);
    loop {
        at = strings::stop(text, at);
        match text.get(at) {
            Some(b'"') => return (at, special),
            Some(b'\\') => at = (at + 2).min(text.len()),
            Some(_) => at += 1,
            None => return (text.len(), special),
        }
        special = true;
    }
}

/// Returns the text with `null` for `NaN`, `Infinity` and `-Infinity`, which Python writes and
/// reads and JSON does not know; `None` if the text contains none of them.
///
/// ```
/// use copyist::json::without_nan;
/// assert_eq!(without_nan(br#"{"a":NaN,"b":"NaN"}"#).unwrap(), br#"{"a":null,"b":"NaN"}"#);
/// assert_eq!(without_nan(b"{}"), None);
/// ```
pub fn without_nan(text: &[u8]) -> Option<Vec<u8>> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let mut out = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = memchr::memchr3(b'"', b'N', b'I', text.get(at..).unwrap_or_default()) {
        at += found;
        if text.get(at) == Some(&b'"') {
            at += 2 + string_end(text.get(at + 1..).unwrap_or_default()).0;
            continue;
        }
        let signed = at > done && text.get(at - 1) == Some(&b'-');
        let start = at - usize::from(signed);
        let rest = text.get(start..).unwrap_or_default();
        let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) else {
            at += 1;
            continue;
        };
        out.extend_from_slice(text.get(done..start).unwrap_or_default());
        out.extend_from_slice(b"null");
        at = start + word.len();
        done = at;
    }
    out.extend_from_slice(text.get(done..).unwrap_or_default());
    (done > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(spelling: EscapeStyle, text: &str) -> String {
        let mut out = Vec::new();
        spelling.spell(text.as_bytes(), &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn python_s_spelling() {
        let text =
            "{ \"a\\/\u{7f}\" : \"é😀\u{2028}\\u00E9\\ud83d \\n\", \"b\":[ ] ,\"c\":-1.50e+3}";
        let python =
            r#"{"a/\u007f": "\u00e9\ud83d\ude00\u2028\u00e9\ud83d \n", "b": [], "c": -1.50e+3}"#;
        assert_eq!(spelled(EscapeStyle::PYTHON, text), python);
        assert_eq!(spelled(EscapeStyle::PYTHON, python), python);
    }

    #[test]
    fn javascript_s_spelling() {
        let python = r#"{"a": "\u00e9\ud83d\ude00\ud83d", "b": [1, {}]}"#;
        assert_eq!(spelled(EscapeStyle::SCRIPT, python), r#"{"a":"é😀\ud83d","b":[1,{}]}"#);
    }

    #[test]
    fn words_of_python_outside_of_strings() {
        let text = br#"[NaN,-Infinity,Infinity,"-NaN \" NaN",Nix]"#;
        let null = br#"[null,null,null,"-NaN \" NaN",Nix]"#;
        assert_eq!(without_nan(text).expect("some"), null);
        assert_eq!(without_nan(null), None);
    }
}
