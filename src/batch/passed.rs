//! Reports about damage that a run skipped.

use super::action::Action;
use super::report::FileReport;
use crate::diagnostic::FieldOutcome;
use crate::format::{OnError, Options};

/// Adds to each finding about a damaged line whether the line was left out or kept in the origin,
/// if the input gave an output. For a file that cannot be read to its end, adds from which byte on
/// it was not read. Data that is not in the output counts as lost.
pub fn add_outcomes(report: &mut FileReport, action: &Action, options: &Options) {
    let writes = matches!(action, Action::Migrate(_) | Action::Convert(_) | Action::View(_));
    let skips = options.on_error == OnError::Skip;
    for found in &mut report.findings.diagnostics {
        found.passed |= found.code.is_of_line();
        let fate = match found.code {
            code if code.is_end() => {
                let byte = found.at.map_or(0, |at| at.byte);
                let output = if writes { ", and is not in the output" } else { "" };
                format!("what follows byte {byte} was not read{output}")
            }
            code if !writes || !code.is_of_line() => continue,
            _ if skips => "left out".to_owned(),
            _ if options.origin => "carried along".to_owned(),
            _ => continue,
        };
        found.message = format!("{}; {fate}", found.message);
    }
    // Only the first findings are stored, but all of them are counted.
    let counts = || report.findings.counts.iter();
    let lines: u64 = counts().filter(|(code, _)| code.is_of_line()).map(|(_, n)| n).sum();
    let rests: u64 = counts().filter(|(code, _)| code.is_end()).map(|(_, n)| n).sum();
    let lost = [("damaged line", if skips { lines } else { 0 }), ("rest of a damaged file", rests)];
    for (what, count) in lost.into_iter().filter(|(_, count)| writes && *count > 0) {
        *report.findings.losses.entry((FieldOutcome::Dropped, what.to_owned())).or_default() +=
            count;
    }
}
