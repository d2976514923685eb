//! Sessions that another agent continues or edits, and that are converted back.

use crate::common::{
    alone, beside_origin, converted, corpus, files, files_of, name, options, read, recognise,
    session, several, written_inputs,
};
use crate::pairs::said;
use copyist::diagnostic::Code;
use copyist::format::{Format, OnError};
use copyist::formats::{codelia, pi};
use copyist::ids::Choice;
use copyist::record::Kind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Sessions whose home has no place for what was said abroad, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("/v3/checks/in/", "an evaluation tells of questions and answers in turns only"),
    ("/v3/lamps/in/", "a summary of runs, too"),
    ("/nested-subagents/", "it goes back to a message of a sub-agent, which is refused"),
];

/// Whether a rollout of Codex was summed up elsewhere, or messages of a new history were deleted:
/// its own compactions contain the whole new history, so the file is read alone.
fn replaces_history(other: &str) -> bool {
    let inside = ["jsonl gone back", "jsonl branched"].iter().any(|deed| other.contains(deed));
    other.contains("/codex/v") && other.contains(" summed up")
        || other.contains("/codex/v2/compacted/") && inside
}

/// Whether a run of Codelia's alone lost its only question: it is not there without that.
fn is_gone(other: &str) -> bool {
    let runs = ["/corpus/codelia/v", "/codelia/v1/compacted/in/", "/codelia/v1/lamp/in/"];
    let deeds = [".jsonl gone back", ".jsonl branched"];
    let has = |parts: &[&str]| parts.iter().any(|part| other.contains(part));
    has(&runs) && has(&deeds)
}

/// Whether this is a summary of runs or an evaluation of the corpus.
fn tells_in_turns(file: &str) -> bool {
    file.contains("/.co/evals/") && !file.contains("/run_")
}

/// Something that is done to the lines of a session of pi's.
type Deed = fn(&mut Vec<Value>);

/// What is done to a session abroad.
const DEEDS: &[(&str, Deed)] = &[
    ("asked", |lines| append(lines, &[question("Any more?"), answer(&[text("No more.")])])),
    ("asked twice, with a tool", |lines| {
        let call = json!({"type": "toolCall", "id": "call_zz", "name": "bash",
            "arguments": {"command": "ls zz"}});
        let result = json!({"role": "toolResult", "toolCallId": "call_zz", "toolName": "bash",
            "content": [text("nothing in zz")], "isError": false});
        let said = [
            question("Any more?"),
            answer(&[text("Let me look."), call]),
            result,
            answer(&[text("No more.")]),
            question("Are you sure?"),
            answer(&[text("Quite sure.")]),
        ];
        append(lines, &said);
    }),
    ("asked without an answer", |lines| append(lines, &[question("Any more?")])),
    ("gone back and asked again", |lines| {
        fork(lines);
        append(lines, &[question("Any more?"), answer(&[text("No more.")])]);
    }),
    ("gone back", fork),
    ("branched", |lines| {
        let all = lines.clone();
        fork(lines);
        let kept = lines.len();
        append(lines, &[question("Any more?"), answer(&[text("No more.")])]);
        let new = lines.split_off(kept);
        lines.extend_from_slice(&all[kept..]);
        lines.extend(new);
    }),
    ("summed up", |lines| {
        append(lines, &[question("Any more?"), answer(&[text("No more.")])]);
        compact(lines);
        append(lines, &[question("And now?"), answer(&[text("Nor now.")])]);
    }),
];

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn question(said: &str) -> Value {
    json!({"role": "user", "content": [text(said)]})
}

fn answer(blocks: &[Value]) -> Value {
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 2, "cost": cost});
    json!({"role": "assistant", "content": blocks, "api": "a", "provider": "p", "model": "m",
        "usage": usage, "stopReason": "stop"})
}

/// Goes back to before the last question, as pi's fork does.
fn fork(lines: &mut Vec<Value>) {
    let asked = |line: &Value| line["message"]["role"] == "user";
    if let Some(last) = lines.iter().rposition(asked).filter(|last| *last > 2) {
        lines.truncate(last);
    }
}

/// Appends messages as the real pi does.
fn append(lines: &mut Vec<Value>, messages: &[Value]) {
    for message in messages {
        let mut message = message.clone();
        message["timestamp"] = json!(1_803_859_200_000_u64 + lines.len() as u64 * 1000);
        push(lines, json!({"type": "message", "message": message}));
    }
}

/// Appends what pi writes where it sums up all but the last two messages.
fn compact(lines: &mut Vec<Value>) {
    let messages = lines.iter().rev().filter(|line| line["type"] == "message");
    let kept = messages.take(2).last().map_or(Value::Null, |line| line["id"].clone());
    push(
        lines,
        json!({"type": "compaction", "summary": "They talked.", "firstKeptEntryId": kept,
            "tokensBefore": 1000}),
    );
}

/// Appends an entry.
fn push(lines: &mut Vec<Value>, mut entry: Value) {
    let last = lines.iter().rev().find(|line| line["type"] != "session");
    let number = lines.len();
    entry["parentId"] = last.map_or(Value::Null, |line| line["id"].clone());
    entry["id"] = json!(format!("aa{number:06x}"));
    entry["timestamp"] = json!(format!(
        "2027-03-01T{:02}:{:02}:{:02}.000Z",
        number / 3600 % 24,
        number / 60 % 60,
        number % 60
    ));
    lines.push(entry);
}

/// A session of pi's as if what was summed up there had not been.
fn uncompacted(away: &[u8]) -> Vec<u8> {
    let lines = away.split_inclusive(|b| *b == b'\n').map(|line| {
        let mut value: Value = serde_json::from_slice(line).unwrap_or_default();
        if value["summary"] != "They talked." {
            return line.to_vec();
        }
        value["type"] = json!("custom");
        format!("{value}\n").into_bytes()
    });
    lines.flatten().collect()
}

/// A session of pi's with something done to it; `None` if it is not plain lines.
fn done(away: &[u8], deed: Deed) -> Option<Vec<u8>> {
    let lines = away.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let mut lines: Vec<Value> = lines.map(serde_json::from_slice).collect::<Result<_, _>>().ok()?;
    deed(&mut lines);
    Some(lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect())
}

/// What a session is; one of several files is one of Codelia's.
fn version_of(source: &[u8]) -> Option<(&'static Format, u32)> {
    let parts = files_of(source);
    if parts.iter().any(|(name, _)| name.starts_with("/sessions/")) {
        let log = parts.iter().any(|(name, _)| name.contains("/messages/"));
        return Some((&codelia::FORMAT, if log { 2 } else { 1 }));
    }
    recognise(source)
}

/// Takes a session abroad, does something there, and takes it home; says what went wrong.
fn home(source: &[u8], name: &str, deed: Deed) -> Option<Result<(), String>> {
    let keep = options(OnError::Keep, Choice::Derived);
    let (format, version) = version_of(source)?;
    if format.name == pi::FORMAT.name {
        return None;
    }
    let away = converted(source, format, version, "pi@3", &keep).0.ok()?;
    let away = beside_origin(done(&alone(&away), deed)?, &away);
    let (back, found) = converted(&away, &pi::FORMAT, 3, &format.at(version), &keep);
    let back = match back {
        Ok(back) => back,
        Err(error) => return Some(Err(error.to_string())),
    };
    let refused = found.diagnostics.iter().find(|d| d.code == Code::OriginRejected);
    if let Some(refused) = refused {
        return Some(Err(refused.message.clone()));
    }
    // A tree that holds compactions gets those of pi.
    let holds = format
        .version(version)
        .is_some_and(|version| version.tree && version.kinds.contains(&Kind::Compaction));
    let told = if holds { said(&away) } else { said(&uncompacted(&alone(&away))) };
    if said(&back) != told {
        return Some(Err("says something else".to_owned()));
    }
    // What was there stays there: each line of the source that is not about the whole.
    let kept = |part: &str| {
        !name.starts_with("gone back")
            && name != "branched"
            && !part.starts_with("/sessions/state")
            && !part.starts_with("/sessions/messages")
    };
    let now = files_of(&back);
    for (name, contents) in files_of(source).iter().filter(|(name, _)| kept(name)) {
        let same = now.iter().any(|(other, bytes)| other == name && bytes.starts_with(contents));
        if name.ends_with(".jsonl") && name.starts_with('/') && !same {
            return Some(Err(format!("{name} is not what it was")));
        }
    }
    Some(Ok(()))
}

/// The sessions of a folder as Codelia keeps them, each with its runs and its state.
fn homes(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut sessions: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for file in files(&root.join("sessions")) {
        let part = format!("/{}", file.strip_prefix(root).expect("below").display());
        let bytes = read(&file);
        let head = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        let head: Value = serde_json::from_slice(head).unwrap_or_default();
        let stem = name(&file).split('.').next().unwrap_or_default().to_owned();
        let session = match head["session_id"].as_str() {
            Some(id) => id.to_owned(),
            None if part.contains("/messages/") => stem,
            None => continue,
        };
        sessions.entry(session).or_default().push((part, bytes));
    }
    sessions
        .into_iter()
        .map(|(id, parts)| (format!("{} of {}", id, root.display()), several(parts)))
        .collect()
}

fn all(inputs: &[(String, Vec<u8>)]) {
    let mut tried: BTreeMap<(String, &str), [u64; 2]> = BTreeMap::new();
    let mut others = Vec::new();
    for (file, source) in inputs {
        let Some((format, version)) = version_of(source) else { continue };
        for (name, deed) in DEEDS {
            let Some(outcome) = home(source, name, *deed) else { continue };
            let count = tried.entry((format.at(version), name)).or_default();
            count[0] += 1;
            match outcome {
                Ok(()) => count[1] += 1,
                Err(why) => others.push(format!("{file} {name}: {why}")),
            }
        }
    }
    println!("| home | abroad | files | went on |\n|---|---|---|---|");
    for ((home, name), [files, went]) in &tried {
        println!("| {home} | {name} | {files} | {went} |");
    }
    let is_known = |other: &&String| {
        is_gone(other)
            || EXCEPTIONS.iter().any(|(part, _)| other.contains(part))
            || tells_in_turns(other)
            || replaces_history(other)
    };
    let unknown: Vec<_> = others.iter().filter(|other| !is_known(other)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn new_messages_of_the_target_are_written_in_the_source() {
    let own = written_inputs();
    let mut inputs: Vec<_> =
        own.iter().map(|file| (file.display().to_string(), session(file))).collect();
    let part = |case: &str| {
        let file = own.iter().find(|file| file.to_string_lossy().contains(case)).expect("a file");
        (name(file), read(file))
    };
    let (run, lines) = part("codelia/v1/lamp/");
    let (state, text) = part("codelia/v1/state/");
    let whole = vec![
        (format!("/sessions/2026/09/14/{run}"), lines),
        (format!("/sessions/state/{state}"), text),
    ];
    inputs.push(("a whole session of Codelia's".to_owned(), several(whole)));
    all(&inputs);
}

#[test]
fn new_messages_of_the_target_are_written_in_the_source_in_the_corpus() {
    let Some(root) = corpus("sessions that go on abroad") else { return };
    let step = std::env::var("COPYIST_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(9);
    let sets = ["connectonion", "agent-orchestrator", "codelia"];
    let undamaged = |file: &PathBuf| {
        let text = file.to_string_lossy();
        !["/mut/", "/edge", "/truth/", "_crashed", "/cache/"].iter().any(|part| text.contains(part))
    };
    let single = sets.iter().flat_map(|set| files(&root.join(set))).filter(undamaged);
    let mut inputs: Vec<_> =
        single.step_by(step).map(|file| (file.display().to_string(), session(&file))).collect();
    for home in ["codelia/v0.1.80/home", "codelia/v0-3fe5dc9/home"] {
        inputs.extend(homes(&root.join(home)));
    }
    all(&inputs);
}
