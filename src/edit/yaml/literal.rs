//! Texts in the style that they have in the source: blocks line by line, quotes on one line.

use super::lines::Lines;
use super::tree::Node;
use crate::json::text::quote_wtf8;
use crate::yaml::read::ScalarStyle;
use std::ops::Range;

/// Returns what changes in the text of a literal block, so that it says `new`; `None` if a block
/// cannot say that, or only another one.
pub fn changes(
    lines: Lines<'_>,
    node: &Node,
    new: &[u8],
    line_break: &[u8],
) -> Option<Vec<(Range<usize>, Vec<u8>)>> {
    let old = node.text.as_bytes();
    let (is_new, is_old) = (is_printable(new), is_printable(old));
    let header = node.content + 1..node.content + 3;
    let indicators = lines.part(header.start, header.end.min(lines.end(node.content)));
    let digit = indicators.iter().any(u8::is_ascii_digit);
    let (old_body, old_ends) = body(old)?;
    let (new_body, new_ends) = body(new)?;
    let first = new_body.iter().find(|line| !line.is_empty())?;
    if !(is_new && is_old) || first.starts_with(b"\t") || first.starts_with(b" ") && !digit {
        return None;
    }
    let mut changes = Vec::new();
    if let Some(change) = chomping(indicators, header.start, old_ends, new_ends)? {
        changes.push(change);
    }
    let places = places(lines, node, old_body.len());
    let (full, shown) = places.iter().zip(&old_body).find(|(_, shown)| !shown.is_empty())?;
    let indent = full.len().checked_sub(shown.len())?;
    let same = |pair: &(&&[u8], &&[u8])| pair.0 == pair.1;
    let start = old_body.iter().zip(&new_body).take_while(same).count();
    let rest = old_body.len().min(new_body.len()) - start;
    let end = old_body.iter().rev().zip(new_body.iter().rev()).take(rest);
    let end = end.take_while(same).count();
    let lines_of_new = new_body.get(start..new_body.len() - end)?.iter().map(|line| {
        let indent = if line.is_empty() { 0 } else { indent };
        [&vec![b' '; indent], *line].concat()
    });
    let text = lines_of_new.collect::<Vec<_>>();
    let (first, last) = (places.get(start), places.get(..old_body.len() - end)?.last());
    let replaced = old_body.len() - end > start;
    let text_of = |text: Vec<Vec<u8>>| text.join(line_break);
    match (first, last) {
        _ if !replaced && text.is_empty() => {}
        (Some(first), Some(last)) if replaced && !text.is_empty() => {
            changes.push((first.start..last.end, text_of(text)));
        }
        // Lines are taken out, with the line break before or behind them.
        (Some(first), Some(_)) if replaced => match places.get(old_body.len() - end) {
            Some(next) => changes.push((first.start..next.start, Vec::new())),
            None => changes.push((places.get(start.checked_sub(1)?)?.end..node.end, Vec::new())),
        },
        (Some(next), _) => {
            changes.push((next.start..next.start, [&text_of(text), line_break].concat()));
        }
        (None, Some(last)) => {
            changes.push((last.end..last.end, [line_break, &text_of(text)].concat()));
        }
        (None, None) => return None,
    }
    Some(changes)
}

/// Returns the lines of a text, without the line breaks at its end, and how many these are.
fn body(text: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let end = text.iter().rposition(|b| *b != b'\n')? + 1;
    Some((text.get(..end)?.split(|b| *b == b'\n').collect(), text.len() - end))
}

/// Returns the change of the indicator that says how many line breaks end the text; `None` if the
/// block itself would have to change.
#[allow(clippy::option_option, reason = "no change is an answer")]
fn chomping(
    indicators: &[u8],
    at: usize,
    old: usize,
    new: usize,
) -> Option<Option<(Range<usize>, Vec<u8>)>> {
    let found = indicators.iter().position(|b| matches!(b, b'+' | b'-'));
    let place = found.map(|found| at + found);
    let keeps = found.and_then(|found| indicators.get(found)) == Some(&b'+');
    match (old, new) {
        _ if old == new => Some(None),
        (0, 1) if !keeps => Some(place.map(|place| (place..place + 1, Vec::new()))),
        (1, 0) if !keeps => Some(Some((at..at, b"-".to_vec()))),
        _ => None,
    }
}

/// Returns the places of the first lines of a block.
fn places(lines: Lines<'_>, node: &Node, count: usize) -> Vec<Range<usize>> {
    let first = lines.next(node.content);
    let starts = std::iter::successors(Some(first), |start| Some(lines.next(*start)));
    starts.take(count).map(|start| start..lines.end(start)).collect()
}

/// Whether every parser reads each character of a text as it is, in a block or in quotes.
fn is_printable(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    text.chars().all(|c| match c {
        '\n' | '\t' => true,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        _ => !c.is_control(),
    })
}

/// Returns a text in the quotes of a scalar; `None` if it does not have quotes, or more than a line.
pub fn in_quotes(lines: Lines<'_>, node: &Node, new: &[u8]) -> Option<Vec<u8>> {
    let spelling = lines.part(node.content, node.end);
    let is_line = |text: &[u8]| memchr::memchr2(b'\n', b'\r', text).is_none();
    if !is_line(spelling) || !is_line(new) {
        return None;
    }
    match spelling.first() {
        Some(b'\'') if is_printable(new) => {
            let pieces: Vec<_> = new.split(|b| *b == b'\'').collect();
            Some([b"'", pieces.join(&b"''"[..]).as_slice(), b"'"].concat())
        }
        // Quotes that were needed for escapes are no style.
        Some(b'"') if memchr::memchr(b'\\', spelling).is_none() => Some(quoted(new)),
        _ => None,
    }
}

/// Spells a text in double quotes, on one line.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    quote_wtf8(text, &mut json);
    if is_printable(&json) {
        return json;
    }
    let mut out = Vec::with_capacity(json.len());
    for chunk in json.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
            {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
            } else {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

/// Whether a scalar is a literal block.
pub fn is_literal(node: &Node) -> bool {
    node.kind == super::tree::Kind::Scalar(ScalarStyle::Literal)
}
