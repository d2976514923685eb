//! History that an agent rewrites in a file without branches. The agent continues from its own
//! history, in which it shortens outputs and drops calls, and which the user may edit. From the
//! first message that differs, the file contains all of that history again, behind the earlier
//! messages.
//!
//! Both versions are one conversation. A message in the place of another message is an edit of it.
//! A message of the same content is not new. A message that the history leaves out was deleted.

use crate::error::Result;
use crate::format::{Context, Cx};
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::matched;
use crate::origin::matching::branches;
use crate::origin::matching::outcomes::{Match, in_order};
use crate::origin::merge::native_form::{placed, words_of};
use crate::origin::record_hash;
use crate::origin::record_key::RecordKey;
use crate::record::{Field, Record};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Messages that the rewritten history does not contain.
#[derive(Default)]
pub struct RewrittenHistory {
    /// Numbers of the messages that the history does not contain.
    absent: BTreeSet<u32>,
    /// Number of messages that the history drops or edits, and that the file did not have when it
    /// was made.
    lost: usize,
}

impl RewrittenHistory {
    /// Matches repeated messages with the earlier ones, if the source has another format. In its
    /// own format, each of them keeps its place.
    pub fn of(
        names: &[RecordKey],
        now: &mut FileRecords,
        source_format: Option<Spec>,
    ) -> Result<Self> {
        if !now.branches {
            return Ok(Self::default());
        }
        let session = now.record(0)?;
        let is_native = source_format.is_some() && !now.is_foreign(source_format)?;
        let Some(file_format) = now.format()?.filter(|file| !file.version().tree && !is_native)
        else {
            return Ok(Self::default());
        };
        let rules = file_format.format.agent.context.map(|open| open(&session));
        let known = names.iter().map(|name| name.hash).collect();
        let mut walk = Walk { rules, known, ..Walk::default() };
        for number in 0..now.names.len() as u32 {
            let record = now.record(number)?;
            if record.is_node() && !record.is_aside() {
                walk.step(number, &record, now)?;
            }
        }
        walk.close(now)?;
        if walk.names.is_empty() {
            return Ok(walk.history);
        }
        now.rename(&[Field::Parent, Field::Leaf, Field::Messages], &walk.names)?;
        let named = file_format.format.links();
        for (number, record) in &now.replacements {
            let name = now.names.get_mut(*number as usize);
            name.into_iter().for_each(|name| *name = RecordKey::of(record, named));
        }
        Ok(walk.history)
    }

    /// Removes the messages that the rewritten history does not contain. New ones are not added to
    /// the source, and earlier ones count as deleted. Reports the number of new messages that are
    /// lost.
    pub fn leave_out(
        &self,
        now: &FileRecords,
        (outcomes, added): (&mut [Match], &mut Vec<u32>),
        cx: &Cx<'_>,
    ) {
        branches::report_lost(self.lost, branches::entry(false), cx);
        added.retain(|number| !self.absent.contains(number) && !now.again.contains(number));
        for found in outcomes.iter_mut() {
            if matches!(found, Match::Same(n) | Match::Edited(n) if self.absent.contains(n)) {
                *found = Match::Deleted;
            }
        }
    }
}

/// Walk through the records of a file.
#[derive(Default)]
struct Walk {
    rules: Option<Box<dyn Context>>,
    /// Hashes of the records that the file had when it was made.
    known: HashSet<u64>,
    /// Messages of the conversation so far.
    path: Vec<Step>,
    /// Place in the path from which the history is repeated, and the messages that were there.
    open: Option<(usize, Vec<Step>)>,
    /// Identifiers of repeated messages in the file, and of the earlier messages that they repeat.
    names: HashMap<Json, Json>,
    history: RewrittenHistory,
}

/// Message of the path, with the hash of its identifier.
#[derive(Clone, Copy)]
struct Step {
    number: u32,
    id: u64,
    /// Whether the message has a line of its own with a time. A history shows messages without one.
    has_own_line: bool,
}

impl Walk {
    /// Takes the next message. A message that does not follow the last one may open a rewritten
    /// history.
    fn step(&mut self, number: u32, record: &Record, now: &mut FileRecords) -> Result<()> {
        let name = |id: &Json| hash(id.as_bytes());
        let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
        if parent.map(name) != self.path.last().map(|step| step.id) {
            self.close(now)?;
            let parent = parent.map(|parent| name(self.names.get(parent).unwrap_or(parent)));
            let above = self.path.iter().rposition(|step| Some(step.id) == parent);
            let begin = above.map_or(0, |above| above + 1);
            let omitted = self.path.split_off(begin);
            // A message whose parent is unknown begins another conversation.
            self.open = (above.is_some() || parent.is_none()).then_some((begin, omitted));
        }
        let has_own_line = record.node.get(Field::Time).is_some();
        self.path.push(Step {
            number,
            id: record.node.json(Field::Id).map_or(0, name),
            has_own_line,
        });
        Ok(())
    }

    /// Ends the open history: each earlier message takes the place of its repetition. A summary is
    /// not such a history, as it represents all earlier messages. A history that the file had when
    /// it was made stays as it is.
    fn close(&mut self, now: &mut FileRecords) -> Result<()> {
        let Some((begin, omitted)) = self.open.take() else { return Ok(()) };
        let branch = self.path.get(begin..).unwrap_or_default().to_vec();
        let first = branch.first().map(|step| now.record(step.number)).transpose()?;
        let sums_up =
            |first| self.rules.as_ref().is_some_and(|rules| rules.summary(first).is_some());
        if first.as_ref().is_none_or(sums_up) || branch.iter().any(|step| self.knows(now, step)) {
            return Ok(());
        }
        let mut out: BTreeSet<u32> = omitted.iter().map(|step| step.number).collect();
        let shown = branch.iter().position(|step| step.has_own_line).unwrap_or(branch.len());
        for (was, at, same) in pairs(now, &omitted, branch.get(..shown).unwrap_or_default())? {
            let (Some(was), Some(is)) = (omitted.get(was), branch.get(at)) else { continue };
            let (old, new) = (now.record(was.number)?, now.record(is.number)?);
            let ends = [&new, &old].map(|record| record.node.json(Field::Id).map(detached));
            let [Some(name), Some(id)] = ends else { continue };
            self.names.insert(name, id);
            if !same {
                now.replacements.insert(was.number, placed(new, &old));
                self.history.lost += usize::from(!self.knows(now, was));
            }
            now.again.insert(is.number);
            out.remove(&was.number);
            self.path.get_mut(begin + at).into_iter().for_each(|step| *step = *was);
        }
        let lost = |step: &&Step| out.contains(&step.number) && !self.knows(now, step);
        self.history.lost += omitted.iter().filter(lost).count();
        self.history.absent.extend(out);
        Ok(())
    }

    /// Whether the file had a message when it was made.
    fn knows(&self, now: &FileRecords, step: &Step) -> bool {
        let name = now.names.get(step.number as usize);
        name.is_some_and(|name| self.known.contains(&name.hash))
    }
}

/// Copies an identifier, so that it does not keep its line in memory.
fn detached(id: &Json) -> Json {
    Json::trusted(id.as_bytes().to_vec().into())
}

/// Pairs messages of both lists by their places, and states whether their contents are the same.
/// Messages of different content are paired by their roles and in order.
fn pairs(
    now: &mut FileRecords,
    omitted: &[Step],
    branch: &[Step],
) -> Result<Vec<(usize, usize, bool)>> {
    let mut words = |steps: &[Step]| -> Result<Vec<u64>> {
        let each =
            steps.iter().map(|step| Ok(record_hash::of(&words_of(now.record(step.number)?))));
        each.collect()
    };
    let (before, after) = (words(omitted)?, words(branch)?);
    let (mut pairs, mut apart) = (Vec::new(), Vec::new());
    matched(&before, &after, &mut |same, a, b| match same {
        true => pairs.extend(a.zip(b).map(|(a, b)| (a, b, true))),
        false => apart.push((a, b)),
    });
    for (a, b) in apart {
        let name = |step: &Step| Some((step.number, *now.names.get(step.number as usize)?));
        let old: Vec<_> =
            omitted.get(a.clone()).unwrap_or_default().iter().filter_map(name).collect();
        let numbers = branch.get(b.clone()).unwrap_or_default().iter().map(|step| step.number);
        let new: Vec<_> = numbers.collect();
        let found = in_order(&old, &new, &now.names).unwrap_or_default().into_iter();
        let place = |number| new.iter().position(|other| *other == number);
        pairs.extend(found.filter_map(|(at, n)| Some((a.start + at, b.start + place(n)?, false))));
    }
    pairs.sort_unstable();
    Ok(pairs)
}
