//! Tree of a transcript: which line follows which, the places of sub-agents, and the leaf.
//!
//! Claude Code writes each block of an answer as a line. From release 2.1 on, each result of a tool
//! is the child of its call, so that results of parallel calls are on branches; when it resumes,
//! the program puts them back behind the answer. So do the links here (`chain`), so that the path to
//! the leaf holds all that is sent.

use super::chain::Chain;
use super::line::{is_set, reparent};
use super::wire;
use crate::ids::hash;
use crate::json::Json;
use crate::mapping::template;
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of calls of sub-agents whose lines may still begin.
const CALLS: usize = 64;

/// Number of lines among which a parent is looked for first.
const NEAR: usize = 64;

/// Links of the lines so far.
#[derive(Debug, Default)]
pub struct Lineage {
    /// Whether all lines are those of one sub-agent, whose conversation the file is.
    agent: bool,
    chain: Arc<Chain>,
    /// Ordinal of the next line of the chain.
    next: u32,
    /// Hashes of the identifiers of the conversation's lines, each with that of its parent, if that
    /// is in the file: the program looks for the leaf before it goes by times.
    nodes: Vec<(u64, u64)>,
    /// Hashes of the identifiers of the first so many of them, once a parent was far away.
    far: HashSet<u64>,
    indexed: usize,
    /// Hashes of parents that did not come before their children.
    awaited: HashSet<u64>,
    /// Last node of the conversation that no line before it follows; and the last line of all, if
    /// it is a node.
    last: Option<Json>,
    newest: Option<Json>,
    /// Whether a message of a sub-agent is in the file.
    aside: bool,
    /// Whether a copy of a line follows the last node.
    copied: bool,
    /// Leaf that the last line about it names.
    wanted: Option<Json>,
    /// Calls of sub-agents, by the hash of the prompt.
    calls: Vec<(u64, Json)>,
    /// Call of each sub-agent whose lines are in the file, by the hash of its last line.
    agents: HashMap<u64, Json>,
}

fn key(id: &Json) -> u64 {
    hash(id.as_bytes())
}

impl Lineage {
    /// Begins a transcript with the places of its lines; `agent` is true for the file of one
    /// sub-agent.
    #[must_use]
    pub fn of(agent: bool, chain: Arc<Chain>) -> Self {
        Self { agent, chain, ..Self::default() }
    }

    /// Whether the next line, with these records, is the same message as one before it.
    #[must_use]
    pub fn is_copy(&self, records: &[Record]) -> bool {
        let named = records.last().is_some_and(|last| last.node.json(Field::Id).is_some());
        named && self.chain.is_copy(self.next)
    }

    /// Passes over a line of the chain.
    pub fn skip(&mut self) {
        self.next += 1;
    }

    /// Links the records of one line.
    pub fn link(&mut self, records: &mut [Record]) {
        let Some(id) = records.last().and_then(|last| last.node.json(Field::Id)).cloned() else {
            if let [record] = records {
                self.beside(record);
            }
            // Behind such a line, readers of the stream know the leaf only if it is named.
            self.newest = None;
            return;
        };
        let Some(first) = records.first_mut() else { return };
        self.newest = Some(id.clone());
        let ordinal = self.next;
        self.skip();
        if !self.agent && is_side(&first.node) {
            self.aside = true;
            let call = self.agent_of(first, &id);
            for record in records {
                match (&call, record.kind) {
                    (Some(call), Kind::Message) => {
                        record.node.set(Field::ParentCall, call.clone());
                    }
                    (None, Kind::Message) => {
                        record.node.set(Field::Excluded, Json::constant("true"));
                    }
                    _ => {}
                }
            }
            return;
        }
        if let Some(parent) = self.chain.parent(ordinal) {
            reparent(&mut first.node, parent.cloned().unwrap_or(Json::constant("null")));
        }
        let parent = first.node.json(Field::Parent).filter(|parent| !parent.is_null());
        let parent = parent.filter(|_| !self.chain.has_lost_parent(ordinal)).map_or(0, key);
        let counts = !is_progress(first);
        records.iter().for_each(|record| self.note_calls(&record.node));
        self.add(id, parent, counts);
    }

    /// Notes that records of other parts follow, which are not in the conversation.
    pub fn leave(&mut self) {
        self.newest = None;
    }

    /// Adds a node of the conversation. `counts` states whether the session may continue at it on
    /// another branch than that of the node before it.
    fn add(&mut self, id: Json, parent: u64, counts: bool) {
        let own = key(&id);
        if parent != 0 && !self.has_node(parent) {
            self.awaited.insert(parent);
        }
        self.nodes.push((own, parent));
        self.copied = false;
        if !counts && self.last.as_ref().is_some_and(|last| key(last) != parent) {
            return;
        }
        if self.last.is_none() || !self.awaited.contains(&own) {
            self.last = Some(id);
        }
    }

    /// Whether a line of the conversation has the identifier of this hash. Parents are mostly near
    /// their children.
    fn has_node(&mut self, id: u64) -> bool {
        if self.nodes.iter().rev().take(NEAR).any(|(node, _)| *node == id) {
            return true;
        }
        let new = self.nodes.get(self.indexed..).unwrap_or_default();
        self.far.extend(new.iter().map(|(node, _)| node));
        self.indexed = self.nodes.len();
        self.far.contains(&id)
    }

    /// Notes a record that was linked before.
    pub fn note(&mut self, record: &Record) {
        let Some(id) = record.node.json(Field::Id).filter(|_| record.is_node()) else {
            self.beside(record);
            return;
        };
        self.newest = Some(id.clone());
        if self.agent || !is_side(&record.node) {
            let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
            let parent = parent.filter(|parent| !self.is_lost(own_parent(record), parent));
            self.add(id.clone(), parent.map_or(0, key), !is_progress(record));
        }
    }

    /// Whether the parent that a line itself names is not in the file, unlike this one.
    fn is_lost(&self, own: Option<Json>, parent: &Json) -> bool {
        own.is_some_and(|own| own != *parent && own.text().is_some() && !self.knows(&own))
    }

    /// Returns the leaf, if it is another than the lines give.
    #[must_use]
    pub fn other_leaf<'l>(&'l self, leaf: Option<&'l Json>) -> Option<&'l Json> {
        // The reader knows at which line such a session continues.
        let leaf = leaf.or(self.newest.as_ref()).filter(|_| !self.copied)?;
        (self.given_leaf() != Some(leaf) && self.knows(leaf)).then_some(leaf)
    }

    /// Notes the leaf that a line beside the chain names.
    fn beside(&mut self, record: &Record) {
        if record.node.is(Field::Type, "last-prompt") {
            let leaf = record.node.json(Field::Data).and_then(|data| data.member("leafUuid"));
            let known = |leaf: &Json| self.nodes.iter().rev().any(|(id, _)| *id == key(leaf));
            self.wanted = leaf.filter(known).or(self.wanted.take());
        }
        // A copy of a line is a whole line as text.
        let line = record.node.text(Field::Text).filter(|_| record.kind == Kind::Opaque);
        self.copied |= line.is_some_and(|line| line.ends_with('}') && line.contains("\"uuid\":"));
    }

    /// Returns the call for which a sub-agent's line was written, if it is known.
    fn agent_of(&mut self, record: &Record, id: &Json) -> Option<Json> {
        let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
        let call = match parent {
            Some(parent) => self.agents.remove(&key(parent)),
            None => {
                let prompt = block::message_text(&record.node).and_then(|text| text.text());
                let prompt = prompt.map(|prompt| hash(prompt.as_bytes()));
                let found = self.calls.iter().position(|(text, _)| Some(*text) == prompt);
                found.map(|place| self.calls.remove(place).1)
            }
        }?;
        self.agents.insert(key(id), call.clone());
        Some(call)
    }

    fn note_calls(&mut self, node: &Node) {
        for call in node.content() {
            let named = |name: &&str| call.is(Field::Name, name);
            if !call.is(Field::Type, block::TOOL_CALL) || !wire::AGENT_TOOLS.iter().any(named) {
                continue;
            }
            let prompt = call.json(Field::Arguments).and_then(|given| given.member("prompt"));
            let prompt = prompt.and_then(|prompt| prompt.text());
            if let (Some(prompt), Some(id)) = (prompt, call.json(Field::Id)) {
                let old = self.calls.len().saturating_sub(CALLS - 1);
                self.calls.drain(..old);
                self.calls.push((hash(prompt.as_bytes()), id.clone()));
            }
        }
    }

    /// Gives a line of the conversation another parent. Both are named by their keys.
    pub fn relink(&mut self, id: u64, parent: u64) {
        let node = self.nodes.iter_mut().find(|(own, _)| *own == id);
        node.into_iter().for_each(|node| node.1 = parent);
    }

    /// Whether all messages so far are those of sub-agents.
    #[must_use]
    pub fn has_no_conversation(&self) -> bool {
        self.aside && self.nodes.is_empty()
    }

    /// Whether a line with this identifier is in the conversation.
    #[must_use]
    pub fn knows(&self, id: &Json) -> bool {
        self.nodes.iter().rev().any(|(node, _)| *node == key(id))
    }

    /// Whether this is the last line of the conversation.
    #[must_use]
    pub fn ends_at(&self, id: &Json) -> bool {
        self.nodes.last().is_some_and(|(last, _)| *last == key(id))
    }

    /// Returns the leaf of the session, if it is not the last record.
    ///
    /// Source: observation of release 2.1.332: the leaf that the last `last-prompt` names, unless
    /// the last line of the conversation descends from it.
    #[must_use]
    pub fn leaf(&self) -> Option<&Json> {
        let leaf = self.given_leaf()?;
        (self.newest.as_ref() != Some(leaf)).then_some(leaf)
    }

    /// Returns the leaf that a line names and at which the lines do not continue.
    #[must_use]
    pub fn wanted(&self) -> Option<&Json> {
        self.given_leaf().filter(|leaf| self.wanted.as_ref() == Some(*leaf))
    }

    /// Returns the leaf that the lines give.
    #[must_use]
    pub fn given_leaf(&self) -> Option<&Json> {
        let last = self.chain.leaf().filter(|leaf| self.knows(leaf));
        let newest = last.map_or_else(|| self.nodes.last().map(|(id, _)| *id), |id| Some(key(id)));
        let descends =
            |wanted: &&Json| newest.is_some_and(|id| self.descends_from(id, key(wanted)));
        let wanted = self.wanted.as_ref().filter(|wanted| !descends(wanted));
        wanted.or(last).or(self.last.as_ref())
    }

    /// Whether a line of the conversation is this node or descends from it.
    fn descends_from(&self, line: u64, ancestor: u64) -> bool {
        let place = self.nodes.iter().rposition(|(id, _)| *id == line);
        let place = place.and_then(|place| Some((place, *self.nodes.get(place)?)));
        let Some((mut end, (mut id, mut parent))) = place else { return false };
        // A longer path would lead in a circle.
        for _ in 0..self.nodes.len() {
            if id == ancestor {
                return true;
            }
            // Parents are mostly right before their children.
            let find = |nodes: &[(u64, u64)]| nodes.iter().rposition(|(id, _)| *id == parent);
            let before = self.nodes.get(..end).and_then(find);
            let Some(place) = before.or_else(|| find(&self.nodes)) else { return false };
            (id, parent) = self.nodes.get(place).copied().unwrap_or_default();
            end = place;
        }
        false
    }
}

/// Whether a line was written by a sub-agent.
fn is_side(node: &Node) -> bool {
    let data = || node.json(Field::Data).and_then(|data| data.member(wire::SIDE));
    is_set(node, wire::SIDE) || data().is_some_and(|side| side.as_bytes() == b"true")
}

/// Returns the parent that a line names, if the record has another one.
fn own_parent(record: &Record) -> Option<Json> {
    let line = if record.kind == Kind::Opaque { Field::Data } else { Field::Extra };
    let own = record.node.json(line)?.member(wire::PARENT)?;
    (own.as_bytes() != template::PLACE).then_some(own)
}

/// Whether a line is about the progress of a call.
fn is_progress(record: &Record) -> bool {
    record.kind == Kind::Opaque && record.node.is(Field::Type, wire::PROGRESS)
}
