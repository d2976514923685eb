//! Questions and answers that only turns tell of in the source, and that were edited where messages
//! show them.

use crate::json::Json;
use crate::record::{Field, Record, block};
use std::collections::HashMap;

/// A turn's number, bit by bit: it need not be a whole one.
pub type Turn = u64;

/// The number of a turn that has none: which one it is.
pub fn nth(place: u64) -> Turn {
    (place as f64).to_bits()
}

/// The number of a turn in this field.
pub fn number(record: &Record, field: Field) -> Option<Turn> {
    record.node.json(field).and_then(Json::float).map(f64::to_bits)
}

/// What turns are edited to.
#[derive(Default)]
pub struct RestoredTexts {
    /// By the turn: the turn's field, and the new text.
    edits: HashMap<Turn, Vec<(Field, Json)>>,
    /// How many turns of the source have each number, how many were looked at, and how many were
    /// told.
    turns: HashMap<Turn, u64>,
    seen: u64,
    told: u64,
}

impl RestoredTexts {
    /// Looks at a turn of the source, if it can be read.
    pub fn look(&mut self, turn: Option<&Record>) {
        self.seen += 1;
        let turn = turn.and_then(|turn| number(turn, Field::Number));
        *self.turns.entry(turn.unwrap_or(nth(self.seen))).or_default() += 1;
    }

    /// A message that stands for what a turn tells says this now.
    pub fn edited(&mut self, message: &Record) {
        let field = match message.node.text(Field::Role).as_deref() {
            Some("user") => Field::Input,
            Some("assistant") => Field::Result,
            _ => return,
        };
        if let (Some(turn), Some(text)) = (number(message, Field::Turn), block::said(&message.node))
        {
            self.edits.entry(turn).or_default().push((field, text));
        }
    }

    /// A message that stood for what a turn tells is gone: one of a person, or an answer.
    pub fn erase(&mut self, turn: &Json, asked: bool) {
        let field = if asked { Field::Input } else { Field::Result };
        if let Some(turn) = turn.float() {
            let edits = self.edits.entry(turn.to_bits()).or_default();
            edits.push((field, Json::constant("\"\"")));
        }
    }

    /// What a turn's question or answer was edited to, if it is known which turn that is.
    fn of(&self, turn: Option<Turn>) -> Option<&Vec<(Field, Json)>> {
        let turn = turn.filter(|turn| self.turns.get(turn) == Some(&1))?;
        self.edits.get(&turn)
    }

    /// The turn that was told last, if it is known which one it is.
    pub fn now(&self, turn: &Record) -> Option<Turn> {
        let turn = number(turn, Field::Number).unwrap_or(nth(self.told));
        Some(turn).filter(|turn| self.turns.get(turn) == Some(&1))
    }

    /// Whether the turn of this message says what was edited.
    pub fn tells(&self, message: &Record) -> bool {
        self.of(number(message, Field::Turn)).is_some()
    }

    /// Gives the next turn the question and the answer that they were edited to; false if they were
    /// not.
    pub fn retell(&mut self, turn: &mut Record) -> bool {
        self.told += 1;
        let number = number(turn, Field::Number).unwrap_or(nth(self.told));
        let Some(edits) = self.of(Some(number)) else { return false };
        for (field, text) in edits {
            turn.node.set(*field, text.clone());
        }
        [Field::Raw, Field::RawBytes].iter().for_each(|field| drop(turn.node.take(*field)));
        true
    }
}
