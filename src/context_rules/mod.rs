//! What of a tree's entries a model gets to see, after compactions and edits, and in which words.
//!
//! The stream of records has kinds that other interfaces have no message for: summaries, commands
//! that a person ran, edits of what was said. Where a session's own software does not decide what
//! becomes of them, they are sent as pi sends them, whose tree is the one that holds them as they
//! are: a session must not say something else there than in the stream.

mod words;

pub use words::{is_sent, message};

use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::{HashMap, HashSet};

/// What of a path is sent: what the last compaction keeps and what stands behind it, as the last
/// edits left it. All of it is shown in the path's order before anything is asked.
///
/// Source: `buildSessionContext` of pi's `session-manager.ts`, the rules of release 1.5.2; `kept`,
/// `excluded` and `parent_call` are the stream's own.
#[derive(Debug, Default)]
pub struct Chosen {
    /// The last compaction, and its position.
    compaction: Option<(u32, Node)>,
    /// The position of the first entry that it keeps.
    first_kept: Option<u32>,
    /// The identifiers of those that it keeps one by one.
    kept: HashSet<String>,
    /// Edits by the decoded identifier of what they edit; the last one counts.
    edits: HashMap<String, (u32, Node)>,
}

impl Chosen {
    /// Notes a record of the path.
    pub fn look(&mut self, position: u32, record: &Record) {
        let node = &record.node;
        match record.kind {
            Kind::Compaction => self.compaction = Some((position, node.clone())),
            Kind::ContextEdit => {
                if let Some(target) = node.text(Field::Target) {
                    self.edits.insert(target, (position, node.clone()));
                }
            }
            _ => {}
        }
    }

    /// The compaction that counts, once all of the path was shown. `place` finds the position of a
    /// node by its identifier.
    pub fn compaction(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Option<Node> {
        let (position, node) = self.compaction.clone()?;
        let first = node.json(Field::FirstKept).and_then(place);
        self.first_kept = first.filter(|first| *first < position);
        self.kept = node.json(Field::Kept).map(kept).unwrap_or_default();
        let mut edits = std::mem::take(&mut self.edits);
        edits.retain(|_, (edit, _)| self.is_behind_first(*edit));
        self.edits = edits;
        Some(node)
    }

    /// The record as edits left it, if it is one that a model hears of.
    #[must_use]
    pub fn message(&self, position: u32, record: &Record) -> Option<Record> {
        let node = &record.node;
        if record.is_aside() || !self.counts(position, node) {
            return None;
        }
        let node = match record.kind {
            Kind::Message => self.instead(node)?.unwrap_or_else(|| node.clone()),
            Kind::BranchSummary if node.text(Field::Summary).is_some_and(|s| !s.is_empty()) => {
                node.clone()
            }
            _ => return None,
        };
        Some(Record { kind: record.kind, node })
    }

    /// The same of a record that nobody needs any more.
    #[must_use]
    pub fn taken(&self, position: u32, record: Record) -> Option<Record> {
        if record.kind != Kind::Message || !self.edits.is_empty() {
            return self.message(position, &record);
        }
        (!record.is_aside() && self.counts(position, &record.node)).then_some(record)
    }

    /// The record as edits left it, whether it counts or not; `None` if one leaves it out.
    #[must_use]
    pub fn edited(&self, record: &Record) -> Option<Record> {
        let node = self.instead(&record.node)?.unwrap_or_else(|| record.node.clone());
        Some(Record { kind: record.kind, node })
    }

    /// Whether the compaction leaves this node in the context: the system's own words are in it.
    fn counts(&self, position: u32, node: &Node) -> bool {
        let Some((compaction, _)) = &self.compaction else { return true };
        let system = node.is(Field::Role, "system") && position < *compaction;
        let named = || node.text(Field::Id).is_some_and(|id| self.kept.contains(&id));
        !system && (self.is_behind_first(position) || (!self.kept.is_empty() && named()))
    }

    /// Whether what stands there is kept as one of those behind the first, or comes after all.
    fn is_behind_first(&self, position: u32) -> bool {
        let Some((compaction, _)) = &self.compaction else { return true };
        position > *compaction
            || (position < *compaction && self.first_kept.is_some_and(|first| position >= first))
    }

    /// The message as an edit left it; `None` if the edit left it out, `Some(None)` without one.
    fn instead(&self, node: &Node) -> Option<Option<Node>> {
        if self.edits.is_empty() {
            return Some(None);
        }
        let edit = node.text(Field::Id).and_then(|id| self.edits.get(&id));
        let Some((_, edit)) = edit else { return Some(None) };
        let replacement = edit.node(Field::Replacement)?;
        let mut edited = node.clone();
        block::replace(&mut edited, replacement);
        Some(Some(edited))
    }
}

/// The identifiers in a list of them.
fn kept(list: &Json) -> HashSet<String> {
    list.elements().filter_map(|id| id.text()).collect()
}
