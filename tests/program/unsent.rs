//! Lines of Claude Code that the program leaves out or reads in another order than the file's: what
//! it sends is what `context` prints, and `validate` and `repair --resumable` go by that.

use super::accepted::{repaired, transcript, valid};
use crate::common::Dir;
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}})
}

fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": "six threads"}])
}

/// Pieces that are sent of a session: texts, calls, and results with the calls' names.
fn sent(dir: &Dir, name: &str) -> Vec<String> {
    let done = dir.run(&["context", "-q", "--as", "anthropic", name]);
    let context: Value = serde_json::from_slice(&done.stdout).expect("a context");
    let messages = context["messages"].as_array().expect("messages");
    let blocks = messages.iter().flat_map(|it| it["content"].as_array().expect("blocks"));
    let word = |block: &Value| {
        let member = |name: &str| block[name].as_str().map(str::to_owned);
        member("text").or(member("id")).or_else(|| Some(format!("={}", member("tool_use_id")?)))
    };
    blocks.filter_map(word).collect()
}

fn file(dir: &Dir, name: &str) -> String {
    std::fs::read_to_string(dir.path(name)).expect("a file")
}

#[test]
fn an_answer_whose_calls_have_no_result_is_not_sent() {
    let dir = Dir::new();
    let cases: [(&[Value], &[&str], bool); 4] = [
        // Release 2.1.332 leaves out the line of a call without a result, the words in it included.
        (&[json!([text("Look."), call("t1")])], &["So."], false),
        (&[json!([text("Look."), call("t1"), call("t2")])], &["So."], false),
        // A line of its own has no words to lose.
        (&[json!([call("t1")])], &["So."], true),
        // Where one call of the line has a result, the others get one.
        (
            &[json!([text("Look."), call("t1"), call("t2")]), result("t1")],
            &["Look.", "t1", "t2", "=t2", "=t1", "So."],
            true,
        ),
    ];
    for (lines, expected, is_valid) in cases {
        let mut messages = vec![("user", json!("Which twill?"))];
        let kind =
            |line: &Value| if line[0]["type"] == "tool_result" { "user" } else { "assistant" };
        messages.extend(lines.iter().map(|line| (kind(line), line.clone())));
        messages.extend([("assistant", json!([text("So.")])), ("user", json!("Good."))]);
        dir.write("s.jsonl", transcript(&messages).as_bytes());
        let all = [&["Which twill?"], expected, &["Good."]].concat();
        assert_eq!(sent(&dir, "s.jsonl"), all);
        let (code, told) = dir.exit(&["validate", "s.jsonl"]);
        assert_eq!((code == 0, told.contains("CY0421")), (is_valid, !is_valid), "{told}");
        repaired(&dir, "s.jsonl", "CY0831");
        let after = sent(&dir, "o.jsonl");
        assert!(lines.len() > 1 || after.contains(&"=t1".to_owned()), "{after:?}");
        assert!(lines[0][0]["type"] != "text" || after.contains(&"Look.".to_owned()), "{after:?}");
    }
}

#[test]
fn lines_before_their_parents_are_paired_in_the_order_of_the_conversation() {
    let dir = Dir::new();
    let messages = |with_result: bool| {
        let mut all = vec![
            ("user", json!("Which twill?")),
            ("assistant", json!([text("I look."), call("t1")])),
            ("user", result("t1")),
            ("assistant", json!([text("Six.")])),
            ("user", json!("And the loom?")),
            ("assistant", json!([text("Oak.")])),
        ];
        if !with_result {
            all.remove(2);
        }
        transcript(&all)
    };
    let reversed =
        |lines: &str| -> String { lines.lines().rev().map(|l| format!("{l}\n")).collect() };
    // The text and the call are two lines of one answer, as the program writes them.
    let split = |lines: &str| -> String {
        let mut found: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let mut first = found[1].clone();
        first["message"]["content"] = json!([text("I look.")]);
        first["uuid"] = json!("7f000099-0000-4000-8000-000000000001");
        found[1]["parentUuid"] = first["uuid"].clone();
        found[1]["message"]["content"].as_array_mut().expect("a list").remove(0);
        found.insert(1, first);
        found.iter().map(|line| format!("{line}\n")).collect()
    };
    for whole in [messages(true), split(&messages(true))] {
        dir.write("s.jsonl", whole.as_bytes());
        let in_order = sent(&dir, "s.jsonl");
        assert_eq!(in_order.len(), 7, "{in_order:?}");
        dir.write("r.jsonl", reversed(&whole).as_bytes());
        assert_eq!(sent(&dir, "r.jsonl"), in_order);
        valid(&dir, "r.jsonl");
        let (code, told) = dir.said(&["repair", "--resumable", "-n", "r.jsonl"]);
        assert!(code == 0 && told.contains("healthy"), "{told}");
    }
    for whole in [messages(false), split(&messages(false))] {
        dir.write("r.jsonl", reversed(&whole).as_bytes());
        let mended = repaired(&dir, "r.jsonl", "CY0831");
        assert!(mended.contains("The outcome of the call is unknown"), "{mended}");
        let all = ["Which twill?", "I look.", "t1", "=t1", "Six.", "And the loom?", "Oak."];
        assert_eq!(sent(&dir, "o.jsonl"), all, "{mended}");
    }
}

#[test]
fn a_result_that_comes_first_becomes_a_text() {
    let dir = Dir::new();
    let lines =
        [("user", result("t1")), ("assistant", json!([text("Six.")])), ("user", json!("Good."))];
    dir.write("s.jsonl", transcript(&lines).as_bytes());
    valid(&dir, "s.jsonl");
    let words = "[Orphaned tool result removed due to conversation resume]";
    assert_eq!(sent(&dir, "s.jsonl"), [words, "Six.", "Good."]);
    // Without it, the interface would refuse the answer as the first message.
    repaired(&dir, "s.jsonl", "CY0832");
    assert_eq!(sent(&dir, "o.jsonl"), ["[A tool answered here: six threads]", "Six.", "Good."]);
}

#[test]
fn copies_that_every_release_reads_as_one_stay() {
    let dir = Dir::new();
    let lines = [
        ("user", json!("Which twill?")),
        ("assistant", json!([text("2/2.")])),
        ("user", json!("Good.")),
        ("assistant", json!([text("Woven.")])),
    ];
    let whole = transcript(&lines);
    let question = whole.lines().nth(2).expect("a line").to_owned();
    dir.write("s.jsonl", format!("{question}\n{whole}").as_bytes());
    valid(&dir, "s.jsonl");
    let (code, told) = dir.said(&["repair", "--resumable", "-n", "s.jsonl"]);
    assert!(code == 0 && told.contains("healthy"), "{told}");
    // A newer time moves the end for older releases, and a line that changes must not have a copy.
    let newer = question.replace("09:00:02", "09:30:00");
    assert_ne!(newer, question);
    let empty = transcript(&[lines.as_slice(), &[("user", json!("And?"))]].concat());
    let empty = empty.replace("Good.", "G\\ud83d.");
    let changed = empty.lines().nth(2).expect("a line");
    for text in [format!("{newer}\n{whole}"), format!("{changed}\n{empty}")] {
        dir.write("s.jsonl", text.as_bytes());
        let mended = repaired(&dir, "s.jsonl", "CY0808");
        assert_eq!(mended.lines().count(), text.lines().count() - 1, "{mended}");
    }
}

#[test]
fn a_summary_without_its_line_before_is_the_beginning() {
    let dir = Dir::new();
    let lines = [
        ("user", json!("Which twill?")),
        ("assistant", json!([text("2/2.")])),
        ("user", json!("Summary: twill 2/2.")),
        ("user", json!("Good.")),
        ("assistant", json!([text("Woven.")])),
    ];
    let change = |(at, line): (usize, &str)| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if at == 2 {
            line["isCompactSummary"] = json!(true);
            line["parentUuid"] = json!("7f000077-0000-4000-8000-000000000001");
        }
        // The program would go on at a line that is at most five seconds older.
        let time = line["timestamp"].as_str().expect("a time").replace("09:00", "10:00");
        if at > 1 {
            line["timestamp"] = json!(time);
        }
        format!("{line}\n")
    };
    let text: String = transcript(&lines).lines().enumerate().map(change).collect();
    dir.write("s.jsonl", text.as_bytes());
    assert_eq!(sent(&dir, "s.jsonl"), ["Summary: twill 2/2.", "Good.", "Woven."]);
    valid(&dir, "s.jsonl");
    for flags in [&["repair", "-n", "s.jsonl"][..], &["repair", "--resumable", "-n", "s.jsonl"]] {
        let (code, told) = dir.said(flags);
        assert!(code == 0 && told.contains("healthy"), "{flags:?}: {told}");
    }
}

#[test]
fn words_of_an_interrupted_answer_are_sent_after_a_conversion() {
    let entry = |id: &str, parent: Value, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-03-01T09:00:02.000Z", "message": message})
    };
    let look = json!([text("Look."), {"type": "toolCall", "id": "t1", "name": "bash",
        "arguments": {"command": "ls"}}]);
    let answer = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": stop})
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "7f000000-0000-4000-8000-0000000000f1",
            "timestamp": "2026-03-01T09:00:00.000Z", "cwd": "/weave"}),
        entry("a1", Value::Null, json!({"role": "user", "content": [text("Which twill?")]})),
        entry("a2", json!("a1"), answer(look, "toolUse")),
        entry("a3", json!("a2"), json!({"role": "user", "content": [text("So?")]})),
        entry("a4", json!("a3"), answer(json!([text("2/2.")]), "stop")),
    ];
    // The session goes on behind the calls, ends with them, or has the result.
    let result = json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash",
        "content": [text("six threads")], "isError": false});
    let answered = entry("a3", json!("a2"), result);
    let cases = [
        (lines.to_vec(), vec!["So?", "2/2."], 5),
        (lines[..3].to_vec(), vec![], 3),
        ([&lines[..3], &[answered]].concat(), vec![], 3),
    ];
    for (lines, behind, written) in cases {
        let dir = Dir::new();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        dir.write("s.jsonl", text.as_bytes());
        let all = ["convert", "-q", "-f", "pi", "-t", "claude-code", "s.jsonl", "-o"];
        assert_eq!(dir.exit(&[&all[..], &["c.jsonl"]].concat()).0, 0);
        valid(&dir, "c.jsonl");
        assert_eq!(file(&dir, "c.jsonl").lines().count(), written);
        let sent = sent(&dir, "c.jsonl");
        assert_eq!(&sent[..2], ["Which twill?", "Look."], "{sent:?}");
        assert!(sent.ends_with(&behind.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()));
        // An edit of the words comes back into the source's answer.
        let edited = file(&dir, "c.jsonl").replace("Look.", "See.");
        dir.write("c.jsonl", edited.as_bytes());
        let (code, told) = dir.said(&["convert", "-t", "pi", "c.jsonl", "-o", "b.jsonl"]);
        assert_eq!((code, file(&dir, "b.jsonl")), (0, text.replace("Look.", "See.")), "{told}");
        assert_eq!(dir.exit(&["append", "--text", "Well?", "c.jsonl"]).0, 0);
        valid(&dir, "c.jsonl");
    }
}
