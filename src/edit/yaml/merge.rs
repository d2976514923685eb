//! The three-way merge of nodes.

use super::items::Items;
use super::lines::Lines;
use super::meaning::{Hash, text_hash};
use super::three::{New, NodePlace, Slots, Three, Trees, What};
use super::tree::{Entry, Id, Kind, Node, Tree};
use super::{keys, literal};
use crate::edit::json;
use crate::edit::plan::{Piece, plan};
use crate::yaml::read::Layout;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum depth at which entries are looked at one by one. Deeper nodes are replaced as a whole.
const DEPTH: usize = 100;

/// Work on a merge.
pub struct Merge<'t> {
    pub trees: &'t Trees<'t>,
    /// Replacements in the source's text, in the order in which they were found.
    pub edits: Vec<(Range<usize>, Vec<u8>)>,
    pub line_break: &'static [u8],
    /// Anchored nodes that changed, with what they say now; `None` if they are dropped.
    anchors: HashMap<Id, Option<Hash>>,
}

impl<'t> Merge<'t> {
    pub fn of(trees: &'t Trees<'t>, line_break: &'static [u8]) -> Self {
        Self { trees, edits: Vec::new(), line_break, anchors: HashMap::new() }
    }

    pub fn lines(&self) -> Lines<'t> {
        self.trees.source.lines()
    }

    /// Merges nodes; returns what the merged node says.
    pub fn node(&mut self, three: Three, place: NodePlace, depth: usize) -> Option<Hash> {
        let trees = self.trees;
        let own = trees.source.node(three.source);
        let (before, after) = (trees.before.node(three.before), trees.after.node(three.after));
        let unchanged = before.hash == after.hash || own.hash == after.hash;
        if unchanged && !self.is_touched(three.source) {
            return Some(own.hash);
        }
        let (edits, anchors) = (self.edits.len(), self.anchors.clone());
        let merged = match (own.kind, before.kind, after.kind) {
            (Kind::Alias(target), ..) => self.alias(target, unchanged, (own, after)),
            _ if depth == 0
                || own.irregular
                || before.irregular
                || after.irregular
                || own.tag != after.tag =>
            {
                None
            }
            (Kind::Scalar(_), Kind::Scalar(_), Kind::Scalar(_)) => self.text(own, before, after),
            (Kind::Mapping(_), Kind::Mapping(_), Kind::Mapping(_)) => {
                self.mapping(three, place, depth - 1)
            }
            (Kind::Sequence(_), Kind::Sequence(_), Kind::Sequence(_)) => {
                self.sequence(three, place, depth - 1)
            }
            _ => None,
        };
        // Where the source says what `before` says, the result must say what `after` says.
        let merged = merged.filter(|hash| own.hash != before.hash || *hash == after.hash);
        let merged = match merged {
            Some(hash) => Some(hash),
            None => {
                self.edits.truncate(edits);
                self.anchors = anchors;
                self.replaced(three.source, three.after, place)
            }
        };
        if own.anchored && merged != Some(own.hash) {
            self.anchors.insert(three.source, merged);
        }
        merged
    }

    /// Whether a node contains an alias of an anchored node that changed.
    fn is_touched(&self, id: Id) -> bool {
        let source = &self.trees.source;
        !self.anchors.is_empty()
            && source.aliases_in(id).iter().any(|alias| match source.node(*alias).kind {
                Kind::Alias(target) => self.anchors.contains_key(&target),
                _ => false,
            })
    }

    /// Returns what an alias says, if that is what it has to say.
    fn alias(&self, target: Id, unchanged: bool, (own, after): (&Node, &Node)) -> Option<Hash> {
        let wanted = if unchanged { own.hash } else { after.hash };
        let meaning = match self.anchors.get(&target) {
            Some(meaning) => *meaning,
            None => Some(self.trees.source.node(target).hash),
        };
        meaning.filter(|meaning| *meaning == wanted)
    }

    /// Merges texts in the style of the source.
    fn text(&mut self, own: &Node, before: &Node, after: &Node) -> Option<Hash> {
        if !(own.is_text && after.is_text) {
            return None;
        }
        let [x, t, n] = [own, before, after].map(|node| node.text.as_bytes());
        // A text that is JSON, in turn.
        let merged = if x == t { None } else { merged_json(x, t, n) };
        let new = merged.as_deref().unwrap_or(n);
        let hash = text_hash(new);
        if literal::is_literal(own)
            && let Some(changes) = literal::changes(self.lines(), own, new, self.line_break)
        {
            self.edits.extend(changes);
            return Some(hash);
        }
        let quoted = literal::in_quotes(self.lines(), own, new);
        let spelled = quoted.or_else(|| (new != n).then(|| literal::quoted(new)));
        self.edits.push((own.content..own.end, spelled?));
        Some(hash)
    }

    fn mapping(&mut self, three: Three, place: NodePlace, depth: usize) -> Option<Hash> {
        let trees = self.trees;
        let own = trees.source.node(three.source);
        let after = trees.after.node(three.after);
        let matched = keys::matched(trees, three);
        let mut pairs = Vec::new();
        let mut slots = Slots { kept: Vec::new(), new: matched.new.clone() };
        let columns = self.columns(own, after);
        for (entry, found_match) in own.entries.iter().zip(&matched.matches) {
            let key = trees.source.node(entry.key?);
            let (mut name, mut value) = (key.hash, trees.source.value(entry).hash);
            match found_match {
                keys::Match::Kept => {
                    if self.is_touched(entry.value) {
                        return None;
                    }
                }
                keys::Match::Removed => {
                    self.drop_anchors(entry.value);
                    slots.kept.push(false);
                    continue;
                }
                keys::Match::Replaced(new) => {
                    let (meanings, old) = (trees.after.value(new).hash, value);
                    if meanings != old {
                        let place = self.place_of(place, own, (entry, new), columns);
                        value = self.replaced(entry.value, new.value, place)?;
                    }
                }
                keys::Match::Edited(before, new) => {
                    let new_key = trees.after.node(new.key?);
                    if trees.before.node(before.key?).hash != new_key.hash {
                        name = new_key.hash;
                        let text = trees.after.lines().part(new_key.start, new_key.end).to_vec();
                        self.edits.push((key.start..key.end, text));
                    }
                    let three =
                        Three { source: entry.value, before: before.value, after: new.value };
                    let place = self.place_of(place, own, (entry, new), columns);
                    value = self.node(three, place, depth)?;
                }
            }
            slots.kept.push(true);
            pairs.push(((name, 0), (value, 0)));
        }
        for new in &slots.new {
            if let What::After(entry) = new.what {
                let (key, value) = (trees.after.node(entry.key?), trees.after.value(&entry));
                pairs.push(((key.hash, 0), (value.hash, 0)));
            }
        }
        self.slots(own, after, &slots, place, columns)?;
        Some(Items::Mapping(pairs).hashes(own.tag.as_deref()).0)
    }

    fn sequence(&mut self, three: Three, place: NodePlace, depth: usize) -> Option<Hash> {
        let trees = self.trees;
        let own = trees.source.node(three.source);
        let (before, after) = (trees.before.node(three.before), trees.after.node(three.after));
        let mut old = keys::List::of(&trees.before, before);
        let mut new = keys::List::of(&trees.after, after);
        let mut list = keys::List::like(&old, &trees.source, own);
        let pieces = plan(&mut list, &mut old, &mut new);
        let mut slots = Slots { kept: vec![false; own.entries.len()], new: Vec::new() };
        let columns = self.columns(own, after);
        let (mut meanings, mut behind) = (Vec::new(), None);
        let mut edited = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Own(at) | Piece::Edited(at, ..)
                    if behind.is_none_or(|last| at as usize > last) =>
                {
                    let entry = own.entries.get(at as usize)?;
                    *slots.kept.get_mut(at as usize)? = true;
                    behind = Some(at as usize);
                    let hash = trees.source.value(entry).hash;
                    edited.push((at as usize, meanings.len(), piece));
                    meanings.push((hash, 0));
                }
                Piece::Own(at) => {
                    let entry = *own.entries.get(at as usize)?;
                    meanings.push((trees.source.value(&entry).hash, 0));
                    slots.new.push(New { behind, what: What::Own(entry) });
                }
                Piece::Edited(_, _, at) | Piece::New(at) => {
                    let entry = *after.entries.get(at as usize)?;
                    meanings.push((trees.after.value(&entry).hash, 0));
                    slots.new.push(New { behind, what: What::After(entry) });
                }
            }
        }
        // The entries in the order of the text: an alias is behind its anchor.
        let mut edited = edited.into_iter().peekable();
        for (at, entry) in own.entries.iter().enumerate() {
            let Some((_, place_in, piece)) = edited.next_if(|(own, ..)| *own == at) else {
                self.drop_anchors(entry.value);
                continue;
            };
            let Piece::Edited(_, old, new) = piece else {
                if self.is_touched(entry.value) {
                    return None;
                }
                continue;
            };
            let (old, new) = (before.entries.get(old as usize)?, after.entries.get(new as usize)?);
            let three = Three { source: entry.value, before: old.value, after: new.value };
            let place = self.place_of(place, own, (entry, new), columns);
            let hash = self.node(three, place, depth)?;
            meanings.get_mut(place_in)?.0 = hash;
        }
        self.slots(own, after, &slots, place, columns)?;
        Some(Items::Sequence(meanings).hashes(own.tag.as_deref()).0)
    }

    /// Notes that the anchored nodes in a node are dropped.
    pub fn drop_anchors(&mut self, id: Id) {
        let source = &self.trees.source;
        let dropped = (id..=source.node(id).last).filter(|id| source.node(*id).anchored);
        self.anchors.extend(dropped.map(|id| (id, None)));
    }

    /// Returns the columns of two collections that are not in brackets.
    fn columns(&self, own: &Node, after: &Node) -> (usize, usize) {
        let column = |tree: &Tree<'_>, node: &Node| match node.entries.first() {
            Some(entry) if node.is_block() => tree.lines().column(entry.start),
            _ => 0,
        };
        (column(&self.trees.source, own), column(&self.trees.after, after))
    }

    fn place_of(
        &self,
        around: NodePlace,
        own: &Node,
        (entry, after): (&Entry, &Entry),
        columns: (usize, usize),
    ) -> NodePlace {
        let layout = matches!(own.kind, Kind::Mapping(Layout::Flow) | Kind::Sequence(Layout::Flow));
        let flow = around.flow || layout;
        NodePlace { heads: (entry.head, after.head), columns, flow, root: false }
    }

    /// Adds and removes entries.
    fn slots(
        &mut self,
        own: &Node,
        after: &Node,
        slots: &Slots,
        place: NodePlace,
        columns: (usize, usize),
    ) -> Option<()> {
        if slots.new.is_empty() && slots.kept.iter().all(|kept| *kept) {
            return Some(());
        }
        // `[]` outside of brackets becomes what the format's writer makes of it.
        if !own.is_block() && own.entries.is_empty() && !place.flow {
            return None;
        }
        if own.is_block() {
            self.block_slots(own, after, slots, place, columns)
        } else {
            self.flow_slots(own, slots)
        }
    }

    /// Merges the documents; returns what the merged one says.
    pub fn document(&mut self) -> Option<Hash> {
        let trees = self.trees;
        let three = Three {
            source: trees.source.root?,
            before: trees.before.root?,
            after: trees.after.root?,
        };
        let heads = (trees.source.head, trees.after.head);
        let place = NodePlace { heads, columns: (0, 0), flow: false, root: true };
        self.node(three, place, DEPTH)
    }
}

/// Merges texts of JSON collections; `None` if they are anything else.
fn merged_json(own: &[u8], before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let texts = [own, before, after].map(Bytes::copy_from_slice);
    let is_json = |text: &Bytes| matches!(text.trim_ascii_start().first(), Some(b'[' | b'{'));
    let [own, before, after] = texts.iter().all(is_json).then_some(texts)?;
    json::merged_text(&own, &before, &after)
}
