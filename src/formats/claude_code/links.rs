//! Links of the lines of a transcript, as they are in the file.

use super::command::{SYSTEM, is_command};
use super::members::{Members, NONE, key};
use super::preserved::Segments;
use super::queued::{ATTACHMENT, is_queued};
use super::wire;
use crate::ids::{fingerprint, hash};
use crate::json::{Cursor, Json};
use crate::times;
use bytes::Bytes;
use std::collections::HashMap;

/// Half of the key of no identifier.
pub const NO_KEY: u32 = 0;

/// Time of a line that names none.
pub const NO_TIME: i64 = i64::MIN;

/// Returns half of the key of an identifier.
fn half(spelling: &[u8]) -> u32 {
    (key(spelling) as u32).max(NO_KEY + 1)
}

/// Part that a line has in the order of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// A line that is not in the conversation.
    #[default]
    Aside,
    /// A block of an answer.
    Answer,
    /// The result of a call.
    Result,
    /// A text that the program adds, or a command of the user.
    Text,
    /// Words of the user that waited.
    Waited,
    /// A message of the user.
    Prompt,
    /// A line that is not sent.
    Other,
    /// A line about the progress of a call, which is not sent, and at which no session continues.
    Progress,
}

/// A line of the chain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    pub id: u64,
    pub parent: u64,
    /// Time in milliseconds, or [`NO_TIME`].
    pub time: i64,
    /// Answer to which a block belongs, by half its key, which is enough for lines near each other.
    pub group: u32,
    /// First call of a block, or the call of a result, by half its key.
    pub call: u32,
    /// Half a hash of the type and the message: it is compared for lines of one identifier.
    pub content: u32,
    pub sort: Sort,
    /// Whether the line is a message of the user or the model, also one that is not sent.
    pub is_message: bool,
    /// Whether the line has more than one block, as no line of an answer in several lines has.
    pub is_whole: bool,
}

/// The lines of the chain, in the order of the file.
#[derive(Debug, Default)]
pub struct Lines {
    /// Whether the lines are those of one sub-agent, in a file of its own.
    pub agent: bool,
    links: Vec<Link>,
    segments: Segments,
    /// The identifiers: those that are UUIDs by their digits, others whole.
    uuids: Vec<u128>,
    others: HashMap<u32, Json>,
    /// Further calls of lines that have several.
    calls: HashMap<u32, Vec<u32>>,
}

/// Facts in a message: the answer's identifier, the first call, and the first result's call.
#[derive(Debug, Default)]
pub struct Facts {
    group: u32,
    call: u32,
    more: Vec<u32>,
    answers: u32,
    blocks: usize,
}

impl Facts {
    /// Reads the message that begins here; `None` if the text is not JSON.
    pub fn of(text: &[u8], cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut facts = Self::default();
        if cursor.peek() != Some(b'{') {
            cursor.skip_value().ok()?;
            return Some(facts);
        }
        cursor.begin_object().ok()?;
        while let Some(name) = cursor.next_key().ok()? {
            match name.of(text) {
                br#""content""# if cursor.peek() == Some(b'[') => {
                    cursor.begin_array().ok()?;
                    while cursor.next_element().ok()? {
                        facts.block(text, cursor)?;
                        facts.blocks += 1;
                    }
                }
                br#""id""# => {
                    let id = cursor.skip_value().ok()?.of(text);
                    facts.group = if matches!(id, b"null" | b"\"\"") { NO_KEY } else { half(id) };
                }
                _ => drop(cursor.skip_value().ok()?),
            }
        }
        Some(facts)
    }

    fn block(&mut self, text: &[u8], cursor: &mut Cursor<'_>) -> Option<()> {
        if cursor.peek() != Some(b'{') {
            return cursor.skip_value().ok().map(drop);
        }
        let (mut kind, mut id, mut call) = (None, None, None);
        cursor.begin_object().ok()?;
        while let Some(name) = cursor.next_key().ok()? {
            let value = cursor.skip_value().ok()?;
            match name.of(text) {
                br#""type""# => kind = Some(value.of(text)),
                br#""id""# => id = Some(value.of(text)),
                br#""tool_use_id""# => call = Some(value.of(text)),
                _ => {}
            }
        }
        match (kind, id, call) {
            (Some(br#""tool_use""#), Some(id), _) if self.call == NO_KEY => self.call = half(id),
            (Some(br#""tool_use""#), Some(id), _) => self.more.push(half(id)),
            (Some(br#""tool_result""#), _, Some(call)) if self.answers == NO_KEY => {
                self.answers = half(call);
            }
            _ => {}
        }
        Some(())
    }
}

impl Lines {
    /// Begins a transcript; `agent` is true for the file of one sub-agent.
    #[must_use]
    pub fn new(agent: bool) -> Self {
        Self { agent, ..Self::default() }
    }

    /// Returns the links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the compactions that keep messages.
    #[must_use]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Returns the calls of a line behind its first one.
    pub fn more_calls(&self, at: u32) -> &[u32] {
        self.calls.get(&at).map(Vec::as_slice).unwrap_or_default()
    }

    /// Gives a line another parent, which is named by its key.
    pub fn relink(&mut self, at: u32, parent: u64) {
        self.links.get_mut(at as usize).into_iter().for_each(|link| link.parent = parent);
    }

    /// Passes over a line of the chain that does not count.
    pub fn skip(&mut self) {
        self.links.push(Link::default());
        self.uuids.push(0);
    }

    /// Notes a line, if it is in the chain.
    pub fn note(&mut self, line: &[u8], members: &Members) {
        let message = members.message(line);
        let facts = message.and_then(|message| Facts::of(message, &mut Cursor::new(message)));
        self.note_with(line, members, facts.unwrap_or_default());
    }

    /// Notes a line whose message has these facts, if it is in the chain.
    pub fn note_with(&mut self, line: &[u8], members: &Members, facts: Facts) {
        self.segments.note(line, self.links.len() as u32);
        let kind = members.kind(line);
        let uuid = members.uuid(line).filter(|_| wire::CHAINED.contains(&&*kind));
        let Some(uuid) = uuid else { return };
        if members.is_side(line) && !self.agent {
            return self.skip();
        }
        let message = members.message(line);
        let sort = match (&*kind, message) {
            ("assistant", Some(_)) if !members.is_failed(line) => Sort::Answer,
            ("user", Some(_)) if facts.answers != NO_KEY => Sort::Result,
            ("user", Some(_)) if members.is_meta(line) => Sort::Text,
            ("user", Some(_)) => Sort::Prompt,
            (wire::PROGRESS, _) => Sort::Progress,
            (ATTACHMENT, _) if is_queued(line) => Sort::Waited,
            (SYSTEM, _) if is_command(line) => Sort::Text,
            _ => Sort::Other,
        };
        let parent = members.parent.map(|parent| parent.of(line));
        let parent = parent.filter(|parent| parent.starts_with(b"\"")).map_or(NONE, key);
        let call = if sort == Sort::Answer { facts.call } else { facts.answers };
        let content =
            fingerprint(message.unwrap_or_default()) ^ hash(kind.as_bytes()).rotate_left(1);
        let at = self.links.len() as u32;
        if !facts.more.is_empty() {
            self.calls.insert(at, facts.more);
        }
        let digits = digits(uuid);
        if digits.is_none() {
            self.others.insert(at, Json::trusted(Bytes::copy_from_slice(uuid)));
        }
        self.uuids.push(digits.unwrap_or_default());
        let time = members.time.and_then(|time| times::millis(time.of(line)));
        self.links.push(Link {
            id: key(uuid),
            parent,
            time: time.unwrap_or(NO_TIME),
            group: facts.group,
            call,
            content: content as u32,
            sort,
            is_message: ["user", "assistant"].contains(&&*kind),
            is_whole: facts.blocks > 1,
        });
    }

    /// Returns the identifier of a line.
    #[must_use]
    pub fn name(&self, at: u32) -> Json {
        let uuid = || {
            let digits = self.uuids.get(at as usize).copied().unwrap_or_default();
            Json::string(&crate::ids::uuid((digits >> 64) as u64, digits as u64))
        };
        self.others.get(&at).cloned().unwrap_or_else(uuid)
    }
}

/// Returns the digits of a UUID in lower case.
fn digits(spelling: &[u8]) -> Option<u128> {
    let uuid = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let hyphens = [8, 13, 18, 23];
    if uuid.len() != 36 || hyphens.iter().any(|at| uuid.get(*at) != Some(&b'-')) {
        return None;
    }
    let mut value = 0_u128;
    for (_, byte) in uuid.iter().enumerate().filter(|(at, _)| !hyphens.contains(at)) {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u128::from(digit);
    }
    Some(value)
}
