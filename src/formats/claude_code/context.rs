//! Messages that Claude Code sends when it resumes a session, by the rules of release 2.1.332: those
//! on the path to the leaf, which begins at the last compaction.
//!
//! Attachments, which the program renders anew, and what it adds by itself when it resumes (results
//! of interrupted calls, the answer "No response requested.") are not among them.

use crate::dialect::anthropic::block::{self, Types};
use crate::format::Context;
use crate::mapping::Object;
use crate::record::{Field, Kind, Record};

/// Begins a context.
#[must_use]
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}

struct Messages;

impl Context for Messages {
    fn message(&mut self, _position: u32, record: &Record) -> Option<Record> {
        (record.kind == Kind::Message && !record.is_aside()).then(|| record.clone())
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        let assistant = message.node.is(Field::Role, "assistant");
        object.member("role", if assistant { b"\"assistant\"" } else { b"\"user\"" });
        if let Some(content) = message.node.get(Field::Content) {
            block::write(content, Types::Given, object.key("content"));
        }
        object.close();
    }
}
