//! Names that Claude's programs and the scripts around them use, in the order in which they write
//! them.
//!
//! Source: `types.py` of claude-agent-sdk 0.1.0 to 0.2.187, `session.py` and
//! `agent-orchestrator.sh` of claude-agent-orchestrator, output of `claude` 1.0 to 2.1.

use crate::dialect::anthropic::USAGE;
use crate::dialect::anthropic::members::Members;
use crate::mapping::{Row, object, row};
use crate::record::Field;

/// Member that names the call whose sub-agent speaks. The value `null` means no sub-agent, and is
/// not kept.
pub const PARENT: &str = "parent_tool_use_id";

/// Value of `type` in a prompt's line.
pub const PROMPT: &str = "user_message";

/// Tokens of one answer.
const ANSWER_USAGE: Members = Members {
    rows: USAGE,
    order: &[
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
        "output_tokens",
        "service_tier",
    ],
    inner: &[],
};

/// Tokens of one prompt.
const RESULT_USAGE: Members = Members {
    rows: USAGE,
    order: &[
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "server_tool_use",
        "service_tier",
        "cache_creation",
    ],
    inner: &[],
};

/// Line of a prompt, which the scripts add themselves.
pub static USER_MESSAGE: Members = Members {
    rows: &[row("timestamp", Field::Time)],
    order: &["type", "content", "timestamp"],
    inner: &[],
};

/// Notice of the SDK.
pub static SYSTEM: Members = Members {
    rows: &[row("subtype", Field::Subtype), row("data", Field::Data)],
    order: &["subtype", "data"],
    inner: &[],
};

/// Answer of the model, as the SDK's class.
pub static ASSISTANT: Members = Members {
    rows: &[
        row("model", Field::Model),
        row(PARENT, Field::ParentCall),
        row("error", Field::Error),
        object("usage", Field::Usage, USAGE),
        row("message_id", Field::ResponseId),
        row("stop_reason", Field::StopReason),
    ],
    order: &[
        "content",
        "model",
        PARENT,
        "error",
        "usage",
        "message_id",
        "stop_reason",
        "session_id",
        "uuid",
    ],
    inner: &[("usage", &ANSWER_USAGE)],
};

/// Answers of tools, and messages to a sub-agent, as the SDK's class.
pub static USER: Members = Members {
    rows: &[row(PARENT, Field::ParentCall), row("tool_use_result", Field::Details)],
    order: &["content", "uuid", PARENT, "tool_use_result"],
    inner: &[],
};

/// Outcome of a prompt, as the SDK's class.
pub static RESULT: Members = Members {
    rows: RESULT_ROWS,
    order: &[
        "subtype",
        "duration_ms",
        "duration_api_ms",
        "is_error",
        "num_turns",
        "session_id",
        "stop_reason",
        "total_cost_usd",
        "usage",
        "result",
        "structured_output",
        "model_usage",
        "permission_denials",
        "deferred_tool_use",
        "errors",
        "api_error_status",
        "uuid",
    ],
    inner: &[("usage", &RESULT_USAGE)],
};

/// Outcome of a prompt, as `claude` prints it.
pub static PRINTED_RESULT: Members = Members {
    rows: RESULT_ROWS,
    order: &[
        "type",
        "subtype",
        "is_error",
        "duration_ms",
        "duration_api_ms",
        "num_turns",
        "result",
        "stop_reason",
        "session_id",
        "total_cost_usd",
        "usage",
        "modelUsage",
        "permission_denials",
        "structured_output",
        "errors",
        "uuid",
    ],
    inner: &[("usage", &RESULT_USAGE)],
};

const RESULT_ROWS: &[Row] = &[
    row("subtype", Field::Subtype),
    row("duration_ms", Field::Duration),
    row("is_error", Field::IsError),
    row("num_turns", Field::Turns),
    row("session_id", Field::Session),
    row("stop_reason", Field::StopReason),
    row("total_cost_usd", Field::TotalCost),
    object("usage", Field::Usage, USAGE),
    row("result", Field::Result),
];

/// Line of a message as `claude` prints it.
pub static PRINTED: Members = Members {
    rows: &[
        row(PARENT, Field::ParentCall),
        row("tool_use_result", Field::Details),
        row("error", Field::Error),
    ],
    order: &["type", "message", PARENT, "session_id", "uuid", "tool_use_result", "error"],
    inner: &[],
};

/// Message inside a line that `claude` prints.
pub static MESSAGE: Members = Members {
    rows: &[
        row("model", Field::Model),
        row("id", Field::ResponseId),
        row("stop_reason", Field::StopReason),
        object("usage", Field::Usage, USAGE),
    ],
    order: &["model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "usage"],
    inner: &[("usage", &ANSWER_USAGE)],
};

/// File of a session's metadata.
pub static META: Members = Members {
    rows: META_ROWS,
    order: &[
        "session_name",
        "agent",
        "project_dir",
        "agents_dir",
        "created_at",
        "last_resumed_at",
        "schema_version",
        "session_id",
    ],
    inner: &[],
};

const META_ROWS: &[Row] = &[
    row("session_name", Field::Name),
    row("agent", Field::Agent),
    row("project_dir", Field::Cwd),
    row("created_at", Field::Created),
    row("last_resumed_at", Field::Updated),
    row("session_id", Field::Id),
];
