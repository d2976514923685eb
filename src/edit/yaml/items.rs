//! Items of collections, as PyYAML reads them: with merge keys, and keys that occur twice.

use super::meaning::{Hash, hash};
use super::tree::{Entry, Kind, Node, Tree};
use crate::ids::fingerprint;
use crate::yaml::read::ScalarStyle;
use std::collections::HashMap;

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

fn is_merge(tree: &Tree<'_>, entry: &Entry) -> bool {
    let key = entry.key.map(|key| tree.node(key));
    let is_key = key.is_some_and(|key| {
        key.kind == Kind::Scalar(ScalarStyle::Plain) && key.text == "<<" && key.tag.is_none()
    });
    is_key && !sources(tree, tree.value(entry)).is_empty()
}

fn merges<'n>(tree: &'n Tree<'_>, node: &'n Node) -> impl Iterator<Item = &'n Entry> {
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
