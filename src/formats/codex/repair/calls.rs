//! Calls without results and results without calls, which a model's interface refuses.
//!
//! Codex itself puts `aborted` behind a call without a result and leaves out a result without its
//! call, but release 0.34 puts the former before everything else and sends the latter.

use super::super::{items, line, wire};
use super::{is_of, payload_of};
use crate::json::Json;
use std::collections::{HashMap, HashSet};

/// Number of calls, and of results, of one identifier.
type Pair = [u32; 2];

/// Outcome of a line with a call or a result.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is to be done.
    Stays,
    /// A call that gets a result: whether it is one of a custom tool, and its identifier.
    Lacks(bool, Json),
    /// A result that no call, or none but an answered one, goes before.
    Orphan,
}

/// Calls and results of a rollout.
#[derive(Default)]
pub struct Calls {
    all: HashMap<u64, Pair>,
    /// The calls and results of the lines that were written.
    written: HashMap<u64, Pair>,
    /// Calls of the histories that compactions begin, which are not lines of their own.
    begun: HashSet<u64>,
}

/// Returns whether an item is a result, whether its tool is a custom one, and the identifier of the
/// call; `None` for an item that is neither a call nor a result.
fn read(item: &Json) -> Option<(usize, bool, Json)> {
    let (side, custom) = match item.member("type")?.text()?.as_str() {
        "function_call" | "local_shell_call" => (0, false),
        "custom_tool_call" => (0, true),
        "function_call_output" => (1, false),
        "custom_tool_call_output" => (1, true),
        _ => return None,
    };
    let call = item.member("call_id").filter(|call| call.text().is_some())?;
    Some((side, custom, call))
}

fn item_of(object: &Json) -> Option<Json> {
    let enveloped = object.member("payload").is_some();
    (!enveloped || is_of(object, wire::ITEM)).then(|| payload_of(object))
}

impl Calls {
    /// Looks at a line.
    pub fn note(&mut self, object: &Json) {
        if is_of(object, wire::COMPACTED) {
            let list = payload_of(object).member("replacement_history").unwrap_or_default();
            let calls = list.elements().filter_map(|item| read(&item)).filter(|found| found.0 == 0);
            self.begun.extend(calls.map(|(_, _, call)| items::hash_of(&call)));
        } else if let Some((side, _, call)) = item_of(object).as_ref().and_then(read) {
            count(&mut self.all, items::hash_of(&call), side);
        }
    }

    /// Whether a line is put in or set aside.
    pub fn changes(&self) -> bool {
        self.all.iter().any(|(name, [calls, results])| {
            calls > results || (results > calls && !self.begun.contains(name))
        })
    }

    /// Whether a line is set aside.
    pub fn removes(&self) -> bool {
        let orphan =
            |(name, [calls, results]): (&u64, &Pair)| results > calls && !self.begun.contains(name);
        self.all.iter().any(orphan)
    }

    /// Decides on the line that is written next.
    pub fn decide(&mut self, object: &Json) -> Verdict {
        let Some((side, custom, call)) = item_of(object).as_ref().and_then(read) else {
            return Verdict::Stays;
        };
        let name = items::hash_of(&call);
        let number = count(&mut self.written, name, side);
        let [calls, results] = self.all.get(&name).copied().unwrap_or_default();
        match side {
            0 if number > results => Verdict::Lacks(custom, call),
            1 if number > calls && !self.begun.contains(&name) => Verdict::Orphan,
            _ => Verdict::Stays,
        }
    }
}

/// Counts one more, and returns how many there are.
fn count(pairs: &mut HashMap<u64, Pair>, name: u64, side: usize) -> u32 {
    let pair = pairs.entry(name).or_default();
    pair.get_mut(side).map_or(0, |number| {
        *number += 1;
        *number
    })
}

/// Returns the line with the result of a call, which gets the time of the call's line.
pub fn result(of: &Json, (custom, call): (bool, &Json), number: Option<u64>) -> Vec<u8> {
    let mut item = Vec::new();
    items::aborted(custom, call, &mut item);
    if of.member("payload").is_none() {
        return item;
    }
    line::item(of, &item, number)
}
