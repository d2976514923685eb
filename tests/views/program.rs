//! The command `show`, and views as targets of `convert`.

use crate::common::{Dir, testdata};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn run(dir: &Dir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.args(args).current_dir(dir.root()).env("HOME", dir.root());
    command.env_remove("COPYIST_PAGER").output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with the session of the views.
fn dir() -> (Dir, PathBuf) {
    let dir = Dir::new();
    let path = dir.path("session.jsonl");
    fs::copy(testdata().join("views/session.jsonl"), &path).expect("a copy");
    (dir, path)
}

#[test]
fn show_prints_text_without_a_terminal() {
    let (dir, _) = dir();
    let done = run(&dir, &["show", "--width", "80", "session.jsonl"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let golden = fs::read_to_string(testdata().join("views/session.short.txt")).expect("a golden");
    assert_eq!(text(&done.stdout), golden);
}

#[test]
fn show_refuses_an_existing_output() {
    let (dir, _) = dir();
    let show = |more: &[&str]| {
        run(
            &dir,
            &[&["show", "--as", "html", "-o", "out/page.html", "session.jsonl"], more].concat(),
        )
    };
    let first = show(&[]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert!(text(&first.stderr).contains("written: out/page.html"), "{}", text(&first.stderr));
    let page = fs::read(dir.path("out/page.html")).expect("a page");
    fs::write(dir.path("out/page.html"), "mine").expect("a file");
    assert_eq!(show(&[]).status.code(), Some(3));
    assert_eq!(fs::read(dir.path("out/page.html")).expect("a file"), b"mine");
    assert_eq!(show(&["--force"]).status.code(), Some(0));
    assert_eq!(fs::read(dir.path("out/page.html")).expect("a page"), page);
}

#[test]
fn show_names_branches_that_exist() {
    let (dir, _) = dir();
    let other = run(&dir, &["show", "--branch", "1", "session.jsonl"]);
    assert!(text(&other.stdout).contains("one test fails"), "{}", text(&other.stdout));
    assert!(!text(&other.stdout).contains("Parser first"));
    let none = run(&dir, &["show", "--branch", "9", "session.jsonl"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(text(&none.stderr).contains("there is no branch 9; the last one is 1"));
}

#[test]
fn show_ends_quietly_where_the_pipe_is_closed() {
    let (dir, path) = dir();
    let line =
        format!("{} show --as html {} | head -c 20", env!("CARGO_BIN_EXE_copyist"), path.display());
    let done = Command::new("sh").args(["-c", &line]).env("HOME", dir.root()).output().expect("sh");
    assert_eq!(text(&done.stderr), "");
}
