//! Long transcripts of Claude Code, cut and damaged anywhere: no whole line is lost.

use crate::common::{Dir, own, read, recognise};
use crate::damage::{Random, damage};
use crate::judge::{repaired, salvaging, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::Spec;
use std::collections::HashSet;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifier of a line, or the line itself, which repair does not change if it has none.
fn name(line: &[u8]) -> &[u8] {
    let begin = b"\"uuid\":\"";
    let place = memchr::memmem::rfind(line, begin).map(|at| at + begin.len());
    place.and_then(|at| line.get(at..at + 36)).unwrap_or(line)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

/// Cuts or damages a transcript by a seed, repairs it, and counts the whole lines that are lost.
fn lost(source: &[u8], whole: &HashSet<&[u8]>, seed: u64) -> u64 {
    let mut random = Random(seed * 7919 + 35);
    let mut text = source.to_vec();
    let mut what = format!("seed {seed}");
    if seed.is_multiple_of(4) {
        text.truncate(random.below(source.len()));
        what += ", cut";
    } else {
        for _ in 0..=random.below(4) {
            what = format!("{what}, {}", damage(&mut text, &mut random));
        }
    }
    let format = Spec::parse("claude-code").expect("a format").format;
    let done = repaired(format, &text, &RepairOptions::default()).expect("records");
    let aside: Vec<u8> = set_aside(&done.aside)
        .into_iter()
        .flat_map(|aside| [aside.bytes, vec![b'\n']].concat())
        .collect();
    let there: HashSet<&[u8]> = lines(&done.out).chain(lines(&aside)).map(name).collect();
    let lost = lines(&text).filter(|line| whole.contains(line) && !there.contains(name(line)));
    let lost = lost.count() as u64;
    assert_eq!(lost, 0, "{what}");
    lost
}

#[test]
#[ignore = "takes minutes; needs python3"]
fn no_whole_line_of_a_long_transcript_is_lost() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
    };
    let (count, size) = (number("COPYIST_SEEDS", 1000), number("COPYIST_MEGABYTES", 10));
    let dir = Dir::new();
    let generator = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gen_claude_code.py");
    let (all, records) = (AtomicU64::new(0), AtomicU64::new(0));
    for file in 1..=3u64 {
        let path = dir.path(&format!("{file}.jsonl"));
        let made = Command::new("python3")
            .arg(generator)
            .arg(&path)
            .args([size.to_string(), file.to_string()])
            .status();
        assert!(made.expect("python3 runs").success());
        let source = read(&path);
        let whole: HashSet<&[u8]> = lines(&source).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (source, whole, all, records) = (&source, &whole, &all, &records);
                scope.spawn(move || {
                    for seed in (0..count).filter(|seed| seed % 3 == file - 1) {
                        if seed / 3 % threads == thread {
                            all.fetch_add(lost(source, whole, seed), Ordering::Relaxed);
                            records.fetch_add(whole.len() as u64, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
    }
    println!(
        "{count} damages of three transcripts of {size} MB, {} lines in all: {} whole lines lost",
        records.into_inner(),
        all.into_inner()
    );
}

/// Half of a character, which no model takes, is left without `--resumable`.
#[test]
fn a_text_that_no_model_takes_is_replaced_where_it_is_to_go_on() {
    let whole = String::from_utf8(own("claude-code/v2/subagents")).expect("UTF-8");
    let source =
        whole.replacen(r#""type":"text","text":""#, r#""type":"text","text":"a\ud83db"#, 1);
    assert_ne!(source, whole);
    let dir = Dir::new();
    dir.write("s.jsonl", source.as_bytes());
    let (code, said) = dir.exit(&["validate", "s.jsonl"]);
    assert!(code == 1 && said.contains("half of a surrogate pair"), "{code}: {said}");
    let (code, said) = dir.exit(&["repair", "-o", "same.jsonl", "s.jsonl"]);
    assert!(code == 1 && read(&dir.path("same.jsonl")) == source.as_bytes(), "{code}: {said}");
    let (code, said) = dir.exit(&["repair", "--resumable", "-o", "new.jsonl", "s.jsonl"]);
    assert!(code == 0 && said.contains("CY0834"), "{code}: {said}");
    let new = String::from_utf8(read(&dir.path("new.jsonl"))).expect("UTF-8");
    assert!(new.contains(r"a\ufffdb") && new.contains(r#""halves":["d83d"]"#), "{new}");
    assert_eq!(dir.exit(&["validate", "new.jsonl"]).0, 0);
}

/// A line that was put together again has a time and the identifier of its answer, as all lines of
/// the version.
#[test]
fn salvage_keeps_the_version() {
    let mut salvaged = 0;
    for case in ["compacted", "parallel", "whole-answers"] {
        let source = own(&format!("claude-code/v2/{case}"));
        let mut start = 0;
        for line in source.split_inclusive(|b| *b == b'\n') {
            let (before, end) = (&source[..start], start + line.len());
            let dated = memchr::memmem::find(before, b"\"message\":").is_some();
            for cut in (start..end).step_by(40).filter(|_| dated) {
                let (format, version) = recognise(&source[..cut]).expect("a transcript");
                let done = repaired(format, &source[..cut], &salvaging()).expect("records");
                let now = recognise(&done.out).expect("a transcript").1;
                assert_eq!(now, version, "{case}, cut at {cut}");
                salvaged += u64::from(done.findings.counts.contains_key(&Code::Salvaged));
            }
            start = end;
        }
    }
    assert!(salvaged > 20, "{salvaged}");
}
