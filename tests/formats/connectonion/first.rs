//! Version 1, whose turns repeat all messages before them.

use super::ours;
use crate::common::{
    self, assert_same, converted, from_canonical, options, own, recognise, to_canonical,
};
use copyist::diagnostic::{Code, Findings, Severity};
use copyist::format::{OnError, Options};
use copyist::ids::Choice;

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

fn quay() -> String {
    String::from_utf8(own("connectonion/v1/quay")).expect("UTF-8")
}

fn version(text: &str) -> Option<u32> {
    recognise(text.as_bytes()).map(|(_, version)| version)
}

fn stream(text: &str) -> (String, Findings) {
    let (format, version) = recognise(text.as_bytes()).expect("a known format");
    let (done, found) = converted(text.as_bytes(), format, version, "canonical", &keep());
    (String::from_utf8(done.expect("a stream")).expect("UTF-8"), found)
}

#[test]
fn it_is_distinguished_from_version_2() {
    let (first, second) =
        (quay(), String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8"));
    assert_eq!((version(&first), version(&second)), (Some(1), Some(2)));
    let (top, turns) = first.split_once("timestamp: '2025-12-02 09:14:55'\n").expect("a time");
    let in_list = first.find("tool_calls").expect("a call");
    let in_input = first.find("Which ships").expect("a question");
    let cases = [
        ("without its time", format!("{top}{turns}"), 1),
        ("with the time of version 2", format!("{top}created: x\n{turns}"), 1),
        ("cut in the first list", first[..in_list].to_owned(), 1),
        ("cut before the first list", first[..in_input].to_owned(), 1),
        ("without a turn", format!("{top}timestamp: x\nturns: []\n"), 1),
        (
            "a text that looks like a list",
            second.replace("input: Which berths", "input: 'Which\n    messages: ''[{''' #berths"),
            2,
        ),
        (
            "a text that looks like a list, in a block",
            second.replace("input: Which", "input: |\n   messages: '[{\n  other: Which"),
            2,
        ),
    ];
    for (case, text, expected) in cases {
        assert_eq!(version(&text), Some(expected), "{case}:\n{text}");
    }
}

/// A file of turns with the texts of these lists.
fn file(lists: &[&str]) -> String {
    let turn = |(number, list): (usize, &&str)| {
        format!("- cost: 0.0\n  input: q{number}\n{list}  result: a{number}\n  tools_called: []\n")
    };
    let turns: String = (1..).zip(lists).map(turn).collect();
    format!("name: lists\ntimestamp: '2025-12-02 09:14:55'\nturns:\n{turns}")
}

fn list(messages: &[(&str, &str)]) -> String {
    let message = |(role, content): &(&str, &str)| {
        format!("{{\"role\": \"{role}\", \"content\": \"{content}\"}}")
    };
    let all: Vec<_> = messages.iter().map(message).collect();
    format!("  messages: '[{}]'\n", all.join(", "))
}

/// What the context says, without roles.
fn said(text: &str) -> Vec<String> {
    let (ours, _) = ours(text.as_bytes());
    ours.iter().map(|m| m["content"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn a_list_may_begin_in_any_way() {
    let p = ("system", "p");
    let first = list(&[p, ("user", "q1")]);
    let whole = list(&[p, ("user", "q1"), ("user", "q2")]);
    let compact = whole.replace(": \"", ":\"").replace(", ", ",");
    let cases: &[(&str, &str, Option<&str>, &[&str])] = &[
        ("the whole list before", &whole, None, &["p", "q1", "a1", "q2", "a2"]),
        ("the same, spelled otherwise", &compact, None, &["p", "q1", "a1", "q2", "a2"]),
        ("nothing new", &first, None, &["p", "q1", "a1", "q2", "a2"]),
        (
            "the system message",
            &list(&[p, ("user", "q2"), ("assistant", "a2")]),
            Some("apart"),
            &["p", "q1", "a1", "q2", "a2"],
        ),
        ("nothing", &list(&[("user", "q2")]), Some("alone"), &["p", "q1", "a1", "q2", "a2"]),
        (
            "another system message",
            &list(&[("system", "o"), ("user", "q2")]),
            Some("alone"),
            &["p", "q1", "a1", "q2", "a2"],
        ),
        ("an empty list", &list(&[]), Some("alone"), &["p", "q1", "a1", "q2", "a2"]),
        ("no list", "", Some("none"), &["p", "q1", "a1", "q2", "a2"]),
    ];
    for (case, second, layout, context) in cases {
        let text = file(&[&first, second]);
        let (stream, found) = stream(&text);
        // A file whose last turn has no list may have been cut.
        let cut = found.worst() == Some(Severity::Error);
        assert_eq!(cut, *case == "no list", "{case}: {:?}", found.counts);
        let turn = stream.lines().filter(|line| line.contains("\"kind\":\"turn\"")).nth(1);
        let layout = layout.map(|layout| format!("\"layout\":\"{layout}\""));
        let turn = turn.expect("a turn");
        assert_eq!(turn.contains("\"layout\""), layout.is_some(), "{case}: {turn}");
        assert!(layout.is_none_or(|layout| turn.contains(&layout)), "{case}: {turn}");
        assert_eq!(said(&text), *context, "{case}");
        assert_same(&common::returned(text.as_bytes(), &keep()), text.as_bytes(), case);
        for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
            let out = from_canonical(stream.as_bytes(), to, &keep());
            let out = String::from_utf8(out).expect("UTF-8");
            assert_eq!(said(&out), *context, "{case} to {to}:\n{out}");
        }
    }
}

#[test]
fn what_is_no_list_stays_with_its_turn() {
    let first = list(&[("user", "q1")]);
    for (case, second) in [
        ("a torn list", "  messages: '[{\"role\": \"user\"'\n"),
        ("no list", "  messages: hello\n"),
        ("a comma too many", "  messages: '[{\"role\": \"user\", \"content\": \"q1\"},]'\n"),
        ("a list of YAML", "  messages: [1, 2]\n"),
    ] {
        let third = list(&[("user", "q1"), ("user", "q3")]);
        let text = file(&[&first, second, &third]);
        let (stream, found) = stream(&text);
        assert!(!found.counts.is_empty(), "{case}");
        assert_eq!(said(&text), ["q1", "a1", "q2", "a2", "q3", "a3"], "{case}");
        let back = from_canonical(stream.as_bytes(), "connectonion@1", &keep());
        assert_same(&to_canonical(&back, &keep()), stream.as_bytes(), case);
    }
}

#[test]
fn an_edit_of_a_message_reaches_every_list_that_repeats_it() {
    let source = quay();
    let (stream, _) = stream(&source);
    let edited = stream.replace("\"content\":\"Which ships", "\"content\":\"EDITED ships");
    let back = from_canonical(edited.as_bytes(), "connectonion@1", &keep());
    let back = String::from_utf8(back).expect("UTF-8");
    assert_eq!(back.matches("EDITED").count(), 3, "{back}");
    assert_eq!(back.matches("input: Which ships").count(), 1, "{back}");
    assert_same(&to_canonical(back.as_bytes(), &keep()), edited.as_bytes(), "the stream");
    // So does one in a turn that someone spelled by hand.
    let spelled =
        source.replace("  input: Which ships lie at the quay?\n", "  input: \"Which?\"\n");
    let edit =
        |text: String| text.replace("\"content\":\"Which ships", "\"content\":\"EDITED ships");
    let (back, _) = common::through_a_stream(spelled.as_bytes(), &edit, &keep());
    let back = String::from_utf8(back).expect("UTF-8");
    assert_eq!(back.matches("EDITED").count(), 3, "{back}");
    assert!(back.contains("  input: \"Which?\"\n"), "{back}");
}

#[test]
fn other_sessions_get_its_shape() {
    let plain = || Options { origin: false, ..keep() };
    for case in ["pi/v1/feature-work", "connectonion/v2/harbour", "connectonion/v3/tides"] {
        let source = own(case);
        let (format, from) = recognise(&source).expect("a known format");
        let (done, _) = converted(&source, format, from, "connectonion@1", &plain());
        let out = String::from_utf8(done.expect("written")).expect("UTF-8");
        assert_eq!(version(&out), Some(1), "{case}");
        let (stream, found) = stream(&out);
        assert!(found.counts.is_empty(), "{case}: {:?}", found.counts);
        assert!(!stream.contains("\"layout\":\"a"), "{case}: a list that repeats nothing");
        assert!(!stream.contains("\"raw\""), "{case}: not as PyYAML spells it");
        let turn = stream.lines().find(|line| line.contains("\"kind\":\"turn\"")).expect("a turn");
        for member in ["model", "input", "total_cost", "tools_called", "result", "tokens"] {
            assert!(turn.contains(&format!("\"{member}\":")), "{case}: {turn}");
        }
    }
    let (done, _) = {
        let source = own("connectonion/v2/harbour");
        let (format, from) = recognise(&source).expect("a known format");
        converted(&source, format, from, "connectonion@1", &plain())
    };
    let out = String::from_utf8(done.expect("written")).expect("UTF-8");
    for kept in ["cost: 0.0062", "tokens: 1230", "- list_berths\n", "expected: a notice of two"] {
        assert!(out.contains(kept), "{kept}:\n{out}");
    }
}

#[test]
fn what_a_turn_contains_comes_to_version_2() {
    let source = own("connectonion/v1/seed");
    let (format, from) = recognise(&source).expect("a known format");
    let plain = Options { origin: false, ..keep() };
    let (done, found) = converted(&source, format, from, "connectonion@2", &plain);
    let out = String::from_utf8(done.expect("written")).expect("UTF-8");
    for kept in
        ["tokens: 2345", "model: gemini-2.5-pro", "total_cost: 0.03", "expect_result: \"yes\""]
    {
        assert!(out.contains(kept), "{kept}:\n{out}");
    }
    let lost: Vec<_> = found.losses.keys().map(|(_, path)| path.as_str()).collect();
    assert_eq!(lost, ["turn.extra"], "what a person added is counted");
    assert!(found.counts.contains_key(&Code::YamlComment), "{:?}", found.counts);
}

#[test]
fn a_cut_is_reported_wherever_it_is() {
    let text = quay();
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let (mut told, mut whole) = (0, Vec::new());
    for cut in lines {
        let torn = &text[..cut];
        let Some((format, version)) = recognise(torn.as_bytes()) else { continue };
        let (done, found) = converted(torn.as_bytes(), format, version, "canonical", &keep());
        if done.is_err() || found.worst() == Some(Severity::Error) {
            told += 1;
        } else {
            whole.push(text[cut..].lines().next().unwrap_or_default().to_owned());
        }
    }
    // Between two turns, and in a list of names, nothing is missing that a file must have.
    let nothing_missing = ["- cost: 0.0", "- cost: 0.0344", "  - log", "  - log", ""];
    assert_eq!(whole, nothing_missing);
    assert!(told > 40, "{told}");
}

#[test]
fn numbers_that_only_python_knows_come_back() {
    // The second turn repeats what the first one said.
    let turn =
        |list: &str| format!("- input: a\n  messages: '{list}'\n  result: b\n  tools_called: []\n");
    let one = r#"{"role": "user", "content": "a", "temperature": NaN}"#;
    let two = r#"{"role": "user", "content": "Infinity", "top": -Infinity}"#;
    let lists = [format!("[{one}]"), format!("[{one}, {two}]")];
    let text = "name: a\ntimestamp: '2025-12-03 10:00:00'\nturns:\n".to_owned();
    let text = lists.iter().fold(text, |text, list| text + &turn(list));
    let (format, version) = recognise(text.as_bytes()).expect("a known format");
    let (done, found) = converted(text.as_bytes(), format, version, "canonical", &keep());
    assert_eq!(found.counts.get(&Code::PythonNumber), Some(&2), "{:?}", found.counts);
    let stream = done.expect("readable");
    let lines = String::from_utf8_lossy(&stream).into_owned();
    assert_eq!(lines.matches("\"extra\":{\"temperature\":null}").count(), 1, "{lines}");
    assert_eq!(lines.matches("\"extra\":{\"top\":null}").count(), 1, "{lines}");
    let back = common::returned(text.as_bytes(), &keep());
    common::assert_same(&back, text.as_bytes(), "back");
}
