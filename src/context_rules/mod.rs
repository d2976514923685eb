//! Rules that choose which entries of a tree a model gets, after compactions and edits, and in
//! which words.
//!
//! The stream of records has kinds for which other interfaces have no message: summaries, commands
//! that the user ran, edits of messages. Where a session's own software does not decide how these
//! are sent, they are sent as pi sends them, because pi's tree holds them as they are. A session
//! must not have another content in pi than in the stream.

mod list;
mod paired;
mod resent;
mod stream;
mod words;

pub use list::list;
pub use paired::Paired;
pub use resent::NO_RESULT;
pub use stream::stream;
pub use words::{is_sent, message};

use crate::format::{Api, Resent};
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::{HashMap, HashSet};

/// Choice of the entries of a path that are sent: those that the last compaction keeps and those
/// behind it, with the last edits applied. All of the path is shown in its order before anything is
/// asked.
///
/// Source: `buildSessionContext` of pi's `session-manager.ts`, the rules of release 1.5.2; `kept`,
/// `excluded` and `parent_call` are the stream's own.
#[derive(Debug, Default)]
pub struct Chosen {
    /// The last compaction, and its position.
    compaction: Option<(u32, Node)>,
    /// The position of the first entry that it keeps.
    first_kept: Option<u32>,
    /// The identifiers of the entries that the compaction keeps one by one.
    kept_ids: HashSet<String>,
    /// Edits by the decoded identifier of their target; the last edit counts.
    edits: HashMap<String, (u32, Node)>,
    /// System messages with their positions.
    system: Vec<(u32, Record)>,
    /// The last model and its provider, as far as they are known.
    model: Option<(Option<Json>, Option<Json>)>,
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
            // The single member `model` of pi's first releases is unknown to the later ones.
            Kind::ModelChange if node.json(Field::Provider).is_none() => {
                self.model = Some((None, None));
            }
            Kind::ModelChange => self.model = Some(model(node)),
            Kind::Message if node.is(Field::Role, "assistant") => self.model = Some(model(node)),
            Kind::Message if node.is(Field::Role, "system") => {
                self.system.push((position, record.clone()));
            }
            _ => {}
        }
    }

    /// Returns the provider and the model with which the session continues.
    pub fn model(&self) -> Option<&(Option<Json>, Option<Json>)> {
        self.model.as_ref()
    }

    /// Returns the stage that makes messages fit for an interface as pi does, once
    /// [`compaction`](Self::compaction) was asked for. `first` is the system message before
    /// those of the path.
    pub fn resent(&self, api: Api, first: Option<&Node>) -> Box<dyn Resent> {
        let own = self.system.iter().filter_map(|(at, record)| self.message(*at, record));
        let own: Vec<Node> = own.map(|record| record.node).collect();
        let system = words::prompt(first.into_iter().chain(&own));
        let last = self
            .model
            .as_ref()
            .and_then(|(provider, model)| Some((provider.as_ref()?, model.as_ref()?)));
        Box::new(resent::Messages::new(api, system, last))
    }

    /// Returns the compaction that counts, once all of the path was shown. `place` finds the
    /// position of a node by its identifier.
    pub fn compaction(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Option<Node> {
        let (position, node) = self.compaction.clone()?;
        let first = node.json(Field::FirstKept).and_then(place);
        self.first_kept = first.filter(|first| *first < position);
        self.kept_ids = node.json(Field::Kept).map(identifiers).unwrap_or_default();
        let mut edits = std::mem::take(&mut self.edits);
        edits.retain(|_, (edit, _)| self.is_behind_first(*edit));
        self.edits = edits;
        Some(node)
    }

    /// Returns the record with edits applied, if it is one that is sent to a model.
    pub fn message(&self, position: u32, record: &Record) -> Option<Record> {
        let node = &record.node;
        if record.is_aside() || !self.counts(position, node) {
            return None;
        }
        let node = match record.kind {
            Kind::Message => self.with_edit(node)?.unwrap_or_else(|| node.clone()),
            Kind::BranchSummary if node.text(Field::Summary).is_some_and(|s| !s.is_empty()) => {
                node.clone()
            }
            _ => return None,
        };
        Some(Record { kind: record.kind, node })
    }

    /// Returns the message of a record that is consumed.
    pub fn taken(&self, position: u32, record: Record) -> Option<Record> {
        if record.kind != Kind::Message || !self.edits.is_empty() {
            return self.message(position, &record);
        }
        (!record.is_aside() && self.counts(position, &record.node)).then_some(record)
    }

    /// Returns the record with edits applied, whether it counts or not; `None` if an edit leaves it
    /// out.
    pub fn edited(&self, record: &Record) -> Option<Record> {
        let node = self.with_edit(&record.node)?.unwrap_or_else(|| record.node.clone());
        Some(Record { kind: record.kind, node })
    }

    /// Whether the compaction leaves this node in the context. System messages before the
    /// compaction do not count, because the compaction contains them.
    fn counts(&self, position: u32, node: &Node) -> bool {
        let Some((compaction, _)) = &self.compaction else { return true };
        let system = node.is(Field::Role, "system") && position < *compaction;
        let named = || node.text(Field::Id).is_some_and(|id| self.kept_ids.contains(&id));
        !system && (self.is_behind_first(position) || (!self.kept_ids.is_empty() && named()))
    }

    /// Whether the position is among those that the compaction keeps from its first kept entry on,
    /// or is behind the compaction.
    fn is_behind_first(&self, position: u32) -> bool {
        let Some((compaction, _)) = &self.compaction else { return true };
        position > *compaction
            || (position < *compaction && self.first_kept.is_some_and(|first| position >= first))
    }

    /// Returns the message with an edit applied; `None` if the edit leaves it out, `Some(None)`
    /// without an edit.
    fn with_edit(&self, node: &Node) -> Option<Option<Node>> {
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

fn model(node: &Node) -> (Option<Json>, Option<Json>) {
    (node.json(Field::Provider).cloned(), node.json(Field::Model).cloned())
}

/// Returns the identifiers in a JSON list.
fn identifiers(list: &Json) -> HashSet<String> {
    list.elements().filter_map(|id| id.text()).collect()
}
