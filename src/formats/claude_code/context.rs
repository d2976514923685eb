//! Context of a transcript: the messages on the path to the leaf as release 2.1.332 sends them.
//!
//! Source: what that release sends of transcripts with calls and results missing, late, repeated or
//! out of order.

use super::additions::NO_RESPONSE;
use super::command::is_of_command;
use super::line::is_set;
use super::wire;
use crate::dialect::anthropic::context;
use crate::error::Result;
use crate::format::{Context, Corrections};
use crate::ids::hash;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block, turns};
use std::collections::{HashMap, HashSet};

/// Begins the context of a session: its messages without those of sub-agents and those that are
/// excluded.
#[must_use]
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages::default())
}

#[derive(Default)]
struct Messages {
    /// Calls with a result on the path.
    answered: HashSet<u64>,
    /// Whether the messages are those of a sub-agent, at which no session continues.
    agent: bool,
}

/// Returns the keys of the calls that the results in a message answer.
fn answers(node: &Node) -> impl Iterator<Item = u64> + '_ {
    let results = node.blocks_of(block::TOOL_RESULT);
    results.filter_map(|block| block.json(Field::Call)).map(|id| hash(id.as_bytes()))
}

fn counts(record: &Record) -> bool {
    record.kind == Kind::Message && !record.is_aside()
}

impl Context for Messages {
    fn look(&mut self, _position: u32, record: &Located<Record>) -> Result<()> {
        if counts(&record.value) {
            self.agent |= is_set(&record.value.node, wire::SIDE);
            self.answered.extend(answers(&record.value.node));
        }
        Ok(())
    }

    fn message(&mut self, _position: u32, record: &Record) -> Option<Record> {
        counts(record).then(|| {
            let mut message = record.clone();
            let is_empty =
                message.node.json(Field::Content).is_some_and(|it| it.as_bytes() == b"\"\"");
            if is_empty && is_of_command(&message.node) {
                message.node.set(Field::Content, Json::constant(NO_CONTENT));
            }
            message
        })
    }

    fn summary(&self, message: &Record) -> Option<Json> {
        context::summary(message)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        context::own(message, out);
    }

    fn begins_with_question(&self) -> bool {
        !self.agent
    }

    fn corrections(&self) -> Option<Box<dyn Corrections>> {
        Some(Box::new(Pairs { answered: self.answered.clone(), ..Pairs::default() }))
    }
}

/// Messages on their way to the interface.
#[derive(Default)]
struct Pairs {
    /// Calls that have a result anywhere.
    answered: HashSet<u64>,
    used: HashSet<u64>,
    /// The last answer, the results of its calls, and messages that came while calls were open.
    answer: Vec<Node>,
    results: Vec<Node>,
    behind: Vec<Node>,
    /// Calls of the answer; `None` in place of those with a result.
    calls: Vec<Option<Json>>,
    /// Places of the calls without a result, by the hashes of their identifiers.
    open: HashMap<u64, usize>,
    /// Whether a result was left out since the last message that was sent.
    omitted: bool,
    /// Whether a message was sent, and whether the last one is an answer.
    begun: bool,
    after_answer: bool,
}

impl Corrections for Pairs {
    fn omits(&self) -> bool {
        true
    }

    fn message(&mut self, node: Node, out: &mut Vec<Node>) {
        if is_answer(&node) {
            self.answer(node, out);
        } else if answers(&node).next().is_some() {
            self.result(node, out);
        } else {
            self.behind.push(node);
            // Further blocks of the answer may follow words behind all results.
            if self.open.is_empty() && self.results.is_empty() {
                self.settle(false, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        if self.omitted && !self.begun && self.answer.is_empty() && self.behind.is_empty() {
            self.behind.push(message("user", vec![block::text(Json::constant(ORPHANED))]));
        }
        let unanswered = !self.results.is_empty() || !self.open.is_empty();
        let answered = unanswered && self.behind.is_empty();
        self.settle(true, out);
        if answered {
            let text = block::text(Json::string(NO_RESPONSE));
            out.push(message("assistant", vec![text]));
        }
    }
}

impl Pairs {
    fn answer(&mut self, mut node: Node, out: &mut Vec<Node>) {
        let group = |node: &Node| node.json(Field::Group).cloned();
        let same = self.answer.last().is_some_and(|last| {
            let own = group(&node);
            own == group(last) && (own.is_some() || self.results.is_empty())
        });
        if !same || !(self.behind.is_empty() || self.open.is_empty()) {
            self.settle(false, out);
        }
        if self.answer.is_empty() && std::mem::take(&mut self.omitted) {
            let words = if self.begun { NO_CONTENT } else { ORPHANED };
            if self.after_answer || !self.begun {
                out.push(message("user", vec![block::text(Json::constant(words))]));
            }
        }
        self.forget_used(&mut node);
        self.answer.push(node);
    }

    fn result(&mut self, node: Node, out: &mut Vec<Node>) {
        let call = answers(&node).next();
        match call.and_then(|call| self.open.remove(&call)) {
            Some(place) => {
                self.calls.get_mut(place).into_iter().for_each(|call| *call = None);
                self.results.push(node);
            }
            None => {
                if self.open.is_empty() {
                    self.settle(false, out);
                }
                self.omitted = true;
            }
        }
    }

    /// Takes out calls whose identifiers were used before.
    fn forget_used(&mut self, node: &mut Node) {
        let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
        let is_call = |block: &Node| block.is(Field::Type, block::TOOL_CALL);
        let before = blocks.len();
        blocks.retain(|block| {
            let Some(id) = block.json(Field::Id).filter(|_| is_call(block)) else { return true };
            let new = self.used.insert(hash(id.as_bytes()));
            if new {
                self.open.insert(hash(id.as_bytes()), self.calls.len());
                self.calls.push(Some(id.clone()));
            }
            new
        });
        if blocks.is_empty() && before > 0 {
            blocks.push(block::text(Json::constant("\"[Tool use interrupted]\"")));
        }
    }

    /// Sends the last answer. A call without a result gets one at the end of the conversation, or
    /// if its result is in another place. Otherwise its line is left out with all that it holds,
    /// unless another call of the line has a result.
    fn settle(&mut self, end: bool, out: &mut Vec<Node>) {
        let end = end && self.behind.is_empty();
        let mut lost = HashSet::new();
        for call in std::mem::take(&mut self.calls).into_iter().flatten() {
            let elsewhere = self.answered.contains(&hash(call.as_bytes()));
            if end || elsewhere {
                self.results.push(no_result(&call, if end { INTERRUPTED } else { MISSING }));
            } else {
                lost.insert(call);
            }
        }
        let mut missing = Vec::new();
        if !lost.is_empty() {
            self.answer.retain(|node| {
                let (open, others): (Vec<_>, Vec<_>) =
                    calls(node).partition(|call| lost.contains(*call));
                let is_sent = open.is_empty() || !others.is_empty();
                if is_sent {
                    missing.extend(open.into_iter().map(|call| no_result(call, MISSING)));
                }
                is_sent
            });
        }
        self.results.splice(..0, missing);
        self.open.clear();
        for list in [&mut self.answer, &mut self.results, &mut self.behind] {
            self.begun |= !list.is_empty();
            self.after_answer = list.last().map_or(self.after_answer, is_answer);
            self.omitted &= list.is_empty();
            out.append(list);
        }
    }
}

fn is_answer(node: &Node) -> bool {
    node.is(Field::Role, "assistant")
}

/// Returns the identifiers of the calls in an answer.
fn calls(node: &Node) -> impl Iterator<Item = &Json> {
    let blocks = node.content().iter();
    blocks
        .filter(|block| block.is(Field::Type, block::TOOL_CALL))
        .filter_map(|it| it.json(Field::Id))
}

fn message(role: &str, content: Vec<Node>) -> Node {
    Node::default().with(Field::Role, Json::string(role)).with(Field::Content, content)
}

fn no_result(call: &Json, words: &str) -> Node {
    let mut node = Node::with_capacity(2);
    turns::no_result(call, Json::string(words), &mut node);
    node
}

/// Result of a call that was running when the session ended.
const INTERRUPTED: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]";

/// Text in the place of a result without a call, between answers and before the first one.
const NO_CONTENT: &str = "\"(no content)\"";
const ORPHANED: &str = "\"[Orphaned tool result removed due to conversation resume]\"";

/// Result of a call whose result is in another place.
const MISSING: &str = "[Tool result missing due to internal error]";
