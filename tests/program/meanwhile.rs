//! What agents write while files are changed in place is not lost.

use crate::common::{self, Dir, own, read};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const OLD: &str = "pi/v1/feature-work";
const FILES: usize = 400;

/// How an agent writes.
type Writes = fn(&Path, &[u8]);

fn appends(path: &Path, line: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).expect("the session is there");
    file.write_all(line).expect("it can be written");
}

fn replaces(path: &Path, line: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, [own(OLD).as_slice(), line].concat()).expect("it can be written");
    fs::rename(&new, path).expect("it can be renamed");
}

/// Migrates a folder in place while an agent writes into its sessions. Gives for each session what
/// the agent wrote last.
fn migrated(dir: &Dir, more: &[&str], writes: Writes) -> Vec<Option<Vec<u8>>> {
    for n in 0..FILES {
        dir.copy(OLD, &format!("in/{n}.jsonl"));
    }
    let done = AtomicBool::new(false);
    let mut last = vec![None; FILES];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                // Prime to the number of files, so that all have their turn.
                let n = turn * 7 % FILES;
                let line = format!(
                    r#"{{"type":"message","timestamp":"2026-11-21T20:13:46.292Z","message":{{"role":"user","content":"word {turn}"}}}}"#
                );
                writes(&dir.path(&format!("in/{n}.jsonl")), format!("{line}\n").as_bytes());
                last[n] = Some(format!("word {turn}").into_bytes());
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let (_, said) = dir.exit(&[&["migrate", "--in-place", "-j2", "in"], more].concat());
        done.store(true, Ordering::Relaxed);
        assert!(said.contains("migrated"), "{said}");
    });
    last
}

fn holds(path: &Path, word: &[u8]) -> bool {
    memchr::memmem::find(&fs::read(path).unwrap_or_default(), word).is_some()
}

#[test]
fn a_session_that_another_took_the_place_of_is_not_touched() {
    for more in [&["--no-backup"][..], &[], &["--no-backup", "--journal", "j"]] {
        let dir = Dir::new();
        for (n, word) in migrated(&dir, more, replaces).iter().enumerate() {
            let path = dir.path(&format!("in/{n}.jsonl"));
            assert!(word.as_ref().is_none_or(|word| holds(&path, word)), "{n} {more:?}");
        }
    }
}

#[test]
fn what_is_appended_is_in_the_session_or_in_its_original() {
    let dir = Dir::new();
    let (mut written, mut beside) = (0, 0);
    for (n, word) in migrated(&dir, &[], appends).iter().enumerate() {
        let Some(word) = word else { continue };
        let path = dir.path(&format!("in/{n}.jsonl"));
        written += 1;
        if !holds(&path, word) {
            assert!(holds(&dir.path(&format!("in/{n}.jsonl.bak")), word), "{n}");
            beside += 1;
        }
    }
    // Whoever opened the old file before the new one had its place writes into the old one.
    assert!(written > 20 && beside <= 2, "{beside} of {written}");
}

#[test]
fn originals_are_kept_only_of_what_was_changed() {
    const MANY: usize = 60;
    let dir = Dir::new();
    for n in 0..MANY {
        dir.copy(OLD, &format!("in/{n}.jsonl"));
    }
    let mount = match common::Mount::new(&dir, "full", "4k") {
        Ok(mount) => mount,
        Err(why) => return eprintln!("SKIP a journal without room: {why}"),
    };
    let (code, said) = dir.exit(&["migrate", "--in-place", "--journal", "full/j", "in"]);
    drop(mount);
    let changed = |n: &usize| read(&dir.path(&format!("in/{n}.jsonl"))) != own(OLD);
    let changed = (0..MANY).filter(changed).count();
    assert!(code == 3 && changed < MANY, "{code} {said}");
    let kept = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "bak");
    assert_eq!(common::files(&dir.path("in")).iter().filter(|path| kept(path)).count(), changed);
}
