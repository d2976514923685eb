//! Table of small items of one size, of which at most a given number of bytes is in memory.

use super::spilled::Spilled;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// Item of a column: a few integers.
pub trait Plain: Copy {
    /// Size of an item in a file.
    const BYTES: usize;

    /// Writes the item in the form that it has in a file.
    fn put(self, out: &mut Vec<u8>);

    /// Returns the item at the beginning of these bytes.
    fn take(bytes: &[u8]) -> Option<Self>;
}

impl Plain for u8 {
    const BYTES: usize = 1;

    fn put(self, out: &mut Vec<u8>) {
        out.push(self);
    }

    fn take(bytes: &[u8]) -> Option<Self> {
        bytes.first().copied()
    }
}

/// Makes a struct of integers an item of columns.
macro_rules! plain {
    ($type:ident { $($field:ident: $word:ty),* }) => {
        impl $crate::tree::column::Plain for $type {
            const BYTES: usize = 0 $(+ size_of::<$word>())*;

            fn put(self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&{ self.$field }.to_le_bytes());)*
            }

            fn take(bytes: &[u8]) -> Option<Self> {
                $(let (word, bytes) = bytes.split_first_chunk()?;
                let $field = <$word>::from_le_bytes(*word);)*
                let _ = bytes;
                Some(Self { $($field),* })
            }
        }
    };
}
pub(super) use plain;

/// Distance from the guessed place within which most searches end.
const NEAR: usize = 64;

/// Items that can be added, sorted and changed.
///
/// A column that outgrows its limit continues in a temporary file, which is mapped read-only.
/// Changes of items in the file are kept in memory until they reach the limit, too; then the file
/// is written again. Where no file can be written, everything stays in memory.
#[derive(Debug)]
pub struct Column<T> {
    /// Items in memory, which follow those in the file.
    held: Vec<T>,
    stored: Option<Spilled>,
    /// Changed items of those in the file.
    changed: HashMap<usize, T>,
    /// Maximum number of items in memory.
    limit: usize,
}

impl<T: Plain> Column<T> {
    /// Returns an empty column of which at most so many bytes are in memory.
    pub fn within(bytes: usize) -> Self {
        let limit = (bytes / size_of::<T>()).max(2);
        Self { held: Vec::new(), stored: None, changed: HashMap::new(), limit }
    }

    /// Returns how many items there are.
    pub fn len(&self) -> usize {
        self.in_file() + self.held.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn in_file(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.bytes().len() / T::BYTES)
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) {
        if self.held.len() == self.held.capacity() {
            self.make_room();
        }
        self.held.push(item);
    }

    #[cold]
    fn make_room(&mut self) {
        if self.held.len() >= self.limit {
            self.spill();
        }
        // Doubling would leave up to half of the room empty.
        let remaining = self.limit.saturating_sub(self.held.len()).max(1);
        self.held.reserve_exact((self.held.len() / 8).max(1024).min(remaining));
    }

    /// Moves the items in memory to the file.
    fn spill(&mut self) {
        let held = self.held.iter().map(|item| Ok(*item));
        let moved = match &mut self.stored {
            Some(stored) => stored.append(|file| write(file, held)),
            None => written(held).map(|new| self.stored = Some(new)),
        };
        match moved {
            Ok(()) => self.held = Vec::new(),
            Err(_) => self.stay(),
        }
    }

    /// Keeps everything in memory from now on, because no file can be written.
    fn stay(&mut self) {
        self.held = self.iter().collect();
        self.stored = None;
        self.changed = HashMap::new();
        self.limit = usize::MAX;
    }

    /// Returns an item.
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        match &self.stored {
            None => self.held.get(place).copied(),
            Some(stored) => self.get_of(stored, place),
        }
    }

    fn get_of(&self, stored: &Spilled, place: usize) -> Option<T> {
        let changed = || self.changed.get(&place).copied();
        if let Some(changed) = (!self.changed.is_empty()).then(changed).flatten() {
            return Some(changed);
        }
        let in_file = stored.bytes().get(place.checked_mul(T::BYTES)?..).and_then(T::take);
        in_file.or_else(|| self.held.get(place.checked_sub(self.in_file())?).copied())
    }

    /// Changes an item.
    pub fn change(&mut self, place: usize, change: impl FnOnce(&mut T)) {
        if self.changed.len() > self.limit / CHANGED {
            self.rewrite_file();
        }
        if let Some(held) = place.checked_sub(self.in_file()) {
            self.held.get_mut(held).map(change);
        } else if let Some(mut item) = self.get(place) {
            change(&mut item);
            self.changed.insert(place, item);
        }
    }

    /// Writes the file with the changes.
    fn rewrite_file(&mut self) {
        match written(self.range(0..self.in_file()).map(Ok)) {
            Ok(stored) => (self.stored, self.changed) = (Some(stored), HashMap::new()),
            Err(_) => self.stay(),
        }
    }

    /// Returns the items in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + Clone + '_ {
        self.range(0..self.len())
    }

    /// Returns the items of a range in their order.
    pub fn range(&self, places: Range<usize>) -> impl DoubleEndedIterator<Item = T> + Clone + '_ {
        places.filter_map(|place| self.get(place))
    }

    /// Returns the first place of a range whose item does not fulfil `is`; items that do must
    /// precede the others.
    pub fn partition_point(&self, places: Range<usize>, is: impl Fn(&T) -> bool) -> usize {
        if let (None, Some(held)) = (&self.stored, self.held.get(places.clone())) {
            return places.start + held.partition_point(is);
        }
        let Range { start: mut low, end: mut high } = places;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle) {
                Some(item) if is(&item) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Returns how many items have this key or one below it; the items must be sorted by it. Hashes
    /// are spread evenly, so the search begins where the key would be if they were spread exactly.
    pub fn after(&self, key: u64, of: impl Fn(&T) -> u64) -> usize {
        let guess = ((u128::from(key) * self.len() as u128) >> u64::BITS) as usize;
        let (mut low, mut high) = (guess, guess);
        let is_behind = |place: usize| self.get(place).is_some_and(|item| of(&item) > key);
        for step in (0..usize::BITS).map(|power| NEAR << power) {
            if low == 0 || !is_behind(low - 1) {
                break;
            }
            low = low.saturating_sub(step);
        }
        for step in (0..usize::BITS).map(|power| NEAR << power) {
            if high >= self.len() || is_behind(high) {
                break;
            }
            high = high.saturating_add(step).min(self.len());
        }
        self.partition_point(low..high, |item| of(item) <= key)
    }

    /// Sorts the items by a key that no two of them share.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        if self.stored.is_some() {
            self.spill();
        }
        if self.stored.is_some() {
            match self.merged(&key) {
                Ok(sorted) => (self.stored, self.changed) = (Some(sorted), HashMap::new()),
                Err(_) => self.stay(),
            }
        }
        self.held.sort_unstable_by_key(key);
    }

    /// Returns the items of the file sorted: runs of as many as memory may hold, which are merged.
    fn merged<K: Ord>(&self, key: &impl Fn(&T) -> K) -> io::Result<Spilled> {
        let (count, limit) = (self.in_file(), self.limit);
        let stored = self.stored.as_ref().ok_or_else(missing)?;
        let starts = || (0..count).step_by(limit);
        let sorted = Spilled::filled(|file| {
            for start in starts() {
                let mut run = items::<T>(stored, start..count.min(start + limit))?;
                for (item, place) in run.iter_mut().zip(start..) {
                    *item = self.changed.get(&place).copied().unwrap_or(*item);
                }
                run.sort_unstable_by_key(key);
                write(file, run.into_iter().map(Ok))?;
            }
            Ok(())
        })?;
        let piece = (limit / starts().count()).clamp(1, CHUNK);
        let mut runs: Vec<Run<T>> =
            starts().map(|start| Run::new(start..count.min(start + limit), piece)).collect();
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (number, run) in runs.iter_mut().enumerate() {
            run.next(&sorted)?;
            heads.extend(run.head.as_ref().map(|item| Reverse((key(item), number))));
        }
        written(std::iter::from_fn(|| {
            let Reverse((_, number)) = heads.pop()?;
            let run = runs.get_mut(number)?;
            let item = run.head?;
            if let Err(error) = run.next(&sorted) {
                return Some(Err(error));
            }
            heads.extend(run.head.as_ref().map(|item| Reverse((key(item), number))));
            Some(Ok(item))
        }))
    }
}

/// Number of bytes that are read or written at once.
const CHUNK: usize = 256 << 10;

/// Number of items in memory that a changed item counts as: it is in a hash table.
const CHANGED: usize = 8;

/// Sorted part of a file that is being merged.
struct Run<T> {
    remaining: Range<usize>,
    /// Number of items that are read at once.
    piece: usize,
    read: std::vec::IntoIter<T>,
    head: Option<T>,
}

impl<T: Plain> Run<T> {
    fn new(remaining: Range<usize>, piece: usize) -> Self {
        Self { remaining, piece, read: Vec::new().into_iter(), head: None }
    }

    /// Moves to the next item.
    fn next(&mut self, file: &Spilled) -> io::Result<()> {
        self.head = self.read.next();
        if self.head.is_none() && !self.remaining.is_empty() {
            let end = self.remaining.end.min(self.remaining.start + self.piece);
            self.read = items(file, self.remaining.start..end)?.into_iter();
            self.remaining.start = end;
            self.head = self.read.next();
        }
        Ok(())
    }
}

/// Reads items of a file into memory.
fn items<T: Plain>(file: &Spilled, places: Range<usize>) -> io::Result<Vec<T>> {
    let mut items = Vec::with_capacity(places.len());
    let mut start = places.start;
    while start < places.end {
        let end = places.end.min(start + CHUNK / T::BYTES);
        let bytes = file.read(start * T::BYTES, (end - start) * T::BYTES)?;
        items.extend(bytes.chunks_exact(T::BYTES).filter_map(T::take));
        start = end;
    }
    Ok(items)
}

/// Returns a new file of these items.
fn written<T: Plain>(items: impl Iterator<Item = io::Result<T>>) -> io::Result<Spilled> {
    Spilled::filled(|file| write(file, items))
}

fn write<T: Plain>(
    file: &mut dyn Write,
    items: impl Iterator<Item = io::Result<T>>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(CHUNK, file);
    let mut bytes = Vec::with_capacity(T::BYTES);
    for item in items {
        bytes.clear();
        item?.put(&mut bytes);
        file.write_all(&bytes)?;
    }
    file.flush()
}

fn missing() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Pair {
        key: u64,
        number: u32,
    }

    plain!(Pair { key: u64, number: u32 });

    proptest! {
        #[test]
        fn column_of_any_limit_holds_what_a_vector_holds(
            limit in 0..2000_usize,
            steps in prop::collection::vec((0..4u8, 0..150usize, any::<u64>()), 1..25),
        ) {
            let (mut column, mut plain) = (Column::within(limit), Vec::new());
            for (step, count, seed) in steps {
                match step {
                    0 | 1 => for n in 0..count as u64 {
                        let key = seed.wrapping_mul(n).wrapping_add(n) % 50;
                        let item = Pair { key, number: plain.len() as u32 };
                        column.push(item);
                        plain.push(item);
                    },
                    2 => {
                        column.sort_by_key(|item| (item.key, item.number));
                        plain.sort_by_key(|item| (item.key, item.number));
                        let (of_column, of_vector) =
                            (column.partition_point(0..plain.len(), |item| item.key < 25), plain.partition_point(|item| item.key < 25));
                        prop_assert_eq!(of_column, of_vector);
                    }
                    _ => for n in 0..count {
                        let place = (seed as usize).wrapping_add(n * 7) % (plain.len() + 1);
                        column.change(place, |item| item.key ^= 1);
                        plain.iter_mut().skip(place).take(1).for_each(|item: &mut Pair| item.key ^= 1);
                    },
                }
                prop_assert_eq!(column.len(), plain.len());
                prop_assert_eq!(column.iter().collect::<Vec<_>>(), plain.clone());
                prop_assert_eq!(column.iter().next_back(), plain.last().copied());
                prop_assert_eq!(column.get(plain.len()), None);
                prop_assert!(column.held.len() <= column.limit);
            }
        }
    }
}
