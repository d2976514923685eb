//! Lines, columns and comments of a YAML text.

use memchr::{memchr2, memrchr2};

/// A text, for questions about its lines.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'t>(pub &'t [u8]);

impl<'t> Lines<'t> {
    /// Returns a part of the text.
    pub fn part(self, from: usize, to: usize) -> &'t [u8] {
        self.0.get(from..to).unwrap_or_default()
    }

    fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Returns where the line begins that contains a place.
    pub fn start(self, at: usize) -> usize {
        memrchr2(b'\n', b'\r', self.part(0, at)).map_or(0, |before| before + 1)
    }

    /// Returns where the line that contains a place ends, in front of its line break.
    pub fn end(self, at: usize) -> usize {
        let rest = self.0.get(at..).unwrap_or_default();
        memchr2(b'\n', b'\r', rest).map_or(self.0.len(), |end| at + end)
    }

    /// Steps over the line break at a place, if one is there.
    pub fn behind_break(self, at: usize) -> usize {
        match self.0.get(at..).unwrap_or_default() {
            [b'\r', b'\n', ..] => at + 2,
            [b'\r' | b'\n', ..] => at + 1,
            _ => at,
        }
    }

    /// Returns where the line before the one that begins at a place ends.
    pub fn before_break(self, start: usize) -> usize {
        match self.part(0, start) {
            [.., b'\r', b'\n'] => start - 2,
            [] => 0,
            _ => start - 1,
        }
    }

    /// Returns where the line begins that follows the line of a place.
    pub fn next(self, at: usize) -> usize {
        self.behind_break(self.end(at))
    }

    /// Returns the number of characters before a place in its line.
    pub fn column(self, at: usize) -> usize {
        self.part(self.start(at), at).iter().filter(|b| **b & 0xc0 != 0x80).count()
    }

    /// Whether a place is the first in its line but for spaces.
    pub fn is_first(self, at: usize) -> bool {
        self.part(self.start(at), at).iter().all(|b| *b == b' ')
    }

    /// Steps over spaces and tabs.
    pub fn behind_spaces(self, at: usize) -> usize {
        let rest = self.0.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
    }

    /// Steps over white space and comments.
    pub fn behind_blank(self, mut at: usize) -> usize {
        loop {
            match self.byte(at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => at += 1,
                Some(b'#') => at = self.end(at),
                _ => return at,
            }
        }
    }

    /// Returns the comment that follows a place in its line: where it begins and ends.
    pub fn comment(self, at: usize) -> Option<(usize, usize)> {
        let start = self.behind_spaces(at);
        (self.byte(start) == Some(b'#')).then(|| (start, self.end(start)))
    }

    /// Returns where the comments begin that are directly above a line, in the same column; at most
    /// as far up as `floor`. Comments that begin there are about more than the line.
    pub fn above(self, line: usize, floor: usize) -> usize {
        let column = self.behind_spaces(line) - line;
        let mut found = line;
        while found > floor {
            let before = self.start(self.before_break(found));
            let comment = self.behind_spaces(before);
            if before < floor || comment - before != column || self.byte(comment) != Some(b'#') {
                return found;
            }
            found = before;
        }
        found
    }
}

/// Returns a text whose lines behind the first are indented by another number of spaces, with
/// other line breaks.
pub fn indented(text: &[u8], from: usize, to: usize, line_break: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for (number, line) in text.split(|b| *b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if number == 0 {
            out.extend_from_slice(line);
            continue;
        }
        out.extend_from_slice(line_break);
        if line.is_empty() {
            continue;
        }
        let spaces = line.iter().take_while(|b| **b == b' ').count();
        out.resize(out.len() + (spaces + to).saturating_sub(from), b' ');
        out.extend_from_slice(line.get(spaces..).unwrap_or_default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_lines_are_found_with_every_line_break() {
        let text = "a: é # c\r\n# x\n  # y\n  - b\rc";
        let lines = Lines(text.as_bytes());
        let at = |part: &str| text.find(part).expect("a part");
        assert_eq!(lines.column(at("# c")), 5);
        assert_eq!(lines.next(0), at("# x"));
        assert_eq!(lines.next(at("- b")), at("c").max(text.len() - 1));
        assert_eq!(lines.comment(at(" # c")), Some((at("# c"), at("\r\n"))));
        assert_eq!(lines.behind_blank(at("# x")), at("- b"));
        assert_eq!(lines.above(lines.start(at("- b")), 0), at("  # y"));
        assert!(lines.is_first(at("- b")) && !lines.is_first(at("b\r")));
    }

    #[test]
    fn lines_are_indented_but_the_first() {
        assert_eq!(indented(b"a:\n- b\n\n   c", 0, 2, b"\r\n"), b"a:\r\n  - b\r\n\r\n     c");
        assert_eq!(indented(b"a:\n    b\n ", 2, 0, b"\n"), b"a:\n  b\n");
    }
}
