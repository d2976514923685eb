//! The round trips of `testdata/roundtrip/`: sessions that are converted, changed by a user or an
//! agent, and converted back. Each case has its files side by side, to be read with `diff`.
//!
//! `UPDATE=1 cargo test --test roundtrip cases` writes `target`, `back` and `report.txt`, and
//! `edited` where it is missing.

use crate::common::{self, Dir, all_files, read, testdata};
use copyist::context::{Form, Request};
use copyist::format::Options;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a folder by their paths.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Endings of files that are not text: origins, and the databases of Codelia's newer store. They
/// are made in the test.
const BINARY: &[&str] = &["origin", "db"];

fn is_binary(path: &Path) -> bool {
    BINARY.iter().any(|ending| path.extension() == Some(ending.as_ref()))
}

/// The files below a folder, if it exists.
fn tree(folder: &Path) -> Tree {
    let files = if folder.is_dir() { all_files(folder) } else { Vec::new() };
    let relative = |file: &Path| file.strip_prefix(folder).expect("below").to_owned();
    files.into_iter().map(|file| (relative(&file), read(&file))).collect()
}

fn write(folder: &Path, files: &Tree) {
    for (path, bytes) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

/// Runs the commands of one way, as the note of a case lists them. Returns what they print beside
/// their results.
fn run(dir: &Dir, note: &str, way: &str) -> String {
    let begin = format!("{way}: copyist ");
    let commands = note.lines().filter_map(|line| line.strip_prefix(begin.as_str()));
    let mut report = String::new();
    for command in commands {
        let (code, printed) = dir.said(&command.split_whitespace().collect::<Vec<_>>());
        if code != 0 {
            report += &format!("{way}: exit code {code}\n");
        }
        let lines = printed.lines().filter(|line| !is_result(line));
        report.extend(lines.map(|line| format!("{way}: {line}\n")));
    }
    report
}

/// Whether a line says how many sessions were converted, and where they are.
fn is_result(line: &str) -> bool {
    let is_count = line.starts_with(|c: char| c.is_ascii_digit());
    is_count || ["written: ", "resume: "].iter().any(|begin| line.starts_with(begin))
}

/// Validates a folder: returns a line for each code that is found.
fn findings(dir: &Dir, folder: &str) -> BTreeMap<String, String> {
    let printed = dir.said(&["validate", folder]).1;
    let coded = printed.lines().filter_map(|line| {
        let (code, _) = line.split_once("[CY")?.1.split_once(']')?;
        Some((code.to_owned(), format!("validate: {line}\n")))
    });
    coded.collect()
}

/// The files and the report that the program makes of a case.
struct Made {
    target: Tree,
    back: Tree,
    report: String,
    /// Whether a model is sent the same of `edited`, without its origin, and of `back`.
    same_context: bool,
}

fn make(case: &Path, note: &str) -> Made {
    let dir = Dir::in_memory();
    write(&dir.path("source"), &tree(&case.join("source")));
    let mut report = run(&dir, note, "to");
    let (binary, target): (Tree, Tree) =
        tree(&dir.path("target")).into_iter().partition(|(path, _)| is_binary(path));
    let edited = tree(&case.join("edited"));
    write(&dir.path("edited"), if edited.is_empty() { &target } else { &edited });
    write(&dir.path("edited"), &binary);
    report += &run(&dir, note, "back");
    let mut back = tree(&dir.path("back"));
    let found = if back.is_empty() { BTreeMap::new() } else { findings(&dir, "back") };
    if !found.is_empty() {
        let known = findings(&dir, "source");
        let new = found.into_iter().filter(|(code, _)| !known.contains_key(code));
        report.extend(new.map(|(_, line)| line));
    }
    back.retain(|path, _| !is_binary(path));
    let same_context = back.is_empty() || context(&dir, "edited") == context(&dir, "back");
    Made { target, back, report, same_context }
}

/// The messages that a model gets of a session without its origin: roles, texts, and calls by
/// their tools.
fn context(dir: &Dir, folder: &str) -> Vec<String> {
    let stream = format!("stream of {folder}");
    let plain = ["convert", "-t", "canonical", "--ignore-origin", "--no-origin", "--out-dir"];
    dir.exit(&[&plain[..], &[stream.as_str(), folder]].concat());
    let request = Request { form: Form::Canonical, ..Request::default() };
    let sent = |bytes: &[u8]| common::context(bytes, &request, &Options::default()).0.ok();
    // In `again` is what a further conversion of the result makes.
    let files = tree(&dir.path(&stream)).into_iter().filter(|(path, _)| !path.starts_with("again"));
    files.flat_map(|(_, bytes)| sent(&bytes).map_or_else(Vec::new, |sent| words(&sent))).collect()
}

/// The messages of a context but the system's, each in words.
fn words(context: &[u8]) -> Vec<String> {
    let context = common::as_javascript(context);
    let messages = context["messages"].as_array().expect("messages").iter();
    let block = |block: &Value| match block["type"].as_str() {
        Some("tool_call") => format!("[call of {}]", block["name"]),
        Some("tool_result") => format!("[result {}]", block["content"]),
        _ => block["text"].as_str().unwrap_or_default().to_owned(),
    };
    let content = |content: &Value| match content.as_array() {
        Some(blocks) => blocks.iter().map(block).collect::<String>(),
        None => content.as_str().unwrap_or_default().to_owned(),
    };
    let messages = messages.filter(|message| message["role"] != "system");
    let words = messages.map(|message| (message["role"].to_string(), content(&message["content"])));
    words.filter(|(_, words)| !words.is_empty()).map(|(role, words)| role + &words).collect()
}

/// The first difference of two folders.
fn difference(made: &Tree, golden: &Tree, name: &str) -> Option<String> {
    let paths: BTreeSet<_> = made.keys().chain(golden.keys()).collect();
    let path = paths.into_iter().find(|path| made.get(*path) != golden.get(*path))?;
    let lines = |tree: &Tree| {
        let text = String::from_utf8_lossy(tree.get(path)?).into_owned();
        Some(text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (made, golden) = (lines(made).unwrap_or_default(), lines(golden).unwrap_or_default());
    let place = made.iter().zip(&golden).take_while(|(made, golden)| made == golden).count();
    Some(format!(
        "{name}/{}: line {}\n  made:   {:?}\n  golden: {:?}",
        path.display(),
        place + 1,
        made.get(place),
        golden.get(place)
    ))
}

/// Writes what the program makes of a case.
fn update(case: &Path, made: &Made) {
    for (name, files) in [("target", &made.target), ("back", &made.back)] {
        if case.join(name).is_dir() {
            fs::remove_dir_all(case.join(name)).expect("a writable folder");
        }
        write(&case.join(name), files);
    }
    if !case.join("edited").is_dir() {
        write(&case.join("edited"), &made.target);
    }
    let report = case.join("report.txt");
    if !made.report.is_empty() {
        fs::write(&report, &made.report).expect("a writable folder");
    } else if report.is_file() {
        fs::remove_file(&report).expect("a writable folder");
    }
}

/// Compares a case with its files. An unchanged target must give the source, the result must be
/// undamaged, and a model is sent the same of the target and of the result, unless the note says
/// why not.
fn check(case: &Path) -> Result<(), String> {
    let note = String::from_utf8(read(&case.join("NOTE.md"))).expect("UTF-8");
    let made = make(case, &note);
    if std::env::var_os("UPDATE").is_some() {
        update(case, &made);
    }
    for (name, files) in [("target", &made.target), ("back", &made.back)] {
        difference(files, &tree(&case.join(name)), name).map_or(Ok(()), Err)?;
    }
    let report = fs::read_to_string(case.join("report.txt")).unwrap_or_default();
    let is_unchanged = tree(&case.join("edited")) == made.target;
    let is_damage = |line: &str| line.starts_with("validate: ") && line.contains(": error[");
    let differs = note.contains("\nThe context differs: ");
    if made.report != report {
        Err(format!("report.txt: made:\n{}golden:\n{report}", made.report))
    } else if is_unchanged && made.back != tree(&case.join("source")) {
        Err("`edited` is as `target`, but `back` is not as `source`".to_owned())
    } else if report.lines().any(is_damage) {
        Err(format!("`back` is damaged:\n{report}"))
    } else if made.same_context == differs {
        Err(format!("NOTE.md: contexts are equal: {}", made.same_context))
    } else {
        Ok(())
    }
}

#[test]
fn every_case_gives_the_files_beside_it() {
    let folders = fs::read_dir(testdata().join("roundtrip")).expect("the cases");
    let mut cases: Vec<_> = folders.map(|entry| entry.expect("a case").path()).collect();
    cases.retain(|case| case.join("source").is_dir());
    cases.sort();
    let fault = |case: &PathBuf| {
        let fault = check(case).err()?;
        Some(format!("{}: {fault}\n", case.file_name()?.display()))
    };
    let faults = |cases: &[PathBuf]| cases.iter().filter_map(fault).collect::<String>();
    let failed: String = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(4));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || faults(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert!(failed.is_empty(), "UPDATE=1 writes the files of a case\n{failed}");
}
