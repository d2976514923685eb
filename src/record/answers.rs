//! Answers as other formats have them: in one piece, with what they took.
//!
//! Some programs write each block of an answer as a message of its own, and what it took in a
//! record beside it. A model's interface wants every result right behind the answer that calls for
//! it, so answers that stand side by side are one while calls of the first of them wait.

use super::{Field, Kind, Node, Record, Value, block};
use crate::ids::hash;
use crate::json::Json;
use crate::position::Located;
use std::collections::{HashMap, HashSet};

/// Makes messages whole on their way into another format, and of the pieces of answers one.
#[derive(Debug, Default)]
pub struct Answers {
    /// Whether the pieces of an answer become one.
    joins: bool,
    /// Whether records that tell what an answer took have no place where this goes.
    tells: bool,
    forks: HashSet<u64>,
    /// An answer whose calls wait.
    held: Option<Located<Record>>,
    /// By the names that pieces had, what the answer is called that they are part of.
    names: HashMap<Json, Json>,
    /// Who was asked last, and what is told of the answers to that.
    asked: Node,
    told: HashMap<Json, Node>,
}

/// What says to which entry a record refers.
const REFERENCES: &[Field] =
    &[Field::Parent, Field::Target, Field::From, Field::FirstKept, Field::Leaf];

impl Answers {
    /// For a format that has whole answers or not, and a record for a model's response or not.
    /// Messages among `forks`, which are hashes of identifiers, are no part of one: others follow or
    /// refer to them alone.
    #[must_use]
    pub fn new(joins: bool, has_responses: bool, forks: HashSet<u64>) -> Self {
        Self { joins, tells: !has_responses, forks, ..Self::default() }
    }

    /// Whether a record is more of the answer that was taken before it.
    #[must_use]
    pub fn goes_on(&self, record: &Record) -> bool {
        let Some(held) = self.held.as_ref().filter(|_| is_answer(record)) else { return false };
        let (id, parent) = (held.value.node.json(Field::Id), record.node.json(Field::Parent));
        let mut ends = [id, record.node.json(Field::Id)].into_iter().flatten();
        !ends.any(|id| self.forks.contains(&hash(id.as_bytes())))
            && parent.is_none_or(|parent| id == Some(parent))
    }

    /// Takes the next record. Gives those that can go on, in their order.
    pub fn take(&mut self, mut located: Located<Record>) -> [Option<Located<Record>>; 2] {
        let record = &mut located.value;
        if record.kind == Kind::Message {
            block::complete(&mut record.node);
        }
        if self.goes_on(record) {
            self.tell(&mut record.node);
            if let Some(held) = &mut self.held {
                let part = held.value.node.json(Field::Id).cloned();
                let before = std::mem::take(&mut held.value.node);
                held.value.node = joined(before, std::mem::take(&mut record.node));
                let whole = held.value.node.json(Field::Id).cloned();
                let (Some(part), Some(whole)) = (part, whole) else { return [None, None] };
                self.names.insert(part, whole);
            }
            return [None, None];
        }
        self.rename(&mut record.node);
        match record.kind {
            Kind::Request | Kind::Run => self.ask(&record.node),
            Kind::Response if self.tells => self.response(&record.node),
            _ => {}
        }
        // What is said around an answer while it is given has no place among messages.
        let stands = record.is_node()
            || matches!(record.kind, Kind::Session | Kind::Turn | Kind::Run | Kind::Result);
        if !stands {
            return [Some(located), None];
        }
        let before = self.held.take();
        if !is_answer(record) {
            return [before, Some(located)];
        }
        self.tell(&mut record.node);
        if self.joins && calls(&record.node) {
            self.held = Some(located);
            return [before, None];
        }
        [before, Some(located)]
    }

    /// The last answer, if it waits.
    pub fn finish(&mut self) -> Option<Located<Record>> {
        self.held.take()
    }

    /// Calls what a record refers to by what it is called now.
    fn rename(&self, node: &mut Node) {
        for field in REFERENCES.iter().filter(|_| !self.names.is_empty()) {
            let mut name = node.json(*field);
            // Each piece is called like the next one, so no way is longer.
            for _ in 0..self.names.len() {
                let Some(whole) = name.and_then(|name| self.names.get(name)) else { break };
                name = Some(whole);
            }
            if let Some(name) = name.filter(|name| node.json(*field) != Some(*name)).cloned() {
                node.set(*field, name);
            }
        }
    }

    /// Notes who is asked from here on, if a record says so.
    fn ask(&mut self, node: &Node) {
        let asked = only(node, &[Field::Provider, Field::Model]);
        if !asked.is_empty() {
            self.asked = asked;
        }
    }

    /// Notes what a response tells of its messages: the last one has what all of them took.
    fn response(&mut self, node: &Node) {
        self.told.clear();
        let messages: Vec<Json> =
            node.json(Field::Messages).into_iter().flat_map(Json::elements).collect();
        for (place, message) in messages.iter().enumerate() {
            let mut told = self.asked.clone();
            if let Some(usage) = node.node(Field::Usage).filter(|_| place + 1 == messages.len()) {
                let model = usage.json(Field::Extra).and_then(|extra| extra.member("model"));
                let model = model.filter(|m| m.text().is_some_and(|m| !m.is_empty()));
                model.into_iter().for_each(|model| told.set(Field::Model, model));
                told.set(Field::Usage, apart(usage));
            }
            self.told.insert(message.clone(), told);
        }
    }

    /// Tells an answer what it took, as far as it does not say so itself.
    fn tell(&mut self, answer: &mut Node) {
        let told = answer.json(Field::Id).and_then(|id| self.told.remove(id));
        for (field, value) in told.iter().flat_map(Node::iter) {
            if answer.get(field).is_none() {
                answer.set(field, value.clone());
            }
        }
    }
}

/// Whether a record is an answer that stands in the source and is sent again: what is not must not
/// take along what is.
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

/// Whether a message calls a tool.
#[must_use]
pub fn calls(message: &Node) -> bool {
    let blocks = message.nodes(Field::Content).unwrap_or_default();
    blocks.iter().any(|block| block.is(Field::Type, block::TOOL_CALL))
}

/// Two pieces of an answer as one: it stands where the first did, and is called and ends like the
/// second.
fn joined(mut first: Node, mut second: Node) -> Node {
    // There may be many pieces, so what is held of them is gone on with.
    let mut blocks = blocks_of(&mut first);
    blocks.append(&mut blocks_of(&mut second));
    let mut whole = second;
    let usages = first.node(Field::Usage).zip(whole.node(Field::Usage));
    let usage = usages.map(|(a, b)| sum(a, b));
    for (field, value) in first.iter() {
        if whole.get(field).is_none() || field == Field::Parent {
            whole.set(field, value.clone());
        }
    }
    whole.set(Field::Content, blocks);
    usage.into_iter().for_each(|usage| whole.set(Field::Usage, usage));
    whole
}

fn blocks_of(message: &mut Node) -> Vec<Node> {
    match message.take(Field::Content) {
        Some(Value::Nodes(blocks)) => blocks,
        Some(Value::Json(text)) if !text.is_null() => vec![block::text(text)],
        _ => Vec::new(),
    }
}

/// The sum of what two answers took.
fn sum(a: &Node, b: &Node) -> Node {
    let mut sums = b.clone();
    for (field, value) in a.iter() {
        let both = match (value, b.get(field)) {
            (Value::Node(a), Some(Value::Node(b))) => Some(Value::Node(sum(a, b))),
            (Value::Json(a), Some(Value::Json(b))) => {
                let both = a.float().zip(b.float());
                both.map(|(a, b)| Value::Json(Json::worked_out(a + b)))
            }
            (value, None) => Some(value.clone()),
            _ => None,
        };
        both.into_iter().for_each(|both| sums.set(field, both));
    }
    sums
}

const TOKENS: &[Field] =
    &[Field::InputTokens, Field::OutputTokens, Field::CacheRead, Field::CacheWrite, Field::Total];

/// What a response took, with what was read from a cache and written to one apart from the rest of
/// what was put in: some count it twice.
fn apart(usage: &Node) -> Node {
    let mut told = only(usage, TOKENS);
    let number = |field| usage.json(field).and_then(Json::float).unwrap_or(0.0);
    let cached = number(Field::CacheRead) + number(Field::CacheWrite);
    let put_in = number(Field::InputTokens);
    let twice = number(Field::Total) == put_in + number(Field::OutputTokens);
    if cached > 0.0 && twice && cached <= put_in {
        told.set(Field::InputTokens, Json::worked_out(put_in - cached));
    }
    told
}

fn only(node: &Node, fields: &[Field]) -> Node {
    let mut out = Node::default();
    for field in fields {
        node.get(*field).into_iter().for_each(|value| out.set(*field, value.clone()));
    }
    out
}
