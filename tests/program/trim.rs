//! Sessions that are made smaller.

use crate::common::{Dir, all_files, inputs_below, testdata};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn done(dir: &Dir, code: i32, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(dir.root()).env_clear().env("HOME", dir.root()).env("TZ", "UTC0");
    let done = command.args(args).output().expect("the program runs");
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert_eq!(done.status.code(), Some(code), "{args:?}: {text}");
    text
}

const ID: &str = "0d3c55a1-1111-4111-8111-3f2a90b1c2d3";

/// A session of pi with this number of turns, in which each turn has a thought, a call with a long
/// result, and an image. Every third result is the same, and one branch was left.
fn long(turns: usize) -> String {
    let mut lines = vec![json!({"type": "session", "version": 3, "id": ID,
        "timestamp": "2026-01-05T08:00:00.000Z", "cwd": "/srv/tides"})];
    let (mut parent, mut count, mut tokens) = (Value::Null, 0, 2000);
    let mut entry = |message: Value, parent: &mut Value| {
        count += 1;
        let id = format!("{count:08x}");
        let time = format!("2026-01-05T08:{:02}:{:02}.000Z", count / 60, count % 60);
        let mut line = json!({"type": "message", "id": id, "parentId": parent.clone(),
            "timestamp": time, "message": message});
        line["message"]["timestamp"] = json!(1_767_600_000_000_u64 + count as u64);
        lines.push(line);
        *parent = json!(id);
    };
    let answer = |content: Value, stop: &str, tokens: usize| {
        json!({"role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": stop,
            "usage": {"input": tokens, "output": 10, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": tokens + 10, "cost": {"input": 0, "output": 0, "cacheRead": 0,
                "cacheWrite": 0, "total": 0}}})
    };
    let image = include_str!("pixels.b64");
    for turn in 0..turns {
        let question = json!([{"type": "text", "text": format!("Question {turn}?")},
            {"type": "image", "data": image.trim(), "mimeType": "image/png"}]);
        entry(json!({"role": "user", "content": question}), &mut parent);
        let call = format!("toolu_{turn:024}");
        entry(
            answer(
                json!([
                    {"type": "thinking", "thinking": "The chart says it. ".repeat(20), "thinkingSignature": "c2lnbmVk"},
                    {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "cat tide"}},
                ]),
                "toolUse",
                tokens,
            ),
            &mut parent,
        );
        let seed = if turn % 3 == 0 { 0 } else { turn };
        let text = format!("wave {seed} of the tide\n").repeat(200);
        tokens += text.len() / 4;
        entry(
            json!({"role": "toolResult", "toolCallId": call, "toolName": "bash",
            "content": [{"type": "text", "text": text}], "isError": false}),
            &mut parent,
        );
        if turn == 1 {
            let here = parent.clone();
            entry(json!({"role": "user", "content": "A way that is left"}), &mut parent);
            entry(answer(json!([{"type": "text", "text": "Not this."}]), "stop", 0), &mut parent);
            parent = here;
        }
        entry(
            answer(json!([{"type": "text", "text": format!("Answer {turn}.")}]), "stop", tokens),
            &mut parent,
        );
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A folder with the long session in the three formats of lines.
fn three() -> (Dir, Vec<(&'static str, PathBuf)>) {
    let dir = Dir::new();
    let pi = dir.write("pi.jsonl", long(14).as_bytes());
    let mut all = vec![("pi", pi)];
    for agent in ["claude-code", "codex"] {
        let name = format!("{agent}.jsonl");
        done(&dir, 0, &["convert", "--no-origin", "-t", agent, "-o", &name, "pi.jsonl"]);
        all.push((agent, dir.path(&name)));
    }
    (dir, all)
}

fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).expect("text").lines().count()
}

fn report(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap_or_default()).expect("one line of JSON")
}

fn messages(dir: &Dir, name: &str) -> Vec<Value> {
    let context: Value = serde_json::from_str(&done(dir, 0, &["context", name])).expect("JSON");
    context["messages"].as_array().expect("a list").clone()
}

#[test]
fn a_session_comes_within_its_limit_and_back_whole() {
    let (dir, all) = three();
    for (agent, path) in all {
        let (name, small) = (format!("{agent}.jsonl"), format!("{agent}.small.jsonl"));
        let json = report(&done(&dir, 0, &["trim", "--json", "--to", "12k", "-o", &small, &name]));
        let (before, after) = (&json["before"]["tokens"], &json["after"]["tokens"]);
        assert!(
            before.as_u64() > Some(12_000) && after.as_u64() <= Some(12_000),
            "{agent}: {json}"
        );
        assert!(after.as_u64() > Some(11_000), "no more is cut than needed: {agent}: {json}");
        assert!(json["counted"].as_bool() == Some(true) && json["fits"] == true, "{agent}: {json}");
        assert!(done(&dir, 0, &["validate", &small]).contains("valid"), "{agent}");
        let (whole, trimmed) = (messages(&dir, &name), messages(&dir, &small));
        let roles =
            |all: &[Value]| -> Vec<_> { all.iter().map(|one| one["role"].clone()).collect() };
        assert_eq!(roles(&whole), roles(&trimmed), "{agent}");
        // The newest turns stay as they are: ten questions, calls, results and answers.
        let newest = whole.len() - 40;
        assert_eq!(whole[newest..], trimmed[newest..], "{agent}");
        done(&dir, 0, &["convert", "-t", agent, "-o", "back.jsonl", "--force", &small]);
        assert!(
            fs::read(dir.path("back.jsonl")).expect("a file") == fs::read(&path).expect("a file")
        );
    }
}

#[test]
fn new_turns_of_a_trimmed_session_come_behind_the_whole_one() {
    let (dir, all) = three();
    for (agent, path) in all {
        let name = format!("{agent}.jsonl");
        let before = fs::read(&path).expect("a file");
        let text = done(&dir, 0, &["trim", "--keep-turns", "1", "--in-place", &name]);
        assert!(text.contains("undo") && text.contains("written"), "{text}");
        assert!(fs::read(&path).expect("a file").len() < before.len() / 2);
        let known = lines_of(&path);
        done(&dir, 0, &["append", "--text", "One more?", &name]);
        // A second time, with what is new.
        done(&dir, 0, &["trim", "--keep-turns", "1", "--in-place", &name]);
        let after = fs::read_to_string(&path).expect("text");
        let new: String = after.lines().skip(known).map(|line| format!("{line}\n")).collect();
        assert!(new.contains("One more?"), "{agent}");
        done(&dir, 0, &["convert", "-t", agent, "-o", "back.jsonl", "--force", &name]);
        let back = fs::read(dir.path("back.jsonl")).expect("a file");
        assert_eq!(back, [&before[..], new.as_bytes()].concat(), "{agent}");
        // Another format gets the trimmed session.
        done(&dir, 0, &["convert", "-t", "connectonion", "-o", "other.yaml", "--force", &name]);
        let other = fs::read_to_string(dir.path("other.yaml")).expect("text");
        assert!(other.contains("copyist cut") && other.contains("One more?"), "{agent}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_its_agent_has_open_stays_as_it_is() {
    let (dir, _) = three();
    let before = fs::read(dir.path("codex.jsonl")).expect("a file");
    let mut agent = Command::new("sh");
    agent.args(["-c", "exec 3>>codex.jsonl; echo open; read line"]).current_dir(dir.root());
    let mut agent = agent
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut said = [0; 5];
    std::io::Read::read_exact(agent.stdout.as_mut().expect("a pipe"), &mut said).expect("open");
    let text = done(&dir, 3, &["trim", "--in-place", "codex.jsonl"]);
    assert!(text.contains("has it open; quit that program"), "{text}");
    assert!(fs::read(dir.path("codex.jsonl")).expect("a file") == before);
    drop(agent.stdin.take());
    agent.wait().expect("the shell ends");
    done(&dir, 0, &["trim", "--in-place", "codex.jsonl"]);
}

#[test]
fn a_trimmed_session_is_undone_byte_for_byte() {
    let (dir, all) = three();
    for (agent, path) in all {
        let before = fs::read(&path).expect("a file");
        let name = format!("{agent}.jsonl");
        done(&dir, 0, &["trim", "--in-place", "--journal", &format!("{agent}.log"), &name]);
        assert!(fs::read(&path).expect("a file") != before);
        done(&dir, 0, &["undo", &format!("{agent}.log")]);
        assert!(fs::read(&path).expect("a file") == before, "{agent}");
        assert!(!dir.path(&format!("{agent}.jsonl.origin")).exists(), "{agent}");
    }
}

#[test]
fn a_trimmed_copy_goes_back_whole_to_the_agent_from_which_it_came() {
    let home = Dir::new();
    fs::create_dir_all(home.path("tides")).expect("a folder");
    let project = home.path("tides").canonicalize().expect("a folder");
    let text = long(14).replace("/srv/tides", project.to_str().expect("UTF-8"));
    let slug = project.to_str().expect("UTF-8").replace('/', "-");
    let main = format!(".pi/agent/sessions/-{slug}--/2026-01-05T08-00-00-000Z_{ID}.jsonl");
    let original = home.write(&main, text.as_bytes());
    let on = |args: &[&str]| report(&done(&home, 0, args));
    let copy = on(&["continue", "--in", "codex", "--json", ID])["path"].clone();
    let copy = copy.as_str().expect("a path").to_owned();
    let mut known = text.into_bytes();
    for turn in ["One more?", "And one more?"] {
        let size = fs::metadata(&copy).expect("a file").len();
        done(&home, 0, &["trim", "--keep-turns", "1", "--in-place", &copy]);
        if turn == "One more?" {
            assert!(fs::metadata(&copy).expect("a file").len() < size / 2);
        }
        done(&home, 0, &["append", "--text", turn, &copy]);
        let back = on(&["continue", "--in", "pi", "--json", &copy]);
        assert_eq!(back["way"], "added", "{back}");
        assert_eq!(back["path"], original.to_str().expect("UTF-8"), "{back}");
        let now = fs::read(&original).expect("a file");
        assert!(now.starts_with(&known) && now.len() > known.len(), "{turn}");
        assert!(String::from_utf8_lossy(&now[known.len()..]).contains(turn));
        known = now;
        assert_eq!(on(&["continue", "--in", "pi", "--json", &copy])["way"], "there");
    }
    // The whole copy is in its origin, with what is new.
    done(&home, 0, &["convert", "-t", "codex", "-o", "whole.jsonl", &copy]);
    let whole = fs::read_to_string(home.path("whole.jsonl")).expect("text");
    assert!(whole.contains("And one more?") && !whole.contains("copyist cut"));
}

#[test]
fn a_trimmed_session_of_a_moved_project_comes_back_whole() {
    let home = Dir::new();
    fs::create_dir_all(home.path("tides")).expect("a folder");
    let old = home.path("tides").canonicalize().expect("a folder");
    let new = old.with_file_name("harbour");
    let (old, new) = (old.to_str().expect("UTF-8"), new.to_str().expect("UTF-8"));
    let text = long(14).replace("/srv/tides", old);
    let folder = |project: &str| format!(".pi/agent/sessions/-{}--", project.replace('/', "-"));
    let name = format!("2026-01-05T08-00-00-000Z_{ID}.jsonl");
    let main = home.write(&format!("{}/{name}", folder(old)), text.as_bytes());
    done(&home, 0, &["trim", "--keep-turns", "1", "--in-place", ID]);
    done(&home, 0, &["append", "--text", "One more?", main.to_str().expect("UTF-8")]);
    fs::rename(old, new).expect("a folder");
    done(&home, 0, &["move", old, new]);
    let main = format!("{}/{name}", folder(new));
    done(&home, 0, &["convert", "-t", "pi", "-o", "whole.jsonl", &main]);
    let whole = fs::read_to_string(home.path("whole.jsonl")).expect("text");
    assert!(whole.starts_with(&text.replace(old, new)) && whole.contains("One more?"));
}

#[test]
fn what_no_model_gets_is_cut_from_every_session_without_a_trace() {
    let dir = Dir::new();
    let mut trimmed = 0;
    for agent in ["pi", "claude-code", "codex", "copilot-cli"] {
        for path in inputs_below(&testdata().join(agent)) {
            let name = path.to_str().expect("UTF-8");
            if done_any(&dir, &["validate", name]).0 != 0 {
                continue;
            }
            let small = "small.jsonl";
            let args = ["trim", "--keep-turns", "0", "--force", "-o", small, name];
            let kinds = ["--drop", "progress,branches"];
            let (code, text) = done_any(&dir, &[&args[..], &kinds[..]].concat());
            assert_eq!(code, 0, "{name}: {text}");
            let sent = |path: &str| done(&dir, 0, &["context", path]);
            assert_eq!(sent(name), sent(small), "{name}");
            done(&dir, 0, &args);
            assert_eq!(done_any(&dir, &["validate", small]).0, 0, "{name}");
            let _ = fs::remove_dir_all(dir.path("back"));
            let _ = fs::remove_dir_all(dir.path("small"));
            done(&dir, 0, &args);
            done(&dir, 0, &["convert", "-t", agent, "--out-dir", "back", small]);
            let all = |main: &Path| -> Vec<_> {
                let folder = main.with_extension("");
                let files = if folder.is_dir() { all_files(&folder) } else { Vec::new() };
                let beside = files.iter().map(|file| {
                    let name = file.strip_prefix(&folder).expect("below").to_owned();
                    (name, fs::read(file).expect("a file"))
                });
                beside.chain([(PathBuf::new(), fs::read(main).expect("a file"))]).collect()
            };
            assert!(all(&dir.path("back/small.jsonl")) == all(&path), "{name}");
            trimmed += 1;
        }
    }
    assert!(trimmed >= 15, "{trimmed}");
}

fn done_any(dir: &Dir, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(dir.root()).env_clear().env("HOME", dir.root());
    let done = command.args(args).output().expect("the program runs");
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    (done.status.code().unwrap_or(-1), text)
}

#[test]
fn wrong_use_is_refused_and_nothing_is_written() {
    let (dir, _) = three();
    let before = fs::read(dir.path("pi.jsonl")).expect("a file");
    let names = dir.names();
    assert!(done(&dir, 2, &["trim", "pi.jsonl"]).contains("--in-place"));
    assert!(done(&dir, 2, &["trim", "-n", "--to", "much", "pi.jsonl"]).contains("120k"));
    let text = done(&dir, 3, &["trim", "--to", "100", "--in-place", "pi.jsonl"]);
    assert!(text.contains("the smallest size is ") && text.contains("--keep-turns"), "{text}");
    let text = done(&dir, 0, &["trim", "-n", "pi.jsonl"]);
    assert!(text.contains("results") && text.contains("after"), "{text}");
    done(&dir, 3, &["trim", "-o", "codex.jsonl", "pi.jsonl"]);
    assert_eq!(fs::read(dir.path("pi.jsonl")).expect("a file"), before);
    assert_eq!(dir.names(), names);
    // A file that was changed in another way is not mixed with the whole one.
    done(&dir, 0, &["trim", "--to", "12k", "-o", "small.jsonl", "pi.jsonl"]);
    let text = fs::read_to_string(dir.path("small.jsonl")).expect("text");
    dir.write("small.jsonl", text.replacen("Question 3", "Question three", 1).as_bytes());
    let text = done(&dir, 3, &["convert", "-t", "pi", "-o", "back.jsonl", "small.jsonl"]);
    assert!(text.contains("not only continued"), "{text}");
    done(&dir, 0, &["convert", "-t", "pi", "-o", "back.jsonl", "small.jsonl.origin"]);
    assert_eq!(fs::read(dir.path("back.jsonl")).expect("a file"), before);
}
