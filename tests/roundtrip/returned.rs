//! Sessions that were edited in another format, and are converted back.

use crate::common::{self, Dir, files, own, read, testdata};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with a session of our own that went to another format, as the file `away`.
fn away(case: &str, name: &str, to: &str) -> Dir {
    let dir = Dir::new();
    dir.copy(case, name);
    let (code, said) = dir.exit(&["convert", "-t", to, "-o", "away", name]);
    assert_eq!(code, 0, "{said}");
    dir
}

/// Copies a file with its origin.
fn copied(from: &Path, to: &Path) {
    let origin = |path: &Path| PathBuf::from(format!("{}.origin", path.display()));
    fs::copy(from, to).expect("a file");
    fs::copy(origin(from), origin(to)).expect("its origin");
}

fn edit(dir: &Dir, old: &str, new: &str) {
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    assert!(text.contains(old), "{text}");
    fs::write(dir.path("away"), text.replace(old, new)).expect("a file");
}

fn append(dir: &Dir, lines: &str) {
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    fs::write(dir.path("away"), text + lines).expect("a file");
}

/// An entry of pi's tree, behind the last one that has an identifier.
fn entries(dir: &Dir, messages: &[&str]) -> String {
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let last = text.lines().rev().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["id"].as_str().map(str::to_owned)
    });
    let mut parent = last.expect("an entry");
    let mut out = String::new();
    for (n, message) in messages.iter().enumerate() {
        let id = format!("aa11bb2{n}");
        let time = format!("2027-03-01T00:00:0{n}.000Z");
        out += &format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"{time}","message":{message}}}"#
        );
        out.push('\n');
        parent = id;
    }
    out
}

const QUESTION: &str =
    r#"{"role":"user","content":[{"type":"text","text":"Any more?"}],"timestamp":1803859200000}"#;
const ANSWER: &str = r#"{"role":"assistant","content":[{"type":"text","text":"No more."}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1803859201000}"#;

#[test]
fn an_answer_that_only_a_turn_contains_is_edited_there() {
    for to in ["pi@3", "pi@1", "connectonion@1", "connectonion@3", "canonical"] {
        let dir = away("connectonion/v2/harbour", "in.yaml", to);
        edit(&dir, "Notice written.", "Notice sent.");
        let back = ["convert", "-t", "connectonion@2", "-o", "back.yaml", "away"];
        let (code, said) = dir.exit(&back);
        assert_eq!(code, 0, "{to}: {said}");
        let source = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
        let back = fs::read_to_string(dir.path("back.yaml")).expect("UTF-8");
        assert_eq!(back, source.replace("Notice written.", "Notice sent."), "{to}");
    }
}

#[test]
fn an_answer_of_a_summary_of_runs_is_edited_there() {
    for to in ["pi@3", "connectonion@1"] {
        let dir = away("connectonion/v3/lamps", "in.yaml", to);
        edit(&dir, "green one on the pier", "red one on the pier");
        let back = ["convert", "-t", "connectonion@3", "-o", "back.yaml", "away"];
        let (code, said) = dir.exit(&back);
        assert_eq!(code, 0, "{to}: {said}");
        let source = String::from_utf8(own("connectonion/v3/lamps")).expect("UTF-8");
        let back = fs::read_to_string(dir.path("back.yaml")).expect("UTF-8");
        assert!(source.contains("output: 'The green one on the pier") && !back.is_empty());
        assert_eq!(
            back,
            source.replacen("output: 'The green one on", "output: 'The red one on", 1),
            "{to}"
        );
    }
}

#[test]
fn a_turn_that_was_added_is_not_lost_in_codelia() {
    for case in ["codelia/v1/lamp", "codelia/v1/state", "codelia/v1/compacted", "codelia/v2/log"] {
        let dir = away(case, "in", "pi@3");
        let new = entries(&dir, &[QUESTION, ANSWER]);
        append(&dir, &new);
        let to = format!("codelia@{}", &case[9..10]);
        let (code, said) = dir.exit(&["convert", "-t", &to, "--out-dir", "back", "away"]);
        let kept = |text: &str| {
            files(&dir.path("back")).iter().any(|file| {
                let bytes = read(file);
                memchr::memmem::find(&bytes, text.as_bytes()).is_some()
            })
        };
        assert!(kept("Any more?") && kept("No more."), "{case}: {said}");
        assert_eq!(code, 0, "{case}: {said}");
        let back = dir.path("back").display().to_string();
        assert_eq!(dir.exit(&["validate", &back]).0, 0, "{case}");
        // A run is a file of its own, and stays as it is.
        if case == "codelia/v1/lamp" {
            let (source, runs) = (own(case), files(&dir.path("back")));
            assert!(runs.len() == 2 && runs.iter().any(|run| read(run) == source), "{runs:?}");
        }
    }
}

/// An agent that resumes a session without an answer adds one, and Codex an answer that it
/// compacts.
#[test]
fn an_answer_behind_the_end_of_a_run_is_in_a_run_of_codelia() {
    for case in ["codelia/v1/lamp", "codelia/v1/state", "codelia/v2/log"] {
        let dir = away(case, "in", "pi@3");
        let new = entries(&dir, &[ANSWER, QUESTION, &ANSWER.replace("No more.", "None.")]);
        append(&dir, &new);
        let to = format!("codelia@{}", &case[9..10]);
        let (code, said) = dir.exit(&["convert", "-t", &to, "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{case}: {said}");
        let all: Vec<u8> = files(&dir.path("back")).iter().flat_map(|file| read(file)).collect();
        for text in ["No more.", "Any more?", "None."] {
            assert!(memchr::memmem::find(&all, text.as_bytes()).is_some(), "{case}: {text}");
        }
        let back = dir.path("back").display().to_string();
        assert_eq!(dir.exit(&["validate", &back]).0, 0, "{case}");
    }
}

#[test]
fn a_deleted_message_takes_no_others_along() {
    let dir = away("codelia/v1/state", "in", "canonical");
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let place = text.lines().position(|line| line.contains("\"assistant\"")).expect("an answer");
    let lines: Vec<_> = text.lines().enumerate().filter(|(n, _)| *n != place).collect();
    let lines: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    fs::write(dir.path("away"), lines).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "-o", "back", "away"]);
    let messages = fs::read(dir.path("back")).ok().map(|back| {
        let back: serde_json::Value = serde_json::from_slice(&back).expect("JSON");
        back["messages"].as_array().expect("a list").len()
    });
    let before: serde_json::Value = serde_json::from_slice(&own("codelia/v1/state")).expect("JSON");
    let before = before["messages"].as_array().expect("a list").len();
    assert_eq!((code, messages), (0, Some(before - 1)), "{said}");
}

#[test]
fn what_is_new_is_what_pi_looks_for() {
    let dir = Dir::new();
    dir.copy("pi/v3/spellings", "in.jsonl");
    let there = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "there", "in.jsonl"];
    let (code, said) = dir.exit(&there);
    assert_eq!(code, 0, "{said}");
    let log = fs::read_to_string(dir.path("there/in.jsonl")).expect("UTF-8");
    let new = r#"{"type": "user_message", "content": "List them.", "timestamp": "2027-03-01T00:00:00Z"}
{"content": [{"text": "I look."}], "model": "claude-opus-4-5", "parent_tool_use_id": null}
{"content": [{"id": "toolu_9", "name": "Bash", "input": {"command": "ls"}}], "model": "claude-opus-4-5", "parent_tool_use_id": null}
{"content": [{"tool_use_id": "toolu_9", "content": "a b", "is_error": false}], "parent_tool_use_id": null}
{"type": "rate_limit_event", "info": {"x": 1}}
"#;
    fs::write(dir.path("there/in.jsonl"), log + new).expect("a file");
    let back = ["convert", "-t", "pi@3", "-o", "back.jsonl", "--whole", "there/in.jsonl"];
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("note[CY0625]: message").count(), 4, "{said}");
    assert!(said.contains("left out: 1 other line"), "{said}");
    let (code, said) = dir.exit(&["validate", "back.jsonl"]);
    assert_eq!(code, i32::from(said.contains("warning[CY0416]")), "{said}");
    assert!(!said.contains("error["), "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    let last: serde_json::Value =
        serde_json::from_str(back.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["message"]["toolName"], "Bash", "{last}");
    assert_eq!(last["message"]["content"][0]["text"], "a b", "{last}");
}

#[test]
fn a_file_without_its_last_line_ending_comes_back_without_it() {
    for path in files(&testdata().join("connectonion")) {
        let inside = path.parent().is_some_and(|folder| folder.ends_with("in"));
        if !inside || path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let source = read(&path);
        let source = source.trim_ascii_end();
        let dir = Dir::new();
        dir.write("in.yaml", source);
        let format = dir.said(&["detect", "in.yaml"]).1;
        for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
            let own = ["connectonion@1", "connectonion@2", "connectonion@3"];
            let own = own.into_iter().find(|own| format.contains(own)).expect("a version");
            let there = ["convert", "--force", "-t", to, "-o", "away.yaml", "in.yaml"];
            let back = ["convert", "--force", "-t", own, "-o", "back.yaml", "away.yaml"];
            for step in [there, back] {
                let (code, said) = dir.exit(&step);
                assert_eq!(code, 0, "{} to {to}: {said}", path.display());
            }
            let back = read(&dir.path("back.yaml"));
            assert!(back == source, "{} to {to}", path.display());
        }
    }
}

#[test]
fn a_session_that_was_migrated_in_the_target_is_restored_as_it_was() {
    let cases = [
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
        ("connectonion/v2/harbour", "connectonion@2"),
        ("connectonion/v1/quay", "connectonion@1"),
        ("connectonion/v3/tides", "connectonion@3"),
        ("codelia/v1/compacted", "codelia@1"),
    ];
    for (case, home) in cases {
        let dir = away(case, "in", "pi@1");
        for step in [
            ["migrate", "--to", "pi@3", "-o", "new.jsonl", "away"],
            ["convert", "-t", home, "--out-dir", "back", "new.jsonl"],
        ] {
            let (code, said) = dir.exit(&step);
            assert_eq!(code, 0, "{case}: {said}");
        }
        let source = own(case);
        assert!(files(&dir.path("back")).iter().any(|file| read(file) == source), "{case}");
    }
}

/// A file there and back, and what was said on the way there.
fn there_and_back(name: &str, source: &str, home: &str, to: &str) -> (String, String) {
    let dir = Dir::new();
    dir.write(name, source.as_bytes());
    let (code, told) = dir.exit(&["convert", "-t", to, "--out-dir", "away", name]);
    assert_eq!(code, 0, "{told}");
    let (code, back) = dir.exit(&["convert", "-t", home, "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{to}: {back}");
    let back = files(&dir.path("back"));
    (String::from_utf8(read(&back[0])).expect("UTF-8"), told)
}

#[test]
fn a_state_on_several_lines_is_restored_on_them() {
    let state: serde_json::Value = serde_json::from_slice(&own("codelia/v1/state")).expect("JSON");
    let state = serde_json::to_string_pretty(&state).expect("JSON") + "\n";
    let (back, told) = there_and_back("s.json", &state, "codelia@1", "codelia@2");
    assert!(back == state && !told.contains("warning"), "{told}");
    let (back, told) = there_and_back("s.json", &state, "codelia@1", "pi@3");
    assert!(back == state && !told.contains("warning"), "{told}");
}

#[test]
fn a_message_with_less_indentation_has_it_in_the_source_too() {
    let run = r#"agent: "a"
cwd: "/w"
timestamp: "2026-11-21 20:13:46"
messages: |
  [
    {"role": "user", "content": "one"},
   {"role": "assistant", "content": "two"},
      {"role": "user", "content": "three"}
  ]
"#;
    for to in ["canonical", "pi@3", "connectonion@2", "agent-orchestrator@1", "codelia@2"] {
        assert_eq!(there_and_back("run_1.yaml", run, "connectonion@3", to).0, run, "{to}");
    }
}

const TALK: &str = "name: oo
expected: 42
created: '2026-11-21 20:19:37'
created: again
updated: '2026-11-21 20:19:37'
turns:
- input: q1
  result: r1
  turn: 1
  timestamp: '2026-11-21 20:19:37'
- input: q2
  result: r2
  turn: 2
  timestamp: '2026-11-21 20:19:38'
- input: q3
  result: r3
  turn: 3
  timestamp: '2026-11-21 20:19:39'
x_new: 1
system_prompt: sp
messages:
  2:
  - role: user
    content: q2
  - role: assistant
    content: r2
  '1':
  - role: user
    content: q1
  - role: assistant
    content: r1
  3: null
";

#[test]
fn members_and_keys_stay_where_they_stood() {
    for to in ["canonical", "pi@3", "pi@1", "connectonion@1", "connectonion@3", "codelia@2"] {
        assert_eq!(there_and_back("s.yaml", TALK, "connectonion@2", to).0, TALK, "{to}");
    }
}

#[test]
fn a_pair_with_an_empty_log_is_of_the_version_that_it_was_written_in() {
    let metadata = r#"{
  "session_name": "empty",
  "agent": null,
  "project_dir": "/tmp",
  "agents_dir": "/tmp/.agent-orchestrator/agents",
  "created_at": "2025-11-12T15:54:52.399854Z",
  "last_resumed_at": "2025-11-12T15:54:52.399854Z",
  "schema_version": "1.0",
  "session_id": "c68eb198-b150-4ecd-a249-501f82bb1649"
}
"#;
    let dir = Dir::new();
    dir.write("empty.jsonl", b"");
    dir.write("empty.meta.json", metadata.as_bytes());
    for (to, out, from) in
        [("agent-orchestrator@1", "away", "empty.jsonl"), ("agent-orchestrator@2", "back", "away")]
    {
        let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", out, from]);
        assert_eq!(code, 0, "{said}");
    }
    assert!(dir.said(&["detect", "away"]).1.contains("agent-orchestrator@1"));
    assert_eq!(fs::read_to_string(dir.path("back/empty.meta.json")).expect("UTF-8"), metadata);
}

#[test]
fn a_pair_of_the_shell_scripts_that_holds_only_an_error_comes_home_from_the_newer_version() {
    let metadata = br#"{
  "session_name": "failed",
  "agent": null,
  "project_dir": "/tmp",
  "agents_dir": "/tmp/.agent-orchestrator/agents",
  "created_at": "2025-11-12T15:54:52Z",
  "last_resumed_at": "2025-11-12T15:54:52Z",
  "schema_version": "1.0"
}
"#;
    let log = b"Error: stream-json requires --verbose\n";
    let dir = Dir::new();
    dir.write("failed.jsonl", log);
    dir.write("failed.meta.json", metadata);
    for (to, out, from) in
        [("agent-orchestrator@2", "away", "failed.jsonl"), ("agent-orchestrator@1", "back", "away")]
    {
        let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", out, from]);
        assert_eq!(code, 0, "{said}");
    }
    assert!(dir.said(&["detect", "away"]).1.contains("agent-orchestrator@2"));
    assert_eq!(read(&dir.path("back/failed.meta.json")), metadata);
    assert_eq!(read(&dir.path("back/failed.jsonl")), log);
}

#[test]
fn a_session_that_its_own_software_fails_on_is_restored() {
    let lines = [
        r#"{"type":"session","id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"q","timestamp":1}}"#,
        r#"{"type":"message","timestamp":"2026-01-01T00:00:03.000Z"}"#,
    ];
    for to in ["connectonion@2", "connectonion@3", "agent-orchestrator@2", "codelia"] {
        let dir = Dir::new();
        fs::write(dir.path("in.jsonl"), lines.join("\n") + "\n").expect("a file");
        let away = ["convert", "--fail-on", "loss", "-t", to, "--out-dir", "away", "in.jsonl"];
        let (code, told) = dir.exit(&away);
        assert_eq!(code, 0, "{to}: {told}");
        let (code, told) = dir.exit(&["convert", "-t", "pi@1", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{to}: {told}");
        assert_eq!(read(&files(&dir.path("back"))[0]), read(&dir.path("in.jsonl")), "{to}");
    }
}

/// Every part of an answer refers to its place in a list; to go through the list for each would take
/// minutes here.
#[test]
fn an_answer_of_many_parts_comes_home_in_no_time() {
    let call =
        |n| format!(r#"{{"type":"toolCall","id":"c{n}","name":"ls","arguments":{{"n":{n}}}}}"#);
    let calls: Vec<String> = (0..20_000).map(call).collect();
    let answer = ANSWER.replace(r#"{"type":"text","text":"No more."}"#, &calls.join(","));
    let session = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        format!(r#"{{"type":"message","id":"aa11bb20","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{QUESTION}}}"#),
        format!(r#"{{"type":"message","id":"aa11bb21","parentId":"aa11bb20","timestamp":"2026-01-01T00:00:02.000Z","message":{answer}}}"#),
    ];
    let session = session.join("\n") + "\n";
    for to in ["connectonion@3", "codelia"] {
        let dir = Dir::new();
        fs::write(dir.path("in.jsonl"), &session).expect("a file");
        let (code, told) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "in.jsonl"]);
        assert_eq!(code, 0, "{told}");
        let (code, told) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{told}");
        let back: Vec<_> = files(&dir.path("back")).iter().map(|path| read(path)).collect();
        assert!(back == [session.as_bytes()], "{to}");
    }
}

#[test]
fn messages_that_occur_twice_without_times_are_no_block_written_twice() {
    let session = r#"{"kind":"session","source":"x","id":"s1","created":"2026-03-02T21:40:11Z"}"#;
    let mut stream = format!("{session}\n");
    let mut parent = String::from("null");
    for n in 0..6 {
        let (role, text) = if n % 2 == 0 { ("user", "Go on.") } else { ("assistant", "Yes.") };
        stream += &format!(
            "{{\"kind\":\"message\",\"id\":\"m{n}\",\"parent\":{parent},\"role\":\"{role}\",\"content\":\"{text}\"}}\n"
        );
        parent = format!("\"m{n}\"");
    }
    let dir = Dir::new();
    dir.write("s.jsonl", stream.as_bytes());
    assert_eq!(dir.exit(&["convert", "-t", "pi@1", "-o", "old.jsonl", "s.jsonl"]).0, 0);
    let (code, said) = dir.exit(&["repair", "-n", "old.jsonl"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn what_is_new_comes_behind_what_was_there() {
    let dir = away("pi/v1/feature-work", "in.jsonl", "connectonion@3");
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let (head, rest) = text.rsplit_once("\n  ]").expect("a list");
    let new = ",\n    {\"role\":\"user\",\"content\":\"Go on.\"},\n    {\"role\":\"assistant\",\"content\":\"Yes.\"}";
    fs::write(dir.path("away"), format!("{head}{}\n  ]{rest}", new.repeat(3))).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "pi@1", "-o", "back.jsonl", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    let times = back.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["timestamp"].as_str().expect("a time").to_owned()
    });
    let times: Vec<_> = times.collect();
    assert!(times.is_sorted(), "{times:?}");
    let (code, said) = dir.exit(&["repair", "-n", "back.jsonl"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_result_that_was_added_has_the_name_of_its_tool() {
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"call_9","name":"bash","arguments":{"command":"ls"}}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1803859201000}"#;
    let dir = Dir::new();
    dir.copy("pi/v3/spellings", "away");
    let new = entries(&dir, &[QUESTION, call]);
    append(&dir, &new);
    fs::rename(dir.path("away"), dir.path("in.jsonl")).expect("a file");
    let there = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "there", "in.jsonl"];
    assert_eq!(dir.exit(&there).0, 0);
    let log = fs::read_to_string(dir.path("there/in.jsonl")).expect("UTF-8");
    let result = r#"{"content": [{"tool_use_id": "call_9", "content": "a b", "is_error": false}], "parent_tool_use_id": null}"#;
    fs::write(dir.path("there/in.jsonl"), format!("{log}{result}\n")).expect("a file");
    let back = ["convert", "-t", "pi@3", "-o", "back.jsonl", "--whole", "there/in.jsonl"];
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    let last: serde_json::Value =
        serde_json::from_str(back.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["message"]["toolName"], "bash", "{last}");
}

#[test]
fn the_outcome_of_a_run_repeats_an_edited_answer() {
    let dir = Dir::new();
    for path in files(&testdata().join("agent-orchestrator/v2/orchard/in")) {
        dir.write(&format!("in/{}", common::name(&path)), &read(&path));
    }
    let there = ["convert", "-t", "pi@3", "--out-dir", "there", "in"];
    let back = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "back", "there"];
    assert_eq!(dir.exit(&there).0, 0);
    let path = &files(&dir.path("there"))[0];
    let text = fs::read_to_string(path).expect("UTF-8");
    fs::write(path, text.replace("No pears.", "Nine pears.")).expect("a file");
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    let source = fs::read_to_string(dir.path("in/orchard.jsonl")).expect("UTF-8");
    let back = fs::read_to_string(dir.path("back/orchard.jsonl")).expect("UTF-8");
    let found = source.matches("No pears.").count();
    assert!(found > 1, "the outcome repeats it");
    assert_eq!(back.matches("Nine pears.").count(), found, "{back}");
}

#[test]
fn a_command_whose_output_was_edited_is_one_at_home() {
    let dir = away("pi/v1/compacted", "in.jsonl", "connectonion@2");
    edit(&dir, "127.0.0.1 GET ", "127.0.0.1 PUT ");
    let (code, said) = dir.exit(&["convert", "-t", "pi@1", "-o", "back.jsonl", "away"]);
    assert_eq!(code, 0, "{said}");
    let source = String::from_utf8(own("pi/v1/compacted")).expect("UTF-8");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    // What the turn was edited to has no place in pi's files, and rides on in the last line.
    let plain = |line: &str| line.split(",\"copyist\":").next().unwrap_or_default().to_owned();
    let lines = source.lines().zip(back.lines());
    let differ: Vec<_> = lines.filter(|(a, b)| !a.starts_with(&plain(b))).collect();
    let [(was, is)] = differ.as_slice() else { panic!("{differ:#?}") };
    assert!(was.contains("bashExecution") && was.contains("127.0.0.1 GET "), "{was}");
    assert!(is.contains("bashExecution") && is.contains("127.0.0.1 PUT "), "{is}");
    assert_eq!(dir.exit(&["validate", "back.jsonl"]).0, 0);
}

#[test]
fn a_message_that_lost_a_part_keeps_the_others_as_pi_has_them() {
    let dir = away("pi/v1/feature-work", "in.jsonl", "connectonion@3");
    edit(&dir, "\"content\": \"I'll look at how formats are wired up.\", ", "");
    let (code, said) = dir.exit(&["convert", "-t", "pi@1", "-o", "back.jsonl", "away"]);
    assert_eq!(code, 0, "{said}");
    let source = String::from_utf8(own("pi/v1/feature-work")).expect("UTF-8");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    let differ: Vec<_> = source.lines().zip(back.lines()).filter(|(a, b)| a != b).collect();
    let [(_, is)] = differ.as_slice() else { panic!("{differ:#?}") };
    for kept in ["\"arguments\":{\"command\"", "anthropic-messages", "\"stopReason\":\"toolUse\""] {
        assert!(is.contains(kept), "{is}");
    }
    assert_eq!(dir.exit(&["validate", "back.jsonl"]).0, 0);
}

#[test]
fn what_the_source_has_no_place_for_is_reported_as_lost() {
    let dir = away("connectonion/v3/tides", "in.yaml", "pi@3");
    let thought =
        ANSWER.replace("[{", r#"[{"type":"thinking","thinking":"Hm.","thinkingSignature":"s"},{"#);
    let new = entries(&dir, &[QUESTION, &thought]);
    append(&dir, &new);
    let back = ["convert", "-t", "connectonion@3", "-o", "home.yaml", "away"];
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("cannot hold message.content.*.thinking"), "{said}");
    let dir = away("codelia/v1/seed", "in.jsonl", "connectonion@2");
    edit(&dir, "  cost: 0.0", "  cost: 3.0");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("codelia@1 cannot hold turn"), "{said}");
    assert_eq!(read(&files(&dir.path("back"))[0]), own("codelia/v1/seed"));
}

#[test]
fn a_new_question_in_the_target_is_a_turn_of_its_own_in_the_source() {
    for (case, home) in
        [("connectonion/v2/harbour", "connectonion@2"), ("connectonion/v2/seed", "connectonion@2")]
    {
        let dir = away(case, "in.yaml", "pi@3");
        let new = entries(&dir, &[QUESTION, ANSWER]);
        append(&dir, &new);
        let (code, said) = dir.exit(&["convert", "-t", home, "-o", "home.yaml", "away"]);
        assert_eq!(code, 0, "{case}: {said}");
        let home = fs::read_to_string(dir.path("home.yaml")).expect("UTF-8");
        let source = String::from_utf8(own(case)).expect("UTF-8");
        for line in source.lines().filter(|line| !line.starts_with("updated: ")) {
            assert!(home.contains(line), "{case}: {line}\n{home}");
        }
        assert!(home.contains("\nupdated: '2027-03-01 00:00:01'\n"), "{home}");
        assert!(home.contains("input: Any more?") && home.contains("result: No more."), "{home}");
        assert!(home.contains("content: Any more?\n"), "{home}");
        assert_eq!(dir.exit(&["validate", "home.yaml"]).0, 0);
        let again = ["convert", "-t", "pi@3", "-o", "again.jsonl", "home.yaml"];
        let (code, said) = dir.exit(&again);
        assert_eq!(code, 0, "{case}: {said}");
        let again = fs::read_to_string(dir.path("again.jsonl")).expect("UTF-8");
        assert!(again.contains("Any more?"), "{again}");
    }
}

/// A home of Codelia's with a run and its session's state, gone to pi.
fn codelia_home() -> Dir {
    let dir = Dir::new();
    let own = |case: &str| files(&testdata().join("codelia/v1").join(case).join("in")).remove(0);
    for (case, folder) in [("lamp", "sessions/2026/09/14"), ("state", "sessions/state")] {
        let folder = dir.path("home").join(folder);
        fs::create_dir_all(&folder).expect("a folder");
        let file = own(case);
        fs::copy(&file, folder.join(file.file_name().expect("a name"))).expect("a file");
    }
    dir
}

/// The only file below a folder whose text holds this.
fn holding(folder: &std::path::Path, text: &str) -> Vec<std::path::PathBuf> {
    let holds = |file: &std::path::PathBuf| String::from_utf8_lossy(&read(file)).contains(text);
    files(folder).into_iter().filter(holds).collect()
}

#[test]
fn a_new_question_in_the_target_is_a_run_of_its_own_in_codelia() {
    let dir = codelia_home();
    let mut home = "home".to_owned();
    for trip in ["first", "second"] {
        let abroad = format!("{trip}-abroad");
        let (code, said) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", &abroad, &home]);
        assert_eq!(code, 0, "{said}");
        let file = files(&dir.path(&abroad)).remove(0);
        copied(&file, &dir.path("away"));
        let question = QUESTION.replace("Any more?", &format!("Any more at the {trip}?"));
        let new =
            entries(&dir, &[&question, ANSWER]).replace("aa11bb", &format!("{:06}", trip.len()));
        append(&dir, &new);
        home = format!("{trip}-home");
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", &home, "away"]);
        assert_eq!(code, 0, "{said}");
    }
    let home = dir.path(&home);
    let runs = |text: &str| {
        holding(&home, text).into_iter().filter(|f| f.to_string_lossy().contains("/2027/"))
    };
    let first: Vec<_> = runs("Any more at the first?").collect();
    let second: Vec<_> = runs("Any more at the second?").collect();
    assert!(first.len() == 1 && second.len() == 1 && first != second, "{first:?} {second:?}");
    let text = String::from_utf8(read(&second[0])).expect("UTF-8");
    let types: Vec<_> = text.lines().filter_map(|line| line.split('"').nth(3)).collect();
    let whole = [
        "header",
        "run.start",
        "run.status",
        "llm.response",
        "agent.event",
        "run.status",
        "run.end",
    ];
    assert_eq!(types, whole);
    let own = dir.path("home/sessions/2026/09/14");
    let own = files(&own).remove(0);
    let kept =
        holding(&home, "08:00 lamp off").into_iter().find(|f| f.file_name() == own.file_name());
    assert_eq!(read(&kept.expect("the first run")), read(&own));
    let state = files(&home).into_iter().find(|f| f.to_string_lossy().contains("/state/"));
    let state: serde_json::Value =
        serde_json::from_slice(&read(&state.expect("a state"))).expect("JSON");
    let last = state["messages"].as_array().and_then(|list| list.last()).expect("messages");
    assert_eq!(last["content"], "No more.");
    assert_eq!(state["run_id"], second[0].file_stem().expect("a name").to_string_lossy().as_ref());
}

#[test]
fn a_run_that_was_broken_off_goes_on_in_the_target() {
    let dir = Dir::new();
    let lamp = String::from_utf8(own("codelia/v1/lamp")).expect("UTF-8");
    let end = lamp.find(r#"{"type":"llm.response","run_id":"3f0c5a52-9d0e-4c0a-8f3e-0b7f6f1c2d11","ts":"2026-09-14T08:30:03"#);
    fs::write(dir.path("run.jsonl"), &lamp[..end.expect("the second answer")]).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "pi@3", "-o", "away", "run.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let new = entries(&dir, &[ANSWER]);
    append(&dir, &new);
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "-o", "back.jsonl", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    assert!(back.starts_with(&lamp[..end.expect("the second answer")]), "{back}");
    assert_eq!(back.matches("\"type\":\"header\"").count(), 1, "{back}");
    assert!(
        back.contains(
            r#""seq":5,"output":{"messages":[{"role":"assistant","content":"No more."}]"#
        ),
        "{back}"
    );
    assert!(back.trim_end().ends_with(r#""outcome":"completed","final":"No more."}"#), "{back}");
    assert_eq!(dir.exit(&["validate", "back.jsonl"]).0, 0);
}

#[test]
fn a_question_that_is_edited_in_its_turn_is_edited_at_home() {
    let dir = away("pi/v3/no-final-newline", "in.jsonl", "connectonion@2");
    edit(&dir, "- input: Is the moss", "- input: Is the fern");
    let (code, said) = dir.exit(&["convert", "-t", "pi@3", "-o", "back.jsonl", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    assert!(back.contains("Is the fern crawler") && !back.contains("Is the moss"), "{back}");
    assert!(!back.contains("copyist"), "{back}");
}

#[test]
fn who_deletes_the_last_answer_loses_nothing_else() {
    let dir = away("connectonion/v2/harbour", "in.yaml", "pi@3");
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let end = text.trim_end().rfind('\n').expect("lines") + 1;
    fs::write(dir.path("away"), &text[..end]).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "home.yaml", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("was deleted"), "{said}");
    let home = fs::read_to_string(dir.path("home.yaml")).expect("UTF-8");
    let source = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    assert_eq!(home, source.replace("  result: Then it goes out at 0900. 😀\n", "  result: ''\n"));
}

/// A question and its answer behind a file of ConnectOnion @2, as its software adds a turn.
fn ask_in_yaml(dir: &Dir, file: &str) {
    let text = fs::read_to_string(dir.path(file)).expect("UTF-8");
    let turn = 1 + text.matches("\n  timestamp:").count();
    let turns = format!(
        "- input: Q-two?\n  expected: ''\n  model: m\n  duration_ms: 7\n  tokens: 12\n  cost: 0.5\n  \
         tools_called: []\n  result: A-two.\n  evaluation: ''\n  turn: {turn}\n  \
         timestamp: '2027-03-01 00:00:01'\n"
    );
    let messages = format!(
        "  {turn}:\n  - role: user\n    content: Q-two?\n  - role: assistant\n    content: A-two.\n"
    );
    let behind = |text: &str, from: usize| {
        let rest = &text[from..];
        let end = rest.match_indices('\n').find(|(at, _)| {
            rest.as_bytes().get(at + 1).is_none_or(|b| !matches!(b, b' ' | b'-' | b'\n'))
        });
        from + end.map_or(rest.len(), |(at, _)| at + 1)
    };
    let at = behind(&text, text.find("\nturns:").expect("turns") + 1);
    let text = [&text[..at], &turns, &text[at..]].concat();
    let at = behind(&text, text.find("\nmessages:").expect("messages") + 1);
    let text = [&text[..at], &messages, &text[at..]].concat();
    fs::write(dir.path(file), text).expect("a file");
}

#[test]
fn a_turn_that_was_added_and_deleted_again_stays_deleted() {
    for to in ["connectonion@1", "connectonion@2"] {
        let dir = away("pi/v3/migrated", "in.jsonl", "connectonion@2");
        ask_in_yaml(&dir, "away");
        let there = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "b", "away"];
        let (code, said) = dir.exit(&there);
        assert_eq!(code, 0, "{said}");
        let log = files(&dir.path("b")).into_iter().find(|file| file.ends_with("away.jsonl"));
        let log = log.expect("a log");
        let text = fs::read_to_string(&log).expect("UTF-8");
        let lines = text.lines().take_while(|line| !line.contains("Q-two?"));
        let left: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(left.len() < text.len());
        fs::write(&log, left).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "c", "b"]);
        assert_eq!(code, 0, "{to}: {said}");
        assert!(holding(&dir.path("c"), "Q-two?").is_empty(), "{to}: {said}");
        assert!(holding(&dir.path("c"), "A-two.").is_empty(), "{to}: {said}");
    }
}

#[test]
fn a_new_question_in_a_third_format_is_restored() {
    for (case, name, home) in [
        ("codelia/v1/lamp", "in.jsonl", "codelia@1"),
        ("connectonion/v1/quay", "in.yaml", "connectonion@1"),
    ] {
        let dir = away(case, name, "pi@3");
        let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "b.yaml", "away"]);
        assert_eq!(code, 0, "{case}: {said}");
        ask_in_yaml(&dir, "b.yaml");
        let (code, said) = dir.exit(&["convert", "-t", "pi@3", "-o", "c.jsonl", "b.yaml"]);
        assert_eq!(code, 0, "{case}: {said}");
        let (code, said) = dir.exit(&["convert", "-t", home, "--out-dir", "home", "c.jsonl"]);
        assert_eq!(code, 0, "{case}: {said}");
        let asked = holding(&dir.path("home"), "Q-two?");
        assert!(!asked.is_empty(), "{case}");
        let text = String::from_utf8_lossy(&read(&asked[0])).into_owned();
        let answered = text.find("A-two.") > text.find("Q-two?");
        assert!(answered && text.contains("2027"), "{case}: {text}");
        let home = dir.path("home").display().to_string();
        let (code, said) = dir.exit(&["validate", &home]);
        assert_eq!(code, i32::from(said.contains("warning[CY0416]")), "{case}: {said}");
        assert!(!said.contains("error["), "{case}: {said}");
    }
}

#[test]
fn what_codelia_itself_adds_in_its_other_store_comes_home_as_it_is() {
    let dir = codelia_home();
    let (code, said) = dir.exit(&["convert", "-t", "codelia@2", "--out-dir", "away", "home"]);
    assert_eq!(code, 0, "{said}");
    let session = "b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22";
    let log = holding(&dir.path("away"), "Which lamps are there?");
    let log = log.iter().find(|file| file.to_string_lossy().contains("/messages/")).expect("a log");
    let asked = "{\"role\":\"user\",\"content\":\"Any more?\"}\n";
    let answered = "{\"role\":\"assistant\",\"content\":\"No more.\"}\n";
    let text = String::from_utf8(read(log)).expect("UTF-8") + asked + answered;
    fs::write(log, text).expect("a file");
    let run = "0a0b0c0d-0000-4000-8000-00000000000a";
    let line = |kind: &str, rest: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"run_id\":\"{run}\",\"ts\":\"2027-03-01T00:00:01.000Z\",{rest}}}\n"
        )
    };
    let lines = [
        format!(
            "{{\"type\":\"header\",\"schema_version\":1,\"run_id\":\"{run}\",\"session_id\":\"{session}\",\"started_at\":\"2027-03-01T00:00:00.000Z\"}}\n"
        ),
        line("run.start", "\"input\":{\"type\":\"text\",\"text\":\"Any more?\"}")
            .replace("\"ts\"", &format!("\"session_id\":\"{session}\",\"ts\"")),
        line("run.status", "\"status\":\"running\""),
        line(
            "llm.response",
            "\"seq\":6,\"output\":{\"messages\":[{\"role\":\"assistant\",\"content\":\"No more.\"}],\"usage\":null,\"stop_reason\":\"end_turn\"}",
        ),
        line("agent.event", "\"seq\":0,\"event\":{\"type\":\"final\",\"content\":\"No more.\"}"),
        line("run.status", "\"status\":\"completed\""),
        line("run.end", "\"outcome\":\"completed\",\"final\":\"No more.\""),
    ];
    let folder = log.parent().and_then(|p| p.parent()).expect("sessions").join("2027/03/01");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{run}.jsonl")), lines.concat()).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = holding(&dir.path("back"), run);
    let back = back.iter().find(|file| file.to_string_lossy().contains("/2027/")).expect("the run");
    assert_eq!(String::from_utf8(read(back)).expect("UTF-8"), lines.concat());
    let state = holding(&dir.path("back"), "No more.");
    let state = state.iter().find(|file| file.to_string_lossy().contains("/state/"));
    let state: serde_json::Value =
        serde_json::from_slice(&read(state.expect("the state"))).expect("JSON");
    let told = state["messages"].as_array().expect("messages");
    assert_eq!(told.iter().filter(|message| message["content"] == "No more.").count(), 1);
    let back = dir.path("back").display().to_string();
    assert_eq!(dir.exit(&["validate", &back]).0, 0);
}

#[test]
fn what_pi_does_not_send_again_is_not_written_in_the_source_and_commands_are_words() {
    let dir = away("connectonion/v2/harbour", "in.yaml", "pi@3");
    let aborted = ANSWER.replace("No more.", "Well, I").replace("\"stop\"", "\"aborted\"");
    let bash = r#"{"role":"bashExecution","command":"ls quay","output":"nine boats","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1803859202000}"#;
    let new = entries(&dir, &[QUESTION, &aborted, bash, ANSWER]);
    append(&dir, &new);
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "home.yaml", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("warning[CY0601]") && said.contains("is not sent"), "{said}");
    let home = fs::read_to_string(dir.path("home.yaml")).expect("UTF-8");
    assert!(!home.contains("Well, I") && home.contains("Ran `ls quay`"), "{home}");
    assert!(home.contains("nine boats") && home.contains("result: No more."), "{home}");
}

#[test]
fn what_pi_summed_up_is_whole_in_the_source_and_the_summary_is_reported_as_lost() {
    let dir = away("connectonion/v2/harbour", "in.yaml", "pi@3");
    let asked = entries(&dir, &[QUESTION, ANSWER]);
    append(&dir, &asked);
    append(
        &dir,
        "{\"type\":\"compaction\",\"id\":\"cc000001\",\"parentId\":\"aa11bb21\",\
         \"timestamp\":\"2027-03-01T00:01:00.000Z\",\"summary\":\"All is well.\",\
         \"firstKeptEntryId\":\"aa11bb20\",\"tokensBefore\":1000}\n",
    );
    let again = QUESTION.replace("Any more?", "And now?");
    let said = ANSWER.replace("No more.", "Nor now.");
    let more = entries(&dir, &[&again, &said]).replace("aa11bb2", "dd11bb2");
    append(&dir, &more);
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "home.yaml", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("warning[CY0601]: a compaction has no place"), "{said}");
    let home = fs::read_to_string(dir.path("home.yaml")).expect("UTF-8");
    assert!(home.contains("Which berths are free?") && !home.contains("All is well."), "{home}");
    assert!(home.contains("result: No more.") && home.contains("result: Nor now."), "{home}");
    assert!(home.contains("\nupdated: '2027-03-01 00:00:01'\n"), "{home}");
    // On the way to a third format the whole conversation goes on, too.
    let (code, said) = dir.exit(&["convert", "-t", "codelia@2", "--out-dir", "third", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("CY0621"), "{said}");
    let state = holding(&dir.path("third"), "Nor now.");
    assert!(state.iter().any(|file| file.to_string_lossy().contains("/messages/")), "{state:?}");
}

#[test]
fn going_back_in_the_target_goes_back_in_the_source() {
    let dir = codelia_home();
    for (home, last) in [("codelia@1", "/state/"), ("codelia@2", "/messages/")] {
        let (code, said) =
            dir.exit(&["convert", "-t", "pi@3", "--out-dir", "pi", "home", "--force"]);
        assert_eq!(code, 0, "{said}");
        let away = holding(&dir.path("pi"), "Which lamps are there?");
        let text = String::from_utf8(read(&away[0])).expect("UTF-8");
        let asked = text.find("Is the lamp lit?").expect("the last question");
        let start = text[..asked].rfind('\n').expect("a line before") + 1;
        copied(&away[0], &dir.path("away"));
        fs::write(dir.path("away"), &text[..start]).expect("a file");
        let new = entries(&dir, &[QUESTION, ANSWER]);
        append(&dir, &new);
        let (code, said) = dir.exit(&["convert", "-t", home, "--out-dir", &last[1..], "away"]);
        assert_eq!(code, 0, "{home}: {said}");
        assert!(!said.contains("CY0621") && said.contains("a response was deleted"), "{said}");
        assert!(holding(&dir.path(&last[1..]), "Is the lamp lit?").is_empty(), "{home}");
        let now = holding(&dir.path(&last[1..]), "No more.");
        assert!(now.iter().any(|file| file.to_string_lossy().contains(last)), "{now:?}");
        let valid = dir.path(&last[1..]).display().to_string();
        assert_eq!(dir.exit(&["validate", &valid]).0, 0, "{home}");
    }
}

#[test]
fn a_branch_that_was_abandoned_in_the_target_is_reported_as_lost_in_the_source() {
    let dir = away("connectonion/v2/harbour", "in.yaml", "pi@3");
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let before =
        text.lines().position(|line| line.contains("\"Write the notice.")).expect("a line");
    let before: serde_json::Value =
        serde_json::from_str(text.lines().nth(before - 1).expect("a line")).expect("JSON");
    let (last, new) =
        (before["id"].as_str().expect("an entry"), entries(&dir, &[QUESTION, ANSWER]));
    let parent = new.find("\"parentId\":\"").expect("a parent") + "\"parentId\":\"".len();
    append(&dir, &format!("{}{last}{}", &new[..parent], &new[parent + last.len()..]));
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "home.yaml", "away"]);
    assert_eq!(code, 0, "{said}");
    let lost = "entries on abandoned branches have no place in the source format: 7";
    assert!(said.contains(&format!("warning[CY0601]: {lost}")), "{said}");
    let home = fs::read_to_string(dir.path("home.yaml")).expect("UTF-8");
    assert!(!home.contains("Write the notice.") && !home.contains("turn: 3"), "{home}");
    assert!(home.contains("input: Any more?") && home.contains("result: No more."), "{home}");
    let (code, _) = dir.exit(&[
        "convert",
        "-t",
        "connectonion@2",
        "-o",
        "strict.yaml",
        "--fail-on",
        "loss",
        "away",
    ]);
    assert_eq!(code, 1, "{said}");
}

/// What pi writes when it goes on with a session, and what a person does there without asking.
#[test]
fn settings_and_names_from_pi_stop_nothing() {
    let settings = [
        r#""type":"thinking_level_change","thinkingLevel":"low""#,
        r#""type":"model_change","provider":"p","modelId":"m2""#,
        r#""type":"session_info","name":"harbour lamps""#,
        r#""type":"label","targetId":"PARENT","label":"here""#,
        r#""type":"custom","customType":"x","data":{"a":1}"#,
    ];
    let homes = [
        ("codelia/v1/state", "in", "codelia@1"),
        ("codelia/v2/log", "in", "codelia@2"),
        ("connectonion/v2/harbour", "in.yaml", "connectonion@2"),
        ("connectonion/v3/tides", "in.yaml", "connectonion@3"),
    ];
    for ((case, name, home), setting) in
        homes.iter().flat_map(|home| settings.iter().map(move |setting| (home, setting)))
    {
        for asked in [&[][..], &[QUESTION, ANSWER][..]] {
            let dir = away(case, name, "pi@3");
            let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
            let last: serde_json::Value =
                serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
            let last = last["id"].as_str().expect("an identifier");
            let setting = setting.replace("PARENT", last);
            append(
                &dir,
                &format!(
                    "{{{setting},\"id\":\"12345678\",\"parentId\":\"{last}\",\"timestamp\":\"2027-02-28T00:00:00.000Z\"}}\n"
                ),
            );
            let new = entries(&dir, asked);
            append(&dir, &new);
            let (code, said) = dir.exit(&["convert", "-t", home, "--out-dir", "back", "away"]);
            assert_eq!(code, 0, "{home} {setting} {}: {said}", asked.len());
            assert!(!said.contains("CY0621"), "{home} {setting}: {said}");
            let back = dir.path("back").display().to_string();
            assert_eq!(dir.exit(&["validate", &back]).0, 0, "{home} {setting}");
            let kept = files(&dir.path("back"))
                .iter()
                .any(|file| memchr::memmem::find(&read(file), b"Any more?").is_some());
            assert_eq!(kept, !asked.is_empty(), "{home} {setting}");
        }
    }
}

/// What a user sets of a session is restored, or reported as lost.
#[test]
fn what_is_set_of_a_session_in_the_target_is_kept_or_reported() {
    let pi = ("pi/v3/everything", "in.jsonl", "pi@3");
    let named = ("connectonion/v2/harbour", "in.yaml", "connectonion@2");
    let orchard = ("agent-orchestrator/v2/orchard", "in", "agent-orchestrator@2");
    for (home, away_in, old, new) in [
        (pi, "connectonion@3", "agent: ", "model: m-new\nagent: "),
        (pi, "connectonion@3", "agent: ", "system_prompt: m-new\nagent: "),
        (pi, "connectonion@3", "agent: \"session\"", "agent: m-new"),
        (pi, "connectonion@2", "name: session", "name: m-new"),
        (named, "pi@3", "\"id\":", "\"parentSession\":\"m-new\",\"id\":"),
        (orchard, "pi@3", "\"id\":", "\"parentSession\":\"m-new\",\"id\":"),
    ] {
        let (case, name, format) = home;
        let dir = away(case, name, away_in);
        let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
        assert!(text.contains(old), "{away_in}: {text}");
        fs::write(dir.path("away"), text.replacen(old, new, 1)).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", format, "--out-dir", "home", "away"]);
        assert_eq!(code, 0, "{said}");
        let kept = files(&dir.path("home"))
            .iter()
            .any(|file| memchr::memmem::find(&read(file), b"m-new").is_some());
        assert!(kept || said.contains("cannot hold session."), "{case} {away_in} {new}: {said}");
    }
}

/// A session that was forked is another one, in all that speaks of it.
#[test]
fn a_forked_session_has_its_new_name_at_home() {
    for (case, name, home) in [
        ("connectonion/v2/harbour", "in.yaml", "connectonion@2"),
        ("codelia/v1/state", "in", "codelia@1"),
        ("codelia/v1/lamp", "in", "codelia@1"),
    ] {
        let dir = away(case, name, "pi@3");
        let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
        let head: serde_json::Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        let old = head["id"].as_str().expect("an identifier");
        edit(&dir, &format!("\"id\":\"{old}\""), "\"id\":\"11111111-aaaa-4bbb-8ccc-222222222222\"");
        let (code, said) = dir.exit(&["convert", "-t", home, "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{case}: {said}");
        let all: Vec<_> = files(&dir.path("back")).iter().map(|file| read(file)).collect();
        let has = |name: &str| {
            all.iter().any(|file| memchr::memmem::find(file, name.as_bytes()).is_some())
        };
        assert!(has("11111111-aaaa-4bbb-8ccc-222222222222") && !has(old), "{case}");
    }
}

/// How a run of another agent went rides along in a tree that has no place for it.
#[test]
fn a_run_in_codelia_comes_home_to_pi() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "old.jsonl");
    assert_eq!(dir.exit(&["migrate", "--to", "pi@3", "-o", "away", "old.jsonl"]).0, 0);
    fs::copy(dir.path("away"), dir.path("s.jsonl")).expect("a file");
    let new = entries(&dir, &[QUESTION, ANSWER]);
    append(&dir, &new);
    fs::create_dir(dir.path("longer")).expect("a folder");
    fs::rename(dir.path("away"), dir.path("longer/s.jsonl")).expect("a file");
    let away = ["convert", "-t", "codelia@1", "--out-dir"];
    assert_eq!(dir.exit(&[&away[..], &["there", "s.jsonl"]].concat()).0, 0);
    assert_eq!(dir.exit(&[&away[..], &["gone-on", "--no-origin", "longer"]].concat()).0, 0);
    // The run that only the longer session has, and the state behind it.
    for file in files(&dir.path("gone-on")) {
        let name = file.strip_prefix(dir.path("gone-on")).expect("below").to_owned();
        let to = dir.path("there").join(&name);
        if !to.exists() || name.display().to_string().contains("state") {
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            fs::copy(file, to).expect("a file");
        }
    }
    let (code, said) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "back", "there"]);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("run has no place"), "{said}");
    let [back] = files(&dir.path("back")).try_into().expect("one file");
    let text = fs::read_to_string(&back).expect("UTF-8");
    let source = fs::read_to_string(dir.path("s.jsonl")).expect("UTF-8");
    assert_eq!(text.matches("Any more?").count(), 1, "{text}");
    assert!(text.contains("No more.") && text.len() > source.len(), "{text}");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "again", "back"]);
    assert_eq!(code, 0, "{said}");
    let run = files(&dir.path("gone-on")).into_iter().find(|file| {
        memchr::memmem::find(&read(file), b"Any more?").is_some()
            && !file.display().to_string().contains("state")
    });
    let run = run.expect("a run");
    let name = run.file_name().expect("a name");
    assert!(files(&dir.path("again")).iter().any(|file| file.file_name() == Some(name)));
}

/// pi writes each line anew when it forks a session.
#[test]
fn a_session_that_pi_rewrote_is_restored_as_it_was() {
    for (case, name, home) in [
        ("connectonion/v2/harbour", "in.yaml", "connectonion@2"),
        ("connectonion/v3/tides", "in.yaml", "connectonion@3"),
        ("agent-orchestrator/v2/orchard", "in.jsonl", "agent-orchestrator@2"),
    ] {
        let dir = away(case, name, "pi@3");
        let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
        let anew = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            serde_json::to_string(&line).expect("JSON") + "\n"
        });
        fs::write(dir.path("away"), anew.collect::<String>()).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", home, "-o", "back", "away"]);
        assert_eq!(code, 0, "{said}");
        let back = fs::read_to_string(dir.path("back")).expect("UTF-8");
        let source = String::from_utf8(own(case)).expect("UTF-8");
        let differ: Vec<_> = source.lines().zip(back.lines()).filter(|(a, b)| a != b).collect();
        assert!(source == back, "{case}: {differ:#?}");
    }
}

#[test]
fn messages_of_a_run_that_was_deleted_have_their_times_in_the_source() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "old.jsonl");
    assert_eq!(dir.exit(&["migrate", "--to", "pi@3", "-o", "s.jsonl", "old.jsonl"]).0, 0);
    assert_eq!(dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "there", "s.jsonl"]).0, 0);
    let runs = files(&dir.path("there"));
    let last = runs.iter().find(|file| {
        let run = read(file);
        let holds = |text: &str| memchr::memmem::find(&run, text.as_bytes()).is_some();
        holds("\"go on\"") && holds("run.start")
    });
    fs::remove_file(last.expect("the last run")).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "back", "there"]);
    assert_eq!(code, 0, "{said}");
    let back = dir.path("back").display().to_string();
    let (code, said) = dir.exit(&["validate", &back]);
    assert_eq!(code, 0, "{said}");
}

/// Codelia writes its state anew after each run, and what it spells there in another way than a run
/// file does is another message.
#[test]
fn messages_from_elsewhere_are_spelled_as_codelia_spells_them() {
    let source = own("agent-orchestrator/v2/orchard");
    assert!(memchr::memmem::find(&source, b"\\u00c4pfel").is_some());
    for to in ["codelia@1", "codelia@2"] {
        let dir = Dir::new();
        dir.copy("agent-orchestrator/v2/orchard", "in.jsonl");
        let away = ["convert", "-t", to, "--no-origin", "--out-dir", "away", "in.jsonl"];
        assert_eq!(dir.exit(&away).0, 0);
        let all: Vec<_> = files(&dir.path("away")).iter().map(|file| read(file)).collect();
        let holds = |text: &str| {
            all.iter().any(|file| memchr::memmem::find(file, text.as_bytes()).is_some())
        };
        assert!(holds("\u{c4}pfel") && !holds("\\u00c4"), "{to}");
    }
}

#[test]
fn the_first_turn_that_is_deleted_in_the_target_is_deleted_in_codelia() {
    for to in ["agent-orchestrator@2", "connectonion@3"] {
        let dir = codelia_home();
        let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "home"]);
        assert_eq!(code, 0, "{said}");
        let file = holding(&dir.path("away"), "Which lamps are there?").remove(0);
        let text = fs::read_to_string(&file).expect("UTF-8");
        let asks = |line: &str| {
            let line = line.replace(": ", ":");
            let is_user = line.contains("\"role\":\"user\"") || line.contains("\"user_message\"");
            is_user && !line.contains("tool_use_id")
        };
        let asked = text.split_inclusive('\n').enumerate().filter(|(_, line)| asks(line));
        let asked: Vec<_> = asked.map(|(place, _)| place).collect();
        let is_gone = |place: usize| (asked[0]..asked[1]).contains(&place);
        let left = text.split_inclusive('\n').enumerate();
        let left: String = left
            .filter(|(place, line)| !is_gone(*place) || line.contains("copyist"))
            .map(|(_, line)| line)
            .collect();
        fs::write(&file, left).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{to}: {said}");
        assert!(said.contains("a message was deleted"), "{to}: {said}");
        let back = dir.path("back");
        assert!(holding(&back, "Which lamps are there?").is_empty(), "{to}: {said}");
        assert!(!holding(&back, "Once more?").is_empty(), "{to}: {said}");
        assert_eq!(dir.exit(&["validate", &back.display().to_string()]).0, 0, "{to}");
    }
}

#[test]
fn what_pi_forks_is_a_session_of_its_own_in_codelia() {
    const ID: &str = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000";
    let dir = codelia_home();
    let (code, said) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "away", "home"]);
    assert_eq!(code, 0, "{said}");
    let file = files(&dir.path("away")).remove(0);
    let text = fs::read_to_string(&file).expect("UTF-8");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let head: serde_json::Value = serde_json::from_str(lines[0]).expect("JSON");
    assert!(head["systemPrompt"].is_string(), "{head}");
    // Of a head pi writes what it knows, and entries up to the last question as they are.
    let fork = serde_json::json!({"type": "session", "version": 3, "id": ID,
        "timestamp": "2027-03-01T00:00:00.000Z", "cwd": head["cwd"], "parentSession": "/x.jsonl"});
    let asked = lines.iter().rposition(|line| line.contains("\"role\":\"user\""));
    let kept = &lines[1..asked.expect("a question")];
    fs::write(&file, format!("{fork}\n{}", kept.concat())).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("does not contain its system_prompt, which is lost"), "{said}");
    let back = dir.path("back");
    let state = files(&back).into_iter().find(|f| f.to_string_lossy().contains("/state/"));
    let state: serde_json::Value =
        serde_json::from_slice(&read(&state.expect("a state"))).expect("JSON");
    assert_eq!(state["session_id"], ID);
    // What only the origin has is there, too.
    assert_eq!(holding(&back, "x.harbour.note").len(), 1);
    assert_eq!(dir.exit(&["validate", &back.display().to_string()]).0, 0);
}

#[test]
fn a_call_comes_home_in_the_form_that_home_has() {
    // A text is put before a call; then in the place of an answer comes one with a call.
    let dir = Dir::new();
    dir.copy("agent-orchestrator/v2/orchard", "orchard.jsonl");
    let go = ["convert", "-t", "connectonion@3", "-o", "away", "orchard.jsonl"];
    assert_eq!(dir.exit(&go).0, 0);
    let old = "{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"toolu_02\"";
    edit(&dir, old, &old.replace("\"tool_calls\"", "\"content\": \"Now then.\", \"tool_calls\""));
    let (code, said) =
        dir.exit(&["convert", "-t", "agent-orchestrator@2", "--out-dir", "b", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = holding(&dir.path("b"), "user_message").remove(0);
    let back = fs::read_to_string(back).expect("UTF-8");
    let line = back.lines().find(|line| line.contains("Now then.")).expect("the answer");
    let input = "\"input\": {\"description\": \"count pears\", \"prompt\": \"Count the pears.\"";
    assert!(line.contains(input), "{line}");

    for pi in ["pi@1", "pi@3"] {
        let dir = codelia_home();
        let (code, said) = dir.exit(&["convert", "-t", pi, "--out-dir", "pi", "home"]);
        assert_eq!(code, 0, "{said}");
        let file = files(&dir.path("pi")).remove(0);
        let text = fs::read_to_string(&file).expect("UTF-8");
        let last = text.lines().rfind(|l| l.contains("\"role\":\"assistant\"")).expect("an answer");
        let mut new: serde_json::Value = serde_json::from_str(last).expect("JSON");
        new["message"]["content"] = serde_json::json!([{"type": "text", "text": "Let me see."},
        {"type": "toolCall", "id": "c9", "name": "shell", "arguments": {"command": "ls"}}]);
        fs::write(dir.path("away"), text.replace(last, &new.to_string())).expect("a file");
        let result = r#"{"role":"toolResult","toolCallId":"c9","toolName":"shell","content":[{"type":"text","text":"out"}],"isError":false,"timestamp":1803859200000}"#;
        let more = entries(&dir, &[result, ANSWER]);
        append(&dir, &more);
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{said}");
        let call =
            r#""id":"c9","type":"function","function":{"name":"shell","arguments":"{\"command\""#;
        assert!(!holding(&dir.path("back"), call).is_empty());
        assert_eq!(dir.exit(&["validate", &dir.path("back").display().to_string()]).0, 0);
    }
}

#[test]
fn a_turn_that_was_repeated_is_restored_in_its_order() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "in.jsonl");
    let go = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "away", "in.jsonl"];
    assert_eq!(dir.exit(&go).0, 0);
    let file = dir.path("away").join("in.jsonl");
    let text = fs::read_to_string(&file).expect("UTF-8");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let asked = lines.iter().rposition(|line| line.contains("user_message")).expect("a question");
    let carried = lines[asked..].iter().filter(|line| line.contains("\"type\": \"copyist\""));
    let answer = |block: &str| {
        format!("{{\"content\": [{block}], \"model\": \"m\", \"parent_tool_use_id\": null}}\n")
    };
    let new = [
        "{\"type\": \"user_message\", \"content\": \"Otherwise.\", \"timestamp\": \"2027-03-01T00:00:00.000000Z\"}\n".to_owned(),
        answer("{\"text\": \"Let me see.\"}"),
        answer("{\"id\": \"c9\", \"name\": \"Bash\", \"input\": {\"command\": \"ls\"}}"),
        answer("{\"tool_use_id\": \"c9\", \"content\": \"out\", \"is_error\": false}").replace("\"model\": \"m\", ", ""),
        answer("{\"text\": \"Done.\"}"),
    ];
    let kept: String = lines[..asked].iter().chain(carried).copied().collect();
    fs::write(&file, kept + &new.concat()).expect("a file");
    let (code, said) =
        dir.exit(&["convert", "-t", "pi@1", "-o", "back.jsonl", "away/in.jsonl", "--whole"]);
    assert_eq!(code, 0, "{said}");
    let back = fs::read_to_string(dir.path("back.jsonl")).expect("UTF-8");
    assert!(back.lines().any(|l| l.contains("Let me see.") || l.contains("\"c9\"")), "{back}");
    assert_eq!(dir.exit(&["validate", "back.jsonl"]).0, 0);
}

#[test]
fn a_result_that_is_marked_as_failed_in_the_target_failed_in_the_source() {
    let dir = codelia_home();
    assert_eq!(dir.exit(&["convert", "-t", "pi@3", "--out-dir", "pi", "home"]).0, 0);
    copied(&files(&dir.path("pi")).remove(0), &dir.path("away"));
    edit(&dir, "\"isError\":false", "\"isError\":true");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    let failed = |folder: &str| {
        let texts = files(&dir.path(folder)).into_iter().map(|file| read(&file));
        let all: Vec<u8> = texts.flatten().collect();
        memchr::memmem::find_iter(&all, "\"is_error\":true").count()
    };
    // In the state, and where the tool's output stands.
    assert!(failed("back") > failed("home") + 1);

    let dir = Dir::new();
    dir.copy("agent-orchestrator/v2/orchard", "orchard.jsonl");
    let go = ["convert", "-t", "pi@3", "-o", "away", "orchard.jsonl"];
    assert_eq!(dir.exit(&go).0, 0);
    edit(&dir, "\"isError\":false", "\"isError\":true");
    let (code, said) =
        dir.exit(&["convert", "-t", "agent-orchestrator@2", "--out-dir", "b", "away"]);
    assert_eq!(code, 0, "{said}");
    let back = holding(&dir.path("b"), "user_message").remove(0);
    let back = fs::read_to_string(back).expect("UTF-8");
    let line = back.lines().find(|line| line.contains("None found.")).expect("a result");
    assert!(line.contains("\"is_error\": true"), "{line}");
}

#[test]
fn a_thought_that_was_edited_loses_the_signature_that_nobody_saw() {
    let dir = Dir::new();
    dir.copy("agent-orchestrator/v2/orchard", "orchard.jsonl");
    let go = ["convert", "-t", "codelia@1", "--out-dir", "away", "orchard.jsonl"];
    assert_eq!(dir.exit(&go).0, 0);
    for (file, text) in files(&dir.path("away")).into_iter().map(|f| (f.clone(), read(&f))) {
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.contains("c2lnbmVk"), "{text}");
        fs::write(file, text.replace("is in trees.csv.", "is in a book.")).expect("a file");
    }
    let (code, said) =
        dir.exit(&["convert", "-t", "agent-orchestrator@2", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the signature belongs to a text that was edited"), "{said}");
    let back = holding(&dir.path("back"), "is in a book.").remove(0);
    let back = String::from_utf8(read(&back)).expect("UTF-8");
    assert!(!back.contains("c2lnbmVk"), "{back}");
}

#[test]
fn the_parent_of_an_old_session_is_named_as_it_was() {
    for key in ["branchedFrom", "parentSession"] {
        let dir = Dir::new();
        let text = String::from_utf8(own("pi/v1/feature-work")).expect("UTF-8");
        let head = text.lines().next().expect("a header");
        let named = format!("{},\"{key}\":\"/old/one.jsonl\"}}", &head[..head.len() - 1]);
        let text = text.replacen(head, &named, 1);
        dir.write("in.jsonl", text.as_bytes());
        for version in ["pi@2", "pi@3"] {
            let (away, back) = (format!("{version}.jsonl"), format!("{version}.back.jsonl"));
            assert_eq!(dir.exit(&["convert", "-t", version, "-o", &away, "in.jsonl"]).0, 0);
            let (code, said) = dir.exit(&["convert", "-t", "pi@1", "-o", &back, &away]);
            assert_eq!(code, 0, "{said}");
            assert_eq!(
                fs::read_to_string(dir.path(&back)).expect("UTF-8"),
                text,
                "{key} {version}"
            );
        }
    }
}

#[test]
fn what_a_turn_repeats_of_a_message_is_edited_with_it() {
    let dir = away("connectonion/v2/harbour", "in.yaml", "pi@3");
    edit(&dir, "Which berths are free?", "Which berths are taken?");
    let back = ["convert", "-t", "connectonion@2", "-o", "back.yaml", "away"];
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    let source = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let back = fs::read_to_string(dir.path("back.yaml")).expect("UTF-8");
    assert_eq!(source.matches("Which berths are free?").count(), 2);
    assert_eq!(back, source.replace("Which berths are free?", "Which berths are taken?"));
}

#[test]
fn a_turn_results_in_the_answer_that_took_the_place_of_its_last_one() {
    const CALL: &str = r#"{"role": "assistant", "tool_calls": [{"id": "c9", "type": "function", "function": {"name": "run", "arguments": "{}"}}]},
    {"role": "tool", "content": "out", "tool_call_id": "c9"},
    {"role": "assistant", "content": "As new."}"#;
    for (home, case) in
        [("connectonion@2", "connectonion/v2/harbour"), ("connectonion@1", "connectonion/v1/quay")]
    {
        let dir = away(case, "in.yaml", "connectonion@3");
        let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
        let last =
            text.lines().rfind(|line| line.contains("{\"role\": \"assistant\", \"content\""));
        edit(&dir, last.expect("an answer").trim(), CALL);
        let (code, said) = dir.exit(&["convert", "-t", home, "-o", "back.yaml", "away"]);
        assert_eq!(code, 0, "{home}: {said}");
        let back = fs::read_to_string(dir.path("back.yaml")).expect("UTF-8");
        let results: Vec<_> = back.lines().filter(|line| line.starts_with("  result:")).collect();
        assert_eq!(results.last(), Some(&"  result: As new."), "{home}: {back}");
    }
}

#[test]
fn what_codelia_shows_of_an_edited_answer_has_its_text() {
    for (case, old, new) in [
        ("lamp", "I could not light it", "I did not light it"),
        ("aliased", r"lamp\nlog\n", r"lamp\nbook\n"),
    ] {
        let dir = away(&format!("codelia/v1/{case}"), "in.jsonl", "pi@3");
        edit(&dir, old, new);
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{said}");
        let shown = |text: &[u8], words: &str| {
            let text = String::from_utf8_lossy(text);
            let events = text.lines().filter(|line| line.contains("agent.event"));
            events.filter(|line| line.contains(words)).count()
        };
        let source = own(&format!("codelia/v1/{case}"));
        let back = read(&holding(&dir.path("back"), new).remove(0));
        assert!(shown(&source, old) > 0, "{case}");
        assert_eq!((shown(&back, old), shown(&back, new)), (0, shown(&source, old)), "{case}");
    }
}

#[test]
fn what_is_set_of_a_run_that_the_source_does_not_know_is_reported() {
    let dir = Dir::new();
    dir.copy("connectonion/v2/harbour", "in.yaml");
    assert_eq!(dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "away", "in.yaml"]).0, 0);
    let mut run = holding(&dir.path("away"), "Write the notice").into_iter();
    let run = run.rfind(|file| read(file).starts_with(b"{\"type\":\"header\"")).expect("a run");
    let text = fs::read_to_string(&run).expect("UTF-8");
    let head = text.lines().next().expect("a header");
    let set =
        format!("{},\"model\":{{\"provider\":\"p\",\"name\":\"m\"}}}}", &head[..head.len() - 1]);
    assert!(!head.contains("\"model\""), "{head}");
    fs::write(&run, text.replacen(head, &set, 1)).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("CY0601") && said.contains("`model` of the run has no place"), "{said}");
}

#[test]
fn what_pi_forks_goes_on_there_and_comes_home() {
    // The first trip gives the session a second run, whose header says all that a session does.
    let dir = codelia_home();
    let mut home = "home".to_owned();
    for trip in ["ask", "fork"] {
        let pi = format!("{trip}-pi");
        assert_eq!(dir.exit(&["convert", "-t", "pi@3", "--out-dir", &pi, &home]).0, 0);
        let text = fs::read_to_string(files(&dir.path(&pi)).remove(0)).expect("UTF-8");
        let head = text.lines().next().expect("a header");
        let old: serde_json::Value = serde_json::from_str(head).expect("JSON");
        let fork = serde_json::json!({"type": "session", "version": 3,
            "id": "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000", "timestamp": "2027-03-01T00:00:00.000Z",
            "cwd": old["cwd"], "parentSession": "/x.jsonl"});
        let text =
            if trip == "ask" { text.clone() } else { text.replacen(head, &fork.to_string(), 1) };
        copied(&files(&dir.path(&pi)).remove(0), &dir.path("away"));
        dir.write("away", text.as_bytes());
        let more = entries(&dir, &[QUESTION, &ANSWER.replace("No more", trip)]);
        append(&dir, &more.replace("aa11bb", &format!("{trip:0>6}")));
        home = format!("{trip}-home");
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", &home, "away"]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(
            said.contains("does not contain its system_prompt, which is lost"),
            trip == "fork"
        );
    }
    // What only the origin has is there, too; and the run and the state tell of what is new.
    assert_eq!(holding(&dir.path("fork-home"), "x.harbour.note").len(), 1);
    assert_eq!(holding(&dir.path("fork-home"), "\"fork.\"").len(), 2);
    assert_eq!(dir.exit(&["validate", &dir.path("fork-home").display().to_string()]).0, 0);
}

#[test]
fn a_run_that_was_deleted_is_reported_as_one() {
    let dir = away("codelia/v1/aliased", "in.jsonl", "pi@3");
    let more = entries(&dir, &[QUESTION, ANSWER]);
    append(&dir, &more);
    for step in [
        ["convert", "-t", "codelia@1", "--out-dir", "asked", "away"],
        ["convert", "-t", "pi@3", "--out-dir", "again", "asked"],
    ] {
        let (code, said) = dir.exit(&step);
        assert_eq!(code, 0, "{said}");
    }
    let file = files(&dir.path("again")).remove(0);
    let text = fs::read_to_string(&file).expect("UTF-8");
    let kept = text.split_inclusive('\n');
    let kept: String =
        kept.filter(|l| !l.contains("Any more?") && !l.contains("No more.")).collect();
    copied(&file, &dir.path("away"));
    fs::write(dir.path("away"), kept).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "back", "away"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a run was deleted\n"), "{said}");
    assert!(holding(&dir.path("back"), "Any more?").is_empty());
    assert_eq!(dir.exit(&["validate", &dir.path("back").display().to_string()]).0, 0);
}

#[test]
fn a_remark_in_a_file_is_no_line_of_a_log_at_home() {
    type Change = fn(&str) -> String;
    let changes: [(&str, Change); 3] = [
        ("a blank line", |text| format!("{text}\n")),
        ("a remark at the end", |text| format!("{text}# hello\n")),
        ("one within", |text| text.replacen("\nmessages:", "\n# hello\nmessages:", 1)),
    ];
    for (what, change) in changes {
        let dir = Dir::new();
        for file in files(&testdata().join("agent-orchestrator/v2/orchard/in")) {
            let ending =
                if file.extension() == Some("json".as_ref()) { "meta.json" } else { "jsonl" };
            dir.write(&format!("in.{ending}"), &read(&file));
        }
        let abroad = ["convert", "-t", "connectonion@2", "--out-dir", "away", "in.meta.json"];
        assert_eq!(dir.exit(&abroad).0, 0);
        let text = fs::read_to_string(dir.path("away/in.yaml")).expect("UTF-8");
        fs::write(dir.path("away/in.yaml"), change(&text)).expect("a file");
        let home = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "home", "away/in.yaml"];
        let (code, said) = dir.exit(&home);
        assert_eq!(code, 0, "{what}: {said}");
        assert_eq!(said.contains("CY0115"), what != "a blank line", "{what}: {said}");
        assert_eq!(read(&dir.path("home/in.jsonl")), read(&dir.path("in.jsonl")), "{what}");
    }
}
