//! Context that ConnectOnion sends to a model: its messages, unchanged.
//!
//! A run and a file of version 1 contain the system message in their messages. A file of version 2
//! contains it as `system_prompt`, which comes first whenever it is there, empty or not.

use super::message;
use crate::format::Context;
use crate::json::Json;
use crate::mapping::Spacing;
use crate::record::{Field, Kind, Record};

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    let apart = session.node.is(Field::Source, "connectonion@2");
    let prompt = session.node.json(Field::SystemPrompt);
    Box::new(Messages { prompt: prompt.filter(|prompt| apart && !prompt.is_null()).cloned() })
}

struct Messages {
    prompt: Option<Json>,
}

impl Context for Messages {
    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some(prompt) = self.prompt.take() else { return Vec::new() };
        let system = Record::new(Kind::Message).with(Field::Role, Json::constant("\"system\""));
        vec![system.with(Field::Content, prompt)]
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        message::write(message, Spacing::None, true, out);
    }
}
