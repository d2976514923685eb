//! Data that a target holds by itself, so that it is there without an origin: branches of
//! repositories, models, tokens, thoughts, and the words of blocks that it has no place for.

use crate::common::{self, options};
use copyist::diagnostic::{Code, Findings};
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::{Value, json};

/// A line of Claude Code with a message.
fn line(number: u32, message: Value) -> Value {
    let parent = (number > 1).then(|| format!("00000000-0000-4000-8000-{:012}", number - 1));
    json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/mira",
        "sessionId": "7d0c4a11-52be-4d19-8f20-b0c6a4e7d900", "version": "2.1.200", "gitBranch": "loom",
        "type": message["role"], "message": message,
        "uuid": format!("00000000-0000-4000-8000-{number:012}"),
        "timestamp": format!("2026-09-01T10:00:{number:02}.000Z")})
}

fn answer(id: &str, block: Value) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [block], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 100, "output_tokens": 7}})
}

fn text(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn claude() -> Vec<u8> {
    let found = json!([{"type": "web_search_result", "title": "Looms", "url": "https://example.org/l",
        "encrypted_content": "Eo8", "page_age": null}]);
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {"query": "loom"}});
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found});
    text(&[
        line(1, json!({"role": "user", "content": "<environment_context> - what is that?"})),
        line(
            2,
            answer("msg_1", json!({"type": "thinking", "thinking": "Hm.", "signature": "RXE="})),
        ),
        line(3, answer("msg_1", search)),
        line(4, answer("msg_1", result)),
        line(5, answer("msg_1", json!({"type": "text", "text": "Found."}))),
        line(6, json!({"role": "user", "content": "And now?"})),
        line(7, answer("msg_2", json!({"type": "text", "text": "Done."}))),
    ])
}

fn converted(source: &[u8], to: &str) -> (Vec<Value>, Findings) {
    let (format, version) = common::recognise(source).expect("a known format");
    let keep = options(OnError::Stop, Choice::Derived);
    let (done, findings) = common::converted(source, format, version, to, &keep);
    let done = common::alone(&done.expect("a session"));
    let lines = done.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let read = |line| serde_json::from_slice(line).expect("JSON");
    (lines.map(read).collect(), findings)
}

#[test]
fn codex_gets_branch_tokens_and_thoughts() {
    for (to, thoughts) in [("codex@2", 1), ("codex@3", 0)] {
        let (lines, _) = converted(&claude(), to);
        assert_eq!(lines[0]["payload"]["git"], json!({"branch": "loom"}), "{to}");
        let of = |kind: &str| -> Vec<&Value> {
            let payloads = lines.iter().map(|line| &line["payload"]);
            payloads.filter(|payload| payload["type"] == kind).collect()
        };
        let shown = of("agent_reasoning");
        assert_eq!(shown.len(), thoughts, "{to}");
        assert!(shown.iter().all(|thought| thought["text"] == "Hm."), "{to}");
        assert!(of("reasoning").is_empty(), "{to}: a model would get it");
        let tokens: Vec<_> = of("token_count").iter().map(|event| event["info"].clone()).collect();
        let [first, last] = tokens.as_slice() else { panic!("{to}: {tokens:?}") };
        let one = json!({"input_tokens": 115, "cached_input_tokens": 100, "output_tokens": 7,
            "reasoning_output_tokens": 0, "total_tokens": 122});
        assert_eq!((&first["last_token_usage"], &first["total_token_usage"]), (&one, &one), "{to}");
        assert_eq!(last["total_token_usage"]["total_tokens"], 244, "{to}");
        assert_eq!(last["last_token_usage"], one, "{to}");
    }
}

#[test]
fn claude_code_gets_branch_models_and_tokens_of_codex() {
    let item = |role: &str, kind: &str, words: &str| {
        json!({"timestamp": "2026-09-01T10:00:00.000Z", "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}})
    };
    let turn = |model: &str| {
        json!({"timestamp": "2026-09-01T10:00:00.000Z", "type": "turn_context", "payload": {"cwd": "/w",
            "approval_policy": "never", "sandbox_policy": {"mode": "read-only"}, "model": model, "summary": "auto"}})
    };
    let counted = |times: u32| {
        let tokens = |times: u32| {
            json!({"input_tokens": 115 * times, "cached_input_tokens": 100 * times,
            "output_tokens": 7 * times, "reasoning_output_tokens": 0, "total_tokens": 122 * times})
        };
        json!({"timestamp": "2026-09-01T10:00:00.000Z", "type": "event_msg", "payload": {"type":
            "token_count", "info": {"total_token_usage": tokens(times), "last_token_usage": tokens(1),
            "model_context_window": null}, "rate_limits": null}})
    };
    let source = text(&[
        json!({"timestamp": "2026-09-01T10:00:00.000Z", "type": "session_meta", "payload": {
            "id": "7d0c4a11-52be-4d19-8f20-b0c6a4e7d901", "timestamp": "2026-09-01T10:00:00.000Z",
            "cwd": "/w", "originator": "codex_cli_rs", "cli_version": "0.77.0", "source": "cli",
            "git": {"commit_hash": "e10d", "branch": "loom"}}}),
        turn("gpt-5"),
        item("user", "input_text", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        item("user", "input_text", "<environment_context> - what is that?"),
        item("assistant", "output_text", "A tag."),
        counted(1),
        turn("gpt-5.5"),
        item("user", "input_text", "Thanks."),
        item("assistant", "output_text", "Gladly."),
        counted(2),
        counted(2),
    ]);
    let (lines, _) = converted(&source, "claude-code");
    let said: Vec<_> = lines.iter().filter(|line| line["message"].is_object()).collect();
    assert!(said.iter().all(|line| line["gitBranch"] == "loom"), "{said:?}");
    let contents: Vec<_> = said.iter().map(|line| line["message"]["content"].clone()).collect();
    let words: Vec<_> = contents
        .iter()
        .map(|content| content.as_str().or(content[0]["text"].as_str()).expect("a text"))
        .collect();
    assert_eq!(words, ["<environment_context> - what is that?", "A tag.", "Thanks.", "Gladly."]);
    let models: Vec<_> = said.iter().filter_map(|line| line["message"]["model"].as_str()).collect();
    assert_eq!(models, ["gpt-5", "gpt-5.5"]);
    let usage: Vec<_> = said.iter().map(|line| &line["message"]["usage"]).collect();
    let one = json!({"input_tokens": 15, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 100, "output_tokens": 7});
    assert_eq!(usage, [&Value::Null, &one, &Value::Null, &one]);
    let (lines, _) = converted(&source, "pi");
    let usage: Vec<_> = lines.iter().filter_map(|line| line["message"].get("usage")).collect();
    assert_eq!(usage.len(), 2, "{lines:?}");
    for usage in usage {
        let counts = ["input", "output", "cacheRead", "totalTokens"].map(|name| &usage[name]);
        assert_eq!(counts, [15, 7, 100, 122]);
    }
    // The same version writes the same bytes.
    let stream = common::to_canonical(&source, &options(OnError::Stop, Choice::Derived));
    let back = common::from_canonical(&stream, "codex@2", &options(OnError::Stop, Choice::Derived));
    common::assert_same(&common::alone(&back), &source, "codex");
}

#[test]
fn searches_of_the_provider_are_readable_in_every_format() {
    for to in ["pi", "codex", "connectonion@2", "connectonion@3", "agent-orchestrator", "codelia"] {
        let (format, version) = common::recognise(&claude()).expect("a known format");
        let keep = options(OnError::Stop, Choice::Derived);
        let (done, findings) = common::converted(&claude(), format, version, to, &keep);
        let out = String::from_utf8(common::alone(&done.expect("a session"))).expect("UTF-8");
        assert!(!out.contains("of another format"), "{to}: {out}");
        assert!(out.contains("[web search: loom]"), "{to}: {out}");
        assert!(out.contains("Looms, https://example.org/l"), "{to}: {out}");
        let note = findings.diagnostics.iter().find(|found| found.code == Code::NotShown);
        let note = note.unwrap_or_else(|| panic!("{to}: {:?}", findings.losses));
        assert!(
            note.message.contains("1 server_tool_use, 1 web_search_tool_result"),
            "{to}: {}",
            note.message
        );
    }
}

#[test]
fn pi_gets_the_ends_of_answers_in_its_own_words() {
    let ended = |number, block: Value, reason: &str| {
        let mut message = answer(&format!("msg_{number}"), block);
        message["stop_reason"] = json!(reason);
        line(number, message)
    };
    let said = |words: &str| json!({"type": "text", "text": words});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}});
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]);
    let source = text(&[
        line(1, json!({"role": "user", "content": "Read it."})),
        ended(2, call, "tool_use"),
        line(3, json!({"role": "user", "content": result})),
        ended(4, said("x"), "end_turn"),
        line(5, json!({"role": "user", "content": "More."})),
        ended(6, said("y and"), "max_tokens"),
    ]);
    let (lines, _) = converted(&source, "pi");
    let ends: Vec<_> =
        lines.iter().filter_map(|line| line["message"]["stopReason"].as_str()).collect();
    assert_eq!(ends, ["toolUse", "stop", "length"]);
}
