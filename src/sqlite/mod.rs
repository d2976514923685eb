//! SQLite databases that are not trusted.
//!
//! A reader opens a private copy of a database without running anything that its schema contains:
//! no views, no triggers, no functions of the schema's choosing, and only a limited number of
//! steps. It names only tables that [`Database::table`] has found to be real ones. A writer makes
//! an [`Edit`]: in memory, which gives the new contents of a file, as a transaction in a database
//! that other programs have open, or [`alone`]. [`rows_of`] finds the rows in the pages of a database
//! that SQLite no longer reads.

mod edit;
mod pages;
mod salvage;
mod table;

pub use edit::{Edit, alone};
pub use pages::{PageRow, rows_of};
pub use salvage::Wanted;
pub use table::{Row, Rows, Table};

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::parts::{Parts, UNNAMED};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};
use std::path::Path;

/// First bytes of every database. <https://sqlite.org/fileformat2.html>
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// Ending, behind the name of a database, of the file with changes that are not in it yet.
pub const LOG: &str = "-wal";

/// Maximum length of a value, in bytes, where the caller has no limit.
pub const LONGEST: usize = 1 << 30;

/// Maximum number of rounds of the queries of a connection, and the number of SQLite's steps in a
/// round.
const ROUNDS: u32 = 20_000;
const STEPS: i32 = 10_000;

/// Returns the error for a database that cannot be used.
fn unusable(why: &dyn std::fmt::Display) -> Error {
    let message = format!("the database of sessions cannot be used: {why}");
    Error::damaged(Diagnostic::new(Code::Database, message))
}

fn failed(error: rusqlite::Error) -> Error {
    unusable(&error)
}

/// A database that is open, with its guards.
pub struct Database {
    db: Connection,
    /// Folder of the private copy, which is removed after the connection.
    _folder: Option<Box<dyn AsRef<Path>>>,
}

impl Database {
    /// Opens a private copy of a part, with the changes in the log beside it that are not in the
    /// database yet. Reading can go on without it after an error.
    ///
    /// # Errors
    /// If the part cannot be copied, or is no database. Damage may be found only by a query.
    pub fn read(parts: &mut dyn Parts, name: &str, longest: usize) -> Result<Self> {
        // The log is copied first: changes that move from there to the database meanwhile are then
        // in both.
        let log = format!("{name}{LOG}");
        let names = parts.names();
        let wanted =
            [log.as_str(), name].into_iter().filter(|name| names.iter().any(|n| n == name));
        let folder = parts.copies(&wanted.collect::<Vec<_>>())?;
        let file = match name.rsplit('/').next() {
            None | Some("") => parts.file_name().unwrap_or_else(|| UNNAMED.to_owned()),
            Some(file) => file.to_owned(),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags((*folder).as_ref().join(file), flags);
        let db = db.and_then(|db| guarded(db, longest)).map_err(failed)?;
        Ok(Self { db, _folder: Some(folder) })
    }

    /// Returns the table of this name, if it is an ordinary one.
    ///
    /// # Errors
    /// If there is no such table, or it is a view, or its columns are computed.
    pub fn table(&self, name: &str) -> Result<Table<'_>> {
        Table::of(self, name)
    }

    /// Runs statements of the caller's own, such as those that create tables.
    ///
    /// # Errors
    /// If they fail.
    pub fn run(&self, statements: &str) -> Result<()> {
        self.db.execute_batch(statements).map_err(failed)
    }

    /// Runs statements that create tables, where the database has nothing yet.
    ///
    /// # Errors
    /// If they fail.
    pub fn begin(&self, statements: &str) -> Result<()> {
        let count = "SELECT count(*) FROM sqlite_schema";
        let count = self.db.query_row(count, [], |row| row.get::<_, i64>(0)).map_err(failed)?;
        if count == 0 { self.run(statements) } else { Ok(()) }
    }

    /// Whether the database has a table of this name.
    #[must_use]
    pub fn has(&self, table: &str) -> bool {
        self.table(table).is_ok()
    }

    /// Whether SQLite finds no damage anywhere in the database.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let check = "PRAGMA integrity_check(1)";
        self.db.query_row(check, [], |row| row.get::<_, String>(0)).is_ok_and(|found| found == "ok")
    }

    /// Passes the rows of a query on, each as its values.
    fn query(
        &self,
        text: &str,
        parameters: &[Json],
        each: &mut dyn FnMut(Vec<Json>),
    ) -> Result<()> {
        let mut query = self.db.prepare(text).map_err(failed)?;
        let count = query.column_count();
        let parameters = params_from_iter(parameters.iter().map(cell));
        let mut rows = query.query(parameters).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |at| json_of(row.get_ref(at).map_err(failed)?);
            each((0..count).map(value).collect::<Result<_>>()?);
        }
        Ok(())
    }

    /// Runs a statement; returns how many rows it changed.
    fn execute(&self, text: &str, parameters: &[Json]) -> Result<usize> {
        let parameters = params_from_iter(parameters.iter().map(cell));
        let mut statement = self.db.prepare(text).map_err(failed)?;
        statement.execute(parameters).map_err(failed)
    }
}

fn guarded(mut db: Connection, longest: usize) -> rusqlite::Result<Connection> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        db.set_db_config(config, on)?;
    }
    db.pragma_update(None, "cell_size_check", true)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(longest).unwrap_or(i32::MAX))?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let mut rounds = 0;
    let stop = move || {
        rounds += 1;
        rounds > ROUNDS
    };
    db.progress_handler(STEPS, Some(stop))?;
    Ok(db)
}

fn json_of(cell: ValueRef<'_>) -> Result<Json> {
    match cell {
        ValueRef::Null => Ok(Json::constant("null")),
        ValueRef::Integer(number) => Ok(Json::trusted(number.to_string().into_bytes().into())),
        ValueRef::Real(number) if number.is_finite() => {
            Ok(Json::trusted(format!("{number:e}").into_bytes().into()))
        }
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Json::string(text)),
            Err(_) => Err(unusable(&"a text in it is not UTF-8")),
        },
        _ => Err(unusable(&"a value in it is neither text nor a number")),
    }
}

fn cell(value: &Json) -> Cell {
    if let Some(text) = value.text() {
        return Cell::Text(text);
    }
    let spelling = String::from_utf8_lossy(value.as_bytes());
    match (spelling.parse(), value.float()) {
        (Ok(number), _) => Cell::Integer(number),
        (_, Some(number)) => Cell::Real(number),
        _ if value.is_null() => Cell::Null,
        _ => Cell::Text(spelling.into_owned()),
    }
}
