//! Context of a session whose messages are sent as they are.

use super::stream::WriteFn;
use crate::format::Context;
use crate::json::Json;
use crate::record::{Field, Kind, Record};

/// Begins the context of a session that sends all its messages unchanged but those of sub-agents and
/// those that are excluded, behind this system prompt, if it has one apart from them. `own` writes
/// a message in the shape of the format.
#[must_use]
pub fn list(prompt: Option<Json>, own: WriteFn) -> Box<dyn Context> {
    Box::new(Messages { prompt, own })
}

struct Messages {
    prompt: Option<Json>,
    own: WriteFn,
}

impl Context for Messages {
    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some(prompt) = self.prompt.take() else { return Vec::new() };
        let system = Record::new(Kind::Message).with(Field::Role, Json::constant("\"system\""));
        vec![system.with(Field::Content, prompt)]
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        (self.own)(message, out);
    }
}
