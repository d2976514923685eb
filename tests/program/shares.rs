//! Runs that several processes share.

use copyist::batch::{Outcome, decoded, encoded, portions};
use copyist::manager::{Plan, Work};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{files, session_folders, testdata};

/// A copy of the sessions of the test data.
fn sessions(folder: &Path) -> PathBuf {
    let copy = folder.join("sessions");
    for file in session_folders().iter().flat_map(|folder| files(folder)) {
        let path = copy.join(file.strip_prefix(testdata()).expect("below"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::copy(file, path).expect("a file");
    }
    copy
}

fn work(out: &Path) -> Work {
    Work::convert("pi").expect("a format").out_dir(out).threads(1)
}

/// Does all portions of a plan but the first `left`, each in a journal of its own, and returns the
/// outcomes of their inputs.
fn run(plan: Plan, out: &Path, journals: &Path, left: usize) -> BTreeMap<String, Outcome> {
    let Plan { shares, reports, header, .. } = plan;
    let mut outcomes: BTreeMap<_, _> =
        reports.into_iter().map(|report| (report.path.to_string(), report.outcome)).collect();
    for (place, portion) in portions(shares, 20_000, 10).into_iter().enumerate().skip(left) {
        let shares = decoded(&encoded(&portion).expect("JSON")).expect("shares");
        let journal = journals.join(format!("{place}"));
        let done = work(out).run_shares(shares, Some((&journal, &header))).expect("a journal");
        assert_eq!(done.len(), portion.len());
        outcomes.extend(done.into_iter().map(|report| (report.path.to_string(), report.outcome)));
    }
    outcomes
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| {
        let below = path.strip_prefix(folder).expect("below").to_owned();
        (below, fs::read(&path).expect("a file"))
    };
    files(folder).into_iter().map(read).collect()
}

fn journals(folder: &Path, counts: impl Fn(&Path) -> bool) -> Vec<(PathBuf, bool)> {
    files(folder).into_iter().map(|path| (path.clone(), counts(&path))).collect()
}

#[test]
fn portions_together_do_what_one_run_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, alone) = (folder.path().join("out"), folder.path().join("alone"));
    let notes = folder.path().join("journals");
    fs::create_dir(&notes).expect("a folder");
    let input = sessions(folder.path());
    let whole = work(&alone).run([&input]).expect("a run");
    let whole: BTreeMap<_, _> =
        whole.into_iter().map(|report| (report.path.to_string(), report.outcome)).collect();
    let plan = work(&out).plan([&input], &[]).expect("a plan");
    let outcomes = run(plan, &out, &notes, 0);
    assert_eq!(outcomes, whole);
    assert_eq!(tree(&out), tree(&alone));

    // What is done is not done again.
    let journals = journals(&notes, |_| true);
    let again = work(&out).plan([&input], &journals).expect("a plan");
    let outputs = [Outcome::Converted, Outcome::Unchanged];
    let made = whole.values().filter(|outcome| outputs.contains(outcome)).count();
    assert_eq!(again.done, made as u64);
}

#[test]
fn portions_that_were_begun_are_done_again_over_their_own_outputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, alone) = (folder.path().join("out"), folder.path().join("alone"));
    let notes = folder.path().join("journals");
    fs::create_dir(&notes).expect("a folder");
    let input = sessions(folder.path());
    let whole = work(&alone).run([&input]).expect("a run");
    let failed = whole.iter().filter(|report| report.outcome == Outcome::Failed).count();
    run(work(&out).plan([&input], &[]).expect("a plan"), &out, &notes, 2);
    // A file of someone else, in the place of an output that is still to be written.
    let all = tree(&alone);
    let missing = all.keys().find(|path| !out.join(path).exists()).expect("two portions are left");
    fs::create_dir_all(out.join(missing).parent().expect("a folder")).expect("a folder");
    fs::write(out.join(missing), "mine").expect("a file");

    let counts = |path: &Path| path.file_name().is_some_and(|name| name != "3");
    let journals = journals(&notes, counts);
    let plan = work(&out).plan([&input], &journals).expect("a plan");
    let later = folder.path().join("later");
    fs::create_dir(&later).expect("a folder");
    let outcomes = run(plan, &out, &later, 0);
    let now = outcomes.values().filter(|outcome| **outcome == Outcome::Failed).count();
    assert_eq!(now, failed + 1);
    let mut both = tree(&out);
    assert_eq!(both.insert(missing.clone(), all[missing].clone()).as_deref(), Some(&b"mine"[..]));
    assert!(both.iter().all(|(path, bytes)| all.get(path) == Some(bytes)));
}

#[test]
fn journals_of_another_run_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, notes) = (folder.path().join("out"), folder.path().join("journals"));
    fs::create_dir(&notes).expect("a folder");
    let inputs = testdata().join("pi");
    run(work(&out).plan([&inputs], &[]).expect("a plan"), &out, &notes, 0);
    let journals = journals(&notes, |_| true);
    let migration = Work::migrate().out_dir(&out);
    let why = migration.plan([&inputs], &journals).expect_err("another command");
    assert!(why.to_string().contains("convert"), "{why}");
}
