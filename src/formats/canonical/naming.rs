//! Identifiers for entries of a stream that have none.
//!
//! The stream asks for none: messages that have no identifiers at all are a plain list, and each is
//! the child of the one before. One among others that have some stands where its parent says, else
//! behind the one before it, too; nothing else says where, so that is told. Sources that are trees
//! have such entries themselves, and rules of their own for them: what comes from there stays as it is.

use crate::diagnostic::{Code, Diagnostic};
use crate::format::{Cx, Reader};
use crate::ids::Maker;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};

/// The records of a stream, each entry with an identifier; `leaves` says of a session whether its
/// entries stay as they are.
pub fn named<'a>(records: Reader<'a>, leaves: fn(&Node) -> bool, cx: &'a Cx<'a>) -> Reader<'a> {
    let mut naming =
        Naming { leaves, cx, session: false, maker: None, made: None, given: false, last: None };
    Box::new(records.map(move |mut item| {
        item.iter_mut().for_each(|located| naming.record(located));
        item
    }))
}

struct Naming<'a> {
    leaves: fn(&Node) -> bool,
    cx: &'a Cx<'a>,
    /// Whether the session's record came.
    session: bool,
    maker: Option<Maker>,
    /// The first entry that got an identifier, as long as none had one.
    made: Option<Position>,
    /// Whether an entry had one.
    given: bool,
    /// What the last entry is called.
    last: Option<Json>,
}

impl Naming<'_> {
    fn record(&mut self, located: &mut Located<Record>) {
        let Located { value: Record { kind, node }, at } = located;
        if *kind == Kind::Session && !std::mem::replace(&mut self.session, true) {
            let id = node.text(Field::Id).unwrap_or_default();
            let maker = || Maker::new(self.cx.options.ids, id.as_bytes());
            self.maker = (!(self.leaves)(node)).then(maker);
        }
        let Some(maker) = self.maker.filter(|_| kind.is_node()) else { return };
        if node.json(Field::Id).is_some() {
            self.given = true;
            self.made.take().into_iter().for_each(|first| self.tell(first));
        } else if kind.is_named() {
            let id = maker.id(at.record);
            node.set(Field::Id, Json::string(&String::from_utf8_lossy(&id)));
            node.set(Field::IdMade, Json::constant("true"));
            if node.json(Field::Parent).is_none() {
                node.set(Field::Parent, self.last.clone().unwrap_or(Json::constant("null")));
            }
            if self.given {
                self.tell(*at);
            } else {
                self.made.get_or_insert(*at);
            }
        } else {
            return;
        }
        self.last = node.json(Field::Id).cloned();
    }

    fn tell(&self, at: Position) {
        let message = "entry has no identifier, and others have; without a parent of its own it \
                       follows the one before it";
        self.cx.report(Diagnostic::new(Code::NoId, message).at(at));
    }
}
