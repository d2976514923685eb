//! Search for a text in the messages of sessions.

use super::summary::messages;
use super::survey::Listed;
use crate::record::{Field, Node, Record, Value, block};

/// A text that is looked for in what users and agents wrote. A text without capital letters matches
/// in any case.
#[derive(Clone, Debug)]
pub struct Mention {
    text: String,
    any_case: bool,
}

impl Mention {
    /// Creates the search for a text.
    pub fn new(text: &str) -> Self {
        let any_case = !text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), any_case }
    }

    /// Whether a message of the session contains the text. A session that cannot be read contains
    /// nothing.
    pub fn is_in(&self, session: &Listed) -> bool {
        let mut found = false;
        let read = messages(&session.job, &mut |message| {
            found = self.is_in_message(message);
            !found
        });
        read.is_ok() && found
    }

    fn is_in_message(&self, message: &Record) -> bool {
        match message.node.get(Field::Content) {
            Some(Value::Json(text)) => text.text().is_some_and(|text| self.matches(&text)),
            Some(Value::Nodes(blocks)) => {
                let text = |block: &Node| {
                    block.text(Field::Text).filter(|_| block.is(Field::Type, block::TEXT))
                };
                blocks.iter().filter_map(text).any(|text| self.matches(&text))
            }
            _ => false,
        }
    }

    fn matches(&self, text: &str) -> bool {
        if self.any_case {
            text.to_lowercase().contains(&self.text)
        } else {
            text.contains(&self.text)
        }
    }
}
