//! Command lines with a mistake, or with next to nothing in them.

use crate::common::{Dir, own};
use serde_json::Value;

const SESSION: &str = "pi/v2/branched";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn program_alone_shows_jobs_and_ends_with_0() {
    let dir = Dir::new();
    let done = dir.run(&[]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let help = text(&done.stdout);
    for job in ["list", "continue", "migrate", "repair", "convert"] {
        assert!(help.contains(&format!("  copyist {job} ")), "{job}: {help}");
    }
    assert!(help.lines().count() <= 24, "{help}");
}

#[test]
fn names_count_without_regard_to_case_and_similar_ones_are_suggested() {
    let dir = Dir::new();
    let path = dir.write("s.jsonl", &own(SESSION));
    let path = path.to_string_lossy();
    let (code, said) = dir.exit(&["Convert", "-q", "-t", "Claude-Code", "-o", "t.jsonl", &path]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = dir.exit(&["convert", "-t", "cluade-code", "-o", "u.jsonl", &path]);
    assert_eq!(code, 2);
    assert!(said.contains("did you mean `claude-code`?"), "{said}");
    let (code, said) = dir.exit(&["convert", "-t", "zebra", "-o", "u.jsonl", &path]);
    assert_eq!(code, 2);
    assert!(!said.contains("did you mean"), "{said}");
    for any in
        [&["schema", "Report"][..], &["schema", "PI@3"], &["inspect", "--color", "NEVER", &path]]
    {
        let (code, said) = dir.exit(any);
        assert_eq!(code, 0, "{any:?}: {said}");
    }
    let (_, said) = dir.exit(&["convert", "--out-drr", "x", "-t", "pi", &path]);
    assert!(said.contains("a similar argument exists: '--out-dir'"), "{said}");
    // No option is meant as a path.
    let (_, said) = dir.exit(&["convert", "--in-place", "-t", "pi", &path]);
    assert!(said.contains("--in-place") && !said.contains("-- --in-place"), "{said}");
}

#[test]
fn word_that_is_no_session_is_refused_with_what_names_one() {
    let dir = Dir::new();
    for command in ["show", "inspect", "context"] {
        for word in ["c4a7e", "c4a7e910"] {
            let (code, said) = dir.exit(&[command, word]);
            assert_eq!(code, 3, "{command} {word}: {said}");
            assert!(said.contains("six characters"), "{command} {word}: {said}");
        }
        let (_, said) = dir.exit(&[command, "c4a7e.jsonl"]);
        assert!(said.contains("cannot open"), "{command}: {said}");
    }
}

#[test]
fn stream_goes_to_a_pipe_and_other_formats_need_a_name() {
    let dir = Dir::new();
    let path = dir.write("s.jsonl", &own(SESSION));
    let path = path.to_string_lossy();
    let done = dir.run(&["convert", "-t", "canonical", &path]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).starts_with("{\"kind\":\"session\""), "{}", text(&done.stdout));
    assert_eq!(dir.exit(&["convert", "-t", "claude-code", &path]).0, 2);
}

#[test]
fn append_to_a_folder_names_what_it_takes() {
    let dir = Dir::new();
    dir.write("folder/s.jsonl", &own(SESSION));
    let (code, said) = dir.exit(&["append", "folder", "--text", "x"]);
    assert_eq!(code, 2);
    assert!(said.contains("folder is a folder; name the file of a session"), "{said}");
}

#[test]
fn codes_are_explained_to_programs() {
    let dir = Dir::new();
    let of = |args: &[&str]| -> Vec<Value> {
        let out = text(&dir.run(args).stdout);
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let all = of(&["explain", "--json"]);
    assert!(all.len() > 100);
    let one = of(&["explain", "--json", "cy0103"]);
    assert_eq!(one.len(), 1);
    assert_eq!(one[0]["code"], "CY0103");
    assert!(all.contains(&one[0]));
    for member in ["severity", "title", "explanation"] {
        assert!(one[0][member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
    }
}

#[cfg(unix)]
#[test]
fn first_signal_ends_a_run_that_waits_for_a_pipe() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let dir = Dir::new();
    let made = Command::new("mkfifo").arg(dir.path("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_copyist"))
        .args(["convert", "-t", "canonical", "-o", "out.jsonl", "pipe"])
        .current_dir(dir.root())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(child.id().try_into().expect("a number")).expect("a process");
    kill_process(pid, Signal::TERM).expect("it is there");
    let start = Instant::now();
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(143));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(!dir.path("out.jsonl").exists());
}
