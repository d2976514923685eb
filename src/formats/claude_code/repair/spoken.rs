//! Messages of lines, as `--resumable` sees them.

use super::super::wire;
use crate::formats::claude_code::members::Members;
use crate::json::Json;
use crate::times;
use bytes::Bytes;
use jiff::Timestamp;

/// A line whose message some releases cannot read, and then end with an error.
pub struct Unusable;

/// A message of a line.
pub struct Spoken {
    pub assistant: bool,
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
        let assistant = match &*members.kind(line) {
            "user" => false,
            "assistant" => true,
            _ => return Ok(None),
        };
        let object = Json::trusted(line.clone());
        let is = |name: &str| object.member(name).is_some_and(|value| value.as_bytes() == b"true");
        let message = object.member("message").filter(|said| said.as_bytes().starts_with(b"{"));
        let content = message.as_ref().and_then(|message| message.member("content"));
        let content = content.filter(|content| !content.is_null()).ok_or(Unusable)?;
        if is(wire::API_ERROR) {
            return Ok(None);
        }
        let list = content.as_bytes().starts_with(b"[");
        let blocks: Vec<_> = if list { content.elements().collect() } else { Vec::new() };
        let text = |json: &Json| json.text().is_some_and(|text| !text.trim().is_empty());
        let speaks = |block: &Json| match kind_of(block).as_str() {
            "text" => block.member("text").is_some_and(|said| text(&said)),
            "thinking" | "redacted_thinking" => false,
            _ => true,
        };
        Ok(Some(Self {
            assistant,
            side: is(wire::SIDE),
            group: message.and_then(|message| message.member("id")),
            has_text: text(&content) || blocks.iter().any(speaks),
            blocks,
            time: object.member("timestamp").as_ref().and_then(times::read),
        }))
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
    let object = block.as_bytes().starts_with(b"{");
    let kind = if object { block.member("type") } else { None };
    kind.and_then(|kind| kind.text()).unwrap_or_default()
}
