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
            let found = Diagnostic::new(Code::YamlComment, Code::YamlComment.title());
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
            false => self.before_turn = self.chain.last(),
        }
    }

    /// Records the name of a member of the top, and reports if the name came before.
    pub(super) fn note_member(&mut self, name: &str, at: Position) {
        if self.names.insert(name.to_owned()) {
            return;
        }
        self.cx.report(twice_named(name, at));
        self.top.moves = true;
        if matches!(name, "turns" | "messages") {
            self.report_relaid(at);
        }
    }

    /// Stores how the file spells a record, if PyYAML would spell it in another way.
    pub(super) fn own_spelling(&mut self, record: &mut Record, gap: &str) {
        let differs = self.comparison.compare(self.nodes.end.byte, gap);
        if self.nodes.beyond_json {
            // An alias means nothing without its anchor.
            let found = Diagnostic::new(Code::YamlBeyondJson, Code::YamlBeyondJson.title());
            self.cx.report(found.at(self.nodes.end));
            return;
        }
        match differs.filter(|_| self.cx.options.spelling) {
            Some(Some(own)) => record.node.set(Field::Raw, Json::string(&own)),
            Some(None) => self.report_relaid(self.nodes.end),
            None => {}
        }
    }

    /// Returns the file's own text of members of the top, which end at `end`, if it differs from
    /// the writer's or if the writer `moves` them. Reports if the text begins in a way that is not
    /// kept.
    pub(super) fn top_spelling(&mut self, end: Position, gap: &str, moves: bool) -> Option<String> {
        let own = match moves {
            true => Some(self.comparison.own(end.byte, gap)),
            false => self.comparison.compare(end.byte, gap),
        };
        if own == Some(None) && !self.early.passed && self.cx.options.spelling {
            self.report_relaid(end);
        }
        own.flatten()
    }

    /// Passes over the name of a list or mapping; records do not store its spelling.
    pub(super) fn name_ends(&mut self, end: Position) {
        if self.comparison.compare_name(end.byte, "").is_some() && self.cx.options.spelling {
            self.report_relaid(end);
        }
    }

    pub(super) fn report_relaid(&mut self, at: Position) {
        if !std::mem::replace(&mut self.relaid, true) {
            self.cx.report(Diagnostic::new(Code::Relaid, Code::Relaid.title()).at(at));
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
        let mut record = Record::new(Kind::Opaque);
        record.node.set(Field::Type, Json::string(name));
        record.node.set(Field::Data, Json::checked(json));
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
