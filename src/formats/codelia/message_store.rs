//! Store outside of memory for the messages that lines refer to.
//!
//! The writer writes a message to a spool when it comes, and reads it back for each line that
//! refers to it. The store keeps the place of each message and the message before it in memory: 24
//! bytes per message.

use crate::error::{Error, Result};
use crate::format::Spool;
use crate::ids::hash;
use crate::json::Json;
use std::collections::HashMap;
use std::io::SeekFrom;

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u64,
    /// Number of the message before it on its path.
    before: Option<u32>,
}

/// Messages of a session.
pub struct MessageStore {
    spool: Box<dyn Spool>,
    end: u64,
    places: Vec<Place>,
    /// Number of a message, by the hash of its identifier or label.
    numbers: HashMap<u64, u32>,
    /// Number of the last message that was put behind another one, or behind none as the first.
    last: Option<u32>,
}

impl MessageStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { spool, end: 0, places: Vec::new(), numbers: HashMap::new(), last: None }
    }

    /// Stores a value under a name, behind the value that `before` names. If that value is missing
    /// (because the user removed it from a stream), the value follows the last one that has a
    /// predecessor.
    ///
    /// # Errors
    /// If there is no room.
    pub fn put(&mut self, name: &Json, before: Option<&Json>, bytes: &[u8]) -> Result<()> {
        let failed = |error| Error::io("cannot write a temporary file", error);
        self.spool.seek(SeekFrom::Start(self.end)).map_err(failed)?;
        self.spool.write_all(bytes).map_err(failed)?;
        let number = self.places.len() as u32;
        let linked = before.is_some();
        let before = before.filter(|before| !before.is_null());
        let before = before.and_then(|before| self.number(before).or(self.last));
        self.last = if linked { Some(number) } else { self.last };
        self.numbers.insert(hash(name.as_bytes()), number);
        self.places.push(Place { offset: self.end, length: bytes.len() as u64, before });
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn number(&self, name: &Json) -> Option<u32> {
        self.numbers.get(&hash(name.as_bytes())).copied()
    }

    /// Returns the value of this name.
    ///
    /// # Errors
    /// If it cannot be read back.
    pub fn get(&mut self, name: &Json) -> Result<Option<Json>> {
        match self.number(name) {
            Some(number) => self.read(number).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the numbers of the values on the path from one to another, both included; `None` if
    /// no path leads there. If the user removed one of the two from a stream, the path is the rest
    /// of it.
    #[must_use]
    pub fn path(&self, first: &Json, last: &Json) -> Option<Vec<u32>> {
        let (first, last) = (self.number(first), self.number(last));
        if first.is_none() && last.is_none() {
            return None;
        }
        let mut at = last.or(self.last)?;
        let mut numbers = vec![at];
        while Some(at) != first {
            let before = self.places.get(at as usize).and_then(|place| place.before);
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
    ///
    /// # Errors
    /// If it cannot be read back.
    pub fn read(&mut self, number: u32) -> Result<Json> {
        let failed = |error| Error::io("cannot read a temporary file", error);
        let place = self.places.get(number as usize).copied();
        let (offset, length) = place.map_or((0, 0), |place| (place.offset, place.length));
        self.spool.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.spool.read_exact(&mut bytes).map_err(failed)?;
        // The value was checked when it was stored.
        Ok(Json::checked(bytes.into()))
    }
}
