//! Session traces of Hugging Face: a header, and a line for each message.

use super::Counts;
use super::chat::{Message, NOTHING};
use super::items::{Arguments, calls};
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::block;

/// Returns the lines of a session.
pub fn row(id: &str, system: Option<&Json>, messages: &[Message], counts: &mut Counts) -> Vec<u8> {
    let mut out = Vec::new();
    let mut header = Object::open(&mut out);
    header.member("type", b"\"session\"");
    header.member("harness", b"\"copyist\"");
    text::quote(id, header.key("id"));
    header.close();
    if let Some(system) = system {
        line("system", &mut out, &mut |object| object.member("content", system.as_bytes()));
    }
    for message in messages {
        match message {
            Message::User(parts) => line("user", &mut out, &mut |object| {
                let text = block::all_text(parts).unwrap_or(NOTHING);
                object.member("content", text.as_bytes());
            }),
            Message::Answer(answer) => {
                counts.add("thoughts", answer.thoughts.len() as u64);
                if answer.text.is_none() && answer.calls.is_empty() {
                    continue;
                }
                line("assistant", &mut out, &mut |object| {
                    object.member("content", answer.text.as_ref().unwrap_or(&NOTHING).as_bytes());
                    calls(&answer.calls, "toolCalls", Arguments::Text, object);
                });
            }
            Message::Result(result) => line("tool", &mut out, &mut |object| {
                object.member("toolCallId", result.id.as_bytes());
                object.member("content", result.text.as_bytes());
            }),
        }
    }
    out
}

fn line(role: &str, out: &mut Vec<u8>, members: &mut dyn FnMut(&mut Object<'_>)) {
    out.push(b'\n');
    let mut object = Object::open(out);
    object.member("type", b"\"message\"");
    let mut message = Object::open(object.key("message"));
    text::quote(role, message.key("role"));
    members(&mut message);
    message.close();
    object.close();
}
