//! What a run writes down lets another go on where it ended, and takes back what it did.

use crate::common::{self, Dir, Mount, own, read};
use serde_json::Value;
use std::fs;

const OLD: &str = "pi/v1/feature-work";
const NEW: &str = "pi/v3/everything";

/// Runs with a journal of this name.
fn migrate<'a>(journal: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["migrate", "-v", "--journal", journal], more].concat()
}

fn three(dir: &Dir) {
    for name in ["a", "b/c", "d"] {
        dir.copy(OLD, &format!("in/{name}.jsonl"));
    }
}

/// The lines of a journal.
fn lines(dir: &Dir, journal: &str) -> Vec<Value> {
    let text = String::from_utf8(read(&dir.path(journal))).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn it_has_an_entry_for_each_input() {
    let dir = Dir::new();
    three(&dir);
    dir.copy(NEW, "in/e.jsonl");
    dir.write("in/f.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n{\"type\":\n");
    dir.write("in/notes.txt", b"no session");
    let args = migrate("j", &["--in-place", "in"]);
    assert_eq!(dir.exit(&args).0, 3);
    let lines = lines(&dir, "j");
    let [header, entries @ ..] = lines.as_slice() else { panic!("no header") };
    assert_eq!(header["copyist"], "journal");
    assert_eq!(header["version"], 1);
    assert_eq!(header["command"], "migrate");
    let told = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().expect("text").to_owned();
        (text("path"), text("outcome"), entry["exit"].as_u64().expect("a number"))
    };
    let mut all: Vec<_> = entries.iter().map(told).collect();
    all.sort();
    let entry = |path: &str, outcome: &str, exit| (path.to_owned(), outcome.to_owned(), exit);
    assert_eq!(
        all,
        [
            entry("a.jsonl", "migrated", 0),
            entry("b/c.jsonl", "migrated", 0),
            entry("d.jsonl", "migrated", 0),
            entry("e.jsonl", "unchanged", 0),
            entry("f.jsonl", "failed", 3),
        ]
    );
    let first = entries.iter().find(|entry| entry["path"] == "a.jsonl").expect("there");
    let output = &first["outputs"][0];
    let now = read(&dir.path("in/a.jsonl"));
    assert_eq!(output["hash"], blake3::hash(&now).to_hex().to_string());
    assert_eq!(output["size"], now.len());
    assert_eq!(output["backup"], "a.jsonl.bak");
    assert_eq!(first["files"][0]["size"], own(OLD).len());
}

#[test]
fn a_resumed_run_does_the_rest() {
    for way in [&["--in-place"][..], &["--out-dir", "out"]] {
        let dir = Dir::new();
        three(&dir);
        dir.write("in/f.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n{\"type\":\n");
        let args = migrate("j", &[way, &["in"]].concat());
        assert_eq!(dir.exit(&args).0, 3);
        let (code, said) = dir.exit(&args);
        assert!(code == 2 && said.contains("--resume"), "{said}");
        let resume = [&args[..], &["--resume"]].concat();
        // A failed one is done anew; a new one, too.
        dir.copy(OLD, "in/g.jsonl");
        let before = dir.names();
        let (code, said) = dir.exit(&resume);
        assert!(code == 3 && said.contains("1 migrated") && said.contains("3 done"), "{said}");
        assert!(said.contains("1 failed"), "{said}");
        assert_eq!(dir.names().len(), before.len() + 1);
        dir.copy(OLD, "in/f.jsonl");
        let (code, said) = dir.exit(&resume);
        assert!(code == 0 && said.contains("1 migrated") && said.contains("4 done"), "{said}");
        let (code, said) = dir.exit(&resume);
        assert!(code == 0 && said.contains("5 done\n"), "{said}");
    }
}

#[test]
fn a_changed_input_or_output_is_redone() {
    let dir = Dir::new();
    three(&dir);
    let out = migrate("j", &["--force", "--out-dir", "out", "in", "--resume"]);
    assert_eq!(dir.exit(&out).0, 0);
    dir.write(
        "in/a.jsonl",
        &[own(OLD), b"{\"type\":\"event\",\"timestamp\":\"t\"}\n".to_vec()].concat(),
    );
    fs::remove_file(dir.path("out/d.jsonl")).expect("it is there");
    let (code, said) = dir.exit(&out);
    assert!(code == 0 && said.contains("2 migrated") && said.contains("1 done"), "{said}");
    assert_eq!(said.matches("CY0710").count(), 2, "{said}");
    assert_eq!(dir.path("out").read_dir().expect("a folder").count(), 3);
    let in_place = migrate("k", &["--in-place", "in", "--resume"]);
    assert_eq!(dir.exit(&in_place).0, 0);
    // Somebody put the original of one back, and went on with another.
    fs::copy(dir.path("in/d.jsonl.bak"), dir.path("in/d.jsonl")).expect("room");
    let (code, said) = dir.exit(&in_place);
    assert!(code == 0 && said.contains("1 migrated") && said.contains("2 done"), "{said}");
}

#[test]
fn another_run_is_not_taken_for_the_same() {
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--out-dir", "out", "in"])).0, 0);
    let others: &[&[&str]] = &[
        &["migrate", "--to", "pi@2", "--out-dir", "out", "in"],
        &["migrate", "--out-dir", "elsewhere", "in"],
        &["migrate", "--in-place", "in"],
        &["convert", "-t", "canonical", "--out-dir", "out", "in"],
        &["migrate", "--out-dir", "out", "."],
    ];
    for other in others {
        let (code, said) = dir.exit(&[other, &["--journal", "j", "--resume"][..]].concat());
        assert!(code == 2 && said.contains("it belongs to"), "{other:?}: {said}");
    }
    // Less is the same, below the folder that it was.
    let less = migrate("j", &["--out-dir", "out", "in", "--resume", "--exclude", "b/"]);
    let (code, said) = dir.exit(&less);
    assert!(code == 0 && said.contains("2 done"), "{said}");
    let cases: &[&[&str]] = &[
        &["migrate", "--journal", "k", "-o", "-", "in/a.jsonl"],
        &["migrate", "--journal", "k", "-n", "--out-dir", "out", "in"],
        &["migrate", "--journal", "k", "-o", "x", "-"],
        &["migrate", "--journal", "in/a.jsonl", "--resume", "--out-dir", "out", "in"],
        &["migrate", "--resume", "--out-dir", "out", "in"],
    ];
    let before = read(&dir.path("in/a.jsonl"));
    for case in cases {
        assert_eq!(dir.exit(case).0, 2, "{case:?}");
    }
    assert_eq!(read(&dir.path("in/a.jsonl")), before);
    assert!(!dir.path("k").exists());
}

#[test]
fn no_output_takes_the_place_of_the_journal() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    let (code, said) = dir.exit(&migrate("j", &["--force", "-o", "j", "a.jsonl"]));
    assert!(code == 3 && said.contains("CY0702"), "{said}");
    assert_eq!(lines(&dir, "j").len(), 2);
}

#[test]
fn a_torn_end_does_no_harm() {
    let dir = Dir::new();
    three(&dir);
    let args = migrate("j", &["--in-place", "in", "--resume"]);
    assert_eq!(dir.exit(&args).0, 0);
    let whole = read(&dir.path("j"));
    let done = read(&dir.path("in/a.jsonl"));
    for (cut, tail) in [(whole.len() - 9, &b""[..]), (whole.len(), b"\0\0\0\0"), (40, b"")] {
        dir.write("j", &[&whole[..cut], tail].concat());
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        assert_eq!(read(&dir.path("in/a.jsonl")), done);
        assert!(read(&dir.path("j")).ends_with(b"}\n"));
        assert_eq!(lines(&dir, "j").len(), 4, "{said}");
    }
    let mut holed = whole.clone();
    let second = holed.iter().position(|b| *b == b'\n').expect("a line") + 1;
    holed[second..second + 5].fill(0);
    dir.write("j", &holed);
    let (code, said) = dir.exit(&args);
    assert!(code == 0 && said.contains("1 line cannot be read"), "{said}");
}

#[test]
fn a_journal_in_a_walked_folder_is_no_input() {
    let dir = Dir::new();
    three(&dir);
    for command in ["in/j.jsonl", "in/j"] {
        let args = migrate(command, &["--in-place", "in", "--resume"]);
        assert_eq!(dir.exit(&args).0, 0);
    }
    assert_eq!(dir.exit(&["validate", "in"]).0, 0);
}

#[test]
fn undo_puts_the_originals_back() {
    let dir = Dir::new();
    three(&dir);
    let before = dir.names();
    let args = migrate("j", &["--in-place", "in"]);
    assert_eq!(dir.exit(&args).0, 0);
    assert_eq!(dir.names().len(), 7);
    let (code, said) = dir.exit(&["undo", "-n", "j"]);
    assert!(code == 0 && said.contains("3 restored") && said.contains("nothing written"), "{said}");
    assert_eq!(dir.names().len(), 7);
    for what in ["3 restored", "3 done"] {
        let (code, said) = dir.exit(&["undo", "j"]);
        assert!(code == 0 && said.contains(what), "{said}");
        let now: Vec<_> = dir.names().into_iter().filter(|name| name != "j").collect();
        assert_eq!(now, before);
        for name in &now {
            assert_eq!(read(&dir.path(name)), own(OLD), "{name}");
        }
    }
    // The same again, and back again.
    assert_eq!(dir.exit(&[&args[..], &["--resume"]].concat()).0, 0);
    let (code, said) = dir.exit(&["undo", "j", "--report", "r.json"]);
    assert!(code == 0 && said.contains("3 restored"), "{said}");
}

#[test]
fn undo_leaves_alone_what_is_no_longer_what_it_was() {
    let dir = Dir::new();
    for name in ["a", "b", "c", "d"] {
        dir.copy(OLD, &format!("in/{name}.jsonl"));
    }
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    let changed = dir.write("in/a.jsonl", b"a person's");
    dir.write("in/b.jsonl.bak", b"a person's");
    fs::remove_file(dir.path("in/c.jsonl.bak")).expect("it is there");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 3 && said.contains("1 restored, 3 failed"), "{said}");
    assert_eq!(said.matches("CY0711").count(), 3, "{said}");
    assert_eq!(read(&changed), b"a person's");
    assert_eq!(read(&dir.path("in/a.jsonl.bak")), own(OLD));
    assert_eq!(read(&dir.path("in/b.jsonl.bak")), b"a person's");
    assert_eq!(read(&dir.path("in/d.jsonl")), own(OLD));
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "--no-backup", "in"])).0, 0);
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 3 && said.contains("CY0712"), "{said}");
    assert_eq!(dir.exit(&migrate("k", &["--out-dir", "out", "in"])).0, 0);
    assert_eq!(dir.exit(&["undo", "k"]).0, 2);
    assert_eq!(dir.exit(&["undo", "in/a.jsonl"]).0, 2);
}

#[cfg(unix)]
#[test]
fn undo_does_not_leave_the_folder_of_the_run() {
    let dir = Dir::new();
    dir.copy(OLD, "in/a.jsonl");
    dir.copy(OLD, "out/a.jsonl");
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in/a.jsonl"])).0, 0);
    let journal = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
    let before = read(&dir.path("in/a.jsonl"));
    fs::write(dir.path("out/a.jsonl"), &before).expect("room");
    fs::rename(dir.path("in/a.jsonl.bak"), dir.path("out/a.jsonl.bak")).expect("a name");
    std::os::unix::fs::symlink(dir.path("out"), dir.path("in/link")).expect("a link");
    let full = dir.path("out/a.jsonl").display().to_string();
    for path in ["../out/a.jsonl", "link/a.jsonl", &full] {
        let edited = journal.replace("\"a.jsonl", &format!("\"{path}"));
        dir.write("k", edited.as_bytes());
        let (code, said) = dir.exit(&["undo", "k"]);
        assert!(code == 3 && said.contains("CY0713"), "{path}: {said}");
        assert_eq!(read(&dir.path("out/a.jsonl")), before);
    }
    fs::rename(dir.path("in"), dir.path("moved")).expect("a name");
    assert_eq!(dir.exit(&["undo", "j"]).0, 2);
}

#[test]
fn repair_and_convert_keep_journals_too() {
    let dir = Dir::new();
    let torn = own(OLD);
    dir.write("in/a.jsonl", &torn[..torn.len() - 20]);
    let repair = ["repair", "--in-place", "--journal", "j", "in"];
    assert_eq!(dir.exit(&repair).0, 0);
    assert_eq!(dir.exit(&["undo", "j"]).0, 0);
    assert_eq!(read(&dir.path("in/a.jsonl")), torn[..torn.len() - 20]);
    let convert = [
        "convert",
        "-t",
        "canonical",
        "--on-error",
        "keep",
        "--out-dir",
        "out",
        "--journal",
        "k",
        "in",
    ];
    let first = dir.exit(&convert).0;
    // What an earlier run found still counts.
    let (code, said) = dir.exit(&[&convert[..], &["--resume"]].concat());
    assert!(code == first && said.contains("1 done"), "{first} {code}: {said}");
}

#[test]
fn a_full_disk_in_the_middle_loses_nothing_and_the_rest_follows() {
    const FILES: usize = 60;
    let new = common::migrated(&own(OLD), "pi@3", &copyist::format::Options::default());
    let new = new.0.expect("a session");
    for journal in ["j", "full/j"] {
        let dir = Dir::new();
        let mount = match Mount::new(&dir, "full", "1200k") {
            Ok(mount) => mount,
            Err(why) => return eprintln!("SKIP a full disk in the middle: {why}"),
        };
        for n in 0..FILES {
            dir.copy(OLD, &format!("full/in/{n}.jsonl"));
        }
        let args = ["migrate", "--in-place", "--journal", journal, "--resume", "full/in"];
        let (code, said) = dir.exit(&args);
        assert!(code == 4 && said.contains("No space left"), "{code} {said}");
        // What is still to come would find no room either, and need not be read to see that.
        assert!(
            said.contains("the disk is full") && said.contains("with `--resume` to continue"),
            "{said}"
        );
        assert!(said.matches("No space left").count() < FILES / 2, "{said}");
        let now = |n: usize| read(&dir.path(&format!("full/in/{n}.jsonl")));
        assert!((0..FILES).all(|n| now(n) == own(OLD) || now(n) == new));
        mount.grow("8m");
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        assert!((0..FILES).all(|n| now(n) == new));
        assert_eq!(dir.exit(&["undo", journal]).0, 0);
        assert!((0..FILES).all(|n| now(n) == own(OLD)));
        assert_eq!(common::files(&dir.path("full/in")).len(), FILES);
    }
}

#[test]
fn a_run_that_is_refused_leaves_the_journal_as_it_is() {
    let dir = Dir::new();
    three(&dir);
    let args = migrate("j", &["--in-place", "in"]);
    assert_eq!(dir.exit(&args).0, 0);
    let text = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
    let last = text.trim_end().rfind('\n').expect("a line") + 1;
    let spoiled = format!("{}X{}", &text[..last], &text[last..]);
    dir.write("j", spoiled.as_bytes());
    assert_eq!(dir.exit(&args).0, 2);
    assert_eq!(read(&dir.path("j")), spoiled.as_bytes());
    // A line that cannot be read stays for whoever can, also where a run goes on.
    let (code, said) = dir.exit(&[&args[..], &["--resume"]].concat());
    assert!(code == 0 && said.contains("1 line cannot be read"), "{said}");
    assert!(read(&dir.path("j")).starts_with(spoiled.as_bytes()));
    let torn = format!("{text}{{\"path\":");
    dir.write("j", torn.as_bytes());
    assert_eq!(dir.exit(&args).0, 2);
    assert_eq!(read(&dir.path("j")), torn.as_bytes());
}

#[test]
fn a_header_alone_refuses_nobody() {
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    let text = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
    let header = &text[..text.find('\n').expect("a line") + 1];
    dir.write("j", header.as_bytes());
    let (code, said) = dir.exit(&migrate("j", &["--out-dir", "o", "in"]));
    assert_eq!(code, 0, "{said}");
    assert!(lines(&dir, "j")[0]["settings"].as_str().expect("text").contains("--out-dir"));
    assert_eq!(lines(&dir, "j").len(), 4);
}

#[test]
fn undo_removes_what_the_run_added() {
    let orchard = common::testdata().join("agent-orchestrator/v2/orchard/in/orchard.jsonl");
    let log = [read(&orchard), b"{\"type\":\n".to_vec()].concat();
    let dir = Dir::new();
    let begin = || {
        dir.write("in/orchard.jsonl", &log);
        let (code, said) = dir.exit(&["repair", "--in-place", "--journal", "j", "in", "--resume"]);
        assert!(code == 0 && dir.path("in/orchard.meta.json").exists(), "{said}");
    };
    begin();
    let (code, said) = dir.exit(&["undo", "-n", "j"]);
    assert!(code == 0 && said.contains("1 restored, 1 removed, nothing written"), "{said}");
    assert!(dir.path("in/orchard.meta.json").exists());
    dir.write("in/.copyist-7-aB3dE6.tmp", b"half");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 0 && said.ends_with("1 restored, 1 removed\n"), "{said}");
    // What was set aside stays; what a killed run left does not.
    let names = ["in/orchard.jsonl", "in/orchard.quarantine.jsonl", "j"];
    assert_eq!(dir.names(), names);
    assert_eq!(read(&dir.path("in/orchard.jsonl")), log);
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 0 && said.ends_with("2 done\n"), "{said}");
    let dir = Dir::new();
    dir.write("in/orchard.jsonl", &log);
    let repair =
        ["repair", "--in-place", "--journal", "j", "--quarantine", "in/q", "in/orchard.jsonl"];
    assert_eq!(dir.exit(&repair).0, 0);
    dir.write("in/orchard.meta.json", b"{}");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 3 && said.contains("the run added it"), "{said}");
    assert!(dir.path("in/q").exists() && dir.path("in/orchard.meta.json").exists());
}

#[test]
fn undo_reports_why_an_original_is_not_put_back() {
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77);
    let backup = fs::File::options().write(true).open(dir.path("in/a.jsonl.bak")).expect("there");
    backup.set_modified(later).expect("a time");
    fs::remove_file(dir.path("in/d.jsonl")).expect("it is there");
    dir.write("in/b/.copyist-7-aB3dE6.tmp", b"half");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("has another time than in the journal"), "{said}");
    assert!(said.contains("it is gone, removed or renamed; the original is"), "{said}");
    assert!(said.contains("d.jsonl.bak"), "{said}");
    assert!(said.contains("1 restored, 2 failed"), "{said}");
    // What a killed run left goes, too.
    assert!(!dir.path("in/b/.copyist-7-aB3dE6.tmp").exists());
}

/// Migrates `in/a.jsonl` twice, and writes the journal `j` of both runs as one that was resumed.
fn changed_twice(dir: &Dir) {
    dir.copy(OLD, "in/a.jsonl");
    for to in ["pi@2", "pi@3"] {
        let args = ["migrate", "--to", to, "--in-place", "--journal", to, "in"];
        assert_eq!(dir.exit(&args).0, 0);
    }
    let (two, three) = (read(&dir.path("pi@2")), read(&dir.path("pi@3")));
    let second = three.iter().position(|b| *b == b'\n').expect("a line") + 1;
    dir.write("j", &[&two[..], &three[second..]].concat());
}

#[test]
fn undo_compares_contents_where_the_journal_knows_them() {
    let dir = Dir::new();
    changed_twice(&dir);
    let backup = dir.path("in/a.jsonl.bak.2");
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77);
    fs::File::options().write(true).open(backup).expect("there").set_modified(later).expect("set");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 0 && said.ends_with("1 restored\n"), "{said}");
    assert_eq!(read(&dir.path("in/a.jsonl")), own(OLD));
}

#[test]
fn a_run_that_cannot_begin_leaves_no_journal() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    dir.copy(OLD, "in/a.jsonl");
    let cases: &[&[&str]] = &[
        &["--session", "nope", "-o", "x", "a.jsonl"],
        &["-o", "x", "--report", "a.jsonl", "a.jsonl"],
        &["-o", "x", "--report", "none/r", "a.jsonl"],
        &["-o", "x", "--report", "j", "a.jsonl"],
    ];
    for case in cases {
        let (code, said) = dir.exit(&migrate("j", case));
        assert_eq!(code, 2, "{case:?}: {said}");
        assert!(!dir.path("j").exists(), "{case:?}");
    }
    assert_eq!(dir.exit(&migrate("-", &["-o", "x", "a.jsonl"])).0, 2);
    assert_eq!(dir.names(), ["a.jsonl", "in/a.jsonl"]);
}

#[test]
fn undo_finds_a_folder_that_was_moved() {
    let dir = Dir::new();
    three(&dir);
    let names = dir.names();
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    fs::rename(dir.path("in"), dir.path("moved")).expect("a new name");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 2 && said.contains("`--root FOLDER`"), "{code} {said}");
    // Only what the journal says is there is touched.
    three(&dir);
    let (code, said) = dir.exit(&["undo", "j", "--root", "in"]);
    assert!(code == 3 && said.contains("3 failed"), "{said}");
    fs::remove_dir_all(dir.path("in")).expect("a folder");
    let changed = [read(&dir.path("moved/d.jsonl")), b"\n".to_vec()].concat();
    dir.write("moved/d.jsonl", &changed);
    let (code, said) = dir.exit(&["undo", "j", "--root", "moved", "-n"]);
    assert!(code == 3 && said.contains("2 restored, 1 failed"), "{said}");
    dir.write("moved/d.jsonl", &changed[..changed.len() - 1]);
    let (code, said) = dir.exit(&["undo", "j", "--root", "./moved"]);
    assert!(code == 0 && said.contains("3 restored"), "{said}");
    fs::rename(dir.path("moved"), dir.path("in")).expect("the old name");
    let left: Vec<_> = dir.names().into_iter().filter(|name| name != "j").collect();
    assert_eq!(left, names);
    assert!(names.iter().all(|name| read(&dir.path(name)) == own(OLD)));
    let (code, said) = dir.exit(&["undo", "j", "--root", "nowhere"]);
    assert!(code == 2 && said.contains("nowhere"), "{said}");
}

#[test]
fn undo_gives_no_advice_that_cannot_be_followed() {
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    fs::remove_file(dir.path("in/a.jsonl.bak")).expect("it is there");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 3 && said.contains("a.jsonl.bak is gone"), "{said}");
    assert!(!said.contains("rename"), "{said}");
}

#[test]
fn a_torn_last_line_is_reported_by_undo_and_by_a_run_that_goes_on() {
    let dir = Dir::new();
    three(&dir);
    let args = migrate("j", &["--in-place", "in", "--resume"]);
    let (code, said) = dir.exit(&args);
    assert!(code == 0 && !said.contains("torn"), "{said}");
    let whole = read(&dir.path("j"));
    let torn = |cut: usize| dir.write("j", &whole[..cut]);
    torn(whole.len() - 9);
    let (code, said) = dir.exit(&args);
    assert!(code == 0 && said.contains("its last line is torn"), "{said}");
    assert!(!dir.exit(&args).1.contains("torn"), "it is cut off");
    torn(whole.len() - 9);
    for args in [&["undo", "-n", "j"][..], &["undo", "j"]] {
        let (_, said) = dir.exit(args);
        assert!(said.contains("its last line is torn"), "{args:?}: {said}");
    }
    torn(40);
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 0 && said.contains("its last line is torn"), "{said}");
    dir.write("j", &whole);
    assert!(!dir.exit(&["undo", "-n", "j"]).1.contains("torn"));
}

/// Names of the files of a folder that are originals which a run kept.
fn originals(dir: &Dir) -> Vec<String> {
    dir.names().into_iter().filter(|name| name.contains(".bak")).collect()
}

#[test]
fn clean_removes_the_originals_of_a_good_run_and_undo_reports_that() {
    let dir = Dir::new();
    three(&dir);
    dir.write("in/notes.jsonl.bak", b"another program's");
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    assert_eq!(originals(&dir).len(), 4);
    // The same again after an undo has originals of the same names.
    assert_eq!(dir.exit(&["undo", "j"]).0, 0);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in", "--resume"])).0, 0);
    assert_eq!(originals(&dir).len(), 4);
    let journal = read(&dir.path("j"));
    let (code, said) = dir.said(&["clean", "-n", "j"]);
    let size = 3 * own(OLD).len();
    let size = format!("{:.0} kB", size as f64 / 1000.0);
    assert!(code == 0 && said.contains("would be removed"), "{said}");
    assert!(said.ends_with(&format!("3 removed; {size}, nothing written\n")), "{said} {size}");
    assert_eq!(originals(&dir).len(), 4);
    let (code, said) = dir.exit(&["clean", "j", "--report", "r.json"]);
    assert!(code == 0 && said.ends_with(&format!("3 removed; {size}\n")), "{said}");
    let report: Value = serde_json::from_slice(&read(&dir.path("r.json"))).expect("JSON");
    assert_eq!(report["summary"]["freed"], 3 * own(OLD).len());
    assert_eq!(report["inputs"][0]["freed"], own(OLD).len());
    assert_eq!(originals(&dir), ["in/notes.jsonl.bak"]);
    assert_eq!(read(&dir.path("j")), journal);
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 0 && said.ends_with("3 done\n"), "{said}");
    let (code, said) = dir.exit(&["undo", "j"]);
    assert!(code == 3 && said.contains("3 failed"), "{said}");
    let gone = "a.jsonl.bak is gone; `copyist clean` or a user removed it";
    assert!(said.contains(gone), "{said}");
    assert!(dir.exit(&migrate("j", &["--in-place", "in", "--resume"])).1.contains("3 done"));
}

#[test]
fn clean_keeps_every_original_that_may_be_needed() {
    let dir = Dir::new();
    for name in ["a", "b", "c", "d"] {
        dir.copy(OLD, &format!("in/{name}.jsonl"));
    }
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in"])).0, 0);
    let longer = [read(&dir.path("in/a.jsonl")), b"{}\n".to_vec()].concat();
    dir.write("in/a.jsonl", &longer);
    dir.write("in/b.jsonl.bak", b"a person's");
    fs::remove_file(dir.path("in/c.jsonl")).expect("it is there");
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 1 && said.contains("1 removed, 3 kept"), "{said}");
    assert_eq!(said.matches("CY0732").count(), 3, "{said}");
    assert_eq!(originals(&dir), ["in/a.jsonl.bak", "in/b.jsonl.bak", "in/c.jsonl.bak"]);
    assert_eq!(read(&dir.path("in/a.jsonl")), longer);
    // A run with findings keeps the original of the file that has them.
    let dir = Dir::new();
    let lines = [own(OLD), b"{\"type\":\n".to_vec()].concat();
    dir.write("in/a.jsonl", &lines);
    dir.copy(OLD, "in/b.jsonl");
    let args = migrate("j", &["--in-place", "--on-error", "keep", "in"]);
    assert_eq!(dir.exit(&args).0, 1);
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 1 && said.contains("1 removed, 1 kept"), "{said}");
    assert!(said.contains("reported a warning or an error for the file"), "{said}");
    assert_eq!(originals(&dir), ["in/a.jsonl.bak"]);
    // A run that writes elsewhere, or keeps nothing, has no originals.
    assert_eq!(dir.exit(&migrate("k", &["--out-dir", "out", "--on-error", "keep", "in"])).0, 1);
    let (code, said) = dir.exit(&["clean", "k"]);
    assert!(code == 2 && said.contains("kept no originals"), "{said}");
    let dir = Dir::new();
    three(&dir);
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "--no-backup", "in"])).0, 0);
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 0 && said.contains("names no original"), "{said}");
}

#[test]
fn clean_follows_a_file_that_the_run_changed_twice() {
    let dir = Dir::new();
    changed_twice(&dir);
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 0 && said.contains("2 removed"), "{said}");
    assert!(originals(&dir).is_empty());
    // A command that was killed in the middle had removed the last original.
    let dir = Dir::new();
    changed_twice(&dir);
    fs::remove_file(dir.path("in/a.jsonl.bak.2")).expect("it is there");
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 0 && said.contains("1 removed, 1 done") || said.contains("1 done, 1 removed"));
    assert!(originals(&dir).is_empty());
    // The same, but the file was changed since.
    let dir = Dir::new();
    changed_twice(&dir);
    fs::remove_file(dir.path("in/a.jsonl.bak.2")).expect("it is there");
    dir.write("in/a.jsonl", b"a person's");
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 1 && said.contains("1 kept"), "{said}");
    assert_eq!(originals(&dir), ["in/a.jsonl.bak"]);
    // A user changed the file between both changes.
    let dir = Dir::new();
    changed_twice(&dir);
    let journal = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
    let mut lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines[1]["outputs"][0]["size"] = 7.into();
    let edited: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let header = journal.lines().next().expect("a header");
    dir.write("j", [&[format!("{header}\n")], &edited[1..]].concat().concat().as_bytes());
    let (code, said) = dir.exit(&["clean", "j"]);
    assert!(code == 1 && said.contains("1 removed, 1 kept"), "{said}");
    assert_eq!(originals(&dir), ["in/a.jsonl.bak"]);
}

#[cfg(unix)]
#[test]
fn clean_does_not_leave_the_folder_of_the_run() {
    let dir = Dir::new();
    dir.copy(OLD, "in/a.jsonl");
    assert_eq!(dir.exit(&migrate("j", &["--in-place", "in/a.jsonl"])).0, 0);
    dir.write("out/a.jsonl", &read(&dir.path("in/a.jsonl")));
    fs::rename(dir.path("in/a.jsonl.bak"), dir.path("out/a.jsonl.bak")).expect("a name");
    std::os::unix::fs::symlink(dir.path("out"), dir.path("in/link")).expect("a link");
    let journal = String::from_utf8(read(&dir.path("j"))).expect("UTF-8");
    for path in ["../out/a.jsonl", "link/a.jsonl"] {
        dir.write("k", journal.replace("\"a.jsonl", &format!("\"{path}")).as_bytes());
        let (code, said) = dir.exit(&["clean", "k"]);
        assert!(code == 3 && said.contains("CY0713"), "{path}: {said}");
    }
    // An original has the name of its file, with an ending.
    dir.write("in/precious.jsonl", &own(OLD));
    dir.write("k", journal.replace("a.jsonl.bak", "precious.jsonl").as_bytes());
    let (code, said) = dir.exit(&["clean", "k"]);
    assert!(code == 3 && said.contains("CY0713"), "{said}");
    assert!(dir.path("in/precious.jsonl").exists() && dir.path("out/a.jsonl.bak").exists());
}
