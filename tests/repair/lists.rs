//! pi's first version, whose compactions count the records that were ever written.

use crate::judge::{Done, holds, salvaging};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::pi;
use serde_json::Value;

const HEADER: &str = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/w"}"#;

/// A header, six messages and a compaction behind them that keeps from a number on.
fn list(kept: u32) -> Vec<String> {
    let said = |n: u32| {
        format!(
            r#"{{"type":"message","timestamp":"2025-01-01T00:00:0{n}.000Z","message":{{"role":"user","content":"{n}"}}}}"#
        )
    };
    let compaction = format!(
        r#"{{"type":"compaction","timestamp":"2025-01-01T00:00:07.000Z","summary":"S","firstKeptEntryIndex":{kept},"tokensBefore":1}}"#
    );
    let lines = [HEADER.to_owned()].into_iter().chain((1..=6).map(said));
    lines.chain([compaction, said(8)]).collect()
}

fn text(lines: &[String]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// What the first record is that the compaction of a repaired list keeps: what the message says.
fn kept(source: &[u8]) -> (String, Done) {
    let what = source.escape_ascii().to_string();
    let done = holds(&pi::FORMAT, source, &RepairOptions::default(), &what).expect("records");
    let out = done.out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let out: Vec<Value> = out.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    let compaction = out.iter().find(|entry| entry["type"] == "compaction").expect("one");
    let index = compaction["firstKeptEntryIndex"].as_u64().expect("a number") as usize;
    let first = &out[index];
    (first["message"]["content"].as_str().unwrap_or("itself").to_owned(), done)
}

fn told(done: &Done) -> Vec<(Code, &str)> {
    let found = done.findings.diagnostics.iter();
    let index = found.filter(|found| matches!(found.code, Code::IndexShifted | Code::TargetItself));
    index.map(|found| (found.code, found.message.as_str())).collect()
}

#[test]
fn a_header_that_is_rebuilt_in_its_place_shifts_no_index() {
    let lines = list(4);
    let heads = [&HEADER[..HEADER.len() - 1], &HEADER[..30], "{\"ty", &HEADER[9..], "[", ""];
    for head in heads {
        let source = text(&[&[head.to_owned()], &lines[1..]].concat());
        let (first, done) = kept(&source);
        assert_eq!((first.as_str(), told(&done)), ("4", vec![]), "{head}");
    }
    // A torn header that the same file's first entry stands behind, on its line.
    let source = [&HEADER.as_bytes()[..40], &text(&lines[1..])].concat();
    assert_eq!(kept(&source).0, "4");
    // What is left of an entry is no header.
    let source = text(&[&[lines[1][..60].to_owned()], &lines[2..]].concat());
    let (first, done) = kept(&source);
    assert_eq!((first.as_str(), told(&done).len()), ("4", 1));
}

#[test]
fn a_record_that_lost_either_half_was_counted() {
    for half in [&list(4)[2][..70], &list(4)[2][30..], "{\"content\":\"2\"}}", "9}"] {
        let mut lines = list(4);
        half.clone_into(&mut lines[2]);
        let (first, done) = kept(&text(&lines));
        let index =
            (Code::IndexShifted, "compaction index corrected: firstKeptEntryIndex 4 is now 3");
        assert_eq!((first.as_str(), told(&done)), ("4", vec![index]), "{half}");
    }
    // Both halves of one, on two lines, or with a record of another program between them.
    for between in ["\n".to_owned(), format!("{}\n", list(4)[3])] {
        let mut lines = list(4);
        let (head, tail) = (&lines[2][..70], &lines[2][80..]);
        let broken = format!("{head}{between}{tail}");
        let gone = if between.len() > 1 { 2..4 } else { 2..3 };
        lines.splice(gone, [broken]);
        let (first, done) = kept(&text(&lines));
        assert_eq!((first.as_str(), told(&done).len()), ("4", 1), "{between:?}");
    }
    // The first half is an entry if it was asked for.
    let mut lines = list(4);
    lines.splice(2..3, [lines[2][..95].to_owned(), lines[2][95..].to_owned()]);
    let done = holds(&pi::FORMAT, &text(&lines), &salvaging(), "salvaged").expect("records");
    assert!(done.findings.counts.contains_key(&Code::Salvaged), "{:?}", done.findings.counts);
    assert!(told(&done).is_empty(), "{:?}", told(&done));
    // Words of another program were not.
    for words in ["killed", "done }", "\"", "npm warn {a}"] {
        let mut lines = list(4);
        lines.insert(3, words.to_owned());
        let (first, done) = kept(&text(&lines));
        assert_eq!((first.as_str(), told(&done)), ("4", vec![]), "{words}");
    }
}

#[test]
fn an_index_behind_nul_bytes_is_known_as_far_as_it_can_be() {
    let nuls = |lines: std::ops::Range<usize>, kept: u32| {
        let mut all = list(kept);
        let length = all[lines.clone()].iter().map(|line| line.len() + 1).sum::<usize>() - 1;
        all.splice(lines, ["\0".repeat(length)]);
        text(&all)
    };
    // What is kept stands before them, or is what they took the place of.
    for kept_from in [2, 3] {
        let (first, done) = kept(&nuls(3..5, kept_from));
        assert_eq!((first, told(&done)), (if kept_from == 2 { "2" } else { "5" }.into(), vec![]));
    }
    // They were one record, or more: what is kept begins at the entry that is named at the latest.
    let (first, done) = kept(&nuls(3..4, 5));
    let word = "compaction index corrected: firstKeptEntryIndex 5 is now 4, or less: how many records were lost with NUL bytes is not known";
    assert_eq!((first.as_str(), told(&done)), ("5", vec![(Code::IndexShifted, word)]));
    let (first, done) = kept(&nuls(0..2, 3));
    let word = "compaction index corrected: firstKeptEntryIndex 3 is now 3, or less: how many records were lost with NUL bytes is not known";
    assert_eq!((first.as_str(), told(&done)), ("4", vec![(Code::IndexShifted, word)]));
    // No entry before the compaction can be it.
    for kept_from in [4, 6] {
        let (first, done) = kept(&nuls(0..4, kept_from));
        let word = format!("missing target replaced: firstKeptEntryIndex {kept_from} is now 4");
        assert_eq!(
            (first.as_str(), told(&done)),
            ("itself", vec![(Code::TargetItself, word.as_str())])
        );
    }
    // A header behind them is the first record.
    let source = [b"\0\0\0\n".as_slice(), &text(&list(4))].concat();
    let (first, done) = kept(&source);
    assert_eq!((first.as_str(), told(&done)), ("4", vec![]));
}
