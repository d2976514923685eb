//! ConnectOnion's messages, which are those of OpenAI's Chat Completions.

use crate::diagnostic::{Code, Log};
pub use crate::dialect::chat_completions::{losses, read, write};
use crate::format::Cx;
use crate::position::Position;
use crate::record::{Kind, Record};

/// Members whose scalars are text even if they are written without quotes. Other scalars have the
/// type that YAML gives them.
pub const TEXTS: &[&str] = &[
    "role",
    "content",
    "content/type",
    "content/text",
    "content/image_url/url",
    "name",
    "id",
    "tool_call_id",
    "tool_calls/id",
    "tool_calls/type",
    "tool_calls/function/name",
    "tool_calls/function/arguments",
];

/// Reports a record that is not a message of a known shape.
pub fn report_opaque(record: &Record, at: Position, cx: &Cx<'_>) {
    if record.kind == Kind::Opaque {
        cx.report_at(Code::OddMessage, at);
    }
}

/// Counts a record that represents no message.
pub fn lost(record: &Record, log: &Log) {
    log.lost(&record.description());
}
