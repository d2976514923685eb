//! Answers that one program writes in pieces, and another one whole.

use crate::common::{Dir, files, read};
use serde_json::{Value, json};
use std::fs;

/// A session of agent-orchestrator: two calls of one answer, each on a line of its own.
const LOG: &str = r#"{"type": "user_message", "content": "look at both", "timestamp": "2025-11-20T10:00:00.000000+00:00"}
{"subtype": "init", "data": {"type": "system", "subtype": "init", "cwd": "/home/ines/p", "session_id": "11111111-2222-4333-8444-555555555555", "tools": ["Bash"], "model": "claude-sonnet-4-5"}}
{"content": [{"id": "toolu_A", "name": "Bash", "input": {"command": "cat a"}}], "model": "claude-sonnet-4-5", "parent_tool_use_id": null}
{"content": [{"id": "toolu_B", "name": "Bash", "input": {"command": "cat b"}}], "model": "claude-sonnet-4-5", "parent_tool_use_id": null}
{"content": [{"tool_use_id": "toolu_A", "content": "aaa", "is_error": false}], "parent_tool_use_id": null}
{"content": [{"tool_use_id": "toolu_B", "content": "bbb", "is_error": false}], "parent_tool_use_id": null}
{"content": [{"text": "a and b"}], "model": "claude-sonnet-4-5", "parent_tool_use_id": null}
{"subtype": "success", "duration_ms": 1000, "duration_api_ms": 900, "is_error": false, "num_turns": 3, "session_id": "11111111-2222-4333-8444-555555555555", "total_cost_usd": 0.01, "usage": {"input_tokens": 3, "output_tokens": 4}, "result": "a and b"}
"#;

const META: &str = r#"{
  "session_name": "s",
  "agent": null,
  "project_dir": "/home/ines/p",
  "agents_dir": "/home/ines/p/.agent-orchestrator/agents",
  "created_at": "2025-11-20T10:00:00.000000Z",
  "last_resumed_at": "2025-11-20T10:00:00.000000Z",
  "schema_version": "1.0",
  "session_id": "11111111-2222-4333-8444-555555555555"
}"#;

/// A run of Codelia with a thought that nobody may read and two calls.
const RUN: &str = r#"{"type":"header","schema_version":1,"run_id":"r-1","session_id":"s-1","started_at":"2026-02-10T10:00:00.000Z","model":{"provider":"anthropic","name":"claude-sonnet-4-5"},"runtime":{"cwd":"/home/ines/p"}}
{"type":"run.start","run_id":"r-1","ts":"2026-02-10T10:00:00.000Z","session_id":"s-1","input":{"type":"text","text":"look at both"}}
{"type":"llm.request","run_id":"r-1","ts":"2026-02-10T10:00:00.010Z","seq":1,"model":{"provider":"anthropic","name":"claude-haiku-4-5"},"input":{"messages":[{"role":"user","content":"look at both"}],"tools":null,"tool_choice":null}}
{"type":"llm.response","run_id":"r-1","ts":"2026-02-10T10:00:01.000Z","seq":1,"output":{"messages":[{"role":"reasoning","content":"[redacted]","raw_item":{"type":"redacted_thinking","data":"Eu0BSecret"}},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_A","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat a\"}"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_B","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat b\"}"}}]}],"usage":{"model":"claude-haiku-4-5","input_tokens":2140,"input_cached_tokens":900,"input_cache_creation_tokens":40,"output_tokens":80,"total_tokens":2220},"stop_reason":"tool_use","provider_meta":null}}
{"type":"llm.request","run_id":"r-1","ts":"2026-02-10T10:00:02.000Z","seq":2,"model":{"provider":"anthropic","name":"claude-haiku-4-5"},"input":{"messages":[{"role":"user","content":"look at both"},{"role":"reasoning","content":"[redacted]","raw_item":{"type":"redacted_thinking","data":"Eu0BSecret"}},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_A","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat a\"}"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_B","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat b\"}"}}]},{"role":"tool","tool_call_id":"toolu_A","tool_name":"shell","content":"aaa"},{"role":"tool","tool_call_id":"toolu_B","tool_name":"shell","content":"bbb"}],"tools":null,"tool_choice":null}}
{"type":"llm.response","run_id":"r-1","ts":"2026-02-10T10:00:03.000Z","seq":2,"output":{"messages":[{"role":"assistant","content":"a and b"}],"usage":{"model":"claude-haiku-4-5","input_tokens":30,"output_tokens":5,"total_tokens":35},"stop_reason":"end_turn","provider_meta":null}}
{"type":"run.end","run_id":"r-1","ts":"2026-02-10T10:00:04.000Z","outcome":"completed","final":"a and b"}
"#;

const HOME: &str = "agent-orchestrator@2";
const WHOLE: &[&str] =
    &["pi@3", "pi@2", "pi@1", "connectonion@1", "connectonion@2", "connectonion@3"];

/// A folder with the session of agent-orchestrator as `in/s.jsonl`.
fn orchestrated() -> Dir {
    let dir = Dir::new();
    dir.write("in/s.jsonl", LOG.as_bytes());
    dir.write("in/s.meta.json", META.as_bytes());
    dir
}

fn convert(dir: &Dir, args: &[&str]) -> String {
    let (code, said) = dir.exit(&[&["convert", "-t"], args].concat());
    assert_eq!(code, 0, "{args:?}: {said}");
    said
}

/// A folder with the run of Codelia as `in.jsonl`, and its messages in pi, where they are in
/// `pi/away.jsonl`.
fn ran() -> (Dir, Vec<Value>) {
    let dir = Dir::new();
    dir.write("in.jsonl", RUN.as_bytes());
    convert(&dir, &["pi@3", "-o", "pi/away.jsonl", "in.jsonl"]);
    let messages = messages(&text(&dir, "pi"));
    (dir, messages)
}

/// The one file of the session that this folder is of, or its log.
fn only(dir: &Dir, folder: &str) -> std::path::PathBuf {
    let mut all = files(&dir.path(folder));
    all.retain(|file| !file.display().to_string().ends_with(".meta.json"));
    let [file] = all.try_into().expect("one file");
    file
}

fn text(dir: &Dir, folder: &str) -> String {
    fs::read_to_string(only(dir, folder)).expect("UTF-8")
}

fn edit(dir: &Dir, folder: &str, old: &str, new: &str) {
    let text = text(dir, folder);
    assert!(text.contains(old), "{text}");
    fs::write(only(dir, folder), text.replace(old, new)).expect("a file");
}

/// The messages of pi's entries in a text.
fn messages(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["type"] == "message").map(|line| line["message"].clone()).collect()
}

fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap_or_default()).collect()
}

#[test]
fn calls_side_by_side_are_one_answer_where_answers_are_whole() {
    for to in WHOLE {
        let dir = orchestrated();
        convert(&dir, &[to, "--out-dir", "away", "in"]);
        let said = text(&dir, "away");
        if to.starts_with("pi") {
            let messages = messages(&said);
            let wanted = ["user", "assistant", "toolResult", "toolResult", "assistant"];
            assert_eq!(roles(&messages), wanted, "{to}");
            assert_eq!(messages[1]["stopReason"], "toolUse");
        } else {
            assert_eq!(said.matches("tool_calls").count(), 1, "{to}: {said}");
        }
        convert(&dir, &[HOME, "--out-dir", "back", "away"]);
        assert_eq!(text(&dir, "back"), LOG, "{to}");
    }
}

#[test]
fn what_follows_in_the_tree_follows_the_whole_answer() {
    let dir = orchestrated();
    convert(&dir, &["pi@3", "--out-dir", "away", "in"]);
    let lines: Vec<Value> =
        text(&dir, "away").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
    }
}

#[test]
fn a_stream_of_records_is_made_whole_like_its_source() {
    let dir = orchestrated();
    convert(&dir, &["canonical", "--out-dir", "stream", "in"]);
    convert(&dir, &["pi@3", "--out-dir", "away", "stream"]);
    convert(&dir, &["pi@3", "--out-dir", "straight", "in"]);
    assert_eq!(text(&dir, "away"), text(&dir, "straight"));
}

/// Codelia forgets calls without results when a run was cancelled: its history parts between them.
#[test]
fn a_call_that_is_of_one_branch_only_is_part_of_no_answer_on_both() {
    let message = |id: &str, parent: Value, role: &str, content: Value| json!({"kind": "message", "id": id, "parent": parent, "role": role, "content": content});
    let call = |id: &str| json!([{"type": "tool_call", "id": id, "name": "sh", "arguments": "{}"}]);
    let result = json!([{"type": "tool_result", "call": "c1", "name": "sh", "content": "slept"}]);
    let stream = [
        json!({"kind": "session", "source": "codelia@1", "id": "s-1", "created": "2026-02-10T10:00:00.000Z"}),
        message("aaaaaaa1", Value::Null, "user", json!("sleep")),
        message("aaaaaaa2", json!("aaaaaaa1"), "assistant", call("c1")),
        message("aaaaaaa3", json!("aaaaaaa2"), "assistant", call("c2")),
        message("aaaaaaa4", json!("aaaaaaa2"), "tool", result),
    ];
    let dir = Dir::new();
    let lines: String = stream.iter().map(|line| format!("{line}\n")).collect();
    dir.write("in.jsonl", lines.as_bytes());
    convert(&dir, &["pi@3", "-o", "pi/away.jsonl", "in.jsonl"]);
    let context = |file: &str| dir.run(&["context", "--as", "canonical", file]).stdout;
    assert_eq!(context("pi/away.jsonl"), context("in.jsonl"));
    let roles_of = messages(&text(&dir, "pi"));
    assert_eq!(roles(&roles_of), ["user", "assistant", "assistant", "toolResult"]);
}

#[test]
fn who_edits_one_call_of_an_answer_edits_its_piece() {
    for to in WHOLE {
        let dir = orchestrated();
        convert(&dir, &[to, "--out-dir", "away", "in"]);
        edit(&dir, "away", "cat b", "cat bee");
        let said = convert(&dir, &[HOME, "--out-dir", "back", "away"]);
        assert_eq!(text(&dir, "back"), LOG.replace("cat b", "cat bee"), "{to}: {said}");
        assert_eq!(said.matches("message of role assistant was edited").count(), 1, "{to}: {said}");
    }
}

#[test]
fn who_deletes_one_call_of_an_answer_loses_no_other() {
    for call in ["toolu_A", "toolu_B"] {
        let dir = orchestrated();
        convert(&dir, &["pi@3", "--out-dir", "away", "in"]);
        let file = only(&dir, "away");
        let (mut out, mut gone, mut before) = (String::new(), Value::Null, Value::Null);
        for line in text(&dir, "away").lines() {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if line["parentId"] == gone && !gone.is_null() {
                line["parentId"] = before.clone();
            }
            if line["message"]["toolCallId"] == call {
                (gone, before) = (line["id"].clone(), line["parentId"].clone());
                continue;
            }
            if let Some(blocks) = line["message"]["content"].as_array_mut() {
                blocks.retain(|block| block["id"] != call);
            }
            out += &format!("{line}\n");
        }
        fs::write(file, out).expect("a file");
        let said = convert(&dir, &[HOME, "--out-dir", "back", "away"]);
        let wanted: Vec<&str> = LOG.lines().filter(|line| !line.contains(call)).collect();
        let back = text(&dir, "back");
        assert_eq!(back.lines().collect::<Vec<_>>(), wanted, "{said}");
    }
}

#[test]
fn what_is_called_besides_is_a_piece_of_its_own() {
    let dir = orchestrated();
    convert(&dir, &["pi@3", "--out-dir", "away", "in"]);
    let other = r#"{"type":"toolCall","id":"toolu_B","#;
    let new =
        r#"{"type":"toolCall","id":"toolu_C","name":"Bash","arguments":{"command":"cat c"}},"#;
    edit(&dir, "away", other, &format!("{new}{other}"));
    convert(&dir, &[HOME, "--out-dir", "back", "away"]);
    let back = text(&dir, "back");
    let at = |call: &str| back.find(call).expect("a call");
    assert!(at("toolu_A") < at("toolu_C") && at("toolu_C") < at("toolu_B"), "{back}");
    assert_eq!(back.matches("toolu_A").count(), 2, "{back}");
}

#[test]
fn what_is_new_and_in_pieces_is_whole_at_home() {
    let dir = Dir::new();
    dir.copy("pi/v3/everything", "in.jsonl");
    convert(&dir, &[HOME, "--out-dir", "away", "in.jsonl"]);
    let log = text(&dir, "away");
    let new: String = LOG.lines().skip(2).map(|line| format!("{line}\n")).collect();
    let asked = LOG.lines().next().expect("a question").replace("2025", "2027");
    fs::write(only(&dir, "away"), format!("{log}{asked}\n{new}")).expect("a file");
    convert(&dir, &["pi@3", "--out-dir", "back", "away"]);
    let messages = messages(&text(&dir, "back"));
    let from = messages.iter().rposition(|m| m["role"] == "user").expect("a question");
    let wanted = ["user", "assistant", "toolResult", "toolResult", "assistant"];
    assert_eq!(roles(&messages[from..]), wanted);
}

#[test]
fn a_seam_that_cannot_be_kept_is_reported() {
    let dir = orchestrated();
    let plain = ["--no-origin", "--fail-on", "loss", "--out-dir", "away", "in"];
    let (code, said) = dir.exit(&[&["convert", "-t", "pi@3"], &plain[..]].concat());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("seam between parts of an answer"), "{said}");
}

#[test]
fn no_interface_gets_a_call_before_the_results_of_another() {
    let dir = orchestrated();
    for form in ["openai", "anthropic"] {
        let done = dir.run(&["context", "--as", form, "in/s.jsonl"]);
        let said: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let messages = said["messages"].as_array().expect("a list");
        let calls = match form {
            "openai" => messages[1]["tool_calls"].as_array(),
            _ => messages[1]["content"].as_array(),
        };
        assert_eq!(calls.map(Vec::len), Some(2), "{said}");
        let wanted: &[&str] = match form {
            "openai" => &["user", "assistant", "tool", "tool", "assistant"],
            _ => &["user", "assistant", "user", "assistant"],
        };
        assert_eq!(roles(messages), wanted);
    }
}

#[test]
fn what_a_response_took_is_shown_with_its_answer() {
    let (dir, messages) = ran();
    let took: Vec<&Value> =
        messages.iter().map(|message| &message["usage"]["totalTokens"]).collect();
    assert_eq!(took.iter().filter_map(|took| took.as_u64()).sum::<u64>(), 2255, "{took:?}");
    let called = &messages[2];
    assert_eq!(called["model"], "claude-haiku-4-5");
    assert_eq!(called["usage"]["input"], 1200);
    assert_eq!(called["usage"]["cacheRead"], 900);
    for (to, wanted) in
        [("connectonion@2", "tokens: 1315"), ("agent-orchestrator@2", r#""output_tokens": 85"#)]
    {
        convert(&dir, &[to, "--out-dir", to, "in.jsonl"]);
        assert!(text(&dir, to).contains(wanted), "{}", text(&dir, to));
        convert(&dir, &["codelia@1", "--out-dir", &format!("{to}-back"), to]);
        assert_eq!(read(&only(&dir, &format!("{to}-back"))), RUN.as_bytes(), "{to}");
    }
    convert(&dir, &["codelia@1", "-o", "pi-back/in.jsonl", "pi/away.jsonl"]);
    assert_eq!(text(&dir, "pi-back"), RUN);
}

/// Numbers beyond what a float holds are JSON, but what they come to is not.
#[test]
fn sums_are_numbers_however_much_was_taken() {
    let dir = Dir::new();
    let huge = RUN.replace(r#""input_tokens":30,"#, r#""input_tokens":1e999,"#);
    dir.write("in.jsonl", huge.replace(r#","total_tokens":35"#, "").as_bytes());
    dir.write("pieces.jsonl", pieces_that_took(r#"{"input": 1e308, "total": -1e999}"#).as_bytes());
    for from in ["in", "pieces"] {
        for to in WHOLE.iter().chain(&["agent-orchestrator@2", "codelia@1"]) {
            let folder = format!("{from}-{to}");
            convert(&dir, &[to, "--out-dir", &folder, &format!("{from}.jsonl")]);
            let (code, said) = dir.exit(&["validate", &folder]);
            assert_eq!(code, i32::from(said.contains("warning[CY0416]")), "{folder}: {said}");
            assert!(!said.contains("error["), "{folder}: {said}");
            for file in files(&dir.path(&folder)) {
                let text = String::from_utf8(read(&file)).expect("UTF-8").replace(' ', "");
                assert!(!text.contains(":inf") && !text.contains(":-inf"), "{folder}");
            }
        }
    }
}

/// A stream with an answer in two pieces, each of which says what it took.
fn pieces_that_took(usage: &str) -> String {
    let record = |id: &str, parent: &str, role: &str, rest: &str| {
        format!(
            r#"{{"kind": "message", "id": "{id}", "parent": {parent}, "role": "{role}", {rest}}}"#
        ) + "\n"
    };
    let piece = |id: &str, parent: &str| {
        let call = format!(
            r#"[{{"type": "tool_call", "id": "c{id}", "name": "sh", "arguments": "{{}}"}}]"#
        );
        record(id, parent, "assistant", &format!(r#""content": {call}, "usage": {usage}"#))
    };
    [
        r#"{"kind": "session", "id": "s-1", "created": "2026-02-10T10:00:00.000Z"}"#.to_owned()
            + "\n",
        record("a", "null", "user", r#""content": "look at both""#),
        piece("b", r#""a""#),
        piece("c", r#""b""#),
    ]
    .concat()
}

#[test]
fn a_thought_that_is_hidden_is_none_that_is_shown() {
    let (_dir, messages) = ran();
    let thought = &messages[1]["content"][0];
    assert_eq!(thought["redacted"], true, "{thought}");
    assert_eq!(thought["thinkingSignature"], "Eu0BSecret");
}

/// pi takes up a session with the model of its last answer.
#[test]
fn an_answer_from_elsewhere_is_one_of_the_sessions_model_in_pi() {
    for (said, model) in
        [("", "m-2"), (r#""model": "m-1", "#, "m-1"), (r#""model": "m-3", "#, "m-3")]
    {
        let dir = Dir::new();
        let answer = |text: &str, model: &str, id: &str, parent: &str| {
            let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
            let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}], "api": "a",
                "provider": format!("p-{model}"), "model": model, "usage": usage, "stopReason": "stop", "timestamp": 1});
            json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
        };
        let question = json!({"type": "message", "id": "aaaaaaa1", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "hm?", "timestamp": 0}});
        let header = r#"{"type":"session","version":3,"id":"5e551011-0000-4000-8000-000000000000","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
        let first = answer("one", "m-1", "aaaaaaa2", "aaaaaaa1");
        let second = answer("two", "m-2", "aaaaaaa3", "aaaaaaa2");
        dir.write("in.jsonl", format!("{header}\n{question}\n{first}\n{second}\n").as_bytes());
        if said.is_empty() {
            convert(&dir, &["connectonion@3", "--out-dir", "away", "in.jsonl"]);
            let new = r#"{"role": "assistant", "content": "three"}"#;
            edit(&dir, "away", "\n  ]\n", &format!(",\n    {new}\n  ]\n"));
        } else {
            convert(&dir, &[HOME, "--out-dir", "away", "in.jsonl"]);
            let log = text(&dir, "away");
            let new = r#""parent_tool_use_id": null}"#;
            let new = format!("{{\"content\": [{{\"text\": \"three\"}}], {said}{new}\n");
            fs::write(only(&dir, "away"), log + &new).expect("a file");
        }
        convert(&dir, &["pi@3", "--out-dir", "back", "away"]);
        let messages = messages(&text(&dir, "back"));
        let last = messages.last().expect("an answer");
        assert_eq!(last["model"], model, "{last}");
        let provider = if model == "m-3" { "unknown".to_owned() } else { format!("p-{model}") };
        assert_eq!(last["provider"], json!(provider), "{last}");
        assert_eq!(last["usage"]["cost"]["total"], 0);
    }
}

#[test]
fn what_a_run_took_is_reported_as_lost_where_it_has_no_place() {
    let dir = Dir::new();
    dir.copy("pi/v3/everything", "in.jsonl");
    convert(&dir, &["connectonion@3", "-o", "away/run_1.yaml", "in.jsonl"]);
    edit(&dir, "away", "timestamp: ", "tokens: 512\ncost: 1.25\nduration_ms: 77\ntimestamp: ");
    let back = ["convert", "-t", "pi@3", "--fail-on", "loss", "-o", "back.jsonl"];
    let (code, said) = dir.exit(&[&back[..], &["away/run_1.yaml"]].concat());
    assert!(code == 1 && said.contains("session.totals"), "{said}");
}
