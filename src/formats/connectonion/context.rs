//! Context that ConnectOnion sends to a model: its messages, unchanged.
//!
//! A run and a file of version 1 contain the system message in their messages. A file of version 2
//! contains it as `system_prompt`, which comes first whenever it is there, empty or not.

use super::message;
use crate::context_rules;
use crate::format::Context;
use crate::mapping::Spacing;
use crate::record::{Field, Record};

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    let apart = session.node.is(Field::Source, "connectonion@2");
    let prompt = session.node.json(Field::SystemPrompt);
    let prompt = prompt.filter(|prompt| apart && !prompt.is_null()).cloned();
    context_rules::list(prompt, |message, out| {
        message::write(message, Spacing::None, true, out);
    })
}
