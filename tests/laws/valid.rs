//! A session that is valid stays valid in every other format: no model's interface refuses what its
//! agent sends of it.

use crate::common::{converted, corpus, files, options, own_inputs, parts, recognise, session};
use copyist::diagnostic::{Code, Findings, Log};
use copyist::format::{Cx, Format, OnError, Options};
use copyist::formats::{Spec, canonical, written};
use copyist::ids::Choice;
use copyist::validate::{self, Schema};
use std::collections::HashMap;
use std::path::PathBuf;

/// Sessions that are refused, or invalid, in another format, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "/agent-orchestrator/v2/spellings/",
        "",
        "the SDK sends a history of its own, so that half of a character in the log does no harm",
    ),
    (
        "/v1/shell/",
        "claude-code",
        "the log lacks the question, and Claude Code sends nothing that begins with an answer",
    ),
    ("/edge_cases/bash-era", "claude-code", "the same"),
    (
        "/pi/v3/spellings/",
        "",
        "pi sends it without half of a character; Anthropic accepts U+0000, others do not",
    ),
    ("/codex/0.142.0/huge/", "", "OpenAI's Responses accept U+0000, others do not"),
];

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// The schemas of formats, which take long to compile.
#[derive(Default)]
struct Schemas(HashMap<String, Schema>);

impl Schemas {
    /// The findings because of which a session is not valid.
    fn faults(&mut self, text: &[u8], format: &'static Format, version: u32) -> Vec<String> {
        let schema = self.0.entry(format.at(version)).or_insert_with(|| {
            let version = format.version(version).expect("a version");
            Schema::of(version).expect("a schema")
        });
        let (options, log) = (keep(), Log::default());
        let cx = &Cx { options: &options, log: &log };
        if let Err(error) = validate::run(format, schema, &mut parts(text), 10, cx) {
            return vec![error.to_string()];
        }
        let Findings { diagnostics, .. } = log.into_findings();
        let bad = diagnostics.iter().filter(|d| d.code.is_invalid() || d.code == Code::Refused);
        bad.map(|found| format!("{}: {}", found.code.name(), found.message)).collect()
    }
}

/// Size of the files of the corpora that are taken, in bytes.
const LONGEST: u64 = 400_000;

/// Every file of our own, and some of each format's in the corpora; `COPYIST_STEP=1` takes all.
fn inputs() -> Vec<PathBuf> {
    let mut inputs = own_inputs();
    let Some(corpus) = corpus("the corpora of valid sessions") else { return inputs };
    let sets = ["pi/generated", "pi/public", "agent-orchestrator", "codelia", "connectonion"];
    let sets = sets.iter().chain(&["claude-code", "codex", "field3"]);
    let mut others: Vec<_> = sets.flat_map(|set| files(&corpus.join(set))).collect();
    let other = ["/truth/", ".meta.json", "expected"];
    others.retain(|file| !other.iter().any(|part| file.to_string_lossy().contains(part)));
    others.retain(|file| file.metadata().is_ok_and(|data| data.len() < LONGEST));
    let step = std::env::var("COPYIST_STEP").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    inputs.extend(others.into_iter().step_by(step));
    inputs
}

#[test]
fn a_valid_session_stays_valid_in_every_format() {
    let (mut schemas, mut judged, mut bad) = (Schemas::default(), 0, Vec::new());
    for path in inputs() {
        let source = session(&path);
        let Some((format, version)) = recognise(&source) else { continue };
        if !schemas.faults(&source, format, version).is_empty() {
            continue;
        }
        let others = written().filter(|to| *to != format && *to != &canonical::FORMAT);
        for to in
            others.map(|to| to.at(to.usual.unwrap_or(to.versions[to.versions.len() - 1].number)))
        {
            let Ok(out) = converted(&source, format, version, &to, &keep()).0 else { continue };
            let spec = Spec::parse(&to).expect("a format");
            let faults = schemas.faults(&out, spec.format, spec.version().number);
            judged += 1;
            let file = path.display().to_string();
            let known = EXCEPTIONS
                .iter()
                .any(|(part, format, _)| file.contains(part) && to.starts_with(format));
            if !faults.is_empty() && !known {
                bad.push(format!("{file} as {to}: {}", faults.join("; ")));
            }
        }
    }
    println!("{judged} conversions of valid sessions are valid");
    assert!(bad.is_empty(), "{} of {judged}:\n{}", bad.len(), bad.join("\n"));
    // With the corpora they are more than four times as many.
    assert!(judged > 150, "{judged}");
}
