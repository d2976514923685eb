//! Analysis of the spellings that a scalar's text allows.

use crate::json::scan::{HIGH, ONES, first, word};

/// Spellings that a text allows by PyYAML's rules.
///
/// Source: PyYAML 6.0.3, `emitter.py`, `analyze_scalar`, without the parts that only matter in flow
/// collections and for block scalars: PyYAML writes none of these by default.
#[derive(Clone, Copy, Debug)]
pub struct Analysis {
    /// Whether the text contains a line break of YAML 1.1.
    pub multiline: bool,
    /// Whether one of these line breaks is not `\n`.
    pub wide: bool,
    /// Whether the text may be written without quotes, apart from texts that look like another
    /// type.
    pub plain: bool,
    /// Whether the text may be written in single quotes.
    pub single: bool,
}

/// Class of a character for an emitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A character that is written as it is.
    Plain,
    /// A line break of YAML 1.1: `\n`, U+0085, U+2028, U+2029.
    Break,
    /// A character that must be escaped: controls, U+FEFF, lone surrogates, U+FFFE, U+FFFF. PyYAML
    /// counts U+10FFFF among them.
    Special,
}

impl Analysis {
    /// Analyses a text in WTF-8.
    pub fn of(text: &[u8]) -> Self {
        let mut found =
            Self { multiline: false, wide: false, plain: plain_ends(text), single: true };
        let mut at = 0;
        while let Some(byte) = if found.plain {
            next_not_plain::<true>(text, &mut at)
        } else {
            next_not_plain::<false>(text, &mut at)
        } {
            // The spelling is double quotes; the other results do not matter for a text too long
            // for a key.
            if !found.plain && !found.single && (found.multiline || text.len() > LONG) {
                break;
            }
            at += match byte {
                b':' => {
                    found.plain &= !matches!(text.get(at + 1), None | Some(b' '));
                    1
                }
                b'#' => {
                    found.plain &= at == 0 || text.get(at - 1) != Some(&b' ');
                    1
                }
                _ => found.look(text, at),
            };
        }
        found
    }

    /// Analyses a character that is not printable ASCII; returns its length.
    fn look(&mut self, text: &[u8], at: usize) -> usize {
        let (point, length) = point(text, at);
        match class(point) {
            Class::Plain => {}
            Class::Special => (self.plain, self.single) = (false, false),
            Class::Break => {
                self.multiline = true;
                self.wide |= length > 1;
                self.plain = false;
                let before = at.checked_sub(1).and_then(|i| text.get(i));
                let beside = [before, text.get(at + length)];
                // In YAML 1.2 such a line would not be indented, so that only PyYAML reads it.
                let begins_line = length > 1 && before == Some(&b'\n');
                self.single &= !beside.contains(&Some(&b' ')) && !begins_line;
            }
        }
        length
    }
}

/// Length in bytes beyond that of any key that may come before its `:`.
const LONG: usize = 1024;

/// Goes to the next byte that is not printable ASCII, or with `MARKS` a colon or a hash; `None` at
/// the end.
///
/// Eight bytes are tested at a time, as in [`scan`](crate::json::scan).
#[inline]
fn next_not_plain<const MARKS: bool>(text: &[u8], at: &mut usize) -> Option<u8> {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    while let Some(word) = word(text, *at) {
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let is = |byte: u8| zero(word ^ (ONES * u64::from(byte)));
        let marks = if MARKS { is(b':') | is(b'#') } else { 0 };
        let hits = (control | word | is(0x7f) | marks) & HIGH;
        if hits != 0 {
            *at += first(hits);
            return text.get(*at).copied();
        }
        *at += 8;
    }
    None
}

/// Bytes that may not be literal in some spelling: the beginnings of characters beyond ASCII,
/// controls, and characters with a meaning in quotes or within plain text.
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut i = 0;
    while i < table.len() {
        table[i] = i < 0x20 || i > 0x7e || matches!(i as u8, b':' | b'#' | b'"' | b'\\');
        i += 1;
    }
    table
};

/// Goes to the next byte that [`SPECIAL`] contains; `None` at the end.
#[inline]
pub fn next_special(text: &[u8], at: &mut usize) -> Option<u8> {
    let rest = text.get(*at..)?;
    let found = rest.iter().position(|b| SPECIAL[usize::from(*b)]);
    *at += found.unwrap_or(rest.len());
    found.and_then(|i| rest.get(i).copied())
}

/// Whether the ends of the text allow it to be written without quotes.
fn plain_ends(text: &[u8]) -> bool {
    let alone = matches!(text.get(1), None | Some(b' '));
    match text.first() {
        None => true,
        Some(b' ' | b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!') => false,
        Some(b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`') => false,
        Some(b'?' | b':' | b'-') if alone => false,
        _ => {
            let marker = text.starts_with(b"---") || text.starts_with(b"...");
            !marker && text.last() != Some(&b' ')
        }
    }
}

/// Returns the class of a code point.
pub fn class(point: u32) -> Class {
    match point {
        0x0a | 0x85 | 0x2028 | 0x2029 => Class::Break,
        0xfeff => Class::Special,
        0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10fffe => Class::Plain,
        _ => Class::Special,
    }
}

/// Returns the code point at an offset of some WTF-8, and how many bytes it takes. Bytes that are
/// not WTF-8 read as U+FFFD, one byte at a time.
pub fn point(text: &[u8], at: usize) -> (u32, usize) {
    let low = |i: usize| match text.get(at + i) {
        Some(b @ 0x80..0xc0) => Some(u32::from(b & 0x3f)),
        _ => None,
    };
    let found = match text.get(at) {
        Some(&b @ ..0x80) => Some((b.into(), 1)),
        Some(&b @ 0xc2..0xe0) => low(1).map(|c| (u32::from(b & 0x1f) << 6 | c, 2)),
        Some(&b @ 0xe0..0xf0) => {
            low(1).zip(low(2)).map(|(c, d)| (u32::from(b & 0xf) << 12 | c << 6 | d, 3))
        }
        Some(&b @ 0xf0..0xf5) => low(1)
            .zip(low(2))
            .zip(low(3))
            .map(|((c, d), e)| (u32::from(b & 7) << 18 | c << 12 | d << 6 | e, 4)),
        _ => None,
    };
    found.unwrap_or((0xfffd, 1))
}
