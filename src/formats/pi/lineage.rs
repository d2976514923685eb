//! Which record of a session a line is, and what that says about identifiers and kept entries.

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
    /// Record numbers of what is no entry: headers after the first, and `others`.
    passed: Vec<u64>,
    /// Record numbers of what is no object and gets no identifier.
    others: Vec<u64>,
    /// Records so far, the header included.
    records: u64,
    /// Entries so far that get an identifier.
    entries: u64,
    /// The identifier of the last of these.
    last: Option<Id>,
}

/// What a compaction's index of version 1 means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The entry of this identifier, and its record number.
    Entry(Id, u64),
    /// The header: version 1 kept everything, so the first entry of all.
    Header(Id, u64),
    /// A further header: the entry behind it.
    Behind(Id, u64),
    /// The compaction itself: nothing before it.
    Itself(Id, u64),
    /// No entry before the compaction.
    Nowhere,
    /// It is no number.
    NoNumber,
}

impl Kept {
    /// The record number of the entry.
    #[must_use]
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
    /// For the session whose header has this `id` member.
    #[must_use]
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
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Goes on at this record number. What it means for identifiers is known only in versions
    /// whose entries have their own.
    pub fn resume(&mut self, records: u64) {
        self.records = records;
    }

    /// How many headers there were after the first.
    #[must_use]
    pub fn headers(&self) -> usize {
        self.passed.len() - self.others.len()
    }

    /// Counts a further header.
    pub fn header(&mut self) {
        self.passed.push(self.records);
        self.records += 1;
    }

    /// Counts a record that is no object and can have no identifier.
    pub fn other(&mut self) {
        self.passed.push(self.records);
        self.others.push(self.records);
        self.records += 1;
    }

    /// Counts an entry; gives its new identifier and that of the entry before it.
    pub fn entry(&mut self) -> (Id, Option<Id>) {
        self.records += 1;
        self.entries += 1;
        let id = self.maker.id(self.entries);
        (id, self.last.replace(id))
    }

    /// What the index of the entry counted last means.
    #[must_use]
    pub fn kept(&self, index: &[u8]) -> Kept {
        self.kept_by(self.records - 1, index)
    }

    /// The same of the entry that is counted next.
    #[must_use]
    pub fn kept_by_next(&self, index: &[u8]) -> Kept {
        self.kept_by(self.records, index)
    }

    /// The same of the entry of number `own`.
    fn kept_by(&self, own: u64, index: &[u8]) -> Kept {
        let Some(index) = Json::checked(index.to_vec().into()).float() else {
            return Kept::NoNumber;
        };
        if index.fract() != 0.0 || index < 0.0 || index > own as f64 {
            return Kept::Nowhere;
        }
        let index = index as u64;
        if self.others.binary_search(&index).is_ok() {
            return Kept::Nowhere;
        }
        // Version 1 went on from the index to the end, past what is no entry.
        let at = self.entry_behind(index.max(1)).min(own);
        let passed = self.passed.partition_point(|number| *number < at) as u64;
        let id = self.maker.id(at - passed);
        if index == 0 {
            Kept::Header(id, at)
        } else if at == own {
            Kept::Itself(id, own)
        } else if at > index {
            Kept::Behind(id, at)
        } else {
            Kept::Entry(id, at)
        }
    }

    /// The number of the first entry at a number or behind it. A file may have any number of headers
    /// in a row, and of compactions that name the first of them.
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

/// An identifier as JSON.
#[must_use]
pub fn quoted(id: Id) -> [u8; 10] {
    let mut out = [b'"'; 10];
    if let Some(inner) = out.get_mut(1..9) {
        inner.copy_from_slice(&id);
    }
    out
}
