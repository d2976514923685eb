//! A run that goes on where another ended works on what has come since, and leaves alone what is
//! done.

use crate::common::{self, Dir, own, read};

const OLD: &str = "pi/v1/feature-work";

/// Runs it with a journal, twice: the second time it goes on.
fn twice(dir: &Dir, args: &[&str], between: impl FnOnce()) -> (i32, String) {
    let first = [args, &["--journal", "j"]].concat();
    let (code, said) = dir.exit(&first);
    assert_eq!(code, 0, "{said}");
    between();
    dir.exit(&[&first[..], &["--resume", "-v", "--force"]].concat())
}

#[test]
fn a_run_that_a_session_got_since_is_not_taken_for_done() {
    const RUN: &str = "3f0c5a52-9d0e-4c0a-8f3e-0b7f6f1c2d11";
    const OTHER: &str = "4f0c5a52-9d0e-4c0a-8f3e-0b7f6f1c2d11";
    let dir = Dir::new();
    let day = "home/sessions/2026/09/14";
    dir.copy("codelia/v1/lamp", &format!("{day}/{RUN}.jsonl"));
    dir.copy("codelia/v1/state", "home/sessions/state/b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22.json");
    let args = ["convert", "-t", "canonical", "--out-dir", "o", "home"];
    let second = String::from_utf8(own("codelia/v1/lamp")).expect("UTF-8").replace(RUN, OTHER);
    let (_, said) = twice(&dir, &args, || {
        dir.write(&format!("{day}/{OTHER}.jsonl"), second.as_bytes());
    });
    assert!(said.contains("1 converted") && said.contains("CY0710"), "{said}");
}

#[test]
fn a_file_beside_it_that_came_since_is_not_taken_for_read() {
    let pair = common::files(&common::testdata().join("agent-orchestrator/v2/orchard/in"));
    let dir = Dir::new();
    let place = |dir: &Dir, ending: &str| {
        let file = pair.iter().find(|file| common::name(file).ends_with(ending)).expect("a file");
        dir.write(&format!("in/orchard{ending}"), &read(file));
    };
    place(&dir, ".jsonl");
    let args = ["convert", "-t", "canonical", "--out-dir", "o", "in"];
    let (_, said) = twice(&dir, &args, || place(&dir, ".meta.json"));
    assert!(said.contains("1 converted") && said.contains("CY0710"), "{said}");
    let (code, said) = dir.exit(&[&args[..], &["--journal", "j", "--resume", "--force"]].concat());
    assert!(code == 0 && said.contains("1 done"), "{said}");
    // What a repair puts beside a log is no news.
    let dir = Dir::new();
    place(&dir, ".jsonl");
    let (code, said) = twice(&dir, &["repair", "--in-place", "in"], || {});
    assert!(dir.path("in/orchard.meta.json").exists());
    assert!(code == 0 && said.contains("1 done"), "{said}");
    // But metadata that a script wrote later are.
    let dir = Dir::new();
    place(&dir, ".jsonl");
    let (_, said) = twice(&dir, &["repair", "--in-place", "in"], || {
        place(&dir, ".meta.json");
    });
    assert!(said.contains("CY0710"), "{said}");
}

#[test]
fn a_session_that_an_agent_got_since_is_joined_too() {
    let one = String::from_utf8(own("connectonion/v1/quay")).expect("UTF-8");
    let later = |time: &str| one.replacen("2025-12-02 09:14:55", time, 1).into_bytes();
    let dir = Dir::new();
    dir.write("in/a.yaml", one.as_bytes());
    dir.write("in/b.yaml", &later("2025-12-03 09:14:55"));
    let args = ["convert", "-t", "canonical", "--join", "agent", "--out-dir", "o", "in"];
    let (_, said) = twice(&dir, &args, || {
        dir.write("in/c.yaml", &later("2025-12-04 09:14:55"));
    });
    assert!(said.contains("1 converted") && said.contains("CY0710"), "{said}");
    let plain =
        ["convert", "-t", "canonical", "--out-dir", "o", "--journal", "j", "--resume", "in"];
    let (code, said) = dir.exit(&plain);
    assert!(code == 2 && said.contains("--join agent"), "{said}");
}

#[test]
fn an_output_that_is_done_keeps_its_name() {
    let dir = Dir::new();
    let session = |name: &str| {
        let text = String::from_utf8(own(OLD)).expect("UTF-8");
        dir.write(&format!("{name}/session.jsonl"), format!("{text}\n").as_bytes())
    };
    let (_, c) = (session("b"), dir.copy("pi/v1/compacted", "c/session.jsonl"));
    let args = |inputs: &[&'static str]| {
        [&["migrate", "--out-dir", "o", "--journal", "j"][..], inputs].concat()
    };
    let old = args(&["b/session.jsonl", "c/session.jsonl"]);
    assert_eq!(dir.exit(&old).0, 0);
    let before = [read(&dir.path("o/session.jsonl")), read(&dir.path("o/session-2.jsonl"))];
    dir.copy("pi/v1/first-generation", "a/session.jsonl");
    let inputs = ["a/session.jsonl", "b/session.jsonl", "c/session.jsonl"];
    let more = [&args(&inputs)[..], &["--resume", "--force"]].concat();
    let (code, said) = dir.exit(&more);
    assert!(code == 0 && said.contains("1 migrated, 2 done"), "{said}");
    let now = [read(&dir.path("o/session.jsonl")), read(&dir.path("o/session-2.jsonl"))];
    assert_eq!(now, before);
    assert!(dir.path("o/session-3.jsonl").exists());
    // One that changed since goes where it was.
    std::fs::write(c, own(OLD)).expect("room");
    let (code, said) = dir.exit(&more);
    assert!(code == 0 && said.contains("1 migrated, 2 done"), "{said}");
    assert_ne!(read(&dir.path("o/session-2.jsonl")), before[1]);
    assert_eq!(read(&dir.path("o/session.jsonl")), before[0]);
    assert_eq!(dir.path("o").read_dir().expect("a folder").count(), 3);
}

#[test]
fn what_the_run_wrote_itself_is_no_obstacle() {
    // An input that grew.
    let dir = Dir::new();
    let args = ["migrate", "--out-dir", "o", "--journal", "j", "in"];
    let resume = [&args[..], &["--resume"]].concat();
    let session = own(OLD);
    let lines: Vec<_> = session.split_inclusive(|byte| *byte == b'\n').collect();
    dir.write("in/a.jsonl", &lines[..lines.len() - 1].concat());
    assert_eq!(dir.exit(&args).0, 0);
    dir.write("in/a.jsonl", &session);
    let (code, said) = dir.exit(&resume);
    assert!(code == 0 && said.contains("1 migrated"), "{said}");
    assert_eq!(
        read(&dir.path("o/a.jsonl")),
        common::migrated(&session, "pi@3", &Default::default()).0.expect("a session")
    );
    // But what a person did to an output stays.
    dir.write("o/a.jsonl", b"mine");
    for _ in 0..2 {
        let (code, said) = dir.exit(&resume);
        assert!(code == 3 && said.contains("CY0701"), "{said}");
        assert_eq!(read(&dir.path("o/a.jsonl")), b"mine");
    }
    // A run that was killed when one of two files had its place.
    let torn = [&session[..], br#"{"type":"mess"#].concat();
    for gone in ["o/b.jsonl", "o/b.quarantine.jsonl"] {
        let dir = Dir::new();
        dir.write("in/b.jsonl", &torn);
        let args = ["repair", "--out-dir", "o", "--journal", "j", "in"];
        let resume = [&args[..], &["--resume"]].concat();
        assert_eq!(dir.exit(&args).0, 0);
        let before = (read(&dir.path("o/b.jsonl")), read(&dir.path("o/b.quarantine.jsonl")));
        std::fs::remove_file(dir.path(gone)).expect("it is there");
        let (code, said) = dir.exit(&resume);
        assert!(code == 0 && said.contains("1 repaired"), "{said}");
        let now = (read(&dir.path("o/b.jsonl")), read(&dir.path("o/b.quarantine.jsonl")));
        assert!(now == before && dir.path("o").read_dir().expect("a folder").count() == 2);
    }
}

#[test]
fn the_same_folder_may_be_named_in_another_way() {
    let dir = Dir::new();
    dir.copy(OLD, "in/a.jsonl");
    let args = |out| ["migrate", "--out-dir", out, "--journal", "j", "--resume", "in"];
    for out in ["o", "o/", "in/../o", "./o/."] {
        let (code, said) = dir.exit(&args(out));
        assert_eq!(code, 0, "{out}: {said}");
    }
    assert_eq!(dir.exit(&args("in/o")).0, 2);
}

/// A new name was sought among all that could be given, for each input.
#[test]
fn inputs_that_no_run_did_take_no_longer_where_the_output_folder_is_there() {
    const FILES: usize = 3000;
    let dir = Dir::new();
    let session = own(OLD);
    for n in 0..FILES {
        dir.write(&format!("in/{n}.jsonl"), &session);
    }
    std::fs::create_dir(dir.path("there")).expect("a folder");
    let took = |out: &str, journal: &str| {
        let begun = std::time::Instant::now();
        let args = ["migrate", "--to", "pi@3", "--out-dir", out, "--journal", journal, "in"];
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        begun.elapsed()
    };
    let (new, there) = (took("new", "j"), took("there", "k"));
    assert!(there < 4 * new + std::time::Duration::from_secs(2), "{there:?}, {new:?}");
}

#[test]
fn a_copy_stays_if_its_source_lost_messages() {
    let dir = Dir::new();
    dir.copy(OLD, "in/s.jsonl");
    let text = String::from_utf8(own(OLD)).expect("UTF-8");
    let first: String = text.split_inclusive('\n').take(3).collect();
    let args = ["migrate", "--out-dir", "o", "in"];
    let mut copy = Vec::new();
    let (code, said) = twice(&dir, &args, || {
        copy = read(&dir.path("o/s.jsonl"));
        dir.write("in/s.jsonl", first.as_bytes());
    });
    assert!(code == 3 && said.contains("CY0730"), "{said}");
    assert!(read(&dir.path("o/s.jsonl")) == copy, "the copy stays");
    // The session is there again, with more.
    dir.write("in/s.jsonl", text.as_bytes());
    let (code, said) = dir.exit(&[&args[..], &["--journal", "j", "--resume"]].concat());
    assert!(code == 0 && read(&dir.path("o/s.jsonl")) == copy, "{said}");
}
