//! Messages of rows, in the shapes that rows have.

use super::pairs::Pairs;
use super::turn::{self, think};
use crate::dialect::anthropic::{block, split};
use crate::dialect::chat_completions;
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Object, Source, whole};
use crate::record::{Field, Kind, Record, Value};
use crate::times;

/// Shape of the messages of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Messages of OpenAI, TRL or Anthropic, each recognised by its content.
    Message,
    /// Turns of ShareGPT.
    Turn,
    /// Lines of a session trace.
    Trace,
}

/// Names of a member with the thoughts before an answer.
const THOUGHTS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Types of content blocks that only Anthropic's Messages have.
const ANTHROPIC: &[&str] = &[
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "server_tool_use",
    "web_search_tool_result",
];

/// Reader of the messages of a row.
#[derive(Debug, Default)]
pub struct Messages {
    pairs: Pairs,
    /// Number of messages that were divided.
    groups: u64,
}

impl Messages {
    /// Reads a message. A value that is none becomes an opaque record.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn read(&mut self, message: &Json, shape: Shape) -> Result<Vec<Record>, Fault> {
        let is_turn = shape == Shape::Turn && message.member("from").is_some();
        let mut records = match shape {
            Shape::Turn if is_turn => match turn::read(message, self.pairs.open()) {
                Some(records) => records,
                None => vec![whole(message.bytes(), Some("message"))?],
            },
            Shape::Trace => vec![traced(message)?],
            _ if is_anthropic(message) => {
                self.groups += 1;
                anthropic(message, &format!("message-{}", self.groups))?
            }
            _ => vec![chat(message, message)?],
        };
        records.iter_mut().for_each(|record| self.pairs.look(record));
        Ok(records)
    }
}

/// Whether a message has a content block that only Anthropic's Messages have.
fn is_anthropic(message: &Json) -> bool {
    let content = message.member("content").unwrap_or_default();
    content
        .elements()
        .filter_map(|block| block.member("type")?.text())
        .any(|name| ANTHROPIC.contains(&name.as_str()))
}

/// Reads a message of Anthropic's Messages: one of the user becomes several of this group if it has
/// results.
fn anthropic(message: &Json, group: &str) -> Result<Vec<Record>, Fault> {
    let mut record = Record::new(Kind::Message);
    let (node, mut extra) = (&mut record.node, Extra::default());
    let mut source = Source::new(message.bytes());
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let name = source.spelling(key);
        if text::is(name, "content") && block::is_content(&mut source) {
            node.put(Field::Content, Some(block::content(&mut source)?));
        } else if text::is(name, "role") {
            let role = source.cursor.skip_value()?;
            node.set(Field::Role, source.json(role));
        } else {
            source.unknown(key, &mut extra)?;
        }
    }
    if !node.json(Field::Role).is_some_and(Json::is_string) {
        return Ok(vec![whole(message.bytes(), Some("message"))?]);
    }
    extra.put(node);
    let is_user = node.is(Field::Role, "user");
    Ok(if is_user { split(record, group) } else { vec![record] })
}

/// Reads a message of Chat Completions with what TRL and servers of models add to it. `from` is the
/// value that it was made of.
fn chat(message: &Json, from: &Json) -> Result<Record, Fault> {
    let role = message.member("role").and_then(|role| role.text()).unwrap_or_default();
    let has_calls = message.member("tool_calls").is_some_and(|calls| calls.elements().count() > 0);
    let (mut thoughts, mut name) = (None, None);
    let mut out = Vec::new();
    let mut plain = Object::open(&mut out);
    for (key, value) in message.members() {
        let own = || Json::trusted(message.bytes().slice_ref(value));
        let is_text = value.starts_with(b"\"");
        let is = |known: &str| text::is(key, known);
        if role == "assistant" && is_text && thoughts.is_none() && THOUGHTS.iter().any(|t| is(t)) {
            thoughts = Some(own());
        } else if role == "tool" && is_text && is("name") {
            name = Some(own());
        } else if role == "developer" && is("role") {
            plain.member("role", b"\"system\"");
        } else if !(has_calls && is("content") && value == b"\"\"") {
            plain.spelled(key, value);
        }
    }
    plain.close();
    let mut record = chat_completions::read(&out.into())?;
    if record.kind == Kind::Opaque {
        return whole(from.bytes(), Some("message"));
    }
    if let Some(thoughts) = thoughts.filter(|thoughts| thoughts.as_bytes() != b"\"\"") {
        think(&mut record.node, thoughts);
    }
    if let (Some(name), Some(Value::Nodes(results))) = (name, record.node.get_mut(Field::Content)) {
        results.iter_mut().take(1).for_each(|result| result.set(Field::Name, name.clone()));
    }
    Ok(record)
}

/// Reads a message of a session trace.
fn traced(line: &Json) -> Result<Record, Fault> {
    let other = || whole(line.bytes(), Some("message"));
    let is_message = line.member("type").is_some_and(|name| text::is(name.as_bytes(), "message"));
    let Some(message) = line.member("message").filter(|_| is_message) else { return other() };
    let (mut out, mut time) = (Vec::new(), None);
    let mut plain = Object::open(&mut out);
    for (key, value) in message.members() {
        let own = || Json::trusted(message.bytes().slice_ref(value));
        match text::decode(key).as_deref() {
            Some("toolCalls") => calls(&own(), plain.key("tool_calls")),
            Some("toolCallId") => plain.member("tool_call_id", value),
            Some("timestamp") if times::of_number(&own()).is_some() => time = Some(own()),
            _ => plain.spelled(key, value),
        }
    }
    plain.close();
    let mut record = chat(&Json::trusted(out.into()), line)?;
    let time = time.as_ref().and_then(times::of_number).map(times::with_millis);
    if record.kind == Kind::Message {
        record.node.put(Field::Time, time.map(|time| Json::string(&time)));
    }
    Ok(record)
}

/// Writes the calls of a trace as those of Chat Completions.
fn calls(list: &Json, out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, call) in list.elements().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        let mut one = Object::open(out);
        if call.member("type").is_none() {
            one.member("type", b"\"function\"");
        }
        one.members_of(&call);
        one.close();
    }
    out.push(b']');
}
