//! Identifiers of calls and results that have none, by their order.

use crate::json::Json;
use crate::record::{Field, Node, Record, Value, block};

/// Calls of the last answer without an identifier, and how many there were so far.
#[derive(Debug, Default)]
pub struct Pairs {
    made: u64,
    open: Vec<(Json, Option<Json>)>,
}

impl Pairs {
    /// Gives the calls of a message identifiers, and its results those of the calls before them: of
    /// the first call of the same name, or else of the first one.
    pub fn look(&mut self, record: &mut Record) {
        let is_answer = record.node.is(Field::Role, "assistant");
        let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content) else { return };
        if is_answer {
            self.open.clear();
        }
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

    fn take(&mut self, result: &Node) -> Option<Json> {
        let name = result.json(Field::Name);
        let named = self.open.iter().position(|(_, own)| own.is_some() && own.as_ref() == name);
        let place = named.unwrap_or(0);
        (place < self.open.len()).then(|| self.open.remove(place).0)
    }
}
