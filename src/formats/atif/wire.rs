//! Names of members, beside the fields of the model, in the order of Harbor's own models.

use crate::json::{Json, text};
use crate::mapping::{Extra, Row, apart, kept, row};
use crate::record::{Field, block};

/// Trajectory.
pub const ROOT: &[Row] = &[
    kept("schema_version"),
    row("session_id", Field::Id),
    kept("trajectory_id"),
    apart("agent"),
    apart("steps"),
    kept("notes"),
    apart("final_metrics"),
    kept("continued_trajectory_ref"),
    apart("extra"),
    apart("subagent_trajectories"),
];

/// Agent of a trajectory.
pub const AGENT: &[Row] = &[
    row("name", Field::Agent),
    kept("version"),
    row("model_name", Field::Model),
    row("tool_definitions", Field::Tools),
    kept("extra"),
];

/// Step.
pub const STEP: &[Row] = &[
    apart("step_id"),
    row("timestamp", Field::Time),
    apart("source"),
    row("model_name", Field::Model),
    kept("reasoning_effort"),
    apart("message"),
    apart("reasoning_content"),
    apart("tool_calls"),
    apart("observation"),
    apart("metrics"),
    kept("is_copied_context"),
    kept("llm_call_count"),
    apart("extra"),
];

/// Call of a tool.
pub const CALL: &[Row] = &[
    row("tool_call_id", Field::Id),
    row("function_name", Field::Name),
    apart("arguments"),
    kept("extra"),
];

/// Result of a call.
pub const RESULT: &[Row] = &[
    row("source_call_id", Field::Call),
    apart("content"),
    apart("subagent_trajectory_ref"),
    apart("extra"),
];

/// Tokens and cost of a step.
pub const METRICS: &[Row] = &[
    apart("prompt_tokens"),
    row("completion_tokens", Field::OutputTokens),
    row("cached_tokens", Field::CacheRead),
    apart("cost_usd"),
    kept("prompt_token_ids"),
    kept("completion_token_ids"),
    kept("logprobs"),
    apart("extra"),
];

/// Members of `extra` of a step's metrics that have fields.
pub const METRICS_EXTRA: [(&str, Field); 2] =
    [("cache_creation_input_tokens", Field::CacheWrite), ("reasoning_tokens", Field::Reasoning)];

/// Version that is written for sessions of other formats.
pub const VERSION: &str = "ATIF-v1.7";

/// Member of every `extra` in which copyist keeps what a trajectory has no place for.
pub const OURS: &str = "copyist";

/// Beginning of the data of an image that is in a file.
pub const FILE: &str = "blob:";

/// Text between the thoughts of one answer.
pub const SEAM: &str = "\n\n";

/// Types of images that a trajectory can have, and the endings of their files.
pub const IMAGES: [(&str, &str); 4] =
    [("image/png", "png"), ("image/jpeg", "jpg"), ("image/gif", "gif"), ("image/webp", "webp")];

/// Returns an object without the member of copyist, and that member.
pub fn divided(extra: &Json) -> (Option<Json>, Option<Json>) {
    let (mut rest, mut ours) = (Extra::default(), None);
    for (key, value) in extra.pairs() {
        if text::is(key.as_bytes(), OURS) && value.is_object() {
            ours = Some(value);
        } else {
            rest.add(key.as_bytes(), value.as_bytes());
        }
    }
    let rest = rest.finish();
    // An object that was empty is one.
    let rest = rest.or_else(|| ours.is_none().then_some(Json::constant("{}")));
    (rest, ours)
}

/// Returns an object with a member of copyist behind the others, with what that has already; `None`
/// without any.
pub fn with_ours(extra: Option<&Json>, ours: Option<&Json>) -> Option<Json> {
    let (rest, kept) = extra.filter(|extra| extra.is_object()).map(divided).unwrap_or_default();
    let mut all = Extra::default();
    kept.iter().chain(ours).for_each(|members| all.add_members(members));
    let Some(all) = all.finish() else { return extra.cloned() };
    let mut out = Extra::default();
    rest.iter().for_each(|rest| out.add_members(rest));
    out.add(b"\"copyist\"", all.as_bytes());
    out.finish()
}

/// Returns the text in a step in place of a block that a trajectory has no part for.
pub fn shown(block: &Json) -> Option<String> {
    let kind = block.member("type")?.text()?;
    let mut node = block::of(&kind);
    for field in [Field::Name, Field::Data, Field::MediaType] {
        node.put(field, block.member(field.name()));
    }
    [block::IMAGE, block::DOCUMENT, block::OPAQUE].contains(&kind.as_str()).then_some(())?;
    block::placeholder(&node).text(Field::Text)
}
