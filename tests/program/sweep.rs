//! What a killed run leaves is swept by the next one that writes there, and nothing else is.

use crate::common::{self, Dir};
use std::fs::File;

const OLD: &str = "pi/v1/feature-work";
const NEW: &str = "pi/v3/everything";
const STALE: &str = ".copyist-4711-aB3dE6.tmp";

/// Runs the program with a stale temporary file in `folder`; whether the file was swept.
fn swept(dir: &Dir, folder: &str, args: &[&str]) -> bool {
    let stale = dir.write(&format!("{folder}/{STALE}"), b"half");
    dir.run(args);
    !stale.exists()
}

#[test]
fn each_run_sweeps_the_folders_that_it_writes_into() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    dir.copy(NEW, "b.jsonl");
    dir.copy(OLD, "in/c.jsonl");
    dir.write("there.jsonl", b"there");
    let cases: &[(&str, &[&str])] = &[
        (".", &["migrate", "-o", "new.jsonl", "a.jsonl"]),
        (".", &["convert", "-t", "canonical", "-o", "./other.jsonl", "a.jsonl"]),
        // The output exists and is left, or the file is at its target already.
        (".", &["migrate", "-o", "there.jsonl", "a.jsonl"]),
        (".", &["migrate", "--in-place", "b.jsonl"]),
        ("in", &["migrate", "--in-place", "in"]),
        ("out", &["migrate", "--out-dir", "out", "a.jsonl"]),
        ("out/deep", &["migrate", "--out-dir", "out/deep", "a.jsonl"]),
        ("reports", &["validate", "--report", "reports/r.json", "a.jsonl"]),
    ];
    for (folder, args) in cases {
        assert!(swept(&dir, folder, args), "{args:?}");
    }
}

#[test]
fn a_run_that_writes_nothing_sweeps_nothing() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    let cases: &[&[&str]] = &[
        &["migrate", "-n", "--in-place", "a.jsonl"],
        &["migrate", "-n", "-o", "new.jsonl", "a.jsonl"],
        &["migrate", "-o", "-", "a.jsonl"],
        &["validate", "a.jsonl"],
        &["migrate", "--out-dir", "out", "a.jsonl"],
    ];
    for args in cases {
        assert!(!swept(&dir, ".", args), "{args:?}");
    }
}

#[test]
fn what_is_in_use_or_not_ours_stays() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    dir.write(".copyist-notes.tmp", b"a person's");
    std::fs::create_dir(dir.path(".copyist-1-folder.tmp")).expect("a folder");
    let held = File::open(dir.write(STALE, b"another run's")).expect("a file");
    held.lock().expect("a lock");
    let before = dir.names().len();
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(dir.names().len(), before + 1, "{:?}", dir.names());
    assert!(dir.path(".copyist-1-folder.tmp").is_dir());
    drop(held);
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(dir.names(), [".copyist-notes.tmp", "a.jsonl", "a.jsonl.bak"]);
}

#[cfg(unix)]
#[test]
fn links_stay_and_what_may_not_be_written_goes() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    let precious = dir.write("precious", b"precious");
    std::os::unix::fs::symlink(&precious, dir.path(".copyist-1-link.tmp")).expect("a link");
    let stale = dir.write(STALE, b"half");
    let read_only = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&stale, read_only).expect("permissions");
    assert_eq!(dir.exit(&["migrate", "-o", "b.jsonl", "a.jsonl"]).0, 0);
    assert!(!stale.exists());
    assert!(dir.path(".copyist-1-link.tmp").is_symlink());
    assert_eq!(common::read(&precious), b"precious");
}
