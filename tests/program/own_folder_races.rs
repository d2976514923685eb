//! Agents that write while `move` and `continue` run, several runs at once, and runs that are killed.
#![cfg(unix)]

use crate::common::{Dir, all_files, read};
use crate::own_folders::{
    HALLS, LAMPS, add, begin, claude, codex, copy_in_codex, journals, out, state, turn,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

fn at_once(processes: usize, rounds: usize) {
    for round in 0..rounds {
        let home = Dir::new();
        let original = claude(&home, 1);
        let copy = copy_in_codex(&home, &original);
        add(&copy, &turn("only once"));
        let args = ["continue", copy.to_str().expect("UTF-8"), "--in", "claude-code"];
        let runs: Vec<_> = (0..processes).map(|_| begin(&home, &args)).collect();
        for mut run in runs {
            assert!(run.wait().expect("it ends").success(), "round {round}");
        }
        let all = all_files(&home.path(".claude/projects"));
        assert_eq!(all, std::slice::from_ref(&original), "round {round}");
        let text = String::from_utf8(read(&original)).expect("UTF-8");
        assert_eq!(text.lines().filter(|line| line.contains("only once")).count(), 1, "{text}");
    }
}

#[test]
fn messages_are_added_once_by_two_runs() {
    at_once(2, 3);
}

#[test]
#[ignore = "200 rounds"]
fn messages_are_added_once_by_two_and_three_runs_in_200_rounds() {
    at_once(2, 200);
    at_once(3, 200);
}

fn moves_while_agents_write(rounds: u32) {
    for round in 0..rounds {
        let home = Dir::new();
        let prompts = home.path(".claude/history.jsonl");
        let line =
            |n: usize| format!("{}\n", json!({"display": format!("line {n}."), "project": LAMPS}));
        home.write(".claude/history.jsonl", (0..200).map(line).collect::<String>().as_bytes());
        let (session, rollouts) = (claude(&home, 1), [codex(&home, 2), codex(&home, 3)]);
        let stop = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let agents = scope.spawn(|| {
                let mut rollout =
                    OpenOptions::new().append(true).open(&rollouts[0]).expect("a file");
                let mut n = 200;
                while !stop.load(Ordering::Relaxed) {
                    let mut by_path = OpenOptions::new()
                        .append(true)
                        .create(true)
                        .open(&prompts)
                        .expect("a file");
                    by_path.write_all(line(n).as_bytes()).expect("room");
                    rollout.write_all(turn(&format!("line {n}.")).as_bytes()).expect("room");
                    n += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
                n
            });
            std::thread::sleep(Duration::from_millis(u64::from(round % 7)));
            out(&home, &["move", LAMPS, HALLS]);
            stop.store(true, Ordering::Relaxed);
            agents.join().expect("it ends")
        });
        assert!(!session.exists(), "it moved");
        for (file, first) in [(&prompts, 0), (&rollouts[0], 200)] {
            let text = String::from_utf8(read(file)).expect("UTF-8");
            for line in text.lines() {
                serde_json::from_str::<Value>(line).expect("a whole line");
            }
            for n in first..written {
                assert!(
                    text.contains(&format!("\"line {n}.\"")),
                    "round {round}: {n} of {written}"
                );
            }
        }
    }
}

#[test]
fn move_loses_no_line_of_an_agent() {
    moves_while_agents_write(1);
}

#[test]
#[ignore = "40 rounds"]
fn move_loses_no_line_of_an_agent_in_40_rounds() {
    moves_while_agents_write(40);
}

/// Kills runs of a command at `moments`, repeats it, and undoes everything.
fn killed(moments: u32, make: &dyn Fn(&Dir) -> Vec<String>) {
    let home = Dir::new();
    let args = make(&home);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let begun = SystemTime::now();
    assert!(begin(&home, &args).wait().expect("it ends").success());
    let whole = begun.elapsed().expect("a duration");
    let sessions = |home: &Dir| {
        let names =
            all_files(home.root()).into_iter().map(|f| f.file_name().expect("a name").to_owned());
        names.filter(|n| n.to_string_lossy().ends_with(".jsonl")).collect::<BTreeSet<_>>()
    };
    for moment in 0..moments {
        let home = Dir::new();
        let args = make(&home);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let earlier = journals(&home).len();
        let before = state(&home);
        let had = sessions(&home);
        let mut run = begin(&home, &args);
        std::thread::sleep(whole * moment / moments);
        run.kill().and_then(|()| run.wait()).expect("it ends");
        out(&home, &args);
        assert!(had.is_subset(&sessions(&home)), "moment {moment}: a session is hidden");
        for journal in journals(&home).iter().skip(earlier).rev() {
            out(&home, &["undo", journal.to_str().expect("UTF-8")]);
        }
        let now = state(&home);
        for (path, (bytes, ..)) in &before {
            assert_eq!(
                now.get(path).map(|now| &now.0),
                Some(bytes),
                "moment {moment}: {}",
                path.display()
            );
        }
        let more: Vec<_> = now.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(more.is_empty(), "moment {moment}: {more:?}");
    }
}

fn many(home: &Dir, number: u32) -> Vec<String> {
    (0..number / 2).for_each(|n| drop((claude(home, n), codex(home, n + 1000))));
    ["move", LAMPS, HALLS].map(str::to_owned).to_vec()
}

fn back(home: &Dir) -> Vec<String> {
    let copy = copy_in_codex(home, &claude(home, 1));
    (0..50).for_each(|n| add(&copy, &turn(&format!("question {n} {}", "x".repeat(5000)))));
    ["continue", copy.to_str().expect("UTF-8"), "--in", "claude-code"].map(str::to_owned).to_vec()
}

#[test]
fn move_and_continue_that_are_killed_and_repeated_are_undone() {
    killed(4, &|home| many(home, 20));
    killed(4, &back);
}

#[test]
#[ignore = "100 moments of each"]
fn move_and_continue_that_are_killed_at_100_moments_are_undone() {
    killed(100, &|home| many(home, 300));
    killed(100, &back);
}
