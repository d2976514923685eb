//! The program as a person runs it: exit codes, outputs that appear whole or not at all, and
//! inputs that are never touched.

use crate::common::{Dir, own, read, untimed};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const OLD: &str = "pi/v1/feature-work";
const NEW: &str = "pi/v3/everything";
const TORN: &str = "damaged/pi/torn-tail";

#[test]
fn in_place_keeps_the_original_and_its_times() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    let original = read(&file);
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("a.jsonl.bak")), original);
    assert_ne!(read(&file), original);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), time);
    // Now it is at the target: nothing to do, and no second backup.
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(dir.exit(&["migrate", "--in-place", "--backup", "a.jsonl"]).0, 0);
    assert_eq!(dir.names(), ["a.jsonl", "a.jsonl.bak"]);
}

#[test]
fn an_older_backup_is_never_replaced() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    fs::write(dir.path("a.jsonl.bak"), "precious").unwrap();
    let original = read(&file);
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("a.jsonl.bak")), b"precious");
    assert_eq!(read(&dir.path("a.jsonl.bak.2")), original);
}

#[test]
fn a_backup_that_a_killed_run_made_is_the_backup() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    fs::hard_link(&file, dir.path("a.jsonl.bak")).unwrap();
    let original = read(&file);
    let (code, said) = dir.exit(&["migrate", "--in-place", "a.jsonl"]);
    assert!(code == 0 && !said.contains("CY0724"), "{said}");
    assert_eq!(dir.names(), ["a.jsonl", "a.jsonl.bak"]);
    assert_eq!(read(&dir.path("a.jsonl.bak")), original);
    assert_ne!(read(&file), original);
}

#[test]
fn a_copy_with_its_time_that_a_killed_run_made_is_the_backup() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    let original = read(&file);
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(dir.path("a.jsonl.bak"), &original).unwrap();
    let backup = fs::File::options().write(true).open(dir.path("a.jsonl.bak")).unwrap();
    backup.set_modified(time).unwrap();
    assert_eq!(dir.exit(&["migrate", "--in-place", "a.jsonl"]).0, 0);
    assert_eq!(dir.names(), ["a.jsonl", "a.jsonl.bak"]);
    assert_eq!(read(&dir.path("a.jsonl.bak")), original);
}

#[test]
fn without_a_backup_there_is_none() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    assert_eq!(dir.exit(&["migrate", "--in-place", "--no-backup", "a.jsonl"]).0, 0);
    assert_eq!(dir.names(), ["a.jsonl"]);
}

#[cfg(unix)]
#[test]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    dir.exit(&["migrate", "--in-place", "a.jsonl"]);
    dir.exit(&["migrate", "-o", "b.jsonl", "a.jsonl.bak"]);
    for name in ["a.jsonl", "b.jsonl"] {
        let mode = fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn in_place_follows_no_symbolic_link() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    let original = read(&file);
    std::os::unix::fs::symlink(&file, dir.path("link.jsonl")).unwrap();
    let (code, err) = dir.exit(&["migrate", "--in-place", "link.jsonl"]);
    assert_eq!(code, 3);
    assert!(err.contains("CY0704"), "{err}");
    assert_eq!(read(&file), original);
    assert!(dir.path("link.jsonl").is_symlink());
}

#[test]
fn damage_leaves_no_output_and_the_source_alone() {
    for place in [&["--in-place"][..], &["-o", "out.jsonl"], &["--out-dir", "out"]] {
        let dir = Dir::new();
        let file = dir.copy(TORN, "torn.jsonl");
        let original = read(&file);
        let (code, err) = dir.exit(&[&["migrate"], place, &["torn.jsonl"]].concat());
        assert_eq!(code, 3, "{place:?}");
        assert!(err.contains("torn.jsonl:9:") && err.contains("CY0103"), "{err}");
        assert!(err.contains("copyist repair"), "{err}");
        assert_eq!(read(&file), original, "{place:?}");
        assert_eq!(dir.names(), ["torn.jsonl"], "{place:?}");
    }
}

#[test]
fn an_existing_output_is_kept_unless_forced() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    fs::write(dir.path("out.jsonl"), "old").unwrap();
    let (code, err) = dir.exit(&["migrate", "-o", "out.jsonl", "a.jsonl"]);
    assert_eq!(code, 3);
    assert!(err.contains("CY0701"), "{err}");
    assert_eq!(read(&dir.path("out.jsonl")), b"old");
    assert_eq!(dir.exit(&["migrate", "--force", "-o", "out.jsonl", "a.jsonl"]).0, 0);
    assert_ne!(read(&dir.path("out.jsonl")), b"old");
}

#[test]
fn an_output_is_never_its_own_input() {
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    let original = read(&file);
    for out in ["a.jsonl", "./a.jsonl"] {
        let (code, err) = dir.exit(&["migrate", "--force", "-o", out, "a.jsonl"]);
        assert_eq!(code, 3);
        assert!(err.contains("CY0702"), "{err}");
        assert_eq!(read(&file), original);
    }
    // A report is no place for a session either.
    assert_eq!(dir.exit(&["migrate", "-o", "b.jsonl", "--report", "a.jsonl", "a.jsonl"]).0, 2);
    assert_eq!(read(&file), original);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_straight_and_a_full_one_is_an_error() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    assert_eq!(dir.exit(&["migrate", "-o", "/dev/null", "a.jsonl"]).0, 0);
    let (code, err) = dir.exit(&["migrate", "-o", "/dev/full", "a.jsonl"]);
    assert_eq!(code, 3);
    assert!(err.contains("CY0705"), "{err}");
    assert_eq!(dir.names(), ["a.jsonl"]);
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let dir = Dir::new();
    let mut text = read(&dir.copy(NEW, "a.jsonl"));
    let entry = text.split(|b| *b == b'\n').nth(1).expect("an entry").to_vec();
    for _ in 0..20_000 {
        text.extend_from_slice(&entry);
        text.push(b'\n');
    }
    fs::write(dir.path("a.jsonl"), text).unwrap();
    let damaged = [&own(OLD)[..], b"{\n", &read(&dir.path("a.jsonl"))].concat();
    dir.write("c.jsonl", &damaged);
    dir.copy(OLD, "d.jsonl");
    let head = |args: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(args)
            .current_dir(dir.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        (done.status.code().unwrap(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for args in [
        &["convert", "-t", "canonical", "-o", "-", "a.jsonl"][..],
        &["migrate", "-o", "-", "a.jsonl"],
        &["context", "d.jsonl"],
        &["diff", "a.jsonl", "a.jsonl"],
    ] {
        assert_eq!(head(args), (0, String::new()), "{args:?}");
    }
    // What is known by then still counts.
    let (code, said) = head(&["diff", "a.jsonl", "c.jsonl"]);
    assert!(code == 1 && !said.contains("pipe"), "{code} {said}");
    let (code, said) = head(&["diff", "--json", "a.jsonl", "c.jsonl"]);
    assert!(code == 1 && !said.contains("pipe"), "{code} {said}");
    let (code, said) = head(&["convert", "-t", "canonical", "-o", "-", "c.jsonl"]);
    assert!(code == 1 && !said.contains("pipe"), "{code} {said}");
}

#[test]
fn folders_are_mirrored_and_no_name_is_taken_twice() {
    let dir = Dir::new();
    dir.copy(OLD, "x/s/a.jsonl");
    dir.copy(OLD, "y/s/a.jsonl");
    dir.copy(NEW, "y/s/deep/b.jsonl");
    fs::write(dir.path("y/s/notes.txt"), "no session").unwrap();
    assert_eq!(dir.exit(&["migrate", "--out-dir", "out", "x/s", "y/s"]).0, 0);
    let out: Vec<_> = dir.names().into_iter().filter(|name| name.starts_with("out/")).collect();
    assert_eq!(out, ["out/s/a.jsonl", "out/s-2/a.jsonl", "out/s-2/deep/b.jsonl"]);
    // One folder alone is the root of what it mirrors.
    assert_eq!(dir.exit(&["convert", "-t", "canonical", "--out-dir", "one", "y/s"]).0, 0);
    assert!(dir.path("one/deep/b.copyist.jsonl").is_file(), "{:?}", dir.names());
    // Two files of one name in different folders.
    assert_eq!(dir.exit(&["migrate", "--out-dir", "two", "x/s/a.jsonl", "y/s/a.jsonl"]).0, 0);
    assert!(dir.path("two/a-2.jsonl").is_file());
}

#[test]
fn exit_codes_show_what_happened() {
    let dir = Dir::new();
    dir.copy(OLD, "old.jsonl");
    dir.copy(NEW, "new.jsonl");
    dir.copy(TORN, "torn.jsonl");
    fs::write(dir.path("empty.jsonl"), "").unwrap();
    fs::write(dir.path("binary"), [0u8, 159, 146, 150, 7]).unwrap();
    let cases: &[(&[&str], i32)] = &[
        (&["detect", "old.jsonl"], 0),
        (&["detect", "binary"], 3),
        (&["detect", "nowhere"], 3),
        (&["validate", "old.jsonl"], 0),
        (&["validate", "torn.jsonl"], 1),
        (&["migrate", "old.jsonl"], 2),
        (&["migrate", "--to", "pi@9", "-n", "old.jsonl"], 2),
        (&["migrate", "--to", "pi@1", "-n", "new.jsonl"], 3),
        (&["migrate", "-n", "empty.jsonl"], 3),
        (&["migrate", "-n", "old.jsonl"], 0),
        (&["migrate", "-o", "x", "old.jsonl", "new.jsonl"], 2),
        (&["migrate", "--in-place", "-"], 2),
        (&["migrate", "-n", "--on-error", "skip", "torn.jsonl"], 1),
        (&["convert", "-t", "pi@1", "-n", "new.jsonl"], 0),
        (&["convert", "-t", "pi@1", "-n", "--fail-on", "loss", "new.jsonl"], 0),
        (&["convert", "-t", "pi@1", "-n", "--no-origin", "--fail-on", "loss", "new.jsonl"], 1),
        (&["convert", "-t", "canonical", "-n", "torn.jsonl"], 1),
        (&["formats"], 0),
        (&["schema", "pi@2"], 0),
        (&["schema", "nothing"], 2),
        (&["explain", "CY0103"], 0),
        (&["explain", "CY9999"], 2),
        (&[], 0),
    ];
    for (args, expected) in cases {
        let (code, err) = dir.exit(args);
        assert_eq!(code, *expected, "{args:?}: {err}");
    }
    assert_eq!(dir.names().len(), 5, "something was written: {:?}", dir.names());
}

#[test]
fn json_results_are_lines_of_json_on_the_stream_without_data() {
    let dir = Dir::new();
    dir.copy(OLD, "old.jsonl");
    dir.copy(TORN, "torn.jsonl");
    let done = dir.run(&["migrate", "--json", "--out-dir", "out", "old.jsonl", "torn.jsonl"]);
    let outcomes = |text: &[u8]| -> Vec<String> {
        let lines = text.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let values = lines.map(|l| serde_json::from_slice::<serde_json::Value>(l).expect("JSON"));
        values.map(|value| value["outcome"].as_str().expect("an outcome").to_owned()).collect()
    };
    assert_eq!(outcomes(&done.stdout), ["migrated", "failed"]);
    let done = dir.run(&["migrate", "--json", "-o", "-", "old.jsonl"]);
    assert_eq!(outcomes(&done.stderr), ["migrated"]);
    assert_eq!(done.stdout, read(&dir.path("out/old.jsonl")));
}

#[test]
fn standard_input_and_files_give_the_same_bytes() {
    let dir = Dir::new();
    let file = dir.copy(NEW, "a.jsonl");
    for to in ["pi@1", "pi@3", "canonical"] {
        let from_file = dir.run(&["convert", "-t", to, "-o", "-", "a.jsonl"]).stdout;
        let piped = Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(["convert", "-t", to, "-o", "-", "-"])
            .stdin(fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        assert_eq!(piped.status.code(), Some(0));
        assert!(!from_file.is_empty());
        assert_eq!(piped.stdout, from_file, "{to}");
    }
}

#[test]
fn the_number_of_workers_never_changes_the_output() {
    let dir = Dir::new();
    for n in 0..40 {
        dir.copy(if n % 2 == 0 { OLD } else { "pi/v2/branched" }, &format!("in/{n:02}.jsonl"));
    }
    dir.copy(TORN, "in/torn.jsonl");
    let mut told = Vec::new();
    for jobs in ["1", "2", "8"] {
        let out = format!("out{jobs}");
        let done = dir.run(&["migrate", "-v", "-j", jobs, "--out-dir", &out, "in"]);
        assert_eq!(done.status.code(), Some(3));
        let text = [done.stdout, done.stderr].concat();
        told.push(untimed(&String::from_utf8_lossy(&text)).replace(&out, "out"));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
    for n in 0..40 {
        let file = |jobs: &str| read(&dir.path(&format!("out{jobs}/{n:02}.jsonl")));
        assert_eq!(file("1"), file("2"));
        assert_eq!(file("1"), file("8"));
    }
}

#[test]
fn an_input_that_changes_meanwhile_is_not_touched() {
    use copyist::format::Sink;
    use copyist::store::{Backup, Destination, Output, Policy};
    let dir = Dir::new();
    let file = dir.copy(OLD, "a.jsonl");
    let in_place =
        Destination::InPlace { backup: Backup::None, stem: dir.path("a"), aside: dir.path("a") };
    for place in [in_place, Destination::File(dir.path("b.jsonl"))] {
        let source = (Path::new(&file).into(), fs::metadata(&file).unwrap());
        let policy = Policy::default();
        let mut output = Output::prepare(place, vec![source], policy, Arc::default()).unwrap();
        std::io::Write::write_all(&mut output.create("").unwrap(), b"new").unwrap();
        let grown = [read(&file), b"{}\n".to_vec()].concat();
        fs::write(&file, &grown).unwrap();
        let error = output.commit().expect_err("the input grew");
        assert_eq!(error.code().name(), "CY0703");
        assert_eq!(read(&file), grown);
        assert_eq!(dir.names(), ["a.jsonl"]);
    }
}

#[test]
fn no_number_of_errors_makes_a_file_valid() {
    let dir = Dir::new();
    let line = b"{\"type\":\"session\",\"id\":\"x\",\"version\":3,\"cwd\":8,\"timestamp\":9}\n";
    dir.write("a.jsonl", line);
    let count = |most: &str| {
        let done = dir.run(&["validate", "--max-errors", most, "--json", "a.jsonl"]);
        assert_eq!(done.status.code(), Some(1), "{most}");
        let told: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(told["outcome"], "invalid", "{most}");
        let listed = told["diagnostics"].as_array().expect("a list").len();
        let all: u64 = told["counts"]
            .as_object()
            .expect("counts")
            .values()
            .map(|n| n.as_u64().expect("a number"))
            .sum();
        (listed, all)
    };
    let (listed, all) = count("100");
    assert!(listed > 1 && listed as u64 == all, "{listed} {all}");
    assert_eq!(count("1"), (1, all));
    assert_eq!(count("0"), (0, all));
    let (code, said) = dir.said(&["validate", "--max-errors", "0", "a.jsonl"]);
    assert!(code == 1 && said.contains(&format!("… and {all} more findings")), "{said}");
}
