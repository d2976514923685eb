//! Tokens and cost of a session.

use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use serde::Serialize;
use std::collections::VecDeque;

/// Tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Tokens whose sort is not known, as turns count them.
    pub tokens: f64,
    /// Cost in the currency of the source, mostly US dollars.
    pub cost: f64,
}

/// Tokens and cost, counted record by record.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    usage: Usage,
    /// Tokens and cost that no result has summed up yet.
    open: Usage,
    /// The last answers of several records, each of which repeats the usage.
    answers: VecDeque<(Json, Usage)>,
    /// Totals that the session itself contains, used where no other record has counts.
    totals: Usage,
}

impl Tally {
    /// Returns the tokens and cost of all records.
    #[must_use]
    pub fn finish(mut self) -> Usage {
        self.usage.join(self.open);
        if self.usage == Usage::default() { self.totals } else { self.usage }
    }

    /// Counts tokens and cost. A result sums up the answers before it.
    pub fn record(&mut self, record: &Record) {
        let node = &record.node;
        let number = |node: &Node, field| node.json(field).and_then(Json::float).unwrap_or(0.0);
        if record.kind == Kind::Turn {
            self.usage.tokens += number(node, Field::Tokens);
            self.usage.cost += number(node, Field::TotalCost);
        } else if let (Kind::Session, Some(totals)) = (record.kind, node.json(Field::Totals)) {
            let total = |name| totals.member(name).as_ref().and_then(Json::float).unwrap_or(0.0);
            let (tokens, cost) = (total("tokens"), total("cost"));
            self.totals = Usage { tokens, cost, ..Usage::default() };
        } else if record.kind == Kind::Result {
            let open = std::mem::take(&mut self.open);
            let sum = node.node(Field::Usage);
            self.usage.join(if sum.is_none() { open } else { Usage::default() });
            sum.into_iter().for_each(|sum| self.usage.add(sum));
            self.usage.cost += number(node, Field::TotalCost);
        } else if let Some(usage) = node.node(Field::Usage) {
            self.answer(node.json(Field::Group), usage);
        }
    }

    /// Counts the usage of an answer. Of an answer of several records the highest counts: some
    /// programs write the final numbers only with the last record.
    fn answer(&mut self, group: Option<&Json>, usage: &Node) {
        let mut now = Usage::default();
        now.add(usage);
        let Some(group) = group else { return self.open.join(now) };
        let known = self.answers.iter().position(|(answer, _)| answer == group);
        let was = known.and_then(|place| self.answers.remove(place));
        let was = was.map(|(_, was)| was).unwrap_or_default();
        let now = now.with(was, f64::max);
        self.open.join(now.with(was, |now, was| now - was));
        self.answers.push_back((group.clone(), now));
        if self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
    }
}

/// Maximum number of answers whose further records may still follow.
const ANSWERS: usize = 64;

impl Usage {
    /// Returns the number of all tokens.
    #[must_use]
    pub fn all(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write + self.tokens
    }

    fn join(&mut self, other: Self) {
        *self = self.with(other, |own, other| own + other);
    }

    /// Combines two counts, number by number.
    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write: of(self.cache_write, other.cache_write),
            tokens: of(self.tokens, other.tokens),
            cost: of(self.cost, other.cost),
        }
    }

    fn add(&mut self, usage: &Node) {
        let number = |node: &Node, field| node.json(field).and_then(Json::float).unwrap_or(0.0);
        self.input += number(usage, Field::InputTokens);
        self.output += number(usage, Field::OutputTokens);
        self.cache_read += number(usage, Field::CacheRead);
        self.cache_write += number(usage, Field::CacheWrite);
        if let Some(cost) = usage.node(Field::Cost) {
            self.cost += number(cost, Field::Total);
        }
    }
}
