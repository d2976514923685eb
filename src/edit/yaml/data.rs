//! Meaning of nodes, as PyYAML reads them.

use super::tree::{Kind, Node, Tree};
use crate::ids::fingerprint;
use crate::yaml::Text;
use crate::yaml::read::{ScalarStyle, end_lines, restore_breaks};
use crate::yaml::write::is_yaml_1_1;
use std::collections::HashMap;

/// A hash of what a node says: no two nodes that say something else have the same.
pub type Hash = [u8; 16];

/// Meaning of a scalar.
pub struct Meaning {
    pub hash: Hash,
    pub loose: u64,
    /// Content.
    pub text: Text<'static>,
    /// Whether the scalar is text, without a tag.
    pub is_text: bool,
}

/// Returns what a scalar says.
pub fn scalar(text: Text<'static>, style: ScalarStyle, tag: Option<&str>) -> Meaning {
    let text = match style {
        ScalarStyle::SingleQuoted => restore_breaks(text),
        ScalarStyle::Literal => end_lines(text),
        _ => text,
    };
    let bytes = text.as_bytes();
    let typed = style == ScalarStyle::Plain && is_yaml_1_1(bytes);
    let null = typed && value(bytes) == value(b"null");
    let loose = fingerprint(if null { b"null" } else { bytes });
    let (hash, is_text) = match tag {
        Some("!!str" | "!") => (hash(b"s", &[bytes]), false),
        Some(tag) => (hash(b"g", &[tag.as_bytes(), b" ", bytes]), false),
        None if typed => (value(bytes), false),
        None => (text_hash(bytes), true),
    };
    Meaning { hash, loose, text, is_text }
}

/// Returns the hash of a scalar that is text.
pub fn text_hash(text: &[u8]) -> Hash {
    hash(b"s", &[text])
}

/// Returns the hash of a scalar without quotes that is not text.
fn value(text: &[u8]) -> Hash {
    let lower = text.to_ascii_lowercase();
    match lower.as_slice() {
        b"" | b"~" | b"null" => hash(b"n", &[]),
        b"true" | b"yes" | b"on" => hash(b"t", &[]),
        b"false" | b"no" | b"off" => hash(b"f", &[]),
        digits => {
            let number = std::str::from_utf8(digits).ok().filter(|text| text.contains('.'));
            match number.and_then(|text| text.parse::<f64>().ok()) {
                Some(number) => hash(b"d", &[&number.to_bits().to_be_bytes()]),
                None => hash(b"p", &[text]),
            }
        }
    }
}

/// Maximum length of what a hash contains as it is.
const SHORT: usize = 14;

fn hash(kind: &[u8; 1], parts: &[&[u8]]) -> Hash {
    let [kind] = *kind;
    let mut hash = Hash::default();
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if length <= SHORT {
        let bytes = [kind].into_iter().chain(parts.iter().flat_map(|part| part.iter().copied()));
        hash.iter_mut().zip(bytes.chain(std::iter::repeat(0))).for_each(|(to, byte)| *to = byte);
        if let Some(last) = hash.last_mut() {
            *last = length as u8;
        }
        return hash;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize_xof().fill(&mut hash);
    // Kinds are ASCII: no short text has this hash.
    if let Some(first) = hash.first_mut() {
        *first |= 0x80;
    }
    hash
}

/// Returns a shorter hash, to find the same again within one run.
pub fn short(hash: &Hash) -> u64 {
    let (first, second) = hash.split_at(8);
    let number = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
    number(first) ^ number(second).rotate_left(1)
}

/// Returns the hash of a key with its value.
pub fn pair_hash(key: &Hash, value: &Hash) -> Hash {
    hash(b":", &[key, value])
}

/// The hashes of an item.
pub type Pair = (Hash, u64);

/// The hashes of a collection's items.
#[derive(Debug)]
pub enum Items {
    Sequence(Vec<Pair>),
    /// Pairs, in any order.
    Mapping(Vec<(Pair, Pair)>),
}

impl Items {
    /// Returns the items of a collection, and whether they differ from its entries: where keys
    /// occur twice or merge.
    pub fn of(tree: &Tree<'_>, node: &Node) -> (Self, bool) {
        let meanings = |id| (tree.node(id).hash, tree.node(id).loose);
        if !matches!(node.kind, Kind::Mapping(_)) {
            return (
                Self::Sequence(node.entries.iter().map(|e| meanings(e.value)).collect()),
                false,
            );
        }
        let pairs = node.entries.iter().filter_map(|e| Some((meanings(e.key?), meanings(e.value))));
        let pairs: Vec<_> = pairs.collect();
        if merges(tree, node).next().is_none() && !has_twice(&pairs) {
            return (Self::Mapping(pairs), false);
        }
        let mut found = HashMap::new();
        for merged in merges(tree, node) {
            // Of a list of mappings, the first one decides.
            for source in sources(tree, tree.value(merged)).into_iter().rev() {
                if let (Self::Mapping(pairs), _) = Self::of(tree, source) {
                    found.extend(pairs.into_iter().map(|(key, value)| (key.0, (key, value))));
                }
            }
        }
        for entry in node.entries.iter().filter(|entry| !is_merge(tree, entry)) {
            if let Some(key) = entry.key.map(meanings) {
                found.insert(key.0, (key, meanings(entry.value)));
            }
        }
        (Self::Mapping(found.into_values().collect()), true)
    }

    /// Returns the hash of the collection, and the one without types.
    pub fn hashes(self, tag: Option<&str>) -> (Hash, u64) {
        let (mut strict, mut loose) = (Vec::new(), Vec::new());
        let kind: &[u8; 1] = match self {
            Self::Sequence(items) => {
                for (hash, item) in items {
                    strict.extend(hash);
                    loose.extend(item.to_be_bytes());
                }
                b"["
            }
            Self::Mapping(mut pairs) => {
                pairs.sort_unstable();
                for (key, value) in &pairs {
                    strict.extend(key.0);
                    strict.extend(value.0);
                }
                pairs.sort_unstable_by_key(|(key, value)| (key.1, value.1));
                for (key, value) in &pairs {
                    loose.extend(key.1.to_be_bytes());
                    loose.extend(value.1.to_be_bytes());
                }
                b"{"
            }
        };
        loose.extend(kind);
        (hash(kind, &[&strict, tag.unwrap_or_default().as_bytes()]), fingerprint(&loose))
    }
}

/// Whether a key occurs twice.
pub fn has_twice(pairs: &[(Pair, Pair)]) -> bool {
    let mut keys: Vec<_> = pairs.iter().map(|(key, _)| key.0).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair.first() == pair.last())
}

fn is_merge(tree: &Tree<'_>, entry: &super::tree::Entry) -> bool {
    let key = entry.key.map(|key| tree.node(key));
    let is_key = key.is_some_and(|key| {
        key.kind == Kind::Scalar(ScalarStyle::Plain) && key.text == "<<" && key.tag.is_none()
    });
    is_key && !sources(tree, tree.value(entry)).is_empty()
}

fn merges<'n>(tree: &'n Tree<'_>, node: &'n Node) -> impl Iterator<Item = &'n super::tree::Entry> {
    node.entries.iter().filter(|entry| is_merge(tree, entry))
}

/// Returns the mappings that a merge key adds.
fn sources<'n>(tree: &'n Tree<'_>, value: &'n Node) -> Vec<&'n Node> {
    let value = target(tree, value);
    match value.kind {
        Kind::Mapping(_) => vec![value],
        Kind::Sequence(_) => {
            let items = value.entries.iter().map(|entry| target(tree, tree.value(entry)));
            let items: Vec<_> = items.collect();
            let fit = items.iter().all(|item| matches!(item.kind, Kind::Mapping(_)));
            if fit { items } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// Returns the node that an alias repeats.
pub fn target<'n>(tree: &'n Tree<'_>, node: &'n Node) -> &'n Node {
    match node.kind {
        Kind::Alias(id) => tree.node(id),
        _ => node,
    }
}
