//! Places where the branches of a session part, and nodes that are kept or edited alone.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::formats::{Spec, canonical, records};
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Kind};
use std::collections::HashSet;

/// Returns hashes of the identifiers of two sorts of nodes. The first are nodes that have a child
/// other than the next node: the pieces of an answer behind such a node do not belong to every
/// branch. The second are nodes that a compaction keeps first or to which an edit of the context
/// refers: these must not include the rest of their answer. They are needed only for a tree of
/// another format that has whole answers.
///
/// # Errors
/// If the session cannot be read.
pub fn forks(from: &Format, to: Spec, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<HashSet<u64>> {
    let mut forks = HashSet::new();
    if !to.version().tree || !to.format.whole_answers || from.name == to.format.name {
        return Ok(forks);
    }
    parts.keep()?;
    let log = Log::default();
    let mut before = Json::constant("null");
    for item in records(from, parts, &Cx { options: cx.options, log: &log })? {
        let record = item?.value;
        if record.kind == Kind::Session && from.name == canonical::FORMAT.name {
            let source = record.node.text(Field::Source).unwrap_or_default();
            if source.split('@').next() == Some(to.format.name) {
                break;
            }
        }
        let alone = match record.kind {
            Kind::Compaction => record.node.json(Field::FirstKept),
            Kind::ContextEdit => record.node.json(Field::Target),
            _ => None,
        };
        forks.extend(alone.map(|alone| hash(alone.as_bytes())));
        // The messages of a sub-agent between two messages are a conversation of their own.
        let own = record.is_node() && !record.is_aside();
        let Some(id) = record.node.json(Field::Id).filter(|_| own) else { continue };
        let parent = record.node.json(Field::Parent).filter(|parent| **parent != before);
        forks.extend(parent.map(|parent| hash(parent.as_bytes())));
        before = id.clone();
    }
    Ok(forks)
}
