//! Tree of the lines of a log: the conversation, and beside it the messages of sub-agents.
//!
//! A sub-agent's lines are between those of its caller. The first is the child of the line before
//! it, and the conversation continues after that same line, so the path to the leaf is what the
//! model saw.

use crate::format::Cx;
use crate::ids::{Maker, hash};
use crate::json::Json;
use crate::record::{Field, Node};
use std::collections::HashMap;

/// Generator of identifiers and parents for messages. Logs do not contain identifiers for all
/// messages.
#[derive(Debug)]
pub struct Lineage {
    maker: Maker,
    made: u64,
    /// Last message of the conversation.
    last: Option<Json>,
    /// Last message of each sub-agent, by the hash of the call that it works for.
    agents: HashMap<u64, Json>,
    /// Whether the last record is not a message of the conversation.
    aside: bool,
}

impl Lineage {
    /// Creates the lineage for the session with this record.
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let of = |field| session.text(field).unwrap_or_default();
        let key = format!("{} {} {}", of(Field::Name), of(Field::Created), of(Field::Id));
        let maker = Maker::new(cx.options.ids, key.as_bytes());
        Self { maker, made: 0, last: None, agents: HashMap::new(), aside: false }
    }

    /// Gives a message its identifier and parent.
    pub fn link(&mut self, node: &mut Node) {
        self.made += 1;
        let id = self.maker.id(self.made);
        let id = Json::string(&String::from_utf8_lossy(&id));
        node.set(Field::Id, id.clone());
        node.set(Field::IdMade, Json::constant("true"));
        let call = node.json(Field::ParentCall).map(|call| hash(call.as_bytes()));
        self.aside = call.is_some();
        let before = match call {
            Some(call) => self.agents.insert(call, id).or(self.last.clone()),
            None => self.last.replace(id),
        };
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }

    /// Passes a record that could be a message but is not one.
    pub fn pass(&mut self) {
        self.aside = true;
    }

    /// Returns the session's current message, if it is not the last one.
    pub fn leaf(&self) -> Option<&Json> {
        self.last.as_ref().filter(|_| self.aside)
    }
}
