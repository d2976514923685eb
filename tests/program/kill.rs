//! Killed at any moment, a run leaves every file whole: as it was, or as it becomes. The next run
//! finishes the work and leaves nothing behind.
#![cfg(unix)]

use crate::common::{self, Dir, files, migrated, own_inputs, read};
use copyist::format::Options;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: usize = 700;

/// So many for the test that goes on and takes back at many moments.
const MANY: usize = 2000;

/// Sessions before and after migration, by name.
type Sessions = BTreeMap<PathBuf, (Vec<u8>, Vec<u8>)>;

#[test]
fn killed_five_times_each_way() {
    kill_both_ways(5, Dir::in_memory);
}

#[test]
#[ignore = "takes minutes on a slow disk"]
fn killed_thirty_times_each_way() {
    kill_both_ways(30, Dir::new);
}

#[test]
fn killed_five_times_resumed_and_taken_back() {
    println!("{}", journaled(&Dir::in_memory(), &sessions(FILES), 5));
}

#[test]
fn killed_five_times_and_resumed_in_a_new_folder() {
    println!("{}", resumed(&Dir::in_memory(), &sessions(FILES), 5));
}

#[test]
fn clean_killed_five_times_and_run_again() {
    println!("{}", cleaned(&Dir::in_memory(), &sessions(FILES), 5));
}

#[test]
#[ignore = "takes minutes on a slow disk"]
fn killed_fifty_times_resumed_and_taken_back() {
    println!("{}", journaled(&Dir::new(), &sessions(MANY), 50));
}

fn kill_both_ways(times: u32, folder: fn() -> Dir) {
    let sessions = sessions(FILES);
    println!("{}", out_dir(&folder(), &sessions, times));
    println!("{}", in_place(&folder(), &sessions, times));
}

/// Small sessions of version 1, no two alike.
fn sessions(many: usize) -> Sessions {
    let v1 = common::testdata().join("pi/v1");
    let sources: Vec<_> =
        own_inputs().into_iter().filter(|p| p.starts_with(&v1)).map(|p| read(&p)).collect();
    let session = |n: usize| {
        let source = &sources[n % sources.len()];
        let lines = source.split_inclusive(|b| *b == b'\n').take(2 + n % 9);
        let note = format!("{{\"type\":\"event\",\"timestamp\":\"t\",\"n\":{n}}}\n");
        let old = [lines.collect::<Vec<_>>().concat(), note.into_bytes()].concat();
        let new = migrated(&old, "pi@3", &Options::default()).0.expect("a session");
        (PathBuf::from(format!("{}/{n:04}.jsonl", n % 3)), (old, new))
    };
    (0..many).map(session).collect()
}

/// What the kills met.
#[derive(Default)]
struct Met {
    /// Runs that were killed before they ended.
    killed: u32,
    done: usize,
    waiting: usize,
    backups: usize,
    stale: usize,
}

impl Met {
    fn summary(&self, way: &str, times: u32, whole: Duration) -> String {
        format!(
            "kill {way}: a whole run takes {whole:.0?}; {} of {times} runs were killed in the middle: {} files done, {} waiting, {} backups, {} temporary files left and swept",
            self.killed, self.done, self.waiting, self.backups, self.stale,
        )
    }
}

fn empty(folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("it is ours");
    }
}

/// Puts the sessions as they were into the folder, and nothing else.
fn fill(folder: &Path, sessions: &Sessions) {
    empty(folder);
    for (name, (old, _)) in sessions {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, old).expect("a file");
    }
}

/// Starts the program and kills it after `time`; whether it was still at work.
fn kill_after(dir: &Dir, args: &[&str], time: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_copyist"))
        .args(args)
        .current_dir(dir.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    std::thread::sleep(time);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends").code().is_none()
}

/// How long a whole run takes: the quicker of two, so that most kills meet one at work.
fn whole_run(dir: &Dir, args: &[&str], prepare: impl Fn()) -> Duration {
    let time = |_| {
        prepare();
        let start = Instant::now();
        assert_eq!(dir.exit(args).0, 0);
        start.elapsed()
    };
    (0..2).map(time).min().unwrap_or_default()
}

/// Takes the temporary files out of a listing; how many there were.
fn without_temporary(found: &mut Vec<PathBuf>) -> usize {
    let all = found.len();
    found.retain(|path| !common::name(path).starts_with(".copyist-"));
    all - found.len()
}

fn out_dir(dir: &Dir, sessions: &Sessions, times: u32) -> String {
    fill(&dir.path("in"), sessions);
    let out = dir.path("out");
    let migrate = ["migrate", "--out-dir", "out", "in"];
    let whole = whole_run(dir, &migrate, || empty(&out));
    let mut met = Met::default();
    for i in 0..times {
        empty(&out);
        met.killed += u32::from(kill_after(dir, &migrate, whole * i / times));
        let mut found = if out.exists() { files(&out) } else { Vec::new() };
        met.stale += without_temporary(&mut found);
        met.done += found.len();
        met.waiting += sessions.len() - found.len();
        for path in found {
            let name = path.strip_prefix(&out).expect("below");
            assert!(read(&path) == sessions[name].1, "{} is not whole", name.display());
        }
        // What a person would do: the same again, now that outputs are there, with `--force`.
        assert_eq!(dir.exit(&[&migrate[..], &["--force"]].concat()).0, 0);
        assert_eq!(files(&out).len(), sessions.len(), "{:?}", files(&out));
        for (name, (old, new)) in sessions {
            assert!(read(&out.join(name)) == *new, "{} is not whole", name.display());
            assert!(read(&dir.path("in").join(name)) == *old, "{} was touched", name.display());
        }
    }
    met.summary("--out-dir", times, whole)
}

fn in_place(dir: &Dir, sessions: &Sessions, times: u32) -> String {
    let folder = dir.path("in");
    let migrate = ["migrate", "--in-place", "in"];
    let whole = whole_run(dir, &migrate, || fill(&folder, sessions));
    let mut met = Met::default();
    for i in 0..times {
        fill(&folder, sessions);
        met.killed += u32::from(kill_after(dir, &migrate, whole * i / times));
        met.stale += without_temporary(&mut files(&folder));
        for (name, (old, new)) in sessions {
            let (now, backup) = (read(&folder.join(name)), backup(&folder.join(name)));
            let done = now == *new;
            assert!(done || now == *old, "{} is not whole", name.display());
            assert!(!done || backup.is_some(), "{} has no backup", name.display());
            let whole = backup.as_ref().is_none_or(|backup| backup == old);
            assert!(whole, "the backup of {} is not whole", name.display());
            met.done += usize::from(done);
            met.waiting += usize::from(!done);
            met.backups += usize::from(backup.is_some());
        }
        // What a person would do: the same again.
        assert_eq!(dir.exit(&migrate).0, 0);
        assert_eq!(files(&folder).len(), 2 * sessions.len(), "more than files and backups");
        for (name, (old, new)) in sessions {
            let path = folder.join(name);
            assert!(read(&path) == *new, "{} is not whole", name.display());
            assert!(backup(&path).as_ref() == Some(old), "{}: wrong backup", name.display());
        }
    }
    met.summary("--in-place", times, whole)
}

/// Killed in place, then resumed, then undone.
fn journaled(dir: &Dir, sessions: &Sessions, times: u32) -> String {
    let folder = dir.path("in");
    let migrate = ["migrate", "--in-place", "--journal", "j", "--resume", "in"];
    let prepare = || {
        fill(&folder, sessions);
        let _ = fs::remove_file(dir.path("j"));
    };
    let whole = whole_run(dir, &migrate, prepare);
    let mut met = Met::default();
    for i in 0..times {
        prepare();
        met.killed += u32::from(kill_after(dir, &migrate, moment(whole, i, times)));
        met.stale += without_temporary(&mut files(&folder));
        for (name, (old, new)) in sessions {
            let now = read(&folder.join(name));
            assert!(now == *new || now == *old, "{} is not whole", name.display());
            met.done += usize::from(now == *new);
            met.waiting += usize::from(now == *old);
        }
        met.backups +=
            files(&folder).iter().filter(|path| common::name(path).ends_with(".bak")).count();
        assert_eq!(dir.exit(&migrate).0, 0);
        assert_eq!(files(&folder).len(), 2 * sessions.len(), "more than files and backups");
        for (name, (old, new)) in sessions {
            assert!(read(&folder.join(name)) == *new, "{} is not whole", name.display());
            let backup = backup(&folder.join(name));
            assert!(backup.as_ref() == Some(old), "{}: wrong backup", name.display());
        }
        let (code, said) = dir.exit(&["undo", "j"]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(files(&folder).len(), sessions.len(), "more than the originals");
        for (name, (old, _)) in sessions {
            assert!(read(&folder.join(name)) == *old, "{} is not back", name.display());
        }
    }
    met.summary("--journal", times, whole)
}

/// Originals are removed by a command that is killed, and by the next one.
fn cleaned(dir: &Dir, sessions: &Sessions, times: u32) -> String {
    let folder = dir.path("in");
    let clean = ["clean", "j"];
    let prepare = || {
        fill(&folder, sessions);
        let _ = fs::remove_file(dir.path("j"));
        let migrate = ["migrate", "--in-place", "--journal", "j", "in"];
        assert_eq!(dir.exit(&migrate).0, 0);
    };
    let whole = whole_run(dir, &clean, prepare);
    let mut met = Met::default();
    for i in 0..times {
        prepare();
        met.killed += u32::from(kill_after(dir, &clean, moment(whole, i, times)));
        for (name, (old, new)) in sessions {
            let path = folder.join(name);
            assert!(read(&path) == *new, "{} is not whole", name.display());
            let backup = backup(&path);
            met.backups += usize::from(backup.is_some());
            assert!(backup.is_none_or(|backup| backup == *old), "{}", name.display());
        }
        let (code, said) = dir.exit(&clean);
        assert_eq!(code, 0, "{said}");
        assert_eq!(files(&folder).len(), sessions.len(), "more than the files");
    }
    met.summary("clean", times, whole)
}

/// Killed on the way to a new folder, then resumed: what is there already is in the journal.
fn resumed(dir: &Dir, sessions: &Sessions, times: u32) -> String {
    fill(&dir.path("in"), sessions);
    let out = dir.path("out");
    let migrate = ["migrate", "--out-dir", "out", "--journal", "j", "--resume", "in"];
    let prepare = || {
        empty(&out);
        let _ = fs::remove_file(dir.path("j"));
    };
    let whole = whole_run(dir, &migrate, prepare);
    let mut met = Met::default();
    for i in 0..times {
        prepare();
        met.killed += u32::from(kill_after(dir, &migrate, moment(whole, i, times)));
        let mut found = if out.exists() { files(&out) } else { Vec::new() };
        met.stale += without_temporary(&mut found);
        met.done += found.len();
        met.waiting += sessions.len() - found.len();
        let (code, said) = dir.exit(&migrate);
        assert_eq!(code, 0, "{said}");
        assert_eq!(files(&out).len(), sessions.len(), "more than the outputs");
        for (name, (_, new)) in sessions {
            assert!(read(&out.join(name)) == *new, "{} is not whole", name.display());
        }
    }
    met.summary("--out-dir --journal", times, whole)
}

/// A moment in the part of a run that is the turn's, at random there.
fn moment(whole: Duration, turn: u32, times: u32) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = (RandomState::new().hash_one(turn) % 1000) as u32;
    whole * (turn * 1000 + random) / (times * 1000)
}

fn backup(path: &Path) -> Option<Vec<u8>> {
    fs::read(path.with_extension("jsonl.bak")).ok()
}
