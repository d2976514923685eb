//! Records of a small session, kept so that it need not be read from its source again.

use crate::position::{Located, Position};
use crate::record::Record;

/// Keeps the records of a session up to a size of the source, however many readings follow.
#[derive(Default)]
pub struct Replay {
    records: Vec<Located<Record>>,
    /// Bytes of the source that the records take.
    bytes: u64,
    last: Position,
    full: bool,
}

impl Replay {
    /// Maximum size of the source, in bytes. Records take about four times as much.
    const MAX: u64 = 1 << 20;

    /// Least size that is counted for a record: several records can have one place.
    const RECORD: u64 = 256;

    /// Keeps a record, or none any more if the session is too large.
    pub fn add(&mut self, located: Located<Record>) {
        if self.full {
            return;
        }
        let from = if located.at.part == self.last.part { self.last.byte } else { 0 };
        self.last = located.at;
        self.bytes += located.at.byte.abs_diff(from).max(Self::RECORD);
        self.records.push(located);
        if self.bytes > Self::MAX {
            *self = Self { full: true, ..Self::default() };
        }
    }

    /// Returns the records, if all of them were kept.
    pub fn records(&self) -> Option<&[Located<Record>]> {
        (!self.full).then_some(self.records.as_slice())
    }

    /// Returns the records, if all of them were kept.
    pub fn into_records(self) -> Option<Vec<Located<Record>>> {
        (!self.full).then_some(self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    fn at(byte: u64) -> Located<Record> {
        Located { value: Record::new(Kind::Message), at: Position { byte, ..Position::default() } }
    }

    #[test]
    fn replay_large_session_keeps_no_records() {
        let mut replay = Replay::default();
        for byte in [0, 1000, 2000] {
            replay.add(at(byte));
        }
        assert_eq!(replay.records().map(<[_]>::len), Some(3));
        replay.add(at(Replay::MAX + 1000));
        replay.add(at(Replay::MAX + 1001));
        assert_eq!(replay.records(), None);
        assert_eq!(replay.into_records(), None);
    }

    #[test]
    fn replay_records_at_one_place_are_limited() {
        let mut replay = Replay::default();
        for _ in 0..=Replay::MAX / Replay::RECORD {
            replay.add(at(0));
        }
        assert_eq!(replay.records(), None);
    }
}
