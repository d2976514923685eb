//! Repair of records that a model's interface refuses.
//!
//! Source: `transformMessages` of pi's `ai` package, release 0.87.1, and the rules of the
//! interfaces that it serves: every call has its result before the next turn, no result is without
//! its call, the last answer has content, and text is Unicode. Answers that were broken off
//! are not sent. Thoughts that carry a signature are never touched.

use super::super::needs::{RESULT, role_of};
use super::super::served::Served;
use super::refused::{Refused, has_nul, refused, renamed_calls};
use crate::diagnostic::Code;
use crate::format::{FoundRecord, Interface, Reach};
use crate::ids::{Id, Maker};
use crate::json::{Json, elements, member, text};
use crate::members::Scan;
use crate::repair::{Added, OUTCOME_UNKNOWN, Pairing};
use crate::tree::{Plan, key_of, marks};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Decisions along the active branch, and the state of writing.
#[derive(Debug, Default)]
pub struct Resume {
    list: bool,
    first_kept: Option<u32>,
    compaction: Option<u32>,
    maker: Maker,
    /// Number of entries looked at.
    looked: u32,
    /// The active branch from its root on, and its entries, if entries stand before their parents.
    order: Vec<u32>,
    entries: HashMap<u32, Vec<u8>>,
    /// Calls, and messages with results. A result is added behind the entry of its place.
    pairing: Pairing<Call, Vec<u8>>,
    /// The last entry that belongs to the last answer with calls.
    after: u32,
    leaf_stays: bool,
    /// Entries with places that are replaced.
    refused: BTreeSet<u32>,
    /// Whether one of these places is an image, whose data are set aside.
    images: bool,
    /// Entries with U+0000.
    nuls: BTreeSet<u32>,
    served: Served,
    /// Calls that were looked at, and new identifiers of calls and results: by their entries, with
    /// the numbers of the calls.
    calls: HashSet<u64>,
    renamed: BTreeMap<u32, Vec<(usize, Vec<u8>)>>,
    /// Parent of the next entry of the active branch, and the reason for it.
    over: Option<(Vec<u8>, Code)>,
    /// Parents of removed entries, by the entries' identifiers.
    removed_parents: HashMap<u64, Vec<u8>>,
}

/// A call, in its spelling.
#[derive(Debug)]
struct Call {
    /// Identifier that it gets, because another call has the same.
    new: Option<Vec<u8>>,
    name: Vec<u8>,
    /// The answer's times.
    time: Vec<u8>,
    message_time: Vec<u8>,
    /// Identifier of the entry that is added for it.
    entry: Id,
}

impl Added<Call, Vec<u8>> {
    /// Returns the identifier that the call has after the repair.
    fn call_id(&self) -> &[u8] {
        self.call.new.as_ref().unwrap_or(&self.id)
    }

    /// Returns the message of the result.
    fn message(&self) -> Vec<u8> {
        if let Some(result) = &self.result {
            return with_call(result.clone(), self.call_id());
        }
        let Call { name, message_time, .. } = &self.call;
        let name = if name.starts_with(b"\"") { name.as_slice() } else { b"\"\"" };
        let mut message = b"{\"role\":\"toolResult\",\"toolCallId\":".to_vec();
        message.extend_from_slice(self.call_id());
        message.extend_from_slice(b",\"toolName\":");
        message.extend_from_slice(name);
        message.extend_from_slice(b",\"content\":[{\"type\":\"text\",\"text\":");
        text::quote(OUTCOME_UNKNOWN, &mut message);
        message.extend_from_slice(b"}],\"isError\":true,\"timestamp\":");
        message.extend_from_slice(message_time);
        message.push(b'}');
        message
    }
}

impl Resume {
    /// Creates the state for a session whose last compaction and the first entry that it keeps are
    /// known. `order` is the active branch, if entries stand before their parents.
    pub fn new(
        list: bool,
        (first_kept, compaction): (Option<u32>, Option<u32>),
        order: Vec<u32>,
        maker: Maker,
    ) -> Self {
        Self { list, first_kept, compaction, maker, order, ..Self::default() }
    }

    /// Looks at the next entry.
    pub fn look(&mut self, plan: &Plan, record: &FoundRecord<'_>, scan: &Scan) {
        let ordinal = self.looked;
        self.looked += 1;
        if plan.marks(ordinal) & marks::REMOVED != 0 {
            return;
        }
        if plan.is_active(ordinal) && !self.order.is_empty() {
            self.entries.insert(ordinal, record.bytes.to_vec());
        } else {
            self.look_at(plan, ordinal, record.bytes, scan);
        }
    }

    fn look_at(&mut self, plan: &Plan, ordinal: u32, bytes: &[u8], scan: &Scan) {
        let message = scan.message.filter(|_| scan.is(bytes, "message"));
        let message = message.map_or(&b""[..], |message| message.of(bytes));
        let role = role_of(bytes, scan).unwrap_or_default();
        let sent = plan.is_sent(ordinal, self.compaction, self.first_kept);
        if !plan.is_active(ordinal) {
            if role == RESULT {
                self.pairing.found(call_of(message), message.to_vec());
            }
            return;
        }
        let text = |object, name| member(object, name).and_then(text::decode);
        if role == "assistant" {
            self.served.answer(text(message, "provider"), text(message, "api"));
        } else if scan.is(bytes, "model_change") {
            self.served.change(text(bytes, "provider"));
        }
        if !sent {
            return;
        }
        let places = refused(bytes, false);
        if !places.is_empty() {
            self.refused.insert(ordinal);
            self.images |= places.iter().any(|place| place.code == Code::ImageReplaced);
        }
        if has_nul(bytes) {
            self.nuls.insert(ordinal);
        }
        match role.as_str() {
            "assistant" => self.answer(ordinal, message, bytes, scan),
            RESULT => self.result(ordinal, message),
            "system" => {}
            "bashExecution" if member(message, "excludeFromContext") == Some(b"true") => {}
            _ if plan.marks(ordinal) & marks::MESSAGE != 0 => {
                self.pairing.settle(self.after);
                self.pairing.speak();
            }
            _ => {}
        }
    }

    fn answer(&mut self, ordinal: u32, message: &[u8], entry: &[u8], scan: &Scan) {
        self.pairing.settle(self.after);
        let why = member(message, "stopReason").unwrap_or_default();
        if text::is(why, "error") || text::is(why, "aborted") {
            return;
        }
        let content = member(message, "content").unwrap_or_default();
        let time = scan.time.map_or(&b"null"[..], |time| time.value.of(entry));
        let message_time = member(message, "timestamp").unwrap_or(b"0");
        let mut number = 0;
        let mut says = text::decode(content).is_some_and(|text| !text.trim().is_empty());
        for (_, block) in elements(content) {
            let of = |key: &str| member(block, key).unwrap_or_default();
            match of("type") {
                b"\"text\"" => {
                    says |= text::decode(of("text")).is_some_and(|t| !t.trim().is_empty())
                }
                b"\"thinking\"" => {}
                b"\"toolCall\"" => {
                    says = true;
                    if of("id").starts_with(b"\"") {
                        let new = self.new_name(of("id"));
                        if let Some(new) = &new {
                            self.renamed.entry(ordinal).or_default().push((number, new.clone()));
                        }
                        let (time, message_time) = (time.to_vec(), message_time.to_vec());
                        let (name, entry) = (of("name").to_vec(), Id::default());
                        let call = Call { new, name, time, message_time, entry };
                        self.pairing.call(of("id"), call);
                        self.after = ordinal;
                    }
                    number += 1;
                }
                _ => says = true,
            }
        }
        self.pairing.answer(ordinal, says);
    }

    /// Returns a new identifier for a call if one before it has the same.
    fn new_name(&mut self, id: &[u8]) -> Option<Vec<u8>> {
        if self.calls.insert(key_of(id)) {
            return None;
        }
        let given = text::decode(id)?;
        let named = |number: u64| Json::string(&format!("{given}_{number}")).as_bytes().to_vec();
        let new = (2..).map(named).find(|new| !self.calls.contains(&key_of(new)))?;
        self.calls.insert(key_of(&new));
        Some(new)
    }

    fn result(&mut self, ordinal: u32, message: &[u8]) {
        let id = call_of(message);
        match self.pairing.take(id) {
            Some(call) => {
                self.after = ordinal;
                self.renamed.extend(call.new.map(|new| (ordinal, vec![(0, new)])));
            }
            None => self.pairing.orphan(ordinal, id, message.to_vec()),
        }
    }

    /// Ends the look at the entries, and decides which entries are removed and what identifiers
    /// added results get.
    pub fn close(&mut self, plan: &Plan) {
        for at in self.order.clone() {
            let Some(entry) = self.entries.remove(&at) else { continue };
            let scan = Scan::of(&entry).ok().flatten();
            scan.iter().for_each(|scan| self.look_at(plan, at, &entry, scan));
        }
        self.pairing.settle(self.after);
        if self.served.interface() != Some(Interface::ChatCompletions) {
            self.nuls.clear();
        }
        // Other interfaces accept identifiers that occur twice.
        if !matches!(self.served.interface(), None | Some(Interface::AnthropicMessages)) {
            self.renamed.clear();
            self.pairing.calls_mut().for_each(|call| call.new = None);
        }
        self.pairing.close();
        self.keep_leaf(plan);
        let ids = plan.free_names(&self.maker, self.places().len());
        for (call, id) in self.pairing.calls_mut().zip(ids) {
            call.entry = id;
        }
    }

    /// Keeps entries whose removal would move the leaf. The agent continues behind the last entry
    /// of the file, so no removal may make an entry of another branch the last one, nor the end of
    /// the conversation, to which a repair links the leaf.
    fn keep_leaf(&mut self, plan: &Plan) {
        let (mut last, mut end, mut behind_gone) = (None, None, false);
        for ordinal in (0..plan.len()).filter(|at| plan.marks(*at) & marks::PASSED == 0) {
            if self.removed(ordinal).is_some() {
                behind_gone = true;
                continue;
            }
            // The entry that follows a removed one is marked as linked to the end.
            let stands_for_end = plan.is_active(ordinal) && std::mem::take(&mut behind_gone);
            last = Some(ordinal);
            if stands_for_end || plan.marks(ordinal) & marks::ASIDE == 0 {
                end = last;
            }
        }
        for other in [last, end].into_iter().flatten().filter(|at| !plan.is_active(*at)) {
            self.leaf_stays |= self.pairing.keep_from(other + 1);
        }
    }

    /// Whether an entry is kept for the leaf's sake that would have been removed otherwise.
    pub fn leaves(&self) -> bool {
        self.leaf_stays
    }

    /// Whether anything is changed.
    pub fn changes(&self) -> bool {
        let replaced = [&self.refused, &self.nuls].iter().any(|set| !set.is_empty());
        replaced || !self.renamed.is_empty() || self.pairing.changes()
    }

    /// Whether entries are added or removed on a branch on which entries stand before their parents.
    pub fn is_unordered(&self) -> bool {
        !self.order.is_empty() && self.pairing.changes()
    }

    /// Whether entries or images are set aside.
    pub fn removes(&self) -> bool {
        self.pairing.removes() || self.images
    }

    /// Returns why an entry is removed, if it is.
    pub fn removed(&self, ordinal: u32) -> Option<Code> {
        self.pairing.removed(ordinal)
    }

    /// Returns the entries behind which results are added, once for each result.
    pub fn places(&self) -> Vec<u32> {
        self.pairing.all_added().map(|(ordinal, _)| ordinal).collect()
    }

    /// Counts the added and the removed entries.
    pub fn count(&self, reach: &mut Reach) {
        reach.entries = self.pairing.count(reach.entries);
        reach.messages = self.pairing.count(reach.messages);
    }

    /// Whether an entry must be parsed when it is written.
    pub fn touches(&self, ordinal: u32) -> bool {
        self.over.is_some()
            || !self.removed_parents.is_empty()
            || !self.pairing.added(ordinal).is_empty()
            || self.removed(ordinal).is_some()
            || self.refused.contains(&ordinal)
            || self.nuls.contains(&ordinal)
            || self.renamed.contains_key(&ordinal)
    }

    /// Returns the new parent of an entry that follows added or removed entries, and the reason for
    /// it.
    pub fn parent(&mut self, active: bool, parent: &[u8]) -> Option<(Vec<u8>, Code)> {
        if self.list {
            return None;
        }
        let over = if active { self.over.take() } else { None };
        let beside =
            || Some((self.removed_parents.get(&key_of(parent))?.clone(), Code::ParentLinked));
        over.or_else(beside)
    }

    /// Notes that an entry with this parent is removed.
    pub fn remove(&mut self, active: bool, own: &[u8], parent: Vec<u8>, code: Code) {
        if active {
            self.over = Some((parent.clone(), code));
        }
        self.removed_parents.insert(key_of(own), parent);
    }

    /// Returns the lines that are added behind an entry, with their calls.
    pub fn put_in(&mut self, ordinal: u32, own: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let added = self.pairing.added(ordinal);
        if added.is_empty() {
            return Vec::new();
        }
        let mut parent = own.to_vec();
        let mut lines = Vec::with_capacity(added.len());
        for added in added {
            let mut line = b"{\"type\":\"message\",".to_vec();
            if !self.list {
                let id = format!("\"{}\"", String::from_utf8_lossy(&added.call.entry));
                line.extend_from_slice(format!("\"id\":{id},\"parentId\":").as_bytes());
                line.extend_from_slice(&parent);
                line.push(b',');
                parent = id.into_bytes();
            }
            line.extend_from_slice(b"\"timestamp\":");
            line.extend_from_slice(&added.call.time);
            line.extend_from_slice(b",\"message\":");
            line.extend_from_slice(&added.message());
            let code = Code::ResultSynthesized.name();
            let note = format!(",\"copyist\":{{\"repaired\":[{{\"code\":\"{code}\"}}]}}}}");
            line.extend_from_slice(note.as_bytes());
            lines.push((added.call_id().to_vec(), line));
        }
        self.over = Some((parent, Code::ResultSynthesized));
        lines
    }

    /// Returns the places of an entry that are to be replaced.
    pub fn refused(&self, ordinal: u32, record: &[u8]) -> Vec<Refused> {
        let nuls = self.nuls.contains(&ordinal);
        let is_refused = nuls || self.refused.contains(&ordinal);
        let mut places = if is_refused { refused(record, nuls) } else { Vec::new() };
        let names = self.renamed.get(&ordinal);
        places.extend(names.into_iter().flat_map(|names| renamed_calls(record, names)));
        places
    }
}

/// Returns the identifier of the call that the message of a result names.
fn call_of(message: &[u8]) -> &[u8] {
    member(message, "toolCallId").unwrap_or_default()
}

/// Returns the message of a result with this identifier of its call.
fn with_call(mut message: Vec<u8>, id: &[u8]) -> Vec<u8> {
    if let Some(old) = member(&message, "toolCallId").filter(|old| *old != id) {
        let start = old.as_ptr().addr() - message.as_ptr().addr();
        let end = start + old.len();
        message.splice(start..end, id.iter().copied());
    }
    message
}
