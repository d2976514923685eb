//! Alignment of the target's records with the records of the source.
//!
//! Formats split content differently: one writes an answer as one message, another as one message
//! for each block. So blocks are compared, not records.

use crate::alignment;
use crate::context::{Thoughts, plain};
use crate::formats::canonical;
use crate::ids::fingerprint;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::borrow::Cow;
use std::ops::Range;

/// One piece of a record's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom {
    /// Hash of the content.
    hash: u64,
    /// The record's number.
    record: u32,
    /// Tag of the record.
    tag: Tag,
}

impl Atom {
    /// Returns the hash of the content.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns the number of the record, if it is an answer.
    pub fn answer(&self) -> Option<u32> {
        self.tag.is_answer().then_some(self.record)
    }
}

/// Kind of a record: only records of one tag can be matched across formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub char);

impl Tag {
    /// Returns the tag of a record.
    pub fn of(record: &Record) -> Self {
        let role = |name| record.node.is(Field::Role, name);
        Self(match record.kind {
            Kind::Session => 'S',
            Kind::Turn => 'T',
            Kind::Message if role("user") => 'u',
            Kind::Message if role("assistant") => 'a',
            Kind::Message if role("tool") => 't',
            Kind::Message if role("system") => 's',
            Kind::Message => 'm',
            Kind::Run => 'r',
            Kind::Snapshot => 'n',
            Kind::Request => 'q',
            Kind::Response => 'p',
            Kind::Event => 'e',
            Kind::Result => 'R',
            Kind::Extension => 'E',
            // Beyond the letters; records of different kinds are never the same record.
            kind => char::from_u32(0x100 + kind as u32).unwrap_or('o'),
        })
    }

    /// Whether the tag is that of an answer.
    pub fn is_answer(self) -> bool {
        self.0 == 'a'
    }

    /// Whether the tag is that of a message.
    pub fn is_message(self) -> bool {
        self.class() == 3
    }

    /// Whether records of the tag contain something of the conversation: messages, and turns, which
    /// contain the questions.
    pub fn has_text(self) -> bool {
        self.is_message() || self == Tag('T')
    }

    /// Returns the class of the tag. Records have one order only within their class, as some
    /// formats write all turns before the first message.
    fn class(self) -> usize {
        match self.0 {
            'S' => 0,
            'T' => 1,
            'u' | 'a' | 't' | 's' | 'm' => 3,
            _ => 2,
        }
    }
}

/// Number of classes of a [`Tag`].
const CLASSES: usize = 4;

/// Appends the pieces of a record's content to the list.
pub fn atoms(record: &Record, number: u32, list: &mut Vec<Atom>) {
    let tag = Tag::of(record);
    let mut add = |hash| list.push(Atom { hash, record: number, tag });
    match record.kind {
        Kind::Session => add(0),
        Kind::Turn => {
            let input = record.node.json(Field::Input).map(Json::normal).unwrap_or_default();
            add(fingerprint(&input));
        }
        Kind::Message => {
            let before = record.node.content();
            let thoughts = before.iter().filter_map(|block| block.json(Field::Thinking));
            thoughts.for_each(|thought| add(hash_of(tag, &thought.normal())));
            let seen = seen(&record.node);
            let plain_node = plain(&seen, Thoughts::None);
            let blocks = plain_node.as_ref().and_then(|node| node.nodes(Field::Content));
            let (blocks, mut text) = (blocks.unwrap_or_default(), Vec::new());
            for block in blocks {
                text.clear();
                spell(block, &mut text);
                add(hash_of(tag, &text));
            }
            if blocks.is_empty() && before.is_empty() {
                add(hash_of(tag, b""));
            }
        }
        _ => add(hash_of(tag, &content_of(record))),
    }
}

fn hash_of(tag: Tag, text: &[u8]) -> u64 {
    fingerprint(text) ^ u64::from(u32::from(tag.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Spells a message or a block in one canonical way.
pub fn spelled(node: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    spell(node, &mut out);
    out
}

fn spell(node: &Node, out: &mut Vec<u8>) {
    for (field, value) in node.iter().filter(|(field, _)| *field != Field::IsError) {
        out.extend_from_slice(field.name().as_bytes());
        match value {
            Value::Json(json) => json.normal_into(out),
            Value::Node(node) => spell(node, out),
            Value::Nodes(nodes) => nodes.iter().for_each(|node| spell(node, out)),
        }
    }
}

/// Spells a message as a format shows it that has no place for some blocks, and that puts all texts
/// before all calls.
pub fn shown(message: &Node) -> Vec<u8> {
    plain(&sorted(message), Thoughts::None).map(|node| spelled(&node)).unwrap_or_default()
}

/// Whether two messages have the same spelling by [`shown`]. Mostly their values are the same
/// bytes, and large values need no spelling then.
pub fn are_shown_alike(a: &Node, b: &Node) -> bool {
    let [a, b] = [a, b].map(|message| plain(&sorted(message), Thoughts::None));
    let spelled = |node: &Option<Node>| node.as_ref().map(spelled).unwrap_or_default();
    a == b || spelled(&a) == spelled(&b)
}

/// Spells the blocks of a message as in [`shown`], each by itself.
pub fn shown_blocks(message: &Node) -> Vec<Vec<u8>> {
    let shown = plain(&sorted(message), Thoughts::None);
    let blocks = shown.as_ref().and_then(|node| node.nodes(Field::Content));
    blocks.unwrap_or_default().iter().map(spelled).collect()
}

fn sorted(message: &Node) -> Node {
    let mut node = message.clone();
    replace_blocks(&mut node);
    if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
        blocks.sort_by_key(|block| !block.is(Field::Type, block::TEXT));
    }
    node
}

fn replace_blocks(node: &mut Node) {
    let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
    for block in blocks {
        if is_replaced(block) {
            *block = block::placeholder(block);
        }
        replace_blocks(block);
    }
}

/// Whether a block is a document or an opaque block, which have no place in some formats.
fn is_replaced(block: &Node) -> bool {
    [block::DOCUMENT, block::OPAQUE].iter().any(|name| block.is(Field::Type, name))
}

/// Returns a message with placeholders for blocks that some formats have no place for; few messages
/// have such blocks.
fn seen(message: &Node) -> Cow<'_, Node> {
    fn has_replaced(node: &Node) -> bool {
        let blocks = node.content();
        blocks.iter().any(|block| is_replaced(block) || has_replaced(block))
    }
    if !has_replaced(message) {
        return Cow::Borrowed(message);
    }
    let mut seen = message.clone();
    replace_blocks(&mut seen);
    Cow::Owned(seen)
}

/// Content of a record that is not a session, turn or message, without the fields that formats
/// spell differently.
fn content_of(record: &Record) -> Vec<u8> {
    const APART: &[Field] =
        &[Field::Id, Field::Parent, Field::IdMade, Field::Time, Field::Layout, Field::Synthesized];
    let mut out = Vec::new();
    canonical::line_of(record, &|field| !APART.contains(&field), &mut out);
    out
}

/// Pairs the source's records with the target's records of the same content. Records of different
/// content in the same place are paired, too, if they have one tag. The pairs are sorted and
/// without duplicates.
pub fn pairs(source: &[Atom], target: &[Atom]) -> Vec<(u32, u32)> {
    let mut pairs = in_order(source, target);
    // New messages may be before those of sub-agents in one file, and behind them in the other.
    let source = unpaired(source, pairs.iter().map(|(source, _)| *source));
    let target = unpaired(target, pairs.iter().map(|(_, target)| *target));
    if !source.is_empty() && !target.is_empty() {
        matched(&hashes(&source), &hashes(&target), &mut |same, a, b| {
            let (a, b) = (source.get(a).unwrap_or_default(), target.get(b).unwrap_or_default());
            let alike = a.iter().zip(b).filter(|(a, b)| same && a.tag == b.tag);
            pairs.extend(alike.map(|(a, b)| (a.record, b.record)));
        });
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Returns the pieces of records that are not paired.
fn unpaired(atoms: &[Atom], paired: impl Iterator<Item = u32>) -> Vec<Atom> {
    let end = atoms.iter().map(|atom| atom.record as usize + 1).max().unwrap_or(0);
    let mut is_paired = vec![false; end];
    paired.for_each(|record| {
        is_paired.get_mut(record as usize).into_iter().for_each(|it| *it = true)
    });
    let is_left = |atom: &Atom| is_paired.get(atom.record as usize) == Some(&false);
    atoms.iter().copied().filter(is_left).collect()
}

fn hashes(atoms: &[Atom]) -> Vec<u64> {
    atoms.iter().map(|atom| atom.hash).collect()
}

/// Pairs records that are in the same order in both.
fn in_order(source: &[Atom], target: &[Atom]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for class in 0..CLASSES {
        let of = |atoms: &[Atom]| -> Vec<Atom> {
            atoms.iter().copied().filter(|atom| atom.tag.class() == class).collect()
        };
        let (source, target) = (of(source), of(target));
        matched(&hashes(&source), &hashes(&target), &mut |same, a, b| {
            let (a, b) = (source.get(a).unwrap_or_default(), target.get(b).unwrap_or_default());
            if same {
                pairs.extend(a.iter().zip(b).map(|(a, b)| (a.record, b.record)));
            } else {
                pairs.extend(rest(a, b));
            }
        });
    }
    pairs
}

/// Pairs the records between equal records by their tags, in order.
fn rest<'a>(source: &'a [Atom], target: &'a [Atom]) -> impl Iterator<Item = (u32, u32)> + 'a {
    // A tag without records left is searched once: there may be many records of one tag in the
    // source, and many of another tag in the target.
    let (mut left, mut gone) = (target, Vec::new());
    source.iter().filter_map(move |atom| {
        if gone.contains(&atom.tag) {
            return None;
        }
        let Some(place) = left.iter().position(|other| other.tag == atom.tag) else {
            gone.push(atom.tag);
            return None;
        };
        let found = left.get(place)?;
        left = left.get(place + 1..).unwrap_or_default();
        Some((atom.record, found.record))
    })
}

/// Passes the equal and the different ranges of two lists to `show`, in order.
pub fn matched(a: &[u64], b: &[u64], show: &mut dyn FnMut(bool, Range<usize>, Range<usize>)) {
    let (mut at_a, mut at_b) = (0, 0);
    let range = |range: &Range<u32>| range.start as usize..range.end as usize;
    for hunk in alignment::hunks(a, b) {
        let (before, after) = (range(&hunk.a), range(&hunk.b));
        show(true, at_a..before.start, at_b..after.start);
        (at_a, at_b) = (before.end, after.end);
        show(false, before, after);
    }
    show(true, at_a..a.len(), at_b..b.len());
}
