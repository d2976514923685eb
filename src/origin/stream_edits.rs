//! Edits of a session that is a canonical stream.

use super::base::Base;
use super::file_records::FileRecords;
use super::matching::outcomes::{Match, aligned};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::Cx;
use crate::formats::canonical;
use crate::record::{Field, Kind};

/// Whether two streams have the same records, in any spelling. In a stream a user may edit any
/// field.
pub fn are_same_streams(base: &mut Base, now: &mut FileRecords) -> Result<bool> {
    if base.names.len() != now.names.len() {
        return Ok(false);
    }
    let [mut was, mut is] = [Vec::new(), Vec::new()];
    for number in 0..base.names.len() as u32 {
        was.clear();
        is.clear();
        canonical::normal_line_of(&base.record(number)?, &|_| true, &mut was);
        canonical::normal_line_of(&now.record(number)?, &|_| true, &mut is);
        if was != is {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reports the edits of a stream. Returns the numbers of new records if nothing else was edited.
pub fn report_stream_edits(base: &Base, now: &FileRecords, cx: &Cx<'_>) -> Vec<u32> {
    let (outcomes, mut added) = aligned(&base.names, &now.names);
    let report = |code, message: &str, number: Option<u32>| {
        let at = number.and_then(|number| now.places.get(number as usize)).copied();
        let found = Diagnostic::new(code, message);
        cx.report(at.map_or(found.clone(), |at| found.at(at)));
    };
    let is_only_new = outcomes.iter().all(|outcome| matches!(outcome, Match::Same(_)));
    for outcome in outcomes {
        match outcome {
            Match::Same(_) => {}
            Match::Edited(number) => {
                report(Code::OriginEdited, "a record was edited", Some(number));
            }
            Match::Deleted => report(Code::OriginDeleted, "a record was deleted", None),
        }
    }
    added.iter().for_each(|new| report(Code::OriginAdded, "a record was added", Some(*new)));
    added.retain(|_| is_only_new);
    added
}

/// Whether all of these records are messages without members of their own format, which need its
/// form first.
pub fn has_foreign_messages(now: &mut FileRecords, added: Vec<u32>) -> Result<bool> {
    let mut all = !added.is_empty();
    for number in added {
        let record = now.record(number)?;
        all &= record.kind == Kind::Message && record.node.get(Field::Extra).is_none();
    }
    Ok(all)
}
