//! Changes of databases, in memory and in files that other programs have open.

use super::{Database, LONGEST, failed, guarded, unusable};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::parts::{Change, Commit};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;

/// Change of a database, which is made in one transaction.
pub trait Edit: Send {
    /// Makes the change; returns false if everything is there already. `force` is true if the user
    /// allows overwriting.
    ///
    /// # Errors
    /// If the database cannot be used, or contains newer data that are not to be overwritten.
    fn edit(&self, db: &Database, force: bool) -> Result<bool>;
}

impl<E: Edit> Change for E {
    fn make(&self, old: Option<Vec<u8>>, force: bool) -> Result<Vec<u8>> {
        let (db, in_log_mode) = opened(old.as_deref())?;
        let changed = self.edit(&db, force)?;
        if let Some(old) = old.filter(|_| !changed) {
            return Ok(old);
        }
        let mut bytes = db.into_image()?;
        set_mode(&mut bytes, if in_log_mode { LOGGED } else { ROLLBACK });
        Ok(bytes)
    }

    fn begin(&self, path: &Path, force: bool) -> Result<Commit> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).and_then(|db| guarded(db, LONGEST));
        let db = Database { db: db.map_err(failed)?, _folder: None };
        let begun = db
            .db
            .pragma_update(None, "busy_timeout", PATIENCE)
            .and_then(|()| db.db.execute_batch("BEGIN IMMEDIATE"));
        begun.map_err(|error| refused(&error, path))?;
        self.edit(&db, force)?;
        let path = path.to_owned();
        Ok(Box::new(move || {
            db.db.execute_batch("COMMIT").map_err(|error| refused(&error, &path))?;
            db.db.close().map_err(|(_, error)| unusable(&error))
        }))
    }
}

/// Makes a change in a database that no other process has open, and moves the changes of its log
/// into it; without a change, only that. Returns whether there was something to change.
///
/// `is_as_read` is asked when no other process can change the files any more. Meanwhile the caller
/// must not open these files: to close them would end SQLite's locks.
///
/// # Errors
/// If another process has the database open, the files are not as they were read, or the change
/// fails; the database is then as it was.
pub fn alone(
    path: &Path,
    is_as_read: &dyn Fn() -> Result<()>,
    edit: Option<&dyn Edit>,
) -> Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).and_then(|db| guarded(db, LONGEST));
    let db = Database { db: db.map_err(failed)?, _folder: None };
    let held = |error: rusqlite::Error| match is_busy(&error) {
        true => {
            let why = "another program has it open; quit that program and repeat the command";
            Error::request(Code::InUse, format!("{}: {why}", path.display()))
        }
        false => unusable(&error),
    };
    let begun = db
        .db
        .pragma_update(None, "locking_mode", "EXCLUSIVE")
        .and_then(|()| db.db.pragma_update(None, "busy_timeout", PATIENCE_ALONE))
        .and_then(|()| db.db.execute_batch("BEGIN EXCLUSIVE"));
    begun.map_err(held)?;
    is_as_read()?;
    let is_changed = edit.map_or(Ok(false), |edit| edit.edit(&db, false))?;
    db.run(if is_changed { "COMMIT" } else { "ROLLBACK" })?;
    let moved = db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    let closed = db.db.close().map_err(|(_, error)| unusable(&error));
    // What is committed stays so: the log has it until the next program moves it.
    if !is_changed {
        moved?;
        closed?;
    }
    Ok(is_changed)
}

/// Time to wait for another program that is writing to the database, in milliseconds.
const PATIENCE: u32 = 5000;

/// Time to wait for another program that has the database open, in milliseconds.
const PATIENCE_ALONE: u32 = 1000;

fn is_busy(error: &rusqlite::Error) -> bool {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    error.sqlite_error_code().is_some_and(|code| busy.contains(&code))
}

/// Returns the error for a database that another program is writing to.
fn refused(error: &rusqlite::Error, path: &Path) -> Error {
    if !is_busy(error) {
        return unusable(error);
    }
    let why = "is left unchanged: another program is writing to it";
    Error::request(Code::Changed, format!("{} {why}", path.display()))
}

/// Position of the two bytes in a database's header that contain its journal mode.
/// <https://sqlite.org/fileformat2.html>
const MODE: std::ops::Range<usize> = 18..20;
const ROLLBACK: u8 = 1;
const LOGGED: u8 = 2;

/// Sets the journal mode. A database in memory has no log beside it, so its header must not state
/// that it has one.
fn set_mode(bytes: &mut [u8], mode: u8) {
    bytes.get_mut(MODE).into_iter().flatten().for_each(|byte| *byte = mode);
}

impl Database {
    /// Makes a database in memory by statements that create its tables.
    ///
    /// # Errors
    /// If they fail.
    pub fn create(statements: &str) -> Result<Self> {
        let (db, _) = opened(None)?;
        db.run(statements)?;
        Ok(db)
    }

    /// Opens a database in memory with the contents of a file. Damage may be found only by a query.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn of_image(image: &[u8]) -> Result<Self> {
        opened(Some(image)).map(|(db, _)| db)
    }

    /// Returns the contents of a file with this database, which has no log beside it.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn into_image(mut self) -> Result<Vec<u8>> {
        self.db.serialize("main").map(|bytes| bytes.to_vec()).map_err(failed)
    }
}

/// Opens a database in memory with these contents; also returns whether its file has a log beside
/// it.
fn opened(old: Option<&[u8]>) -> Result<(Database, bool)> {
    let mut db = Connection::open_in_memory().map_err(failed)?;
    let mut in_log_mode = true;
    if let Some(old) = old {
        in_log_mode = old.get(MODE).is_some_and(|mode| mode.contains(&LOGGED));
        let mut bytes = old.to_vec();
        set_mode(&mut bytes, ROLLBACK);
        let read = db.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), false);
        read.map_err(failed)?;
    }
    let db = guarded(db, LONGEST).map_err(failed)?;
    Ok((Database { db, _folder: None }, in_log_mode))
}
