//! Identifiers and parents of the messages of a list, whose file has none.

use crate::format::Cx;
use crate::ids::{Maker, hash};
use crate::json::Json;
use crate::record::{Field, Node};
use std::collections::HashMap;

/// Gives each message an identifier, and the message before it as its parent.
///
/// Messages of sub-agents may come between those of their caller. The first one of a sub-agent is
/// the child of the message before it, and the conversation continues after that same message, so
/// that the path to the leaf is what the model got.
#[derive(Debug, Default)]
pub struct Chain {
    maker: Maker,
    made: u64,
    /// Last message of the conversation.
    last: Option<Json>,
    /// Last message of each sub-agent, by the hash of the call that it works for.
    agents: HashMap<u64, Json>,
    /// Whether the last record is not a message of the conversation.
    is_aside: bool,
}

impl Chain {
    /// Begins a session; identifiers are derived from its key.
    pub fn of(key: &[u8], cx: &Cx<'_>) -> Self {
        Self { maker: Maker::new(cx.options.ids, key), ..Self::default() }
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
        self.is_aside = false;
        let before = self.last.replace(id);
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }

    /// Links a message as [`link`](Self::link) does, or one of a sub-agent to that agent's last one.
    pub fn link_by_agent(&mut self, node: &mut Node) {
        let Some(call) = node.json(Field::ParentCall) else { return self.link(node) };
        let call = hash(call.as_bytes());
        let id = self.name(node);
        self.is_aside = true;
        let before = self.agents.insert(call, id).or(self.last.clone());
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }

    /// Passes a record that could be a message but is not one.
    pub fn pass(&mut self) {
        self.is_aside = true;
    }

    /// Continues behind an earlier message, or at the beginning. The messages after it are a branch
    /// that the agent does not have.
    pub fn return_to(&mut self, message: Option<Json>) {
        self.last = message;
    }

    /// Returns the last message of the conversation.
    pub fn last(&self) -> Option<&Json> {
        self.last.as_ref()
    }

    /// Returns the session's current message, if it is not the last record.
    pub fn leaf(&self) -> Option<&Json> {
        self.last.as_ref().filter(|_| self.is_aside)
    }
}
