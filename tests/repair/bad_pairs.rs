//! What becomes of bad input where a session is two files, as one table: nothing crashes, no input
//! is touched, and the finding says what is wrong. The other kinds stand in `bad_input`.
#![cfg(unix)]

use crate::common::{Dir, files, read, testdata};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::process::Command;

/// What is expected: of copying, of conversion, of validation, of a look by way of the metadata,
/// each the exit code and the codes of what is found; and what the status is.
const TABLE: &str = "
log empty         | 0               | 0               | 0               | 0               | running
log of spaces     | 0               | 0               | 0               | 0               | running
log binary        | 1 CY0101        | 1 CY0101        | 1 CY0101        | 1 CY0101        | running
log cut           | 1 CY0103        | 1 CY0103        | 1 CY0103        | 1 CY0103        | running
log with NULs     | 1 CY0105        | 1 CY0105        | 1 CY0105        | 1 CY0105        | running
log not UTF-8     | 1 CY0101        | 1 CY0101        | 1 CY0101        | 1 CY0101        | finished
log with a BOM | 0 CY0109 | 0 CY0109 | 1 CY0109 CY0417 | 0 CY0109 | finished
log with CRLF     | 0               | 0               | 0               | 0               | finished
log without end | 0 CY0110 | 0 CY0110 | 1 CY0110 CY0417 | 0 CY0110 | finished
log an array      | 1 CY0106        | 1 CY0106        | 1 CY0106        | 1 CY0106        | running
log nested deep   | 0               | 0               | 0 CY0108        | 0               | running
log of 20 MB      | 0               | 0               | 0               | 0               | finished
meta empty        | 1 CY0103        | 1 CY0103        | 1 CY0103        | 1 CY0103        | finished
meta of spaces    | 1 CY0103        | 1 CY0103        | 1 CY0103        | 1 CY0103        | finished
meta binary       | 1 CY0101        | 1 CY0101        | 1 CY0101        | 1 CY0101        | finished
meta cut          | 1 CY0103        | 1 CY0103        | 1 CY0103        | 1 CY0103        | finished
meta with NULs    | 1 CY0104        | 1 CY0104        | 1 CY0104        | 1 CY0104        | finished
meta not UTF-8    | 1 CY0101        | 1 CY0101        | 1 CY0101        | 1 CY0101        | finished
meta with a BOM | 0 CY0109 | 0 CY0109 | 1 CY0109 CY0417 | 0 CY0109 | finished
meta with CRLF    | 0               | 0               | 0               | 0               | finished
meta without end  | 0               | 0               | 0               | 0               | finished
meta an array     | 1 CY0106        | 1 CY0106        | 1 CY0106        | 1 CY0106        | finished
meta nested deep | 0 CY0321 | 0 CY0321 | 1 CY0321 CY0108 CY0417 | 0 CY0321 | finished
meta of 20 MB     | 0               | 0               | 0               | 0               | finished
meta of another   | 0 CY0325        | 0 CY0325        | 0 CY0325        | 0 CY0325        | finished
";

const LOG: &str = "orchard.jsonl";
const META: &str = "orchard.meta.json";

/// Bytes without any order, the same in each run.
fn noise() -> Vec<u8> {
    (0..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn replaced(bytes: &[u8], from: &str, to: &[u8]) -> Vec<u8> {
    let at = memchr::memmem::find(bytes, from.as_bytes()).expect("it is there");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// What a file holds in a case.
fn changed(how: &str, good: &[u8], session: &str) -> Vec<u8> {
    let deep = format!("{{\"a\":{}{}}}\n", "[".repeat(10_000), "]".repeat(10_000));
    match how {
        "empty" => Vec::new(),
        "of spaces" => b" \n\n".to_vec(),
        "binary" => noise(),
        "cut" => good[..good.len() / 2].to_vec(),
        "with NULs" => [good, &[0; 5000]].concat(),
        "not UTF-8" => replaced(good, "orchard", b"orch\xff"),
        "with a BOM" => ["\u{feff}".as_bytes(), good].concat(),
        "with CRLF" => String::from_utf8_lossy(good).replace('\n', "\r\n").into_bytes(),
        "without end" => good[..good.len() - 1].to_vec(),
        "an array" => b"[1]\n".to_vec(),
        "nested deep" => deep.into_bytes(),
        "of 20 MB" => replaced(good, session, "x".repeat(20_000_000).as_bytes()),
        "of another" => replaced(good, "\"orchard\"", b"\"cellar\""),
        other => panic!("{other}?"),
    }
}

fn pair() -> [Vec<u8>; 2] {
    let files = files(&testdata().join("agent-orchestrator/v2/orchard/in"));
    [read(&files[0]), read(&files[1])]
}

/// The exit code of a command, and the codes of what it found.
fn cell(dir: &Dir, args: &[&str]) -> String {
    let done = dir.run(&[args, &["--json"]].concat());
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(!said.contains("panicked"), "{args:?}: {said}");
    let mut cell = done.status.code().expect("an exit code").to_string();
    for line in said.lines().filter(|line| line.starts_with("{\"path\"")) {
        let result: Value = serde_json::from_str(line).expect("JSON");
        for found in result["diagnostics"].as_array().into_iter().flatten() {
            let code = found["code"].as_str().expect("a code");
            if !cell.contains(code) {
                cell.push_str(&format!(" {code}"));
            }
        }
    }
    cell
}

fn status(dir: &Dir) -> String {
    let done = dir.run(&["status", "orchard", "--sessions-dir", "."]);
    assert_eq!(done.status.code(), Some(0));
    String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
}

#[test]
fn the_table_of_bad_pairs() {
    let mut wrong = Vec::new();
    for row in TABLE.lines().filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (file, how) = cells[0].split_once(' ').expect("a file and what is wrong");
        let [log, meta] = pair();
        let dir = Dir::in_memory();
        let log = if file == "log" { changed(how, &log, "I look it up.") } else { log };
        let meta = if file == "meta" { changed(how, &meta, "counter") } else { meta };
        dir.write(LOG, &log);
        dir.write(META, &meta);
        let found = [
            cell(&dir, &["convert", "-t", "agent-orchestrator@2", "--out-dir", "out", LOG]),
            cell(&dir, &["convert", "-t", "canonical", "-o", "out.copyist.jsonl", LOG]),
            cell(&dir, &["validate", LOG]),
            cell(&dir, &["context", META]),
            status(&dir),
        ];
        println!("{:17} | {}", cells[0], found.join(" | "));
        if found.as_slice() != &cells[1..] {
            wrong.push(format!("{} | {}", cells[0], found.join(" | ")));
        }
        assert!(read(&dir.path(LOG)) == log && read(&dir.path(META)) == meta, "{}", cells[0]);
        let copied = |name: &str| read(&dir.path(&format!("out/{name}")));
        assert!(copied(LOG) == log && copied(META) == meta, "{} is copied otherwise", cells[0]);
        let back =
            ["convert", "-t", "agent-orchestrator@2", "--out-dir", "back", "out.copyist.jsonl"];
        cell(&dir, &back);
        let back = |ending: &str| read(&dir.path(&format!("back/out{ending}")));
        assert!(
            back(".jsonl") == log && back(".meta.json") == meta,
            "{} comes back otherwise",
            cells[0]
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_in_a_file_s_place_is_not_read() {
    let [log, meta] = pair();
    let dir = Dir::new();
    dir.write(META, &meta);
    dir.write("orchard.jsonl/inside", b"x");
    assert_eq!(cell(&dir, &["validate", META]), "0");
    assert_eq!(status(&dir), "running");
    let dir = Dir::new();
    dir.write(LOG, &log);
    dir.write("orchard.meta.json/inside", b"x");
    assert_eq!(cell(&dir, &["validate", LOG]), "1 CY0324 CY0417");
    // The real script asks whether there is something of that name.
    assert_eq!(status(&dir), "finished");
    let (dir, elsewhere) = (Dir::new(), Dir::new());
    dir.write(LOG, &log);
    symlink(elsewhere.write("secret", &meta), dir.path(META)).expect("a link");
    assert_eq!(
        cell(&dir, &["convert", "-t", "agent-orchestrator@2", "--out-dir", "out", LOG]),
        "0 CY0708 CY0324"
    );
    assert_eq!(dir.names().iter().filter(|name| name.starts_with("out/")).count(), 1);
    let dir = Dir::new();
    dir.write("in/s.meta.json", &meta);
    dir.write("other.meta.json", &meta);
    for name in ["../other", "/etc/passwd", ".."] {
        let done = dir.run(&["result", name, "--sessions-dir", "in"]);
        assert_eq!(done.status.code(), Some(2), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn metadata_that_may_not_be_read_still_mean_a_session() {
    let [log, meta] = pair();
    let dir = Dir::new();
    let open = |path: &std::path::Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    open(dir.root(), 0o755);
    open(&dir.write(LOG, &log), 0o644);
    open(&dir.write(META, &meta), 0);
    let as_nobody = |args: &[&str]| {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
        command.args(args).current_dir(dir.root()).uid(65534).gid(65534).output()
    };
    let Ok(done) = as_nobody(&["status", "orchard", "--sessions-dir", "."]) else {
        eprintln!("SKIP metadata_that_may_not_be_read: only root can become somebody else");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&done.stdout), "finished\n");
    let done = as_nobody(&["validate", "--json", LOG]).expect("it ran before");
    assert!(String::from_utf8_lossy(&done.stdout).contains("CY0705"));
    let done = as_nobody(&["list", "--sessions-dir", "."]).expect("it ran before");
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&done.stderr).contains("orchard.meta.json: cannot read"));
}

#[test]
#[ignore = "takes a minute and 8 GB of memory"]
fn files_of_500_megabytes() {
    let [log, meta] = pair();
    for (file, good, text) in [(LOG, &log, "I look it up."), (META, &meta, "counter")] {
        let dir = Dir::new();
        dir.write(LOG, &log);
        dir.write(META, &meta);
        dir.write(file, &replaced(good, text, "x".repeat(500_000_000).as_bytes()));
        for args in [
            &["validate", LOG][..],
            &["context", "-q", META],
            &["convert", "-t", "canonical", "-o", "out", LOG],
        ] {
            let done = dir.run(args);
            assert_eq!(
                done.status.code(),
                Some(0),
                "{file}: {args:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
    }
}
