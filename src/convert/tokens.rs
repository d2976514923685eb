//! Usage of answers whose source counts the tokens of the whole session beside them.
//!
//! The software notes the running totals behind an answer, among the records of its calls. Formats
//! whose answers contain their usage need the difference with the answer.

use crate::format::{Running, TotalsFn};
use crate::json::Json;
use crate::record::turns::Numbered;
use crate::record::{Field, Kind, Node, Record};

/// Maximum number of records between an answer and its totals.
const BEHIND: usize = 64;

/// Gives answers the usage that the totals behind them show.
#[derive(Debug)]
pub struct Tokens {
    totals: TotalsFn,
    running: Running,
    /// The last answer without usage, and the records behind it.
    held: Vec<Numbered>,
}

impl Tokens {
    /// Begins a session whose software notes totals.
    #[must_use]
    pub fn new(totals: TotalsFn) -> Self {
        Self { totals, running: Running::default(), held: Vec::new() }
    }

    /// Replaces the next records by those that are complete, in their order.
    pub fn take_all(&mut self, ready: &mut Vec<Numbered>) {
        std::mem::take(ready).into_iter().for_each(|item| self.take(item, ready));
    }

    /// Replaces the last records by those that wait and these.
    pub fn finish(&mut self, ready: &mut Vec<Numbered>) {
        self.take_all(ready);
        ready.append(&mut self.held);
    }

    fn take(&mut self, item: Numbered, ready: &mut Vec<Numbered>) {
        let record = &item.1.value;
        let is_message = record.kind == Kind::Message;
        let is_answer = is_message && record.node.is(Field::Role, "assistant");
        let waits = is_answer && record.node.get(Field::Usage).is_none();
        let ends = is_answer || (is_message && record.node.is(Field::Role, "user"));
        let counted = if is_message { false } else { self.count(record) };
        if is_answer {
            self.running.answered();
        }
        if ends {
            ready.append(&mut self.held);
        }
        match waits || (!self.held.is_empty() && !counted) {
            true => self.held.push(item),
            false => {
                ready.append(&mut self.held);
                ready.push(item);
            }
        }
        if self.held.len() > BEHIND {
            ready.append(&mut self.held);
        }
    }

    /// Gives the answer that waits the tokens since the totals before. Returns false if a record
    /// contains no totals of the whole session.
    fn count(&mut self, record: &Record) -> bool {
        let totals = (self.totals)(record).into_iter().find(|totals| totals.model.is_none());
        let Some(totals) = totals else { return false };
        let new = self.running.growth(&totals);
        let counts = [
            (Field::InputTokens, new.input),
            (Field::OutputTokens, new.output),
            (Field::CacheRead, new.cache_read),
            (Field::CacheWrite, new.cache_write),
        ];
        if let Some((_, answer)) = self.held.first_mut()
            && counts.iter().any(|(_, count)| *count > 0.0)
        {
            let mut usage = Node::default();
            counts.iter().for_each(|(field, count)| usage.set(*field, Json::from_f64(*count)));
            answer.value.node.set(Field::Usage, usage);
        }
        true
    }
}
