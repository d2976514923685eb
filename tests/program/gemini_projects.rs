//! Folders that Gemini CLI gives projects, which its list and a file in each folder name.

use crate::common::{self, Dir, inputs_below, read};
use crate::onward::{path_of, run, said};
use serde_json::{Value, json};
use std::fs;

/// A home in which the program knows the project `a/boats`, and another project of this name.
fn home() -> (Dir, String, String) {
    let home = Dir::new();
    let project = |name: &str| {
        let path = home.path(name);
        fs::create_dir_all(&path).expect("a folder");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (known, other) = (project("a/boats"), project("b/boats"));
    let list = json!({"projects": {known.as_str(): "boats"}});
    home.write(".gemini/projects.json", list.to_string().as_bytes());
    for folder in ["tmp", "history"] {
        home.write(&format!(".gemini/{folder}/boats/.project_root"), known.as_bytes());
    }
    (home, known, other)
}

#[test]
fn session_goes_to_the_folder_that_the_program_gives_its_project() {
    let (home, known, other) = home();
    let cases = [("codex/v2/polish", &known, "boats"), ("codex/v3/mars", &other, "boats-1")];
    for (case, project, folder) in cases {
        let source = inputs_below(&common::testdata().join(case)).remove(0);
        let source = source.to_str().expect("UTF-8");
        let words = ["continue", source, "--in", "gemini-cli", "--cwd", project, "--json"];
        let done = run(&home, &words);
        let out: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let chats = home.path(&format!(".gemini/tmp/{folder}/chats"));
        assert_eq!(path_of(&out).parent(), Some(chats.as_path()), "{out}");
    }
    let out = home.path(".gemini/tmp");
    let out = ["--layout", "native", "--out-dir", out.to_str().expect("UTF-8")];
    let source = home.path("session.jsonl");
    let header = json!({"type": "session", "version": 3, "timestamp": "2026-01-03T08:20:55.301Z",
        "id": "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b", "cwd": other});
    let asked = json!({"type": "message", "id": "aaaa0001", "parentId": null,
        "timestamp": "2026-01-03T08:21:00.000Z", "message": {"role": "user", "content": "Here?",
        "timestamp": 1}});
    fs::write(&source, format!("{header}\n{asked}\n")).expect("written");
    let words = ["convert", "-t", "gemini-cli", source.to_str().expect("UTF-8")];
    let (code, text) = said(&home, &[&words[..], &out].concat());
    assert!(code == 0 && text.contains("/tmp/boats-1/chats/"), "{text}");
}

#[test]
fn moved_project_keeps_its_folder() {
    let (home, known, other) = home();
    let (code, text) = said(&home, &["move", &known, &other]);
    assert_eq!(code, 0, "{text}");
    let list: Value =
        serde_json::from_slice(&read(&home.path(".gemini/projects.json"))).expect("JSON");
    assert_eq!(list, json!({"projects": {other.as_str(): "boats"}}));
    for folder in ["tmp", "history"] {
        let mark = home.path(&format!(".gemini/{folder}/boats/.project_root"));
        assert_eq!(String::from_utf8_lossy(&read(&mark)), other);
    }
}

#[test]
fn sessions_of_a_moved_project_go_to_the_folder_that_the_program_has_for_the_new_path() {
    let (home, known, other) = home();
    let list =
        json!({"projects": {known.as_str(): "boats", other.as_str(): "boats-1"}}).to_string();
    home.write(".gemini/projects.json", list.as_bytes());
    home.write(".gemini/tmp/boats-1/.project_root", other.as_bytes());
    let log = "chats/session-2026-03-04T09-00-1a2b3c4d.jsonl";
    let source =
        read(&inputs_below(&common::testdata().join("gemini-cli/v2/lighthouse")).remove(0));
    home.write(&format!(".gemini/tmp/boats/{log}"), &source);
    let (code, text) = said(&home, &["move", &known, &other]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(read(&home.path(".gemini/projects.json")), list.as_bytes());
    assert_eq!(read(&home.path(&format!(".gemini/tmp/boats-1/{log}"))), source);
    assert!(!home.path(&format!(".gemini/tmp/boats/{log}")).exists());
    let mark = read(&home.path(".gemini/tmp/boats/.project_root"));
    assert_eq!(String::from_utf8_lossy(&mark), known);
}

#[test]
fn new_projects_of_one_name_get_folders_of_their_own() {
    let home = Dir::new();
    for (case, folder, number) in
        [("codex/v2/polish", "a/app", "app"), ("codex/v3/mars", "b/app", "app-1")]
    {
        let project = home.path(folder);
        fs::create_dir_all(&project).expect("a folder");
        let source = inputs_below(&common::testdata().join(case)).remove(0);
        let (source, project) = (source.to_str().expect("UTF-8"), project.to_str().expect("UTF-8"));
        let words = ["continue", source, "--in", "gemini-cli", "--cwd", project, "--json"];
        let done = run(&home, &words);
        let out: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let chats = home.path(&format!(".gemini/tmp/{number}/chats"));
        assert_eq!(path_of(&out).parent(), Some(chats.as_path()), "{out}");
        let mark = read(&home.path(&format!(".gemini/tmp/{number}/.project_root")));
        assert_eq!(String::from_utf8_lossy(&mark), project);
    }
}

#[test]
fn session_of_the_program_keeps_its_name() {
    let (home, known, _) = home();
    let source = inputs_below(&common::testdata().join("gemini-cli/v2/lighthouse")).remove(0);
    let source = source.to_str().expect("UTF-8");
    let words = ["continue", source, "--in", "gemini-cli", "--cwd", &known, "--json"];
    let done = run(&home, &words);
    let out: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let name = path_of(&out);
    let name = name.file_name().and_then(|name| name.to_str());
    assert_eq!(name, Some("session-2026-03-04T09-00-1a2b3c4d.jsonl"), "{out}");
}
