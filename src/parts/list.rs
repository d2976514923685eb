//! List of byte strings outside of memory.

use super::Spool;
use super::room::{Part, Room};
use crate::error::{Cannot, Result};
use crate::lines::empty;
use bytes::Bytes;
use std::io::{Read, Write};

/// Byte strings that are read back by number, in any order. Each takes eight bytes of memory.
///
/// ```
/// use copyist::parts::list::SpooledList;
/// let mut list = SpooledList::new(Box::new(std::io::Cursor::new(Vec::new())));
/// list.add(b"first")?;
/// list.add(b"second")?;
/// assert_eq!((list.len(), &list.get(0)?[..]), (2, &b"first"[..]));
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub struct SpooledList {
    items: Part,
    /// End of each item, in bytes.
    ends: Vec<u64>,
    out: Vec<u8>,
}

/// Size in bytes of the pieces in which items are written.
const CHUNK: usize = 256 << 10;

fn put(bytes: &[u8], to: &mut Part) -> Result<()> {
    to.write_all(bytes).cannot("write a temporary file")
}

impl SpooledList {
    /// Creates an empty list.
    #[must_use]
    pub fn new(spool: Box<dyn Spool>) -> Self {
        Self { items: Room::of(spool).part(), ends: Vec::new(), out: Vec::new() }
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the list has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds an item.
    ///
    /// # Errors
    /// If there is no room.
    pub fn add(&mut self, item: &[u8]) -> Result<()> {
        if item.len() < CHUNK {
            return self.write(|out| out.extend_from_slice(item));
        }
        // A large item is not copied.
        self.flush()?;
        self.ends.push(self.items.length() + item.len() as u64);
        put(item, &mut self.items)
    }

    /// Adds the item that `write` appends.
    ///
    /// # Errors
    /// If there is no room.
    pub fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        write(&mut self.out);
        self.ends.push(self.items.length() + self.out.len() as u64);
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        put(&self.out, &mut self.items)?;
        empty(&mut self.out);
        Ok(())
    }

    /// Reads an item; empty if there is no item of this number.
    ///
    /// # Errors
    /// If it cannot be read back.
    pub fn get(&mut self, number: usize) -> Result<Bytes> {
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        if end > self.items.length() {
            self.flush()?;
        }
        let mut item = vec![0; (end - start) as usize];
        self.items.reading(start).read_exact(&mut item).cannot("read a temporary file")?;
        Ok(item.into())
    }

    /// Returns all items, one directly after the other.
    ///
    /// # Errors
    /// If there is no room.
    pub fn contents(&mut self) -> Result<Part> {
        self.flush()?;
        Ok(self.items.clone())
    }
}
