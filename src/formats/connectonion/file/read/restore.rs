//! Restoring of messages that only the turns contain.

use super::super::turns::{TurnTexts, Turns};
use super::{Records, Turn};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};

impl Records<'_> {
    /// Opens the turns for a second reading.
    pub(super) fn open_turns(&mut self) -> Result<()> {
        // If the turns cannot be read again, there is nothing to restore from.
        let (part, encoding) = (self.parts.main()?, self.cx.options.encoding);
        self.turns = Turns::open(part, encoding, self.limits, self.turn_lists).ok();
        Ok(())
    }

    fn turn_texts(&mut self, turn: Turn) -> Result<TurnTexts> {
        let turns = self.turns.as_mut().filter(|_| turn.number > 0);
        Ok(turns
            .map(|turns| turns.turn_texts(turn.number))
            .transpose()?
            .flatten()
            .unwrap_or_default())
    }

    pub(super) fn restore_question(&mut self, turn: Turn, at: Position) -> Result<()> {
        let question = self.turn_texts(turn)?.input;
        self.restore_input(question, turn, at);
        Ok(())
    }

    /// Adds a turn's question, which is missing from its messages.
    pub(super) fn restore_input(&mut self, question: Option<Json>, turn: Turn, at: Position) {
        if question.is_some() {
            let message = format!("turn {} lacks its question in `messages`", turn.number);
            self.cx.report(Diagnostic::new(Code::Restored, message).at(at));
        }
        self.restore("user", question, turn, at);
    }

    /// Adds question and answer of the turn that was read last, whose messages are in other files.
    pub(super) fn restore_texts(&mut self, texts: TurnTexts, at: Position) {
        let turn = Turn { number: self.turns_seen, begun: false, answered: false };
        self.restore("user", texts.input, turn, at);
        self.restore("assistant", texts.result, turn, at);
    }

    /// Adds a message that only the turn contains.
    pub(super) fn restore(&mut self, role: &str, text: Option<Json>, turn: Turn, at: Position) {
        let Some(text) = text.filter(|text| text.as_bytes() != b"\"\"") else { return };
        let mut record = Record::new(Kind::Message)
            .with(Field::Role, Json::string(role))
            .with(Field::Content, text)
            .with(Field::Synthesized, Json::constant("true"));
        self.node(&mut record, turn);
        self.push(record, at);
    }

    /// Adds question and answer that only the turn itself contains.
    pub(super) fn restore_turn(&mut self, turn: Turn) -> Result<()> {
        if !turn.begun {
            self.restore_question(turn, self.nodes.end)?;
        }
        if !turn.answered {
            let answer = self.turn_texts(turn)?.result;
            self.restore("assistant", answer, turn, self.nodes.end);
        }
        Ok(())
    }

    /// Restores the messages of turns that have none, and reports that they are missing: the real
    /// software writes turns first, so a file that was cut looks like this.
    pub(super) fn missing(&mut self) -> Result<()> {
        let listed = self.listed.unwrap_or(0);
        if self.nulled && self.listed.is_none() {
            let message = "`messages` is null: questions and answers come from the turns";
            self.cx.report(Diagnostic::new(Code::Restored, message).at(self.nodes.end));
            self.open_turns()?;
        } else if self.turns_seen > listed || self.listed.is_none() {
            let message =
                format!("{} turns, but messages of {listed}: the file was cut", self.turns_seen);
            let error = Diagnostic::new(Code::YamlCutShort, message).at(self.nodes.end);
            self.cx.tolerate(Error::damaged(error))?;
            self.open_turns()?;
        }
        for number in listed + 1..=self.turns_seen {
            self.restore_turn(Turn { number, begun: false, answered: false })?;
        }
        Ok(())
    }

    /// Sets the turn of a record, and its place in the list of nodes.
    pub(super) fn node(&mut self, record: &mut Record, turn: Turn) {
        let node = &mut record.node;
        if turn.number > 0 {
            node.set(Field::Turn, Json::number(turn.number));
        }
        self.chain.link(node);
    }
}
