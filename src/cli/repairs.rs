//! Table of the changes that repair made or would make.

use super::show::printable;
use crate::batch::{FileReport, Outcome};

/// The head of the table.
pub const HEAD: &str =
    "state       fixes  records  rescued    active branch          context     set aside  file";

/// Whether an input gets a row.
pub fn is_row(outcome: Outcome) -> bool {
    use Outcome::{Beyond, Healthy, Repairable, Repaired};
    matches!(outcome, Repaired | Repairable | Healthy | Beyond)
}

/// Formats the row of an input. Counts that change are shown before and after the repair.
pub fn row(report: &FileReport, state: &str) -> String {
    let path = printable(&report.path);
    let Some(done) = report.repair else {
        let none = "-";
        return format!(
            "{state} {none:>6} {none:>8} {none:>8} {none:>16} {none:>16} {none:>13}  {path}"
        );
    };
    let both = |before: u64, after: u64| {
        if before == after { after.to_string() } else { format!("{before} → {after}") }
    };
    format!(
        "{state} {:>6} {:>8} {:>8} {:>16} {:>16} {:>13}  {path}",
        done.fixes,
        report.records,
        done.rescued,
        both(done.entries_before, done.entries),
        both(done.messages_before, done.messages),
        format!("{} bytes", done.quarantined),
    )
}
