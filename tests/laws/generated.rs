//! Sessions that nobody had: hostile strings, deep trees, several roots, calls without results,
//! empty answers, images, answers that were broken off. There and back they are the same.

use super::pairs::{said, targets};
use crate::common::{converted, options, recognise};
use copyist::diagnostic::Code;
use copyist::format::OnError;
use copyist::ids::Choice;
use proptest::prelude::*;
use serde_json::{Value, json};

/// One entry: what it is, what it says, and how far back its parent stands.
#[derive(Clone, Debug)]
struct Entry {
    kind: u8,
    text: String,
    back: usize,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z ]{0,80}",
        Just("- a: b\n  # no comment\n\n\t\u{2028}".to_owned()),
        Just("{\"^\":0}".to_owned()),
    ]
}

fn entries(kinds: u8) -> impl Strategy<Value = Vec<Entry>> {
    // Mostly the entry before, seldom another one or none.
    let back = prop_oneof![8 => Just(1usize), 1 => 2usize..5, 1 => Just(usize::MAX)];
    let entry = (0..kinds, text(), back).prop_map(|(kind, text, back)| Entry { kind, text, back });
    proptest::collection::vec(entry, 0..12)
}

fn assistant(content: Value, stop: &str) -> Value {
    json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3}},
        "stopReason": stop, "timestamp": 1_767_428_460_000_u64})
}

fn member(entry: &Entry, n: usize) -> (&'static str, Value) {
    let text = &entry.text;
    let block = json!({"type": "text", "text": text});
    let call = json!({"type": "toolCall", "id": format!("call_{n}"), "name": "bash",
        "arguments": {"command": text}});
    let result = |id: usize| {
        json!({"role": "toolResult", "toolCallId": format!("call_{id}"), "toolName": "bash",
            "content": [block.clone()], "isError": false, "timestamp": 1_767_428_460_000_u64})
    };
    let image = json!({"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==", "mimeType": "image/png"});
    let user = |content: Value| json!({"role": "user", "content": content, "timestamp": 1_767_428_460_000_u64});
    match entry.kind {
        0 | 1 => ("message", user(json!(text))),
        2 => ("message", user(json!([block, image]))),
        3 | 4 => ("message", assistant(json!([block]), "stop")),
        5 => ("message", assistant(json!([block, call]), "toolUse")),
        6 => ("message", result(n.saturating_sub(1))),
        7 => ("message", assistant(json!([]), "stop")),
        8 => ("message", assistant(json!([block]), "aborted")),
        9 => (
            "message",
            assistant(
                json!([{"type": "thinking", "thinking": text,
            "thinkingSignature": "s"}, block]),
                "stop",
            ),
        ),
        10 => ("custom", json!(text)),
        _ => ("label", json!(text)),
    }
}

fn session(entries: &[Entry]) -> Vec<u8> {
    let header = json!({"type": "session", "version": 3, "id": "generated-1",
        "timestamp": "2026-01-03T08:20:55.301Z", "cwd": "/w"});
    let mut lines = vec![header.to_string()];
    // What ConnectOnion's readers take for a turn without its question begins with an answer.
    let first = Entry { kind: 0, text: "first".to_owned(), back: 1 };
    for (n, entry) in std::iter::once(&first).chain(entries).enumerate() {
        // Only questions begin a tree.
        let root = n == 0 || (entry.back == usize::MAX && entry.kind < 3);
        let parent = (!root).then(|| n - entry.back.min(n)).map(|parent| format!("{parent:08x}"));
        let (kind, value) = member(entry, n);
        let mut line = json!({"type": kind, "id": format!("{n:08x}"), "parentId": parent,
            "timestamp": "2026-01-03T08:21:00.000Z"});
        match kind {
            "custom" => {
                line["customType"] = json!("t");
                line["data"] = value;
            }
            "label" => {
                line["targetId"] = json!("00000000");
                line["label"] = value;
            }
            _ => line["message"] = value,
        }
        lines.push(line.to_string());
    }
    (lines.join("\n") + "\n").into_bytes()
}

/// Whether two entries follow one call, or one entry below a call behind which nothing is said.
/// Claude Code sends all results of a call, and all calls behind it, whichever branch they are on:
/// its transcripts have no place for such a branch.
fn branches_at_a_call(entries: &[Entry], call: u8) -> bool {
    let parents: Vec<usize> = (1..).zip(entries).map(|(n, entry)| n - entry.back.min(n)).collect();
    let branches = |of: usize| parents.iter().filter(|parent| **parent == of).count() > 1;
    let is_below_a_call = |mut at: usize| {
        while at > 0 {
            let entry = &entries[at - 1];
            if entry.kind == call {
                return true;
            }
            if entry.kind < 4 && !entry.text.is_empty() {
                return false;
            }
            at = parents[at - 1];
        }
        false
    };
    (0..=entries.len()).any(|at| branches(at) && is_below_a_call(at))
}

/// Whether a result comes behind anything but its call or another result. OpenCode and Gemini CLI
/// have a result in its call, and no place for such a one, so that the answers before it and behind
/// it meet there. In Gemini CLI, results of calls that follow each other have their order, too.
fn is_apart(to: &str, entries: &[Entry], [call, result]: [u8; 2]) -> bool {
    let late = |(n, entry): (usize, &Entry)| {
        let parent = (n - entry.back.min(n)).checked_sub(1);
        let before = parent.and_then(|parent| entries.get(parent)).map(|before| before.kind);
        let own = before == Some(call) && entry.back == 1;
        entry.kind == result && !own && before != Some(result)
    };
    let in_one = |pair: &[Entry]| pair.iter().all(|entry| entry.kind == call);
    let is_gemini = to.starts_with("gemini-cli@");
    (is_gemini && entries.windows(2).any(in_one))
        || ((is_gemini || to == "opencode") && (1..).zip(entries).any(late))
}

/// Whether a prompt is one that Gemini CLI takes for a command, and does not send again.
fn is_unsent(to: &str, entries: &[Entry]) -> bool {
    let is_command = |entry: &Entry| {
        let text = entry.text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        text.is_empty() || text.starts_with(['/', '?'])
    };
    to.starts_with("gemini-cli@") && entries.iter().any(is_command)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn generated_sessions_come_back_from_every_format(entries in entries(12)) {
        prop_assume!(!branches_at_a_call(&entries, 5));
        let source = session(&entries);
        let keep = options(OnError::Keep, Choice::Derived);
        let (pi, _) = recognise(&source).expect("a session of pi's");
        for to in targets().iter().filter(|to| *to != "pi@3") {
            let target = converted(&source, pi, 3, to, &keep).0.expect("converted");
            let Some((format, version)) = recognise(&target) else { continue };
            let (back, found) = converted(&target, format, version, "pi@3", &keep);
            let back = String::from_utf8(back.expect("converted back")).expect("UTF-8");
            let lines = String::from_utf8(source.clone()).expect("UTF-8");
            prop_assert_eq!(back, lines, "{} {:?}", to, found.counts);
            if !is_apart(to, &entries, [5, 6]) && !is_unsent(to, &entries) {
                prop_assert_eq!(said(&source), said(&target), "{}", to);
            }
        }
    }
}

/// A record of a stream that an importer wrote, which comes from no format.
fn imported(entry: &Entry, n: usize) -> Value {
    let text = &entry.text;
    let blocks = json!([{"type": "text", "text": text}]);
    let said = |role: &str| json!({"kind": "message", "role": role, "content": blocks});
    let with = |mut record: Value, name: &str, value: Value| {
        record[name] = value;
        record
    };
    let before = |back: usize| format!("{:08x}", n.saturating_sub(back));
    match entry.kind {
        0 | 1 => said("user"),
        2 | 3 => said("assistant"),
        4 => with(said("user"), "excluded", json!(true)),
        5 => with(said("assistant"), "parent_call", json!("call_1")),
        6 => with(said("assistant"), "stop_reason", json!("aborted")),
        7 => json!({"kind": "compaction", "summary": text, "first_kept": before(2)}),
        8 => json!({"kind": "compaction", "summary": text, "kept": [before(1), before(3)]}),
        9 => json!({"kind": "branch_summary", "from": before(1), "summary": text}),
        10 => json!({"kind": "context_edit", "target": before(1),
            "replacement": {"content": [{"type": "text", "text": text}]}}),
        11 => json!({"kind": "context_edit", "target": before(2), "replacement": null}),
        12 => json!({"kind": "message", "role": "bash", "bash": {"command": text, "output": text,
            "exit_code": 0, "cancelled": false, "truncated": false}}),
        13 => json!({"kind": "message", "role": "assistant", "content": [{"type": "tool_call",
            "id": format!("call_{n}"), "name": "w", "arguments": {"text": text}}]}),
        _ => json!({"kind": "message", "role": "tool", "content": [{"type": "tool_result",
            "call": format!("call_{}", n.saturating_sub(1)), "content": blocks}]}),
    }
}

fn stream(entries: &[Entry]) -> Vec<u8> {
    let mut lines =
        vec![json!({"kind": "session", "id": "generated-2", "created": "2026-01-03T08:20:55.301Z",
            "cwd": "/w"})];
    let first = Entry { kind: 0, text: "first".to_owned(), back: 1 };
    for (n, entry) in std::iter::once(&first).chain(entries).enumerate() {
        let parent = (n > 0).then(|| n - entry.back.min(n)).map(|parent| format!("{parent:08x}"));
        let mut line = imported(entry, n);
        line["id"] = json!(format!("{n:08x}"));
        line["parent"] = json!(parent);
        line["time"] = json!("2026-01-03T08:21:00.000Z");
        lines.push(line);
    }
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// The records of a stream, however their members are ordered.
fn records(stream: &[u8]) -> Vec<Value> {
    let lines = stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn generated_streams_of_no_format_come_back_from_every_one(entries in entries(15)) {
        prop_assume!(!branches_at_a_call(&entries, 13));
        let source = stream(&entries);
        let keep = options(OnError::Keep, Choice::Derived);
        let (canonical, _) = recognise(&source).expect("a stream");
        for to in &targets() {
            let (target, told) = converted(&source, canonical, 1, to, &keep);
            let target = target.expect("converted");
            let Some((format, version)) = recognise(&target) else {
                // A file of which nothing is left has no mark of its format.
                prop_assert_eq!(said(&source), Some(Vec::new()), "{}", to);
                continue;
            };
            if !is_apart(to, &entries, [13, 14]) && !is_unsent(to, &entries) {
                prop_assert_eq!(said(&source), said(&target), "{}", to);
            }
            prop_assert!(!told.counts.contains_key(&Code::Dropped), "{}", to);
            let (back, found) = converted(&target, format, version, "canonical", &keep);
            let back = back.expect("converted back");
            prop_assert_eq!(records(&back), records(&source), "{} {:?}", to, found.counts);
        }
    }
}
