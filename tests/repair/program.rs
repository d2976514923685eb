//! The program as it is run.

use crate::common::{Dir, own, read};

#[test]
fn the_program_writes_a_quarantine_and_keeps_a_backup() {
    let dir = Dir::new();
    let torn = own("damaged/pi/torn-tail");
    dir.write("s.jsonl", &torn);
    let (code, said) = dir.said(&["repair", "-n", "s.jsonl"]);
    assert!(code == 1 && said.contains("repairable") && said.contains("CY0801"), "{said}");
    assert_eq!(dir.names(), ["s.jsonl"]);
    let (code, said) = dir.exit(&["repair", "--in-place", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(dir.names(), ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl"]);
    assert_eq!(read(&dir.path("s.jsonl.bak")), torn);
    assert_eq!(dir.exit(&["repair", "--in-place", "."]).0, 0);
    assert_eq!(dir.names(), ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl"]);
    assert_eq!(dir.exit(&["repair", "-n", "."]).0, 0);
    // Damaged once more, it keeps what the first repair set aside.
    dir.write("s.jsonl", &torn);
    assert_eq!(dir.exit(&["repair", "--in-place", "--no-backup", "s.jsonl"]).0, 0);
    assert_eq!(
        dir.names(),
        ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl", "s.quarantine.jsonl.2"]
    );
}

#[cfg(unix)]
#[test]
fn without_a_place_for_what_is_set_aside_nothing_is_written() {
    let dir = Dir::new();
    dir.write("s.jsonl", &own("damaged/pi/torn-tail"));
    let shell = |command: &str| {
        let command = command.replace("copyist", env!("CARGO_BIN_EXE_copyist"));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(dir.root()).output().expect("a shell")
    };
    let done = shell("copyist repair -o - - < s.jsonl");
    assert_eq!((done.status.code(), done.stdout.len()), (Some(4), 0), "{done:?}");
    let done = shell("copyist repair -o - --quarantine q.jsonl - < s.jsonl");
    assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
    let done = shell("copyist repair -o - s.jsonl");
    assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
    assert_eq!(dir.names(), ["q.jsonl", "s.jsonl", "s.quarantine.jsonl"]);
}
