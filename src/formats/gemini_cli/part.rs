//! Parts of content as blocks, and back.

use super::media::{self, fill, keep, kept, take};
use super::result;
use crate::json::{Json, text};
use crate::mapping::{Row, row, within};
use crate::record::{Field, Node, Value, block};

const TEXT: &[Row] = &[row("text", Field::Text), row("thoughtSignature", Field::Signature)];
const THOUGHT: &[Row] = &[row("text", Field::Thinking), row("thoughtSignature", Field::Signature)];
const CALL: &[Row] =
    &[within("functionCall", None, CALLED), row("thoughtSignature", Field::Signature)];
const CALLED: &[Row] =
    &[row("id", Field::Id), row("name", Field::Name), row("args", Field::Arguments)];
/// Unnamed data of a text that is no object in its list.
const PLAIN: &str = "true";

/// Reads a part.
pub fn read(part: &Json) -> Node {
    if part.is_string() {
        let mut node = block::text(part.clone());
        keep(&Json::constant(PLAIN), &mut node);
        return node;
    }
    let has = |object: &Json, name: &str| object.member(name).is_some_and(|it| it.text().is_some());
    let is_thought = part.member("thought").is_some_and(|it| it.as_bytes() == b"true");
    if has(part, "text") {
        return match is_thought {
            true => take(part, block::THINKING, THOUGHT, ""),
            false => take(part, block::TEXT, TEXT, USUAL_TEXT),
        };
    }
    if part.member("functionCall").is_some_and(|call| has(&call, "name")) {
        return take(part, block::TOOL_CALL, CALL, "");
    }
    media::read(part)
        .or_else(|| result::read_part(part))
        .unwrap_or_else(|| block::of(block::OPAQUE).with(Field::Data, part.clone()))
}

const USUAL_TEXT: &str = r#"{"text":0}"#;

/// Writes a block as a part.
pub fn write(node: &Node, out: &mut Vec<u8>) {
    let is_plain = kept(node).is_some_and(|kept| kept.as_bytes() == PLAIN.as_bytes());
    match node.text(Field::Type).unwrap_or_default().as_str() {
        block::TEXT if is_plain => {
            out.extend_from_slice(node.json(Field::Text).map_or(&b"\"\""[..], Json::as_bytes));
        }
        block::TEXT => fill(node, TEXT, USUAL_TEXT, out),
        block::THINKING => fill(node, THOUGHT, r#"{"text":0,"thought":true}"#, out),
        block::TOOL_CALL => {
            fill(node, CALL, r#"{"functionCall":{"id":0,"name":0,"args":0}}"#, out);
        }
        block::TOOL_RESULT => result::write_part(node, out),
        block::OPAQUE => {
            out.extend_from_slice(node.json(Field::Data).map_or(&b"{}"[..], Json::as_bytes));
        }
        _ => media::write(node, out),
    }
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
