//! Colours and columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether text is coloured.
#[derive(Clone, Copy, Debug)]
pub struct Ink(pub bool);

impl Ink {
    pub const TITLE: &str = "1";
    pub const FAINT: &str = "2";
    pub const USER: &str = "1;36";
    pub const ASSISTANT: &str = "1;32";
    pub const OTHER: &str = "1;35";
    pub const CALL: &str = "33";
    pub const THOUGHT: &str = "2;3";
    pub const ERROR: &str = "31";
    pub const BRANCH: &str = "34";
    pub const ADDED: &str = "32";
    pub const REMOVED: &str = "31";

    /// Returns a text in a style, given by the parameters of its escape sequence.
    pub fn paint(self, style: &str, text: &str) -> String {
        if !self.0 || style.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{style}m{text}\u{1b}[0m")
    }
}

/// Returns the number of columns of a text.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Returns a text that is cropped to `room` columns.
pub fn cropped(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut out = pieces(text, room.saturating_sub(1)).into_iter().next().unwrap_or_default();
    out.push('…');
    out
}

/// Divides a line into pieces of at most `room` columns.
pub fn pieces(line: &str, room: usize) -> Vec<String> {
    let (mut pieces, mut used, mut joined) = (vec![String::new()], 0, false);
    for c in line.chars() {
        // Pictures that are joined are as wide as one.
        let width = if joined { 0 } else { c.width().unwrap_or(0) };
        joined = c == '\u{200d}';
        if used + width > room && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// A piece of text in one style.
#[derive(Clone, Debug)]
pub struct Span {
    /// Style.
    pub style: String,
    /// Text; a line feed is a forced line break.
    pub text: String,
}

/// Breaks spans into lines of at most `room` columns, at spaces where that is possible.
pub fn lines(spans: &[Span], room: usize, ink: Ink) -> Vec<String> {
    let mut lines = vec![String::new()];
    let (mut used, mut space) = (0, false);
    for span in spans {
        for (number, line) in span.text.split('\n').enumerate() {
            if number > 0 {
                lines.push(String::new());
                (used, space) = (0, false);
            }
            for (number, word) in line.split(' ').enumerate() {
                space |= number > 0;
                if word.is_empty() {
                    continue;
                }
                let width = word.width();
                if used > 0 && used + usize::from(space) + width > room {
                    lines.push(String::new());
                    (used, space) = (0, false);
                }
                for (number, piece) in pieces(word, room).into_iter().enumerate() {
                    if number > 0 {
                        lines.push(String::new());
                        used = 0;
                    }
                    let Some(last) = lines.last_mut() else { continue };
                    if std::mem::take(&mut space) && used > 0 {
                        last.push(' ');
                        used += 1;
                    }
                    used += piece.width();
                    last.push_str(&ink.paint(&span.style, &piece));
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        let span = |text: &str| Span { style: String::new(), text: text.to_owned() };
        let spans = [span("The quick "), span("brown"), span("ish fox\nruns")];
        assert_eq!(lines(&spans, 9, Ink(false)), ["The quick", "brownish", "fox", "runs"]);
        assert_eq!(lines(&[span("日本語日本語")], 6, Ink(false)), ["日本語", "日本語"]);
    }
}
