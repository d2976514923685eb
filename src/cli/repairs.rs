//! Table of the changes that repair made or would make.

use super::text::{printable, size};
use crate::batch::{FileReport, Outcome};

/// The head of the table.
pub const HEAD: &str = "state       fixes  rescued        branch       context  set aside  file";

/// Whether an input gets a row.
pub fn is_row(report: &FileReport) -> bool {
    use Outcome::{Beyond, Healthy, Repairable, Repaired};
    let repairs = report.outcome == Outcome::Refused && report.repair.is_some();
    repairs || matches!(report.outcome, Repaired | Repairable | Healthy | Beyond)
}

/// Formats the row of an input. Counts that change are shown before and after the repair.
pub fn row(report: &FileReport, state: &str) -> String {
    let path = printable(&report.path);
    let both = |before: u64, after: u64| {
        if before == after { after.to_string() } else { format!("{before} → {after}") }
    };
    let cells = match report.repair {
        None => [const { String::new() }; 5].map(|_| "-".to_owned()),
        Some(done) => [
            done.fixes.to_string(),
            done.rescued.to_string(),
            both(done.entries_before, done.entries),
            both(done.messages_before, done.messages),
            size(done.quarantined as f64),
        ],
    };
    let [fixes, rescued, branch, context, aside] = cells;
    format!("{state} {fixes:>6} {rescued:>8} {branch:>13} {context:>13} {aside:>10}  {path}")
}
