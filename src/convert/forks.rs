//! Places where the branches of a session part, and nodes that are kept or edited alone.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::formats::{Spec, records};
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Kind, Record};
use std::collections::HashSet;

/// Hashes of the identifiers of two sorts of nodes. The first are nodes that have a child other than
/// the next node: the pieces of an answer behind such a node do not belong to every branch. The
/// second are nodes that a compaction keeps first or to which an edit of the context refers: these
/// must not include the rest of their answer.
#[derive(Debug)]
pub struct Forks {
    pub nodes: HashSet<u64>,
    /// The node before.
    before: Json,
    /// Name of the target's format, whose own sessions need no forks.
    to: &'static str,
    /// Whether the session is one of these.
    is_own: bool,
}

impl Forks {
    /// Begins a session; `None` unless they are needed: only for a tree of another format that has
    /// whole answers.
    pub fn begin(from: &Format, to: Spec) -> Option<Self> {
        let needed =
            to.version().tree && to.format.agent.whole_answers && from.name != to.format.name;
        let before = Json::constant("null");
        needed.then(|| Self { nodes: HashSet::new(), before, to: to.format.name, is_own: false })
    }

    /// Finds the nodes of a session.
    ///
    /// # Errors
    /// If the session cannot be read.
    pub fn of(from: &Format, to: Spec, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<HashSet<u64>> {
        let Some(mut forks) = Self::begin(from, to) else { return Ok(HashSet::new()) };
        parts.keep()?;
        let log = Log::default();
        for item in records(from, parts, &Cx { options: cx.options, log: &log })? {
            forks.record(&item?.value);
        }
        Ok(forks.nodes)
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record) {
        // A stream may come from the target's format.
        let source = record.node.text(Field::Source).filter(|_| record.kind == Kind::Session);
        self.is_own |= source.is_some_and(|source| source.split('@').next() == Some(self.to));
        if self.is_own {
            return;
        }
        let alone = match record.kind {
            Kind::Compaction => record.node.json(Field::FirstKept),
            Kind::ContextEdit => record.node.json(Field::Target),
            _ => None,
        };
        self.nodes.extend(alone.map(|alone| hash(alone.as_bytes())));
        // The messages of a sub-agent between two messages are a conversation of their own.
        let own = record.is_node() && !record.is_aside();
        let Some(id) = record.node.json(Field::Id).filter(|_| own) else { return };
        let parent = record.node.json(Field::Parent).filter(|parent| **parent != self.before);
        self.nodes.extend(parent.map(|parent| hash(parent.as_bytes())));
        self.before = id.clone();
    }
}
