//! Taking back what a run did to its inputs.

use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Findings};
use crate::error::{Error, Result};
use crate::repair::QUARANTINE;
use crate::store::{Back, Entry, Restorer, State, read_journal};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Puts back the originals of the run that wrote `journal`, and removes what the run added, or with
/// `dry` only looks whether it could. Gives what became of each file, by path, and how many lines could not be read.
///
/// # Errors
/// If the journal cannot be used.
pub fn undo(journal: &Path, dry: bool) -> Result<(Vec<FileReport>, u64)> {
    let failed = |error| Error::io("cannot open", error);
    if !std::fs::metadata(journal).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
    }
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
    for (place, entry) in read.entries.iter().enumerate().rev() {
        for written in &entry.outputs {
            let path = root.join(written.path.path());
            let earlier = reports.get(&path).map(|report| report.outcome);
            if matches!(earlier, Some(outcome) if outcome != Outcome::Restored || dry) {
                continue;
            }
            let before = entry.files.iter().find(|file| file.path == written.path);
            let outcome = match before {
                Some(before) => {
                    let known = read.entries.get(..place).unwrap_or_default();
                    restorer.restore(&with_hash(before, known), written)
                }
                None if is_aside(written) => continue,
                None => restorer.remove(written),
            };
            // What was put back once needs no word if there is nothing more to do.
            if earlier.is_none() || !matches!(outcome, Ok(Back::Restored | Back::There)) {
                let report = report(&path, outcome);
                reports.insert(path, report);
            }
        }
    }
    restorer.finish()?;
    Ok((reports.into_values().collect(), read.unread))
}

/// A file that was read, with the hash of its contents where an entry before tells it: that of the
/// run that had written it.
fn with_hash(read: &State, before: &[Entry]) -> State {
    let mut made = before.iter().rev().flat_map(|entry| &entry.outputs);
    let same = made.find(|made| {
        (&made.path, made.size, &made.modified) == (&read.path, read.size, &read.modified)
    });
    State { hash: same.and_then(|made| made.hash.clone()), ..read.clone() }
}

/// Whether a file holds what was set aside. It stays, for it may be all that is left of that.
fn is_aside(written: &State) -> bool {
    let path = written.path.path();
    written.aside
        || path.file_name().is_some_and(|name| name.to_string_lossy().contains(QUARANTINE))
}

fn report(path: &Path, outcome: Result<Back>) -> FileReport {
    let mut report = FileReport::new(path);
    match outcome {
        Ok(Back::Restored) => report.outcome = Outcome::Restored,
        Ok(Back::Removed) => report.outcome = Outcome::Removed,
        Ok(Back::There) => report.outcome = Outcome::Done,
        Err(error) => report.findings = Findings::of(report.fail(error)),
    }
    report
}
