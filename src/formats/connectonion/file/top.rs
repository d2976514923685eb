//! The members of the top, `turns` and `messages` apart.

use super::EXPANSION;
use crate::json::{Json, text as json};
use crate::mapping::{Extra, Object};
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::json::{Nodes, Scalars, emit};
use crate::yaml::read::{Budget, Events, Limits, What};
use crate::yaml::write::{Emitter, Style};

/// Members that stand in the first session record, in the order of the real writer.
const TOP: [&str; 6] = ["name", "session_id", "created", "updated", "total_cost", "total_tokens"];

/// Fields of the session record that have a place at the top.
pub const FIELDS: &[Field] = &[
    Field::Source,
    Field::Agent,
    Field::Id,
    Field::Created,
    Field::Updated,
    Field::Totals,
    Field::SystemPrompt,
    Field::File,
    Field::Raw,
    Field::Layout,
];

/// Members of the top that no record was made of yet.
#[derive(Default)]
pub struct Top {
    node: Node,
    totals: Extra,
    extra: Extra,
    /// Where the first of them stands.
    pub at: Option<Position>,
    /// Where the last of them ends.
    pub end: Position,
}

/// What scalars of a member of the top are.
#[must_use]
pub fn scalars_of(name: &str) -> Scalars {
    match name {
        "name" | "session_id" | "created" | "updated" | "system_prompt" => Scalars::Text,
        _ => Scalars::Typed,
    }
}

impl Top {
    /// Takes a member in.
    pub fn add(&mut self, name: &str, value: Json) {
        let field = match name {
            "name" => Some(Field::Agent),
            "session_id" => Some(Field::Id),
            "created" => Some(Field::Created),
            "updated" => Some(Field::Updated),
            "system_prompt" => Some(Field::SystemPrompt),
            _ => None,
        };
        let mut quoted = Vec::new();
        json::quote(name, &mut quoted);
        let first = value.as_bytes().first().copied().unwrap_or_default();
        match field.filter(|field| field.shape().admits(first) && self.node.get(*field).is_none()) {
            Some(field) => self.node.set(field, value),
            None if matches!(name, "total_cost" | "total_tokens") => {
                self.totals.add(&quoted, value.as_bytes());
            }
            None => self.extra.add(&quoted, value.as_bytes()),
        }
    }

    /// The session record that they make up.
    #[must_use]
    pub fn record(self) -> Record {
        let mut record = Record { kind: Kind::Session, node: self.node };
        if let Some(totals) = self.totals.finish() {
            record.node.set(Field::Totals, totals);
        }
        if let Some(extra) = self.extra.finish() {
            record.node.set(Field::Extra, extra);
        }
        record
    }
}

/// The members of the top that a text of their own holds.
fn members(text: &str) -> Option<Node> {
    let mut events = Events::new(text.as_bytes(), Limits::default());
    let mut nodes = Nodes::new(Budget::of(EXPANSION));
    let mut top = Top::default();
    for _ in ["document", "mapping"] {
        nodes.next(&mut events).ok()?;
    }
    loop {
        let key = match nodes.next(&mut events).ok()?.what {
            What::Scalar(key, ..) => key.as_str()?.to_owned(),
            _ => return Some(top.record().node),
        };
        let first = nodes.next(&mut events).ok()?;
        let mut json = Vec::new();
        nodes.value(&mut events, first, scalars_of(&key), &mut json).ok()?;
        top.add(&key, Json::checked(json.into()));
    }
}

/// The members of the top that a session record stands for, as JSON; false if there are none.
pub fn write(node: &Node, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut object = Object::open(out);
    let inside = |field, name| node.json(field).and_then(|object: &Json| object.member(name));
    for name in TOP {
        let value = match name {
            "name" => node.json(Field::Agent).cloned(),
            "session_id" => node.json(Field::Id).cloned().or(inside(Field::Extra, name)),
            "created" => node.json(Field::Created).cloned(),
            "updated" => node.json(Field::Updated).cloned(),
            _ => inside(Field::Totals, name),
        };
        value.into_iter().for_each(|value| object.member(name, value.as_bytes()));
    }
    if let Some(prompt) = node.json(Field::SystemPrompt) {
        object.member("system_prompt", prompt.as_bytes());
    }
    let rest = node.json(Field::Extra).map(|extra| without(extra, "session_id"));
    rest.into_iter().for_each(|rest| object.members_of(&rest));
    object.close();
    out.len() > start + 2
}

/// The object without one of its members.
fn without(object: &Json, name: &str) -> Json {
    let mut rest = Extra::default();
    for (key, value) in object.members().filter(|(key, _)| !json::is(key, name)) {
        rest.add(key, value);
    }
    rest.finish().unwrap_or(Json::constant("{}"))
}

/// The same as YAML.
#[must_use]
pub fn text(node: &Node) -> Vec<u8> {
    let mut json = Vec::new();
    if !write(node, &mut json) {
        return Vec::new();
    }
    let mut yaml = Emitter::new(Style::PyYaml);
    put(&json, &mut yaml);
    yaml.finish()
}

/// Whether stored text reads as the members of the top that the record has.
#[must_use]
pub fn gives(raw: &str, node: &Node) -> bool {
    members(raw).is_some_and(|read| read.is_same(node, &[Field::Source, Field::File]))
}

/// Writes JSON that the model made.
pub fn put(json: &[u8], yaml: &mut Emitter) {
    let written = emit(json, yaml);
    debug_assert!(written.is_ok(), "{written:?}");
}
