//! What a file without branches says anew: its software goes on from a history of its own, in which
//! it cuts outputs short and drops calls, and which a person may edit. From the first message on that
//! differs, all of that history stands in the file once more, behind what was said before.
//!
//! Both are one conversation. A message in the place of another one is that one, edited; what says the
//! same is nothing new; what the history leaves out is gone.

use crate::error::Result;
use crate::format::{Context, Cx};
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::origin::matching::align::matched;
use crate::origin::matching::branches;
use crate::origin::matching::outcomes::{Match, RecordKey, in_order};
use crate::origin::merge::native_form::{placed, words_of};
use crate::origin::merge::new_turns::renamed;
use crate::origin::record_hash;
use crate::origin::restore::FileRecords;
use crate::record::{Field, Record};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What another history has no place for.
#[derive(Default)]
pub struct RewrittenHistory {
    /// The numbers of messages that are not in it.
    gone: BTreeSet<u32>,
    /// How many messages are not in it that say what the file did not say when it was made.
    lost: usize,
}

impl RewrittenHistory {
    /// Takes what is said anew for what it was, if home is another format: in its own all of it has a
    /// place.
    ///
    /// # Errors
    /// If the records cannot be read back.
    pub fn of(names: &[RecordKey], now: &mut FileRecords, home: Option<Spec>) -> Result<Self> {
        if !now.branches {
            return Ok(Self::default());
        }
        let session = now.record(0)?;
        let source = session.node.text(Field::Source);
        let abroad = source.and_then(|source| Spec::parse(&source).ok());
        let native =
            |abroad: &Spec| home.is_some_and(|home| home.format.name == abroad.format.name);
        let Some(abroad) = abroad.filter(|abroad| !abroad.version().tree && !native(abroad)) else {
            return Ok(Self::default());
        };
        let rules = abroad.format.context.map(|open| open(&session));
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
            return Ok(walk.anew);
        }
        walk.rename(now)?;
        let named = abroad.format.links();
        for (number, record) in &now.instead {
            let name = now.names.get_mut(*number as usize);
            name.into_iter().for_each(|name| *name = RecordKey::of(record, named));
        }
        Ok(walk.anew)
    }

    /// Leaves out what has no place in the other history. What is new of it nobody at home will know, and
    /// an edit of what it says otherwise counts for nothing.
    pub fn leave_out(
        &self,
        now: &FileRecords,
        (outcomes, added): (&mut [Match], &mut Vec<u32>),
        cx: &Cx<'_>,
    ) {
        branches::tell(self.lost, branches::entry(false), cx);
        added.retain(|number| !self.gone.contains(number) && !now.again.contains(number));
        for found in outcomes.iter_mut() {
            if matches!(found, Match::Same(n) | Match::Edited(n) if self.gone.contains(n)) {
                *found = Match::Deleted;
            }
        }
    }
}

/// The way through a file's records.
#[derive(Default)]
struct Walk {
    rules: Option<Box<dyn Context>>,
    /// By what the records were known that the file had when it was made.
    known: HashSet<u64>,
    /// The conversation so far.
    path: Vec<Step>,
    /// From where on it is said anew, and what stood there.
    open: Option<(usize, Vec<Step>)>,
    /// What the file calls messages that say others anew, and those.
    names: HashMap<Json, Json>,
    anew: RewrittenHistory,
}

/// A message, its identifier by its hash.
#[derive(Clone, Copy)]
struct Step {
    number: u32,
    id: u64,
    /// Whether a line of its own says it, and when: a history only shows.
    said: bool,
}

impl Walk {
    /// The next message.
    fn step(&mut self, number: u32, record: &Record, now: &mut FileRecords) -> Result<()> {
        let name = |id: &Json| hash(id.as_bytes());
        let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
        if parent.map(name) != self.path.last().map(|step| step.id) {
            self.close(now)?;
            let parent = parent.map(|parent| name(self.names.get(parent).unwrap_or(parent)));
            let above = self.path.iter().rposition(|step| Some(step.id) == parent);
            let begin = above.map_or(0, |above| above + 1);
            let left = self.path.split_off(begin);
            // What follows nothing that is known is another conversation.
            self.open = (above.is_some() || parent.is_none()).then_some((begin, left));
        }
        let said = record.node.get(Field::Time).is_some();
        self.path.push(Step { number, id: record.node.json(Field::Id).map_or(0, name), said });
        Ok(())
    }

    /// All is known that is said anew: what stood there takes its place. A summary stands for all that
    /// was said and is no other history, and one that the file had when it was made it keeps.
    fn close(&mut self, now: &mut FileRecords) -> Result<()> {
        let Some((begin, left)) = self.open.take() else { return Ok(()) };
        let branch = self.path.get(begin..).unwrap_or_default().to_vec();
        let first = branch.first().map(|step| now.record(step.number)).transpose()?;
        let sums_up =
            |first| self.rules.as_ref().is_some_and(|rules| rules.summary(first).is_some());
        if first.as_ref().is_none_or(sums_up) || branch.iter().any(|step| self.knows(now, step)) {
            return Ok(());
        }
        let mut out: BTreeSet<u32> = left.iter().map(|step| step.number).collect();
        let shown = branch.iter().position(|step| step.said).unwrap_or(branch.len());
        for (was, at, same) in pairs(now, &left, branch.get(..shown).unwrap_or_default())? {
            let (Some(was), Some(is)) = (left.get(was), branch.get(at)) else { continue };
            let (old, new) = (now.record(was.number)?, now.record(is.number)?);
            let ends = [&new, &old].map(|record| record.node.json(Field::Id).map(detached));
            let [Some(name), Some(id)] = ends else { continue };
            self.names.insert(name, id);
            if !same {
                now.instead.insert(was.number, placed(new, &old));
                self.anew.lost += usize::from(!self.knows(now, was));
            }
            now.again.insert(is.number);
            out.remove(&was.number);
            self.path.get_mut(begin + at).into_iter().for_each(|step| *step = *was);
        }
        let lost = |step: &&Step| out.contains(&step.number) && !self.knows(now, step);
        self.anew.lost += left.iter().filter(lost).count();
        self.anew.gone.extend(out);
        Ok(())
    }

    /// Whether the file had a message when it was made.
    fn knows(&self, now: &FileRecords, step: &Step) -> bool {
        let name = now.names.get(step.number as usize);
        name.is_some_and(|name| self.known.contains(&name.hash))
    }

    /// Whatever speaks of messages that say others anew speaks of those.
    fn rename(&self, now: &mut FileRecords) -> Result<()> {
        for number in 0..now.names.len() as u32 {
            let mut record = now.record(number)?;
            let mut changed = false;
            for field in [Field::Parent, Field::Leaf, Field::Messages] {
                let Some(was) = record.node.json(field) else { continue };
                let is = renamed(was, &self.names);
                if is != *was {
                    record.node.set(field, is);
                    changed = true;
                }
            }
            if changed {
                now.instead.insert(number, record);
            }
        }
        Ok(())
    }
}

/// The same without the line that it stands in.
fn detached(id: &Json) -> Json {
    Json::checked(id.as_bytes().to_vec().into())
}

/// Which messages are which, by their places in both lists, and whether they say the same: else they
/// are paired by their roles and in one order.
fn pairs(
    now: &mut FileRecords,
    left: &[Step],
    branch: &[Step],
) -> Result<Vec<(usize, usize, bool)>> {
    let mut words = |steps: &[Step]| -> Result<Vec<u64>> {
        let each =
            steps.iter().map(|step| Ok(record_hash::of(&words_of(now.record(step.number)?))));
        each.collect()
    };
    let (before, after) = (words(left)?, words(branch)?);
    let (mut pairs, mut apart) = (Vec::new(), Vec::new());
    matched(&before, &after, &mut |same, a, b| match same {
        true => pairs.extend(a.zip(b).map(|(a, b)| (a, b, true))),
        false => apart.push((a, b)),
    });
    for (a, b) in apart {
        let name = |step: &Step| Some((step.number, *now.names.get(step.number as usize)?));
        let old: Vec<_> = left.get(a.clone()).unwrap_or_default().iter().filter_map(name).collect();
        let numbers = branch.get(b.clone()).unwrap_or_default().iter().map(|step| step.number);
        let new: Vec<_> = numbers.collect();
        let found = in_order(&old, &new, &now.names).unwrap_or_default().into_iter();
        let place = |number| new.iter().position(|other| *other == number);
        pairs.extend(found.filter_map(|(at, n)| Some((a.start + at, b.start + place(n)?, false))));
    }
    pairs.sort_unstable();
    Ok(pairs)
}
