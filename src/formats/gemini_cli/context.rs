//! Messages that the program sends when it resumes a session.
use crate::format::Context;
use crate::record::{Kind, Record};
/// Begins a context.
pub fn open(_: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}
struct Messages;
impl Context for Messages {
    fn message(&mut self, _: u32, record: &Record) -> Option<Record> {
        (record.kind == Kind::Message && !record.is_aside()).then(|| record.clone())
    }
    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        super::message::write(&message.node, &[], out);
    }
}
