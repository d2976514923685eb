//! Sessions in the database of OpenCode: a row for each, and for each message and part.
//!
//! `data` of a row is the object of a document without its identifiers. The database is only read,
//! from a private copy: `opencode import` is the way into it.
//!
//! Source: the databases of the releases 1.2.27 and 1.18.33, and what these releases export.

use super::part::{is, list_of};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts};
use crate::json::{Json, is_whole, text};
use crate::mapping::Extra;
use crate::position::{Located, Position};
use crate::sqlite::{Database, LONGEST, Row};
use bytes::Bytes;
use std::slice;

/// Beginnings of the names of databases: those of OpenCode, and of programs that keep its layout.
const NAMES: &[&str] = &["opencode", "kilo"];

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
    names.iter().find(is_own).cloned()
}

/// Returns the sessions in the databases among the parts, the newest last.
///
/// # Errors
/// If it cannot be read.
pub fn roster(parts: &mut dyn Parts) -> Result<Vec<String>> {
    let Some(name) = part_of(&parts.names()) else { return Ok(Vec::new()) };
    let db = Database::read(parts, &name, LONGEST)?;
    let ids = db.table("session")?.texts("id", "ORDER BY time_updated, id")?;
    Ok(ids.into_iter().filter(|id| is_plain(id)).collect())
}

/// Whether a text is an identifier that a query can name.
fn is_plain(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// A session of a database: its document without messages, and its messages.
pub struct Stored<'a> {
    pub frame: Bytes,
    pub messages: Rows<'a>,
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
    let db = Database::read(parts, name, cx.options.max_line)?;
    let key = Json::string(id);
    let Some(row) = db.table("session")?.rows("WHERE id = ?1", slice::from_ref(&key))?.pop() else {
        return Ok(None);
    };
    let frame = [b"{\"info\":", info(&row).as_bytes(), b",\"messages\":[]}"].concat();
    if !is_plain(id) {
        return Ok(None);
    }
    let end = format!("WHERE session_id = '{id}' ORDER BY time_created, id");
    let ids = db.table("message")?.texts("id", &end)?.into_iter();
    Ok(Some(Stored { frame: frame.into(), messages: Rows { db, ids, session: key, at: 0, cx } }))
}

/// Messages of a session, row by row.
pub struct Rows<'a> {
    db: Database,
    ids: std::vec::IntoIter<String>,
    session: Json,
    at: u64,
    cx: &'a Cx<'a>,
}

impl Rows<'_> {
    fn message(&self, id: &str, at: Position) -> Result<Option<Located<Json>>> {
        let key = Json::string(id);
        let rows = self.db.table("message")?.rows("WHERE id = ?1", slice::from_ref(&key))?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let end = "WHERE message_id = ?1 ORDER BY id";
        let mut parts = Vec::new();
        for row in self.db.table("part")?.rows(end, slice::from_ref(&key))? {
            let part = row.value("id").cloned().unwrap_or_default();
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
        let info = match object(&row, &own) {
            Some(info) => info,
            None => {
                let error = broken("message", id, at);
                if parts.is_empty() {
                    return Err(error);
                }
                self.cx.tolerate(error)?;
                rebuilt(&row, &own, &parts)
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
            let id = self.ids.next()?;
            self.at += 1;
            let at = Position { record: self.at, ..Position::default() };
            if let Some(message) = self.message(&id, at).transpose() {
                return Some(message);
            }
        }
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

/// Returns the object `info` of a session's row, in the order in which the program exports it.
fn info(row: &Row) -> Json {
    let value = |name: &str| row.value(name).filter(|value| !value.is_null()).cloned();
    // Numbers with a fraction have an exponent in rows.
    let number = |name: &str| {
        let number = value(name)?;
        let is_plain = !number.as_bytes().contains(&b'e');
        if is_plain { Some(number) } else { number.float().map(Json::from_f64) }
    };
    let json = |name: &str| value(name)?.parsed();
    let group = |members: &[(&str, Option<Json>)]| {
        let mut group = Extra::default();
        for (name, value) in members {
            value.iter().for_each(|v| group.add(Json::string(name).as_bytes(), v.as_bytes()));
        }
        group.finish()
    };
    let summary = group(&[
        ("additions", number("summary_additions")),
        ("deletions", number("summary_deletions")),
        ("files", number("summary_files")),
        ("diffs", json("summary_diffs")),
    ]);
    let cache =
        group(&[("read", number("tokens_cache_read")), ("write", number("tokens_cache_write"))]);
    let tokens = group(&[
        ("input", number("tokens_input")),
        ("output", number("tokens_output")),
        ("reasoning", number("tokens_reasoning")),
        ("cache", cache),
    ]);
    let share = group(&[("url", value("share_url"))]);
    let time = group(&[
        ("created", number("time_created")),
        ("updated", number("time_updated")),
        ("compacting", number("time_compacting")),
        ("archived", number("time_archived")),
    ]);
    let info = group(&[
        ("id", value("id")),
        ("slug", value("slug")),
        ("projectID", value("project_id")),
        ("workspaceID", value("workspace_id")),
        ("directory", value("directory")),
        ("path", value("path")),
        ("parentID", value("parent_id")),
        ("title", value("title")),
        ("agent", value("agent")),
        ("model", json("model")),
        ("version", value("version")),
        ("summary", summary),
        ("cost", number("cost")),
        ("tokens", tokens),
        ("share", share),
        ("metadata", json("metadata")),
        ("revert", json("revert")),
        ("permission", json("permission")),
        ("time", time),
    ]);
    info.unwrap_or(Json::constant("{}"))
}
