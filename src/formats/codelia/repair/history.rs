//! Messages that an agent had in memory when its run was killed, as far as the run proves them.
//!
//! A request contains all earlier messages, and its response the messages after them. Codelia
//! spells requests when it writes them, and messages may have come in the meantime: such a request
//! contains its own response, and the messages after it. Outputs of tools that no later request
//! contains are taken from their records, if the records cannot differ from the messages that the
//! agent had: the agent would have cut long outputs, and the record contains only a placeholder for
//! a picture.
//!
//! Source: traps T1 and T4 of `packages/runtime` at 48e27ff, as they were observed.

use super::messages::role;
use super::run::kind_of;
use crate::error::Result;
use crate::format::Cx;
use crate::ids::fingerprint;
use crate::json::{Json, is_whole};
use crate::lines::Lines;
use crate::mapping::Object;
use bytes::Bytes;
use std::io::Read;

/// Maximum length in bytes of an output that the model gets without a cut.
const LONGEST: usize = 50 << 10;

/// Returns the messages of the last request of a run, its response, and the outputs after it.
pub fn of(run: Box<dyn Read>, cx: &Cx<'_>) -> Result<Vec<Json>> {
    let (mut history, mut asked, mut open) = (Vec::new(), None, Vec::new());
    let mut lines = Lines::new(run, cx.options.max_line);
    lines.skip_bom()?;
    while let Some(line) = lines.next()? {
        let bytes = line.bytes.trim_ascii();
        if !is_whole(bytes) {
            continue;
        }
        let record = Json::trusted(Bytes::copy_from_slice(bytes));
        match kind_of(&record).unwrap_or_default().as_str() {
            "llm.request" => {
                history = messages(&record, "input");
                asked = record.member("seq");
                open.clear();
            }
            "llm.response" if asked.is_some() && record.member("seq") == asked => {
                let said = messages(&record, "output");
                open = said.iter().flat_map(calls).collect();
                // An earlier turn may contain the same answer.
                let mut turn = history.iter().rev().take_while(|message| role(message) != "user");
                if !turn.any(|message| said.first() == Some(message)) {
                    history.extend(said);
                }
            }
            "tool.output" => {
                let id = record.member("tool_call_id").filter(|id| open.contains(id));
                let known = |id: &Json| {
                    history
                        .iter()
                        .any(|message| message.member("tool_call_id").as_ref() == Some(id))
                };
                let id = id.filter(|id| !known(id));
                history.extend(id.and_then(|id| result(&record, &id)));
            }
            _ => {}
        }
    }
    Ok(history)
}

fn messages(record: &Json, side: &str) -> Vec<Json> {
    let list = record.member(side).and_then(|side| side.member("messages"));
    list.iter().flat_map(Json::elements).collect()
}

fn calls(message: &Json) -> Vec<Json> {
    let calls = message.member("tool_calls");
    calls.iter().flat_map(Json::elements).filter_map(|call| call.member("id")).collect()
}

/// Converts an output to the message that it became.
fn result(output: &Json, id: &Json) -> Option<Json> {
    let raw = output.member("result_raw")?;
    let said = raw.text().filter(|said| said.len() <= LONGEST && !said.contains("[image]"))?;
    let tool = output.member("tool")?;
    Some(Object::json(|object| {
        object.member("role", b"\"tool\"");
        object.member("tool_call_id", id.as_bytes());
        object.member("tool_name", tool.as_bytes());
        object.member("content", Json::string(&said.replace("\r\n", "\n")).as_bytes());
        if output.member("is_error").is_some_and(|failed| failed.as_bytes() == b"true") {
            object.member("is_error", b"true");
        }
    }))
}

/// Returns the messages of a history after the stored ones, which are known by their hashes; `None`
/// if the history does not begin with them. Only some releases store system messages.
pub fn missing(history: Vec<Json>, stored: &[u64]) -> Option<Vec<Json>> {
    let follows = |history: &[Json]| {
        let begins = history.len() > stored.len();
        let mut pairs = history.iter().zip(stored);
        begins && pairs.all(|(message, stored)| fingerprint(message.as_bytes()) == *stored)
    };
    let mut history = history;
    if stored.is_empty() || !follows(&history) {
        history.retain(|message| role(message) != "system");
    }
    follows(&history).then(|| history.split_off(stored.len()))
}
