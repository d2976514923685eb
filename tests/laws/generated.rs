//! Sessions that nobody had: hostile strings, deep trees, several roots, calls without results,
//! empty answers, images, answers that were broken off. There and back they are the same.

use super::pairs::{said, targets};
use crate::common::{converted, options, recognise};
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
        Just("x_copyist:\n- \"KLUv\"\n".to_owned()),
        Just("{\"^\":0}".to_owned()),
        Just("{\"type\":\"copyist\",\"residue\":[]}".to_owned()),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    // Mostly the entry before, seldom another one or none.
    let back = prop_oneof![8 => Just(1usize), 1 => 2usize..5, 1 => Just(usize::MAX)];
    let entry = (0u8..12, text(), back).prop_map(|(kind, text, back)| Entry { kind, text, back });
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
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn generated_sessions_come_back_from_every_format(entries in entries()) {
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
            prop_assert_eq!(said(&source), said(&target), "{}", to);
        }
    }
}
