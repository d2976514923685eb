//! The program as it is run.

use crate::common::{Dir, files, name, own, read, testdata};

#[test]
fn the_program_writes_a_quarantine_and_keeps_a_backup() {
    let dir = Dir::new();
    let torn = own("damaged/pi/torn-tail");
    dir.write("s.jsonl", &torn);
    let (code, said) = dir.said(&["repair", "-n", "s.jsonl"]);
    assert!(code == 1 && said.contains("repairable") && said.contains("CY0801"), "{said}");
    assert_eq!(dir.names(), ["s.jsonl"]);
    let (code, said) = dir.exit(&["repair", "--in-place", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(dir.names(), ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl"]);
    assert_eq!(read(&dir.path("s.jsonl.bak")), torn);
    assert_eq!(dir.exit(&["repair", "--in-place", "."]).0, 0);
    assert_eq!(dir.names(), ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl"]);
    assert_eq!(dir.exit(&["repair", "-n", "."]).0, 0);
    // Damaged once more, it keeps what the first repair set aside.
    dir.write("s.jsonl", &torn);
    assert_eq!(dir.exit(&["repair", "--in-place", "--no-backup", "s.jsonl"]).0, 0);
    assert_eq!(
        dir.names(),
        ["s.jsonl", "s.jsonl.bak", "s.quarantine.jsonl", "s.quarantine.jsonl.2"]
    );
}

#[test]
fn what_repair_cannot_mend_is_a_finding() {
    let dir = Dir::new();
    let stream = own("pi/v3/everything");
    dir.write("s.jsonl", &stream);
    // With an origin the lost line would be restored.
    let to = ["convert", "-q", "-t", "canonical", "--no-origin", "-o", "c.jsonl", "s.jsonl"];
    assert_eq!(dir.exit(&to).0, 0);
    let stream = String::from_utf8(read(&dir.path("c.jsonl"))).expect("UTF-8");
    let mut lines: Vec<&str> = stream.lines().collect();
    lines[3] = &lines[3][..40];
    dir.write("c.jsonl", format!("{}\n", lines.join("\n")).as_bytes());
    let (code, said) = dir.exit(&["repair", "-o", "d.jsonl", "c.jsonl"]);
    assert!(code == 1 && said.contains("CY0402"), "{code} {said}");
    assert_eq!(dir.exit(&["validate", "d.jsonl"]).0, 1);
}

#[cfg(unix)]
#[test]
fn without_a_place_for_what_is_set_aside_nothing_is_written() {
    let dir = Dir::new();
    dir.write("s.jsonl", &own("damaged/pi/torn-tail"));
    let shell = |command: &str| {
        let command = command.replace("copyist", env!("CARGO_BIN_EXE_copyist"));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(dir.root()).output().expect("a shell")
    };
    let done = shell("copyist repair -o - - < s.jsonl");
    assert_eq!((done.status.code(), done.stdout.len()), (Some(4), 0), "{done:?}");
    let done = shell("copyist repair -o - --quarantine q.jsonl - < s.jsonl");
    assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
    let done = shell("copyist repair -o - s.jsonl");
    assert!(done.status.success() && !done.stdout.is_empty(), "{done:?}");
    assert_eq!(dir.names(), ["q.jsonl", "s.jsonl", "s.quarantine.jsonl"]);
}

#[test]
fn a_session_that_needs_two_files_puts_none_into_standard_output() {
    let dir = Dir::new();
    let case = testdata().join("damaged/agent-orchestrator/metadata/in");
    files(&case).iter().for_each(|file| drop(dir.write(&name(file), &read(file))));
    let done = dir.run(&["repair", "-o", "-", "orchard.jsonl"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("CY0706") && said.contains("--out-dir"), "{said}");
}

#[test]
fn migrate_and_convert_repair_first_where_that_is_requested() {
    let dir = Dir::new();
    let old = own("pi/v1/feature-work");
    let torn = [old.as_slice(), &old[..old.len() / 2][old.len() / 2 - 40..]].concat();
    dir.write("s.jsonl", &torn);
    assert_eq!(dir.exit(&["migrate", "-o", "m.jsonl", "s.jsonl"]).0, 3);
    let (code, said) = dir.exit(&["migrate", "--repair", "-o", "m.jsonl", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    dir.write("whole.jsonl", &old);
    assert_eq!(dir.exit(&["migrate", "-o", "w.jsonl", "whole.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("m.jsonl")), read(&dir.path("w.jsonl")));
    assert!(dir.path("m.quarantine.jsonl").is_file());
    let (code, said) =
        dir.exit(&["convert", "-t", "connectonion@2", "--repair", "--out-dir", "out", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(dir.exit(&["convert", "-t", "connectonion@2", "-o", "w.yaml", "whole.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("out/s.yaml")), read(&dir.path("w.yaml")));
    assert!(dir.path("out/s.quarantine.jsonl").is_file());
    let (code, said) = dir.exit(&["migrate", "--repair", "--in-place", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(read(&dir.path("s.jsonl")), read(&dir.path("w.jsonl")));
    assert_eq!(read(&dir.path("s.jsonl.bak")), torn);
    // A healthy file is only migrated.
    assert_eq!(dir.exit(&["migrate", "--repair", "-o", "h.jsonl", "whole.jsonl"]).0, 0);
    assert!(!dir.path("h.quarantine.jsonl").exists());
}

#[test]
fn a_pair_is_repaired_before_it_is_converted() {
    let dir = Dir::new();
    let log = b"{\"type\": \"user_message\", \"content\": \"Go.\", \"timestamp\": \"2025-11-20T10:00:01.000001Z\"}\n{\"content\": [{\"te";
    dir.write("a.jsonl", log);
    dir.write("a.meta.json", b"{\"session_name\": \"a\", \"created_at\": \"2025-11-20T10:0");
    let (code, said) = dir.exit(&["convert", "-t", "pi", "--repair", "-o", "p.jsonl", "a.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert!(String::from_utf8_lossy(&read(&dir.path("p.jsonl"))).contains("Go."));
    assert_eq!(read(&dir.path("a.jsonl")), log);
    assert_eq!(dir.names(), ["a.jsonl", "a.meta.json", "p.jsonl", "p.quarantine.jsonl"]);
}

#[test]
fn repair_and_validate_agree() {
    let dir = Dir::new();
    let said = |args: &[&str]| dir.exit(args);
    // The agent reads an entry before its parent, and repair leaves it.
    let ahead = [
        HEADER,
        r#"{"type":"message","id":"a","parentId":"b","timestamp":"t","message":{"role":"user","content":"two"}}"#,
        r#"{"type":"message","id":"b","parentId":null,"timestamp":"t","message":{"role":"user","content":"one"}}"#,
        "",
    ];
    dir.write("ahead.jsonl", ahead.join("\n").as_bytes());
    assert_eq!(said(&["validate", "ahead.jsonl"]).0, 0);
    assert_eq!(said(&["validate", "--fail-on", "warning", "ahead.jsonl"]).0, 1);
    assert_eq!(said(&["repair", "-o", "r.jsonl", "ahead.jsonl"]).0, 0);
    // A stream has no place for what repair would note of a new identifier.
    let twice = [
        r#"{"kind":"session","source":"pi@3","id":"s"}"#,
        r#"{"kind":"message","id":"a","parent":null,"role":"user","content":"one"}"#,
        r#"{"kind":"message","id":"a","parent":"b","role":"user","content":"two"}"#,
        "",
    ];
    dir.write("twice.jsonl", twice.join("\n").as_bytes());
    let (invalid, why) = said(&["validate", "twice.jsonl"]);
    let (code, told) = dir.said(&["repair", "--in-place", "twice.jsonl"]);
    assert_eq!((invalid, code), (1, 1), "{why}{told}");
    for found in ["CY0401", "CY0402"] {
        assert!(why.contains(found) && told.contains(found), "{why}{told}");
    }
    assert!(told.contains("beyond") && !told.contains("healthy"), "{told}");
    assert_eq!(read(&dir.path("twice.jsonl")), twice.join("\n").as_bytes());
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}"#;

fn torn(what: &str) -> Vec<u8> {
    format!("{HEADER}\n{{\"torn {what}").into_bytes()
}

/// Everything that stands in the quarantines of a folder.
fn set_aside(dir: &Dir, folder: &str) -> String {
    let names = std::fs::read_dir(dir.path(folder)).expect("a folder");
    let paths = names.map(|entry| entry.expect("an entry").path());
    let quarantines = paths.filter(|path| path.to_string_lossy().contains(".quarantine."));
    quarantines.map(|path| String::from_utf8(read(&path)).expect("text")).collect()
}

#[test]
fn what_is_set_aside_of_two_inputs_with_one_name_does_not_meet() {
    for force in [&[][..], &["--force"]] {
        for place in [&["--out-dir", "o"][..], &["--in-place"]] {
            let dir = Dir::new();
            dir.write("w/x.jsonl", &torn("one"));
            dir.write("w/x.ndjson", &torn("two"));
            let args = [&["repair"], place, force, &["w/x.jsonl", "w/x.ndjson"]].concat();
            let (code, said) = dir.exit(&args);
            assert_eq!(code, 0, "{args:?}: {said}");
            let folder = if place.len() == 2 { "o" } else { "w" };
            let all = set_aside(&dir, folder);
            assert!(all.contains("torn one") && all.contains("torn two"), "{args:?}: {all}");
        }
    }
}

#[test]
fn a_quarantine_takes_the_place_of_nothing_else() {
    let runs: [&[&str]; 4] = [
        &["repair", "--force", "--quarantine", "o.jsonl", "-o", "o.jsonl", "t.jsonl"],
        &["repair", "--force", "--quarantine", "./t.jsonl", "-o", "o.jsonl", "t.jsonl"],
        &["repair", "--in-place", "--force", "--quarantine", "t.jsonl.bak", "t.jsonl"],
        &["migrate", "--repair", "--force", "--quarantine", "o.jsonl", "-o", "o.jsonl", "t.jsonl"],
    ];
    for args in runs {
        let dir = Dir::new();
        dir.write("t.jsonl", &torn("it"));
        let (code, said) = dir.exit(args);
        assert!(code == 3 && said.contains("CY0702"), "{args:?}: {code} {said}");
        assert_eq!(dir.names(), ["t.jsonl"], "{args:?}");
        assert_eq!(read(&dir.path("t.jsonl")), torn("it"));
    }
}

#[test]
fn a_part_never_takes_the_place_of_another_input() {
    let dir = Dir::new();
    let whole = own("pi/v3/everything");
    dir.write("o/a.quarantine.jsonl", &whole);
    dir.write("i/a.jsonl", &torn("it"));
    let args = ["repair", "--force", "--out-dir", "o", "i/a.jsonl", "o/a.quarantine.jsonl"];
    dir.exit(&args);
    assert_eq!(read(&dir.path("o/a.quarantine.jsonl")), whole);
    assert!(set_aside(&dir, "o").contains("torn it"), "{:?}", dir.names());
    let dir = Dir::new();
    dir.write("n/first.jsonl", &own("pi/v1/feature-work"));
    dir.write("p/first.meta.json", b"{\"session_name\":\"first\"}");
    let to = ["convert", "--force", "-t", "agent-orchestrator", "--out-dir", "p"];
    let (_, said) = dir.exit(&[&to[..], &["n/first.jsonl", "p/first.meta.json"]].concat());
    assert_eq!(read(&dir.path("p/first.meta.json")), b"{\"session_name\":\"first\"}", "{said}");
}

#[test]
fn a_migration_in_place_repairs_what_is_at_its_version() {
    let dir = Dir::new();
    let whole = own("connectonion/v2/harbour");
    dir.write("whole.yaml", &whole);
    dir.write("torn.yaml", &whole[..whole.len() - 9]);
    let (code, said) = dir.exit(&["migrate", "--repair", "--in-place", "whole.yaml", "torn.yaml"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(read(&dir.path("whole.yaml")), whole);
    assert_eq!(read(&dir.path("torn.yaml.bak")), whole[..whole.len() - 9]);
    assert_eq!(dir.exit(&["validate", "torn.yaml"]).0, 0);
}

/// What is said of the repair of a file of turns that was cut in a message.
fn cut_in_a_message(dir: &Dir, name: &str, text: &[u8]) -> (i32, String) {
    dir.write(name, text);
    dir.exit(&["repair", "-n", name])
}

#[test]
fn of_a_file_of_turns_it_is_reported_what_was_put_in_and_what_was_set_aside() {
    let dir = Dir::new();
    let whole = own("connectonion/v2/harbour");
    let (code, said) = cut_in_a_message(&dir, "s.yaml", &whole[..900]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("CY0801]: torn record set aside: 5 bytes\n  |   too"), "{said}");
    let put = ["CY0857]: member added: system_prompt", "CY0857]: member added: messages"];
    assert!(put.iter().all(|put| said.contains(put)), "{said}");
    for role in ["turn 1: user", "turn 1: assistant", "turn 2: user"] {
        assert!(
            said.contains(&format!("CY0856]: message restored from its turn: {role}")),
            "{said}"
        );
    }
    // What stands nowhere in the file has no place there.
    assert!(!said.contains("s.yaml:0"), "{said}");
    // What helps is at work already.
    assert!(!said.contains("`copyist repair`"), "{said}");
}

#[test]
fn a_torn_text_in_utf_16_is_repaired_as_the_same_in_utf_8() {
    let dir = Dir::new();
    let text = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let text = text.replacen("content: ", "content: \u{1f30a} ", 1);
    let wide = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect()
    };
    let wave = text.find('\u{1f30a}').expect("a wave");
    for (unit, coding) in
        [(u16::to_le_bytes as fn(u16) -> [u8; 2], "utf-16le"), (u16::to_be_bytes, "utf-16be")]
    {
        let whole = wide(&text, unit);
        assert_eq!(cut_in_a_message(&dir, "whole.yaml", &whole).0, 0);
        // Before, in and behind a pair of surrogates, and in the middle of a unit.
        let pair = 2 + 2 * wave;
        for cut in [pair, pair + 1, pair + 2, pair + 3, pair + 4, 1800, 1801] {
            let narrow = String::from_utf16_lossy(
                &text.encode_utf16().take((cut - 2) / 2).collect::<Vec<_>>(),
            );
            let narrow = narrow.trim_end_matches('\u{fffd}');
            dir.write("n/cut.yaml", narrow.as_bytes());
            dir.write("w/cut.yaml", &whole[..cut]);
            assert_eq!(dir.exit(&["repair", "--force", "--out-dir", "on", "n/cut.yaml"]).0, 0);
            let (code, said) = dir.exit(&["repair", "--force", "--out-dir", "ow", "w/cut.yaml"]);
            assert_eq!(code, 0, "{coding} {cut}: {said}");
            let repaired = String::from_utf8(read(&dir.path("on/cut.yaml"))).expect("UTF-8");
            assert!(read(&dir.path("ow/cut.yaml")) == wide(&repaired, unit), "{coding} {cut}");
            assert_eq!(dir.exit(&["repair", "-n", "ow/cut.yaml"]).0, 0, "{coding} {cut}");
        }
        // What is no UTF-16 in the middle is not guessed at.
        let mut bad = whole.clone();
        bad[800..802].copy_from_slice(&unit(0xd800));
        let (code, said) = cut_in_a_message(&dir, "bad.yaml", &bad);
        assert!(code == 3 && said.contains("CY0864") && said.contains("iconv"), "{code} {said}");
    }
}

#[test]
fn every_byte_that_repair_takes_out_of_utf_16_is_set_aside() {
    let dir = Dir::new();
    let text = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let whole: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cut = &whole[..1803];
    dir.write("cut.yaml", cut);
    assert_eq!(dir.exit(&["repair", "-o", "new.yaml", "cut.yaml"]).0, 0);
    let new = read(&dir.path("new.yaml"));
    let kept = new.iter().zip(cut).take_while(|(new, old)| new == old).count();
    let quarantine = files(dir.root()).into_iter().find(|path| name(path).contains("quarantine"));
    let quarantine = String::from_utf8(read(&quarantine.expect("a quarantine"))).expect("UTF-8");
    let lines = quarantine.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut aside: Vec<serde_json::Value> = lines.collect();
    aside.sort_by_key(|line| line["offset"].as_u64());
    let lengths: Vec<_> = aside.iter().map(|line| line["length"].as_u64()).collect();
    assert_eq!(lengths, [Some(10), Some(1)], "{quarantine}");
    assert_eq!(kept + 11, cut.len());
    // "  too" in UTF-16, and the first byte of an "l".
    assert_eq!((&aside[0]["base64"], &aside[1]["text"]), (&"IAAgAHQAbwBvAA==".into(), &"l".into()));
}

#[test]
fn repair_counts_the_messages_that_context_prints() {
    let dir = Dir::new();
    let edited = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"one"}}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"two"}}"#,
        "\n",
        r#"{"type":"context_edit","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:00.000Z","targetId":"a","replacement":null}"#,
        "\n",
    );
    dir.write("edited.jsonl", edited.as_bytes());
    let mut inputs: Vec<_> = crate::common::own_inputs();
    inputs.push(dir.path("edited.jsonl"));
    for input in inputs {
        let input = input.to_str().expect("UTF-8");
        let printed = dir.run(&["context", input]).stdout;
        let printed: serde_json::Value = serde_json::from_slice(&printed).unwrap_or_default();
        let Some(messages) = printed["messages"].as_array() else { continue };
        let told = dir.run(&["repair", "-n", "--json", input]).stdout;
        let told = String::from_utf8(told).expect("UTF-8");
        let told = told.lines().map(serde_json::from_str::<serde_json::Value>);
        let told = told.map(|line| line.expect("JSON")["repair"].clone());
        let repair = told.into_iter().find(|repair| repair.is_object()).expect("a repair");
        assert_eq!(repair["messages"], messages.len(), "{input}: {repair}");
        assert_eq!(repair["messages_before"], messages.len(), "{input}: {repair}");
    }
}
