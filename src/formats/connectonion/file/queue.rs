//! Queue of turns that come before their messages, kept outside of memory until the messages come.

use super::turn::KEYED;
use crate::error::Result;
use crate::format::Spool;
use crate::parts::list::SpooledList;
use crate::record::{Kind, Record};

/// Turns in the order in which they came.
pub struct Queue {
    turns: SpooledList,
    /// How many turns were taken out.
    pub taken: u64,
}

impl Queue {
    /// Makes an empty queue.
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { turns: SpooledList::new(spool), taken: 0 }
    }

    /// Adds a turn.
    pub fn push(&mut self, turn: &Record) -> Result<()> {
        self.turns.write(|out| {
            KEYED.write(turn, None, out);
        })
    }

    /// Takes the first turn out.
    pub fn pop(&mut self) -> Result<Option<Record>> {
        if self.taken == self.turns.len() as u64 {
            return Ok(None);
        }
        let read = KEYED.read(&self.turns.get(self.taken as usize)?);
        self.taken += 1;
        Ok(Some(read.map_or_else(|_| Record::new(Kind::Turn), |(turn, _)| turn)))
    }
}
