//! The real programs as judges of what is converted to their formats from any other.

use crate::common::{
    self, Dir, as_javascript, converted, corpus, files, files_of, migrated, name, options, read,
    recognise, session, testdata,
};
use copyist::context::{Form, Request};
use copyist::format::OnError;
use copyist::formats::written;
use copyist::ids::Choice;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script of a judge, if it and what runs it are there.
fn judge(script: &str, needs: &[&str]) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle").join(script);
    let runs = Command::new(needs[0]).args(&needs[1..]).output();
    if path.is_file() && runs.is_ok_and(|done| done.status.success()) {
        return Some(path);
    }
    eprintln!("SKIP the judge {script}: not here, or {needs:?} does not run");
    None
}

/// Some sessions of each format; `COPYIST_EACH` says how many, and above three the two long ones of
/// real people, too.
fn inputs(corpus: &Path) -> Vec<(String, Vec<u8>)> {
    let mut inputs = Vec::new();
    let each = std::env::var("COPYIST_EACH").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    // The real loaders take a minute for these.
    let longest: &[&str] = &["large-session", "before-compaction"];
    for long in longest.iter().filter(|_| each > 3) {
        let old = read(&corpus.join(format!("pi/real/{long}.v1.jsonl")));
        let new = migrated(&old, "pi@3", &keep()).0.expect("undamaged");
        inputs.push((long.to_string(), new));
    }
    let sets = ["pi/generated", "connectonion", "agent-orchestrator", "codelia"];
    for set in sets {
        let whole = |file: &PathBuf| {
            let text = file.to_string_lossy();
            let other = ["/mut/", "/edge", "/truth/", ".meta.json", "/messages/", "state"];
            !other.iter().any(|part| text.contains(part)) && recognise(&read(file)).is_some()
        };
        let all: Vec<_> = files(&corpus.join(set)).into_iter().filter(whole).collect();
        let step = all.len().div_ceil(each).max(1);
        inputs.extend(all.iter().step_by(step).map(|file| (name(file), session(file))));
    }
    inputs
}

fn keep() -> copyist::format::Options {
    options(OnError::Keep, Choice::Derived)
}

/// Converts a session, and puts the files into a folder of their own.
fn put(source: &[u8], to: &str, folder: &Path) -> Option<Vec<u8>> {
    let (format, version) = recognise(source)?;
    let target = converted(source, format, version, to, &keep()).0.ok()?;
    for (part, bytes) in files_of(&target) {
        let file = match part.as_str() {
            "" if to.starts_with("connectonion") => folder.join("s.yaml"),
            "" => folder.join("s.jsonl"),
            part if part.starts_with('/') => folder.join(part.trim_start_matches('/')),
            part => folder.join(format!("s{part}")),
        };
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, bytes).expect("a file");
    }
    Some(target)
}

/// What a session would say to a model.
fn sent(text: &[u8]) -> Vec<Value> {
    let request = Request { form: Form::Canonical, ..Request::default() };
    let out = common::context(text, &request, &keep()).0.unwrap_or_default();
    let messages = serde_json::from_slice::<Value>(&out).ok();
    let messages =
        messages.and_then(|mut value| value["messages"].as_array_mut().map(std::mem::take));
    messages.unwrap_or_default()
}

fn run(script: &Path, program: &str, args: &[&Path]) -> (bool, Vec<u8>) {
    let done = Command::new(program).arg(script).args(args).output().expect("a program");
    (done.status.success(), [done.stdout, done.stderr].concat())
}

/// What a judge says of the files in a folder, which are this session.
type Verdict<'v> = &'v dyn Fn(&Path, &[u8]) -> Result<(), String>;

/// Shows every session as `to` to the judge, who says what is wrong with it.
fn all(to: &str, verdict: Verdict<'_>) {
    let Some(corpus) = corpus("the corpus for the judges") else { return };
    let mut accepted = 0;
    for (name, source) in inputs(&corpus) {
        let dir = Dir::in_memory();
        let own = recognise(&source).map(|(format, version)| format.at(version));
        if own.as_deref() == Some(to) {
            continue;
        }
        let Some(target) = put(&source, to, dir.root()) else { continue };
        if let Err(why) = verdict(dir.root(), &target) {
            panic!("{name} as {to}: {why}");
        }
        accepted += 1;
    }
    println!("{to}: {accepted} sessions accepted");
    assert!(accepted > 8, "{to}: {accepted}");
}

#[test]
fn connectonion_loads_what_was_converted() {
    let needs = ["python3", "-c", "import yaml"];
    let Some(script) = judge("connectonion/load.py", &needs) else { return };
    for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
        all(to, &|folder, target| {
            let (done, said) = run(&script, "python3", &[&folder.join("s.yaml")]);
            let said = as_javascript(&said);
            let loaded = said["messages"].as_array().map_or(0, Vec::len);
            match done && said["ok"] == true && (loaded > 0) != sent(target).is_empty() {
                true => Ok(()),
                false => Err(said.to_string().chars().take(400).collect()),
            }
        });
    }
}

#[test]
fn agent_orchestrator_knows_whether_a_conversation_is_done() {
    let Some(script) = judge("agent-orchestrator/status.py", &["python3", "--version"]) else {
        return;
    };
    for to in ["agent-orchestrator@1", "agent-orchestrator@2"] {
        all(to, &|folder, target| {
            let (done, said) = run(&script, "python3", &[folder, Path::new("s")]);
            let said = String::from_utf8_lossy(&said).into_owned();
            let last = sent(target).pop().unwrap_or_default();
            let call = |block: &Value| block["type"] == "tool_call";
            let calls = last["content"].as_array().is_some_and(|blocks| blocks.iter().any(call));
            let finished = last["role"] == "assistant" && !calls;
            // An answer without words, such as a refusal, is done without a result.
            let silent = said.starts_with("s finished None");
            match done && (said.starts_with("s finished") == finished || silent) {
                true => Ok(()),
                false => Err(format!("{said}, and the last message is {last}")),
            }
        });
    }
}

#[test]
fn codelia_accepts_what_was_converted() {
    let Some(script) = judge("codelia/check.py", &["python3", "--version"]) else { return };
    for to in ["codelia@1", "codelia@2"] {
        all(to, &|folder, _| match run(&script, "python3", &[folder]) {
            (true, _) => Ok(()),
            (false, said) => Err(String::from_utf8_lossy(&said).into_owned()),
        });
    }
}

#[test]
fn pi_opens_what_was_converted() {
    let Some(script) = judge("pi/context.mjs", &["node", "--version"]) else { return };
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let home =
        std::env::var_os("PI_ORACLE_HOME").map_or(home.join(".cache/pi-oracle"), PathBuf::from);
    if !home.join("v0.73.1/node_modules").is_dir() {
        return eprintln!("SKIP the real pi: oracle/pi/install.sh installs it");
    }
    for to in ["pi@2", "pi@3"] {
        all(to, &|folder, target| {
            let args = [Path::new("--ids"), &folder.join("s.jsonl")];
            let (done, said) = run(&script, "node", &args);
            if !done {
                return Err(String::from_utf8_lossy(&said).into_owned());
            }
            let own = Request::default();
            let ours = common::context(target, &own, &keep()).0.expect("a context");
            let count = |value: &Value| value["messages"].as_array().map_or(0, Vec::len);
            let (theirs, ours) =
                (count(&as_javascript(&said)["context"]), count(&as_javascript(&ours)));
            if theirs == ours {
                Ok(())
            } else {
                Err(format!("pi sees {theirs} messages, we {ours}"))
            }
        });
    }
}

#[test]
fn what_is_converted_is_valid() {
    every_target(&testdata());
}

#[test]
#[ignore = "a minute: the whole corpus in every format"]
fn corpus_is_valid_in_full() {
    corpus("corpus_is_valid_in_full").as_deref().into_iter().for_each(every_target);
}

/// Converts the sessions of a folder to every format and version, and validates them.
fn every_target(folder: &Path) {
    // Codelia's checks want an answer right behind its call; a person's text stands between.
    let between = ("codelia@", "/agent-orchestrator/v2/killed");
    // What is damaged stays so, and real programs judge the long ones elsewhere.
    const OUT: &[&str] = &[
        "mut",
        "damage",
        "edge*",
        "*edge_cases*",
        "odd_items",
        "sshkeda__claude-code*",
        // Contexts beside our cases are rows.
        "context.*",
        "migrated",
        "probes",
        "expected",
        "*forked*",
        "*shapes*",
        "*reuse*",
        "real",
    ];
    let (dir, formats) = (Dir::in_memory(), written().map(|format| format.name));
    let formats: Vec<&str> = formats.filter(|name| *name != "canonical").collect();
    let specs = written().flat_map(|format| {
        format.versions.iter().map(|version| format!("{}@{}", format.name, version.number))
    });
    for spec in specs {
        let to = format!("{spec}-{}", name(folder));
        let mut convert = vec!["convert", "-q", "--on-error", "skip", "-t", &spec];
        OUT.iter().for_each(|damaged| convert.extend(["--exclude", damaged]));
        convert.extend(["--out-dir", &to]);
        let from: Vec<String> =
            formats.iter().map(|format| folder.join(format).display().to_string()).collect();
        convert.extend(from.iter().map(String::as_str));
        let (code, _) = dir.exit(&convert);
        assert!(code <= 1 || folder != testdata(), "{spec}");
        let (_, said) = dir.said(&["validate", &to]);
        // Codex drops a line with half of a surrogate pair, which a conversion keeps as it is, and
        // Copilot CLI sends U+FFFD.
        let keeps = ["codex@", "copilot-cli@"].iter().any(|own| spec.starts_with(own));
        let path = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let halves: Vec<String> = said
            .lines()
            .filter(|line| keeps && line.contains("that no model accepts"))
            .map(path)
            .collect();
        // A stream is judged as its source, and Claude Code leaves out a line of its own with words and
        // calls that have no result.
        let stays = |line: &&str| spec.starts_with("canonical") && line.contains("CY0421");
        let omitted = said.lines().filter(stays).map(path);
        let halves: Vec<String> = halves.into_iter().chain(omitted).collect();
        let known = |line: &&str| {
            let own = spec.split('@').next().is_some_and(|own| line.contains(&format!("/{own}/")));
            own || halves.contains(&path(line))
                || (spec.starts_with(between.0) && line.contains(between.1))
        };
        let wrong: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("error[") || line.contains(": invalid "))
            .filter(|line| !known(line))
            .collect();
        assert!(wrong.is_empty(), "{spec}: {wrong:#?}");
        assert!(said.lines().filter(|line| line.contains(": valid ")).count() > 50, "{to}: {said}");
    }
}
