//! Databases to which a run adds rows, and their return to the state before, byte for byte.
//!
//! The latest changes of a database may be in a log beside it, and a log belongs to one state of its
//! database: beside another one it would be damage. Copies of both are made first. Then SQLite adds
//! the rows in one transaction, while no other process has the database open, and moves the log into
//! the database. At each moment, the files are the old database or the new one.

use super::check::is_same_file;
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::held::Held;
use super::journal::State;
use super::replacement::{copy_original, second_name};
use super::sealed::hash;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::sqlite::{self, Edit, LOG};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Returns the path of the log of a database.
pub fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push(LOG);
    log.into()
}

/// Rows that are added to a database.
#[derive(Clone)]
pub struct Addition {
    edit: Rc<dyn Edit>,
    /// A copy of the database that has the rows already.
    contents: PathBuf,
    /// The database, and the log beside it, as they were read.
    read: (Fingerprint, Option<Fingerprint>),
}

impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Addition").field("contents", &self.contents).finish_non_exhaustive()
    }
}

impl Addition {
    /// Adds the rows to a copy of the database, in this folder; `None` if there is nothing to add.
    ///
    /// # Errors
    /// If another process has the database open, or the edit fails.
    pub fn plan(edit: Rc<dyn Edit>, database: &Path, folder: &Path) -> Result<Option<Self>> {
        check_free(database)?;
        let failed = |error| Error::io("cannot copy the database", error);
        let read = state(database)?;
        let contents = folder.join(database.file_name().unwrap_or_default());
        fs::copy(database, &contents).map_err(failed)?;
        if read.1.is_some() {
            fs::copy(log_of(database), log_of(&contents)).map_err(failed)?;
        }
        check_state(database, &read)?;
        let is_new = sqlite::alone(&contents, &|| Ok(()), Some(&*edit))?;
        Ok(is_new.then_some(Self { edit, contents, read }))
    }

    /// Returns a file with what the database will contain.
    pub fn contents(&self) -> &Path {
        &self.contents
    }

    /// Returns the log of the database and a free name for its copy, if it has a log.
    pub fn log(&self, database: &Path) -> Option<Log> {
        self.read.1?;
        let path = log_of(database);
        let backup = second_name(&path, &path);
        Some(Log { path, backup })
    }

    /// Copies the database and its `log`, and adds the rows. Returns whether the database is now
    /// another one than was planned.
    ///
    /// # Errors
    /// If another process has the database open or changed it, or there is no room.
    pub fn carry_out(&self, database: &Path, backup: &Path, log: Option<&Log>) -> Result<bool> {
        check_free(database)?;
        copy_original(database, backup)?;
        let copied = log.map_or(Ok(()), |log| copy_original(&log.path, &log.backup));
        // No file is opened until SQLite has closed its own.
        let is_as_read = || check_state(database, &self.read);
        let added = copied.and_then(|()| sqlite::alone(database, &is_as_read, Some(&*self.edit)));
        if let Err(error) = added {
            // Nothing was changed.
            let _ = fs::remove_file(backup);
            log.iter().for_each(|log| _ = fs::remove_file(&log.backup));
            return Err(error);
        }
        Ok(hash(File::open(database))? != hash(File::open(&self.contents))?)
    }
}

/// The log of a database, and its copy.
#[derive(Debug)]
pub struct Log {
    /// Its path.
    pub path: PathBuf,
    /// The path of the copy.
    pub backup: PathBuf,
}

/// Checks that no other process has a database open, as far as the system shows it.
fn check_free(database: &Path) -> Result<()> {
    match Held::among([database]).why(database) {
        Some(why) => Err(Error::request(Code::InUse, format!("{}: {why}", database.display()))),
        None => Ok(()),
    }
}

/// Returns the states of a database and of the log beside it.
fn state(database: &Path) -> Result<(Fingerprint, Option<Fingerprint>)> {
    let log = Fingerprint::of(&log_of(database)).ok().filter(|log| log.size() > 0);
    Ok((Fingerprint::of(database)?, log))
}

fn check_state(database: &Path, read: &(Fingerprint, Option<Fingerprint>)) -> Result<()> {
    if state(database)? == *read {
        return Ok(());
    }
    Err(Error::request(Code::Changed, Code::Changed.title()))
}

/// A database to which a run added rows, and the copies of its files.
#[derive(Debug)]
pub struct Grown {
    /// The database.
    pub path: PathBuf,
    /// Its copy.
    pub backup: PathBuf,
    /// The database as the run read it, and as the run left it.
    pub states: (State, State),
    /// The copy of the log, and the log as the run read it, if there was one.
    pub log: Option<(PathBuf, State)>,
}

impl Grown {
    /// Whether database and log are the files that the run read.
    fn is_untouched(&self) -> bool {
        let log = log_of(&self.path);
        let is_log_untouched = match &self.log {
            Some((_, read)) => is(&log, read),
            None => fs::metadata(&log).map_or(true, |meta| meta.len() == 0),
        };
        is(&self.path, &self.states.0) && is_log_untouched
    }

    /// Completes what a killed run began, or takes it back. Nothing is done to a database that
    /// another program has changed since.
    ///
    /// # Errors
    /// If another process has the database open.
    pub fn settle(&self) -> Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        if self.is_untouched() {
            return self.remove_copies();
        }
        check_free(&self.path)?;
        sqlite::alone(&self.path, &|| Ok(()), None)?;
        let now = Some(hash(File::open(&self.path))?);
        let is_old = now != self.states.1.hash && now == self.folded(None)?;
        if is_old { self.put_back() } else { Ok(()) }
    }

    /// Gives the database and its log their contents before the run; a `dry` call only checks
    /// whether that is possible. Returns false if they have them already.
    ///
    /// # Errors
    /// If the database was changed since, or another process has it open.
    pub fn restore(&self, dry: bool) -> Result<bool> {
        if self.is_untouched() {
            return if dry { Ok(false) } else { self.remove_copies().map(|()| false) };
        }
        check_free(&self.path)?;
        let log = log_of(&self.path);
        let has_log = fs::metadata(&log).is_ok_and(|meta| meta.len() > 0);
        // An undo that was killed may have put the log in its place.
        if has_log && !self.log.as_ref().is_some_and(|(_, read)| is(&log, read)) {
            let why = "its program has used it since, or the run was killed: repeat its command, \
                       and then undo; if the program wrote to it, nothing is undone";
            return Err(Error::request(Code::NotAsWritten, why));
        }
        let now = hash(File::open(&self.path))?;
        let is_new = Some(&now) == self.states.1.hash.as_ref() && !has_log;
        let folder = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
        let folded = self.folded(Some(folder.path()))?;
        if !is_new && Some(now) != folded {
            return Err(self.changed());
        }
        if dry {
            return Ok(true);
        }
        if is_new && self.log.is_some() {
            // The log may only stand beside a database of its own contents.
            let failed = |error| Error::io("cannot restore the original", error);
            let between = second_name(&self.path, &self.backup);
            copy_original(&folder.path().join(NAME), &between)?;
            fs::rename(&between, &self.path).map_err(failed)?;
        }
        self.put_back().map(|()| true)
    }

    /// Removes the copies, if the database is what the run wrote; a `dry` call only checks that.
    /// Returns false if there are none.
    ///
    /// # Errors
    /// If the database was changed since.
    pub fn discard(&self, dry: bool) -> Result<bool> {
        if !self.backup.exists() {
            return Ok(false);
        }
        let has_log = fs::metadata(log_of(&self.path)).is_ok_and(|meta| meta.len() > 0);
        if has_log || Some(hash(File::open(&self.path))?) != self.states.1.hash {
            return Err(self.changed());
        }
        if dry { Ok(true) } else { self.remove_copies().map(|()| true) }
    }

    /// Returns the error for a database that its program has used since.
    fn changed(&self) -> Error {
        let why = "it was changed since the run wrote it, as its program does; nothing is lost, and \
                   it stays as it is; its state before the run is in";
        let log = self.log.iter().map(|(backup, _)| format!(" and {}", backup.display()));
        let backup = self.backup.display();
        Error::request(Code::NotAsWritten, format!("{why} {backup}{}", log.collect::<String>()))
    }

    /// Returns the hash of the copy with its log moved into it, which is left in a folder; `None` if
    /// the copies are not whole.
    fn folded(&self, folder: Option<&Path>) -> Result<Option<String>> {
        let failed = |error| Error::io("cannot copy the database", error);
        let own = tempfile::tempdir().map_err(failed)?;
        let copy = folder.unwrap_or(own.path()).join(NAME);
        if hash(File::open(&self.backup)).ok() != self.states.0.hash {
            return Ok(None);
        }
        fs::copy(&self.backup, &copy).map_err(failed)?;
        if let Some((backup, read)) = &self.log {
            let own = log_of(&self.path);
            let log = if backup.exists() { backup } else { &own };
            if hash(File::open(log)).ok() != read.hash {
                return Ok(None);
            }
            fs::copy(log, log_of(&copy)).map_err(failed)?;
        }
        sqlite::alone(&copy, &|| Ok(()), None)?;
        hash(File::open(&copy)).map(Some)
    }

    /// Puts the copies in their places; the database has the contents of both. The log comes first:
    /// what it adds is in the database already.
    fn put_back(&self) -> Result<()> {
        let failed = |error: io::Error| Error::io("cannot restore the original", error);
        // Much time may have passed since it was looked at.
        check_free(&self.path)?;
        if let Some((backup, _)) = self.log.as_ref().filter(|(backup, _)| backup.exists()) {
            fs::rename(backup, log_of(&self.path)).map_err(failed)?;
        }
        fs::rename(&self.backup, &self.path).map_err(failed)?;
        super::barrier::sync_folder(folder_of(&self.path))
    }

    fn remove_copies(&self) -> Result<()> {
        let copies = self.log.iter().map(|(backup, _)| backup).chain([&self.backup]);
        let copies = copies.filter(|copy| copy.exists() && !is_same_file(copy, &self.path));
        let removed = copies.into_iter().try_for_each(fs::remove_file);
        removed.map_err(|error| Error::io("cannot remove the copy", error))
    }
}

/// Name of a database in a folder of its own.
const NAME: &str = "database";

/// Whether a file has the size and time of a state.
fn is(path: &Path, state: &State) -> bool {
    Fingerprint::of(path)
        .is_ok_and(|now| now.size() == state.size && now.modified() == state.modified)
}
