//! The journal of files that are written together: how it begins and ends, and how the same command
//! finds the one of a run that was killed.

use super::place::remove_empty;
use crate::error::Result;
use crate::store::back::Restorer;
use crate::store::journal::{Entry, Header, Name, Read, State, read};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Outcome of the last entry of a run that was not interrupted.
const FINISHED: &str = "finished";

/// Number of journals, the newest ones, among which one of an interrupted run is searched.
const NEWEST: usize = 100;

/// A command that changes agents' own files.
#[derive(Clone, Copy, Debug)]
pub struct Undertaking<'u> {
    /// The command.
    pub command: &'u str,
    /// Its arguments, as far as they determine the work.
    pub settings: &'u str,
    /// The outcome for each file.
    pub outcome: &'u str,
}

impl Undertaking<'_> {
    /// Returns the first line of a journal.
    pub fn header(&self, root: &Path) -> Header {
        Header {
            copyist: Header::MARK.to_owned(),
            version: Header::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.to_owned(),
            settings: self.settings.to_owned(),
            in_place: true,
            root: Name::from(root),
        }
    }

    /// Returns the entry for a file, without its state before.
    pub fn entry(&self, path: Name, written: State) -> Entry {
        Entry { outcome: self.outcome.to_owned(), outputs: vec![written], ..Entry::of(path) }
    }

    /// Whether a journal belongs to a run of the same command that did not end.
    pub fn is_unfinished(&self, journal: &Read) -> bool {
        let Header { command, settings, .. } = &journal.header;
        let ended = journal.entries.last().is_some_and(|last| last.outcome == FINISHED);
        (command.as_str(), settings.as_str()) == (self.command, self.settings) && !ended
    }
}

/// Returns the last entry of a run.
pub fn finished() -> Entry {
    Entry { outcome: FINISHED.to_owned(), ..Entry::of(Name::default()) }
}

/// Finds the journal of the same command in a folder, if its newest run did not end and no process
/// carries it out.
pub fn unfinished(folder: &Path, what: &Undertaking<'_>) -> Option<PathBuf> {
    let begin = format!("{}-", what.command);
    let files = std::fs::read_dir(folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
    let is_its =
        |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&begin));
    let mut journals: Vec<_> = files.filter(is_its).collect();
    journals.sort_unstable_by(|a, b| b.cmp(a));
    let own = journals.into_iter().take(NEWEST).find_map(|path| {
        let file = File::open(&path).ok()?;
        let read = read(&file).ok()??;
        let Header { command, settings, .. } = &read.header;
        let own = (command.as_str(), settings.as_str()) == (what.command, what.settings);
        let root = read.header.root.path();
        let is_there = root.canonicalize().is_ok_and(|real| real == root);
        let is_free = || is_there && what.is_unfinished(&read) && file.try_lock().is_ok();
        own.then(|| is_free().then_some(path))
    });
    own.flatten()
}

/// Takes back what a run of the same command that was killed did only in part, as its journal
/// describes it.
pub fn settle(journal: &Path, what: &Undertaking<'_>) -> Result<()> {
    let file =
        File::open(journal).map_err(|error| crate::error::Error::io("cannot open", error))?;
    let Some(read) = read(&file)?.filter(|read| what.is_unfinished(read)) else { return Ok(()) };
    let root = read.header.root.path();
    let mut restorer = Restorer::new(root.clone(), false)?;
    for entry in read.entries.iter().rev() {
        if let Some(database) = restorer.grown(entry)? {
            database.settle()?;
            continue;
        }
        for written in &entry.outputs {
            restorer.sweep(written)?;
            let Some(old) = &written.moved_from else { continue };
            let read = entry.files.iter().find(|file| file.path == *old);
            if let Some(read) = read {
                restorer.remove_half(read, written, &old.path())?;
            }
            let old = root.join(old.path());
            if !old.exists() {
                remove_empty(&old);
            }
        }
    }
    restorer.finish()
}
