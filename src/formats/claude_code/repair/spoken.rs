//! Messages of lines, as `--resumable` sees them.

use super::super::command::{SYSTEM, is_command};
use super::super::queued::{ATTACHMENT, is_queued};
use super::super::wire;
use crate::formats::claude_code::members::Members;
use crate::json::Json;
use crate::times;
use bytes::Bytes;
use jiff::Timestamp;

/// A line whose message some releases cannot read, and then end with an error.
pub struct Unusable;

/// A message of a line.
#[derive(Debug)]
pub struct Spoken {
    pub assistant: bool,
    /// Whether the line has another type than messages have, so that no release takes it for the end.
    pub is_other_line: bool,
    pub side: bool,
    pub group: Option<Json>,
    pub blocks: Vec<Json>,
    /// Whether there is a text that is not blank.
    pub has_text: bool,
    pub time: Option<Timestamp>,
}

impl Spoken {
    /// Reads the message; `None` if the line has none that is sent.
    pub fn of(line: &Bytes) -> Result<Option<Self>, Unusable> {
        let Some(members) = Members::of(line) else { return Ok(None) };
        let object = Json::trusted(line.clone());
        let assistant = match &*members.kind(line) {
            "user" => false,
            "assistant" => true,
            ATTACHMENT if is_queued(line) => return Ok(Some(Self::words(&object))),
            SYSTEM if is_command(line) => return Ok(Some(Self::words(&object))),
            _ => return Ok(None),
        };
        let is = |name: &str| object.member(name).is_some_and(|value| value.as_bytes() == b"true");
        let message = object.member("message").filter(Json::is_object);
        let content = message.as_ref().and_then(|message| message.member("content"));
        let content = content.filter(|content| !content.is_null()).ok_or(Unusable)?;
        if is(wire::API_ERROR) {
            return Ok(None);
        }
        let list = content.is_list();
        let blocks: Vec<_> = if list { content.elements().collect() } else { Vec::new() };
        let text = |json: &Json| json.text().is_some_and(|text| !text.trim().is_empty());
        let speaks = |block: &Json| match kind_of(block).as_str() {
            "text" => block.member("text").is_some_and(|said| text(&said)),
            "thinking" | "redacted_thinking" => false,
            _ => true,
        };
        Ok(Some(Self {
            assistant,
            is_other_line: false,
            side: is(wire::SIDE),
            group: message.and_then(|message| message.member("id")),
            has_text: text(&content) || blocks.iter().any(speaks),
            blocks,
            time: object.member("timestamp").as_ref().and_then(times::read),
        }))
    }

    /// Words of the user on a line of another type.
    fn words(line: &Json) -> Self {
        Self {
            assistant: false,
            is_other_line: true,
            side: line.member(wire::SIDE).is_some_and(|side| side.as_bytes() == b"true"),
            group: None,
            blocks: Vec::new(),
            has_text: true,
            time: None,
        }
    }

    /// Whether there are only thoughts without a text.
    pub fn is_hollow(&self) -> bool {
        let hollow = |block: &Json| {
            kind_of(block) == "thinking"
                && block.member("thinking").is_some_and(|thought| thought.as_bytes() == b"\"\"")
        };
        !self.blocks.is_empty() && self.blocks.iter().all(hollow)
    }
}

pub fn kind_of(block: &Json) -> String {
    let object = block.is_object();
    let kind = if object { block.member("type") } else { None };
    kind.and_then(|kind| kind.text()).unwrap_or_default()
}
