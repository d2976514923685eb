//! Order of a path, where the file has another order.

use std::collections::BTreeMap;

/// Returns items that come in a file's order in the order of a path. Items that come too early wait
/// in memory for the items before them; where parents come before their children, none waits.
///
/// ```
/// use copyist::tree::InOrder;
/// let mut order = InOrder::default();
/// order.add(1, "child");
/// assert_eq!(order.next(), None);
/// order.add(0, "parent");
/// assert_eq!(order.next(), Some((0, "parent")));
/// assert_eq!(order.next(), Some((1, "child")));
/// ```
#[derive(Debug)]
pub struct InOrder<T> {
    waiting: BTreeMap<u32, T>,
    next: u32,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), next: 0 }
    }
}

impl<T> InOrder<T> {
    /// Takes the item at this position of the path.
    pub fn add(&mut self, position: u32, item: T) {
        self.waiting.insert(position, item);
    }

    /// Returns the next item at the end, when no more are added.
    pub fn rest(&mut self) -> Option<(u32, T)> {
        self.waiting.pop_first()
    }
}

/// Iterates over the items with their positions, as far as all before them were added.
impl<T> Iterator for InOrder<T> {
    type Item = (u32, T);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.waiting.first_entry().filter(|first| *first.key() <= self.next)?;
        let found = first.remove_entry();
        self.next = found.0 + 1;
        Some(found)
    }
}
