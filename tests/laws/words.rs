//! A word that a user replaces in a converted session is replaced in the restored one, and nothing
//! else.

use crate::common::{
    alone, beside_origin, converted, corpus, files, files_of, options, recognise, session,
    written_inputs,
};
use crate::pairs::{said, targets};
use copyist::diagnostic::Code;
use copyist::format::{Format, OnError};
use copyist::formats::FORMATS;
use copyist::ids::{Choice, hash};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What does not hold, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("pi/v1/first-generation/in/", "an edited `output` of pi's first release becomes a `content`"),
    (": emoji: ", "two texts with a half of one character each, which the file joins"),
    (
        ": harbour: {\"type\":\"custom-title\"",
        "a title of Claude Code, which writes a new one on a new line",
    ),
    (": following: ", "a word that pi puts before a summary itself"),
    (": compacted: ", "the same"),
    ("/codex/v2/compacted/in/", "words of a new history, which stands in the compaction"),
    ("/surrogate/.co/evals/", "torn by its own program"),
    ("orchard.jsonl to copilot-cli: trees: ", "the signature of an edited thought is left out"),
    (": flowers: ", "a question that Copilot CLI sends again before a summary"),
    (": summarized: ", "a word that Copilot CLI puts before a summary itself"),
    (
        "/claude-code/v2/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to opencode: ",
        "OpenCode has results in the order of their calls, and the source in another one",
    ),
    (
        "/connectonion/v3/checks/in/lamps.yaml to opencode: lamps: name: ",
        "the first question is the title, too, and an edited title is the name of the session",
    ),
    (
        "/atif/v1/terminal/in/terminal.json to opencode: table:",
        "the first question is the title, too, and an edited title is the name of the session",
    ),
    (
        "/atif/v1/lighthouse/in/lighthouse.json to pi@3: ledger:",
        "an edited result gets the name of its tool, as pi has it, in a member of its own",
    ),
    (
        "/atif/v1/terminal/in/terminal.json to gemini-cli@2: tides:",
        "words of the terminal, which a log joins with the question: refused with its place",
    ),
    (
        "/atif/v1/terminal/in/terminal.json to connectonion@",
        "a file of turns has no place for what comes between a call and its result",
    ),
    (
        "/copilot-cli/v1/helper/in/events.jsonl to atif: helper:",
        "a word of a sub-agent, which its answer repeats: refused with its place",
    ),
    (
        "/opencode/v1/quay/in/quay.json to connectonion@2: barrels: the origin is not used",
        "a word of a summary, which a file of turns has as a question: refused with its place",
    ),
    (
        "/opencode/v1/quay/in/quay.json to connectonion@3: barrels: the origin is not used",
        "a word of a call without a result, which the file has: refused with its place",
    ),
    (
        "/claude-code/v2/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to gemini-cli@",
        "the same as for OpenCode",
    ),
    (
        "/copilot-cli/v1/beehive/in/events.jsonl to gemini-cli@",
        "Gemini CLI has results in the order of their calls, and the source in another one",
    ),
    (
        "/copilot-cli/v1/compacted/in/events.jsonl to ",
        "a word around a summary, which is not in the file: refused with its place",
    ),
    (
        "/opencode/v1/quay/in/quay.json to gemini-cli@",
        "a word of a summary, which a log has as a question: refused with its place",
    ),
    (
        "/gemini-cli/v1/ferry/in/session-2026-03-04T09-00-3c4d5e6f.json to opencode: ferries:",
        "in the title that OpenCode has of the first question, too: the session gets a name",
    ),
    (
        "/copilot-cli/v1/beehive/in/events.jsonl to opencode: ",
        "OpenCode has results in the order of their calls, and the source in another one",
    ),
    (
        "/opencode/v1/harbour/in/harbour.json to copilot-cli: berths:",
        "in two texts, which the file joins: an edit of both is one text",
    ),
    (
        "/opencode/v1/harbour/in/harbour.json to connectonion@1: berths:",
        "in two texts, which the file joins: an edit of both is one text",
    ),
    (
        "/opencode/v1/harbour/in/harbour.json to connectonion@3: berths:",
        "in two texts, which the file joins: an edit of both is one text",
    ),
];

/// Words that a file has of its format's own.
pub fn reserved() -> BTreeSet<String> {
    let schemas = FORMATS.iter().flat_map(|format| format.versions).map(|version| version.schema);
    schemas.flat_map(words).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let split = text.split(|c: char| !c.is_alphanumeric());
    split.filter(|word| (5..12).contains(&word.len())).map(str::to_owned)
}

/// A word of the same length that says nothing.
pub fn other(word: &str) -> String {
    let turned = |c: char| char::from((c as u8 - b'a' + 13) % 26 + b'a');
    word.chars().map(turned).collect()
}

/// What is said in texts, and nowhere else.
fn texts(value: &Value, key: &str, out: &mut Vec<String>) {
    match value {
        Value::String(text) if ["text", "content"].contains(&key) => out.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| texts(value, key, out)),
        Value::Object(map) => map.iter().for_each(|(key, value)| texts(value, key, out)),
        _ => {}
    }
}

/// A word that is said in a session and that its target has too, another one for each target.
fn choice(said: &[String], target: &str, to: &str) -> Option<String> {
    let (reserved, mut all) = (reserved(), Vec::new());
    for said in said {
        texts(&serde_json::from_str(said).expect("JSON"), "", &mut all);
    }
    let plain = |word: &String| word.bytes().all(|b| b.is_ascii_lowercase());
    let all: BTreeSet<String> = all.iter().flat_map(|said| words(said)).filter(plain).collect();
    let free = |word: &&String| {
        !reserved.iter().any(|own| own.contains(word.as_str()))
            && target.contains(*word)
            && !target.contains(&other(word))
    };
    let all: Vec<_> = all.iter().filter(free).collect();
    let place = hash([to.as_bytes(), target.as_bytes()].concat().as_slice()) as usize;
    all.get(place % all.len().max(1)).map(|word| (*word).clone())
}

/// The lines of all files.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let files = files_of(text).into_iter();
    files
        .flat_map(|(_, text)| text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect()
}

/// Takes a session to a format, replaces a word there, and takes it home.
fn home(source: &[u8], of: (&'static Format, u32), to: &str) -> Option<Result<(), String>> {
    let keep = options(OnError::Keep, Choice::Derived);
    let away = converted(source, of.0, of.1, to, &keep).0.ok()?;
    let (format, version) = recognise(&away)?;
    let file = String::from_utf8(alone(&away)).ok().filter(|text| !text.starts_with('\0'))?;
    let word = choice(&said(source)?, &file, to)?;
    let away = beside_origin(file.replace(&word, &other(&word)).into_bytes(), &away);
    let (back, found) = converted(&away, format, version, &of.0.at(of.1), &keep);
    let tell = |why: String| Some(Err(format!("{word}: {why}")));
    let back = match back {
        Ok(back) => back,
        Err(error) => return tell(error.to_string()),
    };
    if let Some(refused) = found.diagnostics.iter().find(|d| d.code == Code::OriginRejected) {
        return tell(refused.message.clone());
    }
    if said(&back) != said(&away) {
        return tell("says something else".to_owned());
    }
    let (before, after) = (lines(source), lines(&back));
    // Every other byte is as it was, also in an edited line.
    let unedited = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).replace(&other(&word), &word);
        line.into_bytes()
    };
    let is_same = |was: &[u8], is: &[u8]| was == is || unedited(was) == unedited(is);
    let mut pairs = before.iter().zip(&after);
    if let Some((was, is)) = pairs.find(|(was, is)| !is_same(was, is)) {
        let show =
            |line: &[u8]| String::from_utf8_lossy(line).chars().take(200).collect::<String>();
        return tell(format!("{} for {}", show(is), show(was)));
    }
    if before.len() != after.len() {
        return tell(format!("{} lines for {}", after.len(), before.len()));
    }
    Some(Ok(()))
}

fn all(inputs: &[PathBuf]) {
    let mut tried: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut others = Vec::new();
    for file in inputs {
        let source = session(file);
        let Some((format, version)) = recognise(&source) else { continue };
        let own = format.at(version);
        for to in targets().iter().filter(|to| to.split('@').next() != Some(format.name)) {
            match home(&source, (format, version), to) {
                None => continue,
                Some(Err(why)) => others.push(format!("{} to {to}: {why}", file.display())),
                Some(Ok(())) => *tried.entry((own.clone(), to.clone())).or_default() += 1,
            }
        }
    }
    println!("| home | abroad | came home with the word |\n|---|---|---|");
    tried.iter().for_each(|((own, to), count)| println!("| {own} | {to} | {count} |"));
    let is_known = |other: &&String| EXCEPTIONS.iter().any(|(part, _)| other.contains(part));
    let unknown: Vec<_> = others.iter().filter(|other| !is_known(other)).collect();
    assert!(unknown.is_empty(), "{} of them: {unknown:#?}", unknown.len());
}

/// Sessions of the corpus that nothing is wrong with: each of so many, or of as many as are asked for.
pub fn undamaged(root: &Path, step: usize) -> Vec<PathBuf> {
    let step = std::env::var("COPYIST_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(step);
    let sets = ["pi/generated", "connectonion", "agent-orchestrator", "codelia"];
    let undamaged = |file: &PathBuf| {
        let text = file.to_string_lossy();
        let other = ["/mut/", "/edge", "/truth/", "/cache/", "/state", ".meta.json"];
        !other.iter().any(|part| text.contains(part))
    };
    let files = sets.iter().flat_map(|set| files(&root.join(set)));
    files.filter(undamaged).step_by(step).collect()
}

#[test]
fn a_word_that_is_replaced_in_the_target_is_replaced_in_the_source() {
    all(&written_inputs());
}

#[test]
fn a_word_that_is_replaced_in_the_target_is_replaced_in_the_source_in_the_corpus() {
    let Some(root) = corpus("words that are replaced abroad") else { return };
    all(&undamaged(&root, 17));
}
