//! The items of a view.

use crate::json::Json;
use crate::usage::Usage;
use serde::{Serialize, Serializer};

/// One item of a view: a message, or a note about what happened between messages.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Ordinal of the item's node in the session; `None` for an item beside the tree.
    #[serde(skip)]
    pub ordinal: Option<u32>,
    /// Number of the item in the view, from 1.
    pub number: u64,
    /// Identifier in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Line of the session's file.
    pub line: u64,
    /// Number of the item's branch.
    pub branch: u32,
    /// Number of the turn on the way to the end of the branch; 0 before the first question.
    pub turn: u64,
    /// Whether the item begins a turn.
    #[serde(skip)]
    pub begins_turn: bool,
    /// Time, as the session notes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Label of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Numbers of the branches that leave behind the item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<u32>,
    /// Whether a sub-agent wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_sub_agent: bool,
    /// Answer of which the item is a piece.
    #[serde(skip)]
    pub answer: Option<Json>,
    /// Ordinal of the node behind the item.
    #[serde(skip)]
    pub next: Option<u32>,
    /// Content.
    #[serde(flatten)]
    pub content: Content,
}

/// Content of an item.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Content {
    /// A message.
    Message(Message),
    /// A note.
    Note(Note),
}

/// A message.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Message {
    /// Speaker: user, assistant, system, tool, or another name.
    pub role: String,
    /// Model that wrote it, or the name of the speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Content, in order.
    pub blocks: Vec<Block>,
    /// Tokens and cost that the message itself notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Error with which the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether a program wrote the message in the place of the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_program: bool,
    /// Whether the message is left out of what a model gets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub excluded: bool,
}

impl Message {
    /// Returns the speaker in headings.
    #[must_use]
    pub fn speaker(&self) -> &str {
        if self.by_program { "program" } else { &self.role }
    }
}

/// A note: a summary, another model, a label, a run, an unreadable line.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// Kind of the record.
    #[serde(rename = "record")]
    pub kind: &'static str,
    /// Short description.
    pub title: String,
    /// Text in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the note reports an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// A part of a message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text in Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Thoughts of a model.
    Thinking {
        /// The text; empty if only its provider can read it.
        text: String,
    },
    /// An image.
    Image {
        /// Media type, if it is one that pages show.
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<&'static str>,
        /// Number of bytes.
        bytes: u64,
        /// Description for views without images.
        text: String,
        /// Data in base64, if pages show it.
        #[serde(skip)]
        data: Option<String>,
    },
    /// A call of a tool, with its result.
    Call(Call),
    /// The result of a tool that is apart from its call.
    Output(Output),
    /// A command of the user in the agent's shell.
    Command {
        /// The command line.
        command: String,
        /// Its output.
        output: String,
        /// Its exit code, unless it is 0 or unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<String>,
    },
    /// Description of content that views do not show: documents, searches of the provider.
    Other {
        /// The description.
        text: String,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// Identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Arguments.
    #[serde(serialize_with = "as_value")]
    pub arguments: Json,
    /// Result; `None` if there is none, or if it comes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Output>,
}

/// The result of a tool.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Output {
    /// Identifier of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Content, in order.
    pub blocks: Vec<Block>,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl Output {
    /// Returns all texts of the result.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } | Block::Other { text } | Block::Image { text, .. } => {
                Some(text.as_str())
            }
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Serializes a JSON value; one that is nested too deeply is a text.
fn as_value<S: Serializer>(json: &Json, to: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_slice::<serde_json::Value>(json.as_bytes()) {
        Ok(value) => value.serialize(to),
        Err(_) => to.serialize_str(&String::from_utf8_lossy(json.as_bytes())),
    }
}
