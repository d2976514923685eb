//! Names of GitHub Copilot CLI.
//!
//! Source: the schema of session events that ships with releases 0.0.384 to 1.0.102, and files of
//! these releases.

use crate::json::Json;
use crate::mapping::{Row, row, within};
use crate::record::Field;

/// The type of the first event.
pub const START: &str = "session.start";
/// The type of a question, whoever asks it.
pub const USER: &str = "user.message";
/// The type of an answer of the model with its calls.
pub const ASSISTANT: &str = "assistant.message";
/// The type of the event with which a tool begins, which repeats the call.
pub const TOOL_START: &str = "tool.execution_start";
/// The type of the result of a call.
pub const TOOL_COMPLETE: &str = "tool.execution_complete";
/// The type of a change of the model.
pub const MODEL_CHANGE: &str = "session.model_change";
/// The type of the event behind which messages stay when the compaction completes.
pub const COMPACTION_START: &str = "session.compaction_start";
/// The type of the event with which a summary replaces messages.
pub const COMPACTION_COMPLETE: &str = "session.compaction_complete";
/// The type of the event with an image to which messages refer.
pub const BINARY_ASSET: &str = "session.binary_asset";
/// The type of the event with the totals of the session.
pub const SHUTDOWN: &str = "session.shutdown";

/// Beginnings of types that only Copilot CLI writes.
pub const FAMILIES: &[&str] = &[
    "session.",
    "user.message",
    "assistant.",
    "tool.",
    "system.",
    "subagent.",
    "hook.",
    "skill.",
    "permission.",
    "abort",
];

/// Members of the first event's data that have a field.
pub const START_ROWS: &[Row] = &[
    row("sessionId", Field::Id),
    row("startTime", Field::Created),
    row("selectedModel", Field::Model),
    row("reasoningEffort", Field::ThinkingLevel),
    within("context", None, &[row("cwd", Field::Cwd), row("branch", Field::Branch)]),
];

/// Members of a change of the model that have a field.
pub const MODEL_ROWS: &[Row] = &[row("newModel", Field::Model)];

/// Members of a completed compaction that have a field.
pub const COMPACTION_ROWS: &[Row] =
    &[row("summaryContent", Field::Summary), row("preCompactionTokens", Field::TokensBefore)];

/// Members of an answer that have a field; its content is read apart.
pub const ANSWER_ROWS: &[Row] = &[row("model", Field::Model)];

/// Members of a call that have a field.
pub const CALL_ROWS: &[Row] =
    &[row("toolCallId", Field::Id), row("name", Field::Name), row("arguments", Field::Arguments)];

/// Returns a member that is a text.
pub fn member_of(object: &Json, name: &str) -> Option<Json> {
    object.member(name).filter(Json::is_string)
}
