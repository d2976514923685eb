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
use std::collections::HashSet;

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
///
/// # Errors
/// If the records cannot be read back.
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

/// Counts entries on abandoned branches as deleted, and drops the new ones there. `tree`
/// states whether the file has branches of its own. Calls that nothing answers are not deleted if
/// they are all that is left behind: an agent leaves them when it resumes the session. Returns the
/// numbers of such calls.
///
/// # Errors
/// If the records cannot be read back.
pub fn behind(
    now: &mut FileRecords,
    (outcomes, added): (&mut [Match], &mut Vec<u32>),
    tree: bool,
    cx: &Cx<'_>,
) -> Result<HashSet<u32>> {
    let (entries, mut open_calls) = (Entries::of(now, cx)?, HashSet::new());
    let Some(stands) = entries.tree.path(entries.leaf.as_ref()) else { return Ok(open_calls) };
    let Some(stood) = entries.stood(now, outcomes)? else { return Ok(open_calls) };
    let left = |number: u32, before: Option<&Path>| {
        let at = entries.ordinals.get(number as usize).copied().flatten();
        at.is_some_and(|at| !stands.contains(at) && before.is_none_or(|path| path.contains(at)))
    };
    let (mut count, mut aside) = (0, 0);
    added.retain(|number| {
        let gone = left(*number, None);
        let of_another = entries.aside.get(*number as usize) == Some(&true);
        let counted = if of_another { &mut aside } else { &mut count };
        *counted += usize::from(gone);
        !gone
    });
    let mut behind = Vec::new();
    for (place, found) in outcomes.iter().enumerate() {
        if let Match::Same(number) | Match::Edited(number) = *found
            && left(number, Some(&stood))
        {
            behind.push((place, number));
        }
    }
    let mut only_calls = !added.is_empty();
    for (_, number) in &behind {
        only_calls = only_calls && entries.is_open_call(&now.record(*number)?);
    }
    if only_calls {
        open_calls.extend(behind.iter().map(|(_, number)| *number));
    } else {
        count += behind.len();
        for (place, _) in &behind {
            outcomes.get_mut(*place).into_iter().for_each(|found| *found = Match::Deleted);
        }
    }
    report_lost(count, entry(tree), cx);
    report_lost(aside, ("message of a sub-agent", "messages of sub-agents"), cx);
    Ok(open_calls)
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
            let blocks = value.node.nodes(Field::Content).unwrap_or_default().iter();
            answered.extend(blocks.filter_map(|b| b.json(Field::Call)).map(Json::detached));
            ordinals.push(value.is_node().then_some(nodes));
            if value.is_node() {
                shape.record(&Located { value, at: Position::default() });
                nodes += 1;
            }
        }
        Ok(Self { tree: shape.finish(), ordinals, leaf, aside, answered })
    }

    /// Whether a message consists of calls that nothing answers.
    fn is_open_call(&self, message: &Record) -> bool {
        let blocks = message.node.nodes(Field::Content).unwrap_or_default();
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
