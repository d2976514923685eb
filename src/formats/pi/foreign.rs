//! Fields that pi has in every entry, for records of formats that leave them out.
//!
//! pi reads the time, the model and the usage of messages without asking whether they are there.

use crate::ids::hash;
use crate::json::Json;
use crate::record::{Called, Field, Kind, Node, Record, Value, began, block};
use crate::times;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// Facts about a session of another format that are known so far.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Last time of a record.
    time: Timestamp,
    provider: Option<Json>,
    model: Option<Json>,
    called: Called,
    /// Hashes of the entries' identifiers, and the last one.
    entries: HashSet<u64>,
    last: Option<Json>,
    /// Leaf of the session, if the session names one.
    leaf: Option<Json>,
    /// Name of the session.
    name: Option<Json>,
    /// Entries that have no place in pi's files, and entries beside the conversation, each with its
    /// parent.
    omitted: HashMap<Json, Json>,
    beside: HashMap<Json, Json>,
}

const UNKNOWN: Json = Json::constant("\"unknown\"");
const ZERO: Json = Json::constant("0");
const TOKENS: &[Field] =
    &[Field::InputTokens, Field::OutputTokens, Field::CacheRead, Field::CacheWrite];

/// Reasons for the end of an answer that pi knows.
const ENDS: &[&str] = &["stop", "length", "toolUse", "error", "aborted", "deferred"];

impl Foreign {
    /// Creates the state for a session with this record.
    pub fn of(session: &Node) -> Self {
        let own = |field| session.json(field).filter(|json| json.text().is_some()).cloned();
        Self {
            time: began(session).unwrap_or(Timestamp::UNIX_EPOCH),
            provider: own(Field::Provider),
            model: own(Field::Model),
            leaf: session.json(Field::Leaf).cloned(),
            ..Self::default()
        }
    }

    /// Notes an entry that was written.
    pub fn written(&mut self, entry: &Node) {
        let Some(id) = entry.json(Field::Id) else { return };
        self.time = entry.json(Field::Time).and_then(times::read).unwrap_or(self.time);
        self.entries.insert(hash(id.as_bytes()));
        self.last = Some(id.clone());
    }

    /// Notes an entry that was left out: its children follow its parent.
    pub fn omit(&mut self, entry: &Node) {
        let Some(id) = entry.json(Field::Id) else { return };
        self.omitted.insert(id.detached(), parent_of(entry).detached());
    }

    /// Returns this entry, or the nearest one above it that pi's file has; with `conversation`, the
    /// nearest one of the conversation.
    fn written_above<'s>(&'s self, mut id: &'s Json, conversation: bool) -> &'s Json {
        let beside = |id| self.beside.get(id).filter(|_| conversation);
        // A longer path would lead in a circle.
        for _ in 0..self.omitted.len() + self.beside.len() {
            let Some(parent) = self.omitted.get(id).or_else(|| beside(id)) else { break };
            id = parent;
        }
        id
    }

    /// Whether an entry is elsewhere in pi's file than in the session.
    pub fn moves(&self, record: &Record) -> bool {
        record.is_aside() || !self.beside.is_empty()
    }

    /// Gives an entry its parent. pi sends all messages on the path to the leaf, so messages that
    /// no model receives are beside the path, and their children follow their parents.
    pub fn link(&mut self, record: &mut Record) {
        let (aside, node) = (record.is_aside(), &mut record.node);
        if let Some(parent) = node.json(Field::Parent).cloned() {
            node.set(Field::Parent, self.written_above(&parent, !aside).clone());
        }
        if let Some(id) = node.json(Field::Id).filter(|_| aside) {
            self.beside.insert(id.detached(), parent_of(node).detached());
        }
    }

    /// Returns a record with an identifier, behind the last entry of the conversation.
    pub fn named(&self, mut record: Record) -> Record {
        let last = self.last.as_ref().map(|last| self.written_above(last, true).clone());
        let after = self.last.as_ref().map(Json::as_bytes).unwrap_or_default();
        let id = format!("{:08x}", hash(&[after, b" next"].concat()) >> 32);
        record.node.set(Field::Id, Json::string(&id));
        record.node.set(Field::Parent, last.unwrap_or(Json::constant("null")));
        record
    }

    /// Notes the leaf of the session.
    pub fn set_leaf(&mut self, leaf: Option<&Json>) {
        self.leaf = leaf.cloned().or(self.leaf.take());
    }

    /// Notes the name of the session.
    pub fn set_name(&mut self, name: Option<&Json>) {
        let name = name.filter(|name| name.text().is_some_and(|text| !text.trim().is_empty()));
        self.name = name.cloned().or(self.name.take());
    }

    /// Returns the entry that names the session, behind its leaf; `None` if it has no name.
    pub fn name_entry(&self) -> Option<Record> {
        let name = self.name.clone()?;
        let leaf = self.leaf.as_ref().or(self.last.as_ref());
        let leaf = leaf.map(|leaf| self.written_above(leaf, true));
        let leaf = leaf.filter(|leaf| self.entries.contains(&hash(leaf.as_bytes())));
        let mut record = self.named(Record::new(Kind::SessionInfo));
        leaf.into_iter().for_each(|leaf| record.node.set(Field::Parent, leaf.clone()));
        record.node.set(Field::Name, name);
        Some(record)
    }

    /// Returns an entry to be written last, behind the leaf of the session, as pi takes the last
    /// entry for the leaf. pi does not show it. `None` if the leaf is the last entry, or is not in
    /// the file.
    pub fn leaf_entry(&mut self) -> Option<Record> {
        let leaf = self.written_above(self.leaf.as_ref().or(self.last.as_ref())?, true);
        if self.last.as_ref() == Some(leaf) {
            return None;
        }
        if !self.entries.contains(&hash(leaf.as_bytes())) {
            return None;
        }
        let mut record = Record::new(Kind::Extension);
        let id = format!("{:08x}", hash(&[leaf.as_bytes(), b" leaf"].concat()) >> 32);
        record.node.set(Field::Id, Json::string(&id));
        record.node.set(Field::Parent, leaf.clone());
        record.node.set(Field::CustomType, Json::constant("\"copyist\""));
        self.complete(&mut record);
        Some(record)
    }

    /// Gives the session's own record a time as pi writes it.
    pub fn header(&self, session: &mut Node) {
        session.set(Field::Created, Json::string(&times::with_millis(self.time)));
    }

    /// Completes a record with the fields that pi requires.
    pub fn complete(&mut self, record: &mut Record) {
        let node = &mut record.node;
        // In version 1, only the time distinguishes two entries of the same content.
        let stated = node.json(Field::Time).and_then(times::read);
        self.time = stated.unwrap_or_else(|| times::after(self.time));
        node.set(Field::Time, Json::string(&times::with_millis(self.time)));
        if record.kind == Kind::Compaction && node.json(Field::TokensBefore).is_none() {
            node.set(Field::TokensBefore, ZERO);
        }
        if record.kind == Kind::ModelChange {
            self.model = node.json(Field::Model).cloned().or(self.model.take());
            self.provider = node.json(Field::Provider).cloned().or(self.provider.take());
            if node.json(Field::Provider).is_none() {
                node.set(Field::Provider, self.provider.clone().unwrap_or(UNKNOWN));
            }
        }
        if record.kind != Kind::Message {
            return;
        }
        if node.json(Field::MessageTime).is_none() {
            let millis = self.time.as_millisecond().to_string();
            node.set(Field::MessageTime, Json::trusted(millis.into_bytes().into()));
        }
        match node.text(Field::Role).as_deref() {
            Some("assistant") => self.answer(node),
            Some("tool") => self.output(node),
            _ => {}
        }
    }

    fn answer(&mut self, node: &mut Node) {
        let calls = self.called.note(node);
        // pi has a string as content in messages of the user only.
        if let Some(text) = node.json(Field::Content).cloned() {
            let blocks = if text.is_null() { Vec::new() } else { vec![block::text(text)] };
            node.set(Field::Content, blocks);
        }
        if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
            blocks.iter_mut().for_each(thought);
        }
        let stop = if calls { "\"toolUse\"" } else { "\"stop\"" };
        let end = node.text(Field::StopReason);
        if end.as_deref().is_some_and(|end| !ENDS.contains(&end)) {
            let cut = end.is_some_and(|end| end == "max_tokens");
            node.set(Field::StopReason, Json::constant(if cut { "\"length\"" } else { stop }));
        }
        for (field, usual) in [
            (Field::Api, UNKNOWN),
            (Field::Provider, self.provider.clone().unwrap_or(UNKNOWN)),
            (Field::Model, self.model.clone().unwrap_or(UNKNOWN)),
            (Field::StopReason, Json::constant(stop)),
        ] {
            if node.json(field).is_none() {
                node.set(field, usual);
            }
        }
        let mut usage = match node.take(Field::Usage) {
            Some(Value::Node(usage)) => usage,
            _ => Node::default(),
        };
        let mut cost = match usage.take(Field::Cost) {
            Some(Value::Node(cost)) => cost,
            _ => Node::default(),
        };
        filled(&mut usage);
        filled(&mut cost);
        usage.set(Field::Cost, cost);
        node.set(Field::Usage, usage);
    }

    fn output(&mut self, node: &mut Node) {
        let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
        let Some(result) = blocks.first_mut() else { return };
        let name = result.json(Field::Call).and_then(|call| self.called.answered(call));
        if result.json(Field::Name).is_none() {
            result.set(Field::Name, name.unwrap_or(UNKNOWN));
        }
        if result.json(Field::IsError).is_none() {
            result.set(Field::IsError, Json::constant("false"));
        }
        let content = result.json(Field::Content).filter(|text| !text.is_null()).cloned();
        if let Some(text) = content {
            result.set(Field::Content, vec![block::text(text)]);
        }
    }
}

/// Whether a message lacks so much that pi cannot have written it: pi requires answers to be lists,
/// and reads their usage.
pub fn is_bare(record: &Record) -> bool {
    let node = &record.node;
    let lacks =
        |fields: &[Field], node: &Node| fields.iter().all(|field| node.get(*field).is_none());
    if record.kind != Kind::Message {
        return false;
    }
    match node.text(Field::Role).as_deref() {
        Some("assistant") => {
            node.json(Field::Content).is_some()
                || lacks(&[Field::Api, Field::Usage, Field::StopReason], node)
        }
        Some("tool") => {
            let result = node.nodes(Field::Content).and_then(|blocks| blocks.first());
            result.is_some_and(|result| {
                let text = result.json(Field::Content).filter(|text| !text.is_null());
                text.is_some() || lacks(&[Field::Name, Field::IsError], result)
            })
        }
        _ => false,
    }
}

fn parent_of(entry: &Node) -> Json {
    entry.json(Field::Parent).cloned().unwrap_or(Json::constant("null"))
}

/// Gives a thought a text, which pi requires. A redacted thought gets pi's own text
/// (`providers/anthropic.ts`).
fn thought(block: &mut Node) {
    if block.is(Field::Type, block::THINKING) && block.json(Field::Thinking).is_none() {
        let hidden = block.is_true(Field::Redacted);
        let text = if hidden { "\"[Reasoning redacted]\"" } else { "\"\"" };
        block.set(Field::Thinking, Json::constant(text));
    }
}

/// Sets missing counts to zero, and a missing total to the sum of the counts.
fn filled(node: &mut Node) {
    for &field in TOKENS {
        if node.json(field).is_none() {
            node.set(field, ZERO);
        }
    }
    if node.json(Field::Total).is_none() {
        let sum: f64 = TOKENS.iter().filter_map(|f| node.json(*f)?.float()).sum();
        node.set(Field::Total, Json::from_f64(sum));
    }
}

/// Converts blocks to those that pi has, and reports what is lost.
pub fn adapt(node: &mut Node, path: &str, lost: &dyn Fn(&str)) {
    if node.take(Field::Extra).is_some() {
        lost(&format!("{path}extra"));
    }
    if node.is(Field::Type, block::TOOL_CALL) {
        let (arguments, strange) = block::arguments(node);
        if strange {
            lost(&format!("{path}arguments"));
        }
        // pi rewrites every line when it forks. A value that is not in pi's spelling would then
        // count as edited when the source is restored.
        node.set(Field::Arguments, Json::trusted(arguments.normal().into()));
    }
    if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
        for block in blocks {
            // pi treats every block that is not text as an image, and sends it without data.
            for strange in [block::DOCUMENT, block::OPAQUE] {
                if block.is(Field::Type, strange) {
                    lost(&format!("{path}content.*.{}", block::kind_of(block)));
                    *block = block::placeholder(block);
                }
            }
            adapt(block, &format!("{path}content.*."), lost);
        }
    }
}
