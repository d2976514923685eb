//! Sessions about which something is odd are taken home at once: who would learn only there that
//! residue is refused may have no other copy any more.

use crate::common::{self, Dir, converted, own_inputs, recognise, session};
use copyist::diagnostic::Code;
use copyist::format::{OnError, Options};
use copyist::formats::FORMATS;

fn keep() -> Options {
    Options { on_error: OnError::Keep, ..Options::default() }
}

/// A turn's messages stand there twice.
const TWICE: &str = "\
name: quay
created: '2026-10-08 16:05:41'
updated: '2026-10-08 16:05:43'
total_cost: 0.0
total_tokens: 0
turns:
- input: Count.
  model: m
  duration_ms: 1
  tokens: 0
  cost: 0.0
  tools_called: []
  result: Nine.
  messages: 1
  timestamp: '2026-10-08 16:05:42'
- input: Again.
  model: m
  duration_ms: 1
  tokens: 0
  cost: 0.0
  tools_called: []
  result: Ten.
  messages: 2
  timestamp: '2026-10-08 16:05:43'
messages:
  2: '[{\"role\": \"user\", \"content\": \"Again.\"}]'
  1: '[{\"role\": \"user\", \"content\": \"Count.\"}]'
  2: '[]'
";

/// Entries that are each other's parents.
const RING: &str = concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"a","parentId":"b","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"two","timestamp":2}}"#,
    "\n",
);

#[test]
fn who_would_not_come_home_is_told_while_the_source_is_there() {
    for (name, text) in [("s.yaml", TWICE), ("s.jsonl", RING)] {
        let (format, version) = recognise(text.as_bytes()).expect("a session");
        let mut told = 0;
        for to in ["pi@3", "codelia@1", "connectonion@3", "agent-orchestrator@2"] {
            let (there, found) = converted(text.as_bytes(), format, version, to, &keep());
            let there = there.expect("written");
            let (seen, number) = recognise(&there).expect("a session");
            let (back, home) = converted(&there, seen, number, &format.at(version), &keep());
            let same = back.is_ok_and(|back| back == text.as_bytes());
            let refused = home.counts.contains_key(&Code::ResidueRefused);
            let said = found.counts.contains_key(&Code::NotHome) || found.dropped() > 0;
            assert!(same || said, "{name} to {to}");
            assert!(!refused || found.dropped() > 0, "{name} to {to}");
            told += usize::from(said);
        }
        assert!(told > 0, "{name}");
    }
}

#[test]
fn of_what_comes_home_nothing_is_told() {
    let versions = FORMATS
        .iter()
        .flat_map(|format| format.versions.iter().map(|version| format.at(version.number)));
    let versions: Vec<_> = versions.collect();
    for path in own_inputs() {
        let source = session(&path);
        let Some((format, version)) = recognise(&source) else { continue };
        for to in &versions {
            let (_, found) = converted(&source, format, version, to, &keep());
            let told = found.counts.contains_key(&Code::NotHome);
            assert!(!told, "{} to {to}", path.display());
        }
    }
}

/// A session of pi's that went back once.
fn forked() -> String {
    let fork: &[(&str, &str, &str)] =
        &[("a", "null", "root"), ("b", "\"a\"", "left"), ("c", "\"a\"", "right")];
    let mut text = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned();
    for (id, parent, said) in fork {
        text.push_str(&format!(
            "\n{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{said}\",\"timestamp\":1}}}}"
        ));
    }
    text.push('\n');
    text
}

#[test]
fn without_a_version_the_newest_is_home() {
    let dir = Dir::new();
    let text = forked();
    dir.write("s.jsonl", text.as_bytes());
    for to in ["pi@1", "pi@2"] {
        let there = dir.exit(&["convert", "--force", "-t", to, "-o", "there.jsonl", "s.jsonl"]);
        assert_eq!(there.0, 0, "{}", there.1);
        let back = dir.exit(&["convert", "--force", "-t", "pi", "-o", "back.jsonl", "there.jsonl"]);
        assert_eq!(back.0, 0, "{}", back.1);
        assert_eq!(common::read(&dir.path("back.jsonl")), text.as_bytes(), "{to}");
    }
}

#[test]
fn what_rides_on_to_a_third_format_is_not_lost() {
    let dir = Dir::new();
    dir.write("s.jsonl", forked().as_bytes());
    let first = ["convert", "-q", "-t", "agent-orchestrator", "--out-dir", "first", "s.jsonl"];
    assert_eq!(dir.exit(&first).0, 0);
    let args = ["convert", "--fail-on", "loss", "-t", "codelia", "--out-dir", "next", "first"];
    let (code, said) = dir.exit(&args);
    assert_eq!(code, 0, "{said}");
    let home = ["convert", "-q", "-t", "pi", "--out-dir", "home", "next"];
    assert_eq!(dir.exit(&home).0, 0);
    let home = common::files(&dir.path("home")).remove(0);
    assert_eq!(common::read(&home), forked().as_bytes());
}
