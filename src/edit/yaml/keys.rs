//! Which entries of collections correspond.

use super::meaning::{Hash, short};
use super::three::{New, Three, Trees, What};
use super::tree::{Entry, Kind, Node, Tree};
use crate::edit::plan::{Items, Level};
use crate::ids::fingerprint;
use std::collections::{HashMap, HashSet};

/// Match of an entry of the source.
#[derive(Clone, Copy, Debug)]
pub enum Match {
    Kept,
    Removed,
    /// It gets the value of an entry of `after`; `before` has no such entry.
    Replaced(Entry),
    /// It gets the changes between an entry of `before` and one of `after`, perhaps with another
    /// key.
    Edited(Entry, Entry),
}

/// The matches of a mapping's entries, and the new ones.
#[derive(Debug)]
pub struct Matched {
    pub matches: Vec<Match>,
    pub new: Vec<New>,
}

/// The entries of a mapping by their keys.
struct Keys<'n> {
    entries: &'n [Entry],
    strict: HashMap<Hash, usize>,
    loose: HashMap<u64, usize>,
}

impl<'n> Keys<'n> {
    fn of(tree: &'n Tree<'_>, id: usize) -> Self {
        let entries = tree.node(id).entries.as_slice();
        let keys =
            || entries.iter().enumerate().filter_map(|(at, e)| Some((at, tree.node(e.key?))));
        let strict = keys().map(|(at, key)| (key.hash, at)).collect();
        let loose = keys().map(|(at, key)| (key.loose, at)).collect();
        Self { entries, strict, loose }
    }

    /// Returns the place of the entry with a key, or else with a key that differs in its type only.
    fn find(&self, key: &Node) -> Option<usize> {
        let strict = self.strict.get(&key.hash);
        strict.or_else(|| self.loose.get(&key.loose)).copied()
    }
}

/// Finds the entries of mappings that correspond.
pub fn matched(trees: &Trees<'_>, three: Three) -> Matched {
    let own = Keys::of(&trees.source, three.source);
    let old = Keys::of(&trees.before, three.before);
    let new = Keys::of(&trees.after, three.after);
    let renamed = renamed(trees, &old, &new);
    let mut matches = Vec::with_capacity(own.entries.len());
    // The places in the source of the entries of `after`.
    let mut places = HashMap::new();
    for (place, entry) in own.entries.iter().enumerate() {
        let Some(key) = entry.key.map(|key| trees.source.node(key)) else { continue };
        let before = old.find(key);
        let renamed = before.and_then(|before| renamed.get(&before).copied());
        let renamed = renamed.filter(|_| is_plain_key(key));
        let same = |before: usize| {
            let key = old.entries.get(before)?.key?;
            new.strict.get(&trees.before.node(key).hash).copied()
        };
        let after = match before {
            Some(before) => renamed.or_else(|| same(before)),
            None => new.find(key),
        };
        places.extend(after.map(|after| (after, place)));
        let pick = |keys: &Keys<'_>, at: Option<usize>| keys.entries.get(at?).copied();
        matches.push(match (pick(&old, before), pick(&new, after)) {
            (Some(before), Some(after)) => Match::Edited(before, after),
            (Some(_), None) => Match::Removed,
            (None, Some(after)) => Match::Replaced(after),
            (None, None) => Match::Kept,
        });
    }
    let mut behind = None;
    let mut added = Vec::new();
    for (at, entry) in new.entries.iter().enumerate() {
        if let Some(place) = places.get(&at) {
            behind = Some(*place);
            continue;
        }
        // What the writer adds by itself is not new.
        let old = entry.key.and_then(|key| old.strict.get(&trees.after.node(key).hash));
        let old = old.and_then(|old| trees.before.node(three.before).entries.get(*old));
        let meanings = trees.after.value(entry).hash;
        if old.is_none_or(|old| trees.before.value(old).hash != meanings) {
            added.push(New { behind, what: What::After(*entry) });
        }
    }
    Matched { matches, new: added }
}

/// Whether a key can get another name.
fn is_plain_key(key: &Node) -> bool {
    matches!(key.kind, Kind::Scalar(_)) && !key.anchored && !key.is_block()
}

/// Returns the entries that have another key and the same value: places in `after` by places in
/// `before`.
fn renamed(trees: &Trees<'_>, old: &Keys<'_>, new: &Keys<'_>) -> HashMap<usize, usize> {
    let lacks = |keys: &Keys<'_>, tree: &Tree<'_>, entry: &Entry| {
        entry.key.is_some_and(|key| !keys.strict.contains_key(&tree.node(key).hash))
    };
    let mut added: HashMap<Hash, Vec<usize>> = HashMap::new();
    for (at, entry) in new.entries.iter().enumerate().rev() {
        let key = entry.key.map(|key| trees.after.node(key));
        if lacks(old, &trees.after, entry) && key.is_some_and(is_plain_key) {
            added.entry(trees.after.value(entry).hash).or_default().push(at);
        }
    }
    let removed = old.entries.iter().enumerate();
    let removed = removed.filter(|(_, entry)| lacks(new, &trees.before, entry));
    let pairs = removed.filter_map(|(at, entry)| {
        let value = trees.before.value(entry).hash;
        Some((at, added.get_mut(&value)?.pop()?))
    });
    pairs.collect()
}

/// The items of a sequence.
pub struct List<'n> {
    tree: &'n Tree<'n>,
    entries: &'n [Entry],
    hashes: Vec<u64>,
}

impl<'n> List<'n> {
    pub fn of(tree: &'n Tree<'n>, node: &'n Node) -> Self {
        let entries = node.entries.as_slice();
        let hashes = entries.iter().map(|entry| short(&tree.value(entry).hash)).collect();
        Self { tree, entries, hashes }
    }

    /// Returns the items of the source, of which those that differ from an item of `before` by
    /// types alone have its hash.
    pub fn like(before: &Self, tree: &'n Tree<'n>, node: &'n Node) -> Self {
        let mut own = Self::of(tree, node);
        let known: HashSet<_> = before.hashes.iter().collect();
        let values = before.entries.iter().map(|entry| before.tree.value(entry).loose);
        let loose: HashMap<_, _> = values.zip(&before.hashes).collect();
        for (hash, entry) in own.hashes.iter_mut().zip(own.entries) {
            if !known.contains(hash)
                && let Some(same) = loose.get(&tree.value(entry).loose)
            {
                *hash = **same;
            }
        }
        own
    }
}

/// Keys of members that say which item an edited one is.
const IDENTITIES: &[&str] =
    &["type", "role", "name", "id", "tool_call_id", "turn", "run", "ts", "timestamp"];

impl Items for List<'_> {
    fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    fn likeness(&mut self, item: u32, level: Level) -> Option<u64> {
        let node = self.tree.value(self.entries.get(item as usize)?);
        let mut text = match node.kind {
            Kind::Mapping(_) => b"{".to_vec(),
            Kind::Sequence(_) => b"[".to_vec(),
            Kind::Scalar(_) | Kind::Alias(_) => b"s".to_vec(),
        };
        let members = node.entries.iter().filter(|_| level == Level::Identity);
        for entry in members {
            let Some(key) = entry.key.map(|key| self.tree.node(key)) else { continue };
            if IDENTITIES.iter().any(|name| key.text == **name) {
                text.extend(key.loose.to_be_bytes());
                text.extend(self.tree.value(entry).loose.to_be_bytes());
            }
        }
        Some(fingerprint(&text))
    }
}
