//! Sessions that the real program of another format compacted and went on with, converted back: the
//! source keeps its messages.

use super::continued::{TIME, any_more, away, back, harbour, main_of, of_pi, resumed, whole, with};
use crate::common::{files_of, session, testdata};
use serde_json::{Value, json};

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
