//! Calls without results and results without calls, which a model's interface refuses.
//!
//! Codex itself puts `aborted` behind a call without a result and leaves out a result without its
//! call, but release 0.34 puts the former before everything else and sends the latter.

use super::super::{items, line, wire};
use super::{is_of, payload_of};
use crate::json::Json;
use crate::repair::Waiting;
use std::collections::{HashMap, HashSet};

/// A call: whether it is one of a custom tool, and its identifier.
type Call = (bool, Json);

/// Calls and results of a rollout. A result belongs to the first call of its identifier that has
/// none, whichever of the two comes first.
#[derive(Default)]
pub struct Calls {
    calls: Waiting<u64, (u64, Call)>,
    results: Waiting<u64, (u64, u64)>,
    /// Calls of the histories that compactions begin, which are not lines of their own.
    begun: HashSet<u64>,
    /// Places of the lines with calls that get a result, and of those with results that no call, or
    /// none but an answered one, goes with.
    lacking: HashMap<u64, Call>,
    orphans: HashSet<u64>,
}

/// Returns whether an item is a result, whether its tool is a custom one, and the identifier of the
/// call; `None` for an item that is neither a call nor a result.
fn read(item: &Json) -> Option<(bool, Call)> {
    let (is_result, custom) = match item.member("type")?.text()?.as_str() {
        "function_call" | "local_shell_call" => (false, false),
        "custom_tool_call" => (false, true),
        "function_call_output" => (true, false),
        "custom_tool_call_output" => (true, true),
        _ => return None,
    };
    let call = item.member("call_id").filter(|call| call.text().is_some())?;
    Some((is_result, (custom, call.detached())))
}

fn item_of(object: &Json) -> Option<Json> {
    let enveloped = object.member("payload").is_some();
    (!enveloped || is_of(object, wire::ITEM)).then(|| payload_of(object))
}

impl Calls {
    /// Looks at the line at a place.
    pub fn note(&mut self, object: &Json, place: u64) {
        if is_of(object, wire::COMPACTED) {
            let list = payload_of(object).member("replacement_history").unwrap_or_default();
            let calls = list.elements().filter_map(|item| read(&item)).filter(|found| !found.0);
            self.begun.extend(calls.map(|(_, (_, call))| items::hash_of(&call)));
        } else if let Some((is_result, call)) = item_of(object).as_ref().and_then(read) {
            let name = items::hash_of(&call.1);
            match is_result {
                true if self.calls.take(&name).is_none() => self.results.push(name, (place, name)),
                false if self.results.take(&name).is_none() => {
                    self.calls.push(name, (place, call));
                }
                _ => {}
            }
        }
    }

    /// Decides, when all lines were looked at.
    pub fn decide(&mut self) {
        self.lacking = std::mem::take(&mut self.calls).rest().collect();
        let results = std::mem::take(&mut self.results).rest();
        let orphans = results.filter(|(_, name)| !self.begun.contains(name));
        self.orphans = orphans.map(|(place, _)| place).collect();
    }

    /// Whether a line is put in or set aside.
    pub fn changes(&self) -> bool {
        !self.lacking.is_empty() || self.removes()
    }

    /// Whether a line is set aside.
    pub fn removes(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Whether the line at a place is a result that is set aside.
    pub fn is_orphan(&self, place: u64) -> bool {
        self.orphans.contains(&place)
    }

    /// Returns the call of the line at a place, if it gets a result.
    pub fn lacking(&self, place: u64) -> Option<&Call> {
        self.lacking.get(&place)
    }
}

/// Returns the line with the result of a call, which gets the time of the call's line.
pub fn result(of: &Json, (custom, call): &Call, number: Option<u64>) -> Vec<u8> {
    let mut item = Vec::new();
    items::aborted(*custom, call, &mut item);
    let is_bare = of.member("payload").is_none();
    if is_bare { item } else { line::item(of, &item, number) }
}
