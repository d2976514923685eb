//! A home in which Codelia is at work while sessions are converted into it.

use crate::common::{Dir, own};
use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Saves rows as the runtime does, each in a transaction of its own, until it is told to stop; gives
/// the names of those that the database acknowledged.
fn at_work(database: &Path, stop: &AtomicBool) -> Vec<String> {
    let db = Connection::open(database).expect("a database");
    db.busy_timeout(Duration::from_secs(10)).expect("a time");
    db.pragma_update(None, "journal_mode", "WAL").expect("a log");
    let mut saved = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let name = format!("own-{}", saved.len());
        let done = db.execute(
            "INSERT INTO session_state (session_id, updated_at, schema_version)
             VALUES (?1, '2026-03-01T00:00:00.000Z', 1)
             ON CONFLICT(session_id) DO UPDATE SET updated_at = excluded.updated_at",
            [&name],
        );
        if done.is_ok() {
            saved.push(name);
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    saved
}

/// Converts sessions into the home of a program that is at work, and looks for what either of them lost.
fn rounds(count: usize) {
    let dir = Dir::new();
    let session = String::from_utf8(own("pi/v3/bom")).expect("UTF-8");
    let into = |name: &str| {
        let to = ["convert", "-t", "codelia@2", "--layout", "native", "--no-origin"];
        dir.exit(&[&to[..], &["--out-dir", "home", name]].concat())
    };
    let file = |n: usize| format!("s{n}.jsonl");
    let write = |n: usize| {
        let id = format!("a0f64c72-64f3-4718-b05d-{n:012}");
        dir.write(
            &file(n),
            session.replace("a0f64c72-64f3-4718-b05d-d70748d1efb1", &id).as_bytes(),
        );
        id
    };
    let mut ours = vec![write(0)];
    assert_eq!(into(&file(0)).0, 0);
    let database = dir.path("home/sessions/state.db");
    let stop = AtomicBool::new(false);
    let saved = std::thread::scope(|scope| {
        let running = scope.spawn(|| at_work(&database, &stop));
        for n in 1..=count {
            let id = write(n);
            let (code, said) = into(&file(n));
            // What is busy for long is left alone and reported, and nothing of it is there.
            match code {
                0 => ours.push(id),
                _ => assert!(said.contains("another program is writing"), "{said}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic")
    });
    let db = Connection::open(&database).expect("a database");
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("one");
    assert_eq!(whole, "ok");
    let count_of = |name: &String| -> i64 {
        let query = "SELECT count(*) FROM session_state WHERE session_id = ?1";
        db.query_row(query, [name], |row| row.get(0)).expect("a number")
    };
    let lost: Vec<_> = saved.iter().chain(&ours).filter(|name| count_of(name) != 1).collect();
    println!(
        "{count} rounds: {} rows of the program, {} of copyist; malformed 0, lost {}",
        saved.len(),
        ours.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "{lost:?}");
    assert!(ours.len() > count / 2, "{}", ours.len());
}

#[test]
fn no_row_is_lost_while_codelia_is_at_work() {
    rounds(40);
}

#[test]
#[ignore = "takes a minute"]
fn no_row_is_lost_in_many_rounds() {
    rounds(500);
}
