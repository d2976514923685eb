//! Sessions of files that are brought into the database, as the program's own change to the database
//! did: it ended after some releases, and later ones do not look at the files.
//!
//! Source: what release 1.2.27 made of the files of 1.0.152, and which sessions 1.18.33 lists.

use super::columns;
use super::files::{self, Files};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Brought, Cx, Parts};
use crate::json::{Json, is_whole};
use crate::mapping::without;
use crate::sqlite::{Database, Row};
use bytes::Bytes;
use std::collections::HashSet;
use std::io::Read;
use std::slice;

/// Name of the database that the program opens, unless a channel has one of its own.
const DATABASE: &str = "/opencode.db";

/// Identifier of the project of folders without version control.
const GLOBAL: &str = "\"global\"";

/// Returns the database among the parts that takes sessions.
pub fn database(names: &[String]) -> Option<String> {
    names.iter().find(|name| *name == DATABASE).cloned()
}

/// A row, and the table that gets it.
type Placed = (&'static str, Row);

/// Brings a session into the database, unless it has one of this identifier.
///
/// # Errors
/// If the session cannot be read, or the database refuses it or has the tables of release 2.
pub fn bring(parts: &mut dyn Parts, db: &Database, cx: &Cx<'_>) -> Result<Brought> {
    if db.has("session_v2") {
        let message = "the database is one of OpenCode 2, which is only read";
        return Err(Error::request(Code::StoreOnlyRead, message));
    }
    if let Some(table) = ["project", "session", "message", "part"].into_iter().find(|t| !db.has(t))
    {
        let message = format!("the database has no table {table}: start OpenCode once");
        return Err(Error::request(Code::StoreOnlyRead, message));
    }
    let id = Json::string(&parts.session().unwrap_or_default());
    let sessions = db.table("session")?;
    if !sessions.rows("WHERE id = ?1 LIMIT 1", slice::from_ref(&id))?.is_empty() {
        return Ok(Brought::Present);
    }
    let Some(frame) = files::frame(parts, cx)? else { return Ok(Brought::Present) };
    let info = Json::trusted(frame).member("info").unwrap_or_default();
    let (project, worktree) = project(parts, db, &info, cx)?;
    let mut session = columns::row(&info);
    session.0.retain(|(name, _)| !["id", "project_id", "path"].contains(&name.as_str()));
    if info.member("directory").is_none() {
        session.0.push(("directory".to_owned(), worktree.clone()));
    }
    session.0.splice(0..0, named(&[("id", &id), ("project_id", &project)]).0);
    session.0.push(("path".to_owned(), inside(&info, &worktree)));
    // All of the session is read before anything of it is added.
    let mut rows = vec![("session", session)];
    rows.extend(todos(parts, &id, &info, cx)?);
    let mut messages = 0;
    for message in Files::of(parts, cx) {
        match message {
            Ok(message) => {
                messages += 1;
                put_message(&message.value, &id, &mut rows);
            }
            Err(error) => drop(cx.tolerate(error)?),
        }
    }
    let mut taken = HashSet::new();
    for (table, row) in rows {
        // The message of this identifier is another session's, which must not get these parts.
        if row.value("message_id").is_some_and(|message| taken.contains(message)) {
            continue;
        }
        if !db.table(table)?.add(&row)? {
            taken.extend(row.value("id").filter(|_| table == "message").cloned());
            let message = format!("{table} {}: the database has another one", row.text("id"));
            cx.report(Diagnostic::new(Code::RowTaken, message));
        }
    }
    Ok(Brought::Added { records: messages + 1 })
}

/// Adds the rows of a message and its parts.
fn put_message(message: &Json, session: &Json, rows: &mut Vec<Placed>) {
    let info = message.member("info").unwrap_or_default();
    let time = |name: &str| info.member("time").and_then(|time| time.member(name));
    let created = time("created").unwrap_or(Json::constant("0"));
    let updated = time("completed").unwrap_or_else(|| created.clone());
    let id = info.member("id").unwrap_or_default();
    let times = [("time_created", &created), ("time_updated", &updated)];
    let mut row = named(&[("id", &id), ("session_id", session)]);
    row.0.extend(named(&times).0);
    row.0.push(data(&info, &["id", "sessionID"]));
    rows.push(("message", row));
    for part in message.member("parts").unwrap_or_default().elements() {
        let own = part.member("id").unwrap_or_default();
        let mut row = named(&[("id", &own), ("message_id", &id), ("session_id", session)]);
        row.0.extend(named(&times).0);
        row.0.push(data(&part, &["id", "sessionID", "messageID"]));
        rows.push(("part", row));
    }
}

/// Returns the rows of the list of things to do that belongs to a session.
fn todos(parts: &mut dyn Parts, id: &Json, info: &Json, cx: &Cx<'_>) -> Result<Vec<Placed>> {
    let file = format!("/storage/todo/{}.json", id.text().unwrap_or_default());
    let Some(list) = value(parts, &file, cx)? else { return Ok(Vec::new()) };
    if !list.as_bytes().starts_with(b"[") {
        let error = Diagnostic::new(Code::CutShort, format!("{file} is not a list"));
        cx.tolerate(Error::damaged(error))?;
    }
    let updated = info.member("time").and_then(|time| time.member("updated"));
    let updated = updated.unwrap_or(Json::constant("0"));
    let row = |(place, item): (u64, Json)| {
        let text = |name: &str| item.member(name).unwrap_or(Json::constant("\"\""));
        let [content, status, priority] = ["content", "status", "priority"].map(text);
        let row = named(&[
            ("session_id", id),
            ("content", &content),
            ("status", &status),
            ("priority", &priority),
            ("position", &Json::number(place)),
            ("time_created", &updated),
            ("time_updated", &updated),
        ]);
        ("todo", row)
    };
    Ok((0..).zip(list.elements()).map(row).collect())
}

/// Returns the project of a session, and its folder. The program lists the sessions of the project
/// that it finds for a folder today, and a release may have another identifier for that than the
/// files.
fn project(parts: &mut dyn Parts, db: &Database, info: &Json, cx: &Cx<'_>) -> Result<(Json, Json)> {
    let id = info.member("projectID").unwrap_or(Json::constant(GLOBAL));
    let file = format!("/storage/project/{}.json", id.text().unwrap_or_default());
    let file = value(parts, &file, cx)?;
    let id = if file.is_some() { id } else { Json::constant(GLOBAL) };
    let file = file.unwrap_or(Json::constant("{}"));
    let folder = file.member("worktree").unwrap_or(Json::constant("\"/\""));
    let projects = db.table("project")?;
    let same = projects
        .rows("WHERE worktree = ?1 ORDER BY time_updated DESC LIMIT 1", slice::from_ref(&folder))?;
    if let Some(known) = same.first().and_then(|row| row.value("id")) {
        return Ok((known.clone(), folder));
    }
    let time = |name: &str| file.member("time").and_then(|time| time.member(name));
    let created = time("created").unwrap_or(Json::constant("0"));
    let updated = time("updated").unwrap_or_else(|| created.clone());
    let mut row = named(&[
        ("id", &id),
        ("worktree", &folder),
        ("time_created", &created),
        ("time_updated", &updated),
        ("sandboxes", &Json::constant("\"[]\"")),
    ]);
    let texts = [("vcs", file.member("vcs")), ("name", file.member("name"))];
    for (name, value) in texts.into_iter().chain([("time_initialized", time("initialized"))]) {
        row.0.extend(value.map(|value| (name.to_owned(), value)));
    }
    projects.add(&row)?;
    Ok((id, folder))
}

/// Returns the folder of a session below the folder of its project.
fn inside(info: &Json, worktree: &Json) -> Json {
    let text = |value: Option<Json>| value.and_then(|value| value.text()).unwrap_or_default();
    let (folder, above) = (text(info.member("directory")), text(Some(worktree.clone())));
    let inside = folder.strip_prefix(above.trim_end_matches('/'));
    let inside =
        inside.and_then(|rest| if rest.is_empty() { Some("") } else { rest.strip_prefix('/') });
    inside.map_or(Json::constant("null"), Json::string)
}

/// Reads the value of a file below the folder of all sessions, if there is one and it is whole.
fn value(parts: &mut dyn Parts, name: &str, cx: &Cx<'_>) -> Result<Option<Json>> {
    let Some(mut file) = parts.follow(name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| Error::io("cannot read", error))?;
    let bytes = Bytes::from(bytes);
    let is_value = std::str::from_utf8(&bytes).is_ok() && is_whole(&bytes);
    if !is_value {
        cx.tolerate(Error::damaged(Diagnostic::new(
            Code::CutShort,
            format!("{name} is not whole"),
        )))?;
    }
    Ok(is_value.then(|| Json::trusted(bytes.slice_ref(bytes.trim_ascii()))))
}

/// Returns the column with an object without the members that have columns of their own.
fn data(object: &Json, own: &[&str]) -> (String, Json) {
    let rest = own.iter().try_fold(object.clone(), |object, name| without(&object, name));
    let rest = rest.unwrap_or(Json::constant("{}"));
    ("data".to_owned(), Json::string(&String::from_utf8_lossy(rest.as_bytes())))
}

fn named(columns: &[(&str, &Json)]) -> Row {
    Row(columns.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect())
}
