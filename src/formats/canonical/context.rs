//! Messages that are sent of a stream whose source has no rules of its own.

use crate::context_rules;
use crate::format::Context;
use crate::mapping::record_text;
use crate::record::Record;

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    context_rules::stream(session, record_text::object_of)
}
