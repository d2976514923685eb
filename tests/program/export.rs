//! Rows for training.

use crate::common::{Dir, testdata};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::{Command, Output};

fn run(home: &Dir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).env("TZ", "UTC0");
    command.arg("export").args(args).output().expect("the program runs")
}

/// The rows that an export prints.
fn rows(home: &Dir, args: &[&str]) -> Vec<Value> {
    let done = run(home, &[args, &["-o", "-"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    parsed(&done.stdout)
}

fn parsed(text: &[u8]) -> Vec<Value> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

fn roles(row: &Value, list: &str, key: &str) -> Vec<String> {
    let items = row[list].as_array().expect("a list").iter();
    items.map(|item| item[key].as_str().expect("a role").to_owned()).collect()
}

/// A session of pi: a question with thoughts, two calls at once, an image, and an answer.
fn session(id: &str, question: &str) -> Vec<Value> {
    let usage = json!({"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 15, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let entry = |id: &str, parent: Option<&str>, message: Value| {
        json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-01-03T08:20:56.301Z", "message": message})
    };
    let answer = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "api": "anthropic-messages",
            "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": usage,
            "stopReason": stop, "timestamp": 1_767_428_461_000_u64})
    };
    let call = |id: &str, arguments: Value| json!({"type": "toolCall", "id": id, "name": "tide/read", "arguments": arguments});
    let result = |id: &str, content: Value, failed: bool| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "tide/read", "content": content,
            "isError": failed, "timestamp": 1_767_428_462_000_u64})
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let image = json!([{"type": "text", "text": "low"}, {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]);
    vec![
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-03T08:20:55.301Z", "cwd": "/w/tides"}),
        entry(
            "a1",
            None,
            json!({"role": "user", "content": question, "timestamp": 1_767_428_460_000_u64}),
        ),
        entry(
            "a2",
            Some("a1"),
            answer(
                json!([
            {"type": "thinking", "thinking": "Two places.", "thinkingSignature": "c2ln"},
            {"type": "text", "text": "I look."}, call("c1", json!({"place": "Ryde"})), call("c2", json!({"at": BIG}))]),
                "toolUse",
            ),
        ),
        entry("a3", Some("a2"), result("c1", text("high tide at nine"), false)),
        entry("a4", Some("a3"), result("c2", image, true)),
        entry("a5", Some("a4"), answer(text("Nine."), "stop")),
        entry(
            "a6",
            Some("a5"),
            json!({"role": "user", "content": "And tomorrow?", "timestamp": 1_767_428_470_000_u64}),
        ),
        entry("a7", Some("a6"), answer(text("Ten."), "stop")),
    ]
}

/// Stands for a number of more than 64 bits.
const BIG: u64 = 1_234_567_890_123_456_789;

fn write(home: &Dir, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let text = text.replace(&BIG.to_string(), "123456789012345678901");
    home.write(name, text.as_bytes());
}

fn one() -> Dir {
    let home = Dir::new();
    write(&home, "s/one.jsonl", &session("one", "When is high tide?"));
    home
}

#[test]
fn interfaces_get_results_behind_their_calls_and_names_that_they_accept() {
    let home = one();
    let row = &rows(&home, &["--as", "openai", "s"])[0];
    let expected = ["user", "assistant", "tool", "tool", "user", "assistant", "user", "assistant"];
    assert_eq!(roles(row, "messages", "role"), expected);
    let answer = &row["messages"][1];
    assert_eq!(answer["content"], "I look.");
    let call = &answer["tool_calls"][1];
    assert_eq!(call["function"]["name"], "tide_read");
    assert_eq!(call["function"]["arguments"], r#"{"at":123456789012345678901}"#);
    // The image of a result follows all results.
    assert_eq!(row["messages"][4]["content"][1]["type"], "image_url");
    let row = &rows(&home, &["--as", "anthropic", "s"])[0];
    assert_eq!(
        roles(row, "messages", "role"),
        ["user", "assistant", "user", "assistant", "user", "assistant"]
    );
    assert_eq!(row["messages"][1]["content"][0]["signature"], "c2ln");
    assert_eq!(row["messages"][2]["content"][1]["is_error"], true);
    assert_eq!(row["messages"][2]["content"][1]["content"][1]["type"], "image");
}

#[test]
fn training_programs_get_the_shapes_that_their_templates_print() {
    let home = one();
    let row = &rows(&home, &["--as", "trl", "s"])[0];
    let answer = &row["messages"][1];
    assert_eq!(answer["reasoning_content"], "Two places.");
    assert_eq!(answer["tool_calls"][0]["function"]["arguments"], json!({"place": "Ryde"}));
    // Loaders of data sets stop at numbers of more than 64 bits.
    assert_eq!(answer["tool_calls"][1]["function"]["arguments"]["at"], "123456789012345678901");
    assert_eq!(row["messages"][2]["name"], "tide_read");
    assert_eq!(row["messages"][3]["content"], "low[image: image/png]");
    let row = &rows(&home, &["--as", "sharegpt", "s"])[0];
    let expected = ["human", "function_call", "observation", "gpt", "human", "gpt"];
    assert_eq!(roles(row, "conversations", "from"), expected);
    let call = row["conversations"][1]["value"].as_str().expect("text");
    let (thoughts, calls) = call.split_once("</think>").expect("thoughts");
    assert_eq!(thoughts.trim(), "<think>\nTwo places.\n\nI look.");
    assert_eq!(parsed(calls.trim().as_bytes())[0][0]["name"], "tide_read");
    let row = &rows(&home, &["--as", "finetune", "s"])[0];
    let parameters = &row["tools"][0]["function"]["parameters"]["properties"];
    assert_eq!(parameters, &json!({"at": {}, "place": {}}));
    let lines = rows(&home, &["--as", "sts", "s"]);
    assert_eq!((&lines[0]["harness"], &lines[0]["id"]), (&json!("copyist"), &json!("one")));
    assert_eq!(lines[2]["message"]["toolCalls"][0]["function"]["name"], "tide_read");
}

#[test]
fn thoughts_that_are_an_answer_of_their_own_join_the_next_one() {
    let home = Dir::new();
    let lines = session("one", "When is high tide?");
    let mut thoughts = lines[2].clone();
    let blocks = thoughts["message"]["content"].as_array_mut().expect("blocks");
    blocks.truncate(1);
    blocks[0]["thinking"] = json!("First.");
    (thoughts["id"], thoughts["message"]["stopReason"]) = (json!("a0"), json!("stop"));
    let mut answer = lines[2].clone();
    answer["parentId"] = json!("a0");
    let lines = [&lines[..2], &[thoughts, answer], &lines[3..]].concat();
    write(&home, "s/one.jsonl", &lines);
    let row = &rows(&home, &["--as", "trl", "s"])[0];
    assert_eq!(row["messages"][1]["reasoning_content"], "First.\n\nTwo places.");
    assert_eq!(row["messages"][1]["content"], "I look.");
    let row = &rows(&home, &["--as", "openai", "--reasoning", "move", "s"])[0];
    let text = row["messages"][1]["content"].as_str().expect("text");
    assert_eq!(text, "<think>\nFirst.\n\nTwo places.\n</think>\n\nI look.");
}

#[test]
fn choices_change_what_rows_contain() {
    let home = one();
    let answer = |args: &[&str]| {
        rows(&home, &[&["--as", "openai", "s"], args].concat())[0]["messages"].clone()
    };
    let moved = answer(&["--reasoning", "move"]);
    assert_eq!(moved[1]["content"], "<think>\nTwo places.\n</think>\n\nI look.");
    assert_eq!(answer(&["--images", "drop"])[3]["content"], "low[image: image/png]");
    assert_eq!(answer(&["--tool-results", "4"])[2]["content"], "high\n[13 characters were cut]");
    assert_eq!(rows(&home, &["--as", "openai", "s", "--no-errors"]), Vec::<Value>::new());
    assert_eq!(rows(&home, &["--as", "openai", "s", "--min-turns", "3"]), Vec::<Value>::new());
    let turns = rows(&home, &["--as", "finetune", "--per", "turn", "s"]);
    let lengths: Vec<_> =
        turns.iter().map(|row| row["messages"].as_array().expect("a list").len()).collect();
    assert_eq!(lengths, [6, 8]);
    // The answers of earlier turns were learned from the rows of these turns.
    assert_eq!(
        (&turns[1]["messages"][1]["weight"], &turns[1]["messages"][7]["weight"]),
        (&json!(0), &Value::Null)
    );
}

#[test]
fn only_sessions_that_passed_their_checks_have_rows() {
    let home = one();
    let runs = |name: &str| testdata().join("connectonion").join(name);
    let passed = std::fs::read_to_string(runs("v2/harbour/in/harbour.yaml")).expect("a session");
    let failed = passed.replace("passed: true", "passed: false");
    assert_ne!(passed, failed);
    std::fs::write(home.path("s/passed.yaml"), &passed).expect("a file");
    std::fs::write(home.path("s/failed.yaml"), &failed).expect("a file");
    assert_eq!(rows(&home, &["--as", "openai", "s"]).len(), 3);
    let chosen = rows(&home, &["--as", "openai", "s", "--passed"]);
    let alone = rows(&home, &["--as", "openai", "s/passed.yaml"]);
    assert_eq!((chosen.len(), &chosen), (1, &alone));
}

#[test]
fn a_branch_is_a_row_and_repetitions_of_forks_are_omitted() {
    let home = one();
    let mut lines = session("two", "When is low tide?");
    let mut other = lines[7].clone();
    other["id"] = json!("b7");
    other["message"]["content"][0]["text"] = json!("Eleven.");
    lines.push(other);
    write(&home, "s/two.jsonl", &lines);
    let last = |row: &Value| row["messages"][7]["content"].as_str().map(str::to_owned);
    let branches = rows(&home, &["--as", "openai", "--per", "branch", "s/two.jsonl"]);
    let found: Vec<_> = branches.iter().filter_map(last).collect();
    assert_eq!(found, ["Eleven.", "Ten."]);
    // A fork that ends after the first answer, and a copy.
    write(&home, "s/fork.jsonl", &session("three", "When is high tide?")[..6]);
    write(&home, "s/copy.jsonl", &session("four", "When is high tide?"));
    assert_eq!(rows(&home, &["--as", "openai", "s"]).len(), 4);
    let kept = rows(&home, &["--as", "openai", "--dedup", "s"]);
    let kept: Vec<_> = kept.iter().map(|row| row["messages"][0]["content"].clone()).collect();
    assert_eq!(kept, ["When is high tide?", "When is low tide?"]);
}

/// The first question of each row in each part of a data set.
fn parts(home: &Dir, folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(home.root().join(folder)).expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some((part, _)) = name.split_once('-').filter(|_| name.ends_with(".jsonl.gz")) else {
            continue;
        };
        let mut text = Vec::new();
        GzDecoder::new(std::fs::File::open(&path).expect("a file"))
            .read_to_end(&mut text)
            .expect("gzip");
        let questions = parsed(&text).into_iter();
        let questions =
            questions.map(|row| row["messages"][0]["content"].as_str().expect("text").to_owned());
        parts.entry(part.to_owned()).or_default().extend(questions);
    }
    parts
}

#[test]
fn no_session_changes_its_part_when_others_are_added() {
    let home = Dir::new();
    let sessions = |from: usize, to: usize| {
        for number in from..to {
            let id = format!("s{number}");
            write(&home, &format!("s/{id}.jsonl"), &session(&id, &format!("Question {number}?")));
        }
    };
    let export = |folder: &str| {
        let args = [
            "--as",
            "trl",
            "--out-dir",
            folder,
            "--gzip",
            "--shard-size",
            "2000",
            "--split",
            "train=0.7,test=0.3",
            "s",
        ];
        let done = run(&home, &args);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        parts(&home, folder)
    };
    sessions(0, 40);
    let before = export("before");
    assert_eq!(before.values().map(BTreeSet::len).sum::<usize>(), 40);
    assert!(before["test"].len() > 3 && before["train"].len() > 20, "{before:?}");
    sessions(40, 60);
    let after = export("after");
    assert_eq!(after.values().map(BTreeSet::len).sum::<usize>(), 60);
    for (part, questions) in &before {
        assert!(questions.is_subset(&after[part]), "{part}");
    }
}

#[test]
fn a_data_set_has_a_card_and_is_replaced_only_by_force() {
    let home = one();
    home.write(
        "s/torn.jsonl",
        b"{\"type\":\"session\",\"version\":3,\"id\":\"t\"}\n{\"type\":\"mess",
    );
    let args = ["--as", "openai", "--out-dir", "d", "s"];
    let done = run(&home, &args);
    assert_eq!(done.status.code(), Some(3));
    let message =
        [done.stderr, done.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        message[0].contains("s/torn.jsonl:2:53: error[CY0103]: ")
            && message[1].contains("1 row of 1 session; 1 failed"),
        "{message:?}"
    );
    let card = || -> Value {
        serde_json::from_slice(&std::fs::read(home.root().join("d/card.json")).expect("a card"))
            .expect("JSON")
    };
    let made = card();
    assert_eq!((&made["rows"], &made["tokens"]), (&json!({"train": 1}), &json!(45)));
    assert_eq!(made["models"]["claude-sonnet-4-5"], json!({"sessions": 1, "rows": 1}));
    assert_eq!(made["changes"], json!({"names of tools changed": 2, "thoughts": 1}));
    assert_eq!(made["failed"][0]["path"], "s/torn.jsonl");
    let readme = String::from_utf8(std::fs::read(home.root().join("d/README.md")).expect("a page"));
    assert!(readme.expect("UTF-8").contains("path: \"train-*.jsonl\""));
    let done = run(&home, &args);
    assert_eq!(done.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&done.stderr).contains("`--force` replaces it"));
    // Files of the earlier data set do not stay beside the new ones.
    let done = run(&home, &["--as", "trl", "--out-dir", "d", "--force", "--gzip", "s/one.jsonl"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(card()["files"], json!(["train-00000.jsonl.gz"]));
    assert!(!home.root().join("d/train-00000.jsonl").exists());
    // A page of the user's own stays.
    home.write("f/README.md", b"mine");
    let done = run(&home, &["--as", "trl", "--out-dir", "f", "--force", "s/one.jsonl"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&done.stderr).contains("is of no export"));
    assert_eq!(std::fs::read(home.root().join("f/README.md")).expect("a page"), b"mine");
    // A card of another program is left.
    home.write("e/card.json", b"{\"files\":[\"a\"]}");
    assert_eq!(
        run(&home, &["--as", "trl", "--out-dir", "e", "--force", "s/one.jsonl"]).status.code(),
        Some(3)
    );
    assert_eq!(
        std::fs::read(home.root().join("e/card.json")).expect("a card"),
        b"{\"files\":[\"a\"]}"
    );
}

#[test]
fn nothing_is_replaced_where_there_is_no_row() {
    let home = one();
    home.write(
        "torn.jsonl",
        b"{\"type\":\"session\",\"version\":3,\"id\":\"t\"}\n{\"type\":\"mess",
    );
    for place in [["-o", "rows.jsonl"], ["--out-dir", "d"]] {
        assert_eq!(
            run(&home, &[&["--as", "trl", "s"], &place[..]].concat()).status.code(),
            Some(0)
        );
        let done = run(&home, &[&["--as", "trl", "--force", "torn.jsonl"], &place[..]].concat());
        assert_eq!(done.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&done.stdout).contains("nothing written"));
    }
    for name in ["rows.jsonl", "d/train-00000.jsonl"] {
        assert_eq!(
            parsed(&std::fs::read(home.root().join(name)).expect("rows")).len(),
            1,
            "{name}"
        );
    }
    assert!(home.root().join("d/card.json").exists());
}

#[test]
fn secrets_are_masked_in_rows() {
    let home = Dir::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    write(&home, "s/one.jsonl", &session("one", &format!("My token is {secret}.")));
    for style in ["openai", "finetune", "trl", "sharegpt", "anthropic", "sts"] {
        let done = run(&home, &["--as", style, "--redact", "-o", "-", "s"]);
        let text = String::from_utf8(done.stdout).expect("UTF-8");
        assert!(text.contains("My token is") && !text.contains(secret), "{style}: {text}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("masked: 1 "), "{style}");
    }
}

#[test]
fn wrong_use_is_refused() {
    let home = one();
    let message = |args: &[&str]| {
        let done = run(&home, args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(message(&["--as", "trl", "s"]).contains("`--out-dir DIR`"));
    assert!(
        message(&["--as", "trl", "-o", "-", "nothing"]).contains("nothing: no file and no session")
    );
    assert!(
        message(&["--as", "trl", "--out-dir", "d", "--split", "train", "s"]).contains("NAME=SHARE")
    );
    write(&home, "s/two.jsonl", &session("two", "When?"));
    assert!(message(&["--as", "sts", "-o", "x.jsonl", "s"]).contains("use `--out-dir DIR`"));
    assert!(!home.root().join("x.jsonl").exists());
    // Nothing is written by a dry run.
    let done = run(&home, &["--as", "trl", "--out-dir", "d", "-n", "s"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&done.stdout).contains("2 rows of 2 sessions"));
    assert!(!home.root().join("d").exists());
}

#[test]
fn no_session_is_replaced_by_rows() {
    let home = one();
    let before = std::fs::read(home.root().join("s/one.jsonl")).expect("a session");
    let done = run(&home, &["--as", "trl", "--force", "-o", "s/one.jsonl", "s"]);
    assert_eq!(done.status.code(), Some(3));
    let message = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(message.contains("s/one.jsonl is an input of this run"), "{message}");
    // The file that a data set would have, too.
    write(&home, "d/train-00000.jsonl", &session("one", "When is high tide?"));
    let done = run(&home, &["--as", "trl", "--force", "--out-dir", "d", "d"]);
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(std::fs::read(home.root().join("d/train-00000.jsonl")).expect("a session"), before);
    assert_eq!(std::fs::read(home.root().join("s/one.jsonl")).expect("a session"), before);
}

#[cfg(unix)]
#[test]
fn rows_of_private_sessions_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = one();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(home.root().join("s/one.jsonl"), private).expect("it is ours");
    assert_eq!(run(&home, &["--as", "trl", "--out-dir", "d", "s"]).status.code(), Some(0));
    assert_eq!(run(&home, &["--as", "trl", "-o", "one.jsonl", "s"]).status.code(), Some(0));
    for name in ["d/train-00000.jsonl", "d/card.json", "d/README.md", "one.jsonl"] {
        let mode = std::fs::metadata(home.root().join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_row_is_one_line_with_identifiers_that_occur_once_and_images_that_interfaces_take() {
    let home = Dir::in_memory();
    let call = |arguments: &str| json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
    let image = |media: &str| {
        let url = format!("data:{media};base64,PHN2Zy8+");
        json!({"type": "image_url", "image_url": {"url": url}})
    };
    let messages = json!([
        {"role": "user", "content": [image("image/svg+xml"), image("image/png")]},
        {"role": "assistant", "content": null, "tool_calls": [call("{\n\"a\": 1}"), call("{}")]},
        {"role": "tool", "tool_call_id": "c", "content": "one"},
        {"role": "tool", "tool_call_id": "c", "content": "two"},
        {"role": "assistant", "content": "Done."},
    ]);
    let row = json!({"messages": messages});
    home.write("pretty.json", format!("{row:#}").as_bytes());
    for style in ["anthropic", "trl", "openai"] {
        let rows = rows(&home, &["--as", style, "pretty.json"]);
        let text = rows[0].to_string();
        assert_eq!(rows.len(), 1);
        assert!(text.contains("\"c_2\""), "{text}");
        assert!(!text.contains("svg+xml;") && !text.contains("\"image/svg+xml\""), "{text}");
        assert!(text.find("one") < text.find("two"), "{text}");
    }
}
