//! Messages of a trajectory as a model gets them: by the rules of streams, for no program continues
//! a trajectory by rules of its own. A step after which a model sees only that and what follows is a
//! compaction.

use crate::context_rules;
use crate::dialect::chat_completions;
use crate::format::Context;
use crate::mapping::Spacing;
use crate::record::{Field, Kind, Record};

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    context_rules::stream(session, own)
}

fn own(message: &Record, out: &mut Vec<u8>) {
    let node = context_rules::message(message, false).unwrap_or_default();
    let mut message = Record { kind: Kind::Message, node };
    message.node.take(Field::Extra);
    message.node.take(Field::Layout);
    chat_completions::write(&message, Spacing::None, true, out);
}
