//! Repair of the messages with which a session continues: those of a log, and those of a state.

use super::About;
use crate::diagnostic::{Code, Diagnostic, plural};
use crate::format::{Cx, FoundRecord, LineRepair, Reach, Records};
use crate::formats::codelia::log::is_message;
use crate::ids::fingerprint;
use crate::json::{Json, is_whole, refused_units, salvage};
use crate::mapping::Object;
use crate::position::Position;
use crate::repair::{Added, Fixes, OUTCOME_UNKNOWN, Pairing, mark};
use bytes::Bytes;
use std::collections::HashSet;

/// Recognition and restoration of the messages in logs.
pub static RECORDS: Records =
    Records { begins: &[b"{\"role\":\"", b"{\"role\": \""], recognise: is_message, restore };

/// Restores a message from the complete members of a torn one.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    salvage(torn).filter(|object| {
        let message = Json::trusted(object.clone().into());
        let of_tool = role(&message) != "tool" || message.member("tool_call_id").is_some();
        is_message(object) && of_tool
    })
}

/// Whether a line is a whole message as the agent spells it.
pub fn is_one(line: &[u8]) -> bool {
    is_whole(line) && RECORDS.begins.iter().any(|begin| line.starts_with(begin)) && is_message(line)
}

/// Whether a message is the result of a tool.
pub fn is_result(message: &[u8]) -> bool {
    role(&Json::trusted(Bytes::copy_from_slice(message))) == "tool"
}

/// Returns the role of a message; empty if the message names none.
pub fn role(message: &Json) -> String {
    message.text_of("role").unwrap_or_default()
}

/// Calls of tools and their results. The repair finds two faults that a model's interface refuses:
/// a call without a result before the next turn, and a result without a call.
#[derive(Debug, Default)]
pub struct Calls {
    looked: u32,
    /// Calls with the names of their tools. A result is added before the message of its place.
    pairing: Pairing<Json>,
    /// Whether a result came since the last call.
    answered: bool,
    /// Whether a text has characters that a model's interface refuses.
    spoiled: bool,
}

impl Calls {
    /// Looks at the next messages.
    pub fn look_at(&mut self, messages: &[Json]) {
        messages.iter().for_each(|message| self.look(message));
    }

    /// Looks at the next message. The answers of some providers consist of a message for each
    /// block, so that an answer ends only where a result or a message of another role comes.
    pub fn look(&mut self, message: &Json) {
        let place = self.looked;
        self.looked += 1;
        self.spoiled |= refused_units(message.as_bytes()).next().is_some();
        match role(message).as_str() {
            "tool" => {
                let id = message.member("tool_call_id").unwrap_or_default();
                if self.pairing.take(id.as_bytes()).is_none() {
                    self.pairing.remove(place, Code::OrphanResult);
                }
                self.answered = true;
            }
            "assistant" | "reasoning" if !self.answered => self.calls(message),
            "assistant" | "reasoning" => {
                self.settle(place);
                self.calls(message);
            }
            _ => self.settle(place),
        }
    }

    fn calls(&mut self, message: &Json) {
        for call in message.member("tool_calls").iter().flat_map(Json::elements) {
            let name = call.member("function").and_then(|function| function.member("name"));
            let name = name.unwrap_or(Json::constant("\"\""));
            if let Some(id) = call.member("id") {
                self.pairing.call(id.as_bytes(), name);
            }
        }
    }

    fn settle(&mut self, place: u32) {
        self.answered = false;
        self.pairing.settle(place);
    }

    /// Ends the search after all messages.
    pub fn close(&mut self) {
        self.settle(self.looked);
    }

    /// Whether the repair changes anything.
    pub fn changes(&self) -> bool {
        self.spoiled || self.pairing.changes()
    }

    /// Whether the repair removes a result.
    pub fn removes(&self) -> bool {
        self.pairing.removes()
    }

    /// Returns the number of messages after the repair, given the number before it.
    pub fn count(&self, messages: u64) -> u64 {
        self.pairing.count(messages)
    }

    /// Whether the message at a place is removed.
    pub fn is_orphan(&self, place: u32) -> bool {
        self.pairing.removed(place).is_some()
    }

    /// Returns the results before a place, and reports each.
    pub fn before(&self, place: u32, at: Position, cx: &Cx<'_>) -> Vec<Vec<u8>> {
        let code = Code::ResultSynthesized;
        let line = |Added { id, call: name, .. }: &Added<Json>| {
            cx.report_at(code, at);
            let (mut message, mut line) = (Vec::new(), Vec::new());
            let mut object = Object::open(&mut message);
            object.member("role", b"\"tool\"");
            object.member("tool_call_id", id);
            object.member("tool_name", name.as_bytes());
            object.member("content", Json::string(OUTCOME_UNKNOWN).as_bytes());
            object.member("is_error", b"true");
            object.close();
            mark(&message, code, &mut line);
            line
        };
        self.pairing.added(place).iter().map(line).collect()
    }
}

/// Appends a message with U+FFFD for characters that a model's interface refuses, which it reports,
/// and with a mark of the repair that it had.
pub fn sendable(message: &[u8], mut fixes: Fixes, at: Position, out: &mut Vec<u8>, cx: &Cx<'_>) {
    let units: Vec<_> = refused_units(message).map(|(place, _)| place).collect();
    if !units.is_empty() {
        let code = Code::SurrogateReplaced;
        let places = plural(units.len() as u64, "place");
        cx.report(Diagnostic::new(code, format!("{}: {places}", code.title())).at(at));
        fixes.replace_units(message, &units);
    }
    fixes.apply(message, out);
}

/// Repair of a log.
pub struct Log<'a> {
    cx: &'a Cx<'a>,
    calls: Option<Calls>,
    messages: u64,
    written: u32,
    /// Position of the last message.
    end: Position,
    /// Hashes of the contents of messages, and hashes of whole messages.
    contents: HashSet<u64>,
    stored: Vec<u64>,
    /// Messages after the last stored one that a run proves.
    restored: Vec<Json>,
}

/// Returns a hash of the content of a message, if that is a text that is not empty.
pub fn content_hash(message: &Json) -> Option<u64> {
    let content = message.member("content")?;
    let text = content.is_string() && content.as_bytes().len() > 2;
    text.then(|| fingerprint(content.as_bytes()))
}

impl<'a> Log<'a> {
    /// Creates the repair of a part.
    pub fn new(about: &About<'a>) -> Self {
        let calls = about.wanted.resumable.then(Calls::default);
        Self {
            cx: about.cx,
            calls,
            messages: 0,
            written: 0,
            end: Position::default(),
            contents: HashSet::new(),
            stored: Vec::new(),
            restored: Vec::new(),
        }
    }

    /// Returns the hashes of all messages.
    pub fn stored(&self) -> &[u64] {
        &self.stored
    }

    /// Appends messages that a run proves.
    pub fn restore(&mut self, messages: Vec<Json>) {
        self.calls.iter_mut().for_each(|calls| calls.look_at(&messages));
        self.restored = messages;
    }

    /// Ends the search when all messages are known.
    pub fn close(&mut self) {
        self.calls.iter_mut().for_each(Calls::close);
    }

    /// Whether a message has the content with this hash.
    pub fn contains(&self, content_hash: u64) -> bool {
        self.contents.contains(&content_hash)
    }

    /// Returns how much of the log Codelia loads before the repair, nothing if one line of it is
    /// damaged; and how much it loads after the repair.
    pub fn reach(&self, damaged: bool) -> (Reach, Reach) {
        let of = |messages| Reach { entries: messages, messages };
        let messages = self.messages + self.restored.len() as u64;
        let after = self.calls.as_ref().map_or(messages, |calls| calls.count(messages));
        (of(if damaged { 0 } else { self.messages }), of(after))
    }
}

impl LineRepair for Log<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let bytes = record.bytes.trim_ascii();
        if !is_whole(bytes) || bytes.first() != Some(&b'{') {
            return false;
        }
        self.messages += 1;
        let message = Json::trusted(Bytes::copy_from_slice(bytes));
        self.contents.extend(content_hash(&message));
        self.stored.push(fingerprint(bytes));
        if let Some(calls) = &mut self.calls {
            calls.look(&message);
        }
        true
    }

    fn changes(&self) -> bool {
        !self.restored.is_empty() || self.calls.as_ref().is_some_and(Calls::changes)
    }

    fn removes(&self) -> bool {
        self.calls.as_ref().is_some_and(Calls::removes)
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let place = self.written;
        self.written += 1;
        self.end = record.at;
        self.put_in(place, out);
        if self.calls.as_ref().is_some_and(|calls| calls.is_orphan(place)) {
            let code = Code::OrphanResult;
            self.cx.report_at(code, record.at);
            return Some(code);
        }
        let fixes = Fixes::of(record);
        match &self.calls {
            Some(_) => sendable(record.bytes, fixes, record.at, out, self.cx),
            None => fixes.apply(record.bytes, out),
        }
        out.push(b'\n');
        None
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let first = self.written;
        for (place, message) in (first..).zip(&self.restored) {
            self.put_in(place, out);
            if self.calls.as_ref().is_none_or(|calls| !calls.is_orphan(place)) {
                out.extend_from_slice(&restored(message, self.end, self.cx));
                out.push(b'\n');
            }
        }
        self.put_in(first + self.restored.len() as u32, out);
    }
}

/// Returns a message that a run proves, with a mark, and reports it.
pub fn restored(message: &Json, at: Position, cx: &Cx<'_>) -> Vec<u8> {
    let code = Code::HistoryRestored;
    cx.report_at(code, at);
    let mut marked = Vec::new();
    mark(message.as_bytes(), code, &mut marked);
    marked
}

impl Log<'_> {
    fn put_in(&self, place: u32, out: &mut Vec<u8>) {
        for line in self.calls.iter().flat_map(|calls| calls.before(place, self.end, self.cx)) {
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
    }
}
