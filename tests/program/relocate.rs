//! Sessions of a project whose folder was moved.

use crate::common::{Dir, all_files, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn said(home: &Dir, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root());
    let done = command.args(args).output().expect("the program runs");
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

fn out(home: &Dir, args: &[&str]) -> String {
    let (code, text) = said(home, args);
    assert_eq!(code, 0, "{args:?}: {text}");
    text
}

/// A session of pi in a folder.
fn seed(home: &Dir, id: &str, folder: &Path) -> PathBuf {
    let header = json!({"type": "session", "version": 3, "id": id,
        "timestamp": "2026-01-03T08:20:55.301Z", "cwd": folder});
    let said = format!("See {}", folder.join("notes.md").display());
    let message = |n: u32, parent: Value, role: &str| {
        json!({"type": "message", "id": format!("aaaa000{n}"), "parentId": parent,
            "timestamp": format!("2026-01-03T08:21:0{n}.000Z"),
            "message": {"role": role, "content": [{"type": "text", "text": said}],
                "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5",
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                "stopReason": "stop", "timestamp": 1_767_428_460_000_u64 + u64::from(n)}})
    };
    let lines =
        [header, message(1, Value::Null, "user"), message(2, json!("aaaa0001"), "assistant")];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.write(&format!("seeds/{id}.jsonl"), text.as_bytes())
}

/// The name of the folder that Claude Code and pi have for a project.
fn slug(folder: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    folder.to_string_lossy().chars().map(plain).collect()
}

struct Project {
    home: Dir,
    old: PathBuf,
    new: PathBuf,
}

/// A home with sessions of three agents in two projects whose names begin alike.
fn project() -> Project {
    let home = Dir::new();
    let root = home.root().canonicalize().expect("a folder");
    let (old, new) = (root.join("foo"), root.join("renamed/foo"));
    for (number, folder) in [(1, old.clone()), (2, old.join("inner")), (3, root.join("foo-docker"))]
    {
        fs::create_dir_all(&folder).expect("a folder");
        let id = format!("019b8fa2-6a6d-7c31-9e5b-00000000000{number}");
        let seed = seed(&home, &id, &folder);
        let agents = [
            ("claude-code", ".claude/projects"),
            ("codex", ".codex/sessions"),
            ("pi", ".pi/agent/sessions"),
        ];
        for (agent, sessions) in agents {
            let place = home.path(sessions);
            let args =
                ["convert", "-q", "--no-origin", "--layout", "native", "-t", agent, "--out-dir"];
            let place = place.to_str().expect("UTF-8");
            out(&home, &[&args[..], &[place, seed.to_str().expect("UTF-8")]].concat());
        }
    }
    let listed = json!({"projects": {old.to_str().expect("UTF-8"): {"a": 1}, "/else": {}}});
    home.write(".claude.json", format!("{listed:#}\n").as_bytes());
    let prompts = [old.clone(), root.join("foo-docker")]
        .map(|folder| json!({"display": format!("in {}", folder.display()), "project": folder}));
    home.write(".claude/history.jsonl", format!("{}\n{}\n", prompts[0], prompts[1]).as_bytes());
    let trusted = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", old.display());
    home.write(".codex/config.toml", trusted.as_bytes());
    let claude = home.path(".claude/projects").join(slug(&old));
    let id = "019b8fa2-6a6d-7c31-9e5b-000000000001";
    fs::create_dir_all(claude.join(id).join("tool-results")).expect("a folder");
    let output = format!("output of {}\n", old.display());
    fs::write(claude.join(id).join("tool-results/a.txt"), output).expect("room");
    Project { home, old, new }
}

/// Contents of all files but those of the program itself.
fn state(home: &Dir) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = all_files(home.root()).into_iter();
    let own = |file: &PathBuf| {
        let text = file.to_string_lossy();
        !text.contains("/.local/") && !text.contains("/.cache/")
    };
    files.filter(own).map(|file| (file.clone(), read(&file))).collect()
}

impl Project {
    fn rename(&self) {
        fs::create_dir_all(self.new.parent().expect("a folder")).expect("a folder");
        fs::rename(&self.old, &self.new).expect("it moves");
    }

    fn paths(&self) -> [&str; 2] {
        [&self.old, &self.new].map(|path| path.to_str().expect("UTF-8"))
    }
}

fn projects(home: &Dir) -> Vec<String> {
    let text = out(home, &["list", "--json"]);
    let mut all: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|one| one["project"].as_str().unwrap_or_default().to_owned())
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn sessions_of_a_moved_project_are_at_its_new_place() {
    let project = project();
    let home = &project.home;
    project.rename();
    let before = state(home);
    let [old, new] = project.paths();
    let text = out(home, &["move", "-n", old, new]);
    assert!(text.contains("would be changed") && text.contains("config.toml"), "{text}");
    assert_eq!(state(home), before, "nothing is written");
    let text = out(home, &["move", old, new]);
    let after = state(home);
    let docker = home.root().canonicalize().expect("a folder").join("foo-docker");
    let docker = docker.to_str().expect("UTF-8");
    let inner = format!("{new}/inner");
    let expected = [docker, docker, docker, new, new, new, &inner, &inner, &inner];
    assert_eq!(projects(home), expected, "{text}");
    for (path, text) in &after {
        let shown = path.display();
        let kept = path.extension().is_some_and(|ending| ending == "bak");
        if kept || path.ends_with("config.toml") || path.starts_with(home.path("seeds")) {
            continue;
        }
        let text = String::from_utf8_lossy(text);
        for line in text
            .lines()
            .filter(|line| line.contains(&format!("{old}\"")) || line.contains(&format!("{old}/")))
        {
            assert!(
                ["See ", "output of", "display"].iter().any(|words| line.contains(words)),
                "{shown}: {line}"
            );
        }
        if path.to_string_lossy().contains("foo-docker") {
            assert_eq!(before.get(path).map(Vec::as_slice), Some(text.as_bytes()), "{shown}");
        }
    }
    let claude = home.path(".claude/projects").join(slug(&project.new));
    let id = "019b8fa2-6a6d-7c31-9e5b-000000000001";
    assert!(claude.join(format!("{id}.jsonl")).is_file(), "{text}");
    assert!(claude.join(id).join("tool-results/a.txt").is_file());
    assert!(
        !home.path(".claude/projects").join(slug(&project.old)).exists(),
        "the old folder is gone"
    );
    let listed: Value = serde_json::from_slice(&read(&home.path(".claude.json"))).expect("JSON");
    assert_eq!(listed["projects"][new], json!({"a": 1}));
    let again = out(home, &["move", old, new]);
    assert!(again.contains("no session names"), "{again}");
}

#[test]
fn moved_sessions_undone_are_as_they_were() {
    let project = project();
    let home = &project.home;
    project.rename();
    let before = state(home);
    let [old, new] = project.paths();
    let text = out(home, &["move", "--journal", "j", old, new]);
    assert!(text.contains("copyist undo j"), "{text}");
    let text = out(home, &["undo", "j"]);
    fs::remove_file(home.path("j")).expect("a journal");
    let after = state(home);
    let paths = |state: &BTreeMap<PathBuf, Vec<u8>>| state.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&after), paths(&before), "{text}");
    assert_eq!(after, before);
}

#[test]
fn moved_session_with_an_origin_still_comes_back() {
    let project = project();
    let home = &project.home;
    let [old, new] = project.paths();
    let claude = home.path(".claude/projects").join(slug(&project.old));
    let original = claude.join("019b8fa2-6a6d-7c31-9e5b-000000000001.jsonl");
    // The copy of Codex has another identifier, so that it is not the session that is there.
    let done =
        out(home, &["continue", original.to_str().expect("UTF-8"), "--in", "codex", "--json"]);
    let done = done.lines().next().expect("a line");
    let copy: Value = serde_json::from_str(done).expect("JSON");
    let copy = PathBuf::from(copy["path"].as_str().expect("a path"));
    project.rename();
    out(home, &["move", old, new]);
    let mut text = String::from_utf8(read(&copy)).expect("UTF-8");
    for (role, kind, words) in
        [("user", "input_text", "And the low ones?"), ("assistant", "output_text", "Neap.")]
    {
        let line = json!({"timestamp": "2026-01-04T09:00:00.000Z", "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}});
        text.push_str(&format!("{line}\n"));
    }
    fs::write(&copy, text).expect("room");
    let done =
        out(home, &["continue", copy.to_str().expect("UTF-8"), "--in", "claude-code", "--json"]);
    let done = done.lines().next().expect("a line");
    let back: Value = serde_json::from_str(done).expect("JSON");
    assert_eq!((&back["way"], &back["project"]), (&json!("added"), &json!(new)), "{back}");
    assert!(back["path"].as_str().is_some_and(|path| path.contains(&slug(&project.new))), "{back}");
}

#[test]
fn a_path_of_windows_moves_on_any_system_in_each_of_its_spellings() {
    let home = Dir::new();
    let header = |cwd: &str| {
        json!({"type": "session", "version": 3, "id": "0a1b2c3d",
        "timestamp": "2026-01-03T08:20:55.301Z", "cwd": cwd})
    };
    let place =
        |n: u32| format!(".pi/agent/sessions/other/2026-01-0{n}T08-20-55-301Z_0a1b2c3d.jsonl");
    for (n, old, new) in [
        (1, r"C:\Users\ada\quay", r"D:\work\quay"),
        (2, "c:/users/ada/quay/docs", "D:/work/quay/docs"),
        (3, r"\\?\C:\Users\ada\quay", r"\\?\D:\work\quay"),
        (4, "/mnt/c/Users/ada/quay", "/mnt/d/work/quay"),
        (5, r"C:\Users\ada\quay-two", r"C:\Users\ada\quay-two"),
    ] {
        home.write(&place(n), format!("{}\n", header(old)).as_bytes());
        home.write(&format!("expected/{n}"), format!("{}\n", header(new)).as_bytes());
    }
    let listed = |dir| out(&home, &["list", "--json", "--project", dir]).lines().count();
    assert_eq!((listed("C:/Users/ada/quay"), listed("/mnt/c/Users/ada/quay")), (4, 4));
    let text = out(&home, &["move", r"C:\Users\ada\quay", r"D:\work\quay"]);
    assert!(text.contains("4 paths changed in 4 files"), "{text}");
    for n in 1..=5 {
        assert_eq!(read(&home.path(&place(n))), read(&home.path(&format!("expected/{n}"))), "{n}");
    }
}
