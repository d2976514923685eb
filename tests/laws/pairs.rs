//! From every format to every other one and back.

use crate::common::{
    alone, context, converted, corpus, files, files_of, options, own_inputs, read, recognise,
    session, without_stand_ins,
};
use copyist::context::{Form, Request};
use copyist::format::{Format, OnError, Options};
use copyist::formats::{Spec, canonical, written};
use copyist::ids::Choice;
use copyist::json::Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that do not come back as they were, or say something else in between, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("first.meta.json to ", "metadata without a log are not followed by an empty one"),
    ("v1-branched.jsonl to codelia@2", "nothing is said in it, so its log of messages is empty"),
    (
        "/compacted/in/rollout-2026-03-01T12-00-00-01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f02.jsonl to codex@1",
        "version 1 has no compactions, and no release opens it any more",
    ),
    (
        "/taken-back/in/rollout-2026-02-03T09-40-00-01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f01.jsonl to codex@1",
        "version 1 has no way to take turns back, and no release opens it any more",
    ),
    ("surrogate/.co/evals/lone_surrogate/run_1.yaml", "torn by its own program"),
    (
        "/claude-code/v2/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to opencode says",
        "a result is in the part of its call there, so results have the order of their calls",
    ),
    ("/copilot-cli/v1/beehive/in/events.jsonl to opencode says", "the same"),
    ("/one_question/", "Gemini CLI does not send the prompt `?` again, which is counted"),
    ("/case_question.yaml to gemini-cli@", "the same"),
    ("/key_value_comment.yaml to gemini-cli@", "the same"),
    ("/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to gemini-cli@", "results in order"),
    ("/copilot-cli/v1/beehive/in/events.jsonl to gemini-cli@", "the same"),
];

/// Every format at every version, but for the stream.
pub fn targets() -> Vec<String> {
    let formats = written().filter(|format| format.name != canonical::FORMAT.name);
    let names = |format: &'static Format| -> Vec<String> {
        format.versions.iter().map(|version| format.at(version.number)).collect()
    };
    formats.flat_map(names).collect()
}

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// What came of one kind of pairs.
#[derive(Default)]
struct Tally {
    tried: u64,
    identical: u64,
    heard: u64,
    /// Bytes of the sources, and of their origins.
    bytes: u64,
    origins: u64,
    others: Vec<String>,
}

/// What a session would say to a model, the system's own words apart.
pub fn said(text: &[u8]) -> Option<Vec<String>> {
    let text = alone(text);
    let all = said_at(&text, None)?;
    // pi stands at its last entry, and from one without an identifier no way leads to others. What
    // is written of such a session is what leads to the last entry that has one.
    let values = || text.split(|b| *b == b'\n').flat_map(serde_json::from_slice);
    // Neither the first line of pi nor that of Codex is an entry.
    let first = |value: &serde_json::Value| {
        value["type"] == "session" || value.get("instructions").is_some()
    };
    let entries = values().filter(|value| !first(value));
    let ids = entries.map(|value| value["id"].as_str().map(str::to_owned));
    match ids.collect::<Vec<_>>().as_slice() {
        [.., Some(named), None] if all.is_empty() => said_at(&text, Some(named.clone())),
        _ => Some(all),
    }
}

fn said_at(text: &[u8], leaf: Option<String>) -> Option<Vec<String>> {
    let request = Request { form: Form::Canonical, leaf, ..Request::default() };
    let out = context(text, &request, &keep()).0.ok()?;
    let messages = Json::trusted(out.into()).member("messages")?;
    let value: serde_json::Value = serde_json::from_slice(messages.as_bytes()).ok()?;
    let list = value.as_array()?.iter().filter(|message| message["role"] != "system");
    let mut list: Vec<_> = list.map(|message| without_outcome(message.clone())).collect();
    let mut calls = Vec::new();
    list.iter_mut().for_each(|message| number_calls(message, &mut calls));
    Some(list.iter().map(ToString::to_string).collect())
}

/// Numbers calls by their order: interfaces differ in the identifiers that they accept.
fn number_calls(message: &mut serde_json::Value, calls: &mut Vec<String>) {
    for block in message["content"].as_array_mut().into_iter().flatten() {
        let key = if block["type"] == "tool_call" { "id" } else { "call" };
        let Some(id) = block[key].as_str().map(str::to_owned) else { continue };
        if !calls.contains(&id) {
            calls.push(id.clone());
        }
        block[key] = calls.iter().position(|call| *call == id).into();
    }
}

/// A message without whether a tool failed, which not every format says, and without blocks that
/// not every format knows, or what stands for them; its texts as one before its calls, as formats
/// have them that keep both apart.
fn without_outcome(mut value: serde_json::Value) -> serde_json::Value {
    const KNOWN: &[&str] = &["text", "tool_call", "tool_result", "image"];
    match &mut value {
        serde_json::Value::Object(map) => {
            map.remove("is_error");
            if let Some(serde_json::Value::String(text)) = map.get_mut("text") {
                *text = without_stand_ins(text);
            }
            map.values_mut().for_each(|value| *value = without_outcome(value.take()));
        }
        serde_json::Value::Array(list) => {
            let known = |block: &str| KNOWN.contains(&block);
            list.retain(|block| block["type"].as_str().is_none_or(known));
            list.iter_mut().for_each(|value| *value = without_outcome(value.take()));
            list.retain(|block| block["text"] != "");
            list.sort_by_key(|block| block["type"] != "text");
            list.dedup_by(|behind, before| match (behind.get("text"), before.get_mut("text")) {
                (
                    Some(serde_json::Value::String(behind)),
                    Some(serde_json::Value::String(before)),
                ) => {
                    before.push_str(behind);
                    true
                }
                _ => false,
            });
        }
        _ => {}
    }
    value
}

/// The first line that differs, as far as a person wants to read it.
fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let (a, b) = (ours.split(|b| *b == b'\n'), theirs.split(|b| *b == b'\n'));
    let ends = std::iter::repeat(&b"(end)"[..]);
    let mut pairs = a.chain(ends.clone()).zip(b.chain(ends)).enumerate();
    let found = pairs.find(|(_, (a, b))| a != b);
    let Some((line, (a, b))) = found else { return String::new() };
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count().saturating_sub(20);
    let show = |text: &[u8]| {
        let part = &text[start.min(text.len())..(start + 90).min(text.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("line {}: {:?} for {:?}", line + 1, show(a), show(b))
}

/// A session's files; of one file alone without its name, which is that of its place in a home.
fn contents(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    // An origin goes with what is only copied.
    let mut files = files_of(&alone(text));
    if let [(name, _)] = files.as_mut_slice() {
        name.clear();
    }
    files
}

/// Takes one file there and back.
fn there_and_back(file: &Path, source: &[u8], to: &str, tally: &mut Tally) {
    let (format, version) = recognise(source).expect("a known format");
    let own = format.at(version);
    let (done, found) = converted(source, format, version, to, &keep());
    let Ok(target) = done else { return };
    let _ = found;
    tally.tried += 1;
    tally.bytes += source.len() as u64;
    tally.origins += (target.len() - alone(&target).len()) as u64;
    let name = format!("{} to {to}", file.display());
    let Some((seen, number)) = recognise(&target) else {
        return tally.others.push(format!("{name} is not recognised"));
    };
    let (back, found) = converted(&target, seen, number, &own, &keep());
    let same = back.as_ref().is_ok_and(|back| contents(back) == contents(source));
    tally.identical += u64::from(same);
    let heard = said(source) == said(&target);
    tally.heard += u64::from(heard);
    if !same || !heard {
        let codes: Vec<_> = found.counts.keys().map(|code| code.name()).collect();
        let what = match &back {
            _ if same => "says something else".to_owned(),
            Ok(back) => format!("does not come back: {}", difference(back, source)),
            Err(error) => format!("does not come back: {error}"),
        };
        tally.others.push(format!("{name} {what} {codes:?}"));
    }
}

fn print(tallies: &BTreeMap<(String, String), Tally>) {
    println!(
        "| from | to | files | identical | same context | origin |\n|---|---|---|---|---|---|"
    );
    for ((from, to), tally) in tallies {
        let share = 100 * tally.origins / tally.bytes.max(1);
        let Tally { tried, identical, heard, .. } = tally;
        println!("| {from} | {to} | {tried} | {identical} | {heard} | {share} % |");
    }
}

/// All of these files to all targets; gives what did not hold.
fn all(inputs: &[PathBuf]) -> Vec<String> {
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for file in inputs {
        let source = session(file);
        let Some((format, version)) = recognise(&source) else { continue };
        let from = format.at(version);
        // A migration to a newer version is no conversion: what it adds stays.
        let migrates = |to: &str| {
            let to = Spec::parse(to).expect("a format");
            to.format == format && format.plane.is_some() && to.version().number >= version
        };
        for to in targets().iter().filter(|to| **to != from && !migrates(to)) {
            let tally = tallies.entry((from.clone(), to.clone())).or_default();
            there_and_back(file, &source, to, tally);
        }
    }
    print(&tallies);
    let others: Vec<String> = tallies.into_values().flat_map(|tally| tally.others).collect();
    let named = |other: &&String| !EXCEPTIONS.iter().any(|(name, _why)| other.contains(name));
    others.iter().filter(named).cloned().collect()
}

#[test]
fn every_own_file_comes_back_from_every_format() {
    let others = all(&own_inputs());
    assert!(others.is_empty(), "{} of them:\n{}", others.len(), others.join("\n"));
}

#[test]
fn files_of_the_corpus_come_back_from_every_format() {
    let Some(corpus) = corpus("files_of_the_corpus_come_back") else { return };
    let mut inputs = Vec::new();
    for set in ["pi/generated", "pi/public", "agent-orchestrator", "codelia", "connectonion"] {
        inputs.extend(files(&corpus.join(set)));
    }
    let whole = |file: &PathBuf| {
        let text = file.to_string_lossy();
        let other = ["/mut/", "/edge", "/truth/", ".meta.json"];
        !other.iter().any(|part| text.contains(part))
    };
    inputs.retain(whole);
    inputs.retain(|file| recognise(&read(file)).is_some());
    let step = std::env::var("COPYIST_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let inputs: Vec<_> = inputs.into_iter().step_by(step).collect();
    let others = all(&inputs);
    assert!(others.is_empty(), "{} of them:\n{}", others.len(), others.join("\n"));
}

/// Sessions that were met or made, each strange in its own way.
fn odd_sessions() -> Vec<(&'static str, Vec<String>)> {
    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-12-01T00:00:00.000Z","cwd":"/"}"#;
    let entry = |id: &str, parent: &str, rest: &str| {
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t",{rest}}}"#)
    };
    let user = |id: &str, parent: &str, text: &str| {
        entry(id, parent, &format!(r#""message":{{"role":"user","content":"{text}"}}"#))
    };
    let asked = user("a", "null", "Which way?");
    let answer = |content: &str, rest: &str| {
        let message = format!(r#""message":{{"role":"assistant","content":[{content}]{rest}}}"#);
        entry("b", "\"a\"", &message)
    };
    let text = r#"{"type":"text","text":"This one."}"#;
    let call = r#"{"type":"toolCall","id":"c","name":"go","arguments":{}}"#;
    let compaction = concat!(
        r#"{"type":"compaction","id":"k","parentId":"a","timestamp":"t","summary":"so far","#,
        r#""firstKeptEntryIndex":0,"tokensBefore":9}"#
    );
    let deep = ["[".repeat(12_000), "]".repeat(12_000)].concat();
    let deep =
        entry("a", "null", &format!(r#""d":{deep},"message":{{"role":"user","content":"q"}}"#));
    let from = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let said = |line: &str| from(&[HEADER, &asked, line]);
    vec![
        ("a text behind a call", said(&answer(&format!("{text},{call},{text}"), ""))),
        ("a last entry without an identifier", said(r#"{"type":"wonder"}"#)),
        ("an entry without members", said("{}")),
        ("a further header at once", from(&[HEADER, HEADER, &asked])),
        ("a second root that says nothing", said(&user("b", "null", ""))),
        ("a blank line before the header", from(&["", HEADER, &asked])),
        ("a line break of YAML 1.1", said(&user("b", "\"a\"", "a\\n\u{2028}b\\n\u{85}c"))),
        ("a price beyond all numbers", said(&answer(text, r#","usage":{"cost":{"total":1e400}}"#))),
        ("prices beyond all numbers together", {
            let dear = answer(text, r#","usage":{"cost":{"total":1e308}}"#);
            from(&[HEADER, &asked, &dear, &dear.replace("\"b\"", "\"e\"")])
        }),
        ("a member that only version 1 knows", said(compaction)),
        ("more levels than a stack has room for", from(&[HEADER, &deep])),
    ]
}

#[test]
fn unusual_sessions_come_back_from_every_format() {
    let mut tally = Tally::default();
    for (what, lines) in odd_sessions() {
        let source = lines.join("\n") + "\n";
        for to in targets() {
            there_and_back(Path::new(what), source.as_bytes(), &to, &mut tally);
        }
    }
    assert!(tally.others.is_empty(), "{:#?}", tally.others);
    assert!(tally.tried > 70, "{}", tally.tried);
}
