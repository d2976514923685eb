//! Keys that occur twice in a mapping, and merge keys, as PyYAML reads them.
//!
//! Source: PyYAML 6.0.3, `construct_mapping` and `flatten_mapping` in `constructor.py`: a mapping
//! has the last value of a key at the place of the first one. The members of `<<: *anchor` precede
//! the mapping's own; of a list of mappings, the first one decides.

use crate::json::Json;
use crate::position::Position;
use std::collections::HashMap;
use std::ops::Range;

/// The merge key.
pub const MERGE: &str = "<<";

/// Number of keys up to which they are compared with each other one by one.
const FEW: usize = 16;

/// The keys of the open mappings, whose JSON is being written.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    /// Place of the key's JSON.
    json: Range<usize>,
    /// Place in the document.
    at: Position,
    /// Whether it is a merge key.
    merges: bool,
}

impl Keys {
    /// Returns the number of keys, for [`end`](Self::end) of a mapping that begins now.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a key of the innermost mapping, whose JSON is at the end of `out`, from `start` on.
    pub fn add(&mut self, start: usize, merges: bool, at: Position, out: &[u8]) {
        self.0.push(Key { json: start..out.len(), at, merges });
    }

    /// Ends the mapping that began with `first` keys, and whose closed JSON is at the end of `out`,
    /// from `start` on. If keys occur twice or merge, the JSON becomes what PyYAML constructs.
    /// Returns the keys that occur twice.
    pub fn end(&mut self, first: usize, start: usize, out: &mut Vec<u8>) -> Vec<(Json, Position)> {
        let keys = self.0.get(first..).unwrap_or_default();
        let unusual = keys.iter().any(|key| key.merges) || has_twice(keys, out);
        let found = if unusual { construct(keys, start, out) } else { Vec::new() };
        self.0.truncate(first);
        found
    }
}

fn has_twice(keys: &[Key], out: &[u8]) -> bool {
    let name = |key: &Key| out.get(key.json.clone()).unwrap_or_default();
    if keys.len() <= FEW {
        let mut before = keys.iter().enumerate().map(|(at, key)| (keys.get(..at), name(key)));
        return before.any(|(before, key)| {
            before.unwrap_or_default().iter().any(|other| name(other) == key)
        });
    }
    let mut names: Vec<_> = keys.iter().map(name).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair.first() == pair.last())
}

/// Writes the mapping as PyYAML constructs it; returns the keys that occur twice.
fn construct(keys: &[Key], start: usize, out: &mut Vec<u8>) -> Vec<(Json, Position)> {
    let json = Json::trusted(out.split_off(start).into());
    let (mut merged, mut own, mut twice) = (Members::default(), Members::default(), Vec::new());
    for ((name, value), key) in json.pairs().into_iter().zip(keys) {
        match mappings(&value).filter(|_| key.merges) {
            Some(mappings) => {
                for (name, value) in mappings.iter().rev().flat_map(Json::pairs) {
                    merged.set(name, value);
                }
            }
            None if own.set(name.clone(), value) => twice.push((name, key.at)),
            None => {}
        }
    }
    for (name, value) in own.list {
        merged.set(name, value);
    }
    merged.write(out);
    twice
}

/// Returns the mappings that a merge key adds; `None` if its value is anything else.
fn mappings(value: &Json) -> Option<Vec<Json>> {
    let is_object = |value: &Json| value.as_bytes().starts_with(b"{");
    if is_object(value) {
        return Some(vec![value.clone()]);
    }
    let list: Vec<_> = value.elements().collect();
    (value.as_bytes().starts_with(b"[") && list.iter().all(is_object)).then_some(list)
}

/// Members of a mapping, each name once.
#[derive(Default)]
struct Members {
    list: Vec<(Json, Json)>,
    places: HashMap<Json, usize>,
}

impl Members {
    /// Sets a member; returns whether it was there.
    fn set(&mut self, name: Json, value: Json) -> bool {
        match self.places.get(&name).and_then(|place| self.list.get_mut(*place)) {
            Some(member) => {
                member.1 = value;
                true
            }
            None => {
                self.places.insert(name.clone(), self.list.len());
                self.list.push((name, value));
                false
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (at, (name, value)) in self.list.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.push(b'}');
    }
}
