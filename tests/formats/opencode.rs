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

/// Files of release 2 were made by hand: no release of it was run.
#[test]
fn tables_and_documents_of_release_2_are_read_alike() {
    let Some(corpus) = corpus("opencode") else { return };
    let made = corpus.join("opencode/2x-made");
    let home = Dir::new();
    home.write("opencode/opencode.db", &read(&made.join("opencode.db")));
    let ids: Value = serde_json::from_slice(&read(&made.join("sessions.json"))).expect("JSON");
    let stored = |name: &str| sent(&stream_of(home.root(), ids[name].as_str().expect("a text")));
    let mut count = 0;
    for file in files(&made).iter().filter(|file| name_ends(file, ".export.json")) {
        let name = name(file).replace(".export.json", "");
        if name == "running" {
            // An export leaves out what has not ended.
            continue;
        }
        // Spaces between the arguments of a call are those of the file.
        let plain = |messages: &[Value]| json!(messages).to_string().replace("\\\": ", "\\\":");
        let document = read(file);
        assert_eq!(
            plain(&sent(&document)),
            plain(&stored(&name)).replace(", \\\"", ",\\\""),
            "{name}"
        );
        let first = from_canonical(&to_canonical(&document, &keep()), FORMAT.name, &keep());
        assert_eq!(sent(&first), sent(&document), "{name}");
        count += 1;
    }
    assert!(count > 10, "{count} documents");
    let said = |name: &str| json!(stored(name)).to_string();
    // The tables of release 2 count, and a session that only release 1 has is there.
    assert!(said("both").contains("the newer row") && said("v1-only").contains("first-generation"));
    assert!(!said("reverted").contains("Undo this one"), "{}", said("reverted"));
    let summed = &stored("compaction")[0];
    let text = summed["content"].as_str().expect("a text");
    assert!(
        summed["role"] == "user" && text.contains("one old question") && text.contains("[User]")
    );
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

/// Runs the program in a home folder.
fn run(home: &Dir, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).env("TZ", "UTC");
    let done = command.args(args).output().expect("the program runs");
    let said = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

/// A home folder whose database has the session of a document, and the path of the database.
fn home_with(document: &Value) -> (Dir, PathBuf) {
    let home = Dir::new();
    let folder = home.path(".local/share/opencode");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("opencode.db");
    store_rows(document, &path);
    (home, path)
}

fn harbour_file() -> PathBuf {
    common::testdata().join("opencode/v1/harbour/in/harbour.json")
}

fn harbour() -> Value {
    serde_json::from_slice(&read(&harbour_file())).expect("JSON")
}

#[test]
fn a_row_that_is_no_json_takes_nothing_else_with_it() {
    let document = harbour();
    let (home, path) = home_with(&document);
    let db = Connection::open(&path).expect("a database");
    let messages = document["messages"].as_array().expect("messages");
    let id = |value: &Value| value["id"].as_str().expect("an identifier").to_owned();
    // The row of the first answer, and the first part of the first question.
    let break_row = |table: &str, id: &str| {
        let statement = format!("UPDATE {table} SET data = '{{\"type' WHERE id = ?1");
        assert_eq!(db.execute(&statement, [id]).expect("a change"), 1);
    };
    break_row("message", &id(&messages[1]["info"]));
    break_row("part", &id(&messages[0]["parts"][0]));
    drop(db);
    let session = id(&document["info"]);
    let (_, said) = run(&home, &["context", "--as", "canonical", &session]);
    assert!(said.contains("I read the log."), "{said}");
    assert!(said.contains("1: Heron, 07:40"), "{said}");
    assert!(!said.contains("Which boats came in today?"), "{said}");
    assert!(said.contains("is not a JSON object"), "{said}");
}

#[test]
fn parts_of_a_lost_message_are_kept() {
    let document = harbour();
    let (home, path) = home_with(&document);
    let db = Connection::open(&path).expect("a database");
    let lost = document["messages"][1]["info"]["id"].as_str().expect("an identifier");
    assert_eq!(db.execute("DELETE FROM message WHERE id = ?1", [lost]).expect("a change"), 1);
    drop(db);
    let session = document["info"]["id"].as_str().expect("an identifier");
    let (_, said) = run(&home, &["context", "--as", "canonical", session]);
    assert!(said.contains("I read the log.") && said.contains("Which boats came in"), "{said}");
    assert!(said.contains("its parts are kept"), "{said}");
    let lines: Vec<_> =
        ["Which boats came in", "I read the log."].map(|words| said.find(words)).into();
    assert!(lines.is_sorted(), "{said}");
}

#[test]
fn a_store_is_only_read() {
    let document = harbour();
    let (home, path) = home_with(&document);
    let before = read(&path);
    let session = document["info"]["id"].as_str().expect("an identifier");
    let store = path.to_str().expect("UTF-8");
    for args in [
        &["repair", "--in-place", store][..],
        &["repair", "--in-place", "--resumable", store],
        &["append", "--text", "One more.", session],
        &["move", "/home/ada/harbour", "/home/ada/port"],
    ] {
        let (_, said) = run(&home, args);
        assert_eq!(read(&path), before, "{args:?}: {said}");
    }
    let (code, said) = run(&home, &["repair", "--in-place", store]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("CY0895") && said.contains("copyist convert"), "{said}");
}

#[test]
fn a_result_behind_words_of_the_user_is_in_its_call() {
    let lines = [
        json!({"kind": "session", "source": "pi@3", "id": "a1"}),
        json!({"kind": "message", "id": "a", "parent": null, "role": "user", "content": "Look."}),
        json!({"kind": "message", "id": "b", "parent": "a", "role": "assistant", "content": [
            {"type": "tool_call", "id": "call_1", "name": "ls", "arguments": {}}]}),
        json!({"kind": "message", "id": "c", "parent": "b", "role": "user", "content": "Quick!"}),
        json!({"kind": "message", "id": "d", "parent": "c", "role": "tool", "content": [
            {"type": "tool_result", "call": "call_1", "content": "two files"}]}),
        json!({"kind": "message", "id": "e", "parent": "d", "role": "assistant", "content": [
            {"type": "text", "text": "Two."}]}),
    ];
    let stream: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let written = from_canonical(&stream, FORMAT.name, &keep());
    let document: Value = serde_json::from_slice(&written).expect("JSON");
    let said: Vec<_> = sent(&written).iter().map(|message| message["role"].clone()).collect();
    assert_eq!(said, ["user", "assistant", "tool", "user", "assistant"]);
    let part = &document["messages"][1]["parts"][1];
    assert_eq!(part["state"]["output"], "two files", "{document:#}");
}

/// A session of pi's that OpenCode imported and continued in its database.
#[test]
fn a_session_of_a_store_goes_back_to_its_original() {
    let home = Dir::new();
    let name = "2026-03-01T09-00-00-000Z_019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b.jsonl";
    let path = format!(".pi/agent/sessions/--tmp-lamps--/{name}");
    let lines = [
        json!({"type": "session", "version": 3, "id": "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b",
            "timestamp": "2026-03-01T09:00:00.000Z", "cwd": "/tmp/lamps"}),
        json!({"type": "message", "id": "aa000001", "parentId": null,
            "timestamp": "2026-03-01T09:00:01.000Z", "message": {"role": "user",
            "content": [{"type": "text", "text": "Which lamps are lit?"}]}}),
        json!({"type": "message", "id": "aa000002", "parentId": "aa000001",
            "timestamp": "2026-03-01T09:00:02.000Z", "message": {"role": "assistant",
            "content": [{"type": "text", "text": "Only north."}], "provider": "mock",
            "model": "m1", "stopReason": "stop"}}),
    ];
    let text: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    std::fs::create_dir_all(home.path(&path).parent().expect("a folder")).expect("a folder");
    home.write(&path, &text);
    let (code, said) = run(&home, &["continue", "019b8fa2", "--in", "opencode"]);
    assert_eq!(code, 0, "{said}");
    let folder = home.path(".local/share/opencode");
    let imported = files(&folder.join("import"));
    let imported = imported.iter().find(|file| name_ends(file, ".json")).expect("a document");
    let mut document: Value = serde_json::from_slice(&read(imported)).expect("JSON");
    // What the program does: rows for the document, and for a further turn.
    let session = document["info"]["id"].as_str().expect("an identifier").to_owned();
    let list = document["messages"].as_array_mut().expect("messages");
    let mut turn = list.clone();
    for (message, (id, text)) in turn.iter_mut().zip([("msg_f0", "And south?"), ("msg_f1", "No.")])
    {
        message["info"]["id"] = json!(id);
        message["info"]["time"]["created"] = json!(1_772_400_000_000_u64);
        for (part, number) in message["parts"].as_array_mut().expect("parts").iter_mut().zip(0..) {
            part["id"] = json!(format!("prt_{id}{number}"));
            part["messageID"] = json!(id);
            if part["type"] == "text" {
                part["text"] = json!(text);
            }
        }
    }
    list.extend(turn);
    store_rows(&document, &folder.join("opencode.db"));
    let (code, said) = run(&home, &["continue", &session, "--in", "pi"]);
    assert_eq!(code, 0, "{said}");
    let back = read(&home.path(&path));
    assert!(back.starts_with(&text), "{said}");
    let added = String::from_utf8_lossy(&back[text.len()..]).into_owned();
    assert_eq!(added.lines().count(), 2, "{added}");
    assert!(added.contains("And south?") && added.contains("No."), "{added}");
    let (_, said) = run(&home, &["continue", &session, "--in", "pi"]);
    assert!(said.contains("has all messages already"), "{said}");
    assert_eq!(read(&home.path(&path)), back);
}

/// A session of another format in a home folder, as a document.
fn converted(home: &Dir, case: &str) -> Vec<u8> {
    let source = read(&common::testdata().join(case));
    home.write("own.jsonl", &source);
    let (code, said) = run(home, &["convert", "-t", FORMAT.name, "-o", "away.json", "own.jsonl"]);
    assert_eq!(code, 0, "{said}");
    source
}

#[test]
fn a_session_goes_on_whose_results_came_in_another_order() {
    let home = Dir::new();
    let source = converted(&home, "copilot-cli/v1/beehive/in/events.jsonl");
    let (code, id) = run(&home, &["append", "--text", "And the bees?", "away.json"]);
    assert!(code == 0 && id.starts_with("msg_"), "{id}");
    assert_eq!(run(&home, &["validate", "away.json"]).0, 0);
    let back = ["convert", "-t", "copilot-cli", "-o", "back.jsonl", "away.json"];
    let (code, said) = run(&home, &back);
    assert_eq!(code, 0, "{said}");
    let back = read(&home.path("back.jsonl"));
    assert!(back.starts_with(&source), "{said}");
    assert!(String::from_utf8_lossy(&back[source.len()..]).contains("And the bees?"));
}

#[test]
fn what_was_taken_back_and_is_in_the_conversation_again_stays_in_it() {
    let file = common::testdata().join("opencode/v1/quay/in/quay.json");
    let stream = to_canonical(&read(&file), &keep());
    let again = String::from_utf8_lossy(&stream).replace(",\"excluded\":true", "");
    let written = from_canonical(again.as_bytes(), FORMAT.name, &keep());
    let document: Value = serde_json::from_slice(&written).expect("JSON");
    assert!(document["info"].get("revert").is_none());
    let said = serde_json::to_string(&sent(&written)).expect("JSON");
    assert!(said.contains("Throw them away."), "{said}");
}

#[test]
fn a_document_of_release_2_is_read_and_not_repaired() {
    let document = json!({"info": {"id": "ses_1", "location": {"directory": "/w"}}, "messages": [
        {"id": "msg_1", "type": "user", "text": "Hi.", "time": {"created": 1}}]});
    let text = document.to_string();
    assert_eq!(recognise(text.as_bytes()).map(|(_, version)| version), Some(2));
    assert_eq!(sent(text.as_bytes()), [json!({"role": "user", "content": "Hi."})]);
    let home = Dir::new();
    home.write("two.json", text.as_bytes());
    let (code, said) = run(&home, &["repair", "--in-place", "two.json"]);
    assert!(code == 3 && said.contains("CY0895"), "{said}");
    assert_eq!(read(&home.path("two.json")), text.as_bytes());
}

fn name_ends(file: &Path, ending: &str) -> bool {
    name(file).ends_with(ending)
}

#[test]
fn sessions_of_a_store_become_documents_that_can_be_imported() {
    let document = harbour();
    // Sessions of 1.0 lack these members, and 1.18.33 refuses a document without them.
    let mut old = document.clone();
    old["info"] = without(&old["info"], &["slug"]);
    for message in old["messages"].as_array_mut().expect("messages") {
        message["info"] = without(&message["info"], &["agent"]);
    }
    let (rows, tree) = (Dir::new(), Dir::new());
    std::fs::create_dir(rows.path("opencode")).expect("a folder");
    store_rows(&document, &rows.path("opencode/opencode.db"));
    store_files(&old, &tree);
    for home in [rows, tree] {
        let args = ["convert", "--to", "opencode", "--out-dir", "out", "opencode"];
        let (code, said) = run(&home, &args);
        assert_eq!(code, 0, "{said}");
        let written: Vec<_> = files(&home.path("out"));
        let [written] = &written[..] else { panic!("{written:?}") };
        let id = document["info"]["id"].as_str().expect("an identifier");
        assert_eq!(name(written), format!("{id}.json"));
        assert_eq!(sent(&read(written)), sent(&read(&harbour_file())));
        let (code, said) = run(&home, &["validate", "out"]);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn stores_of_the_program_become_documents_that_can_be_imported() {
    let Some(corpus) = corpus("opencode") else { return };
    let old = corpus.join("opencode/1.0.152");
    let home = Dir::new();
    let storage = old.join("storage");
    let storage = storage.to_str().expect("UTF-8");
    let args = ["convert", "-q", "--to", "opencode", "--out-dir", "out", storage];
    assert_eq!(run(&home, &args).0, 0);
    let mut count = 0;
    for file in files(&home.path("out")) {
        let (written, name) = (read(&file), name(&file));
        let (_, said) = run(&home, &["validate", &format!("out/{name}")]);
        assert!(!said.contains("invalid"), "{said}");
        // One session has halves of surrogate pairs.
        let Ok(id) = serde_json::from_slice::<Value>(&written) else { continue };
        let exported = files(&old).into_iter().find(|exported| {
            let document: Value = serde_json::from_slice(&read(exported)).unwrap_or_default();
            document["info"]["id"] == id["info"]["id"]
        });
        if let Some(exported) = exported {
            assert_eq!(sent(&written), sent(&read(&exported)), "{name}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
