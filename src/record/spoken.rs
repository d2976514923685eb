//! Hashes of the texts and calls of answers, which are the same in every format. Sessions that
//! repeat answers of others are recognised by them.

use super::{Field, Kind, Node, Record, Value, block};
use crate::ids::hash;

/// Returns hashes of the texts and calls of an answer, in their order. Thoughts do not count, nor
/// texts in brackets, in which formats describe what they cannot express.
#[must_use]
pub fn spoken(record: &Record) -> Vec<u64> {
    let node = &record.node;
    let own = record.kind == Kind::Message && !record.is_aside();
    if !own || !node.is(Field::Role, "assistant") {
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
