//! Database that indexes all sessions: a row for each, beside its log of messages.
//!
//! Source: codelia `packages/storage/src/session-state.ts` at 48e27ff.

use super::message;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Parts;
use crate::json::Json;
use crate::mapping::Extra;
use crate::record::{Field, Node};
use crate::sqlite::{self, Database, Edit, LONGEST, Table};
use std::slice;

/// Part that all sessions share: a database with a row for each.
pub const DATABASE: &str = "/sessions/state.db";

/// Part with the changes that SQLite has not moved into the database yet.
pub const DATABASE_LOG: &str = "/sessions/state.db-wal";

const TABLE: &str = "session_state";
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS session_state (\n\tsession_id TEXT PRIMARY KEY,\n\tupdated_at TEXT NOT NULL,\n\trun_id TEXT,\n\tinvoke_seq INTEGER,\n\tschema_version INTEGER NOT NULL,\n\tmeta_json TEXT,\n\tmessage_count INTEGER,\n\tlast_user_message TEXT,\n\tworkspace_root TEXT\n);\nCREATE INDEX IF NOT EXISTS idx_session_state_updated_at ON session_state(updated_at DESC);";

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

/// Row of the database.
#[derive(Debug, Default)]
pub struct Row(sqlite::Row);

fn select(table: &Table<'_>, session: &Json) -> Result<Option<sqlite::Row>> {
    let rows = table.rows("WHERE session_id = ?1 LIMIT 1", slice::from_ref(session));
    rows.map(|mut rows| rows.pop())
}

/// Reads the row of a session from the database.
///
/// # Errors
/// If it is no database, is damaged, or has no such table; reading can go on without it.
pub fn read(parts: &mut dyn Parts, session: &str, longest: usize) -> Result<Option<Row>> {
    let db = Database::read(parts, DATABASE, longest)?;
    let row = select(&db.table(TABLE)?, &Json::string(session));
    row.map(|row| row.map(Row))
}

/// Length of the longest identifier that is read.
const LONGEST_ID: usize = 200;

/// Returns the sessions in the database.
///
/// # Errors
/// The errors of [`read`].
pub fn sessions(parts: &mut dyn Parts) -> Result<Vec<String>> {
    let db = Database::read(parts, DATABASE, LONGEST)?;
    let end = format!(
        "WHERE typeof(session_id) = 'text' AND length(session_id) BETWEEN 1 AND {LONGEST_ID} \
         ORDER BY updated_at, session_id"
    );
    db.table(TABLE)?.texts("session_id", &end)
}

impl Row {
    /// Returns the row of a snapshot with these messages.
    pub fn of(snapshot: &Node, count: usize, last_user: Option<&Json>) -> Self {
        let extra = |name: &str| snapshot.json(Field::Extra)?.member(name);
        let null = || Json::constant("null");
        let mut columns = Vec::new();
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
        Self(sqlite::Row(columns))
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
        for (name, value) in &self.0.0 {
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
            let same = usual.0.0.iter().any(|(column, usual)| column == name && usual == value);
            if !same {
                extra.add(Json::string(name).as_bytes(), value.as_bytes());
            }
        }
        extra.put(snapshot);
    }

    /// Returns the number of messages that the row states for its log.
    pub fn counts(&self) -> u64 {
        self.0.value("message_count").and_then(Json::float).unwrap_or_default() as u64
    }
}

impl Edit for Row {
    fn edit(&self, db: &Database, force: bool) -> Result<bool> {
        let Self(row) = self;
        db.begin(SCHEMA)?;
        let mut table = db.table(TABLE)?;
        if !table.has("workspace_root") {
            // Databases of the first six weeks lack this column; Codelia adds it in the same way.
            db.run("ALTER TABLE session_state ADD COLUMN workspace_root TEXT")?;
            table = db.table(TABLE)?;
        }
        let id = row.value("session_id").cloned().unwrap_or_default();
        if let Some(before) = select(&table, &id)? {
            if row.0.iter().all(|(name, value)| before.value(name) == Some(value)) {
                return Ok(false);
            }
            if !force && before.text("updated_at") > row.text("updated_at") {
                let message = format!(
                    "the database has a newer state of session {}, of {}",
                    row.text("session_id"),
                    before.text("updated_at")
                );
                return Err(Error::request(Code::Exists, message));
            }
        }
        table.put(row)?;
        Ok(true)
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
    let text = |part: &Json, name: &str| part.text_of(name);
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
