//! Entries that a run writes to its journal, and the use of the entries of an earlier run.

use super::found::{ReadOptions, files_of};
use super::inputs::{Job, JobSource};
use super::report::{FileReport, Outcome};
use crate::error::Result;
use crate::store::{Entry, Fingerprint, Header, Journal, Name, Placed, State, hash, real};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A journal with the entries that a run needs.
#[derive(Debug)]
pub struct Account {
    path: PathBuf,
    /// The journal, if entries are added to it.
    journal: Option<Mutex<Journal>>,
    /// The folder that paths are relative to.
    root: PathBuf,
    /// The last entry of each input.
    earlier: HashMap<Key, Entry>,
}

/// Identifier of an input: its main file, and the session where several share the file.
type Key = (PathBuf, Option<String>);

/// State of an input according to the journal of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// No usable entry: the earlier run did not reach the input, or failed on it.
    Nothing,
    /// The earlier run finished the input with this exit code.
    Done(u8),
    /// An entry that is out of date: the input or its output changed since, or the input consists
    /// of other files now.
    Changed,
}

/// An open journal, its header, its entries, and the number of lines that cannot be read.
pub type OpenedJournal = (Journal, Option<Header>, Vec<Entry>, u64);

impl Account {
    /// Opens the journal file, which an earlier run may have begun.
    pub fn open(path: &Path) -> Result<OpenedJournal> {
        let (journal, read) = Journal::open(path)?;
        Ok(match read {
            Some(read) => (journal, Some(read.header), read.entries, read.unread),
            None => (journal, None, Vec::new(), 0),
        })
    }

    /// Creates an account that continues after `entries`. Their paths are relative to `root`.
    pub fn new(path: &Path, journal: Journal, root: PathBuf, entries: Vec<Entry>) -> Self {
        let journal = Some(Mutex::new(journal));
        Self { path: real(path), journal, ..Self::of(root, entries) }
    }

    /// Creates an account that only knows `entries`. Their paths are relative to `root`.
    pub fn of(root: PathBuf, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut earlier: HashMap<Key, Entry> = HashMap::new();
        for mut entry in entries {
            let key = (root.join(entry.path.path()), entry.session.clone());
            // The outputs that were written before a failure still exist.
            let before = earlier.remove(&key).filter(|_| is_failed(&entry));
            entry.outputs.extend(before.into_iter().flat_map(|before| before.outputs));
            earlier.insert(key, entry);
        }
        Self { path: PathBuf::new(), journal: None, root, earlier }
    }

    /// Returns the last entry of an input.
    pub fn last(&self, job: &Job) -> Option<&Entry> {
        self.earlier.get(&key(job)?)
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the state of an input after the earlier run, and the files that the earlier run
    /// wrote for it. The files that make up the input are determined with the options `reading`.
    pub fn earlier(&self, job: &Job, reading: ReadOptions) -> (Earlier, Vec<PathBuf>) {
        let Some(entry) = self.entry_of(job) else { return (Earlier::Nothing, Vec::new()) };
        let holds = self.holds(entry) && self.has_files(entry, job, reading);
        let earlier = if holds { Earlier::Done(entry.exit) } else { Earlier::Changed };
        let made = entry.outputs.iter().map(|made| self.root.join(made.path.path()));
        (earlier, made.collect())
    }

    /// Returns the entry of an input on which the earlier run did not fail.
    fn entry_of(&self, job: &Job) -> Option<&Entry> {
        self.last(job).filter(|entry| !is_failed(entry))
    }

    /// Returns the files that earlier runs wrote for an input and that have not changed since.
    pub fn untouched(&self, job: &Job) -> Vec<PathBuf> {
        let entry = self.last(job);
        let outputs = entry.into_iter().flat_map(|entry| &entry.outputs);
        let untouched = outputs.filter(|made| self.is(made) && self.has_hash(made));
        untouched.map(|made| self.root.join(made.path.path())).collect()
    }

    /// Whether the input consists of the files that the entry names. A file that the session got
    /// since then was not read. Files that the run itself put beside an input that it changed do
    /// not count as new.
    fn has_files(&self, entry: &Entry, job: &Job, reading: ReadOptions) -> bool {
        let known = |states: &[State]| -> HashSet<PathBuf> {
            states.iter().map(|state| self.root.join(state.path.path())).collect()
        };
        let (read, made) = (known(&entry.files), known(&entry.outputs));
        let now: HashSet<PathBuf> = match &job.source {
            JobSource::File(path) => {
                files_of(path, reading, job.named).iter().map(|file| real(file)).collect()
            }
            _ => job.files().map(|file| real(file)).collect(),
        };
        now.iter().all(|file| read.contains(file) || made.contains(file))
            && read.iter().all(|file| now.contains(file))
    }

    /// Whether all files are as the entry describes them. For an input that was changed in place,
    /// the entry's output is compared.
    fn holds(&self, entry: &Entry) -> bool {
        let replaced = |file: &State| entry.outputs.iter().any(|made| made.path == file.path);
        let files = entry.files.iter().filter(|file| !replaced(file));
        let alike = |made: &State| {
            let old = entry.files.iter().find(|file| file.path == made.path);
            // If the size is equal, only the contents show whether the file was replaced.
            let unclear = old.is_some_and(|old| old.size == made.size);
            self.is(made) && (!unclear || self.has_hash(made))
        };
        files.into_iter().all(|file| self.is(file)) && entry.outputs.iter().all(alike)
    }

    /// Whether a file has the size and the time of the entry.
    fn is(&self, state: &State) -> bool {
        Fingerprint::of(&self.root.join(state.path.path()))
            .is_ok_and(|now| now.size() == state.size && now.modified() == state.modified)
    }

    fn has_hash(&self, state: &State) -> bool {
        let now = hash(File::open(self.root.join(state.path.path()))).ok();
        now.is_some() && now == state.hash
    }

    /// Returns the journal entry of an input; `None` for an input that gets no entry of its own.
    pub fn entry(
        &self,
        job: &Job,
        report: &FileReport,
        exit: u8,
        files: &[(Arc<Path>, Fingerprint)],
    ) -> Option<Entry> {
        use Outcome::{Done, Empty, Part, Skipped, Unreadable};
        if matches!(report.outcome, Skipped | Empty | Part | Done | Unreadable) {
            return None;
        }
        let (path, session) = key(job)?;
        let file = |(path, state): &(Arc<Path>, Fingerprint)| self.state(path, state);
        Some(Entry {
            path: self.name(&path),
            session,
            outcome: report.outcome.name().to_owned(),
            exit,
            warned: report.is_warned(),
            rows: false,
            files: files.iter().map(file).collect(),
            outputs: Vec::new(),
        })
    }

    /// Returns the description of an output for the journal.
    pub fn output(&self, placed: &Placed, hash: String) -> State {
        State {
            hash: Some(hash),
            backup: placed.backup.as_ref().map(|path| self.name(&real(path))),
            aside: placed.aside,
            ..self.state(&placed.path, &placed.fingerprint)
        }
    }

    fn state(&self, path: &Path, state: &Fingerprint) -> State {
        State {
            path: self.name(&real(path)),
            size: state.size(),
            modified: state.modified(),
            ..State::default()
        }
    }

    fn name(&self, path: &Path) -> Name {
        Name::from(path.strip_prefix(&self.root).unwrap_or(path))
    }

    /// Appends entries to the journal.
    pub fn record(&self, entries: &[Entry]) -> Result<()> {
        match &self.journal {
            Some(journal) if !entries.is_empty() => {
                journal.lock().unwrap_or_else(PoisonError::into_inner).append(entries)
            }
            _ => Ok(()),
        }
    }
}

fn is_failed(entry: &Entry) -> bool {
    entry.outcome == Outcome::Failed.name()
}

fn key(job: &Job) -> Option<Key> {
    let session = match &job.source {
        JobSource::Whole(whole) => Some(whole.among.session.clone()),
        JobSource::Between(between) => Some(between.number.to_string()),
        _ => None,
    };
    Some((real(job.files().next()?), session))
}

/// Returns the folder that contains all named paths; `None` if there is none.
pub fn root(paths: &[PathBuf]) -> Option<PathBuf> {
    let folder = |path: &PathBuf| match path.is_dir() {
        true => path.canonicalize().ok(),
        false => real(path).parent().map(Path::to_owned),
    };
    let common = |a: PathBuf, b: PathBuf| -> Option<PathBuf> {
        a.ancestors().find(|folder| b.starts_with(folder)).map(Path::to_owned)
    };
    let mut folders = paths.iter().map(folder);
    let first = folders.next()??;
    folders.try_fold(first, |root, folder| common(root, folder?))
}
