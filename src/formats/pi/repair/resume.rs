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
use crate::repair::{OUTCOME_UNKNOWN, Waiting};
use crate::tree::{Plan, key_of, marks};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Decisions along the active branch, and the state of writing.
#[derive(Debug)]
pub struct Resume {
    list: bool,
    first_kept: Option<u32>,
    compaction: Option<u32>,
    maker: Maker,
    /// Number of entries looked at.
    looked: u32,
    /// The last answer, while calls of it wait for their results.
    open: Option<Turn>,
    /// Answers at the end without content.
    tail: Vec<u32>,
    /// Results that repair adds, by the entry before them.
    put: BTreeMap<u32, Vec<Put>>,
    /// Places of added results, by their calls.
    answered: HashMap<u64, (u32, usize)>,
    removed: BTreeMap<u32, Code>,
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

/// An answer with calls.
#[derive(Debug)]
struct Turn {
    /// The last entry that belongs to it.
    after: u32,
    /// Calls that wait, by their identifiers.
    calls: Waiting<u64, Call>,
    /// Results off the active branch.
    elsewhere: HashMap<u64, Vec<u8>>,
    /// The answer's times, in their spelling.
    time: Vec<u8>,
    message_time: Vec<u8>,
}

/// A call that waits for its result, in its spelling.
#[derive(Debug)]
struct Call {
    id: Vec<u8>,
    /// Identifier that it gets, because another call has the same.
    new: Option<Vec<u8>>,
    name: Vec<u8>,
}

/// Result that repair adds.
#[derive(Debug)]
struct Put {
    /// Identifier of the call, before it was renamed and now.
    old: Vec<u8>,
    call: Vec<u8>,
    message: Vec<u8>,
    time: Vec<u8>,
    id: Id,
}

impl Resume {
    /// Creates the state for a session whose last compaction and the first entry that it keeps are
    /// known.
    pub fn new(list: bool, first_kept: Option<u32>, compaction: Option<u32>, maker: Maker) -> Self {
        Self {
            list,
            first_kept,
            compaction,
            maker,
            looked: 0,
            open: None,
            tail: Vec::new(),
            put: BTreeMap::new(),
            answered: HashMap::new(),
            removed: BTreeMap::new(),
            leaf_stays: false,
            refused: BTreeSet::new(),
            images: false,
            nuls: BTreeSet::new(),
            served: Served::default(),
            calls: HashSet::new(),
            renamed: BTreeMap::new(),
            over: None,
            removed_parents: HashMap::new(),
        }
    }

    /// Looks at the next entry.
    pub fn look(&mut self, plan: &Plan, record: &FoundRecord<'_>, scan: &Scan) {
        let ordinal = self.looked;
        self.looked += 1;
        if plan.marks(ordinal) & marks::REMOVED != 0 {
            return;
        }
        let bytes = record.bytes;
        let message = scan.message.filter(|_| scan.is(bytes, "message"));
        let message = message.map_or(&b""[..], |message| message.of(bytes));
        let role = role_of(bytes, scan).unwrap_or_default();
        let sent = plan.is_sent(ordinal, self.compaction, self.first_kept);
        if !plan.is_active(ordinal) {
            if role == RESULT {
                self.found_elsewhere(message);
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
            "assistant" => self.answer(ordinal, message, record, scan),
            RESULT => self.result(ordinal, message),
            "system" => {}
            "bashExecution" if member(message, "excludeFromContext") == Some(b"true") => {}
            _ if plan.marks(ordinal) & marks::MESSAGE != 0 => {
                self.settle();
                self.tail.clear();
            }
            _ => {}
        }
    }

    fn answer(&mut self, ordinal: u32, message: &[u8], record: &FoundRecord<'_>, scan: &Scan) {
        self.settle();
        let why = member(message, "stopReason").unwrap_or_default();
        if text::is(why, "error") || text::is(why, "aborted") {
            return;
        }
        let content = member(message, "content").unwrap_or_default();
        let (mut calls, mut number) = (Waiting::default(), 0);
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
                    // A call that lost its identifier by damage cannot be answered.
                    if of("id").starts_with(b"\"") {
                        let (id, name) = (of("id").to_vec(), of("name").to_vec());
                        let new = self.new_name(&id);
                        let names = new.iter().map(|new| (number, new.clone()));
                        if new.is_some() {
                            self.renamed.entry(ordinal).or_default().extend(names);
                        }
                        calls.push(key_of(&id), Call { id, new, name });
                    }
                    number += 1;
                }
                _ => says = true,
            }
        }
        if says {
            self.tail.clear();
        } else {
            self.tail.push(ordinal);
        }
        if !calls.is_empty() {
            let time = scan.time.map_or(&b"null"[..], |time| time.value.of(record.bytes)).to_vec();
            let message_time = member(message, "timestamp").unwrap_or(b"0").to_vec();
            let elsewhere = HashMap::new();
            self.open = Some(Turn { after: ordinal, calls, elsewhere, time, message_time });
        }
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
        let call = member(message, "toolCallId").unwrap_or_default();
        if let Some(open) = &mut self.open
            && let Some(call) = open.calls.take(&key_of(call))
        {
            open.after = ordinal;
            if let Some(new) = call.new {
                self.renamed.insert(ordinal, vec![(0, new)]);
            }
            return;
        }
        // A late result is added at its right place.
        self.found_elsewhere(message);
        self.removed.insert(ordinal, Code::OrphanResult);
    }

    /// Uses a result that is in a place where it is not sent, or that comes too late, as the result
    /// of its call.
    fn found_elsewhere(&mut self, message: &[u8]) {
        let key = key_of(member(message, "toolCallId").unwrap_or_default());
        if let Some((after, place)) = self.answered.remove(&key) {
            let put = self.put.get_mut(&after).and_then(|put| put.get_mut(place));
            if let Some(put) = put {
                put.message = message.to_vec();
            }
        } else if let Some(open) = &mut self.open
            && open.calls.has(&key)
        {
            open.elsewhere.insert(key, message.to_vec());
        }
    }

    /// Ends the turn: calls that still wait get results.
    fn settle(&mut self) {
        let Some(mut turn) = self.open.take() else { return };
        for mut call in turn.calls.rest() {
            let key = key_of(&call.id);
            let real = turn.elsewhere.remove(&key);
            let list = self.put.entry(turn.after).or_default();
            if real.is_none() {
                self.answered.insert(key, (turn.after, list.len()));
            }
            let old = call.id.clone();
            call.id = call.new.take().unwrap_or(call.id);
            let made = || {
                let mut message = b"{\"role\":\"toolResult\",\"toolCallId\":".to_vec();
                let is_text = call.name.starts_with(b"\"");
                let name = if is_text { call.name.as_slice() } else { b"\"\"" };
                message.extend_from_slice(&call.id);
                message.extend_from_slice(b",\"toolName\":");
                message.extend_from_slice(name);
                message.extend_from_slice(b",\"content\":[{\"type\":\"text\",\"text\":");
                text::quote(OUTCOME_UNKNOWN, &mut message);
                message.extend_from_slice(b"}],\"isError\":true,\"timestamp\":");
                message.extend_from_slice(&turn.message_time);
                message.push(b'}');
                message
            };
            let message = match real {
                Some(real) => with_call(real, &call.id),
                None => made(),
            };
            list.push(Put {
                old,
                call: call.id,
                message,
                time: turn.time.clone(),
                id: Id::default(),
            });
        }
    }

    /// Ends the look at the entries, and decides which entries are removed and what identifiers
    /// added results get.
    pub fn close(&mut self, plan: &Plan) {
        self.settle();
        if self.served.interface() != Some(Interface::ChatCompletions) {
            self.nuls.clear();
        }
        // Other interfaces accept identifiers that occur twice.
        if !matches!(self.served.interface(), None | Some(Interface::AnthropicMessages)) {
            self.renamed.clear();
            for put in self.put.values_mut().flatten() {
                put.message = with_call(std::mem::take(&mut put.message), &put.old);
                put.call = put.old.clone();
            }
        }
        for ordinal in std::mem::take(&mut self.tail) {
            self.removed.insert(ordinal, Code::EmptyTail);
        }
        self.keep_leaf(plan);
        let count = self.put.values().map(Vec::len).sum();
        let ids = plan.free_names(&self.maker, count);
        for (put, id) in self.put.values_mut().flatten().zip(ids) {
            put.id = id;
        }
    }

    /// Keeps entries whose removal would move the leaf. The agent continues behind the last entry
    /// of the file, so no removal may make an entry of another branch the last one, nor the end of
    /// the conversation, to which a repair links the leaf.
    fn keep_leaf(&mut self, plan: &Plan) {
        let (mut last, mut end, mut behind_gone) = (None, None, false);
        for ordinal in (0..plan.len()).filter(|at| plan.marks(*at) & marks::PASSED == 0) {
            if self.removed.contains_key(&ordinal) {
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
            self.leaf_stays |= !self.removed.split_off(&(other + 1)).is_empty();
        }
    }

    /// Whether an entry is kept for the leaf's sake that would have been removed otherwise.
    pub fn leaves(&self) -> bool {
        self.leaf_stays
    }

    /// Whether anything is changed.
    pub fn changes(&self) -> bool {
        let none = [&self.refused, &self.nuls].iter().all(|set| set.is_empty());
        !(none && self.put.is_empty() && self.renamed.is_empty()) || self.removes()
    }

    /// Whether entries or images are set aside.
    pub fn removes(&self) -> bool {
        !self.removed.is_empty() || self.images
    }

    /// Returns why an entry is removed, if it is.
    pub fn removed(&self, ordinal: u32) -> Option<Code> {
        self.removed.get(&ordinal).copied()
    }

    /// Returns the entries behind which results are added, once for each result.
    pub fn places(&self) -> Vec<u32> {
        self.put.iter().flat_map(|(ordinal, put)| put.iter().map(|_| *ordinal)).collect()
    }

    /// Counts the added and the removed entries.
    pub fn count(&self, reach: &mut Reach) {
        let put = self.put.values().map(Vec::len).sum::<usize>() as u64;
        let gone = self.removed.len() as u64;
        reach.entries = (reach.entries + put).saturating_sub(gone);
        reach.messages = (reach.messages + put).saturating_sub(gone);
    }

    /// Whether an entry must be parsed when it is written.
    pub fn touches(&self, ordinal: u32) -> bool {
        self.over.is_some()
            || !self.removed_parents.is_empty()
            || self.put.contains_key(&ordinal)
            || self.removed.contains_key(&ordinal)
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
        let Some(put) = self.put.get(&ordinal) else { return Vec::new() };
        let mut parent = own.to_vec();
        let mut lines = Vec::with_capacity(put.len());
        for put in put {
            let mut line = b"{\"type\":\"message\",".to_vec();
            if !self.list {
                let id = format!("\"{}\"", String::from_utf8_lossy(&put.id));
                line.extend_from_slice(format!("\"id\":{id},\"parentId\":").as_bytes());
                line.extend_from_slice(&parent);
                line.push(b',');
                parent = id.into_bytes();
            }
            line.extend_from_slice(b"\"timestamp\":");
            line.extend_from_slice(&put.time);
            line.extend_from_slice(b",\"message\":");
            line.extend_from_slice(&put.message);
            let code = Code::ResultSynthesized.name();
            let note = format!(",\"copyist\":{{\"repaired\":[{{\"code\":\"{code}\"}}]}}}}");
            line.extend_from_slice(note.as_bytes());
            lines.push((put.call.clone(), line));
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

/// Returns the message of a result with this identifier of its call.
fn with_call(mut message: Vec<u8>, id: &[u8]) -> Vec<u8> {
    if let Some(old) = member(&message, "toolCallId").filter(|old| *old != id) {
        let start = old.as_ptr().addr() - message.as_ptr().addr();
        let end = start + old.len();
        message.splice(start..end, id.iter().copied());
    }
    message
}
