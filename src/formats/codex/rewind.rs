//! Finds the event with which Codex takes back turns that another agent left.

use super::chain::{Ends, is_talk};
use super::turns::TurnStart;
use crate::format::{Back, Turns};
use crate::json::Json;
use crate::record::{Field, Kind, Record};
use std::collections::HashSet;

/// The items of a rollout, and its turns.
#[derive(Default)]
struct Rewind {
    ends: Ends,
    nodes: Vec<Seen>,
}

/// Node of a rollout.
struct Seen {
    id: Json,
    /// Number of the node before it.
    before: Option<u64>,
    /// Number of the last node of the conversation, up to this one, that the other file shows.
    shown: Option<u64>,
}

/// Returns the turns of a rollout of this version. Version 1 has no events, by which turns are
/// taken back.
pub fn turns(version: u32) -> Option<Box<dyn Turns>> {
    (version > 1).then(|| Box::new(Rewind::default()) as _)
}

impl Rewind {
    fn seen(&self, number: Option<u64>) -> Option<&Seen> {
        self.nodes.get(usize::try_from(number?.checked_sub(1)?).ok()?)
    }

    /// Returns the number of the last node up to this one that the other file shows.
    fn shown_at(&self, number: Option<u64>) -> Option<u64> {
        self.seen(number)?.shown
    }

    /// Finds the first node of the current history among these. Returns what is shown before it.
    fn before_first(&self, remaining: &HashSet<Json>) -> Option<Option<u64>> {
        let (mut at, mut found) = (self.ends.last(), None);
        while let Some(seen) = self.seen(at) {
            if seen.shown == at && remaining.contains(&seen.id) {
                found = Some(self.shown_at(seen.before));
            }
            at = seen.before;
        }
        found
    }

    /// Returns the number of turns behind a node.
    fn turns_behind(&self, shown: Option<u64>) -> Option<usize> {
        let turns = self.ends.turns();
        let mut places = (1..).map_while(|number| Some((number, turns.place_before(number)?)));
        let is_there =
            |place: TurnStart| place.is_behind_node() && self.shown_at(place.node) == shown;
        places.find(|(_, place)| place.is_some_and(is_there)).map(|(number, _)| number)
    }

    /// Returns this number of turns, if the first of them begins in the list of a compaction, or
    /// if these are all.
    fn turns_in_list(&self, number: usize) -> Option<usize> {
        let turns = self.ends.turns();
        let place = turns.place_before(number).flatten();
        let is_listed = place.is_some_and(|place| !place.is_behind_node());
        (is_listed || number >= turns.len()).then_some(number)
    }
}

impl Turns for Rewind {
    fn note(&mut self, record: &Record, shown: bool) {
        let Some((number, before)) = self.ends.take(record) else { return };
        let shown = match shown && is_talk(record) {
            true => Some(number),
            false => self.shown_at(before),
        };
        let id = record.node.json(Field::Id).map(Json::detached).unwrap_or_default();
        self.nodes.push(Seen { id, before, shown });
    }

    fn take_back(&mut self, remaining: &HashSet<Json>, listed: Option<usize>) -> Back {
        let turns = match self.before_first(remaining) {
            // Every message of the user in the list of a compaction counts as a turn.
            _ if let Some(questions) = listed => self.turns_in_list(questions),
            Some(shown) => self.turns_behind(shown),
            None => return Back::Nothing,
        };
        let Some(turns) = turns else { return Back::Impossible };
        let data = format!("{{\"type\":\"thread_rolled_back\",\"num_turns\":{turns}}}");
        let event =
            Record::new(Kind::Event).with(Field::Data, Json::trusted(data.into_bytes().into()));
        self.note(&event, false);
        let end = self.seen(self.ends.last()).map(|seen| seen.id.clone());
        Back::By { record: event, end }
    }
}
