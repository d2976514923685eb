//! ConnectOnion's files of turns whose lines around the turns and messages are lost, or stand where
//! none belongs.

use crate::common::testdata;
use crate::judge::{Done, holds, invalid, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::connectonion::FORMAT;

/// A file of one agent.
const WHOLE: &str = "name: a
created: '2026-01-01 10:00:00'
updated: '2026-01-01 10:00:00'
turns:
- input: Ask 1.
  model: m
  tools_called:
  - run()
  result: Say 1.
  turn: 1
- input: Ask 2.
  model: m
  tools_called: []
  result: Say 2.
  turn: 2
system_prompt: S
messages:
  1:
  - role: user
    content: Ask 1.
  - role: assistant
    content: Say 1.
  2:
  - role: user
    content: Ask 2.
  - role: assistant
    content: Say 2.
";

fn done(source: &[u8]) -> Done {
    holds(&FORMAT, source, &RepairOptions::default(), "turns.yaml").expect("turns")
}

/// What becomes of a file but for the notes at its end, and what is set aside.
fn mended(source: &[u8]) -> (String, String) {
    let done = done(source);
    let out = String::from_utf8_lossy(&done.out).into_owned();
    assert!(invalid(&done.out).is_empty(), "{out}");
    let out = out.split("copyist:\n").next().unwrap_or_default().to_owned();
    let aside = set_aside(&done.aside).into_iter().flat_map(|aside| aside.bytes).collect();
    (out, String::from_utf8(aside).expect("UTF-8"))
}

/// The file with a line more, wherever one begins from this text on.
fn with_line(line: &str, from: &str) -> impl Iterator<Item = String> {
    let first = WHOLE.find(from).expect("a place");
    let starts = WHOLE.match_indices('\n').map(|(end, _)| end + 1);
    let starts = starts.filter(move |start| *start >= first && *start < WHOLE.len());
    starts.map(move |at| format!("{}{line}\n{}", &WHOLE[..at], &WHOLE[at..]))
}

#[test]
fn a_line_between_documents_costs_nothing() {
    for line in ["...", "---"] {
        for source in with_line(line, "created") {
            assert_eq!(mended(source.as_bytes()), (WHOLE.to_owned(), format!("{line}\n")));
        }
        for remark in ["\n", "# mine\n"] {
            let more = format!("{line}\n{remark}- input: Ask 2.");
            let source = WHOLE.replacen("- input: Ask 2.", &more, 1);
            let (out, aside) = mended(source.as_bytes());
            let out = out.replacen(&format!("{remark}- input: Ask 2."), "- input: Ask 2.", 1);
            assert_eq!((out, aside), (WHOLE.to_owned(), format!("{line}\n")));
        }
    }
}

#[test]
fn a_member_of_the_top_within_a_list_costs_nothing() {
    for line in ["turns:", "messages:", "name: other"] {
        for source in with_line(line, "- input: Ask 1.") {
            // Between two members of the top it is one, and of two with one name the later counts.
            if ["system_prompt", "messages"]
                .map(|next| format!("name: other\n{next}"))
                .iter()
                .any(|between| source.contains(between))
            {
                continue;
            }
            let expected = (WHOLE.to_owned(), format!("{line}\n"));
            assert_eq!(mended(source.as_bytes()), expected, "{source}");
        }
    }
}

#[test]
fn the_name_of_a_list_within_a_text_costs_nothing() {
    let text = "    content: 'Say 1.\n\n\n      More.'\n";
    let whole = WHOLE.replacen("    content: Say 1.\n", text, 1);
    for line in ["turns:\n", "messages:\n"] {
        for (end, _) in text.match_indices('\n').take(3) {
            let more = format!("{}{line}{}", &text[..=end], &text[end + 1..]);
            let source = whole.replacen(text, &more, 1);
            assert_eq!(mended(source.as_bytes()), (whole.clone(), line.to_owned()), "{source}");
        }
    }
}

#[test]
fn what_remains_of_a_turn_without_indentation_ends_no_turns() {
    let source = WHOLE.replacen("  result: Say 1.\n", "sult: Say 1.\n", 1);
    let (out, aside) = mended(source.as_bytes());
    assert_eq!(out, WHOLE.replacen("  result: Say 1.\n  turn: 1\n", "", 1));
    assert_eq!(aside, "sult: Say 1.\n  turn: 1\n");
    let source = WHOLE.replacen("  - role: assistant\n    content: Say 1.\n", "tent: x\n", 1);
    let (out, aside) = mended(source.as_bytes());
    assert!(out.contains("  2:\n  - role: user\n    content: Ask 2.\n"), "{out}");
    assert_eq!(aside, "tent: x\n");
}

/// Files of turns as the real software lays them out.
const OF_TURNS: [&str; 3] = [
    "v1/quay/in/quay_2025-12-02_09-14-55.yaml",
    "v2/harbour/in/harbour.yaml",
    "v3/lamps/in/which_lamps_are_lit.yaml",
];

#[test]
fn turns_whose_name_is_lost_are_the_turns() {
    for path in OF_TURNS {
        let whole = std::fs::read(testdata().join("connectonion").join(path)).expect(path);
        let whole = String::from_utf8(whole).expect("UTF-8");
        for line in ["", "tur\n", "\tturns:\n"] {
            let source = whole.replacen("\nturns:\n", &format!("\n{line}"), 1);
            let done = done(source.as_bytes());
            let out = String::from_utf8_lossy(&done.out);
            assert_eq!(out.split("copyist:\n").next(), Some(whole.as_str()), "{line:?}");
            assert!(done.findings.counts.contains_key(&Code::MemberRestored), "{out}");
        }
    }
}

#[test]
fn turns_and_messages_of_which_the_first_page_is_lost_come_back() {
    for nuls in [0, 90] {
        let lost = WHOLE.find("model: m").expect("a turn");
        let source = [vec![0; nuls], WHOLE.as_bytes()[lost..].to_vec()].concat();
        let (out, _) = mended(&source);
        let second = WHOLE.find("- input: Ask 2.").expect("a turn");
        assert!(out.contains(&format!("turns:\n{}", &WHOLE[second..])), "{out}");
        assert!(!out.contains("\nmodel: m\n"), "{out}");
    }
}

#[test]
fn what_remains_of_a_turn_before_the_first_member_is_none_of_the_top() {
    let left = "  model: m\n";
    let source = format!("{left}{WHOLE}");
    assert_eq!(mended(source.as_bytes()), (WHOLE.to_owned(), left.to_owned()));
}

#[test]
fn a_key_that_means_something_else_than_messages_goes() {
    let source = WHOLE.replacen(
        "  2:\n  - role: user\n    content: Ask 2.\n  - role: assistant\n    content: Say 2.\n",
        "  2: Z]\n",
        1,
    );
    let (out, aside) = mended(source.as_bytes());
    assert_eq!((out.as_str(), aside.as_str()), (WHOLE, "  2: Z]\n"));
}
