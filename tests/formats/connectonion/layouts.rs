//! Files that another program or a person laid out anew: with all keys in quotes, or in braces.

use super::FORMAT;
use crate::common::{self, Dir, assert_same, context, options, recognise};
use copyist::context::Request;
use copyist::detect::detect;
use copyist::format::{Confidence, Head, OnError};
use copyist::ids::Choice;
use copyist::yaml::read::{Events, Limits, ScalarStyle, What};

const OWN: &[&str] = &[
    "connectonion/v1/quay",
    "connectonion/v1/seed",
    "connectonion/v2/harbour",
    "connectonion/v2/seed",
    "connectonion/v3/checks",
    "connectonion/v3/lamps",
    "connectonion/v3/tides",
];

/// A document in braces, each member on a line of its own if it is laid out `wide`. What is plain
/// stays so where braces allow it, for quotes would make texts of numbers.
fn in_braces(source: &[u8], wide: bool) -> String {
    let mut text = String::new();
    let (first, next) = if wide { ("\n  ", ",\n  ") } else { ("", ", ") };
    let mut events = Events::new(source, Limits::default());
    // For each open collection: whether it is a mapping, and how many nodes it has so far.
    let mut open: Vec<(bool, usize)> = Vec::new();
    while let Some(event) = events.next().expect("YAML") {
        if let What::MappingEnd | What::SequenceEnd = event.what {
            let (mapping, _) = open.pop().expect("an open one");
            text.push(if mapping { '}' } else { ']' });
            continue;
        }
        if let What::Comment { .. } | What::DocumentStart | What::DocumentEnd = event.what {
            continue;
        }
        if let Some((mapping, nodes)) = open.last_mut() {
            text.push_str(match (*nodes, *mapping && *nodes % 2 == 1) {
                (_, true) => ": ",
                (0, _) => first,
                _ => next,
            });
            *nodes += 1;
        }
        match event.what {
            What::MappingStart(..) => open.push((true, 0)),
            What::SequenceStart(..) => open.push((false, 0)),
            What::Scalar(said, spelling, _) => {
                let said = said.as_str().expect("text");
                let bare = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
                match spelling {
                    ScalarStyle::Plain if said.chars().all(bare) => text.push_str(said),
                    _ => text.push_str(&serde_json::to_string(said).expect("JSON")),
                }
                continue;
            }
            other => panic!("{other:?}"),
        }
        text.push(if matches!(event.what, What::MappingStart(..)) { '{' } else { '[' });
    }
    text + "\n"
}

/// A document with its keys in quotes. No text of our own cases looks like a key.
fn in_quotes(source: &str, quote: char) -> String {
    let line = |line: &str| {
        let (place, key) = line.split_at(line.len() - line.trim_start_matches([' ', '-']).len());
        match key.split_once(':') {
            Some((key, rest)) if key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
                format!("{place}{quote}{key}{quote}:{rest}\n")
            }
            _ => format!("{line}\n"),
        }
    };
    source.lines().map(line).collect()
}

fn sniffed(name: &str, text: &str) -> Option<(&'static str, u32, Confidence)> {
    let head = Head { name, bytes: text.as_bytes(), whole: true, encoding: None };
    let (format, sniffed) = detect(&head)?;
    Some((format.name, sniffed.version, sniffed.confidence))
}

/// Each of our own files in the layouts of other programs is known from its beginning, and says to a
/// model what it did.
#[test]
fn files_with_all_keys_in_quotes_or_in_braces_are_known() {
    for case in OWN {
        let source = common::own(case);
        let text = String::from_utf8(source.clone()).expect("UTF-8");
        let (_, version) = recognise(&source).expect(case);
        let keep = options(OnError::Keep, Choice::Derived);
        let said = |text: &str| {
            let (said, _) = context(text.as_bytes(), &Request::default(), &keep);
            String::from_utf8(said.expect(case)).expect("UTF-8")
        };
        let before = said(&text);
        for (layout, text) in [
            ("braces", in_braces(&source, false)),
            ("braces on lines", in_braces(&source, true)),
            ("quotes", in_quotes(&text, '"')),
            ("single quotes", in_quotes(&text, '\'')),
        ] {
            let (format, told, confidence) = sniffed("a.yaml", &text).expect("a session");
            assert_eq!((format, told), (FORMAT, version), "{case} in {layout}");
            assert!(confidence >= Confidence::Strong, "{case} in {layout}");
            assert_same(said(&text).as_bytes(), before.as_bytes(), case);
            // Neither is a file of JSON one of these, nor what only shows one.
            for other in ["a.json", "a.md"] {
                let confidence = sniffed(other, &text).map(|(_, _, confidence)| confidence);
                assert!(confidence.is_none_or(|it| it == Confidence::Buried), "{case} as {other}");
            }
        }
    }
}

/// Files of other programs that have some of the same members.
#[test]
fn files_of_other_programs_in_braces_are_passed_over() {
    for text in [
        "{\"name\": \"tidepool\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"x\"}}\n",
        "{name: x, turns: 3, model: y, created: now, updated: now}\n",
        "{\"name\": \"a ride\", \"created\": 1, \"turns\": [{\"at\": 3, \"left\": true}]}\n",
        "\"name\": x\n\"messages\":\n  \"1\": hello\n\"turns\": []\n",
        "{\"model\": \"gpt\", \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n",
        "'services':\n  'web':\n    'image': turns/messages\n",
    ] {
        assert_eq!(sniffed("a.yaml", text), None, "{text}");
    }
}

/// Turns of version 1, 2 and of a summary, whose first lines are damaged.
#[test]
fn a_file_whose_beginning_is_damaged_is_known_by_its_turns() {
    let turn = |rest: &str| {
        format!("- input: Ask.\n  model: m\n  tokens: 1\n  cost: 0\n  tools_called: []\n{rest}")
    };
    let dated = "  messages: '[{\"role\": \"user\", \"content\": \"Ask.\"}]'\n  result: Say.\n";
    let of = |rest: &str| turn(rest).replacen("- input: Ask.", "- cost: 0\n  input: Ask.", 1);
    let turns = [
        (1, of(dated)),
        (2, turn("  result: Say.\n  turn: 1\n")),
        (3, turn("  run: 1\n  output: Say.\n  meta: '{}'\n  history: []\n")),
    ];
    let heads = [
        "oame: a\nturns:\n",
        "name: a\n turns:\n",
        "turns:\n",
        "name: a\n",
        "\0\0\0\nturns:\n",
        "",
    ];
    for (version, turns) in turns {
        for head in heads {
            let source = format!("{head}{turns}");
            let told = sniffed("a.yaml", &source);
            assert_eq!(told, Some((FORMAT, version, Confidence::Strong)), "{source}");
        }
        // The beginning of a longer file that begins with what a run may begin with.
        let source = format!("timestamp: '2026-01-01 10:00:00'\nturns:\n{turns}");
        let head = Head { name: "a.yaml", bytes: source.as_bytes(), whole: false, encoding: None };
        let told = detect(&head).map(|(_, sniffed)| sniffed.version);
        assert_eq!(told, Some(version), "{source}");
        // A page that shows them is none.
        assert!(
            sniffed("a.md", &format!("A page:\n\n{turns}"))
                .is_none_or(|(.., it)| it == Confidence::Buried)
        );
    }
}

#[test]
fn lists_of_other_programs_are_passed_over() {
    for text in [
        "tests:\n- input: Ask.\n  model: m\n  output: Say.\n  tokens: 1\n  cost: 0\n",
        "on: push\njobs:\n  build:\n    steps:\n    - name: a\n      run: make\n    - uses: b\n",
        "services:\n  web:\n    image: a\n    environment:\n    - input: x\n      result: y\n",
        "- input: a\n  result: b\n  tools_called: []\n",
    ] {
        assert_eq!(sniffed("a.yaml", text), None, "{text}");
    }
}

/// Repair knows the agent's layout only, and says so where the reader gets something of another.
#[test]
fn a_cut_file_in_another_layout_is_not_reported_as_empty() {
    let dir = Dir::new();
    let source = common::own("connectonion/v2/harbour");
    let text = String::from_utf8(source.clone()).expect("UTF-8");
    for text in [in_braces(&source, true), in_quotes(&text, '"')] {
        let cut = text.len() * 9 / 10;
        dir.write("a.yaml", &text.as_bytes()[..cut]);
        let (code, said) = dir.exit(&["repair", "-n", "a.yaml"]);
        assert!(code != 0 && said.contains("`convert` reads what precedes"), "{said}");
        let (_, said) = dir.exit(&["convert", "-t", "canonical", "-o", "-", "a.yaml"]);
        assert!(said.contains("1 converted"), "{said}");
    }
}
