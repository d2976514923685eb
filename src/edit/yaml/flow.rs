//! Changes in brackets and braces.

use super::items::target;
use super::literal::quoted;
use super::merge::Merge;
use super::three::{Slots, What};
use super::tree::{Entry, Kind, Node, Tree};
use crate::yaml::read::ScalarStyle;

/// Maximum depth of nodes that are spelled on one line.
const DEPTH: usize = 100;

impl Merge<'_> {
    /// Adds and removes entries of a collection in brackets.
    pub fn flow_slots(&mut self, own: &Node, slots: &Slots) -> Option<()> {
        let source = &self.trees.source;
        let text = |what: &What| match what {
            What::After(entry) => spelled_entry(&self.trees.after, entry),
            What::Own(entry) => Some(self.lines().part(entry.start, source.end_of(entry)).to_vec()),
        };
        let kept = slots.kept.iter().position(|kept| *kept);
        let mut edits = Vec::new();
        for new in &slots.new {
            let text = text(&new.what)?;
            let behind = new.behind.filter(|behind| slots.kept.get(*behind) == Some(&true));
            let edit = match (behind.and_then(|at| own.entries.get(at)), own.entries.first()) {
                (Some(entry), _) => {
                    let end = source.end_of(entry);
                    (end..end, [b", ", text.as_slice()].concat())
                }
                (None, Some(first)) if kept.is_some() => {
                    (first.start..first.start, [text.as_slice(), b", "].concat())
                }
                (None, first) => {
                    let start = first.map_or(own.content + 1, |first| first.start);
                    let is_first = edits.is_empty();
                    let comma: &[u8] = if is_first { b"" } else { b", " };
                    (start..start, [comma, text.as_slice()].concat())
                }
            };
            edits.push(edit);
        }
        self.edits.append(&mut edits);
        let mut at = 0;
        while let Some(start) = slots.kept.iter().skip(at).position(|kept| !kept) {
            let start = at + start;
            let count = slots.kept.iter().skip(start).take_while(|kept| !**kept).count();
            at = start + count;
            let (first, last) = (own.entries.get(start)?, own.entries.get(at - 1)?);
            let end = source.end_of(last);
            let before = start.checked_sub(1).and_then(|before| own.entries.get(before));
            let span = match (own.entries.get(at), before) {
                (Some(next), _) => first.start..self.behind_comma(first.start, end, next.start),
                (None, Some(before)) => source.end_of(before)..end,
                (None, None) => first.start..end,
            };
            self.edits.push((span, Vec::new()));
        }
        Some(())
    }

    /// Returns the end of what goes with an entry: its comma, and its line if it has its own.
    fn behind_comma(&self, start: usize, end: usize, next: usize) -> usize {
        let lines = self.lines();
        let gap = lines.part(end, next);
        if memchr::memchr(b'#', gap).is_none() {
            return next;
        }
        let comma = lines.behind_blank(end);
        let rest = lines.comment(comma + 1).filter(|_| lines.is_first(start));
        let end = rest.map_or(comma + 1, |(_, end)| end);
        lines.behind_spaces(lines.behind_break(end))
    }
}

/// Spells an entry on one line, as it can be in brackets.
fn spelled_entry(tree: &Tree<'_>, entry: &Entry) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_entry(tree, entry, DEPTH, &mut out)?;
    Some(out)
}

/// Spells a node on one line, as it can be in brackets; `None` if it has a tag.
pub fn spelled(tree: &Tree<'_>, node: &Node) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write(tree, node, DEPTH, &mut out)?;
    Some(out)
}

fn write_entry(tree: &Tree<'_>, entry: &Entry, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    if let Some(key) = entry.key {
        write(tree, tree.node(key), depth, out)?;
        out.extend_from_slice(b": ");
    }
    write(tree, tree.value(entry), depth, out)
}

fn write(tree: &Tree<'_>, node: &Node, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    let node = target(tree, node);
    if node.tag.is_some() || depth == 0 {
        return None;
    }
    let (begin, end) = match node.kind {
        Kind::Scalar(style) => {
            out.extend(scalar(tree, node, style));
            return Some(());
        }
        Kind::Mapping(_) => (b'{', b'}'),
        Kind::Sequence(_) | Kind::Alias(_) => (b'[', b']'),
    };
    out.push(begin);
    for (number, entry) in node.entries.iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        write_entry(tree, entry, depth - 1, out)?;
    }
    out.push(end);
    Some(())
}

fn scalar(tree: &Tree<'_>, node: &Node, style: ScalarStyle) -> Vec<u8> {
    let spelling = tree.lines().part(node.content, node.end);
    let is_line = memchr::memchr2(b'\n', b'\r', spelling).is_none();
    match style {
        ScalarStyle::Plain if spelling.is_empty() => b"null".to_vec(),
        ScalarStyle::Plain if !node.is_text => spelling.to_vec(),
        ScalarStyle::Plain if is_line && !spelling.iter().any(|b| b",[]{}:#?".contains(b)) => {
            spelling.to_vec()
        }
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted if is_line => spelling.to_vec(),
        _ => quoted(node.text.as_bytes()),
    }
}
