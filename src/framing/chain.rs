//! Identifiers and parents of the messages of a list, whose file has none.

use crate::format::Cx;
use crate::ids::Maker;
use crate::json::Json;
use crate::record::{Field, Node};

/// Gives each message an identifier, and the message before it as its parent.
#[derive(Debug)]
pub struct Chain {
    maker: Maker,
    made: u64,
    /// Last message.
    last: Option<Json>,
}

impl Chain {
    /// Begins a session; identifiers are derived from its key.
    pub fn of(key: &[u8], cx: &Cx<'_>) -> Self {
        Self { maker: Maker::new(cx.options.ids, key), made: 0, last: None }
    }

    /// Gives a message an identifier, which is returned.
    pub fn name(&mut self, node: &mut Node) -> Json {
        self.made += 1;
        let id = Json::string(&String::from_utf8_lossy(&self.maker.id(self.made)));
        node.set(Field::Id, id.clone());
        node.set(Field::IdMade, Json::constant("true"));
        id
    }

    /// Gives a message an identifier, and links it to the one before it.
    pub fn link(&mut self, node: &mut Node) {
        let id = self.name(node);
        let before = self.last.replace(id);
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }

    /// Returns the last message.
    pub fn last(&self) -> Option<&Json> {
        self.last.as_ref()
    }
}
