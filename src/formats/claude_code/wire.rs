//! Claude Code's own names of members and types of lines.
//!
//! Source: transcripts that releases 1.0.0 to 2.1.332 wrote.

use crate::mapping::{Row, object, row};
use crate::record::Field;

/// Members of a line in the chain.
pub static CHAIN: &[Row] = &[
    row(PARENT, Field::Parent),
    row("uuid", Field::Id),
    row("timestamp", Field::Time),
    row("toolUseResult", Field::Details),
];

/// Members of the message inside a line.
pub static MESSAGE: &[Row] = &[
    row("id", Field::ResponseId),
    row("model", Field::Model),
    row("stop_reason", Field::StopReason),
    object("usage", Field::Usage, USAGE),
];

/// Member that names the line before.
pub const PARENT: &str = "parentUuid";
/// Member that is true for lines of a sub-agent.
pub const SIDE: &str = "isSidechain";
/// Member that is true for the program's own words to the model.
pub const META: &str = "isMeta";
/// Member that is true for the summary of a compaction.
pub const SUMMARY: &str = "isCompactSummary";
/// Member that is true for an error of the interface in the place of an answer.
pub const API_ERROR: &str = "isApiErrorMessage";
/// Member of the line with which a compaction begins, whose `preservedMessages` or
/// `preservedSegment` name the messages that it keeps.
pub const COMPACTION: &str = "compactMetadata";
/// Member of the same line that names the last line before the compaction.
pub const BEFORE: &str = "logicalParentUuid";

/// Type of the line with the title that the user gave.
pub const CUSTOM_TITLE: &str = "custom-title";

/// Types of lines in the chain.
pub const CHAINED: &[&str] = &["user", "assistant", "system", "attachment", PROGRESS];

/// Type of lines about the progress of a call.
pub const PROGRESS: &str = "progress";

/// Types of lines beside the chain by which a transcript is recognised, each with another member
/// that it has.
pub const BESIDE: &[(&str, &str)] = &[
    ("summary", "leafUuid"),
    ("file-history-snapshot", "messageId"),
    ("queue-operation", "sessionId"),
    ("last-prompt", "sessionId"),
    (CUSTOM_TITLE, "sessionId"),
    ("ai-title", "sessionId"),
    ("agent-name", "sessionId"),
    ("permission-mode", "sessionId"),
    ("mode", "sessionId"),
    ("atis-latch", "sessionId"),
];

/// Names of the tool that starts a sub-agent.
pub const AGENT_TOOLS: &[&str] = &["Task", "Agent"];

/// Beginning of the names of parts with the lines of sub-agents.
pub const AGENTS: &str = "/subagents/";
/// Ending of the names of parts with facts about sub-agents.
pub const ABOUT_AGENT: &str = ".meta.json";
/// Folders, in a folder with the session's name, whose files belong to the session: lines of
/// sub-agents and facts about them, and long output of tools.
pub const FOLDERS: &[&str] = &["subagents", OUTPUT];
/// The folder of long output.
pub const OUTPUTS: &[&str] = &[OUTPUT];
const OUTPUT: &str = "tool-results";

/// Members of an answer's `usage`.
const USAGE: &[Row] = &[
    row("input_tokens", Field::InputTokens),
    row("cache_creation_input_tokens", Field::CacheWrite),
    row("cache_read_input_tokens", Field::CacheRead),
    row("output_tokens", Field::OutputTokens),
];
