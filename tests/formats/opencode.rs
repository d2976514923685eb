//! OpenCode's sessions: documents are restored, stores are read as the documents that the program
//! exports of them, and contexts are what it sends.

use crate::common::{
    self, Dir, assert_same, corpus, files, from_canonical, name, options, own_inputs, read,
    recognise, to_canonical,
};
use copyist::context::Request;
use copyist::format::{OnError, Options};
use copyist::formats::opencode::FORMAT;
use copyist::ids::Choice;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// Documents of our own.
fn documents() -> Vec<PathBuf> {
    let is_own = |file: &PathBuf| recognise(&read(file)).is_some_and(|(own, _)| *own == FORMAT);
    own_inputs().into_iter().filter(is_own).collect()
}

/// Messages that a model gets, in the program's own form.
fn sent(document: &[u8]) -> Vec<Value> {
    let (done, _) = common::context(document, &Request::default(), &keep());
    let context: Value = serde_json::from_slice(&done.expect("a context")).expect("JSON");
    context["messages"].as_array().expect("messages").clone()
}

/// The canonical stream of one session in a folder.
fn stream_of(folder: &Path, id: &str) -> Vec<u8> {
    let out = Dir::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.arg("convert").arg(folder).args(["--session", id, "--to", "canonical"]);
    let done = command.arg("--no-origin").arg("--out-dir").arg(out.root()).output();
    let done = done.expect("the program runs");
    let written = files(out.root());
    let is_stream = |file: &&PathBuf| name(file).ends_with(".jsonl");
    let stream = written.iter().find(is_stream);
    read(stream.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&done.stderr))))
}

fn without(object: &Value, names: &[&str]) -> Value {
    let mut object = object.clone();
    names.iter().for_each(|name| drop(object.as_object_mut().expect("an object").remove(*name)));
    object
}

/// Writes a document into the tables of a database.
fn store_rows(document: &Value, path: &Path) {
    let db = Connection::open(path).expect("a database");
    db.execute_batch(
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, \
         directory TEXT, title TEXT, version TEXT, revert TEXT, time_created INTEGER, \
         time_updated INTEGER);
         CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, \
         time_updated INTEGER, data TEXT);
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
    )
    .expect("tables");
    let info = &document["info"];
    let text = |name: &str| info[name].as_str().map(str::to_owned);
    let revert = info.get("revert").map(Value::to_string);
    let time = |name: &str| info["time"][name].as_i64();
    db.execute(
        "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            text("id"),
            text("projectID"),
            text("parentID"),
            text("slug"),
            text("directory"),
            text("title"),
            text("version"),
            revert,
            time("created"),
            time("updated"),
        ],
    )
    .expect("a row");
    for message in document["messages"].as_array().expect("messages") {
        let own = &message["info"];
        let data = without(own, &["id", "sessionID"]).to_string();
        let created = own["time"]["created"].as_i64();
        db.execute(
            "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
            params![own["id"].as_str(), text("id"), created, data],
        )
        .expect("a row");
        for part in message["parts"].as_array().expect("parts") {
            let data = without(part, &["id", "sessionID", "messageID"]).to_string();
            db.execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4)",
                params![part["id"].as_str(), own["id"].as_str(), text("id"), data],
            )
            .expect("a row");
        }
    }
}

/// Writes a document as files, one for the session and for each message and part.
fn store_files(document: &Value, folder: &Dir) {
    let of = |value: &Value| value.as_str().expect("a text").to_owned();
    let session = of(&document["info"]["id"]);
    let write = |name: String, value: &Value| {
        folder.write(&format!("opencode/storage/{name}.json"), value.to_string().as_bytes());
    };
    write(format!("session/global/{session}"), &document["info"]);
    for message in document["messages"].as_array().expect("messages") {
        let id = of(&message["info"]["id"]);
        write(format!("message/{session}/{id}"), &message["info"]);
        for part in message["parts"].as_array().expect("parts") {
            write(format!("part/{id}/{}", of(&part["id"])), part);
        }
    }
}

#[test]
fn stores_are_read_as_their_documents() {
    for file in documents() {
        let document = read(&file);
        let value: Value = serde_json::from_slice(&document).expect("JSON");
        let id = value["info"]["id"].as_str().expect("an identifier");
        let (rows, tree) = (Dir::new(), Dir::new());
        std::fs::create_dir(rows.path("opencode")).expect("a folder");
        store_rows(&value, &rows.path("opencode/opencode.db"));
        store_files(&value, &tree);
        for folder in [&rows, &tree] {
            let stored = stream_of(folder.root(), id);
            let what = format!("{} in {}", file.display(), folder.root().display());
            assert_eq!(sent(&stored), sent(&document), "{what}");
        }
        // A session in both stores is one session.
        store_files(&value, &rows);
        let stored = stream_of(rows.root(), id);
        assert_eq!(sent(&stored), sent(&document), "{}", file.display());
    }
}

#[test]
fn documents_of_the_program_come_back_with_what_it_sends() {
    let Some(corpus) = corpus("opencode") else { return };
    let mut count = 0;
    for version in ["1.0.152", "1.2.27", "1.18.33"] {
        for file in files(&corpus.join("opencode").join(version)) {
            let document = read(&file);
            if recognise(&document).is_none_or(|(format, _)| *format != FORMAT) {
                continue;
            }
            let stream = to_canonical(&document, &keep());
            let back = from_canonical(&stream, FORMAT.name, &keep());
            assert_same(&back, &document, &file.display().to_string());
            count += 1;
            let request = corpus.join("opencode").join(format!("sent-{version}"));
            let request = request.join(name(&file));
            if version != "1.18.33" || !request.is_file() {
                continue;
            }
            let request: Value = serde_json::from_slice(&read(&request)).expect("JSON");
            let mut expected = request.as_array().expect("messages").clone();
            // The question that made the program send its history.
            assert_eq!(expected.pop(), Some(json!({"role": "user", "content": "PROBE"})));
            assert_eq!(sent(&document), expected, "{}", file.display());
        }
    }
    assert!(count > 50, "{count} documents");
}
