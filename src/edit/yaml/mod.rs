//! Edits of a YAML document as patches: what was edited is changed in the source's text, and every
//! other byte stays.
//!
//! Nodes are compared by what PyYAML reads, never by their spelling. The nodes of the source and of
//! `before` correspond, and those of `before` and `after`: mappings by keys, sequences by their
//! items. What is the same in `before` and `after` keeps the source's text, whatever the source has
//! in its place; what differs is spelled as in `after`, with the source's indentation and line
//! breaks. In the end the result is parsed and must say what was merged.

mod block;
mod flow;
mod index;
mod items;
mod keys;
mod large;
mod lines;
mod literal;
mod meaning;
mod merge;
mod parse;
mod three;
mod tree;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

pub use index::Open;
pub use large::merge;

use crate::yaml::encoding::{Decoder, Found, encode};
use merge::Merge;
use parse::parse;
use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use three::Trees;
use tree::Tree;

const MARK: &str = "\u{feff}";

/// Returns `source` with the changes that lead from `before` to `after`; `None` if a change has no
/// place in the source's text, or if a text is not YAML. The encoding of the source is kept.
///
/// ```
/// use copyist::edit::yaml::merged;
/// let source = b"# ours\nname: \"oo\"\nturns: [ 1, 2 ] # two\n";
/// let before = b"name: oo\nturns:\n- 1\n- 2\n";
/// let after = b"name: oo\nturns:\n- 1\n- 2\n- 3\n";
/// let merged = merged(source, before, after).unwrap();
/// assert_eq!(merged, b"# ours\nname: \"oo\"\nturns: [ 1, 2, 3 ] # two\n");
/// ```
pub fn merged(source: &[u8], before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let ((text, found), (before, _), (after, _)) =
        (decoded(source)?, decoded(before)?, decoded(after)?);
    let spelled = |text: &[u8]| {
        let mark = if found.mark { MARK } else { "" };
        if found.is_utf8() {
            return Some([mark.as_bytes(), text].concat());
        }
        let mut out = Vec::new();
        encode(mark, found.encoding, &mut out).ok()?;
        encode(simdutf8::basic::from_utf8(text).ok()?, found.encoding, &mut out).ok()?;
        Some(out)
    };
    // An encoding may have several spellings for a character.
    if !found.is_utf8() && spelled(&text)? != source {
        return None;
    }
    spelled(&merged_text(&text, &before, &after)?)
}

/// Returns a text in UTF-8, and its encoding.
fn decoded(text: &[u8]) -> Option<(Cow<'_, [u8]>, Found)> {
    let found = Found::declared(text, None);
    if found.is_utf8() && simdutf8::basic::from_utf8(text).is_ok() {
        let text = text.strip_prefix(MARK.as_bytes()).unwrap_or(text);
        return Some((Cow::Borrowed(text), found));
    }
    let mut out = Vec::new();
    let mut decoder = Decoder::new(text, None);
    decoder.read_to_end(&mut out).ok()?;
    Some((Cow::Owned(out), decoder.found()))
}

fn merged_text(source: &[u8], before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let trees = Trees { source: parse(source)?, before: parse(before)?, after: parse(after)? };
    if trees.source.root.is_none() {
        return appended(trees, before, after);
    }
    let mut merge = Merge::of(&trees, line_break(source));
    let meaning = merge.document()?;
    let edits = merge.edits;
    if edits.is_empty() {
        return Some(source.to_vec());
    }
    let merged = applied(source, edits)?;
    let parsed = parse(&merged)?;
    let root = parsed.root.map(|root| parsed.node(root).hash);
    (root == Some(meaning)).then_some(merged)
}

/// Returns the source, which has no document, with the whole new one.
fn appended(trees: Trees<'_>, before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let source = trees.source.text;
    let meanings = |tree: &Tree<'_>| tree.root.map(|root| tree.node(root).hash);
    let (old, new) = (meanings(&trees.before), meanings(&trees.after));
    if before == after || old == new {
        return Some(source.to_vec());
    }
    let line_break: &[u8] = match source.last() {
        None | Some(b'\n' | b'\r') => b"",
        Some(_) => line_break(source),
    };
    let merged = [source, line_break, after].concat();
    let meaning = meanings(&parse(&merged)?);
    (meaning == new).then_some(merged)
}

/// Returns the line break of a text's first line.
fn line_break(text: &[u8]) -> &'static [u8] {
    let first = memchr::memchr2(b'\n', b'\r', text);
    match first.and_then(|at| text.get(at..)) {
        Some([b'\r', b'\n', ..]) => b"\r\n",
        Some([b'\r', ..]) => b"\r",
        _ => b"\n",
    }
}

/// Returns a text with its changes. A text that ends without a line break still does.
fn applied(source: &[u8], mut edits: Vec<(Range<usize>, Vec<u8>)>) -> Option<Vec<u8>> {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let mut out =
        Vec::with_capacity(source.len() + edits.iter().map(|edit| edit.1.len()).sum::<usize>());
    let mut at = 0;
    for (span, text) in edits {
        out.extend_from_slice(source.get(at..span.start)?);
        out.extend_from_slice(&text);
        at = span.end;
    }
    out.extend_from_slice(source.get(at..)?);
    let is_break = |b: &u8| matches!(b, b'\n' | b'\r');
    if !source.last().is_some_and(is_break) {
        for line_break in [&b"\n"[..], b"\r"] {
            let length = out.strip_suffix(line_break).map_or(out.len(), <[u8]>::len);
            out.truncate(length);
        }
    }
    Some(out)
}
