//! Numbers of a session's records, and the identifiers and kept entries that follow from them.

use crate::format::Cx;
use crate::ids::{Id, Maker};
use crate::json::{Json, text};

/// Counts the records of a session, as pi's loader would number them.
///
/// Everything that a migration or a reader decides about one line follows from its numbers here
/// and from the line itself.
#[derive(Clone, Debug)]
pub struct Lineage {
    maker: Maker,
    /// Record numbers that are not those of entries: headers after the first, and `others`.
    passed: Vec<u64>,
    /// Record numbers of values that are not objects and get no identifier.
    others: Vec<u64>,
    /// Number of records so far, the header included.
    records: u64,
    /// Number of entries so far that get an identifier.
    entries: u64,
    /// Identifier of the last of these entries.
    last: Option<Id>,
}

/// Meaning of a compaction's index in version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexMeaning {
    /// The entry of this identifier, and its record number.
    Entry(Id, u64),
    /// Header: version 1 kept everything, so the index means the first entry of all.
    Header(Id, u64),
    /// Further header: the index means the entry behind it.
    Behind(Id, u64),
    /// Compaction itself: it keeps nothing before it.
    Itself(Id, u64),
    /// Index that means no entry before the compaction.
    Nowhere,
    /// Index that is not a number.
    NoNumber,
}

impl IndexMeaning {
    /// The record number of the entry.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Entry(_, at)
            | Self::Header(_, at)
            | Self::Behind(_, at)
            | Self::Itself(_, at) => Some(at),
            Self::Nowhere | Self::NoNumber => None,
        }
    }
}

impl Lineage {
    /// Creates the counter for the session whose header has this `id` member.
    pub fn new(session: &[u8], cx: &Cx<'_>) -> Self {
        let session = text::decode(session).unwrap_or_default();
        Self {
            maker: Maker::new(cx.options.ids, session.as_bytes()),
            passed: Vec::new(),
            others: Vec::new(),
            records: 1,
            entries: 0,
            last: None,
        }
    }

    /// The number of the next record, the header being 0.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of headers after the first.
    pub fn headers(&self) -> usize {
        self.passed.len() - self.others.len()
    }

    /// Counts a further header.
    pub fn header(&mut self) {
        self.passed.push(self.records);
        self.records += 1;
    }

    /// Counts a value that is not an object and can have no identifier.
    pub fn other(&mut self) {
        self.passed.push(self.records);
        self.others.push(self.records);
        self.records += 1;
    }

    /// Counts an entry; returns its new identifier and that of the entry before it.
    pub fn entry(&mut self) -> (Id, Option<Id>) {
        self.records += 1;
        self.entries += 1;
        let id = self.maker.id(self.entries);
        (id, self.last.replace(id))
    }

    /// Returns the meaning of an index in the entry that was counted last.
    pub fn first_kept(&self, index: &[u8]) -> IndexMeaning {
        self.first_kept_by(self.records - 1, index)
    }

    /// Returns the meaning of an index in the entry that is counted next.
    pub fn next_first_kept(&self, index: &[u8]) -> IndexMeaning {
        self.first_kept_by(self.records, index)
    }

    /// Returns the meaning of an index in the entry of number `own`.
    fn first_kept_by(&self, own: u64, index: &[u8]) -> IndexMeaning {
        let Some(index) = Json::trusted(index.to_vec().into()).float() else {
            return IndexMeaning::NoNumber;
        };
        if index.fract() != 0.0 || index < 0.0 || index > own as f64 {
            return IndexMeaning::Nowhere;
        }
        let index = index as u64;
        if self.others.binary_search(&index).is_ok() {
            return IndexMeaning::Nowhere;
        }
        // Version 1 continued from the index to the end, past records that are not entries.
        let at = self.entry_behind(index.max(1)).min(own);
        let passed = self.passed.partition_point(|number| *number < at) as u64;
        let id = self.maker.id(at - passed);
        if index == 0 {
            IndexMeaning::Header(id, at)
        } else if at == own {
            IndexMeaning::Itself(id, own)
        } else if at > index {
            IndexMeaning::Behind(id, at)
        } else {
            IndexMeaning::Entry(id, at)
        }
    }

    /// Returns the number of the first entry at a number or behind it. A file may have any number
    /// of headers in a row, and of compactions that name the first of them.
    fn entry_behind(&self, number: u64) -> u64 {
        let first = self.passed.partition_point(|passed| *passed < number);
        let rest = self.passed.get(first..).unwrap_or_default();
        let (mut low, mut high) = (0, rest.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if rest.get(middle) == Some(&(number + middle as u64)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        number + low as u64
    }
}

/// Spells an identifier as JSON.
pub fn quoted(id: Id) -> [u8; 10] {
    let mut out = [b'"'; 10];
    if let Some(inner) = out.get_mut(1..9) {
        inner.copy_from_slice(&id);
    }
    out
}
