//! Rows of conversations: each is a session, its file is never written, and what is exported comes
//! back.

use crate::common::{Dir, own, own_inputs, read};
use serde_json::Value;
use std::io::Write;

fn kites() -> Vec<u8> {
    own("chat/v1/kites")
}

/// Three rows between lines that are none, behind a byte order mark.
fn rows() -> Vec<u8> {
    let torn: &[u8] = b"{\"messages\":[{\"role\":\"user\"\n";
    [b"\xef\xbb\xbf", &kites()[..], b"\n", torn, &own("chat/v1/ferry"), b"{\"a\":1}\n", &kites()]
        .concat()
}

/// The files below a folder, without origins.
fn sessions(dir: &Dir, folder: &str) -> Vec<String> {
    let below = format!("{folder}/");
    let names = dir.names().into_iter().filter(|name| !name.ends_with(".origin"));
    names.filter_map(|name| name.strip_prefix(&below).map(str::to_owned)).collect()
}

#[test]
fn each_row_becomes_a_session_and_a_bad_one_is_named_by_its_line() {
    let dir = Dir::in_memory();
    dir.write("in/train.jsonl", &rows());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&rows()).expect("memory");
    dir.write("packed/train.jsonl.gz", &packed.finish().expect("memory"));
    for input in ["in", "in/train.jsonl", "packed"] {
        let to = format!("to-{}", input.replace('/', "-"));
        let (code, said) = dir.said(&["convert", "-t", "pi", "--out-dir", &to, input]);
        assert_eq!(code, 3, "{said}");
        let made = ["train-1.jsonl", "train-4.jsonl", "train-6.jsonl"];
        assert_eq!(sessions(&dir, &to), made, "{said}");
        for bad in ["#3:1:27: error[CY0103]", "#5:1:0: error[CY0202]"] {
            assert!(said.contains(bad), "{said}");
        }
        let back = format!("{to}-back");
        let (code, said) = dir.said(&["convert", "-t", "chat", "--out-dir", &back, &to]);
        assert_eq!(code, 0, "{said}");
        let back = |name: &str| read(&dir.path(&format!("{back}/{name}"))).trim_ascii().to_vec();
        assert_eq!(back("train-1.jsonl"), kites().trim_ascii());
        assert_eq!(back("train-4.jsonl"), own("chat/v1/ferry").trim_ascii());
    }
}

#[test]
fn values_of_a_list_are_rows_and_a_row_is_named_by_its_number() {
    let dir = Dir::in_memory();
    let (first, second) = (kites(), own("chat/v1/ferry"));
    let list = [b"[", first.trim_ascii(), b",\n ", second.trim_ascii(), b"]\n"];
    dir.write("list.json", &list.concat());
    let (code, said) = dir.said(&["convert", "-t", "codex", "--out-dir", "to", "list.json"]);
    assert_eq!((code, sessions(&dir, "to").len()), (0, 2), "{said}");
    let (code, shown) = dir.said(&["show", "--session", "2", "list.json"]);
    assert!(code == 0 && shown.contains("What is on deck?"), "{shown}");
    let (code, said) = dir.said(&["show", "--session", "3", "list.json"]);
    assert!(code == 2 && said.contains("no session 3 was found"), "{said}");
}

#[test]
fn a_file_of_rows_is_never_written() {
    let dir = Dir::in_memory();
    dir.write("train.jsonl", &rows());
    let commands: &[&[&str]] = &[
        &["repair", "--in-place", "train.jsonl"],
        &["repair", "--in-place", "--resumable", "train.jsonl"],
        &["migrate", "--in-place", "train.jsonl"],
        &["trim", "--in-place", "train.jsonl"],
        &["append", "train.jsonl", "--role", "user", "--text", "more"],
        &["convert", "--in-place", "-t", "chat", "train.jsonl"],
        &["convert", "--force", "-t", "pi", "--out-dir", ".", "train.jsonl"],
    ];
    for command in commands {
        let (_, said) = dir.said(command);
        assert_eq!(read(&dir.path("train.jsonl")), rows(), "{command:?}: {said}");
    }
}

#[test]
fn an_edited_session_is_not_put_back_into_its_row() {
    let dir = Dir::in_memory();
    dir.write("kites.jsonl", &kites());
    assert_eq!(dir.exit(&["convert", "-t", "pi", "--out-dir", "to", "kites.jsonl"]).0, 0);
    let text = String::from_utf8(read(&dir.path("to/kites.jsonl"))).expect("UTF-8");
    dir.write("to/kites.jsonl", text.replace("Fly it.", "Fly it soon.").as_bytes());
    let (code, said) = dir.said(&["convert", "-t", "chat", "-o", "row.jsonl", "to/kites.jsonl"]);
    assert!(code == 3 && said.contains("CY0212") && said.contains("edited"), "{said}");
    assert!(!dir.path("row.jsonl").exists());
}

#[test]
fn a_run_over_rows_goes_on_where_it_was() {
    let dir = Dir::in_memory();
    dir.write("train.jsonl", &rows());
    let run = ["convert", "-t", "pi", "--out-dir", "to", "train.jsonl", "--journal", "run"];
    assert_eq!(dir.exit(&run).0, 3);
    let (code, said) = dir.said(&[&run[..], &["--resume"]].concat());
    assert!(code == 3 && said.contains("3 done, 2 failed"), "{said}");
}

/// Rows of all our sessions, read and exported again in the same style, are the same rows.
#[test]
fn exported_rows_come_back() {
    let dir = Dir::in_memory();
    for (number, input) in own_inputs().iter().enumerate() {
        let name = input.file_name().expect("a name").to_string_lossy();
        dir.write(&format!("in/{number:03}/{name}"), &read(input));
    }
    for style in ["openai", "finetune", "trl", "anthropic"] {
        let [rows, again] = ["rows", "again"].map(|name| format!("{style}-{name}"));
        let (_, said) = dir.said(&["export", "--as", style, "--out-dir", &rows, "in"]);
        let file = format!("{rows}/train-00000.jsonl");
        let (code, second) = dir.said(&["export", "--as", style, "--out-dir", &again, &file]);
        assert_eq!(code, 0, "{style}: {said}{second}");
        let of = |file: &str| -> Vec<Value> {
            let text = String::from_utf8(read(&dir.path(file))).expect("UTF-8");
            text.lines().map(|line| joined(serde_json::from_str(line).expect("JSON"))).collect()
        };
        let (first, second) = (of(&file), of(&format!("{again}/train-00000.jsonl")));
        assert!(first.len() > 40, "{style}: {}", first.len());
        for (first, second) in first.iter().zip(&second) {
            assert_eq!(first, second, "{style}");
        }
        assert_eq!(first.len(), second.len(), "{style}");
    }
}

/// A row with the blocks of each message in one order, behind its words: `export` joins the texts of
/// a message, and puts thoughts first.
fn joined(mut row: Value) -> Value {
    for message in row["messages"].as_array_mut().into_iter().flatten() {
        let Some(blocks) = message["content"].as_array() else { continue };
        let (texts, mut others): (Vec<&Value>, Vec<&Value>) =
            blocks.iter().partition(|block| block["type"] == "text");
        others.sort_by_key(|block| block.to_string());
        let words = texts.iter().filter_map(|block| block["text"].as_str());
        let words: String = words.flat_map(str::split_whitespace).collect();
        message["content"] = serde_json::json!([words, others]);
    }
    row
}

#[test]
fn a_first_row_that_is_broken_is_named_and_columns_beside_a_talk_are_no_messages() {
    let dir = Dir::in_memory();
    let talk = r#"[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi."}]"#;
    let row = format!("{{\"prompt\":\"Hello\",\"messages\":{talk},\"completion\":\"Hi.\"}}\n");
    dir.write("train.jsonl", &[&b"{\"messages\":[{\"ro\n"[..], row.as_bytes(), &kites()].concat());
    let (code, said) = dir.said(&["convert", "-t", "pi", "--out-dir", "to", "train.jsonl"]);
    assert!(code == 3 && said.contains("train.jsonl#1:1:"), "{said}");
    assert_eq!(sessions(&dir, "to"), ["train-2.jsonl", "train-3.jsonl"], "{said}");
    let (_, shown) = dir.said(&["context", "--session", "2", "train.jsonl"]);
    assert_eq!(shown.matches("Hello").count(), 1, "{shown}");
}

#[test]
fn calls_without_identifiers_are_paired_with_their_results() {
    let dir = Dir::in_memory();
    let call = r#"{"type":"function","function":{"name":"f","arguments":{}}}"#;
    let row = format!(
        r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":"","tool_calls":[{call},{}]}},{{"role":"tool","name":"g","content":"two"}},{{"role":"tool","name":"f","content":"one"}},{{"role":"assistant","content":"a"}}]}}"#,
        call.replace("\"f\"", "\"g\"")
    );
    dir.write("row.jsonl", row.as_bytes());
    assert_eq!(dir.said(&["convert", "-t", "claude-code", "-o", "s.jsonl", "row.jsonl"]).0, 0);
    let (code, said) = dir.said(&["validate", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_read_twice() {
    let dir = Dir::in_memory();
    let pipe = dir.path("rows.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    let writer = std::thread::spawn(move || std::fs::write(pipe, kites()).expect("written"));
    let (code, said) = dir.said(&["convert", "-t", "pi", "-o", "s.jsonl", "rows.jsonl"]);
    assert_eq!(code, 0, "{said}");
    writer.join().expect("written");
}

#[test]
fn traces_one_behind_the_other_are_sessions_of_their_own() {
    let dir = Dir::in_memory();
    let trace = own("chat/v1/dunes");
    dir.write("traces.jsonl", &[&trace[..], &trace].concat());
    let (code, said) = dir.said(&["convert", "-t", "pi", "--out-dir", "to", "traces.jsonl"]);
    assert_eq!(
        (code, sessions(&dir, "to")),
        (0, vec!["traces-1.jsonl".into(), "traces-7.jsonl".into()]),
        "{said}"
    );
    assert!(said.contains("2 converted; 12 records"), "{said}");
}

#[test]
fn a_format_that_is_named_divides_a_file_of_any_name() {
    let dir = Dir::in_memory();
    dir.write("rows.txt", &[kites(), own("chat/v1/ferry")].concat());
    let convert = ["convert", "-t", "pi", "--out-dir", "to", "rows.txt"];
    assert_ne!(dir.exit(&convert).0, 0);
    let (code, said) = dir.said(&[&convert[..], &["-f", "chat"]].concat());
    assert_eq!((code, sessions(&dir, "to").len()), (0, 2), "{said}");
}
