//! What an agent held in memory when its run was killed, as far as the run proves it.
//!
//! A request tells all messages that went before, and its response what came then. Requests are
//! spelled when they are written, and messages may have come in the meantime: such a request holds
//! its own response, and what followed it. Outputs of tools that no request tells of any more are
//! taken from their records, if those cannot differ from what the agent had: long ones it would have
//! cut, and of pictures the record holds only a word.
//!
//! Source: traps T1 and T4 of `packages/runtime` at 48e27ff, as they were seen.

use super::messages::role;
use super::run::kind_of;
use crate::error::Result;
use crate::format::Cx;
use crate::ids::fingerprint;
use crate::json::{Cursor, Json};
use crate::lines::Lines;
use crate::mapping::Object;
use bytes::Bytes;
use std::io::Read;

/// Outputs longer than this are cut before the model gets them.
const LONGEST: usize = 50 << 10;

/// The messages of the last request of a run, its response, and outputs that came then.
///
/// # Errors
/// If the run cannot be read.
pub fn of(run: Box<dyn Read>, cx: &Cx<'_>) -> Result<Vec<Json>> {
    let (mut history, mut asked, mut open) = (Vec::new(), None, Vec::new());
    let mut lines = Lines::new(run, cx.options.max_line);
    lines.skip_bom()?;
    while let Some(line) = lines.next()? {
        let bytes = line.bytes.trim_ascii();
        let mut cursor = Cursor::new(bytes);
        if cursor.skip_value().is_err() || cursor.end().is_err() {
            continue;
        }
        let record = Json::checked(Bytes::copy_from_slice(bytes));
        match kind_of(&record).unwrap_or_default().as_str() {
            "llm.request" => {
                history = messages(&record, "input");
                asked = record.member("seq");
                open.clear();
            }
            "llm.response" if asked.is_some() && record.member("seq") == asked => {
                let said = messages(&record, "output");
                open = said.iter().flat_map(calls).collect();
                // An earlier turn may have said the same.
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

/// The message that an output became.
fn result(output: &Json, id: &Json) -> Option<Json> {
    let raw = output.member("result_raw")?;
    let said = raw.text().filter(|said| said.len() <= LONGEST && !said.contains("[image]"))?;
    let tool = output.member("tool")?;
    let mut message = Vec::new();
    let mut object = Object::open(&mut message);
    object.member("role", b"\"tool\"");
    object.member("tool_call_id", id.as_bytes());
    object.member("tool_name", tool.as_bytes());
    object.member("content", Json::string(&said.replace("\r\n", "\n")).as_bytes());
    if output.member("is_error").is_some_and(|failed| failed.as_bytes() == b"true") {
        object.member("is_error", b"true");
    }
    object.close();
    Some(Json::checked(message.into()))
}

/// The messages of a history that follow those that are stored, which are told by their hashes;
/// `None` if it does not begin with these. The system's words are stored by some releases only.
#[must_use]
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
