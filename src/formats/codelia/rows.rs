//! Database that indexes all sessions: a row for each, beside its log of messages.
//!
//! The database is not trusted. The reader opens a copy of it without running anything that its
//! schema contains: no views, no triggers, no functions of the schema's choosing, and only a
//! limited number of steps. The writer works in memory and returns the new contents of the file.
//!
//! Source: codelia `packages/storage/src/session-state.ts` at 48e27ff.

use super::message;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Change, Commit};
use crate::json::Json;
use crate::mapping::Extra;
use crate::record::{Field, Node};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use std::path::Path;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS session_state (\n\tsession_id TEXT PRIMARY KEY,\n\tupdated_at TEXT NOT NULL,\n\trun_id TEXT,\n\tinvoke_seq INTEGER,\n\tschema_version INTEGER NOT NULL,\n\tmeta_json TEXT,\n\tmessage_count INTEGER,\n\tlast_user_message TEXT,\n\tworkspace_root TEXT\n);\nCREATE INDEX IF NOT EXISTS idx_session_state_updated_at ON session_state(updated_at DESC);";

/// Columns that are fields of the snapshot.
const FIELDS: &[(&str, Field)] = &[
    ("session_id", Field::Session),
    ("updated_at", Field::Updated),
    ("run_id", Field::Run),
    ("invoke_seq", Field::Seq),
];

/// Columns that follow from the messages and the metadata.
const DERIVED: [&str; 3] = ["message_count", "last_user_message", "workspace_root"];

/// Columns that contain numbers.
const NUMBERS: [&str; 3] = ["invoke_seq", "schema_version", "message_count"];

/// Maximum number of rounds of a query, and the number of SQLite's steps in a round.
const ROUNDS: u32 = 20_000;
const STEPS: i32 = 10_000;

type Columns = Vec<(String, Json)>;

/// Row of the database, each value as JSON.
#[derive(Debug, Default)]
pub struct Row(Columns);

/// Returns the error for a database that cannot be used.
fn unusable(why: &dyn std::fmt::Display) -> Error {
    let message = format!("the database of sessions cannot be used: {why}");
    Error::damaged(Diagnostic::new(Code::Database, message))
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

/// Returns the columns of the table; fails if it is not an ordinary table.
fn columns(db: &Connection) -> Result<Vec<String>> {
    let failed = |error: rusqlite::Error| unusable(&error);
    let kind = "SELECT type, sql FROM sqlite_schema WHERE name = 'session_state'";
    let mut query = db.prepare(kind).map_err(failed)?;
    let mut rows = query.query([]).map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else {
        return Err(unusable(&"it has no table session_state"));
    };
    let kind: String = row.get(0).map_err(failed)?;
    let sql: String = row.get::<_, Option<String>>(1).map_err(failed)?.unwrap_or_default();
    if kind != "table" || sql.to_ascii_uppercase().starts_with("CREATE VIRTUAL") {
        return Err(unusable(&"session_state is not a real table"));
    }
    let mut query = db
        .prepare("SELECT name, hidden FROM pragma_table_xinfo('session_state')")
        .map_err(failed)?;
    let pairs = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
    let pairs: Vec<_> = pairs.and_then(Iterator::collect).map_err(failed)?;
    if pairs.iter().any(|(_, hidden)| *hidden != 0) {
        return Err(unusable(&"session_state has columns that are computed"));
    }
    Ok(pairs.into_iter().map(|(name, _)| name).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn json_of(cell: ValueRef<'_>) -> Result<Json> {
    match cell {
        ValueRef::Null => Ok(Json::constant("null")),
        ValueRef::Integer(number) => Ok(Json::checked(number.to_string().into_bytes().into())),
        ValueRef::Real(number) if number.is_finite() => {
            Ok(Json::checked(format!("{number:e}").into_bytes().into()))
        }
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Json::string(text)),
            Err(_) => Err(unusable(&"a text in it is not UTF-8")),
        },
        _ => Err(unusable(&"a value in it is neither text nor a number")),
    }
}

fn select(db: &Connection, columns: &[String], session: &str) -> Result<Option<Row>> {
    let failed = |error: rusqlite::Error| unusable(&error);
    let names: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
    let text = format!("SELECT {} FROM session_state WHERE session_id = ?1", names.join(", "));
    let mut query = db.prepare(&text).map_err(failed)?;
    let mut rows = query.query([session]).map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
    let mut values = Columns::new();
    for (at, name) in columns.iter().enumerate() {
        values.push((name.clone(), json_of(row.get_ref(at).map_err(failed)?)?));
    }
    Ok(Some(Row(values)))
}

fn copied(copy: &Path, longest: usize) -> Result<(Connection, Vec<String>)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(copy, flags).and_then(|db| guarded(db, longest));
    let db = db.map_err(|error| unusable(&error))?;
    let columns = columns(&db)?;
    Ok((db, columns))
}

/// Reads the row of a session from a copy of the database.
///
/// # Errors
/// If the copy is no database, is damaged, or has no such table; reading can go on without it.
pub fn read(copy: &Path, session: &str, longest: usize) -> Result<Option<Row>> {
    let (db, columns) = copied(copy, longest)?;
    select(&db, &columns, session)
}

/// Length of the longest identifier that is read.
const LONGEST_ID: usize = 200;

/// Returns the sessions in a copy of the database.
///
/// # Errors
/// The errors of [`read`].
pub fn sessions(copy: &Path) -> Result<Vec<String>> {
    let failed = |error: rusqlite::Error| unusable(&error);
    let (db, _) = copied(copy, 1 << 30)?;
    let text = format!(
        "SELECT session_id FROM session_state WHERE typeof(session_id) = 'text' \
         AND length(session_id) BETWEEN 1 AND {LONGEST_ID} ORDER BY updated_at, session_id"
    );
    let mut query = db.prepare(&text).map_err(failed)?;
    let ids = query.query_map([], |row| row.get(0)).and_then(Iterator::collect);
    ids.map_err(failed)
}

impl Row {
    /// Returns the row of a snapshot with these messages.
    pub fn of(snapshot: &Node, count: usize, last_user: Option<&Json>) -> Self {
        let extra = |name: &str| snapshot.json(Field::Extra)?.member(name);
        let null = || Json::constant("null");
        let mut columns = Columns::new();
        for (name, field) in FIELDS {
            let value = snapshot.json(*field).cloned().or(extra(name));
            columns.push(((*name).to_owned(), value.unwrap_or_else(null)));
        }
        let version = extra("schema_version").unwrap_or(Json::constant("1"));
        columns.push(("schema_version".to_owned(), version));
        let meta = snapshot.json(Field::Meta);
        let text = meta.map(|meta| Json::string(&String::from_utf8_lossy(meta.as_bytes())));
        columns.push(("meta_json".to_owned(), text.or(extra("meta_json")).unwrap_or_else(null)));
        for (name, value) in DERIVED.iter().zip(derived(snapshot, count, last_user)) {
            columns.push(((*name).to_owned(), extra(name).unwrap_or(value)));
        }
        Self(columns)
    }

    /// Returns the members of a snapshot that have no column.
    pub fn members_without_column(snapshot: &Node) -> Vec<String> {
        let known =
            |name: &str| DERIVED.contains(&name) || name == "schema_version" || name == "meta_json";
        let extra = snapshot.json(Field::Extra);
        let names = extra.into_iter().flat_map(Json::members);
        let names = names.filter_map(|(key, _)| crate::json::text::decode(key));
        names
            .filter(|name| !known(name) && !FIELDS.iter().any(|(column, _)| column == name))
            .collect()
    }

    /// Returns the members of a snapshot from another store that have a column, but that the column
    /// does not restore as they are spelled: there, a number is one of the database's, and `null`
    /// is no value.
    pub fn respelled(snapshot: &Node) -> Vec<String> {
        let extra = |name: &str| snapshot.json(Field::Extra)?.member(name);
        let fields = FIELDS.iter().map(|(name, field)| (*name, snapshot.json(*field).cloned()));
        let others = DERIVED.iter().chain(&["schema_version"]).map(|name| (*name, None));
        let told = |(name, value): (&str, Option<Json>)| {
            let value = value.or_else(|| extra(name))?;
            (!is_kept(name, &value)).then(|| name.to_owned())
        };
        fields.chain(others).filter_map(told).collect()
    }

    /// Sets the row's values in a snapshot; values that follow from the messages are left out.
    pub fn fill(&self, snapshot: &mut Node, count: usize, last_user: Option<&Json>) {
        let mut rest = Vec::new();
        for (name, value) in &self.0 {
            let field = FIELDS.iter().find(|(column, _)| column == name).map(|(_, field)| *field);
            let first = value.as_bytes().first().copied().unwrap_or_default();
            match field {
                Some(field) if field.shape().admits(first) => snapshot.set(field, value.clone()),
                Some(_) if value.is_null() => {}
                _ => rest.push((name, value)),
            }
        }
        let meta = rest.iter().find(|(name, _)| *name == "meta_json");
        let object = |text: &Json| {
            // Metadata on several lines stay a text, for values in records stand on one line.
            let meta = text.parsed().filter(|meta| !meta.as_bytes().contains(&b'\n'))?;
            (Json::string(&String::from_utf8_lossy(meta.as_bytes())) == *text).then_some(meta)
        };
        if let Some(meta) = meta.and_then(|(_, meta)| object(meta))
            && Field::Meta.shape().admits(meta.as_bytes().first().copied().unwrap_or_default())
        {
            snapshot.set(Field::Meta, meta);
            rest.retain(|(name, _)| *name != "meta_json");
        }
        let usual = Self::of(snapshot, count, last_user);
        let mut extra = Extra::default();
        for (name, value) in rest {
            let same = usual.0.iter().any(|(column, usual)| column == name && usual == value);
            if !same {
                extra.add(Json::string(name).as_bytes(), value.as_bytes());
            }
        }
        extra.put(snapshot);
    }

    fn value(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(column, _)| column == name).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> String {
        self.value(name).and_then(Json::text).unwrap_or_default()
    }

    /// Returns the number of messages that the row states for its log.
    pub fn counts(&self) -> u64 {
        self.value("message_count").and_then(Json::float).unwrap_or_default() as u64
    }

    /// Writes the row into a database; false if the same row is there.
    fn write(&self, db: &Connection, force: bool) -> Result<bool> {
        let failed = |error: rusqlite::Error| unusable(&error);
        if columns(db).is_err() && is_empty(db).map_err(failed)? {
            db.execute_batch(TABLE).map_err(failed)?;
        }
        let mut there = columns(db)?;
        if !there.iter().any(|name| name == "workspace_root") {
            // Databases of the first six weeks lack this column; Codelia adds it in the same way.
            db.execute_batch("ALTER TABLE session_state ADD COLUMN workspace_root TEXT")
                .map_err(failed)?;
            there = columns(db)?;
        }
        let before = select(db, &there, &self.text("session_id"))?;
        if let Some(before) = &before {
            if self.0.iter().all(|(name, value)| before.value(name) == Some(value)) {
                return Ok(false);
            }
            if !force && before.text("updated_at") > self.text("updated_at") {
                let message = format!(
                    "the database has a newer state of session {}, of {}",
                    self.text("session_id"),
                    before.text("updated_at")
                );
                return Err(Error::request(Code::Exists, message));
            }
        }
        self.upsert(db, before.is_some()).map_err(failed)?;
        Ok(true)
    }

    fn upsert(&self, db: &Connection, there: bool) -> rusqlite::Result<()> {
        let names: Vec<_> = self.0.iter().map(|(name, _)| quoted(name)).collect();
        let marks: Vec<_> = (1..=names.len()).map(|n| format!("?{n}")).collect();
        let text = if there {
            let sets: Vec<_> =
                names.iter().zip(&marks).map(|(a, b)| format!("{a} = {b}")).collect();
            format!("UPDATE session_state SET {} WHERE session_id = ?1", sets.join(", "))
        } else {
            format!(
                "INSERT INTO session_state ({}) VALUES ({})",
                names.join(", "),
                marks.join(", ")
            )
        };
        db.execute(&text, params_from_iter(self.0.iter().map(|(_, value)| cell(value)))).map(drop)
    }
}

impl Change for Row {
    fn make(&self, old: Option<Vec<u8>>, force: bool) -> Result<Vec<u8>> {
        let failed = |error: rusqlite::Error| unusable(&error);
        let (mut db, in_log_mode) = opened(old.as_deref()).map_err(failed)?;
        let changed = self.write(&db, force)?;
        if let Some(old) = old.filter(|_| !changed) {
            return Ok(old);
        }
        let mut bytes = db.serialize("main").map_err(failed)?.to_vec();
        set_mode(&mut bytes, if in_log_mode { LOG } else { ROLLBACK });
        Ok(bytes)
    }

    fn begin(&self, path: &Path, force: bool) -> Result<Commit> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).and_then(|db| guarded(db, 1 << 30));
        let db = db.map_err(|error| unusable(&error))?;
        let begun = db
            .pragma_update(None, "busy_timeout", PATIENCE)
            .and_then(|()| db.execute_batch("BEGIN IMMEDIATE"));
        begun.map_err(|error| refused(&error, path))?;
        self.write(&db, force)?;
        let path = path.to_owned();
        Ok(Box::new(move || {
            db.execute_batch("COMMIT").map_err(|error| refused(&error, &path))?;
            db.close().map_err(|(_, error)| unusable(&error))
        }))
    }
}

/// Time to wait for another program that is writing to the database, in milliseconds.
const PATIENCE: u32 = 5000;

/// Returns the error for a database that another program is writing to.
fn refused(error: &rusqlite::Error, path: &Path) -> Error {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    match error.sqlite_error_code() {
        Some(code) if busy.contains(&code) => {
            let why = "is left unchanged: another program is writing to it";
            Error::request(Code::Changed, format!("{} {why}", path.display()))
        }
        _ => unusable(error),
    }
}

/// Whether a column restores a value as it is spelled.
fn is_kept(column: &str, value: &Json) -> bool {
    let spelled = value.as_bytes();
    match (NUMBERS.contains(&column), value.text()) {
        (false, Some(text)) => Json::string(&text) == *value,
        (true, None) => {
            let number: Option<i64> =
                std::str::from_utf8(spelled).ok().and_then(|n| n.parse().ok());
            number.is_some_and(|number| number.to_string().as_bytes() == spelled)
        }
        _ => false,
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

/// Position of the two bytes in a database's header that contain its journal mode.
/// <https://sqlite.org/fileformat2.html>
const MODE: std::ops::Range<usize> = 18..20;
const ROLLBACK: u8 = 1;
const LOG: u8 = 2;

/// Sets the journal mode. A database in memory has no log beside it, so its header must not state
/// that it has one.
fn set_mode(bytes: &mut [u8], mode: u8) {
    bytes.get_mut(MODE).into_iter().flatten().for_each(|byte| *byte = mode);
}

/// Opens a database in memory with these contents; also returns whether its file has a log beside
/// it.
fn opened(old: Option<&[u8]>) -> rusqlite::Result<(Connection, bool)> {
    let mut db = Connection::open_in_memory()?;
    let mut in_log_mode = true;
    if let Some(old) = old {
        in_log_mode = old.get(MODE).is_some_and(|mode| mode.contains(&LOG));
        let mut bytes = old.to_vec();
        set_mode(&mut bytes, ROLLBACK);
        db.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), false)?;
    }
    Ok((guarded(db, 1 << 30)?, in_log_mode))
}

fn is_empty(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map(|n| n == 0)
}

/// Returns the values of the derived columns.
fn derived(snapshot: &Node, count: usize, last_user: Option<&Json>) -> [Json; 3] {
    let null = || Json::constant("null");
    let root = snapshot.json(Field::Meta).and_then(|meta| meta.member("codelia_workspace_root"));
    [
        Json::number(count as u64),
        last_user.and_then(shown).map_or_else(null, |text| Json::string(&text)),
        root.filter(|root| root.text().is_some()).unwrap_or_else(null),
    ]
}

/// Returns the last message of the user among these.
pub fn last_user(messages: &[Json]) -> Option<&Json> {
    messages.iter().rfind(|message| is_of_user(message))
}

/// Whether a message is one of the user.
pub fn is_of_user(message: &Json) -> bool {
    message.member("role").is_some_and(|role| is(&role, "user"))
}

fn is(json: &Json, text: &str) -> bool {
    crate::json::text::is(json.as_bytes(), text)
}

/// Returns the text of a message as Codelia's list of sessions shows it.
fn shown(message: &Json) -> Option<String> {
    let content = message.member("content")?;
    if let Some(text) = content.text() {
        return Some(text);
    }
    let text = |part: &Json, name: &str| part.member(name).and_then(|value| value.text());
    let part = |part: Json| match text(&part, "type").as_deref() {
        Some("text") => text(&part, "text").unwrap_or_default(),
        Some("image_url") => "[image]".to_owned(),
        Some("document") => "[document]".to_owned(),
        _ => {
            let of = |name| text(&part, name).unwrap_or_default();
            format!("[other:{}/{}]", of("provider"), of("kind"))
        }
    };
    Some(message::each(&content)?.into_iter().map(part).collect())
}
