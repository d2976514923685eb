//! Work that any thread may do, and that is taken in the order in which it came.

use std::collections::VecDeque;

/// Pieces of work and their results, in the order of the work.
///
/// ```
/// use copyist::threads::InOrder;
/// let mut all = InOrder::default();
/// all.push(1);
/// all.push(2);
/// let (first, second) = (all.claim().unwrap(), all.claim().unwrap());
/// all.finish(second.0, "two");
/// assert_eq!(all.next_done(), None);
/// all.finish(first.0, "one");
/// assert_eq!([all.next_done(), all.next_done()], [Some("one"), Some("two")]);
/// ```
#[derive(Debug)]
pub struct InOrder<W, D> {
    pieces: VecDeque<Stage<W, D>>,
    /// The number of the first piece.
    first: usize,
}

#[derive(Debug)]
enum Stage<W, D> {
    Waiting(W),
    Taken,
    Done(D),
}

impl<W, D> Default for InOrder<W, D> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), first: 0 }
    }
}

impl<W, D> InOrder<W, D> {
    /// Adds a piece of work behind the others.
    pub fn push(&mut self, work: W) {
        self.pieces.push_back(Stage::Waiting(work));
    }

    /// Returns how many pieces there are, done or not.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is no piece.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the oldest piece of work that no thread has begun, and its number.
    pub fn claim(&mut self) -> Option<(usize, W)> {
        let waiting = |stage: &Stage<W, D>| matches!(stage, Stage::Waiting(_));
        let place = self.pieces.iter().position(waiting)?;
        match std::mem::replace(self.pieces.get_mut(place)?, Stage::Taken) {
            Stage::Waiting(work) => Some((self.first + place, work)),
            Stage::Taken | Stage::Done(_) => None,
        }
    }

    /// Gives back work that was [claimed](Self::claim), for another thread.
    pub fn give_back(&mut self, number: usize, work: W) {
        self.put(number, Stage::Waiting(work));
    }

    /// Puts a result in the place of the work that was [claimed](Self::claim).
    pub fn finish(&mut self, number: usize, done: D) {
        self.put(number, Stage::Done(done));
    }

    fn put(&mut self, number: usize, stage: Stage<W, D>) {
        if let Some(piece) = self.pieces.get_mut(number - self.first) {
            *piece = stage;
        }
    }

    /// Takes the first result; `None` if the first piece is not done, or there is none.
    pub fn next_done(&mut self) -> Option<D> {
        if !matches!(self.pieces.front()?, Stage::Done(_)) {
            return None;
        }
        self.first += 1;
        match self.pieces.pop_front()? {
            Stage::Done(done) => Some(done),
            Stage::Waiting(_) | Stage::Taken => None,
        }
    }

    /// Removes all pieces, and keeps the memory.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.first = 0;
    }
}
