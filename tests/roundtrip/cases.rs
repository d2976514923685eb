//! The round trips of `testdata/roundtrip/`: sessions that are converted, changed by a user or an
//! agent, and converted back. Each case has its files side by side, to be read with `diff`.
//!
//! `UPDATE=1 cargo test --test roundtrip cases` writes `target`, `back` and `report.txt`.

use crate::common::{Dir, all_files, read, testdata};
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

/// What `validate` finds in a folder: a line for each code.
fn findings(dir: &Dir, folder: &str) -> BTreeMap<String, String> {
    let printed = dir.said(&["validate", folder]).1;
    let coded = printed.lines().filter_map(|line| {
        let (code, _) = line.split_once("[CY")?.1.split_once(']')?;
        Some((code.to_owned(), format!("validate: {line}\n")))
    });
    coded.collect()
}

/// What the program makes of a case.
struct Made {
    target: Tree,
    back: Tree,
    report: String,
}

fn make(case: &Path) -> Made {
    let note = String::from_utf8(read(&case.join("NOTE.md"))).expect("UTF-8");
    let dir = Dir::in_memory();
    write(&dir.path("source"), &tree(&case.join("source")));
    let mut report = run(&dir, &note, "to");
    let (binary, target) =
        tree(&dir.path("target")).into_iter().partition(|(path, _)| is_binary(path));
    write(&dir.path("edited"), &tree(&case.join("edited")));
    write(&dir.path("edited"), &binary);
    report += &run(&dir, &note, "back");
    let mut back = tree(&dir.path("back"));
    if !back.is_empty() {
        let known = findings(&dir, "source");
        let new = findings(&dir, "back").into_iter().filter(|(code, _)| !known.contains_key(code));
        report.extend(new.map(|(_, line)| line));
    }
    back.retain(|path, _| !is_binary(path));
    Made { target, back, report }
}

/// Where two folders differ first.
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

/// Compares a case with its files, or writes them. Fails where an unchanged target does not give
/// the source, or where the result is damaged.
fn check(case: &Path) -> Result<(), String> {
    let made = make(case);
    let report = case.join("report.txt");
    if std::env::var_os("UPDATE").is_some() {
        for (name, files) in [("target", &made.target), ("back", &made.back)] {
            if case.join(name).is_dir() {
                fs::remove_dir_all(case.join(name)).expect("a writable folder");
            }
            write(&case.join(name), files);
        }
        match made.report.as_str() {
            "" if report.is_file() => fs::remove_file(&report).expect("a writable folder"),
            "" => {}
            text => fs::write(&report, text).expect("a writable folder"),
        }
    }
    let (source, edited) = (tree(&case.join("source")), tree(&case.join("edited")));
    for (name, files) in [("target", &made.target), ("back", &made.back)] {
        difference(files, &tree(&case.join(name)), name).map_or(Ok(()), Err)?;
    }
    let expected = fs::read_to_string(&report).unwrap_or_default();
    if made.report != expected {
        return Err(format!("report.txt:\n{}--- expected:\n{expected}", made.report));
    }
    if edited == made.target && made.back != source {
        return Err("`edited` is as `target`, and `back` is not as `source`".to_owned());
    }
    let is_damage = |line: &str| line.starts_with("validate: ") && line.contains(": error[");
    if made.report.lines().any(is_damage) {
        return Err(format!("`back` is damaged:\n{}", made.report));
    }
    Ok(())
}

#[test]
fn every_case_gives_the_files_beside_it() {
    let folders = fs::read_dir(testdata().join("roundtrip")).expect("the cases");
    let mut cases: Vec<_> = folders.map(|entry| entry.expect("a case").path()).collect();
    cases.retain(|case| case.join("source").is_dir());
    cases.sort();
    let failed = cases.iter().filter_map(|case| {
        let fault = check(case).err()?;
        Some(format!("{}: {fault}\n", case.file_name()?.display()))
    });
    let failed: String = failed.collect();
    assert!(failed.is_empty(), "UPDATE=1 writes the files of a case\n{failed}");
}
