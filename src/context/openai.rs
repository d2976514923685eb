//! OpenAI's Chat Completions: the results of tools are texts of messages of their own, and the
//! arguments of calls are JSON text.

use super::list::List;
use super::plain::{answer, member_of};
use crate::dialect::chat_completions;
use crate::json::Json;
use crate::mapping::{Object, Spacing};
use crate::record::{Field, Node, Value, block};
use std::borrow::Cow;

/// Messages while they are brought into this shape.
#[derive(Debug, Default)]
pub struct Messages {
    /// Images of tool results, which have no place for them.
    images: Vec<Node>,
}

impl Messages {
    /// Writes one message. One without content only ends the results before it.
    pub fn add(&mut self, sent: &Node, list: &mut List) {
        let given = sent.get(Field::Content);
        let content = readable(nodes(given));
        let content = content.as_ref();
        if let Some(result) = answer(content) {
            return self.result(result, list);
        }
        self.show_images(list);
        if given.is_none_or(|given| matches!(given, Value::Nodes(parts) if parts.is_empty())) {
            return;
        }
        let mut object = Object::open(list.item());
        member_of(&mut object, "role", sent, Field::Role);
        match given {
            Some(Value::Json(text)) => object.member("content", text.as_bytes()),
            _ if sent.is(Field::Role, "assistant") => {
                let text = block::all_text(content).unwrap_or(Json::constant("null"));
                object.member("content", text.as_bytes());
            }
            _ => chat_completions::write_parts(content, object.key("content")),
        }
        reasoning(content, &mut object);
        chat_completions::write_calls(content, Spacing::None, &mut object);
        object.close();
    }

    fn result(&mut self, result: &Node, list: &mut List) {
        let content = result.get(Field::Content);
        let inner = readable(nodes(content));
        let images = inner.iter().filter(|block| block.is(Field::Type, block::IMAGE));
        let shown = self.images.len();
        self.images.extend(images.cloned());
        // Chat Completions requires a text in every tool result.
        let none = match self.images.len() > shown {
            true => "\"(see attached image)\"",
            false => "\"(no tool output)\"",
        };
        let text = match content {
            Some(Value::Json(text)) => Some(text.clone()),
            _ => block::all_text(&inner),
        };
        let text = text.filter(|text| text.as_bytes() != b"\"\"");
        let mut object = Object::open(list.item());
        object.member("role", b"\"tool\"");
        member_of(&mut object, "tool_call_id", result, Field::Call);
        object.member("content", text.unwrap_or(Json::constant(none)).as_bytes());
        object.close();
    }

    /// Writes the images of tool results in a message of their own.
    pub fn show_images(&mut self, list: &mut List) {
        if self.images.is_empty() {
            return;
        }
        let mut shown =
            vec![block::text(Json::constant("\"Attached image(s) from tool result:\""))];
        shown.append(&mut self.images);
        let mut object = Object::open(list.item());
        object.member("role", b"\"user\"");
        chat_completions::write_parts(&shown, object.key("content"));
        object.close();
    }
}

/// Brings a message of blocks into the usual form: content that is nothing but text is one text.
pub fn as_text(message: &mut Node) {
    let only = |parts: &[Node]| parts.iter().all(|part| part.is(Field::Type, block::TEXT));
    let parts = message.nodes(Field::Content).filter(|parts| only(parts));
    message.put(Field::Content, parts.and_then(block::all_text));
}

fn nodes(content: Option<&Value>) -> &[Node] {
    match content {
        Some(Value::Nodes(parts)) => parts,
        _ => &[],
    }
}

/// Writes thoughts under the name by which the interface gave them, which is their signature.
fn reasoning(content: &[Node], object: &mut Object<'_>) {
    let mut thoughts = content.iter().filter(|part| part.is(Field::Type, block::THINKING));
    let Some(first) = thoughts.next() else { return };
    let line = Json::constant("\"\\n\"");
    let all = std::iter::once(first).chain(thoughts);
    let thinking = all.filter_map(|part| part.json(Field::Thinking).cloned());
    let thinking = thinking.reduce(|a, b| a.joined(&line).joined(&b));
    if let (Some(name), Some(thinking)) = (first.text(Field::Signature), thinking) {
        object.member(&name, thinking.as_bytes());
    }
}

/// Returns the blocks with text in place of documents, for which this shape has no place.
fn readable(blocks: &[Node]) -> Cow<'_, [Node]> {
    let is_document = |block: &Node| block.is(Field::Type, block::DOCUMENT);
    if !blocks.iter().any(is_document) {
        return Cow::Borrowed(blocks);
    }
    let shown = |block: &Node| match is_document(block) {
        true => block::placeholder(block),
        false => block.clone(),
    };
    Cow::Owned(blocks.iter().map(shown).collect())
}
