//! Store outside of memory for the messages that lines refer to.
//!
//! The writer writes a message to a spool when it comes, and reads it back for each line that
//! refers to it. The store keeps the place of each message and the message before it in memory: 16
//! bytes per message.

use crate::error::Result;
use crate::format::Spool;
use crate::ids::hash;
use crate::json::Json;
use crate::parts::list::SpooledList;
use std::collections::HashMap;

/// Messages of a session.
pub struct MessageStore {
    messages: SpooledList,
    /// Number of the message before each one on its path.
    before: Vec<Option<u32>>,
    /// Number of a message, by the hash of its identifier or label.
    numbers: HashMap<u64, u32>,
    /// Number of the last message that was put behind another one, or behind none as the first.
    last: Option<u32>,
}

impl MessageStore {
    /// Creates an empty store.
    pub fn new(spool: Box<dyn Spool>) -> Self {
        let messages = SpooledList::new(spool);
        Self { messages, before: Vec::new(), numbers: HashMap::new(), last: None }
    }

    /// Stores a value under a name, behind the value that `before` names. If that value is missing
    /// (because the user removed it from a stream), the value follows the last one that has a
    /// predecessor.
    pub fn put(&mut self, name: &Json, before: Option<&Json>, bytes: &[u8]) -> Result<()> {
        self.messages.add(bytes)?;
        let number = self.before.len() as u32;
        let linked = before.is_some();
        let before = before.filter(|before| !before.is_null());
        let before = before.and_then(|before| self.number(before).or(self.last));
        self.last = if linked { Some(number) } else { self.last };
        self.numbers.insert(hash(name.as_bytes()), number);
        self.before.push(before);
        Ok(())
    }

    fn number(&self, name: &Json) -> Option<u32> {
        self.numbers.get(&hash(name.as_bytes())).copied()
    }

    /// Returns the value of this name.
    pub fn get(&mut self, name: &Json) -> Result<Option<Json>> {
        match self.number(name) {
            Some(number) => self.read(number).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the numbers of the values on the path from one to another, both included; `None` if
    /// no path leads there. If the user removed one of the two from a stream, the path is the rest
    /// of it.
    pub fn path(&self, first: &Json, last: &Json) -> Option<Vec<u32>> {
        let (first, last) = (self.number(first), self.number(last));
        if first.is_none() && last.is_none() {
            return None;
        }
        let mut at = last.or(self.last)?;
        let mut numbers = vec![at];
        while Some(at) != first {
            let before = self.before.get(at as usize).copied().flatten();
            // A message's predecessor was stored before it, so this loop ends.
            at = match before.filter(|before| *before < at) {
                None if first.is_none() => break,
                before => before?,
            };
            numbers.push(at);
        }
        numbers.reverse();
        Some(numbers)
    }

    /// Returns the value of this number.
    pub fn read(&mut self, number: u32) -> Result<Json> {
        // The value was checked when it was stored.
        Ok(Json::trusted(self.messages.get(number as usize)?))
    }
}
