//! Streams that an importer wrote: what a model is sent of compactions, edits, and messages that are
//! kept out of the conversation.

use super::imported::{
    TIME, call, everywhere_and_home, records, result, said, session, targets, told, with,
};
use crate::common::{Dir, files, read};
use serde_json::{Value, json};

#[test]
fn excluded_messages_are_not_sent_and_are_restored() {
    let out = |record| with(record, json!({"excluded": true}));
    let stream = [
        session(),
        said("a", "", "user", "q"),
        out(said("b", "a", "user", "SECRET")),
        out(said("b2", "b", "assistant", "HIDDEN")),
        said("c", "b2", "assistant", "yes"),
        out(said("d", "c", "user", "LAST")),
    ];
    everywhere_and_home("kept out", &stream, &["user: q", "assistant: yes"]);
}

#[test]
fn excluded_messages_of_any_format_are_not_sent() {
    // A session of runs is none without any, and a rollout or a log of Gemini CLI has no place beside
    // the conversation, so a stream that says so of one is written anew (CY0627).
    let anew = ["codelia", "codex", "gemini-cli"];
    let beside = |source: &String| !anew.iter().any(|name| source.starts_with(name));
    for source in targets().into_iter().filter(beside) {
        let stream = [
            with(session(), json!({"source": source, "agent": "x"})),
            said("a", "", "user", "q"),
            with(said("b", "a", "user", "SECRET"), json!({"excluded": true})),
            said("c", "b", "assistant", "yes"),
        ];
        let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
        for to in targets() {
            let dir = Dir::in_memory();
            dir.write("s.copyist.jsonl", lines.as_bytes());
            let says = ["user: q", "assistant: yes"];
            assert_eq!(told(&dir, "s.copyist.jsonl"), says, "{source}");
            let (code, words) =
                dir.exit(&["convert", "-t", &to, "--out-dir", "away", "s.copyist.jsonl"]);
            assert_eq!(code, 0, "{source} to {to}: {words}");
            // A trajectory has a place for it.
            if to == source && !to.starts_with("atif") {
                assert!(words.contains("CY0601"), "{source}: {words}");
                continue;
            }
            let shown =
                ["convert", "--ignore-origin", "-t", "canonical", "--out-dir", "shown", "away"];
            dir.exit(&shown);
            let shown = files(&dir.path("shown")).remove(0);
            let shown = told(&dir, &shown.display().to_string());
            assert_eq!(shown, says, "{source} in {to}: {words}");
            let (_, words) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "home", "away"]);
            let back = files(&dir.path("home")).remove(0);
            let back = records(&dir, &back);
            let is_secret = |record: &&Value| record["content"].to_string().contains("SECRET");
            let secret = back.iter().find(is_secret).unwrap_or_else(|| {
                panic!("{source} back from {to}: {words}");
            });
            assert_eq!(secret["excluded"], true, "{source} back from {to}: {words}");
        }
    }
}

#[test]
fn excluded_messages_are_not_written_into_a_rollout() {
    for source in ["codex@1", "codex@2", "codex@3"] {
        let stream = [
            with(session(), json!({"source": source})),
            said("a", "", "user", "q"),
            with(said("b", "a", "user", "SECRET"), json!({"excluded": true})),
        ];
        let dir = Dir::new();
        let lines: String = stream.iter().map(|record| format!("{record}\n")).collect();
        dir.write("s.copyist.jsonl", lines.as_bytes());
        let (_, words) = dir.exit(&["convert", "-t", source, "-o", "s.jsonl", "s.copyist.jsonl"]);
        let text = String::from_utf8(read(&dir.path("s.jsonl"))).expect("UTF-8");
        assert!(!text.contains("SECRET") && text.contains("\"q\""), "{source}: {text}");
        let reported = ["CY0601", "CY0627"].iter().any(|code| words.contains(code));
        assert!(reported, "{source}: {words}");
    }
}

#[test]
fn a_compaction_gives_its_summary_for_what_it_does_not_keep() {
    let summary = "user: The conversation history before this point was compacted into the \
                   following summary:\n\n<summary>\nSHORT\n</summary>";
    let compaction = |kept: Value| {
        let record = json!({"kind": "compaction", "id": "k", "parent": "d", "time": TIME,
            "summary": "SHORT", "tokens_before": 9});
        with(record, kept)
    };
    for (kept, says) in [
        (json!({"first_kept": "c"}), &["user: q2", "assistant: r2"][..]),
        (json!({"first_kept": "k"}), &[]),
        (json!({}), &[]),
        (json!({"kept": ["a", "b"]}), &["user: q1", "assistant: r1"]),
        (json!({"kept": ["a", "d"]}), &["user: q1", "assistant: r2"]),
        (json!({"kept": []}), &[]),
    ] {
        let stream = [
            session(),
            said("a", "", "user", "q1"),
            said("b", "a", "assistant", "r1"),
            said("c", "b", "user", "q2"),
            said("d", "c", "assistant", "r2"),
            compaction(kept.clone()),
            said("e", "k", "user", "q3"),
        ];
        let says = [&[summary][..], says, &["user: q3"]].concat();
        everywhere_and_home(&kept.to_string(), &stream, &says);
    }
}

#[test]
fn edits_summaries_of_branches_and_commands_are_sent_alike() {
    let stream = [
        session(),
        said("a", "", "user", "q1"),
        said("b", "a", "assistant", "old"),
        said("c", "b", "user", "gone"),
        json!({"kind": "context_edit", "id": "e", "parent": "c", "time": TIME, "target": "b",
            "replacement": {"content": [{"type": "text", "text": "new"}]}}),
        json!({"kind": "context_edit", "id": "f", "parent": "e", "time": TIME, "target": "c",
            "replacement": null}),
        json!({"kind": "branch_summary", "id": "g", "parent": "f", "time": TIME, "from": "c",
            "summary": "tried"}),
        with(said("h", "g", "custom", "note"), json!({"custom_type": "x", "display": true})),
        with(said("i", "h", "assistant", "cut"), json!({"stop_reason": "aborted"})),
        json!({"kind": "message", "id": "j", "parent": "i", "time": TIME, "role": "bash",
            "bash": {"command": "ls", "output": "x", "exit_code": 0, "cancelled": false,
            "truncated": false}}),
        said("l", "j", "user", "q2"),
    ];
    let says = [
        "user: q1",
        "assistant: new",
        "user: The following is a summary of a branch that this conversation came back from:\n\n\
         <summary>\ntried</summary>",
        "user: note",
        "user: Ran `ls`\n```\nx\n```",
        "user: q2",
    ];
    everywhere_and_home("kinds", &stream, &says);
}

#[test]
fn messages_of_sub_agents_are_no_part_of_the_conversation() {
    let of = |record| with(record, json!({"parent_call": "t1"}));
    let says = ["user: q", "assistant: \"w\"", "tool: \"done\"", "assistant: fin"];
    let stream = |after: &str| {
        [
            session(),
            said("a", "", "user", "q"),
            call("b", "a"),
            of(said("x", "b", "user", "SUBPROMPT")),
            of(said("y", "x", "assistant", "SUBANSWER")),
            result("c", after),
            said("d", "c", "assistant", "fin"),
        ]
    };
    for (what, after) in [("in line", "y"), ("beside", "b")] {
        let stream = stream(after);
        everywhere_and_home(what, &stream, &says);
    }
    let mut last = stream("b").to_vec();
    last.swap(3, 6);
    last.swap(4, 5);
    last[3] = result("c", "b");
    last[4] = said("d", "c", "assistant", "fin");
    last[5] = of(said("x", "d", "user", "SUBPROMPT"));
    last[6] = of(said("y", "x", "assistant", "SUBANSWER"));
    everywhere_and_home("last", &last, &says);
}
