//! The lines of a log as a tree: the conversation, and beside it what sub-agents say.
//!
//! A sub-agent's lines stand between those of its caller. They hang from the line before them, and
//! the conversation goes on behind that same line, so the way to the leaf is what the model saw.

use crate::format::Cx;
use crate::ids::{Maker, hash};
use crate::json::Json;
use crate::record::{Field, Node};
use std::collections::HashMap;

/// Gives messages identifiers, which logs do not have for all of them, and parents.
#[derive(Debug)]
pub struct Lineage {
    maker: Maker,
    made: u64,
    /// The last message of the conversation.
    last: Option<Json>,
    /// The last one of each sub-agent, by the hash of the call that it works for.
    agents: HashMap<u64, Json>,
    /// Whether what came last is no message of the conversation.
    aside: bool,
}

impl Lineage {
    /// For the session whose record this is.
    #[must_use]
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let of = |field| session.text(field).unwrap_or_default();
        let key = format!("{} {} {}", of(Field::Name), of(Field::Created), of(Field::Id));
        let maker = Maker::new(cx.options.ids, key.as_bytes());
        Self { maker, made: 0, last: None, agents: HashMap::new(), aside: false }
    }

    /// Puts a message in its place.
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

    /// Passes a record that could be a message and is none.
    pub fn pass(&mut self) {
        self.aside = true;
    }

    /// The message that the session stands at, where that is not the last one.
    #[must_use]
    pub fn leaf(&self) -> Option<&Json> {
        self.last.as_ref().filter(|_| self.aside)
    }
}
