//! Journals of earlier runs, opened for work on the files that such a run changed.

use super::report::FileReport;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::store::{Entry, Header, Name, State, read_journal};
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The result of work on the files of a journal, or of a dry run of it.
#[derive(Debug, Default)]
pub struct JournalWork {
    /// The report on each file, by path.
    pub reports: Vec<FileReport>,
    /// Number of lines of the journal that could not be read, without a torn last one.
    pub unread: u64,
    /// Whether the last line of the journal was torn.
    pub torn: bool,
}

/// An earlier run that changed files in place, as its journal describes it.
#[derive(Debug)]
pub(super) struct Past {
    /// The journal. No run can continue while it is open.
    _locked: File,
    /// The folder that the run worked in.
    pub root: PathBuf,
    /// The entries, in the order of the run.
    pub entries: Vec<Entry>,
    /// Whether all files are of one session.
    pub is_one_session: bool,
    unread: u64,
    torn: bool,
}

impl Past {
    /// Opens a journal. `moved` is the present path of the folder that the run worked in; `None` if
    /// the folder was not moved. `nothing` is the error message for a run that kept no originals.
    /// Returns the result instead if the journal describes nothing.
    pub fn open(
        journal: &Path,
        moved: Option<&Path>,
        nothing: &str,
    ) -> Result<std::result::Result<Self, JournalWork>> {
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
            return Ok(Err(JournalWork { torn, ..JournalWork::default() }));
        };
        if !read.header.in_place {
            return Err(Error::request(Code::NoBackup, nothing));
        }
        let root = match moved {
            Some(folder) => folder
                .canonicalize()
                .map_err(|error| Error::io(format!("cannot open {}", folder.display()), error))?,
            None => read.header.root.path(),
        };
        let (entries, unread, torn) = (read.entries, read.unread, read.torn);
        let is_one_session = read.header.command == Header::CONTINUE;
        Ok(Ok(Self { _locked: file, root, entries, is_one_session, unread, torn }))
    }

    /// Returns the result of the work, with these reports.
    pub fn with(self, reports: impl IntoIterator<Item = FileReport>) -> JournalWork {
        let reports = reports.into_iter().collect();
        JournalWork { reports, unread: self.unread, torn: self.torn }
    }
}

/// The files that the run wrote, by path, each with the number of its entry.
pub(super) struct Made<'e>(HashMap<&'e Name, Vec<(usize, &'e State)>>);

impl<'e> Made<'e> {
    /// Collects the outputs of all entries.
    pub fn by(entries: &'e [Entry]) -> Self {
        let mut made: HashMap<_, Vec<_>> = HashMap::new();
        for (place, entry) in entries.iter().enumerate() {
            for state in &entry.outputs {
                made.entry(&state.path).or_default().push((place, state));
            }
        }
        Self(made)
    }

    /// Returns the state of a file that was read, with the hash of its contents added if it has none
    /// and an entry before number `place` contains it, because the run had written the file before.
    pub fn with_hash(&self, read: &State, place: usize) -> State {
        let written = self.0.get(&read.path).into_iter().flatten().rev();
        let mut before = written.filter(|(at, _)| *at < place).map(|(_, made)| *made);
        let same = before.find(|made| (made.size, &made.modified) == (read.size, &read.modified));
        let hash = same.and_then(|made| made.hash.clone()).or_else(|| read.hash.clone());
        State { hash, ..read.clone() }
    }
}

/// Returns the state before the run of a file that it wrote; `None` for a file that it added.
pub(super) fn before<'e>(entry: &'e Entry, written: &State) -> Option<&'e State> {
    let old = written.moved_from.as_ref().unwrap_or(&written.path);
    entry.files.iter().find(|file| file.path == *old)
}
