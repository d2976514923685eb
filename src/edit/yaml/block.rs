//! Changes of lines.

use super::flow;
use super::lines::indented;
use super::meaning::Hash;
use super::merge::Merge;
use super::three::{New, NodePlace, Slots, What};
use super::tree::{Id, Node, Tree};

impl Merge<'_> {
    /// Adds and removes entries of a collection outside of brackets.
    pub fn block_slots(
        &mut self,
        own: &Node,
        after: &Node,
        slots: &Slots,
        place: NodePlace,
        columns: (usize, usize),
    ) -> Option<()> {
        let (lines, source) = (self.lines(), &self.trees.source);
        let first = own.entries.first()?;
        let inline = !lines.is_first(first.start);
        let (before, behind): (Vec<&New>, Vec<&New>) =
            slots.new.iter().partition(|new| new.behind.is_none());
        let texts = |new: &[&New]| -> Option<Vec<Vec<u8>>> {
            new.iter().map(|new| self.entry_text(after, new, columns)).collect()
        };
        let line_break = self.line_break;
        let indent = vec![b' '; columns.0];
        let before = texts(&before)?;
        let texts = texts(&behind)?;
        let kept = slots.kept.iter().position(|kept| *kept);
        let mut edits = Vec::new();
        // Entries before which everything is taken care of.
        let mut done = 0;
        let joined = before.join([line_break, &indent].concat().as_slice());
        let first_line = lines.end(source.end_of(first));
        match (kept, inline) {
            (Some(0), true) if !before.is_empty() => {
                let text = [&joined, line_break, &indent].concat();
                edits.push((first.start..first.start, text));
            }
            (None | Some(1..), true) if !before.is_empty() => {
                edits.push((first.start..first_line, joined));
                done = 1;
            }
            (Some(next @ 1..), true) => {
                let next_start = own.entries.get(next)?.start;
                let last = source.end_of(own.entries.get(next - 1)?);
                let gap = lines.part(lines.end(last), next_start);
                if memchr::memchr(b'#', gap).is_none() {
                    edits.push((first.start..next_start, Vec::new()));
                    done = next;
                } else {
                    let head = lines.part(0, first.start).trim_ascii_end().len();
                    edits.push((head..first_line, Vec::new()));
                    done = 1;
                }
            }
            (None, _) if before.is_empty() && behind.is_empty() => {
                let brackets: &[u8] = if first.key.is_some() { b"{}" } else { b"[]" };
                if inline || place.root {
                    edits.push((first.start..first_line, brackets.to_vec()));
                    done = 1;
                } else {
                    edits.push((own.content..own.content, [b" ", brackets].concat()));
                }
            }
            (_, false) if !before.is_empty() => {
                let line = lines.start(first.start);
                let floor = if place.heads.0 > 0 { lines.next(place.heads.0) } else { 0 };
                let above = lines.above(line, floor);
                // A comment at the head of a document is about the document.
                let at = if place.root && above <= floor { line } else { above };
                edits.push((at..at, [&indent, &joined, line_break].concat()));
            }
            _ => {}
        }
        for (new, text) in behind.iter().zip(texts) {
            let entry = own.entries.get(new.behind?)?;
            let end = lines.end(source.end_of(entry));
            let at = lines.behind_break(end);
            let text = if at == end {
                [line_break, &indent, &text].concat()
            } else {
                [&indent, &text, line_break].concat()
            };
            edits.push((at..at, text));
        }
        let entries = own.entries.iter().zip(&slots.kept).skip(done);
        for (entry, _) in entries.filter(|(_, kept)| !**kept) {
            let start = lines.start(entry.start);
            edits.push((start..lines.next(source.end_of(entry)), Vec::new()));
        }
        self.edits.append(&mut edits);
        Some(())
    }

    /// Spells a new entry, from its begin on.
    fn entry_text(&self, after: &Node, new: &New, columns: (usize, usize)) -> Option<Vec<u8>> {
        let entry = match &new.what {
            What::Own(entry) => {
                let end = self.trees.source.end_of(entry);
                return Some(self.lines().part(entry.start, end).to_vec());
            }
            What::After(entry) => entry,
        };
        let tree = &self.trees.after;
        if after.is_block() && !has_anchors(tree, entry.value) {
            let text = tree.lines().part(entry.start, tree.end_of(entry));
            return Some(indented(text, columns.1, columns.0, self.line_break));
        }
        let value = flow::spelled(tree, tree.value(entry))?;
        match entry.key {
            Some(key) => {
                let key = flow::spelled(tree, tree.node(key))?;
                Some([key.as_slice(), b": ", &value].concat())
            }
            None => Some([b"- ", value.as_slice()].concat()),
        }
    }

    /// Puts a node of `after` in the place of a node of the source; returns what it says.
    pub fn replaced(&mut self, own: Id, after: Id, place: NodePlace) -> Option<Hash> {
        let tree = &self.trees.after;
        let (id, own) = (own, self.trees.source.node(own));
        let node = tree.node(after);
        for inner in id + 1..=own.last {
            self.drop_one(inner);
        }
        let lines = self.lines();
        let (start, anchor) = if own.anchored {
            let text = lines.part(own.start, own.content);
            let name = text.split(u8::is_ascii_whitespace).find(|word| word.starts_with(b"&"))?;
            (own.start, [name, b" "].concat())
        } else {
            (own.start, Vec::new())
        };
        let one_line = place.flow || has_anchors(tree, after);
        let is_inline = one_line || !node.is_block();
        if own.is_block() || !is_inline {
            let text = if one_line {
                flow::spelled(tree, node).map(|t| [b" ", &t[..]].concat())?
            } else {
                self.text_behind_head(node, place)
            };
            self.replace_block(own, &text, anchor, (!is_inline).then_some(node), place)?;
            return Some(node.hash);
        }
        let text = if one_line {
            flow::spelled(tree, node)?
        } else {
            let text = tree.lines().part(node.start, node.end);
            indented(text, place.columns.1, place.columns.0, self.line_break)
        };
        let space: &[u8] =
            if own.start == own.end && own.start == place.heads.0 { b" " } else { b"" };
        self.edits.push((start..own.end, [space, &anchor, &text].concat()));
        Some(node.hash)
    }

    fn drop_one(&mut self, id: Id) {
        if self.trees.source.node(id).anchored {
            self.drop_anchors(id);
        }
    }

    /// Returns the text of a node of `after` from the `-` or `:` on.
    fn text_behind_head(&self, node: &Node, place: NodePlace) -> Vec<u8> {
        let lines = self.trees.after.lines();
        let text = lines.part(place.heads.1, node.end);
        let text = indented(text, place.columns.1, place.columns.0, self.line_break);
        if place.root && node.is_block_collection() {
            [self.line_break, text.trim_ascii_start()].concat()
        } else {
            text
        }
    }

    /// Replaces a node of which the old or the new text takes lines of its own. The comment in the
    /// node's first line stays there.
    fn replace_block(
        &mut self,
        own: &Node,
        text: &[u8],
        anchor: Vec<u8>,
        block: Option<&Node>,
        place: NodePlace,
    ) -> Option<()> {
        let lines = self.lines();
        let collection = own.is_block_collection();
        if place.root && collection && lines.is_first(own.entries.first()?.start) {
            let start = own.entries.first()?.start;
            self.edits.push((start..own.end, text.trim_ascii_start().to_vec()));
            return anchor.is_empty().then_some(());
        }
        let comment = if own.is_block() && !collection {
            let header = lines.part(own.content, lines.end(own.content));
            let length = header.iter().take_while(|b| !b.is_ascii_whitespace()).count();
            lines.comment(own.content + length)
        } else if collection {
            lines.comment(own.content)
        } else {
            lines.comment(own.end).filter(|(start, _)| *start > own.end)
        };
        let end = match comment {
            _ if collection => lines.end(own.end),
            Some((_, end)) if !own.is_block() && block.is_some() => end,
            _ => own.end,
        };
        let comment = comment.filter(|_| own.is_block() || block.is_some());
        let comment = comment.map(|(start, end)| [b" ", lines.part(start, end)].concat());
        let comment = comment.unwrap_or_default();
        let anchor =
            if anchor.is_empty() { anchor } else { [b" ", anchor.trim_ascii_end()].concat() };
        let split = text.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(text.len());
        let (head, body) = text.split_at(split);
        let inline = block.filter(|node| node.is_block_collection() && !head.is_empty());
        let new = match inline.filter(|_| !(comment.is_empty() && anchor.is_empty())) {
            // What is in front of a collection in its own line belongs to its first entry.
            Some(node) => {
                let column = self.trees.after.lines().column(node.entries.first()?.start);
                let indent = vec![b' '; (column + place.columns.0).checked_sub(place.columns.1)?];
                let text = text.trim_ascii_start();
                [&anchor, &comment, self.line_break, &indent, text].concat()
            }
            // A comment within quotes would be text.
            None if block.is_none() => [&anchor, head, body, &comment].concat(),
            None => [&anchor, head, &comment, body].concat(),
        };
        self.edits.push((place.heads.0..end, new));
        Some(())
    }
}

/// Whether a node contains anchors or aliases.
fn has_anchors(tree: &Tree<'_>, id: Id) -> bool {
    let last = tree.node(id).last;
    !tree.aliases.is_empty() && (id..=last).any(|id| tree.node(id).anchored)
        || !tree.aliases_in(id).is_empty()
}
