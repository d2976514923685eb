//! Commands that write into agents' own folders: nothing that is there is lost, opened to others, or
//! hidden, whatever agents write meanwhile and whenever a run is killed.
#![cfg(unix)]

use crate::common::{Dir, all_files, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

pub const LAMPS: &str = "/home/ada/lamps";
pub const HALLS: &str = "/home/ada/halls";

fn command(home: &Dir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).args(args);
    command
}

pub fn run(home: &Dir, args: &[&str]) -> (i32, String) {
    let done = command(home, args).output().expect("the program runs");
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    (done.status.code().unwrap_or(-1), text)
}

pub fn out(home: &Dir, args: &[&str]) -> String {
    let (code, text) = run(home, args);
    assert_eq!(code, 0, "{args:?}: {text}");
    text
}

pub fn begin(home: &Dir, args: &[&str]) -> Child {
    let mut command = command(home, args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program runs")
}

/// Identifier of session number `n`.
fn id(n: u32) -> String {
    format!("{n:08}-1111-4111-8111-111111111111")
}

/// A private session of Claude Code in `LAMPS`.
pub fn claude(home: &Dir, n: u32) -> PathBuf {
    let line = |role: &str, me: u32, parent: Value, content: Value| {
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": LAMPS,
            "sessionId": id(n), "version": "2.1.0", "gitBranch": "main", "type": role,
            "message": {"role": role, "content": content, "id": "msg_1", "type": "message",
                "model": "claude-opus-4-8", "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 5, "output_tokens": 7}},
            "uuid": id(n * 100 + me), "timestamp": format!("2026-03-01T00:00:0{me}.000Z")})
    };
    let question = line("user", 1, Value::Null, json!("Which lamps are lit?"));
    let text = json!([{"type": "text", "text": "All of them."}]);
    let answer = line("assistant", 2, json!(id(n * 100 + 1)), text);
    let path = format!(".claude/projects/-home-ada-lamps/{}.jsonl", id(n));
    private(home.write(&path, format!("{question}\n{answer}\n").as_bytes()))
}

/// A private session of Codex in `LAMPS`.
pub fn codex(home: &Dir, n: u32) -> PathBuf {
    let meta = json!({"timestamp": "2026-04-01T00:00:00.000Z", "type": "session_meta", "payload":
        {"id": id(n), "timestamp": "2026-04-01T00:00:00.000Z", "cwd": LAMPS,
        "originator": "codex_cli_rs", "cli_version": "0.77.0", "instructions": null,
        "source": "cli", "model_provider": "openai"}});
    let path = format!(".codex/sessions/2026/04/01/rollout-2026-04-01T00-00-00-{}.jsonl", id(n));
    private(home.write(&path, format!("{meta}\n{}", turn("first")).as_bytes()))
}

/// The lines of a turn in Codex.
pub fn turn(question: &str) -> String {
    let line = |kind: &str, payload: Value| {
        let line =
            json!({"timestamp": "2026-04-01T00:00:01.000Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let message = |role: &str, kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        line("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    [
        message("user", "input_text", question),
        line("event_msg", json!({"type": "user_message", "message": question, "kind": "plain"})),
        line("event_msg", json!({"type": "agent_message", "message": "Yes."})),
        message("assistant", "output_text", "Yes."),
    ]
    .concat()
}

fn private(path: PathBuf) -> PathBuf {
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    path
}

pub fn add(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("room");
}

/// Contents, times and permissions of all files but those of the program itself.
pub fn state(home: &Dir) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime, u32)> {
    let own = |file: &PathBuf| {
        let text = file.to_string_lossy();
        !text.contains("/.local/") && !text.contains("/.cache/")
    };
    let of = |file: PathBuf| {
        let meta = file.metadata().expect("a file");
        let time = meta.modified().expect("a time");
        (file.clone(), (read(&file), time, meta.permissions().mode() & 0o777))
    };
    all_files(home.root()).into_iter().filter(own).map(of).collect()
}

pub fn journals(home: &Dir) -> Vec<PathBuf> {
    let folder = home.path(".local/state/copyist");
    if folder.is_dir() { all_files(&folder) } else { Vec::new() }
}

fn undo_all(home: &Dir) {
    for journal in journals(home).iter().rev() {
        out(home, &["undo", journal.to_str().expect("UTF-8")]);
    }
}

fn continued(home: &Dir, session: &Path, agent: &str) -> Value {
    let path = session.to_str().expect("UTF-8");
    let done = command(home, &["continue", path, "--in", agent, "--json"]).output();
    let done = done.expect("the program runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

pub fn copy_in_codex(home: &Dir, original: &Path) -> PathBuf {
    PathBuf::from(continued(home, original, "codex")["path"].as_str().expect("a path"))
}

#[test]
fn move_replaces_no_backup_and_undo_leaves_nothing() {
    let home = Dir::new();
    let rollout = codex(&home, 1);
    let kept = rollout.with_extension("jsonl.bak");
    fs::write(&kept, "the only original").expect("room");
    let prompts = json!({"display": "x", "project": LAMPS});
    home.write(".claude/history.jsonl", format!("{prompts}\n").as_bytes());
    home.write(".claude/history.jsonl.bak", b"the user's own");
    copy_in_codex(&home, &claude(&home, 2));
    fs::remove_dir_all(home.path(".local")).expect("a folder");
    let before = state(&home);
    out(&home, &["move", LAMPS, HALLS]);
    assert_eq!(read(&kept), b"the only original");
    assert_eq!(read(&home.path(".claude/history.jsonl.bak")), b"the user's own");
    assert!(rollout.with_extension("jsonl.bak.2").is_file());
    undo_all(&home);
    assert_eq!(state(&home), before);
}

#[test]
fn three_steps_are_undone_in_turn() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let copy = copy_in_codex(&home, &original);
    let mut steps = Vec::new();
    for n in 0..3 {
        add(&copy, &turn(&format!("question {n}")));
        let before = state(&home);
        let back = continued(&home, &copy, "claude-code");
        assert_eq!(back["way"], "added", "{back}");
        steps.push((before, back["journal"].as_str().expect("a journal").to_owned()));
    }
    let last = read(&copy);
    for (before, journal) in steps.iter().rev() {
        out(&home, &["undo", journal]);
        let mut now = state(&home);
        // The agent's own file went on in between.
        now.insert(copy.clone(), before[&copy].clone());
        assert_eq!(now, *before, "{journal}");
    }
    assert_eq!(read(&copy), last);
}

#[test]
fn session_whose_place_is_taken_stays_as_it_is_and_moves_later() {
    let home = Dir::new();
    let old = claude(&home, 1);
    let taken = home.path(&format!(".claude/projects/-home-ada-halls/{}.jsonl", id(1)));
    home.write(&format!(".claude/projects/-home-ada-halls/{}.jsonl", id(1)), &read(&old));
    let real = home.write("elsewhere/x.jsonl", &read(&old));
    let link = home.path(".claude/projects/linked");
    std::os::unix::fs::symlink(real.parent().expect("a folder"), &link).expect("a link");
    let before = read(&old);
    let text = out(&home, &["move", LAMPS, HALLS]);
    assert!(text.contains("is there already") && text.contains("it is a link to"), "{text}");
    assert_eq!(read(&old), before);
    fs::remove_file(&taken).expect("it goes");
    out(&home, &["move", LAMPS, HALLS]);
    assert!(taken.is_file() && !old.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn file_that_a_program_has_open_stays_with_the_reason() {
    let home = Dir::new();
    let (held, free) = (codex(&home, 1), codex(&home, 2));
    let handle = OpenOptions::new().append(true).open(&held).expect("a file");
    let before = read(&held);
    let text = out(&home, &["move", LAMPS, HALLS]);
    assert!(text.contains("has it open"), "{text}");
    assert_eq!(read(&held), before);
    assert!(String::from_utf8_lossy(&read(&free)).contains(HALLS));
    drop(handle);
    out(&home, &["move", LAMPS, HALLS]);
    assert!(String::from_utf8_lossy(&read(&held)).contains(HALLS));
}

#[test]
fn no_output_is_open_to_more_users_than_its_source() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let path = original.to_str().expect("UTF-8");
    let dir = |name: &str| home.path(name).to_string_lossy().into_owned();
    let (pages, native, torn) = (dir("pages"), dir(".pi/agent/sessions"), dir("torn.jsonl"));
    out(&home, &["convert", "-q", "-t", "html", "--out-dir", &pages, path]);
    out(&home, &["convert", "-q", "-t", "codex", "-o", &dir("a.jsonl"), path]);
    out(&home, &["convert", "-q", "-t", "pi", "--layout", "native", "--out-dir", &native, path]);
    out(&home, &["show", "-q", "--as", "markdown", "-o", &dir("shown.md"), path]);
    out(&home, &["fork", path]);
    let copy = copy_in_codex(&home, &original);
    add(&copy, &turn("And the others?"));
    continued(&home, &copy, "claude-code");
    fs::copy(&original, &torn).expect("room");
    add(Path::new(&torn), "{\"torn\n");
    let (report, log) = (dir("report"), dir("journal"));
    run(&home, &["repair", "--in-place", "--report", &report, "--journal", &log, &torn]);
    out(&home, &["move", LAMPS, HALLS]);
    for file in all_files(home.root()) {
        let mode = file.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{mode:o} {}", file.display());
    }
    for folder in [copy.parent().expect("a folder"), &home.path(".local/state/copyist")] {
        let mode = folder.metadata().expect("a folder").permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", folder.display());
    }
}

#[test]
fn new_file_in_an_agents_folder_has_the_present_time() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let old = SystemTime::now() - Duration::from_secs(100 * 86400);
    File::options()
        .write(true)
        .open(&original)
        .and_then(|file| file.set_modified(old))
        .expect("ours");
    let path = original.to_str().expect("UTF-8");
    for (folder, is_old) in [("elsewhere", true), (".pi/agent/sessions", false)] {
        let into = home.path(folder);
        let into = into.to_str().expect("UTF-8");
        out(&home, &["convert", "-q", "-t", "pi", "--layout", "native", "--out-dir", into, path]);
        for file in all_files(&home.path(folder)) {
            let time = file.metadata().and_then(|meta| meta.modified()).expect("a time");
            assert_eq!(time == old, is_old, "{}", file.display());
        }
    }
}

#[test]
fn clean_keeps_the_original_of_a_repair_that_warned() {
    let home = Dir::new();
    let session = claude(&home, 1);
    add(&session, "{\"torn\n");
    let (path, log) = (session.to_str().expect("UTF-8"), home.path("journal"));
    let log = log.to_str().expect("UTF-8");
    run(&home, &["repair", "--in-place", "--journal", log, path]);
    let (_, text) = run(&home, &["clean", log]);
    assert!(text.contains("reported a warning or an error"), "{text}");
    assert!(session.with_extension("jsonl.bak").is_file());
}

#[test]
fn origin_that_is_a_link_is_used() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let copy = copy_in_codex(&home, &original);
    let origin = copy.with_extension("jsonl.origin");
    let elsewhere = home.path("elsewhere.origin");
    fs::rename(&origin, &elsewhere).expect("it moves");
    std::os::unix::fs::symlink(&elsewhere, &origin).expect("a link");
    let back = home.path("back.jsonl");
    let (copy, back) = (copy.to_str().expect("UTF-8"), back.to_str().expect("UTF-8"));
    out(&home, &["convert", "-q", "-t", "claude-code", "-o", back, copy]);
    assert_eq!(read(Path::new(back)), read(&original));
}

#[test]
fn messages_quote_no_secret() {
    let home = Dir::new();
    let session = claude(&home, 1);
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    add(&session, &format!("export TOKEN={secret}\n"));
    let path = session.to_str().expect("UTF-8");
    let (into, report) = (home.path("o.jsonl"), home.path("report"));
    let (into, report) = (into.to_str().expect("UTF-8"), report.to_str().expect("UTF-8"));
    let (_, text) =
        run(&home, &["convert", "--redact", "-t", "pi", "-o", into, "--report", report, path]);
    assert!(!text.contains(&secret[..20]), "{text}");
    assert!(!String::from_utf8_lossy(&read(Path::new(report))).contains(&secret[..20]));
}

#[test]
fn conflict_gives_one_session_however_often_it_is_repeated() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let copy = copy_in_codex(&home, &original);
    add(&copy, &turn("There?"));
    let last = String::from_utf8(read(&original)).expect("UTF-8");
    add(
        &original,
        &format!(
            "{}\n",
            last.lines()
                .next()
                .expect("a line")
                .replace("100000101", "00000909")
                .replace(&id(101), &id(909))
        ),
    );
    let apart = continued(&home, &copy, "claude-code");
    assert_eq!(apart["way"], "new", "{apart}");
    for _ in 0..2 {
        let again = continued(&home, &copy, "claude-code");
        assert_eq!((&again["way"], &again["path"]), (&json!("there"), &apart["path"]));
    }
}

/// A run of `continue` back that was killed when a part of the messages was in the original.
#[test]
fn continue_that_was_killed_is_completed_and_undone() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let copy = copy_in_codex(&home, &original);
    (0..3).for_each(|n| add(&copy, &turn(&format!("question {n}"))));
    let before = state(&home);
    let journal = continued(&home, &copy, "claude-code")["journal"].clone();
    let journal = PathBuf::from(journal.as_str().expect("a journal"));
    let (whole, described) = (read(&original), String::from_utf8(read(&journal)).expect("UTF-8"));
    let unfinished: String = described
        .lines()
        .filter(|line| !line.contains("\"finished\""))
        .map(|l| format!("{l}\n"))
        .collect();
    let size = before[&original].0.len();
    let origin = copy.with_extension("jsonl.origin");
    for end in [size, size + 1, size + (whole.len() - size) / 2, whole.len() - 1, whole.len()] {
        fs::write(&original, &whole[..end]).expect("room");
        let kept = origin.with_extension("origin.bak");
        if kept.is_file() {
            fs::rename(&kept, &origin).expect("it goes back");
        }
        fs::write(&journal, &unfinished).expect("room");
        let again = continued(&home, &copy, "claude-code");
        assert_eq!((again["way"].as_str(), &again["note"]), (Some("added"), &Value::Null), "{end}");
        assert_eq!(again["journal"].as_str(), journal.to_str(), "{end}");
        assert_eq!(read(&original), whole, "{end}");
        out(&home, &["undo", journal.to_str().expect("UTF-8")]);
        let now = state(&home);
        assert_eq!(now[&original].0, before[&original].0, "{end}");
        assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{end}");
        fs::write(&original, &whole).expect("room");
    }
}

#[test]
fn undo_that_was_killed_before_it_set_the_time_is_completed() {
    let home = Dir::new();
    let original = claude(&home, 1);
    let copy = copy_in_codex(&home, &original);
    add(&copy, &turn("question"));
    let before = state(&home);
    let journal = continued(&home, &copy, "claude-code")["journal"].clone();
    fs::write(&original, &before[&original].0).expect("room");
    out(&home, &["undo", journal.as_str().expect("a journal")]);
    assert_eq!(state(&home), before);
}
