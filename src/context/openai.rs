//! OpenAI's Chat Completions: the results of tools are texts of messages of their own, and the
//! arguments of calls are JSON text.

use super::form::List;
use super::plain::{answer, member_of};
use crate::json::{Json, text};
use crate::mapping::Object;
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
            Some(Value::Json(said)) => object.member("content", said.as_bytes()),
            _ if sent.is(Field::Role, "assistant") => {
                let said = block::all_text(content).unwrap_or(Json::constant("null"));
                object.member("content", said.as_bytes());
            }
            _ => parts(content, object.key("content")),
        }
        reasoning(content, &mut object);
        calls(content, &mut object);
        object.close();
    }

    fn result(&mut self, result: &Node, list: &mut List) {
        let said = result.get(Field::Content);
        let inner = readable(nodes(said));
        let images = inner.iter().filter(|block| block.is(Field::Type, block::IMAGE));
        let shown = self.images.len();
        self.images.extend(images.cloned());
        // Chat Completions requires a text in every tool result.
        let none = match self.images.len() > shown {
            true => "\"(see attached image)\"",
            false => "\"(no tool output)\"",
        };
        let said = match said {
            Some(Value::Json(said)) => Some(said.clone()),
            _ => block::all_text(&inner),
        };
        let said = said.filter(|said| said.as_bytes() != b"\"\"");
        let mut object = Object::open(list.item());
        object.member("role", b"\"tool\"");
        member_of(&mut object, "tool_call_id", result, Field::Call);
        object.member("content", said.unwrap_or(Json::constant(none)).as_bytes());
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
        parts(&shown, object.key("content"));
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
    let said = all.filter_map(|part| part.json(Field::Thinking).cloned());
    let said = said.reduce(|a, b| a.joined(&line).joined(&b));
    if let (Some(name), Some(said)) = (first.text(Field::Signature), said) {
        object.member(&name, said.as_bytes());
    }
}

/// Returns the blocks with text in place of documents, for which this shape has no place.
fn readable(blocks: &[Node]) -> Cow<'_, [Node]> {
    let is_document = |block: &Node| block.is(Field::Type, block::DOCUMENT);
    if !blocks.iter().any(is_document) {
        return Cow::Borrowed(blocks);
    }
    let said = |block: &Node| match is_document(block) {
        true => block::placeholder(block),
        false => block.clone(),
    };
    Cow::Owned(blocks.iter().map(said).collect())
}

fn parts(content: &[Node], out: &mut Vec<u8>) {
    let mut list = b'[';
    for part in content {
        let text = part.json(Field::Text).filter(|_| part.is(Field::Type, block::TEXT));
        let image = part.is(Field::Type, block::IMAGE);
        // A part that the reader does not understand came from an interface of this shape.
        let other = part.json(Field::Data).filter(|_| part.is(Field::Type, block::OPAQUE));
        if text.is_none() && !image && other.is_none() {
            continue;
        }
        out.push(std::mem::replace(&mut list, b','));
        if let Some(other) = other {
            out.extend_from_slice(other.as_bytes());
            continue;
        }
        let mut object = Object::open(out);
        if let Some(text) = text {
            object.member("type", b"\"text\"");
            object.member("text", text.as_bytes());
        } else {
            object.member("type", b"\"image_url\"");
            let mut url = Object::open(object.key("image_url"));
            text::quote(&data_url(part), url.key("url"));
            url.close();
        }
        object.close();
    }
    out.extend_from_slice(if list == b'[' { b"[]" } else { b"]" });
}

fn data_url(image: &Node) -> String {
    let text = |field| image.text(field).unwrap_or_default();
    format!("data:{};base64,{}", text(Field::MediaType), text(Field::Data))
}

fn calls(content: &[Node], object: &mut Object<'_>) {
    let mut found = content.iter().filter(|block| block.is(Field::Type, block::TOOL_CALL));
    let Some(first) = found.next() else { return };
    let out = object.key("tool_calls");
    let mut list = b'[';
    for call in std::iter::once(first).chain(found) {
        out.push(std::mem::replace(&mut list, b','));
        let mut object = Object::open(out);
        member_of(&mut object, "id", call, Field::Id);
        object.member("type", b"\"function\"");
        let mut function = Object::open(object.key("function"));
        member_of(&mut function, "name", call, Field::Name);
        let arguments = call.json(Field::Arguments).map_or(&b"{}"[..], Json::as_bytes);
        let out = function.key("arguments");
        if arguments.starts_with(b"\"") {
            // The text is not JSON.
            out.extend_from_slice(arguments);
        } else {
            text::quote(&String::from_utf8_lossy(arguments), out);
        }
        function.close();
        object.close();
    }
    out.push(b']');
}
