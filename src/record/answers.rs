//! Answers as other formats have them: each in one message, with its usage.
//!
//! Some programs write each block of an answer as a message of its own, and its usage in a record
//! beside it, or with each block. A model's interface requires every result right after the answer
//! that calls for it. Therefore consecutive answers are joined while calls of the first of them
//! wait, and so are the messages of one `group`.

use super::turns::are_of_one;
use super::{Field, Kind, Node, Record, Value, block};
use crate::ids::hash;
use crate::json::Json;
use crate::position::Located;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Completes messages for another format, and joins the pieces of answers.
#[derive(Debug, Default)]
pub struct Answers {
    /// Whether the pieces of an answer are joined.
    joins: bool,
    /// Whether the target has no place for records with the usage of answers.
    adds_usage: bool,
    forks: Rc<HashSet<u64>>,
    /// An answer whose calls wait, or that has a group.
    held: Option<Located<Record>>,
    /// Names of the joined answers, by the hashes of the names of their pieces.
    names: HashMap<u64, Json>,
    /// Model of the last request, and the usage of its answers.
    model: Node,
    usage: HashMap<Json, Node>,
}

/// Fields that name the entry to which a record refers.
const REFERENCES: &[Field] =
    &[Field::Parent, Field::Target, Field::From, Field::FirstKept, Field::Leaf];

impl Answers {
    /// Begins for a format that has whole answers or not, and a record for a model's response or
    /// not. Messages among `forks`, which are hashes of identifiers, are not joined: other entries
    /// follow or refer to them alone.
    #[must_use]
    pub fn new(joins: bool, has_responses: bool, forks: Rc<HashSet<u64>>) -> Self {
        Self { joins, adds_usage: !has_responses, forks, ..Self::default() }
    }

    /// Whether a record continues the answer that was taken before it.
    #[must_use]
    pub fn goes_on(&self, record: &Record) -> bool {
        let Some(held) = self.held.as_ref().filter(|_| is_answer(record)) else { return false };
        let (id, parent) = (held.value.node.json(Field::Id), record.node.json(Field::Parent));
        let mut ends = [id, record.node.json(Field::Id)].into_iter().flatten();
        !ends.any(|id| self.forks.contains(&hash(id.as_bytes())))
            && parent.is_none_or(|parent| id == Some(parent))
            && (calls(&held.value.node) || are_of_one(&held.value.node, &record.node))
    }

    /// Takes the next record. Returns the records that are complete, in their order.
    pub fn take(&mut self, mut located: Located<Record>) -> [Option<Located<Record>>; 2] {
        let record = &mut located.value;
        if record.kind == Kind::Message {
            block::complete(&mut record.node);
        }
        if self.goes_on(record) {
            self.add_usage(&mut record.node);
            if let Some(held) = &mut self.held {
                let part = held.value.node.json(Field::Id).cloned();
                let before = std::mem::take(&mut held.value.node);
                held.value.node = joined(before, std::mem::take(&mut record.node));
                let whole = held.value.node.json(Field::Id).cloned();
                let (Some(part), Some(whole)) = (part, whole) else { return [None, None] };
                self.names.insert(hash(part.as_bytes()), whole.detached());
            }
            return [None, None];
        }
        self.rename(&mut record.node);
        match record.kind {
            Kind::Request | Kind::Run => self.note_model(&record.node),
            Kind::Response if self.adds_usage => self.response(&record.node),
            _ => {}
        }
        // Records about an answer while it is given have no place among messages.
        let stands = record.is_node()
            || matches!(record.kind, Kind::Session | Kind::Turn | Kind::Run | Kind::Result);
        if !stands {
            return [Some(located), None];
        }
        let before = self.held.take();
        if !is_answer(record) {
            return [before, Some(located)];
        }
        self.add_usage(&mut record.node);
        if self.joins && (calls(&record.node) || record.node.get(Field::Group).is_some()) {
            self.held = Some(located);
            return [before, None];
        }
        [before, Some(located)]
    }

    /// Returns the last answer, if it waits.
    pub fn finish(&mut self) -> Option<Located<Record>> {
        self.held.take()
    }

    /// Replaces the references of a record by the present names of their targets.
    fn rename(&self, node: &mut Node) {
        for field in REFERENCES.iter().filter(|_| !self.names.is_empty()) {
            let mut name = node.json(*field);
            // Each piece is renamed to the next one, so no chain is longer.
            for _ in 0..self.names.len() {
                let whole = name.and_then(|name| self.names.get(&hash(name.as_bytes())));
                let Some(whole) = whole else { break };
                name = Some(whole);
            }
            node.put(*field, name.filter(|name| node.json(*field) != Some(*name)).cloned());
        }
    }

    /// Notes the model of the following requests, if a record names it.
    fn note_model(&mut self, node: &Node) {
        let asked = only(node, &[Field::Provider, Field::Model]);
        if !asked.is_empty() {
            self.model = asked;
        }
    }

    /// Notes the usage that a response contains for its messages: the last message gets the usage
    /// of all.
    fn response(&mut self, node: &Node) {
        self.usage.clear();
        let messages: Vec<Json> =
            node.json(Field::Messages).into_iter().flat_map(Json::elements).collect();
        for (place, message) in messages.iter().enumerate() {
            let mut facts = self.model.clone();
            if let Some(usage) = node.node(Field::Usage).filter(|_| place + 1 == messages.len()) {
                let model = usage.json(Field::Extra).and_then(|extra| extra.member("model"));
                facts.put(Field::Model, model.filter(|m| m.text().is_some_and(|m| !m.is_empty())));
                facts.set(Field::Usage, apart(usage));
            }
            self.usage.insert(message.clone(), facts);
        }
    }

    /// Adds the usage to an answer, as far as the answer does not contain it.
    fn add_usage(&mut self, answer: &mut Node) {
        let facts = answer.json(Field::Id).and_then(|id| self.usage.remove(id));
        for (field, value) in facts.iter().flat_map(Node::iter) {
            if answer.get(field).is_none() {
                answer.set(field, value.clone());
            }
        }
    }
}

/// Whether a record is an answer that the source contains and that is sent to a model. Only such
/// answers are joined.
fn is_answer(record: &Record) -> bool {
    let own = record.kind == Kind::Message && !record.is_restored() && !record.is_aside();
    own && record.node.is(Field::Role, "assistant") && !is_broken(&record.node)
}

/// Whether a message is an answer that was broken off, or failed.
#[must_use]
pub fn is_broken(message: &Node) -> bool {
    message.is(Field::Role, "assistant")
        && ["error", "aborted"].iter().any(|why| message.is(Field::StopReason, why))
}

/// Whether the source's software sent a message again: it is neither an answer that was broken off,
/// nor a message that the user excluded.
#[must_use]
pub fn is_sent(message: &Node) -> bool {
    !is_broken(message) && !message.is_true(Field::Excluded)
}

/// Whether a message calls a tool.
#[must_use]
pub fn calls(message: &Node) -> bool {
    message.blocks_of(block::TOOL_CALL).next().is_some()
}

/// Joins two pieces of an answer. The result has the parent of the first piece, and the identifier
/// and the end of the second.
fn joined(mut first: Node, mut second: Node) -> Node {
    // There may be many pieces, so the first piece's list is extended.
    let mut blocks = blocks_of(&mut first);
    blocks.append(&mut blocks_of(&mut second));
    let mut whole = second;
    // The pieces of one answer repeat its usage, the last one with the final numbers.
    let usages = first.node(Field::Usage).zip(whole.node(Field::Usage));
    let one = are_of_one(&first, &whole);
    let usage = usages.filter(|_| !one).map(|(a, b)| sum(a, b));
    for (field, value) in first.iter() {
        if whole.get(field).is_none() || field == Field::Parent {
            whole.set(field, value.clone());
        }
    }
    whole.set(Field::Content, blocks);
    whole.put(Field::Usage, usage);
    whole
}

fn blocks_of(message: &mut Node) -> Vec<Node> {
    match message.take(Field::Content) {
        Some(Value::Nodes(blocks)) => blocks,
        Some(Value::Json(text)) if !text.is_null() => vec![block::text(text)],
        _ => Vec::new(),
    }
}

/// Returns the sum of the usage of two answers.
fn sum(a: &Node, b: &Node) -> Node {
    let mut sums = b.clone();
    for (field, value) in a.iter() {
        let both = match (value, b.get(field)) {
            (Value::Node(a), Some(Value::Node(b))) => Some(Value::Node(sum(a, b))),
            (Value::Json(a), Some(Value::Json(b))) => {
                let both = a.float().zip(b.float());
                both.map(|(a, b)| Value::Json(Json::from_f64(a + b)))
            }
            (value, None) => Some(value.clone()),
            _ => None,
        };
        sums.put(field, both);
    }
    sums
}

const TOKENS: &[Field] =
    &[Field::InputTokens, Field::OutputTokens, Field::CacheRead, Field::CacheWrite, Field::Total];

/// Returns the usage of a response, with the tokens read from a cache and written to one separate
/// from the rest of the input: some producers count them twice.
fn apart(usage: &Node) -> Node {
    let mut counts = only(usage, TOKENS);
    let number = |field| usage.json(field).and_then(Json::float).unwrap_or(0.0);
    let cached = number(Field::CacheRead) + number(Field::CacheWrite);
    let put_in = number(Field::InputTokens);
    let twice = number(Field::Total) == put_in + number(Field::OutputTokens);
    if cached > 0.0 && twice && cached <= put_in {
        counts.set(Field::InputTokens, Json::from_f64(put_in - cached));
    }
    counts
}

fn only(node: &Node, fields: &[Field]) -> Node {
    let mut out = Node::default();
    for field in fields {
        out.put(*field, node.get(*field).cloned());
    }
    out
}
