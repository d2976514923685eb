//! Rows of OpenAI's Chat Completions, and those for fine-tuning.

use super::Counts;
use super::chat::{Answer, Message, NOTHING, ToolResult};
use super::items::{Arguments, Items, calls};
use crate::dialect::chat_completions;
use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Node, block};
use std::collections::{BTreeMap, BTreeSet};

/// Returns a row: `{"messages":[…]}`.
pub fn row(system: Option<&Json>, messages: &[Message], counts: &mut Counts) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    write(system, messages, None, counts, object.key("messages"));
    object.close();
    Some(out)
}

/// Returns a row for fine-tuning: the last message is an answer, and each tool that is called is
/// in `tools`. Answers before the message `weighed` have the weight 0.
pub fn finetune(
    system: Option<&Json>,
    messages: &[Message],
    weighed: usize,
    counts: &mut Counts,
) -> Option<Vec<u8>> {
    let is_end =
        |message: &Message| matches!(message, Message::Answer(answer) if answer.calls.is_empty());
    let last = messages.iter().rposition(is_end)?;
    counts.add("messages after the last answer", (messages.len() - last - 1) as u64);
    let messages = messages.get(..=last)?;
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    write(system, messages, Some(weighed), counts, object.key("messages"));
    let tools = tools(messages);
    if !tools.is_empty() {
        object.member("tools", &tools);
    }
    object.close();
    Some(out)
}

fn write(
    system: Option<&Json>,
    messages: &[Message],
    weighed: Option<usize>,
    counts: &mut Counts,
    out: &mut Vec<u8>,
) {
    let mut list = Items::open(out);
    list.system(system);
    let mut images: Vec<Node> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if !matches!(message, Message::Result(_)) {
            show_images(&mut images, &mut list);
        }
        match message {
            Message::User(parts) => {
                let mut object = list.item("user");
                content(parts, object.key("content"));
                object.close();
            }
            Message::Answer(given) => {
                counts.add("thoughts", given.thoughts.len() as u64);
                if given.text.is_some() || !given.calls.is_empty() {
                    answer(given, weighed.map(|weighed| place >= weighed), &mut list);
                }
            }
            Message::Result(result) => {
                tool(result, &mut list);
                images.extend(result.images.iter().cloned());
            }
        }
    }
    show_images(&mut images, &mut list);
    list.close();
}

fn answer(given: &Answer, weight: Option<bool>, list: &mut Items<'_>) {
    let mut object = list.item("assistant");
    let none = Json::constant("null");
    object.member("content", given.text.as_ref().unwrap_or(&none).as_bytes());
    calls(&given.calls, "tool_calls", Arguments::Text, &mut object);
    // Answers count where nothing else is said.
    if weight == Some(false) {
        object.member("weight", b"0");
    }
    object.close();
}

fn tool(result: &ToolResult, list: &mut Items<'_>) {
    let mut object = list.item("tool");
    object.member("tool_call_id", result.id.as_bytes());
    object.member("content", result.text.as_bytes());
    object.close();
}

/// Writes the images of results, which have no place for them, behind all results of the answer.
fn show_images(images: &mut Vec<Node>, list: &mut Items<'_>) {
    if images.is_empty() {
        return;
    }
    let mut parts = vec![block::text(Json::constant("\"Attached image(s) from tool result:\""))];
    parts.append(images);
    let mut object = list.item("user");
    content(&parts, object.key("content"));
    object.close();
}

/// Writes texts as one text, unless there is an image.
fn content(parts: &[Node], out: &mut Vec<u8>) {
    match parts.iter().all(|part| part.is(Field::Type, block::TEXT)) {
        true => out.extend_from_slice(block::all_text(parts).unwrap_or(NOTHING).as_bytes()),
        false => chat_completions::write_parts(parts, out),
    }
}

/// Returns definitions of the tools that are called, with the names of the arguments that occur:
/// sessions do not contain the definitions that the model got.
fn tools(messages: &[Message]) -> Vec<u8> {
    let mut tools: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
    for message in messages {
        let Message::Answer(answer) = message else { continue };
        for call in &answer.calls {
            let keys = call.arguments.members().map(|(key, _)| key.to_vec());
            tools.entry(call.name.as_bytes()).or_default().extend(keys);
        }
    }
    let mut out = Vec::new();
    for (name, keys) in &tools {
        out.push(if out.is_empty() { b'[' } else { b',' });
        let mut tool = Object::open(&mut out);
        tool.member("type", b"\"function\"");
        let mut function = Object::open(tool.key("function"));
        function.member("name", name);
        let mut parameters = Object::open(function.key("parameters"));
        parameters.member("type", b"\"object\"");
        let mut properties = Object::open(parameters.key("properties"));
        keys.iter().for_each(|key| properties.spelled(key, b"{}"));
        properties.close();
        parameters.close();
        function.close();
        tool.close();
    }
    if !out.is_empty() {
        out.push(b']');
    }
    out
}
