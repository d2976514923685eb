//! Text for terminals.

/// Returns text that cannot command a terminal: control, format and bidirectional characters are
/// shown as escapes.
pub fn printable(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut joins = || {
            let (before, after) = (out.chars().next_back(), chars.peek().copied());
            c == JOINER && before.is_some_and(is_picture) && after.is_some_and(is_picture)
        };
        if is_unsafe(c) || (matches!(c, '\u{200b}'..=JOINER) && !joins()) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Joins pictures to one, and is hidden between other characters.
const JOINER: char = '\u{200d}';

/// Whether a character is a picture, or selects the look of the one before it.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a character can command a terminal, or change the direction of text. Those that join
/// others, as in pictures of several characters, cannot.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns a text in one line of at most `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            if count + 1 >= most {
                out.push('…');
                return out;
            }
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
    fn nothing_in_a_file_commands_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}é"), "a\\u{1b}[31m\\u{202e}é");
        assert_eq!(
            printable("👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥"),
            "👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥"
        );
        assert_eq!(printable("a\u{200d}b\u{200b}"), "a\\u{200d}b\\u{200b}");
    }
}
