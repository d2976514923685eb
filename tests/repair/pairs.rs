//! agent-orchestrator's logs and metadata: every known damage beside what the scripts say.

use crate::common::{Dir, corpus, files, name, read, testdata};
use crate::judge::{repaired, resumable, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const META: &str = ".meta.json";

/// What the scripts say of every session in a folder, by the rule of their status.
fn judged(judge: &Path, folder: &Path) -> BTreeMap<String, String> {
    let asked = Command::new("python3")
        .env("PYTHONIOENCODING", "utf-8:backslashreplace")
        .arg(judge)
        .arg(folder)
        .output()
        .expect("Python runs");
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let text = String::from_utf8(asked.stdout).expect("UTF-8");
    let line = |line: &str| line.split_once(' ').map(|(name, said)| (name.into(), said.into()));
    text.lines().filter_map(line).collect()
}

fn judge() -> Option<PathBuf> {
    let judge =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/agent-orchestrator/status.py");
    let python = Command::new("python3").arg("--version").output().is_ok();
    (judge.is_file() && python).then_some(judge)
}

/// A folder with copies of files, without what is no session.
fn copied(from: &Path) -> Dir {
    let dir = Dir::in_memory();
    for file in files(from) {
        dir.write(&format!("in/{}", name(&file)), &read(&file));
    }
    dir
}

#[test]
fn the_scripts_read_every_repaired_pair_and_no_less_of_it() {
    let Some(corpus) = corpus("repair of pairs") else { return };
    let Some(judge) = judge() else {
        eprintln!("SKIP repair of pairs: no python3, or no judge");
        return;
    };
    let dir = copied(&corpus.join("agent-orchestrator/edge_cases"));
    let (code, said) = dir.exit(&["repair", "--out-dir", "out", "--report", "r", "in"]);
    // Some metadata have values that the schema does not allow, and which the scripts do not read.
    assert_eq!(code, i32::from(said.contains("error[CY0406]")), "{said}");
    let before = judged(&judge, &dir.path("in"));
    let after = judged(&judge, &dir.path("out"));
    let report: Value = serde_json::from_slice(&read(&dir.path("r"))).expect("JSON");
    println!("| pair | damage | records | set aside | the scripts before | after |");
    println!("|---|---|---|---|---|---|");
    let mut rows = BTreeSet::new();
    for input in report["inputs"].as_array().expect("a list") {
        let Some(done) = input["repair"].as_object() else { continue };
        let name = input["path"].as_str().expect("a path").trim_start_matches("in/");
        let name = name.trim_end_matches(".jsonl").trim_end_matches(META);
        let codes: Vec<_> = input["counts"].as_object().expect("counts").keys().collect();
        let (was, is) = (before.get(name), after.get(name));
        let was = was.map_or("not_existent", String::as_str);
        let is = is.map_or("not_existent", String::as_str);
        println!(
            "| {name} | {codes:?} | {} | {} | {was} | {is} |",
            input["records"], done["quarantined"]
        );
        rows.insert(name.to_owned());
        assert!(!is.starts_with("crash"), "{name}: {is}");
        assert!(!was.starts_with("finished") || was == is, "{name}: {was}, then {is}");
    }
    // One is a last line of 3 MB, which is made where it is needed; it is as healthy as `ok`.
    let expected = corpus.join("agent-orchestrator/edge_cases.expected.json");
    let expected: Value = serde_json::from_slice(&read(&expected)).expect("JSON");
    let mut all: BTreeSet<_> = expected.as_object().expect("an object").keys().cloned().collect();
    all.remove("huge-last");
    assert_eq!(rows, all);
    for name in ["bom-single", "trailing-blank-line", "trailing-space-line", "nul-tail", "no-meta"]
    {
        assert!(after[name].starts_with("finished 4"), "{name}: {}", after[name]);
    }
    let rebuilt: Value =
        serde_json::from_slice(&read(&dir.path("out/no-meta.meta.json"))).expect("JSON");
    let members = [
        "session_name",
        "agent",
        "project_dir",
        "agents_dir",
        "created_at",
        "last_resumed_at",
        "schema_version",
        "session_id",
    ];
    assert!(members.iter().all(|name| rebuilt.get(*name).is_some()), "{rebuilt}");
    assert_eq!(rebuilt["session_id"], "c68eb198-b150-4ecd-a249-501f82bb1649");
    assert_eq!(rebuilt["copyist"]["repaired"][0]["code"], "CY0854");
    let (code, said) = dir.exit(&["repair", "-n", "out"]);
    assert_eq!(code, i32::from(said.contains("error[CY0406]")), "{said}");
    assert!(!said.contains("repairable"), "{said}");
}

const PROMPT: &str = r#"{"type": "user_message", "content": "Go.", "timestamp": "2025-11-20T10:00:01.000001+00:00"}"#;
const INIT: &str = r#"{"subtype": "init", "data": {"type": "system", "subtype": "init", "cwd": "/w", "session_id": "s-1"}}"#;
const CALL: &str = r#"{"content": [{"id": "toolu_1", "name": "Bash", "input": {}}, {"id": "toolu_2", "name": "Bash", "input": {}}], "model": "m", "parent_tool_use_id": null}"#;
const ANSWER: &str = r#"{"content": [{"tool_use_id": "toolu_1", "content": "done", "is_error": null}], "parent_tool_use_id": null}"#;
const META_TEXT: &str = "{\n  \"session_name\": \"a\",\n  \"created_at\": \"2025-11-20T10:00:00.000001Z\",\n  \"last_resumed_at\": \"2025-11-20T10:00:00.000001Z\"\n}\n";

fn log(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

#[test]
fn each_changed_file_of_a_pair_keeps_a_backup() {
    let dir = Dir::new();
    let torn = [log(&[PROMPT, INIT]), CALL.as_bytes()[..70].to_vec()].concat();
    dir.write("a.jsonl", &torn);
    dir.write("a.meta.json", META_TEXT.as_bytes());
    let whole = log(&[PROMPT, INIT, CALL]);
    dir.write("b.jsonl", &whole);
    dir.write("b.meta.json", META_TEXT.as_bytes());
    let (code, said) = dir.exit(&["repair", "--in-place", "."]);
    assert_eq!(code, 0, "{said}");
    let names = ["a.jsonl", "a.jsonl.bak", "a.meta.json", "a.meta.json.bak", "a.quarantine.jsonl"];
    // The log of the other session is healthy.
    let others = ["b.jsonl", "b.meta.json", "b.meta.json.bak"];
    assert_eq!(dir.names(), [&names[..], &others[..]].concat());
    assert_eq!(read(&dir.path("a.jsonl")), log(&[PROMPT, INIT]));
    assert_eq!(read(&dir.path("a.jsonl.bak")), torn);
    assert_eq!(read(&dir.path("a.meta.json.bak")), META_TEXT.as_bytes());
    let metadata: Value = serde_json::from_slice(&read(&dir.path("a.meta.json"))).expect("JSON");
    assert_eq!(metadata["session_id"], "s-1");
    assert_eq!(set_aside(&read(&dir.path("a.quarantine.jsonl"))).len(), 1);
    assert_eq!(dir.exit(&["repair", "-n", "."]).0, 0);
}

#[test]
fn metadata_that_never_got_their_name_are_taken() {
    let dir = Dir::new();
    dir.write("a.jsonl", &log(&[PROMPT, INIT]));
    let whole = META_TEXT.replace("\n}", ",\n  \"session_id\": \"s-0\"\n}");
    dir.write("a.meta.json.tmp", whole.as_bytes());
    assert_eq!(dir.exit(&["repair", "--in-place", "."]).0, 0);
    assert_eq!(read(&dir.path("a.meta.json")), whole.as_bytes());
    assert_eq!(dir.names(), ["a.jsonl", "a.meta.json", "a.meta.json.tmp"]);
    let (code, said) = dir.said(&["repair", "-n", "a.jsonl"]);
    assert!(code == 0 && said.contains("healthy"), "{said}");
}

#[test]
fn a_call_without_a_result_gets_a_word_about_it() {
    let dir = Dir::new();
    dir.write("a.jsonl", &log(&[PROMPT, INIT, CALL, ANSWER, PROMPT]));
    dir.write(
        "a.meta.json",
        META_TEXT.replace("\n}", ",\n  \"session_id\": \"s-1\"\n}").as_bytes(),
    );
    assert_eq!(dir.exit(&["repair", "-n", "a.jsonl"]).0, 0);
    assert_eq!(dir.exit(&["repair", "--resumable", "--in-place", "a.jsonl"]).0, 0);
    let out = String::from_utf8(read(&dir.path("a.jsonl"))).expect("UTF-8");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!((lines.len(), lines[5]), (6, PROMPT));
    let put: Value = serde_json::from_str(lines[4]).expect("JSON");
    assert_eq!(put["content"][0]["tool_use_id"], "toolu_2");
    assert_eq!(put["content"][0]["is_error"], true);
    assert_eq!(put["copyist"]["repaired"][0]["code"], "CY0831");
}

#[test]
fn two_calls_with_one_identifier_get_a_word_each() {
    let source = log(&[PROMPT, INIT, CALL, PROMPT, &CALL.replace("\"m\"", "\"n\"")]);
    let format = &copyist::formats::agent_orchestrator::FORMAT;
    let once = repaired(format, &source, &resumable()).expect("records");
    let again = repaired(format, &once.out, &resumable()).expect("records");
    assert_eq!(once.findings.counts[&Code::ResultSynthesized], 4);
    assert!(!again.report.changed, "{:?}", again.findings.counts);
}

#[test]
fn words_on_standard_error_are_no_damage() {
    let dir = Dir::new();
    let printed = r#"{"type":"result","subtype":"success","result":"4","session_id":"s-1"}"#;
    dir.write("a.jsonl", &log(&["npm warn something", printed, "and more"]));
    let (code, said) = dir.said(&["repair", "-n", "a.jsonl"]);
    assert!(code == 0 && said.contains("healthy"), "{said}");
}

#[test]
fn blank_lines_that_become_the_last_ones_hide_no_outcome() {
    let format = &copyist::formats::agent_orchestrator::FORMAT;
    let text = read(&testdata().join("agent-orchestrator/v2/orchard/in/orchard.jsonl"));
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let copies = lines[lines.len() - 3..].concat();
    let source = [&text, &b"\n\n"[..], &copies].concat();
    for wanted in [RepairOptions::default(), resumable()] {
        let once = repaired(format, &source, &wanted).expect("a session");
        let plain = repaired(format, &text, &wanted).expect("a session");
        assert_eq!(once.out.escape_ascii().to_string(), plain.out.escape_ascii().to_string());
        let again = repaired(format, &once.out, &wanted).expect("a session");
        assert!(!again.report.changed);
    }
}

#[test]
fn an_empty_identifier_is_none() {
    let dir = Dir::new();
    dir.write("a.jsonl", &log(&[PROMPT, &INIT.replace("\"s-1\"", "\"\""), CALL]));
    let repair = ["repair", "--in-place", "--no-backup", "a.jsonl"];
    assert_eq!(dir.exit(&repair).0, 0);
    let metadata = read(&dir.path("a.meta.json"));
    assert_eq!(dir.exit(&repair).0, 0);
    assert_eq!(read(&dir.path("a.meta.json")), metadata);
}

/// Metadata as the scripts write them.
const WHOLE_META: &str = r#"{
  "session_name": "other",
  "agent": "bob",
  "project_dir": "/p",
  "agents_dir": "/p/a",
  "created_at": "2025-11-20T09:00:00Z",
  "last_resumed_at": "2025-11-20T09:30:00Z",
  "schema_version": "2.0",
  "session_id": "s-7",
  "more": {
    "agent": "inside"
  }
}
"#;

#[test]
fn what_is_whole_behind_a_broken_member_stays() {
    let agent = "  \"agent\": \"bob\",\n";
    let conflict =
        "<<<<<<< HEAD\n  \"agent\": \"bob\",\n=======\n  \"agent\": \"eve\",\n>>>>>>> x\n";
    // What stands in the place of a line, and what becomes of its member.
    let cases = [
        (agent, conflict, Some("bob")),
        (agent, "  \"agent\": \"bob,\n", None),
        (agent, "  \"agent\" \"bob\",\n", None),
        (agent, "  \"agent\": \"bob\"\n", Some("bob")),
        (agent, "  \"agent\": \"bob\",,\n", Some("bob")),
        ("{\n", "\0\0\n", Some("bob")),
        ("  }\n}\n", "", Some("bob")),
    ];
    for (line, broken, agent) in cases {
        let dir = Dir::new();
        dir.write("a.jsonl", &log(&[PROMPT, INIT]));
        let damaged = WHOLE_META.replacen(line, broken, 1);
        dir.write("a.meta.json", damaged.as_bytes());
        let (code, said) = dir.exit(&["repair", "--in-place", "a.jsonl"]);
        // A member that cannot be restored is missed by the schema.
        assert_eq!(code, i32::from(said.contains("error[CY0406]")), "{said}");
        assert!(code == 0 || said.contains("CY0854"), "{said}");
        let mut now: Value = serde_json::from_slice(&read(&dir.path("a.meta.json"))).expect("JSON");
        let mut whole: Value = serde_json::from_str(WHOLE_META).expect("JSON");
        whole["agent"] = agent.into();
        assert_eq!(now["copyist"]["repaired"][0]["code"], "CY0854", "{broken}");
        for own in [&mut now, &mut whole] {
            let own = own.as_object_mut().expect("an object");
            own.remove("copyist");
            // Its members stand on lines of their own, so that they are told by them only if it is
            // whole.
            own.remove("more");
        }
        assert_eq!(now, whole, "{broken}");
        assert_eq!(read(&dir.path("a.meta.json.bak")), damaged.as_bytes());
    }
}
