//! Entries of the file beside the conversation, where the source format is not a tree: branches
//! that the user left by going back to an earlier entry, messages of sub-agents, and entries that
//! are not in the state from which a session continues.

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::Result;
use crate::format::Cx;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::outcomes::Match;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, block};
use crate::tree::{Path, Shape, Tree};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Entries of the source that the file left, and that are not deleted.
#[derive(Default)]
pub struct Abandoned {
    /// Numbers of calls that nothing answers.
    pub open_calls: HashSet<u32>,
    /// Numbers of the entries that the source's agent takes back, by the number of the new message
    /// before which it does; [`AT_END`] for those that it takes back at the end.
    pub taken_back: BTreeMap<u32, Vec<u32>>,
}

/// Number behind those of all messages.
pub const AT_END: u32 = u32::MAX;

/// The entries of a file that is a tree.
struct Entries {
    tree: Tree,
    /// Ordinal of the entry that each record is, if it is one.
    ordinals: Vec<Option<u32>>,
    /// Leaf of the session, if the file names it.
    leaf: Option<Json>,
    /// Whether each record belongs to a sub-agent.
    aside: Vec<bool>,
    /// Calls that have a result.
    answered: HashSet<Json>,
}

/// Whether the new entries of a file are on several paths: a cancelled run has calls that the
/// session's state leaves out.
pub fn forks(now: &mut FileRecords, added: &[u32]) -> Result<bool> {
    let mut parents = HashSet::new();
    for number in added.iter().copied() {
        let record = now.record(number)?;
        if record.is_node()
            && !record.is_aside()
            && let Some(parent) = record.node.json(Field::Parent)
            && !parents.insert(parent.clone())
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Counts entries on abandoned branches as deleted, and drops the new ones there. `tree` states
/// whether the file has branches of its own, `takes_back` whether the source's agent can take turns
/// back: then none of them is. Calls that nothing answers are not deleted if they are all that is
/// left behind: an agent leaves them when it resumes the session.
pub fn behind(
    now: &mut FileRecords,
    (outcomes, added): (&mut [Match], &mut Vec<u32>),
    (tree, takes_back): (bool, bool),
    cx: &Cx<'_>,
) -> Result<Abandoned> {
    let (entries, mut side) = (Entries::of(now, cx)?, Abandoned::default());
    let Some(stands) = entries.tree.path(entries.leaf.as_ref()) else { return Ok(side) };
    let Some(stood) = entries.stood(now, outcomes)? else { return Ok(side) };
    let left = |number: u32, before: Option<&Path>| {
        let at = entries.ordinals.get(number as usize).copied().flatten();
        at.is_some_and(|at| !stands.contains(at) && before.is_none_or(|path| path.contains(at)))
    };
    let (mut count, mut aside) = (0, 0);
    added.retain(|number| {
        let gone = left(*number, None);
        let of_another = entries.aside.get(*number as usize) == Some(&true);
        if takes_back && !of_another {
            return true;
        }
        let counted = if of_another { &mut aside } else { &mut count };
        *counted += usize::from(gone);
        !gone
    });
    report_lost(aside, ("message of a sub-agent", "messages of sub-agents"), cx);
    if takes_back {
        entries.rewinds(now, &stood, added, &mut side)?;
        return Ok(side);
    }
    let mut behind = Vec::new();
    for (place, found) in outcomes.iter().enumerate() {
        if let Match::Same(number) | Match::Edited(number) = *found
            && left(number, Some(&stood))
        {
            behind.push((place, number));
        }
    }
    let numbers: Vec<_> = behind.iter().map(|(_, number)| *number).collect();
    if !added.is_empty() && entries.are_open_calls(now, &numbers)? {
        side.open_calls.extend(numbers);
    } else {
        count += behind.len();
        for (place, _) in &behind {
            outcomes.get_mut(*place).into_iter().for_each(|found| *found = Match::Deleted);
        }
    }
    report_lost(count, entry(tree), cx);
    Ok(side)
}

/// Name of an entry that a file leaves out of the conversation, for the report and in words. `tree`
/// states whether the file has branches of its own.
pub fn entry(tree: bool) -> (&'static str, &'static str) {
    let beside = match tree {
        true => "entries on abandoned branches",
        false => "entries left out of the session's state",
    };
    ("entry off the active branch", beside)
}

/// Reports how many entries are lost.
pub fn report_lost(count: usize, (path, what): (&str, &str), cx: &Cx<'_>) {
    (0..count).for_each(|_| cx.log.count(diagnostic::FieldOutcome::Dropped, path));
    if count > 0 {
        let message = format!("{what} have no place in the source format: {count}");
        cx.report(Diagnostic::new(Code::Dropped, message));
    }
}

/// Returns an entry, or the nearest one above it that was not passed.
fn above(passed: &HashMap<Json, Option<Json>>, mut id: Option<Json>) -> Option<Json> {
    // A longer path would lead in a circle.
    for _ in 0..=passed.len() {
        match id.as_ref().and_then(|id| passed.get(id)) {
            Some(further) => id.clone_from(further),
            None => break,
        }
    }
    id
}

impl Entries {
    fn of(now: &mut FileRecords, cx: &Cx<'_>) -> Result<Self> {
        let mut shape = Shape::within(cx.options.index_memory);
        let (mut nodes, mut leaf) = (0, None);
        let mut ordinals = Vec::with_capacity(now.names.len());
        let mut aside = Vec::with_capacity(now.names.len());
        let mut answered = HashSet::new();
        for number in 0..now.names.len() as u32 {
            let value = now.record(number)?;
            if value.kind == Kind::Session {
                leaf = value.node.json(Field::Leaf).cloned().or(leaf);
            }
            aside.push(value.node.get(Field::ParentCall).is_some());
            let blocks = value.node.content().iter();
            answered.extend(blocks.filter_map(|b| b.json(Field::Call)).map(Json::detached));
            ordinals.push(value.is_node().then_some(nodes));
            if value.is_node() {
                shape.record(&Located { value, at: Position::default() });
                nodes += 1;
            }
        }
        Ok(Self { tree: shape.finish(), ordinals, leaf, aside, answered })
    }

    /// Finds the entries that are left before each new message, and at the end. `stood` is the path
    /// to the last entry that the file had when it was made.
    fn rewinds(
        &self,
        now: &mut FileRecords,
        stood: &Path,
        added: &[u32],
        side: &mut Abandoned,
    ) -> Result<()> {
        // New entries that are no messages move nothing by themselves.
        let mut passed: HashMap<Json, Option<Json>> = HashMap::new();
        let mut tip = None::<Json>;
        for number in added {
            let record = now.record(*number)?;
            let id = record.node.json(Field::Id).filter(|_| record.is_node());
            let Some(id) = id.filter(|_| !record.is_aside()) else { continue };
            let parent = record.node.json(Field::Parent).filter(|id| !id.is_null()).cloned();
            let parent = above(&passed, parent);
            if !matches!(record.kind, Kind::Message | Kind::BranchSummary) {
                passed.insert(id.detached(), parent);
                continue;
            }
            if tip.is_none() || parent != tip {
                let to = self.path_to(parent.as_ref());
                self.leave(now, *number, (tip.as_ref(), stood), &to, side)?;
            }
            tip = Some(id.detached());
        }
        let to = self.tree.path(self.leaf.as_ref()).unwrap_or_default();
        self.leave(now, AT_END, (tip.as_ref(), stood), &to, side)
    }

    fn path_to(&self, id: Option<&Json>) -> Path {
        id.and_then(|id| self.tree.path(Some(id))).unwrap_or_default()
    }

    /// Notes the entries between the last new message, or else the end of `stood`, and the path
    /// `to` another entry, before this new message.
    fn leave(
        &self,
        now: &mut FileRecords,
        number: u32,
        (tip, stood): (Option<&Json>, &Path),
        to: &Path,
        side: &mut Abandoned,
    ) -> Result<()> {
        let own = tip.map(|tip| self.path_to(Some(tip)));
        let from = own.as_ref().unwrap_or(stood);
        let is_left = |at: &Option<u32>| at.is_some_and(|at| from.contains(at) && !to.contains(at));
        let left = (0..).zip(&self.ordinals).filter(|(_, at)| is_left(at));
        let left: Vec<u32> = left.map(|(number, _)| number).collect();
        if number != AT_END && self.are_open_calls(now, &left)? {
            side.open_calls.extend(left);
        } else if !left.is_empty() {
            side.taken_back.insert(number, left);
        }
        Ok(())
    }

    /// Whether these records are calls that nothing answers.
    fn are_open_calls(&self, now: &mut FileRecords, numbers: &[u32]) -> Result<bool> {
        for number in numbers {
            if !self.is_open_call(&now.record(*number)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a message consists of calls that nothing answers.
    fn is_open_call(&self, message: &Record) -> bool {
        let blocks = message.node.content();
        let is_open = |block: &Node| {
            block.is(Field::Type, block::TOOL_CALL)
                && block.json(Field::Id).is_some_and(|id| !self.answered.contains(id))
        };
        !blocks.is_empty() && blocks.iter().all(is_open)
    }

    /// Path to the last entry that the file had when it was made, and still has.
    fn stood(&self, now: &mut FileRecords, outcomes: &[Match]) -> Result<Option<Path>> {
        let left = outcomes.iter().filter_map(|found| match found {
            Match::Same(number) | Match::Edited(number) => Some(*number),
            Match::Deleted => None,
        });
        let is_entry = |number: &u32| matches!(self.ordinals.get(*number as usize), Some(Some(_)));
        let Some(last) = left.filter(is_entry).max() else { return Ok(None) };
        let record = now.record(last)?;
        Ok(record.node.json(Field::Id).and_then(|id| self.tree.path(Some(id))))
    }
}
