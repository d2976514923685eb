//! Items that Codex sends to a model when it resumes a session.
//!
//! Source: `reconstruct_history_from_rollout` and `normalize_history` of openai/codex, and requests
//! of releases 0.34.0 to 0.169.0.

use super::turns::{Turns, new_history};
use super::twin::is_harness;
use super::{items, line};
use crate::dialect::responses;
use crate::error::Result;
use crate::format::Context;
use crate::ids::hash;
use crate::json::Json;
use crate::mapping::{Extra, Object};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::collections::HashMap;

/// Begins a context.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(History::default())
}

/// The history at the end of a rollout.
#[derive(Default)]
struct History {
    turns: Turns,
    /// The compactions so far.
    compactions: Vec<Compaction>,
    /// Size in bytes of their new histories.
    size: usize,
    /// Position of the last compaction with a new history that counts.
    replaced: Option<u32>,
    /// Position of the last compaction with a summary only, behind that one.
    summed_up: Option<u32>,
    /// Number of the user's messages that count of those before that position, if turns among them
    /// were taken back.
    kept: Option<usize>,
    /// Position of the last compaction that counts, and the last ones of calls and results.
    begin: Option<u32>,
    calls: HashMap<u64, u32>,
    results: HashMap<u64, u32>,
}

/// Compaction on the path.
struct Compaction {
    position: u32,
    /// Its number among those with a new history, and that history.
    list: Option<(u32, Json)>,
}

/// Largest size in bytes of the new histories that are held in case that later ones do not count.
const LARGEST: usize = 64 << 20;

/// Position of an item of a new history.
const LISTED: u32 = u32::MAX;

impl History {
    fn note(&mut self, position: u32, record: &Record) {
        if let Some(name) = items::search(&record.node) {
            self.calls.insert(items::hash_of(&name), position);
        }
        if let Some((name, _)) = items::found(&record.node) {
            self.results.insert(items::hash_of(&name), position);
        }
        let Some(first) = first_block(record) else { return };
        for (field, kind, places) in [
            (Field::Id, block::TOOL_CALL, &mut self.calls),
            (Field::Call, block::TOOL_RESULT, &mut self.results),
        ] {
            if let Some(name) = first.json(field).filter(|_| first.is(Field::Type, kind)) {
                places.insert(items::hash_of(name), position);
            }
        }
    }

    /// Whether a call or result is in the part of the conversation that counts.
    fn has(&self, places: &HashMap<u64, u32>, name: &Json) -> bool {
        let place = places.get(&items::hash_of(name));
        place.is_some_and(|place| self.begin.is_none_or(|begin| *place > begin))
    }

    /// Finds the compactions that count; returns the new history.
    fn decide(&mut self) -> Option<Json> {
        let base = self.turns.base();
        let counts = |number: u32| self.turns.compactions() == 0 || number <= base;
        let found = self.compactions.iter().rev().find_map(|compaction| {
            let (number, list) = compaction.list.as_ref()?;
            counts(*number).then(|| (compaction.position, list.clone()))
        });
        self.replaced = found.as_ref().map(|(position, _)| *position);
        let mut summaries = self.compactions.iter().rev().filter(|one| one.list.is_none());
        let summed_up = summaries.next().map(|one| one.position);
        self.summed_up = summed_up.filter(|at| self.replaced.is_none_or(|base| base < *at));
        self.kept = self.turns.kept();
        self.begin = self.summed_up.or(self.replaced);
        self.compactions.clear();
        found.map(|(_, list)| list)
    }

    /// Returns the item of a message; `None` for one that Codex drops when it sends the others: the
    /// result of a call that is not there, and a line that its parser does not take, such as one
    /// with half of a character.
    fn item(&self, message: &Record) -> Option<Json> {
        if self.is_orphan(message) {
            return None;
        }
        if message.node.json(Field::Data).is_some() {
            return items::sent(&message.node);
        }
        let mut node = message.node.clone();
        if let Some(Value::Json(extra)) = node.take(Field::Extra) {
            // A message of a new history has the members of its item at the top.
            let own = extra.member("payload").unwrap_or(extra);
            only(&own, |key, value| SENT.contains(&key) || is_raw_thought(key, value), &mut node);
        }
        if let Some(Value::Nodes(parts)) = node.get_mut(Field::Content) {
            items::omit_sounds(parts);
            let texts = parts.iter_mut().filter(|part| part.is(Field::Type, block::TEXT));
            texts.for_each(|part| drop(part.take(Field::Extra)));
        }
        let mut spelled = Vec::new();
        let written = responses::write(&node, &mut spelled);
        let taken = serde_json::from_slice::<serde_json::Value>(&spelled).is_ok();
        (written && taken).then(|| Json::trusted(spelled.into()))
    }

    /// Whether a message is the result of a call that is not there.
    fn is_orphan(&self, message: &Record) -> bool {
        if let Some((search, counts)) = items::found(&message.node) {
            return counts && !self.has(&self.calls, &search);
        }
        let result = first_block(message).filter(|b| b.is(Field::Type, block::TOOL_RESULT));
        let call = result.and_then(|result| result.json(Field::Call));
        call.is_some_and(|call| !self.has(&self.calls, call))
    }

    /// Returns the identifier of a message's call if nothing answers it: Codex itself puts a result
    /// behind it.
    fn unanswered(&self, message: &Record) -> Option<Json> {
        let called = || {
            let call = first_block(message).filter(|b| b.is(Field::Type, block::TOOL_CALL))?;
            call.json(Field::Id).cloned()
        };
        let call = items::search(&message.node).or_else(called)?;
        (!self.has(&self.results, &call)).then_some(call)
    }

    /// Whether the last compaction, which has a summary only, keeps the next message before it.
    fn keeps(&mut self, record: &Record) -> bool {
        let of_user = record.node.is(Field::Role, "user");
        let left = self.kept.filter(|_| of_user).map(|kept| kept.checked_sub(1));
        self.kept = left.flatten().or(self.kept);
        of_user && left != Some(None)
    }

    /// Whether the position is before the last compaction.
    fn is_before(&self, position: u32) -> bool {
        self.summed_up.is_some_and(|at| position < at)
    }
}

fn first_block(record: &Record) -> Option<&Node> {
    record.node.nodes(Field::Content)?.first().filter(|_| record.kind == Kind::Message)
}

impl Context for History {
    fn look(&mut self, position: u32, record: &Located<Record>) -> Result<()> {
        let record = &record.value;
        if record.kind != Kind::Compaction {
            self.note(position, record);
            return Ok(());
        }
        let list = new_history(record);
        self.size += list.as_ref().map_or(0, |list| list.as_bytes().len());
        if list.is_some() && self.size > LARGEST {
            self.compactions.clear();
            self.size = 0;
        }
        let list = list.map(|list| (self.turns.compactions(), list));
        self.compactions.push(Compaction { position, list });
        Ok(())
    }

    fn pass(&mut self, record: &Record) {
        self.turns.take(record, None, None);
    }

    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some(list) = self.decide() else { return Vec::new() };
        let items = line::items(&list).take(self.turns.items().unwrap_or(usize::MAX));
        let items = items.filter(|item| self.summed_up.is_none() || self.keeps(item));
        let items: Vec<Record> = items.collect();
        if self.summed_up.is_none() {
            items.iter().for_each(|item| self.note(LISTED, item));
        }
        let whole = hash(list.as_bytes());
        let named = |(number, mut item): (usize, Record)| {
            // A tree needs identifiers; these are as long as no others.
            let name = hash(&[whole.to_le_bytes(), (number as u64).to_le_bytes()].concat());
            item.node.set(Field::Id, Json::string(&format!("{name:016x}")));
            item.node.set(Field::IdMade, Json::constant("true"));
            item
        };
        items.into_iter().enumerate().map(named).collect()
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        if self.replaced.is_some_and(|at| position <= at) {
            return None;
        }
        match record.kind {
            Kind::Message if record.is_aside() => None,
            Kind::Message if self.is_before(position) => self.keeps(record).then(|| record.clone()),
            Kind::Message => Some(record.clone()),
            // A further compaction makes the summary before it one of the user's messages, which it
            // leaves out.
            Kind::Compaction if self.summed_up == Some(position) && self.kept.is_none() => {
                let mut message =
                    Record::new(Kind::Message).with(Field::Role, Json::constant("\"user\""));
                // What follows has the compaction as its parent.
                for field in [Field::Id, Field::IdMade, Field::Parent, Field::Time] {
                    message.node.put(field, record.node.json(field).cloned());
                }
                let summary = record.node.json(Field::Summary)?.clone();
                message.node.set(Field::Content, vec![block::text(summary)]);
                Some(message)
            }
            Kind::Extension if !self.is_before(position) => {
                // The interface has no role `system` among its items.
                (!record.node.is(Field::CustomType, "system")).then(|| record.clone())
            }
            Kind::Opaque if !self.is_before(position) => {
                line::is_item(record).then(|| record.clone())
            }
            _ => None,
        }
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        let Some(item) = self.item(message) else { return };
        without_names(&item, out);
        if let Some(name) = self.unanswered(message) {
            out.push(b',');
            items::added(&message.node, &name, out);
        }
    }

    fn count(&self, message: &Record) -> u64 {
        match self.item(message) {
            Some(_) => 1 + u64::from(self.unanswered(message).is_some()),
            None => 0,
        }
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        let counts = message.kind == Kind::Message && !is_harness(&message.node);
        counts.then(|| message.node.clone())
    }
}

/// Sets those members without a field that are sent.
fn only(extra: &Json, is_sent: impl Fn(&[u8], &[u8]) -> bool, node: &mut Node) {
    let mut sent = Extra::default();
    for (key, value) in extra.members().filter(|(key, value)| is_sent(key, value)) {
        sent.add(key, value);
    }
    sent.put(node);
}

/// Whether a member is the text of a thought that its provider shows.
fn is_raw_thought(key: &[u8], value: &[u8]) -> bool {
    key == b"\"content\"" && memchr::memmem::find(value, b"\"reasoning_text\"").is_some()
}

/// Members without a field that Codex sends.
const SENT: [&[u8]; 3] = [b"\"phase\"", b"\"status\"", b"\"encrypted_content\""];

/// Writes an item without the identifiers that belong to a server, and without notes for the
/// client.
fn without_names(item: &Json, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    for (key, value) in item.members() {
        if !matches!(key, b"\"id\"" | b"\"internal_chat_message_metadata_passthrough\"") {
            object.spelled(key, value);
        }
    }
    object.close();
}
