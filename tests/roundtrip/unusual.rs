//! Sessions without links, conversions to an older version, and conversions to a third format.

use crate::common::{self, Dir, alone, converted, recognise};
use copyist::format::{OnError, Options};

fn keep() -> Options {
    Options { on_error: OnError::Keep, ..Options::default() }
}

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
fn what_hangs_together_in_no_way_is_restored_unchanged() {
    for (name, text) in [("s.jsonl", RING)] {
        let (format, version) = recognise(text.as_bytes()).expect("a session");
        for to in ["pi@3", "codelia@1", "connectonion@3", "agent-orchestrator@2"] {
            let (there, _) = converted(text.as_bytes(), format, version, to, &keep());
            let there = there.expect("written");
            let (seen, number) = recognise(&there).expect("a session");
            let (back, home) = converted(&there, seen, number, &format.at(version), &keep());
            let same = back.is_ok_and(|back| alone(&back) == text.as_bytes());
            assert!(same, "{name} to {to}: {:?}", home.counts);
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
