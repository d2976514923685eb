//! Parts of content as blocks, and back.

use super::result;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, Row, row, template, within};
use crate::record::{Field, Node, Value, block};

const TEXT: &[Row] = &[row("text", Field::Text), row("thoughtSignature", Field::Signature)];
const THOUGHT: &[Row] = &[row("text", Field::Thinking), row("thoughtSignature", Field::Signature)];
const CALL: &[Row] =
    &[within("functionCall", None, CALLED), row("thoughtSignature", Field::Signature)];
const CALLED: &[Row] =
    &[row("id", Field::Id), row("name", Field::Name), row("args", Field::Arguments)];
const DATA: &[Row] = &[within("inlineData", None, INLINE)];
const INLINE: &[Row] = &[row("mimeType", Field::MediaType), row("data", Field::Data)];

/// Unnamed data of a text that is no object in its list.
const PLAIN: &str = "true";

/// Reads a part.
pub fn read(part: &Json) -> Node {
    let mut node = Node::with_capacity(6);
    if part.as_bytes().starts_with(b"\"") {
        node = block::text(part.clone());
        keep(&Json::constant(PLAIN), &mut node);
        return node;
    }
    let text_of = |object: Option<Json>, name: &str| object?.member(name)?.text();
    let (call, data) = (part.member("functionCall"), part.member("inlineData"));
    let is_text = text_of(Some(part.clone()), "text").is_some();
    let is_thought = part.member("thought").is_some_and(|it| it.as_bytes() == b"true");
    let mime = text_of(data.clone(), "mimeType").filter(|_| text_of(data, "data").is_some());
    let is_call = text_of(call, "name").is_some();
    let (name, rows, usual) = match mime {
        _ if is_text && is_thought => (block::THINKING, THOUGHT, ""),
        _ if is_text => (block::TEXT, TEXT, r#"{"text":0}"#),
        _ if is_call => (block::TOOL_CALL, CALL, ""),
        Some(mime) if mime.starts_with("image/") => (block::IMAGE, DATA, USUAL_DATA),
        Some(_) => (block::DOCUMENT, DATA, USUAL_DATA),
        None => {
            return result::read_part(part).unwrap_or_else(|| {
                node.set(Field::Type, block::type_of(block::OPAQUE));
                node.set(Field::Data, part.clone());
                node
            });
        }
    };
    node.set(Field::Type, block::type_of(name));
    let kept = template::take(part, rows, &mut node);
    if kept.as_bytes() != usual.as_bytes() {
        keep(&kept, &mut node);
    }
    node
}

/// Keeps the template of a block. Other formats may write the unnamed members of a block among its
/// own, so the template is a member of its own name.
pub fn keep(template: &Json, node: &mut Node) {
    let mut extra = Extra::default();
    extra.add(b"\"gemini\"", template.as_bytes());
    extra.put(node);
}

/// Returns the template of a block, if it is not the usual one.
pub fn kept(node: &Node) -> Option<Json> {
    node.json(Field::Extra)?.member("gemini")
}

const USUAL_DATA: &str = r#"{"inlineData":{"mimeType":0,"data":0}}"#;

/// Writes a block as a part.
pub fn write(node: &Node, out: &mut Vec<u8>) {
    let kept = kept(node);
    let usual = |usual: &'static str| kept.clone().unwrap_or(Json::constant(usual));
    let (rows, kept) = match node.text(Field::Type).unwrap_or_default().as_str() {
        block::TEXT if kept.as_ref().is_some_and(|kept| kept.as_bytes() == PLAIN.as_bytes()) => {
            let text = node.json(Field::Text).map_or(&b"\"\""[..], Json::as_bytes);
            return out.extend_from_slice(text);
        }
        block::TEXT => (TEXT, usual(r#"{"text":0}"#)),
        block::THINKING => (THOUGHT, usual(r#"{"text":0,"thought":true}"#)),
        block::TOOL_CALL => (CALL, usual(r#"{"functionCall":{"id":0,"name":0,"args":0}}"#)),
        block::TOOL_RESULT => return result::write_part(node, out),
        block::OPAQUE => {
            let data = node.json(Field::Data).map_or(&b"{}"[..], Json::as_bytes);
            return out.extend_from_slice(data);
        }
        _ => (DATA, usual(USUAL_DATA)),
    };
    let mut object = Object::open(out);
    template::write(rows, node, &kept, &mut object, &mut |_, _, _| false);
    object.close();
}

/// Whether a block is a part of content, and not a thought or a call beside it.
pub fn is_part(node: &Node) -> bool {
    let marked = |name: &str| kept(node).is_some_and(|kept| kept.member(name).is_some());
    match node.text(Field::Type).as_deref() {
        Some(block::THINKING) => marked("text"),
        Some(block::TOOL_CALL) => marked("functionCall"),
        _ => true,
    }
}

/// Returns a part's text as the program reads it, to see whether the message counts.
fn shown(node: &Node) -> String {
    match node.text(Field::Type).as_deref() {
        Some(block::TEXT) => node.text(Field::Text).unwrap_or_default(),
        Some(block::OPAQUE)
            if node.json(Field::Data).is_some_and(|data| text::is(data.as_bytes(), "")) =>
        {
            String::new()
        }
        // A name in brackets.
        _ => "[]".to_owned(),
    }
}

/// Returns the text of content as the program reads it.
pub fn all_shown(message: &Node) -> String {
    match message.get(Field::Content) {
        Some(Value::Json(text)) => text.text().unwrap_or_default(),
        Some(Value::Nodes(blocks)) => blocks.iter().map(shown).collect(),
        _ => String::new(),
    }
}
