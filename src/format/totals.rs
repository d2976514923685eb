//! Running totals of tokens and cost.

use std::collections::HashSet;

/// Numbers of tokens, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Tokens sent, without those of the cache.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Cost in US dollars.
    pub cost: f64,
}

/// Tokens and cost of a session up to a record, as the record notes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// The model, if each has totals of its own.
    pub model: Option<String>,
    /// Whether the record belongs to one call of the model. Behind the first such record, the
    /// others only repeat what these count.
    pub is_of_call: bool,
    /// The sum of all calls.
    pub all: Option<Counts>,
    /// The last call.
    pub last: Option<Counts>,
}

/// Follows the totals of a session, or those of one model.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The totals before; `None` before the first ones.
    all: Option<Counts>,
    /// Totals that were noted.
    seen: HashSet<[u64; 5]>,
    /// The last call that was noted without a sum, if no answer followed.
    alone: Option<Counts>,
    has_calls: bool,
}

impl Running {
    /// Notes that the model answers.
    pub fn answered(&mut self) {
        self.alone = None;
    }

    /// Returns what further totals add to those before.
    ///
    /// Totals that were noted before add nothing. Totals that are others with the last call added
    /// add this call, whichever totals stood between; totals that are this call alone begin again.
    /// Other totals add what they exceed the ones before by. If they do not, or are the first ones,
    /// they are those of another session or of an earlier state, and add the last call.
    pub fn growth(&mut self, totals: &Totals) -> Counts {
        if self.has_calls && !totals.is_of_call {
            return Counts::default();
        }
        self.has_calls |= totals.is_of_call;
        let Some(now) = totals.all else {
            let repeated = self.alone == totals.last;
            self.alone = totals.last;
            return totals.last.filter(|_| !repeated).unwrap_or_default();
        };
        let was = self.all.replace(now);
        if !self.seen.insert(now.key()) {
            return Counts::default();
        }
        let base = totals.last.map(|last| now.with(last, |now, last| now - last));
        let is_based = |base: Counts| base == Counts::default() || self.seen.contains(&base.key());
        match (was, totals.last) {
            (_, Some(last)) if base.is_some_and(is_based) => last,
            (Some(was), _) if was.is_within(now) => now.with(was, |now, was| now - was),
            (_, Some(last)) => now.with(last, f64::min),
            (_, None) => now,
        }
    }
}

impl Counts {
    /// Combines two counts, number by number.
    #[must_use]
    pub fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            input: of(self.input, other.input),
            output: of(self.output, other.output),
            cache_read: of(self.cache_read, other.cache_read),
            cache_write: of(self.cache_write, other.cache_write),
            cost: of(self.cost, other.cost),
        }
    }

    fn numbers(self) -> [f64; 5] {
        [self.input, self.output, self.cache_read, self.cache_write, self.cost]
    }

    fn key(self) -> [u64; 5] {
        // Zero has two signs.
        self.numbers().map(|number| (number + 0.0).to_bits())
    }

    fn is_within(self, other: Self) -> bool {
        self.numbers().iter().zip(other.numbers()).all(|(own, other)| *own <= other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(totals: &[(f64, Option<f64>)]) -> f64 {
        let mut running = Running::default();
        let counts = |output| Counts { output, ..Counts::default() };
        let noted = totals.iter().map(|(all, last)| Totals {
            all: Some(counts(*all)),
            last: last.map(counts),
            ..Totals::default()
        });
        noted.map(|totals| running.growth(&totals).output).sum()
    }

    #[test]
    fn first_totals_that_no_call_made_are_inherited() {
        assert_eq!(sum(&[(900.0, Some(0.0)), (903.0, Some(3.0))]), 3.0);
        assert_eq!(sum(&[(900.0, Some(400.0)), (903.0, Some(3.0))]), 403.0);
    }

    #[test]
    fn a_lower_total_is_a_beginning_only_if_it_is_the_last_call() {
        // Another run of the program counts from zero.
        assert_eq!(sum(&[(50.0, Some(50.0)), (90.0, Some(40.0)), (7.0, Some(7.0))]), 97.0);
        // A full context sets the numbers to zero, and the counts of before come back.
        assert_eq!(sum(&[(90.0, Some(90.0)), (0.0, Some(0.0)), (95.0, Some(5.0))]), 95.0);
        // Two runs write one file by turns.
        let turns = [(90.0, Some(90.0)), (7.0, Some(7.0)), (90.0, Some(90.0)), (7.0, Some(7.0))];
        assert_eq!(sum(&turns), 97.0);
        // A run goes on from an earlier state.
        assert_eq!(sum(&[(50.0, Some(50.0)), (90.0, Some(40.0)), (60.0, Some(10.0))]), 100.0);
        // No call is named.
        assert_eq!(sum(&[(50.0, None), (90.0, None), (7.0, None)]), 97.0);
    }

    #[test]
    fn calls_that_were_not_noted_are_in_the_growth() {
        assert_eq!(sum(&[(10.0, Some(10.0)), (35.0, Some(5.0))]), 35.0);
    }
}
