//! ConnectOnion's files of turns with a space too many, or lines that damage left at odd places.

use crate::judge::{Done, holds, repaired, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::connectonion::FORMAT;

/// A file of one agent with two turns, the first of which calls a tool.
const WHOLE: &str = "name: a
created: '2026-01-01 10:00:00'
updated: '2026-01-01 10:00:00'
turns:
- input: Ask 1.
  result: Say 1.
  turn: 1
- input: Ask 2.
  result: Say 2.
  turn: 2
system_prompt: S
messages:
  1:
  - role: user
    content: Ask 1.
  - role: assistant
    tool_calls:
    - id: c
      type: function
      function:
        name: run
        arguments: '{}'
  - role: tool
    content: Out.
    tool_call_id: c
  - role: assistant
    content: Say 1.
  2:
  - role: user
    content: Ask 2.
  - role: assistant
    content: Say 2.
";

fn done(source: &str) -> Done {
    holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "turns.yaml").expect("turns")
}

/// What becomes of a file but for the notes at its end.
fn mended(source: &str) -> String {
    let out = String::from_utf8(done(source).out).expect("UTF-8");
    out.split("copyist:\n").next().unwrap_or_default().to_owned()
}

#[test]
fn a_message_whose_first_line_is_a_space_off_is_whole() {
    for (at, line) in WHOLE.match_indices("  - role: ") {
        for space in ["   ", " "] {
            let mut source = WHOLE.to_owned();
            source.replace_range(at..at + 2, space);
            assert_eq!(mended(&source), WHOLE, "{line} at {at}");
        }
    }
}

#[test]
fn a_member_of_a_message_that_is_a_space_off_is_put_back() {
    for name in ["content: ", "tool_calls:", "tool_call_id: "] {
        for (at, line) in WHOLE.match_indices(&format!("    {name}")) {
            for space in ["     ", "   "] {
                let mut source = WHOLE.to_owned();
                source.replace_range(at..at + 4, space);
                assert_eq!(mended(&source), WHOLE, "{line} at {at}");
            }
        }
    }
}

#[test]
fn a_message_that_was_joined_to_the_one_before_it_is_none_of_its_words() {
    for (at, _) in WHOLE.match_indices("  - role: ") {
        let end = at + WHOLE[at..].find('\n').expect("a line") + 1;
        // With its role it is a message; without, nobody knows whose it is.
        let mut source = WHOLE.to_owned();
        source.replace_range(at..at + 4, "    ");
        assert_eq!(mended(&source), WHOLE, "{source}");
        for line in ["", "X\n", "    X\n", "     - role: assistant\n"] {
            let mut source = WHOLE.to_owned();
            source.replace_range(at..end, line);
            let done =
                repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("turns");
            let out = String::from_utf8_lossy(&done.out);
            for other in ["user\n    content: Say", "assistant\n    content: Ask"] {
                assert!(!out.contains(other), "{source}{out}");
            }
            let told = ["user\n    content: Ask 1.", "user\n    content: Ask 2."];
            assert!(told.iter().all(|told| out.matches(told).count() == 1), "{source}{out}");
        }
    }
}

#[test]
fn a_key_that_is_a_space_off_is_put_back() {
    for number in 1..=2 {
        for space in ["   ", " "] {
            let line = format!("{space}{number}:\n");
            let source = WHOLE.replacen(&format!("  {number}:\n"), &line, 1);
            let done = done(&source);
            let out = String::from_utf8_lossy(&done.out);
            assert_eq!(out.split("copyist:\n").next(), Some(WHOLE), "{source}");
            let aside = set_aside(&done.aside);
            assert_eq!(aside.len(), 1, "{source}");
            assert_eq!(aside[0].bytes, line.as_bytes());
            assert!(done.findings.counts.contains_key(&Code::MemberRestored), "{out}");
        }
    }
}

/// A file of the first version.
const DATED: &str = "name: chat
timestamp: '2026-01-01 10:00:00'
turns:
- input: Ask 1.
  messages: '[{\"role\": \"user\", \"content\": \"Ask 1.\"}]'
  result: Say 1.
  tools_called: []
";

#[test]
fn a_space_before_a_member_of_the_top_is_set_aside() {
    let top = |whole: &'static str| {
        let names =
            ["name: ", "created: ", "updated: ", "timestamp: ", "system_prompt: ", "messages:\n"];
        let line = |name: &&str| whole.starts_with(*name) || whole.contains(&format!("\n{name}"));
        names.into_iter().filter(line).map(move |name| (whole, name))
    };
    for (whole, name) in top(WHOLE).chain(top(DATED)) {
        let source = match whole.strip_prefix(name) {
            Some(_) => format!(" {whole}"),
            None => whole.replacen(&format!("\n{name}"), &format!("\n {name}"), 1),
        };
        let done = done(&source);
        assert_eq!(String::from_utf8_lossy(&done.out), whole, "{source}");
        let aside = set_aside(&done.aside);
        assert!(aside.len() == 1 && aside[0].bytes == b" ", "{source}");
    }
}

#[test]
fn what_repair_can_do_nothing_about_is_reported() {
    let source = DATED.replacen("turns:", "mine: &a *b\nturns:", 1);
    let done = repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("turns");
    assert!(done.report.changed || !done.findings.diagnostics.is_empty(), "{source}");
}

#[test]
fn lists_whose_name_is_lost_are_the_lists() {
    for line in ["mess\n", "mess:\n", "\u{fffd}\n", ""] {
        let source = WHOLE.replacen("\nmessages:\n", &format!("\n{line}"), 1);
        let done = done(&source);
        let out = String::from_utf8_lossy(&done.out);
        assert_eq!(out.split("copyist:\n").next(), Some(WHOLE), "{source}");
        assert!(done.findings.counts.contains_key(&Code::MemberRestored), "{out}");
        let aside: Vec<u8> = set_aside(&done.aside).into_iter().flat_map(|it| it.bytes).collect();
        assert_eq!(String::from_utf8_lossy(&aside), line);
    }
}

#[test]
fn a_version_that_is_named_decides_what_a_damaged_file_becomes() {
    use copyist::{
        diagnostic::Log,
        format::{Cx, Options},
        memory::Buffer,
    };
    let source =
        DATED.replacen("timestamp", " timestamp", 1).replacen("messages: '[", "messages: '", 1);
    let options = Options { version: Some(1), ..Options::default() };
    let (log, mut out) = (Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let mut parts = crate::common::parts(source.as_bytes());
    copyist::repair::run(&FORMAT, &mut parts, &mut out, &RepairOptions::default(), &cx)
        .expect("turns");
    let out = out.part("").expect("turns");
    let out = String::from_utf8_lossy(&out);
    assert!(out.starts_with("name: chat\ntimestamp: ") && !out.contains("created"), "{out}");
}
