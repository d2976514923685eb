//! The fast scanner accepts and rejects what serde_json does, wherever in a block a fault stands, in
//! a line alone and in one of many.

use crate::common::{corpus, files, read, session_folders};
use copyist::json::{Cursor, Tokens, Walk, What};
use copyist::members::{Scan, along_lines};
use serde::de::IgnoredAny;
use std::path::PathBuf;

/// Lines that are no JSON, and a few that look as if.
const FAULTS: [&str; 32] = [
    r#"{"a":"b"#,
    r#"{"a":"b\"#,
    r#"{"a":"b\""#,
    r#"{"a":"b\\\""#,
    r#"{"a":"b\x"}"#,
    r#"{"a":"b\u12"}"#,
    r#"{"a":"b\u12g4"}"#,
    r#"{"a":"b\u"#,
    r#"{"a":"b\U0041"}"#,
    r#"{"a":"b\'"}"#,
    "{\"a\":\"b\u{1}\"}",
    "{\"a\":\"b\t\"}",
    "{\"a\":\"b\n\"}",
    "{\"a\":\"b\u{1f}\"}",
    "{\"a\":\"b\0\"}",
    "{\"a\":\"b\\\u{1}\"}",
    r#"{"a":"b"c"}"#,
    r#"{"a":"b","c}"#,
    r#"{"a":"b" "c":1}"#,
    r#"{"a":"b",}"#,
    r#"{"a":"b"}}"#,
    r#"{"a":"b"]"#,
    r#"{"a" "b"}"#,
    r#"{"a":}"#,
    r#"{a:"b"}"#,
    r#"{"a":"b""#,
    r#"{"a":["b"}"#,
    r#"{"a":01}"#,
    r#"{"a":1.}"#,
    r#"{"a":tru}"#,
    r#"{"a":"b"}x"#,
    r#"{"a":nullx}"#,
];

fn accepts(text: &[u8]) -> Result<(), What> {
    let mut cursor = Cursor::new(text);
    cursor.skip_value().and_then(|_| cursor.end()).map_err(|fault| fault.what)
}

fn along(mut walk: impl Walk, text: &[u8]) -> Option<(bool, Scan)> {
    let mut scan = Scan::default();
    scan.along(&mut walk, text).ok().map(|object| (object, scan))
}

/// By its tokens, in whichever way they are found, a text is the same as byte by byte, alone and
/// between other lines.
fn is_the_same_by_tokens(text: &[u8]) {
    are_the_same_in_lines(&[GOOD, text, b"\n \r\n", GOOD].concat());
    let slow = along(Cursor::new(text), text);
    for tokens in Tokens::by_each_way(text) {
        let fast = along(tokens, text);
        let shown = String::from_utf8_lossy(text);
        assert_eq!(fast.is_some(), slow.is_some(), "{shown}");
        assert!(fast == slow, "{shown}: {fast:#?} {slow:#?}");
    }
}

const GOOD: &[u8] = b"{\"type\":\"message\",\"id\":\"\\\"a\"}\n";

/// What is found in lines that are walked at one go is what is found in each; damage alone stops it.
fn are_the_same_in_lines(lines: &[u8]) {
    for tokens in Tokens::by_each_way(lines) {
        are_the_same_in(lines, tokens.in_lines());
    }
}

fn are_the_same_in(lines: &[u8], tokens: Tokens<'_>) {
    let mut found = Vec::new();
    let stop = along_lines(tokens, lines, &mut found);
    let mut start = 0;
    for line in &found {
        let text = &lines[start..line.end];
        let slow = along(Cursor::new(text), text);
        let fast = Some((line.good, line.scan));
        assert!(fast == slow || text.trim_ascii().is_empty(), "{}", String::from_utf8_lossy(text));
        assert_eq!(lines.get(line.end), Some(&b'\n'));
        start = line.end + 1;
    }
    assert_eq!(stop, start);
    let good =
        |text: &[u8]| text.trim_ascii().is_empty() || along(Cursor::new(text), text).is_some();
    let all = lines.last().is_none_or(|last| *last == b'\n')
        && lines.split(|byte| *byte == b'\n').all(good);
    assert_eq!(stop == lines.len(), all, "{}", String::from_utf8_lossy(lines));
}

#[test]
fn a_fault_is_found_at_every_place_of_a_block() {
    for fault in FAULTS {
        let mut kinds = Vec::new();
        for shift in 0..70 {
            // Before it a string of every length, with and without escapes that are good.
            for fill in ["x", "\\n", "\\\\", "\\\""] {
                let before = fill.repeat(shift);
                let text = format!(r#"["{before}",{fault}]"#);
                let inside = fault.replacen('b', &format!("b{before}"), 1);
                for text in [text, inside] {
                    let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                    let found = accepts(text.as_bytes());
                    assert_eq!(found.is_ok(), expected, "{text}");
                    is_the_same_by_tokens(text.as_bytes());
                    kinds.extend(found.err());
                }
            }
        }
        assert!(!kinds.is_empty(), "{fault} is no fault");
    }
}

#[test]
fn what_is_good_is_good_at_every_place_of_a_block() {
    let good = ["plain", r#"\"\\\/\b\f\n\r\t"#, r"\u0000\ud83d\uDE00", "é\u{1f600}\u{7f}"];
    for inside in good {
        for shift in 0..70 {
            let text = format!(r#"{{"{}":"{}{inside}"}}"#, "k".repeat(shift), "\\\\".repeat(shift));
            assert_eq!(accepts(text.as_bytes()), Ok(()), "{text}");
            is_the_same_by_tokens(text.as_bytes());
        }
    }
}

#[test]
fn the_members_of_a_line_are_found_wherever_white_space_is() {
    let line = r#" { "type" : "message" , "id":"a","n":-1.5e+7 , "message" : {"content":[[],{},
        [1,{"a":[true,null]}]],"role" :"user" } ,"timestamp": "t","id" : false } "#;
    let places: Vec<_> = (0..=line.len()).filter(|at| !line.as_bytes()[*at..].is_empty()).collect();
    for at in places {
        for space in ["", " ", "\t\r\n", &" ".repeat(70)] {
            is_the_same_by_tokens([&line[..at], space, &line[at..]].concat().as_bytes());
            is_the_same_by_tokens([&line[..at], space].concat().as_bytes());
        }
    }
    for wrong in ["\\", "\"", "\\\"", "{", "}", "[", "]", ":", ",", "1", "x", "\u{1}", "\u{e9}"] {
        for at in 0..line.len() {
            is_the_same_by_tokens([&line[..at], wrong, &line[at..]].concat().as_bytes());
            is_the_same_by_tokens([&line[..at], wrong, &line[at + 1..]].concat().as_bytes());
        }
    }
}

#[test]
fn runs_of_tokens_may_end_anywhere() {
    for count in 150..300 {
        for item in ["1,", "{},", "[[]],", "{\"a\":\"b\"},", "\"\","] {
            let list = item.repeat(count);
            is_the_same_by_tokens(
                format!(r#"{{"a":[{list}0],"message":{{"role":1}}}}"#).as_bytes(),
            );
            is_the_same_by_tokens(format!(r#"{{"a":[{list}]}}"#).as_bytes());
        }
        let deep = ["[".repeat(count), "]".repeat(count)].concat();
        is_the_same_by_tokens(format!(r#"{{"a":{deep}}}"#).as_bytes());
        is_the_same_by_tokens(format!(r#"{{"a":{deep}]}}"#).as_bytes());
    }
}

#[test]
fn lines_that_real_programs_wrote_are_the_same() {
    let beside = corpus("scanner").map(|corpus| files(&corpus)).unwrap_or_default();
    let folders = session_folders();
    let all = folders.iter().flat_map(|folder| files(folder)).chain(beside);
    let lines = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    for path in all.filter(lines) {
        let bytes = read(&path);
        for line in bytes.split(|b| *b == b'\n').filter(|line| std::str::from_utf8(line).is_ok()) {
            is_the_same_by_tokens(line);
        }
        if std::str::from_utf8(&bytes).is_ok() {
            are_the_same_in_lines(&bytes);
        }
    }
}
