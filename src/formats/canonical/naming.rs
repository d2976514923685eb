//! Identifiers and parents for entries of a stream that have none.
//!
//! The stream requires none: messages without any identifiers, or without any parents, are a plain
//! list, and each is the child of the one before. A message without an identifier among others that
//! have some follows its parent if it names one, else the message before it; that is a guess, so it
//! is reported. Sources that are trees have such entries themselves, and rules of their own for
//! them: their entries stay as they are.

use crate::diagnostic::{Code, Diagnostic};
use crate::format::{Cx, Reader};
use crate::ids::Maker;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};

/// Returns the records of a stream, each entry with an identifier and a parent; `leaves` decides by
/// the session record whether the entries stay as they are.
pub fn named<'a>(records: Reader<'a>, leaves: fn(&Node) -> bool, cx: &'a Cx<'a>) -> Reader<'a> {
    let mut naming = Naming::new(leaves, cx);
    Box::new(records.map(move |mut item| {
        item.iter_mut().for_each(|located| naming.record(located));
        item
    }))
}

/// Naming of the entries of a stream as they come.
pub struct Naming<'a> {
    leaves: fn(&Node) -> bool,
    cx: &'a Cx<'a>,
    /// Whether the session record came, and the identifier of the session.
    session: bool,
    name: Option<Json>,
    maker: Option<Maker>,
    identifiers: Gaps,
    parents: Gaps,
    /// Identifier of the last entry.
    last: Option<Json>,
}

/// Record of the entries that lack a property.
#[derive(Default)]
struct Gaps {
    /// Position of the first entry that lacks the property, as long as no entry has it.
    first: Option<Position>,
    /// Whether an entry has the property.
    given: bool,
}

impl Gaps {
    /// Takes an entry; returns the position of an entry that lacks what others have.
    fn entry(&mut self, has: bool, at: Position) -> Option<Position> {
        self.given |= has;
        match has {
            true => self.first.take(),
            false if self.given => Some(at),
            false => {
                self.first.get_or_insert(at);
                None
            }
        }
    }
}

impl<'a> Naming<'a> {
    /// Creates a naming before the first record; `leaves` decides by the session record whether the
    /// entries stay as they are.
    pub fn new(leaves: fn(&Node) -> bool, cx: &'a Cx<'a>) -> Self {
        let (identifiers, parents) = Default::default();
        let (session, name, maker, last) = Default::default();
        Self { leaves, cx, session, name, maker, identifiers, parents, last }
    }

    /// Whether the session record came.
    pub fn has_begun(&self) -> bool {
        self.session
    }

    /// Gives an entry the identifier and the parent that it lacks.
    pub fn record(&mut self, located: &mut Located<Record>) {
        let Located { value: Record { kind, node }, at } = located;
        if *kind == Kind::Session {
            return self.session(node, *at);
        }
        let Some(maker) = self.maker.filter(|_| kind.is_node()) else { return };
        let named = node.json(Field::Id).is_some();
        if !named && !kind.is_named() {
            return;
        }
        if let Some(at) = self.identifiers.entry(named, *at) {
            let message = "entry has no identifier, and others have; without a parent of its own \
                           it follows the one before it";
            self.report(Code::NoId, message, at);
        }
        if !named {
            let id = maker.id(at.record);
            node.set(Field::Id, Json::string(&String::from_utf8_lossy(&id)));
            node.set(Field::IdMade, Json::constant("true"));
        }
        let linked = node.json(Field::Parent).is_some();
        // The first entry follows none, with or without a parent; an entry without an identifier
        // was already reported.
        if named
            && self.last.is_some()
            && let Some(at) = self.parents.entry(linked, *at)
        {
            let message = "entry names no parent, and others do; it follows the one before it \
                           (`null` is the parent of one that follows none)";
            self.report(Code::MissingParent, message, at);
        }
        if !linked {
            node.set(Field::Parent, self.last.clone().unwrap_or(Json::constant("null")));
        }
        self.last = node.json(Field::Id).cloned();
    }

    fn session(&mut self, node: &Node, at: Position) {
        let name = node.json(Field::Id).cloned();
        if !std::mem::replace(&mut self.session, true) {
            let id = node.text(Field::Id).unwrap_or_default();
            let maker = || Maker::new(self.cx.options.ids, id.as_bytes());
            self.maker = (!(self.leaves)(node)).then(maker);
            self.name = name;
        } else if self.maker.is_some() && name.is_some() && self.name.is_some() && name != self.name
        {
            let message = "a record of another session; what follows it is read as more of the \
                           first one";
            self.report(Code::FurtherHeader, message, at);
        }
    }

    fn report(&self, code: Code, message: &str, at: Position) {
        self.cx.report(Diagnostic::new(code, message).at(at));
    }
}
