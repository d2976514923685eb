//! Text for terminals.

/// Returns text that cannot command a terminal: control, format and bidirectional characters are
/// shown as escapes.
pub fn printable(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) || matches!(c, '\u{200b}'..='\u{200d}') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character can command a terminal, or change the direction of text. Those that join
/// others, as in pictures of several characters, cannot.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_commands_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}é"), "a\\u{1b}[31m\\u{202e}é");
    }
}
