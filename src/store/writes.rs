//! Files that are written together into folders that agents write to as well, with a journal by
//! which they can be undone.
//!
//! Nothing that another program writes meanwhile is lost: each file is compared, at the moment of
//! the change, with the state in which it was read, and the work is done again on a file that
//! changed. Lines that a program adds to an old file after that are brought over until the run ends.

mod edit;
mod place;
mod record;

pub use edit::{Edit, Redo};
pub use place::lock;
pub use record::{Undertaking, settle, unfinished};

use super::barrier::sync_folder;
use super::claims::real;
use super::database::{Addition, Log};
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::journal::{Entry, Journal, Name, Read as Known, State, read};
use super::replacement::second_name;
use super::sealed::hash;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use place::{Placed, follow};
use record::finished;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file that is written.
#[derive(Debug)]
pub enum Write {
    /// A new file.
    New {
        /// Its contents.
        from: PathBuf,
        /// Its place.
        to: PathBuf,
        /// The file whose permissions it gets.
        like: PathBuf,
    },
    /// A file to which bytes are added.
    Grow {
        /// Contents whose end is added.
        from: PathBuf,
        /// The position at which the end begins.
        skip: u64,
        /// The file.
        to: PathBuf,
        /// The file as it was read.
        read: Fingerprint,
    },
    /// A file that is replaced, and kept under another name.
    Replace {
        /// Its new contents.
        edit: Edit,
        /// The file.
        to: PathBuf,
    },
    /// A database to which rows are added, in the file itself. Copies of it and of its log are kept.
    Add {
        /// The rows.
        rows: Addition,
        /// The database.
        to: PathBuf,
    },
    /// A file that moves. If its contents change, the old ones are kept beside it.
    Move {
        /// Its place so far.
        old: PathBuf,
        /// Its new contents, if they change.
        edit: Option<Edit>,
        /// Its new place.
        to: PathBuf,
    },
}

/// Files that are written together.
#[derive(Debug, Default)]
pub struct Writes {
    all: Vec<Write>,
    /// The folder with their contents.
    work: Option<TempDir>,
    /// The lock on a file that no other run may change before the files are written.
    lock: Option<File>,
}

/// A file that is about to be written.
struct Planned<'w> {
    write: &'w Write,
    /// Its real path.
    target: PathBuf,
    /// Its real path so far, if it exists.
    before: Option<PathBuf>,
    /// The name under which the original is kept.
    backup: Option<PathBuf>,
    /// The log of a database to which rows are added.
    log: Option<Log>,
}

impl Writes {
    /// Collects files in the order in which they are written.
    pub fn of(all: Vec<Write>) -> Self {
        Self { all, ..Self::default() }
    }

    /// Joins the files of several such lists, which keep no folder and no lock.
    pub fn all(lists: impl IntoIterator<Item = Self>) -> Self {
        Self::of(lists.into_iter().flat_map(|list| list.all).collect())
    }

    /// Keeps the folder with the contents until the files are written.
    pub fn keep(&mut self, work: TempDir) {
        self.work = Some(work);
    }

    /// Keeps a lock until the files are written.
    pub fn hold(&mut self, lock: Option<File>) {
        self.lock = lock;
    }

    /// Returns the writes, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Write> {
        self.all.iter_mut()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a journal can describe these files, too: they are below its folder.
    pub fn fit(&self, journal: &Path) -> bool {
        let read = File::open(journal).ok().and_then(|file| read(&file).ok().flatten());
        let root = read.map(|read| read.header.root.path());
        root.is_some_and(|root| {
            let planned = self.all.iter().map(Planned::of);
            planned.into_iter().all(|planned| planned.paths().all(|path| path.starts_with(&root)))
        })
    }

    /// Writes the files, and before that entries in a journal, by which `undo` takes them away.
    ///
    /// # Errors
    /// If a file changed in a way that requires other work ([`Code::Changed`]), or a place is taken
    /// by now ([`Code::Exists`]): then the work can be planned again, with the same journal. If the
    /// system refuses.
    pub fn carry_out(&self, what: &Undertaking<'_>, journal: &Path) -> Result<()> {
        let planned: Vec<_> = self.all.iter().map(Planned::of).collect();
        let root = common(planned.iter().flat_map(Planned::paths));
        let (mut log, before) = Journal::open(journal)?;
        let known = match before.filter(|read| !read.entries.is_empty() || read.unread > 0) {
            Some(read) if what.is_unfinished(&read) => {
                log.go_on()?;
                read
            }
            Some(_) => {
                let message = format!("{} belongs to an earlier run", journal.display());
                return Err(Error::request(Code::SameFile, message));
            }
            None => {
                let header = what.header(&root);
                log.begin(&header)?;
                Known::begun(header)
            }
        };
        let root = known.header.root.path();
        let entries = planned.iter().map(|planned| planned.entry(what, &root));
        let mut entries = entries.collect::<Result<Vec<_>>>()?;
        // A run that was killed may have described the change already.
        let is_known = |new: &State| {
            known.entries.iter().flat_map(|e| &e.outputs).any(|old| old.is_alike(new))
        };
        entries.retain(|entry| !entry.outputs.iter().all(is_known));
        log.append(&entries)?;
        let (mut placed, mut failed) = (Vec::new(), None);
        for planned in &planned {
            match planned.carry_out() {
                Ok(done) => placed.push((planned, done)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let others: Vec<_> = placed.iter_mut().map(|(_, done)| follow(done)).collect();
        for ((planned, done), brought) in placed.iter().zip(others) {
            if (brought? || done.differs) && !done.again {
                log.append(&[planned.entry_now(what, &root)?])?;
            }
        }
        let folders = placed.iter().flat_map(|(planned, _)| planned.paths().map(folder_of));
        let folders: BTreeSet<_> = folders.filter(|folder| folder.is_dir()).collect();
        folders.into_iter().try_for_each(sync_folder)?;
        match failed {
            Some(error) => Err(error),
            None => log.append(&[finished()]),
        }
    }
}

impl<'w> Planned<'w> {
    fn of(write: &'w Write) -> Self {
        let (target, old) = match write {
            Write::New { to, .. } => (real(to), None),
            Write::Grow { to, .. } | Write::Replace { to, .. } | Write::Add { to, .. } => {
                // An origin may be a link.
                let file = to.canonicalize().unwrap_or_else(|_| real(to));
                (file.clone(), Some(file))
            }
            Write::Move { to, old, .. } => (real(to), Some(real(old))),
        };
        let is_kept = !matches!(
            write,
            Write::New { .. } | Write::Grow { .. } | Write::Move { edit: None, .. }
        );
        let backup = old.as_deref().filter(|_| is_kept).map(|old| second_name(old, &target));
        let log = match write {
            Write::Add { rows, .. } => rows.log(&target),
            _ => None,
        };
        Self { write, target, before: old, backup, log }
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*self.target).chain(self.before.as_deref())
    }

    /// Describes the change in a journal, before it is made.
    fn entry(&self, what: &Undertaking<'_>, root: &Path) -> Result<Entry> {
        let named = |path: &Path| name_in(root, path);
        let new = self.state(root);
        let written = match self.write {
            Write::New { from, .. } => with_contents(new, from)?,
            Write::Replace { edit, .. } | Write::Move { edit: Some(edit), .. } => {
                with_contents(new, edit.contents())?
            }
            Write::Move { old, edit: None, .. } => with_contents(new, old)?,
            Write::Add { rows, .. } => with_contents(new, rows.contents())?,
            Write::Grow { from, skip, read, .. } => {
                let failed = |error| Error::io("cannot read", error);
                let mut hasher = blake3::Hasher::new();
                let mut old = File::open(&self.target).map_err(failed)?.take(read.size());
                io::copy(&mut old, &mut hasher).map_err(failed)?;
                let mut end = File::open(from).map_err(failed)?;
                end.seek(SeekFrom::Start(*skip)).map_err(failed)?;
                let more = io::copy(&mut end, &mut hasher).map_err(failed)?;
                let hash = Some(hasher.finalize().to_hex().to_string());
                State { size: read.size() + more, hash, grown_from: Some(read.size()), ..new }
            }
        };
        let files = self.before.iter().map(|path| state_of(path, named(path)));
        let files = files.collect::<Result<_>>()?;
        let entry = Entry { files, ..what.entry(self.path(root), written) };
        self.with_log(entry, root, |log| &log.path)
    }

    /// Adds the log of a database to its entry; `file` has what the log contained.
    fn with_log(&self, mut entry: Entry, root: &Path, file: fn(&Log) -> &Path) -> Result<Entry> {
        entry.rows = matches!(self.write, Write::Add { .. });
        if let Some(log) = &self.log {
            let read = state_of(file(log), name_in(root, &log.path))?;
            let (path, moved_from) = (name_in(root, &log.backup), Some(read.path.clone()));
            entry.outputs.push(State { path, moved_from, ..read.clone() });
            entry.files.push(read);
        }
        Ok(entry)
    }

    /// Describes the change in a journal as it was made.
    fn entry_now(&self, what: &Undertaking<'_>, root: &Path) -> Result<Entry> {
        let written = with_contents(self.state(root), &self.target)?;
        let before = self.backup.as_ref().zip(self.before.as_ref());
        let files = before.map(|(backup, path)| state_of(backup, name_in(root, path)));
        let files = files.into_iter().collect::<Result<_>>()?;
        let entry = Entry { files, ..what.entry(self.path(root), written) };
        self.with_log(entry, root, |log| &log.backup)
    }

    /// Returns the path by which the journal names the change.
    fn path(&self, root: &Path) -> Name {
        name_in(root, self.before.as_deref().unwrap_or(&self.target))
    }

    /// Returns the state of the written file without its contents.
    fn state(&self, root: &Path) -> State {
        let moved_from = match self.write {
            Write::Move { .. } => self.before.as_deref(),
            _ => None,
        };
        State {
            path: name_in(root, &self.target),
            backup: self.backup.as_deref().map(|backup| name_in(root, backup)),
            moved_from: moved_from.map(|old| name_in(root, old)),
            ..State::default()
        }
    }

    fn carry_out(&self) -> Result<Placed> {
        let backup = self.backup.as_deref().unwrap_or(Path::new(""));
        match self.write {
            Write::New { from, like, .. } => place::new(from, &self.target, like),
            Write::Grow { from, skip, read, .. } => place::grown(from, *skip, &self.target, read),
            Write::Replace { edit, .. } => place::replaced(edit, &self.target, backup),
            Write::Add { rows, .. } => place::added(rows, &self.target, backup, self.log.as_ref()),
            Write::Move { old, edit: Some(edit), .. } => {
                place::moved(edit, (&real(old), &self.target), backup)
            }
            Write::Move { old, edit: None, .. } => place::renamed(&real(old), &self.target),
        }
    }
}

/// Returns the name of a path in a journal for this folder.
fn name_in(root: &Path, path: &Path) -> Name {
    Name::from(path.strip_prefix(root).unwrap_or(path))
}

/// Adds the size and the hash of these contents to the state of a file.
fn with_contents(state: State, contents: &Path) -> Result<State> {
    let size = contents.metadata().map_err(|error| Error::io("cannot read", error))?.len();
    Ok(State { size, hash: Some(hash(File::open(contents))?), ..state })
}

/// Returns the present state of a file.
fn state_of(path: &Path, name: Name) -> Result<State> {
    let now = Fingerprint::of(path)?;
    let hash = Some(hash(File::open(path))?);
    let (size, modified) = (now.size(), now.modified());
    Ok(State { path: name, size, modified, hash, ..State::default() })
}

/// Returns the folder that contains all of these files.
fn common<'p>(paths: impl Iterator<Item = &'p Path>) -> PathBuf {
    let existing = |path: &Path| {
        let above = folder_of(path).ancestors().find(|folder| folder.is_dir());
        above.unwrap_or(Path::new("/")).to_owned()
    };
    let mut all = paths.map(existing);
    let first = all.next().unwrap_or_else(|| PathBuf::from("/"));
    all.fold(first, |root, folder| {
        let above = root.ancestors().find(|above| folder.starts_with(above));
        above.unwrap_or(Path::new("/")).to_owned()
    })
}
