//! Nothing that a person has is replaced by accident, and no input is read in part in silence.

use crate::common::{self, Dir, own, read};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

#[test]
fn an_output_never_replaces_another_input() {
    let dir = Dir::new();
    let (a, b) = (own("pi/v1/feature-work"), own("pi/v1/compacted"));
    dir.write("a/s.jsonl", &a);
    dir.write("b/s.jsonl", &b);
    let (code, said) =
        dir.said(&["migrate", "--force", "--out-dir", "a", "b/s.jsonl", "a/s.jsonl"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("CY0702"), "{said}");
    assert_eq!(read(&dir.path("a/s.jsonl")), a);
    assert_eq!(read(&dir.path("b/s.jsonl")), b);
}

#[test]
fn originals_that_were_kept_are_passed_over() {
    let dir = Dir::new();
    let original = own("pi/v1/feature-work");
    dir.write("e/s.jsonl", &original);
    assert_eq!(dir.said(&["migrate", "--in-place", "e"]).0, 0);
    let (code, said) = dir.said(&["migrate", "--in-place", "--no-backup", "-v", "e"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("1 unchanged, 1 skipped"), "{said}");
    assert_eq!(read(&dir.path("e/s.jsonl.bak")), original);
}

/// A folder into which anybody may put files and whose list nobody sees is nobody's error.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_takes_outputs() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "a.jsonl");
    fs::create_dir(dir.path("box")).expect("a folder");
    let grant = |mode| fs::set_permissions(dir.path("box"), fs::Permissions::from_mode(mode));
    grant(0o333).expect("our own folder");
    if fs::read_dir(dir.path("box")).is_ok() {
        eprintln!("SKIP a_folder_that_cannot_be_read_takes_outputs: this user may read everything");
        return;
    }
    let (code, said) = dir.said(&["migrate", "--out-dir", "box", "a.jsonl"]);
    grant(0o755).expect("our own folder");
    assert_eq!(code, 0, "{said}");
    assert!(dir.path("box/a.jsonl").is_file());
}

#[test]
fn originals_are_not_called_as_sessions_are() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "e/s.jsonl");
    let (code, said) = dir.said(&["migrate", "--in-place", "--backup=.jsonl", "e"]);
    assert!(code == 2 && said.contains("names of sessions have this ending"), "{said}");
}

#[test]
fn a_report_replaces_nothing_but_a_report() {
    let dir = Dir::new();
    let original = own("pi/v1/feature-work");
    dir.write("v1.jsonl", &original);
    dir.write("precious", b"precious");
    assert_eq!(dir.said(&["validate", "v1.jsonl", "--report", "precious"]).0, 2);
    assert_eq!(read(&dir.path("precious")), b"precious");
    for _ in 0..2 {
        assert_eq!(dir.said(&["validate", "v1.jsonl", "--report", "r.json"]).0, 0);
    }
    let (code, _) =
        dir.said(&["migrate", "v1.jsonl", "-o", "out.jsonl", "--report", "./out.jsonl"]);
    assert!(code == 2 && !dir.path("out.jsonl").exists());
    // A name that is taken only while the program runs.
    let (code, _) = dir.said(&["migrate", "--in-place", "v1.jsonl", "--report", "v1.jsonl.bak"]);
    assert_ne!(code, 0);
    assert_eq!(read(&dir.path("v1.jsonl.bak")), original);
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_to_its_end() {
    let dir = Dir::new();
    let mut text = own("pi/v1/feature-work");
    let line = text.split(|b| *b == b'\n').nth(2).expect("an entry").to_vec();
    while text.len() < 300_000 {
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    let file = dir.write("long.jsonl", &text);
    let expected = dir.said(&["convert", "-t", "canonical", "-o", "-", "long.jsonl"]).1;
    for command in ["migrate", "convert"] {
        let fifo = dir.path(&format!("fifo-{command}"));
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
        let mut feed = Command::new("cp")
            .args([file.as_os_str(), fifo.as_os_str()])
            .stderr(Stdio::null())
            .spawn()
            .expect("cp runs");
        let name = fifo.file_name().expect("a name").to_string_lossy().into_owned();
        let to = if command == "convert" { "canonical" } else { "pi@3" };
        let done = dir.said(&[
            command,
            if command == "convert" { "-t" } else { "--to" },
            to,
            "-o",
            "-",
            &name,
        ]);
        assert_eq!(done.0, 0, "{}", done.1);
        feed.wait().expect("cp ends");
        if command == "convert" {
            assert_eq!(done.1.lines().count(), expected.lines().count());
        }
    }
}

#[cfg(unix)]
#[test]
fn links_in_a_folder_are_counted() {
    let dir = Dir::new();
    let file = dir.write("v1.jsonl", &own("pi/v1/feature-work"));
    fs::create_dir(dir.path("folder")).expect("a folder");
    std::os::unix::fs::symlink(&file, dir.path("folder/a.jsonl")).expect("a link");
    let (code, said) = dir.said(&["migrate", "--out-dir", "out", "-v", "folder"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a.jsonl: skipped") && said.contains("1 skipped"), "{said}");
}

#[test]
fn a_dry_run_reports_what_a_real_one_would_meet() {
    let dir = Dir::new();
    dir.write("v1.jsonl", &own("pi/v1/feature-work"));
    dir.write("there.jsonl", b"there");
    let (code, said) = dir.said(&["migrate", "-n", "-o", "there.jsonl", "v1.jsonl"]);
    assert_eq!(code, 3, "{said}");
    let (code, said) = dir.said(&["migrate", "-n", "--in-place", "v1.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read_dir(dir.root()).expect("a folder").count(), 2, "something was written");
}

#[test]
fn a_header_of_any_length_is_recognised() {
    let dir = Dir::new();
    let long = "x".repeat(70_000);
    let text = format!(
        "{{\"id\":\"s\",\"note\":\"{long}\",\"version\":3,\"type\":\"session\",\"timestamp\":\"t\",\"cwd\":\"/w\"}}\n"
    );
    dir.write("long.jsonl", text.as_bytes());
    assert_eq!(dir.said(&["detect", "long.jsonl"]).1, "long.jsonl: pi@3 (certain)\n");
    assert_eq!(dir.said(&["validate", "long.jsonl"]).0, 0);
    assert_eq!(dir.said(&["convert", "-t", "pi@2", "-o", "out.jsonl", "long.jsonl"]).0, 0);
}

#[test]
fn what_has_no_end_is_an_error_not_a_wait() {
    let dir = Dir::new();
    if !Path::new("/dev/zero").exists() {
        eprintln!("SKIP what_has_no_end: no /dev/zero");
        return;
    }
    let (code, said) =
        dir.said(&["migrate", "-f", "pi", "--max-line", "1000000", "-n", "/dev/zero"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("CY0107"), "{said}");
}

#[test]
fn a_line_that_is_too_long_is_never_dropped_while_lines_are_kept() {
    let dir = Dir::new();
    dir.write("v1.jsonl", &own("pi/v1/feature-work"));
    for command in [&["migrate", "--on-error", "keep"][..], &["convert", "-t", "canonical"]] {
        let args = [command, &["--max-line", "400", "-o", "out", "v1.jsonl"]].concat();
        let (code, said) = dir.said(&args);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains("CY0107"), "{said}");
        assert!(!dir.path("out").exists());
    }
    let skipped = ["migrate", "--on-error", "skip", "--max-line", "400", "-o", "out", "v1.jsonl"];
    let (code, said) = dir.said(&skipped);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("1 migrated"), "{said}");
}

#[test]
fn a_skipped_line_before_the_header_is_a_change() {
    let dir = Dir::new();
    let text = [b"{bad\n".to_vec(), own("pi/v3/everything")].concat();
    dir.write("a.jsonl", &text);
    let (code, said) = dir.said(&["migrate", "--in-place", "--on-error", "skip", "a.jsonl"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("1 migrated"), "{said}");
    assert_eq!(read(&dir.path("a.jsonl")), own("pi/v3/everything"));
    assert_eq!(read(&dir.path("a.jsonl.bak")), text);
}

#[test]
fn a_torn_line_that_is_skipped_takes_nothing_with_it() {
    let dir = Dir::new();
    let whole = own("pi/v3/everything");
    dir.write("a.jsonl", &[&whole[..], b"{\"type\":\"mess"].concat());
    let skip = ["convert", "-t", "canonical", "--on-error", "skip", "-o", "c.jsonl", "a.jsonl"];
    let (code, said) = dir.said(&skip);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("CY0103") && !said.contains("CY0110"), "{said}");
    assert_eq!(dir.said(&["convert", "-t", "pi@3", "-o", "b.jsonl", "c.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("b.jsonl")), whole);
}

#[test]
fn several_parts_come_in_their_order_or_not_at_all() {
    use copyist::format::Sink;
    use copyist::store::{Destination, Output, Policy};
    let dir = Dir::new();
    let write = |output: &mut Output, name: &str| {
        let mut part = output.create(name)?;
        std::io::Write::write_all(&mut part, name.as_bytes()).expect("written");
        Ok::<_, copyist::error::Error>(())
    };
    let place = || Destination::Files { main: dir.path("s.jsonl"), stem: dir.path("s") };
    let prepare = |place| Output::prepare(place, vec![], Policy::default(), Arc::default());
    let begin = || prepare(place()).expect("free");
    let mut output = begin();
    for name in ["", ".meta.json", "/deep/er.jsonl"] {
        write(&mut output, name).expect("room");
    }
    drop(output);
    assert!(dir.names().is_empty(), "{:?}", dir.names());
    let mut output = begin();
    for name in ["", ".meta.json", "/deep/er.jsonl"] {
        write(&mut output, name).expect("room");
    }
    output.commit().expect("in place");
    assert_eq!(dir.names(), ["s/deep/er.jsonl", "s.jsonl", "s.meta.json"]);
    assert_eq!(read(&dir.path("s/deep/er.jsonl")), b"/deep/er.jsonl");
    let other = Destination::Files { main: dir.path("t.jsonl"), stem: dir.path("s") };
    let mut output = prepare(other).expect("free");
    let error = write(&mut output, ".meta.json").expect_err("it is there");
    assert_eq!(error.code().name(), "CY0701");
    let one = Destination::File(dir.path("u.jsonl"));
    let mut output = prepare(one).expect("free");
    let error = write(&mut output, ".meta.json").expect_err("there is no room");
    assert_eq!(error.code().name(), "CY0706");
}

/// The report of a run.
fn report(dir: &Dir) -> serde_json::Value {
    serde_json::from_slice(&read(&dir.path("r.json"))).expect("JSON")
}

#[test]
fn what_becomes_of_a_damaged_line_is_reported() {
    let dir = Dir::new();
    let damaged = [&own("pi/v1/feature-work")[..], b"{\"type\":\n"].concat();
    dir.write("a.jsonl", &damaged);
    for command in [&["migrate"][..], &["convert", "-t", "canonical"]] {
        for (way, word, lost) in [("skip", "left out", 1), ("keep", "carried along", 0)] {
            let args = ["--force", "--on-error", way, "-o", "o", "--report", "r.json", "a.jsonl"];
            let (code, said) = dir.said(&[command, &args].concat());
            assert_eq!(code, 1, "{said}");
            assert!(said.contains(word), "{said}");
            assert!(!said.contains("--on-error keep"), "{said}");
            let told = &report(&dir)["inputs"][0];
            let message = told["diagnostics"][0]["message"].as_str().expect("text");
            assert!(message.ends_with(word), "{message}");
            let count = told["losses"]["dropped"]["damaged line"].as_u64().unwrap_or(0);
            assert_eq!(count, lost, "{command:?} {way}");
        }
    }
    // Nothing is written here, so nothing is left out.
    let (_, said) = dir.said(&["validate", "a.jsonl"]);
    assert!(!said.contains("left out"), "{said}");
}

#[test]
fn what_is_not_read_behind_damaged_yaml_is_reported() {
    let dir = Dir::new();
    let whole = String::from_utf8(own("connectonion/v2/seed")).expect("UTF-8");
    let place = whole.len() * 2 / 3;
    let line = whole[..place].rfind('\n').expect("a line") + 1;
    dir.write("a.yaml", format!("{}\t<<<\n{}", &whole[..line], &whole[line..]).as_bytes());
    for more in [&[][..], &["--on-error", "keep"], &["--on-error", "skip"]] {
        let args = ["convert", "-t", "canonical", "--force", "-o", "o", "--report", "r.json"];
        let (code, said) = dir.said(&[&args[..], more, &["a.yaml"]].concat());
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("was not read, and is not in the output"), "{said}");
        assert!(said.contains("copyist repair"), "{said}");
        assert_eq!(report(&dir)["inputs"][0]["losses"]["dropped"]["rest of a damaged file"], 1);
    }
    let (_, said) = dir.said(&["inspect", "a.yaml"]);
    assert!(said.contains("was not read"), "{said}");
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_work() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "a.jsonl");
    dir.copy("pi/v3/everything", "b.jsonl");
    dir.write("folder/x", b"");
    for report in ["folder", "folder/", "none/r.json", "o", "./o", "-"] {
        let args = ["migrate", "-o", "o", "--report", report, "a.jsonl"];
        let (code, said) = dir.said(&args);
        assert!(code == 2 && said.contains("--report"), "{report}: {said}");
        let diff = dir.said(&["diff", "--report", report, "a.jsonl", "b.jsonl"]);
        assert_eq!(diff.0, if report.ends_with('o') { 1 } else { 2 }, "{report}: {}", diff.1);
        _ = std::fs::remove_file(dir.path("o"));
    }
    assert_eq!(dir.names(), ["a.jsonl", "b.jsonl", "folder/x"]);
    for command in [&["repair"][..], &["migrate", "--repair"]] {
        let args = [command, &["--quarantine", "-", "-o", "o", "a.jsonl"]].concat();
        let (code, said) = dir.said(&args);
        assert!(code == 2 && said.contains("--quarantine"), "{said}");
    }
}

#[test]
fn what_is_set_aside_is_no_part_of_the_output() {
    let dir = Dir::new();
    dir.copy("pi/v3/everything", "a.jsonl");
    let torn = [read(&dir.path("a.jsonl")), b"{\"torn".to_vec()].concat();
    dir.write("a.jsonl", &torn);
    let to = ["convert", "-t", "agent-orchestrator", "--out-dir", "out", "--repair", "a.jsonl"];
    for quarantine in ["out/a.meta.json", "./out/a.meta.json", "out/a.jsonl"] {
        for force in [&[][..], &["--force"]] {
            let args = [&to[..], &["--quarantine", quarantine], force].concat();
            let (code, said) = dir.said(&args);
            let place = quarantine.trim_start_matches("./");
            assert!(code == 3 && said.contains(place), "{quarantine}: {said}");
            assert_eq!(dir.names(), ["a.jsonl"], "{quarantine}");
        }
    }
}

#[test]
fn the_help_fits_the_request() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "a.jsonl");
    for command in [&["migrate"][..], &["convert", "-t", "canonical"], &["repair"]] {
        let args = [command, &["--force", "-o", "j", "--journal", "j", "a.jsonl"]].concat();
        let (code, said) = dir.said(&args);
        assert!(code == 3 && said.contains("is the journal of this run"), "{said}");
        assert!(!said.contains("`migrate --in-place` keeps"), "{said}");
        std::fs::remove_file(dir.path("j")).expect("a journal");
    }
    let native = ["migrate", "--to", "pi@3", "--layout", "native", "--out-dir", "f", "a.jsonl"];
    let (code, said) = dir.said(&native);
    assert!(code == 2 && said.contains("for `convert`") && !dir.path("f").exists(), "{said}");
}

#[test]
fn no_option_is_passed_over() {
    let dir = Dir::new();
    dir.copy("pi/v1/feature-work", "a.jsonl");
    for command in ["migrate", "repair"] {
        let cases =
            [&["--backup=.orig", "-o", "o"][..], &["--no-backup", "-o", "o"], &["--resume", "-n"]];
        for options in cases {
            let (code, said) = dir.said(&[&[command], options, &["a.jsonl"]].concat());
            assert_eq!(code, 2, "{options:?}: {said}");
        }
    }
    assert_eq!(dir.names(), ["a.jsonl"]);
}

#[test]
fn what_would_fail_is_reported_before_anything_is_done() {
    let dir = Dir::new();
    // With the ending of a backup the name is too long for any file system.
    let long = format!("in/{}.jsonl", "n".repeat(247));
    dir.copy("pi/v1/feature-work", &long);
    for dry in [&["-n"][..], &[]] {
        let (code, said) = dir.exit(&[&["migrate", "--in-place"], dry, &["in"]].concat());
        assert!(code == 3 && said.contains("name too long"), "{dry:?}: {said}");
        let (code, said) =
            dir.exit(&[&["convert", "-t", "canonical", "--out-dir", "o"], dry, &["in"]].concat());
        assert!(code == 3 && said.contains("name too long"), "{dry:?}: {said}");
    }
    let (code, said) = dir.exit(&["migrate", "-n", "--in-place", "--no-backup", "in"]);
    assert!(code == 0 && said.contains("1 migrated"), "{said}");
    assert_eq!(dir.exit(&["migrate", "--in-place", "--no-backup", "in"]).0, 0);
    // What is as it should be needs no backup.
    assert_eq!(dir.exit(&["migrate", "-n", "--in-place", "in"]).0, 0);
}

#[cfg(unix)]
#[test]
fn what_belongs_to_others_is_reported_before_anything_is_done() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let dir = Dir::new();
    if std::fs::metadata(dir.root()).expect("a folder").uid() != 0 {
        return eprintln!("SKIP what belongs to others: only root can make it");
    }
    let session = common::own("pi/v1/feature-work");
    for folder in ["in", "closed"] {
        let file = dir.write(&format!("{folder}/a.jsonl"), &session);
        let open = std::fs::Permissions::from_mode;
        std::fs::set_permissions(&file, open(0o666)).expect("ours");
        std::fs::set_permissions(dir.root(), open(0o777)).expect("ours");
        let mode = if folder == "in" { 0o777 } else { 0o755 };
        std::fs::set_permissions(dir.path(folder), open(mode)).expect("ours");
    }
    let own = dir.write("in/own.jsonl", &session);
    chown(&own, Some(NOBODY), Some(NOBODY)).expect("root");
    let program = dir.path("copyist");
    std::fs::copy(env!("CARGO_BIN_EXE_copyist"), &program).expect("room");
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(args).current_dir(dir.root()).uid(NOBODY).gid(NOBODY);
        // A child of another test has the copy open for writing until it runs its own program.
        let done = loop {
            match command.output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                done => break done.expect("it runs"),
            }
        };
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code().expect("an exit code"), said)
    };
    for (args, failed) in [
        (&["migrate", "--in-place", "in/own.jsonl"][..], None),
        (&["migrate", "--in-place", "in/a.jsonl"], Some("the owner and the group")),
        (&["migrate", "--out-dir", "closed", "in/a.jsonl"], Some("closed")),
        (&["migrate", "--out-dir", "closed/new", "in/a.jsonl"], Some("closed")),
    ] {
        for dry in [&["-n"][..], &[]] {
            let (code, said) = run(&[args, dry].concat());
            assert_eq!(code, if failed.is_some() { 3 } else { 0 }, "{args:?} {dry:?}: {said}");
            assert!(failed.is_none_or(|why| said.contains(why)), "{args:?} {dry:?}: {said}");
        }
    }
}

/// A limit on the size of files is no reason to vanish: the input that is too large fails, the others
/// do not, and nothing is left behind.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_as_large_fails_alone() {
    let dir = Dir::new();
    let entry = |text: &str| {
        let message = format!(r#"{{"role":"user","content":"{text}"}}"#);
        format!(
            "{{\"type\":\"message\",\"timestamp\":\"2025-11-18T09:14:31.902Z\",\"message\":{message}}}\n"
        )
    };
    let header = r#"{"type":"session","id":"s","timestamp":"2025-11-18T09:14:02.420Z","cwd":"/w"}"#;
    dir.write("small.jsonl", format!("{header}\n{}", entry("short")).as_bytes());
    let large = format!("{header}\n{}", entry(&"long ".repeat(400)).repeat(200));
    dir.write("large.jsonl", large.as_bytes());
    let done = Command::new("sh")
        .args(["-c", r#"ulimit -f 200; exec "$0" migrate --in-place small.jsonl large.jsonl"#])
        .arg(env!("CARGO_BIN_EXE_copyist"))
        .current_dir(dir.root())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("large.jsonl: error"), "{said}");
    assert_eq!(read(&dir.path("large.jsonl")), large.as_bytes());
    assert!(read(&dir.path("small.jsonl")).starts_with(&header.as_bytes()[..header.len() - 1]));
    assert_eq!(dir.names(), ["large.jsonl", "small.jsonl", "small.jsonl.bak"]);
}

#[cfg(unix)]
#[test]
fn a_file_with_other_names_is_changed_under_its_own_and_that_is_reported() {
    let dir = common::Dir::new();
    dir.copy("pi/v1/compacted", "s.jsonl");
    let old = common::read(&dir.path("s.jsonl"));
    std::fs::hard_link(dir.path("s.jsonl"), dir.path("other.txt")).expect("a link");
    for option in ["-n", "-v"] {
        let (code, said) = dir.exit(&["migrate", option, "--in-place", "s.jsonl"]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("warning[CY0724]"), "{option}: {said}");
    }
    assert_eq!(common::read(&dir.path("other.txt")), old);
    assert_ne!(common::read(&dir.path("s.jsonl")), old);
    // What is not changed parts from nothing.
    std::fs::hard_link(dir.path("s.jsonl"), dir.path("third.txt")).expect("a link");
    let (code, said) = dir.exit(&["migrate", "--in-place", "s.jsonl"]);
    assert!(code == 0 && !said.contains("CY0724"), "{said}");
}
