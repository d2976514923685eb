//! Sessions that are continued and brought back by their names, from a home with many others.

use crate::common::{self, Dir, files, read};
use crate::onward::{AGENTS, ask, home_of, pairs, path_of, run, said};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Number of other sessions of each agent in a home.
const OTHERS: usize = 20;

/// The identifier of the session that is continued.
const ID: &str = "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b";

/// Adds older sessions of other projects to the home, some of each agent.
fn add_others(home: &Dir) {
    let seeds = home.path("seeds");
    for n in 0..OTHERS {
        let id = format!("019b0000-{n:04}-7c31-9e5b-0c1d2e3f4a5b");
        let time = format!("2025-12-{:02}T08:20:55.301Z", n % 28 + 1);
        let message = |id: &str, parent: Value, message: Value| {
            json!({"type": "message", "id": id, "parentId": parent, "timestamp": time,
                "message": message})
        };
        let lines = [
            json!({"type": "session", "version": 3, "id": id, "timestamp": time,
                "cwd": home.path(&format!("other-{n}"))}),
            message(
                "a1",
                Value::Null,
                json!({"role": "user", "content": format!("Other {n}?"),
                "timestamp": 1}),
            ),
            message(
                "a2",
                json!("a1"),
                json!({"role": "assistant", "content": [{"type": "text",
                "text": format!("Yes, {n}.")}], "api": "a", "provider": "p", "model": "m",
                "stopReason": "stop", "timestamp": 2, "usage": {"input": 1, "output": 1,
                "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"input": 0, "output": 0,
                "cacheRead": 0, "cacheWrite": 0, "total": 0}}}),
            ),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        home.write(&format!("seeds/{n}.jsonl"), text.as_bytes());
    }
    for (agent, folder) in AGENTS {
        let out = home.path(folder);
        let args = ["convert", "-q", "--no-origin", "--layout", "native", "-t", agent, "--out-dir"];
        let paths = [out.to_str().expect("UTF-8"), seeds.to_str().expect("UTF-8")];
        let (code, text) = said(home, &[&args[..], &paths].concat());
        assert_eq!(code, 0, "{text}");
    }
    fs::remove_dir_all(seeds).expect("removed");
}

/// Continues the session that these words name, and returns what `--json` prints.
pub fn go(home: &Dir, words: &[&str], agent: &str) -> Value {
    let done = run(home, &[&["continue", "--in", agent, "--json"], words].concat());
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{words:?} --in {agent}: {err}");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

/// The sessions of an agent.
fn sessions(home: &Dir, agent: &str) -> Vec<PathBuf> {
    let folder = AGENTS.iter().find(|(name, _)| *name == agent).expect("known").1;
    let all = files(&home.path(folder)).into_iter();
    all.filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

/// A way to name the session, given the agent whose file is meant.
type Way = fn(&str) -> Vec<String>;

const WAYS: [(&str, Way); 5] = [
    ("identifier", |_| vec![ID.to_owned()]),
    ("beginning", |_| vec![ID[..10].to_owned()]),
    ("latest", |_| vec!["latest".to_owned()]),
    ("agent and identifier", |agent| vec![format!("{agent}:{ID}")]),
    ("no argument", |_| vec![]),
];

#[test]
fn session_named_in_any_way_goes_out_and_comes_back_twice() {
    for (own, other) in pairs() {
        let (home, original) = home_of(own);
        add_others(&home);
        let counts = [OTHERS + 1, OTHERS + 1];
        let mut second = 1;
        for (name, way) in WAYS {
            let pair = format!("{own} and {other} by {name}");
            let words = |agent| way(agent);
            let out = go(&home, &as_strs(&words(own)), other);
            let is_first = name == WAYS[0].0;
            let expected = if is_first { "new" } else { "added" };
            assert_eq!(out["way"], expected, "{pair}: {out}");
            let copy = path_of(&out);
            let question = format!("Question {second} for {other}?");
            ask(&copy, other, second, &question);
            let was = read(&original);
            let back = go(&home, &as_strs(&words(other)), own);
            assert_eq!(
                (&back["way"], &back["added"], path_of(&back)),
                (&json!("added"), &json!(2), original.clone()),
                "{pair}: {back}"
            );
            assert!(read(&original).starts_with(&was), "{pair}: the original is only added to");
            let again = go(&home, &as_strs(&words(other)), own);
            assert_eq!((&again["way"], path_of(&again)), (&json!("there"), original.clone()));
            for command in ["show", "context", "validate"] {
                let (code, text) = said(&home, &[command, ID]);
                assert_eq!(code, 0, "{pair}: {command}: {text}");
                assert!(command == "validate" || text.contains(&question), "{pair}: {text}");
            }
            ask(&original, own, second + 1, &format!("Question {} for {own}?", second + 1));
            second += 2;
            let found = [own, other].map(|agent| sessions(&home, agent).len());
            assert_eq!(found, counts, "{pair}: one session of each agent");
        }
    }
}

fn as_strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn name_of_a_family_means_the_one_with_the_last_message() {
    let (home, original) = home_of("claude-code");
    let copy = path_of(&go(&home, &[ID], "codex"));
    let path_shown = |words: &[&str]| {
        let done = run(&home, &[&["inspect", "--json"], words].concat());
        let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        PathBuf::from(value["path"].as_str().expect("a path"))
    };
    assert_eq!(path_shown(&[ID]), original, "of equal ones the original");
    assert_eq!(path_shown(&[&format!("codex:{ID}")]), copy);
    ask(&copy, "codex", 1, "And the low ones?");
    assert_eq!(path_shown(&[ID]), copy);
    assert_eq!(path_shown(&["latest"]), copy);
    assert_eq!(path_shown(&["claude-code:latest"]), original);
    let (code, text) = said(&home, &["show", "--agent", "claude-code", ID]);
    assert!(code == 0 && !text.contains("low ones"), "{text}");
    let (code, text) = said(&home, &["show", ID]);
    assert!(code == 0 && text.contains("low ones"), "{text}");
    let (code, text) = said(&home, &["show", &format!("pi:{ID}")]);
    assert!(code == 3 && text.contains("no session"), "{code} {text}");
}

#[test]
fn commands_that_write_take_names_and_print_the_path() {
    let (home, original) = home_of("pi");
    let shown = original.to_str().expect("UTF-8");
    let (code, text) = said(&home, &["append", "--text", "And the low ones?", &ID[..8]]);
    assert!(code == 0 && text.contains(shown), "{code} {text}");
    let entry = text.lines().next().expect("an identifier").to_owned();
    let (code, text) = said(&home, &["label", "latest", &entry, "low"]);
    assert!(code == 0 && text.contains(shown), "{code} {text}");
    let (code, text) = said(&home, &["fork", ID]);
    assert!(code == 0 && text.contains(shown), "{code} {text}");
    assert_eq!(sessions(&home, "pi").len(), 2);
    let (code, text) = said(&home, &["append", "--text", "Hello", "019b8fa3"]);
    assert!(code == 3 && text.contains("copyist list"), "{code} {text}");
}

/// A session of another machine: its project is not here.
fn foreign_session(home: &Dir, agent: &str) -> PathBuf {
    let (there, main) = home_of(agent);
    let text = String::from_utf8(read(&main)).expect("UTF-8");
    let project = there.path("project");
    let text = text.replace(project.to_str().expect("UTF-8"), "/home/else/tides");
    let name = main.file_name().expect("a name").to_str().expect("UTF-8");
    home.write(&format!("downloads/{name}"), text.as_bytes())
}

#[test]
fn session_of_another_machine_is_installed_in_a_folder_of_this_one() {
    for (agent, _) in AGENTS {
        let home = Dir::new();
        let file = foreign_session(&home, agent);
        let project = home.path("project");
        fs::create_dir_all(&project).expect("a folder");
        let project = project.canonicalize().expect("a folder");
        let words = [file.to_str().expect("UTF-8"), "--cwd", project.to_str().expect("UTF-8")];
        let out = go(&home, &words, agent);
        let (path, own) = (path_of(&out), project.to_str().expect("UTF-8"));
        assert_eq!((&out["way"], out["project"].as_str()), (&json!("new"), Some(own)), "{out}");
        assert_eq!(sessions(&home, agent), std::slice::from_ref(&path), "{agent}");
        let text = String::from_utf8(read(&path)).expect("UTF-8");
        assert!(text.contains(own) && !text.contains("/home/else"), "{agent}: {text}");
        assert_eq!(out["id"], ID, "{agent}");
        // Installed is installed: nothing is written twice.
        let again = run(&home, &[&["continue", "--in", agent], &words[..]].concat());
        let text = String::from_utf8_lossy(&again.stderr).into_owned();
        assert_eq!(again.status.code(), Some(3), "{agent}: {text}");
        assert!(text.contains(path.to_str().expect("UTF-8")), "{agent}: {text}");
        assert_eq!(sessions(&home, agent).len(), 1, "{agent}");
    }
}

#[test]
fn message_goes_to_the_newer_of_two_originals() {
    let (home, original) = home_of("claude-code");
    let copy = path_of(&go(&home, &[ID], "codex"));
    let twin = original.parent().and_then(Path::parent).expect("a folder").join("-a-first");
    fs::create_dir_all(&twin).expect("a folder");
    let twin = twin.join(original.file_name().expect("a name"));
    fs::copy(&original, &twin).expect("copied");
    ask(&original, "claude-code", 1, "Here?");
    let out = go(&home, &[original.to_str().expect("UTF-8")], "codex");
    assert_eq!((&out["way"], path_of(&out)), (&json!("added"), copy.clone()), "{out}");
    ask(&copy, "codex", 2, "There?");
    let back = go(&home, &[ID], "claude-code");
    assert_eq!((&back["way"], path_of(&back)), (&json!("added"), original), "{back}");
}

#[test]
fn context_larger_than_any_that_the_session_records_is_reported() {
    let (home, original) = home_of("codex");
    let text = String::from_utf8(read(&original)).expect("UTF-8");
    let window = |tokens: u32| {
        json!({"timestamp": "2026-01-03T08:22:00.000Z", "type": "event_msg", "payload": {
            "type": "token_count", "rate_limits": null, "info": {"model_context_window": tokens,
            "total_token_usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
            "last_token_usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}}})
    };
    for (tokens, largest) in [(4, json!(4)), (9000, Value::Null)] {
        let turn = json!({"timestamp": "2026-01-03T08:22:00.000Z", "type": "turn_context", "payload": {
            "cwd": "/w", "approval_policy": "on-request", "sandbox_policy": {"type": "read-only"},
            "model": "gpt-5", "summary": "auto"}});
        fs::write(&original, format!("{text}{turn}\n{}\n", window(tokens))).expect("room");
        let out = go(&home, &[ID, "-n"], "claude-code");
        assert_eq!(out["largest"], largest, "{out}");
        let (code, said) = said(&home, &["continue", "--in", "claude-code", "-n", ID]);
        assert_eq!((code, said.contains("too big?")), (0, tokens == 4), "{said}");
    }
}

#[test]
fn session_with_sub_agents_is_named_by_its_main_file() {
    const MAIN: &str = "5ac1f0d2-73be-4d19-8f20-b0c6a4e7d913";
    let home = Dir::new();
    let folder = common::testdata().join("claude-code/v2/subagents/in");
    for file in common::all_files(&folder) {
        let name = file.strip_prefix(&folder).expect("below").to_str().expect("UTF-8");
        home.write(&format!("downloads/{name}"), &read(&file));
    }
    let project = home.path("project");
    fs::create_dir_all(&project).expect("a folder");
    let file = home.path(&format!("downloads/{MAIN}.jsonl"));
    let words = [file.to_str().expect("UTF-8"), "--cwd", project.to_str().expect("UTF-8")];
    let out = go(&home, &words, "claude-code");
    assert_eq!(out["id"], MAIN, "{out}");
    let path = path_of(&out);
    assert!(path.ends_with(format!("{MAIN}.jsonl")) && path.is_file(), "{out}");
}

#[test]
fn session_comes_back_from_a_file_named_by_the_beginning_of_its_identifier() {
    for (own, _) in AGENTS {
        let (home, original) = home_of(own);
        add_others(&home);
        let before = read(&original);
        let mut length = before.len();
        for round in ["One more?", "And one?"] {
            let there = go(&home, &[ID], "gemini-cli");
            let file = path_of(&there);
            let file = file.to_str().expect("UTF-8");
            for (role, text) in [("user", round), ("assistant", "Yes.")] {
                let (code, words) = said(&home, &["append", "--role", role, "--text", text, file]);
                assert_eq!(code, 0, "{own}: {words}");
            }
            let back = go(&home, &[ID], own);
            assert_eq!(path_of(&back), original, "{own}: {back}");
            let after = read(&original);
            assert!(after.starts_with(&before) && after.len() > length, "{own}: {back}");
            length = after.len();
        }
    }
}
