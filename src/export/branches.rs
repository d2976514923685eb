//! The ends of a session's branches.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::json::Json;
use crate::record::Field;
use crate::session::Session;
use std::collections::HashSet;

/// Returns the identifiers of the entries at the ends of all branches; `None` means the
/// session's own end.
///
/// # Errors
/// If the session cannot be read.
pub fn leaves(
    format: &'static Format,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<Vec<Option<Json>>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let session = Session::open(format, parts, &quiet)?;
    let own = session.path(None).unwrap_or_default();
    let (tree, _, records) = session.into_tree_labels_records(&quiet)?;
    let mut ends = HashSet::new();
    tree.into_branches().walk(&own, &mut |stop| {
        if stop.children == 0 && !own.contains(stop.ordinal) {
            ends.insert(stop.ordinal);
        }
        true
    });
    let mut found = vec![None];
    let mut ordinal = 0;
    for record in records {
        let record = record?.value;
        if !record.is_node() {
            continue;
        }
        if ends.contains(&ordinal) && !record.is_aside() {
            found.extend(record.node.json(Field::Id).cloned().map(Some));
        }
        ordinal += 1;
    }
    Ok(found)
}
