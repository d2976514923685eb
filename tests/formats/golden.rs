//! Goldens that a person can read: what each file of our own becomes.
//!
//! `UPDATE=1 cargo test --test formats golden` writes them anew.

use crate::common::{
    self, assert_same, migrated, own_inputs, read, recognise, session, to_canonical,
};
use copyist::context::{Form, Request};
use copyist::format::{OnError, Options};
use copyist::ids::Choice;
use std::path::Path;
use std::process::Command;

fn check(golden: &Path, ours: &[u8]) {
    if std::env::var_os("UPDATE").is_some() {
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
