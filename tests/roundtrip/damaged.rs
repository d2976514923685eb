//! Converted files that were damaged: their origins bring back what is damaged, and nothing that was
//! deleted.

use super::origin::{SOURCE, converted};
use crate::common::{self, Dir, files, own, read};

/// Damages of a converted run, all of which the origin repairs.
#[test]
fn damage_is_not_deletion() {
    let damages: [(&str, &str); 6] = [
        ("\n  ]\n", "\n"),
        ("\nmessages: |\n", "\nmes\0sages: |\n"),
        ("\n  [\n", "\n"),
        ("\n  ]\n", "\n\0\0\0\n  ]\n# note\n"),
        ("{\"role\": \"assistant\"", "{\"role\": \0\"assistant\""),
        ("Nothing to do.", "Nothing\0"),
    ];
    for (old, new) in damages {
        let (dir, file) = converted(SOURCE, "connectonion@3");
        let text = String::from_utf8(read(&file)).expect("UTF-8");
        let damaged = text.replacen(old, new, 1);
        assert_ne!(text, damaged);
        std::fs::write(&file, &damaged).expect("a file");
        let (code, said) = dir.exit(&["repair", "-o", "mended.yaml", "there.yaml"]);
        assert_eq!(code, 0, "{old:?}: {said}");
        for (args, name) in [
            (&["convert", "-t", "pi@3", "-o", "a.jsonl", "mended.yaml"][..], "a.jsonl"),
            (&["convert", "--repair", "-t", "pi@3", "-o", "b.jsonl", "there.yaml"], "b.jsonl"),
            (&["convert", "-t", "pi@3", "-o", "c.jsonl", "there.yaml"], "c.jsonl"),
        ] {
            let (code, said) = dir.exit(args);
            // Some damage leaves no message that is read without repair.
            let unread = code == 3 || said.contains("CY0626");
            if unread && !args.contains(&"--repair") {
                assert!(said.contains("copyist repair"), "{old:?}: {said}");
                continue;
            }
            assert!(code <= 1, "{old:?}: {said}");
            let home = String::from_utf8(read(&dir.path(name))).expect("UTF-8");
            let source = String::from_utf8(own(SOURCE)).expect("UTF-8");
            assert_eq!(home, source, "{old:?} {name}: {said}");
        }
    }
}

/// Cases that are restored with a change: repair ends the last line, which the source does not.
const LOST: &[(&str, &str)] = &[("pi/v3/no-final-newline", "pi@1")];

#[test]
fn a_torn_target_is_restored_after_its_repair() {
    let cases = [
        "pi/v1/compacted",
        "pi/v1/feature-work",
        "pi/v2/branched",
        "pi/v3/bom",
        "pi/v3/everything",
        "pi/v3/no-final-newline",
        SOURCE,
        "connectonion/v1/quay",
        "connectonion/v2/harbour",
        "connectonion/v3/tides",
    ];
    let mut whole = 0;
    for case in cases {
        let source = own(case);
        let (format, version) = common::recognise(&source).expect("a known format");
        let home = format.at(version);
        for to in ["pi@1", "connectonion@2", "connectonion@3", "agent-orchestrator@2"] {
            if to == home {
                continue;
            }
            let dir = Dir::new();
            dir.write("in", &source);
            let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "there", "in"]);
            assert_eq!(code, 0, "{case} {to}: {said}");
            let mut written = files(&dir.path("there"));
            written.retain(|file| !file.to_string_lossy().ends_with(".meta.json"));
            let [file] = written.as_slice() else { panic!("{case} {to}: {written:?}") };
            let there = read(file);
            for part in [50, 80, 97] {
                std::fs::write(file, &there[..there.len() * part / 100]).expect("a file");
                let what = format!("{case} to {to}, {part} in 100");
                let mend = ["repair", "--force", "--out-dir", "mended", "there"];
                let (code, said) = dir.exit(&mend);
                assert_eq!(code, 0, "{what}: {said}");
                let back = ["convert", "--force", "-t", &home, "--out-dir", "home", "mended"];
                let (code, told) = dir.exit(&back);
                assert_eq!(code, 0, "{what}: {told}");
                let same = read(&files(&dir.path("home")).remove(0)) == source;
                assert!(same || LOST.contains(&(case, to)), "{what}: {said}\n{told}");
                whole += usize::from(same);
            }
        }
    }
    println!("{whole} torn targets came home whole");
    assert!(whole > 90, "{whole}");
}

/// One message is deleted, and the end is torn off: only the end comes back.
#[test]
fn a_deletion_stays_one_in_a_damaged_file() {
    let source = own("pi/v1/feature-work");
    let dir = Dir::new();
    dir.write("in.jsonl", &source);
    let there = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "there", "in.jsonl"];
    assert_eq!(dir.exit(&there).0, 0);
    let file = dir.path("there/in.jsonl");
    let text = String::from_utf8(read(&file)).expect("UTF-8");
    let mut lines: Vec<&str> = text.lines().collect();
    let answer = lines.iter().position(|line| line.contains("I'll look at how")).expect("it");
    lines.remove(answer);
    let kept = lines.join("\n");
    std::fs::write(&file, &kept.as_bytes()[..kept.len() * 9 / 10]).expect("a file");
    let (code, said) = dir.exit(&["repair", "--out-dir", "mended", "there"]);
    assert!(code == 0 && said.contains("CY0630"), "{code}: {said}");
    let (code, said) = dir.exit(&["convert", "-t", "pi@1", "--out-dir", "home", "mended"]);
    assert!(code == 0 && said.contains("CY06"), "{code}: {said}");
    let home = String::from_utf8(read(&dir.path("home/in.jsonl"))).expect("UTF-8");
    let source = String::from_utf8(source).expect("UTF-8");
    assert!(!home.contains("I'll look at how"), "{said}");
    assert_eq!(home.lines().last(), source.lines().last());
}
