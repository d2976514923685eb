//! Parts that messages have in a turn.

use super::result_of;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block, is_broken};

/// Part of a message in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An answer of the model.
    Answer,
    /// The result of a tool.
    Result,
    /// Any other message.
    Other,
    /// A record that is not sent. It stays behind the one before it.
    Beside,
    /// A message of another conversation, such as a sub-agent's, with parents of its own.
    Aside,
    /// A record over which no message moves.
    Wall,
}

/// Item of a list of messages.
pub trait Member: Sized {
    /// Returns the part that the item has in a turn.
    fn part(&self) -> Part;
    /// Returns the item's values.
    fn node(&self) -> &Node;
    /// Returns the item's values, to change them.
    fn node_mut(&mut self) -> &mut Node;
    /// Returns an item beside this one with these values.
    fn beside(&self, node: Node) -> Self;
}

/// A record with its number in the session.
pub type Numbered = (u32, Located<Record>);

impl Member for Numbered {
    fn part(&self) -> Part {
        let Record { kind, node } = &self.1.value;
        match kind {
            Kind::Message if self.1.value.is_aside() => Part::Aside,
            Kind::Message if is_broken(node) || is_silent(node) => Part::Beside,
            Kind::Message => message_part(node),
            Kind::Session
            | Kind::Turn
            | Kind::Run
            | Kind::Compaction
            | Kind::BranchSummary
            | Kind::ContextEdit
            | Kind::Leaf => Part::Wall,
            _ => Part::Beside,
        }
    }

    fn node(&self) -> &Node {
        &self.1.value.node
    }

    fn node_mut(&mut self) -> &mut Node {
        &mut self.1.value.node
    }

    fn beside(&self, node: Node) -> Self {
        let value = Record { kind: Kind::Message, node };
        (self.0, Located { value, at: self.1.at })
    }
}

/// Whether a message has no content, so that it is not sent.
fn is_silent(message: &Node) -> bool {
    if !["user", "assistant"].iter().any(|role| message.is(Field::Role, role)) {
        return false;
    }
    let is_empty = |text: &Json| matches!(text.as_bytes(), b"\"\"" | b"null");
    let says_nothing = |block: &Node| {
        block.is(Field::Type, block::TEXT) && block.json(Field::Text).is_none_or(is_empty)
    };
    match message.get(Field::Content) {
        Some(Value::Json(text)) => is_empty(text),
        Some(Value::Nodes(blocks)) => blocks.iter().all(says_nothing),
        _ => true,
    }
}

/// Returns the part of a message that is sent.
#[must_use]
pub fn message_part(message: &Node) -> Part {
    if message.is(Field::Role, "assistant") {
        Part::Answer
    } else if result_of(message).is_some() {
        Part::Result
    } else {
        Part::Other
    }
}
