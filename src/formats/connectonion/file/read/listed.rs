//! Reading of turns that contain their messages, as in version 1.

use super::super::super::message;
use super::super::list::Begin;
use super::super::turn;
use super::super::turns::TurnTexts;
use super::{Records, Turn};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::OnError;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use crate::yaml::json::Scalars;
use crate::yaml::read::Event;
use bytes::Bytes;

impl Records<'_> {
    /// Reads a turn, and of its messages those that the turn adds.
    pub(super) fn listed_turn(&mut self, event: Event) -> Result<()> {
        let at = event.at;
        let json = self.json(event, Scalars::TextOf(self.shape.turns.texts))?;
        let read = self.shape.turns.read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        let (mut record, messages) = read;
        self.turns_seen += 1;
        self.look_whole(&json);
        let (begin, added) = match messages {
            Some(messages) => self.list(&messages, &mut record, at)?,
            None => (Begin::Missing, Vec::new()),
        };
        let is_turn = record.kind == Kind::Turn;
        record.node.put(Field::Layout, begin.layout().filter(|_| is_turn));
        self.report_beyond_json();
        let texts = TurnTexts::of(&record);
        self.push(record, at);
        if is_turn {
            self.added(added, texts, at);
        }
        Ok(())
    }

    /// Records which members a turn lacks although the real software gives them to every turn. A
    /// key without a value is where a file was cut.
    pub(super) fn look_whole(&mut self, turn: &Bytes) {
        let turn = Json::trusted(turn.clone());
        let has = |name: &str| turn.member(name).is_some_and(|value| !value.is_null());
        self.lacks = self.shape.needs.iter().copied().filter(|name| !has(name)).collect();
    }

    /// Reads a turn's list; a text that is not a list is kept with the turn.
    fn list(
        &mut self,
        messages: &str,
        turn: &mut Record,
        at: Position,
    ) -> Result<(Begin, Vec<Record>)> {
        let fault = match self.list.read(messages) {
            Ok((begin, added, beyond_json)) => {
                if beyond_json {
                    let found = Diagnostic::of(Code::PythonNumber);
                    self.cx.report(found.at(at));
                }
                return Ok((begin, added));
            }
            Err(fault) => fault,
        };
        let error = Error::json(fault, messages.as_bytes(), at);
        if self.cx.tolerate(error)? == OnError::Keep {
            turn::keep_messages(turn, messages);
        }
        Ok((Begin::Missing, Vec::new()))
    }

    /// Returns the messages of a turn, and restores those that only the turn itself contains.
    fn added(&mut self, messages: Vec<Record>, texts: TurnTexts, at: Position) {
        let mut turn = Turn { number: self.turns_seen, begun: false, answered: false };
        for mut record in messages {
            message::report_opaque(&record, at, self.cx);
            if !turn.begun && !record.node.is(Field::Role, "system") {
                turn.begun = true;
                if !record.node.is(Field::Role, "user") {
                    self.restore_input(texts.input.clone(), turn, at);
                }
            }
            turn.answered = turn::is_answer(&record.node);
            self.node(&mut record, turn);
            self.push(record, at);
        }
        if !turn.begun {
            self.restore_input(texts.input, turn, at);
        }
        if !turn.answered {
            self.restore("assistant", texts.result, turn, at);
        }
    }

    /// Reports a last turn that lacks members that every turn has, or a file without turns.
    pub(super) fn cut(&mut self) -> Result<()> {
        let message = match self.turns_seen {
            0 if self.listed.is_some() => return Ok(()),
            0 => "the file was cut before its turns".to_owned(),
            _ if self.lacks.is_empty() => return Ok(()),
            last => {
                let lacks = self.lacks.join("`, `");
                format!("turn {last}, the last one, lacks `{lacks}`: the file was cut")
            }
        };
        let error = Diagnostic::new(Code::YamlCutShort, message).at(self.nodes.end);
        self.cx.tolerate(Error::damaged(error)).map(drop)
    }
}
