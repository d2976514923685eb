//! Answers of tools that consist of several parts.
//!
//! A run file contains an answer as one text, with a placeholder for each picture. The parts
//! themselves are in the next request, or else only in the state of the session. An answer that the
//! state contains in parts is the answer that the run contains, not another one.

use super::message;
use crate::ids::hash;
use crate::json::Json;
use crate::mapping::Source;
use crate::record::{Field, Node, Value, block};
use std::collections::HashMap;

/// Messages of a state, in their order.
pub type Messages = Box<dyn Iterator<Item = Json>>;

/// Answers of tools in parts, as the state of a session contains them.
pub struct Answers {
    /// Number of the answer to a call, by the hash of the call.
    numbers: HashMap<u64, usize>,
    /// Answers that are not taken yet, and the number of those that are.
    list: Messages,
    taken: usize,
}

impl Answers {
    /// Collects the answers of a state. The messages are passed twice, so that none need be kept.
    pub fn of(first: Messages, second: Messages) -> Self {
        let calls = first.filter_map(|message| call_of(&message)).enumerate();
        let numbers = calls.map(|(number, call)| (call, number)).collect();
        let list = Box::new(second.filter(|message| call_of(message).is_some()));
        Self { numbers, list, taken: 0 }
    }

    /// Returns the message with the parts of an output whose record contains one text. Answers in
    /// another order than their outputs are skipped.
    pub fn of_output(&mut self, output: &Node) -> Option<Json> {
        let number = *self.numbers.get(&hash(output.json(Field::Call)?.as_bytes()))?;
        let message = self.list.nth(number.checked_sub(self.taken)?)?;
        self.taken = number + 1;
        let record = message::read(message.bytes()).ok()?;
        let answer = record.node.nodes(Field::Content)?.first()?;
        let same = |field| answer.json(field) == output.json(field);
        let text = output.json(Field::Output)?;
        let same_text = flat(answer).normal() == text.normal();
        (same_text && same(Field::Name) && same(Field::IsError)).then_some(message)
    }
}

/// Returns the hash of the call that a message answers in parts.
fn call_of(message: &Json) -> Option<u64> {
    let source = Source::new(message.bytes());
    let has = |name| source.peek(name).ok().flatten();
    has("content").filter(Json::is_list)?;
    has("tool_call_id").map(|call| hash(call.as_bytes()))
}

/// Joins the answer of a tool into one text, with `[image]` for each image.
pub fn flat(result: &Node) -> Json {
    let image = Json::constant("\"[image]\"");
    let text = match result.get(Field::Content) {
        Some(Value::Json(text)) if !text.is_null() => Some(text.clone()),
        Some(Value::Nodes(blocks)) => {
            let text = |block: &Node| match block.json(Field::Text) {
                Some(text) => Some(text.clone()),
                None => block.is(Field::Type, block::IMAGE).then(|| image.clone()),
            };
            blocks.iter().filter_map(text).reduce(|a, b| a.joined(&b))
        }
        _ => result.json(Field::Output).cloned(),
    };
    text.filter(Json::is_string).unwrap_or(Json::constant("\"\""))
}
