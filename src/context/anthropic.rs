//! Anthropic's Messages: system texts are separate, and the results of tools are blocks of a user's
//! message.

use super::form::List;
use super::plain::{answer, member_of};
use crate::json::Json;
use crate::mapping::{Object, Row, row};
use crate::record::{Field, Node, Value, block};

/// Messages while they are brought into this shape.
#[derive(Debug, Default)]
pub struct Messages {
    system: Vec<Json>,
    /// Whether a message of tool results is open.
    answers: bool,
}

/// Identifier of the provider's interface, which requires its signed thoughts to be sent back.
pub const API: &str = "anthropic-messages";

impl Messages {
    /// Writes one message. One without content only ends the results before it.
    pub fn add(&mut self, sent: &Node, list: &mut List) {
        let content = sent.nodes(Field::Content).unwrap_or_default();
        if sent.is(Field::Role, "system") {
            self.system.extend(block::all_text(content));
            return;
        }
        if let Some(result) = answer(content) {
            if std::mem::replace(&mut self.answers, true) {
                list.text(b",");
            } else {
                list.item().extend_from_slice(b"{\"role\":\"user\",\"content\":[");
            }
            write_block(result, list.buffer());
            return;
        }
        self.close_answers(list);
        let said = sent.get(Field::Content);
        if said.is_none_or(|said| matches!(said, Value::Nodes(parts) if parts.is_empty())) {
            return;
        }
        let mut object = Object::open(list.item());
        member_of(&mut object, "role", sent, Field::Role);
        contents(said, object.key("content"));
        object.close();
    }

    /// Ends an open message of tool results.
    pub fn close_answers(&mut self, list: &mut List) {
        if std::mem::take(&mut self.answers) {
            list.text(b"]}");
        }
    }

    /// The system messages' texts, one after the other.
    pub fn system(&self) -> Option<Json> {
        let between = Json::constant("\"\\n\\n\"");
        self.system.iter().cloned().reduce(|a, b| a.joined(&between).joined(&b))
    }
}

/// Writes content as it is: a text, or a list of blocks.
fn contents(content: Option<&Value>, out: &mut Vec<u8>) {
    match content {
        Some(Value::Json(said)) => out.extend_from_slice(said.as_bytes()),
        Some(Value::Nodes(parts)) => blocks(parts, out),
        _ => blocks(&[], out),
    }
}

fn blocks(content: &[Node], out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, part) in content.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write_block(part, out);
    }
    out.push(b']');
}

fn write_block(part: &Node, out: &mut Vec<u8>) {
    let is = |name| part.is(Field::Type, name);
    if is(block::OPAQUE) {
        out.extend_from_slice(part.json(Field::Data).map_or(&b"null"[..], Json::as_bytes));
        return;
    }
    let mut object = Object::open(out);
    if is(block::TEXT) {
        object.member("type", b"\"text\"");
        member_of(&mut object, "text", part, Field::Text);
    } else if is(block::THINKING) && part.is_true(Field::Redacted) {
        object.member("type", b"\"redacted_thinking\"");
        member_of(&mut object, "data", part, Field::Signature);
    } else if is(block::THINKING) {
        object.member("type", b"\"thinking\"");
        member_of(&mut object, "thinking", part, Field::Thinking);
        member_of(&mut object, "signature", part, Field::Signature);
    } else if is(block::TOOL_CALL) {
        object.member("type", b"\"tool_use\"");
        member_of(&mut object, "id", part, Field::Id);
        member_of(&mut object, "name", part, Field::Name);
        object.member("input", block::arguments(part).0.as_bytes());
    } else if is(block::TOOL_RESULT) {
        object.member("type", b"\"tool_result\"");
        member_of(&mut object, "tool_use_id", part, Field::Call);
        contents(part.get(Field::Content), object.key("content"));
        member_of(&mut object, "is_error", part, Field::IsError);
    } else {
        let image = is(block::IMAGE);
        object.member("type", if image { b"\"image\"" } else { b"\"document\"" });
        let mut source = Object::open(object.key("source"));
        source.member("type", b"\"base64\"");
        source.rows(DATA, part);
        source.close();
    }
    object.close();
}

const DATA: &[Row] = &[row("media_type", Field::MediaType), row("data", Field::Data)];
