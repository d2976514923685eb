//! Tools that were called and have not returned yet.

use super::{Field, Node};
use crate::ids::hash;
use crate::json::Json;
use std::collections::HashMap;

/// The names of tools, by the hashes of the calls.
#[derive(Debug, Default)]
pub struct Called(HashMap<u64, Json>);

impl Called {
    /// Notes the calls of a message; false if it has none.
    pub fn note(&mut self, message: &Node) -> bool {
        let mut any = false;
        for block in message.content() {
            if let (Some(call), Some(name)) = (block.json(Field::Id), block.json(Field::Name)) {
                // The name is copied, because the value itself would keep its line in memory.
                let name = Json::trusted(name.as_bytes().to_vec().into());
                self.0.insert(hash(call.as_bytes()), name);
                any = true;
            }
        }
        any
    }

    /// Returns the name of the tool of a call, if the call is open.
    #[must_use]
    pub fn name(&self, call: &Json) -> Option<&Json> {
        self.0.get(&hash(call.as_bytes()))
    }

    /// Removes a call that is answered, and returns the name of its tool.
    pub fn answered(&mut self, call: &Json) -> Option<Json> {
        self.0.remove(&hash(call.as_bytes()))
    }
}
