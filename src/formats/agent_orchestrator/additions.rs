//! Lines that the scripts add to a log by themselves.
//!
//! Source: `claude -p` and claude-agent-sdk, which print them at each start and between answers.

use crate::record::{Field, Kind, Record};

/// Fields of the session that a start fills: the metadata name them only from then on.
pub const FILLS: &[Field] = &[Field::Cwd, Field::Client, Field::Updated, Field::Branch];

/// Returns what a line is that the scripts add by themselves.
pub fn addition(record: &Record) -> Option<&'static str> {
    Some(match record.kind {
        Kind::Notice if record.node.is(Field::Subtype, "init") => "start",
        Kind::Notice => "notice",
        Kind::Opaque => "other line",
        _ => return None,
    })
}
