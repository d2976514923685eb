//! Goldens that a person can read: what each file of our own becomes.
//!
//! `UPDATE=1 cargo test --test formats golden` writes them again.

use crate::codelia::store;
use crate::common::{
    self, Dir, all_files, assert_same, files, migrated, own_inputs, read, recognise, session,
    testdata, to_canonical,
};
use copyist::context::{Form, Request};
use copyist::format::{OnError, Options};
use copyist::formats::written;
use copyist::ids::Choice;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn check(golden: &Path, ours: &[u8]) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(golden.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(golden, ours).expect("a writable folder");
    }
    assert!(golden.is_file(), "{} is missing; UPDATE=1 writes it", golden.display());
    assert_same(ours, &read(golden), &golden.display().to_string());
}

fn case(input: &Path) -> &Path {
    input.parent().and_then(Path::parent).expect("a case")
}

#[test]
fn every_case_gives_its_canonical_stream() {
    for input in own_inputs() {
        let options = common::options(OnError::Stop, Choice::Derived);
        check(&case(&input).join("canonical.jsonl"), &to_canonical(&session(&input), &options));
    }
}

#[test]
fn every_older_case_migrates_to_the_newest_version() {
    for input in own_inputs() {
        let source = session(&input);
        let (format, version) = recognise(&source).expect("a known format");
        let newest = format.reached_from(version);
        if version < newest {
            let to = format.at(newest);
            let (done, _) = migrated(&source, &to, &Options::default());
            let golden = case(&input).join(format!("migrated.v{newest}.jsonl"));
            check(&golden, &common::alone(&done.expect("undamaged")));
        }
    }
}

#[test]
fn every_case_is_drawn() {
    for input in own_inputs() {
        let drawn = Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(["inspect", "--width", "100"])
            .arg(common::name(&input))
            .current_dir(input.parent().expect("a folder"))
            .output()
            .expect("the program runs");
        let valid = String::from_utf8_lossy(&drawn.stdout).contains("state     valid\n");
        assert_eq!(drawn.status.code(), Some(i32::from(!valid)), "{}", input.display());
        check(&case(&input).join("inspect.txt"), &drawn.stdout);
    }
}

#[test]
fn every_case_is_sent_in_every_shape() {
    for input in own_inputs() {
        let source = session(&input);
        for (name, form) in [
            ("canonical", Form::Canonical),
            ("openai", Form::OpenAi),
            ("anthropic", Form::Anthropic),
        ] {
            let options = common::options(OnError::Stop, Choice::Derived);
            let (sent, _) =
                common::context(&source, &Request { form, ..Request::default() }, &options);
            let golden = case(&input).join(format!("context.{name}.json"));
            check(&golden, &sent.expect("a context"));
        }
    }
}

#[test]
fn every_case_names_its_source() {
    for input in own_inputs() {
        let note = case(&input).join("NOTE.md");
        assert!(note.is_file(), "{} is missing", note.display());
    }
}

/// Converts a session to a format: returns its files, with rows in place of its database, and
/// what the conversion reports as lost.
fn in_format(session: &[u8], to: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let dir = Dir::in_memory();
    dir.write("rich.jsonl", session);
    let plain = ["convert", "--no-origin", "--report", "report.json", "-t", to];
    let (code, printed) = dir.exit(&[&plain[..], &["--out-dir", "to", "rich.jsonl"]].concat());
    assert_eq!(code, 0, "{to}: {printed}");
    let folder = dir.path("to");
    let mut made = BTreeMap::new();
    for file in all_files(&folder) {
        let path = file.strip_prefix(&folder).expect("below").to_owned();
        if common::name(&file) == "state.db" {
            let home = file.parent().and_then(Path::parent).expect("a home");
            let rows: String = store::rows(home).into_iter().map(|row| row + "\n").collect();
            made.insert(path.with_file_name("state.db.txt"), rows.into_bytes());
        } else {
            made.insert(path, read(&file));
        }
    }
    let report: Value = serde_json::from_slice(&read(&dir.path("report.json"))).expect("JSON");
    let found = report["inputs"][0]["diagnostics"].as_array().expect("findings").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = found.map(|found| {
        format!(
            "{}[{}]: {}\n",
            text(&found["severity"]),
            text(&found["code"]),
            text(&found["message"])
        )
    });
    made.insert("losses.txt".into(), found.collect::<String>().into_bytes());
    made
}

#[test]
fn a_rich_session_is_written_in_every_format() {
    let folder = testdata().join("roundtrip/rich");
    let session = read(&folder.join("rich.jsonl"));
    let versions = written().flat_map(|f| f.versions.iter().map(|v| f.at(v.number)));
    let mut expected = BTreeSet::new();
    for to in versions.filter(|to| to != "pi@3") {
        let golden = folder.join("to").join(&to);
        for (path, bytes) in in_format(&session, &to) {
            check(&golden.join(&path), &bytes);
            expected.insert(golden.join(path));
        }
    }
    let found: BTreeSet<_> = files(&folder.join("to")).into_iter().collect();
    let others: Vec<_> = found.difference(&expected).collect();
    assert!(others.is_empty(), "no conversion writes these: {others:#?}");
}
