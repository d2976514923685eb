//! Sessions that the real program of another format went on with, converted back: the source whole,
//! and behind it the prompts, calls, results and answers that are new.

use crate::common::{
    Dir, alone, converted, corpus, files_of, name, options, read, recognise, session, several,
    testdata, to_canonical,
};
use copyist::diagnostic::{Code, Findings};
use copyist::format::{OnError, Options};
use copyist::formats::Spec;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FORMATS: &[&str] = &["pi", "claude-code", "codex", "connectonion", "agent-orchestrator"];

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

/// What the lines that a program appended say: prompts, answers, calls and results. Copies of
/// earlier lines have older times.
fn appended(format: &str, lines: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut said, mut newest) = (Vec::new(), String::from("2026-11-27"));
    let mut seen = Vec::new();
    for line in lines {
        let mut add = |role: &str, value: &Value| said.push((role.to_owned(), text(value)));
        match format {
            "codex" if line["type"] == "response_item" => {
                let item = &line["payload"];
                let role = text(&item["role"]);
                let parts = item["content"].as_array().into_iter().flatten();
                let own = |part: &&Value| !text(&part["text"]).starts_with("<environment_context>");
                match text(&item["type"]).as_str() {
                    "message" if role != "developer" => {
                        parts.filter(own).for_each(|part| add(&role, &part["text"]));
                    }
                    "function_call" => add("call", &item["name"]),
                    "function_call_output" => add("result", &item["call_id"]),
                    _ => {}
                }
            }
            "pi" if line["type"] == "message" => {
                let message = &line["message"];
                for block in message["content"].as_array().into_iter().flatten() {
                    match text(&block["type"]).as_str() {
                        "text" if message["role"] == "toolResult" => {
                            add("result", &message["toolCallId"]);
                        }
                        "text" => add(&text(&message["role"]), &block["text"]),
                        _ => add("call", &block["name"]),
                    }
                }
            }
            "claude-code" if ["user", "assistant"].iter().any(|kind| line["type"] == *kind) => {
                let time = text(&line["timestamp"]);
                let copied = seen.contains(&(time.clone(), text(&line["type"])));
                let placeholder = line["message"]["model"] == "<synthetic>"
                    && line["message"]["content"][0]["text"] == "No response requested.";
                if time < newest || copied || placeholder {
                    continue;
                }
                newest.clone_from(&time);
                seen.push((time, text(&line["type"])));
                let role = text(&line["type"]);
                let content = &line["message"]["content"];
                if content.is_string() {
                    add(&role, content);
                }
                for block in content.as_array().into_iter().flatten() {
                    match text(&block["type"]).as_str() {
                        "tool_result" => add("result", &block["tool_use_id"]),
                        _ => add(&role, &block["text"]),
                    }
                }
            }
            _ => {}
        }
    }
    said
}

/// The main file in a folder.
pub fn main_of(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.is_file() && !name(file).ends_with(".meta.json"));
    files.pop().expect("a session")
}

/// Why a session did not come back whole; `None` if it did.
fn fault(folder: &Path, source: &str, target: &str) -> Option<String> {
    let was = session(&main_of(&folder.join("source")));
    let (version, there) = (recognise(&was)?.1, away(&was, target));
    // The present writer's file: the one in `target` is of an earlier release.
    let added: Vec<_> = ["appended-1.jsonl", "appended-2.jsonl"]
        .iter()
        .flat_map(|file| lines(&read(&folder.join(file))))
        .collect();
    let file = with(&there, &added);
    let (format, number) = recognise(&file)?;
    let (done, findings) = converted(&file, format, number, source, &keep());
    if let Some(found) =
        findings.diagnostics.iter().find(|found| found.code == Code::OriginRejected)
    {
        return Some(found.message.clone());
    }
    let now = match done {
        Ok(now) => alone(&now),
        Err(error) => return Some(error.to_string()),
    };
    assert_eq!(recognise(&now)?.1, version);
    whole(&was, &now, &appended(target, &added)).err()
}

/// Checks that a session is the other one whole, and behind it what is new.
fn whole(was: &[u8], now: &[u8], new: &[(String, String)]) -> Result<(), String> {
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

#[test]
fn continued_by_real_programs_all_come_back_whole() {
    let Some(corpus) = corpus("continued").map(|corpus| corpus.join("continued")) else { return };
    if !corpus.is_dir() {
        eprintln!("SKIP continued: {} is missing", corpus.display());
        return;
    }
    let mut tally: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut faults = Vec::new();
    let entries = std::fs::read_dir(&corpus).expect("the corpus");
    let folders = entries.map(|entry| entry.expect("a folder").path()).filter(|path| path.is_dir());
    for folder in folders {
        let (_, pair) = name(&folder)
            .split_once('-')
            .map(|(n, pair)| (n.to_owned(), pair.to_owned()))
            .expect("a pair");
        let first = |text: &str| FORMATS.iter().find(|name| text.starts_with(**name)).copied();
        let source = first(&pair).expect("a format");
        let target = first(&pair[source.len() + 1..]).expect("a format");
        let fault = fault(&folder, source, target);
        let (whole, all) = tally.entry(pair).or_default();
        *whole += u32::from(fault.is_none());
        *all += 1;
        faults.extend(fault.map(|fault| format!("{}: {fault}", name(&folder))));
    }
    for (pair, (whole, all)) in &tally {
        println!("{pair}: {whole} of {all}");
    }
    let whole: u32 = tally.values().map(|(whole, _)| whole).sum();
    println!("whole: {whole} of {}", tally.values().map(|(_, all)| all).sum::<u32>());
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(whole >= 65, "{whole}");
}

const TIME: &str = "2027-05-01T00:00:0";

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
fn harbour() -> Vec<u8> {
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

#[test]
fn new_messages_have_the_identity_and_the_kind_of_the_source() {
    let was = session(&main_of(&testdata().join("claude-code/v2/parallel/in")));
    let there = away(&was, "codex");
    let (now, _) = back(&with(&there, &of_codex()), "claude-code");
    let all = lines(&files_of(&now)[0].1);
    let old = lines(&files_of(&was)[0].1);
    let own = |name: &str| old.iter().find_map(|line| line.get(name)).expect("a member").clone();
    let mut time = String::new();
    for line in &all[old.len()..] {
        assert_eq!((&line["sessionId"], &line["cwd"]), (&own("sessionId"), &own("cwd")));
        assert_eq!(line["uuid"].as_str().map(str::len), Some(36), "{line}");
        let next = line["timestamp"].as_str().expect("a time").to_owned();
        assert!(next > time, "{next} after {time}");
        time = next;
    }
    assert_eq!(all.last().expect("a line")["message"]["model"], "gpt-9");
}

#[test]
fn a_prompt_behind_an_earlier_message_is_a_branch_at_its_counterpart() {
    let was = harbour();
    let there = away(&was, "claude-code");
    let old = lines(&files_of(&there)[0].1);
    let nine = old.iter().find(|line| line["message"]["content"][0]["text"] == "Nine.");
    let leaf = &nine.expect("the answer")["uuid"];
    let (now, _) = back(&with(&there, &of_claude_code(leaf)), "pi");
    whole(&was, &now, &any_more()).expect("whole");
    let all = lines(&now);
    let asked = all.iter().find(|line| line["message"]["content"] == "Any more?");
    assert_eq!(asked.expect("the question")["parentId"], "10000003");
    let context = crate::common::to_canonical(&now, &keep());
    assert!(String::from_utf8_lossy(&context).contains("None."));
}

#[test]
fn a_prompt_in_the_place_of_the_first_one_is_a_root() {
    let parallel = session(&main_of(&testdata().join("claude-code/v2/parallel/in")));
    for (was, source, target) in [(harbour(), "pi", "claude-code"), (parallel, "claude-code", "pi")]
    {
        let there = away(&was, target);
        let mut new = resumed(target, &files_of(&there)[0].1);
        let parent = if target == "pi" { "parentId" } else { "parentUuid" };
        let first = new.iter_mut().find(|line| line.get(parent).is_some()).expect("a line");
        first[parent] = Value::Null;
        let (now, found) = back(&with(&there, &new), source);
        whole(&was, &now, &any_more()).unwrap_or_else(|why| panic!("{source}: {why}: {found:?}"));
        let all = lines(&files_of(&now)[0].1);
        let asked = all.iter().find(|line| line["message"].to_string().contains("Any more?"));
        let parent = if source == "pi" { "parentId" } else { "parentUuid" };
        let asked = asked.unwrap_or_else(|| panic!("no question in {all:#?}"));
        assert!(asked[parent].is_null(), "{source}: {asked}");
        assert!(found.diagnostics.iter().all(|found| found.code != Code::OriginDeleted));
    }
}

#[test]
fn copies_of_earlier_lines_are_no_messages() {
    let was = harbour();
    let there = away(&was, "claude-code");
    let old = lines(&files_of(&there)[0].1);
    let at = old.iter().position(|line| {
        line["message"]["content"].as_array().is_some_and(|blocks| blocks.len() > 1)
    });
    let at = at.expect("an answer of several blocks");
    let (mut copies, mut parent) = (Vec::new(), old[at]["parentUuid"].clone());
    for line in &old[at..] {
        for block in line["message"]["content"].as_array().expect("blocks") {
            let mut copy = line.clone();
            let id = format!("1111111{}-0000-4000-8000-000000000000", copies.len());
            copy["message"]["content"] = json!([block]);
            copy["parentUuid"] = std::mem::replace(&mut parent, json!(id));
            copy["uuid"] = json!(id);
            copies.push(copy);
        }
    }
    copies.extend(of_claude_code(&parent));
    let (now, _) = back(&with(&there, &copies), "pi");
    whole(&was, &now, &any_more()).expect("whole");
}

#[test]
fn entries_that_pi_writes_again_with_its_header_are_no_messages() {
    let was = harbour();
    let text = String::from_utf8(was).expect("UTF-8");
    let asked = text.lines().take(2).map(|line| line.to_owned() + "\n").collect::<String>();
    let was = away(asked.as_bytes(), "claude-code");
    let was = alone(&was);
    let there = away(&was, "pi");
    let mut new = lines(&files_of(&there)[0].1);
    new.extend(resumed("pi", &files_of(&there)[0].1));
    let (now, _) = back(&with(&there, &new), "claude-code");
    whole(&was, &now, &any_more()).expect("whole");
}

#[test]
fn a_call_that_a_resuming_agent_leaves_behind_stays_in_the_source() {
    let was = session(&main_of(&testdata().join("agent-orchestrator/v2/killed/in")));
    let there = away(&was, "claude-code");
    let old = lines(&files_of(&there)[0].1);
    let last = old.iter().rev().find(|line| line.get("uuid").is_some()).expect("a line");
    if last["message"]["content"][0]["type"] == "tool_use" {
        let file = with(&there, &of_claude_code(&last["parentUuid"]));
        let (now, _) = back(&file, "agent-orchestrator");
        whole(&was, &now, &any_more()).expect("whole");
    }
}

#[test]
fn a_new_compaction_keeps_the_messages_of_the_source() {
    let was = session(&main_of(&testdata().join("claude-code/v2/parallel/in")));
    let there = away(&was, "codex");
    let kept = json!([{"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "All of it, in short."}]}]);
    let mut new = vec![json!({"timestamp": format!("{TIME}0.000Z"), "type": "compacted",
        "payload": {"message": "All of it, in short.", "replacement_history": kept}})];
    new.extend(of_codex());
    let (now, _) = back(&with(&there, &new), "claude-code");
    let (bytes, before) = (&files_of(&now)[0].1, &files_of(&was)[0].1);
    assert!(bytes.starts_with(before));
    let tail = String::from_utf8_lossy(&bytes[before.len()..]).into_owned();
    assert!(tail.contains("Any more?") && tail.contains("No more."), "{tail}");
}

/// Lines with which Claude Code compacts a session behind this line, and those of a further prompt.
fn compacted_by_claude_code(behind: &Value, round: u32) -> Vec<Value> {
    let line = |n: u32, parent: Value, more: Value| {
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s",
            "uuid": format!("5ca1ab1e-0000-4000-8000-0000000000{round}{n}"), "version": "2.1.332",
            "timestamp": format!("{TIME}5.{n}00Z"), "cwd": "/srv/mole", "gitBranch": ""});
        let more = more.as_object().cloned().unwrap_or_default();
        line.as_object_mut().expect("an object").extend(more);
        line
    };
    let boundary = json!({"type": "system", "subtype": "compact_boundary",
        "content": "Conversation compacted", "logicalParentUuid": behind, "isMeta": false,
        "level": "info", "compactMetadata": {"trigger": "manual", "preTokens": 9}});
    let summed = json!({"role": "user", "content": "This session goes on: all, in short."});
    let summed = json!({"type": "user", "message": summed,
        "isVisibleInTranscriptOnly": true, "isCompactSummary": true});
    let asked = json!({"role": "user", "content": "And then?"});
    let said = json!({"id": "msg_8", "type": "message", "role": "assistant",
        "model": "claude-9", "content": [{"type": "text", "text": "Then nothing."}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let (mut new, mut parent) = (Vec::new(), Value::Null);
    for (n, more) in [
        (1, boundary),
        (2, summed),
        (3, json!({"type": "user", "message": asked})),
        (4, json!({"type": "assistant", "message": said})),
    ] {
        new.push(line(n, parent, more));
        parent = new.last().expect("a line")["uuid"].clone();
    }
    new.push(json!({"type": "last-prompt", "lastPrompt": "And then?", "sessionId": "s",
        "leafUuid": parent}));
    new
}

/// Entries with which pi compacts a session, keeping the messages from one on, and those of a
/// further prompt.
fn compacted_by_pi(behind: &Value, kept: &Value, round: u32) -> Vec<Value> {
    let mut new = of_pi(&json!("8888880"));
    new.retain(|entry| entry["type"] == "message");
    let compaction = json!({"type": "compaction", "id": format!("8888888{round}"),
        "parentId": behind, "timestamp": format!("{TIME}5.000Z"), "tokensBefore": 99,
        "summary": "All, in short.", "firstKeptEntryId": kept});
    for (n, text) in ["And then?", "Then nothing."].into_iter().enumerate() {
        new[n]["id"] = json!(format!("777777{round}{n}"));
        new[n]["timestamp"] = json!(format!("{TIME}{}.000Z", n + 6));
        new[n]["message"]["timestamp"] = json!(1_809_129_606_000_u64 + 1000 * n as u64);
        new[n]["message"]["content"][0]["text"] = json!(text);
    }
    new[0]["parentId"] = compaction["id"].clone();
    new[1]["parentId"] = new[0]["id"].clone();
    new.insert(0, compaction);
    new
}

/// These lines with later times in a later round: two messages of one time and text would be
/// copies.
fn later(lines: &[Value], round: u32) -> Vec<Value> {
    let in_year = |line: &Value| {
        let text = line.to_string().replace("2027-", &format!("{}-", 2027 + round));
        serde_json::from_str(&text).expect("JSON")
    };
    lines.iter().map(in_year).collect()
}

/// Texts of the new lines of a round with a compaction.
fn and_then() -> Vec<(String, String)> {
    let mut all = any_more();
    all.extend(
        [("user", "And then?"), ("assistant", "Then nothing.")]
            .map(|(role, text)| (role.to_owned(), text.to_owned())),
    );
    all
}

/// Sources whose agents go on behind a compaction of another agent.
fn to_compact(target: &str) -> Vec<(Vec<u8>, &'static str)> {
    let of = |case: &str| session(&main_of(&testdata().join(case).join("in")));
    let all = [
        (harbour(), "pi"),
        (of("codex/v2/polish"), "codex"),
        (of("codex/v3/mars"), "codex"),
        (of("connectonion/v3/tides"), "connectonion"),
        (of("agent-orchestrator/v2/orchard"), "agent-orchestrator"),
        (of("claude-code/v2/parallel"), "claude-code"),
    ];
    all.into_iter().filter(|(_, source)| *source != target).collect()
}

/// Claude Code compacts behind a line without a parent, and sends none of the lines before it.
#[test]
fn new_compactions_of_claude_code_keep_the_messages_of_the_source() {
    for (mut was, source) in to_compact("claude-code") {
        for round in 0..3 {
            let there = away(&was, "claude-code");
            let mut new = resumed("claude-code", &files_of(&there)[0].1);
            let last = new.iter().rev().find_map(|line| line.get("uuid").cloned());
            new.extend(compacted_by_claude_code(&last.expect("a line"), round));
            let (now, found) = back(&with(&there, &later(&new, round)), source);
            whole(&was, &now, &and_then())
                .unwrap_or_else(|why| panic!("{source} {round}: {why}: {found:?}"));
            was = now;
        }
    }
}

/// A compaction of pi keeps the messages from one on: the last answer, or nothing.
#[test]
fn new_compactions_of_pi_keep_the_messages_of_the_source() {
    for keeps in [true, false] {
        for (mut was, source) in to_compact("pi") {
            for round in 0..3 {
                let there = away(&was, "pi");
                let mut new = resumed("pi", &files_of(&there)[0].1);
                let ids: Vec<_> = new.iter().map(|entry| entry["id"].clone()).collect();
                let last = ids.last().expect("an entry");
                let kept = if keeps { ids[ids.len() - 2].clone() } else { json!("none") };
                new.extend(compacted_by_pi(last, &kept, round));
                let (now, found) = back(&with(&there, &later(&new, round)), source);
                whole(&was, &now, &and_then())
                    .unwrap_or_else(|why| panic!("{source} {round}: {why}: {found:?}"));
                was = now;
            }
        }
    }
}

/// A title that the user or a model gave is a name in pi.
#[test]
fn a_new_name_is_one_in_the_source() {
    let was = harbour();
    let there = away(&was, "claude-code");
    let lines_there = resumed("claude-code", &files_of(&there)[0].1);
    let leaf = lines_there.iter().rev().find_map(|line| line.get("uuid"));
    for title in [
        json!({"type": "custom-title", "customTitle": "At the mole", "sessionId": "s"}),
        json!({"type": "ai-title", "aiTitle": "At the mole", "sessionId": "s"}),
        json!({"type": "summary", "summary": "At the mole", "leafUuid": leaf}),
    ] {
        let mut new = lines_there.clone();
        new.push(title.clone());
        let (now, _) = back(&with(&there, &new), "pi");
        whole(&was, &now, &any_more()).expect("whole");
        let all = lines(&now);
        let name = all.iter().find(|line| line["type"] == "session_info");
        let name = name.unwrap_or_else(|| panic!("{title}: no name in {all:#?}"));
        assert_eq!(name["name"], "At the mole");
    }
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

#[test]
fn a_title_is_a_name_in_pi() {
    let first = session(&main_of(&testdata().join("claude-code/v2/parallel/in")));
    let title = json!({"type": "custom-title", "customTitle": "At the mole", "sessionId": "s"});
    let was = with(&first, &[title]);
    let there = away(&was, "pi");
    let names =
        lines(&files_of(&there)[0].1).into_iter().filter(|line| line["type"] == "session_info");
    let names: Vec<_> = names.map(|line| line["name"].clone()).collect();
    assert_eq!(names, ["At the mole"]);
    assert_eq!(back(&there, "claude-code").0, was);
    let file = with(&there, &resumed("pi", &files_of(&there)[0].1));
    whole(&was, &back(&file, "claude-code").0, &any_more()).expect("whole");
    // Another name in its place is a new title.
    let mut parts = files_of(&there);
    let text = String::from_utf8(parts[0].1.clone()).expect("UTF-8");
    parts[0].1 = text.replace("At the mole", "At the quay").into_bytes();
    let (now, found) = back(&several(parts), "claude-code");
    whole(&was, &now, &[]).expect("whole");
    let all = lines(&files_of(&now)[0].1);
    assert_eq!(all.last().expect("a line")["customTitle"], "At the quay", "{found:?}");
}

/// Claude Code answers a prompt without an answer by itself before it sends the next one.
#[test]
fn an_answer_that_no_model_gave_is_omitted() {
    let was = crate::common::rollout::rollout(&[crate::common::rollout::user("Who?")]);
    let there = away(was.as_bytes(), "claude-code");
    let mut new = resumed("claude-code", &files_of(&there)[0].1);
    let at = new.iter().position(|line| line["type"] == "user").expect("a prompt");
    let mut answer = new.iter().find(|line| line["type"] == "assistant").expect("a line").clone();
    answer["parentUuid"] = new[at]["parentUuid"].clone();
    answer["uuid"] = json!("77777777-0000-4000-8000-000000000000");
    answer["timestamp"] = json!(format!("{TIME}0.500Z"));
    answer["message"]["model"] = json!("<synthetic>");
    answer["message"]["content"][0]["text"] = json!("No response requested.");
    new[at]["parentUuid"] = answer["uuid"].clone();
    new.insert(at, answer);
    let (now, found) = back(&with(&there, &new), "codex");
    whole(was.as_bytes(), &now, &any_more()).expect("whole");
    let counts =
        |found: &&copyist::diagnostic::Diagnostic| found.message.contains("1 placeholder answer");
    assert_eq!(found.diagnostics.iter().filter(counts).count(), 1, "{found:?}");
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
fn a_session_goes_out_and_back_again() {
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
fn a_stump_never_takes_the_place_of_its_source() {
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
