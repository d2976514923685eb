//! Records as lists of named values, and the differences between two such lists.

use super::Request;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value};
use std::collections::HashMap;

/// Fields that describe how a record was spelled, not its meaning.
const SPELLING: &[Field] = &[Field::Source, Field::File, Field::IdMade, Field::Layout];
/// Identifiers of records.
const IDS: &[Field] = &[
    Field::Id,
    Field::Parent,
    Field::Target,
    Field::From,
    Field::FirstKept,
    Field::Kept,
    Field::Leaf,
    Field::Group,
];
/// Fields that describe when something happened.
const TIMES: &[Field] = &[Field::Time, Field::MessageTime, Field::Created, Field::Updated];
/// Fields by which the corresponding record in the other session is found.
const GIST: &[Field] = &[
    Field::Role,
    Field::Subtype,
    Field::Content,
    Field::Bash,
    Field::CustomType,
    Field::Type,
    Field::Text,
    Field::Data,
    Field::Input,
    Field::Provider,
    Field::Model,
    Field::Level,
    Field::Label,
    Field::Summary,
    Field::Tools,
    Field::Name,
];

/// A value and the path to it, such as `content[0].text`.
pub type Named = (String, Json);

/// Returns the values of a record that are compared.
pub fn of(record: &Record, request: &Request) -> Vec<Named> {
    let mut out = Vec::new();
    let made = record.node.is_true(Field::IdMade);
    // A damaged line has no content but its spelling.
    let line = |field| record.kind == Kind::Opaque && field == Field::Base64;
    let counts = |field| {
        line(field)
            || !(SPELLING.contains(&field)
                || (made && matches!(field, Field::Id | Field::Group))
                || (request.ignore_ids && IDS.contains(&field))
                || (request.ignore_time && TIMES.contains(&field)))
    };
    for (field, value) in record.node.iter().filter(|(field, _)| counts(*field)) {
        add(field.name(), value, &mut out);
    }
    out
}

fn add(path: &str, value: &Value, out: &mut Vec<Named>) {
    match value {
        Value::Json(json) => out.push((path.to_owned(), json.clone())),
        Value::Node(node) => add_node(path, node, out),
        Value::Nodes(nodes) if nodes.is_empty() => {
            out.push((path.to_owned(), Json::constant("[]")));
        }
        Value::Nodes(nodes) => {
            for (place, node) in nodes.iter().enumerate() {
                add_node(&format!("{path}[{place}]"), node, out);
            }
        }
    }
}

fn add_node(path: &str, node: &Node, out: &mut Vec<Named>) {
    if node.is_empty() {
        out.push((path.to_owned(), Json::constant("{}")));
    }
    // The source's own name of a field is a spelling, too.
    for (field, value) in node.iter().filter(|(field, _)| *field != Field::Key) {
        add(&format!("{path}.{}", field.name()), value, out);
    }
}

/// Returns bytes that are equal for two records that correspond to each other.
pub fn gist(record: &Record) -> Vec<u8> {
    let mut named = Vec::new();
    // A session's own name and model may change; the session remains the same.
    if record.kind != Kind::Session {
        for (field, value) in record.node.iter().filter(|(field, _)| GIST.contains(field)) {
            add(field.name(), value, &mut named);
        }
    }
    key(record.kind, &named)
}

/// Returns bytes that are equal for two records of the same kind and values.
pub fn key(kind: Kind, named: &[Named]) -> Vec<u8> {
    let mut out = kind.name().as_bytes().to_vec();
    for (path, value) in named {
        out.push(b'\n');
        out.extend_from_slice(path.as_bytes());
        out.push(b'=');
        out.extend_from_slice(&value.normal());
    }
    out
}

/// One field that differs between two records.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The path to it.
    pub field: String,
    /// Its value in the first session.
    pub a: Option<Json>,
    /// Its value in the second session.
    pub b: Option<Json>,
}

/// Returns the differences between the values of two records.
pub fn changes(a: Vec<Named>, b: Vec<Named>) -> Vec<FieldChange> {
    let mut others: HashMap<String, Json> = b.iter().cloned().collect();
    let mut out = Vec::new();
    for (field, value) in a {
        match others.remove(&field) {
            Some(other) if other.normal() == value.normal() => {}
            other => out.push(FieldChange { field, a: Some(value), b: other }),
        }
    }
    let new = b.into_iter().filter(|(field, _)| others.contains_key(field));
    out.extend(new.map(|(field, value)| FieldChange { field, a: None, b: Some(value) }));
    out
}
