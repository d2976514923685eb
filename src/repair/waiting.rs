//! Calls that wait for their results.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Items that wait, in their order, until they are taken by name. Results mostly come in the order
/// of their calls, but need not. A search through all waiting items for each of them would take the
/// square of the time.
#[derive(Debug)]
pub struct Waiting<K, T> {
    list: Vec<Option<T>>,
    places: HashMap<K, VecDeque<usize>>,
}

impl<K, T> Default for Waiting<K, T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }
}

impl<K: Eq + Hash, T> Waiting<K, T> {
    /// Adds an item behind the rest.
    pub fn push(&mut self, name: K, what: T) {
        self.places.entry(name).or_default().push_back(self.list.len());
        self.list.push(Some(what));
    }

    /// Whether an item of this name waits.
    pub fn has(&self, name: &K) -> bool {
        self.places.contains_key(name)
    }

    /// Whether no item waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes the first item of this name.
    pub fn take(&mut self, name: &K) -> Option<T> {
        let places = self.places.get_mut(name)?;
        let place = places.pop_front();
        if places.is_empty() {
            self.places.remove(name);
        }
        self.list.get_mut(place?)?.take()
    }

    /// Returns all items that still wait, in their order.
    pub fn rest(self) -> impl Iterator<Item = T> {
        self.list.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_taken_and_the_rest_keeps_its_order() {
        let mut waiting = Waiting::default();
        [("a", 1), ("b", 2), ("a", 3), ("c", 4)].into_iter().for_each(|(n, w)| waiting.push(n, w));
        assert_eq!([waiting.take(&"a"), waiting.take(&"d")], [Some(1), None]);
        assert!(waiting.has(&"a") && !waiting.has(&"d") && !waiting.is_empty());
        assert_eq!(waiting.take(&"c"), Some(4));
        assert_eq!(waiting.rest().collect::<Vec<_>>(), [2, 3]);
    }
}
