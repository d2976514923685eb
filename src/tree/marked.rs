//! An entry of a tree that may be broken: its marks, and the keys of what it refers to.

use super::column::plain;
use super::{ABSENT, MISSING, ROOT};
use crate::ids::{Id, hash};
use crate::json::text;

/// Marks of an entry.
pub mod marks {
    /// The software reads the entry as the file is.
    pub const READ: u32 = 1;
    /// The entry is a message of the context.
    pub const MESSAGE: u32 = 1 << 1;
    /// The entry is a summary of the messages before it.
    pub const COMPACTION: u32 = 1 << 2;
    /// The entry describes the session, and its place has no meaning.
    pub const ASIDE: u32 = 1 << 3;
    /// The entry does not belong to the tree.
    pub const OUTSIDE: u32 = 1 << 4;
    /// The software fails on the entry.
    pub const UNUSABLE: u32 = 1 << 5;
    /// An equal record comes before the entry.
    pub const DUPLICATE: u32 = 1 << 6;
    /// The entry gets a new identifier.
    pub const RENAMED: u32 = 1 << 7;
    /// The entry had no identifier.
    pub const NAMELESS: u32 = 1 << 8;
    /// The entry gets another parent.
    pub const LINKED: u32 = 1 << 9;
    /// The parent of the entry is not known.
    pub const ORPHAN: u32 = 1 << 10;
    /// The entry was its own ancestor.
    pub const CIRCLE: u32 = 1 << 11;
    /// The parent of the entry is the entry before it.
    pub const FOLLOWS: u32 = 1 << 12;
    /// Number of bits of the marks.
    pub const BITS: u32 = 13;
    /// Marks of entries that are not in the output.
    pub const REMOVED: u32 = UNUSABLE | DUPLICATE;
    /// Marks of entries that are not in the tree.
    pub const PASSED: u32 = REMOVED | OUTSIDE;
}

/// Data of an entry, with its marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedEntry {
    pub id: u64,
    /// Hash of the parent first; [`FIRST`] and an ordinal later.
    pub parent: u64,
    pub ordinal: u32,
    /// Marks, and a part of the hash of its bytes.
    pub note: u32,
}

plain!(MarkedEntry { id: u64, parent: u64, ordinal: u32, note: u32 });

impl MarkedEntry {
    /// Whether the entry has one of the marks.
    pub fn is(&self, marks: u32) -> bool {
        self.note & marks != 0
    }

    /// Returns the part of the hash of its bytes.
    pub fn content(&self) -> u32 {
        self.note >> marks::BITS
    }

    /// Whether the parent comes behind the entry.
    pub fn leads_forward(&self) -> bool {
        !self.is(marks::PASSED) && self.parent().is_some_and(|parent| parent >= self.ordinal)
    }

    /// Returns the ordinal of the parent that was found.
    pub fn parent(&self) -> Option<u32> {
        self.parent.checked_sub(FIRST).map(|ordinal| ordinal as u32)
    }
}

/// Key of the parent with ordinal 0, once hashes are resolved.
pub(super) const FIRST: u64 = MISSING + 1;

/// Returns the key of an identifier in its JSON spelling.
#[must_use]
pub fn key_of(spelling: &[u8]) -> u64 {
    let hashed = match memchr::memchr(b'\\', spelling) {
        None => hash(spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default()),
        Some(_) => hash(text::decode(spelling).unwrap_or_default().as_bytes()),
    };
    hashed.max(MISSING + 1)
}

/// Returns the key of a new identifier.
pub(super) fn key_of_id(id: &Id) -> u64 {
    hash(id).max(MISSING + 1)
}

/// Returns the key of a parent in its JSON spelling; `None` represents a missing member.
#[must_use]
pub fn parent_of(spelling: Option<&[u8]>) -> u64 {
    match spelling {
        None => ABSENT,
        // pi follows a parent while it is truthy, so "" is a root too.
        Some(b"null" | b"\"\"") => ROOT,
        Some(spelling) => key_of(spelling),
    }
}

/// New target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The entry itself: the target is missing.
    Itself,
    /// The entry of this ordinal.
    At(u32),
}
