//! Taking back what a run did to its inputs.

use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Findings};
use crate::error::{Error, Result};
use crate::store::{Back, Entry, Restorer, State, read_journal};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Puts back the originals of the run that wrote `journal`, or with `dry` only looks whether it
/// could. Gives what became of each file, by path, and how many lines could not be read.
///
/// # Errors
/// If the journal cannot be used.
pub fn undo(journal: &Path, dry: bool) -> Result<(Vec<FileReport>, u64)> {
    let failed = |error| Error::io("cannot open", error);
    let file = File::open(journal).map_err(failed)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(failed(std::io::Error::other("a run writes to it")));
    }
    let Some(read) = read_journal(&file)? else { return Ok((Vec::new(), 0)) };
    if !read.header.in_place {
        let message = "the run left its inputs as they were, so there is nothing to put back";
        return Err(Error::request(Code::NoBackup, message));
    }
    let root = read.header.root.path();
    let mut restorer = Restorer::new(root.clone(), dry)?;
    let mut reports: BTreeMap<PathBuf, FileReport> = BTreeMap::new();
    // What was done last is taken back first; a file may have been changed more than once.
    for entry in read.entries.iter().rev() {
        for (before, written) in replaced(entry) {
            let path = root.join(written.path.path());
            let earlier = reports.get(&path).map(|report| report.outcome);
            if matches!(earlier, Some(outcome) if outcome != Outcome::Restored || dry) {
                continue;
            }
            let outcome = restorer.restore(before, written);
            if earlier.is_none() {
                let report = report(&path, outcome);
                reports.insert(path, report);
            }
        }
    }
    restorer.finish()?;
    Ok((reports.into_values().collect(), read.unread))
}

/// The files that were changed in place, before and after.
fn replaced(entry: &Entry) -> impl Iterator<Item = (&State, &State)> {
    entry.outputs.iter().filter_map(|written| {
        let before = entry.files.iter().find(|file| file.path == written.path)?;
        Some((before, written))
    })
}

fn report(path: &Path, outcome: Result<Back>) -> FileReport {
    let mut report = FileReport::new(path.display().to_string());
    match outcome {
        Ok(Back::Restored) => report.outcome = Outcome::Restored,
        Ok(Back::There) => report.outcome = Outcome::Done,
        Err(error) => report.findings = Findings::of(report.fail(error)),
    }
    report
}
