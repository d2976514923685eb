//! A signal lets the work in flight end; a second one ends it. Neither leaves half a file.
#![cfg(unix)]

use crate::common::{self, Dir, files, own, read};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const OLD: &str = "pi/v1/feature-work";
const FILES: usize = 1500;
const KEPT: usize = 40;

const RESUME: [&str; 7] = ["migrate", "-j1", "--in-place", "--journal", "j", "--resume", "in"];

fn folder() -> Dir {
    let dir = Dir::in_memory();
    let session = own(OLD);
    for n in 0..FILES {
        dir.write(&format!("in/{n}.jsonl"), &session);
    }
    // Originals of an earlier run, which are no inputs.
    (0..KEPT).for_each(|n| drop(dir.write(&format!("in/x{n}.jsonl.bak"), &session)));
    dir
}

/// Starts a run, and waits until it is at work.
fn begin(dir: &Dir) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_copyist"))
        .args(RESUME)
        .current_dir(dir.root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let start = Instant::now();
    while !temporary(dir) && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Whether there is a temporary file.
fn temporary(dir: &Dir) -> bool {
    files_of(dir).iter().any(|name| name.starts_with(".copyist-"))
}

fn files_of(dir: &Dir) -> Vec<String> {
    // Names come and go meanwhile.
    let entries = std::fs::read_dir(dir.path("in")).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().expect("a number")).expect("a process");
    kill_process(pid, signal).expect("it is there");
}

/// Every file is as it was or as it becomes; how many are done.
fn done(dir: &Dir, new: &[u8]) -> usize {
    let old = own(OLD);
    let is_new = |n: usize| {
        let now = read(&dir.path(&format!("in/{n}.jsonl")));
        assert!(now == new || now == old, "{n} is not whole");
        now == new
    };
    (0..FILES).filter(|n| is_new(*n)).count()
}

/// Goes on, and takes everything back.
fn finish(dir: &Dir, new: &[u8]) {
    let (code, said) = dir.exit(&RESUME);
    assert_eq!(code, 0, "{said}");
    assert_eq!(done(dir, new), FILES);
    assert!(!temporary(dir));
    assert_eq!(dir.exit(&["undo", "j"]).0, 0);
    assert_eq!(done(dir, new), 0);
    assert_eq!(files(&dir.path("in")).len(), FILES + KEPT);
}

fn migrated() -> Vec<u8> {
    common::migrated(&own(OLD), "pi@3", &copyist::format::Options::default()).0.expect("a session")
}

#[test]
fn the_first_lets_the_work_in_flight_end() {
    let new = migrated();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let dir = folder();
        let child = begin(&dir);
        send(&child, signal);
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.contains("not begun"), "{said}");
        assert!(!temporary(&dir), "the work in flight was not ended");
        let done = done(&dir, &new);
        assert!(done > 0 && done < FILES, "{done} done; {said}");
        assert!(
            said.contains(&format!("; {} inputs not begun", FILES - done)),
            "{done} done; {said}"
        );
        // What is done is in the journal, and nothing else.
        let journal = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
        assert_eq!(journal.lines().count(), 1 + done);
        finish(&dir, &new);
    }
}

#[test]
fn a_second_one_ends_it() {
    let new = migrated();
    let dir = folder();
    let mut child = begin(&dir);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    done(&dir, &new);
    finish(&dir, &new);
}
