//! What Codelia takes up when it resumes a session: the messages of the path, as they stand.

use super::message;
use crate::error::Result;
use crate::format::Context;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Kind, Node, Record};

/// Begins a context.
#[must_use]
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}

struct Messages;

impl Context for Messages {
    fn look(&mut self, _position: u32, _record: &Located<Record>) -> Result<()> {
        Ok(())
    }

    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        Vec::new()
    }

    fn message(&mut self, _position: u32, record: &Record) -> Option<Record> {
        (record.kind == Kind::Message).then(|| record.clone())
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        message::write(message, true, out);
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        Some(message.node.clone())
    }

    fn settings(&self) -> Vec<(&'static str, Vec<u8>)> {
        Vec::new()
    }
}
