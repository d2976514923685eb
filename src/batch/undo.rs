//! Taking back what a run did to its inputs.

use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Findings};
use crate::error::{Error, Result};
use crate::repair::QUARANTINE;
use crate::store::{Back, Entry, Name, Restorer, State, Swept, read_journal};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// What was taken back, or could be.
#[derive(Debug, Default)]
pub struct Undone {
    /// What became of each file, by path.
    pub reports: Vec<FileReport>,
    /// How many lines of the journal could not be read, a torn last one apart.
    pub unread: u64,
    /// Whether its last line was torn.
    pub torn: bool,
}

/// Puts back the originals of the run that wrote `journal`, and removes what the run added, or with
/// `dry` only looks whether it could. The folder that the run worked in is `moved` now, or where it
/// was.
///
/// # Errors
/// If the journal cannot be used.
pub fn undo(journal: &Path, moved: Option<&Path>, dry: bool) -> Result<Undone> {
    let failed = |error| Error::io("cannot open", error);
    if !std::fs::metadata(journal).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
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
        let message = "the run left its inputs as they were, so there is nothing to put back";
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
                Some(before) => restorer.restore(&made.with_hash(before, place), written),
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
    if !dry {
        // There may be no other run that removes what a killed one left.
        let swept = Swept::default();
        reports.keys().for_each(|path| swept.beside(path));
    }
    let reports = reports.into_values().collect();
    Ok(Undone { reports, unread: read.unread, torn: read.torn })
}

/// What the run wrote, by path, each time with the place of its entry.
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

    /// A file that was read, with the hash of its contents where an entry before the one at `place`
    /// tells it: that of the run that had written it.
    fn with_hash(&self, read: &State, place: usize) -> State {
        let written = self.0.get(&read.path).into_iter().flatten().rev();
        let mut before = written.filter(|(at, _)| *at < place).map(|(_, made)| *made);
        let same = before.find(|made| (made.size, &made.modified) == (read.size, &read.modified));
        State { hash: same.and_then(|made| made.hash.clone()), ..read.clone() }
    }
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
