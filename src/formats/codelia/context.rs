//! What Codelia takes up when it resumes a session: the messages of the path, as they stand.

use super::message;
use crate::format::Context;
use crate::record::{Kind, Record};

/// Begins a context.
#[must_use]
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}

struct Messages;

impl Context for Messages {
    fn message(&mut self, _position: u32, record: &Record) -> Option<Record> {
        (record.kind == Kind::Message).then(|| record.clone())
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        message::write(message, true, out);
    }
}
