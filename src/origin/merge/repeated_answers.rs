//! Questions and answers that turns of the source repeat, and that were edited in messages: the
//! turn takes the text of the message.

use super::Merger;
use crate::error::Result;
use crate::json::Json;
use crate::origin::matching::outcomes::Match;
use crate::origin::merge::restored_texts::{Turn, number};
use crate::record::{Field, Record, block};
use std::collections::HashMap;

/// New texts of messages that turns may repeat.
#[derive(Default)]
pub struct Repeats {
    edits: HashMap<Turn, Vec<Edit>>,
    /// The last answer before the next question, if that was edited or is gone.
    answer: Option<(Turn, Edit)>,
    /// Turn of the last message, as its number or as a record of the file that names it.
    last: (Option<Turn>, Option<u32>),
}

/// New text of a message.
struct Edit {
    field: Field,
    text: Json,
    /// Message before the edit; `None` for a message that lost its text, so that no message
    /// contains the text that the turn repeats.
    known: Option<Record>,
}

impl Edit {
    /// Whether the message had this text before the edit.
    fn was(&self, old: &Json) -> bool {
        let text = self.known.as_ref().map(|was| block::message_text(&was.node));
        text.is_none_or(|text| text.is_some_and(|text| text.normal() == old.normal()))
    }
}

impl Repeats {
    fn add(&mut self, (turn, edit): (Turn, Edit)) {
        self.edits.entry(turn).or_default().push(edit);
    }

    /// Adds the last answer, as no other answer follows.
    fn settle(&mut self) {
        self.answer.take().into_iter().for_each(|edit| self.add(edit));
    }

    /// Gives a turn the new texts of the messages that it repeats. Returns whether the turn
    /// changed.
    pub fn retell(&mut self, number: Turn, turn: &mut Record) -> bool {
        self.settle();
        let mut differs = false;
        for edit in self.edits.get(&number).into_iter().flatten() {
            let old =
                turn.node.json(edit.field).filter(|old| old.is_string() && **old != edit.text);
            if old.is_some_and(|old| edit.was(old)) {
                turn.node.set(edit.field, edit.text.clone());
                differs = true;
            }
        }
        differs
    }
}

impl Merger<'_> {
    /// Looks at a question or an answer that its turn may repeat.
    pub(super) fn look_at_words(
        &mut self,
        bases: &[u32],
        source: &Record,
        restored: bool,
    ) -> Result<()> {
        let Some(first) = bases.first().copied() else { return Ok(()) };
        let Some(tag) = self.base.tag(first) else { return Ok(()) };
        let outcomes = self.outcomes(bases);
        let number = source.node.json(Field::Turn).and_then(Json::float);
        let there = outcomes.iter().find_map(|found| match found {
            Match::Same(number) | Match::Edited(number) => Some(*number),
            Match::Deleted => None,
        });
        let before = self.repeats.last;
        match (number.map(f64::to_bits), there) {
            (None, None) => {}
            (turn, there) => self.repeats.last = (turn, there.or(before.1)),
        }
        let (is_question, is_answer) = (tag.0 == 'u', tag.is_answer());
        if is_question {
            self.repeats.settle();
        } else if is_answer {
            self.repeats.answer = None;
        }
        let edited = outcomes.iter().find(|found| !matches!(found, Match::Same(_)));
        let (Some(found), true) = (edited, is_answer || (is_question && !restored)) else {
            return Ok(());
        };
        let Some(turn) = self.turn_of_words()? else { return Ok(()) };
        let now = match (*found, outcomes.len()) {
            (Match::Edited(number), 1) => Some(self.now.record(number)?),
            _ => None,
        };
        let text_of = |record: &Record| block::message_text(&record.node).filter(Json::is_string);
        let own = now.as_ref().and_then(text_of);
        if is_question {
            if let Some(text) = own {
                let known = Some(self.base.record(first)?);
                self.repeats.add((turn, Edit { field: Field::Input, text, known }));
            }
            return Ok(());
        }
        // `RestoredTexts` gives the turn a text that only the turn contains.
        if restored && own.is_some() {
            return Ok(());
        }
        let deleted = matches!(found, Match::Deleted) && outcomes.len() == 1;
        let known = if own.is_some() || deleted { Some(self.base.record(first)?) } else { None };
        let gone = known.is_none() && there.is_some() && outcomes.len() > 1;
        let text = match there.or(before.1).filter(|_| !gone) {
            Some(from) => self.last_answer_behind(from)?.or(own),
            None => own,
        };
        // An answer that the user deletes is deleted from its turn, too.
        let text = text.or_else(|| deleted.then_some(Json::constant("\"\"")));
        let edit = text.map(|text| (turn, Edit { field: Field::Result, text, known }));
        self.repeats.answer = edit;
        Ok(())
    }

    /// The turn of the message that was looked at last.
    fn turn_of_words(&mut self) -> Result<Option<Turn>> {
        match self.repeats.last {
            (Some(turn), _) => Ok(Some(turn)),
            (None, Some(there)) => Ok(number(&self.now.record(there)?, Field::Turn)),
            (None, None) => Ok(None),
        }
    }

    /// The text of the last new answer behind record `from` of the file, before the next question.
    fn last_answer_behind(&mut self, from: u32) -> Result<Option<Json>> {
        let mut last = None;
        for number in from + 1..self.now.names.len() as u32 {
            let tag = self.now.names.get(number as usize).map(|name| name.tag);
            if tag.is_some_and(|tag| tag.0 == 'u') {
                break;
            }
            if tag.is_some_and(|tag| tag.is_answer()) && self.added.contains_key(&number) {
                let answer = self.now.record(number)?;
                let text = Some(answer).filter(|answer| !answer.is_aside());
                last = text
                    .and_then(|answer| block::message_text(&answer.node))
                    .filter(Json::is_string)
                    .or(last);
            }
        }
        Ok(last)
    }
}
