//! Members that show what a line is, found in one scan.

use super::queued::{ATTACHMENT, is_queued};
use super::wire;
use crate::ids::hash;
use crate::json::{Cursor, Span, text};
use std::borrow::Cow;

/// Key of a missing identifier.
pub const NONE: u64 = 0;

/// Returns the key of an identifier in its spelling.
#[must_use]
pub fn key(spelling: &[u8]) -> u64 {
    hash(spelling).max(NONE + 1)
}

/// Places of the members that show what a line is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members {
    pub kind: Option<Span>,
    pub uuid: Option<Span>,
    pub parent: Option<Span>,
    pub time: Option<Span>,
    pub side: Option<Span>,
    pub agent: Option<Span>,
    pub message: Option<Span>,
    pub result: Option<Span>,
    pub release: Option<Span>,
    pub session: Option<Span>,
    pub cwd: Option<Span>,
    pub branch: Option<Span>,
    /// Member of the program's own words to the model.
    pub meta: Option<Span>,
    /// Member of an error of the interface in the place of an answer.
    pub failed: Option<Span>,
    /// Member of a summary that names the line which it is about.
    pub leaf: Option<Span>,
    /// Member of a snapshot of files that names a message.
    pub snapshot: Option<Span>,
    /// Member of what the program prints for other programs.
    pub printed: Option<Span>,
}

impl Members {
    /// Finds the members of a line; `None` if it is not one JSON object in UTF-8.
    #[must_use]
    pub fn of(line: &[u8]) -> Option<Self> {
        Self::showing(line, &mut |cursor| cursor.skip_value().ok().map(drop))
    }

    /// Finds the members of a line, and shows the message, which `message` must pass, on the way.
    pub fn showing(
        line: &[u8],
        message: &mut impl FnMut(&mut Cursor<'_>) -> Option<()>,
    ) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        let (mut cursor, mut members) = (Cursor::new(line), Self::default());
        cursor.begin_object().ok()?;
        while let Some(key) = cursor.next_key().ok()? {
            let name = text.get(key.start + 1..key.end.saturating_sub(1)).unwrap_or_default();
            let name = match name.contains('\\') {
                false => Cow::Borrowed(name),
                true => text::decoded(key.of(line)).unwrap_or_default(),
            };
            cursor.peek();
            let start = cursor.at();
            match &*name {
                "message" => message(&mut cursor)?,
                _ => drop(cursor.skip_value().ok()?),
            }
            let value = Span { start, end: cursor.at() };
            members.place(&name).into_iter().for_each(|place| *place = Some(value));
        }
        cursor.end().ok()?;
        Some(members)
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<Span>> {
        Some(match name {
            "type" => &mut self.kind,
            "uuid" => &mut self.uuid,
            wire::PARENT => &mut self.parent,
            "timestamp" => &mut self.time,
            wire::SIDE => &mut self.side,
            "agentId" => &mut self.agent,
            "message" => &mut self.message,
            "toolUseResult" => &mut self.result,
            "version" => &mut self.release,
            "sessionId" => &mut self.session,
            "cwd" => &mut self.cwd,
            "gitBranch" => &mut self.branch,
            wire::META => &mut self.meta,
            wire::API_ERROR => &mut self.failed,
            "leafUuid" => &mut self.leaf,
            "messageId" => &mut self.snapshot,
            "parent_tool_use_id" | "session_id" => &mut self.printed,
            _ => return None,
        })
    }

    /// Returns the type of the line, or nothing.
    #[must_use]
    pub fn kind<'l>(&self, line: &'l [u8]) -> Cow<'l, str> {
        self.kind.and_then(|kind| text::decoded(kind.of(line))).unwrap_or_default()
    }

    /// Returns the identifier of the line.
    #[must_use]
    pub fn uuid<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        self.uuid.map(|uuid| uuid.of(line)).filter(|uuid| uuid.starts_with(b"\""))
    }

    /// Returns the message, if it is an object.
    #[must_use]
    pub fn message<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        self.message.map(|message| message.of(line)).filter(|message| message.starts_with(b"{"))
    }

    /// Whether the line is in the chain, or would if it had an identifier.
    #[must_use]
    pub fn is_chained(&self, line: &[u8]) -> bool {
        let kind = self.kind(line);
        let spoken = ["user", "assistant"].contains(&&*kind) && self.message.is_some();
        let queued = || kind == ATTACHMENT && is_queued(line);
        wire::CHAINED.contains(&&*kind) && (spoken || self.uuid(line).is_some() || queued())
    }

    /// Whether the line is of a sub-agent.
    #[must_use]
    pub fn is_side(&self, line: &[u8]) -> bool {
        is_true(self.side, line)
    }

    /// Whether the line is an error of the interface in the place of an answer.
    #[must_use]
    pub fn is_failed(&self, line: &[u8]) -> bool {
        is_true(self.failed, line)
    }

    /// Whether the line contains the program's own words to the model.
    #[must_use]
    pub fn is_meta(&self, line: &[u8]) -> bool {
        is_true(self.meta, line)
    }

    /// Whether the line has the member of this name, which is one of these.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let mut members = *self;
        members.place(name).is_some_and(|place| place.is_some())
    }
}

fn is_true(member: Option<Span>, line: &[u8]) -> bool {
    member.is_some_and(|value| value.of(line) == b"true")
}
