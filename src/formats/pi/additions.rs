//! Entries that pi adds to a session by itself.
//!
//! Source: sessions that pi 0.73.1 resumed, and its `session-manager.ts`: the thinking level, and the
//! model where it is another one; extensions add `custom` entries.

use crate::record::{Kind, Record};

/// Returns what an entry is that pi or an extension adds by itself. Formats that have the same kind
/// of entry take it over.
pub fn addition(record: &Record) -> Option<&'static str> {
    Some(match record.kind {
        Kind::ThinkingChange => "thinking level",
        Kind::ModelChange => "model",
        Kind::ToolsChange => "list of tools",
        Kind::SessionInfo => "session name",
        Kind::Label => "label",
        Kind::Usage => "token count",
        Kind::Extension => "extension entry",
        Kind::Event => "event",
        Kind::Notice | Kind::Opaque => "other line",
        _ => return None,
    })
}
