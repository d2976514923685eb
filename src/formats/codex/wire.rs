//! Codex's own names.
//!
//! Source: openai/codex (`protocol/src/protocol.rs`, `models.rs`) and files of releases 0.8.0 to
//! 0.169.0.

use crate::mapping::{Row, row, within};
use crate::record::Field;

/// The type of the first line from version 2 on.
pub const META: &str = "session_meta";
/// The type of a line with an item of the conversation.
pub const ITEM: &str = "response_item";
/// The type of a line with an event for the user interface.
pub const EVENT: &str = "event_msg";
/// The type of a line at which earlier items give way to others.
pub const COMPACTED: &str = "compacted";
/// The type of a line with the settings of a turn.
pub const TURN_CONTEXT: &str = "turn_context";
/// The type of a line with a message of another agent of the session.
pub const AGENTS: &str = "inter_agent_communication";
/// The member of the first line that shows the version, with its value in version 3.
pub const HISTORY_MODE: &str = "history_mode";
/// The value of [`HISTORY_MODE`] in version 3.
pub const PAGINATED: &str = "paginated";

/// The member of the first line that refers to the rollout in which the history begins.
pub const HISTORY_BASE: &str = "history_base";

/// Members of the first line that have a field.
pub const META_ROWS: &[Row] = &[
    row("id", Field::Id),
    row("timestamp", Field::Created),
    row("cwd", Field::Cwd),
    GIT,
    row("model_provider", Field::Provider),
    within("base_instructions", None, &[row("text", Field::SystemPrompt)]),
];

/// Members of a first line of version 1 that have a field.
pub const HEAD_ROWS: &[Row] = &[row("id", Field::Id), row("timestamp", Field::Created), GIT];

/// The repository of the folder, of which the branch has a field.
const GIT: Row = within("git", None, &[row("branch", Field::Branch)]);

/// Members of a turn's settings that have a field.
pub const TURN_ROWS: &[Row] = &[row("model", Field::Model)];

/// Members of a compaction that have a field.
pub const COMPACTED_ROWS: &[Row] = &[row("message", Field::Summary)];

/// The member that names the session from which this one was made.
pub const PARENTS: &[&str] = &["forked_from_id", "parent_thread_id"];

/// Beginnings and ends of the messages of role user that Codex itself writes.
///
/// Source: `contextual_user_message.rs` of openai/codex, and the messages of earlier releases.
pub const HARNESS: &[(&str, &str)] = &[
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# AGENTS.md instructions for", "</INSTRUCTIONS>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<skill>", "</skill>"),
    ("<subagent_notification>", "</subagent_notification>"),
];
