//! Hashes by which records of a target are known again.

use super::align::Tag;
use crate::formats::canonical;
use crate::ids::{hash, hashes};
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value};

/// What says how a file is spelled, or what a reader made up, and so tells nothing of an edit.
const APART: &[Field] = &[
    Field::IdMade,
    Field::Raw,
    Field::RawBytes,
    Field::Eol,
    Field::File,
    Field::Layout,
    Field::Group,
    Field::Source,
    // Migration gives entries some; that of a session it leaves.
    Field::Id,
    Field::Parent,
];

/// Whether a member of a record is part of what it is known again by. Only to such may be referred:
/// of others nobody would notice that they are not what they were.
pub fn is_known_by(name: &[u8]) -> bool {
    !APART.iter().any(|field| field.name().as_bytes() == name)
}

/// Half of what a record says, its spelling apart: enough to know it again among its neighbours.
pub fn of(record: &Record) -> u64 {
    let mut line = Vec::with_capacity(1 << 10);
    text_of(record, &mut line);
    hash(&line)
}

fn text_of(record: &Record, text: &mut Vec<u8>) {
    let own = |field| record.kind == Kind::Session && field == Field::Id;
    let counts = |field| own(field) || !APART.contains(&field);
    canonical::normal_line_of(record, &counts, text);
}

/// The hashes of many records, some of which are waited for: they are made side by side.
#[derive(Default)]
pub struct Prints {
    done: Vec<u64>,
    /// The texts of those that wait, and where each ends.
    texts: Vec<u8>,
    ends: Vec<usize>,
}

/// So much may wait, but for the last of it.
const WAITING: usize = 64 << 10;

impl Prints {
    /// Adds that of a record.
    pub fn add(&mut self, record: &Record) {
        text_of(record, &mut self.texts);
        self.ends.push(self.texts.len());
        if self.texts.len() >= WAITING {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut start = 0;
        let text = |end: &usize| {
            let text = self.texts.get(start..*end).unwrap_or_default();
            start = *end;
            text
        };
        hashes(self.ends.iter().map(text), &mut self.done);
        self.texts.clear();
        self.ends.clear();
    }

    /// All of them.
    pub fn finish(mut self) -> Vec<u64> {
        self.settle();
        self.done
    }
}

/// A record's tag and hash as text.
pub fn spelled(tag: Tag, print: u64) -> String {
    format!("{}{:015x}", tag.0, print >> 4)
}

/// The same as numbers again.
pub fn parsed(text: &str) -> Option<(Tag, u64)> {
    let mut letters = text.chars();
    let tag = Tag(letters.next()?);
    let print = u64::from_str_radix(letters.as_str(), 16).ok()?;
    Some((tag, print << 4))
}

/// What is kept of a hash.
pub fn kept(print: u64) -> u64 {
    print & !0xf
}

/// A short hash of a field, to see whether a person changed it.
pub fn of_field(node: &Node, field: Field) -> Option<String> {
    match node.get(field)? {
        Value::Json(json) => Some(short(json)),
        _ => {
            let mut only = Node::default();
            only.set(field, node.get(field)?.clone());
            let mut line = Vec::new();
            canonical::line(&Record { kind: Kind::Message, node: only }, &mut line);
            Some(short(&Json::checked(line.into())))
        }
    }
}

/// The same of a field as a line of the canonical stream spells it.
pub fn of_spelled(field: Field, value: &Json) -> String {
    if !field.shape().is_group(value.as_bytes()) {
        return short(value);
    }
    let mut line = format!("{{\"kind\":\"message\",\"{}\":", field.name()).into_bytes();
    line.extend_from_slice(value.as_bytes());
    line.push(b'}');
    short(&Json::checked(line.into()))
}

/// A short hash of a value.
pub fn short(value: &Json) -> String {
    format!("{:08x}", hash(&value.normal()) >> 32)
}
