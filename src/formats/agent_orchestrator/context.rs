//! Messages that Claude was sent, as far as the log contains them: those of its own interface,
//! without those of sub-agents.
//!
//! A log begins with its session and is never cut, so its messages are the conversation; the form
//! to which Claude Code compacted the conversation is in Claude Code's own transcript only.

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
