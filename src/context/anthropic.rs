//! Anthropic's Messages: system texts are separate, and the results of tools are blocks of a user's
//! message.

use super::list::List;
use super::plain::{answer, member_of};
use crate::dialect::anthropic::block::{self as blocks, Types};
use crate::json::Json;
use crate::mapping::Object;
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
        let content = sent.content();
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
            blocks::write_block(result, Types::Given, list.buffer());
            return;
        }
        self.close_answers(list);
        let empty = |content: &&Value| matches!(content, Value::Nodes(parts) if parts.is_empty());
        let Some(content) = sent.get(Field::Content).filter(|content| !empty(content)) else {
            return;
        };
        let mut object = Object::open(list.item());
        member_of(&mut object, "role", sent, Field::Role);
        blocks::write(content, Types::Given, object.key("content"));
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
