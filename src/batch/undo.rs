//! Undoing the changes that a run made to its inputs.

use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Diagnostic, Findings};
use crate::error::{Error, Result};
use crate::repair::QUARANTINE;
use crate::store::{Back, Entry, Name, Restorer, State, Swept, read_journal};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The result of an undo, or of a dry run of it.
#[derive(Debug, Default)]
pub struct Undone {
    /// The report on each file, by path.
    pub reports: Vec<FileReport>,
    /// Number of lines of the journal that could not be read, without a torn last one.
    pub unread: u64,
    /// Whether the last line of the journal was torn.
    pub torn: bool,
}

/// Restores the originals of the run that wrote `journal`, and removes the files that the run
/// added. With `dry`, only checks whether that is possible. `moved` is the present path of the
/// folder that the run worked in; `None` if the folder was not moved.
pub fn undo(journal: &Path, moved: Option<&Path>, dry: bool) -> Result<Undone> {
    let failed = |error| Error::io("cannot open", error);
    if !std::fs::metadata(journal).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let file = File::open(journal).map_err(failed)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(failed(std::io::Error::other("a run writes to it")));
    }
    let Some(read) = read_journal(&file)? else {
        let torn = file.metadata().is_ok_and(|meta| meta.len() > 0);
        return Ok(Undone { torn, ..Undone::default() });
    };
    if !read.header.in_place {
        let message = "the run did not change its inputs, so there is nothing to restore";
        return Err(Error::request(Code::NoBackup, message));
    }
    let root = match moved {
        Some(folder) => folder
            .canonicalize()
            .map_err(|error| Error::io(format!("cannot open {}", folder.display()), error))?,
        None => read.header.root.path(),
    };
    let mut restorer = Restorer::new(root.clone(), dry)?;
    let mut reports: BTreeMap<PathBuf, FileReport> = BTreeMap::new();
    let made = Made::by(&read.entries);
    // The last change is undone first, because a file may have been changed more than once.
    for (place, entry) in read.entries.iter().enumerate().rev() {
        for written in &entry.outputs {
            let path = root.join(written.path.path());
            let earlier = reports.get(&path).map(|report| report.outcome);
            if matches!(earlier, Some(outcome) if outcome != Outcome::Restored || dry) {
                continue;
            }
            let old = written.moved_from.as_ref().unwrap_or(&written.path);
            let before = entry.files.iter().find(|file| file.path == *old);
            let outcome = match before {
                Some(before) if written.moved_from.is_some() => {
                    restorer.move_back(before, written, &old.path())
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
    let reports = reports.into_values().collect();
    Ok(Undone { reports, unread: read.unread, torn: read.torn })
}

/// The files that the run wrote, by path, each with the number of its entry.
struct Made<'e>(HashMap<&'e Name, Vec<(usize, &'e State)>>);

impl<'e> Made<'e> {
    fn by(entries: &'e [Entry]) -> Self {
        let mut made: HashMap<_, Vec<_>> = HashMap::new();
        for (place, entry) in entries.iter().enumerate() {
            for state in &entry.outputs {
                made.entry(&state.path).or_default().push((place, state));
            }
        }
        Self(made)
    }

    /// Returns the state of a file that was read, with the hash of its contents added if an entry
    /// before number `place` contains it, because the run had written the file before.
    fn with_hash(&self, read: &State, place: usize) -> State {
        let written = self.0.get(&read.path).into_iter().flatten().rev();
        let mut before = written.filter(|(at, _)| *at < place).map(|(_, made)| *made);
        let same = before.find(|made| (made.size, &made.modified) == (read.size, &read.modified));
        State { hash: same.and_then(|made| made.hash.clone()), ..read.clone() }
    }
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
    FileReport::skipped(path.to_owned(), Diagnostic::new(Code::AsideKept, Code::AsideKept.title()))
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
