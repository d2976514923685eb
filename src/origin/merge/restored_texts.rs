//! Questions and answers that only turns of the source contain, and that were edited in messages of
//! the file.

use crate::json::Json;
use crate::record::{Field, Record, block};
use std::collections::HashMap;

/// Number of a turn as the bits of a float: it need not be a whole number.
pub type Turn = u64;

/// Returns the number of a turn that has none: its place among the turns.
pub fn nth(place: u64) -> Turn {
    (place as f64).to_bits()
}

/// Returns the number of a turn in this field.
pub fn number(record: &Record, field: Field) -> Option<Turn> {
    record.node.json(field).and_then(Json::float).map(f64::to_bits)
}

/// Edits of turns.
#[derive(Default)]
pub struct RestoredTexts {
    /// Edited fields with their new texts, by the turn.
    edits: HashMap<Turn, Vec<(Field, Json)>>,
    /// Number of the source's turns with each number, number of turns looked at, and number of
    /// turns written.
    turns: HashMap<Turn, u64>,
    seen: u64,
    written: u64,
}

impl RestoredTexts {
    /// Looks at a turn of the source, if it can be read.
    pub fn look(&mut self, turn: Option<&Record>) {
        self.seen += 1;
        let turn = turn.and_then(|turn| number(turn, Field::Number));
        *self.turns.entry(turn.unwrap_or(nth(self.seen))).or_default() += 1;
    }

    /// Notes the new text of a message that represents a text of its turn.
    pub fn edited(&mut self, message: &Record) {
        let field = match message.node.text(Field::Role).as_deref() {
            Some("user") => Field::Input,
            Some("assistant") => Field::Result,
            _ => return,
        };
        if let (Some(turn), Some(text)) =
            (number(message, Field::Turn), block::message_text(&message.node))
        {
            self.edits.entry(turn).or_default().push((field, text));
        }
    }

    /// Notes that a message that represented a text of its turn was deleted: one of the user, if
    /// `question`, or an answer.
    pub fn erase(&mut self, turn: &Json, question: bool) {
        let field = if question { Field::Input } else { Field::Result };
        if let Some(turn) = turn.float() {
            let edits = self.edits.entry(turn.to_bits()).or_default();
            edits.push((field, Json::constant("\"\"")));
        }
    }

    /// Returns the edits of a turn, if only one turn has this number.
    fn of(&self, turn: Option<Turn>) -> Option<&Vec<(Field, Json)>> {
        let turn = turn.filter(|turn| self.turns.get(turn) == Some(&1))?;
        self.edits.get(&turn)
    }

    /// Returns the number of the turn that was written last, if only one turn has it.
    pub fn now(&self, turn: &Record) -> Option<Turn> {
        let turn = number(turn, Field::Number).unwrap_or(nth(self.written));
        Some(turn).filter(|turn| self.turns.get(turn) == Some(&1))
    }

    /// Whether the turn of this message contains edits.
    pub fn has_edits_for(&self, message: &Record) -> bool {
        self.of(number(message, Field::Turn)).is_some()
    }

    /// Gives the next turn its edited question and answer; false if neither was edited.
    pub fn retell(&mut self, turn: &mut Record) -> bool {
        self.written += 1;
        let number = number(turn, Field::Number).unwrap_or(nth(self.written));
        let Some(edits) = self.of(Some(number)) else { return false };
        for (field, text) in edits {
            turn.node.set(*field, text.clone());
        }
        true
    }
}
