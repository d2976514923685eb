//! Identifiers of calls that a session has once.

use crate::json::Json;
use crate::record::{Field, Node, Value, block};
use std::collections::{HashMap, HashSet};

/// Gives a call another identifier if an earlier call of the session has it, and its result the
/// same one.
#[derive(Debug, Default)]
pub struct CallNames {
    used: HashSet<String>,
    /// New identifiers, by those that the source gives.
    renamed: HashMap<String, String>,
}

impl CallNames {
    /// Renames calls and results among the blocks of a message that comes next.
    ///
    /// ```
    /// use copyist::foreign::CallNames;
    /// use copyist::record::{Field, Node, block};
    /// let mut call = Node::default();
    /// call.set(Field::Type, block::type_of(block::TOOL_CALL));
    /// call.set(Field::Id, copyist::json::Json::string("a"));
    /// let (mut names, mut message) = (CallNames::default(), Node::default());
    /// message.set(Field::Content, vec![call.clone(), call]);
    /// names.rename(&mut message);
    /// let ids = message.nodes(Field::Content).unwrap().iter().map(|call| call.text(Field::Id));
    /// assert_eq!(ids.flatten().collect::<Vec<_>>(), ["a", "a_2"]);
    /// ```
    pub fn rename(&mut self, message: &mut Node) {
        let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return };
        for block in blocks {
            if block.is(Field::Type, block::TOOL_CALL) {
                let id = block.text(Field::Id).unwrap_or_default();
                let name = self.fresh(&id);
                if name != id || block.get(Field::Id).is_none() {
                    block.set(Field::Id, Json::string(&name));
                }
                self.renamed.insert(id, name);
            } else if block.is(Field::Type, block::TOOL_RESULT) {
                let call = block.text(Field::Call).unwrap_or_default();
                if let Some(name) = self.renamed.get(&call).filter(|name| **name != call) {
                    block.set(Field::Call, Json::string(name));
                }
            }
        }
    }

    fn fresh(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut name = base.to_owned();
        for number in 2_u64.. {
            if self.used.insert(name.clone()) {
                break;
            }
            name = format!("{base}_{number}");
        }
        name
    }
}
