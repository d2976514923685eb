//! Members that occur twice in a file, and values in a place where they have no meaning.

use super::super::super::REMARK;
use super::super::list::List;
use super::Records;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use bytes::Bytes;

impl Records<'_> {
    /// Reports comments, and keys that occur twice.
    pub(super) fn report_comments(&mut self) {
        for at in self.nodes.comments.drain(..) {
            let found = Diagnostic::of(Code::YamlComment);
            self.cx.report(found.at(at));
        }
        for (name, at) in self.nodes.twice.drain(..) {
            self.cx.report(twice_named(&name.text().unwrap_or_default(), at));
        }
    }

    /// Begins a list of turns; it replaces an earlier one.
    pub(super) fn begin_turns(&mut self) {
        self.turn_lists += 1;
        if self.turn_lists > 1 {
            self.turns_seen = 0;
            self.list = List::default();
            self.chain.return_to(None);
        }
    }

    /// Begins the messages of all turns; they replace earlier ones.
    pub(super) fn begin_messages(&mut self) {
        if self.listed.replace(0).is_some() {
            self.chain.return_to(None);
        }
    }

    /// Begins the messages of one turn; if its number occurs `twice`, they replace those before.
    pub(super) fn begin_key(&mut self, twice: bool) {
        match twice {
            true => self.chain.return_to(self.before_turn.clone()),
            false => self.before_turn = self.chain.last().cloned(),
        }
    }

    /// Records the name of a member of the top, and reports if the name came before.
    pub(super) fn note_member(&mut self, name: &str, at: Position) {
        if !self.names.insert(name.to_owned()) {
            self.cx.report(twice_named(name, at));
        }
    }

    /// Reports that a value has a tag, an anchor or an alias.
    pub(super) fn report_beyond_json(&mut self) {
        if self.nodes.beyond_json {
            let found = Diagnostic::of(Code::YamlBeyondJson);
            self.cx.report(found.at(self.nodes.end));
        }
    }

    /// Stores a key of messages that does not follow from the turns, as a notice.
    pub(super) fn unmatched_key(&mut self, name: &str, layout: &str, number: u64, at: Position) {
        let mut record = Record::new(Kind::Notice);
        let node = &mut record.node;
        node.set(Field::Subtype, Json::string(REMARK));
        node.set(Field::Data, Json::string(name));
        node.set(Field::Layout, Json::string(layout));
        node.set(Field::Turn, Json::number(number));
        self.push(record, at);
    }

    /// Keeps a value that does not belong in its place, or stops with an error.
    pub(super) fn misplaced(
        &mut self,
        name: &str,
        json: Bytes,
        message: String,
        at: Position,
    ) -> Result<()> {
        let error = Error::damaged(Diagnostic::new(Code::NotObject, message).at(at));
        if !self.cx.keeps(&error) {
            return Err(error);
        }
        self.cx.report(error.into_diagnostic());
        let record = Record::new(Kind::Opaque)
            .with(Field::Type, Json::string(name))
            .with(Field::Data, Json::trusted(json));
        match self.begun {
            true => self.push(record, at),
            false => self.early_records.push((record, at)),
        }
        Ok(())
    }
}

fn twice_named(name: &str, at: Position) -> Diagnostic {
    let message = format!("member {name:?} occurs twice: the agent has the last one");
    Diagnostic::new(Code::TwiceNamed, message).at(at)
}

pub(super) fn not_a_session(at: Position) -> Error {
    let message = "the document is not a mapping with `name` and `turns`";
    Error::unfit(Diagnostic::new(Code::NoHeader, message).at(at))
}
