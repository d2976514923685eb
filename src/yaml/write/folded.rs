//! Scalars as PyYAML spells them, folded at 80 columns.
//!
//! Source: PyYAML 6.0.3, `emitter.py`: `write_plain`, `write_single_quoted`,
//! `write_double_quoted`. These walk the text one character at a time; here runs of characters
//! that are written alike are taken at once.
//!
//! Bytes are the measure, so its faults are here, too: from the fortieth level on, where indentation
//! passes column 80, it writes some double quotes that it does not read back.

use super::analysis::{Class, class, point};
use super::pen::Pen;

/// PyYAML's `best_width`.
const WIDTH: usize = 80;

/// Writes text without quotes. Keys that stand before their `:` are not folded.
pub fn plain(pen: &mut Pen, text: &[u8], fold: bool) {
    if text.is_empty() {
        return;
    }
    if !pen.space {
        pen.push(b" ");
    }
    pen.content();
    for run in Runs(text) {
        if run.text == b" " && pen.column > WIDTH && fold {
            pen.new_line();
            pen.content();
        } else {
            pen.push(run.text);
        }
    }
}

/// Writes text in single quotes.
pub fn single(pen: &mut Pen, text: &[u8], fold: bool) {
    pen.indicator(b"'", true);
    let mut runs = Runs(text);
    let mut first = true;
    while let Some(run) = runs.next() {
        let inside = !first && !runs.0.is_empty();
        first = false;
        match run.kind {
            Kind::Space if run.text == b" " && pen.column > WIDTH && fold && inside => {
                pen.new_line();
            }
            Kind::Quote => pen.push(b"''"),
            Kind::Break => breaks(pen, run.text),
            Kind::Space | Kind::Word => pen.push(run.text),
        }
    }
    pen.indicator(b"'", false);
}

/// Writes line breaks, the first of which would be read as a space if it stood alone.
fn breaks(pen: &mut Pen, run: &[u8]) {
    if run.first() == Some(&b'\n') {
        pen.line_break(b"\n");
    }
    let mut at = 0;
    while at < run.len() {
        let (_, length) = point(run, at);
        pen.line_break(run.get(at..at + length).unwrap_or_default());
        at += length;
    }
    pen.new_line();
}

/// Writes text in double quotes.
pub fn double(pen: &mut Pen, text: &[u8], fold: bool) {
    pen.indicator(b"\"", true);
    // Unwritten text begins at `start` and has `waiting` characters.
    let (mut start, mut at, mut waiting) = (0, 0, 0);
    while let Some(&byte) = text.get(at) {
        let (point, length) = if byte < 0x80 { (byte.into(), 1) } else { point(text, at) };
        let next = at + length;
        let escaped = is_escaped(point);
        if escaped {
            pen.push(text.get(start..at).unwrap_or_default());
            escape(pen, point);
            (start, waiting) = (next, 0);
        }
        let may_fold = at > 0 && next < text.len() && (byte == b' ' || start >= at);
        // Behind an escape PyYAML counts one column less: its `start` lies past its `end`.
        if may_fold && fold && pen.column + waiting > WIDTH + usize::from(escaped) {
            pen.push(text.get(start..at).unwrap_or_default());
            (start, waiting) = (start.max(at), 0);
            fold_double(pen, text.get(start));
        }
        waiting += usize::from(!escaped);
        at = next;
    }
    pen.push(text.get(start..).unwrap_or_default());
    pen.indicator(b"\"", false);
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

/// Whether a character cannot stand in double quotes as it is. Unlike elsewhere in PyYAML, no
/// character beyond U+FFFF can.
fn is_escaped(point: u32) -> bool {
    match point {
        0x22 | 0x5c => true,
        0x20..=0x7e => false,
        _ => point > 0xffff || class(point) != Class::Plain,
    }
}

fn escape(pen: &mut Pen, point: u32) {
    let short = match point {
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
        0x85 => b'N',
        0x2028 => b'L',
        0x2029 => b'P',
        _ if point < 0x100 => return pen.push(format!("\\x{point:02X}").as_bytes()),
        _ if point < 0x10000 => return pen.push(format!("\\u{point:04X}").as_bytes()),
        _ => return pen.push(format!("\\U{point:08X}").as_bytes()),
    };
    pen.push(&[b'\\', short]);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Break,
    Quote,
    Word,
}

/// Characters in a row that are written alike; every quote is a run of its own.
struct Run<'a> {
    kind: Kind,
    text: &'a [u8],
}

/// Splits a text into its runs.
struct Runs<'a>(&'a [u8]);

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    fn next(&mut self) -> Option<Run<'a>> {
        let (kind, mut end) = kind(self.0, 0)?;
        while kind != Kind::Quote
            && let Some((next, length)) = self::kind(self.0, end)
            && next == kind
        {
            end += length;
        }
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(Run { kind, text })
    }
}

/// The kind of the character at an offset, and how many bytes can be taken for it at once.
#[inline]
fn kind(text: &[u8], at: usize) -> Option<(Kind, usize)> {
    Some(match text.get(at)? {
        b' ' => (Kind::Space, 1),
        b'\'' => (Kind::Quote, 1),
        b'\n' => (Kind::Break, 1),
        0xc2 | 0xe2 => {
            let (point, length) = point(text, at);
            (if class(point) == Class::Break { Kind::Break } else { Kind::Word }, length)
        }
        _ => (Kind::Word, 1),
    })
}
