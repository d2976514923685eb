//! The order of a path, where the file has another one.

use std::collections::BTreeMap;

/// Gives what comes in a file's order in that of a path. What comes too early waits in memory for
/// what stands before it; where parents stand before their children, nothing does.
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
    /// Takes what stands at this position of the path.
    pub fn add(&mut self, position: u32, item: T) {
        self.waiting.insert(position, item);
    }

    /// What comes next at the end, when nothing more is added.
    pub fn rest(&mut self) -> Option<(u32, T)> {
        self.waiting.pop_first()
    }
}

/// What comes next and its position, as far as it was added.
impl<T> Iterator for InOrder<T> {
    type Item = (u32, T);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.waiting.first_entry().filter(|first| *first.key() <= self.next)?;
        let found = first.remove_entry();
        self.next = found.0 + 1;
        Some(found)
    }
}
