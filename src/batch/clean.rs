//! Removing the originals that a run kept beside the files that it changed.

use super::past::{JournalWork, Made, Past, before};
use super::report::{FileReport, Outcome};
use crate::diagnostic::{Code, Diagnostic, Findings};
use crate::error::{Error, Result};
use crate::store::{Back, Entry, Name, Restorer, State};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Removes the originals that the run which wrote `journal` kept, each only if the run reported
/// neither a warning nor an error for its file and the file is still what the run wrote. With `dry`,
/// only checks which ones those are. `moved` is the present path of the folder that the run worked
/// in; `None` if the folder was not moved.
pub fn clean(journal: &Path, moved: Option<&Path>, dry: bool) -> Result<JournalWork> {
    let nothing = "the run did not change its inputs, so it kept no originals";
    let past = match Past::open(journal, moved, nothing)? {
        Ok(past) => past,
        Err(nothing) => return Ok(nothing),
    };
    let mut restorer = Restorer::new(past.root.clone(), dry)?;
    let mut reports: BTreeMap<PathBuf, FileReport> = BTreeMap::new();
    let made = Made::by(&past.entries);
    let mut later: HashMap<&Name, Later<'_>> = HashMap::new();
    // The last change comes first: it shows what became of an earlier output of the same path.
    for (place, entry) in past.entries.iter().enumerate().rev() {
        if let Some(database) = restorer.grown(entry)? {
            let back = |is_there| if is_there { Back::Removed } else { Back::There };
            let done = database.discard(restorer.is_dry()).map(back);
            let (path, size) = (database.backup.clone(), database.states.0.size);
            reports.entry(path).or_insert_with_key(|path| report(path, size, done));
            continue;
        }
        for written in &entry.outputs {
            let Some((backup, read)) = written.backup.as_ref().zip(before(entry, written)) else {
                continue;
            };
            let path = past.root.join(backup.path());
            if reports.contains_key(&path) {
                // The run kept the original of another change there after an undo.
                continue;
            }
            let newer = match later.remove(&written.path) {
                Some(Later::Unsure(newest, read)) => {
                    restorer.is_as_written(newest)?.then_some(Later::Read(read))
                }
                newer => newer,
            };
            let done = match why_kept(entry, written, newer.as_ref()) {
                Some(_) if path.symlink_metadata().is_err() => Ok(Back::There),
                Some(why) => Err(Error::request(Code::NotAsWritten, why)),
                None => restorer.discard(&made.with_hash(read, place), written, newer.is_none()),
            };
            let known = match (&done, newer) {
                (Ok(Back::There), None) => Later::Unsure(written, read),
                (Ok(_), None | Some(Later::Read(_))) => Later::Read(read),
                _ => Later::Kept,
            };
            later.insert(&read.path, known);
            reports.insert(path.clone(), report(&path, read.size, done));
        }
    }
    restorer.finish()?;
    Ok(past.with(reports.into_values()))
}

/// The next later change of a path in the journal, or its last one.
enum Later<'e> {
    /// The run read the file in this state, and made what is there now of it.
    Read(&'e State),
    /// The original is not there, and so the file was not compared with the first state, which the
    /// run wrote. It had read the second one.
    Unsure(&'e State, &'e State),
    /// The original is kept.
    Kept,
}

/// Returns the reason why an original is kept, as far as the journal shows one.
fn why_kept(entry: &Entry, written: &State, later: Option<&Later<'_>>) -> Option<&'static str> {
    let is_same = |read: &State| (written.size, &written.modified) == (read.size, &read.modified);
    match later {
        _ if entry.exit > 0 || entry.warned => {
            Some("the run reported a warning or an error for the file")
        }
        Some(Later::Kept) => Some("an original of a later change is kept"),
        Some(Later::Read(state)) if !is_same(state) => {
            Some("the file was changed before the run changed it again")
        }
        _ => None,
    }
}

/// Returns the report on an original of `size` bytes.
fn report(path: &Path, size: u64, done: Result<Back>) -> FileReport {
    let mut report = FileReport::new(path);
    match done {
        Ok(Back::There) => report.outcome = Outcome::Done,
        Ok(_) => {
            report.outcome = Outcome::Removed;
            report.freed = Some(size);
        }
        Err(error) if error.code() == Code::NotAsWritten => {
            report.outcome = Outcome::Kept;
            let message = format!("{}: {}", Code::OriginalKept.title(), error.message());
            report.findings = Findings::of(Diagnostic::new(Code::OriginalKept, message));
        }
        Err(error) => report.findings = Findings::of(report.fail(error)),
    }
    report
}
