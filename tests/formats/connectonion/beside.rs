//! Runs whose summary lies beside them, as it does wherever ConnectOnion wrote both.

use crate::common::{Dir, corpus, files, own, read};
use std::fs;
use std::path::{Path, PathBuf};

/// Goes to another version and back from where it lies.
fn there_and_back(run: &Path) {
    let source = read(run);
    for to in ["connectonion@1", "connectonion@2", "pi@3"] {
        let dir = Dir::new();
        let run = run.display().to_string();
        let (code, said) = dir.exit(&["convert", "-t", to, "-o", "away", &run]);
        assert_eq!(code, 0, "{run} {to}: {said}");
        let (code, said) = dir.exit(&["convert", "-t", "connectonion@3", "-o", "back", "away"]);
        assert_eq!(code, 0, "{run} {to}: {said}");
        assert!(read(&dir.path("back")) == source, "{run} {to}: {said}");
    }
}

/// The summary tells of an answer beside a call, which is no answer of the conversation.
#[test]
fn a_run_comes_home_from_beside_its_summary() {
    let dir = Dir::new();
    fs::create_dir(dir.path("tides")).expect("a folder");
    let run = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    let end = run.find("{\"role\": \"assistant\", \"content\": \"High water").expect("an answer");
    let next = run.find("{\"role\": \"user\", \"content\": \"Put both").expect("a question");
    let run = [&run[..end], &run[next..]].concat();
    let run = dir.write("tides/run_1.yaml", run.as_bytes());
    dir.write(
        "tides.yaml",
        b"name: tides\ncreated: '2026-03-08 19:42:07'\nupdated: '2026-03-08 19:42:07'\nruns: 1\nmodel: co/gemini-2.5-pro\nturns:\n- input: When is high water at Brouwershaven tomorrow?\n  run: 1\n  output: At three and at four.\n  tools_called: []\n  expected: ''\n  evaluation: ''\n  meta: '{\"tokens\": 223, \"cost\": 0.0037, \"duration_ms\": 0, \"ts\": \"2026-03-08 19:42:07\"}'\n  history: []\n",
    );
    there_and_back(&run);
}

#[test]
fn real_runs_come_home_from_beside_their_summaries() {
    let Some(corpus) = corpus("beside") else { return };
    let mut runs: Vec<PathBuf> = files(&corpus.join("connectonion"));
    runs.retain(|file| {
        let name = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run_"));
        let folder = file.parent().expect("a folder");
        name && folder.with_extension("yaml").is_file()
    });
    assert!(!runs.is_empty());
    let step = std::env::var("COPYIST_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    runs.iter().step_by(step).for_each(|run| there_and_back(run));
}
