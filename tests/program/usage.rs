//! Tokens and cost of the sessions of all agents.

use crate::common::Dir;
use serde_json::{Value, json};
use std::process::Command;

fn lines(home: &Dir, args: &[&str]) -> Vec<Value> {
    lines_in("UTC0", home, args)
}

fn lines_in(zone: &str, home: &Dir, args: &[&str]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).env("TZ", zone);
    let done = command.args(args).output().expect("the program runs");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn write(home: &Dir, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write(name, text.as_bytes());
}

/// A home with a session of Codex and one of Claude Code.
fn home() -> Dir {
    let home = Dir::new();
    let tokens = |input: u32, output: u32| {
        json!({"input_tokens": input, "cached_input_tokens": input / 2, "output_tokens": output,
            "reasoning_output_tokens": 0, "total_tokens": input + output})
    };
    let line = |time: &str, kind: &str, payload: Value| json!({"timestamp": time, "type": kind, "payload": payload});
    let said = |role: &str, kind: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": "Tides?"}]});
    let count = |time: &str, input: u32, output: u32| {
        line(
            time,
            "event_msg",
            json!({"type": "token_count", "rate_limits": null, "info": {
            "total_token_usage": tokens(input, output), "last_token_usage": tokens(100, 10),
            "model_context_window": null}}),
        )
    };
    let (one, two) = ("2026-01-03T08:00:00.000Z", "2026-01-04T08:00:00.000Z");
    let id = "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b";
    let meta = json!({"id": id, "timestamp": one, "cwd": "/w/tides", "originator": "codex_cli_rs",
        "cli_version": "0.142.0", "source": "cli"});
    let settings = json!({"cwd": "/w/tides", "approval_policy": "never",
        "sandbox_policy": {"type": "read-only"}, "model": "gpt-5.5", "summary": "auto"});
    write(
        &home,
        &format!(".codex/sessions/2026/01/03/rollout-2026-01-03T08-00-00-{id}.jsonl"),
        &[
            line(one, "session_meta", meta),
            line(one, "turn_context", settings),
            line(one, "response_item", said("user", "input_text")),
            line(one, "response_item", said("assistant", "output_text")),
            line(
                one,
                "event_msg",
                json!({"type": "token_count", "info": null, "rate_limits": null}),
            ),
            count(one, 100, 10),
            count(one, 100, 10),
            count(two, 300, 30),
        ],
    );
    let id = "0a1b2c3d-0000-4000-8000-000000000001";
    let answer = |n: u32, parent: Value, output: u32| {
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w/harbour",
            "sessionId": id, "version": "2.1.332", "type": "assistant", "timestamp": two,
            "uuid": format!("0a1b2c3d-0000-4000-8000-0000000001{n:02}"),
            "message": {"id": "msg_1", "type": "message", "role": "assistant",
                "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": format!("{n}")}],
                "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 7,
                "cache_creation_input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": output}}})
    };
    let first = "0a1b2c3d-0000-4000-8000-000000000101";
    let cost = |cost: f64| {
        json!({"type": "cost-state", "sessionId": id, "totalCostUSD": cost,
            "modelUsage": {"claude-sonnet-4-5": {"inputTokens": 7, "costUSD": cost}}})
    };
    write(
        &home,
        &format!(".claude/projects/-w-harbour/{id}.jsonl"),
        &[
            json!({"parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/w/harbour",
            "sessionId": id, "version": "2.1.332", "type": "user", "timestamp": one,
            "uuid": "0a1b2c3d-0000-4000-8000-000000000100",
            "message": {"role": "user", "content": "Tides?"}}),
            answer(1, json!("0a1b2c3d-0000-4000-8000-000000000100"), 1),
            answer(2, json!(first), 20),
            cost(0.25),
            cost(0.5),
        ],
    );
    home
}

#[test]
fn tokens_are_counted_once_by_each_kind_of_group() {
    let home = home();
    let days = lines(&home, &["usage", "--json"]);
    assert_eq!(days.len(), 2, "{days:?}");
    assert_eq!(
        days[0],
        json!({"day": "2026-01-03", "sessions": 1, "input": 50, "output": 10, "cache_read": 50,
            "cache_write": 0, "total": 110, "cost": null, "estimate": null})
    );
    assert_eq!(
        days[1],
        json!({"day": "2026-01-04", "sessions": 2, "input": 107, "output": 40, "cache_read": 103,
            "cache_write": 5, "total": 255, "cost": 0.5, "estimate": null})
    );
    let names = |by: &str| -> Vec<(Value, Value)> {
        let groups = lines(&home, &["usage", "--json", "--by", by]);
        groups.iter().map(|group| (group[by].clone(), group["total"].clone())).collect()
    };
    let is = |name: &str, total: u32| (json!(name), json!(total));
    assert_eq!(names("model"), [is("gpt-5.5", 330), is("claude-sonnet-4-5", 35)]);
    assert_eq!(names("agent"), [is("codex", 330), is("claude-code", 35)]);
    assert_eq!(names("project"), [is("/w/tides", 330), is("/w/harbour", 35)]);
    assert_eq!(names("session").len(), 2);
    assert_eq!(lines(&home, &["usage", "--json", "--since", "2026-01-04"]), days[1..]);
    let listed = lines(&home, &["list", "--json", "--agent", "codex"]);
    assert_eq!(listed[0]["tokens"], 330, "the list has them, too");
}

#[test]
fn groups_have_groups_and_days_have_a_last_one() {
    let home = home();
    let names = |args: &[&str]| -> Vec<Value> {
        let groups = lines(&home, &[&["usage", "--json"], args].concat());
        let name = |group: Value| json!([group["month"], group["project"], group["model"]]);
        groups.into_iter().map(name).collect()
    };
    assert_eq!(names(&["--by", "month"]), [json!(["2026-01", null, null])]);
    let (tides, harbour) = ("/w/tides", "/w/harbour");
    assert_eq!(
        names(&["--by", "project,model"]),
        [json!([null, tides, "gpt-5.5"]), json!([null, harbour, "claude-sonnet-4-5"])]
    );
    let days = lines(&home, &["usage", "--json", "--until", "2026-01-03"]);
    assert_eq!(days, lines(&home, &["usage", "--json"])[..1]);
}

#[test]
fn days_are_those_of_the_zone() {
    let home = home();
    let days = |zone| -> Vec<Value> {
        let days = lines_in(zone, &home, &["usage", "--json"]);
        days.iter().map(|group| group["day"].clone()).collect()
    };
    assert_eq!(days("UTC0"), ["2026-01-03", "2026-01-04"]);
    // The cache has the days of the other zone.
    assert_eq!(days("EAST-20"), ["2026-01-04", "2026-01-05"]);
    let since = ["list", "--json", "--since", "2026-01-05"];
    assert_eq!(lines_in("UTC0", &home, &since).len(), 0);
    let late = lines_in("EAST-20", &home, &since);
    assert_eq!(late.len(), 2);
    assert_eq!(late[0]["updated"], "2026-01-04T08:00:00.000Z", "JSON has UTC");
}

#[test]
fn cost_with_prices_is_an_estimate() {
    let home = home();
    home.write("prices.yaml", b"gpt-5: {input: 1, output: 10, cache_read: 0.5}\n");
    let groups = lines(&home, &["usage", "--json", "--by", "model", "--prices", "prices.yaml"]);
    let estimate = groups[0]["estimate"].as_f64().expect("an estimate");
    assert!((estimate - (150.0 + 300.0 + 75.0) / 1e6).abs() < 1e-12, "{groups:?}");
    assert_eq!(groups[1]["estimate"], Value::Null, "no price");
    assert_eq!(groups[1]["cost"], 0.5);
}

#[test]
fn an_answer_that_several_sessions_have_is_counted_once() {
    let home = home();
    let total = || -> u64 {
        let groups = lines(&home, &["usage", "--json", "--by", "agent"]);
        groups.iter().filter_map(|group| group["total"].as_u64()).sum()
    };
    let before = total();
    let original =
        home.path(".claude/projects/-w-harbour/0a1b2c3d-0000-4000-8000-000000000001.jsonl");
    let text = std::fs::read_to_string(&original).expect("a session");
    // A fork repeats the lines, and has an answer of its own.
    let fork = "0a1b2c3d-0000-4000-8000-000000000002";
    let own = json!({"parentUuid": "0a1b2c3d-0000-4000-8000-000000000102", "isSidechain": false,
        "userType": "external", "cwd": "/w/harbour", "sessionId": fork, "version": "2.1.332",
        "type": "assistant", "timestamp": "2026-01-05T08:00:00.000Z",
        "uuid": "0a1b2c3d-0000-4000-8000-000000000103", "message": {"id": "msg_2",
        "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "of the fork"}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 100, "output_tokens": 11}}});
    let copied = text.lines().filter(|line| !line.contains("cost-state"));
    let copied: String = copied
        .map(|line| line.replace("0a1b2c3d-0000-4000-8000-000000000001", fork) + "\n")
        .collect();
    home.write(
        &format!(".claude/projects/-w-harbour/{fork}.jsonl"),
        format!("{copied}{own}\n").as_bytes(),
    );
    assert_eq!(total(), before + 111);
    // Another agent gets the answers with their tokens.
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root());
    let path = original.to_str().expect("UTF-8");
    let done = command.args(["continue", path, "--in", "pi"]).output().expect("the program runs");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(total(), before + 111);
}

/// Writes a rollout with these counts: the total, that of the last call, and the text before them.
fn rollout(home: &Dir, id: u32, parent: Option<u32>, counts: &[(u32, Option<u32>, &str)]) {
    let thread = |id: u32| format!("019b8fa2-6a6d-7c31-9e5b-{id:012}");
    let tokens = |count: u32| {
        json!({"input_tokens": count, "cached_input_tokens": 0,
        "output_tokens": 0, "total_tokens": count})
    };
    let meta = json!({"id": thread(id), "timestamp": "2026-01-05T08:00:00.000Z", "cwd": "/w/tides",
        "originator": "codex_cli_rs", "cli_version": "0.142.0", "source": "cli",
        "forked_from_id": parent.map(thread)});
    let line = |second: usize, kind: &str, payload: Value| {
        json!({"timestamp": format!("2026-01-05T08:{id:02}:{second:02}.000Z"), "type": kind,
            "payload": payload})
    };
    let said = |role: &str, kind: &str, text: &str| {
        json!({"type": "message", "role": role,
        "content": [{"type": kind, "text": text}]})
    };
    let mut lines = vec![line(0, "session_meta", meta)];
    for (n, (total, last, text)) in counts.iter().enumerate() {
        // A fork repeats its parent's lines at once.
        let second = if text.starts_with("again") { 0 } else { n + 1 };
        lines.push(line(second, "response_item", said("user", "input_text", "Tides?")));
        lines.push(line(second, "response_item", said("assistant", "output_text", text)));
        let total = (*total > 0).then(|| tokens(*total));
        lines.push(line(
            second,
            "event_msg",
            json!({"type": "token_count", "info": {"total_token_usage": total,
                "last_token_usage": last.map(tokens)}}),
        ));
    }
    let name =
        format!(".codex/sessions/2026/01/05/rollout-2026-01-05T08-00-00-{}.jsonl", thread(id));
    write(home, &name, &lines);
}

fn totals(home: &Dir) -> Vec<u64> {
    let groups = lines(home, &["usage", "--json", "--by", "session"]);
    groups.iter().filter_map(|group| group["total"].as_u64()).collect()
}

#[test]
fn a_fork_counts_its_own_calls() {
    let home = Dir::new();
    rollout(&home, 1, None, &[(400, Some(400), "one"), (900, Some(500), "two")]);
    // The first totals of one are its parent's; another repeats the lines of a parent that is gone.
    rollout(&home, 2, Some(1), &[(900, Some(0), "inherited"), (903, Some(3), "three")]);
    rollout(&home, 3, Some(9), &[(700, Some(700), "again one"), (705, Some(5), "three")]);
    assert_eq!(totals(&home), [900, 5, 3]);
}

#[test]
fn calls_are_counted_where_totals_begin_again_or_are_missing() {
    let home = Dir::new();
    rollout(&home, 1, None, &[(90, Some(90), "one"), (7, Some(7), "two"), (90, Some(90), "three")]);
    rollout(&home, 2, None, &[(0, Some(10), "one"), (0, Some(10), "two"), (0, Some(10), "three")]);
    assert_eq!(totals(&home), [97, 30]);
}

#[test]
fn equal_words_are_not_the_same_answer() {
    let home = Dir::new();
    (1..=5).for_each(|id| rollout(&home, id, None, &[(10, Some(10), "ok")]));
    assert_eq!(totals(&home), [10; 5]);
    // A gateway gives all responses one identifier.
    let session = "0a1b2c3d-0000-4000-8000-000000000009";
    let line = |n: u32, kind: &str, message: Value| {
        json!({"parentUuid": (n > 1).then(|| format!("0a1b2c3d-0000-4000-8000-0000000009{:02}", n - 1)),
            "isSidechain": false, "userType": "external", "cwd": "/w/harbour", "sessionId": session,
            "version": "2.1.332", "type": kind, "timestamp": format!("2026-01-06T08:00:{n:02}.000Z"),
            "uuid": format!("0a1b2c3d-0000-4000-8000-0000000009{n:02}"), "message": message})
    };
    let asked = |n: u32| line(n, "user", json!({"role": "user", "content": "Tides?"}));
    let answer = |n: u32, input: u32| {
        line(
            n,
            "assistant",
            json!({"id": "gateway", "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": format!("{n}")}],
            "stop_reason": "end_turn", "usage": {"input_tokens": input, "output_tokens": 1}}),
        )
    };
    write(
        &home,
        &format!(".claude/projects/-w-harbour/{session}.jsonl"),
        &[asked(1), answer(2, 100), answer(3, 100), asked(4), answer(5, 200)],
    );
    assert_eq!(totals(&home), [302, 10, 10, 10, 10, 10]);
}

#[test]
fn a_compaction_in_a_new_file_counts_only_what_follows() {
    let home = home();
    let before: u64 = totals(&home).iter().sum();
    let original = ".claude/projects/-w-harbour/0a1b2c3d-0000-4000-8000-000000000001.jsonl";
    let text = std::fs::read_to_string(home.path(original)).expect("a session");
    let session = "0a1b2c3d-0000-4000-8000-000000000003";
    let copied: String = text
        .lines()
        .filter(|line| !line.contains("cost-state"))
        .map(|line| line.replace("0a1b2c3d-0000-4000-8000-000000000001", session) + "\n")
        .map(|line| line.replace(r#""content":"Tides?""#, r#""content":"Summary: tides.""#))
        .collect();
    home.write(&format!(".claude/projects/-w-harbour/{session}.jsonl"), copied.as_bytes());
    assert_eq!(totals(&home).iter().sum::<u64>(), before);
}

#[test]
fn sub_agents_whose_session_was_deleted_count() {
    let home = home();
    let before: u64 = totals(&home).iter().sum();
    let (session, agent) = ("0a1b2c3d-0000-4000-8000-000000000004", "a77");
    let line = json!({"parentUuid": null, "isSidechain": true, "agentId": agent,
        "userType": "external", "cwd": "/w/harbour", "sessionId": session, "version": "2.1.332",
        "type": "assistant", "timestamp": "2026-01-06T08:00:00.000Z",
        "uuid": "0a1b2c3d-0000-4000-8000-000000000401", "message": {"id": "msg_7",
        "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "High water."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 500}}});
    let name = format!(".claude/projects/-w-harbour/{session}/subagents/agent-{agent}.jsonl");
    write(&home, &name, &[line]);
    assert_eq!(totals(&home).iter().sum::<u64>(), before + 1500);
}
