//! ConnectOnion's files of turns, each with damage or an edit at one place.

use crate::common::{Dir, read, testdata};
use crate::judge::{holds, repaired};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::connectonion::FORMAT;

/// Repairs a file; the outcome needs no second repair.
fn mended(source: &[u8]) -> String {
    let once = repaired(&FORMAT, source, &RepairOptions::default()).expect("a session");
    let again = repaired(&FORMAT, &once.out, &RepairOptions::default()).expect("a session");
    assert!(!again.report.changed, "{}", once.out.escape_ascii());
    String::from_utf8(once.out).expect("UTF-8")
}

/// A file of the first version, and one of the second, with turns that stand this far to the right.
fn of_two_turns(indent: usize) -> [String; 2] {
    let turn = |n: u8, rest: &str| {
        let lines =
            format!("- input: Ask {n}.\n  result: Say {n}.\n  tools_called:\n  - run\n{rest}");
        lines.lines().map(|line| format!("{:indent$}{line}\n", "")).collect::<String>()
    };
    let dated = |n| {
        turn(n, &format!("  messages: '[{{\"role\": \"user\", \"content\": \"Ask {n}.\"}}]'\n"))
    };
    let keyed = |n: u8| turn(n, &format!("  turn: {n}\n"));
    let said = |n| format!("  {n}:\n  - role: user\n    content: Ask {n}.\n");
    let times = "created: '2026-01-01 10:00:00'\nupdated: '2026-01-01 10:00:00'\n";
    [
        format!("name: a\ntimestamp: '2026-01-01 10:00:00'\nturns:\n{}{}", dated(1), dated(2)),
        format!(
            "name: a\n{times}turns:\n{}{}system_prompt: S\nmessages:\n{}{}",
            keyed(1),
            keyed(2),
            said(1),
            said(2)
        ),
    ]
}

#[test]
fn a_first_turn_without_its_first_line_costs_no_other_turn() {
    let torn: [&[u8]; 5] =
        [b"", b"\xff input: Ask 1.\n", b"\0\0\0\n", b"\0 1.\n", b"      on: it'\n"];
    for indent in [0, 2] {
        let dash = format!("{:indent$}- input: Ask ", "");
        for whole in of_two_turns(indent) {
            let turns: Vec<_> = whole.split(&dash).collect();
            let [before, first, second] = turns[..] else { panic!("{whole}") };
            let (second, _) = second.split_once("messages:\n").unwrap_or((second, ""));
            for torn in torn {
                let first = first.split_once('\n').expect("a line").1.as_bytes();
                let source = [before.as_bytes(), torn, first, dash.as_bytes(), second.as_bytes()];
                let out = mended(&source.concat());
                assert!(out.contains(&format!("{dash}{second}")), "{out}");
                assert!(out.contains("- result: Say 1.\n"), "{out}");
            }
        }
    }
}

#[test]
fn a_line_ending_that_was_lost_before_the_first_turn_comes_back() {
    for whole in [of_two_turns(0), of_two_turns(2)].concat() {
        let source = whole.replacen("turns:\n", "turns:", 1);
        assert_eq!(mended(source.as_bytes()), whole);
    }
}

#[test]
fn a_first_message_without_its_first_line_costs_no_other_message() {
    let [_, whole] = of_two_turns(0);
    let call = "  - role: assistant\n    tool_calls:\n    - id: c\n      type: function\n      function:\n        name: run\n        arguments: '{}'\n";
    let with_call = whole.replacen("  1:\n", &format!("  1:\n{call}"), 1);
    let source = with_call.replacen("  - role: assistant\n", "", 1);
    let out = mended(source.as_bytes());
    assert!(out.contains("  - role: user\n    content: Ask 1.\n"), "{out}");
    assert!(out.contains("  - role: user\n    content: Ask 2.\n"), "{out}");
}

#[test]
fn a_turn_whose_first_message_lost_its_first_line_has_its_question_again() {
    let [_, whole] = of_two_turns(0);
    let source = whole.replace("  - role: user\n", "");
    let done =
        holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "turns.yaml").expect("turns");
    let out = String::from_utf8_lossy(&done.out);
    for n in [1, 2] {
        let said = format!("  {n}:\n  - role: user\n    content: Ask {n}.\n");
        assert!(out.contains(&said), "{out}");
    }
    let counts = &done.findings.counts;
    assert_eq!(counts.get(&Code::TornRecord), Some(&2), "{out}");
    assert!(counts.contains_key(&Code::MessageRestored), "{out}");
}

/// A run, and where lines begin in it.
fn run() -> (String, Vec<usize>) {
    let said = "    {\"role\": \"user\", \"content\": \"Go.\"}";
    let text = format!(
        "agent: \"a\"\nsystem_prompt: |\n  S\nmodel: \"m\"\nmessages: |\n  [\n{said},\n{said}\n  ]\n"
    );
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    (text, ends)
}

#[test]
fn white_space_at_the_end_of_a_runs_line_is_no_damage_and_comes_back() {
    let (whole, ends) = run();
    let comes_back = |source: &str| {
        let options = copyist::format::Options::default();
        let back = crate::common::returned(source.as_bytes(), &options);
        assert_eq!(String::from_utf8_lossy(&back), source);
        assert_eq!(mended(source.as_bytes()), source);
    };
    for end in &ends {
        // In a prompt it is a part of the text.
        let (before, behind) = whole.split_at(*end);
        comes_back(&format!("{before}\r{behind}"));
        if before.contains("\n  [") {
            for space in ["\n", "\n   ", "\n\r", " ", "\r\n\n"] {
                comes_back(&format!("{before}{space}{behind}"));
            }
        }
    }
    let crlf = whole.replace('\n', "\r\n");
    comes_back(&crlf);
    comes_back(&crlf.replacen("  [\r\n", "  [\r\n\r\n", 1));
}

#[test]
fn comments_of_a_file_that_reads_stay_where_they_are() {
    let [dated, keyed] = of_two_turns(0);
    let answered = keyed.replace("  2:\n", "  # mine\n  2:\n  # and mine\n");
    assert_eq!(mended(answered.as_bytes()), answered);
    for whole in [dated, keyed] {
        let source = format!("{whole}# the end");
        assert_eq!(mended(source.as_bytes()), format!("{source}\n"));
        let options = copyist::format::Options::default();
        let back = crate::common::returned(source.as_bytes(), &options);
        assert_eq!(String::from_utf8_lossy(&back), source);
    }
}

#[test]
fn a_file_that_was_written_twice_and_torn_is_known_afterwards() {
    let [dated, keyed] = of_two_turns(0);
    for whole in [dated, keyed] {
        for torn in (1..whole.len()).step_by(7) {
            let out = mended(format!("{whole}{}", &whole[..torn]).as_bytes());
            let named = out.find("name: ").expect("a name");
            assert!(named < out.find("turns:").expect("turns"), "{torn}: {out}");
        }
    }
}

#[test]
fn a_file_that_begins_with_its_messages_is_known_however_long_they_are() {
    let [_, keyed] = of_two_turns(0);
    let long = keyed.replace("content: Ask 1.", &format!("content: {}", "long ".repeat(20_000)));
    let (before, messages) = long.split_once("messages:\n").expect("messages");
    let sorted = format!("messages:\n{messages}{before}");
    assert!(crate::common::recognise(sorted.as_bytes()).is_some());
}

#[test]
fn a_summary_that_was_cut_is_whole_afterwards() {
    let turn = |n: u8| {
        format!(
            "- input: Ask {n}.\n  run: {n}\n  output: Say {n}.\n  tools_called:\n  - run(command='echo {n}')\n  - run(command='ls')\n  expected: ''\n  evaluation: ''\n  meta: '{{\"tokens\": 1}}'\n  history: []\n"
        )
    };
    let head = "name: a\ncreated: '2026-01-01 10:00:00'\nupdated: '2026-01-01 10:00:00'\nruns: 1\nmodel: m\nturns:\n";
    let whole = format!("{head}{}{}", turn(1), turn(2));
    for cut in head.len() + 1..whole.len() {
        let out = mended(&whole.as_bytes()[..cut]);
        let bad = crate::judge::invalid(out.as_bytes());
        assert!(bad.is_empty(), "{cut}: {bad:?} {out}");
    }
}

/// Files of turns as the real software lays them out.
const OF_TURNS: [&str; 3] = [
    "v1/quay/in/quay_2025-12-02_09-14-55.yaml",
    "v2/harbour/in/harbour.yaml",
    "v3/lamps/in/which_lamps_are_lit.yaml",
];

/// The members of each turn, as they are spelled.
fn turns_of(source: &[u8]) -> Vec<Vec<String>> {
    let mut turns: Vec<Vec<String>> = Vec::new();
    let source = String::from_utf8_lossy(source);
    let lines = source.split_inclusive('\n').skip_while(|line| *line != "turns:\n").skip(1);
    for line in lines.take_while(|line| line.starts_with(['-', ' ', '\n'])) {
        if line.starts_with("- ") {
            turns.push(Vec::new());
        }
        let Some(turn) = turns.last_mut() else { continue };
        match line.get(2..).filter(|member| member.starts_with(|c: char| c.is_ascii_lowercase())) {
            Some(member) => turn.push(member.to_owned()),
            None => turn.last_mut().expect("a member").push_str(line),
        }
    }
    turns
}

#[test]
fn a_later_turn_without_its_first_line_is_a_turn() {
    for path in OF_TURNS {
        let whole = std::fs::read(testdata().join("connectonion").join(path)).expect(path);
        let turns = turns_of(&whole);
        let dashes: Vec<_> = memchr::memmem::find_iter(&whole, b"\n- ").map(|at| at + 1).collect();
        for dash in dashes.into_iter().skip(1).take(turns.len() - 1) {
            let line = memchr::memchr(b'\n', &whole[dash..]).expect("a line") + 1;
            let torn: [&[u8]; 3] = [b"", b"\0\0\0\n", b"X 0.5\n"];
            for torn in torn {
                let damaged = [&whole[..dash], torn, &whole[dash + line..]].concat();
                let done =
                    holds(&FORMAT, &damaged, &RepairOptions::default(), path).expect("turns");
                let mended = turns_of(&done.out);
                let shown = String::from_utf8_lossy(&done.out);
                assert_eq!(mended.len(), turns.len(), "{shown}");
                assert!(done.report.changed, "{shown}");
                for (before, after) in turns.iter().zip(&mended) {
                    let differ = before.iter().filter(|member| !after.contains(member));
                    assert!(differ.count() <= 2 && after.len() + 1 >= before.len(), "{shown}");
                }
            }
        }
    }
}

#[test]
fn a_member_that_a_user_wrote_once_more_stays_and_is_reported() {
    for whole in of_two_turns(0) {
        let source = whole.replacen(
            "  result: Say 1.\n",
            "  result: Say 1.\n  expected: a\n  evaluation: b\n  expected: c\n  evaluation: d\n",
            1,
        );
        let done = repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("turns");
        assert_eq!(String::from_utf8_lossy(&done.out), source);
        assert!(done.findings.counts.contains_key(&Code::TwiceNamed), "{:?}", done.findings);
    }
}

/// Text that PyYAML refuses: its own reader says so where it is installed.
#[test]
fn what_pyyaml_refuses_is_invalid_and_is_respelled() {
    let file = |values: [&str; 10]| {
        let members = ["tab", "inner", "later", "break", "month", "hour", "bits", "merge", "pair"];
        let members: String = members
            .iter()
            .zip(values)
            .map(|(name, value)| format!("  {name}: {value}\n"))
            .collect();
        let last = values[9];
        format!(
            "name: aide\ncreated: '2026-01-13 17:02:47'\nupdated: '2026-01-13 17:02:47'\n\
             total_cost: 0.1\ntotal_tokens: 10\nturns:\n- input: Hot?\n  turn: 1\n{members}\
             {last}system_prompt: S\nmessages:\n  1:\n  - role: user\n    content: Hot?\n\
             {TAB}  - role: assistant\n    content: \"Very.\tYes\"\n",
            TAB = "  # A remark\twith a tab.\n"
        )
    };
    let before = file([
        "a\t",
        "a\tb",
        "\ta",
        "a\u{85}b",
        "2026-13-01",
        "2026-01-02 25:00:00",
        "0b_",
        "{<<: 5, a: {<<: {b: 1}}}",
        "!!python/tuple [1]",
        "\t\n",
    ]);
    let after = file([
        "a ",
        r#""a\tb""#,
        " a",
        r#""a\u0085b""#,
        r#""2026-13-01""#,
        r#""2026-01-02 25:00:00""#,
        r#""0b_""#,
        r#"{"<<": 5, a: {<<: {b: 1}}}"#,
        " [1]",
        " \n",
    ]);
    let dir = Dir::new();
    dir.write("aide.yaml", before.as_bytes());
    let (code, said) = dir.exit(&["validate", "aide.yaml"]);
    assert!(code == 1 && said.contains("error[CY0417]"), "{code}: {said}");
    assert_eq!(mended(before.as_bytes()), after);
    if let Some(loader) = crate::yaml::loader() {
        assert_eq!(crate::yaml::loaded(&loader, &dir.path("aide.yaml")), None);
        dir.write("mended.yaml", after.as_bytes());
        assert_eq!(crate::yaml::loaded(&loader, &dir.path("mended.yaml")), Some(3));
    }
}

/// Characters that no model takes.
#[test]
fn a_text_that_no_model_takes_is_respelled() {
    let file = |text: &str| {
        format!(
            "name: aide\ncreated: '2026-01-13 17:02:47'\nupdated: '2026-01-13 17:02:47'\n\
             total_cost: 0.1\ntotal_tokens: 10\nturns:\n- input: Hot?\n  turn: 1\n\
             system_prompt: S\nmessages:\n  1:\n  - role: user\n    content: Hot?\n  - role: assistant\n    \
             content: {text}\n"
        )
    };
    let dir = Dir::new();
    dir.write("aide.yaml", file(r#""a\0b\ud83dc\ud83d\ude00\\0""#).as_bytes());
    let (code, said) = dir.exit(&["validate", "aide.yaml"]);
    assert!(code == 1 && said.contains("warning[CY0416]"), "{code}: {said}");
    let (code, said) = dir.exit(&["repair", "-o", "mended.yaml", "--resumable", "aide.yaml"]);
    assert!(code == 0 && said.contains("CY0834"), "{code}: {said}");
    let mended = String::from_utf8(read(&dir.path("mended.yaml"))).expect("UTF-8");
    assert_eq!(mended, file(r#""a\ufffdb\ufffdc😀\\0""#));
    let aside = String::from_utf8(read(&dir.path("mended.yaml.quarantine.jsonl"))).expect("UTF-8");
    assert!(aside.contains(r#""code":"CY0834""#) && aside.contains("ud83dc"), "{aside}");
    assert_eq!(dir.exit(&["validate", "mended.yaml"]).0, 0);
}

/// Inputs of a fuzzer: YAML with control characters, and nothing of a session.
#[test]
fn a_text_without_a_session_is_not_repaired() {
    let dir = Dir::in_memory();
    for text in ["\n#\u{b}\n", "\u{3}: \t", "a\u{4}: 1\n"] {
        dir.write("in.yaml", text.as_bytes());
        let args = ["repair", "-f", "connectonion@2", "-o", "out.yaml", "in.yaml"];
        let (code, said) = dir.exit(&args);
        assert!(code == 3 && said.contains("CY0841"), "{text:?}: {said}");
        assert!(!dir.path("out.yaml").exists(), "{text:?}");
    }
}
