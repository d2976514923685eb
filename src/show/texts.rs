//! Texts as views show them.

use crate::diagnostic::is_unsafe;
pub use crate::diagnostic::one_line;
use std::borrow::Cow;

/// Returns a text without the colours of terminals and without characters that command a terminal or
/// change the direction of text; line breaks are line feeds.
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| !matches!(c, '\n' | '\t') && is_unsafe(c);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_have_no_effect() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\r\nb\u{202e}c\u{7}"), "ared\nb\\u{202e}c␇");
        assert_eq!(clean("é👨\u{200d}👩"), "é👨\u{200d}👩");
        assert_eq!(one_line(" a\n b  c", 3), "a b…");
        assert_eq!(one_line("abc", 2), "ab…");
    }
}
