//! Rows of transformers and TRL: contents are texts, arguments are objects, and a result has the
//! name of its tool. Chat templates drop or misprint anything else.

use super::Counts;
use super::chat::{Answer, Message, NOTHING, joined, thinking};
use super::items::{Arguments, Items, calls};
use crate::json::Json;
use crate::mapping::Object;
use crate::record::block;

/// Returns a row: `{"messages":[…]}`.
pub fn row(system: Option<&Json>, messages: &[Message], counts: &mut Counts) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    let mut list = Items::open(object.key("messages"));
    list.system(system);
    for message in messages {
        match message {
            Message::User(parts) => {
                let mut object = list.item("user");
                let text = block::all_text(parts).unwrap_or(NOTHING);
                object.member("content", text.as_bytes());
                object.close();
            }
            Message::Answer(given) => answer(given, &mut list, counts),
            Message::Result(result) => {
                let mut object = list.item("tool");
                object.member("tool_call_id", result.id.as_bytes());
                object.member("name", result.name.as_bytes());
                object.member("content", result.text.as_bytes());
                object.close();
            }
        }
    }
    list.close();
    object.close();
    Some(out)
}

fn answer(answer: &Answer, list: &mut Items<'_>, counts: &mut Counts) {
    let thoughts = thinking(&answer.thoughts);
    let hidden = answer.thoughts.len() - thoughts.len();
    counts.add("thoughts that are encrypted", hidden as u64);
    let thoughts = thoughts.into_iter().fold(None, |all, text| Some(joined(all, text)));
    if answer.text.is_none() && answer.calls.is_empty() && thoughts.is_none() {
        return;
    }
    let mut object = list.item("assistant");
    object.member("content", answer.text.as_ref().unwrap_or(&NOTHING).as_bytes());
    if let Some(thoughts) = thoughts {
        object.member("reasoning_content", thoughts.as_bytes());
    }
    calls(&answer.calls, "tool_calls", Arguments::Object, &mut object);
    object.close();
}
