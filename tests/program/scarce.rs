//! Runs that lack something: open files, a part of what a killed run wrote, a folder's name.

use crate::common::{Dir, own, read};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

#[cfg(unix)]
#[test]
fn few_open_files_suffice_for_many_sessions() {
    let dir = Dir::new();
    for n in 0..30 {
        dir.write(&format!("in/s{n}.jsonl"), &own("pi/v3/everything"));
    }
    for (jobs, to) in [("8", "claude-code"), ("16", "connectonion"), ("2", "codelia@2")] {
        let script =
            format!("ulimit -n 24; exec \"$0\" convert -q -j {jobs} -t {to} in --out-dir {jobs}");
        let done = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_copyist")])
            .current_dir(dir.root())
            .output()
            .expect("a shell");
        let why = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code() <= Some(1) && !why.contains("Too many open files"),
            "{to}: {why}"
        );
        assert!(fs::read_dir(dir.path(jobs)).expect("outputs").count() >= 30, "{to}");
    }
}

#[test]
fn a_conversion_into_a_shared_database_is_completed_by_the_next_run() {
    let dir = Dir::new();
    dir.write("s.jsonl", &own("pi/v3/everything"));
    let convert = ["convert", "-q", "-t", "codelia@2", "s.jsonl", "--out-dir", "out"];
    assert!(dir.exit(&convert).0 <= 1);
    let files = || crate::common::all_files(&dir.path("out"));
    let database = || files().into_iter().find(|file| file.ends_with("state.db")).expect("one");
    let rows = || {
        let db = rusqlite::Connection::open(database()).expect("a database");
        let rows: i64 = db
            .query_row("SELECT count(*) FROM session_state", [], |row| row.get(0))
            .expect("a table");
        rows
    };
    let whole: Vec<_> = files();
    assert_eq!(rows(), 1);
    // The row, the whole database, and the log are what a killed run did not come to.
    let db = rusqlite::Connection::open(database()).expect("a database");
    db.execute("DELETE FROM session_state", []).expect("room");
    drop(db);
    assert!(dir.exit(&convert).0 <= 1);
    assert_eq!((rows(), files()), (1, whole.clone()));
    fs::remove_file(database()).expect("it is there");
    assert!(dir.exit(&convert).0 <= 1);
    assert_eq!((rows(), files()), (1, whole.clone()));
    // A file with other contents is not written over.
    let log = whole
        .iter()
        .find(|file| file.ends_with("sessions") || file.to_string_lossy().contains("messages"));
    let log = log.expect("a log").clone();
    fs::write(&log, "other").expect("room");
    let (code, why) = dir.said(&convert);
    assert!(code == 3 && why.contains("CY0701"), "{why}");
    assert_eq!(read(&log), b"other");
}

#[test]
fn a_session_without_a_folder_has_a_place_in_the_native_layout() {
    let dir = Dir::new();
    let source = String::from_utf8(own("pi/v3/everything")).expect("UTF-8");
    let first = source.lines().next().expect("a line");
    let mut header: serde_json::Value = serde_json::from_str(first).expect("JSON");
    header["cwd"] = "".into();
    dir.write("s.jsonl", source.replacen(first, &header.to_string(), 1).as_bytes());
    let (code, why) = dir.said(&[
        "convert",
        "-t",
        "claude-code",
        "--layout",
        "native",
        "s.jsonl",
        "--out-dir",
        "o",
    ]);
    assert!(code <= 1 && why.contains("names no project folder"), "{why}");
    assert!(dir.path("o/-").is_dir(), "{why}");
}

#[test]
fn entries_that_are_their_own_ancestors_are_reported_by_every_conversion() {
    let dir = Dir::new();
    let line = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-21T10:00:00.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
        )
    };
    let header = r#"{"type":"session","version":3,"id":"019ac000-0000-7000-8000-000000000001","timestamp":"2026-11-21T10:00:00.000Z","cwd":"/w"}"#;
    let lines = [header.to_owned(), line("a", "null"), line("b", "\"c\""), line("c", "\"b\"")]
        .join("\n")
        + "\n";
    dir.write("s.jsonl", lines.as_bytes());
    for to in ["claude-code", "canonical", "connectonion", "codex"] {
        let (code, why) = dir.said(&["convert", "-t", to, "s.jsonl", "-o", to]);
        assert!(code == 1 && why.matches("CY0404").count() == 1, "{to}: {code} {why}");
        let (_, why) = dir.said(&["convert", "-t", "pi", to, "-o", &format!("{to}.back")]);
        assert_eq!(read(&dir.path(&format!("{to}.back"))), lines.as_bytes(), "{to}: {why}");
    }
}

#[test]
fn a_packed_copy_beside_its_session_is_noted() {
    let dir = Dir::new();
    let session = own("pi/v3/everything");
    dir.write("R.jsonl", &session);
    dir.write("R.jsonl.zst", &zstd::encode_all(&session[..], 0).expect("room"));
    let (_, said) = dir.said(&["validate", "."]);
    assert!(said.contains("CY0728") && said.contains("has the same text"), "{said}");
}

#[test]
fn a_copy_under_another_identifier_is_noted() {
    let dir = Dir::new();
    let (id, other) =
        ("00000000-0000-4000-8000-000000000001", "019c0000-0000-4000-8000-00000000cccc");
    let line = |role: &str, content: Value, parent: Value, uuid: &str| {
        let message = json!({"role": role, "id": "msg_1", "content": content});
        json!({"parentUuid": parent, "isSidechain": false, "cwd": "/w", "sessionId": id,
            "version": "2.1.200", "type": role, "uuid": uuid, "message": message,
            "timestamp": "2026-09-01T10:00:00.000Z"})
    };
    let said = json!([{"type": "text", "text": "Spring tides."}]);
    let lines = [
        line(
            "user",
            json!("Which tides are high?"),
            Value::Null,
            "a0000000-0000-4000-8000-000000000001",
        ),
        line(
            "assistant",
            said,
            json!("a0000000-0000-4000-8000-000000000001"),
            "a0000000-0000-4000-8000-000000000002",
        ),
    ];
    let text = lines.map(|line| format!("{line}\n")).concat();
    dir.write(&format!("{id}.jsonl"), text.as_bytes());
    dir.write(&format!("{other}.jsonl"), text.replace(id, other).as_bytes());
    let (_, printed) = dir.said(&["validate", "."]);
    assert!(
        printed.matches("note[CY0731]").count() == 1
            && printed.contains(&format!("answer: ./{id}.jsonl")),
        "{printed}"
    );
}

#[test]
fn a_code_is_explained_as_grave_as_it_is_reported() {
    let dir = Dir::in_memory();
    let list = dir.said(&["explain"]).1;
    for code in copyist::diagnostic::Code::ALL {
        let (name, text) = (code.name(), code.explanation());
        let invalid = code.is_invalid();
        let severity = if invalid { "error" } else { &code.severity().to_string() };
        assert!(list.contains(&format!("{name} {severity:<8} ")), "{name}");
        if text.contains("remains valid") || text.contains("no repair is necessary") {
            assert!(!invalid, "{name} is said to be valid");
        }
        if text.contains("is an error") || text.contains("agent fails") {
            assert!(invalid || code.is_fix(), "{name} is said to be an error");
        }
    }
    let said = dir.said(&["explain", "CY0402"]).1;
    assert!(said.starts_with("CY0402: parent does not exist (error)"), "{said}");
}

#[test]
fn outputs_of_tools_are_no_sessions() {
    let dir = Dir::new();
    dir.write("s.jsonl", &own("pi/v3/everything"));
    let convert =
        ["convert", "-q", "--no-origin", "-t", "claude-code", "s.jsonl", "-o", "p/U.jsonl"];
    assert!(dir.exit(&convert).0 <= 1);
    let session = read(&dir.path("p/U.jsonl"));
    dir.write("p/U/tool-results/b1.txt", &session);
    let whole = dir.said(&["validate", "p"]).1;
    assert!(whole.contains("1 valid (with 1 more file)"), "{whole}");
    // Claude Code removes old transcripts, but not the folders beside them.
    fs::remove_file(dir.path("p/U.jsonl")).expect("it is there");
    let (code, alone) = dir.said(&["validate", "-v", "p"]);
    assert!(alone.contains("1 skipped") && alone.contains("output of a tool"), "{code} {alone}");
    // A user may name the file, or the folder.
    for named in ["p/U/tool-results", "p/U/tool-results/b1.txt"] {
        assert!(dir.said(&["validate", named]).1.contains(": valid "), "{named}");
    }
}

#[test]
fn a_first_line_that_is_not_utf8_comes_back_as_it_was() {
    let dir = Dir::new();
    dir.write("s.jsonl", &own("pi/v3/everything"));
    let convert = ["convert", "-q", "--no-origin", "-t", "claude-code", "s.jsonl", "-o", "a.jsonl"];
    assert!(dir.exit(&convert).0 <= 1);
    let whole = read(&dir.path("a.jsonl"));
    for member in ["\"sessionId\":\"", "\"timestamp\":\"", "\"uuid\":\""] {
        let mut bytes = whole.clone();
        let place = memchr::memmem::find(&bytes, member.as_bytes()).expect("a member");
        bytes[place + member.len() + 3] = 0xff;
        dir.write("b.jsonl", &bytes);
        for to in ["pi", "codex", "connectonion", "canonical"] {
            let keep = ["convert", "--force", "--on-error", "keep"];
            let (code, why) = dir.said(&[&keep[..], &["-t", to, "b.jsonl", "-o", to]].concat());
            assert!(code <= 1, "{to}: {why}");
            let back = ["-t", "claude-code", to, "-o", "back.jsonl"];
            let (_, why) = dir.said(&[&keep[..], &back].concat());
            assert_eq!(read(&dir.path("back.jsonl")), bytes, "{member} {to}: {why}");
        }
    }
}
