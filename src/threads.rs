//! Budget of the threads that a run may use, and of those that have no input of their own; work that
//! they do in order.

mod in_order;

pub use in_order::InOrder;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Counts threads that are at work. Work on a large input borrows the idle ones.
///
/// ```
/// use copyist::threads::ThreadBudget;
/// let hands = ThreadBudget::new(2);
/// let own = hands.work();
/// let other = hands.borrow();
/// assert!(other.is_some() && hands.borrow().is_none());
/// drop(other);
/// assert!(hands.borrow().is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ThreadBudget(Arc<AtomicIsize>);

/// A thread at work, as long as this value is held.
#[derive(Debug)]
pub struct Busy(ThreadBudget);

/// A thread that waits, as long as this value is held.
#[derive(Debug)]
pub struct Resting(ThreadBudget);

impl ThreadBudget {
    /// Makes a budget of this number of threads, none of them at work. The default budget has none
    /// to borrow.
    pub fn new(threads: usize) -> Self {
        Self(Arc::new(AtomicIsize::new(threads.try_into().unwrap_or(isize::MAX))))
    }

    /// Counts the calling thread, which has an input to work on, whatever the number of other
    /// threads at work.
    pub fn work(&self) -> Busy {
        self.0.fetch_sub(1, Ordering::Relaxed);
        Busy(self.clone())
    }

    /// Borrows an idle thread, if there is one.
    pub fn borrow(&self) -> Option<Busy> {
        let free = |idle: isize| (idle > 0).then(|| idle - 1);
        let borrowed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free);
        borrowed.is_ok().then(|| Busy(self.clone()))
    }

    /// Counts the calling thread, which is at work, as idle while it waits for others.
    pub fn rest(&self) -> Resting {
        self.0.fetch_add(1, Ordering::Relaxed);
        Resting(self.clone())
    }

    /// Whether a borrowed thread must be returned: more are at work than there are.
    pub fn are_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) < 0
    }
}

impl Drop for Resting {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}
