//! Lines that Claude Code adds to a transcript by itself.
//!
//! Source: transcripts that releases 2.0.53 and 2.1.332 resumed, and the types of lines in the
//! program of 2.1.332. The result that it gives to a call that was interrupted is a message as any
//! other.

use super::read::TITLE;
use super::wire;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, block};

/// Fields of the session that the first resumed line fills where no line before has them.
pub const FILLS: &[Field] = &[Field::Cwd, Field::Client, Field::Created, Field::Branch];

/// Types of lines, and what they are.
const TYPES: &[(&str, &str)] = &[
    ("attachment", "attachment"),
    ("queue-operation", "queue operation"),
    ("last-prompt", "last prompt"),
    ("mode", "mode"),
    ("permission-mode", "mode"),
    ("file-history-snapshot", "file snapshot"),
    ("file-history-delta", "file snapshot"),
    (wire::CUSTOM_TITLE, "title"),
    ("ai-title", "title"),
    ("agent-name", "title"),
    ("summary", "title"),
    ("system", "system line"),
    ("progress", "progress line"),
    ("api-request", "request"),
    ("api-request-shape", "request"),
    ("api-request-blob", "request"),
    ("cost-state", "cost"),
    ("assistant", "interface error"),
];

/// Returns the line that gives a session a title.
pub fn title(session: &Node, name: &Json) -> Record {
    Record::new(Kind::Opaque)
        .with(Field::Type, Json::string(wire::CUSTOM_TITLE))
        .with(
            Field::Data,
            Object::json(|object| {
                text::quote(wire::CUSTOM_TITLE, object.key("type"));
                object.member("customTitle", name.as_bytes());
                if let Some(id) = session.json(Field::Id) {
                    object.member("sessionId", id.as_bytes());
                }
            }),
        )
        .with(Field::Layout, Json::constant(TITLE))
}

/// Returns what a line is that Claude Code adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    match record.kind {
        Kind::Opaque => {
            let known = TYPES.iter().find(|(wire, _)| record.node.is(Field::Type, wire));
            Some(known.map_or("other line", |(_, what)| what))
        }
        Kind::Notice => Some("file"),
        Kind::SessionInfo => Some("title"),
        Kind::Message if is_placeholder(&record.node) => Some("placeholder answer"),
        _ => None,
    }
}

/// Text of the answer that Claude Code puts between two prompts of which the first has none.
pub const NO_RESPONSE: &str = "No response requested.";

/// Whether a message is that answer, which no model gave.
fn is_placeholder(message: &Node) -> bool {
    message.is(Field::Model, "<synthetic>")
        && block::message_text(message)
            .is_some_and(|text| text.text().as_deref() == Some(NO_RESPONSE))
}
