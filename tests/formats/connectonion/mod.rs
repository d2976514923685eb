//! ConnectOnion's own files, and its own loader as judge.
//!
//! The corpus lies beside the project; the loader needs Python with PyYAML. Without them the tests
//! say that they are skipped.

mod beside;
mod edited;
mod first;
mod joined;
mod layouts;
mod loader;
mod order;
mod releases;
mod summaries;
mod traps;

use crate::common::{self, files, in_folder, options};
use copyist::context::Request;
use copyist::diagnostic::Findings;
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const FORMAT: &str = "connectonion";

/// Releases, with the version that each writes.
const ERAS: &[(&str, u32)] = &[
    ("a-git-5691bd58", 1),
    ("b-0.5.0", 2),
    ("c-0.5.10", 2),
    ("d-0.6.1", 3),
    ("d2-1.5.11", 3),
    ("e-1.9.2", 3),
];

/// What a release left of a script.
struct Scenario {
    name: String,
    /// Files with messages.
    sessions: Vec<PathBuf>,
    /// Summaries of them.
    summaries: Vec<PathBuf>,
    truths: Vec<PathBuf>,
}

/// The scenarios of a release.
fn scenarios(era: &Path) -> Vec<Scenario> {
    let mut found: Vec<Scenario> = Vec::new();
    for file in files(era) {
        let inside = file.strip_prefix(era).expect("below the era");
        let name = inside.iter().next().expect("a name").to_string_lossy().into_owned();
        if found.last().is_none_or(|last| last.name != name) {
            let (sessions, summaries, truths) = Default::default();
            found.push(Scenario { name, sessions, summaries, truths });
        }
        let scenario = found.last_mut().expect("just pushed");
        let named = common::name(&file);
        if named.ends_with(".json") && inside.iter().any(|part| part == "truth") {
            scenario.truths.push(file);
        } else if inside.iter().any(|part| part == "sessions") || named.starts_with("run_") {
            scenario.sessions.push(file);
        } else if in_folder(&file, "evals") {
            scenario.summaries.push(file);
        }
    }
    found
}

/// A message without what is left out on either side: `null` members, and the message's `id`.
fn plain(message: &Value) -> Value {
    let members = message.as_object().expect("an object").iter();
    let kept = members.filter(|(key, value)| !value.is_null() && *key != "id");
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
}

fn messages(value: &Value) -> Vec<Value> {
    value["messages"].as_array().into_iter().flatten().map(plain).collect()
}

/// What we make of a session, and what is said about it.
fn ours(source: &[u8]) -> (Vec<Value>, Findings) {
    let keep = options(OnError::Keep, Choice::Derived);
    let (sent, findings) = common::context(source, &Request::default(), &keep);
    (messages(&common::as_javascript(&sent.expect("a context"))), findings)
}

/// How a context compares with what an agent had in memory.
struct Compared {
    /// How many messages both have, in the same order, and how many were in memory.
    found: usize,
    of: usize,
    /// How many answers ours has that were in no list in memory, but are a turn's result.
    restored: usize,
    /// The others.
    others: Vec<Value>,
}

impl Compared {
    fn is_same(&self) -> bool {
        self.found == self.of && self.others.is_empty()
    }
}

fn compared(ours: &[Value], truth: &Value) -> Compared {
    let theirs = messages(truth);
    let turns = truth["turns"].as_array().into_iter().flatten();
    let answers: Vec<&Value> = turns.map(|turn| &turn["result"]).collect();
    // The longest common sequence from each pair of places on.
    let mut common = vec![vec![0_usize; theirs.len() + 1]; ours.len() + 1];
    for (i, message) in ours.iter().enumerate().rev() {
        for (j, expected) in theirs.iter().enumerate().rev() {
            common[i][j] = match message == expected {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let mut compared =
        Compared { found: common[0][0], of: theirs.len(), restored: 0, others: Vec::new() };
    let mut j = 0;
    for (i, message) in ours.iter().enumerate() {
        while j < theirs.len() && common[i][j] == common[i][j + 1] {
            j += 1;
        }
        if j < theirs.len() && theirs[j] == *message && common[i][j] > common[i + 1][j + 1] {
            j += 1;
            continue;
        }
        let answer = message["role"] == "assistant" && answers.contains(&&message["content"]);
        if answer && message.get("tool_calls").is_none() {
            compared.restored += 1;
        } else {
            compared.others.push(message.clone());
        }
    }
    compared
}
