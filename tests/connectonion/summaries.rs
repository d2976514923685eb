//! Summaries of runs, and evaluations that people write, among the files of version 3.

use super::{common, ours};
use common::{assert_same, converted, from_canonical, options, own, recognise, to_canonical};
use copyist::diagnostic::{Code, Findings};
use copyist::format::OnError;
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
fn files_are_told_apart_by_their_members() {
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
        let back =
            from_canonical(&read, "connectonion@3", &options(OnError::Stop, Choice::Derived));
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
fn questions_and_answers_stand_for_the_conversation() {
    let (messages, _) = ours(lamps().as_bytes());
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, [Some("user"), Some("assistant"), Some("user"), Some("assistant")]);
    let (format, version) = recognise(lamps().as_bytes()).expect("a known format");
    let options = options(OnError::Stop, Choice::Derived);
    let (done, found) = converted(lamps().as_bytes(), format, version, "connectonion@2", &options);
    let text = String::from_utf8(done.expect("readable")).expect("UTF-8");
    for kept in ["name: which_lamps_are_lit", "expected: names both lamps", "tokens: 2511"] {
        assert!(text.contains(kept), "{kept}:\n{text}");
    }
    let lost: Vec<_> = found.losses.keys().map(|(_, path)| path.as_str()).collect();
    let expected = [
        "message.id",
        "message.synthesized",
        "session.model",
        "session.name",
        "session.totals",
        "turn.attempt",
        "turn.history",
    ];
    assert_eq!(lost, expected);
}
