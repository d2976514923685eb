//! Edits of the context, where the source format has none: there the message itself is edited, or
//! deleted.

use crate::diagnostic::{self, Code, Diagnostic};
use crate::error::Result;
use crate::format::Cx;
use crate::formats::Spec;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::outcomes::Match;
use crate::record::{Field, Kind, Node, block};
use std::collections::HashMap;

/// Applies new edits of the context to the messages that they name, if the source format has no
/// such edits.
pub fn apply(
    now: &mut FileRecords,
    (outcomes, added): (&mut [Match], &mut Vec<u32>),
    source_format: Option<Spec>,
    cx: &Cx<'_>,
) -> Result<()> {
    if source_format
        .is_none_or(|source_format| source_format.version().kinds.contains(&Kind::ContextEdit))
    {
        return Ok(());
    }
    let mut edits: HashMap<String, Option<Node>> = HashMap::new();
    let mut others = Vec::new();
    for number in added.iter().copied() {
        let record = now.record(number)?;
        match record.node.text(Field::Target).filter(|_| record.kind == Kind::ContextEdit) {
            // The last one counts.
            Some(target) => {
                drop(edits.insert(target, record.node.node(Field::Replacement).cloned()));
            }
            None => others.push(number),
        }
    }
    if edits.is_empty() {
        return Ok(());
    }
    *added = others;
    let mut gone = Vec::new();
    for number in 0..now.names.len() as u32 {
        let mut record = now.record(number)?;
        let id = record.node.text(Field::Id).filter(|_| record.kind == Kind::Message);
        match id.and_then(|id| edits.get(&id)) {
            Some(Some(replacement)) => {
                block::replace(&mut record.node, replacement);
                now.replacements.insert(number, record);
            }
            Some(None) => gone.push(number),
            None => {}
        }
    }
    for found in outcomes.iter_mut() {
        match *found {
            Match::Same(number) if now.replacements.contains_key(&number) => {
                *found = Match::Edited(number)
            }
            Match::Same(number) | Match::Edited(number) if gone.contains(&number) => {
                *found = Match::Deleted;
            }
            _ => {}
        }
    }
    let count = added.len();
    added.retain(|number| !gone.contains(number));
    for _ in added.len()..count {
        cx.log.count(diagnostic::FieldOutcome::Dropped, "message that is left out of the context");
        let message = "a message that is left out of the context has no place in the source format";
        cx.report(Diagnostic::new(Code::Dropped, message));
    }
    Ok(())
}
