//! Sessions that repeat answers of others: forks, copies, and sessions that another agent continues.

use super::summary::recount;
use super::survey::Listed;
use crate::record::{AnswerPart, Record};
use crate::usage::{Spent, Tally, Usage};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Counts the tokens and cost of an answer that several sessions have only in that session of them
/// that was continued first, of those that have counts for it: a copy in another format has none.
pub fn count_once(sessions: &mut [Listed]) {
    for mut places in families(sessions) {
        places.sort_by_key(|place| {
            sessions.get(*place).map(|session| (session.updated, session.path.clone()))
        });
        let mut earlier: Vec<Vec<Answer>> = Vec::new();
        for place in places {
            let Some(session) = sessions.get_mut(place) else { continue };
            let Some((spent, answers)) = counted(session, &earlier) else { continue };
            session.summary.spent = spent;
            earlier.push(answers);
        }
    }
}

/// Returns the places of sessions that begin alike or may have an answer in common.
fn families(sessions: &[Listed]) -> Vec<Vec<usize>> {
    let mut heads: Vec<usize> = (0..sessions.len()).collect();
    let mut known: HashMap<(bool, u64), usize> = HashMap::new();
    for (place, Listed { summary, .. }) in sessions.iter().enumerate() {
        let answers = summary.answers.iter().map(|name| (true, u64::from(*name)));
        for mark in summary.beginning.map(|mark| (false, mark)).into_iter().chain(answers) {
            let other = *known.entry(mark).or_insert(place);
            let (a, b) = (head(&heads, place), head(&heads, other));
            if let Some(own) = heads.get_mut(a.max(b)) {
                *own = a.min(b);
            }
        }
    }
    let mut families: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in 0..sessions.len() {
        families.entry(head(&heads, place)).or_default().push(place);
    }
    families.into_values().filter(|places| places.len() > 1).collect()
}

/// Returns the first session of a family.
fn head(heads: &[usize], place: usize) -> usize {
    let next = |place: &usize| heads.get(*place).copied().filter(|head| head != place);
    std::iter::successors(Some(place), next).last().unwrap_or(place)
}

/// A part of an answer, and whether this session or an earlier one has counts for it.
type Answer = (AnswerPart, bool);

/// Counts a session without what it has from earlier ones. Returns the counts, and all its answers.
fn counted(session: &Listed, earlier: &[Vec<Answer>]) -> Option<(Vec<Spent>, Vec<Answer>)> {
    let (mut answers, mut open) = (Vec::new(), 0);
    let mut copied = Copied::of(earlier);
    let look = |record: &Record, tally: &mut Tally| {
        settle(&mut answers, &mut open, tally);
        let own = AnswerPart::of(record);
        let is_copy = copied.has(&own);
        tally.leave_out(is_copy);
        answers.extend(own.into_iter().map(|part| (part, is_copy)));
    };
    let tally = recount(&session.job, look).ok()??;
    settle(&mut answers, &mut open, &tally);
    Some((tally.spent(), answers))
}

/// Marks the answers since the last counts, if the last record had counts for them.
fn settle(answers: &mut [Answer], open: &mut usize, tally: &Tally) {
    if tally.last() != Usage::default() {
        answers.iter_mut().skip(*open).for_each(|(_, has_counts)| *has_counts = true);
        *open = answers.len();
    }
}

/// Follows the answers of a session along those of earlier sessions. A copy has them in the same
/// order, perhaps without some of them, up to where it was continued. An answer with the identifier
/// of a response is a copy at any place.
struct Copied<'l> {
    earlier: Vec<&'l [Answer]>,
    /// Responses of answers with counts.
    names: HashSet<u64>,
    is_copy: bool,
}

impl<'l> Copied<'l> {
    fn of(earlier: &'l [Vec<Answer>]) -> Self {
        let counted = earlier.iter().flatten().filter(|(_, has_counts)| *has_counts);
        let names = counted.filter_map(|(part, _)| part.name()).collect();
        Self { earlier: earlier.iter().map(Vec::as_slice).collect(), names, is_copy: false }
    }

    /// Whether the next record belongs to an answer that an earlier session has, with its counts.
    fn has(&mut self, answer: &[AnswerPart]) -> bool {
        let Some(first) = answer.first() else { return self.is_copy };
        let mut has_counts = false;
        for said in answer.iter().filter(|said| said.words.is_some()) {
            self.earlier.retain_mut(|list| {
                let place = list.iter().position(|(own, _)| own.is_same(said));
                let found = place.and_then(|place| list.split_at_checked(place + 1));
                found.is_some_and(|(passed, rest)| {
                    has_counts |= passed.last().is_some_and(|(_, has_counts)| *has_counts);
                    *list = rest;
                    true
                })
            });
        }
        let is_named =
            answer.iter().filter_map(AnswerPart::name).any(|name| self.names.contains(&name));
        let follows = match first.words {
            Some(_) => has_counts,
            // A thought belongs to the answer before, unless its response has a name.
            None => first.name().is_none() && self.is_copy,
        };
        self.is_copy = is_named || follows;
        self.is_copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: u64) -> AnswerPart {
        AnswerPart { words: Some(words), ..AnswerPart::default() }
    }

    #[test]
    fn copy_ends_at_the_first_answer_of_its_own() {
        let list = |list: &[u64]| list.iter().map(|said| (words(*said), true)).collect();
        let earlier = [list(&[1, 2, 3, 4, 5]), list(&[1, 2, 9])];
        let mut copied = Copied::of(&earlier);
        let answers = [&[1][..], &[], &[3, 4], &[7], &[5]];
        let followed = answers.map(|answer| {
            let answer: Vec<_> = answer.iter().copied().map(words).collect();
            copied.has(&answer)
        });
        assert_eq!(followed, [true, true, true, false, false]);
    }

    #[test]
    fn answer_without_counts_is_counted_in_a_later_session() {
        let earlier = [vec![(words(1), false), (words(2), true)]];
        let mut copied = Copied::of(&earlier);
        assert_eq!([1, 2, 3].map(|said| copied.has(&[words(said)])), [false, true, false]);
    }

    #[test]
    fn equal_words_at_another_time_or_in_another_response_are_another_answer() {
        let one = AnswerPart { words: Some(1), response: Some(7), time: Some(100) };
        let has = |said: AnswerPart| Copied::of(&[vec![(one, true)]]).has(&[said]);
        assert!(has(one));
        assert!(has(AnswerPart { response: None, ..one }), "another format has no identifiers");
        assert!(has(AnswerPart { time: None, ..one }), "nor times");
        let thought = AnswerPart { words: None, ..one };
        let thoughts = [vec![(thought, true)]];
        assert!(Copied::of(&thoughts).has(&[thought]), "a thought of the same response");
        assert!(!has(AnswerPart { response: Some(8), ..one }));
        assert!(
            !has(AnswerPart { time: Some(101), ..one }),
            "a gateway has one identifier for all"
        );
    }
}
