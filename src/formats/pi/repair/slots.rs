//! Numbers by which version 1 names the first entry that a compaction keeps.
//!
//! The numbers count the records that were ever written, the header being 0. A record that is torn
//! or set aside had a number, too, so numbers behind it are too high by one once it is removed. The
//! number of records that NUL bytes replaced is not known: it is one at least.

use crate::diagnostic::Code;

/// New value of a number.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// The new number.
    pub number: u64,
    /// Reason why the number changed, or may have changed.
    pub why: Code,
    /// Whether the number is an upper limit, as the record may have been an earlier one.
    pub at_most: bool,
}

/// Numbers of all records of a session.
#[derive(Debug, Default)]
pub struct Slots {
    /// Number of records so far, the header included.
    next: u64,
    /// Numbers of records that are not entries, ascending: further headers, and records set aside.
    others: Vec<u64>,
    /// First number of the records that NUL bytes replaced.
    hole: Option<u64>,
    /// Next number at the time when a record was seen whose end is missing.
    open: Option<u64>,
}

impl Slots {
    /// Counts an entry.
    pub fn entry(&mut self) {
        self.next = self.next.max(1) + 1;
    }

    /// Counts a record that had a number and is not an entry.
    pub fn other(&mut self) {
        self.next = self.next.max(1);
        self.others.push(self.next);
        self.next += 1;
    }

    /// Counts the beginning of a record; the first record of all is the header.
    pub fn torn(&mut self, header: bool) {
        self.broken(header);
        self.open = Some(self.next);
    }

    /// Notes that the next entry is made of the beginning of a torn record.
    pub fn restored(&mut self) {
        self.open = Some(self.next.max(1) + 1);
    }

    /// Counts the end of a record, unless its beginning was counted: that comes before it, or
    /// before the one record that another program wrote into its midst.
    pub fn rest(&mut self) {
        if self.open.take().is_none_or(|next| self.next > next + 1) {
            self.broken(true);
        }
    }

    /// Counts NUL bytes.
    pub fn nuls(&mut self) {
        self.torn(true);
        self.hole();
    }

    /// Notes that records may be missing at the record counted last.
    pub fn hole(&mut self) {
        self.hole.get_or_insert(self.next.saturating_sub(1));
    }

    /// Notes the header: records that may be missing before it do not count.
    pub fn header(&mut self) {
        if self.next <= 1 {
            self.hole = None;
        }
    }

    fn broken(&mut self, header: bool) {
        if self.next == 0 && header {
            self.next = 1;
        } else {
            self.other();
        }
    }

    /// Returns the number of an entry.
    fn of(&self, ordinal: u32) -> u64 {
        let own = u64::from(ordinal) + 1;
        let (mut low, mut high) = (0, self.others.len());
        while low < high {
            let middle = (low + high) / 2;
            let before = self.others.get(middle).map_or(u64::MAX, |slot| slot - middle as u64);
            if before <= own { low = middle + 1 } else { high = middle }
        }
        own + low as u64
    }

    /// Returns the entry with this number, or the next one behind it.
    pub fn entry_at(&self, number: u64) -> Option<u32> {
        let passed = self.others.partition_point(|slot| *slot < number) as u64;
        u32::try_from(number.checked_sub(passed + 1)?).ok()
    }

    /// Returns the new value of a number in the compaction of this ordinal, when entries are
    /// removed and others are added behind entries; both lists are ascending. `None` if the number
    /// stays as it is.
    pub fn shifted(
        &self,
        number: u64,
        compaction: u32,
        removed: &[u32],
        put_in: &[u32],
    ) -> Option<Moved> {
        let own = self.of(compaction);
        let at_most = self.hole.is_some_and(|hole| hole < number.min(own));
        // The kept entry was before the compaction, so it is one of the missing records.
        if at_most && number >= own {
            let number = self.moved(own, removed, put_in)?;
            return Some(Moved { number, why: Code::TargetItself, at_most: false });
        }
        let new = self.moved(number, removed, put_in).filter(|new| *new != number || at_most)?;
        Some(Moved { number: new, why: Code::IndexShifted, at_most })
    }

    /// Returns the shifted number; `None` for a number that no record has.
    fn moved(&self, number: u64, removed: &[u32], put_in: &[u32]) -> Option<u64> {
        if number == 0 || number >= self.next {
            return None;
        }
        let others = self.others.partition_point(|slot| *slot < number) as u64;
        let removed = removed.partition_point(|ordinal| self.of(*ordinal) < number) as u64;
        let new = put_in.partition_point(|ordinal| self.of(*ordinal) < number) as u64;
        Some((number + new).saturating_sub(others + removed))
    }
}
