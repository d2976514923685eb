//! Against files that the real pi wrote, and what the real pi made of them.

use crate::common::{
    self, as_javascript, assert_same, corpus, files, from_canonical, migrated, name, options, read,
    recognise, returned, to_canonical,
};
use copyist::diagnostic::Code;
use copyist::format::OnError;
use copyist::ids::Choice;
use std::path::{Path, PathBuf};

/// Files of the real sets that ours does not migrate to pi's bytes, and why.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "compact-705ba5d4.glued-tail.v1.jsonl",
        "two records on the last line; pi drops both, ours stops",
    ),
    ("agentsview-pi.jsonl", "a line that is no JSON; pi skips it, ours stops"),
];

/// Probes that end otherwise than in pi, each with the code that ours ends with.
const STOPPED: &[(&str, Code, &str)] = &[
    ("array_line", Code::NotObject, "a line that is no object"),
    ("cr_inside_line", Code::Syntax, "a raw control character, pi drops the line"),
    ("empty_file", Code::Empty, "pi writes a new header"),
    ("garbage", Code::Syntax, "pi writes a new header over it"),
    ("glued", Code::Glued, "pi drops both records"),
    ("header_id_missing", Code::NoHeader, "pi writes a new header over the file"),
    ("header_id_num", Code::NoHeader, "pi writes a new header over the file"),
    ("header_second", Code::NoHeader, "pi writes a new header over the file"),
    ("invalid_utf8_v1", Code::NotUtf8, "pi puts U+FFFD in its place for good"),
    ("leading_garbage_line", Code::Syntax, "pi drops the line"),
    ("malformed_mid", Code::CutShort, "pi drops the line"),
    ("missing_header", Code::NoHeader, "pi writes a new header over the file"),
    ("nul_line", Code::NulRun, "pi drops the line"),
    ("null_line", Code::NotObject, "pi dies of it"),
    ("number_line", Code::NotObject, "a line that is no object"),
    ("only_newlines", Code::Empty, "pi writes a new header"),
    ("string_line", Code::NotObject, "a line that is no object"),
    ("torn_last", Code::CutShort, "pi drops the line"),
    ("v1_array_line", Code::NotObject, "pi drops the line"),
    ("v1_comp_idx_shifted_by_bad_line", Code::Syntax, "pi drops a line, and the index is wrong"),
    ("v1_null_line", Code::NotObject, "pi dies of it"),
    ("v1_number_line", Code::NotObject, "pi dies of it"),
    ("version_99", Code::VersionRefused, "pi opens it without a warning"),
    ("zero_line", Code::NotObject, "pi drops the line"),
];

/// Probes whose compaction ours keeps more of, with the member that ours adds.
const KEPT_MORE: &[&str] = &[
    "v1_comp_idx0_header",
    "v1_comp_idx_forward",
    "v1_comp_idx_frac",
    "v1_comp_idx_neg",
    "v1_comp_idx_oob",
    "v1_comp_idx_self",
];

fn real_files(pi: &Path) -> Vec<PathBuf> {
    ["real", "generated", "public"].iter().flat_map(|set| files(&pi.join(set))).collect()
}

fn expected(pi: &Path, file: &Path) -> Vec<u8> {
    let set = file.parent().and_then(Path::file_name).expect("a set").to_string_lossy();
    let set = if set == "real" { "repo" } else { &set };
    let stem = name(file).replace(".jsonl", "");
    read(&pi.join("expected").join(format!("{set}__{stem}.migrated.jsonl")))
}

#[test]
fn migration_gives_the_bytes_of_the_real_pi() {
    let Some(corpus) = corpus("migration_gives_the_bytes_of_the_real_pi") else {
        return;
    };
    let pi = corpus.join("pi");
    let (mut same, mut named) = (0, 0);
    for file in real_files(&pi) {
        let options = options(OnError::Stop, Choice::Sequential);
        let (done, _) = migrated(&read(&file), "pi@3", &options);
        if DIFFERENT.iter().any(|(other, _)| *other == name(&file)) {
            let error = done.expect_err(&format!("{} is damaged", file.display()));
            assert!(error.position().is_some(), "{} without a position", file.display());
            named += 1;
            continue;
        }
        let ours = done.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_same(&ours, &expected(&pi, &file), &file.display().to_string());
        same += 1;
    }
    assert_eq!((same, named), (30, DIFFERENT.len()), "files of the corpus");
}

#[test]
fn probes_end_as_in_the_real_pi_or_with_a_named_reason() {
    let Some(corpus) = corpus("probes_end_as_in_the_real_pi") else {
        return;
    };
    let pi = corpus.join("pi");
    for file in files(&pi.join("probes")) {
        let stem = name(&file).replace(".jsonl", "");
        let options = options(OnError::Stop, Choice::Sequential);
        let (done, found) = migrated(&read(&file), "pi@3", &options);
        if let Some((_, code, why)) = STOPPED.iter().find(|(probe, ..)| *probe == stem) {
            let error = done.expect_err(&format!("{stem}: {why}"));
            assert_eq!(error.code(), *code, "{stem}: {why}");
            continue;
        }
        let ours = done.unwrap_or_else(|error| panic!("{stem}: {error}"));
        let mut ours = values(&ours);
        let mut theirs = values(&expected(&pi, &file));
        if KEPT_MORE.contains(&stem.as_str()) {
            let note = ours.iter_mut().chain(&mut theirs).filter_map(|line| line.as_object_mut());
            for line in note {
                if let Some(note) = line.remove("copyist") {
                    assert!(
                        note["migrated"].get("firstKeptEntryIndex").is_some(),
                        "{stem}: {note}"
                    );
                }
                line.remove("firstKeptEntryId");
            }
            assert!(!found.counts.is_empty(), "{stem} says nothing");
        }
        assert_eq!(ours, theirs, "{stem}");
    }
}

/// The lines' values; a byte order mark and blank lines left out.
fn values(text: &[u8]) -> Vec<serde_json::Value> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let lines = text.split(|b| *b == b'\n');
    let blank = |line: &&[u8]| String::from_utf8_lossy(line).trim().is_empty();
    lines.filter(|line| !blank(line)).map(as_javascript).collect()
}

#[test]
fn a_compaction_that_kept_everything_still_does() {
    let Some(corpus) = corpus("a_compaction_that_kept_everything_still_does") else {
        return;
    };
    let kept = |probe: &str| {
        let file = corpus.join(format!("pi/probes/{probe}.jsonl"));
        let options = options(OnError::Stop, Choice::Sequential);
        let (done, found) = migrated(&read(&file), "pi@3", &options);
        let lines = values(&done.expect("a whole file"));
        let compaction = lines.into_iter().find(|line| line["type"] == "compaction");
        let compaction = compaction.expect("a compaction");
        let codes: Vec<_> = found.counts.keys().copied().collect();
        (compaction.get("firstKeptEntryId").cloned(), compaction["id"].clone(), codes)
    };
    assert_eq!(kept("v1_comp_idx0_header").0, Some("00000001".into()));
    assert_eq!(kept("v1_comp_idx0_header").2, [Code::KeptFromHeader]);
    let (first, own, codes) = kept("v1_comp_idx_self");
    assert_eq!((first, codes), (Some(own), vec![Code::KeptSelf]));
    for probe in ["forward", "frac", "neg", "oob"] {
        let (first, _, codes) = kept(&format!("v1_comp_idx_{probe}"));
        assert_eq!((first, codes), (None, vec![Code::KeptNowhere]), "{probe}");
    }
    assert_eq!(kept("v1_comp_idx_str").2, [Code::KeptNoNumber]);
}

#[test]
fn the_canonical_stream_brings_back_every_byte() {
    let Some(corpus) = corpus("the_canonical_stream_brings_back_every_byte") else {
        return;
    };
    let options = options(OnError::Keep, Choice::Derived);
    for set in ["real", "generated", "public", "probes"] {
        let mut records = 0;
        for file in files(&corpus.join("pi").join(set)) {
            let source = read(&file);
            let Some((format, version)) = recognise(&source) else {
                continue;
            };
            let (done, _) = common::converted(&source, format, version, "canonical", &options);
            // Without a header there is no session to convert; ours says so.
            let Ok(stream) = done else { continue };
            assert_same(&returned(&source, &options), &source, &file.display().to_string());
            records += stream.split(|b| *b == b'\n').filter(|line| !line.is_empty()).count();
            // What pi itself wrote needs no origin.
            if matches!(set, "real" | "generated") {
                let back = from_canonical(&stream, &format.at(version), &options);
                assert_same(&back, &source, &file.display().to_string());
                let share = stream.len() as f64 / source.len() as f64;
                assert!(share <= 1.3, "{}: {share} times the source", file.display());
            }
        }
        println!("{set}: {records} records");
    }
}

#[test]
fn an_edit_in_the_stream_changes_that_and_nothing_else() {
    let Some(corpus) = corpus("an_edit_in_the_stream") else {
        return;
    };
    let options = options(OnError::Keep, Choice::Derived);
    for file in ["real", "generated"].iter().flat_map(|set| files(&corpus.join("pi").join(set))) {
        let source = read(&file);
        let (format, version) = recognise(&source).expect("a pi file");
        let stream = String::from_utf8(to_canonical(&source, &options)).expect("UTF-8");
        let text = String::from_utf8(source).expect("UTF-8");
        // The same member of the same line, by its name there and here.
        let edits = [
            ("\"text\":\"", "\"text\":\""),
            ("\"arguments\":{", "\"arguments\":{"),
            ("\"message_time\":", ",\"timestamp\":1"),
            ("\"stop_reason\":\"", "\"stopReason\":\""),
            ("\"thinking\":\"", "\"thinking\":\""),
            ("\"first_kept\":\"", "\"firstKeptEntryId\":\""),
        ];
        for (canonical, wire) in edits {
            let lines: Vec<_> = stream.lines().collect();
            let with: Vec<_> = (0..lines.len()).filter(|n| lines[*n].contains(canonical)).collect();
            for &n in with.iter().step_by(with.len() / 3 + 1) {
                let Some(old) = text.lines().nth(n).filter(|line| line.contains(wire)) else {
                    continue;
                };
                let (changed, expected) = edited(lines[n], old, canonical, wire);
                let edited = stream.replacen(lines[n], &changed, 1);
                let back = from_canonical(edited.as_bytes(), &format.at(version), &options);
                let expected = text.replacen(old, &expected, 1);
                assert_same(&back, expected.as_bytes(), &format!("{}:{n}", file.display()));
            }
        }
    }
}

/// The record and the source's line with the first such member changed in both.
fn edited(record: &str, line: &str, canonical: &str, wire: &str) -> (String, String) {
    let insert = |text: &str, at: &str, last: bool| {
        let found = if last { text.rfind(at) } else { text.find(at) };
        let end = found.expect("the member") + at.len();
        let new = match at.chars().last() {
            Some('{') => "\"edited\":true,",
            Some('"') => "EDITED ",
            _ => "7",
        };
        let at_end = text[end..].starts_with('}') && new.ends_with(',');
        let new = if at_end { "\"edited\":true" } else { new };
        format!("{}{new}{}", &text[..end], &text[end..])
    };
    // A message's time stands behind its content, whose text may hold the same characters; and
    // the first digit is the same in both.
    let time = canonical == "\"message_time\":";
    let record = if time {
        let at = format!("{canonical}1");
        insert(record, &at, true)
    } else {
        insert(record, canonical, false)
    };
    (record, insert(line, wire, time))
}
