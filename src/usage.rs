//! Tokens and cost of a session.

use crate::format::{Counts, Format, Running, Totals};
use crate::formats;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use crate::times;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// Tokens and cost of one model on one day of the zone of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// The date in UTC, such as `2026-01-03`; empty if it is not known.
    pub day: String,
    /// The model; empty if it is not known.
    pub model: String,
    /// The tokens and cost.
    pub usage: Usage,
}

/// Day and model of a count.
type Key = (String, String);

/// Tokens and cost, counted record by record.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    format: Option<&'static Format>,
    /// Whether the next counts are left out.
    skips: bool,
    /// The time of the last record, as long as a fork repeats its parent's.
    repeated: Option<Timestamp>,
    /// Whether a message to the model followed the last answer.
    has_input: bool,
    /// Day and model of the last record that names them.
    now: Key,
    spent: BTreeMap<Key, Usage>,
    /// Tokens and cost that no result has summed up yet.
    open: BTreeMap<Key, Usage>,
    /// The last answers of several records, each of which repeats the usage.
    answers: VecDeque<(Json, Usage)>,
    /// Running totals that the software notes, by model.
    running: HashMap<Option<String>, Running>,
    /// Totals that the session itself contains, used where no other record has counts.
    totals: Usage,
    /// Counts that the last record added.
    last: Usage,
}

impl Tally {
    /// Begins to count a session of a format.
    #[must_use]
    pub fn of(format: &'static Format) -> Self {
        Self { format: Some(format), ..Self::default() }
    }

    /// States whether the counts of the next records are left out, because another session has them.
    pub fn leave_out(&mut self, skips: bool) {
        self.skips = skips;
    }

    /// Returns the tokens and cost of all records.
    #[must_use]
    pub fn finish(self) -> Usage {
        let mut all = Usage::default();
        self.spent().iter().for_each(|spent| all.join(spent.usage));
        all
    }

    /// Returns the tokens and cost of each model on each day.
    #[must_use]
    pub fn spent(mut self) -> Vec<Spent> {
        for (key, usage) in std::mem::take(&mut self.open) {
            self.spent.entry(key).or_default().join(usage);
        }
        self.spent.retain(|_, usage| *usage != Usage::default());
        if self.spent.is_empty() && self.totals != Usage::default() {
            self.spent.insert(self.now, self.totals);
        }
        let spent = self.spent.into_iter();
        spent.map(|((day, model), usage)| Spent { day, model, usage }).collect()
    }

    /// Counts tokens and cost. A result sums up the answers before it.
    pub fn record(&mut self, record: &Record) {
        let node = &record.node;
        self.last = Usage::default();
        self.look(node);
        if record.kind == Kind::Message {
            self.has_input |= !node.is(Field::Role, "assistant");
            self.running.values_mut().for_each(Running::answered);
        }
        let number = |node: &Node, field| node.json(field).and_then(Json::float).unwrap_or(0.0);
        if record.kind == Kind::Session {
            // A stream has the totals of its source.
            self.format = self.format.map(|format| formats::ruling(format, node));
        }
        if record.kind == Kind::Turn {
            let (tokens, cost) = (number(node, Field::Tokens), number(node, Field::TotalCost));
            self.add(Usage { tokens, cost, ..Usage::default() });
        } else if let (Kind::Session, Some(totals)) = (record.kind, node.json(Field::Totals)) {
            let total = |name| totals.member(name).as_ref().and_then(Json::float).unwrap_or(0.0);
            let (tokens, cost) = (total("tokens"), total("cost"));
            self.totals = Usage { tokens, cost, ..Usage::default() };
        } else if record.kind == Kind::Result {
            let open = std::mem::take(&mut self.open);
            match node.node(Field::Usage) {
                Some(sum) => {
                    self.add(Usage::of(sum));
                    for usage in open.into_values() {
                        self.last = self.last.with(usage, |sum, one| sum - one);
                    }
                }
                None => {
                    for (key, usage) in open {
                        self.spent.entry(key).or_default().join(usage);
                    }
                }
            }
            let cost = number(node, Field::TotalCost);
            self.add(Usage { cost, ..Usage::default() });
        } else if let Some(usage) = node.node(Field::Usage) {
            self.answer(node.json(Field::Group), usage);
        } else if let Some(totals) = self.format.and_then(|format| format.agent.totals) {
            totals(record).iter().for_each(|totals| self.run(totals));
        }
    }

    /// Notes the day and the model of a record.
    fn look(&mut self, node: &Node) {
        let time = node.json(Field::Time).or(node.json(Field::Created)).and_then(times::of);
        if let Some(time) = time {
            if node.get(Field::ParentSession).is_some() {
                self.repeated = Some(time);
            }
            let goes_on = |before: &Timestamp| time.duration_since(*before).abs() < REPEATED;
            self.repeated = self.repeated.filter(goes_on).and(Some(time));
            self.now.0 = times::local_day(time);
        }
        if let Some(model) = node.text(Field::Model).filter(|model| !model.is_empty()) {
            self.now.1 = model;
        }
    }

    /// Returns what the last record added to the sum. A result that sums up the answers before it
    /// adds only what they lack.
    #[must_use]
    pub fn last(&self) -> Usage {
        self.last
    }

    fn add(&mut self, usage: Usage) {
        if self.is_counted_elsewhere() {
            return;
        }
        self.last.join(usage);
        self.spent.entry(self.now.clone()).or_default().join(usage);
    }

    /// Counts the growth of running totals.
    fn run(&mut self, totals: &Totals) {
        let running = self.running.entry(totals.model.clone()).or_default();
        let new = Usage::from(running.growth(totals));
        let model = totals.model.clone().unwrap_or_else(|| self.now.1.clone());
        if !self.is_counted_elsewhere() {
            self.last.join(new);
            self.spent.entry((self.now.0.clone(), model)).or_default().join(new);
        }
    }

    /// Counts the usage of an answer. Of an answer of several records the highest counts: some
    /// programs write the final numbers only with the last record. Some gateways give all answers
    /// one identifier; another one answers further messages, and more tokens were sent for it.
    fn answer(&mut self, group: Option<&Json>, usage: &Node) {
        let now = Usage::of(usage);
        let has_input = std::mem::take(&mut self.has_input);
        let mut unused = Usage::default();
        let (open, last) = match self.is_counted_elsewhere() {
            true => (&mut unused, &mut Usage::default()),
            false => (self.open.entry(self.now.clone()).or_default(), &mut self.last),
        };
        let Some(group) = group else {
            last.join(now);
            return open.join(now);
        };
        let known = self.answers.iter().position(|(answer, _)| answer == group);
        let was = known.and_then(|place| self.answers.remove(place)).map(|(_, was)| was);
        let was = was.filter(|was| !has_input || was.sent() == now.sent()).unwrap_or_default();
        let now = now.with(was, f64::max);
        let new = now.with(was, |now, was| now - was);
        last.join(new);
        open.join(new);
        self.answers.push_back((group.clone(), now));
        if self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
    }

    /// Whether another session has what the next record counts.
    fn is_counted_elsewhere(&self) -> bool {
        self.skips || self.repeated.is_some()
    }
}

/// Longest time between two records of the parent that a fork repeats: the software writes all at
/// once, with the time of the fork.
const REPEATED: SignedDuration = SignedDuration::from_millis(20);

/// Maximum number of answers whose further records may still follow.
const ANSWERS: usize = 64;

impl Usage {
    /// Returns the number of all tokens.
    #[must_use]
    pub fn all(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write + self.tokens
    }

    /// Returns the number of tokens that were sent.
    fn sent(&self) -> f64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Adds other tokens and cost.
    pub fn join(&mut self, other: Self) {
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

    /// Reads tokens and cost of a record.
    #[must_use]
    pub fn of(usage: &Node) -> Self {
        let number = |node: &Node, field| node.json(field).and_then(Json::float).unwrap_or(0.0);
        Self {
            input: number(usage, Field::InputTokens),
            output: number(usage, Field::OutputTokens),
            cache_read: number(usage, Field::CacheRead),
            cache_write: number(usage, Field::CacheWrite),
            tokens: 0.0,
            cost: usage.node(Field::Cost).map_or(0.0, |cost| number(cost, Field::Total)),
        }
    }
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let Counts { input, output, cache_read, cache_write, cost } = counts;
        Self { input, output, cache_read, cache_write, tokens: 0.0, cost }
    }
}
