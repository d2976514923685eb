//! Sessions that are continued with another agent, and back, any number of times.

use crate::common::{Dir, files, read};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Agents, each with its folder of sessions in the user's own folder.
pub const AGENTS: [(&str, &str); 3] = [
    ("claude-code", ".claude/projects"),
    ("codex", ".codex/sessions"),
    ("pi", ".pi/agent/sessions"),
];

pub fn run(home: &Dir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    let project = home.path("project");
    fs::create_dir_all(&project).expect("a folder");
    command.current_dir(project).env_clear().env("HOME", home.root()).env("TZ", "UTC");
    command.args(args).output().expect("the program runs")
}

pub fn said(home: &Dir, args: &[&str]) -> (i32, String) {
    let done = run(home, args);
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Continues a session, and returns what `--json` prints.
fn go(home: &Dir, session: &Path, agent: &str) -> Value {
    let path = session.to_str().expect("UTF-8");
    let done = run(home, &["continue", path, "--in", agent, "--json"]);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{path} --in {agent}: {err}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

pub fn path_of(value: &Value) -> PathBuf {
    PathBuf::from(value["path"].as_str().expect("a path"))
}

/// Texts of the messages that a model would get.
fn context(home: &Dir, session: &Path) -> String {
    let path = session.to_str().expect("UTF-8");
    let done = run(home, &["context", "-q", "--as", "canonical", "--ignore-origin", path]);
    let done = if done.status.code() == Some(2) {
        run(home, &["context", "-q", "--as", "canonical", path])
    } else {
        done
    };
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A home in which an agent has one session of one question and its answer.
pub fn home_of(agent: &str) -> (Dir, PathBuf) {
    let home = Dir::new();
    let folder = AGENTS.iter().find(|(name, _)| *name == agent).expect("known").1;
    let project = home.path("project");
    let header = json!({"type": "session", "version": 3, "id": "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b",
        "timestamp": "2026-01-03T08:20:55.301Z", "cwd": project});
    let line = |id: &str, parent: Value, second: u32, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": format!("2026-01-03T08:21:{second:02}.000Z"), "message": message})
    };
    let asked = json!({"role": "user", "content": "Which tides are high?", "timestamp": 1_767_428_460_000_u64});
    let said = json!({"role": "assistant", "content": [{"type": "text", "text": "Spring tides."}],
        "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5",
        "usage": {"input": 10, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 13,
            "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.0}},
        "stopReason": "stop", "timestamp": 1_767_428_461_000_u64});
    let lines = [
        header,
        line("aaaa0001", Value::Null, 0, asked),
        line("aaaa0002", json!("aaaa0001"), 1, said),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let seed = home.write("seed.jsonl", text.as_bytes());
    let out = home.path(folder);
    let args = ["convert", "-q", "--no-origin", "--layout", "native", "-t", agent, "--out-dir"];
    let args = [&args[..], &[out.to_str().expect("UTF-8"), seed.to_str().expect("UTF-8")]].concat();
    let (code, text) = said_of(&home, &args);
    assert_eq!(code, 0, "{text}");
    let main = files(&out).into_iter().next().expect("a session");
    (home, main)
}

fn said_of(home: &Dir, args: &[&str]) -> (i32, String) {
    said(home, args)
}

/// Adds a question and its answer to a session, as its agent does.
pub fn ask(file: &Path, agent: &str, second: u32, question: &str) {
    let text = String::from_utf8(read(file)).expect("UTF-8");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let time = format!("2026-01-04T09:00:{second:02}.000Z");
    let answer = format!("Answer to {question}");
    let last = |name: &str| {
        lines.iter().rev().find_map(|line| line[name].as_str()).unwrap_or_default().to_owned()
    };
    let new = match agent {
        "pi" => {
            let id = format!("bbbb{second:04}");
            let entry = |id: &str, parent: &str, message: Value| {
                json!({"type": "message", "id": id, "parentId": parent, "timestamp": time,
                    "message": message})
            };
            let usage = json!({"input": 10, "output": 3, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": 13, "cost": {"input": 0, "output": 0, "cacheRead": 0,
                "cacheWrite": 0, "total": 0}});
            vec![
                entry(
                    &id,
                    &last("id"),
                    json!({"role": "user", "content": [{"type": "text",
                    "text": question}], "timestamp": 1_767_517_200_000_u64}),
                ),
                entry(
                    &format!("cccc{second:04}"),
                    &id,
                    json!({"role": "assistant",
                    "content": [{"type": "text", "text": answer}], "api": "openai-responses",
                    "provider": "openai", "model": "gpt-5", "usage": usage,
                    "stopReason": "stop", "timestamp": 1_767_517_201_000_u64}),
                ),
            ]
        }
        "codex" => {
            let line = |kind: &str, payload: Value| json!({"timestamp": time, "type": kind, "payload": payload});
            let message = |role: &str, kind: &str, text: &str| {
                line(
                    "response_item",
                    json!({"type": "message", "role": role,
                    "content": [{"type": kind, "text": text}]}),
                )
            };
            vec![
                line(
                    "turn_context",
                    json!({"cwd": "/w", "approval_policy": "on-request",
                    "sandbox_policy": {"type": "read-only"}, "model": "gpt-5", "summary": "auto"}),
                ),
                message("developer", "input_text", "<permissions instructions>"),
                message("user", "input_text", question),
                line(
                    "event_msg",
                    json!({"type": "user_message", "message": question,
                    "images": []}),
                ),
                line("event_msg", json!({"type": "agent_message", "message": answer})),
                message("assistant", "output_text", &answer),
                line(
                    "event_msg",
                    json!({"type": "token_count", "info": null,
                    "rate_limits": null}),
                ),
            ]
        }
        _ => {
            let uuid = |n: u32| format!("0a1b2c3d-0000-4000-8000-00000000{n:04}");
            let line = |kind: &str, n: u32, parent: &str, message: Value| {
                json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
                    "cwd": "/w", "sessionId": last("sessionId"), "version": "2.1.332",
                    "gitBranch": "", "type": kind, "message": message, "uuid": uuid(n),
                    "timestamp": time.replace(".000Z", if n.is_multiple_of(2) { ".000Z" } else { ".500Z" })})
            };
            vec![
                line(
                    "user",
                    second * 2,
                    &last("uuid"),
                    json!({"role": "user", "content": question}),
                ),
                line(
                    "assistant",
                    second * 2 + 1,
                    &uuid(second * 2),
                    json!({
                    "id": format!("msg_{second}"), "type": "message", "role": "assistant",
                    "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": answer}],
                    "stop_reason": "end_turn", "stop_sequence": null,
                    "usage": {"input_tokens": 10, "output_tokens": 3}}),
                ),
                json!({"type": "last-prompt", "lastPrompt": question, "leafUuid": uuid(second * 2 + 1),
                    "sessionId": last("sessionId")}),
            ]
        }
    };
    let new: String = new.iter().map(|line| format!("{line}\n")).collect();
    fs::write(file, text + &new).expect("room");
}

/// The ordered pairs of different agents.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = AGENTS.iter().flat_map(|(a, _)| AGENTS.iter().map(move |(b, _)| (*a, *b)));
    all.filter(|(a, b)| a != b)
}

#[test]
fn session_out_and_back_three_times_is_only_added_to() {
    for (own, other) in pairs() {
        let (home, original) = home_of(own);
        let mut second = 1;
        let mut said = vec!["Which tides are high?".to_owned()];
        let mut copy = None;
        for round in 0..3 {
            let pair = format!("{own} and {other}, round {round}");
            let before = copy.as_deref().map(read).unwrap_or_default();
            let out = go(&home, &original, other);
            let way = if round == 0 { "new" } else { "added" };
            assert_eq!(out["way"], way, "{pair}: {out}");
            let main = path_of(&out);
            assert!(read(&main).starts_with(&before), "{pair}: the copy is only added to");
            assert!(copy.is_none_or(|copy| copy == main), "{pair}: one copy");
            let question = format!("Question {second} for {other}?");
            ask(&main, other, second, &question);
            said.push(question);
            second += 1;
            let was = read(&original);
            let back = go(&home, &main, own);
            assert_eq!(
                (&back["way"], &back["added"]),
                (&json!("added"), &json!(2)),
                "{pair}: {back}"
            );
            assert_eq!(path_of(&back), original, "{pair}");
            assert!(read(&original).starts_with(&was), "{pair}: the original is only added to");
            assert!(read(&original).len() > was.len(), "{pair}");
            let question = format!("Question {second} for {own}?");
            ask(&original, own, second, &question);
            said.push(question);
            second += 1;
            copy = Some(main);
        }
        let shown = context(&home, &original);
        let places: Vec<_> = said.iter().map(|text| shown.find(text.as_str())).collect();
        assert!(places.iter().all(Option::is_some), "{own} and {other}: {places:?} {shown}");
        assert!(places.is_sorted(), "{own} and {other}: in order");
        assert_eq!(shown.matches("Question").count(), 2 * (said.len() - 1), "each once");
    }
}

#[test]
fn session_that_both_agents_went_on_with_becomes_one_of_its_own() {
    for (own, other) in pairs() {
        let (home, original) = home_of(own);
        let copy = path_of(&go(&home, &original, other));
        ask(&original, own, 1, "Here?");
        ask(&copy, other, 2, "There?");
        let was = [read(&original), read(&copy)];
        let back = go(&home, &copy, own);
        assert_eq!(back["way"], "new", "{own} and {other}: {back}");
        assert!(back["note"].as_str().is_some_and(|note| note.contains("both")), "{back}");
        let apart = path_of(&back);
        assert_ne!(apart, original);
        assert_eq!([read(&original), read(&copy)], was, "{own} and {other}: nothing is touched");
        let shown = context(&home, &apart);
        assert!(shown.contains("There?") && !shown.contains("Here?"), "{shown}");
        let ids = |path: &Path| -> Value {
            let done = run(&home, &["list", "--json", path.to_str().expect("UTF-8")]);
            serde_json::from_slice::<Value>(&done.stdout).expect("JSON")["id"].clone()
        };
        assert_ne!(ids(&apart), ids(&original), "an identifier of its own");
        // The new session is a copy like any other.
        ask(&apart, own, 3, "Still there?");
        let again = go(&home, &apart, other);
        assert_eq!((&again["way"], path_of(&again)), (&json!("added"), copy.clone()), "{again}");
        assert!(read(&copy).starts_with(&was[1]));
    }
}

#[test]
fn session_without_news_is_there_already() {
    let (home, original) = home_of("claude-code");
    let copy = path_of(&go(&home, &original, "codex"));
    let was = [read(&original), read(&copy)];
    let again = go(&home, &original, "codex");
    assert_eq!((&again["way"], path_of(&again)), (&json!("there"), copy.clone()));
    let back = go(&home, &copy, "claude-code");
    assert_eq!((&back["way"], path_of(&back)), (&json!("there"), original.clone()));
    assert_eq!([read(&original), read(&copy)], was);
}

#[test]
fn continued_session_undone_is_as_it_was() {
    let (home, original) = home_of("pi");
    let out = go(&home, &original, "codex");
    let copy = path_of(&out);
    let undo = |value: &Value| {
        let journal = value["journal"].as_str().expect("a journal");
        let (code, text) = said(&home, &["undo", journal]);
        assert_eq!(code, 0, "{text}");
    };
    undo(&out);
    assert!(!copy.exists(), "the copy is gone");
    let copy = path_of(&go(&home, &original, "codex"));
    ask(&copy, "codex", 1, "And the low ones?");
    let was = read(&original);
    let back = go(&home, &copy, "pi");
    assert!(read(&original).len() > was.len());
    undo(&back);
    assert_eq!(read(&original), was);
    let back = go(&home, &copy, "pi");
    assert_eq!(back["way"], "added", "{back}");
}

/// All files of a home, with their contents.
fn contents(home: &Dir) -> Vec<(PathBuf, Vec<u8>)> {
    let all = crate::common::all_files(home.root()).into_iter();
    all.map(|file| (file.clone(), read(&file))).collect()
}

/// A new turn in what the run wrote stays, with the origin that belongs to it.
#[test]
fn undo_after_a_new_turn_changes_nothing_and_names_the_ways_on() {
    let (home, original) = home_of("pi");
    let was = read(&original);
    let out = go(&home, &original, "codex");
    let copy = path_of(&out);
    let refused = |value: &Value, file: &Path, ways: [&str; 2]| {
        let before = contents(&home);
        let journal = value["journal"].as_str().expect("a journal");
        for args in [&["undo", "-n", journal][..], &["undo", journal]] {
            let (code, text) = said(&home, args);
            assert!(
                code == 3 && text.contains(&format!("{}: error[CY0711]", file.display())),
                "{text}"
            );
            assert!(text.contains("nothing is lost") && text.contains("1 failed"), "{text}");
            assert!(ways.iter().all(|way| text.contains(way)), "{text}");
        }
        assert_eq!(contents(&home), before);
    };
    ask(&copy, "codex", 1, "And the low ones?");
    refused(&out, &copy, ["go on with it", "remove it yourself"]);
    let back = go(&home, &copy, "pi");
    assert_eq!((&back["way"], path_of(&back)), (&json!("added"), original.clone()), "{back}");
    let written = read(&original).len();
    ask(&original, "pi", 2, "And the springs?");
    let cut = format!("cut it yourself behind its first {written} bytes");
    refused(&back, &original, ["go on with it", &cut]);
    fs::write(&original, &read(&original)[..written]).expect("room");
    let (code, text) = said(&home, &["undo", back["journal"].as_str().expect("a journal")]);
    assert!(code == 0 && read(&original) == was, "{text}");
}

#[test]
fn session_that_its_agent_writes_is_taken_to_its_last_whole_line() {
    let (home, original) = home_of("pi");
    let whole = read(&original);
    let torn = [whole.as_slice(), b"{\"type\":\"message\",\"id\":\"aaaa0003\",\"parentId\":\"aaa"]
        .concat();
    fs::write(&original, &torn).expect("room");
    let out = go(&home, &original, "claude-code");
    assert_eq!((&out["way"], &out["messages"]), (&json!("new"), &json!(2)), "{out}");
    assert_eq!(out["note"], "the last line is not complete, and is left out", "{out}");
    assert_eq!(read(&original), torn);
    fs::write(&original, &whole).expect("room");
    ask(&original, "pi", 1, "And the low ones?");
    let again = go(&home, &original, "claude-code");
    assert_eq!((&again["way"], &again["added"]), (&json!("added"), &json!(2)), "{again}");
}

#[test]
fn session_of_the_current_folder_needs_no_name() {
    let (home, original) = home_of("claude-code");
    let (code, text) = said(&home, &["continue", "--in", "codex", "-n"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains(original.to_str().expect("UTF-8")), "{text}");
    assert!(text.contains("would be new"), "{text}");
    assert!(text.contains("&& codex resume 019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b"), "{text}");
    assert!(!home.path(".codex").exists(), "nothing is written");
    let (code, text) = said(&home, &["continue", "--in", "claude-code"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("claude --resume"), "{text}");
    let (code, text) = said(&home, &["continue", "--in", "canonical"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("copyist convert --to canonical"), "{text}");
}

#[test]
fn session_in_another_folder_goes_there_and_comes_back_to_its_own() {
    for (own, other) in pairs() {
        let (home, original) = home_of(own);
        let there = home.path("elsewhere");
        fs::create_dir_all(&there).expect("a folder");
        let there = there.canonicalize().expect("a folder");
        let path = original.to_str().expect("UTF-8");
        let args = ["continue", path, "--in", other, "--json", "--cwd"];
        let done = run(&home, &[&args[..], &[there.to_str().expect("UTF-8")]].concat());
        let out: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(out["project"], there.to_str().expect("UTF-8"), "{own} and {other}");
        let copy = path_of(&out);
        ask(&copy, other, 1, "And the low ones?");
        let was = read(&original);
        let back = go(&home, &copy, own);
        assert_eq!(back["way"], "added", "{own} and {other}: {back}");
        assert!(read(&original).starts_with(&was));
        let project = home.path("project");
        assert_eq!(back["project"], project.to_str().expect("UTF-8"), "{own} and {other}");
    }
}

#[test]
fn answer_that_an_agent_made_up_does_not_end_the_turns() {
    let (home, original) = home_of("codex");
    // The last question has no answer, so Claude Code puts one of its own behind it.
    let text = String::from_utf8(read(&original)).expect("UTF-8");
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-03T08:22:00.000Z", "type": kind, "payload": payload});
    let open = [
        line(
            "response_item",
            json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "And now?"}]}),
        ),
        line("event_msg", json!({"type": "user_message", "message": "And now?", "images": []})),
    ];
    let open: String = open.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&original, text + &open).expect("room");
    let copy = path_of(&go(&home, &original, "claude-code"));
    let text = String::from_utf8(read(&copy)).expect("UTF-8");
    let last: Value = serde_json::from_str(
        text.lines().rev().find(|line| line.contains("\"uuid\"")).expect("a message"),
    )
    .expect("JSON");
    let made_up = json!({"parentUuid": last["uuid"], "isSidechain": false, "cwd": "/w",
        "sessionId": last["sessionId"], "version": "2.1.332", "type": "assistant",
        "uuid": "0a1b2c3d-0000-4000-8000-000000009999", "timestamp": "2026-01-03T08:23:00.000Z",
        "message": {"id": "m", "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": "No response requested."}],
            "stop_reason": "stop_sequence", "stop_sequence": "", "usage": {"input_tokens": 0,
            "output_tokens": 0}}});
    fs::write(&copy, format!("{text}{made_up}\n")).expect("room");
    for round in 0..2 {
        ask(&copy, "claude-code", 10 + round, "There?");
        let back = go(&home, &copy, "codex");
        assert_eq!(back["way"], "added", "round {round}: {back}");
        ask(&original, "codex", 20 + round, "Here?");
        let out = go(&home, &original, "claude-code");
        assert_eq!((&out["way"], path_of(&out)), (&json!("added"), copy.clone()), "{round}: {out}");
    }
}

#[test]
fn session_of_another_kind_of_file_is_copied_once() {
    let (home, _) = home_of("pi");
    let yaml = home.path("project/agent.yaml");
    let (seed, yaml) = (home.path("seed.jsonl"), yaml.to_str().expect("UTF-8").to_owned());
    let seed = seed.to_str().expect("UTF-8");
    let args = ["convert", "-q", "--no-origin", "-t", "connectonion@2", "-o", &yaml, seed];
    let (code, text) = said(&home, &args);
    assert_eq!(code, 0, "{text}");
    let first = go(&home, Path::new(&yaml), "claude-code");
    assert_eq!(first["way"], "new", "{first}");
    let again = go(&home, Path::new(&yaml), "claude-code");
    assert_eq!((&again["way"], &again["path"]), (&json!("there"), &first["path"]), "{again}");
}

#[test]
fn an_agent_that_resumes_nothing_is_refused_with_the_reason() {
    let (home, session) = home_of("pi");
    for (agent, reason) in [
        ("connectonion", "never reads those that are there"),
        ("agent-orchestrator", "a session of Claude Code"),
        ("codelia", "no command is known that names one"),
    ] {
        let (code, said) =
            said(&home, &["continue", session.to_str().expect("UTF-8"), "--in", agent]);
        assert!(code == 2 && said.contains(reason), "{agent}: {code} {said}");
    }
}

#[test]
fn session_is_continued_and_brought_back_by_its_identifier() {
    let (home, source) = home_of("claude-code");
    let id = source.file_stem().expect("a name").to_string_lossy().into_owned();
    for agent in ["codex", "claude-code", "codex"] {
        // The sessions of both agents have the identifier.
        let (code, said) = said(&home, &["continue", &id, "--in", agent]);
        assert_eq!(code, 0, "{agent}: {said}");
    }
}
