//! Detection of calls of tools without results, and results without calls. A model's interface
//! refuses both. Detection uses the reader's records, so the layout does not matter.

use crate::position::Position;
use crate::record::{Field, Node, block};
use crate::repair::Pairing;

/// Tracks calls and results from message to message.
#[derive(Debug, Default)]
pub struct Calls {
    /// Calls that wait for results; `at` is the position of their message.
    open: Pairing,
    at: Position,
    /// Position of the first call without a result or result without a call.
    alone: Option<Position>,
}

impl Calls {
    /// Looks at the next message.
    pub fn message(&mut self, message: &Node, at: Position) {
        let blocks = message.content();
        let all = |kind: &str, field| {
            let own = blocks.iter().filter(|block| block.is(Field::Type, kind));
            own.filter_map(|block| block.json(field).cloned()).collect::<Vec<_>>()
        };
        let results = all(block::TOOL_RESULT, Field::Call);
        if results.is_empty() {
            self.settle();
            let calls = all(block::TOOL_CALL, Field::Id);
            calls.iter().for_each(|call| self.open.call(call.as_bytes(), ()));
            self.at = at;
        }
        for result in results {
            if self.open.take(result.as_bytes()).is_none() {
                self.alone.get_or_insert(at);
            }
        }
    }

    fn settle(&mut self) {
        if !std::mem::take(&mut self.open).is_settled() {
            self.alone.get_or_insert(self.at);
        }
    }

    /// Returns the position of the first call or result that is alone.
    pub fn first_alone(mut self) -> Option<Position> {
        self.settle();
        self.alone
    }
}
