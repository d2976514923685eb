//! Links the items of a rollout as a tree: a list, in which turns that were taken back are
//! branches.

use super::turns::Turns;
use crate::format::Cx;
use crate::ids::Maker;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};

/// The end of a list of items, as its records come.
#[derive(Debug, Default)]
pub struct Ends {
    /// Number of nodes so far.
    made: u64,
    /// Number of the node behind which the next one comes.
    last: Option<u64>,
    /// Number of the last node of the conversation itself.
    talk: Option<u64>,
    turns: Turns,
    /// Whether the last node is not the one behind which the next one would come.
    moved: bool,
}

impl Ends {
    /// Takes the next record, which may be an event that takes turns back. Returns its number and
    /// that of the node before it, if it is a node.
    pub fn take(&mut self, record: &Record) -> Option<(u64, Option<u64>)> {
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
                return None;
            }
            _ => return None,
        }
        self.made += 1;
        let before = self.last.replace(self.made);
        if is_talk(record) {
            self.talk = self.last;
        }
        self.moved = false;
        Some((self.made, before))
    }

    /// Returns the number of the node behind which the next one comes.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the turns.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }
}

/// Whether a node belongs to the conversation itself.
pub fn is_talk(record: &Record) -> bool {
    !matches!(record.kind, Kind::Extension | Kind::ModelChange)
}

/// Gives items identifiers, which their lines do not have, and parents.
#[derive(Debug)]
pub struct Chain {
    maker: Maker,
    ends: Ends,
}

impl Chain {
    /// Begins for the session of this record.
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let id = session.text(Field::Id).unwrap_or_default();
        let maker = Maker::new(cx.options.ids, id.as_bytes());
        Self { maker, ends: Ends::default() }
    }

    /// Links a record that is a node behind those before it, and follows an event that takes turns
    /// back.
    pub fn link(&mut self, record: &mut Record) {
        let Some((number, before)) = self.ends.take(record) else { return };
        record.node.set(Field::Id, self.name(Some(number)));
        record.node.set(Field::Parent, self.name(before));
        record.node.set(Field::IdMade, Json::constant("true"));
    }

    /// Returns the leaf of the session, if it is not the last node.
    pub fn leaf(&self) -> Option<Json> {
        self.ends.moved.then(|| self.name(self.ends.last))
    }

    fn name(&self, number: Option<u64>) -> Json {
        let Some(number) = number else { return Json::constant("null") };
        Json::string(&String::from_utf8_lossy(&self.maker.id(number)))
    }
}
