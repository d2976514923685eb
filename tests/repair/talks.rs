//! ConnectOnion's conversations, in each of its files: what a model's interface refuses, and that it
//! takes what `--resumable` makes of it.

use crate::common::Dir;
use crate::damage::Random;
use crate::judge::{Done, holds, repaired, resumable, set_aside};
use crate::yaml::loader;
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::connectonion::FORMAT;
use copyist::repair::OUTCOME_UNKNOWN;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    json!({"role": "assistant", "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "content": text, "tool_call_id": id})
}

fn unknown(id: &str) -> Value {
    result(id, OUTCOME_UNKNOWN)
}

/// Conversations, what becomes of them, and how many messages go.
fn conversations() -> Vec<(&'static str, Vec<Value>, Vec<Value>, usize)> {
    let go = || user("Go.");
    vec![
        (
            "nothing is wrong",
            vec![go(), calls(&["a", "b"]), result("b", "2"), result("a", "1"), answer("Done.")],
            vec![go(), calls(&["a", "b"]), result("b", "2"), result("a", "1"), answer("Done.")],
            0,
        ),
        (
            "a call without a result",
            vec![go(), calls(&["a"]), answer("Done."), user("On."), answer("Yes.")],
            vec![go(), calls(&["a"]), unknown("a"), answer("Done."), user("On."), answer("Yes.")],
            0,
        ),
        (
            "one of three results",
            vec![go(), calls(&["a", "b", "c"]), result("b", "2"), user("On."), answer("Yes.")],
            vec![
                go(),
                calls(&["a", "b", "c"]),
                result("b", "2"),
                unknown("a"),
                unknown("c"),
                user("On."),
                answer("Yes."),
            ],
            0,
        ),
        (
            "calls at the end",
            vec![go(), answer("Yes."), user("On."), calls(&["a", "b"]), result("a", "1")],
            vec![
                go(),
                answer("Yes."),
                user("On."),
                calls(&["a", "b"]),
                result("a", "1"),
                unknown("b"),
            ],
            0,
        ),
        (
            "a result that comes late",
            vec![go(), calls(&["a", "b"]), result("a", "1"), user("On."), result("b", "2: ''")],
            vec![go(), calls(&["a", "b"]), result("a", "1"), result("b", "2: ''"), user("On.")],
            1,
        ),
        (
            "results without calls",
            vec![go(), result("x", "0"), calls(&["a"]), result("a", "1"), result("a", "2")],
            vec![go(), calls(&["a"]), result("a", "1")],
            2,
        ),
        (
            "an answer that says nothing",
            vec![go(), answer("Yes."), user("On."), answer(""), answer(" \n")],
            vec![go(), answer("Yes."), user("On.")],
            2,
        ),
    ]
}

/// A message as PyYAML spells it in a list.
fn in_yaml(message: &Value) -> String {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let quoted = |value: &Value| serde_json::to_string(value).expect("JSON");
    let mut out = format!("  - role: {}\n", text(&message["role"]));
    for key in ["content", "tool_call_id"] {
        if let Some(value) = message.get(key) {
            out.push_str(&format!("    {key}: {}\n", quoted(value)));
        }
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        if !out.contains("tool_calls") {
            out.push_str("    tool_calls:\n");
        }
        let (id, name) = (quoted(&call["id"]), text(&call["function"]["name"]));
        out.push_str(&format!("    - id: {id}\n      type: function\n      function:\n        name: {name}\n        arguments: '{{}}'\n"));
    }
    out
}

/// The conversation by turns, each with what was asked.
fn turns(messages: &[Value]) -> Vec<(String, Vec<Value>)> {
    let mut turns: Vec<(String, Vec<Value>)> = Vec::new();
    for message in messages {
        if message["role"] == "user" {
            turns.push((message["content"].as_str().unwrap_or_default().to_owned(), Vec::new()));
        }
        turns.last_mut().expect("a question comes first").1.push(message.clone());
    }
    turns
}

/// A conversation in each of ConnectOnion's files.
fn files(messages: &[Value]) -> [String; 3] {
    let json = |messages: &[Value]| serde_json::to_string(messages).expect("JSON");
    let mut dated = "name: a\ntimestamp: '2026-01-01 10:00:00'\nturns:\n".to_owned();
    let mut keyed = "name: a\ncreated: '2026-01-01 10:00:00'\nupdated: '2026-01-01 10:00:00'\ntotal_cost: 0.0\ntotal_tokens: 0\nturns:\n".to_owned();
    let (mut lists, mut all) = (String::new(), Vec::new());
    for (n, (asked, own)) in (1..).zip(turns(messages)) {
        all.extend(own.iter().cloned());
        let list = json(&all).replace('\'', "''");
        dated.push_str(&format!("- cost: 0.0\n  duration_ms: 1\n  input: {asked}\n  messages: '{list}'\n  model: m\n  result: ''\n  tokens: 1\n  tools_called: []\n"));
        keyed.push_str(&format!("- input: {asked}\n  model: m\n  duration_ms: 1\n  tokens: 1\n  cost: 0.0\n  tools_called: []\n  result: ''\n  turn: {n}\n"));
        let own: String = own.iter().map(in_yaml).collect();
        lists.push_str(&format!("  {n}:\n{own}"));
    }
    let lines: Vec<_> = messages.iter().map(|message| format!("    {message}")).collect();
    let run = format!("model: \"m\"\ncwd: \"/w\"\nmessages: |\n  [\n{}\n  ]\n", lines.join(",\n"));
    [dated, format!("{keyed}system_prompt: ''\nmessages:\n{lists}"), run]
}

/// What ConnectOnion's loader reads.
fn loaded(loader: &Path, dir: &Dir, out: &[u8]) -> Value {
    let file = dir.write("f.yaml", out);
    let asked = Command::new("python3").arg(loader).arg(file).output().expect("Python runs");
    let mut said: Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    assert_eq!(said["ok"], true, "{said}: {}", String::from_utf8_lossy(out));
    said["messages"].take()
}

/// Whether a session stays as it is, and nothing in it is left that would be refused.
fn is_resumable(done: &Done) -> bool {
    !done.report.changed && !done.findings.counts.contains_key(&Code::CallsLeft)
}

#[test]
fn a_models_interface_takes_what_is_resumable() {
    let (dir, loader) = (Dir::in_memory(), loader());
    for (what, before, after, gone) in conversations() {
        for (n, file) in (1..).zip(files(&before)) {
            let what = format!("f.yaml {n}, {what}");
            let plain =
                repaired(&FORMAT, file.as_bytes(), &RepairOptions::default()).expect("a session");
            assert!(!plain.report.changed, "{what}");
            let done = holds(&FORMAT, file.as_bytes(), &resumable(), &what).expect("a session");
            let out = String::from_utf8_lossy(&done.out);
            let again = repaired(&FORMAT, &done.out, &resumable()).expect("a session");
            assert!(is_resumable(&again), "{what}: {:?}\n{out}", again.findings.counts);
            assert_eq!(done.report.changed, before != after, "{what}");
            let put = after.len() + gone > before.len();
            assert_eq!(out.contains("CY0831"), put, "{what}\n{out}");
            if n > 1 && before != after {
                assert_eq!(set_aside(&done.aside).len(), gone, "{what}");
                let counts = (done.report.messages_before, done.report.messages);
                assert_eq!(counts, (before.len() as u64, after.len() as u64), "{what}");
            }
            if let Some(loader) = &loader {
                assert_eq!(loaded(loader, &dir, &done.out), json!(after), "{what}\n{out}");
            }
        }
    }
}

#[test]
fn conversations_of_any_shape_are_repaired_at_once() {
    drawn(500);
}

#[test]
#[ignore = "a minute: 5,000 conversations"]
fn conversations_in_full() {
    drawn(5000);
}

/// Repairs so many conversations.
fn drawn(conversations: usize) {
    let mut random = Random(5);
    let message = |random: &mut Random| match random.below(8) {
        0 => user("On."),
        1 => answer("Yes."),
        2 => answer(""),
        3 | 4 => calls(&["a", "b"][..=random.below(2)]),
        _ => result(["a", "b", "x"][random.below(3)], "1"),
    };
    for n in 0..conversations {
        let mut said = vec![user("Go.")];
        said.extend((0..1 + random.below(7)).map(|_| message(&mut random)));
        for (kind, file) in (1..).zip(files(&said)) {
            let what = format!("f.yaml {kind}, conversation {n}");
            let done = holds(&FORMAT, file.as_bytes(), &resumable(), &what).expect("a session");
            let again = repaired(&FORMAT, &done.out, &resumable()).expect("a session");
            let out = String::from_utf8_lossy(&done.out);
            assert!(is_resumable(&again), "{what}: {:?}\n{out}", again.findings.counts);
        }
    }
}

#[test]
fn a_torn_file_is_repaired_and_resumable_at_once() {
    for (what, before, ..) in conversations() {
        for (n, file) in (1..).zip(files(&before)) {
            for end in (0..file.len()).step_by(7) {
                let what = format!("f.yaml {n}, {what}, cut at {end}");
                let torn = &file.as_bytes()[..end];
                let Some(done) = holds(&FORMAT, torn, &resumable(), &what) else { continue };
                let again = repaired(&FORMAT, &done.out, &resumable()).expect("a session");
                let out = String::from_utf8_lossy(&done.out);
                assert!(is_resumable(&again), "{what}: {:?}\n{out}", again.findings.counts);
            }
        }
    }
}

#[test]
fn a_file_with_bad_bytes_is_resumable_at_once() {
    for (what, before, ..) in conversations() {
        for (n, file) in (1..).zip(files(&before)) {
            for place in (0..file.len()).step_by(11) {
                let what = format!("f.yaml {n}, {what}, a bad byte at {place}");
                let mut bad = file.clone().into_bytes();
                bad[place] = 0xff;
                holds(&FORMAT, &bad, &resumable(), &what);
            }
        }
    }
}

#[test]
fn what_is_laid_out_in_another_way_is_reported() {
    let call = r#"{role: assistant, tool_calls: [{id: c1, type: function, function: {name: ls, arguments: '{}'}}]}"#;
    let turn = "- input: hi\n  model: m\n  duration_ms: 1\n  result: 'yes'\n  tools_called: []\n";
    let file = format!(
        "name: a\ncreated: ''\nupdated: ''\nturns:\n{turn}messages: {{1: [{{role: user, content: hi}}, {call}]}}\n"
    );
    let done = repaired(&FORMAT, file.as_bytes(), &resumable()).expect("a session");
    assert!(!done.report.changed && done.out == file.as_bytes());
    assert_eq!(done.findings.counts[&Code::CallsLeft], 1);
}

#[test]
fn notes_of_two_repairs_are_together() {
    let [dated, keyed, run] = files(&[user("Go."), calls(&["a"]), user("On."), calls(&["b"])]);
    for (n, file) in (1..).zip([dated, keyed, run]) {
        let once = repaired(&FORMAT, file.as_bytes(), &resumable()).expect("a session");
        let out = String::from_utf8(once.out).expect("UTF-8");
        // A lost line, of a result or of the last turn's question.
        let lost = if n == 2 { "    tool_call_id: \"b\"\n" } else { OUTCOME_UNKNOWN };
        let place = out.rfind(lost).unwrap_or(out.len() / 2);
        let start = out[..place].rfind('\n').unwrap_or(0);
        let end = place + out[place..].find('\n').unwrap_or(0);
        let torn = format!("{}{}", &out[..start], &out[end..]);
        let done = holds(&FORMAT, torn.as_bytes(), &resumable(), "f.yaml again");
        let out = String::from_utf8(done.expect("a session").out).expect("UTF-8");
        assert_eq!(out.matches("copyist:").count(), 1, "{n}: {out}");
        assert!(out.matches("the result of").count() > 1, "{n}: {out}");
    }
}
