//! Names that Claude's programs and the scripts around them use, in the order in which they write
//! them.
//!
//! Source: `types.py` of claude-agent-sdk 0.1.0 to 0.2.187, `session.py` and
//! `agent-orchestrator.sh` of claude-agent-orchestrator, output of `claude` 1.0 to 2.1.

use crate::mapping::{Row, fixed, kept, object, row};
use crate::record::Field;

/// Member that names the call whose sub-agent speaks. The value `null` means no sub-agent, and is
/// not kept.
pub const PARENT: &str = "parent_tool_use_id";

/// Value of `type` in a prompt's line.
pub const PROMPT: &str = "user_message";

/// Tokens of one answer.
const ANSWER_USAGE: &[Row] = &[
    row("input_tokens", Field::InputTokens),
    row("cache_creation_input_tokens", Field::CacheWrite),
    row("cache_read_input_tokens", Field::CacheRead),
    kept("cache_creation"),
    row("output_tokens", Field::OutputTokens),
    kept("service_tier"),
];

/// Tokens of one prompt.
const RESULT_USAGE: &[Row] = &[
    row("input_tokens", Field::InputTokens),
    row("cache_creation_input_tokens", Field::CacheWrite),
    row("cache_read_input_tokens", Field::CacheRead),
    row("output_tokens", Field::OutputTokens),
    kept("server_tool_use"),
    kept("service_tier"),
    kept("cache_creation"),
];

/// Line of a prompt, which the scripts add themselves.
pub const USER_MESSAGE: &[Row] = &[kept("type"), kept("content"), row("timestamp", Field::Time)];

/// Notice of the SDK.
pub const SYSTEM: &[Row] = &[row("subtype", Field::Subtype), row("data", Field::Data)];

/// Answer of the model, as the SDK's class.
pub const ASSISTANT: &[Row] = &[
    kept("content"),
    row("model", Field::Model),
    row(PARENT, Field::ParentCall),
    row("error", Field::Error),
    object("usage", Field::Usage, ANSWER_USAGE),
    row("message_id", Field::ResponseId),
    row("stop_reason", Field::StopReason),
    kept("session_id"),
    kept("uuid"),
];

/// Answers of tools, and messages to a sub-agent, as the SDK's class.
pub const USER: &[Row] = &[
    kept("content"),
    kept("uuid"),
    row(PARENT, Field::ParentCall),
    row("tool_use_result", Field::Details),
];

/// Outcome of a prompt, as the SDK's class.
pub const RESULT: &[Row] = &[
    row("subtype", Field::Subtype),
    row("duration_ms", Field::Duration),
    kept("duration_api_ms"),
    row("is_error", Field::IsError),
    row("num_turns", Field::Turns),
    row("session_id", Field::Session),
    row("stop_reason", Field::StopReason),
    row("total_cost_usd", Field::TotalCost),
    object("usage", Field::Usage, RESULT_USAGE),
    row("result", Field::Result),
    kept("structured_output"),
    kept("model_usage"),
    kept("permission_denials"),
    kept("deferred_tool_use"),
    kept("errors"),
    kept("api_error_status"),
    kept("uuid"),
];

/// Outcome of a prompt, as `claude` prints it.
pub const PRINTED_RESULT: &[Row] = &[
    fixed("type", "\"result\""),
    row("subtype", Field::Subtype),
    row("is_error", Field::IsError),
    row("duration_ms", Field::Duration),
    kept("duration_api_ms"),
    row("num_turns", Field::Turns),
    row("result", Field::Result),
    row("stop_reason", Field::StopReason),
    row("session_id", Field::Session),
    row("total_cost_usd", Field::TotalCost),
    object("usage", Field::Usage, RESULT_USAGE),
    kept("modelUsage"),
    kept("permission_denials"),
    kept("structured_output"),
    kept("errors"),
    kept("uuid"),
];

/// Line of a message as `claude` prints it.
pub const PRINTED: &[Row] = &[
    kept("type"),
    kept("message"),
    row(PARENT, Field::ParentCall),
    kept("session_id"),
    kept("uuid"),
    row("tool_use_result", Field::Details),
    row("error", Field::Error),
];

/// Message inside a line that `claude` prints.
pub const MESSAGE: &[Row] = &[
    row("model", Field::Model),
    row("id", Field::ResponseId),
    kept("type"),
    kept("role"),
    kept("content"),
    row("stop_reason", Field::StopReason),
    kept("stop_sequence"),
    object("usage", Field::Usage, ANSWER_USAGE),
];

/// File of a session's metadata.
pub const META: &[Row] = &[
    row("session_name", Field::Name),
    row("agent", Field::Agent),
    row("project_dir", Field::Cwd),
    kept("agents_dir"),
    row("created_at", Field::Created),
    row("last_resumed_at", Field::Updated),
    kept("schema_version"),
    row("session_id", Field::Id),
];
