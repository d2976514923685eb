//! Sessions that repeat answers of others: forks, copies, and sessions that another agent continues.

use super::summary::recount;
use super::survey::Listed;
use crate::record::{Record, spoken};
use crate::usage::{Spent, Tally};
use std::collections::HashMap;

/// Counts the tokens and cost of an answer that several sessions have only in that session of them
/// that was continued first.
pub fn count_once(sessions: &mut [Listed]) {
    let mut families: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, session) in sessions.iter().enumerate() {
        if let Some(family) = session.summary.beginning {
            families.entry(family).or_default().push(place);
        }
    }
    for mut places in families.into_values().filter(|places| places.len() > 1) {
        places.sort_by_key(|place| {
            sessions.get(*place).map(|session| (session.updated, session.path.clone()))
        });
        let mut earlier: Vec<Vec<u64>> = Vec::new();
        for place in places {
            let Some(session) = sessions.get_mut(place) else { continue };
            let Some((spent, answers)) = counted(session, &earlier) else { continue };
            session.summary.spent = spent;
            earlier.push(answers);
        }
    }
}

/// Counts a session without what it has from earlier ones. Returns the counts, and hashes of all its
/// answers.
fn counted(session: &Listed, earlier: &[Vec<u64>]) -> Option<(Vec<Spent>, Vec<u64>)> {
    let mut answers = Vec::new();
    let mut copied = Copied::of(earlier);
    let look = |record: &Record, tally: &mut Tally| {
        let own = spoken(record);
        tally.leave_out(copied.has(&own));
        answers.extend(own);
    };
    let tally = recount(&session.job, look).ok()??;
    Some((tally.spent(), answers))
}

/// Follows the answers of a session along those of earlier sessions. A copy has them in the same
/// order, perhaps without some of them, up to where it was continued.
struct Copied<'l> {
    earlier: Vec<&'l [u64]>,
    is_copy: bool,
}

impl<'l> Copied<'l> {
    fn of(earlier: &'l [Vec<u64>]) -> Self {
        Self { earlier: earlier.iter().map(Vec::as_slice).collect(), is_copy: false }
    }

    /// Whether the next record belongs to an answer of an earlier session.
    fn has(&mut self, answer: &[u64]) -> bool {
        for message in answer {
            self.earlier.retain_mut(|list| {
                let place = list.iter().position(|own| own == message);
                let rest = place.and_then(|place| list.get(place + 1..));
                rest.is_some_and(|rest| {
                    *list = rest;
                    true
                })
            });
            self.is_copy = !self.earlier.is_empty();
        }
        self.is_copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_ends_at_the_first_answer_of_its_own() {
        let earlier = [vec![1, 2, 3, 4, 5], vec![1, 2, 9]];
        let mut copied = Copied::of(&earlier);
        let followed = [&[1][..], &[], &[3, 4], &[7], &[5]].map(|answer| copied.has(answer));
        assert_eq!(followed, [true, true, true, false, false]);
    }
}
