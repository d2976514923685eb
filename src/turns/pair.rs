//! Turns of two sessions, paired by their questions.

use super::Turn;
use crate::alignment::{Counts, Hunk, hunks};

/// Two turns with the same question, or one that only one session has.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'t> {
    /// The turn of the first session.
    pub a: Option<&'t Turn>,
    /// The turn of the second session.
    pub b: Option<&'t Turn>,
}

/// Counts pairs: those with the same tools and the same answer are the same.
pub fn counts(pairs: &[Pair<'_>]) -> Counts {
    let mut counts = Counts::default();
    for pair in pairs {
        counts.a += u64::from(pair.a.is_some());
        counts.b += u64::from(pair.b.is_some());
        *match (pair.a, pair.b) {
            (_, None) => &mut counts.only_a,
            (None, _) => &mut counts.only_b,
            _ if pair.is_same() => &mut counts.same,
            _ => &mut counts.changed,
        } += 1;
    }
    counts
}

impl Pair<'_> {
    /// Whether other tools were called, or in another order.
    pub fn tools_differ(&self) -> bool {
        self.differ(|a, b| a.tools != b.tools)
    }

    /// Whether the answers differ.
    pub fn results_differ(&self) -> bool {
        self.differ(|a, b| !a.is_same_result(b))
    }

    /// Whether both sessions have the turn, with the same tools and the same answer.
    pub fn is_same(&self) -> bool {
        self.a.is_some() == self.b.is_some() && !self.tools_differ() && !self.results_differ()
    }

    fn differ(&self, differ: impl Fn(&Turn, &Turn) -> bool) -> bool {
        self.a.zip(self.b).is_some_and(|(a, b)| differ(a, b))
    }
}

/// Pairs the turns of two sessions by their questions, in order.
pub fn paired<'t>(a: &'t [Turn], b: &'t [Turn]) -> Vec<Pair<'t>> {
    let questions = |turns: &[Turn]| turns.iter().map(|turn| turn.whole.0).collect::<Vec<_>>();
    let mut pairs = Vec::with_capacity(a.len().max(b.len()));
    let (mut rest_a, mut rest_b) = (a.iter(), b.iter());
    let mut at = 0;
    for Hunk { a: only_a, b: only_b } in hunks(&questions(a), &questions(b)) {
        let same = rest_a.by_ref().zip(rest_b.by_ref()).take((only_a.start - at) as usize);
        pairs.extend(same.map(|(a, b)| Pair { a: Some(a), b: Some(b) }));
        at = only_a.end;
        pairs.extend(rest_a.by_ref().take(only_a.len()).map(|a| Pair { a: Some(a), b: None }));
        pairs.extend(rest_b.by_ref().take(only_b.len()).map(|b| Pair { a: None, b: Some(b) }));
    }
    pairs.extend(rest_a.zip(rest_b).map(|(a, b)| Pair { a: Some(a), b: Some(b) }));
    pairs
}
