//! The files of OpenCode up to 1.1, which later releases ignore, are brought into the database:
//! whole, once, and back byte for byte, whenever the run is killed.

use crate::common::{self, Dir, read};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const HOME: &str = ".local/share/opencode";

/// Tables as in release 1.18.33, as far as sessions are in them.
const TABLES: &str = "
    CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_initialized integer,
        sandboxes text NOT NULL, commands text);
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL REFERENCES project(id)
        ON DELETE CASCADE, workspace_id text, parent_id text, slug text NOT NULL,
        directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL,
        share_url text, summary_additions integer, summary_deletions integer,
        summary_files integer, summary_diffs text, cost real DEFAULT 0 NOT NULL, revert text,
        permission text, time_created integer NOT NULL, time_updated integer NOT NULL,
        time_compacting integer, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id)
        ON DELETE CASCADE, time_created integer NOT NULL, time_updated integer NOT NULL,
        data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id)
        ON DELETE CASCADE, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE todo (session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
        content text NOT NULL, status text NOT NULL, priority text NOT NULL,
        position integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
        PRIMARY KEY (session_id, position));";

fn run(home: &Dir, args: &[&str]) -> (i32, String) {
    let done = command(home, args).output().expect("the program runs");
    let said = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn command(home: &Dir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).env("TZ", "UTC");
    command.args(args);
    command
}

/// Writes a session of 1.0 as files; `n` distinguishes sessions. Returns its identifier.
fn files_of(home: &Dir, n: usize) -> String {
    let file = common::testdata().join("opencode/v1/harbour/in/harbour.json");
    let text = String::from_utf8(read(&file)).expect("UTF-8");
    let text = text.replace("ses_", &format!("ses_{n:03}")).replace("msg_", &format!("msg_{n:03}"));
    let text = text.replace("prt_", &format!("prt_{n:03}"));
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let of = |value: &Value| value.as_str().expect("a text").to_owned();
    let session = of(&document["info"]["id"]);
    let write = |name: String, value: &Value| {
        home.write(&format!("{HOME}/storage/{name}.json"), value.to_string().as_bytes());
    };
    // Release 1.0 had no such member.
    document["info"].as_object_mut().expect("an object").remove("slug");
    document["info"]["projectID"] = json!("older");
    write(
        "project/older".to_owned(),
        &json!({"id": "older", "worktree": "/home/ada/harbour",
        "vcs": "git", "time": {"created": 1, "updated": 2}}),
    );
    write(format!("session/older/{session}"), &document["info"]);
    write(format!("session_diff/{session}"), &json!([]));
    write(
        format!("todo/{session}"),
        &json!([{"content": "Moor", "status": "pending",
        "priority": "high", "id": "1"}]),
    );
    for message in document["messages"].as_array().expect("messages") {
        let id = of(&message["info"]["id"]);
        write(format!("message/{session}/{id}"), &message["info"]);
        for part in message["parts"].as_array().expect("parts") {
            write(format!("part/{id}/{}", of(&part["id"])), part);
        }
    }
    session
}

/// A home with the files of sessions and a database without them, the latest changes of which are in
/// its log, as the program leaves it.
fn home_of(count: usize) -> (Dir, Vec<String>) {
    let home = Dir::new();
    let sessions = (0..count).map(|n| files_of(&home, n)).collect();
    let apart = Dir::new();
    let db = Connection::open(apart.path("db")).expect("a database");
    db.execute_batch(&format!("PRAGMA journal_mode = WAL; {TABLES}")).expect("tables");
    let rows = "INSERT INTO project VALUES
        ('today', '/home/ada/harbour', 'git', NULL, 1, 3, NULL, '[]', NULL);
        INSERT INTO session (id, project_id, slug, directory, title, version, time_created,
            time_updated) VALUES ('ses_today', 'today', 's', '/home/ada/harbour', 'T', '1.18', 1, 1)";
    db.execute_batch(rows).expect("rows");
    for (from, to) in [("db", "opencode.db"), ("db-wal", "opencode.db-wal")] {
        home.write(&format!("{HOME}/{to}"), &read(&apart.path(from)));
    }
    (home, sessions)
}

/// The database and its log, by their names.
fn database(home: &Dir) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = ["opencode.db", "opencode.db-wal"].map(|name| home.path(HOME).join(name));
    files.into_iter().filter(|file| file.exists()).map(|file| (file.clone(), read(&file))).collect()
}

/// Counts of the rows for a copy of the database, which must be whole.
fn counts(home: &Dir) -> [i64; 5] {
    let apart = Dir::new();
    for (path, bytes) in database(home) {
        apart.write(&common::name(&path), &bytes);
    }
    let db = Connection::open(apart.path("opencode.db")).expect("a database");
    let one = |query: &str| db.query_row(query, [], |row| row.get::<_, i64>(0)).expect(query);
    assert_eq!(one("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_eq!(one("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    ["project", "session", "message", "part", "todo"]
        .map(|table| one(&format!("SELECT count(*) FROM {table}")))
}

fn journal(home: &Dir) -> String {
    let mut journals = common::all_files(&home.path(".local/state/copyist"));
    journals.sort();
    journals.pop().expect("a journal").to_str().expect("UTF-8").to_owned()
}

#[test]
fn sessions_of_files_are_added_once_and_undone_byte_for_byte() {
    let (home, sessions) = home_of(3);
    let before = database(&home);
    let context = |session: &String| run(&home, &["context", "--session", session, HOME]).1;
    let sent: Vec<_> = sessions.iter().map(context).collect();
    assert!(sent[0].contains("Which boats came in today?"), "{}", sent[0]);
    let (code, said) = run(&home, &["migrate", "-n", HOME]);
    assert_eq!((code, database(&home) == before), (0, true), "{said}");
    assert!(said.contains("3 migrated"), "{said}");
    let (code, said) = run(&home, &["migrate", HOME]);
    assert!(code == 2 && said.contains("--in-place"), "{said}");
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert!(code == 0 && said.contains("3 migrated"), "{said}");
    // The program lists the sessions of the project that it knows for the folder.
    let [projects, all, messages, parts, todos] = counts(&home);
    assert_eq!((projects, all, todos), (1, 4, 3));
    assert!(messages > 6 && parts > messages);
    let after = database(&home);
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert!(code == 0 && said.contains("not changed: 3 sessions"), "{said}");
    assert_eq!(database(&home), after);
    let journal = journal(&home);
    std::fs::rename(home.path(HOME).join("storage"), home.path("storage")).expect("a folder");
    assert_eq!(sessions.iter().map(context).collect::<Vec<_>>(), sent);
    let (code, said) = run(&home, &["undo", &journal]);
    assert_eq!(code, 0, "{said}");
    assert!(database(&home) == before, "{said}");
    let left: Vec<_> =
        common::all_files(&home.path(HOME)).iter().map(|f| common::name(f)).collect();
    assert_eq!(left, ["opencode.db", "opencode.db-wal"]);
}

#[test]
fn a_session_that_cannot_be_read_stays_and_the_others_come() {
    let (home, sessions) = home_of(2);
    let files = common::all_files(&home.path(HOME).join("storage/message").join(&sessions[0]));
    std::fs::write(&files[1], b"{\"id\":\"msg").expect("a file");
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert!(code == 3 && said.contains("1 migrated") && said.contains("is not whole"), "{said}");
    let [_, some, ..] = counts(&home);
    let (_, said) = run(&home, &["migrate", "--in-place", "--on-error", "skip", HOME]);
    assert!(said.contains("1 migrated") && said.contains("is not whole"), "{said}");
    assert_eq!((some, counts(&home)[1]), (2, 3));
}

#[test]
fn a_database_in_use_or_of_another_release_is_unchanged() {
    let (home, _) = home_of(1);
    let path = home.path(HOME).join("opencode.db");
    let before = database(&home);
    let refused = |why: &str| {
        let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
        assert!(code == 3 && said.contains(why), "{said}");
    };
    // A program that only reads is not found by the files that it has open for writing. To open and
    // close a file of the database here would end its locks.
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let read_only = Connection::open_with_flags(&path, flags).expect("a database");
    let count = "SELECT count(*) FROM session";
    read_only.query_row(count, [], |row| row.get::<_, i64>(0)).expect("a count");
    refused("has it open");
    drop(read_only);
    assert!(database(&home) == before);
    let open = Connection::open(&path).expect("a database");
    open.query_row(count, [], |row| row.get::<_, i64>(0)).expect("a count");
    refused("has it open");
    open.execute_batch("CREATE TABLE session_v2 (id text PRIMARY KEY)").expect("a table");
    drop(open);
    refused("OpenCode 2");
    std::fs::remove_file(&path).expect("a file");
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert!(code == 3 && said.contains("start the agent once"), "{said}");
}

#[test]
fn a_program_that_went_on_keeps_what_it_wrote() {
    let (home, _) = home_of(1);
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert_eq!(code, 0, "{said}");
    let journal = journal(&home);
    let db = Connection::open(home.path(HOME).join("opencode.db")).expect("a database");
    db.execute("UPDATE session SET title = 'New'", []).expect("a change");
    let (code, said) = run(&home, &["undo", &journal]);
    assert!(code == 3 && said.contains("has it open"), "{said}");
    drop(db);
    let now = database(&home);
    let (code, said) = run(&home, &["undo", &journal]);
    assert!(code == 3 && said.contains("changed since"), "{said}");
    let (code, said) = run(&home, &["clean", &journal]);
    assert!(code == 1 && said.contains("opencode.db-wal.bak"), "{said}");
    assert!(database(&home) == now);
    // Nothing has changed since this run.
    files_of(&home, 7);
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert_eq!(code, 0, "{said}");
    let files = || common::all_files(&home.path(HOME)).len();
    let (before, journal) = (files(), self::journal(&home));
    let (code, said) = run(&home, &["clean", &journal]);
    assert_eq!((code, files()), (0, before - 1), "{said}");
}

#[test]
fn a_cut_database_gives_its_whole_rows() {
    let (home, sessions) = home_of(6);
    let (code, said) = run(&home, &["migrate", "--in-place", HOME]);
    assert_eq!(code, 0, "{said}");
    std::fs::remove_dir_all(home.path(HOME).join("storage")).expect("a folder");
    let path = home.path(HOME).join("opencode.db");
    let whole = read(&path);
    let mut found = Vec::new();
    for tenth in 0..10 {
        std::fs::write(&path, &whole[..whole.len() * tenth / 10 + 7]).expect("a file");
        let args = ["convert", "-t", "canonical", "--no-origin", "--on-error", "skip"];
        let out = format!("out-{tenth}");
        std::fs::create_dir(home.path(&out)).expect("a folder");
        let (code, said) = run(&home, &[&args[..], &["--out-dir", &out, HOME]].concat());
        assert!([0, 1, 3].contains(&code) && !said.contains("panicked"), "{tenth}: {said}");
        let streams = common::all_files(&home.path(&out));
        let has =
            |session: &&String| streams.iter().any(|file| common::name(file).contains(&***session));
        found.push(sessions.iter().filter(has).count());
    }
    assert!(found[9] >= 4 && found.is_sorted(), "{found:?}");
    // The beginning is overwritten.
    std::fs::write(&path, [&b"overwritten by it"[..16], &whole[16..]].concat()).expect("a file");
    let (_, said) = run(&home, &["context", "--session", &sessions[0], HOME]);
    assert!(said.contains("Which boats came in today?") && said.contains("CY0311"), "{said}");
}

#[test]
fn killed_at_any_moment_the_database_is_the_old_or_the_new_one() {
    println!("{}", killed(8));
}

#[test]
#[ignore = "takes minutes"]
fn killed_at_sixty_moments_the_database_is_the_old_or_the_new_one() {
    println!("{}", killed(60));
}

fn killed(times: u32) -> String {
    let (home, _) = home_of(12);
    let args = ["migrate", "--in-place", HOME];
    let (before, old) = (database(&home), counts(&home));
    let started = Instant::now();
    run(&home, &args);
    let (whole, new) = (started.elapsed(), counts(&home));
    let (mut news, mut after) = (0, Duration::ZERO);
    for moment in 0..times {
        reset(&home, &before);
        after = whole * (2 * moment + 1) / (2 * times);
        let mut child = command(&home, &args);
        let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program runs");
        std::thread::sleep(after);
        child.kill().and_then(|()| child.wait()).expect("a killed program");
        let met = counts(&home);
        assert!(met == old || met == new, "{met:?} after {after:?}");
        news += u32::from(met == new);
        let (code, said) = run(&home, &args);
        assert_eq!((code, counts(&home)), (0, new), "{said}");
        let (code, said) = run(&home, &["undo", &journal(&home)]);
        assert_eq!(code, 0, "{said}");
        assert!(database(&home) == before, "after {after:?}: {said}");
    }
    format!("kill migrate: {news} of {times} runs had added the rows, the last after {after:.0?}")
}

/// Makes the home as it was before any run.
fn reset(home: &Dir, database: &BTreeMap<PathBuf, Vec<u8>>) {
    let _ = std::fs::remove_dir_all(home.path(".local/state"));
    let is_rest = |file: &Path| common::name(file).starts_with("opencode.db");
    for file in common::files(&home.path(HOME)).iter().filter(|file| is_rest(file)) {
        std::fs::remove_file(file).expect("a file");
    }
    for (path, bytes) in database {
        std::fs::write(path, bytes).expect("a file");
    }
}
