//! Tree of the lines of a log: the conversation, and beside it the messages of sub-agents.
//!
//! A sub-agent's lines are between those of its caller. The first is the child of the line before
//! it, and the conversation continues after that same line, so the path to the leaf is what the
//! model saw.

use crate::format::Cx;
use crate::framing::Chain;
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Node};
use std::collections::HashMap;

/// Generator of identifiers and parents for messages. Logs do not contain identifiers for all
/// messages.
#[derive(Debug)]
pub struct Lineage {
    /// Messages of the conversation.
    chain: Chain,
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
        Self { chain: Chain::of(key.as_bytes(), cx), agents: HashMap::new(), aside: false }
    }

    /// Gives a message its identifier and parent.
    pub fn link(&mut self, node: &mut Node) {
        let call = node.json(Field::ParentCall).map(|call| hash(call.as_bytes()));
        self.aside = call.is_some();
        let Some(call) = call else { return self.chain.link(node) };
        let id = self.chain.name(node);
        let before = self.agents.insert(call, id).or(self.chain.last().cloned());
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }

    /// Passes a record that could be a message but is not one.
    pub fn pass(&mut self) {
        self.aside = true;
    }

    /// Returns the session's current message, if it is not the last one.
    pub fn leaf(&self) -> Option<&Json> {
        self.chain.last().filter(|_| self.aside)
    }
}
