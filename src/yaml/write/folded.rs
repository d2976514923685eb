//! Scalars as PyYAML spells them, folded at 80 columns.
//!
//! Source: PyYAML 6.0.3, `emitter.py`: `write_plain`, `write_single_quoted`, `write_double_quoted`.
//! These walk the text one character at a time; this module takes the text between the characters
//! that matter at once.
//!
//! The output must be equal byte for byte, so PyYAML's faults are here, too: from the fortieth
//! level on, where indentation passes column 80, it writes some double quotes that it does not read
//! back.

use super::analysis::{Class, class, point};
use super::pen::Pen;
use crate::json::scan::{HIGH, ONES, first, word};
use std::ops::Range;

/// PyYAML's `best_width`.
const WIDTH: usize = 80;
/// PyYAML's width behind an escape, where it counts one column less: its `start` lies past its
/// `end`.
const ESCAPED_WIDTH: usize = WIDTH + 1;

/// Writes text without quotes. Keys before their `:` are not folded.
pub fn plain(pen: &mut Pen, text: &[u8], fold: bool) {
    if text.is_empty() {
        return;
    }
    if !pen.space {
        pen.push(b" ");
    }
    pen.content();
    let mut at = 0;
    while fold && let Some(space) = fold_at(text, at..text.len(), pen.column) {
        pen.push(text.get(at..space).unwrap_or_default());
        pen.new_line();
        pen.content();
        at = space + 1;
    }
    pen.push(text.get(at..).unwrap_or_default());
}

/// Writes text in single quotes; `wide` is true if it contains line breaks other than `\n`.
pub fn single(pen: &mut Pen, text: &[u8], fold: bool, wide: bool) {
    pen.indicator(b"'", true);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = at + if wide { words(rest) } else { narrow_words(rest) };
        while fold
            && pen.column + (end - at) > WIDTH
            && let Some(space) = fold_at(text, at..end, pen.column)
        {
            pen.push(text.get(at..space).unwrap_or_default());
            pen.new_line();
            at = space + 1;
        }
        let run = text.get(at..end).unwrap_or_default();
        at = end;
        match text.get(at) {
            Some(b'\'') => {
                pen.push(run);
                pen.push_counted(b"''", 2);
                at += 1;
            }
            Some(b'\n') if !wide => {
                // The column begins again.
                pen.out.extend_from_slice(run);
                let rest = text.get(at..).unwrap_or_default();
                let count = rest.iter().take_while(|b| **b == b'\n').count();
                // A single line break would be read as a space.
                (0..=count).for_each(|_| pen.line_break(b"\n"));
                pen.new_line();
                at += count;
            }
            _ => {
                pen.push(run);
                at += breaks(pen, text.get(at..).unwrap_or_default());
            }
        }
    }
    pen.indicator(b"'", false);
}

/// Returns the place of the first space in `range` that begins a new line: it is beyond the last
/// column, alone, and at neither end of the text.
fn fold_at(text: &[u8], range: Range<usize>, column: usize) -> Option<usize> {
    let part = text.get(range.clone())?;
    let mut from = skip(part, (WIDTH + 1).saturating_sub(column));
    while let Some(found) = memchr::memchr(b' ', part.get(from..)?) {
        let at = range.start + from + found;
        let before = at.checked_sub(1).and_then(|i| text.get(i));
        let alone = |beside: Option<&u8>| beside.is_some_and(|b| *b != b' ');
        if alone(before) && alone(text.get(at + 1)) {
            return Some(at);
        }
        from += found + 1;
    }
    None
}

/// Returns how many bytes some characters take at the beginning of a text; more than the text has
/// if it has fewer characters.
fn skip(text: &[u8], characters: usize) -> usize {
    match text.get(..characters) {
        Some(head) if !head.is_ascii() => {
            let starts = text.iter().enumerate().filter(|(_, b)| **b & 0xc0 != 0x80);
            starts.map(|(at, _)| at).nth(characters).unwrap_or(text.len() + 1)
        }
        Some(_) => characters,
        None => text.len() + 1,
    }
}

/// Returns the length of the text before the first quote or `\n`.
fn narrow_words(text: &[u8]) -> usize {
    memchr::memchr2(b'\'', b'\n', text).unwrap_or(text.len())
}

/// Returns the length of the text before the first quote or line break. Only a part is searched, so
/// that many line breaks of one kind never cause as many walks to the first of another.
fn words(text: &[u8]) -> usize {
    let part = text.get(..1024).unwrap_or(text);
    let end = memchr::memchr2(b'\'', b'\n', part).unwrap_or(part.len());
    let mut wide = memchr::memchr2_iter(0xc2, 0xe2, part.get(..end).unwrap_or_default());
    wide.find(|at| break_length(text, *at).is_some()).unwrap_or(end)
}

/// Returns the length of the line break at an offset, if there is one.
fn break_length(text: &[u8], at: usize) -> Option<usize> {
    let (point, length) = point(text, at);
    (class(point) == Class::Break).then_some(length)
}

/// Writes the line breaks at the beginning of a text; returns their length. A single `\n` would be
/// read as a space.
fn breaks(pen: &mut Pen, text: &[u8]) -> usize {
    if text.first() == Some(&b'\n') {
        pen.line_break(b"\n");
    }
    let mut at = 0;
    while let Some(length) = break_length(text, at) {
        pen.line_break(text.get(at..at + length).unwrap_or_default());
        at += length;
    }
    if at > 0 {
        pen.new_line();
    }
    at
}

/// Writes text in double quotes.
pub fn double(pen: &mut Pen, text: &[u8], fold: bool) {
    pen.indicator(b"\"", true);
    // Unwritten text begins at `start` and has `waiting` characters.
    let (mut start, mut at, mut waiting) = (0, 0, 0);
    loop {
        let end = at + printable(text, at);
        while fold && let Some(place) = double_fold_at(text, start, at..end, pen.column + waiting) {
            pen.push_counted(text.get(start..place).unwrap_or_default(), waiting + (place - at));
            fold_double(pen, text.get(place));
            (start, at, waiting) = (place, place + 1, 1);
        }
        waiting += end - at;
        at = end;
        let Some(&byte) = text.get(at) else { break };
        if let Some(letter) = letter(byte.into()) {
            pen.push_counted(text.get(start..at).unwrap_or_default(), waiting);
            pen.push_counted(&[b'\\', letter], 2);
            let behind = at > 0 && at + 1 < text.len();
            (start, at, waiting) = (at + 1, at + 1, 0);
            if behind && fold && pen.column > ESCAPED_WIDTH {
                fold_double(pen, text.get(at));
            }
            continue;
        }
        let (point, length) = if byte < 0x80 { (byte.into(), 1) } else { point(text, at) };
        let next = at + length;
        let escaped = is_escaped(point);
        if escaped {
            pen.push_counted(text.get(start..at).unwrap_or_default(), waiting);
            escape(pen, point);
            (start, waiting) = (next, 0);
        }
        let may_fold = at > 0 && next < text.len() && start >= at;
        if may_fold && fold && pen.column > if escaped { ESCAPED_WIDTH } else { WIDTH } {
            start = start.max(at);
            fold_double(pen, text.get(start));
        }
        waiting += usize::from(!escaped);
        at = next;
    }
    pen.push_counted(text.get(start..).unwrap_or_default(), waiting);
    pen.indicator(b"\"", false);
}

/// Returns the first place in a range of printable ASCII that begins a new line within double
/// quotes: beyond the last column a space, or any character behind an escape, where unwritten text
/// begins. Neither end of the text is such a place.
fn double_fold_at(text: &[u8], start: usize, range: Range<usize>, column: usize) -> Option<usize> {
    let last = text.len().saturating_sub(1);
    let Range { start: at, end } = range;
    if start == at && 0 < at && at < end.min(last) && column > WIDTH {
        return Some(at);
    }
    let from = (at + (WIDTH + 1).saturating_sub(column)).max(1);
    let part = text.get(from..end.min(last))?;
    part.iter().position(|b| *b == b' ').map(|found| from + found)
}

/// Returns how many bytes from `at` on are printable ASCII that double quotes contain as it is.
///
/// Eight bytes are tested at a time, as in [`scan`](crate::json::scan).
fn printable(text: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(word) = word(text, end) {
        let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
        let is = |byte: u8| (word ^ (ONES * u64::from(byte))).wrapping_sub(ONES);
        let hits = (low | is(b'\\') | is(0x7f) | word) & HIGH;
        if hits != 0 {
            return end + first(hits) - at;
        }
        end += 8;
    }
    text.len() - at
}

/// Goes to a new line within double quotes; a space that comes next would be lost there.
fn fold_double(pen: &mut Pen, next: Option<&u8>) {
    pen.push(b"\\");
    pen.new_line();
    pen.content();
    if next == Some(&b' ') {
        pen.push(b"\\");
    }
}

/// Whether a character that has no escape of two ASCII characters needs one in double quotes.
/// Unlike in the rest of PyYAML, every character beyond U+FFFF does.
fn is_escaped(point: u32) -> bool {
    match point {
        0x20..=0x7e => false,
        _ => point > 0xffff || class(point) != Class::Plain,
    }
}

/// Returns the letter of a character's escape, if the escape has two characters.
#[inline]
fn letter(point: u32) -> Option<u8> {
    Some(match point {
        0x00 => b'0',
        0x07 => b'a',
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0b => b'v',
        0x0c => b'f',
        0x0d => b'r',
        0x1b => b'e',
        0x22 => b'"',
        0x5c => b'\\',
        _ => return None,
    })
}

fn escape(pen: &mut Pen, point: u32) {
    let spelling = match point {
        0x85 => "\\N".to_owned(),
        0x2028 => "\\L".to_owned(),
        0x2029 => "\\P".to_owned(),
        _ if point < 0x100 => format!("\\x{point:02X}"),
        _ if point < 0x10000 => format!("\\u{point:04X}"),
        _ => format!("\\U{point:08X}"),
    };
    pen.push(spelling.as_bytes());
}
