//! Sessions that the real program of another format went on with, converted back: the source whole,
//! and behind it the prompts, calls, results and answers that are new.

use crate::common::{
    Dir, alone, converted, files_of, name, options, read, recognise, session, several, testdata,
    to_canonical,
};
use copyist::diagnostic::Findings;
use copyist::format::{OnError, Options};
use copyist::formats::Spec;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// This session in another format, with its origin.
pub fn away(source: &[u8], to: &str) -> Vec<u8> {
    let (format, version) = recognise(source).expect("a known format");
    converted(source, format, version, to, &keep()).0.expect("a convertible session")
}

/// What comes back of this file, and what is found.
pub fn back(file: &[u8], to: &str) -> (Vec<u8>, Findings) {
    let (format, version) = recognise(file).expect("a known format");
    let (done, findings) = converted(file, format, version, to, &keep());
    (alone(&done.unwrap_or_else(|error| panic!("{error}"))), findings)
}

/// Each line of JSON of a file.
pub fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

/// Role and text of each block of these messages; calls by their names, results by their calls.
pub fn said(messages: &[Value]) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for message in messages {
        let mut add = |role: &str, text: &Value| {
            said.push((role.to_owned(), text.as_str().unwrap_or_default().to_owned()));
        };
        let role = message["role"].as_str().unwrap_or_default();
        if message["content"].is_string() {
            add(role, &message["content"]);
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "text" => add(role, &block["text"]),
                "tool_call" => add("call", &block["name"]),
                "tool_result" => add("result", &block["call"]),
                _ => {}
            }
        }
    }
    said
}

/// The records of a session that are not about the session itself, without their places.
fn records(session: &[u8], kind: &str) -> Vec<Value> {
    let mut all = lines(&files_of(&alone(&to_canonical(&alone(session), &keep())))[0].1);
    all.retain(|record| record["kind"] == kind);
    // Files of sub-agents may come behind the conversation.
    all.sort_by_key(|record| record["excluded"] != true);
    for record in all.iter_mut().filter(|record| record["id_made"] == true) {
        let record = record.as_object_mut().expect("an object");
        ["id", "parent"].iter().for_each(|name| drop(record.remove(*name)));
    }
    all
}

/// The main file in a folder.
pub fn main_of(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.is_file() && !name(file).ends_with(".meta.json"));
    files.pop().expect("a session")
}

/// Checks that a session is the other one whole, and behind it what is new.
pub fn whole(was: &[u8], now: &[u8], new: &[(String, String)]) -> Result<(), String> {
    let is_yaml = Spec::parse("connectonion").expect("a format").format
        == recognise(was).expect("a format").0;
    let parts = files_of(now);
    for (n, (part, bytes)) in files_of(was).into_iter().enumerate() {
        let own = parts.iter().find(|(other, _)| *other == part);
        let begins = own.is_some_and(|(_, own)| own.starts_with(&bytes));
        if n > 0 && part.ends_with(".jsonl") && own.is_some_and(|(_, own)| *own != bytes) {
            return Err(format!("{part:?} is a sub-agent's, and has new lines"));
        }
        // Metadata are one object, and a YAML file one document.
        if !begins && !is_yaml && !part.ends_with(".meta.json") {
            return Err(format!("{part:?} does not begin with the source's bytes"));
        }
    }
    let (before, after) = (records(was, "message"), records(now, "message"));
    let (old, tail) = after.split_at(before.len().min(after.len()));
    for kind in ["message", "turn"] {
        let (was, is) = (records(was, kind), records(now, kind));
        if let Some((n, _)) = was.iter().enumerate().find(|(n, record)| is.get(*n) != Some(record))
        {
            return Err(format!("{kind} {n} is another one"));
        }
    }
    let ids: Vec<_> = old.iter().chain(tail).filter_map(|record| record.get("id")).collect();
    if (1..ids.len()).any(|n| ids[..n].contains(&ids[n])) {
        return Err("an identifier occurs twice".to_owned());
    }
    let tail = said(tail);
    if tail != new { Err(format!("behind it is {tail:?}, not {new:?}")) } else { Ok(()) }
}

pub const TIME: &str = "2027-05-01T00:00:0";

/// Lines that Codex 0.169.0 appends for a prompt.
fn of_codex() -> Vec<Value> {
    let line = |n: u32, kind: &str, payload: Value| json!({"timestamp": format!("{TIME}{n}.000Z"), "type": kind, "payload": payload});
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let environment = "<environment_context>\n  <cwd>/srv/mole</cwd>\n</environment_context>";
    vec![
        line(1, "event_msg", json!({"type": "task_started", "turn_id": "t9"})),
        line(1, "response_item", message("developer", "input_text", "<skills>none</skills>")),
        line(1, "response_item", message("user", "input_text", environment)),
        line(1, "world_state", json!({"full": true, "state": {}})),
        line(1, "turn_context", json!({"turn_id": "t9", "cwd": "/srv/mole", "model": "gpt-9"})),
        line(2, "response_item", message("user", "input_text", "Any more?")),
        line(2, "event_msg", json!({"type": "user_message", "message": "Any more?"})),
        line(3, "event_msg", json!({"type": "agent_message", "message": "No more."})),
        line(3, "response_item", message("assistant", "output_text", "No more.")),
        line(3, "token_usage_record", json!({"turn_id": "t9"})),
        line(3, "event_msg", json!({"type": "token_count", "info": null})),
    ]
}

/// Lines that Claude Code 2.1.332 appends for a prompt behind this line.
pub fn of_claude_code(leaf: &Value) -> Vec<Value> {
    let behind = leaf.as_str().expect("an identifier");
    let id = |n: u32| format!("0000000{n}{}", &behind[8..]);
    let line = |n: u32, parent: Value, more: Value| {
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "uuid": id(n),
            "timestamp": format!("{TIME}{n}.000Z"), "cwd": "/srv/mole", "sessionId": "s",
            "version": "2.1.332", "userType": "external", "gitBranch": "HEAD"});
        let more = more.as_object().cloned().unwrap_or_default();
        line.as_object_mut().expect("an object").extend(more);
        line
    };
    let said = json!({"id": "msg_9", "type": "message", "role": "assistant", "model": "claude-9",
        "content": [{"type": "text", "text": "No more."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1}});
    vec![
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "s"}),
        line(
            1,
            leaf.clone(),
            json!({"type": "user", "message": {"role": "user", "content": "Any more?"}}),
        ),
        line(2, json!(id(1)), json!({"type": "attachment", "attachment": {"type": "date"}})),
        json!({"type": "api-request", "sessionId": "s", "timestamp": format!("{TIME}2.500Z")}),
        line(3, json!(id(2)), json!({"type": "assistant", "message": said})),
        line(
            4,
            json!(id(3)),
            json!({"type": "attachment", "attachment": {"type": "prompt_snapshot"}}),
        ),
        json!({"type": "last-prompt", "lastPrompt": "Any more?", "leafUuid": id(4), "sessionId": "s"}),
        json!({"type": "mode", "mode": "normal", "sessionId": "s"}),
    ]
}

/// Lines that pi 0.73.1 appends for a prompt behind this entry.
pub fn of_pi(leaf: &Value) -> Vec<Value> {
    let message = |n: u32, parent: &str, message: Value| {
        json!({"type": "message", "id": format!("9999999{n}"), "parentId": parent,
            "timestamp": format!("{TIME}{n}.000Z"), "message": message})
    };
    vec![
        json!({"type": "thinking_level_change", "id": "99999991", "parentId": leaf,
            "timestamp": format!("{TIME}1.000Z"), "thinkingLevel": "off"}),
        json!({"type": "custom", "customType": "ext", "id": "99999992", "parentId": "99999991",
            "timestamp": format!("{TIME}1.500Z"), "data": {}}),
        message(
            3,
            "99999992",
            json!({"role": "user", "timestamp": 1_809_129_603_000_u64,
            "content": [{"type": "text", "text": "Any more?"}]}),
        ),
        message(
            4,
            "99999993",
            json!({"role": "assistant", "api": "a", "provider": "p", "model": "m",
            "content": [{"type": "text", "text": "No more."}], "stopReason": "stop",
            "timestamp": 1_809_129_604_000_u64,
            "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}),
        ),
    ]
}

/// Lines that the program of a format appends for a prompt.
pub fn resumed(target: &str, file: &[u8]) -> Vec<Value> {
    let leaf = |name: &str| {
        let all = lines(file);
        all.iter().rev().find_map(|line| line.get(name).cloned()).expect("an entry")
    };
    match target {
        "codex" => of_codex(),
        "claude-code" => of_claude_code(&leaf("uuid")),
        _ => of_pi(&leaf("id")),
    }
}

/// A converted session with lines behind its last one.
pub fn with(there: &[u8], new: &[Value]) -> Vec<u8> {
    let mut parts = files_of(there);
    parts[0].1.extend(new.iter().flat_map(|line| (line.to_string() + "\n").into_bytes()));
    several(parts)
}

pub fn any_more() -> Vec<(String, String)> {
    [("user", "Any more?"), ("assistant", "No more.")]
        .map(|(role, text)| (role.to_owned(), text.to_owned()))
        .to_vec()
}

/// Sources of every format, and targets whose programs append lines of their own.
const CASES: &[&str] = &[
    "pi/v1/compacted",
    "pi/v2/branched",
    "pi/v3/everything",
    "claude-code/v1/handmade",
    "claude-code/v2/parallel",
    "claude-code/v2/compacted",
    "claude-code/v2/subagents",
    "codex/v1/orrery",
    "codex/v2/polish",
    "codex/v2/taken-back",
    "codex/v3/mars",
    "connectonion/v2/harbour",
    "connectonion/v3/tides",
    "agent-orchestrator/v2/orchard",
];
const TARGETS: &[&str] = &["codex", "claude-code", "pi"];

/// A session of Claude Code 2.0 with the file of a sub-agent that no call names beside it.
fn with_side_file() -> Vec<u8> {
    let line = |n: u32, parent: Value, agent: Option<&str>, message: Value| {
        let mut line = json!({"parentUuid": parent, "isSidechain": agent.is_some(),
            "userType": "external", "cwd": "/srv/mole", "version": "2.0.53",
            "sessionId": "7d0c4a11-52be-4d19-8f20-b0c6a4e7d900", "type": message["role"],
            "message": message, "uuid": format!("0000000{n}-11aa-4c22-9d33-44e55f667788"),
            "timestamp": format!("2026-01-03T08:21:0{n}.000Z")});
        agent.into_iter().for_each(|agent| line["agentId"] = json!(agent));
        line.to_string() + "\n"
    };
    let answer = |text: &str| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-8",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let asked = json!({"role": "user", "content": "Who lies at the mole?"});
    let first = json!("00000001-11aa-4c22-9d33-44e55f667788");
    let main = line(1, Value::Null, None, asked) + &line(2, first, None, answer("Nobody."));
    let side = line(3, Value::Null, Some("1a2b3c4d"), answer("Warm."));
    several(vec![
        (String::new(), main.into_bytes()),
        ("/../agent-1a2b3c4d.jsonl".to_owned(), side.into_bytes()),
    ])
}

#[test]
fn records_of_a_resuming_agent_are_omitted_and_counted_once() {
    let own =
        CASES.iter().map(|case| (*case, session(&main_of(&testdata().join(case).join("in")))));
    for (case, was) in own.chain([("a side file", with_side_file())]) {
        let source = recognise(&was).expect("a format").0.name;
        for target in TARGETS.iter().filter(|target| **target != source) {
            let there = away(&was, target);
            let file = with(&there, &resumed(target, &files_of(&there)[0].1));
            let (now, findings) = back(&file, source);
            whole(&was, &now, &any_more()).unwrap_or_else(|why| panic!("{case} {target}: {why}"));
            let left =
                findings.diagnostics.iter().filter(|found| found.message.contains("left out:"));
            assert_eq!(left.count(), 1, "{case} {target}: {:?}", findings.diagnostics);
        }
    }
}

/// A session of pi's with two questions, a call and its result.
pub fn harbour() -> Vec<u8> {
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let answer = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "anthropic", "model": "claude-9", "usage": usage, "stopReason": stop})
    };
    let asked = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let call =
        json!({"type": "toolCall", "id": "toolu_1", "name": "read", "arguments": {"path": "q"}});
    let messages = [
        asked("Who lies at the quay?"),
        answer(json!([{"type": "text", "text": "I look."}, call]), "toolUse"),
        json!({"role": "toolResult", "toolCallId": "toolu_1", "toolName": "read",
            "content": [{"type": "text", "text": "Nine boats"}], "isError": false}),
        answer(json!([{"type": "text", "text": "Nine."}]), "stop"),
        asked("And at the mole?"),
        answer(json!([{"type": "text", "text": "None."}]), "stop"),
    ];
    let header = json!({"type": "session", "version": 3, "cwd": "/srv/quay",
        "id": "01a11c43-6488-7c29-a723-a46fb88d8f7a", "timestamp": "2026-10-08T16:05:41.128Z"});
    let (mut text, mut parent) = (header.to_string() + "\n", Value::Null);
    for (n, mut message) in messages.into_iter().enumerate() {
        message["timestamp"] = json!(1_791_475_574_000_u64 + 1000 * n as u64);
        let id = format!("1000000{n}");
        let entry = json!({"type": "message", "id": id, "parentId": parent, "message": message,
            "timestamp": format!("2026-10-08T16:06:1{n}.000Z")});
        text.push_str(&(entry.to_string() + "\n"));
        parent = json!(id);
    }
    text.into_bytes()
}

/// A name that pi gives is the title of a transcript, also in turns and with files of sub-agents.
#[test]
fn a_name_from_pi_is_a_title_in_claude_code() {
    let first = main_of(&testdata().join("claude-code/v2/parallel/in"));
    for mut was in [session(&first), with_side_file()] {
        for name in ["At the mole", "At the quay"] {
            let there = away(&was, "pi");
            let mut new = resumed("pi", &files_of(&there)[0].1);
            let last = new.last().expect("an entry")["id"].clone();
            new.push(json!({"type": "session_info", "id": "99999990", "parentId": last,
                "timestamp": format!("{TIME}9.000Z"), "name": name}));
            // Two messages of one time and text would be copies.
            for line in new.iter_mut().filter(|_| name == "At the quay") {
                let time = line["timestamp"].as_str().expect("a time").replace("2027", "2028");
                line["timestamp"] = json!(time);
            }
            let (now, found) = back(&with(&there, &new), "claude-code");
            whole(&was, &now, &any_more()).expect("whole");
            let all = lines(&files_of(&now)[0].1);
            let id = all.iter().find_map(|line| line.get("sessionId")).expect("an identifier");
            let title = all.iter().rev().find(|line| line["type"] == "custom-title");
            let title = title.unwrap_or_else(|| panic!("no title: {:?}", found.diagnostics));
            assert_eq!((&title["customTitle"], &title["sessionId"]), (&json!(name), id));
            was = now;
        }
    }
}

/// A session of Codex on a branch, and one of Claude Code, continued on others or on none.
#[test]
fn an_agent_on_another_branch_continues_the_session() {
    let branches = [json!("main"), json!("other"), json!("HEAD"), json!(""), Value::Null];
    for case in ["codex/v2/polish", "codex/v3/mars", "pi/v2/branched"] {
        let mut was = session(&main_of(&testdata().join(case).join("in")));
        let source = recognise(&was).expect("a format").0.name;
        for branch in &branches {
            let there = away(&was, "claude-code");
            let mut new = resumed("claude-code", &files_of(&there)[0].1);
            for line in new.iter_mut().filter(|line| line.get("gitBranch").is_some()) {
                line["gitBranch"] = branch.clone();
                if branch.is_null() {
                    drop(line.as_object_mut().expect("an object").remove("gitBranch"));
                }
            }
            let (now, _) = back(&with(&there, &new), source);
            whole(&was, &now, &any_more()).unwrap_or_else(|why| panic!("{case} {branch}: {why}"));
            was = now;
        }
    }
}

#[test]
fn a_session_is_converted_back_several_times() {
    let mut was = harbour();
    for target in ["codex", "claude-code", "codex", "claude-code"] {
        let there = away(&was, target);
        let file = with(&there, &resumed(target, &files_of(&there)[0].1));
        let (now, _) = back(&file, "pi");
        whole(&was, &now, &any_more()).unwrap_or_else(|why| panic!("{target}: {why}"));
        was = now;
    }
}

/// Without a usable origin, nothing takes the place of the source.
#[test]
fn a_session_without_its_origin_never_replaces_its_source() {
    let dir = Dir::new();
    let source = session(&main_of(&testdata().join("claude-code/v2/parallel/in")));
    dir.write("s.jsonl", &source);
    let (code, said) = dir.exit(&["convert", "-t", "codex", "--out-dir", "out", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let (file, origin) = (dir.path("out/s.jsonl"), dir.path("out/s.jsonl.origin"));
    let whole_origin = read(&origin);
    let mut continued = read(&file);
    continued.extend(of_codex().iter().flat_map(|line| (line.to_string() + "\n").into_bytes()));
    std::fs::write(&file, continued).expect("a file");
    dir.write("p.jsonl", &harbour());
    dir.exit(&["convert", "-t", "codex", "--out-dir", "other", "p.jsonl"]);
    let foreign = read(&dir.path("other/p.jsonl.origin"));
    for (what, bytes, code) in [
        ("cut", &whole_origin[..whole_origin.len() / 2], "CY0624"),
        ("foreign", &foreign[..], "CY0626"),
        ("empty", &[][..], "CY0624"),
        ("no archive", &b"no archive"[..], "CY0624"),
    ] {
        std::fs::write(&origin, bytes).expect("a file");
        for force in [&[][..], &["--force"]] {
            let args =
                [&["convert", "-t", "claude-code", "-o", "s.jsonl"], force, &["out/s.jsonl"]];
            let (exit, said) = dir.exit(&args.concat());
            let expected = if force.is_empty() { "CY0701" } else { code };
            assert!(exit == 3 && said.contains(expected), "{what}: {exit} {said}");
            assert_eq!(read(&dir.path("s.jsonl")), source, "{what}");
        }
    }
    std::fs::remove_file(&origin).expect("a file");
    let force = ["convert", "-t", "claude-code", "--force", "-o", "s.jsonl", "out/s.jsonl"];
    let (exit, said) = dir.exit(&force);
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("CY0730"), "{said}");
    assert_eq!(read(&dir.path("s.jsonl")), source);
    // Another place is free; that the origin is missing is reported.
    let (exit, said) =
        dir.exit(&["convert", "-t", "claude-code", "-o", "alone.jsonl", "out/s.jsonl"]);
    assert!(exit == 0 && said.contains("note[CY0632]"), "{exit} {said}");
    // With its origin, the session is the source with more.
    std::fs::write(&origin, &whole_origin).expect("a file");
    let (exit, said) = dir.exit(&force);
    assert_eq!(exit, 0, "{said}");
    assert!(read(&dir.path("s.jsonl")).starts_with(&source));
}
