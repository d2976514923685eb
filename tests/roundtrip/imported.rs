//! Streams that an importer wrote, which come from no format that copyist knows: a model gets the
//! same messages in every format, and each format restores them.

use crate::common::{self, Dir, files};
use copyist::context;
use copyist::diagnostic::Log;
use copyist::format::{Cx, Options};
use copyist::formats::{FORMATS, canonical, written};
use copyist::json::Json;
use copyist::memory::{Buffer, Bytes};
use copyist::position::{Located, Position};
use copyist::record::{Field, Kind, Record};
use serde_json::{Value, json};
use std::fs;

pub const TIME: &str = "2026-01-02T03:04:05.000Z";

pub fn session() -> Value {
    json!({"kind": "session", "id": "s1", "created": TIME, "cwd": "/x"})
}

/// A message that follows another one.
pub fn said(id: &str, parent: &str, role: &str, text: &str) -> Value {
    let parent = (!parent.is_empty()).then_some(parent);
    json!({"kind": "message", "id": id, "parent": parent, "time": TIME, "role": role,
        "content": [{"type": "text", "text": text}]})
}

/// The same with other members besides.
pub fn with(mut record: Value, members: Value) -> Value {
    let all = members.as_object().expect("an object").clone();
    record.as_object_mut().expect("an object").extend(all);
    record
}

pub fn call(id: &str, parent: &str) -> Value {
    with(
        said(id, parent, "assistant", ""),
        json!({"content": [{"type": "tool_call", "id": "t1", "name": "w", "arguments": {}}]}),
    )
}

pub fn result(id: &str, parent: &str) -> Value {
    let result = json!({"type": "tool_result", "call": "t1",
        "content": [{"type": "text", "text": "done"}]});
    with(said(id, parent, "tool", ""), json!({"content": [result]}))
}

/// Every version of every format but the stream.
pub fn targets() -> Vec<String> {
    let others = written().filter(|format| format.name != canonical::FORMAT.name);
    others.flat_map(|f| f.versions.iter().map(|v| format!("{}@{}", f.name, v.number))).collect()
}

/// What a session says to a model, the system's own words apart: texts, and calls by their names.
pub fn told(dir: &Dir, file: &str) -> Vec<String> {
    let done = dir.run(&["context", "--as", "canonical", file]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{file}: {said}");
    let context: Value = serde_json::from_slice(&done.stdout).expect("a context");
    let messages = context["messages"].as_array().expect("messages");
    let told = messages.iter().filter(|message| message["role"] != "system").map(|message| {
        let blocks = message["content"].as_array().expect("blocks").iter();
        let words = blocks.map(|block| match block["type"].as_str() {
            Some("text") => block["text"].as_str().expect("a text").to_owned(),
            Some("tool_result") => block["content"][0]["text"].to_string(),
            _ => block["name"].to_string(),
        });
        format!("{}: {}", message["role"].as_str().unwrap_or_default(), words.collect::<String>())
    });
    told.collect()
}

pub fn records(dir: &Dir, file: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(dir.path(&file.display().to_string())).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Sends a stream to every format and home again: `says` is what a model hears of it there, too.
pub fn everywhere_and_home(what: &str, stream: &[Value], says: &[&str]) {
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    for to in targets() {
        let dir = Dir::new();
        dir.write("s.copyist.jsonl", lines.as_bytes());
        assert_eq!(told(&dir, "s.copyist.jsonl"), says, "{what}");
        let there =
            ["convert", "--fail-on", "loss", "-t", &to, "--out-dir", "away", "s.copyist.jsonl"];
        let (code, words) = dir.exit(&there);
        assert_eq!(code, 0, "{what} to {to}: {words}");
        let (code, words) = dir.exit(&["validate", "away"]);
        assert_eq!(code, 0, "{what} in {to}: {words}");
        // What its own readers see there, without what rides along.
        let shown = ["convert", "--ignore-origin", "-t", "canonical", "--out-dir", "shown", "away"];
        let (code, words) = dir.exit(&shown);
        assert_eq!(code, 0, "{what} in {to}: {words}");
        let shown = files(&dir.path("shown")).remove(0);
        assert_eq!(told(&dir, &shown.display().to_string()), says, "{what} in {to}");
        let back = ["convert", "--fail-on", "loss", "-t", "canonical", "--out-dir", "home", "away"];
        let (code, words) = dir.exit(&back);
        assert_eq!(code, 0, "{what} back from {to}: {words}");
        let told_of = words.contains("warning[") || words.contains("error[");
        assert!(!told_of, "{what} back from {to}: {words}");
        let back = files(&dir.path("home")).remove(0);
        assert_eq!(records(&dir, &back), stream, "{what} back from {to}");
    }
}

#[test]
fn a_stream_without_a_known_source_has_the_same_content_everywhere_and_is_restored() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "SIG"});
    let answer = json!([thought, {"type": "text", "text": "yo"}]);
    for source in [None, Some("chatgpt@1"), Some("pi@99")] {
        let mut stream = vec![
            session(),
            said("a", "", "user", "hi"),
            with(said("b", "a", "assistant", ""), json!({"content": answer})),
        ];
        if let Some(source) = source {
            stream[0]["source"] = json!(source);
        }
        everywhere_and_home(&format!("{source:?}"), &stream, &["user: hi", "assistant: yo"]);
    }
}

#[test]
fn a_stream_shows_its_own_records_as_its_context() {
    let dir = Dir::new();
    let stream = [
        session(),
        said("a", "", "user", "one"),
        said("b", "a", "user", "two"),
        json!({"kind": "compaction", "id": "k", "parent": "b", "summary": "short", "first_kept": "b"}),
    ];
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    dir.write("s.copyist.jsonl", lines.as_bytes());
    let done = dir.run(&["context", "s.copyist.jsonl"]);
    let context: Value = serde_json::from_slice(&done.stdout).expect("a context");
    assert_eq!(context, json!({"messages": [stream[3], stream[2]]}));
}

#[test]
fn messages_without_identifiers_are_a_list() {
    let bare = |role: &str, text: &str| {
        let mut record = said("", "", role, text);
        for field in ["id", "parent"] {
            record.as_object_mut().expect("an object").remove(field);
        }
        record
    };
    let stream = [session(), bare("user", "Hello"), bare("assistant", "Hi"), bare("user", "Bye")];
    let says = ["user: Hello", "assistant: Hi", "user: Bye"];
    for source in [None, Some("chatgpt@1"), Some("connectonion@2")] {
        let mut stream = stream.clone();
        source.into_iter().for_each(|source| stream[0]["source"] = json!(source));
        let dir = Dir::new();
        let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
        dir.write("s.copyist.jsonl", lines.as_bytes());
        assert_eq!(told(&dir, "s.copyist.jsonl"), says);
        let (code, words) = dir.exit(&["validate", "s.copyist.jsonl"]);
        assert_eq!((code, words.contains("CY0405")), (0, false), "{words}");
    }
    everywhere_and_home("a list", &stream, &says);
}

#[test]
fn messages_without_parents_are_a_list() {
    let mut stream = vec![session()];
    for (id, role) in [("1", "user"), ("2", "assistant"), ("3", "user"), ("4", "assistant")] {
        let mut message = said(id, "", role, &format!("says {id}"));
        message.as_object_mut().expect("an object").remove("parent");
        stream.push(message);
    }
    let says = ["user: says 1", "assistant: says 2", "user: says 3", "assistant: says 4"];
    everywhere_and_home("no parents", &stream, &says);
    // The first one follows none, whether it says so or not.
    let mut first = stream.clone();
    for (record, parent) in first[2..].iter_mut().zip(["1", "2", "3"]) {
        record["parent"] = json!(parent);
    }
    everywhere_and_home("a first one without parent", &first, &says);

    let dir = Dir::new();
    let write = |name: &str, stream: &[Value]| {
        let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
        dir.write(name, lines.as_bytes());
    };
    write("none.copyist.jsonl", &stream);
    write("first.copyist.jsonl", &first);
    assert_eq!(dir.exit(&["validate", "--fail-on", "warning", "none.copyist.jsonl"]).0, 0);
    assert_eq!(dir.exit(&["validate", "--fail-on", "warning", "first.copyist.jsonl"]).0, 0);
    assert_eq!(dir.exit(&["repair", "-n", "none.copyist.jsonl"]).0, 0);
    let mixed = [&first[..3], &stream[3..]].concat();
    write("mixed.copyist.jsonl", &mixed);
    for command in [&["validate"][..], &["repair", "-n"], &["convert", "-n", "-t", "pi@3"]] {
        let (_, words) = dir.exit(&[command, &["mixed.copyist.jsonl"]].concat());
        assert!(words.contains("mixed.copyist.jsonl:4"), "{command:?}: {words}");
        assert!(words.contains("CY0402"), "{command:?}: {words}");
    }
    assert_eq!(told(&dir, "mixed.copyist.jsonl"), says);
}

#[test]
fn the_session_comes_first_and_is_one() {
    let dir = Dir::new();
    let write = |name: &str, stream: &[Value]| {
        let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
        dir.write(name, lines.as_bytes());
    };
    let (one, two) = (said("a", "", "user", "hi"), said("b", "a", "assistant", "yo"));
    write("last.copyist.jsonl", &[one.clone(), two.clone(), session()]);
    write("none.copyist.jsonl", &[one.clone(), two.clone()]);
    for name in ["last.copyist.jsonl", "none.copyist.jsonl"] {
        for (command, fails) in [
            (&["validate"][..], 1),
            (&["repair", "-n"], 1),
            (&["inspect"], 3),
            (&["context"], 3),
            (&["convert", "-n", "-t", "pi@3"], 3),
        ] {
            let (code, words) = dir.exit(&[command, &[name]].concat());
            assert_eq!(code, fails, "{command:?} {name}: {words}");
            assert!(words.contains("CY0501") && words.contains("session"), "{words}");
        }
    }
    let other = with(session(), json!({"id": "s2"}));
    write("joined.copyist.jsonl", &[session(), one.clone(), other, two.clone()]);
    write("added.copyist.jsonl", &[session(), one, json!({"kind": "session", "name": "n"}), two]);
    let (_, words) = dir.exit(&["convert", "-n", "-t", "pi@3", "joined.copyist.jsonl"]);
    assert!(words.contains("CY0203") && words.contains(":3"), "{words}");
    let (code, words) = dir.exit(&["validate", "--fail-on", "warning", "added.copyist.jsonl"]);
    assert_eq!(code, 0, "{words}");
}

#[test]
fn members_that_a_format_needs_are_made_and_not_restored() {
    let bare_call = json!([{"type": "tool_call", "id": "t1", "name": "w"}]);
    let bare_result = json!([{"type": "tool_result", "call": "t1", "content": null}]);
    let stream = [
        session(),
        said("a", "", "user", "do it"),
        with(call("b", "a"), json!({"content": bare_call})),
        with(result("c", "b"), json!({"content": bare_result})),
        said("d", "c", "assistant", "done"),
        with(said("e", "d", "user", ""), json!({"content": null})),
    ];
    let dir = Dir::new();
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    dir.write("s.copyist.jsonl", lines.as_bytes());
    for to in targets() {
        let (away, home) = (format!("away {to}"), format!("home {to}"));
        let there = ["convert", "--fail-on", "loss", "-t", &to, "--out-dir", &away];
        let (code, words) = dir.exit(&[&there[..], &["s.copyist.jsonl"]].concat());
        assert_eq!(code, 0, "{to}: {words}");
        let (code, words) = dir.exit(&["validate", &away]);
        assert_eq!(code, 0, "{to}: {words}");
        let back = ["convert", "--fail-on", "loss", "-t", "canonical", "--out-dir", &home, &away];
        let (code, words) = dir.exit(&back);
        assert_eq!((code, words.contains("warning[")), (0, false), "{to}: {words}");
        let back = files(&dir.path(&home)).remove(0);
        assert_eq!(records(&dir, &back), stream, "{to}");
    }
    let summary = json!({"kind": "compaction", "id": "c", "parent": "a", "summary": "all of it"});
    let stream = [session(), said("a", "", "user", "hi"), summary, said("d", "c", "user", "on")];
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    dir.write("c.copyist.jsonl", lines.as_bytes());
    for to in ["pi@2", "pi@3"] {
        let there = ["convert", "--force", "-t", to, "-o", "c.jsonl", "c.copyist.jsonl"];
        assert_eq!(dir.exit(&there).0, 0, "{to}");
        let (code, words) = dir.exit(&["validate", "c.jsonl"]);
        assert_eq!(code, 0, "{to}: {words}");
    }
}

#[test]
fn nothing_that_was_made_is_reported_as_lost_and_the_last_change_stays() {
    let dir = Dir::new();
    let mut bare = said("", "", "user", "hi");
    for field in ["id", "parent"] {
        bare.as_object_mut().expect("an object").remove(field);
    }
    let head = with(session(), json!({"updated": "2026-02-01T00:00:00.000Z"}));
    dir.write("s.copyist.jsonl", format!("{head}\n{bare}\n").as_bytes());
    for to in targets() {
        let there = ["convert", "--no-origin", "-t", &to, "--out-dir", &to, "s.copyist.jsonl"];
        let (_, words) = dir.exit(&there);
        assert!(!words.contains("message.id"), "{to}: {words}");
    }
    let file = String::from_utf8(common::read(&dir.path("connectonion@2/s.yaml"))).expect("UTF-8");
    assert!(file.contains("updated: \"2026-02-01 00:00:00\""), "{file}");
}

#[test]
fn a_document_is_described_in_words_where_an_interface_has_no_place_for_it() {
    let document = json!({"type": "document", "media_type": "application/pdf", "data": "aGk="});
    let content = json!([{"type": "text", "text": "read this"}, document]);
    let dir = Dir::new();
    let stream = [session(), with(said("a", "", "user", ""), json!({"content": content}))];
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    dir.write("s.copyist.jsonl", lines.as_bytes());
    let done = dir.run(&["context", "--as", "openai", "s.copyist.jsonl"]);
    let context: Value = serde_json::from_slice(&done.stdout).expect("a context");
    let said = &context["messages"][0]["content"];
    assert_eq!(said[0]["text"], "read this", "{context}");
    assert!(said[1]["text"].as_str().is_some_and(|t| t.contains("application/pdf")), "{context}");
}

#[test]
fn a_healthy_stream_without_identifiers_stays() {
    let dir = Dir::new();
    let plain = concat!(
        "{\"kind\":\"session\",\"id\":\"s\"}\n",
        "{\"kind\":\"message\",\"role\":\"user\",\"content\":\"q\"}\n",
        "{\"kind\":\"message\",\"role\":\"assistant\",\"content\":\"a\"}\n",
    );
    dir.write("plain.copyist.jsonl", plain.as_bytes());
    let (code, words) = dir.said(&["repair", "--in-place", "plain.copyist.jsonl"]);
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("healthy") && !words.contains("CY0405"), "{words}");
}

#[test]
fn a_message_without_an_identifier_among_others_is_reported_and_restored() {
    let mut bare = said("", "", "assistant", "TWO");
    for field in ["id", "parent"] {
        bare.as_object_mut().expect("an object").remove(field);
    }
    let stream = [session(), said("a", "", "user", "ONE"), bare, said("c", "a", "user", "THREE")];
    let dir = Dir::new();
    let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
    dir.write("s.copyist.jsonl", lines.as_bytes());
    let (_, words) = dir.exit(&["convert", "-t", "pi@3", "-o", "s.jsonl", "s.copyist.jsonl"]);
    assert_eq!(words.matches("[CY0405]").count(), 1, "{words}");
    assert!(words.contains("s.copyist.jsonl:3"), "{words}");
    everywhere_and_home("one without", &stream, &["user: ONE", "user: THREE"]);
}

#[test]
fn a_writer_of_a_tree_names_what_it_is_given_without_a_name() {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let message = |role: &str, text: &str| {
        let mut record = Record::new(Kind::Message);
        record.node.set(Field::Role, Json::string(role));
        record.node.set(Field::Content, Json::string(text));
        record
    };
    let mut session = Record::new(Kind::Session);
    session.node.set(Field::Id, Json::string("s"));
    for format in FORMATS.iter().filter(|format| format.links()) {
        for version in format.versions.iter() {
            let mut out = Buffer::default();
            let mut writer = (format.write)(&mut out, version, &cx).expect("a writer");
            for value in [session.clone(), message("user", "one"), message("assistant", "two")] {
                let at = Position::default();
                writer.record(&Located { value, at }).expect("a record");
            }
            writer.finish().expect("written");
            let mut parts = Bytes::new(out.main());
            let sent = context::sent(format, &mut parts, &cx, &cx).expect("a context");
            assert_eq!(sent.filter(Result::is_ok).count(), 2, "{}", format.at(version.number));
        }
    }
}

#[test]
fn a_list_of_arguments_and_a_session_without_a_folder_are_restored() {
    let list = json!([{"type": "tool_call", "id": "t1", "name": "w", "arguments": ["x", 1.5]}]);
    let odd_call = [
        session(),
        said("a", "", "user", "hi"),
        with(call("b", "a"), json!({"content": list})),
        result("c", "b"),
        said("d", "c", "assistant", "so"),
    ];
    let says = ["user: hi", "assistant: \"w\"", "tool: \"done\"", "assistant: so"];
    everywhere_and_home("a list of arguments", &odd_call, &says);

    let nowhere = [
        session(),
        said("a", "", "user", "hi"),
        said("b", "a", "assistant", "yo"),
        json!({"kind": "session", "leaf": null}),
    ];
    let dir = Dir::new();
    let lines: String = nowhere.iter().map(|record| format!("{record}\n")).collect();
    dir.write("s.copyist.jsonl", lines.as_bytes());
    for to in targets() {
        let (away, home) = (format!("away {to}"), format!("home {to}"));
        let there = ["convert", "--fail-on", "loss", "-t", &to, "--out-dir", &away];
        assert_eq!(dir.exit(&[&there[..], &["s.copyist.jsonl"]].concat()).0, 0, "{to}");
        let (code, words) = dir.exit(&["convert", "-t", "canonical", "--out-dir", &home, &away]);
        assert_eq!((code, words.contains("CY0621")), (0, false), "{to}: {words}");
        assert_eq!(records(&dir, &files(&dir.path(&home)).remove(0)), nowhere, "{to}");
    }
}

#[test]
fn unrelated_records_are_restored() {
    let calls = json!([
        {"type": "text", "text": "hi"},
        {"type": "tool_call", "id": "t1", "name": "w", "arguments": {}},
    ]);
    let bare =
        |role: &str, block: Value| with(said(role, "", role, ""), json!({"content": [block]}));
    let follows = |record: Value, parent: &str| with(record, json!({"parent": parent}));
    let streams = [
        vec![
            session(),
            with(said("a", "", "user", ""), json!({"content": calls})),
            said("b", "a", "assistant", "yo"),
        ],
        vec![
            session(),
            json!({"kind": "turn", "number": 1, "input": "hi", "result": "yo"}),
            json!({"kind": "turn", "number": 2, "input": "on", "result": "ok"}),
        ],
        vec![
            session(),
            said("user", "", "user", "hi"),
            follows(
                bare("assistant", json!({"type": "tool_call", "name": "w", "arguments": {}})),
                "user",
            ),
            follows(bare("tool", json!({"type": "tool_result", "content": "ok"})), "assistant"),
        ],
    ];
    for stream in streams {
        for to in targets() {
            let dir = Dir::new();
            let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
            dir.write("s.copyist.jsonl", lines.as_bytes());
            let there = ["convert", "-t", &to, "--out-dir", "away", "s.copyist.jsonl"];
            let (code, said) = dir.exit(&there);
            assert_eq!(code, 0, "{to}: {said}");
            let back = ["convert", "-t", "canonical", "--out-dir", "home", "away"];
            let (code, said) = dir.exit(&back);
            assert_eq!(code, 0, "{to}: {said}");
            let back = files(&dir.path("home")).remove(0);
            assert_eq!(records(&dir, &back), stream, "{to}");
        }
    }
}
