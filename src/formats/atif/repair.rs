//! Repair of trajectories: of damage, and of what Harbor refuses.

use super::{PATH, read_step, wire};
use crate::document::{self, Rules};
use crate::error::Result;
use crate::format::{Cx, RepairIo, RepairOptions, Repaired};
use crate::json::{Json, member};
use crate::mapping::Extra;

static RULES: Rules = Rules {
    path: PATH,
    recognise: |item| {
        let has = |name: &str| member(item, name).is_some();
        has("source") && has("message") && has("step_id")
    },
    lacks: |document, _| {
        let mut lacks = Extra::default();
        let agent = br#"{"name":"unknown","version":"unknown"}"#.as_slice();
        for (name, value) in [("agent", agent), ("steps", b"[]")] {
            if document.member(name).is_none() {
                lacks.add(Json::string(name).as_bytes(), value);
            }
        }
        Some(lacks.finish().unwrap_or(Json::constant("{}")))
    },
    complete: None,
};

/// Repairs a document.
///
/// # Errors
/// If nothing of it can be recovered, or reading or writing fails.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let _ = (read_step::OBSERVED, wire::VERSION);
    document::repair(&RULES, io, wanted, cx)
}
