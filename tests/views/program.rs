//! The command `show`, and views as targets of `convert`.

use crate::common::{Dir, own_inputs, testdata};
use serde_json::Value;
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
    let line = format!(
        "{} show --as html --no-redact {} | head -c 20",
        env!("CARGO_BIN_EXE_copyist"),
        path.display()
    );
    let done = Command::new("sh").args(["-c", &line]).env("HOME", dir.root()).output().expect("sh");
    assert_eq!(text(&done.stderr), "");
}

/// A folder with three sessions, of which one is named like a list of pages.
fn folder() -> Dir {
    let (dir, path) = dir();
    fs::create_dir_all(dir.path("in/sub")).expect("a folder");
    fs::copy(&path, dir.path("in/index.jsonl")).expect("a copy");
    let older = fs::read_to_string(&path).expect("a session").replace("2026-11-03", "2025-01-02");
    fs::write(dir.path("in/sub/old one.jsonl"), older.replace("Tide clock", "Old <clock>"))
        .expect("a session");
    fs::write(dir.path("in/torn.jsonl"), older.get(..older.len() / 2).unwrap_or_default())
        .expect("a session");
    fs::remove_file(path).expect("a file");
    dir
}

#[test]
fn convert_writes_pages_with_a_list() {
    let dir = folder();
    let done = run(&dir, &["convert", "-t", "html", "--out-dir", "out", "in"]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    let err = text(&done.stderr);
    assert!(err.contains("3 converted") && err.contains("written: out/index.html"), "{err}");
    let list = fs::read_to_string(dir.path("out/index.html")).expect("a list");
    let links: Vec<_> = list.split("href=\"").skip(1).map(|link| link.split('"').next()).collect();
    assert_eq!(links, [Some("index-2.html"), Some("sub/old%20one.html"), Some("torn.html")]);
    assert!(list.contains("Old &lt;clock&gt;") && list.contains("~/tide-clock"));
    let page = fs::read_to_string(dir.path("out/sub/old one.html")).expect("a page");
    assert!(page.contains("high tide 12 hours late"));
    let all: Vec<_> = crate::common::all_files(&dir.path("out"));
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn convert_writes_markdown_with_a_list() {
    let dir = folder();
    let done = run(&dir, &["convert", "-t", "markdown", "--out-dir", "out", "in"]);
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
    let list = fs::read_to_string(dir.path("out/index.md")).expect("a list");
    assert!(list.contains("# 3 sessions\n"), "{list}");
    assert!(
        list.contains("| [Old \\<clock\\>: high tide 12 hours late](sub/old%20one.md) | pi |"),
        "{list}"
    );
}

#[test]
fn convert_to_views_keeps_what_exists() {
    let dir = folder();
    let convert = |more: &[&str]| {
        run(&dir, &[&["convert", "-t", "html", "--out-dir", "out", "in"], more].concat())
    };
    let dry = convert(&["-n"]);
    assert!(
        text(&dry.stderr).contains("3 converted") && !dir.path("out").exists(),
        "{}",
        text(&dry.stderr)
    );
    fs::create_dir(dir.path("out")).expect("a folder");
    fs::write(dir.path("out/index.html"), "mine").expect("a file");
    let refused = convert(&[]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(
        text(&refused.stderr).contains("out/index.html exists and is no list of views"),
        "{}",
        text(&refused.stderr)
    );
    assert_eq!(fs::read(dir.path("out/index.html")).expect("a file"), b"mine");
    let forced = convert(&["--force"]);
    assert_eq!(forced.status.code(), Some(1), "{}", text(&forced.stderr));
    assert!(fs::read_to_string(dir.path("out/index.html")).expect("a list").contains("3 sessions"));
    // Pages exist now, and stay.
    assert_eq!(convert(&[]).status.code(), Some(3));
}

#[test]
fn convert_to_views_goes_on_where_a_journal_ends() {
    let dir = folder();
    let convert = |more: &[&str]| {
        let args = ["convert", "-t", "html", "--journal", "run.log", "--out-dir", "out", "in"];
        run(&dir, &[&args[..], more].concat())
    };
    assert_eq!(convert(&[]).status.code(), Some(1));
    let before = fs::read(dir.path("out/index.html")).expect("a list");
    fs::remove_file(dir.path("out/torn.html")).expect("a file");
    let again = convert(&["--resume"]);
    let err = text(&again.stderr);
    assert!(err.contains("1 converted, 2 done"), "{err}");
    assert_eq!(fs::read(dir.path("out/index.html")).expect("a list"), before);
}

#[test]
fn views_are_no_sessions() {
    let (dir, _) = dir();
    for (form, ending) in [("html", "html"), ("markdown", "md")] {
        let page = format!("page.{ending}");
        let done = run(&dir, &["convert", "-t", form, "-o", &page, "session.jsonl"]);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        let read = run(&dir, &["inspect", &page]);
        assert_eq!(read.status.code(), Some(3));
        assert!(text(&read.stderr).contains("it is a view by copyist"), "{}", text(&read.stderr));
    }
    let unfit =
        run(&dir, &["convert", "-t", "html", "--map-path", "/a=/b", "-o", "p", "session.jsonl"]);
    assert_eq!(unfit.status.code(), Some(2));
    assert!(text(&unfit.stderr).contains("`--map-path` is for sessions, and html is only read"));
    let unknown = run(&dir, &["convert", "-t", "word", "-o", "p", "session.jsonl"]);
    assert!(text(&unknown.stderr).contains("views: html, markdown"), "{}", text(&unknown.stderr));
}

#[test]
fn views_are_the_same_with_any_number_of_threads() {
    let dir = folder();
    let bytes = |out: &str, jobs: &str| {
        run(&dir, &["convert", "-t", "html", "-j", jobs, "--out-dir", out, "in"]);
        let files = crate::common::all_files(&dir.path(out));
        files.iter().map(|file| fs::read(file).expect("a file")).collect::<Vec<_>>()
    };
    assert_eq!(bytes("one", "1"), bytes("many", "4"));
}

/// The first line of JSON that a command prints about a session.
fn told(dir: &Dir, args: &[&str], session: &str) -> Value {
    let done = run(dir, &[args, &[session]].concat());
    let out = text(&done.stdout);
    let value = if args.contains(&"show") { Some(out.as_str()) } else { out.lines().next() };
    serde_json::from_str(value.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{args:?} {session}: {error}: {}", text(&done.stderr)))
}

#[test]
fn titles_and_turns_are_the_same_in_list_show_and_inspect() {
    let dir = Dir::new();
    for input in own_inputs() {
        let session = input.to_str().expect("UTF-8");
        let listed = told(&dir, &["list", "--json"], session);
        let shown = &told(&dir, &["show", "--as", "json"], session)["session"];
        let inspected = &told(&dir, &["inspect", "--json"], session)["inspection"];
        assert_eq!(listed["title"], shown["title"], "{session}");
        let all = shown["turns"].as_array().expect("turns");
        assert_eq!(inspected["turns"], all.len(), "{session}");
        // The turns that lead to the last entry, among those of all branches.
        let mut all = all.iter().map(|turn| (&turn["number"], &turn["title"]));
        for turn in inspected["by_turn"].as_array().into_iter().flatten() {
            let turn = (&turn["number"], &turn["input"]);
            assert!(all.any(|shown| shown == turn), "{session}: {turn:?}");
        }
    }
}
