//! One spelling for values that mean the same.

use super::{Json, Spelling, text};

impl Json {
    /// This string and another one as one, in their own spelling.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::string("a\n").joined(&Json::string("b")), Json::string("a\nb"));
    /// ```
    #[must_use]
    pub fn joined(&self, behind: &Self) -> Self {
        let mut out = self.as_bytes().to_vec();
        out.pop();
        out.extend_from_slice(behind.as_bytes().get(1..).unwrap_or_default());
        Self::checked(out.into())
    }

    /// The value without white space between its parts, its strings with as few escapes as can
    /// be. Numbers and the order of members stay as they are. A surrogate without its other half
    /// keeps its escape.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let spelled = Json::checked(br#"{ "\u0061": [1.50, "\u00e9\/", "\ud800"] }"#.to_vec().into());
    /// assert_eq!(spelled.normal(), r#"{"a":[1.50,"é/","\ud800"]}"#.as_bytes());
    /// ```
    #[must_use]
    pub fn normal(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.as_bytes().len());
        let mut rest = self.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            if first == b'"' {
                let length = string_length(rest);
                let (string, behind) = rest.split_at_checked(length).unwrap_or((rest, b""));
                string_normal(string, &mut out);
                rest = behind;
            } else {
                if !first.is_ascii_whitespace() {
                    out.push(first);
                }
                rest = after;
            }
        }
        out
    }

    /// The value as `json.dumps` of Python spells it: a space behind each comma and colon, and
    /// nothing but ASCII. Numbers stay as they are.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let spelled = Json::checked(r#"{"a":[1.50,"é/😀\u007f","\ud800"]}"#.into());
    /// let python = r#"{"a": [1.50, "\u00e9/\ud83d\ude00\u007f", "\ud800"]}"#;
    /// assert_eq!(spelled.python(), python.as_bytes());
    /// ```
    #[must_use]
    pub fn python(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.as_bytes().len() * 9 / 8);
        Spelling::PYTHON.spell(self.as_bytes(), &mut out);
        out
    }
}

/// The bytes of the string that begins here, its quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

fn string_normal(string: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr(b'\\', string).is_none() {
        out.extend_from_slice(string);
        return;
    }
    match text::decode_wtf8(string) {
        Some(text) => text::quote_wtf8(&text, out),
        None => out.extend_from_slice(string),
    }
}
