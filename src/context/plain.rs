//! A message as role and blocks, without what formats spell differently.

use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// The thoughts of a model that stay in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    /// No thoughts.
    None,
    /// Signed thoughts, because their provider requires them to be sent back.
    Signed,
    /// All thoughts.
    All,
}

/// Returns a message as role and blocks: adjacent texts are joined, a string becomes a block, and
/// the arguments of calls are objects. `None` if the message has no content.
#[must_use]
pub fn plain(message: &Node, thoughts: Thoughts) -> Option<Node> {
    let mut out = Node::default().with_some(Field::Role, message.get(Field::Role).cloned());
    let content = contents(message.get(Field::Content), thoughts);
    if content.is_empty() {
        return None;
    }
    out.set(Field::Content, content);
    Some(out)
}

/// Whether every format has the role of this message.
#[must_use]
pub fn is_plain(message: &Record) -> bool {
    let roles = ["system", "user", "assistant", "tool"];
    message.kind == Kind::Message && roles.iter().any(|role| message.node.is(Field::Role, role))
}

/// Returns, as a message, the content that is sent in place of a record that only its source knows.
#[must_use]
pub fn as_message(sent: Node, record: &Node) -> Record {
    let mut node = Node::with_capacity(6);
    let own = [Field::Id, Field::Parent, Field::IdMade, Field::Time].map(|field| (field, record));
    let content = [Field::Role, Field::Content].map(|field| (field, &sent));
    for (field, from) in own.into_iter().chain(content) {
        node.put(field, from.get(field).cloned());
    }
    Record { kind: Kind::Message, node }
}

fn contents(content: Option<&Value>, thoughts: Thoughts) -> Vec<Node> {
    let mut list = Vec::new();
    match content {
        Some(Value::Json(text)) => add_text(text, &mut list),
        Some(Value::Nodes(blocks)) => {
            for block in blocks {
                add_block(block, thoughts, &mut list);
            }
        }
        _ => {}
    }
    list
}

/// Adds a block; joins a text with the text before it.
pub fn add_block(from: &Node, thoughts: Thoughts, list: &mut Vec<Node>) {
    let is = |name| from.is(Field::Type, name);
    if is(block::TEXT) {
        from.json(Field::Text).into_iter().for_each(|text| add_text(text, list));
    } else if is(block::THINKING) {
        let is_signed = from.json(Field::Signature).is_some();
        if thoughts == Thoughts::All || thoughts == Thoughts::Signed && is_signed {
            let fields = [Field::Thinking, Field::Signature, Field::Redacted];
            list.push(only(from, &fields));
        }
    } else if is(block::TOOL_CALL) {
        let mut call = only(from, &[Field::Id, Field::Name]);
        call.set(Field::Arguments, block::arguments(from).0);
        list.push(call);
    } else if is(block::TOOL_RESULT) {
        let mut result = only(from, &[Field::Call, Field::IsError]);
        let mut content = contents(from.get(Field::Content), thoughts);
        if content.is_empty() {
            from.json(Field::Output).into_iter().for_each(|text| add_text(text, &mut content));
        }
        result.set(Field::Content, content);
        list.push(result);
    } else {
        list.push(only(from, &[Field::MediaType, Field::Data]));
    }
}

/// Returns the block with only these fields.
fn only(from: &Node, fields: &[Field]) -> Node {
    let mut node = Node::with_capacity(fields.len() + 1);
    for &field in [Field::Type].iter().chain(fields) {
        node.put(field, from.get(field).cloned());
    }
    node
}

/// Adds a text; joins it with the text before it.
fn add_text(text: &Json, list: &mut Vec<Node>) {
    if text.is_null() || text.as_bytes() == b"\"\"" {
        return;
    }
    // A value that was taken out of its node can be extended without a copy.
    if let Some(last) = list.last_mut().filter(|last| last.is(Field::Type, block::TEXT))
        && let Some(Value::Json(before)) = last.take(Field::Text)
    {
        last.set(Field::Text, before.joined(text));
        return;
    }
    list.push(block::text(text.clone()));
}

/// Returns the result of a tool, if the message contains one.
pub fn answer(content: &[Node]) -> Option<&Node> {
    content.first().filter(|block| block.is(Field::Type, block::TOOL_RESULT))
}

/// Writes a member, if its field has a value.
pub fn member_of(object: &mut Object<'_>, key: &str, node: &Node, field: Field) {
    if let Some(value) = node.json(field) {
        object.member(key, value.as_bytes());
    }
}
