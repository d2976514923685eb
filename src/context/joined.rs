//! Consecutive answers, joined into one.
//!
//! Some programs write each block of an answer as a message of its own, others write the whole
//! answer. A model gets the same input from both. Interfaces accept consecutive answers, but no
//! other answer while calls wait for their results.

use super::plain::add_block;
use crate::position::Position;
use crate::record::{Field, Node, Value, calls};

/// Holds an answer back until it is whole.
#[derive(Debug, Default)]
pub struct Joined {
    /// Whether answers are joined only while their calls wait for results.
    waiting: bool,
    held: Option<(Position, Node)>,
}

impl Joined {
    /// Begins joining for an interface that accepts consecutive answers as they are.
    pub fn waiting() -> Self {
        Self { waiting: true, held: None }
    }

    /// Takes a message as role and blocks. Returns the message before it, if that is complete now.
    pub fn add(&mut self, at: Position, message: Node) -> Option<(Position, Node)> {
        let is_answer = |node: &Node| node.is(Field::Role, "assistant");
        match &mut self.held {
            Some((_, held))
                if is_answer(held) && is_answer(&message) && (!self.waiting || calls(held)) =>
            {
                if let Some(Value::Nodes(list)) = held.get_mut(Field::Content) {
                    for block in message.nodes(Field::Content).unwrap_or_default() {
                        add_block(block, true, list);
                    }
                }
                None
            }
            held => held.replace((at, message)),
        }
    }

    /// Returns the last message.
    pub fn finish(&mut self) -> Option<(Position, Node)> {
        self.held.take()
    }
}
