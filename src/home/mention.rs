//! Search for a text in the messages of sessions.

use super::summary::messages;
use super::survey::Listed;
use crate::json::Json;
use crate::record::{Field, Node, Record, Value};

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

    /// Whether a message contains the text: in its words, its thoughts, or in a call of a tool, its
    /// arguments or its result.
    fn is_in_message(&self, message: &Record) -> bool {
        self.is_in_content(&message.node)
            || message.node.node(Field::Bash).is_some_and(|bash| {
                [Field::Command, Field::Output].iter().any(|field| self.is_in_field(bash, *field))
            })
    }

    fn is_in_content(&self, node: &Node) -> bool {
        match node.get(Field::Content) {
            Some(Value::Json(_)) => self.is_in_field(node, Field::Content),
            Some(Value::Nodes(blocks)) => blocks.iter().any(|block| self.is_in_block(block)),
            _ => false,
        }
    }

    fn is_in_block(&self, given: &Node) -> bool {
        let fields = [Field::Text, Field::Thinking, Field::Name, Field::Output];
        fields.iter().any(|field| self.is_in_field(given, *field))
            || given.json(Field::Arguments).is_some_and(|arguments| self.is_in_value(arguments))
            || self.is_in_content(given)
    }

    fn is_in_field(&self, node: &Node, field: Field) -> bool {
        node.text(field).is_some_and(|text| self.matches(&text))
    }

    /// Whether a text inside of a value contains the text; an object in a text is one.
    fn is_in_value(&self, value: &Json) -> bool {
        match value.text() {
            Some(text) => self.matches(&text),
            None => {
                let members = value.pairs().into_iter().map(|(_, value)| value);
                members.chain(value.elements()).any(|value| self.is_in_value(&value))
            }
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
