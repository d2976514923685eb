//! Context of formats whose lines hold the messages as the interface gets them.

use super::block::{self, Types};
use crate::format::Context;
use crate::mapping::Object;
use crate::record::{Field, Kind, Record};

/// Begins the context of a session: its messages as they are, without those of sub-agents and those
/// that are excluded.
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
