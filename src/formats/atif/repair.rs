//! Repair of trajectories: of damage, and of what Harbor refuses.

use super::PATH;
use crate::diagnostic::Code;
use crate::document::{self, Changes, Rules};
use crate::error::Result;
use crate::format::{Cx, RepairIo, RepairOptions, Repaired};
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
    let mut changes = Changes::of(&document);
    if let Some(agent) = document.member("agent") {
        changes.add(&agent, &[("name", "\"unknown\""), ("version", "\"unknown\"")]);
    }
    let has_agent = changes.is_added();
    let mut is_renumbered = false;
    for (number, step) in (1u64..).zip(document.member("steps").unwrap_or_default().elements()) {
        let number = number.to_string();
        match step.member("step_id") {
            Some(own) if own.as_bytes() == number.as_bytes() => continue,
            Some(own) => changes.set(&own, number.as_bytes()),
            None => changes.add(&step, &[("step_id", &number)]),
        }
        is_renumbered = true;
    }
    let codes =
        [has_agent.then_some(Code::MemberRestored), is_renumbered.then_some(Code::StepRenumbered)];
    Some((changes.apply()?, codes.into_iter().flatten().collect()))
}
