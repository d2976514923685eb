//! Converted files that lost their ends, or everything, and what their origins restore.

use crate::common::{Dir, all_files, files, own, read, testdata};
use std::path::{Path, PathBuf};

/// Sources of each format, each a single file.
const SOURCES: &[&str] = &[
    "pi/v1/first-generation",
    "pi/v3/everything",
    "connectonion/v1/quay",
    "connectonion/v3/tides",
    "codex/v2/polish",
    "codelia/v1/seed",
    "claude-code/v2/parallel",
];

const TARGETS: &[&str] = &[
    "pi@1",
    "pi@3",
    "connectonion@1",
    "connectonion@2",
    "connectonion@3",
    "agent-orchestrator@2",
    "claude-code@2",
    "codelia@1",
    "codelia@2",
    "codex@1",
    "codex@3",
];

/// A folder `there` with a session of our own, converted to this target; the largest file in it.
fn converted(case: &str, to: &str) -> (Dir, PathBuf) {
    let dir = Dir::in_memory();
    let input = files(&testdata().join(case).join("in")).remove(0);
    dir.write("in.jsonl", &read(&input));
    let (code, report) = dir.exit(&["convert", "-t", to, "--out-dir", "there", "in.jsonl"]);
    assert_eq!(code, 0, "{case} to {to}: {report}");
    let size = |file: &PathBuf| read(file).len();
    let file = files(&dir.path("there")).into_iter().max_by_key(size).expect("a file");
    (dir, file)
}

/// The contents of all files below a folder, without origins.
fn contents(folder: &Path) -> Vec<Vec<u8>> {
    if folder.exists() { files(folder).iter().map(|file| read(file)).collect() } else { Vec::new() }
}

/// Places within a text: some between records, and some within them.
fn places(text: &[u8]) -> Vec<usize> {
    let ends: Vec<_> = (1..).zip(text).filter(|(_, b)| **b == b'\n').map(|(end, _)| end).collect();
    let end = |part: usize| ends.get(ends.len() * part / 100).copied().unwrap_or_default();
    let mut all = vec![0, 1, text.len() / 100, text.len() * 33 / 100, text.len() * 90 / 100];
    all.extend([end(0), end(30), end(60)]);
    all.extend(ends.iter().rev().nth(1));
    all.retain(|place| *place < text.len());
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_file_cut_anywhere_is_restored_from_its_origin() {
    let mut restored = 0;
    for (case, to) in SOURCES.iter().flat_map(|case| TARGETS.iter().map(move |to| (case, to))) {
        let (dir, file) = converted(case, to);
        let is_origin = |file: &PathBuf| file.extension().is_some_and(|end| end == "origin");
        if !all_files(&dir.path("there")).iter().any(is_origin) {
            // The target is the source's own format and version.
            continue;
        }
        let source = {
            let (_, report) = dir.said(&["detect", "in.jsonl"]);
            report.split_whitespace().nth(1).expect("a format").to_owned()
        };
        let back = ["convert", "--fail-on", "loss", "-t", &source, "--out-dir"];
        assert_eq!(dir.exit(&[&back[..], &["whole", "there"]].concat()).0, 0, "{case} to {to}");
        let (whole, there) = (contents(&dir.path("whole")), read(&file));
        for place in places(&there) {
            std::fs::write(&file, &there[..place]).expect("a file");
            for folder in ["mended", "home"] {
                std::fs::remove_dir_all(dir.path(folder)).ok();
            }
            let what = format!("{case} to {to}, cut at {place} of {}", there.len());
            let (code, report) = dir.exit(&["repair", "--out-dir", "mended", "there"]);
            let (home, more) = match dir.path("mended").exists() {
                true => dir.exit(&[&back[..], &["home", "mended"]].concat()),
                false => (code, String::new()),
            };
            let same = contents(&dir.path("home")) == whole;
            // A repair also replaces what no model accepts, which is an edit.
            assert!(same || home > 0, "{what}: {code} {home}\n{report}\n{more}");
            restored += usize::from(same);
        }
    }
    println!("{restored} cut files were restored");
    assert!(restored > 400, "{restored}");
}

/// A session with the head of its file as long as this.
fn cut(case: &str, to: &str, length: usize) -> (Dir, String) {
    let (dir, file) = converted(case, to);
    let text = read(&file);
    std::fs::write(&file, &text[..length]).expect("a file");
    let name = file.strip_prefix(dir.root()).expect("below").display().to_string();
    (dir, name)
}

#[test]
fn a_file_without_content_is_not_of_another_session() {
    const CASE: &str = "pi/v3/everything";
    for (to, length) in [("connectonion@3", 200), ("agent-orchestrator@2", 0)] {
        let (dir, name) = cut(CASE, to, length);
        let input = if to.starts_with("agent") { "there" } else { &name };
        let (_, report) = dir.exit(&["convert", "-t", "pi", "--out-dir", "home", input]);
        assert!(report.contains("CY0630") && !report.contains("CY0626"), "{to}: {report}");
        assert_eq!(contents(&dir.path("home")), [own(CASE)], "{to}: {report}");
    }
    // Zeros are no beginning of the file as it was written.
    let (dir, name) = cut(CASE, "connectonion@3", 200);
    let text = read(&dir.path(&name));
    dir.write(&name, &[&text[..40], &[0; 300]].concat());
    let (code, report) = dir.exit(&["repair", "--in-place", &name]);
    assert!(code == 0 && report.contains("CY0630"), "{code}: {report}");
    let (code, report) = dir.exit(&["convert", "-t", "pi", "-o", "home.jsonl", &name]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(read(&dir.path("home.jsonl")), own(CASE), "{report}");
}

#[test]
fn an_input_that_holds_nothing_names_its_origin() {
    let (dir, name) = cut("pi/v1/first-generation", "connectonion@3", 0);
    for input in [name.as_str(), "there"] {
        let (code, report) = dir.exit(&["convert", "-t", "pi", "--out-dir", "home", input]);
        assert!(code > 0 && report.contains("origin"), "{input}: {report}");
    }
}

#[test]
fn a_missing_end_between_records_is_reported_and_restored_by_repair() {
    let (dir, file) = converted("pi/v1/first-generation", "agent-orchestrator@2");
    let text = read(&file);
    let lines = text.iter().filter(|b| **b == b'\n').count();
    let kept: Vec<_> = text.split_inclusive(|b| *b == b'\n').take(lines / 2).collect();
    std::fs::write(&file, kept.concat()).expect("a file");
    let (code, report) = dir.exit(&["convert", "-t", "pi", "--out-dir", "less", "there"]);
    assert!(code == 0 && report.contains("warning[CY0623]"), "{code}: {report}");
    assert!(report.contains("`copyist repair` restores it"), "{report}");
    let args = ["convert", "--repair", "-t", "pi", "--out-dir", "home", "there"];
    let (code, report) = dir.exit(&args);
    assert!(code == 0 && report.contains("CY0630"), "{code}: {report}");
    assert_eq!(contents(&dir.path("home")), [own("pi/v1/first-generation")], "{report}");
}
