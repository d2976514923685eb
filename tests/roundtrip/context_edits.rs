//! Edits of what pi sends, of any message of sessions of other formats.

use crate::common::{Dir, files};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The main file of the only session below a folder.
fn log(dir: &Dir, folder: &str) -> PathBuf {
    let mut all = files(&dir.path(folder)).into_iter();
    all.find(|file| !file.display().to_string().ends_with(".meta.json")).expect("a file")
}

/// The messages that a model gets of the only session below a folder.
fn context(dir: &Dir, folder: &str) -> String {
    let log = log(dir, folder).display().to_string();
    let done = dir.run(&["context", "--as", "canonical", &log]);
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(done.status.success(), "{text}");
    text
}

/// A session of our own in pi, and its entries.
fn in_pi(case: &str) -> (Dir, Vec<Value>) {
    let dir = Dir::new();
    dir.copy(case, "in");
    let (code, printed) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "away", "in"]);
    assert_eq!(code, 0, "{printed}");
    let text = fs::read_to_string(log(&dir, "away")).expect("UTF-8");
    let entries = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let entries = entries.collect();
    (dir, entries)
}

/// Converts the session back with an edit of the context behind its last entry. Returns all its
/// files as one text, and what is printed.
fn with_edit(
    (dir, entries): &(Dir, Vec<Value>),
    target: &Value,
    replacement: &Value,
    to: &str,
) -> (String, String) {
    let edit = json!({"type": "context_edit", "id": "ed170001",
        "parentId": entries.last().expect("an entry")["id"],
        "timestamp": "2027-03-01T00:00:00.000Z", "targetId": target["id"],
        "replacement": replacement});
    let file = log(dir, "away");
    let text = fs::read_to_string(&file).expect("UTF-8");
    fs::write(&file, format!("{text}{edit}\n")).expect("a file");
    let args = ["convert", "--force", "-t", to, "--out-dir", "home", "away"];
    let (code, printed) = dir.exit(&args);
    fs::write(&file, text).expect("a file");
    assert_eq!(code, 0, "{to}: {printed}");
    assert!(!printed.contains("CY0621"), "{to}: {printed}");
    let all = files(&dir.path("home")).into_iter().map(|file| fs::read(file).expect("a file"));
    let all: Vec<_> = all.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    (all.concat(), printed)
}

#[test]
fn a_message_that_pi_replaces_is_edited_in_the_source() {
    for (case, to) in [
        ("codelia/v1/state", "codelia@1"),
        ("codelia/v2/log", "codelia@2"),
        ("connectonion/v2/harbour", "connectonion@2"),
        ("connectonion/v3/tides", "connectonion@3"),
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
    ] {
        for role in ["user", "assistant"] {
            let session = in_pi(case);
            let entries = &session.1;
            let above =
                |entry: &&Value| entries.iter().find(|other| other["id"] == entry["parentId"]);
            let mut path = std::iter::successors(entries.last(), above);
            let target = path.find(|entry| entry["message"]["role"] == role).expect("a message");
            let new = json!({"content": "(in its place)"});
            let (text, printed) = with_edit(&session, target, &new, to);
            assert!(text.contains("(in its place)"), "{to} {role}: {text}");
            assert!(printed.contains("was edited"), "{to} {role}: {printed}");
            assert!(context(&session.0, "home").contains("(in its place)"), "{to} {role}");
            let (_, printed) = with_edit(&session, target, &Value::Null, to);
            assert!(printed.contains("a message was deleted"), "{to} {role}: {printed}");
        }
    }
}

#[test]
fn any_message_that_pi_omits_is_deleted_in_the_source() {
    for (case, to) in [
        ("codelia/v1/lamp", "codelia@1"),
        ("codelia/v1/compacted", "codelia@1"),
        ("connectonion/v2/harbour", "connectonion@2"),
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
    ] {
        let session = in_pi(case);
        for target in session.1.iter().filter(|entry| entry["type"] == "message") {
            let (_, printed) = with_edit(&session, target, &Value::Null, to);
            assert!(printed.contains("a message was deleted"), "{case}: {printed}");
        }
    }
}
