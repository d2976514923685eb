//! Sessions whose entries do not lead to a root.

use crate::common::{alone, converted, recognise};
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
fn entries_in_a_ring_are_restored_unchanged() {
    let (format, version) = recognise(RING.as_bytes()).expect("a session");
    for to in ["pi@3", "codelia@1", "connectonion@3", "agent-orchestrator@2"] {
        let (there, _) = converted(RING.as_bytes(), format, version, to, &keep());
        let there = there.expect("written");
        let (seen, number) = recognise(&there).expect("a session");
        let (back, found) = converted(&there, seen, number, &format.at(version), &keep());
        let same = back.is_ok_and(|back| alone(&back) == RING.as_bytes());
        assert!(same, "{to}: {:?}", found.counts);
    }
}
