//! Records whose text another program changed after they were written, and trees that hide
//! something: what every command says of them.

use crate::common::{Dir, read};
use crate::judge::{Done, holds, salvaging, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::{agent_orchestrator, pi};
use serde_json::Value;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

const USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

fn said(id: &str, parent: &str, role: &str, content: &str) -> String {
    let parent = if parent.is_empty() { String::new() } else { format!(r#""parentId":{parent},"#) };
    // pi needs the usage of an answer.
    let usage = if role == "assistant" { format!(r#","usage":{USAGE}"#) } else { String::new() };
    format!(
        r#"{{"type":"message","id":"{id}",{parent}"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"{role}","content":{content}{usage}}}}}"#
    )
}

fn other(kind: &str, id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","targetId":"a","label":"l"}}"#
    )
}

fn session(lines: &[String]) -> String {
    let lines = [HEADER.to_owned()].into_iter().chain(lines.iter().cloned());
    lines.map(|line| line + "\n").collect()
}

fn mended(source: &str, wanted: &RepairOptions) -> (Vec<Value>, Done) {
    let done = holds(&pi::FORMAT, source.as_bytes(), wanted, source).expect("records");
    let out = done.out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    (out.map(|line| serde_json::from_slice(line).expect("JSON")).collect(), done)
}

#[test]
fn an_escape_that_json_does_not_know_is_a_backslash() {
    let masked = said("b", "\"a\"", "user", r#""user01\***@\u12 \n\\x \"q\"""#);
    let source =
        session(&[said("a", "null", "user", "\"a\""), masked, said("c", "\"b\"", "user", "\"c\"")]);
    let (out, done) = mended(&source, &RepairOptions::default());
    assert_eq!(out[2]["message"]["content"], "user01\\***@\\u12 \n\\x \"q\"");
    assert_eq!(out[2]["copyist"]["repaired"][0]["code"], "CY0865");
    assert_eq!(out[3]["parentId"], "b");
    assert_eq!((done.report.messages_before, done.report.messages), (1, 3));
    assert!(set_aside(&done.aside).is_empty() && done.findings.counts[&Code::EscapeRead] == 1);
    // One that is damaged besides is taken apart as any other.
    let source =
        session(&[said("a", "null", "user", "\"a\""), r#"{"type":"message","a":"\*"#.to_owned()]);
    let (out, done) = mended(&source, &RepairOptions::default());
    assert!(out.len() == 2 && done.findings.counts.contains_key(&Code::TornRecord));
}

#[test]
fn a_record_over_several_lines_is_one_again() {
    let whole = said("b", "\"a\"", "user", r#""one\n\n  two\n{\n}\n\"three\"\nfour""#);
    let spread = whole.replace("\\n", "\n");
    let (a, c) = (said("a", "null", "user", "\"a\""), said("c", "\"b\"", "user", "\"c\""));
    for text in [&spread, &spread.replace('\n', "\r\n")] {
        let source = session(&[a.clone(), text.clone(), c.clone()]);
        let (out, done) = mended(&source, &RepairOptions::default());
        let now = out[2]["message"]["content"].as_str().expect("text");
        assert_eq!(now, "one\n\n  two\n{\n}\n\"three\"\nfour");
        assert_eq!(out[2]["copyist"]["repaired"][0]["code"], "CY0866");
        assert_eq!((done.report.messages_before, done.report.messages, out.len()), (1, 3, 4));
        // As it stood, it is in the quarantine, too.
        let aside = set_aside(&done.aside);
        assert!(aside.len() == 1 && aside[0].bytes == text.trim_end().as_bytes(), "{source}");
    }
    // Also as the last record, and behind a torn one.
    let torn = whole[..whole.len() - 20].to_owned();
    for lines in [vec![a.clone(), spread.clone()], vec![a.clone(), torn.clone(), spread.clone()]] {
        let (out, done) = mended(&session(&lines), &RepairOptions::default());
        assert!(out.len() == 3 && done.findings.counts[&Code::LinesJoined] == 1, "{lines:?}");
    }
    // Never across a record.
    let begun = spread.split_inclusive('\n').next().expect("a line").trim_end().to_owned();
    let rest = spread.rsplit('\n').next().expect("a line").to_owned();
    let (out, done) = mended(&session(&[a, begun, c, rest]), &RepairOptions::default());
    assert_eq!((out.len(), done.findings.counts.contains_key(&Code::LinesJoined)), (3, false));
    assert_eq!(set_aside(&done.aside).len(), 2);
}

#[test]
fn logs_of_other_formats_are_read_the_same_way() {
    let log = [
        r#"{"type":"system","subtype":"init","session_id":"s","tools":[]}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"one"#,
        r#"two \*"}]},"session_id":"s"}"#,
        r#"{"type":"result","subtype":"success","result":"a\*","session_id":"s"}"#,
    ];
    let source = log.join("\n") + "\n";
    let done =
        holds(&agent_orchestrator::FORMAT, source.as_bytes(), &RepairOptions::default(), "log");
    let done = done.expect("records");
    assert_eq!(done.findings.counts.get(&Code::EscapeRead), Some(&1), "{:?}", done.findings.counts);
}

#[test]
fn salvage_gives_no_empty_content_for_cut_text() {
    let whole = said("b", "\"a\"", "toolResult", r#"[{"type":"text","text":"cut here"}]"#);
    let cut = whole.split("cut").next().expect("a beginning").to_owned();
    let (out, done) = mended(&session(&[said("a", "null", "user", "\"a\""), cut]), &salvaging());
    assert!(out.len() == 2 && !done.findings.counts.contains_key(&Code::Salvaged), "{out:?}");
}

/// What four commands say of a session: exit code, and whether the code and the words are there.
fn told(source: &str, code: Code, words: &str, invalid: bool) {
    let dir = Dir::new();
    dir.write("in/s.jsonl", source.as_bytes());
    for args in [
        &["inspect", "in/s.jsonl"][..],
        &["validate", "in"],
        &["context", "in/s.jsonl"],
        &["migrate", "-n", "in"],
        &["migrate", "--out-dir", "out", "in"],
    ] {
        let (exit, said) = dir.said(args);
        assert!(said.contains(code.name()) && said.contains(words), "{args:?}: {said}");
        let validates = args[0] == "validate";
        let judges = validates || args[0] == "inspect";
        assert_eq!(exit, i32::from(judges && invalid), "{args:?}: {said}");
        // What makes the verdict is no warning.
        let word = if validates && invalid { "error[" } else { "warning[" };
        assert!(said.contains(&format!("{word}{}", code.name())), "{args:?}: {said}");
    }
    assert_eq!(read(&dir.path("out/s.jsonl")), source.as_bytes());
}

#[test]
fn entries_that_the_context_does_not_reach_are_reported_everywhere() {
    let a = said("a", "null", "user", "\"a\"");
    let injected = session(&[
        a.clone(),
        said("b", "", "assistant", "[]"),
        said("c", "\"b\"", "user", "\"c\""),
    ]);
    told(&injected, Code::Unreached, "2 of 3 messages are reached", true);
    let lost = session(&[a.clone(), said("b", "\"gone\"", "user", "\"b\"")]);
    told(&lost, Code::Unreached, "1 of 2 messages are reached", true);
    told(&lost, Code::MissingParent, "is not in the file", true);
    let nameless =
        session(&[a.clone(), said("b", "\"a\"", "user", "\"b\"").replace(r#""id":"b","#, "")]);
    told(&nameless, Code::NoId, "`copyist repair` gives it one", true);
    let newer = [a, said("b", "\"a\"", "user", "\"b\""), said("c", "\"b\"", "user", "\"c\"")];
    let custom = session(&[&newer[..], &[other("custom", "d", "a")]].concat());
    told(
        &custom,
        Code::OldBranch,
        "2 are not reached; `copyist repair --relink d=c` links it",
        false,
    );
    let label = session(&[&newer[..], &[other("label", "d", "a")]].concat());
    told(&label, Code::LeafAside, "2 newer ones are not reached", true);
    let dir = Dir::new();
    dir.write("s.jsonl", custom.as_bytes());
    let (exit, said) = dir.said(&["repair", "-n", "s.jsonl"]);
    assert!(
        exit == 0 && said.contains(Code::OldBranch.name()) && said.contains("healthy"),
        "{said}"
    );
    let (exit, said) = dir.said(&["repair", "--relink", "d=c", "-o", "out.jsonl", "s.jsonl"]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = dir.said(&["validate", "out.jsonl"]);
    assert!(exit == 0 && !said.contains(Code::OldBranch.name()), "{said}");
}

#[test]
fn a_lost_header_gets_the_identifier_of_the_files_name() {
    let id = "11111111-2222-4333-8444-555555555555";
    let late = said("b", "\"a\"", "assistant", "[]") + "\n";
    for behind in [".jsonl", ".jsonl.reset.2026-01-01T00-00-00.000Z", "-topic-7.jsonl"] {
        let dir = Dir::new();
        let name = format!("{id}{behind}");
        dir.write(&format!("in/{name}"), late.as_bytes());
        let (exit, said) = dir.said(&["repair", "--in-place", "--no-backup", "in"]);
        assert_eq!(exit, 0, "{said}");
        let text = String::from_utf8(read(&dir.path(&format!("in/{name}")))).expect("UTF-8");
        assert!(text.contains(&format!(r#""id":"{id}""#)), "{name}: {text}");
    }
}

/// A title slot of oh-my-pi, 256 bytes with its line ending.
fn slot() -> String {
    let slot = |pad: &str| {
        format!(
            r#"{{"type":"title","v":1,"title":"Beans","source":"auto","updatedAt":"2026-07-03T10:00:00.000Z","pad":"{pad}"}}"#
        )
    };
    slot(&" ".repeat(255 - slot("").len()))
}

#[test]
fn a_title_slot_stays_the_first_line() {
    let lines = [said("a", "null", "user", "\"a\""), said("b", "\"a\"", "user", "\"b\"")];
    let whole = slot() + "\n" + &session(&lines);
    let dir = Dir::new();
    dir.write("in/s.jsonl", whole.as_bytes());
    let run = |args: &[&str], words: &str| {
        let (exit, said) = dir.said(args);
        assert!(exit == 0 && said.contains(words), "{args:?}: {exit} {said}");
    };
    run(&["detect", "in"], "pi@3 (certain)");
    run(&["validate", "in"], "valid pi@3, 3 records");
    run(&["inspect", "in/s.jsonl"], "Beans");
    run(&["context", "in/s.jsonl"], "");
    run(&["repair", "-n", "in"], "healthy");
    run(&["migrate", "--out-dir", "out", "in"], "");
    assert_eq!(read(&dir.path("out/s.jsonl")), whole.as_bytes());
    // Behind it a torn tail, a lost header, and an older version.
    let torn = whole.clone() + &lines[1][..40];
    let headless = slot() + "\n" + &lines.join("\n") + "\n";
    for (source, records) in [(&torn, 3), (&headless, 3)] {
        let (out, done) = mended(source, &RepairOptions::default());
        assert!(done.out.starts_with((slot() + "\n").as_bytes()), "{source}");
        assert_eq!((out.len(), &out[1]["type"]), (1 + records, &Value::from("session")));
    }
    let list = slot()
        + "\n"
        + &session(&lines)
            .replace(r#""version":3,"#, "")
            .replace(r#""id":"a","parentId":null,"#, "")
            .replace(r#""id":"b","parentId":"a","#, "");
    dir.write("old/s.jsonl", list.as_bytes());
    run(&["migrate", "--out-dir", "new", "old"], "");
    let new = String::from_utf8(read(&dir.path("new/s.jsonl"))).expect("UTF-8");
    assert!(new.starts_with(&(slot() + "\n")) && new.lines().count() == 4, "{new}");
    run(&["validate", "new"], "valid pi@3, 3 records");
}

#[test]
fn unusual_sessions_come_back_from_every_format() {
    let lines = [said("a", "null", "user", "\"a\""), said("b", "\"a\"", "assistant", "[]")];
    let result = said("c", "\"a\"", "toolResult", r#"[{"type":"text","text":"c"}]"#);
    let sources = [
        slot() + "\n" + &session(&lines),
        slot() + "\n" + &session(&[]),
        session(&[]),
        HEADER.to_owned(),
        // Results without the identifier of their call.
        session(&[lines[0].clone(), result.clone()]),
        session(&[result.replace("\"parentId\":\"a\"", "\"parentId\":null")]),
    ];
    for target in copyist::formats::written().filter(|format| format.name != "pi") {
        for whole in &sources {
            let what = format!("{}: {whole}", target.name);
            let dir = Dir::new();
            dir.write("in/s.jsonl", whole.as_bytes());
            let (exit, said) =
                dir.said(&["convert", "-t", target.name, "--out-dir", "there", "in"]);
            assert_eq!(exit, 0, "{what}: {said}");
            let (exit, said) = dir.said(&["convert", "-t", "pi@3", "--out-dir", "back", "there"]);
            assert_eq!(exit, 0, "{what}: {said}");
            let mut back = dir.names().into_iter().filter(|name| name.starts_with("back/"));
            let main = back.find(|name| name.ends_with(".jsonl")).expect("a session");
            assert_eq!(String::from_utf8_lossy(&read(&dir.path(&main))), *whole, "{what}: {said}");
        }
    }
}

#[test]
fn for_pi_itself_the_header_goes_first_and_the_title_becomes_an_entry() {
    let lines = [said("a", "null", "user", "\"a\""), said("b", "\"a\"", "user", "\"b\"")];
    let dir = Dir::new();
    dir.write("s.jsonl", (slot() + "\n" + &session(&lines)).as_bytes());
    let (exit, said) =
        dir.said(&["convert", "-t", "pi", "--dialect", "pi", "-o", "o.jsonl", "s.jsonl"]);
    assert_eq!(exit, 0, "{said}");
    let text = String::from_utf8(read(&dir.path("o.jsonl"))).expect("UTF-8");
    let (before, named) = text.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(before, session(&lines).trim_end());
    let named: Value = serde_json::from_str(named).expect("JSON");
    assert_eq!(
        (&named["type"], &named["name"], &named["parentId"]),
        (&Value::from("session_info"), &Value::from("Beans"), &Value::from("b"))
    );
    let (exit, said) =
        dir.said(&["convert", "-t", "canonical", "--dialect", "pi", "-o", "o", "s.jsonl"]);
    assert!(exit == 2 && said.contains("`--to pi`"), "{said}");
}

#[test]
fn an_image_that_is_not_in_the_file_is_reported_wherever_it_is_shown() {
    let image = format!(
        r#"[{{"type":"image","data":"blob:sha256:{}","mimeType":"image/png"}}]"#,
        "ab".repeat(32)
    );
    let result =
        said("c", "\"b\"", "toolResult", &image).replace(r#""role""#, r#""toolCallId":"x","role""#);
    let source = session(&[
        said("a", "null", "user", &image),
        said(
            "b",
            "\"a\"",
            "assistant",
            r#"[{"type":"toolCall","id":"x","name":"n","arguments":{}}]"#,
        ),
        result,
    ]);
    let dir = Dir::new();
    dir.write("s.jsonl", source.as_bytes());
    for args in [
        &["context", "s.jsonl"][..],
        &["context", "--as", "anthropic", "s.jsonl"],
        &["convert", "-t", "connectonion", "--out-dir", "out", "s.jsonl"],
    ] {
        let (_, said) = dir.said(args);
        assert_eq!(said.matches(Code::OutsideImage.name()).count(), 2, "{args:?}: {said}");
    }
    for args in
        [&["validate", "s.jsonl"][..], &["convert", "-t", "canonical", "-o", "c", "s.jsonl"]]
    {
        let (exit, said) = dir.said(args);
        assert!(exit <= 1 && !said.contains(Code::OutsideImage.name()), "{args:?}: {said}");
    }
}
