//! Description of the texts that software writes into a session in the name of the user.

use crate::json::Json;
use crate::record::{Node, Record};

/// Texts that the software of a format sends to a model as messages of the user, although no user
/// wrote them.
#[derive(Clone, Copy, Debug)]
pub struct Inserted {
    /// Names of the elements `<name>…</name>` in which the software puts its own words.
    pub elements: &'static [&'static str],
    /// Beginnings and ends of its other words. An empty end is the end of the text.
    pub passages: &'static [(&'static str, &'static str)],
    /// Returns what the user typed, where the software writes it in another form.
    pub typed: Option<TypedFn>,
    /// Whether members of a message state that it is the software's own.
    pub is_marked: Option<fn(&Node) -> bool>,
    /// Returns the entry behind which an entry without a parent continues the conversation, as that
    /// with which a compaction begins.
    pub continued: Option<fn(&Record) -> Option<Json>>,
}

impl Inserted {
    /// No such texts are known.
    pub const NOTHING: Self =
        Self { elements: &[], passages: &[], typed: None, is_marked: None, continued: None };
}

/// Input of the user that the software stores in another form than it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A question to the model.
    Question(String),
    /// A command to the software, which the model does not answer.
    Command(String),
}

/// Returns what the user typed of a text; `None` if the text is of no such form.
pub type TypedFn = fn(&str) -> Option<Typed>;
