//! Lines as repair sees them: their beginnings, and the members that it needs.

use super::super::wire;
use crate::json::{Cursor, Json, Span, salvage, text};

/// Beginnings of lines.
pub const BEGINS: &[&[u8]] = &[b"{\"parentUuid\":", b"{\"type\":", b"{\"logicalParentUuid\":"];

/// Places of members of a line; of a member that occurs twice, the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members {
    pub kind: Option<Span>,
    pub uuid: Option<Span>,
    pub parent: Option<Span>,
    pub time: Option<Span>,
    pub side: Option<Span>,
    pub agent: Option<Span>,
    pub message: Option<Span>,
    /// Whether another member connects the line with a session.
    linked: bool,
}

impl Members {
    /// Finds the members of a line; `None` if it is not one JSON object in UTF-8.
    pub fn of(line: &[u8]) -> Option<Self> {
        std::str::from_utf8(line).ok()?;
        let (mut cursor, mut members) = (Cursor::new(line), Self::default());
        cursor.begin_object().ok()?;
        while let Some(key) = cursor.next_key().ok()? {
            let value = cursor.skip_value().ok()?;
            let key = text::decode(key.of(line))?;
            let place = match key.as_str() {
                "type" => &mut members.kind,
                "uuid" => &mut members.uuid,
                wire::PARENT => &mut members.parent,
                "timestamp" => &mut members.time,
                wire::SIDE => &mut members.side,
                "agentId" => &mut members.agent,
                "message" => &mut members.message,
                "sessionId" | "leafUuid" | "messageId" => {
                    members.linked = true;
                    continue;
                }
                _ => continue,
            };
            *place = Some(value);
        }
        cursor.end().ok()?;
        Some(members)
    }

    /// Returns the type of the line.
    pub fn kind(&self, line: &[u8]) -> String {
        self.kind.and_then(|kind| text::decode(kind.of(line))).unwrap_or_default()
    }

    /// Returns the identifier of the line.
    pub fn uuid<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        self.uuid.map(|uuid| uuid.of(line)).filter(|uuid| uuid.starts_with(b"\""))
    }

    /// Whether the line is in the chain, or would if it had an identifier.
    pub fn is_chained(&self, line: &[u8]) -> bool {
        let kind = self.kind(line);
        let spoken = ["user", "assistant"].contains(&kind.as_str()) && self.message.is_some();
        wire::CHAINED.contains(&kind.as_str()) && (spoken || self.uuid(line).is_some())
    }
}

/// Whether an object is a line, not an object from inside a line.
pub fn recognise(object: &[u8]) -> bool {
    let Some(members) = Members::of(object) else { return false };
    let typed = members.kind.is_some_and(|kind| kind.of(object).starts_with(b"\""));
    typed && (members.linked || members.uuid.is_some() || members.parent.is_some())
}

/// Returns the complete members of a torn line, if they make a line. A line without content is not
/// restored: older releases end with an error on it.
pub fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(String::from_utf8_lossy(torn).as_bytes()).filter(|o| recognise(o))?;
    let line = Json::checked(object.clone().into());
    let kind = line.member("type").and_then(|kind| kind.text());
    let spoken = kind.is_some_and(|kind| ["user", "assistant"].contains(&kind.as_str()));
    let content = || line.member("message")?.member("content");
    let empty = |content: Json| matches!(content.as_bytes(), b"" | b"\"\"" | b"[]" | b"null");
    (!spoken || content().is_some_and(|content| !empty(content))).then_some(object)
}
