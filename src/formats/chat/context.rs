//! Messages of a row as a model gets them: all of them, in their order.

use crate::context_rules;
use crate::dialect::chat_completions;
use crate::format::Context;
use crate::mapping::Spacing;
use crate::record::{Field, Record};

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    let prompt = session.node.json(Field::SystemPrompt).cloned();
    context_rules::list(prompt, |message, out| {
        chat_completions::write(message, Spacing::None, false, out);
    })
}
