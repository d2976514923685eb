//! Conversion of another agent's conversation to prompts, each with its outcome.
//!
//! Claude's SDK gives one line per content block, and one result per prompt. A result is a success
//! only if the conversation ended with an answer.

use super::line::{self, Shape};
use super::wire::PROMPT;
use crate::diagnostic::Log;
use crate::dialect::anthropic::block;
use crate::foreign::fitted;
use crate::json::Json;
use crate::lines::empty;
use crate::record::{Field, Kind, Node, Record, Value, block as blocks, is_broken};
use crate::times;
use jiff::Timestamp;
use std::collections::HashSet;
use std::slice;

/// Function that takes one line.
pub type Put<'p> = &'p mut dyn FnMut(&[u8]);

/// Turns of a session while they are written.
#[derive(Debug)]
pub struct Prompts {
    shape: Shape,
    /// Model of the session, for answers that name none.
    model: Option<Json>,
    turn: Option<Turn>,
    /// Line that is being written.
    text: Vec<u8>,
}

/// Prompt, with its outcome so far.
#[derive(Debug, Default)]
struct Turn {
    /// Number of answers of the model.
    answers: u64,
    /// Calls of tools that have no answer.
    open: HashSet<Json>,
    /// Text of the last message, if that is an answer.
    text: Option<Json>,
    /// Whether an answer was broken off.
    broken: bool,
    /// Sums of tokens by field.
    tokens: Vec<(Field, f64)>,
    cost: Option<f64>,
    times: Option<(Timestamp, Timestamp)>,
}

/// Fields of tokens that a result sums up.
const TOKENS: [Field; 4] =
    [Field::InputTokens, Field::CacheWrite, Field::CacheRead, Field::OutputTokens];

impl Prompts {
    /// Creates a conversion without turns.
    pub fn new(shape: Shape) -> Self {
        Self { shape, model: None, turn: None, text: Vec::new() }
    }

    /// Notes the session's model.
    pub fn model(&mut self, model: Option<&Json>) {
        self.model = model.cloned();
    }

    /// Writes the lines of a record.
    pub fn record(&mut self, record: &Record, log: &Log, put: Put<'_>) {
        let node = &record.node;
        let is = |role| record.kind == Kind::Message && node.is(Field::Role, role);
        let broken = is_broken(node);
        if node.is_true(Field::Excluded) || (record.kind == Kind::Message && broken) {
            // A message that is not sent again is not part of the conversation.
            if let Some(turn) = &mut self.turn {
                turn.broken |= broken;
                turn.text = None;
            }
            log.lost("message that is not sent");
            return;
        }
        match () {
            () if is("user") => self.user(node, log, put),
            () if is("assistant") => self.assistant(node, log, put),
            () if is("tool") => self.tool(node, log, put),
            () => log.lost(&record.description()),
        }
    }

    /// Writes the line of one record.
    fn put(&mut self, record: &Record, put: Put<'_>) {
        empty(&mut self.text);
        line::write(slice::from_ref(record), self.shape, &mut self.text);
        put(&self.text);
    }

    fn user(&mut self, node: &Node, log: &Log, put: Put<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.answers > 0 || turn.broken) {
            self.close(put);
        }
        let turn = self.turn.get_or_insert_default();
        turn.time(node);
        turn.text = None;
        let mut line = copied(node, &[Field::Role, Field::ParentCall, Field::Time]);
        let content = fitted(node.get(Field::Content), &block::holds, log);
        let texts = |nodes: &[Node]| nodes.iter().all(|node| node.is(Field::Type, blocks::TEXT));
        let text = match &content {
            Some(Value::Nodes(nodes)) if texts(nodes) => {
                Some(blocks::all_text(nodes).unwrap_or(Json::constant("\"\"")))
            }
            Some(Value::Json(text)) if !text.is_null() => Some(text.clone()),
            Some(Value::Nodes(_)) => None,
            _ => Some(Json::constant("\"\"")),
        };
        losses(node, &line, &[], log);
        match text {
            Some(text) => {
                line.set(Field::Subtype, Json::string(PROMPT));
                line.set(Field::Content, text);
            }
            None => content.into_iter().for_each(|content| line.set(Field::Content, content)),
        }
        self.put(&Record { kind: Kind::Message, node: line }, put);
    }

    fn assistant(&mut self, node: &Node, log: &Log, put: Put<'_>) {
        let turn = self.turn.get_or_insert_default();
        turn.answer(node);
        let mut fields = copied(
            node,
            &[
                Field::Role,
                Field::Model,
                Field::ResponseId,
                Field::StopReason,
                Field::Error,
                Field::ParentCall,
            ],
        );
        losses(node, &fields, &[Field::Usage], log);
        if fields.get(Field::Model).is_none() {
            fields.put(Field::Model, self.model.clone());
        }
        let mut content = match fitted(node.get(Field::Content), &block::holds, log) {
            Some(Value::Nodes(nodes)) => nodes,
            Some(Value::Json(text)) if !text.is_null() => vec![blocks::text(text)],
            _ => Vec::new(),
        };
        let last = content.pop();
        let mut line = Record { kind: Kind::Message, node: fields };
        for block in content {
            line.node.set(Field::Content, vec![block]);
            self.put(&line, put);
        }
        line.node.set(Field::Content, last.into_iter().collect::<Vec<_>>());
        // The tokens count the whole answer, so they occur once.
        let usage = node.node(Field::Usage).map(|usage| copied(usage, &TOKENS));
        line.node.put(Field::Usage, usage.filter(|usage| !usage.is_empty()));
        self.put(&line, put);
    }

    fn tool(&mut self, node: &Node, log: &Log, put: Put<'_>) {
        let turn = self.turn.get_or_insert_default();
        turn.time(node);
        turn.text = None;
        let mut line = copied(node, &[Field::Role, Field::Details, Field::ParentCall]);
        losses(node, &line, &[], log);
        let content = fitted(node.get(Field::Content), &block::holds, log);
        if let Some(Value::Nodes(results)) = &content {
            for result in results {
                result.json(Field::Call).into_iter().for_each(|call| turn.answered(call));
            }
        }
        line.put(Field::Content, content);
        self.put(&Record { kind: Kind::Message, node: line }, put);
    }

    /// Writes the result of the open prompt.
    pub fn close(&mut self, put: Put<'_>) {
        let Some(turn) = self.turn.take() else { return };
        self.put(&turn.result(), put);
    }
}

/// Copies these fields of a node.
fn copied(node: &Node, fields: &[Field]) -> Node {
    let mut out = Node::with_capacity(fields.len() + 3);
    for &field in fields {
        out.put(field, node.get(field).cloned());
    }
    out
}

/// Counts the fields of a message that its lines do not contain.
fn losses(node: &Node, line: &Node, besides: &[Field], log: &Log) {
    const ALWAYS: &[Field] =
        &[Field::Content, Field::Parent, Field::IdMade, Field::Turn, Field::Group, Field::Layout];
    let made = node.is_true(Field::IdMade);
    if let Some(usage) = node.node(Field::Usage) {
        log.count_lost("message.usage", usage, |field| TOKENS.contains(&field));
    }
    log.count_lost("message", node, |field| {
        let held = ALWAYS.contains(&field) || besides.contains(&field);
        held || line.get(field).is_some() || (field == Field::Id && made)
    });
}

impl Turn {
    fn time(&mut self, node: &Node) {
        let Some(time) = node.json(Field::Time).and_then(times::read) else { return };
        self.times = Some((self.times.map_or(time, |(first, _)| first), time));
    }

    fn answer(&mut self, node: &Node) {
        self.time(node);
        self.answers += 1;
        let nodes = node.content();
        let calls = nodes.iter().filter(|block| block.is(Field::Type, blocks::TOOL_CALL));
        self.open.extend(calls.filter_map(|call| call.json(Field::Id).cloned()));
        let text = node.json(Field::Content).filter(|text| !text.is_null()).cloned();
        self.text =
            Some(text.or_else(|| blocks::all_text(nodes)).unwrap_or(Json::constant("\"\"")));
        if let Some(usage) = node.node(Field::Usage) {
            self.usage(usage);
        }
    }

    fn usage(&mut self, usage: &Node) {
        for field in TOKENS {
            let number = usage.json(field).and_then(Json::float).filter(|n| n.is_finite());
            let Some(number) = number else { continue };
            match self.tokens.iter_mut().find(|(known, _)| *known == field) {
                Some((_, sum)) => *sum += number,
                None => self.tokens.push((field, number)),
            }
        }
        let cost = usage.node(Field::Cost).and_then(|cost| cost.json(Field::Total)?.float());
        self.cost = cost.map(|cost| cost + self.cost.unwrap_or(0.0)).or(self.cost);
    }

    fn answered(&mut self, call: &Json) {
        self.open.remove(call);
    }

    fn result(self) -> Record {
        let mut record = Record::new(Kind::Result);
        let node = &mut record.node;
        let text = self.text.filter(|_| self.open.is_empty() && !self.broken);
        let (subtype, failed) = match text {
            Some(_) => ("success", "false"),
            None => ("error_during_execution", "true"),
        };
        node.set(Field::Subtype, Json::string(subtype));
        node.set(Field::IsError, Json::constant(failed));
        node.set(Field::Result, text.unwrap_or(Json::constant("null")));
        let time =
            self.times.map_or(0, |(first, last)| last.as_millisecond() - first.as_millisecond());
        node.set(Field::Duration, Json::number(time.max(0).unsigned_abs()));
        node.set(Field::Turns, Json::number(self.answers));
        node.put(Field::TotalCost, self.cost.map(Json::from_f64));
        if !self.tokens.is_empty() {
            let mut usage = Node::default();
            for (field, number) in self.tokens {
                usage.set(field, Json::from_f64(number));
            }
            node.set(Field::Usage, usage);
        }
        record
    }
}
