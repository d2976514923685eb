//! Messages that lines refer to, outside of memory.
//!
//! A message is written to a spool when it comes, and read back for each line that shows it. What
//! is kept is where it stands, and which message was before it: 24 bytes a message.

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
    /// The number of the message before it on its path.
    before: Option<u32>,
}

/// The messages of a session.
pub struct Shelf {
    spool: Box<dyn Spool>,
    end: u64,
    places: Vec<Place>,
    /// The number of a message, by the hash of its identifier or label.
    numbers: HashMap<u64, u32>,
    /// The last message that was put behind another one, or behind none as the first.
    last: Option<u32>,
}

impl Shelf {
    /// An empty one.
    #[must_use]
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { spool, end: 0, places: Vec::new(), numbers: HashMap::new(), last: None }
    }

    /// Puts a value there under a name, behind the one that `before` names; if that is not there
    /// (somebody took it out of a stream), behind the last one that stands behind any.
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

    /// The value of this name.
    ///
    /// # Errors
    /// If it cannot be read back.
    pub fn get(&mut self, name: &Json) -> Result<Option<Json>> {
        match self.number(name) {
            Some(number) => self.read(number).map(Some),
            None => Ok(None),
        }
    }

    /// The numbers of the values on the path from one to another, both included; `None` if none leads
    /// there. Where somebody took one of the two out of a stream, the path is what is left of it.
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
            // What stands before a message was put there before it, so this ends.
            at = match before.filter(|before| *before < at) {
                None if first.is_none() => break,
                before => before?,
            };
            numbers.push(at);
        }
        numbers.reverse();
        Some(numbers)
    }

    /// The value of this number.
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
        // It was checked when it was put there.
        Ok(Json::checked(bytes.into()))
    }
}
