//! Whole homes, with the database, the logs of messages and the stored outputs.

use super::{HOMES, check};
use crate::common::{Dir, all_files, assert_same, corpus, files, name, own, read};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const COLUMNS: &str = "session_id, updated_at, run_id, invoke_seq, schema_version, meta_json, \
                       message_count, last_user_message, workspace_root";

/// The rows of a home's database, read from a copy.
pub fn rows(home: &Path) -> Vec<String> {
    let copy = Dir::new();
    for file in ["state.db", "state.db-wal"] {
        let from = home.join("sessions").join(file);
        if from.is_file() {
            copy.write(file, &read(&from));
        }
    }
    let db = Connection::open(copy.path("state.db")).expect("a database");
    let mut query = db
        .prepare(&format!("SELECT {COLUMNS} FROM session_state ORDER BY session_id"))
        .expect("a table");
    let row = |row: &rusqlite::Row<'_>| {
        let cells = (0..9).map(|n| match row.get_ref(n).expect("a value") {
            ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
            other => format!("{other:?}"),
        });
        Ok(cells.collect::<Vec<_>>().join(" "))
    };
    let rows = query.query_map([], row).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// The files of a folder by their names below it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |file: PathBuf| (file.strip_prefix(folder).expect("below").to_owned(), read(&file));
    files(folder).into_iter().map(below).collect()
}

/// What Codelia's software keeps of its sessions, without the database and the configuration.
fn kept(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = contents(home);
    all.retain(|path, _| !name(path).starts_with("state.db") && name(path) != "config.json");
    all
}

/// A home there and back, by the program.
fn there_and_back(home: &Path) -> Dir {
    let dir = Dir::new();
    let there = ["convert", "-t", "canonical", "--out-dir", "streams", &home.to_string_lossy()];
    let (code, said) = dir.exit(&there);
    assert_eq!(code, 0, "{said}");
    let back = ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "home", "streams"];
    let (code, said) = dir.exit(&back);
    assert_eq!(code, 0, "{said}");
    dir
}

#[test]
fn whole_homes_come_back_file_by_file_and_row_by_row() {
    let Some(corpus) = corpus("Codelia's homes") else { return };
    for home in HOMES.iter().chain(&["v0.1.80/home_crashed"]) {
        let home = corpus.join("codelia").join(home);
        let before = contents(&home);
        let dir = there_and_back(&home);
        assert_eq!(contents(&home), before, "the source was touched");
        let (theirs, ours) = (kept(&home), kept(&dir.path("home")));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
        for (path, theirs) in &theirs {
            assert_same(&ours[path], theirs, &path.display().to_string());
        }
        let mut same = 0;
        if home.join("sessions/state.db").is_file() {
            let (theirs, ours) = (rows(&home), rows(&dir.path("home")));
            assert_eq!(ours, theirs);
            same = ours.len();
        }
        println!("{} files and {same} rows of {} are the same", ours.len(), home.display());
        if let Some(said) = check(&home) {
            assert_eq!(said.trim(), "all accepted", "the original");
            assert_eq!(check(&dir.path("home")).expect("the rules").trim(), "all accepted");
        }
    }
}

#[test]
fn a_home_moves_to_the_newer_store() {
    let Some(corpus) = corpus("Codelia's first home") else { return };
    let home = corpus.join("codelia/v0-3fe5dc9/home").to_string_lossy().into_owned();
    let dir = Dir::new();
    let (code, said) =
        dir.exit(&["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", &home]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        (files(&dir.path("home/sessions/messages")).len(), rows(&dir.path("home")).len()),
        (5, 5)
    );
    if let Some(said) = check(&dir.path("home")) {
        assert_eq!(said.trim(), "all accepted");
    }
    let back = ["convert", "-t", "codelia@1", "--layout", "native", "--out-dir", "back", "home"];
    let (code, said) = dir.exit(&back);
    assert!(code == 0 && !said.contains("CY0622"), "{said}");
    assert_eq!(kept(&dir.path("back")), kept(Path::new(&home)));
    // It stays in the store in which it is, unless another one is asked for.
    let done = dir.run(&["convert", "-v", "-t", "codelia", "--out-dir", "copy", "home"]);
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("codelia@2") && !said.contains("codelia@1"), "{said}");
}

#[test]
fn sessions_of_another_format_join_a_home() {
    let dir = Dir::new();
    dir.write("a.jsonl", &own("pi/v3/no-final-newline"));
    dir.write("b.jsonl", &own("pi/v3/bom"));
    for file in ["a.jsonl", "b.jsonl"] {
        let to = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", file];
        let (code, said) = dir.exit(&to);
        assert_eq!(code, 0, "{said}");
    }
    assert_eq!(rows(&dir.path("home")).len(), 2);
    if let Some(said) = check(&dir.path("home")) {
        assert_eq!(said.trim(), "all accepted");
    }
    let (code, said) = dir.exit(&["validate", "home"]);
    assert_eq!(code, 0, "{said}");
}

const ID: &str = "b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22";

/// A home with one session of one state, in the newer store.
fn home() -> Dir {
    let dir = Dir::new();
    dir.write(&format!("old/sessions/state/{ID}.json"), &own("codelia/v1/state"));
    let to = ["convert", "--no-origin", "-t", "codelia@2", "--layout", "native"];
    let (code, said) = dir.exit(&[&to[..], &["--out-dir", "home", "old"]].concat());
    assert_eq!(code, 0, "{said}");
    dir
}

/// Runs SQL on the home's database.
fn sql(dir: &Dir, text: &str) {
    let db = Connection::open(dir.path("home/sessions/state.db")).expect("a database");
    db.execute_batch(&format!("PRAGMA journal_mode = DELETE; {text}")).expect("SQL");
}

#[test]
fn a_bad_database_is_reported_and_the_session_read_without_it() {
    type Spoil = fn(&Dir);
    let cases: [(&str, Spoil, &str); 7] = [
        (
            "no database",
            |dir| drop(dir.write("home/sessions/state.db", b"not a database at all")),
            "CY0311",
        ),
        (
            "damaged",
            |dir| {
                let mut bytes = read(&dir.path("home/sessions/state.db"));
                bytes[100..].iter_mut().for_each(|byte| *byte ^= 0x5a);
                dir.write("home/sessions/state.db", &bytes);
            },
            "CY0311",
        ),
        (
            "a view",
            |dir| {
                sql(
                    dir,
                    "ALTER TABLE session_state RENAME TO s; CREATE VIEW session_state AS SELECT * FROM s",
                );
            },
            "session_state is not a real table",
        ),
        ("no table", |dir| sql(dir, "DROP TABLE session_state"), "it has no table session_state"),
        (
            "a computed column",
            |dir| {
                sql(
                    dir,
                    "ALTER TABLE session_state ADD COLUMN x GENERATED ALWAYS AS (hex(meta_json))",
                )
            },
            "has columns that are computed",
        ),
        (
            "no log",
            |dir| {
                std::fs::remove_file(dir.path(&format!("home/sessions/messages/{ID}.jsonl")))
                    .expect("a log")
            },
            "CY0312",
        ),
        (
            "an empty log",
            |dir| drop(dir.write(&format!("home/sessions/messages/{ID}.jsonl"), b"")),
            "CY0312",
        ),
    ];
    for (case, spoil, said) in cases {
        let dir = home();
        // A run keeps the session in the folder where its log is gone.
        let run = String::from_utf8(own("codelia/v1/seed")).expect("UTF-8");
        let header = "\"schema_version\":1,";
        let run = run.replacen(header, &format!("{header}\"session_id\":\"{ID}\","), 1);
        dir.write(
            "home/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl",
            run.as_bytes(),
        );
        spoil(&dir);
        let before = contents(&dir.path("home"));
        let (code, told) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", "home"]);
        assert!(told.contains(said), "{case}: {told}");
        assert_eq!(code, i32::from(said != "CY0312"), "{case}: {told}");
        assert_eq!(contents(&dir.path("home")), before, "{case}");
        let stream = read(&dir.path(&format!("out/{ID}.copyist.jsonl")));
        assert!(String::from_utf8_lossy(&stream).contains("list files"), "{case}");
        let stop = ["convert", "-t", "pi", "--on-error", "stop", "--out-dir", "stop", "home"];
        assert_eq!(dir.exit(&stop).0, if said == "CY0312" { 0 } else { 3 }, "{case}");
    }
}

#[test]
fn a_file_with_a_damaged_beginning_is_still_one_of_its_session() {
    let run = "home/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl";
    let (state, log) =
        (format!("sessions/state/{ID}.json"), format!("sessions/messages/{ID}.jsonl"));
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [Damage; 5] = [
        |text| [b"{\"type\":\"hea\n", text].concat(),
        |text| [b"<<<<<<< HEAD\n", text].concat(),
        |text| [&[0; 64], &b"\n"[..], text].concat(),
        |text| text[30..].to_vec(),
        |text| [b"\0", &text[1..]].concat(),
    ];
    for (place, damage) in damages.into_iter().enumerate() {
        let dir = home();
        dir.write(run, &damage(&own("codelia/v1/seed")));
        dir.write(&format!("old/{state}"), &damage(&own("codelia/v1/state")));
        dir.write(&format!("home/{log}"), &damage(&read(&dir.path(&format!("home/{log}")))));
        for folder in ["home", "old"] {
            for command in [&["repair", "-n"][..], &["validate"]] {
                let done = dir.run(&[command, &[folder]].concat());
                let said = [done.stdout, done.stderr].concat();
                let said = String::from_utf8_lossy(&said);
                let passed = ["skipped", "healthy", " valid"].map(|word| said.contains(word));
                assert_eq!(passed, [false; 3], "{place}: {said}");
            }
        }
    }
}

#[test]
fn a_repaired_home_has_the_rows_of_its_sessions() {
    let dir = home();
    dir.write("a.jsonl", &own("pi/v3/bom"));
    let to = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "a.jsonl"];
    assert_eq!(dir.exit(&to).0, 0);
    assert_eq!(rows(&dir.path("home")).len(), 2);
    for (only, count) in [(&["--session", ID][..], 1), (&[], 2)] {
        let (code, said) =
            dir.exit(&[&["repair", "--force", "--out-dir", "out", "home"], only].concat());
        assert_eq!(code, 0, "{said}");
        assert_eq!(rows(&dir.path("out")).len(), count);
        if let Some(said) = check(&dir.path("out")) {
            assert_eq!(said.trim(), "all accepted");
        }
    }
    let (code, said) = dir.exit(&["repair", "-n", "out"]);
    assert!(code == 0 && said.contains("2 healthy"), "{code}: {said}");
    // One that is damaged is told, and left as it is.
    dir.write("home/sessions/state.db", b"not a database at all");
    let (code, said) = dir.exit(&["repair", "--in-place", "home"]);
    assert!(code == 1 && said.contains("CY0311"), "{code}: {said}");
    assert_eq!(read(&dir.path("home/sessions/state.db")), b"not a database at all");
}

#[test]
fn what_a_schema_would_run_is_not_run() {
    let dir = home();
    sql(
        &dir,
        "CREATE TABLE victim(x); INSERT INTO victim VALUES (1);
         CREATE TRIGGER t AFTER INSERT ON session_state BEGIN DELETE FROM victim; END;
         CREATE TRIGGER u AFTER UPDATE ON session_state BEGIN DELETE FROM victim; END;",
    );
    dir.write("a.jsonl", &own("pi/v3/bom"));
    let to = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "a.jsonl"];
    let (code, said) = dir.exit(&to);
    assert_eq!(code, 0, "{said}");
    let db = Connection::open(dir.path("home/sessions/state.db")).expect("a database");
    let left: i64 = db.query_row("SELECT count(*) FROM victim", [], |row| row.get(0)).expect("one");
    assert_eq!((left, rows(&dir.path("home")).len()), (1, 2));
}

#[test]
fn a_database_that_is_being_written_is_not_touched() {
    let dir = home();
    let db = Connection::open(dir.path("home/sessions/state.db")).expect("a database");
    db.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").expect("a lock");
    let (code, said) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", "home"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("CY0703") && said.contains("another program is writing"), "{said}");
    dir.write("a.jsonl", &own("pi/v3/bom"));
    let to = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "a.jsonl"];
    let (code, said) = dir.exit(&to);
    assert!(code == 3 && said.contains("CY0703"), "{said}");
    db.execute_batch("ROLLBACK; PRAGMA journal_mode = WAL; CREATE TABLE more(x)").expect("a log");
    // The log beside it is read, and a program that has it open sees the new row at once.
    assert_eq!(dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", "home"]).0, 0);
    let (code, said) = dir.exit(&to);
    assert_eq!(code, 0, "{said}");
    let count = "SELECT count(*) FROM session_state";
    assert_eq!(db.query_row(count, [], |row| row.get::<_, i64>(0)).expect("a number"), 2);
    assert_eq!(files(&dir.path("home")).iter().filter(|f| name(f).ends_with(".tmp")).count(), 0);
}

#[test]
fn a_newer_row_is_not_written_over_without_force() {
    let dir = home();
    sql(&dir, "UPDATE session_state SET updated_at = '2027-01-01T00:00:00.000Z', invoke_seq = 77");
    std::fs::remove_file(dir.path(&format!("home/sessions/messages/{ID}.jsonl"))).expect("a log");
    let before = contents(&dir.path("home"));
    let to = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "old"];
    let (code, said) = dir.exit(&to);
    assert!(code == 3 && said.contains("CY0701") && said.contains("newer"), "{said}");
    assert_eq!(contents(&dir.path("home")), before);
    let (code, said) = dir.exit(&[&to[..], &["--force"]].concat());
    assert_eq!(code, 0, "{said}");
    assert!(!rows(&dir.path("home"))[0].contains("Integer(77)"));
    // An older one is.
    sql(&dir, "UPDATE session_state SET updated_at = '2020-01-01T00:00:00.000Z', invoke_seq = 77");
    std::fs::remove_file(dir.path(&format!("home/sessions/messages/{ID}.jsonl"))).expect("a log");
    let (code, said) = dir.exit(&to);
    assert_eq!(code, 0, "{said}");
    assert!(!rows(&dir.path("home"))[0].contains("Integer(77)"));
}

#[test]
fn many_sessions_at_a_time_lose_no_row() {
    let dir = Dir::new();
    let state = String::from_utf8(own("codelia/v1/state")).expect("UTF-8");
    for n in 10..40 {
        let id = format!("{n}{}", &ID[2..]);
        dir.write(&format!("old/sessions/state/{id}.json"), state.replace(ID, &id).as_bytes());
    }
    let to =
        ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "-j", "8", "old"];
    let (code, said) = dir.exit(&to);
    assert_eq!(code, 0, "{said}");
    assert_eq!(rows(&dir.path("home")).len(), 30);
}

/// A home with one run, whose tool's output has a reference with this identifier.
fn with_reference(id: &str) -> Dir {
    let run = String::from_utf8(own("codelia/v1/seed")).expect("UTF-8");
    let run = run
        .replace("\"output_ref\":{\"id\":\"call_1\"", &format!("\"output_ref\":{{\"id\":\"{id}\""));
    let dir = Dir::new();
    dir.write(
        "home/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl",
        run.as_bytes(),
    );
    dir.write("secret.txt", b"secret");
    dir
}

#[test]
fn stored_outputs_are_carried_and_none_from_elsewhere() {
    let there = ["convert", "-t", "canonical", "--out-dir", "streams", "home"];
    let back = ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "back", "streams"];
    let dir = with_reference("call_1");
    for stored in [&b"AGENTS.md\nRULES.md\npackages\n"[..], b"more than that", b"\xff\x00", b""] {
        dir.write("home/cache/tool-output/call_1.txt", stored);
        assert_eq!(dir.exit(&[&there[..], &["--force"]].concat()).0, 0);
        let _ = std::fs::remove_dir_all(dir.path("back"));
        assert_eq!(dir.exit(&back).0, 0);
        assert_eq!(kept(&dir.path("back")), kept(&dir.path("home")));
        for command in [&["convert", "-t", "codelia"][..], &["migrate"]] {
            let _ = std::fs::remove_dir_all(dir.path("copy"));
            assert_eq!(dir.exit(&[command, &["--out-dir", "copy", "home"]].concat()).0, 0);
            let home = dir.path("copy").join("8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a");
            assert_eq!(kept(&home), kept(&dir.path("home")), "{command:?}");
        }
    }
    // Another session's output of this name stays, whatever may be written over; a warning says so.
    dir.write("back/cache/tool-output/call_1.txt", b"another");
    for force in [&[][..], &["--force"]] {
        std::fs::remove_dir_all(dir.path("back/sessions")).expect("a folder");
        let (code, said) = dir.exit(&[&back[..], force].concat());
        assert!(code == 0 && said.contains("CY0709"), "{said}");
        assert_eq!(read(&dir.path("back/cache/tool-output/call_1.txt")), b"another");
    }
    for id in ["../../../secret", "/etc/passwd", "a/b", "..", ""] {
        let dir = with_reference(id);
        let (code, said) = dir.exit(&there);
        assert!(code == 0 && said.contains("CY0314"), "{id}: {said}");
        let stream = String::from_utf8(read(&files(&dir.path("streams"))[0])).expect("UTF-8");
        assert!(!stream.contains("\"stored\""), "{id}");
        assert_eq!(dir.exit(&back).0, 0);
        assert_eq!(kept(&dir.path("back")), kept(&dir.path("home")), "{id}");
    }
}

#[cfg(unix)]
#[test]
fn of_two_outputs_of_one_name_the_first_is_kept_and_the_other_reported() {
    let homes: Vec<String> = (0..8).map(|n| format!("home-{n}")).collect();
    let dir = with_reference("call_1");
    for (n, home) in homes.iter().enumerate() {
        let id = "8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7";
        for file in files(&dir.path("home")) {
            let text = String::from_utf8(read(&file)).expect("UTF-8");
            let path = file.strip_prefix(dir.path("home")).expect("below").display().to_string();
            let own = format!("{id}{n}");
            let path = format!("{home}/{}", path.replace(&format!("{id}a"), &own));
            dir.write(&path, text.replace(&format!("{id}a"), &own).as_bytes());
        }
        dir.write(&format!("{home}/cache/tool-output/call_1.txt"), home.as_bytes());
    }
    let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
    for jobs in ["1", "2", "8"] {
        let command =
            ["convert", "-t", "codelia", "--layout", "native", "--out-dir", jobs, "-j", jobs];
        let (code, said) = dir.exit(&[&command[..], &homes].concat());
        assert_eq!(code, 0, "{said}");
        assert_eq!(said.matches("CY0709").count(), homes.len() - 1, "-j {jobs}: {said}");
        assert_eq!(read(&dir.path(jobs).join("cache/tool-output/call_1.txt")), b"home-0");
    }
}

#[test]
fn a_link_is_no_stored_output() {
    let dir = with_reference("call_1");
    std::fs::create_dir_all(dir.path("home/cache/tool-output")).expect("a folder");
    let link = dir.path("home/cache/tool-output/call_1.txt");
    std::os::unix::fs::symlink(dir.path("secret.txt"), link).expect("a link");
    assert_eq!(dir.exit(&["convert", "-t", "canonical", "--out-dir", "streams", "home"]).0, 0);
    let stream = String::from_utf8(read(&files(&dir.path("streams"))[0])).expect("UTF-8");
    assert!(!stream.contains("secret") && !stream.contains("\"stored\""));
}

#[test]
fn an_identifier_that_leads_elsewhere_stays_below_the_output() {
    let run = String::from_utf8(own("codelia/v1/seed")).expect("UTF-8");
    for id in ["../../../../evil", "/evil", "..", "a/../b"] {
        let header = "\"schema_version\":1,";
        let run = run.replacen(header, &format!("{header}\"session_id\":\"{id}\","), 1);
        let run = run.replace("8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a", id);
        let dir = Dir::new();
        dir.write("deep/home/sessions/2026/02/03/run.jsonl", run.as_bytes());
        for (to, out) in [
            ("canonical", "deep/a"),
            ("codelia@1", "deep/b"),
            ("codelia@2", "deep/c"),
            ("pi", "deep/d"),
        ] {
            let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", out, "deep/home"]);
            assert_eq!(code, 0, "{id} {to}: {said}");
        }
        let native =
            ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "deep/e", "deep/a"];
        let (code, said) = dir.exit(&native);
        assert_eq!(code, 0, "{id}: {said}");
        assert!(dir.names().iter().all(|name| name.starts_with("deep")), "{id}: {:?}", dir.names());
        let stays =
            |file: &PathBuf| file.starts_with(dir.path("deep")) && !name(file).starts_with("evil");
        assert!(files(dir.root()).iter().all(stays), "{id}: {:?}", files(dir.root()));
    }
}

#[test]
fn a_database_that_is_named_means_its_sessions() {
    let dir = home();
    let database = "home/sessions/state.db";
    let (code, said) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", database]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(files(&dir.path("out")).len(), 1);
    dir.write("alone/sessions/state.db", b"no database");
    assert_eq!(dir.exit(&["detect", "alone/sessions/state.db"]).0, 3);
}

#[test]
fn a_session_is_found_where_codelia_keeps_it() {
    let dir = home();
    let context = |variables: &[(&str, String)], args: &[&str]| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_copyist"));
        for name in ["HOME", "CODELIA_LAYOUT", "XDG_STATE_HOME"] {
            program.env_remove(name);
        }
        program.args(args).envs(variables.iter().map(|(name, value)| (name, value)));
        let done = program.current_dir(dir.root()).output().expect("the program runs");
        (done.status.code(), done.stdout)
    };
    let path = |name: &str| dir.path(name).to_string_lossy().into_owned();
    for at in ["own/.codelia", "own/.local/state/codelia", "state/codelia"] {
        for (below, bytes) in contents(&dir.path("home")) {
            dir.write(&format!("{at}/{}", below.display()), &bytes);
        }
    }
    let expected = context(&[], &["context", "--session", ID, "home"]);
    assert_eq!(expected.0, Some(0));
    let xdg = ("CODELIA_LAYOUT", "xdg".to_owned());
    let own = ("HOME", path("own"));
    let asked = ["context", "--session", ID];
    assert_eq!(context(std::slice::from_ref(&own), &asked), expected);
    assert_eq!(context(&[own, xdg.clone()], &asked), expected);
    let state = ("XDG_STATE_HOME", path("state"));
    assert_eq!(context(&[("HOME", path("none")), xdg, state], &asked), expected);
    assert_eq!(context(&[("HOME", path("none"))], &asked).0, Some(2));
    assert_eq!(context(&[("HOME", path("none"))], &["context"]).0, Some(2));
}

#[test]
fn a_row_without_any_file_is_a_session_too() {
    let dir = home();
    sql(
        &dir,
        "INSERT INTO session_state (session_id, updated_at, schema_version, message_count)
         VALUES ('gone', '2026-03-01T00:00:00.000Z', 1, 7)",
    );
    let before = rows(&dir.path("home"));
    let (code, said) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "streams", "home"]);
    assert!(code == 0 && said.contains("CY0312"), "{said}");
    let to = ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "back", "streams"];
    let (code, said) = dir.exit(&to);
    assert_eq!(code, 0, "{said}");
    assert_eq!(rows(&dir.path("back")), before);
    // One behind the other, so that the row alone comes to a database that is there.
    let one = [&to[..6], &["behind", "--jobs", "1", "streams"]].concat();
    let (code, said) = dir.exit(&one);
    assert_eq!(code, 0, "{said}");
    assert_eq!(rows(&dir.path("behind")), before);
    // A home is no place for its own sessions.
    let own = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "home", "home"];
    let (code, said) = dir.exit(&[&own[..], &["--force"]].concat());
    assert!(code == 3 && said.contains("CY0702"), "{said}");
    assert_eq!(rows(&dir.path("home")), before);
}

/// Another program may have printed what a row keeps as JSON, and the stream has its records on lines.
#[test]
fn a_row_with_lines_in_its_json_comes_back() {
    let dir = home();
    sql(&dir, "UPDATE session_state SET meta_json = replace(meta_json, '{', '{' || char(10))");
    let there = ["convert", "-t", "canonical", "--out-dir", "streams", "home"];
    let (code, said) = dir.exit(&there);
    assert!(code == 0 && said.starts_with("1 converted; 9 records\nwritten: streams/"), "{said}");
    let back = ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "back", "streams"];
    let (code, said) = dir.exit(&back);
    assert!(code == 0 && said.contains("1 converted, 1 skipped; 9 records"), "{said}");
    assert!(rows(&dir.path("home"))[0].contains(r"{\n"), "{:?}", rows(&dir.path("home")));
    assert_eq!(rows(&dir.path("back")), rows(&dir.path("home")));
}

#[test]
fn a_state_that_lags_behind_and_a_damaged_log_come_back() {
    let dir = home();
    let state = String::from_utf8(own("codelia/v1/state")).expect("UTF-8");
    dir.write(
        &format!("home/sessions/state/{ID}.json"),
        state.replace("Which lamps are", "Which lamps were").as_bytes(),
    );
    let (code, said) = dir.exit(&["validate", "home"]);
    assert_eq!(code, 0, "{said}");
    let log = format!("home/sessions/messages/{ID}.jsonl");
    let good = read(&dir.path(&log));
    let there = ["convert", "-t", "canonical", "--force", "--out-dir", "streams", "home"];
    let back = [
        "convert",
        "-t",
        "codelia",
        "--layout",
        "native",
        "--force",
        "--out-dir",
        "back",
        "streams",
    ];
    let text = String::from_utf8(good.clone()).expect("UTF-8");
    let bad = [&good[..], b"no JSON\n\xff\n"].concat();
    for (log_now, code) in [(good, 0), (bad, 1), (text.replace('\n', "\r\n").into_bytes(), 0)] {
        dir.write(&log, &log_now);
        assert_eq!(dir.exit(&there).0, code);
        assert_eq!(dir.exit(&back).0, 0);
        assert_eq!(kept(&dir.path("back")), kept(&dir.path("home")));
        assert_eq!(rows(&dir.path("back")), rows(&dir.path("home")));
    }
    // What the log says counts where there is room for one state.
    dir.write(&log, text.as_bytes());
    let one = ["convert", "--no-origin", "-t", "codelia@1", "--layout", "native"];
    let (code, said) = dir.exit(&[&one[..], &["--out-dir", "one", "home"]].concat());
    assert!(code == 0 && said.contains("CY0601"), "{said}");
    let one = String::from_utf8(read(&dir.path(&format!("one/sessions/state/{ID}.json"))))
        .expect("UTF-8");
    assert!(one.contains("Which lamps are"));
}

#[test]
fn a_whole_session_moves_with_every_folder_that_it_names() {
    const ID: &str = "b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22";
    const RUN: &str = "3f0c5a52-9d0e-4c0a-8f3e-0b7f6f1c2d11";
    let said = "Is /home/ada/lamps/wick there?";
    let run = format!(
        r#"{{"type":"header","schema_version":1,"run_id":"{RUN}","session_id":"{ID}","started_at":"2026-09-14T08:30:00.000Z","runtime":{{"cwd":"/home/ada/lamps","sandbox_root":"/home/ada/box"}},"meta":{{"runtime_environment":{{"workspace":{{"root":"/home/ada/lamps","note":"/home/ada"}}}}}}}}
{{"type":"run.start","run_id":"{RUN}","session_id":"{ID}","ts":"2026-09-14T08:30:00.000Z","input":{{"type":"text","text":"{said}"}},"ui_context":{{"cwd":"/home/ada/lamps","active_file":"/home/ada/lamps/wick"}}}}
"#
    );
    let state = format!(
        r#"{{"schema_version":1,"session_id":"{ID}","updated_at":"2026-09-14T08:30:08.357Z","run_id":"{RUN}","messages":[{{"role":"user","content":"/home/ada/lamps"}},{{"role":"user","content":"{said}"}}],"meta":{{"codelia_workspace_root":"/home/ada/lamps","codelia_resume_context":{{"workspace_root":"/home/ada/lamps","working_dir":"/home/ada/lamps/src","initial_agents":[{{"path":"/home/ada/lamps/AGENTS.md","mtime_ms":1.5}}]}}}}}}"#
    ) + "\n";
    let dir = Dir::new();
    dir.write(&format!("in/sessions/2026/09/14/{RUN}.jsonl"), run.as_bytes());
    dir.write(&format!("in/sessions/state/{ID}.json"), state.as_bytes());
    for to in ["codelia@1", "codelia@2", "codelia"] {
        let args = ["convert", "-t", to, "--layout", "native", "--map-path", "/home/ada=/srv"];
        let (code, told) = dir.exit(&[&args[..], &["--out-dir", to, "in"]].concat());
        assert_eq!(code, 0, "{told}");
        assert!(!told.contains("warning"), "{told}");
        let mut text = String::new();
        for (name, bytes) in contents(&dir.path(to)) {
            if !name.ends_with("state.db") {
                text += &String::from_utf8(bytes).expect("UTF-8");
            }
        }
        if to == "codelia@2" {
            let db = Connection::open(dir.path(to).join("sessions/state.db")).expect("a database");
            let query = "SELECT meta_json || workspace_root FROM session_state";
            text += &db.query_row(query, [], |row| row.get::<_, String>(0)).expect("a row");
        }
        let moved = ["lamps", "lamps/src", "lamps/AGENTS.md", "lamps/wick", "box"];
        for name in moved {
            assert!(text.contains(&format!("/srv/{name}")), "{to}: {name}: {text}");
        }
        let stays = [said, r#""content":"/home/ada/lamps""#, r#""note":"/home/ada""#];
        let mut rest = text.clone();
        for stay in stays {
            assert!(rest.contains(stay), "{to}: {stay}: {text}");
            rest = rest.replace(stay, "");
        }
        assert!(!rest.contains("/home/ada"), "{to}: {rest}");
    }
}

#[test]
fn a_session_without_runs_has_the_time_and_the_folder_of_its_state() {
    const ID: &str = "b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22";
    let state = own("codelia/v1/state");
    let dir = Dir::new();
    dir.write(&format!("first/sessions/state/{ID}.json"), &state);
    dir.write("alone.json", &state);
    let newer = ["convert", "-t", "codelia@2", "--layout", "native", "--out-dir", "newer", "first"];
    assert_eq!(dir.exit(&newer).0, 0);
    dir.write("row/sessions/state.db", &read(&dir.path("newer/sessions/state.db")));
    for input in ["first", "newer", "row", "alone.json"] {
        let out = format!("{}.out", input.trim_end_matches(".json"));
        let (code, said) = dir.exit(&["convert", "-t", "pi", "--out-dir", &out, input]);
        assert_eq!(code, 0, "{input}: {said}");
        assert_eq!(said.contains("and with it all messages"), input == "row", "{said}");
        let text = read(&files(&dir.path(&out))[0]);
        let text = String::from_utf8(text).expect("UTF-8");
        let header = text.lines().next().expect("a header");
        for told in ["\"timestamp\":\"2026-09-14T08:30:08.357Z\"", "\"cwd\":\"/home/ada/灯台\""] {
            assert!(header.contains(told), "{input}: {header}");
        }
        if input == "row" {
            continue;
        }
        let version = if input == "newer" { "codelia@2" } else { "codelia@1" };
        let home = ["convert", "-t", version, "--layout", "native", "--out-dir", "home", &out];
        let (code, said) = dir.exit(&[&home[..], &["--force"]].concat());
        assert_eq!(code, 0, "{input}: {said}");
        if version == "codelia@1" {
            let back = read(&dir.path(&format!("home/sessions/state/{ID}.json")));
            assert_same(&back, &state, input);
        } else {
            assert_eq!(rows(&dir.path("home")), rows(&dir.path("newer")));
        }
    }
}

/// What a session says stands in its runs and in its state. The state is what it goes on from, so an
/// edit of that comes home; one of a run counts for nothing, and that is told.
#[test]
fn an_edit_of_the_state_is_restored_and_one_of_a_run_is_reported_as_lost() {
    let dir = Dir::new();
    dir.copy("pi/v3/migrated", "s.jsonl");
    let there = ["convert", "-t", "codelia", "--layout", "native", "--out-dir", "home", "s.jsonl"];
    assert_eq!(dir.exit(&there).0, 0);
    let home = dir.path("home");
    let below = |file: PathBuf| (file.strip_prefix(&home).expect("below").to_owned(), read(&file));
    let files: BTreeMap<_, _> = all_files(&home).into_iter().map(below).collect();
    let (old, new) = (" What about the zenith?", " What about the nadir?");
    let edited = |which: &dyn Fn(&Path) -> bool, to: &str| {
        for (name, bytes) in &files {
            let text = match String::from_utf8(bytes.clone()) {
                Ok(text) if which(name) => text.replace(old, new).into_bytes(),
                _ => bytes.clone(),
            };
            dir.write(&format!("{to}/{}", name.display()), &text);
        }
        let back = format!("{to}-back");
        dir.exit(&["convert", "-t", "pi@3", "--out-dir", &back, to])
    };
    let is_state = |name: &Path| name.parent().is_some_and(|folder| folder.ends_with("state"));
    let source = String::from_utf8(read(&dir.path("s.jsonl"))).expect("UTF-8");
    let back = |of: &str| {
        let bytes = contents(&dir.path(of)).into_values().next().expect("a file");
        String::from_utf8(bytes).expect("UTF-8")
    };
    let lost = "left out of the session's state";
    for (which, to) in [(&is_state as &dyn Fn(&Path) -> bool, "state"), (&|_| true, "both")] {
        let (code, said) = edited(which, to);
        assert!(code == 0 && said.contains("message of role user was edited"), "{said}");
        assert!(!said.contains(lost), "{said}");
        assert_eq!(back(&format!("{to}-back")), source.replace(old, new));
    }
    let (code, said) = edited(&|name| !is_state(name), "run");
    assert!(code == 0 && said.contains(lost), "{said}");
    assert_eq!(back("run-back"), source);
}
