//! Promises of repair, on files of every format that are cut at every byte and damaged in all known
//! ways: every complete record is recovered, none is invented without a mark, bytes that are removed
//! are in the quarantine, and a second repair changes nothing.

mod agreement;
mod bad_input;
mod bad_pairs;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod drawn;
mod frames;
mod homes;
mod judge;
mod lists;
mod masked;
mod pairs;
mod pi;
mod program;
mod pyyaml;
mod rollouts;
mod runs;
mod spaces;
mod talks;
mod transcripts;
mod turn_files;
mod yaml;

use common::{
    corpus, cuts, files, files_of, inputs_below, recognise, session, several, testdata,
    written_inputs,
};
use copyist::diagnostic::Code;
use copyist::format::{Format, RepairOptions};
use copyist::repair::Twice;
use damage::{Random, damage};
use judge::{holds, invalid, repaired, resumable, salvaging};
use std::path::PathBuf;

/// The sessions of our own, with their formats; damaged ones, too. `COPYIST_ONLY` names a part of
/// the paths of those that are wanted.
fn inputs() -> Vec<(PathBuf, &'static Format, Vec<u8>)> {
    let all = written_inputs().into_iter().chain(inputs_below(&testdata().join("damaged")));
    let input = |path: PathBuf| {
        let source = session(&path);
        let named = copyist::formats::FORMATS
            .iter()
            .find(|format| path.components().any(|piece| piece.as_os_str() == format.name));
        Some((path, *named?, source))
    };
    let only = std::env::var("COPYIST_ONLY").unwrap_or_default();
    all.filter(|path| path.to_string_lossy().contains(&only)).filter_map(input).collect()
}

/// The places at which a session is cut, and what is left of it: every byte of a session with at
/// most four times as many as `places`, else as many places as that.
fn some_cuts(source: &[u8], places: usize) -> Vec<(usize, Vec<u8>)> {
    if source.len() <= 4 * places {
        return cuts(source).collect();
    }
    let mut random = Random(source.len() as u64);
    let parts = files_of(source);
    let cut = |_| {
        let mut torn = parts.clone();
        let part = random.below(torn.len());
        let place = random.below(torn[part].1.len());
        torn[part].1.truncate(place);
        (place, several(torn))
    };
    (0..places).map(cut).collect()
}

#[test]
fn a_file_cut_at_any_byte_gives_back_all_that_is_whole() {
    cut_all(150);
}

#[test]
#[ignore = "a minute: every byte"]
fn files_cut_in_full() {
    cut_all(2000);
}

/// Repairs every file, cut at [some places](some_cuts).
fn cut_all(places: usize) {
    for (path, format, source) in inputs() {
        for (n, (end, torn)) in some_cuts(&source, places).into_iter().enumerate() {
            let what = format!("{} cut at {end}", path.display());
            let done = holds(format, &torn, &RepairOptions::default(), &what);
            if n % 16 == 0 {
                holds(format, &torn, &resumable(), &what);
                holds(format, &torn, &salvaging(), &what);
            }
            if let Some(done) = done.filter(|_| n % 64 == 0) {
                let mut wrong =
                    recognise(&done.out).map(|_| invalid(&done.out)).unwrap_or_default();
                // The description of a message that is cut inside gets no members that it lacks.
                let is_export = format.name == "opencode";
                wrong.retain(|code| !(is_export && *code == Code::Schema));
                assert!(wrong.is_empty(), "{what}: {wrong:?}");
            }
        }
    }
}

#[test]
fn any_damage_leaves_all_that_is_whole() {
    damage_all(12);
}

#[test]
#[ignore = "a minute: 40 damages of each file, or as many as COPYIST_SEEDS"]
fn files_damaged_in_full() {
    let seeds = std::env::var("COPYIST_SEEDS").ok().and_then(|n| n.parse().ok());
    damage_all(seeds.unwrap_or(40));
}

/// Damages every file in so many ways, and repairs it.
fn damage_all(seeds: u64) {
    for (path, format, source) in inputs() {
        for seed in 0..seeds {
            let mut random = Random(seed * 7919 + source.len() as u64);
            let mut parts = files_of(&source);
            let mut what = format!("{} seed {seed}", path.display());
            for _ in 0..=random.below(4) {
                let place = random.below(parts.len());
                what = format!("{what}, {}", damage(&mut parts[place].1, &mut random));
            }
            let damaged = several(parts);
            for wanted in [RepairOptions::default(), resumable(), salvaging()] {
                let Some(done) = holds(format, &damaged, &wanted, &what) else { continue };
                // What a flipped bit makes of a value is not for repair to know, nor what a line
                // said that is lost.
                let mut wrong =
                    recognise(&done.out).map(|_| invalid(&done.out)).unwrap_or_default();
                let flips = what.matches("flipped bit").count();
                let only = what.matches(", ").count() == flips;
                let message = |code| code == Code::NoMessage && flips > 0;
                // A result that is lost is added only where the session is to go on.
                let unsent = |code| code == Code::AnswerOmitted && !wanted.resumable;
                // Copies of a line that every release of Claude Code sends stay.
                let copy = |code| code == Code::DuplicateId && format.name == "claude-code";
                wrong.retain(|code| {
                    let known = message(*code) || unsent(*code) || copy(*code);
                    !(*code == Code::Schema || only || known)
                });
                let shown = || String::from_utf8_lossy(&done.out).into_owned();
                assert!(wrong.is_empty(), "{what}: {wrong:?}\n{}", shown());
            }
        }
    }
}

/// Sessions of our own and of the corpus that are not as their software leaves them, with the
/// reason.
const TOUCHED: &[(&str, &str)] = &[
    ("0.31.1-v2-forked", "pi lost entries"),
    ("0.45.7-v3-forked", "pi lost entries"),
    ("0.73.1-v3-forked", "pi lost entries"),
    ("glued", "two records on the last line"),
    ("crashed-raw", "the scripts were killed before they knew the session"),
    ("killed", "the scripts were killed before they knew the session"),
    ("surrogate/", "ConnectOnion failed on half a character in the middle of the file"),
    ("first-generation", "results without `content`, with which today's pi ends"),
    ("v2/spellings", "a log whose metadata were lost"),
    ("/pyobj/", "tags of Python, at which the agent's own loader ends"),
];

#[test]
fn what_is_not_damaged_stays_as_it_is() {
    let mut inputs = written_inputs();
    if let Some(corpus) = corpus("undamaged files of the corpus") {
        for set in [
            "pi/generated",
            "pi/real",
            "agent-orchestrator/real_run",
            "agent-orchestrator/bash_era",
            "codelia/v0.1.80",
            "codelia/v0-3fe5dc9",
            "claude-code/generated",
            "connectonion/a-git-5691bd58",
            "connectonion/b-0.5.0",
            "connectonion/c-0.5.10",
            "connectonion/d-0.6.1",
            "connectonion/d2-1.5.11",
            "connectonion/e-1.9.2",
        ] {
            inputs.extend(files(&corpus.join(set)));
        }
    }
    let mut untouched = 0;
    for input in inputs {
        let (source, name) = (session(&input), input.display().to_string());
        let marks = |part: &[u8]| part.starts_with("\u{feff}".as_bytes()) || !part.ends_with(b"\n");
        let Some((format, _)) = recognise(&source) else {
            continue;
        };
        if files_of(&source).iter().any(|(_, part)| marks(part))
            || TOUCHED.iter().any(|(case, _)| name.contains(case))
        {
            continue;
        }
        let done = repaired(format, &source, &RepairOptions::default()).expect("records");
        assert!(!done.report.changed && done.aside.is_empty(), "{name}: {:?}", done.findings);
        assert!(done.out == source, "{name}");
        assert_eq!(done.report.messages_before, done.report.messages, "{name}");
        untouched += 1;
    }
    println!("{untouched} sessions stayed as they were");
}

#[test]
fn a_long_block_that_was_written_twice_takes_no_time() {
    let mut twice = Twice::default();
    let block = || (0..200_000).map(|n| (n, n % 3 != 0));
    block().chain(block()).for_each(|(content, unlike)| twice.record(content, unlike));
    assert_eq!(twice.copies().len(), 200_000);
}

#[test]
fn a_record_of_no_known_kind_goes_at_once() {
    let known = r#"{"kind":"session","source":"pi@3"}"#;
    let source = format!("{known}\n{{\"kind\":\"messa\",\"content\":[]}}\n{{\"kind\":\"mess\n");
    let format = &copyist::formats::canonical::FORMAT;
    let done =
        holds(format, source.as_bytes(), &RepairOptions::default(), "unknown").expect("records");
    assert_eq!(done.out, format!("{known}\n").as_bytes());
}
