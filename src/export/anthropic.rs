//! Rows of Anthropic's Messages: the first message is the user's, roles take turns, and results
//! come before other blocks.

use super::Counts;
use super::chat::{Answer, Message};
use super::items::Items;
use crate::dialect::anthropic::block::{Types, write_block};
use crate::document::on_one_line;
use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Node, block};

/// The blocks of one side.
struct Side {
    is_answer: bool,
    blocks: Vec<Node>,
}

/// Returns a row: `{"system":…,"messages":[…]}`. `None` if no question has an answer.
pub fn row(system: Option<&Json>, messages: &[Message], counts: &mut Counts) -> Option<Vec<u8>> {
    let mut sides: Vec<Side> = Vec::new();
    for message in messages {
        let (is_answer, blocks) = match message {
            Message::User(parts) => (false, parts.clone()),
            Message::Result(result) => (false, vec![result_block(result)]),
            Message::Answer(answer) => (true, answer_blocks(answer, counts)),
        };
        if blocks.is_empty() {
            continue;
        }
        if sides.is_empty() && !matches!(message, Message::User(_)) {
            counts.add("messages before the first question", 1);
            continue;
        }
        match sides.last_mut().filter(|side| side.is_answer == is_answer) {
            Some(side) => side.blocks.extend(blocks),
            None => sides.push(Side { is_answer, blocks }),
        }
    }
    if let Some(last) = sides.last_mut().filter(|side| side.is_answer) {
        while last.blocks.last().is_some_and(|part| part.is(Field::Type, block::THINKING)) {
            counts.add("thoughts", 1);
            last.blocks.pop();
        }
    }
    sides.iter().any(|side| side.is_answer && !side.blocks.is_empty()).then_some(())?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    if let Some(system) = system {
        object.member("system", system.as_bytes());
    }
    let mut list = Items::open(object.key("messages"));
    for side in sides.iter().filter(|side| !side.blocks.is_empty()) {
        let mut one = list.item(if side.is_answer { "assistant" } else { "user" });
        let mut blocks = Items::open(one.key("content"));
        side.blocks.iter().for_each(|part| write_block(part, Types::Given, blocks.next()));
        blocks.close();
        one.close();
    }
    list.close();
    object.close();
    Some(out)
}

/// Returns the blocks of an answer. Thoughts stay only with their signature, without which the
/// interface refuses them.
fn answer_blocks(answer: &Answer, counts: &mut Counts) -> Vec<Node> {
    let is_signed = |part: &&Node| {
        part.is_true(Field::Redacted)
            || part.json(Field::Signature).is_some_and(|signature| signature.as_bytes().len() > 2)
    };
    let mut blocks: Vec<Node> = answer.thoughts.iter().filter(is_signed).cloned().collect();
    counts.add("thoughts", (answer.thoughts.len() - blocks.len()) as u64);
    blocks.extend(answer.text.iter().map(|text| block::text(text.clone())));
    blocks.extend(answer.calls.iter().map(|call| {
        let mut node = Node::with_capacity(4);
        node.set(Field::Type, block::type_of(block::TOOL_CALL));
        node.set(Field::Id, call.id.clone());
        node.set(Field::Name, call.name.clone());
        node.set(Field::Arguments, Json::trusted(on_one_line(call.arguments.bytes())));
        node
    }));
    blocks
}

fn result_block(result: &super::chat::ToolResult) -> Node {
    let mut content = vec![block::text(result.text.clone())];
    if result.text.as_bytes() == b"\"\"" {
        content.clear();
    }
    content.extend(result.images.iter().cloned());
    let mut node = Node::with_capacity(4);
    node.set(Field::Type, block::type_of(block::TOOL_RESULT));
    node.set(Field::Call, result.id.clone());
    node.set(Field::Content, content);
    if result.failed {
        node.set(Field::IsError, Json::constant("true"));
    }
    node
}
