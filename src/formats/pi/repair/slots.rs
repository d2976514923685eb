//! The numbers by which version 1 names the first entry that a compaction keeps.
//!
//! They count the records that were ever written, the header being 0. A record that is torn or set
//! aside had a number, too, so numbers behind it are too high by one once it is gone.

/// Numbers of all records of a session.
#[derive(Debug, Default)]
pub struct Slots {
    /// Records so far, the header included.
    next: u64,
    /// Numbers of what is no entry, ascending: further headers, and what is set aside.
    others: Vec<u64>,
}

impl Slots {
    /// Counts an entry.
    pub fn entry(&mut self) {
        self.next = self.next.max(1) + 1;
    }

    /// Counts something else that had a number.
    pub fn other(&mut self) {
        self.next = self.next.max(1);
        self.others.push(self.next);
        self.next += 1;
    }

    /// The number of an entry.
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

    /// The entry with this number, or the next behind it.
    pub fn entry_at(&self, number: u64) -> Option<u32> {
        let passed = self.others.partition_point(|slot| *slot < number) as u64;
        u32::try_from(number.checked_sub(passed + 1)?).ok()
    }

    /// What a number becomes when entries go and others are put in behind entries; both lists are
    /// ascending. `None` for a number that none of the records has.
    pub fn moved(&self, number: u64, gone: &[u32], put_in: &[u32]) -> Option<u64> {
        if number == 0 || number >= self.next {
            return None;
        }
        let others = self.others.partition_point(|slot| *slot < number) as u64;
        let gone = gone.partition_point(|ordinal| self.of(*ordinal) < number) as u64;
        let new = put_in.partition_point(|ordinal| self.of(*ordinal) < number) as u64;
        Some((number + new).saturating_sub(others + gone))
    }
}
