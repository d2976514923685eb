//! Items that Codex sends to a model when it resumes a session.
//!
//! Source: `reconstruct_history_from_rollout` and `normalize_history` of openai/codex, and requests
//! of releases 0.34.0 to 0.169.0.

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
use std::collections::HashSet;

/// Begins a context.
#[must_use]
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(History::default())
}

/// The history at the end of a rollout.
#[derive(Default)]
struct History {
    /// Position of the last compaction with a new history, and that history.
    replaced: Option<(u32, Json)>,
    /// Position of the last compaction with a summary only, behind that one.
    summed_up: Option<u32>,
    /// Hashes of the calls and results that count.
    calls: HashSet<u64>,
    results: HashSet<u64>,
}

impl History {
    fn note(&mut self, record: &Record) {
        let Some(first) = first_block(record) else { return };
        for (field, kind, set) in [
            (Field::Id, block::TOOL_CALL, &mut self.calls),
            (Field::Call, block::TOOL_RESULT, &mut self.results),
        ] {
            if let Some(name) = first.json(field).filter(|_| first.is(Field::Type, kind)) {
                set.insert(name_of(name));
            }
        }
    }

    fn reset(&mut self) {
        self.calls.clear();
        self.results.clear();
    }

    /// Returns the item of a message; `None` for one that Codex drops when it sends the others: the
    /// result of a call that is not there, and a line that its parser does not take, such as one
    /// with half of a character.
    fn item(&self, message: &Record) -> Option<Json> {
        if let Some(item) = message.node.json(Field::Data) {
            return Some(item.clone());
        }
        if self.is_orphan(message) {
            return None;
        }
        let mut node = message.node.clone();
        if let Some(Value::Json(extra)) = node.take(Field::Extra) {
            // A message of a new history has the members of its item at the top.
            let own = extra.member("payload").unwrap_or(extra);
            only(&own, |key, value| SENT.contains(&key) || is_raw_thought(key, value), &mut node);
        }
        if let Some(Value::Nodes(parts)) = node.get_mut(Field::Content) {
            let texts = parts.iter_mut().filter(|part| part.is(Field::Type, block::TEXT));
            texts.for_each(|part| drop(part.take(Field::Extra)));
        }
        let mut spelled = Vec::new();
        let written = responses::write(&node, &mut spelled);
        let taken = serde_json::from_slice::<serde_json::Value>(&spelled).is_ok();
        (written && taken).then(|| Json::checked(spelled.into()))
    }

    /// Whether a message is the result of a call that is not there.
    fn is_orphan(&self, message: &Record) -> bool {
        let result = first_block(message).filter(|b| b.is(Field::Type, block::TOOL_RESULT));
        let call = result.and_then(|result| result.json(Field::Call));
        call.is_some_and(|call| !self.calls.contains(&name_of(call)))
    }

    /// Returns the identifier of a message's call if nothing answers it: Codex itself puts a result
    /// behind it.
    fn unanswered<'m>(&self, message: &'m Record) -> Option<&'m Json> {
        let call = first_block(message).filter(|b| b.is(Field::Type, block::TOOL_CALL))?;
        call.json(Field::Id).filter(|id| !self.results.contains(&name_of(id)))
    }

    /// Whether the position is before the last compaction.
    fn is_before(&self, position: u32) -> bool {
        self.summed_up.is_some_and(|at| position < at)
    }
}

fn name_of(call: &Json) -> u64 {
    hash(call.text().unwrap_or_default().as_bytes())
}

fn first_block(record: &Record) -> Option<&Node> {
    record.node.nodes(Field::Content)?.first().filter(|_| record.kind == Kind::Message)
}

impl Context for History {
    fn look(&mut self, position: u32, record: &Located<Record>) -> Result<()> {
        let record = &record.value;
        if record.kind != Kind::Compaction {
            self.note(record);
            return Ok(());
        }
        self.reset();
        let payload = record.node.json(Field::Extra).and_then(|extra| extra.member("payload"));
        let list = payload.and_then(|payload| payload.member("replacement_history"));
        match list.filter(|list| list.as_bytes().starts_with(b"[")) {
            Some(list) => {
                line::items(&list).for_each(|record| self.note(&record));
                self.replaced = Some((position, list));
                self.summed_up = None;
            }
            None => self.summed_up = Some(position),
        }
        Ok(())
    }

    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some((_, list)) = &self.replaced else { return Vec::new() };
        let of_user = |record: &Record| record.node.is(Field::Role, "user");
        let items = line::items(list).filter(|item| self.summed_up.is_none() || of_user(item));
        let whole = hash(list.as_bytes());
        let named = |(number, mut item): (usize, Record)| {
            // A tree needs identifiers; these are as long as no others.
            let name = hash(&[whole.to_le_bytes(), (number as u64).to_le_bytes()].concat());
            item.node.set(Field::Id, Json::string(&format!("{name:016x}")));
            item.node.set(Field::IdMade, Json::constant("true"));
            item
        };
        items.enumerate().map(named).collect()
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        if self.replaced.as_ref().is_some_and(|(at, _)| position <= *at) {
            return None;
        }
        match record.kind {
            Kind::Message if record.is_aside() => None,
            Kind::Message if self.is_before(position) => {
                record.node.is(Field::Role, "user").then(|| record.clone())
            }
            Kind::Message => Some(record.clone()),
            // A further compaction makes the summary before it one of the user's messages, which it
            // leaves out.
            Kind::Compaction if self.summed_up == Some(position) => {
                let mut message = Record::new(Kind::Message);
                message.node.set(Field::Role, Json::constant("\"user\""));
                let said = record.node.json(Field::Summary)?.clone();
                message.node.set(Field::Content, vec![block::text(said)]);
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
            items::aborted(message.node.is(Field::Subtype, "custom_tool_call"), name, out);
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
