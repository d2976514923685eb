//! Turns of a session: what the user asked, which tools the agent called, what it answered, and
//! what that cost.
//!
//! A turn begins at each question of the user on the path that a model gets. Agents that store
//! summaries of turns also give their numbers, expected results and outcomes.

mod check;
mod pair;

pub use check::{Check, ExpectedTools};
pub use pair::{Pair, counts, paired};

use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use crate::session::Session;
use crate::times;
use crate::usage::{Tally, Usage};
use crate::user_words::{self, UserWords};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::HashMap;

/// One turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Turn {
    /// Number of the turn: the agent's own, or else its place in the session, from 1.
    pub number: u64,
    /// Beginning of the question, in one line.
    pub input: String,
    /// Identifier of the question's record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Time of the question, in the source's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Names of the tools that were called, in order.
    pub tools: Vec<String>,
    /// Beginning of the last answer, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Model that gave the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens and cost, those of sub-agents included.
    pub usage: Usage,
    /// Milliseconds from the question to the last record of the turn, or as the agent measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// The check of the turn, if the session has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Hashes of the whole question and the whole answer.
    #[serde(skip)]
    whole: (u64, u64),
}

impl Turn {
    /// Whether both turns have the same answer.
    pub fn is_same_result(&self, other: &Self) -> bool {
        self.whole.1 == other.whole.1
    }
}

/// Maximum number of characters of a question or answer that are kept.
const LONGEST: usize = 200;

/// Returns the turns of a session, in two walks over it. Memory is that of the index and of the
/// turns.
pub fn run(format: &'static Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Vec<Turn>> {
    let session = Session::open(format, parts, cx)?;
    let path = session.history();
    let log = crate::diagnostic::Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut turns = Turns::of(format);
    let mut ordinal = 0;
    for located in session.into_records(&quiet)? {
        let located = located?;
        let is_node = located.value.is_node();
        turns.record(&located.value, !is_node || path.contains(ordinal));
        ordinal += u32::from(is_node);
    }
    Ok(turns.finish())
}

/// Turns that are collected record by record.
#[derive(Debug)]
pub struct Turns {
    tally: Tally,
    user_words: UserWords,
    list: Vec<Open>,
    /// Places of turns whose summaries were read, by their numbers.
    by_number: HashMap<u64, usize>,
    /// Number of summaries that were read.
    summaries: u64,
    /// Number of questions that were read.
    questions: usize,
    /// A turn whose summary was read and whose question follows.
    next: Option<usize>,
    /// The turn that goes on.
    current: Option<usize>,
    /// Whether the conversation at this place is on the path.
    active: bool,
}

/// A turn that can still grow.
#[derive(Debug, Default)]
struct Open {
    turn: Turn,
    /// Place of its question among all questions, if it was read.
    question: Option<usize>,
    /// Times of the question and of the last record.
    times: Option<(Timestamp, Timestamp)>,
    /// Tools as a summary names them.
    named: Vec<String>,
    /// Number that the agent gave it.
    number: Option<u64>,
}

impl Turns {
    /// Begins a session of a format.
    pub fn of(format: &'static Format) -> Self {
        Self {
            tally: Tally::of(format),
            user_words: UserWords::of(format),
            list: Vec::new(),
            by_number: HashMap::new(),
            summaries: 0,
            questions: 0,
            next: None,
            current: None,
            active: true,
        }
    }

    /// Adds a record. `on_path` states whether a node is on the path from the root to the leaf.
    pub fn record(&mut self, record: &Record, on_path: bool) {
        self.tally.record(record);
        self.user_words.note(record);
        if record.kind == Kind::Turn {
            let place = self.summary(&record.node);
            return self.count(Some(place));
        }
        // Records of sub-agents and records beside the tree belong to the turn around them.
        let aside = record.is_aside();
        if record.is_node() && !aside {
            self.active = on_path;
        }
        if !self.active {
            return;
        }
        if let Some(words) = self.user_words.question(record).filter(|_| on_path) {
            self.question(&record.node, &words);
        }
        self.count(self.current);
        if !aside && let Some(open) = self.current.and_then(|place| self.list.get_mut(place)) {
            open.note(record);
        }
    }

    /// Adds the tokens and cost of the last record to a turn.
    fn count(&mut self, place: Option<usize>) {
        if let Some(open) = place.and_then(|place| self.list.get_mut(place)) {
            open.turn.usage.join(self.tally.last());
        }
    }

    /// Adds the summary of a turn, and returns the turn's place.
    fn summary(&mut self, node: &Node) -> usize {
        self.summaries += 1;
        let number = node.json(Field::Number).and_then(Json::float).map(|number| number as u64);
        let place = self.list.len();
        self.by_number.insert(number.unwrap_or(self.summaries), place);
        self.next = Some(place);
        self.list.push(Open::summarized(node, number));
        place
    }

    /// Begins the turn of a question.
    fn question(&mut self, node: &Node, words: &str) {
        let number = node.json(Field::Turn).and_then(Json::float).map(|number| number as u64);
        let known = number.and_then(|number| self.by_number.get(&number).copied());
        let known = known
            .or(self.next.take())
            .filter(|place| self.list.get(*place).is_some_and(|open| open.question.is_none()));
        let place = known.unwrap_or(self.list.len());
        if known.is_none() {
            self.list.push(Open::default());
        }
        if let Some(open) = self.list.get_mut(place) {
            open.question = Some(self.questions);
            open.begin(node, words);
        }
        self.questions += 1;
        (self.next, self.current) = (None, Some(place));
    }

    /// Returns the turns, in the order of their questions.
    pub fn finish(self) -> Vec<Turn> {
        let mut last = 0;
        let mut list: Vec<_> = self
            .list
            .into_iter()
            .map(|open| {
                last = open.question.unwrap_or(last);
                (last, open)
            })
            .collect();
        // Some agents store a turn for messages before the first question.
        list.retain(|(_, open)| open.question.is_some() || !open.turn.input.is_empty());
        list.sort_by_key(|(order, _)| *order);
        let list = (1..).zip(list);
        list.map(|(place, (_, open))| open.finish(place)).collect()
    }
}

impl Open {
    /// Begins a turn with its summary.
    fn summarized(node: &Node, number: Option<u64>) -> Self {
        let text = |field| node.text(field).filter(|text| !text.is_empty());
        let input = text(Field::Input).unwrap_or_default();
        let result = text(Field::Result);
        let named = node.json(Field::ToolsCalled).into_iter().flat_map(Json::elements);
        let turn = Turn {
            whole: (of(&input), result.as_deref().map_or(0, of)),
            input: user_words::line(&input),
            result: result.as_deref().map(beginning),
            model: text(Field::Model),
            duration: node.json(Field::Duration).and_then(Json::float),
            check: node.node(Field::Eval).and_then(Check::of),
            ..Turn::default()
        };
        let named = named.filter_map(|call| call.text()).map(|call| check::name(&call)).collect();
        Self { turn, named, number, ..Self::default() }
    }

    /// Notes the question of the user.
    fn begin(&mut self, node: &Node, words: &str) {
        self.turn.input = user_words::title(node, words);
        self.turn.whole.0 = of(if words.trim().is_empty() { &self.turn.input } else { words });
        self.turn.id = node.text(Field::Id);
        self.turn.time = node.text(Field::Time);
        self.times = time(node).map(|time| (time, time));
    }

    /// Notes a record of the turn.
    fn note(&mut self, record: &Record) {
        let node = &record.node;
        if let (Some((_, last)), Some(time)) = (&mut self.times, time(node)) {
            *last = (*last).max(time);
        }
        if record.kind != Kind::Message || !node.is(Field::Role, "assistant") {
            return;
        }
        let calls = node.blocks_of(block::TOOL_CALL);
        self.turn.tools.extend(calls.map(|call| call.text(Field::Name).unwrap_or_default()));
        if let Some(model) = node.text(Field::Model) {
            self.turn.model = Some(model);
        }
        let text = block::message_text(node).and_then(|text| text.text());
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.turn.result = Some(beginning(&text));
            self.turn.whole.1 = of(&text);
        }
    }

    fn finish(self, place: u64) -> Turn {
        let Self { mut turn, times, named, number, .. } = self;
        turn.number = number.unwrap_or(place);
        if turn.tools.is_empty() {
            turn.tools = named;
        }
        let measured = times.filter(|(first, last)| last > first);
        let measured = measured.map(|(first, last)| last.duration_since(first).as_millis() as f64);
        turn.duration = turn.duration.or(measured);
        if let Some(check) = &mut turn.check {
            check.compare(&turn.tools);
        }
        turn
    }
}

/// Returns the hash of a text, without the white space around it.
fn of(text: &str) -> u64 {
    hash(text.trim().as_bytes())
}

fn time(node: &Node) -> Option<Timestamp> {
    let time = node.json(Field::Time)?;
    times::read(time).or_else(|| times::of_number(time))
}

/// Returns the first line of a text, with a mark if more follows.
fn beginning(text: &str) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(at, _)| at);
    let shown = line.get(..end).unwrap_or_default();
    if shown.len() == text.len() { shown.to_owned() } else { format!("{shown} …") }
}

#[cfg(test)]
mod tests;
