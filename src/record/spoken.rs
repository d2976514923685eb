//! Hashes of the texts and calls of answers, which are the same in every format. Sessions that
//! repeat answers of others are recognised by them.

use super::{Field, Kind, Node, Record, Value, block};
use crate::ids::hash;
use crate::times;

/// A text or call of an answer, or an answer without both, as sessions that repeat it have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerPart {
    /// Hash of the text or call.
    pub words: Option<u64>,
    /// Hash of the provider's identifier of the response.
    pub response: Option<u64>,
    /// The time in seconds. Some formats keep no more of it.
    pub time: Option<i64>,
}

impl AnswerPart {
    /// Returns what an answer says, in its order; nothing for other records.
    #[must_use]
    pub fn of(record: &Record) -> Vec<Self> {
        let node = &record.node;
        if !is_answer(record) {
            return Vec::new();
        }
        let id = node.text(Field::ResponseId).filter(|id| !id.is_empty());
        let time = node.json(Field::Time).and_then(times::of);
        let response = id.map(|id| hash(id.as_bytes()));
        let said = Self { words: None, response, time: time.map(|time| time.as_second()) };
        let words = spoken(record);
        match words.is_empty() {
            true => vec![said],
            false => words.into_iter().map(|words| Self { words: Some(words), ..said }).collect(),
        }
    }

    /// Returns a hash of the response's identifier, its time and the words. A copy has them all; some
    /// gateways give all responses one identifier.
    #[must_use]
    pub fn name(&self) -> Option<u64> {
        let (response, time) = (self.response?, self.time?);
        let words = self.words.unwrap_or_default().to_le_bytes();
        Some(hash(&[response.to_le_bytes(), time.to_le_bytes(), words].concat()))
    }

    /// Whether both are of one answer: neither their responses nor their times differ, and they
    /// say the same.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        let apart = differ(self.response, other.response) || differ(self.time, other.time);
        !apart && self.words.is_some() && self.words == other.words
    }
}

fn is_answer(record: &Record) -> bool {
    let own = record.kind == Kind::Message && !record.is_aside();
    own && record.node.is(Field::Role, "assistant")
}

/// Returns hashes of the texts and calls of an answer, in their order. Thoughts do not count, nor
/// texts in brackets, in which formats describe what they cannot express.
fn spoken(record: &Record) -> Vec<u64> {
    let node = &record.node;
    if !is_answer(record) {
        return Vec::new();
    }
    match node.get(Field::Content) {
        Some(Value::Json(text)) => {
            text.text().and_then(|text| text_hash(&text)).into_iter().collect()
        }
        Some(Value::Nodes(blocks)) => blocks.iter().filter_map(of_block).collect(),
        _ => Vec::new(),
    }
}

fn of_block(given: &Node) -> Option<u64> {
    if given.is(Field::Type, block::TEXT) {
        return given.text(Field::Text).and_then(|text| text_hash(&text));
    }
    if !given.is(Field::Type, block::TOOL_CALL) {
        return None;
    }
    let name = given.text(Field::Name).unwrap_or_default();
    Some(hash(&[name.as_bytes(), b"\0", &block::arguments(given).0.normal()].concat()))
}

fn text_hash(text: &str) -> Option<u64> {
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('[')).then(|| hash(text.as_bytes()))
}

/// Finds the beginning of a session: the user's first question and the first answer.
#[derive(Clone, Debug, Default)]
pub struct Beginning {
    question: Option<u64>,
    found: Option<u64>,
}

impl Beginning {
    /// Looks at the next record. Returns true if the beginning is known.
    pub fn look(&mut self, record: &Record) -> bool {
        if self.question.is_none() && record.is_of_user() {
            let text = block::message_text(&record.node).and_then(|text| text.text());
            self.question = text.and_then(|text| text_hash(&text));
        } else if let (None, Some(question), Some(answer)) =
            (self.found, self.question, spoken(record).first())
        {
            self.found = Some(hash(&[question.to_le_bytes(), answer.to_le_bytes()].concat()));
        }
        self.found.is_some()
    }

    /// Returns a hash of the beginning, if it is known.
    #[must_use]
    pub fn hash(&self) -> Option<u64> {
        self.found
    }
}
