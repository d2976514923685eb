//! One row: what it is by its members, its messages, and the record of its session.

use super::message::Shape;
use crate::ids::uuid_of;
use crate::json::{Json, member, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Record};

/// Members whose values are lists of messages, in the order of their messages, and the shape of
/// these. A `prompt` or `completion` may be a text.
const LISTS: &[(&str, Shape)] = &[
    ("messages", Shape::Message),
    ("conversations", Shape::Turn),
    ("prompt", Shape::Message),
    ("completion", Shape::Message),
];

/// Returns the text of the first row in the beginning of a file.
pub fn first(head: &[u8]) -> &[u8] {
    let text = head.trim_ascii_start();
    text.strip_prefix(b"[").map_or(text, <[u8]>::trim_ascii_start)
}

/// Whether an object that may be cut is a row, or the first line of a session trace.
pub fn is_row(object: &[u8]) -> bool {
    if !object.starts_with(b"{") {
        return false;
    }
    let of = |name: &str| member(object, name);
    let begins = |name: &str, keys: &[&str]| {
        let first = of(name).and_then(|list| list.strip_prefix(b"["));
        let first = first.map(<[u8]>::trim_ascii_start).unwrap_or_default();
        let is_text = |key: &&str| member(first, key).is_some_and(|value| value.starts_with(b"\""));
        keys.iter().any(is_text)
    };
    let is_text = |name: &str| of(name).is_some_and(|value| value.starts_with(b"\""));
    let is_side = |name: &str| begins(name, &["role"]) || is_text(name);
    begins("messages", &["role"])
        || begins("conversations", &["from", "role"])
        || (is_side("prompt") && is_side("completion"))
        || is_trace(object)
}

/// Whether an object is the first line of a session trace.
pub fn is_trace(object: &[u8]) -> bool {
    let is = |name: &str, wanted: &str| {
        member(object, name).is_some_and(|value| text::is(value, wanted))
    };
    is("type", "session") && member(object, "harness").is_some_and(|name| name.starts_with(b"\""))
}

/// Returns the record of a row's session, and its messages with their shapes. The identifier follows
/// from the row, for many rows of a file begin with the same question.
pub fn read(row: &Json) -> (Record, Vec<(Json, Shape)>) {
    let id = Json::string(&uuid_of(row.as_bytes()));
    let mut record = session().with(Field::Id, id);
    let node = &mut record.node;
    let (mut extra, mut lists) = (Extra::default(), vec![Vec::new(); LISTS.len()]);
    let mut columns = Vec::new();
    for (key, value) in row.members() {
        let own = Json::trusted(row.bytes().slice_ref(value));
        let place = LISTS.iter().position(|(name, _)| text::is(key, name));
        if let Some(place) = place {
            columns.push((place, key.to_vec(), own.clone()));
        }
        match (place.and_then(|place| lists.get_mut(place).zip(LISTS.get(place))), own.text()) {
            (Some((list, (_, shape))), None) if value.starts_with(b"[") => {
                list.extend(own.elements().map(|message| (message, *shape)));
            }
            (Some((list, (name @ ("prompt" | "completion"), _))), Some(_)) => {
                list.push((message_of(*name == "prompt", &own), Shape::Message));
            }
            _ if text::is(key, "system") => match prompt(&own) {
                Some(prompt) => node.set(Field::SystemPrompt, prompt),
                None => extra.add(key, value),
            },
            _ if text::is(key, "model") && value.starts_with(b"\"") => node.set(Field::Model, own),
            _ if text::is(key, "tools") => match tools(&own) {
                Some(tools) => node.set(Field::Tools, tools),
                None => extra.add(key, value),
            },
            _ => extra.add(key, value),
        }
    }
    // Data sets have the first question as a column of its own, beside the conversation.
    let beside = if lists.iter().take(2).all(Vec::is_empty) { lists.len() } else { 2 };
    for (_, key, value) in columns.into_iter().filter(|(place, ..)| *place >= beside) {
        extra.add(&key, value.as_bytes());
    }
    extra.put(node);
    (record, lists.into_iter().take(beside).flatten().collect())
}

/// Returns a system prompt: a text, or a list of texts, as Anthropic's Messages may have it.
fn prompt(value: &Json) -> Option<Json> {
    let texts = value.elements().map(|block| block.member("text")?.text());
    match value.as_bytes().first() {
        Some(b'"') => Some(value.clone()),
        Some(b'[') => Some(Json::string(&texts.collect::<Option<Vec<_>>>()?.join("\n\n"))),
        _ => None,
    }
}

/// Returns the tools of a row: a list, or the text of one, as ShareGPT has them.
fn tools(value: &Json) -> Option<Json> {
    let parsed = value.text().and_then(|text| Json::read(&text.into_bytes().into()).ok());
    Some(parsed.unwrap_or_else(|| value.clone())).filter(|list| list.as_bytes().starts_with(b"["))
}

/// Returns the message that a text is.
fn message_of(is_question: bool, text: &Json) -> Json {
    let role = if is_question { "user" } else { "assistant" };
    let begin = format!("{{\"role\":\"{role}\",\"content\":");
    Json::trusted([begin.as_bytes(), text.as_bytes(), b"}"].concat().into())
}

fn session() -> Record {
    Record::new(Kind::Session).with(Field::Source, Json::string(super::FORMAT.name))
}

/// Returns the record of a session trace, by its first line.
pub fn trace(line: &Json) -> Record {
    let mut record = session();
    let (node, mut extra) = (&mut record.node, Extra::default());
    for (key, value) in line.members() {
        let own = Json::trusted(line.bytes().slice_ref(value));
        match text::decode(key).as_deref() {
            Some("type") => {}
            Some("id") if value.starts_with(b"\"") => node.set(Field::Id, own),
            Some("name") if value.starts_with(b"\"") => node.set(Field::Name, own),
            _ => extra.add(key, value),
        }
    }
    extra.put(node);
    record
}
