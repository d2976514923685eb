//! Work on many inputs side by side, with results in the order of the inputs.

use rayon::iter::{ParallelBridge, ParallelIterator};
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

/// Does `work` on every item, taken when it is its turn, with `threads` workers and hands each result to `each` in the order
/// of the items, as soon as those before it are there.
///
/// A result may come later than its item's work ends: with that of another item, or from `rest`,
/// which is asked once when there is no more work.
///
/// # Errors
/// If the system gives no threads.
pub fn each<J: Send, T: Send>(
    items: impl ExactSizeIterator<Item = J> + Send,
    threads: usize,
    work: impl Fn(usize, J) -> Vec<(usize, T)> + Sync,
    rest: impl FnOnce() -> Vec<(usize, T)>,
    each: impl FnMut(T) + Send,
) -> Result<(), rayon::ThreadPoolBuildError> {
    // No more workers than there is work, whatever the person asked for.
    let threads = threads.min(items.len()).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let line = Mutex::new(Line { next: 0, waiting: VecDeque::new(), each });
    pool.install(|| {
        items.enumerate().par_bridge().for_each(|(place, item)| {
            let results = work(place, item);
            if !results.is_empty() {
                line.lock().unwrap_or_else(PoisonError::into_inner).arrive(results);
            }
        });
    });
    line.into_inner().unwrap_or_else(PoisonError::into_inner).arrive(rest());
    Ok(())
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
        each(
            items.clone(),
            4,
            |place, n: u32| {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(n) * 7919 % 300));
                let mut late = late.lock().expect("whole");
                late.push((place, n));
                if n.is_multiple_of(7) { std::mem::take(&mut *late) } else { Vec::new() }
            },
            || std::mem::take(&mut *late.lock().expect("whole")),
            |n| seen.push(n),
        )
        .expect("threads");
        assert_eq!(seen, items.collect::<Vec<_>>());
    }
}
