//! ConnectOnion's files: every known damage, with ConnectOnion's own loader as judge.

use crate::common::{Dir, corpus, files, name, own, read};
use crate::judge::{holds, repaired, resumable, salvaging, set_aside};
use copyist::format::RepairOptions;
use copyist::formats::connectonion::FORMAT;
use copyist::yaml::encoding;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn loader() -> Option<PathBuf> {
    let loader =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/connectonion/load.py");
    let python = Command::new("python3").args(["-c", "import yaml"]).output();
    let usable = loader.is_file() && python.is_ok_and(|done| done.status.success());
    if !usable {
        eprintln!("SKIP ConnectOnion's loader: no python3 with PyYAML, or no loader");
    }
    usable.then_some(loader)
}

/// How many messages ConnectOnion's loader reads of a file; `None` if it fails.
pub fn loaded(loader: &Path, file: &Path) -> Option<usize> {
    let asked = Command::new("python3").arg(loader).arg(file).output().expect("Python runs");
    let said: Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    let ok = said["ok"] == true;
    ok.then(|| said["messages"].as_array().map_or(0, Vec::len))
}

/// Damaged files that hold nothing of a session, or one in another encoding, which is no damage
/// though the loader refuses it; and what a person wrote who knew YAML better than the loader does.
const OTHER: &[&str] = &[
    "a_empty",
    "b_empty",
    "c_empty",
    "eval_empty",
    "run_empty",
    "utf16",
    "gbk",
    "alias_bomb",
    "b_deep",
    "mixed_keys",
];

const TURNS: &str = "name: a\ncreated: '2026-01-01 10:00:00'\nupdated: '2026-01-01 10:00:00'\ntotal_cost: 0.0\ntotal_tokens: 0\n";

/// A file of turns whose messages have these keys.
fn keyed(keys: &[u64]) -> String {
    let turn = |n| format!("- input: Ask {n}.\n  result: Say {n}.\n  turn: {n}\n");
    let turns: String = (1..=keys.len()).map(turn).collect();
    let messages = |(n, key)| {
        let said = |role, word| format!("  - role: {role}\n    content: {word} {n}.\n");
        format!("  {key}:\n{}{}", said("user", "Ask"), said("assistant", "Say"))
    };
    let messages: String = (1..).zip(keys).map(messages).collect();
    format!("{TURNS}turns:\n{turns}system_prompt: S\nmessages:\n{messages}")
}

#[test]
fn what_the_software_reads_of_a_healthy_file_is_reported() {
    let source = own("connectonion/v2/harbour");
    let report =
        holds(&FORMAT, &source, &RepairOptions::default(), "healthy").expect("turns").report;
    // Of its messages seven stand in the file; of four more only turns tell.
    assert_eq!((report.entries, report.messages), (16, 7));
    assert_eq!((report.entries_before, report.messages_before), (16, 7));
}

#[test]
fn a_remark_that_no_reader_passes_over_is_set_aside() {
    let whole = own("connectonion/v3/lamps");
    let source = [&b"# by ha\0nd\n"[..], &whole].concat();
    let done =
        holds(&FORMAT, &source, &RepairOptions::default(), "NUL in a remark").expect("turns");
    assert_eq!(done.report.quarantined, 11);
    assert_eq!(done.out, whole);
}

#[test]
fn messages_under_the_key_of_another_turn_come_back() {
    let whole = keyed(&[1, 2, 3]);
    for keys in [[1, 1, 3], [1, 3, 3], [2, 2, 3]] {
        let source = keyed(&keys);
        let done =
            repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("a session");
        let out = String::from_utf8(done.out).expect("UTF-8");
        assert!(out.starts_with(&whole), "{keys:?}: {out}");
        assert_eq!(set_aside(&done.aside).len(), 1, "{keys:?}");
        let again =
            repaired(&FORMAT, out.as_bytes(), &RepairOptions::default()).expect("a session");
        assert!(!again.report.changed, "{keys:?}");
    }
}

#[test]
fn a_message_glued_to_another_is_in_utf_8_at_once() {
    let user = r#"{"role": "user", "content": "Go."}"#;
    let head =
        format!("model: \"m\"\nmessages: |\n  [\n    {user}{{\"role\": \"user\", \"content\": \"a");
    let source = [head.as_bytes(), b"\xff", b"b\"}\n  ]\n"].concat();
    let done = repaired(&FORMAT, &source, &RepairOptions::default()).expect("a run");
    assert!(String::from_utf8_lossy(&done.out).contains("CY0804"));
    let again = repaired(&FORMAT, &done.out, &RepairOptions::default()).expect("a run");
    assert!(!again.report.changed && again.out == done.out);
}

#[test]
fn a_broken_file_of_many_turns_takes_no_time() {
    let keys: Vec<u64> = (1..=3000).collect();
    let whole = keyed(&keys);
    let torn = &whole[..whole.len() - 5];
    let begun = std::time::Instant::now();
    let done = repaired(&FORMAT, torn.as_bytes(), &RepairOptions::default()).expect("a session");
    assert!(done.report.changed && begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn a_torn_text_with_many_lines_like_elements_takes_no_time() {
    let list: String = (0..20_000).map(|n| format!("\n\n      - item {n}")).collect();
    let torn = format!("{}  - role: user\n    content: 'a list{list}", keyed(&[1, 2]));
    let begun = std::time::Instant::now();
    let done = repaired(&FORMAT, torn.as_bytes(), &RepairOptions::default()).expect("a session");
    assert!(done.report.changed && begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn lists_are_put_only_where_they_are_allowed() {
    let turn = "- input: hi\n  model: m\n  duration_ms: 1\n  result: 'yes'\n  tools_called: []\n";
    let texts = ["|\n  [\n    {\"role\": \"system\"}\n", "'[]'\n", "torn\n", "3\n"];
    for text in texts.into_iter().chain(["{}\n", "[]\n", "[1]\n", "{} # none\n"]) {
        for head in ["timestamp: ''", "created: ''\nupdated: ''\ntotal_tokens: 0"] {
            let file = format!("name: a\n{head}\nturns:\n{turn}messages: {text}");
            let once =
                repaired(&FORMAT, file.as_bytes(), &RepairOptions::default()).expect("a session");
            let shown = String::from_utf8_lossy(&once.out).into_owned();
            let within = shown.contains(r#"[{"role": "user", "content": "hi"}]"#);
            let behind = shown.contains("\nmessages:\n  1:\n  - role: user\n    content: hi\n");
            assert!(within || behind, "{shown}");
            set_aside(&once.aside);
            let twice = repaired(&FORMAT, &once.out, &RepairOptions::default()).expect("a session");
            assert!(!twice.report.changed, "{shown}");
        }
    }
    for text in ["null\n", "{1: []}\n", "{1: [{role: user, content: hi}]}\n"] {
        let file = format!("name: a\ncreated: ''\nupdated: ''\nturns:\n{turn}messages: {text}");
        let done =
            repaired(&FORMAT, file.as_bytes(), &RepairOptions::default()).expect("a session");
        assert!(!done.report.changed, "{}", String::from_utf8_lossy(&done.out));
    }
}

#[test]
fn the_loader_reads_every_repaired_file_and_no_less_of_it() {
    let Some(corpus) = corpus("repair of YAML") else { return };
    let Some(loader) = loader() else { return };
    let folder = corpus.join("connectonion/mut");
    let expected: Value =
        serde_json::from_slice(&read(&folder.join("expected.json"))).expect("JSON");
    let dir = Dir::in_memory();
    println!("| file | damage | back | set aside | the loader before | after |");
    println!("|---|---|---|---|---|---|");
    let mut wrong = Vec::new();
    let mut rows = 0;
    for input in files(&folder).into_iter().filter(|path| name(path).ends_with(".yaml")) {
        rows += 1;
        let (file, source) = (name(&input), read(&input));
        let real = &expected[&file];
        let before = real["ok"].as_bool().unwrap_or(false).then(|| real["n_messages"].as_u64());
        let before = before.map(|count| count.unwrap_or(0) as usize);
        let wanted = RepairOptions { name: file.clone(), ..RepairOptions::default() };
        let other = OTHER.iter().any(|other| file.contains(other));
        let Some(done) = repaired(&FORMAT, &source, &wanted) else {
            println!("| {file} | nothing to get back | | | {before:?} | |");
            assert!(other, "{file}");
            continue;
        };
        let out = dir.write(&file, &done.out);
        let after = loaded(&loader, &out);
        let codes: Vec<_> = done.findings.counts.keys().map(|code| code.name()).collect();
        println!(
            "| {file} | {} | {} | {} | {before:?} | {after:?} |",
            codes.join(" "),
            done.report.records,
            done.report.quarantined
        );
        if !(other || after.is_some() && after >= before) {
            wrong.push(format!(
                "{file}: {before:?}, then {after:?}\n{}",
                String::from_utf8_lossy(&done.out)
            ));
        }
        let again = repaired(&FORMAT, &done.out, &wanted).expect("a session");
        if again.report.changed || again.out != done.out {
            wrong.push(format!(
                "{file}: not at once: {:?}\n{}",
                again.findings.counts,
                String::from_utf8_lossy(&done.out)
            ));
        }
        set_aside(&done.aside);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all = expected.as_object().expect("an object").keys();
    assert_eq!(rows, all.filter(|file| file.ends_with(".yaml")).count());
}

/// Repairs a file twice: the second time must change nothing.
fn at_once(source: &[u8]) -> Vec<u8> {
    let once = repaired(&FORMAT, source, &RepairOptions::default()).expect("a session");
    set_aside(&once.aside);
    let twice = repaired(&FORMAT, &once.out, &RepairOptions::default()).expect("a session");
    let shown = || once.out.escape_ascii().to_string();
    assert!(!twice.report.changed && twice.out == once.out, "{}", shown());
    once.out
}

#[test]
fn bad_bytes_are_set_aside_wherever_they_are() {
    let turn = "- input: hi\n  result: 'yes'\n  turn: 1\n";
    let list = "|\n  [\n    {\"role\": \"system\"}\n";
    let messages = "\n# of 1\n  1:\n  - role: user\n    content: hi\n";
    let notes = "copyist:\n  repaired:\n  - code: CY0857\n    what: name\n";
    let files = [
        format!("# mine\n{TURNS}turns:\n# none\nsystem_prompt: S\nmessages: {list}"),
        format!("{TURNS}turns:\n# one\n{turn}system_prompt: |\n  S\nmessages:{messages}{notes}"),
        format!("{TURNS}turns:\n- 'torn\n  turn: 1\nmessages: {{}}\ncopyist: mine\n"),
        format!("{TURNS}turns:\n{turn}---\nturns:\n{turn}messages:\n  1: []\n  - role: user\n"),
        format!("name: a\ntimestamp: ''\nturns:\n{turn}  messages: '[]'\nmessages: {list}"),
    ];
    let wishes = [RepairOptions::default(), resumable(), salvaging()];
    for file in files {
        for bad in [&b"\xff"[..], &[0xd0; 60]] {
            for (place, wanted) in (0..file.len()).zip(wishes.iter().cycle()) {
                let (head, tail) = file.as_bytes().split_at(place);
                let what = format!("f.yaml with {} bad bytes at {place}", bad.len());
                holds(&FORMAT, &[head, bad, &tail[1..]].concat(), wanted, &what);
            }
        }
    }
}

#[test]
fn what_is_put_in_is_in_the_encoding_of_the_file() {
    let whole = keyed(&[1, 2]).replace("Ask", "Où");
    let torn = whole.split("  2:\n").next().expect("a key");
    let latin: Vec<u8> = torn.chars().map(|c| u8::try_from(c as u32).expect("Latin")).collect();
    let out = at_once(&latin);
    let restored = b"  2:\n  - role: user\n    content: O\xf9 2.\n";
    assert!(memchr::memmem::find(&out, restored).is_some(), "{}", out.escape_ascii());
}

#[test]
fn a_bad_byte_among_few_others_beyond_ascii_is_no_other_encoding() {
    for good in ["", "ö", "写写写"] {
        for bad in [&b"\xf6"[..], b"\xf6, \xf6", b"\xd4\xd4\xd4\xd4"] {
            let source = keyed(&[1, 2, 3]).replace("Say 1", &format!("{good} BAD"));
            let place = memchr::memmem::find(source.as_bytes(), b"BAD").expect("a text");
            let (head, tail) = source.as_bytes().split_at(place);
            let source = [head, bad, &tail[b"BAD".len()..]].concat();
            for end in (source.len() / 2..source.len()).step_by(3) {
                at_once(&source[..end]);
            }
        }
    }
    // What looks like one encoding goes, and what is left looks like another.
    for (left, gone) in [("\u{90}2", "ó".repeat(40)), ("é", "ó".repeat(40)), ("óó", "é ".repeat(9))]
    {
        let file = keyed(&[1, 2]).replacen("10:00:00", left, 1);
        let file = format!("{file}  - role: user\n    content: '{gone}\n\"");
        let source: Vec<u8> = file.chars().map(|c| c as u8).collect();
        at_once(&source);
    }
    // A turn is torn, and what is whole in it is UTF-8 in a file that looks like GBK.
    let file = keyed(&[1, 2]).replacen("- input", "- 'input", 1).replacen("Say 1", "'Möwe 写'", 1);
    let place = file.rfind("Say 2").expect("a text");
    let (head, tail) = file.as_bytes().split_at(place);
    let source = [head, &[0xb5; 90], &tail["Say 2".len()..]].concat();
    at_once(&source);
}

#[test]
fn of_a_torn_turn_in_another_encoding_its_whole_members_stay() {
    let whole = keyed(&[1, 2]).replace("Ask", "问").replace("Say", "答");
    let torn = whole.replacen("  turn: 1", "  turn: 'torn", 1);
    let gbk = |text: &str| {
        let mut out = Vec::new();
        let encoding = encoding::named("gbk").expect("an encoding");
        encoding::encode(text, encoding, &mut out).expect("characters of it");
        out
    };
    let out = at_once(&gbk(&torn));
    let (first, second) =
        ("- input: 问 1.\n  result: 答 1.\n", "- input: 问 2.\n  result: 答 2.\n");
    for turn in [first, second] {
        let there = memchr::memmem::find(&out, &gbk(turn)).is_some();
        assert!(there, "{}", out.escape_ascii());
    }
}

#[test]
fn a_file_that_was_repaired_before_has_its_notes_in_one_place() {
    let whole = keyed(&[1, 2, 3]);
    let once = at_once(&whole.as_bytes()[..whole.len() - 30]);
    let text = String::from_utf8(once).expect("UTF-8");
    let twice = at_once(text.replacen("    content: Say 1.\n", "    con\n", 1).as_bytes());
    let text = String::from_utf8(twice).expect("UTF-8");
    assert_eq!(text.matches("\ncopyist:\n").count(), 1, "{text}");
    assert!(text.contains("'turn 3: assistant'") && text.contains("'turn 1: assistant'"), "{text}");
    // What is no list of notes makes room for them.
    let strange = whole.replace("system_prompt", "copyist: mine\nsystem_prompt");
    at_once(&strange.as_bytes()[..strange.len() - 30]);
}

#[test]
fn what_comes_last_is_whole_when_all_behind_it_goes() {
    let halves = ["assistant\n    tool_calls:\n", "assistant\n", "user\n    content:\n", "tool\n"];
    for half in halves {
        for behind in
            ["    - id: 'a\n", "  - role: 'a\n", "  - role: 'a\n  - role: 'b\n", "  - 'a\n\0"]
        {
            at_once(format!("{}  - role: {half}{behind}", keyed(&[1, 2])).as_bytes());
            at_once(
                format!("{}  - role: {half}  - role: user\n{behind}", keyed(&[1, 2])).as_bytes(),
            );
        }
    }
}

/// Whether a line begins a member.
fn is_member(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let text = text.strip_prefix(b"- ").unwrap_or(text);
    let name = text.iter().take_while(|b| b.is_ascii_lowercase() || **b == b'_').count();
    name > 0 && text.get(name) == Some(&b':')
}

#[test]
fn a_member_that_was_begun_costs_nothing_of_what_is_before_it() {
    let mut tried = 0;
    let own = crate::common::own_inputs();
    for path in own.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let source = read(path);
        let mut start = 0;
        for line in source.split_inclusive(|b| *b == b'\n') {
            let before = start;
            start += line.len();
            if before == 0 || !is_member(line) {
                continue;
            }
            let without = repaired(&FORMAT, &source[..before], &RepairOptions::default());
            let Some(without) = without.filter(|done| done.aside.is_empty()) else { continue };
            let there: Vec<_> = without.out.split(|b| *b == b'\n').collect();
            for cut in (before + 1..start - 1).step_by(3) {
                let done = repaired(&FORMAT, &source[..cut], &RepairOptions::default())
                    .expect("a session");
                let now: Vec<_> = done.out.split(|b| *b == b'\n').collect();
                for line in source[..before].split(|b| *b == b'\n') {
                    // A name alone says nothing.
                    assert!(
                        now.contains(&line) || !there.contains(&line) || line.ends_with(b":"),
                        "{} cut at {cut}: {}",
                        path.display(),
                        line.escape_ascii()
                    );
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}
