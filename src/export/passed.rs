//! Checks of turns, by which sessions are selected.

use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::record::{Field, Kind, Record};

/// Whether a session has a check of a turn, and every check that it has was passed.
///
/// # Errors
/// If the session cannot be read.
pub fn is_passed(format: &Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<bool> {
    parts.keep()?;
    let mut all = None;
    for item in format.records(parts, cx)? {
        if let Some(passed) = outcome(&item?.value) {
            all = Some(all.unwrap_or(true) && passed);
        }
    }
    Ok(all == Some(true))
}

/// Returns whether the check of a turn was passed; `None` for a record without a check. Sessions
/// state it as a boolean, or in the words of a judge, which begin with a mark.
fn outcome(record: &Record) -> Option<bool> {
    let eval = record.node.node(Field::Eval).filter(|_| record.kind == Kind::Turn)?;
    let text = |field| eval.text(field).filter(|text| !text.trim().is_empty());
    match eval.json(Field::Passed) {
        Some(passed) if !passed.is_null() => Some(passed.as_bytes() == b"true"),
        _ => text(Field::Evaluation).map(|words| words.trim_start().starts_with('\u{2713}')),
    }
}
