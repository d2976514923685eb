//! Links the messages of a list as the one branch of a tree.

use crate::format::Cx;
use crate::ids::Maker;
use crate::json::Json;
use crate::record::{Field, Node};

/// Gives messages identifiers, which their files do not have, and parents.
#[derive(Debug, Default)]
pub struct Chain {
    maker: Option<Maker>,
    made: u64,
    last: Option<Json>,
}

impl Chain {
    /// Makes a chain for the session of this record; the field `time` distinguishes the session
    /// from others of the same agent.
    pub fn of(session: &Node, time: Field, cx: &Cx<'_>) -> Self {
        let of = |field| session.text(field).unwrap_or_default();
        let key = format!("{} {}", of(Field::Agent), of(time));
        Self { maker: Some(Maker::new(cx.options.ids, key.as_bytes())), ..Self::default() }
    }

    /// Returns the identifier of the last message.
    pub fn last(&self) -> Option<Json> {
        self.last.clone()
    }

    /// Continues behind an earlier message, or at the beginning. The messages after it are a branch
    /// that the agent does not have.
    pub fn return_to(&mut self, message: Option<Json>) {
        self.last = message;
    }

    /// Links a message behind the message before it.
    pub fn link(&mut self, node: &mut Node) {
        self.made += 1;
        let id = self.maker.map(|maker| maker.id(self.made)).unwrap_or_default();
        let id = Json::string(&String::from_utf8_lossy(&id));
        node.set(Field::Id, id.clone());
        node.set(Field::IdMade, Json::constant("true"));
        let before = self.last.replace(id);
        node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
    }
}
