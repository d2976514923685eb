//! The context of each file is the one that the real pi builds.

use crate::common::{self, as_javascript, corpus, files, name, read, recognise};
use copyist::context::{self, Form, Request};
use copyist::diagnostic::{Code, Findings, Log, Severity};
use copyist::error::Error;
use copyist::format::{Cx, OnError, Options};
use copyist::ids::Choice;
use copyist::memory::Bytes;
use serde_json::{Value, json};
use std::path::Path;

/// Files that pi discards, throws at or hangs on, and what ours ends with.
const ERRORS: &[(&str, Code)] = &[
    ("cycle2", Code::Cycle),
    ("dup_id_cycle", Code::Cycle),
    ("self_parent", Code::Cycle),
    ("message_no_message", Code::NoMessage),
    ("empty_file", Code::Empty),
    ("only_newlines", Code::Empty),
    ("garbage", Code::Empty),
    ("header_id_missing", Code::NoHeader),
    ("header_id_num", Code::NoHeader),
    ("header_second", Code::NoHeader),
    ("missing_header", Code::NoHeader),
];

/// Files whose context differs on purpose, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("v1_comp_idx0_header", "the compaction kept everything, and ours does"),
    ("invalid_utf8_v1", "pi reads U+FFFD in place of damaged bytes, ours leaves the line out"),
    ("v1_array_line", "pi counts the array as an entry, which gives later entries other numbers"),
    ("null_line", "pi dies of the line, ours leaves it out"),
    ("v1_null_line", "pi dies of the line, ours leaves it out"),
    ("v1_number_line", "pi dies of the line, ours leaves it out"),
];

fn context(source: &[u8], request: &Request) -> (Result<Value, Error>, Findings) {
    let options = Options {
        on_error: OnError::Keep,
        ids: Choice::Sequential,
        force_version: true,
        ..Options::default()
    };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let format = recognise(source).map_or(&copyist::formats::pi::FORMAT, |(format, _)| format);
    let mut out = Vec::new();
    let done = context::run(format, &mut Bytes::new(source), request, &cx, &mut out);
    (done.map(|_| as_javascript(&out)), log.into_findings())
}

fn expected(pi: &Path, set: &str, stem: &str) -> Option<Value> {
    let set = if set == "real" { "repo" } else { set };
    let file = |kind: &str| pi.join(format!("expected/{set}__{stem}.{kind}.json"));
    let newer = file("context-0.87.1");
    let text = read(&if newer.is_file() { newer } else { file("context") });
    (!text.is_empty()).then(|| as_javascript(&text))
}

#[test]
fn the_context_is_that_of_the_real_pi() {
    let Some(corpus) = corpus("the_context_is_that_of_the_real_pi") else { return };
    let pi = corpus.join("pi");
    let request = Request { details: true, ..Request::default() };
    let (mut same, mut named) = (0, 0);
    for set in ["real", "generated", "public", "probes"] {
        for file in files(&pi.join(set)) {
            let stem = name(&file).replace(".jsonl", "");
            let (ours, found) = context(&read(&file), &request);
            if let Some((_, code)) = ERRORS.iter().find(|(other, _)| *other == stem) {
                assert_eq!(ours.expect_err(&stem).code(), *code, "{stem}");
                named += 1;
                continue;
            }
            let ours = ours.unwrap_or_else(|error| panic!("{stem}: {error}"));
            let theirs = expected(&pi, set, &stem);
            if DIFFERENT.iter().any(|(other, _)| *other == stem) {
                assert_ne!(Some(&ours), theirs.as_ref(), "{stem} is no exception any more");
                let warned = found.worst() >= Some(Severity::Warning);
                assert!(warned || stem.contains("idx0"), "{stem} says nothing");
                named += 1;
                continue;
            }
            let theirs = theirs.unwrap_or_else(|| panic!("pi fails on {stem}, ours gives {ours}"));
            assert_eq!(ours, theirs, "{stem}");
            same += 1;
        }
    }
    println!("{same} contexts equal those of the real pi, {named} end otherwise by name");
    assert_eq!((same, named), (92, ERRORS.len() + DIFFERENT.len()));
}

#[test]
fn a_leaf_can_be_chosen() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t","message":{{"role":"user","content":"{id}"}}}}"#
        )
    };
    let file = [header.to_owned(), entry("a", "null"), entry("b", "\"a\""), entry("c", "\"a\"")];
    let source = file.join("\n") + "\n";
    let said = |leaf: Option<&str>| {
        let request =
            Request { leaf: leaf.map(str::to_owned), details: false, ..Request::default() };
        let (done, _) = context(source.as_bytes(), &request);
        done.map(|value| {
            let messages = value["messages"].as_array().expect("messages").clone();
            messages.iter().map(|m| m["content"].as_str().expect("text").to_owned()).collect()
        })
    };
    let all: Vec<String> = said(None).expect("a context");
    assert_eq!(all, ["a", "c"]);
    assert_eq!(said(Some("b")).expect("a context"), ["a", "b"]);
    assert_eq!(said(Some("x")).expect_err("no such entry").code(), Code::NoContext);
}

#[test]
fn a_session_is_taken_up_before_the_answer_of_a_turn() {
    let at = |case: &str, turn| {
        let request = Request { turn: Some(turn), ..Request::default() };
        let (done, _) = context(&common::own(case), &request);
        done.map(|value| {
            let messages = value["messages"].as_array().expect("messages").clone();
            let last = messages.last().expect("a message")["content"].clone();
            (messages.len(), last.as_str().map(str::to_owned))
        })
    };
    let replayed = at("connectonion/v2/seed", 2).expect("a turn");
    assert_eq!(replayed, (6, Some("create hello.py that prints hello world".into())));
    assert_eq!(at("connectonion/v3/tides", 1).expect("a turn").0, 2);
    assert_eq!(at("connectonion/v2/harbour", 3).expect("a turn").1.as_deref(), Some("yes"));
    assert_eq!(at("connectonion/v1/quay", 2).expect("a turn"), (6, Some("yes".into())));
    let apart = at("connectonion/v1/seed", 2).expect("a turn");
    assert_eq!(apart, (4, Some("reply to first saying thanks".into())));
    for (case, turn) in
        [("connectonion/v1/quay", 4), ("connectonion/v2/seed", 4), ("connectonion/v2/seed", 0)]
    {
        assert_eq!(at(case, turn).expect_err("no such turn").code(), Code::NoContext);
    }
}

#[test]
fn a_turn_before_a_compaction_is_what_it_was() {
    let source = common::own("pi/v1/compacted");
    let at = |turn| {
        let request = Request { turn: Some(turn), ..Request::default() };
        context(&source, &request).0.map(|value| {
            let messages = value["messages"].as_array().expect("messages").clone();
            messages.iter().map(|m| m["role"].as_str().expect("a role").to_owned()).collect()
        })
    };
    let roles = |turn| -> Vec<String> { at(turn).expect("a turn") };
    assert_eq!(roles(1), ["user"]);
    for turn in 1..=4 {
        let roles = roles(turn);
        assert_eq!(roles.last().map(String::as_str), Some("user"), "{turn}");
        let summarised = roles.iter().any(|role| role == "compactionSummary");
        assert_eq!(summarised, turn > 2, "{turn}: {roles:?}");
    }
    let why = |turn| at(turn).expect_err("no such turn").into_diagnostic().message;
    assert_eq!(why(5), "there is no turn 5; the last one is 4");
    assert_eq!(why(0), "there is no turn 0; the first one is 1");
}

#[test]
fn a_child_before_its_parent_is_behind_it_in_the_context() {
    let source = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"second"}}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"first"}}"#,
        "\n",
    );
    let request = Request { leaf: Some("b".into()), details: false, ..Request::default() };
    let (done, found) = context(source.as_bytes(), &request);
    let value = done.expect("a context");
    let said: Vec<_> =
        value["messages"].as_array().expect("messages").iter().map(|m| &m["content"]).collect();
    assert_eq!(said, ["first", "second"]);
    assert!(found.counts.contains_key(&Code::ForwardParent));
}

/// Version 1 knows no edits of the context, no labels and no branches.
#[test]
fn version_1_shows_a_model_what_the_newest_does() {
    let message = |id: &str, parent: Value, n: u64| {
        let message = json!({"role": "user", "content": format!("said {n}"), "timestamp": n});
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": time(n), "message": message})
    };
    let above = |parent: &str, mut entry: Value, n: u64| {
        entry["parentId"] = json!(parent);
        entry["timestamp"] = json!(time(n));
        entry
    };
    let edit = |id: &str, parent: &str, target: &str, replacement: Value, n: u64| {
        above(
            parent,
            json!({"type": "context_edit", "id": id, "targetId": target, "replacement": replacement}),
            n,
        )
    };
    let summed = |id: &str, parent: &str, kept: &str, n: u64| {
        above(
            parent,
            json!({"type": "compaction", "id": id, "summary": "So far.", "firstKeptEntryId": kept, "tokensBefore": 5}),
            n,
        )
    };
    let label =
        above("a1", json!({"type": "label", "id": "b1", "targetId": "a1", "label": "L"}), 2);
    let replaced = json!({"content": "in its place"});
    let begun = || vec![message("a1", Value::Null, 1)];
    let cases = [
        [begun(), vec![message("a2", json!("a1"), 2), edit("a3", "a2", "a1", Value::Null, 3)]],
        [begun(), vec![message("a2", json!("a1"), 2), edit("a3", "a2", "a1", replaced, 3)]],
        [begun(), vec![label, message("a2", json!("b1"), 3), summed("a3", "a2", "b1", 4)]],
        [
            begun(),
            vec![
                message("a2", json!("a1"), 2),
                message("a3", json!("a2"), 3),
                summed("a4", "a3", "a2", 4),
                edit("a5", "a4", "a2", Value::Null, 5),
            ],
        ],
    ];
    for (n, case) in cases.into_iter().enumerate() {
        let header =
            json!({"type": "session", "version": 3, "id": "s", "timestamp": time(0), "cwd": "/w"});
        let lines = [header].into_iter().chain(case.into_iter().flatten());
        let source: String = lines.map(|line| format!("{line}\n")).collect();
        let dir = common::Dir::new();
        dir.write("in.jsonl", source.as_bytes());
        for to in ["pi@1", "pi@2"] {
            assert_eq!(
                dir.exit(&["convert", "-t", to, "-o", "away.jsonl", "--force", "in.jsonl"]).0,
                0
            );
            let (code, said) = dir.said(&["diff", "--context", "in.jsonl", "away.jsonl"]);
            assert_eq!(code, 0, "{n} {to}: {said}");
            assert_eq!(
                dir.exit(&["convert", "-t", "pi@3", "-o", "back.jsonl", "--force", "away.jsonl"]).0,
                0
            );
            assert_eq!(
                dir.run(&["context", "back.jsonl"]).stdout,
                dir.run(&["context", "in.jsonl"]).stdout,
                "{n} {to}"
            );
            assert_eq!(common::read(&dir.path("back.jsonl")), source.as_bytes(), "{n} {to}");
        }
    }
}

fn time(n: u64) -> String {
    format!("2026-01-01T00:00:{n:02}.000Z")
}

/// A session of three models' answers, in which a call has no result.
fn replayed(form: Form) -> Value {
    let entry = |n: u32, message: &str| {
        let parent = if n == 1 { "null".to_owned() } else { format!("\"{}\"", n - 1) };
        format!(
            r#"{{"type":"message","id":"{n}","parentId":{parent},"timestamp":"t","message":{message}}}"#
        )
    };
    let claude = r#""api":"anthropic-messages","provider":"anthropic","model":"claude-x""#;
    let other = r#""api":"openai-responses","provider":"openai","model":"gpt-x""#;
    let messages = [
        r#"{"role":"user","content":"count"}"#.to_owned(),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"plan"}},{{"type":"toolCall","id":"call_X|fc_1","name":"ls","arguments":{{}}}}],{other}}}"#
        ),
        r#"{"role":"toolResult","toolCallId":"call_X|fc_1","toolName":"ls","content":[{"type":"text","text":"a\ud83d"},{"type":"text","text":"b"}],"isError":false}"#.to_owned(),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"","thinkingSignature":""}},{{"type":"thinking","thinking":"so","thinkingSignature":"s"}},{{"type":"text","text":" "}},{{"type":"toolCall","id":"c|2","name":"ls","arguments":{{}}}}],{claude}}}"#
        ),
        r#"{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"go on"}]}"#.to_owned(),
    ];
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;
    let entries = (1..).zip(&messages).map(|(n, message)| entry(n, message));
    let lines: Vec<String> = std::iter::once(header.to_owned()).chain(entries).collect();
    let request = Request { form, ..Request::default() };
    let (done, _) = context((lines.join("\n") + "\n").as_bytes(), &request);
    done.expect("a context")["messages"].clone()
}

/// What pi 0.87.1 sent of this session to a server on loopback.
#[test]
fn the_messages_are_those_that_pi_sends() {
    let none = "No result provided";
    assert_eq!(
        replayed(Form::Anthropic),
        json!([
            {"role": "user", "content": "count"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "plan"},
                {"type": "tool_use", "id": "call_X_fc_1", "name": "ls", "input": {}},
            ]},
            {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "call_X_fc_1", "content": "a\nb", "is_error": false,
            }]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "so", "signature": "s"},
                {"type": "tool_use", "id": "c|2", "name": "ls", "input": {}},
            ]},
            {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "c|2", "content": none, "is_error": true,
            }]},
            {"role": "user", "content": [{"type": "text", "text": "go on"}]},
        ])
    );
    let call = |id: &str| {
        let function = json!({"name": "ls", "arguments": "{}"});
        json!([{"id": id, "type": "function", "function": function}])
    };
    assert_eq!(
        replayed(Form::OpenAi),
        json!([
            {"role": "user", "content": "count"},
            {"role": "assistant", "content": "plan", "tool_calls": call("call_X_fc_1")},
            {"role": "tool", "tool_call_id": "call_X_fc_1", "content": "a\nb"},
            {"role": "assistant", "content": "so", "tool_calls": call("c_2")},
            {"role": "tool", "tool_call_id": "c_2", "content": none},
            {"role": "user", "content": [{"type": "text", "text": "go on"}]},
        ])
    );
}
