//! How sessions that come from elsewhere are spelled: for people, and so that every loader reads
//! the same texts, however hostile they are.
//!
//! The strings are those of the corpus beside the project; the loaders are PyYAML's, in Python and
//! in C, and our own. Without them the tests say that they are skipped.

use crate::common::{self, corpus, files, from_canonical, options, read, to_canonical};
use copyist::context::Request;
use copyist::format::OnError;
use copyist::ids::Choice;
use copyist::yaml::read::{Events, Limits, What};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Releases whose hostile strings are taken: one of each shape.
const ERAS: &[&str] = &["b-0.5.0", "e-1.9.2"];

/// The sessions that hold one hostile string or a hostile system prompt.
fn hostile(test: &str) -> Option<Vec<PathBuf>> {
    let corpus = corpus(test)?.join("connectonion");
    let of = |era: &&str| files(&corpus.join(era));
    let is_hostile = |path: &PathBuf| {
        let has = |start: &str| path.iter().any(|part| part.to_string_lossy().starts_with(start));
        let session = path.components().any(|part| part.as_os_str() == "sessions") || has("run_");
        (has("one_") || has("sys_")) && session
    };
    Some(ERAS.iter().flat_map(of).filter(is_hostile).collect())
}

/// The session as a stream that says it comes from elsewhere.
fn foreign(source: &[u8]) -> Vec<u8> {
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = String::from_utf8(to_canonical(source, &keep)).expect("UTF-8");
    let own = ["connectonion@2", "connectonion@3"].map(|name| format!("\"source\":\"{name}\""));
    let own = own.iter().find(|own| stream.contains(*own)).expect("a source");
    stream.replacen(own, "\"source\":\"pi@3\"", 1).into_bytes()
}

/// The messages in the form in which contexts are compared.
fn context(source: &[u8]) -> Vec<Value> {
    let keep = options(OnError::Keep, Choice::Derived);
    let (sent, _) = common::context(source, &Request::default(), &keep);
    let value: Value = serde_json::from_slice(&sent.expect("a context")).expect("JSON");
    said(&value["messages"])
}

/// Who says what, without what conversion may leave out: empty system prompts, which the real
/// loader drops, and identifiers of messages.
fn said(messages: &Value) -> Vec<Value> {
    let messages = messages.as_array().cloned().unwrap_or_default().into_iter();
    let empty = |m: &Value| m["role"] == "system" && m["content"] == "";
    let plain = |mut message: Value| {
        if let Some(members) = message.as_object_mut() {
            members.retain(|key, value| key != "id" && !value.is_null());
        }
        message
    };
    messages.filter(|message| !empty(message)).map(plain).collect()
}

/// What the real loader makes of files: in Python, and in C where that is installed.
fn loaded(test: &str, paths: &[PathBuf]) -> Option<Vec<[Value; 2]>> {
    const SCRIPT: &str = "
import json, sys, yaml
sys.path.insert(0, sys.argv[1])
import load
for line in sys.stdin:
    both = [load.canon(line[:-1], c and yaml.__with_libyaml__) for c in (False, True)]
    print(json.dumps(both, default=str))
";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/connectonion");
    let yaml = Command::new("python3").args(["-c", "import yaml"]).stderr(Stdio::null()).status();
    if !folder.is_dir() || !yaml.is_ok_and(|status| status.success()) {
        eprintln!("SKIP {test}: no loader beside the project, or no Python with PyYAML");
        return None;
    }
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let list: Vec<String> = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    let mut stdin = python.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(list.concat().as_bytes()));
    let done = python.wait_with_output().expect("python3 ends");
    writer.join().expect("no panic").expect("python3 reads all");
    let text = String::from_utf8(done.stdout).expect("ASCII");
    Some(text.lines().map(|line| serde_json::from_str(line).expect("two answers")).collect())
}

#[test]
fn hostile_strings_are_the_same_for_every_loader() {
    let test = "hostile_strings_are_the_same_for_every_loader";
    let Some(sessions) = hostile(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let keep = options(OnError::Keep, Choice::Derived);
    let mut written = Vec::new();
    for (i, session) in sessions.iter().enumerate() {
        let source = read(session);
        let stream = foreign(&source);
        for to in ["connectonion@2", "connectonion@3"] {
            let out = from_canonical(&stream, to, &keep);
            assert_eq!(context(&out), context(&source), "{} to {to}", session.display());
            let path = folder.path().join(format!("{i}-{to}.yaml"));
            std::fs::write(&path, &out).expect("room");
            written.push((path, context(&source), format!("{} to {to}", session.display())));
        }
    }
    let paths: Vec<_> = written.iter().map(|(path, ..)| path.clone()).collect();
    let Some(answers) = loaded(test, &paths) else { return };
    assert_eq!(answers.len(), written.len());
    for ((_, expected, what), answers) in written.iter().zip(&answers) {
        for answer in answers {
            assert_eq!(said(&answer["messages"]), *expected, "{what}: {}", answer["error"]);
        }
    }
    println!("{} files mean the same to every loader", written.len());
    assert!(written.len() > 150, "{}", written.len());
}

/// The texts of messages as a parser of YAML 1.2 gives them, without any rule of YAML 1.1.
fn texts(yaml: &[u8]) -> Vec<String> {
    let mut events = Events::new(yaml, Limits::default());
    let (mut texts, mut behind, mut messages) = (Vec::new(), false, false);
    while let Some(event) = events.next().expect("YAML") {
        let What::Scalar(text, ..) = event.what else { continue };
        if messages && std::mem::take(&mut behind) {
            texts.push(text.as_str().expect("whole characters").to_owned());
            continue;
        }
        messages |= text == "messages";
        behind = text == "content" || text == "arguments";
    }
    texts
}

#[test]
fn hostile_strings_are_the_same_in_yaml_1_2() {
    let Some(sessions) = hostile("hostile_strings_are_the_same_in_yaml_1_2") else { return };
    let keep = options(OnError::Keep, Choice::Derived);
    let mut count = 0;
    for session in sessions {
        let source = read(&session);
        let out = from_canonical(&foreign(&source), "connectonion@2", &keep);
        let (messages, mut expected) = (context(&source), Vec::new());
        for message in messages.iter().filter(|message| message["role"] != "system") {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            expected.extend(message["content"].as_str());
            expected.extend(calls.filter_map(|call| call["function"]["arguments"].as_str()));
            count += 1;
        }
        assert_eq!(texts(&out), expected, "{}", session.display());
    }
    assert!(count > 300, "{count}");
}

#[test]
fn what_is_spelled_for_people_comes_back_so() {
    let keep = options(OnError::Keep, Choice::Derived);
    for case in ["connectonion/v2/harbour", "connectonion/v3/tides", "pi/v3/everything"] {
        let source = common::own(case);
        let stream = if case.starts_with("pi") { source } else { foreign(&source) };
        let stream = to_canonical(&stream, &keep);
        let out = from_canonical(&stream, "connectonion@2", &keep);
        common::assert_same(&common::returned(&out, &keep), &out, case);
    }
}

/// A person who opens a small session sees every turn at once: turns stand before messages.
#[test]
fn all_turns_of_a_small_session_are_on_the_first_page() {
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = to_canonical(&foreign(&common::own("connectonion/v3/tides")), &keep);
    let out = String::from_utf8(from_canonical(&stream, "connectonion@2", &keep)).expect("UTF-8");
    let page: Vec<&str> = out.lines().take(40).collect();
    let turns = out.lines().filter(|line| line.starts_with("- input: ")).count();
    assert!(turns > 1, "{out}");
    assert_eq!(page.iter().filter(|line| line.starts_with("- input: ")).count(), turns, "{out}");
    let place = |name: &str| out.lines().position(|line| line == name);
    assert!(place("turns:") < place("messages:"), "{out}");
}
