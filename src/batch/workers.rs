//! Work on many inputs side by side, with results in the order of the inputs.

use rayon::iter::{ParallelBridge, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many workers there are at most; more only wait for each other.
const MOST: usize = 1024;

/// How many threads a person wants who asks for so many; 0 means one for each processor.
#[must_use]
pub fn threads(asked: usize) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = if asked > 0 { asked } else { processors() };
    wanted.min(MOST)
}

/// Threads that work side by side.
#[derive(Debug)]
pub struct Workers(ThreadPool);

impl Workers {
    /// So many, of which the calling thread is one: the system takes its time to find a processor
    /// for another. One that is a worker already only waits for these.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let builder = || ThreadPoolBuilder::new().num_threads(threads);
        builder().use_current_thread().build().or_else(|_| builder().build()).map(Self)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Does `work` on every item, taken when it is its turn, and hands each result to `each` in the
    /// order of the items, as soon as those before it are there.
    ///
    /// A result may come later than its item's work ends: with that of another item, or from `rest`,
    /// which each worker is asked for when there is no more work.
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
    /// From the next one on, as far as any came.
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
