//! Sessions that the command continues: where a message goes, and what is refused.

use crate::common::{Dir, all_files, corpus, inputs_below, name, own, read, testdata};
use copyist::manager::Session;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs `append` with these messages on standard input.
fn append(dir: &Dir, file: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_copyist"))
        .args(["append", file])
        .current_dir(dir.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // A program that refuses the session does not read its input.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn printed(done: &Output) -> String {
    String::from_utf8_lossy(&[&*done.stdout, &*done.stderr].concat()).into_owned()
}

/// A copy of a transcript with the folder of its sub-agents.
fn copied(path: &Path, dir: &Dir) -> String {
    let file = name(path);
    dir.write(&file, &read(path));
    let beside = path.with_extension("");
    let others = if beside.is_dir() { all_files(&beside) } else { Vec::new() };
    for other in &others {
        let below = other.strip_prefix(path.parent().expect("a folder")).expect("below it");
        dir.write(&below.to_string_lossy(), &read(other));
    }
    file
}

/// Transcripts of our own, and every `step`-th of the corpus.
fn transcripts(step: usize) -> Vec<PathBuf> {
    let mut paths = inputs_below(&testdata().join("claude-code"));
    if let Some(corpus) = corpus("messages appended to transcripts") {
        let below = all_files(&corpus.join("claude-code/generated")).into_iter();
        let sessions = below.filter(|path| {
            path.extension().is_some_and(|ending| ending == "jsonl")
                && !path.components().any(|folder| folder.as_os_str() == "subagents")
        });
        paths.extend(sessions.step_by(step));
    }
    paths
}

/// The verdict of `validate` on a file.
fn verdict(dir: &Dir, file: &str) -> (i32, Value) {
    let done = dir.run(&["inspect", "--json", file]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    (dir.exit(&["validate", file]).0, report["state"].clone())
}

#[test]
fn a_message_behind_a_transcript_is_its_leaf_and_in_its_context() {
    append_behind(5);
}

#[test]
#[ignore = "a minute: every transcript of the corpus"]
fn transcripts_in_full() {
    append_behind(1);
}

/// Appends two messages to each of [these transcripts](transcripts).
fn append_behind(step: usize) {
    let texts = ["The first message behind it.", "The second message behind it."];
    let mut appended = 0;
    for path in transcripts(step) {
        let dir = Dir::in_memory();
        let file = copied(&path, &dir);
        let before = (read(&dir.path(&file)), verdict(&dir, &file));
        let lines = texts.map(|text| json!({"role": "user", "content": text}).to_string() + "\n");
        let done = append(&dir, &file, &lines.concat());
        let whole = format!("{}: {}", path.display(), printed(&done));
        if !done.status.success() {
            // A file without a conversation cannot be continued.
            assert!(["CY0111", "CY0210"].iter().any(|code| whole.contains(code)), "{whole}");
            assert!(done.stdout.is_empty() && read(&dir.path(&file)) == before.0, "{whole}");
            continue;
        }
        let session = Session::open(dir.path(&file)).expect("a session");
        let printed = String::from_utf8(done.stdout).expect("UTF-8");
        let ids: Vec<_> = printed.lines().collect();
        let messages = session.messages().expect("a path");
        let [.., first, second] = &messages[..] else { panic!("{whole}") };
        assert_eq!(session.leaf().as_deref(), Some(ids[1]), "{whole}");
        assert_eq!((&first["id"], &second["id"]), (&json!(ids[0]), &json!(ids[1])), "{whole}");
        assert_eq!(second["parent"], ids[0], "{whole}");
        let sent = dir.run(&["context", "--as", "openai", &file]);
        // Halves of surrogate pairs keep some of these requests from being read as JSON here.
        let sent = String::from_utf8_lossy(&sent.stdout).into_owned();
        let tail = sent.rfind(texts[0]).map(|place| &sent[place..]).unwrap_or_default();
        assert!(tail.contains(texts[1]) && tail.len() < 150, "{whole}: {tail}");
        // Claude Code leaves out an answer without results if the conversation goes on behind it.
        let is_left_out = dir.said(&["validate", &file]).1.contains("CY0421");
        assert!(verdict(&dir, &file) == before.1 || is_left_out, "{whole}");
        assert!(read(&dir.path(&file)).starts_with(before.0.trim_ascii_end()), "{whole}");
        appended += 1;
    }
    println!("{appended} transcripts continued");
    assert!(appended >= 4);
}

#[test]
fn a_message_behind_a_converted_session_is_its_leaf() {
    for target in ["claude-code", "canonical"] {
        let dir = Dir::in_memory();
        dir.copy("pi/v3/everything", "s.jsonl");
        let (code, shown) = dir.said(&["convert", "-t", target, "s.jsonl", "-o", "c.jsonl"]);
        assert_eq!(code, 0, "{shown}");
        for text in ["One.", "Two."] {
            let done = dir.run(&["append", "--text", text, "c.jsonl"]);
            let session = Session::open(dir.path("c.jsonl")).expect("a session");
            let printed = printed(&done);
            assert_eq!(session.leaf().as_deref(), Some(printed.trim()), "{target}");
            let messages = session.messages().expect("a path");
            assert!(messages.last().expect("one")["content"].to_string().contains(text));
        }
    }
}

#[test]
fn a_message_follows_a_line_whose_identifier_is_no_uuid() {
    let line = |id: &str, parent: Value, text: &str| {
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w",
            "sessionId": "5e551011-0000-4000-8000-000000000001", "version": "2.1.81",
            "type": "user", "uuid": id, "timestamp": "2026-11-21T10:00:01.000Z",
            "message": {"role": "user", "content": text}})
        .to_string()
            + "\n"
    };
    let dir = Dir::in_memory();
    let lines = line("00000001", Value::Null, "a") + &line("00000002", json!("00000001"), "b");
    dir.write("s.jsonl", lines.as_bytes());
    let done = append(&dir, "s.jsonl", "{\"role\":\"user\",\"content\":\"c\"}\n");
    assert!(done.status.success(), "{}", printed(&done));
    let text = String::from_utf8(read(&dir.path("s.jsonl"))).expect("UTF-8");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["parentUuid"], "00000002");
    assert_eq!(dir.exit(&["validate", "s.jsonl"]).0, 0);
}

#[test]
fn nothing_is_written_to_a_compressed_session() {
    let dir = Dir::in_memory();
    let session = own("pi/v3/everything");
    dir.write("s.jsonl", &session);
    let zstd = zstd::encode_all(&session[..], 0).expect("room");
    let entry = Session::open(dir.path("s.jsonl")).expect("a session").leaf().expect("one");
    for file in ["s.jsonl.zst", "named.jsonl"] {
        dir.write(file, &zstd);
        for args in [&["append", "--text", "hi", file][..], &["label", file, &entry, "x"]] {
            let (code, why) = dir.exit(args);
            assert_eq!(code, 3, "{why}");
            assert!(why.contains(file) && why.contains("unpack it first"), "{why}");
            assert_eq!(read(&dir.path(file)), zstd);
        }
    }
    let names = dir.names();
    for file in ["new.jsonl.gz", "below/new.jsonl.zst"] {
        let (code, why) = dir.exit(&["append", "--new", "pi", "--text", "hi", file]);
        assert!(code == 3 && why.contains("compressed"), "{why}");
        assert_eq!(dir.names(), names);
    }
}

#[test]
fn a_message_that_agents_do_not_read_is_refused_with_its_line() {
    let dir = Dir::in_memory();
    let good = r#"{"role":"user","content":"hi"}"#;
    for bad in [
        r#"{"role":"user"}"#,
        r#"{"role":"bogus","content":"hi"}"#,
        r#"{"content":"hi"}"#,
        r#"{"role":"user","content":""}"#,
        r#"{"role":"user","content":[]}"#,
        r#"{"role":"user","content":null}"#,
    ] {
        dir.write("s.jsonl", &own("pi/v3/everything"));
        let done = append(&dir, "s.jsonl", &format!("{good}\n{bad}\n"));
        let why = printed(&done);
        assert!(done.status.code() == Some(3) && why.contains("<stdin>:2: "), "{bad}: {why}");
        assert_eq!(done.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(dir.exit(&["validate", "s.jsonl"]).0, 0, "{bad}");
    }
    let (code, why) = dir.exit(&["append", "--text", "", "s.jsonl"]);
    assert!(code == 3 && why.contains("is empty"), "{why}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_keeps_its_length() {
    let dir = Dir::new();
    let old = own("pi/v3/everything");
    dir.write("s.jsonl", &old);
    let text = "long ".repeat(4000);
    let entry = Session::open(dir.path("s.jsonl")).expect("a session").leaf().expect("one");
    for args in [
        &["append", "--text", &text, "s.jsonl"][..],
        &["label", "s.jsonl", &entry, &text],
        &["fork", "s.jsonl"],
    ] {
        // The unit is 512 or 1024 bytes, as the shell has it.
        let blocks = if args[0] == "fork" { 1 } else { old.len().div_ceil(512) };
        let done = Command::new("sh")
            .args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_copyist"))
            .args(args)
            .current_dir(dir.root())
            .output()
            .expect("a shell");
        let why = printed(&done);
        assert_eq!(done.status.code(), Some(3), "{}: {why}", args[0]);
        assert!(why.contains("File too large"), "{why}");
        assert_eq!(read(&dir.path("s.jsonl")), old);
        assert_eq!(dir.names(), ["s.jsonl"]);
    }
    assert_eq!(dir.exit(&["append", "--text", "short", "s.jsonl"]).0, 0);
}

#[test]
fn a_format_that_cannot_be_continued_is_named_with_advice() {
    let dir = Dir::in_memory();
    dir.copy("codex/v2/polish", "codex.jsonl");
    let (code, why) = dir.exit(&["append", "--role", "system", "--text", "hi", "codex.jsonl"]);
    assert!(code == 3 && why.contains("no place for this message"), "{why}");
    assert_eq!(read(&dir.path("codex.jsonl")), own("codex/v2/polish"));
    dir.copy("connectonion/v3/tides", "run_1.yaml");
    let (code, why) = dir.exit(&["fork", "run_1.yaml"]);
    assert!(code == 3 && why.contains("cannot be forked") && why.contains("pi@3"), "{why}");
    let torn = own("pi/v1/feature-work");
    dir.write("torn.jsonl", &torn[..torn.len() - 20]);
    let (code, why) = dir.exit(&["append", "--text", "hi", "torn.jsonl"]);
    assert!(code == 3 && why.contains("copyist repair torn.jsonl"), "{why}");
}
