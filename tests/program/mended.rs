//! Faults that users repaired by hand in sessions of Claude Code: each kind is refused, and
//! `repair --resumable` removes it.

use super::accepted::{refused, repaired, transcript, valid};
use crate::common::{Dir, corpus};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// A session with these answers to the first question, and a second question.
fn answered(answers: &[Value]) -> String {
    let mut messages = vec![("user", json!("Which twill?"))];
    messages.extend(answers.iter().map(|answer| ("assistant", answer.clone())));
    messages.extend([("user", json!("Good.")), ("assistant", text("Woven."))]);
    transcript(&messages)
}

#[test]
fn images_are_whole_or_a_text() {
    let dir = Dir::new();
    let with = |data: &str| {
        let source = json!({"type": "base64", "media_type": "image/png", "data": data});
        transcript(&[
            ("user", json!([{"type": "image", "source": source}])),
            ("assistant", text("A twill.")),
            ("user", json!("Good.")),
        ])
    };
    let whole = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQAAAADsdIMmAAAAC0lEQVR42mNgQAUAABAAAaoZ+IIAAAAASUVORK5CYII=";
    dir.write("s.jsonl", with(whole).as_bytes());
    valid(&dir, "s.jsonl");
    let changed = whole.replace("mNgQAUA", "mNgQAUB");
    for (data, why) in [
        (whole.get(..40).expect("ASCII"), "cut off or damaged"),
        (changed.as_str(), "cut off or damaged"),
        ("/var/folders/loom.png", "not base64"),
        ("", "empty"),
    ] {
        dir.write("s.jsonl", with(data).as_bytes());
        refused(&dir, "s.jsonl", 1, why);
        let mended = repaired(&dir, "s.jsonl", "CY0876");
        assert!(mended.contains("[An image stood here"), "{mended}");
    }
}

#[test]
fn calls_of_the_providers_tools_are_in_one_answer_with_their_results() {
    let dir = Dir::new();
    let call = json!({"type": "server_tool_use", "id": "srv1", "name": "advisor", "input": {}});
    let result = json!({"type": "advisor_tool_result", "tool_use_id": "srv1",
        "content": {"type": "advisor_result", "text": "Three up, one down."}});
    let pair = answered(&[json!([call, result, {"type": "text", "text": "So."}])]);
    dir.write("s.jsonl", pair.as_bytes());
    valid(&dir, "s.jsonl");
    dir.write("s.jsonl", answered(&[json!([result, {"type": "text", "text": "So."}])]).as_bytes());
    refused(&dir, "s.jsonl", 2, "no call in its answer");
    let mended = repaired(&dir, "s.jsonl", "CY0889");
    assert!(mended.contains("[A tool answered here: Three up, one down.]"), "{mended}");
    dir.write("s.jsonl", answered(&[json!([call])]).as_bytes());
    refused(&dir, "s.jsonl", 2, "no result in its answer");
    repaired(&dir, "s.jsonl", "CY0889");
    let split = transcript(&[
        ("user", json!("Which twill?")),
        ("assistant", json!([call])),
        ("user", json!("By the way, in teal.")),
        ("assistant", json!([result, {"type": "text", "text": "So."}])),
        ("user", json!("Good.")),
    ]);
    dir.write("s.jsonl", split.as_bytes());
    refused(&dir, "s.jsonl", 2, "no result in its answer");
    let mended = repaired(&dir, "s.jsonl", "CY0889");
    assert!(mended.contains("in teal") && mended.contains("Three up"), "{mended}");
}

#[test]
fn a_late_result_of_a_parallel_call_moves_to_its_call() {
    let dir = Dir::new();
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Agent", "input": {}}]);
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": id}]);
    let all = transcript(&[
        ("user", json!("Two looms.")),
        ("assistant", call("t1")),
        ("assistant", call("t2")),
        ("user", result("t1")),
        ("user", json!("Are you there?")),
        ("user", result("t2")),
        ("assistant", text("Both.")),
        ("user", json!("Thanks.")),
    ]);
    // The parallel calls are of one answer, and each result is the child of its call.
    let uuid = |n: usize| format!("7f0000{n:02}-0000-4000-8000-000000000001");
    let parents = [None, Some(0), Some(1), Some(1), Some(3), Some(2), Some(4), Some(6)];
    let linked: String = all
        .lines()
        .zip(parents)
        .map(|(line, parent)| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            line["parentUuid"] = parent.map_or(Value::Null, |parent| json!(uuid(parent)));
            if line["message"]["id"] == "msg_2" {
                line["message"]["id"] = json!("msg_1");
            }
            format!("{line}\n")
        })
        .collect();
    dir.write("s.jsonl", linked.as_bytes());
    let mended = repaired(&dir, "s.jsonl", "CY0890");
    assert!(!mended.contains("not known"), "{mended}");
    assert_eq!(mended.lines().count(), 8, "{mended}");
}

#[test]
fn a_request_that_is_too_large_is_reported_with_its_size() {
    let dir = Dir::new();
    let text = "twill ".repeat(300_000);
    let many: Vec<_> = (0..20).map(|_| ("user", json!(text))).collect();
    dir.write("s.jsonl", transcript(&many).as_bytes());
    let (code, told) = dir.exit(&["validate", "s.jsonl"]);
    assert!(code == 1 && told.contains("the session has 34 MB"), "{told}");
}

/// Fixes of valid sessions: those that only releases before the newest one need, and what the agent
/// itself completes or leaves out before it sends.
const OLDER: &[(&str, &[&str])] = &[
    (
        "claude-code",
        &["CY0823", "CY0831", "CY0832", "CY0857", "CY0871", "CY0872", "CY0873", "CY0887", "CY0890"],
    ),
    ("codex", &["CY0831", "CY0832"]),
    // pi adds results, and leaves out empty answers and halves of characters.
    ("pi", &["CY0831", "CY0833", "CY0834"]),
    // Only some of the providers refuse an empty answer.
    ("connectonion", &["CY0833"]),
    // The conversation goes on from Claude Code's own transcript.
    ("agent-orchestrator", &["CY0831"]),
    // Codelia leaves out calls without results.
    ("codelia", &["CY0831"]),
];

/// Files of the corpora that are valid although `--resumable` changes something, and why. What is
/// sent is what the real programs sent when the list was made.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "edge/damage/empty-text",
        "CY0833",
        "2.1.332 sends `No response requested.` in place of the empty answer; 2.0.53 sends the empty text, which the interface refuses",
    ),
    (
        "1-duplicate-uuid/03c",
        "CY0808",
        "2.1.332 and 2.1.81 send all 8 messages; 2.0.53 goes by the copy's parent in a circle and sends nothing",
    ),
    (
        "5-call-ids-used-again/07a",
        "CY0884",
        "`validate` warns (CY0419) and names `--resumable`; 2.1.332 leaves the second call out, and the interface accepts the rest",
    ),
    (
        "codex/edge/p_dangling_mid",
        "CY0888",
        "Codex itself adds the missing result (CY0831); a line that repair adds takes the next number, and those behind it the ones after it",
    ),
    (
        "060-agent-orchestrator-claude-code-2.1.332/appended-1",
        "CY0832",
        "the lines of one turn, whose first result has its call in another file: 2.1.332 sends a text in its place, 2.0.53 the result, which the interface refuses",
    ),
];

#[test]
fn what_repair_would_mend_is_not_valid() {
    let dir = Dir::new();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut files = Vec::new();
    for folder in OLDER.iter().map(|(agent, _)| *agent).chain(["roundtrip"]) {
        let found = walkdir::WalkDir::new(data.join(folder)).into_iter().filter_map(Result::ok);
        files.extend(found.map(walkdir::DirEntry::into_path).filter(|path| {
            let passes =
                ["source", "edited", "back"].iter().any(|it| path.iter().any(|dir| dir == *it));
            let ending = path.extension().unwrap_or_default();
            !passes && ["jsonl", "yaml"].iter().any(|it| ending == *it)
        }));
    }
    assert!(files.len() > 100, "{files:?}");
    if let Some(corpus) = corpus("what_repair_would_mend_is_not_valid") {
        for set in ["claude-code/edge", "codex/edge", "field3", "field4", "continued"] {
            files.extend(crate::common::files(&corpus.join(set)).into_iter().filter(|path| {
                let is_small = path.metadata().is_ok_and(|data| data.len() < 100_000);
                is_small && path.extension().is_some_and(|ending| ending == "jsonl")
            }));
        }
    }
    let all = |flags: &[&str], paths: &[String]| {
        let paths = paths.iter().map(String::as_str);
        let args: Vec<&str> = flags.iter().copied().chain(paths).collect();
        dir.said(&args).1
    };
    let paths: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let told = all(&["validate", "-v"], &paths);
    let agent_of = |path: &String| {
        let agents = OLDER.iter().map(|(agent, _)| *agent);
        agents.into_iter().find(|agent| told.contains(&format!("{path}: valid {agent}@")))
    };
    let valid: Vec<(String, &str)> =
        paths.iter().filter_map(|path| Some((path.clone(), agent_of(path)?))).collect();
    for (agent, known) in OLDER {
        let of_agent = valid.iter().filter(|(_, other)| other == agent);
        let of_agent: Vec<String> = of_agent.map(|(path, _)| path.clone()).collect();
        assert!(!of_agent.is_empty(), "{agent}: {told}");
        let told = all(&["repair", "--resumable", "-n"], &of_agent);
        let is_known = |line: &str, code: &str| {
            let is_one =
                |(path, kind, _): &(&str, &str, &str)| line.contains(path) && *kind == code;
            known.contains(&code) || KNOWN.iter().any(is_one)
        };
        let left: Vec<_> = told
            .lines()
            .filter(|line| {
                let found = ["warning[", "error["].iter().find_map(|kind| line.split_once(kind));
                let code = found.and_then(|(_, rest)| rest.get(..6)).unwrap_or_default();
                code.starts_with("CY08") && !is_known(line, code)
            })
            .collect();
        assert!(left.is_empty(), "{agent}, {left:?}: {told}");
    }
}
