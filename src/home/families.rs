//! Sessions that repeat answers of others: forks, copies, and sessions that another agent continues.

use super::summary::recount;
use super::survey::Listed;
use crate::record::{AnswerPart, Record};
use crate::usage::{Spent, Tally};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Counts the tokens and cost of an answer that several sessions have only in that session of them
/// that was continued first.
pub fn count_once(sessions: &mut [Listed]) {
    for mut places in families(sessions) {
        places.sort_by_key(|place| {
            sessions.get(*place).map(|session| (session.updated, session.path.clone()))
        });
        let mut earlier: Vec<Vec<AnswerPart>> = Vec::new();
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

/// Counts a session without what it has from earlier ones. Returns the counts, and all its answers.
fn counted(session: &Listed, earlier: &[Vec<AnswerPart>]) -> Option<(Vec<Spent>, Vec<AnswerPart>)> {
    let mut answers = Vec::new();
    let mut copied = Copied::of(earlier);
    let look = |record: &Record, tally: &mut Tally| {
        let own = AnswerPart::of(record);
        tally.leave_out(copied.has(&own));
        answers.extend(own);
    };
    let tally = recount(&session.job, look).ok()??;
    Some((tally.spent(), answers))
}

/// Follows the answers of a session along those of earlier sessions. A copy has them in the same
/// order, perhaps without some of them, up to where it was continued. An answer with the identifier
/// of a response is a copy at any place.
struct Copied<'l> {
    earlier: Vec<&'l [AnswerPart]>,
    names: HashSet<u64>,
    is_copy: bool,
}

impl<'l> Copied<'l> {
    fn of(earlier: &'l [Vec<AnswerPart>]) -> Self {
        let names = earlier.iter().flatten().filter_map(AnswerPart::name).collect();
        Self { earlier: earlier.iter().map(Vec::as_slice).collect(), names, is_copy: false }
    }

    /// Whether the next record belongs to an answer of an earlier session.
    fn has(&mut self, answer: &[AnswerPart]) -> bool {
        let Some(first) = answer.first() else { return self.is_copy };
        for said in answer.iter().filter(|said| said.words.is_some()) {
            self.earlier.retain_mut(|list| {
                let place = list.iter().position(|own| own.is_same(said));
                let rest = place.and_then(|place| list.get(place + 1..));
                rest.is_some_and(|rest| {
                    *list = rest;
                    true
                })
            });
        }
        let is_named =
            answer.iter().filter_map(AnswerPart::name).any(|name| self.names.contains(&name));
        let follows = match first.words {
            Some(_) => !self.earlier.is_empty(),
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
        let earlier = [[1, 2, 3, 4, 5].map(words).to_vec(), [1, 2, 9].map(words).to_vec()];
        let mut copied = Copied::of(&earlier);
        let answers = [&[1][..], &[], &[3, 4], &[7], &[5]];
        let followed = answers.map(|answer| {
            let answer: Vec<_> = answer.iter().copied().map(words).collect();
            copied.has(&answer)
        });
        assert_eq!(followed, [true, true, true, false, false]);
    }

    #[test]
    fn equal_words_at_another_time_or_in_another_response_are_another_answer() {
        let one = AnswerPart { words: Some(1), response: Some(7), time: Some(100) };
        let has = |said: AnswerPart| Copied::of(&[vec![one]]).has(&[said]);
        assert!(has(one));
        assert!(has(AnswerPart { response: None, ..one }), "another format has no identifiers");
        assert!(has(AnswerPart { time: None, ..one }), "nor times");
        let thought = AnswerPart { words: None, ..one };
        assert!(Copied::of(&[vec![thought]]).has(&[thought]), "a thought of the same response");
        assert!(!has(AnswerPart { response: Some(8), ..one }));
        assert!(
            !has(AnswerPart { time: Some(101), ..one }),
            "a gateway has one identifier for all"
        );
    }
}
