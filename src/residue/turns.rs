//! Turns for what was asked abroad, where the source tells of its turns.

use super::home::read_back;
use crate::formats::Spec;
use crate::json::Json;
use crate::record::{Field, Kind, Record};

/// So many messages of one turn are looked at for what its turn tells of them.
const MOST: usize = 10_000;

/// The turns of a session that goes on.
#[derive(Default)]
pub struct Turns {
    /// The highest number of a turn, if there are turns that have one.
    last: Option<u64>,
    /// The new messages of the turn that is open.
    open: Vec<Record>,
}

impl Turns {
    /// The source or the file tells of a turn.
    pub fn told(&mut self, turn: &Record) {
        let number = turn.node.json(Field::Number).and_then(Json::float);
        let number = number.filter(|number| *number >= 0.0).map(|number| number as u64);
        self.last = self.last.max(number);
    }

    /// Takes a new message into its turn. Gives the turn that it ends.
    pub fn take(&mut self, home: Option<Spec>, message: &mut Record) -> Option<Record> {
        let has_turns = self.last.is_some() && message.kind == Kind::Message;
        if !has_turns || message.node.get(Field::Turn).is_some() {
            return None;
        }
        let asked = message.node.is(Field::Role, "user");
        let ended = if asked { self.end(home) } else { None };
        if asked {
            self.last = self.last.map(|last| last + 1);
        } else if self.open.is_empty() {
            return None;
        }
        self.last.into_iter().for_each(|n| message.node.set(Field::Turn, Json::number(n)));
        if self.open.len() < MOST {
            self.open.push(message.clone());
        }
        ended
    }

    /// The turn that is open, as `home` tells of one.
    pub fn end(&mut self, home: Option<Spec>) -> Option<Record> {
        let messages = std::mem::take(&mut self.open);
        let home = home.filter(|_| !messages.is_empty())?;
        let records = read_back(home, messages)?;
        let mut turn = records.into_iter().find(|record| record.kind == Kind::Turn)?;
        turn.node.take(Field::Raw);
        self.last.into_iter().for_each(|n| turn.node.set(Field::Number, Json::number(n)));
        Some(turn)
    }
}
