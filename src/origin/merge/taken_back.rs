//! Turns of the source that the file left, and that the source's agent takes back by a record.

use super::Merger;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Back, Turns};
use crate::json::Json;
use crate::origin::file::rejected;
use crate::origin::matching::branches::AT_END;
use crate::origin::merge::new_turns::is_question;
use crate::record::{Answers, Record};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The turns of the source, and what the file leaves of them.
pub struct TakenBack {
    turns: Box<dyn Turns>,
    /// Numbers of the records of the file that are left, by the number of the record before which
    /// they are.
    abandoned: BTreeMap<u32, Vec<u32>>,
    /// Entries of the source that the records show which are left anywhere.
    shown: HashMap<u32, Vec<Json>>,
    /// Records of these that show no entry of the source, but a message in the list of a compaction.
    listed: HashSet<u32>,
}

impl TakenBack {
    /// Begins for the entries that are left of a session with these turns; `None` if there are none.
    pub fn of(abandoned: BTreeMap<u32, Vec<u32>>, turns: Option<Box<dyn Turns>>) -> Option<Self> {
        let turns = turns.filter(|_| !abandoned.is_empty())?;
        let shown = abandoned.values().flatten().map(|number| (*number, Vec::new())).collect();
        Some(Self { turns, abandoned, shown, listed: HashSet::new() })
    }

    /// Notes that a record of the file shows this entry of the source.
    pub fn show(&mut self, number: u32, id: Option<&Json>) {
        let entries = self.shown.get_mut(&number);
        entries.into_iter().for_each(|entries| entries.extend(id.cloned()));
    }

    /// Notes that a record of the file shows a message in the list of a compaction.
    pub fn list(&mut self, number: u32) {
        self.listed.extend(Some(number).filter(|number| self.shown.contains_key(number)));
    }

    /// Takes the next record of the source, or a new one.
    pub fn note(&mut self, record: &Record, shown: bool) {
        self.turns.note(record, shown);
    }

    /// Takes back what is left before this new record. `questions` counts the messages of the user
    /// among these records.
    fn take_back(
        &mut self,
        number: u32,
        questions: impl FnOnce(&[u32]) -> Result<usize>,
    ) -> Result<Back> {
        let Some(all) = self.abandoned.remove(&number) else { return Ok(Back::Nothing) };
        let is_listed = all.iter().any(|number| self.listed.contains(number));
        let listed = if is_listed { Some(questions(&all)?) } else { None };
        let entries = all.iter().filter_map(|number| self.shown.get(number));
        Ok(self.turns.take_back(&entries.flatten().cloned().collect(), listed))
    }
}

impl Merger<'_> {
    /// Adds the record that takes back turns which the file left before this new record, or at its
    /// end.
    pub(super) fn take_back(&mut self, number: u32) -> Result<()> {
        let leaves = |taken: &TakenBack| taken.abandoned.contains_key(&number);
        if !self.taken_back.as_ref().is_some_and(leaves) {
            return Ok(());
        }
        let last = self.whole.as_mut().and_then(Answers::finish);
        last.map_or(Ok(()), |last| self.take_in(last))?;
        self.settle()?;
        let Some(mut taken) = self.taken_back.take() else { return Ok(()) };
        let back = taken.take_back(number, |all| {
            let mut questions = 0;
            for number in all {
                questions += usize::from(is_question(&self.now.record(*number)?));
            }
            Ok(questions)
        });
        self.taken_back = Some(taken);
        let (mut event, end) = match back? {
            Back::Nothing => return Ok(()),
            Back::Impossible => {
                let why = "the file goes back to a message at which no turn of the source ends";
                return Err(rejected(why));
            }
            Back::By { record, end } => (record, end),
        };
        let at = Some(number).filter(|number| *number != AT_END);
        let message =
            "the session goes back to an earlier message, and the turns behind it are taken back";
        self.report(Code::OriginAdded, message, at);
        self.tail.shown();
        if number == AT_END {
            self.tail.set_leaf(end.as_ref().unwrap_or(&Json::constant("null")));
        }
        self.last_shown = end;
        self.changed = true;
        self.date(&mut event.node, None);
        self.renumber(&mut event);
        self.store.add(&event)
    }
}
