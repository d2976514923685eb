//! Sessions in the database of OpenCode: a row for each, and for each message and part.
//!
//! `data` of a row is the object of a document without its identifiers. Sessions are read from a
//! private copy of the database. Only those of older files are added to it (`bring.rs`).
//!
//! Source: the databases of the releases 1.2.27 and 1.18.33, and what these releases export.

use super::columns;
use super::needed::complete_frame;
use super::part::{is, list_of};
use super::second::Second;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts};
use crate::json::{Json, is_whole, text};
use crate::mapping::Extra;
use crate::position::{Located, Position};
use crate::sqlite::{Database, LONGEST, Row, Wanted};
use bytes::Bytes;
use std::collections::VecDeque;
use std::slice;

/// Beginnings of the names of databases: those of OpenCode, and of programs that keep its layout.
const NAMES: &[&str] = &["opencode", "kilo", "mimocode", "mimicode", "icodemate"];

/// Folders of the programs that keep its layout, beside OpenCode's own.
pub const FOLDERS: &[&str] = &["../kilo", "../mimocode", "../icodemate"];

/// Whether a file has the name of such a database, or of the file with its latest changes.
pub fn is_called(file: &str) -> bool {
    let stem = file.strip_suffix(".db").or_else(|| file.strip_suffix(".db-wal"));
    stem.is_some_and(|stem| {
        NAMES.iter().any(|name| {
            // A channel of releases has a database of its own.
            stem.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    })
}

/// Returns the database among the parts.
pub fn part_of(names: &[String]) -> Option<String> {
    let is_own = |name: &&String| {
        let file = name.strip_prefix('/').unwrap_or(name);
        is_called(file) && file.ends_with(".db")
    };
    // That of a channel of releases has a longer name.
    names.iter().filter(is_own).min_by_key(|name| name.len()).cloned()
}

/// Returns the sessions in the databases among the parts, the newest last.
///
/// # Errors
/// If it cannot be read.
pub fn roster(parts: &mut dyn Parts) -> Result<Vec<String>> {
    let Some(name) = part_of(&parts.names()) else { return Ok(Vec::new()) };
    let db = match Database::read(parts, &name, LONGEST).and_then(|db| ids(&db)) {
        Err(error) if error.is_recoverable() && parts.size(&name)? > 0 => {
            Database::salvaged(parts, &name, WANTED)?
        }
        read => return read,
    };
    // Some sessions may have lost their own rows.
    let mut all = ids(&db)?;
    for table in ["message", "session_message"] {
        let of_messages = db.table(table)?.texts("session_id", "GROUP BY session_id")?;
        let lost: Vec<_> = of_messages.into_iter().filter(|id| !all.contains(id)).collect();
        all.splice(0..0, lost.into_iter().filter(|id| is_plain(id)));
    }
    // It is reported as a session that cannot be read.
    Ok(if all.is_empty() { vec![NO_ROW.to_owned()] } else { all })
}

/// Identifier that a database gets in reports if it has no whole row.
const NO_ROW: &str = "database";

/// Returns the sessions of a database, the newest last. A row of release 2 is newer than one of
/// release 1 with its identifier.
fn ids(db: &Database) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    // A damaged database seems to have neither table.
    if db.has(FIRST) || !db.has(SECOND) {
        ids = db.table(FIRST)?.texts("id", "ORDER BY time_updated, id")?;
    }
    if db.has(SECOND) {
        let newer = db.table(SECOND)?.texts("id", "ORDER BY time_updated, id")?;
        ids.retain(|id| !newer.contains(id));
        ids.extend(newer);
    }
    ids.retain(|id| is_plain(id));
    Ok(ids)
}

/// Tables of which whole rows are looked for in a damaged database.
const WANTED: &[Wanted] = &[
    Wanted { table: FIRST, prefix: "ses_", columns: &["id", "time_updated"] },
    Wanted { table: SECOND, prefix: "ses_", columns: &["id", "time_updated"] },
    Wanted { table: "message", prefix: "msg_", columns: MESSAGE },
    Wanted { table: "part", prefix: "prt_", columns: PART },
    Wanted { table: "session_message", prefix: "msg_", columns: SECOND_MESSAGE },
];
const MESSAGE: &[&str] = &["id", "session_id", "time_created", "time_updated", "data"];
const PART: &[&str] = &["id", "message_id", "session_id", "time_created", "time_updated", "data"];
const SECOND_MESSAGE: &[&str] =
    &["id", "session_id", "type", "seq", "time_created", "time_updated", "data"];

/// Tables of sessions of release 1 and of release 2.
const FIRST: &str = "session";
const SECOND: &str = "session_v2";

/// Whether a text is an identifier that a query can name.
fn is_plain(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// A session of a database: its document without messages, and its messages.
pub struct Stored<'a> {
    pub frame: Bytes,
    pub messages: Box<dyn Iterator<Item = Result<Located<Json>>> + 'a>,
}

/// Opens a session of a database; `None` if the database has none of this identifier.
///
/// # Errors
/// If the database cannot be read.
pub fn open<'a>(
    parts: &mut dyn Parts,
    name: &str,
    id: &str,
    cx: &'a Cx<'a>,
) -> Result<Option<Stored<'a>>> {
    if !is_plain(id) {
        return Ok(None);
    }
    let key = Json::string(id);
    let read = Database::read(parts, name, cx.options.max_line);
    let (db, damage) = match read.and_then(|db| check(&db, &key).map(|()| db)) {
        Ok(db) => (db, None),
        Err(error) if error.is_recoverable() => {
            (Database::salvaged(parts, name, WANTED)?, Some(error))
        }
        Err(error) => return Err(error),
    };
    let row = |table: &str| {
        let rows = db.table(table)?.rows("WHERE id = ?1", slice::from_ref(&key))?;
        Ok(rows.into_iter().next())
    };
    let frame = |row: &Row| {
        let info = columns::info(row);
        Bytes::from([b"{\"info\":", info.as_bytes(), b",\"messages\":[]}"].concat())
    };
    let of_second = if db.has(SECOND) { row(SECOND)? } else { None };
    if let Some(row) = of_second {
        let rows = Rows::of(db, "session_message", "seq", key, cx)?;
        let messages = Box::new(SecondRows::over(rows));
        return Ok(Some(Stored { frame: complete_frame(frame(&row)), messages }));
    }
    let own = if db.has(FIRST) { row(FIRST)? } else { None };
    if own.is_none() && damage.is_none() {
        return Ok(None);
    }
    let own = own.unwrap_or_else(|| Row(vec![("id".to_owned(), key.clone())]));
    let rows = Rows::of(db, "message", "time_created, id", key, cx)?.with_lost()?;
    let mut frame = frame(&own);
    if let Some(error) = damage {
        if own.0.len() == 1 && rows.ids.len() == 0 {
            return Err(error);
        }
        let message = format!("{}; its whole rows are read", error.message());
        cx.report(Diagnostic::new(Code::Database, message));
        frame = complete_frame(frame);
    }
    Ok(Some(Stored { frame, messages: Box::new(rows) }))
}

/// Checks that the rows of a session can be read.
fn check(db: &Database, session: &Json) -> Result<()> {
    let key = slice::from_ref(session);
    let of_first =
        [(FIRST, "id", "id"), ("message", "session_id", "data"), ("part", "session_id", "data")];
    let of_second = [(SECOND, "id", "id"), ("session_message", "session_id", "data")];
    // A damaged database seems to have the tables of neither release.
    let is_second = db.has(SECOND);
    let of_first = of_first.into_iter().filter(|(table, ..)| !is_second || db.has(table));
    for (table, id, column) in of_first.chain(of_second.into_iter().filter(|_| is_second)) {
        db.table(table)?.check(column, &format!("WHERE {id} = ?1"), key)?;
    }
    Ok(())
}

/// Messages of a session, row by row.
pub struct Rows<'a> {
    db: Database,
    ids: std::vec::IntoIter<String>,
    session: Json,
    at: u64,
    cx: &'a Cx<'a>,
}

impl<'a> Rows<'a> {
    /// Begins with the first row of a table for a session.
    fn of(db: Database, table: &str, order: &str, session: Json, cx: &'a Cx<'a>) -> Result<Self> {
        let id = session.text().unwrap_or_default();
        let end = format!("WHERE session_id = '{id}' ORDER BY {order}");
        let ids = db.table(table)?.texts("id", &end)?.into_iter();
        Ok(Self { db, ids, session, at: 0, cx })
    }

    /// Adds the messages that have lost their rows, and of which there are parts.
    fn with_lost(mut self) -> Result<Self> {
        let end = format!(
            "WHERE session_id = '{}' AND message_id NOT IN (SELECT id FROM message) GROUP BY message_id",
            self.session.text().unwrap_or_default()
        );
        let lost = self.db.table("part")?.texts("message_id", &end)?;
        if !lost.is_empty() {
            let mut ids: Vec<String> = self.ids.collect();
            for id in lost {
                let place = ids.iter().position(|own| *own > id).unwrap_or(ids.len());
                ids.insert(place, id);
            }
            self.ids = ids.into_iter();
        }
        Ok(self)
    }

    /// Returns the identifier and the place of the next row.
    fn step(&mut self) -> Option<(String, Position)> {
        let id = self.ids.next()?;
        self.at += 1;
        Some((id, Position { record: self.at, ..Position::default() }))
    }

    fn message(&self, id: &str, at: Position) -> Result<Option<Located<Json>>> {
        let key = Json::string(id);
        let rows = self.db.table("message")?.rows("WHERE id = ?1", slice::from_ref(&key))?;
        let row = rows.into_iter().next();
        let end = "WHERE message_id = ?1 ORDER BY id";
        let (mut parts, mut times) = (Vec::new(), Row::default());
        for row in self.db.table("part")?.rows(end, slice::from_ref(&key))? {
            let part = row.value("id").cloned().unwrap_or_default();
            if times.0.is_empty() {
                times.0.extend(row.0.iter().filter(|(name, _)| name == "time_created").cloned());
            }
            let own = [("id", &part), ("sessionID", &self.session), ("messageID", &key)];
            match object(&row, &own) {
                Some(part) => parts.push(part),
                // The other parts of the message are whole.
                None => {
                    let error = broken("part", &part.text().unwrap_or_default(), at);
                    self.cx.tolerate(error)?;
                }
            }
        }
        let own = [("id", &key), ("sessionID", &self.session)];
        let info = match row.as_ref().map(|row| object(row, &own)) {
            Some(Some(info)) => info,
            Some(None) => {
                let error = broken("message", id, at);
                if parts.is_empty() {
                    return Err(error);
                }
                self.cx.tolerate(error)?;
                rebuilt(&row.unwrap_or_default(), &own, &parts)
            }
            None if parts.is_empty() => return Ok(None),
            None => {
                let message = format!("the row of message {id} is lost; its parts are kept");
                self.cx.report(Diagnostic::new(Code::Database, message).at(at));
                rebuilt(&times, &own, &parts)
            }
        };
        let parts = list_of(&parts);
        let item =
            [b"{\"info\":", info.as_bytes(), b",\"parts\":", parts.as_bytes(), b"}"].concat();
        Ok(Some(Located { value: Json::trusted(item.into()), at }))
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Located<Json>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (id, at) = self.step()?;
            if let Some(message) = self.message(&id, at).transpose() {
                return Some(message);
            }
        }
    }
}

/// Messages of a session of release 2, row by row.
struct SecondRows<'a> {
    rows: Rows<'a>,
    second: Second,
    ready: VecDeque<Located<Json>>,
}

impl<'a> SecondRows<'a> {
    fn over(rows: Rows<'a>) -> Self {
        let second = Second::of(rows.session.clone());
        Self { rows, second, ready: VecDeque::new() }
    }

    /// Reads the message of a row.
    fn message(&self, id: &str, at: Position) -> Result<Json> {
        let key = Json::string(id);
        let table = self.rows.db.table("session_message")?;
        let row = table.rows("WHERE id = ?1", slice::from_ref(&key))?.pop().unwrap_or_default();
        let kind = row.value("type").cloned().unwrap_or_default();
        object(&row, &[("id", &key), ("type", &kind)]).ok_or_else(|| broken("message", id, at))
    }
}

impl Iterator for SecondRows<'_> {
    type Item = Result<Located<Json>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let (id, at) = self.rows.step()?;
            match self.message(&id, at) {
                Ok(message) => {
                    let read = self.second.read(&message, at, self.rows.cx).into_iter();
                    self.ready.extend(read.map(|value| Located { value, at }));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

fn broken(what: &str, id: &str, at: Position) -> Error {
    let message = format!("the row of {what} {id} is not a JSON object");
    Error::damaged(Diagnostic::new(Code::Database, message).at(at))
}

/// Returns the object of a message whose row cannot be read, by its other columns and its parts: only
/// answers have steps, thoughts and calls.
fn rebuilt(row: &Row, own: &[(&str, &Json)], parts: &[Json]) -> Json {
    const ANSWERED: &[&str] = &["step-start", "step-finish", "reasoning", "tool", "patch"];
    let answers = |part: &Json| ANSWERED.iter().any(|kind| is(part.member("type").as_ref(), kind));
    let role = if parts.iter().any(answers) { "\"assistant\"" } else { "\"user\"" };
    let mut out = Extra::default();
    out.add(b"\"role\"", role.as_bytes());
    if let Some(time) = row.value("time_created") {
        out.add(b"\"time\"", &[b"{\"created\":", time.as_bytes(), b"}"].concat());
    }
    own.iter().for_each(|(name, value)| out.add(Json::string(name).as_bytes(), value.as_bytes()));
    out.finish().unwrap_or_default()
}

/// Returns the object in a row, with these members behind its own.
fn object(row: &Row, own: &[(&str, &Json)]) -> Option<Json> {
    let data = row.text("data");
    let data = data.trim();
    (data.starts_with('{') && is_whole(data.as_bytes())).then_some(())?;
    let data = Json::trusted(Bytes::copy_from_slice(data.as_bytes()));
    let mut out = Extra::default();
    for (key, value) in data.members() {
        if !own.iter().any(|(name, _)| text::is(key, name)) {
            out.add(key, value);
        }
    }
    own.iter().for_each(|(name, value)| out.add(Json::string(name).as_bytes(), value.as_bytes()));
    out.finish()
}
