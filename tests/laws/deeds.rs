//! Whatever changes in the lines of a converted session, the restored session has the same content,
//! or the origin is not used.

use crate::common::{
    alone, beside_origin, converted, corpus, options, own_inputs, recognise, session,
};
use crate::pairs::{said, targets};
use crate::words::undamaged;
use copyist::diagnostic::{Code, Diagnostic, Severity};
use copyist::format::{Format, OnError};
use copyist::formats::connectonion;
use copyist::ids::{Choice, hash};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What does not hold, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    // A turn has its answer twice: as `result` and in its messages. A `result` without text that was
    // moved into the last turn stands there a second time and counts, so that the answer is empty.
    ("c0ffee00-1234-4abc-8def-001122334455.jsonl to connectonion@1, line 13", "an empty result"),
    ("aec098c54003.jsonl to connectonion@1, line 35 moved", "an empty result"),
    // The source has results in another order than that of their calls, which is that of OpenCode.
    (
        "/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to opencode, line",
        "results in order",
    ),
    ("/copilot-cli/v1/beehive/in/events.jsonl to opencode, line", "results in order"),
    ("/parallel/in/c4a7e910-5d3b-4f86-b1c2-90e8d7a6f534.jsonl to gemini-cli@", "results in order"),
    ("/copilot-cli/v1/beehive/in/events.jsonl to gemini-cli@", "results in order"),
    (
        "/opencode/v1/quay/in/quay.json to pi@3, line 13 cut behind",
        "only the line that names the leaf is gone, which is reported as a missing end",
    ),
    (
        "/atif/v1/lighthouse/in/lighthouse.json to pi@2, line 14 cut behind",
        "only lines at the end are gone, which is reported as a missing end",
    ),
    (
        "/codex/v2/taken-back/in/rollout-2026-02-03T09-40-00-01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f01.jsonl to atif, line 166 deleted",
        "a link in the data by which a trajectory keeps other branches is gone",
    ),
];

/// Something that is done to lines at one place.
type Deed = fn(&mut Vec<&[u8]>, usize);

/// What is done.
const DEEDS: &[(&str, Deed)] = &[
    ("deleted", |lines, at| {
        lines.remove(at);
    }),
    ("doubled", |lines, at| lines.insert(at, lines[at])),
    ("said again", |lines, at| lines.push(lines[at])),
    ("moved to the end", |lines, at| {
        let line = lines.remove(at);
        lines.push(line);
    }),
    ("swapped", |lines, at| {
        let next = (at + 1).min(lines.len() - 1);
        lines.swap(at, next);
    }),
    ("cut behind", |lines, at| lines.truncate(at + 1)),
];

/// How often each is done to a file, at places that it chooses itself.
const TIMES: u64 = 3;

/// What came of a deed.
#[derive(Default, Debug)]
struct Tally {
    tried: u64,
    told: u64,
    refused: u64,
    failed: u64,
}

/// Takes a file home to which something was done; says what was said there and is lost.
fn home(
    away: &[u8],
    (format, version): (&'static Format, u32),
    tally: &mut Tally,
) -> Result<(), String> {
    let keep = options(OnError::Keep, Choice::Derived);
    let Some((seen, number)) = recognise(away) else { return Ok(()) };
    let Some(says) = said(away) else { return Ok(()) };
    tally.tried += 1;
    let (back, found) = converted(away, seen, number, &format.at(version), &keep);
    let Ok(back) = back else {
        tally.failed += 1;
        return Ok(());
    };
    let is_damage =
        |d: &Diagnostic| d.code.severity() == Severity::Error && d.code != Code::OriginRejected;
    if found.diagnostics.iter().any(is_damage) {
        tally.failed += 1;
        return Ok(());
    }
    let in_turns = seen.name == connectonion::FORMAT.name && number < 3;
    let refused = found.diagnostics.iter().any(|d| d.code == Code::OriginRejected);
    *(if refused { &mut tally.refused } else { &mut tally.told }) += 1;
    match recognise(&back).and_then(|_| said(&back)) {
        Some(said) if said == says => Ok(()),
        // A turn of these tells the question and the answer once more, and is edited by that.
        Some(said) if !refused && in_turns && said.len() == says.len() => Ok(()),
        None if says.is_empty() => Ok(()),
        other => {
            let other = other.unwrap_or_default();
            let place = says.iter().zip(&other).take_while(|(a, b)| a == b).count();
            let show = |list: &[String]| {
                list.get(place).map_or("(end)".to_owned(), |t| t.chars().take(150).collect())
            };
            Err(format!(
                "refused {refused}: message {place} of {} and {}: {} for {}",
                says.len(),
                other.len(),
                show(&other),
                show(&says)
            ))
        }
    }
}

fn all(inputs: &[PathBuf]) {
    let keep = options(OnError::Keep, Choice::Derived);
    let mut tallies: BTreeMap<(String, String, &str), Tally> = BTreeMap::new();
    let mut others = Vec::new();
    for path in inputs {
        let source = session(path);
        let Some((format, version)) = recognise(&source) else { continue };
        for to in targets().iter().filter(|to| to.split('@').next() != Some(format.name)) {
            let Ok(away) = converted(&source, format, version, to, &keep).0 else { continue };
            let file = alone(&away);
            if file.starts_with(b"\0") {
                continue;
            }
            for (name, deed) in DEEDS {
                let key = (format.at(version), to.clone(), *name);
                let tally = tallies.entry(key).or_default();
                for time in 0..TIMES {
                    let mut lines: Vec<_> = file.split_inclusive(|b| *b == b'\n').collect();
                    let seed = format!("{name} {time} {to} {}", source.len());
                    let place = hash(seed.as_bytes()) as usize % lines.len();
                    deed(&mut lines, place);
                    let edited = beside_origin(lines.concat(), &away);
                    if let Err(why) = home(&edited, (format, version), tally) {
                        let path = path.display();
                        others.push(format!("{path} to {to}, line {} {name}: {why}", place + 1));
                    }
                }
            }
        }
    }
    println!(
        "| home | abroad | done | files | told | refused | failed |\n|---|---|---|---|---|---|---|"
    );
    for ((own, to, name), Tally { tried, told, refused, failed }) in &tallies {
        println!("| {own} | {to} | {name} | {tried} | {told} | {refused} | {failed} |");
    }
    let is_known = |other: &&String| EXCEPTIONS.iter().any(|(part, _)| other.contains(part));
    others.iter().filter(is_known).for_each(|other| println!("known: {other}"));
    let unknown: Vec<_> = others.iter().filter(|other| !is_known(other)).collect();
    assert!(unknown.is_empty(), "{} of them: {unknown:#?}", unknown.len());
}

#[test]
fn what_is_done_in_the_target_is_done_in_the_source_or_refused() {
    all(&own_inputs());
}

#[test]
fn what_is_done_in_the_target_is_done_in_the_source_or_refused_in_the_corpus() {
    let Some(root) = corpus("deeds abroad") else { return };
    all(&undamaged(&root, 97));
}
