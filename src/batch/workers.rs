//! Parallel work on many inputs, with results in the order of the inputs.

use crate::store::{WAITING, most_workers};
use rayon::iter::{ParallelBridge, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Maximum number of workers; more would only wait for each other.
const MOST: usize = 1024;

/// Returns the number of threads for the number that the user requested; 0 means one for each
/// processor.
pub fn threads(wanted: usize) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = if wanted > 0 { wanted } else { processors() };
    wanted.min(MOST).min(most_workers())
}

/// Returns the number of threads if outputs get their names in order: some wait for those before
/// them.
pub fn threads_in_turn(threads: usize) -> usize {
    (threads + WAITING).min(most_workers())
}

/// Threads that work in parallel.
#[derive(Debug)]
pub struct Workers(ThreadPool);

impl Workers {
    /// Starts `threads` workers. The calling thread is one of them, because the system needs time
    /// to start another thread. A calling thread that is a worker already only waits for the new
    /// ones.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let builder = || ThreadPoolBuilder::new().num_threads(threads);
        builder().use_current_thread().build().or_else(|_| builder().build()).map(Self)
    }

    /// Returns the number of workers.
    pub fn count(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Applies `work` to every item, which is taken when it is its turn. Passes each result to
    /// `each` in the order of the items, as soon as the results before it are complete.
    ///
    /// A result may be returned later than the work on its item ends: with the result of another
    /// item, or from `rest`, which is called for each worker when there is no more work.
    pub fn each<J: Send, T: Send>(
        &self,
        items: impl Iterator<Item = J> + Send,
        work: impl Fn(usize, J) -> Vec<(usize, T)> + Sync,
        rest: impl Fn() -> Vec<(usize, T)> + Sync,
        each: impl FnMut(T) + Send,
    ) {
        let line = Mutex::new(Line { next: 0, waiting: VecDeque::new(), each });
        let arrive = |results: Vec<_>| {
            if !results.is_empty() {
                line.lock().unwrap_or_else(PoisonError::into_inner).arrive(results);
            }
        };
        self.0.install(|| {
            items.enumerate().par_bridge().for_each(|(place, item)| arrive(work(place, item)));
        });
        self.0.broadcast(|_| arrive(rest()));
    }
}

/// Results that wait for those before them.
struct Line<T, F> {
    next: usize,
    /// The results from number `next` on, as far as there are any.
    waiting: VecDeque<Option<T>>,
    each: F,
}

impl<T, F: FnMut(T)> Line<T, F> {
    fn arrive(&mut self, results: Vec<(usize, T)>) {
        for (place, result) in results {
            let place = place - self.next;
            if self.waiting.len() <= place {
                self.waiting.resize_with(place + 1, || None);
            }
            if let Some(waiting) = self.waiting.get_mut(place) {
                *waiting = Some(result);
            }
        }
        while let Some(result) = self.waiting.front_mut().and_then(Option::take) {
            self.waiting.pop_front();
            self.next += 1;
            (self.each)(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let items = 0..200_u32;
        let mut seen = Vec::new();
        let late = Mutex::new(Vec::new());
        let workers = Workers::new(4).expect("threads");
        workers.each(
            items.clone(),
            |place, n: u32| {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(n) * 7919 % 300));
                let mut late = late.lock().expect("whole");
                late.push((place, n));
                if n.is_multiple_of(7) { std::mem::take(&mut *late) } else { Vec::new() }
            },
            || std::mem::take(&mut *late.lock().expect("whole")),
            |n| seen.push(n),
        );
        assert_eq!(seen, items.collect::<Vec<_>>());
    }
}
