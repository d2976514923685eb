//! Undoing the changes that a run made to its inputs.

use super::past::{JournalWork, Made, Past, before};
use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Diagnostic, Findings};
use crate::error::Result;
use crate::repair::QUARANTINE;
use crate::store::{Back, Name, Restorer, State, Swept};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Restores the originals of the run that wrote `journal`, and removes the files that the run
/// added. The files of one session stay as they are if one of them does. With `dry`, only checks
/// whether that is possible. `moved` is the present path of the folder that the run worked in; `None`
/// if the folder was not moved.
pub fn undo(journal: &Path, moved: Option<&Path>, dry: bool) -> Result<JournalWork> {
    let nothing = "the run did not change its inputs, so there is nothing to restore";
    let past = match Past::open(journal, moved, nothing)? {
        Ok(past) => past,
        Err(nothing) => return Ok(nothing),
    };
    if past.is_one_session {
        let mut failed = walk(&past, true)?;
        failed.retain(|_, report| report.outcome == Outcome::Failed);
        if !failed.is_empty() {
            return Ok(past.with(failed.into_values()));
        }
    }
    let reports = walk(&past, dry)?;
    Ok(past.with(reports.into_values()))
}

/// Returns the report on each file.
fn walk(past: &Past, dry: bool) -> Result<BTreeMap<PathBuf, FileReport>> {
    let root = &past.root;
    let mut restorer = Restorer::new(root.clone(), dry)?;
    let mut reports: BTreeMap<PathBuf, FileReport> = BTreeMap::new();
    let made = Made::by(&past.entries);
    let mut later: HashMap<&Name, &State> = HashMap::new();
    // The last change is undone first, because a file may have been changed more than once.
    for (place, entry) in past.entries.iter().enumerate().rev() {
        if let Some(database) = restorer.grown(entry)? {
            let back = |is_back| if is_back { Back::Restored } else { Back::There };
            let outcome = database.restore(restorer.is_dry()).map(back);
            let path = database.path.clone();
            reports.entry(path).or_insert_with_key(|path| report(path, outcome));
            continue;
        }
        for written in &entry.outputs {
            let read_later =
                before(entry, written).and_then(|read| later.insert(&written.path, read));
            if read_later.is_some_and(|read| never_was(written, read)) {
                continue;
            }
            let path = root.join(written.path.path());
            let earlier = reports.get(&path).map(|report| report.outcome);
            if matches!(earlier, Some(outcome) if outcome != Outcome::Restored || dry) {
                continue;
            }
            let outcome = match before(entry, written) {
                Some(before) if written.moved_from.is_some() => {
                    restorer.move_back(before, written, &before.path.path())
                }
                Some(before) => restorer.restore(&made.with_hash(before, place), written),
                None if is_aside(written) => {
                    reports.entry(path).or_insert_with_key(|path| quarantine_report(path));
                    continue;
                }
                None => restorer.remove(written),
            };
            // A file that was restored before is not reported again if there is nothing more to do.
            if earlier.is_none() || !matches!(outcome, Ok(Back::Restored | Back::There)) {
                let report = report(&path, outcome);
                reports.insert(path, report);
            }
        }
    }
    restorer.finish()?;
    if !dry {
        // There may be no later run that removes the temporary files of a killed one.
        let swept = Swept::default();
        reports.keys().for_each(|path| swept.beside(path));
    }
    Ok(reports)
}

/// Whether a file never was what an entry says, because a later one read something else: a run was
/// killed before it wrote the file, or did the work again on another state.
fn never_was(written: &State, read_later: &State) -> bool {
    read_later.hash.is_some() && read_later.hash != written.hash
}

/// Whether a file is a quarantine file. Undo keeps such a file, because it may be the only copy of
/// its contents.
fn is_aside(written: &State) -> bool {
    let path = written.path.path();
    written.aside
        || path.file_name().is_some_and(|name| name.to_string_lossy().contains(QUARANTINE))
}

/// Returns the report on a quarantine file that undo keeps.
fn quarantine_report(path: &Path) -> FileReport {
    FileReport::skipped(path.to_owned(), Diagnostic::of(Code::AsideKept))
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
