//! Which records of a target tell what which records of the source told.
//!
//! Formats cut what is said in different ways: an answer is one message here, a message a block
//! there. So blocks are compared, not records.

use crate::alignment;
use crate::context::plain;
use crate::formats::canonical;
use crate::ids::fingerprint;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::borrow::Cow;
use std::ops::Range;

/// Something that a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom {
    /// What is told.
    hash: u64,
    /// The record's number.
    record: u32,
    /// What the record is.
    tag: Tag,
}

impl Atom {
    /// What is told.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The answer that tells it, by its record's number.
    pub fn answer(&self) -> Option<u32> {
        self.tag.is_answer().then_some(self.record)
    }
}

/// What a record is, as far as records of different formats can stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub char);

impl Tag {
    /// That of a record.
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
            _ => 'o',
        })
    }

    /// Whether it is that of an answer.
    pub fn is_answer(self) -> bool {
        self.0 == 'a'
    }

    /// Whether it is that of a message.
    pub fn is_message(self) -> bool {
        self.class() == 3
    }

    /// Records stand in one order with those of their own class only: some formats tell of all
    /// turns before the first message.
    fn class(self) -> usize {
        match self.0 {
            'S' => 0,
            'T' => 1,
            'u' | 'a' | 't' | 's' | 'm' => 3,
            _ => 2,
        }
    }
}

/// Classes of [`Tag`].
const CLASSES: usize = 4;

/// Adds what a record tells.
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
            let before = record.node.nodes(Field::Content).unwrap_or_default();
            let thoughts = before.iter().filter_map(|block| block.json(Field::Thinking));
            thoughts.for_each(|thought| add(hash_of(tag, &thought.normal())));
            let seen = seen(&record.node);
            let said = plain(&seen, false);
            let blocks = said.as_ref().and_then(|node| node.nodes(Field::Content));
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
        _ => add(hash_of(tag, &told(record))),
    }
}

fn hash_of(tag: Tag, text: &[u8]) -> u64 {
    fingerprint(text) ^ u64::from(u32::from(tag.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A message or block as one spelling.
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

/// A message as a file shows it that has no place for all of its blocks, and one for all texts
/// before all calls.
pub fn shown(message: &Node) -> Vec<u8> {
    plain(&sorted(message), false).map(|node| spelled(&node)).unwrap_or_default()
}

/// Whether files show two messages alike, [`shown`] so; mostly their values are the same bytes, and
/// large ones need not be spelled for that.
pub fn are_shown_alike(a: &Node, b: &Node) -> bool {
    let [a, b] = [a, b].map(|message| plain(&sorted(message), false));
    let spelled = |node: &Option<Node>| node.as_ref().map(spelled).unwrap_or_default();
    a == b || spelled(&a) == spelled(&b)
}

/// The blocks of such a message, each by itself.
pub fn shown_blocks(message: &Node) -> Vec<Vec<u8>> {
    let shown = plain(&sorted(message), false);
    let blocks = shown.as_ref().and_then(|node| node.nodes(Field::Content));
    blocks.unwrap_or_default().iter().map(spelled).collect()
}

fn sorted(message: &Node) -> Node {
    let mut node = message.clone();
    stand_in(&mut node);
    if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
        blocks.sort_by_key(|block| !block.is(Field::Type, block::TEXT));
    }
    node
}

fn stand_in(node: &mut Node) {
    let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
    for block in blocks {
        if is_odd(block) {
            *block = block::stand_in(block);
        }
        stand_in(block);
    }
}

/// Whether a block has no place in every format.
fn is_odd(block: &Node) -> bool {
    [block::DOCUMENT, block::OPAQUE].iter().any(|name| block.is(Field::Type, name))
}

/// A message with what stands for its odd blocks; few have any.
fn seen(message: &Node) -> Cow<'_, Node> {
    fn has_odd(node: &Node) -> bool {
        let blocks = node.nodes(Field::Content).unwrap_or_default();
        blocks.iter().any(|block| is_odd(block) || has_odd(block))
    }
    if !has_odd(message) {
        return Cow::Borrowed(message);
    }
    let mut seen = message.clone();
    stand_in(&mut seen);
    Cow::Owned(seen)
}

/// What a record of another kind tells, but for what formats spell differently.
fn told(record: &Record) -> Vec<u8> {
    const APART: &[Field] = &[
        Field::Id,
        Field::Parent,
        Field::IdMade,
        Field::Time,
        Field::Raw,
        Field::RawBytes,
        Field::Eol,
        Field::Layout,
        Field::Synthesized,
    ];
    let mut out = Vec::new();
    canonical::line_of(record, &|field| !APART.contains(&field), &mut out);
    out
}

/// Pairs of records, of the source and of the target, that tell the same, sorted and without
/// doubles. What tells something else in the same place is paired, too, if it is of one tag.
pub fn pairs(source: &[Atom], target: &[Atom]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for class in 0..CLASSES {
        let of = |atoms: &[Atom]| -> Vec<Atom> {
            atoms.iter().copied().filter(|atom| atom.tag.class() == class).collect()
        };
        let (source, target) = (of(source), of(target));
        let prints = |atoms: &[Atom]| -> Vec<u64> { atoms.iter().map(|a| a.hash).collect() };
        matched(&prints(&source), &prints(&target), &mut |same, a, b| {
            let (a, b) = (source.get(a).unwrap_or_default(), target.get(b).unwrap_or_default());
            if same {
                pairs.extend(a.iter().zip(b).map(|(a, b)| (a.record, b.record)));
            } else {
                pairs.extend(rest(a, b));
            }
        });
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Pairs what stands between equal records, in its order.
fn rest<'a>(source: &'a [Atom], target: &'a [Atom]) -> impl Iterator<Item = (u32, u32)> + 'a {
    // What is not left is looked for once: there may be as many of one kind here as of another there.
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

/// Shows the ranges of two lists that are equal, and those that are not, in order.
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
