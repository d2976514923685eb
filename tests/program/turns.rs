//! Turns as `inspect` and `diff --by turn` print them.

use crate::common::{Dir, converted, own, recognise};
use copyist::format::Options;
use serde_json::Value;

/// Two runs of one agent, with a changed prompt.
fn runs() -> Dir {
    let dir = Dir::new();
    for name in ["before", "after"] {
        dir.write(&format!("{name}.yaml"), &own(&format!("connectonion/v2/mailbox-{name}")));
    }
    dir
}

/// Runs the command; returns its exit code and its output.
fn printed(dir: &Dir, args: &[&str]) -> (Option<i32>, String) {
    let done = dir.run(args);
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).expect("UTF-8"))
}

#[test]
fn exit_code_of_turns_is_that_of_tools_and_results() {
    let dir = runs();
    let text = own("connectonion/v2/mailbox-before");
    let (format, version) = recognise(&text).expect("a known format");
    let (stream, _) = converted(&text, format, version, "pi", &Options::default());
    dir.write("before.jsonl", &crate::common::alone(&stream.expect("a session")));
    let by_turn = |a, b| printed(&dir, &["diff", "--by", "turn", a, b]);
    assert_eq!(by_turn("before.yaml", "after.yaml").0, Some(1));
    assert_eq!(by_turn("before.yaml", "before.yaml").0, Some(0));
    let (code, said) = by_turn("before.yaml", "before.jsonl");
    assert_eq!(code, Some(0), "tokens and cost may differ: {said}");
    assert!(said.contains("4 turns in both; tools and results are the same"), "{said}");
    let refused =
        printed(&dir, &["diff", "--by", "turn", "--context", "before.yaml", "after.yaml"]);
    assert_eq!(refused.0, Some(2), "{}", refused.1);
}

#[test]
fn pairs_of_turns_are_printed_as_json() {
    let dir = runs();
    let (_, said) = printed(&dir, &["diff", "--by", "turn", "--json", "before.yaml", "after.yaml"]);
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    // Reports on the two sessions follow.
    let lines: Vec<_> = lines.filter(|line| line["change"].is_string()).collect();
    let changes: Vec<_> = lines.iter().filter_map(|line| line["change"].as_str()).collect();
    assert_eq!(changes, ["changed", "changed", "same", "only_a", "only_b", "summary"]);
    let second = &lines[1];
    assert_eq!(second["a"]["tools"], serde_json::json!(["send_mail"]));
    assert_eq!(second["b"]["check"]["tools"]["missing"], serde_json::json!(["send_mail"]));
    assert_eq!(second["b"]["check"]["passed"], Value::Bool(false));
    assert!(second["differ"].as_array().expect("a list").contains(&Value::from("tools")));
    assert_eq!(lines[5]["changed"], 2);
}

#[test]
fn long_sessions_show_the_first_and_the_last_turns() {
    let dir = Dir::new();
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n",
    );
    for turn in 1..=30 {
        let parent = if turn == 1 { "null".to_owned() } else { format!("\"{:08x}\"", turn - 1) };
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"{turn:08x}\",\"parentId\":{parent},\"timestamp\":\"t\",\"message\":{{\"role\":\"user\",\"content\":\"Question {turn}.\"}}}}\n"
        );
    }
    dir.write("in.jsonl", text.as_bytes());
    let rows = |args: &[&str]| {
        let (_, said) = printed(&dir, args);
        let rows = said.lines().skip_while(|line| !line.starts_with("turn")).skip(2);
        let table = rows.skip_while(|line| !line.starts_with("turn"));
        table.take_while(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let short = rows(&["inspect", "in.jsonl"]);
    assert_eq!(short.len(), 12, "{short:?}");
    assert_eq!(short[6], "… 20 more turns; --turns lists all");
    assert!(short[11].ends_with("Question 30."), "{short:?}");
    assert_eq!(rows(&["inspect", "--turns", "in.jsonl"]).len(), 31);
}
