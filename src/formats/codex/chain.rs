//! Links the items of a rollout as a tree: a list, in which turns that were taken back are
//! branches.

use super::turns::Turns;
use crate::format::Cx;
use crate::ids::Maker;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};

/// Gives items identifiers, which their lines do not have, and parents.
#[derive(Debug)]
pub struct Chain {
    maker: Maker,
    made: u64,
    /// Number of the node behind which the next one comes.
    last: Option<u64>,
    /// Number of the last node of the conversation itself.
    talk: Option<u64>,
    turns: Turns,
    /// Whether the last node is not the one behind which the next one would come.
    moved: bool,
}

impl Chain {
    /// Begins for the session of this record.
    #[must_use]
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let id = session.text(Field::Id).unwrap_or_default();
        let maker = Maker::new(cx.options.ids, id.as_bytes());
        let turns = Turns::default();
        Self { maker, made: 0, last: None, talk: None, turns, moved: false }
    }

    /// Links a record that is a node behind those before it, and follows an event that takes turns
    /// back.
    pub fn link(&mut self, record: &mut Record) {
        // Codex also takes back its own messages before the turn, but not at the very beginning.
        let before = if self.turns.is_empty() { self.last } else { self.talk };
        if let Some(end) = self.turns.take(record, before, Some(self.made + 1)) {
            (self.last, self.talk) = (end, end);
            self.moved = true;
        }
        match record.kind {
            Kind::Message | Kind::Extension | Kind::Compaction | Kind::ModelChange => {}
            Kind::Opaque if super::line::is_item(record) => {}
            // An object that is not a line is on no path.
            Kind::Opaque if record.node.json(Field::Data).is_some() => {
                self.moved = true;
                return;
            }
            _ => return,
        }
        self.made += 1;
        record.node.set(Field::Id, self.name(Some(self.made)));
        record.node.set(Field::Parent, self.name(self.last));
        record.node.set(Field::IdMade, Json::constant("true"));
        self.last = Some(self.made);
        if !matches!(record.kind, Kind::Extension | Kind::ModelChange) {
            self.talk = self.last;
        }
        self.moved = false;
    }

    /// Returns the leaf of the session, if it is not the last node.
    #[must_use]
    pub fn leaf(&self) -> Option<Json> {
        self.moved.then(|| self.name(self.last))
    }

    fn name(&self, number: Option<u64>) -> Json {
        let Some(number) = number else { return Json::constant("null") };
        Json::string(&String::from_utf8_lossy(&self.maker.id(number)))
    }
}
