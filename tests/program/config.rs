//! The settings file: which value counts, and what is wrong with a file.

use crate::common::{Dir, own};
use std::process::{Command, Output};

fn run(dir: &Dir, set: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_copyist"));
    for name in ["COPYIST_JOBS", "COPYIST_COLOR", "COPYIST_CONFIG", "XDG_CONFIG_HOME"] {
        program.env_remove(name);
    }
    program.args(args).current_dir(dir.root()).env("HOME", dir.root());
    let Output { status, stdout, stderr } =
        program.envs(set.iter().copied()).output().expect("the program runs");
    let said = String::from_utf8([stdout, stderr].concat()).expect("UTF-8");
    (status.code().expect("an exit code"), said)
}

const FILE: &str = ".config/copyist/config.yaml";

#[test]
fn a_variable_wins_over_the_file_and_the_file_over_the_default() {
    let dir = Dir::new();
    let (code, plain) = run(&dir, &[], &["config"]);
    assert!(code == 0 && plain.contains("config.yaml (not there)"), "{plain}");
    dir.write(FILE, b"defaults:\n  jobs: 3\n  color: never\nhomes:\n  codelia: ~/work\n");
    let line = |said: &str, name: &str| {
        let line = said.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let (_, said) = run(&dir, &[("COPYIST_COLOR", "always")], &["config"]);
    let file = dir.path(FILE).to_string_lossy().into_owned();
    assert_eq!(line(&said, "jobs"), ["jobs", "3", &file], "{said}");
    assert_eq!(line(&said, "color"), ["color", "always", "COPYIST_COLOR"], "{said}");
    assert_eq!(line(&said, "progress"), ["progress", "auto", "default"], "{said}");
    let home = dir.path("work").to_string_lossy().into_owned();
    assert_eq!(line(&said, "homes.codelia"), ["homes.codelia", &home, &file], "{said}");
}

#[test]
fn settings_of_the_file_count_unless_a_flag_sets_another() {
    let dir = Dir::new();
    dir.write(FILE, b"map-path:\n- /home/ada=/srv\n");
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/home/ada/x"}"#;
    dir.write("s.jsonl", format!("{header}\n").as_bytes());
    let to = |more: &[&str]| {
        let args = [&["convert", "-t", "canonical", "-o", "-", "s.jsonl"], more].concat();
        run(&dir, &[], &args).1
    };
    assert!(to(&[]).contains(r#""cwd":"/srv/x""#), "{}", to(&[]));
    let other = to(&["--map-path", "/home=/else"]);
    assert!(other.contains(r#""cwd":"/else/ada/x""#), "{other}");
}

#[test]
fn a_session_is_looked_for_in_the_homes_of_the_file() {
    let dir = Dir::new();
    let id = "a0f64c72-64f3-4718-b05d-d70748d1efb1";
    dir.write(&format!("mine/--x--/2026-02-20T12-00-31-207Z_{id}.jsonl"), &own("pi/v3/bom"));
    dir.write(FILE, b"homes:\n  pi: ~/mine\n");
    let (code, said) = run(&dir, &[], &["context", "--session", id]);
    assert!(code == 0 && said.contains("messages"), "{said}");
}

#[test]
fn a_bad_file_is_an_error_with_its_place() {
    let dir = Dir::new();
    for (text, what) in [
        ("defaults:\n  job: 3\n", "unknown field `job`"),
        ("defaults:\n  color: pink\n", "invalid value 'pink'"),
        ("defaults:\n  jobs: many\n", "invalid type"),
        ("homes:\n  emacs: /x\n", "no format is called `emacs`"),
        ("map-path:\n- nothing\n", "expected OLD=NEW"),
        ("- a list\n", "invalid type"),
        ("a: [\n", "config.yaml"),
    ] {
        dir.write(FILE, text.as_bytes());
        for args in [&["config"][..], &["convert", "-t", "pi", "-o", "-", "x"]] {
            let (code, said) = run(&dir, &[], args);
            assert!(code == 2 && said.contains(what) && said.contains(FILE), "{text}: {said}");
        }
        // What needs no settings goes on.
        assert_eq!(run(&dir, &[], &["explain", "CY0101"]).0, 0);
    }
    for text in ["", "# nothing yet\n", "defaults: {}\n"] {
        dir.write(FILE, text.as_bytes());
        assert_eq!(run(&dir, &[], &["config"]).0, 0, "{text:?}");
    }
    let missing = run(&dir, &[("COPYIST_CONFIG", "gone.yaml")], &["config"]);
    assert!(missing.0 == 2 && missing.1.contains("gone.yaml"), "{}", missing.1);
}

/// The schema has the names that the file may have, and takes what the program takes.
#[test]
fn the_schema_is_that_of_the_file() {
    let dir = Dir::new();
    let (_, schema) = run(&dir, &[], &["config", "--schema"]);
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let all = r#"{"homes":{"pi":"/x"},"defaults":{"jobs":1,"max-line":9,"index-memory":9,"encoding":"gbk","width":80,
        "progress":"never","color":"auto"},"map-path":["/a=/b"]}"#;
    let value: serde_json::Value = serde_json::from_str(all).expect("JSON");
    assert!(validator.is_valid(&value));
    dir.write(FILE, all.as_bytes());
    let (code, said) = run(&dir, &[], &["config"]);
    assert_eq!(code, 0, "{said}");
    assert!(!validator.is_valid(&serde_json::json!({"defaults": {"job": 1}})));
}
