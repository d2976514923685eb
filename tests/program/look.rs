//! Looking into sessions: what there is, and what differs.

use crate::common::{
    self, Dir, converted, corpus, files, migrated, name, options, own, own_inputs, read, recognise,
    to_canonical,
};
use copyist::diagnostic::Log;
use copyist::diff::{self, Change, Counts, Request, Side};
use copyist::format::{Cx, Format, OnError, Options};
use copyist::ids::Choice;
use copyist::inspect;
use copyist::memory::Bytes;
use serde_json::Value;
use std::path::PathBuf;

/// Every session file of our own, damaged ones and the corpus included.
fn all() -> Vec<PathBuf> {
    let mut all = own_inputs();
    all.extend(files(&common::testdata().join("damaged")));
    if let Some(corpus) = corpus("looking into the corpus") {
        let sets = ["real", "generated", "public", "probes"];
        all.extend(sets.iter().flat_map(|set| files(&corpus.join("pi").join(set))));
    }
    all
}

fn keep() -> Options {
    Options { force_version: true, ..options(OnError::Keep, Choice::Derived) }
}

/// Calls `look` with every session that can be opened.
fn each_session(mut look: impl FnMut(&str, &'static Format, &[u8])) -> usize {
    let mut seen = 0;
    for path in all() {
        let source = read(&path);
        let Some((format, _)) = recognise(&source) else { continue };
        look(&name(&path), format, &source);
        seen += 1;
    }
    seen
}

#[test]
fn what_is_counted_adds_up() {
    let options = keep();
    each_session(|name, format, source| {
        let (log, mut parts) = (Log::default(), Bytes::new(source));
        let cx = Cx { options: &options, log: &log };
        for (full, rows) in [(true, usize::MAX), (false, usize::MAX), (false, 7), (true, 0)] {
            let request = inspect::Request { full, rows };
            let Ok(found) = inspect::run(format, &mut parts, request, &cx) else { return };
            let roles: u64 = found.roles.values().sum();
            assert_eq!(roles, found.kinds.get("message").copied().unwrap_or(0), "{name}");
            let mut drawn = found.not_drawn + found.tree.unreachable;
            for row in &found.rows {
                drawn += match &row.item {
                    inspect::Item::Run { run } => *run,
                    inspect::Item::Entry { .. } => 1,
                };
            }
            let nodes = nodes(format, source, &options);
            assert_eq!(drawn, nodes, "{name} with {full} {rows}");
            assert!(found.rows.len() <= rows, "{name}");
            assert!(found.active.entries <= nodes, "{name}");
        }
    });
}

fn nodes(format: &Format, source: &[u8], options: &Options) -> u64 {
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut parts = Bytes::new(source);
    let records = (format.read)(&mut parts, &cx).expect("readable");
    records.filter(|item| item.as_ref().is_ok_and(|located| located.value.is_node())).count() as u64
}

/// What differs: the counts, and each changed field by its path.
fn differences(
    a: (&'static Format, &[u8]),
    b: (&'static Format, &[u8]),
    request: Request,
) -> (Counts, Vec<String>) {
    let options = keep();
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let (mut parts_a, mut parts_b) = (Bytes::new(a.1), Bytes::new(b.1));
    let side_a = Side { format: a.0, parts: &mut parts_a, cx: &cx, quiet: &cx };
    let side_b = Side { format: b.0, parts: &mut parts_b, cx: &cx, quiet: &cx };
    let mut fields = Vec::new();
    let counts = diff::run(side_a, side_b, request, &mut |change| {
        if let Change::Changed(_, _, changed) = change {
            fields.extend(changed.into_iter().map(|change| change.field));
        }
        Ok(())
    });
    (counts.expect("readable"), fields)
}

#[test]
fn a_session_does_not_differ_from_its_canonical_stream() {
    let (canonical, _) = recognise(b"{\"kind\":\"session\"}").expect("the stream");
    for path in own_inputs() {
        let source = read(&path);
        let (format, _) = recognise(&source).expect("a known format");
        let stream = to_canonical(&source, &keep());
        for context in [false, true] {
            let request = Request { context, ..Request::default() };
            let (counts, fields) = differences((format, &source), (canonical, &stream), request);
            assert!(counts.is_same(), "{}: {fields:?}", path.display());
            // Metadata alone hold no entry.
            let empty = stream.iter().filter(|b| **b == b'\n').count() == 1;
            assert!(counts.same > 0 || empty, "{}", path.display());
            assert_eq!(counts.same, counts.a, "{}", path.display());
        }
    }
}

#[test]
fn identifiers_and_times_can_be_ignored() {
    let old = own("pi/v1/compacted");
    let (format, _) = recognise(&old).expect("pi");
    let new = |seed| {
        let options = options(OnError::Stop, Choice::Random(seed));
        migrated(&old, "pi@3", &options).0.expect("undamaged")
    };
    let (a, b) = (new(1), new(2));
    let (counts, fields) = differences((format, &a), (format, &b), Request::default());
    assert_eq!((counts.only_a, counts.only_b), (0, 0));
    assert!(
        counts.changed > 20
            && fields.iter().all(|f| ["id", "parent", "first_kept"].contains(&f.as_str()))
    );
    let ids = Request { ignore_ids: true, ..Request::default() };
    assert!(differences((format, &a), (format, &b), ids).0.is_same());
    let later = String::from_utf8(a.clone())
        .expect("UTF-8")
        .replace("\"timestamp\":\"2025-", "\"timestamp\":\"2026-");
    let later = later.as_bytes();
    let (counts, _) = differences((format, &a), (format, later), Request::default());
    assert!(counts.changed > 20);
    let time = Request { ignore_time: true, ..Request::default() };
    assert!(differences((format, &a), (format, later), time).0.is_same());
}

#[test]
fn one_edit_is_one_difference() {
    let source = own("pi/v2/branched");
    let (format, _) = recognise(&source).expect("pi");
    let text = String::from_utf8(source.clone()).expect("UTF-8");
    let edited = text.replacen("Commit it.", "Do not commit it.", 1);
    let (counts, fields) =
        differences((format, &source), (format, edited.as_bytes()), Request::default());
    assert_eq!((counts.changed, counts.only_a, counts.only_b), (1, 0, 0));
    assert_eq!(fields, ["content[0].text"]);
    let mut lines: Vec<_> = text.lines().collect();
    lines.remove(9);
    let shorter = lines.join("\n") + "\n";
    let (counts, _) =
        differences((format, &source), (format, shorter.as_bytes()), Request::default());
    assert_eq!((counts.changed, counts.only_a, counts.only_b), (0, 1, 0));
    // What is not on the active branch is not sent.
    let aside = text.replacen("Try A.", "Try something.", 1);
    let context = Request { context: true, ..Request::default() };
    assert!(differences((format, &source), (format, aside.as_bytes()), context).0.is_same());
}

#[test]
fn diff_reports_with_its_exit_code_and_in_lines() {
    let dir = Dir::new();
    dir.copy("pi/v2/branched", "a.jsonl");
    let text = String::from_utf8(own("pi/v2/branched")).expect("UTF-8");
    dir.write("b.jsonl", text.replacen("Commit it.", "Push it.", 1).as_bytes());
    let (exit, said) = dir.said(&["diff", "a.jsonl", "a.jsonl"]);
    assert_eq!((exit, said.trim()), (0, "no difference in 35 records"));
    let (exit, said) = dir.said(&["diff", "--width", "80", "a.jsonl", "b.jsonl"]);
    let expected = "--- a.jsonl (pi@2)\n+++ b.jsonl (pi@2)\n~ line 32: user\n    \
        content[0].text: Commit it. → Push it.\n1 changed; 34 records the same";
    assert_eq!((exit, said.trim()), (1, expected));
    let done = dir.run(&["diff", "--json", "a.jsonl", "b.jsonl"]);
    let lines: Vec<Value> = done
        .stdout
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    assert_eq!(lines[0]["fields"][0]["b"], "Push it.");
    assert_eq!(lines[1]["changed"], 1);
    assert_eq!(dir.said(&["diff", "a.jsonl", "missing"]).0, 3);
    assert_eq!(dir.said(&["diff", "-", "-"]).0, 2);
    assert_eq!(dir.said(&["diff", "a.jsonl", "."]).0, 2);
    assert_eq!(dir.said(&["diff", "-q", "a.jsonl", "b.jsonl"]), (1, String::new()));
}

#[test]
fn a_conversion_differs_by_what_it_reports() {
    let source = own("pi/v2/branched");
    let (format, version) = recognise(&source).expect("pi");
    let plain = Options { origin: false, ..keep() };
    let (done, found) = converted(&source, format, version, "pi@1", &plain);
    let (counts, _) =
        differences((format, &source), (format, &done.expect("a session")), Request::default());
    assert!(!counts.is_same() && found.dropped() > 0, "{counts:?}");
    assert_eq!(counts.only_b, 0, "{counts:?}");
}

#[test]
fn a_tool_without_a_status_did_not_fail() {
    let dir = Dir::new();
    dir.copy("connectonion/v3/tides", "run.yaml");
    assert_eq!(dir.exit(&["convert", "-t", "pi", "-o", "p.jsonl", "run.yaml"]).0, 0);
    let (exit, said) = dir.said(&["diff", "--context", "run.yaml", "p.jsonl"]);
    assert_eq!(exit, 0, "{said}");
    let text = String::from_utf8(common::read(&dir.path("p.jsonl"))).expect("UTF-8");
    let failed = text.replacen("\"isError\":false", "\"isError\":true", 1);
    dir.write("q.jsonl", failed.as_bytes());
    let (exit, said) = dir.said(&["diff", "--context", "run.yaml", "q.jsonl"]);
    assert!(exit == 1 && said.contains("is_error"), "{said}");
}

/// Made identifiers say nothing, but what hangs from what does.
#[test]
fn a_tree_of_made_identifiers_is_compared_by_its_shape() {
    let dir = Dir::new();
    let stream = |parent: &str| {
        let record = |id: &str, parent: &str, role: &str| {
            format!(
                r#"{{"kind":"message","id":"{id}","parent":{parent},"id_made":true,"role":"{role}","content":"{id}"}}"#
            )
        };
        let header = r#"{"kind":"session","source":"pi@1","id":"s"}"#.to_owned();
        let last = record("c", parent, "user");
        [
            header,
            record("a", "null", "user"),
            record("b", r#""a""#, "assistant"),
            last,
            String::new(),
        ]
        .join("\n")
    };
    let shapes = [r#""b""#, r#""a""#, "null"];
    for (i, a) in shapes.iter().enumerate() {
        for (j, b) in shapes.iter().enumerate() {
            dir.write("a.jsonl", stream(a).as_bytes());
            dir.write("b.jsonl", stream(b).as_bytes());
            let (code, said) = dir.said(&["diff", "a.jsonl", "b.jsonl"]);
            assert_eq!(code, i32::from(i != j), "{a} {b}: {said}");
        }
    }
}

#[test]
fn what_turns_took_is_counted_and_what_the_session_states_where_nothing_else_does() {
    let turn = |tokens: u64| format!("- input: a\n  model: m\n  tokens: {tokens}\n  cost: 0.25\n");
    let summary = format!(
        "name: a\ncreated: '2026-01-01 00:00:00'\ntotal_cost: 9\ntotal_tokens: 9\nturns:\n{}{}",
        turn(3),
        turn(4)
    );
    let run = "agent: a\nmodel: m\ncwd: /w\ntokens: 7\ncost: 0.5\nmessages: |\n  [\n    {\"role\": \"user\", \"content\": \"a\"}\n  ]\n";
    for (text, models) in [(summary.as_str(), 2), (run, 0)] {
        let dir = Dir::new();
        dir.write("a.yaml", text.as_bytes());
        let (_, said) = dir.said(&["inspect", "--json", "a.yaml"]);
        let found: Value = serde_json::from_str(&said).expect("JSON");
        let found = &found["inspection"];
        assert_eq!(
            (&found["usage"]["tokens"], &found["usage"]["cost"]),
            (&7.0.into(), &0.5.into())
        );
        assert_eq!(found["models"]["m"].as_u64().unwrap_or(0), models, "{said}");
        let (_, said) = dir.said(&["inspect", "a.yaml"]);
        assert!(said.contains("in all 7"), "{said}");
    }
}

#[test]
fn entries_that_are_their_own_ancestors_are_damage() {
    let dir = Dir::new();
    let entry = r#"{"type":"label","id":"a","parentId":"a","targetId":"a","timestamp":"2026-01-01T00:00:00.000Z","label":"L"}"#;
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    dir.write("a.jsonl", format!("{header}\n{entry}\n").as_bytes());
    let (code, said) = dir.said(&["inspect", "a.jsonl"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("CY0404"), "{said}");
}

/// A session is found by its identifier, which pi's files have in their names.
#[test]
fn a_session_is_named_by_its_identifier_wherever_it_lies() {
    let id = "a0f64c72-64f3-4718-b05d-d70748d1efb1";
    let text = String::from_utf8(own("pi/v3/bom")).expect("UTF-8").replace('\u{feff}', "");
    let dir = Dir::new();
    let folder = "home/.pi/agent/sessions/--work--";
    dir.write(&format!("{folder}/2026-02-20T12-00-31-207Z_{id}.jsonl"), text.as_bytes());
    dir.write(&format!("{folder}/2026-02-20T12-00-31-207Z_b{id}.jsonl"), text.as_bytes());
    let inspect = |home: &str, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_copyist"));
        let command = command.arg("inspect").args(["--session", id]).args(args);
        let home = dir.path(home);
        for other in ["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"] {
            command.env_remove(other);
        }
        let done = command.current_dir(dir.root()).env("HOME", home).output().expect("runs");
        (
            done.status.code(),
            String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned(),
        )
    };
    assert_eq!(inspect("home", &[]).0, Some(0));
    assert_eq!(inspect("nowhere", &["home"]).0, Some(0));
    assert_eq!(inspect("nowhere", &[]).0, Some(2));
    dir.write(&format!("{folder}/copy/{id}.jsonl"), text.as_bytes());
    let (code, said) = inspect("home", &[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("several sessions are called") && said.contains("/copy/"), "{said}");
}

/// A sync program leaves copies of a session beside it.
#[test]
fn copies_of_a_session_are_reported_with_what_they_have() {
    let text = String::from_utf8(own("pi/v3/bom")).expect("UTF-8").replace('\u{feff}', "");
    let (dir, id) = (Dir::new(), "2026-02-20T12-00-31-207Z_a0f64c72-64f3-4718-b05d-d70748d1efb1");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    dir.write(&format!("in/{id} (Ines's conflicted copy).jsonl"), lines[..4].concat().as_bytes());
    dir.write(&format!("in/{id}.jsonl"), text.as_bytes());
    let other = [&lines[..4], &[&lines[4].replace("\"timestamp\":\"2026", "\"timestamp\":\"2027")]];
    dir.write(&format!("in/{id}.sync-conflict-1.jsonl"), other.concat().concat().as_bytes());
    for args in [&["validate", "in"][..], &["repair", "-n", "in"]] {
        let (_, said) = dir.exit(args);
        assert_eq!(said.matches("note[CY0728]").count(), 2, "{said}");
        assert!(said.contains("copy).jsonl is the beginning of this file"), "{said}");
    }
}

/// Copies of a session that went on separately become one tree.
#[test]
fn copies_are_joined_as_branches() {
    let line = |id: u32, parent: u32, text: &str| {
        format!(
            r#"{{"type":"message","id":"a000000{id}","parentId":"a000000{parent}","timestamp":"2026-03-03T09:00:0{id}.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        ) + "\n"
    };
    let header = r#"{"type":"session","version":3,"id":"019c0000-0000-7000-8000-00000000aaaa","timestamp":"2026-03-03T09:00:00.000Z","cwd":"/w"}"#;
    let first = line(1, 0, "one").replace("\"a0000000\"", "null");
    let common = format!("{header}\n{first}");
    let dir = Dir::new();
    let (one, other) = (line(2, 1, "left"), line(3, 1, "right"));
    dir.write("in/2026-03-03T09-00-00-000Z_s.jsonl", (common.clone() + &one).as_bytes());
    dir.write("in/2026-03-03T09-00-00-000Z_s.copy.jsonl", common.as_bytes());
    dir.write(
        "in/2026-03-03T09-00-00-000Z_s.sync-conflict.jsonl",
        (common.clone() + &other).as_bytes(),
    );
    let args = ["convert", "--join", "copies", "-t", "pi", "--out-dir", "out", "in"];
    let (code, said) = dir.exit(&args);
    assert!(code == 0 && said.contains("1 converted"), "{code}: {said}");
    let out = read(&dir.path("out/2026-03-03T09-00-00-000Z_s.jsonl"));
    let mut lines: Vec<&[u8]> = out.split_inclusive(|b| *b == b'\n').collect();
    assert_eq!(lines.len(), 4, "{}", String::from_utf8_lossy(&out));
    lines.sort_unstable();
    let mut all = [format!("{header}\n"), first, one, other.clone()];
    all.sort_unstable();
    assert_eq!(lines, all.each_ref().map(|line| line.as_bytes()));
    assert_eq!(dir.exit(&["validate", "out"]).0, 0);
    // Which of two entries with one identifier counts is not for the program to say.
    let edited = common + &other.replace("right", "rigged");
    dir.write("in/2026-03-03T09-00-00-000Z_s.edited.jsonl", edited.as_bytes());
    let (code, said) = dir.exit(&[&args[..6], &["out2", "in"]].concat());
    assert!(code == 3 && said.contains("error[CY0729]"), "{code}: {said}");
}
