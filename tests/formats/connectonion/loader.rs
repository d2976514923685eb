//! The real loader reads what we write, and we read what it reads.

use super::{FORMAT, messages, ours};
use crate::common::{self, converted, corpus, options, own_inputs, read, recognise};
use copyist::diagnostic::Severity;
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The real loader, if Python and PyYAML are there.
fn loader(test: &str) -> Option<PathBuf> {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/connectonion/load.py");
    let yaml = Command::new("python3").args(["-c", "import yaml"]).output();
    let why = match (script.is_file(), yaml.is_ok_and(|done| done.status.success())) {
        (false, _) => "no loader beside the project",
        (_, false) => "no Python with PyYAML",
        _ => return Some(script),
    };
    eprintln!("SKIP {test}: {why}");
    None
}

/// Loads a file as the real software does.
fn load(script: &Path, file: &Path, libyaml: bool) -> Value {
    let mut command = Command::new("python3");
    command.arg(script).arg(file);
    if libyaml {
        command.arg("--c");
    }
    let done = command.output().expect("Python runs");
    common::as_javascript(&done.stdout)
}

#[test]
fn the_real_loader_reads_what_is_written_from_other_formats() {
    let Some(script) = loader("what is written from other formats") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut loaded = 0;
    for input in own_inputs() {
        let source = read(&input);
        let (format, version) = recognise(&source).expect("a known format");
        for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
            let keep = options(OnError::Keep, Choice::Derived);
            let (done, _) = converted(&source, format, version, to, &keep);
            let out = done.unwrap_or_else(|error| panic!("{} to {to}: {error}", input.display()));
            let file = folder.path().join("out.yaml");
            std::fs::write(&file, common::alone(&out)).expect("a writable folder");
            let hard = input.iter().any(|p| p == "spellings" || p == "quay");
            let both: &[bool] = if to.ends_with('3') { &[false] } else { &[false, true] };
            for &libyaml in both {
                let seen = load(&script, &file, libyaml);
                // What ConnectOnion itself writes in a way that its loader refuses, comes so.
                if hard && seen["ok"] == false {
                    continue;
                }
                assert_eq!(seen["ok"], true, "{} to {to}: {seen}", input.display());
                let theirs: Vec<Value> = messages(&seen);
                let (ours, _) = ours(&out);
                let restored = ours.len() - theirs.len();
                assert!(restored <= 4, "{} to {to}: {restored}", input.display());
                let all = theirs.iter().all(|message| ours.contains(message));
                assert!(all, "{} to {to}:\n{theirs:#?}\n{ours:#?}", input.display());
                loaded += 1;
            }
        }
    }
    println!("the real loader read {loaded} files that we wrote");
    assert!(loaded > 20, "{loaded}");
}

#[test]
fn damaged_and_edited_files_are_read_as_far_as_the_real_loader_reads_them() {
    let Some(corpus) = corpus("damaged files of ConnectOnion") else { return };
    let folder = corpus.join(FORMAT).join("mut");
    let expected = common::as_javascript(&read(&folder.join("expected.json")));
    let (mut read_whole, mut told, mut unknown) = (0, 0, Vec::new());
    for (file, theirs) in expected.as_object().expect("a table") {
        let source = read(&folder.join(file));
        let Some((format, version)) = recognise(&source) else {
            unknown.push(file.as_str());
            continue;
        };
        let keep = options(OnError::Keep, Choice::Derived);
        let (done, found) = converted(&source, format, version, "canonical", &keep);
        let failed = done.is_err();
        let stream = String::from_utf8(done.unwrap_or_default()).expect("UTF-8");
        let ours = stream.lines().filter(|line| {
            line.contains("\"kind\":\"message\"") && !line.contains("\"synthesized\"")
        });
        let system = stream.contains("\"system_prompt\":\"") && version == 2;
        let count = ours.count() as u64 + u64::from(system);
        let least = theirs["n_messages"].as_u64().unwrap_or(0);
        assert!(count >= least, "{file}: {count} messages, the real loader finds {least}");
        if theirs["ok"] == true && !failed && found.worst() < Some(Severity::Error) {
            read_whole += 1;
        } else {
            assert!(
                failed || !found.counts.is_empty(),
                "{file}: nothing was said, theirs is {theirs}"
            );
            told += 1;
        }
    }
    println!("{read_whole} read whole, {told} with something said, not recognised: {unknown:?}");
    // Nothing at all, two attacks that have neither turns nor a header, and a name with half a
    // date.
    for file in unknown {
        let other = ["b_alias_bomb.yaml", "b_deep.yaml", "eval_trunc_0.yaml"].contains(&file);
        assert!(other || file.ends_with("_empty.yaml"), "{file} is not recognised");
    }
    assert!(read_whole + told > 55, "{read_whole} {told}");
}

/// What the program answers for every such file: no panic, an exit code that fits, a reason.
#[test]
fn damaged_and_edited_files_get_a_fitting_exit_code() {
    let Some(corpus) = corpus("exit codes for damaged files of ConnectOnion") else { return };
    let folder = corpus.join(FORMAT).join("mut");
    let expected = common::as_javascript(&read(&folder.join("expected.json")));
    let dir = common::Dir::new();
    for (file, theirs) in expected.as_object().expect("a table") {
        let source = read(&folder.join(file));
        let path = folder.join(file).display().to_string();
        let (exit, said) = dir.said(&["context", "--json", "-f", FORMAT, &path]);
        assert!(!said.contains("panicked"), "{file}: {said}");
        let attack = file.ends_with("_deep.yaml") || file.contains("bomb");
        let known = recognise(&source).is_some();
        match exit {
            0 => assert!(known, "{file}: {said}"),
            1 => assert!(said.contains("\"code\":\"CY01"), "{file}: {said}"),
            3 => assert!(source.is_empty() || !known || theirs["ok"] == false, "{file}: {said}"),
            other => panic!("{file}: exit code {other}: {said}"),
        }
        assert!(exit > 0 || !(source.is_empty() || attack), "{file}: {said}");
    }
}
