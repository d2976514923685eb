//! Scalars for users: without quotes where every parser agrees, never folded.

use super::analysis::{Class, class, next_special, point};
use super::pen::Pen;

/// Spelling of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarStyle {
    /// Without quotes.
    Plain,
    /// As a literal block (`|`).
    Literal,
    /// In double quotes, on one line.
    Quoted,
}

/// Properties of a text, found in one walk.
struct Found {
    special: bool,
    multiline: bool,
    /// Whether the text contains characters that end a plain scalar or begin a comment.
    syntax: bool,
}

/// Returns the safest spelling that a user can read.
pub fn spelling(text: &[u8], one_line: bool) -> ScalarStyle {
    let found = look(text);
    if found.special {
        ScalarStyle::Quoted
    } else if found.multiline {
        if one_line || !is_block(text) { ScalarStyle::Quoted } else { ScalarStyle::Literal }
    } else if found.syntax || !is_plain(text) {
        ScalarStyle::Quoted
    } else {
        ScalarStyle::Plain
    }
}

fn look(text: &[u8]) -> Found {
    let mut found = Found { special: false, multiline: false, syntax: false };
    let mut at = 0;
    while let Some(byte) = next_special(text, &mut at) {
        let (point, length) = if byte < 0x80 { (byte.into(), 1) } else { point(text, at) };
        match byte {
            b'\n' => found.multiline = true,
            // YAML allows tabs in blocks and quotes, but no plain scalar of PyYAML holds one.
            b'\t' => found.syntax = true,
            b':' => found.syntax |= matches!(text.get(at + 1), None | Some(b' ')),
            b'#' => found.syntax |= at > 0 && text.get(at - 1) == Some(&b' '),
            _ => found.special |= class(point) != Class::Plain,
        }
        at += length;
    }
    found
}

/// Whether every parser returns the text of a literal block unchanged. Some parsers, and every
/// editor that trims lines, would treat a last line of spaces as the block's end.
fn is_block(text: &[u8]) -> bool {
    let mut lines = text.rsplit(|b| *b == b'\n');
    let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
    !last.iter().all(|b| matches!(b, b' ' | b'\t'))
}

/// Whether a text of one line, without quotes, is that text in YAML 1.1 and 1.2: it begins with a
/// letter, so it is not a number, time or indicator, and it is not one of the words with a meaning.
fn is_plain(text: &[u8]) -> bool {
    let letter = match text.first() {
        Some(first @ ..0x80) => first.is_ascii_alphabetic(),
        Some(_) => point(text, 0).0 > 0xa0,
        None => false,
    };
    letter && text.last() != Some(&b' ') && !WORDS.iter().any(|w| text.eq_ignore_ascii_case(w))
}

/// Booleans, nulls and numbers of YAML 1.1 and 1.2, and of parsers that accept more than either.
const WORDS: &[&[u8]] = &[
    b"y",
    b"n",
    b"yes",
    b"no",
    b"on",
    b"off",
    b"t",
    b"f",
    b"true",
    b"false",
    b"null",
    b"nil",
    b"none",
    b"nan",
    b"inf",
    b"infinity",
];

/// Writes text without quotes.
pub fn plain(pen: &mut Pen, text: &[u8]) {
    if !pen.space {
        pen.push(b" ");
    }
    pen.push(text);
    pen.content();
}

/// Writes text of several lines as a literal block.
pub fn literal(pen: &mut Pen, text: &[u8]) {
    // The indentation cannot be determined from the first line if that is indented itself or empty.
    // libyaml refuses a tab there.
    let hint: &[u8] = if matches!(text, [b' ' | b'\t' | b'\n', ..]) { b"2" } else { b"" };
    let (lines, chomping): (_, &[u8]) = match text.strip_suffix(b"\n") {
        None => (text, b"-"),
        Some(lines) if lines.ends_with(b"\n") => (lines, b"+"),
        Some(lines) => (lines, b""),
    };
    pen.indicator(&[b"|", hint, chomping].concat(), true);
    for line in lines.split(|b| *b == b'\n') {
        if line.is_empty() {
            pen.line_break(b"\n");
        } else {
            pen.content();
            pen.new_line();
            pen.push(line);
        }
    }
    pen.content();
}

/// Writes text in double quotes, with the escapes of JSON.
pub fn quoted(pen: &mut Pen, text: &[u8]) {
    pen.indicator(b"\"", true);
    let (mut start, mut at) = (0, 0);
    while let Some(byte) = next_special(text, &mut at) {
        let (point, length) = if byte < 0x80 { (byte.into(), 1) } else { point(text, at) };
        if matches!(byte, b'"' | b'\\') || class(point) != Class::Plain {
            pen.push(text.get(start..at).unwrap_or_default());
            escape(pen, point);
            start = at + length;
        }
        at += length;
    }
    pen.push(text.get(start..).unwrap_or_default());
    pen.indicator(b"\"", false);
}

fn escape(pen: &mut Pen, point: u32) {
    let short = match point {
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        0x22 => b'"',
        0x5c => b'\\',
        _ if point < 0x10000 => return pen.push(format!("\\u{point:04x}").as_bytes()),
        _ => return pen.push(format!("\\U{point:08x}").as_bytes()),
    };
    pen.push(&[b'\\', short]);
}
