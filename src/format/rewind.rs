//! Interface by which a format's software marks turns, and takes them back.

use crate::json::Json;
use crate::record::Record;
use std::collections::HashSet;

/// The turns of a session whose newest ones its software can take back by a record behind them.
pub trait Turns {
    /// Takes the next record of the session. `shown` states whether another file shows it.
    fn note(&mut self, record: &Record, shown: bool);

    /// Takes back the turns from the first of these entries on. If the first message that is left
    /// belongs to no entry, but to the list of a compaction, `listed` is the number of all messages
    /// of the user that are left.
    fn take_back(&mut self, remaining: &HashSet<Json>, listed: Option<usize>) -> Back;
}

/// Result of taking back turns.
pub enum Back {
    /// None of the entries is in the session's current history.
    Nothing,
    /// No turn begins with the first one.
    Impossible,
    /// The record that takes the turns back, and the entry behind which the next one comes.
    By {
        /// The record.
        record: Record,
        /// Identifier of the entry; `None` at the beginning.
        end: Option<Json>,
    },
}

/// Records at the beginning and the end of turns.
#[derive(Debug)]
pub struct Marks {
    /// Whether a record begins a turn.
    pub is: fn(&Record) -> bool,
    /// Returns the records around a new turn with these records.
    pub around: fn(&[Record]) -> Option<[Record; 2]>,
}
