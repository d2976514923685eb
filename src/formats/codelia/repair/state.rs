//! Repair of a state in a file of its own. The first releases wrote it without a temporary name, so
//! that a crash leaves the beginning of the file.

use super::About;
use super::messages::{Calls, content_hash, restored, sendable};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{Completed, complete, salvage};
use crate::error::{Cannot, Result};
use crate::format::{Cx, Reach, RepairIo};
use crate::formats::codelia::log::is_message;
use crate::formats::codelia::made::EPOCH;
use crate::formats::codelia::state::{LIST, is_read, text_of};
use crate::ids::fingerprint;
use crate::json::{Json, members, text};
use crate::lines::BOM;
use crate::mapping::Extra;
use crate::position::Position;
use crate::repair::{Fixes, mark};
use bytes::Bytes;

/// Bytes that are set aside, with their position and the reason.
type Aside = (Position, Bytes, Code);

/// Repair of a state. The state is one JSON value, and is in memory as a whole.
pub struct State {
    /// State after the repair, without the results that `--resumable` adds.
    state: Option<Json>,
    /// Whether Codelia can read the file before the repair.
    read: bool,
    fixes: Vec<Code>,
    aside: Vec<Aside>,
    calls: Option<Calls>,
    /// Length in bytes of a byte order mark at the beginning.
    start: usize,
    /// Messages after the last stored one that a run proves.
    restored: Vec<Json>,
}

impl State {
    /// Looks at a part.
    pub fn look(about: &About<'_>, io: &mut dyn RepairIo) -> Result<Self> {
        let part = io.parts().open(about.name)?;
        let source = text_of(part, about.cx)?;
        let marked = source.is_marked();
        let text = source.text;
        let start = if marked { BOM.len() } else { 0 };
        let mut found = Self {
            state: None,
            read: true,
            fixes: Vec::new(),
            aside: Vec::new(),
            calls: about.wanted.resumable.then(Calls::default),
            start,
            restored: Vec::new(),
        };
        if marked {
            found.fixes.push(Code::MarkRemoved);
            let at = Position { line: 1, ..Position::default() };
            found.aside.push((at, Bytes::from_static(BOM), Code::MarkRemoved));
        }
        // Codelia replaces invalid UTF-8 when it reads the file.
        let lossy = || Bytes::from(String::from_utf8_lossy(&text).into_owned());
        if is_read(&text) {
            found.state = Some(Json::trusted(text));
        } else if let Some(lossy) = Some(lossy()).filter(is_read) {
            found.fixes.push(Code::Utf8Replaced);
            let at = Position { line: 1, byte: start as u64, ..Position::default() };
            found.aside.push((at, text, Code::Utf8Replaced));
            let mut marked = Vec::new();
            mark(&lossy, Code::Utf8Replaced, &mut marked);
            found.state = Some(Json::trusted(marked.into()));
        } else {
            found.restore_pieces(&text, start, about);
        }
        if let (Some(calls), Some(state)) = (&mut found.calls, &found.state) {
            let messages = state.member("messages");
            messages.iter().flat_map(Json::elements).for_each(|message| calls.look(&message));
        }
        Ok(found)
    }

    /// Restores a state from the whole pieces of a damaged one.
    fn restore_pieces(&mut self, text: &Bytes, start: usize, about: &About<'_>) {
        self.read = false;
        let Some(mut found) = salvage(text, LIST, is_message) else { return };
        let is_list = |value: &[u8]| value.starts_with(b"[");
        found.text = only_last(found.text, |key, value| key != "messages" || is_list(value));
        let pieces = Json::trusted(found.text.clone().into());
        let named = about.session.unwrap_or(about.stem());
        let id = pieces.member("session_id");
        let id = id.or_else(|| (!named.is_empty()).then(|| Json::string(named)));
        let Some(id) = id else { return };
        let mut lacks = Extra::default();
        for (key, value) in [
            ("schema_version", Json::constant("1")),
            ("session_id", id),
            ("updated_at", Json::string(EPOCH)),
            ("messages", Json::constant("[]")),
        ] {
            if pieces.member(key).is_none() {
                lacks.add(Json::string(key).as_bytes(), value.as_bytes());
            }
        }
        let lacks = lacks.finish().unwrap_or(Json::constant("{}"));
        let Completed { text: whole, aside, fixes } = complete(text, &found, &lacks, None);
        self.fixes.extend(fixes);
        if let Some((place, at)) = aside {
            let at = Position { byte: at.byte + start as u64, ..at };
            self.aside.push((at, text.slice(place), Code::StateRestored));
        }
        self.state = Some(Json::trusted(whole.into()));
    }

    /// Returns the hashes of all messages.
    pub fn stored(&self) -> Vec<u64> {
        let list = self.state.as_ref().and_then(|state| state.member("messages"));
        let messages = list.iter().flat_map(Json::elements);
        messages.map(|message| fingerprint(message.as_bytes())).collect()
    }

    /// Appends messages that a run proves.
    pub fn restore(&mut self, messages: Vec<Json>) {
        self.calls.iter_mut().for_each(|calls| calls.look_at(&messages));
        self.restored = messages;
    }

    /// Ends the search when all messages are known.
    pub fn close(&mut self) {
        self.calls.iter_mut().for_each(Calls::close);
        self.set_orphans_aside();
    }

    fn set_orphans_aside(&mut self) {
        let start = self.start;
        let (Some(calls), Some(state)) = (&self.calls, &self.state) else { return };
        let list = state.member("messages");
        for (place, message) in (0..).zip(list.iter().flat_map(Json::elements)) {
            if calls.is_orphan(place) {
                // Both are slices of one text.
                let base = state.as_bytes().as_ptr().addr();
                let byte = message.as_bytes().as_ptr().addr().saturating_sub(base) + start;
                let at = Position { line: 1, byte: byte as u64, ..Position::default() };
                self.aside.push((at, message.bytes().clone(), Code::OrphanResult));
            }
        }
    }

    fn messages(&self) -> u64 {
        let list = self.state.as_ref().and_then(|state| state.member("messages"));
        list.iter().flat_map(Json::elements).count() as u64
    }

    /// Whether a message has the content with this hash.
    pub fn contains(&self, what: u64) -> bool {
        let list = self.state.as_ref().and_then(|state| state.member("messages"));
        list.iter().flat_map(Json::elements).any(|message| content_hash(&message) == Some(what))
    }

    /// Returns the number of records: 1 if there is a state, else 0.
    pub fn records(&self) -> u64 {
        u64::from(self.state.is_some())
    }

    /// Whether the repair sets anything aside.
    pub fn removes(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Whether the repair changes anything.
    pub fn changes(&self) -> bool {
        !(self.fixes.is_empty() && self.restored.is_empty())
            || self.calls.as_ref().is_some_and(Calls::changes)
    }

    /// Returns how much of the state Codelia loads before the repair, and how much after it.
    pub fn reach(&self) -> (Reach, Reach) {
        let messages = self.messages();
        let of = |messages| Reach { entries: messages, messages };
        let all = messages + self.restored.len() as u64;
        let after = self.calls.as_ref().map_or(all, |calls| calls.count(all));
        (of(if self.read { messages } else { 0 }), of(after))
    }

    /// Writes the repaired state.
    pub fn write(self, name: &str, io: &mut dyn RepairIo, cx: &Cx<'_>) -> Result<()> {
        let Some(state) = self.state.as_ref().filter(|_| self.changes()) else {
            return io.keep(name);
        };
        let at = Position { line: 1, ..Position::default() };
        for code in &self.fixes {
            cx.report(Diagnostic::new(*code, code.title()).at(at));
        }
        for (at, bytes, code) in &self.aside {
            if *code == Code::OrphanResult {
                cx.report(Diagnostic::new(*code, code.title()).at(*at));
            }
            io.aside(name, bytes, *at, *code)?;
        }
        let mut text = self.repaired_text(state, cx);
        text.push(b'\n');
        let mut part = io.create(name)?;
        part.write_all(&text).and_then(|()| part.flush()).cannot("write")
    }

    /// Returns the text of the state with the results that the repair adds and without those it
    /// removes.
    fn repaired_text(&self, state: &Json, cx: &Cx<'_>) -> Vec<u8> {
        let text = state.as_bytes();
        let list = state.member("messages").filter(Json::is_list);
        let (Some(calls), Some(list)) = (&self.calls, list) else { return text.to_vec() };
        if !calls.changes() && self.restored.is_empty() {
            return text.to_vec();
        }
        let mut new: Vec<Vec<u8>> = Vec::new();
        let mut place = 0;
        let at = Position { line: 1, ..Position::default() };
        let stored = list.elements().map(|message| message.as_bytes().to_vec());
        let more = self.restored.iter().map(|message| restored(message, at, cx));
        for message in stored.chain(more) {
            new.extend(calls.before(place, at, cx).iter().cloned());
            if !calls.is_orphan(place) {
                let mut sent = Vec::with_capacity(message.len());
                sendable(&message, Fixes::default(), at, &mut sent, cx);
                new.push(sent);
            }
            place += 1;
        }
        new.extend(calls.before(place, at, cx).iter().cloned());
        let start = list.as_bytes().as_ptr().addr() - text.as_ptr().addr();
        let (before, rest) = text.split_at(start);
        let after = rest.get(list.as_bytes().len()..).unwrap_or_default();
        [before, b"[", &new.join(&b','), b"]", after].concat()
    }
}

/// Returns an object without the members that are not valid, and of two with one name without the
/// first one: JavaScript takes the last.
fn only_last(object: Vec<u8>, is_valid: impl Fn(&str, &[u8]) -> bool) -> Vec<u8> {
    let all: Vec<_> = members(&object).collect();
    let name = |key: &[u8]| text::decode(key).unwrap_or_default();
    let is_kept = |place: usize, (key, value): &(&[u8], &[u8])| {
        let later = all.iter().skip(place + 1).any(|(other, _)| other == key);
        !later && is_valid(&name(key), value)
    };
    if all.iter().enumerate().all(|(place, member)| is_kept(place, member)) {
        return object;
    }
    let mut kept = Extra::default();
    let members = all.iter().enumerate().filter(|(place, member)| is_kept(*place, member));
    members.for_each(|(_, (key, value))| kept.add(key, value));
    kept.finish().map_or_else(|| b"{}".to_vec(), |kept| kept.as_bytes().to_vec())
}
