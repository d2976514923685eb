//! pi's own spelling: every member of its headers, entries, messages and blocks, once, in the
//! order in which pi writes them.
//!
//! Source: pi-mono `session-manager.ts` and `packages/ai/src/types.ts` through their history, and
//! files written by releases 0.7.6 to 1.5.2.

use crate::mapping::{BlockType, Row, blocks, object, row};
use crate::record::{Field, Kind, block};

/// The two generations of keys for the file that a session was made from.
pub const PARENT_KEYS: [&str; 2] = ["branchedFrom", "parentSession"];

/// The key that a version writes.
pub fn parent_key(version: u32) -> &'static str {
    if version < super::version::TREE { "branchedFrom" } else { "parentSession" }
}

/// Members of the header that follow `id`. `model` alone is the first generation's spelling of
/// `provider` and `modelId`.
pub static HEADER: &[Row] = &[
    row("timestamp", Field::Created),
    row("cwd", Field::Cwd),
    row("systemPrompt", Field::SystemPrompt),
    row("provider", Field::Provider),
    row("modelId", Field::Model),
    row("thinkingLevel", Field::ThinkingLevel),
];

/// Members as in [`HEADER`], with the model spelled `provider/id`.
pub static HEADER_JOINED: &[Row] = &[
    row("timestamp", Field::Created),
    row("cwd", Field::Cwd),
    row("systemPrompt", Field::SystemPrompt),
    row("model", Field::Model),
    row("thinkingLevel", Field::ThinkingLevel),
];

/// Type of an entry.
#[derive(Debug)]
pub struct EntryType {
    /// Name of the type in pi's files.
    pub wire: &'static str,
    /// Canonical kind.
    pub kind: Kind,
    /// Members of the entry beyond `type`, `id`, `parentId` and `timestamp`.
    pub rows: &'static [Row],
    /// Whether pi writes these members before `id`, `parentId` and `timestamp`.
    pub payload_first: bool,
}

const fn entry(wire: &'static str, kind: Kind, rows: &'static [Row]) -> EntryType {
    EntryType { wire, kind, rows, payload_first: false }
}

/// Every type of entry but the header and, for its roles, the message.
pub static ENTRIES: &[EntryType] = &[
    entry("message", Kind::Message, &[]),
    entry("thinking_level_change", Kind::ThinkingChange, &[row("thinkingLevel", Field::Level)]),
    entry(
        "model_change",
        Kind::ModelChange,
        &[row("provider", Field::Provider), row("modelId", Field::Model)],
    ),
    entry("compaction", Kind::Compaction, COMPACTION),
    entry(
        "branch_summary",
        Kind::BranchSummary,
        &[
            row("fromId", Field::From),
            row("summary", Field::Summary),
            row("details", Field::Details),
            object("usage", Field::Usage, USAGE),
            row("fromHook", Field::FromHook),
        ],
    ),
    EntryType {
        wire: "custom",
        kind: Kind::Extension,
        rows: &[row("customType", Field::CustomType), row("data", Field::Data)],
        payload_first: true,
    },
    EntryType {
        wire: "custom_message",
        kind: Kind::Message,
        rows: &[
            row("customType", Field::CustomType),
            blocks("content", Field::Content, BLOCKS),
            row("display", Field::Display),
            row("details", Field::Details),
        ],
        payload_first: true,
    },
    entry("label", Kind::Label, &[row("targetId", Field::Target), row("label", Field::Label)]),
    entry("session_info", Kind::SessionInfo, &[row("name", Field::Name)]),
    entry(
        "usage",
        Kind::Usage,
        &[
            row("kind", Field::Purpose),
            row("provider", Field::Provider),
            row("model", Field::Model),
            object("usage", Field::Usage, USAGE),
            row("note", Field::Note),
        ],
    ),
    entry(
        "context_edit",
        Kind::ContextEdit,
        &[
            row("targetId", Field::Target),
            object("replacement", Field::Replacement, &[blocks("content", Field::Content, BLOCKS)]),
        ],
    ),
    entry("leaf", Kind::Leaf, &[row("targetId", Field::Target)]),
    entry("active_tools_change", Kind::ToolsChange, &[row("activeToolNames", Field::Tools)]),
    entry("event", Kind::Event, &[row("event", Field::Data)]),
];

/// The key of a compaction's first kept entry from version 2 on.
pub const FIRST_KEPT_ID: &str = "firstKeptEntryId";
/// Key of a compaction's first kept entry in version 1: an index over all parsed records, the
/// header being 0.
pub const FIRST_KEPT_INDEX: &str = "firstKeptEntryIndex";
/// Member for copyist's notes about an entry, which copyist also puts into the header; no release
/// of pi has it.
pub const NOTE: &str = "copyist";

const COMPACTION: &[Row] = &[
    row("summary", Field::Summary),
    row(FIRST_KEPT_ID, Field::FirstKept),
    row("tokensBefore", Field::TokensBefore),
    row("details", Field::Details),
    object("usage", Field::Usage, USAGE),
    row("fromHook", Field::FromHook),
    object(
        "systemMessage",
        Field::SystemMessage,
        &[
            row("role", Field::Role),
            blocks("content", Field::Content, BLOCKS),
            row("sections", Field::Sections),
            row("toolsAdded", Field::ToolsAdded),
            row("toolsRemoved", Field::ToolsRemoved),
            row("timestamp", Field::MessageTime),
        ],
    ),
];

/// The single-member spelling of a model change.
pub static MODEL_CHANGE_JOINED: &[Row] = &[row("model", Field::Model)];

/// Place of a role's members that are not the message's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inner {
    /// No place, as the role has no such members.
    None,
    /// Place in the one `tool_result` block of the message.
    ToolResult,
    /// Place in the message's `bash` group.
    Bash,
}

/// Role of a message.
#[derive(Debug)]
pub struct Role {
    /// Name of the role in pi's files.
    pub wire: &'static str,
    /// Canonical name of the role.
    pub name: &'static str,
    /// Members of the role.
    pub rows: &'static [Row],
    /// Place of the members that are not the message's own.
    pub inner: Inner,
}

const fn role(wire: &'static str, name: &'static str, rows: &'static [Row]) -> Role {
    Role { wire, name, rows, inner: Inner::None }
}

/// Every role that pi itself writes. `hookMessage` is version 2's name of `custom`.
pub static ROLES: &[Role] = &[
    role(
        "user",
        "user",
        &[
            blocks("content", Field::Content, BLOCKS),
            row("attachments", Field::Attachments),
            row("timestamp", Field::MessageTime),
        ],
    ),
    role(
        "assistant",
        "assistant",
        &[
            blocks("content", Field::Content, BLOCKS),
            row("api", Field::Api),
            row("provider", Field::Provider),
            row("model", Field::Model),
            object("usage", Field::Usage, USAGE),
            row("stopReason", Field::StopReason),
            row("timestamp", Field::MessageTime),
            row("responseId", Field::ResponseId),
            row("errorMessage", Field::Error),
        ],
    ),
    Role { wire: "toolResult", name: "tool", rows: TOOL_RESULT, inner: Inner::ToolResult },
    Role { wire: "bashExecution", name: "bash", rows: BASH, inner: Inner::Bash },
    role("custom", "custom", CUSTOM),
    role("hookMessage", "custom", CUSTOM),
    role(
        "system",
        "system",
        &[
            blocks("content", Field::Content, BLOCKS),
            row("sections", Field::Sections),
            row("toolsAdded", Field::ToolsAdded),
            row("toolsRemoved", Field::ToolsRemoved),
            row("timestamp", Field::MessageTime),
        ],
    ),
];

/// Members of a message whose role is not in [`ROLES`].
pub static OTHER_ROLE: &[Row] =
    &[blocks("content", Field::Content, BLOCKS), row("timestamp", Field::MessageTime)];

const TOOL_RESULT: &[Row] = &[
    row("toolCallId", Field::Call),
    row("toolName", Field::Name),
    blocks("content", Field::Content, BLOCKS),
    // Until November 2025 the answer was a string under this name.
    row("output", Field::Output),
    row("details", Field::Details),
    object("usage", Field::Usage, USAGE),
    row("isError", Field::IsError),
    row("timestamp", Field::MessageTime),
];

/// The fields of [`TOOL_RESULT`] that belong to the block.
pub const TOOL_RESULT_BLOCK: &[Field] =
    &[Field::Call, Field::Name, Field::Content, Field::Output, Field::IsError];

const BASH: &[Row] = &[
    row("command", Field::Command),
    row("output", Field::Output),
    row("exitCode", Field::ExitCode),
    row("cancelled", Field::Cancelled),
    row("truncated", Field::Truncated),
    row("fullOutputPath", Field::OutputPath),
    row("timestamp", Field::MessageTime),
    row("excludeFromContext", Field::Excluded),
];

/// The fields of [`BASH`] that belong to the group.
pub const BASH_GROUP: &[Field] = &[
    Field::Command,
    Field::Output,
    Field::ExitCode,
    Field::Cancelled,
    Field::Truncated,
    Field::OutputPath,
];

const CUSTOM: &[Row] = &[
    row("customType", Field::CustomType),
    blocks("content", Field::Content, BLOCKS),
    row("display", Field::Display),
    row("details", Field::Details),
    row("timestamp", Field::MessageTime),
];

const USAGE: &[Row] = &[
    row("input", Field::InputTokens),
    row("output", Field::OutputTokens),
    row("cacheRead", Field::CacheRead),
    row("cacheWrite", Field::CacheWrite),
    row("cacheWrite1h", Field::CacheWriteLong),
    row("reasoning", Field::Reasoning),
    row("totalTokens", Field::Total),
    object(
        "cost",
        Field::Cost,
        &[
            row("input", Field::InputTokens),
            row("output", Field::OutputTokens),
            row("cacheRead", Field::CacheRead),
            row("cacheWrite", Field::CacheWrite),
            row("total", Field::Total),
        ],
    ),
];

/// The types of content blocks.
pub const BLOCKS: &[BlockType] = &[
    BlockType {
        wire: "text",
        name: block::TEXT,
        rows: &[row("text", Field::Text), row("textSignature", Field::Signature)],
    },
    BlockType {
        wire: "thinking",
        name: block::THINKING,
        rows: &[
            row("thinking", Field::Thinking),
            row("thinkingSignature", Field::Signature),
            row("redacted", Field::Redacted),
        ],
    },
    BlockType {
        wire: "image",
        name: block::IMAGE,
        rows: &[row("data", Field::Data), row("mimeType", Field::MediaType)],
    },
    BlockType {
        wire: "toolCall",
        name: block::TOOL_CALL,
        rows: &[
            row("id", Field::Id),
            row("name", Field::Name),
            row("arguments", Field::Arguments),
            row("thoughtSignature", Field::Signature),
            row("namespace", Field::Namespace),
        ],
    },
];

/// Fields of the session record that the header holds.
pub const HEADER_FIELDS: &[Field] = &[
    Field::Source,
    Field::Id,
    Field::Provider,
    Field::Model,
    Field::Created,
    Field::Cwd,
    Field::ParentSession,
    Field::ThinkingLevel,
    Field::SystemPrompt,
    Field::Name,
    Field::File,
    Field::Extra,
    Field::Layout,
];
