//! Pairing of the calls of a conversation with their results.
//!
//! A model's interface refuses a call without a result before the next turn, and a result without a
//! call. A format shows calls and results in their order, and each end of a turn; the pairing
//! decides which results are added, and which messages are removed. A place is the number of a
//! message as the format counts them.

use super::waiting::Waiting;
use crate::diagnostic::Code;
use crate::tree::key_of;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Rules in which agents differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Whether late results of one identifier belong to its calls one by one, from the first on. If
    /// not, only the last call gets one.
    pub late_in_order: bool,
    /// Whether a result before its call counts as the result of that call.
    pub early: bool,
}

/// A result that is added for a call.
#[derive(Clone, Debug)]
pub struct Added<C = (), R = ()> {
    /// The identifier of the call, in its JSON spelling.
    pub id: Vec<u8>,
    /// Facts about the call that the format needs.
    pub call: C,
    /// Its result, if it was found in another place.
    pub result: Option<R>,
}

/// Calls and results of a conversation. Identifiers are in their JSON spelling.
///
/// ```
/// use copyist::{diagnostic::Code, repair::{Pairing, Rules}};
/// let mut pairing = Pairing::new(Rules::default());
/// pairing.call(br#""a""#, "read");
/// pairing.call(br#""b""#, "write");
/// assert_eq!(pairing.take(br#""a""#), Some("read"));
/// pairing.settle(1);
/// pairing.orphan(2, br#""b""#, "a late result");
/// let added = pairing.added(1);
/// assert_eq!((added[0].call, added[0].result), ("write", Some("a late result")));
/// assert_eq!(pairing.removed(2), Some(Code::OrphanResult));
/// ```
#[derive(Debug)]
pub struct Pairing<C = (), R = ()> {
    rules: Rules,
    open: Waiting<u64, (Vec<u8>, C)>,
    /// Results in other places, by their calls: those of calls that wait, and those of calls that
    /// did not come yet.
    elsewhere: HashMap<u64, R>,
    early: HashMap<u64, R>,
    added: BTreeMap<u32, Vec<Added<C, R>>>,
    /// Added results that may still come late: their places, by their calls.
    unknown: HashMap<u64, VecDeque<(u32, usize)>>,
    removed: BTreeMap<u32, Code>,
    /// Answers at the end without content.
    tail: Vec<u32>,
}

impl<C, R> Default for Pairing<C, R> {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl<C, R> Pairing<C, R> {
    /// Begins a conversation.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            open: Waiting::default(),
            elsewhere: HashMap::new(),
            early: HashMap::new(),
            added: BTreeMap::new(),
            unknown: HashMap::new(),
            removed: BTreeMap::new(),
            tail: Vec::new(),
        }
    }

    /// Adds a call, which waits for its result. One that lost its identifier by damage cannot be
    /// answered.
    pub fn call(&mut self, id: &[u8], call: C) {
        if id.starts_with(b"\"") {
            self.open.push(key_of(id), (id.to_vec(), call));
        }
    }

    /// Whether no call waits.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a call with this identifier waits.
    #[must_use]
    pub fn waits(&self, id: &[u8]) -> bool {
        self.open.has(&key_of(id))
    }

    /// Returns the call that a result answers: the first one with this identifier that waits.
    pub fn take(&mut self, id: &[u8]) -> Option<C> {
        self.open.take(&key_of(id)).map(|(_, call)| call)
    }

    /// Removes a message that is a result without a call, or a late one, which is added at its
    /// right place.
    pub fn orphan(&mut self, place: u32, id: &[u8], result: R) {
        self.found(id, result);
        self.remove(place, Code::OrphanResult);
    }

    /// Uses a result in a place where it is not sent, or that comes too late, as the result of its
    /// call.
    pub fn found(&mut self, id: &[u8], result: R) {
        let key = key_of(id);
        let unknown = self.unknown.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some((place, index)) = unknown {
            let added = self.added.get_mut(&place).and_then(|added| added.get_mut(index));
            if let Some(added) = added {
                added.result = Some(result);
            }
        } else if self.open.has(&key) {
            self.elsewhere.insert(key, result);
        } else if self.rules.early {
            self.early.insert(key, result);
        }
    }

    /// Ends a turn: the calls that still wait get results at a place.
    pub fn settle(&mut self, place: u32) {
        for (id, call) in std::mem::take(&mut self.open).rest() {
            let key = key_of(&id);
            let result = self.elsewhere.remove(&key).or_else(|| self.early.remove(&key));
            let added = self.added.entry(place).or_default();
            if result.is_none() {
                let unknown = self.unknown.entry(key).or_default();
                if !self.rules.late_in_order {
                    unknown.clear();
                }
                unknown.push_back((place, added.len()));
            }
            added.push(Added { id, call, result });
        }
        self.elsewhere.clear();
        self.early.clear();
    }

    /// Removes a message.
    pub fn remove(&mut self, place: u32, code: Code) {
        self.removed.insert(place, code);
    }

    /// Notes an answer. One without content is removed if no other message follows.
    pub fn answer(&mut self, place: u32, has_content: bool) {
        if has_content {
            self.tail.clear();
        } else {
            self.tail.push(place);
        }
    }

    /// Notes a message behind which an answer is not the last.
    pub fn speak(&mut self) {
        self.tail.clear();
    }

    /// Removes the answers without content at the end of the conversation.
    pub fn close(&mut self) {
        self.removed.extend(self.tail.drain(..).map(|place| (place, Code::EmptyTail)));
    }

    /// Keeps the messages from a place on that would be removed. Returns whether there are any.
    pub fn keep_from(&mut self, place: u32) -> bool {
        !self.removed.split_off(&place).is_empty()
    }

    /// Whether a result is added or a message removed.
    #[must_use]
    pub fn changes(&self) -> bool {
        !self.added.is_empty() || self.removes()
    }

    /// Whether a message is removed.
    #[must_use]
    pub fn removes(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Returns why a message is removed, if it is.
    #[must_use]
    pub fn removed(&self, place: u32) -> Option<Code> {
        self.removed.get(&place).copied()
    }

    /// Returns the results that are added at a place.
    #[must_use]
    pub fn added(&self, place: u32) -> &[Added<C, R>] {
        self.added.get(&place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns all results that are added, with their places, in order.
    pub fn all_added(&self) -> impl Iterator<Item = (u32, &Added<C, R>)> {
        self.added.iter().flat_map(|(place, added)| added.iter().map(|added| (*place, added)))
    }

    /// Returns the calls of all results that are added, in order.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.added.values_mut().flatten().map(|added| &mut added.call)
    }

    /// Returns how many messages there are after the repair, of so many before it.
    #[must_use]
    pub fn count(&self, messages: u64) -> u64 {
        let added = self.added.values().map(Vec::len).sum::<usize>() as u64;
        (messages + added).saturating_sub(self.removed.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(pairing: &Pairing<(), &'static str>) -> Vec<(u32, Option<&'static str>)> {
        pairing.all_added().map(|(place, added)| (place, added.result)).collect()
    }

    #[test]
    fn late_results_go_to_one_call_or_to_each_in_order() {
        let added = |late_in_order| {
            let mut pairing = Pairing::new(Rules { late_in_order, early: false });
            for place in [1, 2] {
                pairing.call(b"\"a\"", ());
                pairing.settle(place);
            }
            pairing.orphan(3, b"\"a\"", "first");
            pairing.orphan(4, b"\"a\"", "second");
            assert_eq!(pairing.count(5), 5);
            results(&pairing).into_iter().map(|(_, result)| result).collect::<Vec<_>>()
        };
        assert_eq!(added(true), [Some("first"), Some("second")]);
        assert_eq!(added(false), [None, Some("first")]);
    }

    #[test]
    fn early_results_count_where_the_rules_allow_it() {
        for early in [true, false] {
            let mut pairing = Pairing::new(Rules { early, ..Rules::default() });
            pairing.found(b"\"a\"", "early");
            pairing.call(b"\"a\"", ());
            pairing.call(b"without an identifier", ());
            pairing.settle(1);
            assert_eq!(results(&pairing), [(1, early.then_some("early"))]);
        }
    }

    #[test]
    fn only_empty_answers_at_the_end_are_removed() {
        let mut pairing = Pairing::<()>::default();
        pairing.answer(1, false);
        pairing.speak();
        pairing.answer(2, false);
        pairing.answer(3, true);
        pairing.answer(4, false);
        pairing.answer(5, false);
        pairing.close();
        let removed =
            |pairing: &Pairing| (0..9).filter(|at| pairing.removed(*at).is_some()).count();
        assert_eq!((removed(&pairing), pairing.removed(5)), (2, Some(Code::EmptyTail)));
        assert!(pairing.keep_from(5) && !pairing.keep_from(6));
        assert_eq!(removed(&pairing), 1);
    }
}
