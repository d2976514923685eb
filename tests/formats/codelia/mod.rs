//! Codelia's own files: those that the real runtime wrote, and the traps in them.
//!
//! The corpus lies beside the project; without it the tests that need it say that they are skipped.

mod live;
mod prompts;
pub mod store;
mod traps;

use crate::common::{
    self, Dir, alone, assert_same, converted, corpus, files, from_canonical, in_folder, name,
    options, own_inputs, read, recognise, returned, to_canonical, without_strange,
};
use copyist::context::{self, Form, Request};
use copyist::convert;
use copyist::diagnostic::{Code, Findings, Log};
use copyist::format::{Cx, Format, OnError, Parts};
use copyist::formats::Spec;
use copyist::ids::Choice;
use copyist::memory::{Buffer, Bytes};
use std::path::{Path, PathBuf};

/// The homes that the real runtime wrote, without the one whose writer was killed.
const HOMES: &[&str] = &["v0.1.80/home", "v0-3fe5dc9/home"];

fn is_run(file: &Path) -> bool {
    file.ancestors().nth(3).is_some_and(|folder| name(folder) == "2026")
}

/// The runs of all homes.
fn runs(corpus: &Path) -> Vec<PathBuf> {
    let homes = HOMES.iter().chain(&["v0.1.80/home_crashed"]);
    let below = homes.flat_map(|home| files(&corpus.join("codelia").join(home)));
    below.filter(|file| is_run(file)).collect()
}

#[test]
fn what_the_real_runtime_wrote_comes_back_byte_for_byte() {
    let Some(corpus) = corpus("what Codelia wrote") else { return };
    let keep = options(OnError::Keep, Choice::Derived);
    let (mut same, mut records, mut raws) = (0, 0, 0);
    for file in runs(&corpus) {
        let source = read(&file);
        let (format, version) = recognise(&source).expect("a run");
        assert_eq!((format.name, version), ("codelia", 1), "{}", file.display());
        let copied = converted(&source, format, version, "codelia", &keep).0;
        assert_same(&copied.expect("readable"), &source, "a copy");
        let stream = to_canonical(&source, &keep);
        let text = String::from_utf8(stream.clone()).expect("UTF-8");
        records += text.lines().count();
        raws += text.lines().filter(|line| line.contains("\"raw\":")).count();
        let back = from_canonical(&stream, "codelia", &keep);
        assert_same(&back, &source, &file.display().to_string());
        println!("{} {} -> {}", name(&file), source.len(), stream.len());
        same += 1;
    }
    println!("{same} runs come back byte for byte, {raws} of {records} records need raw");
    assert!(same == 24 && raws == 0, "{same} {raws}/{records}");
}

#[test]
fn states_and_logs_of_the_real_runtime_come_back_byte_for_byte() {
    let Some(corpus) = corpus("Codelia's states") else { return };
    let keep = options(OnError::Keep, Choice::Derived);
    let (mut states, mut logs) = (0, 0);
    for file in HOMES.iter().flat_map(|home| files(&corpus.join("codelia").join(home))) {
        let (state, log) = (in_folder(&file, "state"), in_folder(&file, "messages"));
        if !state && !log {
            continue;
        }
        let source = read(&file);
        let (format, version) = recognise(&source).expect("a state or a log");
        assert_eq!((format.name, version), ("codelia", if log { 2 } else { 1 }));
        let to = format.at(version);
        let stream = to_canonical(&source, &keep);
        assert_same(&from_canonical(&stream, &to, &keep), &source, &file.display().to_string());
        let copied = converted(&source, format, version, &to, &keep).0;
        assert_same(&copied.expect("readable"), &source, "a copy");
        states += u32::from(state);
        logs += u32::from(log);
    }
    println!("{states} states and {logs} logs come back byte for byte");
    assert_eq!((states, logs), (5, 10));
}

#[test]
fn the_context_of_a_whole_session_is_its_state() {
    let Some(corpus) = corpus("Codelia's states as contexts") else { return };
    let home = corpus.join("codelia/v0-3fe5dc9/home/sessions");
    let mut same = 0;
    for state in files(&home.join("state")) {
        let id = name(&state).replace(".json", "");
        let dir = Dir::new();
        let done = dir.run(&["context", "--session", &id, &home.to_string_lossy()]);
        let ours: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let theirs: serde_json::Value = serde_json::from_slice(&read(&state)).expect("JSON");
        let mut theirs = theirs["messages"].as_array().expect("messages").clone();
        // Resuming gives the session the prompt of the day.
        theirs.retain(|message| message["role"] != "system");
        assert_eq!(ours["messages"], serde_json::json!(theirs), "{id}");
        same += 1;
    }
    assert_eq!(same, 5);
}

/// Sessions whose runs tell more than the runtime kept, and what.
const KEPT_LESS: &[(&str, &str)] =
    &[("3ff2933e-d7b1-4123-88da-a4009f97ed42", "the summary after the last iteration")];

/// The messages that Codelia would take up, and those of the log.
fn taken_up(home: &Path, log: &Path) -> (serde_json::Value, serde_json::Value) {
    let id = name(log).replace(".jsonl", "");
    let done = Dir::new().run(&["context", "--session", &id, &home.to_string_lossy()]);
    let ours: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let log = read(log);
    let lines = log.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let theirs = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).expect("JSON"));
    (ours["messages"].clone(), theirs.collect())
}

#[test]
fn the_context_of_a_whole_session_is_its_log() {
    let Some(corpus) = corpus("Codelia's logs as contexts") else { return };
    let home = corpus.join("codelia/v0.1.80/home/sessions");
    let logs = files(&home.join("messages"));
    for log in &logs {
        let (ours, theirs) = taken_up(&home, log);
        assert_eq!(ours, theirs, "{}", name(log));
    }
    println!("{} contexts are the logs", logs.len());
    assert_eq!(logs.len(), 10);
}

#[test]
fn runs_alone_give_what_the_runtime_kept() {
    let Some(corpus) = corpus("Codelia's runs as contexts") else { return };
    let home = corpus.join("codelia/v0.1.80/home/sessions");
    let runs = Dir::new();
    for run in files(&home.join("2026")) {
        let below = run.strip_prefix(&home).expect("below").to_string_lossy().into_owned();
        runs.write(&format!("sessions/{below}"), &read(&run));
    }
    let (mut same, mut less) = (0, 0);
    for log in files(&home.join("messages")) {
        let (ours, theirs) = taken_up(&runs.path("sessions"), &log);
        if KEPT_LESS.iter().any(|(session, _)| name(&log).starts_with(session)) {
            assert_ne!(ours, theirs, "{}", name(&log));
            less += 1;
            continue;
        }
        assert_eq!(ours, theirs, "{}", name(&log));
        same += 1;
    }
    println!("{same} sessions give from their runs what the runtime kept, {less} more by name");
    assert_eq!((same, less), (10 - KEPT_LESS.len(), KEPT_LESS.len()));
}

/// Probes, each with what is said of it when it is read with damaged lines kept.
const PROBES: &[(&str, &[Code])] = &[
    ("blank_lines_and_garbage.jsonl", &[Code::Syntax, Code::NotObject]),
    ("bom.jsonl", &[Code::ByteOrderMark]),
    ("crlf.jsonl", &[]),
    ("no_run_end.jsonl", &[Code::NoRunEnd]),
    ("schema_version_2.jsonl", &[Code::NewerVersion]),
    ("spec_example.jsonl", &[]),
    ("spec_state_example.json", &[]),
    ("torn_mid_utf8.jsonl", &[Code::NotUtf8, Code::NoRunEnd]),
    ("torn_then_continued.jsonl", &[Code::Syntax]),
    (
        "11111111-2222-4333-8444-555555555555.jsonl",
        &[Code::CutShort, Code::NoRunEnd, Code::Unpaired],
    ),
];

#[test]
fn damaged_and_hand_made_files_come_back_and_their_faults_are_reported() {
    let Some(corpus) = corpus("Codelia's probes") else { return };
    let keep = options(OnError::Keep, Choice::Derived);
    let mut tried = 0;
    for file in files(&corpus.join("codelia/edge")) {
        let Some((_, codes)) = PROBES.iter().find(|(probe, _)| *probe == name(&file)) else {
            continue;
        };
        let source = read(&file);
        let (format, version) = recognise(&source).expect("one of Codelia's");
        let (done, found) = converted(&source, format, version, "canonical", &keep);
        done.expect("readable");
        let said: Vec<_> = found.counts.keys().copied().collect();
        assert_eq!(said, *codes, "{}", file.display());
        assert_same(&returned(&source, &keep), &source, &file.display().to_string());
        tried += 1;
    }
    assert_eq!(tried, PROBES.len());
    let headless = read(&corpus.join("codelia/edge/no_header.jsonl"));
    let (format, version) = recognise(&headless).expect("lines of a run");
    let error = converted(&headless, format, version, "canonical", &keep).0.expect_err("no header");
    assert_eq!(error.code(), Code::NoHeader);
}

/// What would be sent, in the form in which formats are compared, system messages left out.
fn sent(bytes: &[u8]) -> Vec<serde_json::Value> {
    let (format, _) = recognise(bytes).expect("a known format");
    sent_of(format, &mut Bytes::new(bytes))
}

fn sent_of(format: &'static Format, parts: &mut dyn Parts) -> Vec<serde_json::Value> {
    let options = options(OnError::Keep, Choice::Derived);
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let request = Request { form: Form::Canonical, ..Request::default() };
    let mut out = Vec::new();
    context::run(format, parts, &request, &cx, &mut out).expect("a context");
    let value = common::as_javascript(&out);
    let messages = value["messages"].as_array().expect("messages").iter();
    messages.filter(|message| message["role"] != "system").cloned().collect()
}

#[test]
fn contexts_stay_the_same_in_other_formats() {
    let keep = options(OnError::Keep, Choice::Derived);
    let mut inputs: Vec<_> = own_inputs();
    inputs.retain(|file| file.starts_with(common::testdata().join("codelia")));
    if let Some(corpus) = corpus("contexts of Codelia's files in other formats") {
        let all = HOMES.iter().flat_map(|home| files(&corpus.join("codelia").join(home)));
        inputs
            .extend(all.filter(|f| is_run(f) || in_folder(f, "state") || in_folder(f, "messages")));
    }
    let (mut same, mut images) = (0, 0);
    for file in inputs {
        let source = read(&file);
        let (format, version) = recognise(&source).expect("one of Codelia's");
        let before = sent(&source);
        for to in ["canonical", "pi@3", "connectonion@2", "connectonion@3"] {
            let (done, _) = converted(&source, format, version, to, &keep);
            let after = done.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let after = sent(&alone(&after));
            // What has no place there is told, and missed in the context.
            let missing: &[&str] = match to {
                "canonical" => &[],
                "pi@3" => &["\"document\"", "\"opaque\""],
                _ => &["\"image\"", "\"document\"", "\"opaque\""],
            };
            let text = serde_json::to_string(&before).expect("JSON");
            if missing.iter().any(|kind| text.contains(kind)) {
                images += 1;
                continue;
            }
            assert_eq!(after, before, "{} as {to}", file.display());
            same += 1;
        }
    }
    println!(
        "{same} contexts stay the same, {images} have images or documents that the target cannot hold"
    );
    assert!(same > 20);
}

/// A session of another format as Codelia's files.
fn as_runs(source: &[u8]) -> (Buffer, Findings) {
    let (format, version) = recognise(source).expect("a known format");
    let options = options(OnError::Keep, Choice::Derived);
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let mut out = Buffer::default();
    let to = Spec::parse("codelia").expect("the format");
    convert::run(format, version, to, &mut Bytes::new(source), &mut out, &cx).expect("a session");
    (out, log.into_findings())
}

/// Cases whose context has messages that are of a kind which only pi sends.
const ONLY_PI: &[&str] = &[
    "everything",
    "compacted",
    "branched",
    "migrated",
    "feature-work",
    "first-generation",
    "spellings",
];

#[test]
fn sessions_of_other_formats_become_runs_that_codelia_accepts() {
    let mut same = 0;
    for file in own_inputs() {
        let source = read(&file);
        let (format, _) = recognise(&source).expect("a known format");
        if format.name == "codelia" {
            continue;
        }
        let (out, found) = as_runs(&source);
        let dir = Dir::new();
        for part in out.names() {
            dir.write(&part[1..], &out.part(part).expect("a part"));
        }
        if let Some(said) = check(dir.root()) {
            assert_eq!(said.trim(), "all accepted", "{}", file.display());
        }
        let state = out.names().find(|part| part.starts_with("/sessions/state/"));
        let state = out.part(state.expect("a state")).expect("a part");
        let other = |found: &Findings| {
            found.losses.keys().any(|(_, path)| {
                path.starts_with("message of role")
                    || ["compaction", "branch_summary", "context_edit"].contains(&path.as_str())
            })
        };
        if other(&found) {
            assert!(
                ONLY_PI.iter().any(|case| file.iter().any(|p| p == *case)),
                "{}",
                file.display()
            );
            continue;
        }
        let before = sent(&source);
        // A part of a message that ConnectOnion does not understand is an image here.
        if serde_json::to_string(&before).expect("JSON").contains("image_url") {
            continue;
        }
        let after = without_strange(sent(&state));
        assert_eq!(after, without_strange(before), "{}", file.display());
        same += 1;
    }
    println!("{same} contexts stay the same in Codelia's state");
    assert!(same > 5, "{same}");
}

/// What the rules of the real readers say of a home; `None` where they cannot be run.
fn check(home: &Path) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/codelia/check.py");
    let done = std::process::Command::new("python3").arg(&script).arg(home).output().ok();
    let done = done.filter(|_| script.is_file());
    if done.is_none() {
        eprintln!("SKIP the rules of Codelia's readers: no {}", script.display());
    }
    done.map(|done| String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// An answer that stands only in the event `final` and in the end of a run is one everywhere, and the
/// run comes back without it.
#[test]
fn an_answer_in_the_end_of_a_run_alone_is_one_in_every_format() {
    let source = common::own("codelia/v1/seed");
    let answer = "Here are the files: AGENTS.md, RULES.md, packages.";
    let keep = options(OnError::Keep, Choice::Derived);
    let text = String::from_utf8(source.clone()).expect("UTF-8");
    let lines = || text.split_inclusive('\n');
    let without_event: String = lines().filter(|line| !line.contains("\"final\",")).collect();
    let without_end: String = lines().filter(|line| !line.contains("run.end")).collect();
    for run in [&text, &without_event, &without_end] {
        let (format, version) = recognise(run.as_bytes()).expect("a run");
        let said = serde_json::to_string(&sent(run.as_bytes())).expect("JSON");
        assert_eq!(said.matches(answer).count(), 1, "{said}");
        for to in ["agent-orchestrator@1", "agent-orchestrator@2", "connectonion@3", "pi@3"] {
            let (there, _) = converted(run.as_bytes(), format, version, to, &keep);
            let there = there.expect("converted");
            let shown = String::from_utf8_lossy(&alone(&there)).into_owned();
            assert!(shown.contains(answer) && !shown.contains("error_during"), "{to}: {shown}");
            let (seen, number) = recognise(&there).expect("a known format");
            let (back, _) = converted(&there, seen, number, "codelia@1", &keep);
            assert_same(&back.expect("restored"), run.as_bytes(), to);
        }
    }
    // The runtime's own words are no answer.
    let own = "Compaction run completed.";
    let said = serde_json::to_string(&sent(text.replace(answer, own).as_bytes())).expect("JSON");
    assert!(!said.contains(own), "{said}");
}
