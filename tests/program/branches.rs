//! Sessions of several branches in targets that have room for one.

use crate::common::Dir;
use std::fmt::Write;

/// A session of two branches: a question with two answers, and `end` messages behind the second.
fn forked() -> String {
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"019c1111-0000-7000-8000-000000000001\",\
         \"timestamp\":\"2026-03-03T09:00:00.000Z\",\"cwd\":\"/work\"}\n",
    );
    let mut message = |id: &str, parent: &str, role: &str| {
        let content = match role {
            "user" => format!("\"content\":\"{id}\""),
            _ => format!(
                "\"content\":[{{\"type\":\"text\",\"text\":\"{id}\"}}],\"api\":\"a\",\
                 \"provider\":\"p\",\"model\":\"m\",\"stopReason\":\"stop\",\"usage\":{{\"input\":1,\
                 \"output\":1,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":2,\"cost\":{{\
                 \"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}}}"
            ),
        };
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        let _ = writeln!(
            text,
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\
             \"timestamp\":\"2026-03-03T09:00:01.000Z\",\"message\":{{\"role\":\"{role}\",{content},\
             \"timestamp\":1772528401000}}}}"
        );
    };
    message("aaaaaaa1", "", "user");
    message("aaaaaaa2", "aaaaaaa1", "assistant");
    message("aaaaaaa3", "aaaaaaa2", "user");
    message("aaaaaaa4", "aaaaaaa1", "assistant");
    text
}

#[test]
fn a_target_that_shows_one_branch_reports_how_many_messages() {
    let dir = Dir::new();
    dir.write("forked.jsonl", forked().as_bytes());
    let shown = "shows 2 of 4 messages; 2 on other branches";
    for target in ["connectonion@2", "connectonion@3", "agent-orchestrator@2", "codelia@1", "pi@1"]
    {
        let (_, said) =
            dir.said(&["convert", "-t", target, "-n", "--out-dir", "out", "forked.jsonl"]);
        assert_eq!(said.matches(shown).count(), 1, "{target}: {said}");
    }
    for target in ["canonical", "pi@3"] {
        let (_, said) =
            dir.said(&["convert", "-t", target, "-n", "--out-dir", "out", "forked.jsonl"]);
        assert!(!said.contains("CY0604"), "{target}: {said}");
    }
}
