//! Repair of trajectories: of damage, and of what Harbor refuses.

use super::PATH;
use crate::diagnostic::Code;
use crate::document::{self, Rules};
use crate::error::Result;
use crate::format::{Cx, RepairIo, RepairOptions, Repaired};
use crate::json::edit::Edits;
use crate::json::{Json, member};
use crate::mapping::Extra;
use bytes::Bytes;

static RULES: Rules = Rules {
    path: PATH,
    recognise: |item| {
        ["step_id", "source", "message"].iter().all(|name| member(item, name).is_some())
    },
    lacks: |document, _| {
        let mut lacks = Extra::default();
        for (name, value) in [("agent", AGENT), ("steps", b"[]")] {
            if document.member(name).is_none() {
                lacks.add(Json::string(name).as_bytes(), value);
            }
        }
        Some(lacks.finish().unwrap_or(Json::constant("{}")))
    },
    complete: Some(complete),
    notes_in: Some("extra"),
};

/// Agent of a document that names none.
const AGENT: &[u8] = br#"{"name":"unknown","version":"unknown"}"#;

/// Repairs a document.
///
/// # Errors
/// If nothing of it can be recovered, or reading or writing fails.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let images: Vec<String> = io.parts().names().into_iter().filter(|n| !n.is_empty()).collect();
    let done = document::repair(&RULES, io, wanted, cx)?;
    images.iter().try_for_each(|name| io.keep(name))?;
    Ok(done)
}

/// Numbers the steps from 1 on, and adds the name and the version of the agent, without which Harbor
/// refuses a document. Returns the fixes; none if nothing is to be changed.
fn complete(text: &[u8], _: &RepairOptions, _: &Cx<'_>) -> Option<(Vec<u8>, Vec<Code>)> {
    let document = Json::trusted(Bytes::copy_from_slice(text));
    let (mut edits, mut fixes) = (Edits::default(), Vec::new());
    if let Some(agent) = document.member("agent").filter(|agent| agent.member("version").is_none())
        && let Some(name) = agent.member("name")
    {
        let place = document.place_of(&name);
        let behind = crate::json::Span { start: place.end, end: place.end };
        edits.replace(behind, b",\"version\":\"unknown\"");
        fixes.push(Code::MemberRestored);
    }
    let steps = document.member("steps").unwrap_or_default();
    let mut is_renumbered = false;
    for (number, step) in (1..).zip(steps.elements()) {
        let Some(own) = step.member("step_id") else { continue };
        let number: u64 = number;
        if own.as_bytes() != number.to_string().as_bytes() {
            edits.replace(document.place_of(&own), number.to_string().as_bytes());
            is_renumbered = true;
        }
    }
    fixes.extend(is_renumbered.then_some(Code::StepRenumbered));
    if fixes.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let close = text.iter().rposition(|byte| *byte == b'}')?;
    edits.apply(text, close, false, &mut out);
    Some((out, fixes))
}
