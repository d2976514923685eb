//! Summaries of runs, and evaluations that people write, among the files of version 3.

use super::ours;
use crate::common::{
    self, assert_same, converted, from_canonical, options, own, recognise, returned, to_canonical,
};
use copyist::diagnostic::{Code, Findings};
use copyist::format::{OnError, Options};
use copyist::ids::Choice;

/// The stream of a file, and what is said about it.
fn stream(text: &str) -> (String, Findings) {
    let options = options(OnError::Keep, Choice::Derived);
    let (format, version) = recognise(text.as_bytes()).expect("a known format");
    assert_eq!(format.at(version), "connectonion@3", "{text}");
    let (done, found) = converted(text.as_bytes(), format, version, "canonical", &options);
    (String::from_utf8(done.expect("readable")).expect("UTF-8"), found)
}

fn lamps() -> String {
    String::from_utf8(own("connectonion/v3/lamps")).expect("UTF-8")
}

#[test]
fn files_are_distinguished_by_their_members() {
    let turns = "turns:\n- input: a\n  run: 1\n  output: b\n  history: []\n";
    let summary = format!("name: a\ncreated: c\nupdated: c\nruns: 1\nmodel: m\n{turns}");
    let sorted = format!("created: c\nmodel: m\nname: a\nruns: 1\n{turns}updated: c\n");
    for text in [summary, sorted, format!("name: a\n{turns}")] {
        let (stream, found) = stream(&text);
        assert!(stream.contains("\"layout\":\"index\""), "{stream}");
        assert!(found.counts.contains_key(&Code::RunSummary), "{:?}", found.counts);
    }
    let asked = "turns:\n- input: a\n";
    // It may begin with a line that a run begins with.
    for top in ["agent: a.py\n", "agent: \"a.py\"\n", "name: a\nexpected: b\n"] {
        for text in [format!("{top}{asked}"), format!("{top}{turns}"), format!("{asked}{top}")] {
            let (stream, found) = stream(&text);
            assert!(stream.contains("\"layout\":\"authored\""), "{stream}");
            assert!(found.counts.contains_key(&Code::AuthoredEval), "{:?}", found.counts);
        }
    }
}

#[test]
fn what_a_turn_took_is_read_where_it_comes_back() {
    let lamps = lamps();
    let (stream, _) = stream(&lamps);
    assert!(stream.contains("\"duration\":2310,\"tokens\":1240"), "{stream}");
    // Another spelling, or something else in it, stays the text that it is.
    for (from, to) in [
        ("\"tokens\": 2511,", "\"tokens\":2511,"),
        ("\"cost\": 0.0243, ", ""),
        ("{\"tokens\": 2511", "{\"more\": 1, \"tokens\": 2511"),
        ("1650,", "NaN,"),
    ] {
        let other = lamps.replace(from, to);
        assert_ne!(other, lamps, "{from}");
        let read = to_canonical(other.as_bytes(), &options(OnError::Stop, Choice::Derived));
        let text = String::from_utf8_lossy(&read);
        assert!(text.contains("\"extra\":{\"meta\":"), "{from}: {text}");
        let back = returned(other.as_bytes(), &options(OnError::Stop, Choice::Derived));
        assert_same(&back, other.as_bytes(), to);
    }
}

#[test]
fn an_edit_of_a_turn_is_written() {
    let stream = stream(&lamps()).0.replace("names both lamps", "names three").replace("2310", "7");
    let options = options(OnError::Stop, Choice::Derived);
    let back = from_canonical(stream.as_bytes(), "connectonion@3", &options);
    let expected = lamps().replace("names both lamps", "names three").replace("2310", "7");
    assert_same(&back, expected.as_bytes(), "the edit");
}

#[test]
fn questions_and_answers_make_the_conversation() {
    let (messages, _) = ours(lamps().as_bytes());
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, [Some("user"), Some("assistant"), Some("user"), Some("assistant")]);
    let (format, version) = recognise(lamps().as_bytes()).expect("a known format");
    let options = Options { origin: false, ..options(OnError::Stop, Choice::Derived) };
    let (done, found) = converted(lamps().as_bytes(), format, version, "connectonion@2", &options);
    let text = String::from_utf8(done.expect("readable")).expect("UTF-8");
    for kept in ["name: which_lamps_are_lit", "expected: names both lamps", "tokens: 2511"] {
        assert!(text.contains(kept), "{kept}:\n{text}");
    }
    let lost: Vec<_> = found.losses.keys().map(|(_, path)| path.as_str()).collect();
    let expected = [
        "message.synthesized",
        "session.model",
        "session.name",
        "session.totals",
        "turn.attempt",
        "turn.history",
    ];
    assert_eq!(lost, expected);
}

/// A folder of evaluations with the summary and one run of its conversation.
fn evals(number: u64, first: &str) -> common::Dir {
    let dir = common::Dir::new();
    dir.write("evals/lamps.yaml", lamps().as_bytes());
    let said = [("user", first), ("assistant", "Two."), ("user", "yes"), ("assistant", "Called.")];
    let messages =
        said.map(|(role, text)| format!("    {{\"role\": \"{role}\", \"content\": \"{text}\"}}"));
    let header = "agent: \"lamps.py\"\ntimestamp: \"2026-03-03 06:12:48\"\nmessages: |\n  [\n";
    let run = format!("{header}{}\n  ]\n", messages.join(",\n"));
    dir.write(&format!("evals/lamps/run_{number}.yaml"), run.as_bytes());
    dir
}

/// The turns of a run as the program reads it from its folder.
fn joined(dir: &common::Dir, number: u64) -> (Vec<serde_json::Value>, String) {
    let run = format!("evals/lamps/run_{number}.yaml");
    let (exit, said) = dir.exit(&["convert", "--to", "canonical", "-o", "out.jsonl", &run]);
    assert_eq!(exit, 0, "{said}");
    let stream = String::from_utf8(common::read(&dir.path("out.jsonl"))).expect("UTF-8");
    let records = stream.lines().map(|line| common::as_javascript(line.as_bytes()));
    let records: Vec<_> = records.collect();
    // Each turn stands before its question.
    for pair in records.windows(2).filter(|pair| pair[0]["kind"] == "turn") {
        assert_eq!(pair[0]["input"], pair[1]["content"]);
        assert_eq!(pair[0]["synthesized"], true);
    }
    // None of it is written into the run.
    let back = ["convert", "--to", "connectonion@3", "-o", "back.yaml", "out.jsonl"];
    let (exit, _) = dir.exit(&[&back[..], &["--fail-on", "loss", "--force"]].concat());
    assert_eq!(exit, 0);
    assert_same(&common::read(&dir.path("back.yaml")), &common::read(&dir.path(&run)), "back");
    (records.into_iter().filter(|record| record["kind"] == "turn").collect(), said)
}

#[test]
fn a_run_gets_the_turns_that_its_summary_contains() {
    let (turns, said) = joined(&evals(3, "Which lamps are lit?"), 3);
    assert!(!said.contains("CY0122"), "{said}");
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_eq!(turns[0]["eval"]["expected"], "names both lamps");
    assert_eq!(turns[1]["tokens"], 2511.0);
}

#[test]
fn an_earlier_run_gets_what_the_history_contains_of_it() {
    let (turns, _) = joined(&evals(2, "Which lamps are lit?"), 2);
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(turns[0]["eval"]["evaluation"], "✗ failed: the red lamp is missing");
    assert_eq!(turns[0]["time"], "2026-03-02 22:05:09");
}

#[test]
fn the_summary_of_another_conversation_is_reported() {
    let (turns, said) = joined(&evals(3, "Which boats are out?"), 3);
    assert!(turns.is_empty() && said.contains("CY0122"), "{said}");
    let dir = evals(3, "Which lamps are lit?");
    dir.write("evals/lamps.yaml", b"name: lamps\ncreated: 'c'\nruns: 3\nturns:\n- input: \"");
    let (turns, said) = joined(&dir, 3);
    assert!(turns.is_empty() && said.contains("CY0122"), "{said}");
}
