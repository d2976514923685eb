//! The texts of a view: the one place through which each of them passes.

use crate::json::{Json, text};
use std::borrow::Cow;
use std::fmt;

/// Replaces what a view must not show in a text.
pub type Mask<'m> = &'m (dyn for<'t> Fn(&'t str) -> Cow<'t, str> + 'm);

/// Passes on the texts of a session to its view.
#[derive(Clone, Copy)]
pub struct Texts<'m> {
    mask: Option<Mask<'m>>,
}

impl fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").field("masks", &self.mask.is_some()).finish()
    }
}

impl<'m> Texts<'m> {
    /// Creates a passage for texts, which masks them if there is a mask.
    pub fn new(mask: Option<Mask<'m>>) -> Self {
        Self { mask }
    }

    /// Returns a text as it is shown.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.mask {
            Some(mask) => mask(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns an owned text as it is shown.
    pub fn own(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    /// Returns a JSON value, each of whose texts is as it is shown.
    pub fn json(&self, json: &Json) -> Json {
        if self.mask.is_none() {
            return json.clone();
        }
        let (bytes, mut out) = (json.as_bytes(), Vec::new());
        let mut at = 0;
        while let Some(begin) = bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            let begin = at + begin;
            let end = end_of_string(bytes, begin);
            out.extend_from_slice(bytes.get(at..begin).unwrap_or_default());
            let spelling = bytes.get(begin..end).unwrap_or_default();
            match text::decoded(spelling) {
                Some(decoded) => match self.text(&decoded) {
                    Cow::Borrowed(same) if same.len() == decoded.len() => {
                        out.extend_from_slice(spelling);
                    }
                    masked => text::quote(&masked, &mut out),
                },
                None => out.extend_from_slice(spelling),
            }
            at = end;
        }
        out.extend_from_slice(bytes.get(at..).unwrap_or_default());
        Json::checked(out.into())
    }
}

/// Returns the place behind a string that begins at `begin`.
fn end_of_string(json: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    loop {
        match json.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return json.len(),
        }
    }
}

/// Returns a text without the colours of terminals and without characters that command a terminal or
/// change the direction of text; line breaks are line feeds.
pub fn clean(text: &str) -> Cow<'_, str> {
    let plain = |c: char| !is_unsafe(c);
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {}
            }
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            // The pictures of control characters.
            '\0'..='\u{1f}' if c != '\n' && c != '\t' => {
                out.extend(char::from_u32(u32::from(c) + 0x2400));
            }
            _ if is_unsafe(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a character commands a terminal or changes the direction of text.
fn is_unsafe(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns a text in one line of at most `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= most {
                out.push('…');
                return out;
            }
            out.push(c);
            count += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_have_no_effect() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\r\nb\u{202e}c\u{7}"), "ared\nb\\u{202e}c␇");
        assert_eq!(clean("é👨\u{200d}👩"), "é👨\u{200d}👩");
        assert_eq!(one_line(" a\n b  c", 3), "a b…");
    }

    #[test]
    fn every_text_of_a_value_is_masked() {
        let mask = |text: &str| -> Cow<'_, str> { text.replace("s3\"", "***").into() };
        let mask: Mask<'_> = &|text| Cow::Owned(mask(text).into_owned());
        let json: Json = r#"{"a":["s3\"x",1],"s3\"":"\\"}"#.parse().expect("JSON");
        let masked = Texts::new(Some(mask)).json(&json);
        assert_eq!(masked.as_bytes(), br#"{"a":["***x",1],"***":"\\"}"#);
    }
}
