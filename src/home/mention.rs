//! Search for a text in the messages of sessions.

use super::spelled::Spelled;
use super::summary::messages;
use super::survey::Listed;
use crate::diagnostic::one_line;
use crate::json::Json;
use crate::record::{Field, Node, Record, Value};

/// A text that is looked for in what users and agents wrote. A text without capital letters matches
/// in any case.
#[derive(Clone, Debug)]
pub struct Mention {
    text: String,
    any_case: bool,
    /// The search in bytes, where the text has a word for it.
    spelled: Option<Spelled>,
}

impl Mention {
    /// Creates the search for a text.
    pub fn new(text: &str) -> Self {
        let any_case = !text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), any_case, spelled: Spelled::of(text, any_case) }
    }

    /// Returns the first line of the session's messages that contains the text; `None` if none does,
    /// or the session cannot be read.
    pub fn line_in(&self, session: &Listed) -> Option<String> {
        let may_be_in =
            |spelled: &Spelled| session.files.iter().any(|file| spelled.may_be_in(file));
        if !self.spelled.as_ref().is_none_or(may_be_in) {
            return None;
        }
        let mut found = None;
        let read = messages(&session.job, &mut |message| {
            found = self.in_message(message);
            found.is_none()
        });
        read.ok().and(found)
    }

    /// Looks into the words and thoughts of a message, and into calls of tools, their arguments and
    /// results.
    fn in_message(&self, message: &Record) -> Option<String> {
        let node = &message.node;
        self.in_content(node).or_else(|| {
            let bash = node.node(Field::Bash)?;
            [Field::Command, Field::Output].iter().find_map(|field| self.in_field(bash, *field))
        })
    }

    fn in_content(&self, node: &Node) -> Option<String> {
        match node.get(Field::Content)? {
            Value::Json(_) => self.in_field(node, Field::Content),
            Value::Nodes(blocks) => blocks.iter().find_map(|block| self.in_block(block)),
            Value::Node(_) => None,
        }
    }

    fn in_block(&self, given: &Node) -> Option<String> {
        let fields = [Field::Text, Field::Thinking, Field::Name, Field::Output];
        fields
            .iter()
            .find_map(|field| self.in_field(given, *field))
            .or_else(|| self.in_value(given.json(Field::Arguments)?))
            .or_else(|| self.in_content(given))
    }

    fn in_field(&self, node: &Node, field: Field) -> Option<String> {
        self.in_text(&node.text(field)?)
    }

    /// Looks into the texts inside of a value.
    fn in_value(&self, value: &Json) -> Option<String> {
        match value.text() {
            Some(text) => self.in_text(&text),
            None => {
                let members = value.pairs().into_iter().map(|(_, value)| value);
                members.chain(value.elements()).find_map(|value| self.in_value(&value))
            }
        }
    }

    /// Returns the line with the text, from a little before it.
    fn in_text(&self, text: &str) -> Option<String> {
        if !self.matches(text) {
            return None;
        }
        let line = text.lines().find(|line| self.matches(line)).unwrap_or(text);
        let before =
            line.find(&self.text).map_or(0, |at| line.get(..at).map_or(0, |b| b.chars().count()));
        let begin = before.saturating_sub(BEFORE);
        let shown: String = line.chars().skip(begin).take(LINE * 2).collect();
        let cut = if begin > 0 { "…" } else { "" };
        Some(format!("{cut}{}", one_line(&shown, LINE)))
    }

    fn matches(&self, text: &str) -> bool {
        if self.any_case {
            text.to_lowercase().contains(&self.text)
        } else {
            text.contains(&self.text)
        }
    }
}

/// Maximum number of characters of a line, and of those before the text in it.
const LINE: usize = 160;
const BEFORE: usize = 40;
