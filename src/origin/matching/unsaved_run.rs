//! Run that a file contains behind the leaf of its session, where neither the file nor the source
//! format has branches. Such a run, which the session's state does not hold yet, continues the
//! conversation. In its own format, a state may lack the messages of its runs.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::Cx;
use crate::formats::Spec;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::record::{Field, Kind, Record};
use std::collections::BTreeMap;

/// Makes the run behind the leaf a part of the conversation. Returns the record that names the
/// leaf, without the leaf.
pub fn taken(
    now: &mut FileRecords,
    added: &mut Vec<u32>,
    source_format: Option<Spec>,
    cx: &Cx<'_>,
) -> Result<BTreeMap<u32, Record>> {
    let mut found = BTreeMap::new();
    if added.is_empty() || source_format.is_none_or(|source_format| source_format.version().tree) {
        return Ok(found);
    }
    let is_list = now.format()?.is_some_and(|file_format| !file_format.version().tree);
    if !is_list || !now.is_foreign(source_format)? {
        return Ok(found);
    }
    let mut stands = None;
    for number in added.iter().copied() {
        let record = now.record(number)?;
        let leaf = record.node.json(Field::Leaf).filter(|_| record.kind == Kind::Session).cloned();
        stands = leaf.map(|leaf| (number, leaf, record)).or(stands);
    }
    let Some((number, leaf, mut record)) = stands else { return Ok(found) };
    if goes_on(now, added, &leaf)? {
        added.retain(|other| *other != number);
        record.node.take(Field::Leaf);
        found.insert(number, record);
        let message =
            "the state of the session does not contain its last run, which is written with it";
        cx.report(Diagnostic::new(Code::OriginAdded, message));
    }
    Ok(found)
}

/// Whether entries follow this entry, all of them are new, and each follows the one before.
fn goes_on(now: &mut FileRecords, added: &[u32], leaf: &Json) -> Result<bool> {
    let (mut last, mut more) = (None, false);
    for number in 0..now.names.len() as u32 {
        let record = now.record(number)?;
        let Some(id) = record.node.json(Field::Id).filter(|_| record.is_node()) else { continue };
        if last.is_some() {
            let follows = record.node.json(Field::Parent) == last.as_ref();
            if !follows || added.binary_search(&number).is_err() {
                return Ok(false);
            }
            more = true;
        }
        last = Some(id.clone()).filter(|id| last.is_some() || id == leaf);
    }
    Ok(more)
}
