//! Answers that one program writes in pieces, and another one whole.

use crate::common::{Dir, files, read};
use serde_json::Value;
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

/// A run of Codelia with hidden thinking and two calls.
const RUN: &str = r#"{"type":"header","schema_version":1,"run_id":"r-1","session_id":"s-1","started_at":"2026-02-10T10:00:00.000Z","model":{"provider":"anthropic","name":"claude-sonnet-4-5"},"runtime":{"cwd":"/home/ines/p"}}
{"type":"run.start","run_id":"r-1","ts":"2026-02-10T10:00:00.000Z","session_id":"s-1","input":{"type":"text","text":"look at both"}}
{"type":"llm.request","run_id":"r-1","ts":"2026-02-10T10:00:00.010Z","seq":1,"model":{"provider":"anthropic","name":"claude-haiku-4-5"},"input":{"messages":[{"role":"user","content":"look at both"}],"tools":null,"tool_choice":null}}
{"type":"llm.response","run_id":"r-1","ts":"2026-02-10T10:00:01.000Z","seq":1,"output":{"messages":[{"role":"reasoning","content":"[redacted]","raw_item":{"type":"redacted_thinking","data":"Eu0BSecret"}},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_A","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat a\"}"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_B","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat b\"}"}}]}],"usage":{"model":"claude-haiku-4-5","input_tokens":2140,"input_cached_tokens":900,"input_cache_creation_tokens":40,"output_tokens":80,"total_tokens":2220},"stop_reason":"tool_use","provider_meta":null}}
{"type":"llm.request","run_id":"r-1","ts":"2026-02-10T10:00:02.000Z","seq":2,"model":{"provider":"anthropic","name":"claude-haiku-4-5"},"input":{"messages":[{"role":"user","content":"look at both"},{"role":"reasoning","content":"[redacted]","raw_item":{"type":"redacted_thinking","data":"Eu0BSecret"}},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_A","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat a\"}"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_B","type":"function","function":{"name":"shell","arguments":"{\"command\":\"cat b\"}"}}]},{"role":"tool","tool_call_id":"toolu_A","tool_name":"shell","content":"aaa"},{"role":"tool","tool_call_id":"toolu_B","tool_name":"shell","content":"bbb"}],"tools":null,"tool_choice":null}}
{"type":"llm.response","run_id":"r-1","ts":"2026-02-10T10:00:03.000Z","seq":2,"output":{"messages":[{"role":"assistant","content":"a and b"}],"usage":{"model":"claude-haiku-4-5","input_tokens":30,"output_tokens":5,"total_tokens":35},"stop_reason":"end_turn","provider_meta":null}}
{"type":"run.end","run_id":"r-1","ts":"2026-02-10T10:00:04.000Z","outcome":"completed","final":"a and b"}
"#;

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

fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap_or_default()).collect()
}

#[test]
fn answers_of_a_stream_are_joined_like_those_of_its_source() {
    let dir = orchestrated();
    convert(&dir, &["canonical", "--out-dir", "stream", "in"]);
    convert(&dir, &["pi@3", "--out-dir", "away", "stream"]);
    convert(&dir, &["pi@3", "--out-dir", "straight", "in"]);
    assert_eq!(text(&dir, "away"), text(&dir, "straight"));
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

/// Numbers beyond what a float holds are JSON, but what they come to is not.
#[test]
fn sums_of_huge_numbers_are_numbers() {
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
