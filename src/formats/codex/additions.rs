//! Lines that Codex adds to a rollout by itself.
//!
//! Source: rollouts that releases 0.34.0, 0.77.0 and 0.169.0 resumed, and openai/codex
//! (`protocol/src/protocol.rs`). Codex never writes the first line again.

use super::wire;
use crate::record::{Field, Kind, Record};

/// Returns what a line is that Codex adds by itself. The settings of a turn name a model, and are
/// taken over by formats with changes of the model.
pub fn addition(record: &Record) -> Option<&'static str> {
    let is = |field, text| record.node.is(field, text);
    Some(match record.kind {
        Kind::Extension if is(Field::CustomType, "user") => "environment message",
        Kind::Extension => "developer message",
        Kind::ModelChange => "turn context",
        Kind::Notice if is(Field::Subtype, wire::TURN_CONTEXT) => "turn context",
        Kind::Notice if is(Field::Subtype, "world_state") => "world state",
        Kind::Notice if is(Field::Subtype, "token_usage_record") => "token count",
        Kind::Notice if is(Field::Subtype, wire::META) => "header",
        Kind::Event => "event",
        Kind::Opaque if is(Field::Type, "ghost_snapshot") => "snapshot",
        Kind::Notice | Kind::Opaque => "other line",
        _ => return None,
    })
}
