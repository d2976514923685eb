//! Lines that Claude Code adds to a transcript by itself.
//!
//! Source: transcripts that releases 2.0.53 and 2.1.332 resumed, and the types of lines in the
//! program of 2.1.332. Two lines are messages and therefore not listed: the result of a call that
//! was interrupted, and the answer `No response requested.`

use crate::record::{Field, Kind, Record};

/// Fields of the session that the first resumed line fills where no line before has them.
pub const FILLS: &[Field] = &[Field::Cwd, Field::Client, Field::Created, Field::Branch];

/// Types of lines, and what they are.
const TYPES: &[(&str, &str)] = &[
    ("attachment", "attachment"),
    ("queue-operation", "queue operation"),
    ("last-prompt", "last prompt"),
    ("mode", "mode"),
    ("permission-mode", "mode"),
    ("file-history-snapshot", "file snapshot"),
    ("file-history-delta", "file snapshot"),
    ("custom-title", "title"),
    ("ai-title", "title"),
    ("agent-name", "title"),
    ("summary", "title"),
    ("system", "system line"),
    ("progress", "progress line"),
    ("api-request", "request"),
    ("api-request-shape", "request"),
    ("api-request-blob", "request"),
    ("cost-state", "cost"),
    ("assistant", "interface error"),
];

/// Returns what a line is that Claude Code adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    match record.kind {
        Kind::Opaque => {
            let known = TYPES.iter().find(|(wire, _)| record.node.is(Field::Type, wire));
            Some(known.map_or("other line", |(_, what)| what))
        }
        Kind::Notice => Some("file"),
        Kind::SessionInfo => Some("title"),
        _ => None,
    }
}
