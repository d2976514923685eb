//! Named pipes where files are expected: no run waits for somebody at their other end.
#![cfg(unix)]

use crate::common::{self, Dir, own, read};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const OLD: &str = "pi/v1/feature-work";

fn pipe(dir: &Dir, name: &str) {
    let made = Command::new("mkfifo").arg(dir.path(name)).status();
    assert!(made.is_ok_and(|made| made.success()), "mkfifo {name}");
}

/// Runs the program, which must end by itself.
fn ends(dir: &Dir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.args(args).current_dir(dir.root()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().expect("it runs");
            panic!("{args:?} waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("a child")
}

fn said(done: &Output) -> (i32, String) {
    let said = [&done.stdout[..], &done.stderr].concat();
    (done.status.code().expect("a code"), String::from_utf8_lossy(&said).into_owned())
}

fn orchard(ending: &str) -> Vec<u8> {
    let folder = common::testdata().join("agent-orchestrator/v2/orchard/in");
    read(&folder.join(format!("orchard{ending}")))
}

#[test]
fn a_report_goes_into_a_pipe() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    pipe(&dir, "r");
    let reader = Command::new("cat").arg(dir.path("r")).stdout(Stdio::piped()).spawn();
    let reader = reader.expect("a reader");
    let (code, told) = said(&ends(&dir, &["validate", "--report", "r", "a.jsonl"]));
    assert_eq!(code, 0, "{told}");
    let report = reader.wait_with_output().expect("a report").stdout;
    assert!(report.starts_with(b"{\n  \"copyist\""), "{}", String::from_utf8_lossy(&report));
}

#[test]
fn metadata_that_are_a_pipe_are_a_fault() {
    let dir = Dir::new();
    dir.write("s/x.jsonl", &orchard(".jsonl"));
    pipe(&dir, "s/x.meta.json");
    let (code, told) = said(&ends(&dir, &["list", "--sessions-dir", "s"]));
    assert!(code == 0 && told.contains("regular file"), "{told}");
    dir.write("in/orchard.jsonl", &orchard(".jsonl"));
    pipe(&dir, "in/orchard.meta.json");
    for way in [&["--in-place"][..], &["--in-place", "--force"]] {
        let (code, told) = said(&ends(&dir, &[&["repair"], way, &["in/orchard.jsonl"]].concat()));
        assert!(code == 3 && told.contains("regular file"), "{told}");
    }
    assert_eq!(read(&dir.path("in/orchard.jsonl")), orchard(".jsonl"));
}

#[test]
fn a_backup_gets_a_name_beside_a_pipe() {
    let dir = Dir::new();
    dir.copy(OLD, "y.jsonl");
    pipe(&dir, "y.jsonl.bak");
    let (code, told) = said(&ends(&dir, &["migrate", "--in-place", "--journal", "j", "y.jsonl"]));
    assert_eq!(code, 0, "{told}");
    assert_eq!(read(&dir.path("y.jsonl.bak.2")), own(OLD));
    pipe(&dir, "k");
    assert_eq!(said(&ends(&dir, &["undo", "k"])).0, 2);
    assert_eq!(said(&ends(&dir, &["undo", "j"])).0, 0);
}

#[test]
fn an_output_below_a_folder_does_not_go_into_a_pipe() {
    let dir = Dir::new();
    dir.copy(OLD, "in/a.jsonl");
    dir.write("o/b", b"");
    pipe(&dir, "o/a.jsonl");
    let (code, told) = said(&ends(&dir, &["migrate", "--force", "--out-dir", "o", "in"]));
    assert!(code == 3 && told.contains("regular file"), "{told}");
}

#[test]
fn a_pipe_cannot_be_changed_in_place_and_nobody_waits_for_its_writer() {
    let dir = Dir::new();
    pipe(&dir, "s.jsonl");
    for args in [&["migrate", "--in-place", "s.jsonl"], &["repair", "--in-place", "s.jsonl"]] {
        let (code, told) = said(&ends(&dir, args));
        assert!(code == 3 && told.contains("only a regular file"), "{code} {told}");
    }
}
