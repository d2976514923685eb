//! Identifiers of calls and results that have none, by their order.

use crate::json::Json;
use crate::record::{Field, Node, Record, Value, block};

/// Calls of the last answer that had no identifier.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Number of identifiers made so far.
    made: u64,
    /// Identifiers and names of those without a result, in their order.
    open: Vec<(Json, Option<Json>)>,
}

impl Pairs {
    /// Gives the calls of a message identifiers, and its results those of the calls before them: of
    /// the first call of the same name, or else of the first one.
    pub fn look(&mut self, record: &mut Record) {
        if record.node.blocks_of(block::TOOL_CALL).next().is_some() {
            self.open.clear();
        }
        let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content) else { return };
        for node in blocks {
            if node.is(Field::Type, block::TOOL_CALL) && node.get(Field::Id).is_none() {
                self.made += 1;
                let id = Json::string(&format!("call_{}", self.made));
                self.open.push((id.clone(), node.json(Field::Name).cloned()));
                node.set(Field::Id, id);
            } else if node.is(Field::Type, block::TOOL_RESULT) && node.get(Field::Call).is_none() {
                node.put(Field::Call, self.take(node));
            }
        }
    }

    /// Returns how many calls have no result yet.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn take(&mut self, result: &Node) -> Option<Json> {
        let name = result.json(Field::Name);
        let named = self.open.iter().position(|(_, own)| own.is_some() && own.as_ref() == name);
        let place = named.unwrap_or(0);
        (place < self.open.len()).then(|| self.open.remove(place).0)
    }
}
