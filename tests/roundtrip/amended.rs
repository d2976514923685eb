//! Edits in another format are restored in the source format, and nothing else changes.

use crate::common::{Dir, files};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const TARGETS: [&str; 4] =
    ["connectonion@2", "connectonion@3", "agent-orchestrator@2", "codelia@2"];

fn usage() -> Value {
    json!({"input": 7, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}})
}

fn asked(text: &str) -> Value {
    json!({"type": "message", "message":
        {"role": "user", "content": [{"type": "text", "text": text}]}})
}

fn said(content: &Value) -> Value {
    let calls = content.as_array().is_some_and(|all| all.iter().any(|b| b["type"] == "toolCall"));
    let stop = if calls { "toolUse" } else { "stop" };
    json!({"type": "message", "message": {"role": "assistant", "content": content, "api": "a",
        "provider": "p", "model": "m", "usage": usage(), "stopReason": stop}})
}

fn answered(call: &str, text: &str) -> Value {
    json!({"type": "message", "message": {"role": "toolResult", "toolCallId": call,
        "toolName": "bash", "content": [{"type": "text", "text": text}], "isError": false}})
}

/// A session of pi's with these entries, each behind the one before it unless it says otherwise.
fn pi(entries: &[Value]) -> String {
    let mut text = json!({"type": "session", "version": 3,
        "id": "01a11c43-6488-7c29-a723-a46fb88d8f7a", "timestamp": "2026-10-08T16:05:41.128Z",
        "cwd": "/srv/quay"})
    .to_string();
    text.push('\n');
    let mut before = Value::Null;
    for (n, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = json!(format!("1000000{n}"));
        entry["timestamp"] = json!(format!("2026-10-08T16:06:1{n}.000Z"));
        if entry.get("parentId").is_none() {
            entry["parentId"] = before;
        }
        if entry.get("message").is_some() {
            entry["message"]["timestamp"] = json!(1_791_475_574_000_u64 + 1000 * n as u64);
        }
        text.push_str(&entry.to_string());
        text.push('\n');
        before = entry["id"].clone();
    }
    text
}

/// This session, gone to another format below the folder `away`.
fn away(session: &str, to: &str) -> Dir {
    let dir = Dir::new();
    fs::write(dir.path("s.jsonl"), session).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "s.jsonl"]);
    assert_eq!(code, 0, "{to}: {said}");
    dir
}

/// What is away with another text wherever this one stands.
fn edit(dir: &Dir, old: &str, new: &str) {
    let mut found = 0;
    for file in texts(dir) {
        let text = fs::read_to_string(&file).expect("UTF-8");
        found += text.matches(old).count();
        fs::write(file, text.replace(old, new)).expect("a file");
    }
    assert!(found > 0, "{old} is not there");
}

fn texts(dir: &Dir) -> Vec<PathBuf> {
    let all = files(&dir.path("away")).into_iter();
    all.filter(|file| fs::read_to_string(file).is_ok()).collect()
}

/// The same at home: its entries, the program's words, and what it counted as lost.
fn home(dir: &Dir) -> (Vec<Value>, String, Value) {
    let inputs = fs::read_dir(dir.path("away")).expect("a folder");
    let mut inputs: Vec<_> = inputs.map(|entry| entry.expect("an entry").path()).collect();
    inputs.retain(|path| {
        ![".meta.json", ".origin"].iter().any(|end| path.to_string_lossy().ends_with(end))
    });
    let [input] = inputs.as_slice() else { panic!("{inputs:?}") };
    let input = input.to_str().expect("UTF-8");
    let args = ["convert", "-t", "pi", "--out-dir", "home", "--report", "report.json", input];
    let (code, said) = dir.exit(&args);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("CY0621"), "{said}");
    let file = files(&dir.path("home")).into_iter().next().expect("a file");
    let text = fs::read_to_string(file).expect("UTF-8");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let report = fs::read_to_string(dir.path("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    (lines.collect(), said, report)
}

fn losses(report: &Value) -> String {
    report["inputs"][0]["losses"].to_string()
}

fn signed() -> String {
    let two = json!([
        {"type": "thinking", "thinking": "Which boats?", "thinkingSignature": "signed thought"},
        {"type": "text", "text": "Looking.", "textSignature": "signed text"},
        {"type": "toolCall", "id": "quay_one", "name": "bash", "arguments": {"command": "ls quay"},
            "thoughtSignature": "signed call"},
        {"type": "toolCall", "id": "mole_two", "name": "bash", "arguments": {"command": "ls mole"},
            "thoughtSignature": "signed too"}]);
    let last = json!([{"type": "text", "text": "Nine boats."}]);
    pi(&[
        asked("Count."),
        said(&two),
        answered("quay_one", "nine"),
        answered("mole_two", "none"),
        said(&last),
    ])
}

#[test]
fn an_edited_call_leaves_the_blocks_beside_it_as_they_were() {
    for to in TARGETS {
        for (old, new) in [("ls mole", "ls pier"), ("mole_two", "mole_nine")] {
            let dir = away(&signed(), to);
            edit(&dir, old, new);
            let (lines, said, _) = home(&dir);
            let source = signed().replace(old, new);
            let source: Value =
                serde_json::from_str(source.lines().nth(2).expect("an answer")).expect("JSON");
            let now = &lines[2]["message"]["content"];
            assert_eq!(*now, source["message"]["content"], "{to}, {old}: {said}");
        }
    }
}

#[test]
fn a_command_whose_output_is_edited_stays_a_command() {
    let command = json!({"type": "message", "message": {"role": "bashExecution",
        "command": "make it", "output": "all done", "exitCode": 2, "cancelled": false,
        "truncated": true, "fullOutputPath": "/tmp/full"}});
    let last = json!([{"type": "text", "text": "Built."}]);
    let session = pi(&[asked("Build."), command, said(&last)]);
    for to in TARGETS {
        for (old, new) in [("all done", "half done"), ("make it", "make all")] {
            let dir = away(&session, to);
            edit(&dir, old, new);
            let (lines, told, _) = home(&dir);
            let source = session.replace(old, new);
            let source: Value =
                serde_json::from_str(source.lines().nth(2).expect("a command")).expect("JSON");
            assert_eq!(lines[2]["message"], source["message"], "{to}, {old}: {told}");
        }
        let dir = away(&session, to);
        edit(&dir, "Command exited with code 2", "It failed");
        let (lines, _, report) = home(&dir);
        assert_eq!(lines[2]["message"]["role"], "user", "{to}");
        assert!(losses(&report).contains("message.bash.exit_code"), "{to}: {report}");
    }
}

#[test]
fn a_summary_that_is_edited_is_one_at_home() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let summed = json!({"type": "compaction", "summary": "So far one.",
        "firstKeptEntryId": "10000002", "tokensBefore": 10});
    let compacted = pi(&[
        asked("One?"),
        said(&text("One.")),
        asked("Two?"),
        said(&text("Two.")),
        summed,
        asked("Three?"),
        said(&text("Three.")),
    ]);
    let left = json!({"type": "branch_summary", "parentId": "10000001", "fromId": "10000003",
        "summary": "So far one."});
    let branched = pi(&[
        asked("One?"),
        said(&text("One.")),
        asked("Two?"),
        said(&text("Two.")),
        left,
        asked("Three?"),
        said(&text("Three.")),
    ]);
    for session in [compacted, branched] {
        for to in TARGETS.iter().chain(&["connectonion@1", "agent-orchestrator@1"]) {
            let dir = away(&session, to);
            edit(&dir, "So far one.", "So far two.");
            let (lines, _, _) = home(&dir);
            assert_eq!(lines.len(), 8, "{to}");
            assert_eq!(lines[5]["summary"], "So far two.", "{to}");
            assert_eq!(lines[5]["id"], "10000004", "{to}");
        }
    }
}

#[test]
fn deleting_the_last_turn_of_a_session_that_was_rewound_ends_at_the_rest() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let mut live = asked("Live?");
    live["parentId"] = json!("10000001");
    let session = pi(&[
        asked("One?"),
        said(&text("One.")),
        asked("Dead?"),
        said(&text("Dead.")),
        live,
        said(&text("Live.")),
    ]);
    for to in ["agent-orchestrator@2", "connectonion@3"] {
        let dir = away(&session, to);
        for file in texts(&dir) {
            let old = fs::read_to_string(&file).expect("UTF-8");
            let kept = old.lines().filter(|line| !line.contains("Live"));
            let text: Vec<_> = kept.collect();
            // The list of a run ends without a comma.
            let text = text.join("\n").replace("},\n  ]", "}\n  ]") + "\n";
            fs::write(file, text).expect("a file");
        }
        let (lines, said, _) = home(&dir);
        let ids: Vec<_> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
        for id in ["10000000", "10000001", "10000002", "10000003"] {
            assert!(ids.contains(&id), "{to}: {ids:?} {said}");
        }
        assert_eq!(lines[2]["message"]["usage"], usage(), "{to}");
        let home = files(&dir.path("home")).into_iter().next().expect("a file");
        let context = dir.run(&["context", home.to_str().expect("UTF-8")]).stdout;
        let context = String::from_utf8(context).expect("UTF-8");
        assert!(context.contains("One.") && !context.contains("Dead"), "{to}: {context}");
    }
}

#[test]
fn an_answer_that_was_rewritten_has_what_pi_looks_for() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let session = pi(&[asked("One?"), said(&text("One.")), asked("Two?"), said(&text("Two."))]);
    let dir = away(&session, "agent-orchestrator@2");
    let file = dir.path("away/s.jsonl");
    let old = fs::read_to_string(&file).expect("UTF-8");
    let kept: Vec<_> = old.lines().take_while(|line| !line.contains("Two?")).collect();
    let new = [
        json!({"type": "user_message", "content": "Three?",
            "timestamp": "2026-11-24T00:10:00.123456Z"}),
        json!({"content": [{"text": "Three."}], "model": "x", "parent_tool_use_id": null}),
    ];
    let new = new.map(|line| line.to_string());
    let text = kept.join("\n") + "\n" + &new.join("\n") + "\n";
    fs::write(&file, text).expect("a file");
    let (lines, said, _) = home(&dir);
    let answer = lines.iter().find(|line| line["message"]["content"][0]["text"] == "Three.");
    let answer = answer.unwrap_or_else(|| panic!("{lines:#?} {said}"));
    assert!(answer["message"]["usage"]["input"].is_number(), "{answer}");
    assert_eq!(answer["message"]["stopReason"], "stop", "{answer}");
}

/// Deletes what says this from a session that is away, be it in a log or in a run.
fn delete(dir: &Dir, what: &str) {
    for file in texts(dir) {
        let old = fs::read_to_string(&file).expect("UTF-8");
        let kept: Vec<_> = old.lines().filter(|line| !line.contains(what)).collect();
        // The list of a run ends without a comma.
        fs::write(file, kept.join("\n").replace("},\n  ]", "}\n  ]") + "\n").expect("a file");
    }
}

#[test]
fn a_compaction_keeps_what_remains_of_the_messages_that_it_keeps() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let summed = json!({"type": "compaction", "summary": "So far one.",
        "firstKeptEntryId": "10000002", "tokensBefore": 10});
    let session = pi(&[
        asked("One?"),
        said(&text("One.")),
        asked("Two first"),
        asked("Two then"),
        said(&text("Two last")),
        summed,
        asked("Three?"),
        said(&text("Three.")),
    ]);
    let cases: [(&[&str], &str); 4] = [
        (&["Two first"], "10000003"),
        (&["Two then"], "10000002"),
        (&["Two first", "Two then"], "10000004"),
        (&["Two first", "Two then", "Two last"], "10000005"),
    ];
    for to in ["agent-orchestrator@2", "connectonion@3"] {
        for (gone, first) in cases {
            let dir = away(&session, to);
            gone.iter().for_each(|what| delete(&dir, what));
            let (lines, said, _) = home(&dir);
            let summary = lines.iter().find(|line| line["type"] == "compaction");
            let summary = summary.unwrap_or_else(|| panic!("{to}, {gone:?}: {lines:#?} {said}"));
            assert_eq!(summary["firstKeptEntryId"], first, "{to}, {gone:?}: {said}");
            assert!(said.contains("a message was deleted"), "{to}, {gone:?}: {said}");
        }
    }
}

#[test]
fn what_speaks_of_a_message_that_is_deleted_goes_with_it() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let session = pi(&[
        asked("One?"),
        said(&text("One said")),
        json!({"type": "label", "targetId": "10000001", "label": "the one"}),
        json!({"type": "context_edit", "targetId": "10000001",
            "replacement": {"content": text("One said now")}}),
        asked("Two?"),
        said(&text("Two.")),
    ]);
    for to in ["agent-orchestrator@2", "connectonion@3"] {
        let dir = away(&session, to);
        delete(&dir, "One said");
        let (lines, said, _) = home(&dir);
        let targets: Vec<_> = lines.iter().filter(|line| line.get("targetId").is_some()).collect();
        assert!(targets.is_empty(), "{to}: {targets:?}");
        for what in ["a label was deleted", "a context_edit was deleted"] {
            assert!(said.contains(what), "{to}: {said}");
        }
        let home = files(&dir.path("home")).into_iter().next().expect("a file");
        assert_eq!(dir.exit(&["validate", home.to_str().expect("UTF-8")]).0, 0, "{to}");
    }
}

/// A transcript of Claude Code in which an answer has two lines; the reason for its end is in the
/// last one only.
fn in_pieces() -> String {
    let ids = ["10000000", "10000001", "10000002", "10000003", "10000004"]
        .map(|id| format!("{id}-0000-4000-8000-000000000000"));
    let answer = |block: Value, stop: Value| {
        json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4",
            "content": [block], "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 9, "output_tokens": 4}})
    };
    let call =
        json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "lamp.txt"});
    let end = json!({"id": "msg_02", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4", "content": [{"type": "text", "text": "A lamp."}],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 4}});
    let messages = [
        json!({"role": "user", "content": "What is here?"}),
        answer(json!({"type": "text", "text": "I look around."}), Value::Null),
        answer(call, json!("tool_use")),
        json!({"role": "user", "content": [result]}),
        end,
    ];
    let lines = messages.iter().enumerate().map(|(n, message)| {
        let parent = n.checked_sub(1).map(|before| ids[before].clone());
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w",
            "sessionId": "5e551011-0000-4000-8000-000000000001", "version": "2.1.81",
            "type": message["role"], "uuid": ids[n],
            "timestamp": format!("2026-11-21T10:00:0{n}.000Z"), "message": message})
        .to_string()
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn an_edited_piece_of_an_answer_keeps_its_members() {
    let source = in_pieces();
    for to in ["pi@3", "codex@2", "connectonion@2", "canonical"] {
        for (word, other) in [("around", "behind"), ("A lamp", "A lump"), ("is here", "is hers")] {
            let dir = Dir::new();
            dir.write("in.jsonl", source.as_bytes());
            let (code, said) = dir.exit(&["convert", "-t", to, "-o", "away", "in.jsonl"]);
            assert!(code <= 1, "{to}: {said}");
            let away = fs::read_to_string(dir.path("away")).expect("UTF-8");
            assert!(away.contains(word), "{to}: {away}");
            fs::write(dir.path("away"), away.replace(word, other)).expect("a file");
            let (code, said) = dir.exit(&["convert", "-t", "claude-code", "-o", "back", "away"]);
            assert!(code <= 1, "{to}: {said}");
            let back = fs::read_to_string(dir.path("back")).expect("UTF-8");
            assert_eq!(back, source.replace(word, other), "{to}");
        }
    }
}
