//! Turns of a session, whatever its format.

use crate::common::{self, own_inputs, recognise, session, to_canonical};
use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, Options};
use copyist::ids::Choice;
use copyist::inspect::{self, Request};
use copyist::turns::{self, Turn};
use copyist::usage::Usage;

fn keep() -> Options {
    Options { force_version: true, ..common::options(OnError::Keep, Choice::Derived) }
}

/// The turns of a session.
fn of(text: &[u8]) -> Vec<Turn> {
    let (format, _) = recognise(text).expect("a known format");
    let (log, options) = (Log::default(), keep());
    let cx = Cx { options: &options, log: &log };
    turns::run(format, &mut common::parts(text), &cx).expect("readable")
}

fn inspected(text: &[u8]) -> inspect::Inspection {
    let (format, _) = recognise(text).expect("a known format");
    let (log, options) = (Log::default(), keep());
    let cx = Cx { options: &options, log: &log };
    let request = Request { full: false, rows: 10 };
    inspect::run(format, &mut common::parts(text), request, &cx).expect("readable")
}

#[test]
fn turns_add_up_to_the_usage_of_sessions_without_branches() {
    let mut seen = 0;
    for path in own_inputs() {
        let text = session(&path);
        let found = inspected(&text);
        let turns = of(&text);
        assert_eq!(turns, found.by_turn, "{}", path.display());
        let mut sum = Usage::default();
        turns.iter().for_each(|turn| sum.join(turn.usage));
        let all = found.usage;
        let most = sum.all() <= all.all() + 1e-6 && sum.cost <= all.cost + 1e-9;
        assert!(most, "{}: {sum:?} of {all:?}", path.display());
        // Totals of the whole session belong to no turn, and neither do compactions.
        let beside = ["compaction", "branch_summary", "usage"];
        let own = !beside.iter().any(|kind| found.kinds.contains_key(kind))
            && (found.tree.roots, found.tree.ends) == (1, 1);
        if own && sum != Usage::default() {
            let same = (sum.all() - all.all()).abs() < 1e-6 && (sum.cost - all.cost).abs() < 1e-9;
            assert!(same, "{}: {sum:?}, not {all:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn turns_stay_the_same_in_the_canonical_stream() {
    for path in own_inputs() {
        let text = session(&path);
        let stream = to_canonical(&text, &keep());
        assert_eq!(of(&text), of(&stream), "{}", path.display());
    }
}

#[test]
fn questions_and_tools_stay_the_same_in_other_formats() {
    let mut seen = 0;
    for path in own_inputs() {
        let text = session(&path);
        let found = inspected(&text);
        // Summaries and commands become words of the user where they are sent as such.
        let others = ["compaction", "branch_summary", "context_edit"];
        let plain = !others.iter().any(|kind| found.kinds.contains_key(kind))
            && !["custom", "bash"].iter().any(|role| found.roles.contains_key(*role))
            && (found.tree.roots, found.tree.ends) == (1, 1);
        let turns = of(&text);
        // A mark of words that a program wrote in the user's name has no place in other formats.
        let marked = found.roles.get("user").is_some_and(|count| *count != turns.len() as u64);
        // Documents and the like have a text in their place. Summaries also name tools whose calls
        // are not among the messages.
        let summarized = found.kinds.contains_key("turn");
        let is_same = |(a, b): (&Turn, &Turn)| {
            let alone = summarized && a.tools.is_empty();
            a.input.starts_with(&b.input) && (alone || a.tools == b.tools)
        };
        // An empty question is refused by models, and left out where it would be sent.
        if !plain || marked || turns.iter().any(|turn| turn.id.is_none() || turn.input.is_empty()) {
            continue;
        }
        for to in ["pi", "claude-code", "codex", "connectonion@2"] {
            let (format, version) = recognise(&text).expect("a known format");
            let (done, _) = common::converted(&text, format, version, to, &keep());
            let Ok(done) = done else { continue };
            let other = of(&common::alone(&done));
            let same = other.len() == turns.len() && other.iter().zip(&turns).all(is_same);
            assert!(same, "{} as {to}: {other:?}, not {turns:?}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}
