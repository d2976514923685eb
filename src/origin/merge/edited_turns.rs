//! Questions and answers that turns of the file repeat, and that were edited there.

use crate::error::Result;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::Tag;
use crate::origin::merge::message_edits::set_text;
use crate::origin::merge::restored_texts::{Turn, number};
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::collections::{BTreeMap, HashMap};

/// Edits of turns.
#[derive(Default)]
pub struct EditedTurns(BTreeMap<(Turn, Field), Edit>);

struct Edit {
    /// The text before.
    was: Json,
    now: Json,
    /// Whether a message of the turn contains the edited text.
    found: bool,
}

/// Texts of the file's messages that their turns repeat: a question, and the last answer.
#[derive(Default)]
pub struct Repeated {
    /// The messages' numbers, once a turn was requested.
    messages: Option<HashMap<Turn, [Option<u32>; 2]>>,
}

impl Repeated {
    /// Returns the repeated texts of a turn.
    pub fn of(&mut self, turn: Turn, now: &mut FileRecords) -> Result<Vec<(Field, Json)>> {
        if self.messages.is_none() {
            self.messages = Some(Self::found(now)?);
        }
        let messages = self.messages.as_ref().and_then(|found| found.get(&turn));
        let mut texts = Vec::new();
        for (field, number) in REPEATED.into_iter().zip(messages.copied().unwrap_or_default()) {
            let Some(number) = number else { continue };
            texts.extend(block::message_text(&now.record(number)?.node).map(|text| (field, text)));
        }
        Ok(texts)
    }

    fn found(now: &mut FileRecords) -> Result<HashMap<Turn, [Option<u32>; 2]>> {
        let mut found: HashMap<_, [Option<u32>; 2]> = HashMap::new();
        for place in 0..now.names.len() as u32 {
            let tag = now.names.get(place as usize).map(|name| name.tag);
            let asks = match tag {
                Some(Tag('u')) => true,
                Some(Tag('a')) => false,
                _ => continue,
            };
            let message = now.record(place)?;
            let turn = number(&message, Field::Turn)
                .filter(|_| block::message_text(&message.node).is_some());
            let Some(turn) = turn else { continue };
            let [question, answer] = found.entry(turn).or_default();
            match asks {
                true => drop(question.get_or_insert(place)),
                false => *answer = Some(place),
            }
        }
        Ok(found)
    }
}

/// Fields of a turn that repeat texts of messages.
const REPEATED: [Field; 2] = [Field::Input, Field::Result];

impl EditedTurns {
    /// Whether no turn was edited.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the edits of a turn of the file whose messages have the texts `texts`.
    pub fn look(&mut self, turn: Turn, was: &Record, now: &Record, texts: &[(Field, Json)]) {
        for (field, text) in texts {
            let text_of = |turn: &Record| turn.node.json(*field).cloned().map(text_of);
            let (was, now) = (text_of(was), text_of(now));
            if let (Some(was), Some(now)) = (was, now)
                && !is_same(&was, &now)
                && is_same(&was, text)
            {
                self.0.insert((turn, *field), Edit { was, now, found: true });
            }
        }
    }

    /// Removes the texts that messages repeat from a record with the edits of a turn: the messages'
    /// edits count.
    pub fn take(&mut self, turn: Turn, was: &Record, record: &mut Record) {
        for field in REPEATED {
            let Some(Value::Json(now)) = record.node.take(field) else { continue };
            let was = was.node.json(field).cloned().unwrap_or_default();
            let (was, now) = (text_of(was), text_of(now));
            self.0.insert((turn, field), Edit { was, now, found: false });
        }
    }

    /// Gives a message the edited text of its turn. Returns whether its text changed. A message
    /// that was `edited` itself counts in the place of the turn's edit.
    pub fn edit(&mut self, message: &mut Record, edited: bool) -> bool {
        let field = match message.node.text(Field::Role).as_deref() {
            Some("user") => Field::Input,
            Some("assistant") => Field::Result,
            _ => return false,
        };
        let edit = number(message, Field::Turn).and_then(|turn| self.0.get_mut(&(turn, field)));
        // The content of a message is a text or null.
        let edit = edit.filter(|edit| matches!(edit.now.as_bytes().first(), Some(b'"' | b'n')));
        let Some(edit) = edit else { return false };
        let own = block::message_text(&message.node);
        let is =
            |text: &Option<Json>, other: &Json| text.as_ref().is_some_and(|t| is_same(t, other));
        if is(&own, &edit.was) && !is(&own, &Json::constant("\"\"")) {
            set_text(&mut message.node, &edit.now);
            edit.found = true;
            return true;
        }
        edit.found |= edited || is(&own, &edit.now) || is(&shown(&message.node), &edit.now);
        false
    }

    /// Returns the edits that no message contains, as turns without other fields.
    pub fn unplaced(self) -> Vec<Record> {
        let mut turns: BTreeMap<Turn, Record> = BTreeMap::new();
        for ((turn, field), edit) in self.0.into_iter().filter(|(_, edit)| !edit.found) {
            let record = turns.entry(turn).or_insert_with(|| {
                Record::new(Kind::Turn)
                    .with(Field::Number, Json::number(f64::from_bits(turn) as u64))
            });
            record.node.set(field, edit.now);
        }
        turns.into_values().collect()
    }
}

/// Joins a list of texts, or of parts with texts, that the user made of a text; returns anything
/// else as it is.
fn text_of(json: Json) -> Json {
    let is_text = |item: &Json| item.is_string();
    let text = |item: Json| Some(item.member("text").unwrap_or(item)).filter(is_text);
    let texts = match json.as_bytes().first() {
        Some(b'[') => json.elements().map(text).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let line_end = Json::constant("\"\\n\"");
    let whole = texts.into_iter().flatten().reduce(|a, b| a.joined(&line_end).joined(&b));
    whole.unwrap_or(json)
}

fn is_same(a: &Json, b: &Json) -> bool {
    a.normal() == b.normal()
}

/// Joins the texts of a message, with the mark for images that turns have.
fn shown(message: &Node) -> Option<Json> {
    let text = |block: &Node| match block.is(Field::Type, block::IMAGE) {
        true => Some(Json::constant("\"[image]\"")),
        false => block.json(Field::Text).cloned(),
    };
    message.nodes(Field::Content)?.iter().filter_map(text).reduce(|a, b| a.joined(&b))
}
