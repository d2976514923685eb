//! Files of real releases: they come back byte for byte, and their contexts are what was in memory.

use super::{Compared, ERAS, FORMAT, Scenario, ours, scenarios};
use crate::common::{
    self, assert_same, converted, corpus, from_canonical, options, read, recognise, to_canonical,
};
use copyist::diagnostic::Severity;
use copyist::format::OnError;
use copyist::ids::Choice;

/// Files that do not come back byte for byte, and why.
const SPELLED_ANEW: &[(&str, &str)] = &[
    ("b-0.5.0/alias", "what an alias stands for is written out"),
    ("c-0.5.10/alias", "what an alias stands for is written out"),
    ("pyobj", "PyYAML itself cannot load it"),
];

/// Scenarios whose file holds something else than what was in memory, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("pyobj", "not everything in memory is JSON, and PyYAML cannot load the file"),
    ("d-0.6.1/surrogate", "the release died while it wrote; its whole messages are there"),
    ("e-1.9.2/surrogate", "the release died while it wrote; its whole messages are there"),
    ("e-1.9.2/nasty", "the release failed before it wrote the last question"),
    ("e-1.9.2/notool", "the release failed before it wrote the last question"),
];

fn is_named(list: &[(&str, &str)], era: &str, scenario: &str) -> bool {
    let full = format!("{era}/{scenario}");
    list.iter().any(|(name, _)| *name == scenario || *name == full)
}

#[test]
fn what_the_real_releases_wrote_comes_back_byte_for_byte() {
    let Some(corpus) = corpus("what ConnectOnion wrote") else { return };
    let keep = options(OnError::Keep, Choice::Derived);
    let (mut same, mut named, mut summaries) = (0, 0, 0);
    let mut by_era = Vec::new();
    for (era, version) in ERAS {
        let before = same;
        for scenario in scenarios(&corpus.join(FORMAT).join(era)) {
            let name = scenario.name;
            summaries += scenario.summaries.len();
            let runs = scenario.sessions.into_iter().map(|file| (file, true));
            let files = runs.chain(scenario.summaries.into_iter().map(|file| (file, false)));
            for (file, has_messages) in files {
                let source = read(&file);
                let Some((format, found)) = recognise(&source) else {
                    panic!("{} is not recognised", file.display());
                };
                assert_eq!((format.name, found), (FORMAT, *version), "{}", file.display());
                let torn = name == "surrogate" && *version == 3 && has_messages;
                let copied = converted(&source, format, *version, &format.at(*version), &keep);
                assert_same(&copied.0.expect("readable"), &source, "a copy");
                if torn {
                    named += 1;
                    continue;
                }
                let stream = to_canonical(&source, &keep);
                let back = from_canonical(&stream, &format.at(*version), &keep);
                if has_messages && is_named(SPELLED_ANEW, era, &name) {
                    let again = to_canonical(&back, &keep);
                    assert_same(&again, &stream, &file.display().to_string());
                    named += 1;
                } else {
                    assert_same(&back, &source, &file.display().to_string());
                    same += 1;
                }
            }
        }
        by_era.push((era, same - before));
    }
    println!("{same} files come back byte for byte, {named} otherwise by name: {by_era:?}");
    println!("{summaries} of them are summaries");
    assert!(same > 250 && named <= 8, "{same} {named}");
}

#[test]
fn the_context_is_what_the_agent_had_in_memory() {
    let Some(corpus) = corpus("what ConnectOnion had in memory") else { return };
    let (mut same, mut restored, mut named, mut several) = (0, 0, 0, Vec::new());
    let mut by_era = Vec::new();
    for (era, _) in ERAS {
        let before = same;
        for found in scenarios(&corpus.join(FORMAT).join(era)) {
            let Scenario { name: scenario, sessions, truths, .. } = found;
            let ([session], [truth]) = (sessions.as_slice(), truths.as_slice()) else {
                let counts = format!("{} files, {} truths", sessions.len(), truths.len());
                several.push(format!("{era}/{scenario}: {counts}"));
                continue;
            };
            let truth = common::as_javascript(&read(truth));
            let (ours, found) = ours(&read(session));
            let compared = super::compared(&ours, &truth);
            if is_named(OTHERWISE, era, &scenario) {
                assert!(!compared.is_same(), "{era}/{scenario} is no exception any more");
                if scenario == "surrogate" {
                    assert_eq!((ours.len(), found.worst()), (3, Some(Severity::Error)));
                }
                named += 1;
                continue;
            }
            let Compared { found, of, others, .. } = &compared;
            assert!(compared.is_same(), "{era}/{scenario}: {found} of {of}, {others:?}");
            restored += compared.restored;
            same += 1;
        }
        by_era.push((era, same - before));
    }
    println!("{same} contexts are what was in memory, {named} otherwise by name: {by_era:?}");
    println!("{restored} answers were restored; several files or truths:\n{}", several.join("\n"));
    assert!(same > 230 && named <= 8, "{same} {named}");
}
