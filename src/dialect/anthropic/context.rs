//! Context of formats whose lines hold the messages as the interface gets them.

use super::block::{self, Types};
use crate::format::Context;
use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Kind, Record};

/// Subtype of the message with the summary of all messages before it.
pub const COMPACT_SUMMARY: &str = "compact_summary";

/// Begins the context of a session: its messages as they are, without those of sub-agents and those
/// that are excluded.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}

struct Messages;

impl Context for Messages {
    fn summary(&self, message: &Record) -> Option<Json> {
        summary(message)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        own(message, out);
    }
}

/// Appends a message as the interface gets it.
pub fn own(message: &Record, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let assistant = message.node.is(Field::Role, "assistant");
    object.member("role", if assistant { b"\"assistant\"" } else { b"\"user\"" });
    if let Some(content) = message.node.get(Field::Content) {
        block::write(content, Types::Given, object.key("content"));
    }
    object.close();
}

/// Returns the text of a message that is the summary of all messages before it.
pub fn summary(message: &Record) -> Option<Json> {
    let is_summary = message.node.is(Field::Subtype, COMPACT_SUMMARY);
    let text = || crate::record::block::message_text(&message.node);
    (message.kind == Kind::Message && is_summary).then(text)?
}
