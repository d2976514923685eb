//! The order in which outputs take places whose names depend on what is written.
//!
//! If two outputs want the same name, the one whose input comes first gets it, whichever is
//! finished first. So each output waits with its name until those before it have theirs. No work
//! waits for that: an output that waits passes on its permission to work, and another worker
//! continues.

use crate::threads::ThreadBudget;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of outputs that wait for their names at a time, each with its contents in
/// temporary files.
pub const WAITING: usize = 32;

/// The turns of a run.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    changed: Condvar,
    thread_budget: ThreadBudget,
}

#[derive(Debug)]
struct State {
    /// The number of the first input that may still take a name.
    next: usize,
    /// The inputs after `next` that take no more names.
    passed: BTreeSet<usize>,
    /// Number of further inputs that may be worked on.
    free: usize,
    /// The inputs that wait for the permission to work. The first of them gets it before all
    /// others, so that few outputs wait for names.
    wanting: BTreeSet<usize>,
}

/// Permission to work on an input. When it is dropped, the input's turn ends.
#[derive(Debug)]
pub struct Turn<'t> {
    turns: &'t Turns,
    place: usize,
}

impl Turns {
    /// Creates the turns for `workers` inputs at a time. The threads of waiting workers are
    /// returned to the budget `thread_budget`.
    pub fn new(workers: usize, thread_budget: ThreadBudget) -> Self {
        let state =
            State { next: 0, passed: BTreeSet::new(), free: workers, wanting: BTreeSet::new() };
        Self { state: Mutex::new(state), changed: Condvar::new(), thread_budget }
    }

    /// Waits for the permission to work on the input number `place`.
    pub fn begin(&self, place: usize) -> Turn<'_> {
        self.work(place, self.state());
        Turn { turns: self, place }
    }

    /// Waits until no input before this one takes any more names.
    pub fn wait(&self, place: usize) {
        let mut state = self.state();
        if state.next >= place {
            return;
        }
        let _idle = self.thread_budget.rest();
        state.free += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.next < place);
        self.work(place, state.unwrap_or_else(PoisonError::into_inner));
    }

    /// Records that the input number `place` takes no more names.
    pub fn pass(&self, place: usize) {
        let mut state = self.state();
        if state.next <= place {
            state.passed.insert(place);
        }
        while state.passed.first() == Some(&state.next) {
            state.passed.pop_first();
            state.next += 1;
        }
        self.changed.notify_all();
    }

    fn work(&self, place: usize, mut state: MutexGuard<'_, State>) {
        state.wanting.insert(place);
        let waits = |state: &mut State| state.free == 0 || state.wanting.first() != Some(&place);
        let state = self.changed.wait_while(state, waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.free -= 1;
        state.wanting.remove(&place);
        // There may be a permission for the next input, too.
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.state().free += 1;
        self.turns.pass(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn names_are_taken_in_order_and_only_so_many_work() {
        const WORKERS: usize = 2;
        let turns = Turns::new(WORKERS, ThreadBudget::new(WORKERS));
        let (order, working, ahead) =
            (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicUsize::new(0));
        let (turns, order, working, ahead) = (&turns, &order, &working, &ahead);
        std::thread::scope(|scope| {
            for place in 0..20 {
                scope.spawn(move || {
                    let _turn = turns.begin(place);
                    assert!(working.fetch_add(1, Ordering::SeqCst) < WORKERS);
                    // The first one is late, and others go on meanwhile.
                    std::thread::sleep(Duration::from_millis(if place == 0 { 200 } else { 1 }));
                    working.fetch_sub(1, Ordering::SeqCst);
                    if place == 0 {
                        assert!(ahead.load(Ordering::SeqCst) > WORKERS);
                    }
                    ahead.fetch_add(1, Ordering::SeqCst);
                    turns.wait(place);
                    order.lock().expect("whole").push(place);
                    turns.pass(place);
                });
            }
        });
        assert!(order.lock().expect("whole").is_sorted());
    }
}
