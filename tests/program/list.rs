//! The list of sessions of all agents, and sessions by name.

use crate::common::{self, Dir, testdata};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

/// The folders of the agents' sessions in a user's own folder, and in a project's.
const HOMES: &[(&str, &str)] = &[
    ("claude-code", ".claude/projects"),
    ("codex", ".codex/sessions"),
    ("pi", ".pi/agent/sessions"),
    ("codelia", ".codelia"),
    ("connectonion", "project/.co"),
    ("agent-orchestrator", "project/.agent-orchestrator/agent-sessions"),
];

/// The program in the project's folder of a user with this own folder, in which alone it looks for
/// sessions, settings and its cache.
fn program(home: &Dir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    let project = home.path("project");
    fs::create_dir_all(&project).expect("a folder");
    command.current_dir(project).env_clear().env("HOME", home.root()).env("TZ", "UTC");
    command
}

fn run(home: &Dir, args: &[&str]) -> Output {
    program(home).args(args).output().expect("the program runs")
}

/// Standard output of a run that succeeds.
fn out(home: &Dir, args: &[&str]) -> String {
    let done = run(home, args);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{args:?}: {err}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

/// The sessions that `list` with these options prints.
fn listed(home: &Dir, args: &[&str]) -> Vec<Value> {
    let out = out(home, &[&["list", "--json"], args].concat());
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn texts<'s>(sessions: &'s [Value], member: &str) -> Vec<&'s str> {
    sessions.iter().map(|session| session[member].as_str().unwrap_or_default()).collect()
}

/// A user's own folder with the sessions of all test data, where their agents keep them.
fn home_of_all() -> Dir {
    let home = Dir::new();
    for (format, folder) in HOMES {
        let folder = home.path(folder);
        let source = testdata().join(if *format == "codelia" { "pi" } else { format });
        let mut command = program(&home);
        command.args(["convert", "-q", "--layout", "native", "--no-origin", "-t", format]);
        command.arg("--out-dir").arg(&folder);
        let inputs = common::inputs_below(&source);
        assert!(!inputs.is_empty(), "{format}");
        command.args(inputs).output().expect("the program runs");
        assert!(folder.is_dir(), "{format}");
    }
    home
}

fn files_in(folder: &Path, is_session: impl Fn(&str) -> bool) -> usize {
    let files = common::files(folder);
    let name = |file: &Path| file.strip_prefix(folder).expect("below").display().to_string();
    files.iter().filter(|file| is_session(&name(file))).count()
}

fn line(id: &str, cwd: &str, time: &str, said: &str) -> String {
    format!(
        concat!(
            r#"{{"type":"session","version":3,"id":"{}","timestamp":"2026-01-03T08:20:55.301Z","cwd":"{}"}}"#,
            "\n",
            r#"{{"type":"message","id":"a","parentId":null,"timestamp":"{}","message":{{"role":"user","content":"{}","timestamp":1767428460000}}}}"#,
            "\n",
        ),
        id, cwd, time, said
    )
}

/// A home with three sessions of pi: the oldest has the longest text.
fn home_of_three() -> Dir {
    let home = Dir::new();
    let session = |id: &str, cwd: &str, day: u32, said: &str| {
        let text = line(id, cwd, &format!("2026-01-{day:02}T08:21:00.000Z"), said);
        let path = home.write(&format!(".pi/agent/sessions/{cwd}/x_{id}.jsonl"), text.as_bytes());
        settle(&path);
    };
    session("aaaaaaaa-0001", "/w/app", 3, "Which tides are high? Which are low? And when?");
    session("aaaaaaaa-0002", "/w/app-two", 4, "Where is the Harbour?");
    session("bbbbbbbb-0003", "/w/app/inner", 5, "Why?");
    home
}

/// Makes a file look as if it was written long ago.
fn settle(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_760_000_000)).expect("a time");
}

#[test]
fn list_of_a_home_with_all_agents_has_every_session_once() {
    let home = home_of_all();
    let sessions = listed(&home, &[]);
    let of = |agent: &str| sessions.iter().filter(|one| one["agent"] == agent).count();
    for (agent, _) in HOMES {
        assert!(of(agent) > 0, "{agent}");
    }
    let of_claude = |name: &str| name.ends_with(".jsonl") && !name.contains("/subagents/");
    let expected = files_in(&home.path(".claude/projects"), of_claude);
    assert_eq!(of("claude-code"), expected, "sub-agents are no sessions");
    assert_eq!(of("codex"), files_in(&home.path(".codex/sessions"), |_| true));
    assert_eq!(of("pi"), files_in(&home.path(".pi/agent/sessions"), |_| true));
    let mut updated = texts(&sessions, "updated");
    assert!(updated.is_sorted_by(|a, b| a >= b), "{updated:?}");
    updated.retain(|time| time.is_empty());
    assert!(updated.is_empty(), "each has a time");
    let mut paths = texts(&sessions, "path");
    assert!(paths.iter().all(|path| Path::new(path).is_file() && !path.contains("/subagents/")));
    paths.sort_unstable();
    let count = paths.len();
    paths.dedup();
    assert_eq!(paths.len(), count, "no session is listed twice");
    assert_eq!(listed(&home, &[]), sessions, "from the cache");
    let archived = home.path(".codex/archived_sessions");
    fs::rename(home.path(".codex/sessions"), archived).expect("it moves");
    let again = listed(&home, &["--agent", "codex"]);
    assert_eq!(again.len(), of("codex"), "archived sessions are sessions");
}

#[test]
fn table_in_any_width_fits_into_it() {
    let home = home_of_all();
    for width in [40, 80, 120, 200] {
        let table = out(&home, &["list", "--width", &width.to_string()]);
        assert!(table.starts_with("agent"), "{table}");
        for line in table.lines() {
            assert!(textwrap::core::display_width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn list_with_conditions_has_only_what_meets_them() {
    let home = home_of_three();
    let ids = |args: &[&str]| {
        let sessions = listed(&home, args);
        texts(&sessions, "id").into_iter().map(|id| id[9..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), ["0003", "0002", "0001"], "the newest first");
    assert_eq!(ids(&["-n", "1"]), ["0003"]);
    assert_eq!(ids(&["--sort", "size", "-n", "1"]), ["0001"]);
    assert_eq!(ids(&["--project", "/w/app"]), ["0003", "0001"], "not of a folder beside it");
    assert_eq!(ids(&["--project", r"\\wsl$\Ubuntu\w\app"]), ["0003", "0001"]);
    assert_eq!(ids(&["--since", "2026-01-04"]), ["0003", "0002"]);
    assert_eq!(ids(&["--since", "5000w"]).len(), 3);
    assert_eq!(ids(&["--agent", "codex"]).len(), 0);
    assert_eq!(ids(&["--grep", "harbour"]), ["0002"], "small letters match capital ones");
    assert_eq!(ids(&["--grep", "HARBOUR"]).len(), 0);
    assert_eq!(ids(&["--grep", "wh", "-n", "2"]), ["0003", "0002"]);
    let file = home.path(".pi/agent/sessions/w/app/x_aaaaaaaa-0001.jsonl");
    assert_eq!(ids(&[file.to_str().expect("UTF-8")]), ["0001"]);
    let done = run(&home, &["list", "--since", "soon"]);
    assert_eq!(done.status.code(), Some(2));
    let done = run(&home, &["list", "./nowhere"]);
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn json_of_a_session_has_all_members() {
    let home = home_of_three();
    let sessions = listed(&home, &["-n", "1"]);
    let names: Vec<_> = sessions[0].as_object().expect("an object").keys().collect();
    let expected = [
        "agent", "id", "path", "project", "title", "updated", "messages", "size", "tokens", "cost",
        "state",
    ];
    assert_eq!(names, expected);
    let file = home.path(".pi/agent/sessions/w/app/inner/x_bbbbbbbb-0003.jsonl");
    assert_eq!(sessions[0]["path"], file.to_str().expect("UTF-8"));
    assert_eq!(sessions[0]["size"], file.metadata().expect("a file").len());
    assert_eq!(sessions[0]["title"], "Why?");
    assert_eq!(sessions[0]["messages"], 1);
    assert_eq!(sessions[0]["tokens"], Value::Null);
}

#[test]
fn list_with_damaged_files_has_them_with_their_state() {
    let home = home_of_three();
    let torn = line("cccccccc-0004", "/w", "2026-01-06T08:00:00Z", "Torn?");
    home.write(".pi/agent/sessions/torn.jsonl", &torn.as_bytes()[..torn.len() - 40]);
    home.write(".pi/agent/sessions/noise.jsonl", b"\x00\x01\x02\x03");
    home.write(".pi/agent/sessions/none.jsonl", b"");
    home.write(".pi/agent/sessions/notes.txt", b"no session");
    let sessions = listed(&home, &[]);
    assert_eq!(sessions.len(), 6);
    let state = |name: &str| {
        let one = sessions.iter().find(|one| one["path"].as_str().unwrap_or("").ends_with(name));
        one.unwrap_or_else(|| panic!("{name}"))["state"].as_str().unwrap_or_default().to_owned()
    };
    let names = ["torn.jsonl", "noise.jsonl", "none.jsonl", "0001.jsonl"];
    assert_eq!(names.map(state), ["damaged", "unreadable", "empty", "ok"]);
}

#[test]
fn cache_that_is_stale_damaged_or_unwritable_changes_no_answer() {
    let home = home_of_three();
    let first = listed(&home, &[]);
    let cache = home.path(".cache/copyist/sessions");
    let whole = fs::read(&cache).expect("a cache");

    // An unchanged file is not read again: its cached summary is printed.
    let file = home.path(".pi/agent/sessions/w/app/inner/x_bbbbbbbb-0003.jsonl");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, text.replace("Why?", "How?")).expect("a file");
    settle(&file);
    assert_eq!(listed(&home, &[]), first);

    // One with another time, or another size, is.
    fs::write(&file, text.replace("Why?", "Who?")).expect("a file");
    assert_eq!(listed(&home, &["-n", "1"])[0]["title"], "Who?");
    fs::write(&file, text.replace("Why?", "When was it?")).expect("a file");
    settle(&file);
    assert_eq!(listed(&home, &["-n", "1"])[0]["title"], "When was it?");
    fs::write(&file, &text).expect("a file");

    for place in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&cache, &damaged).expect("a file");
        assert_eq!(listed(&home, &[]), first, "byte {place}");
    }
    for damaged in [&whole[..whole.len() / 2], b"", b"\xff\xfe\n\n0"] {
        fs::write(&cache, damaged).expect("a file");
        assert_eq!(listed(&home, &[]), first);
    }

    fs::remove_dir_all(home.path(".cache")).expect("a folder");
    home.write(".cache", b"a file, where a folder was");
    assert_eq!(listed(&home, &[]), first);
    fs::remove_file(&file).expect("a file");
    assert_eq!(listed(&home, &[]).len(), 2, "a deleted session is not listed");
}

#[test]
fn list_without_sessions_is_empty() {
    let home = Dir::new();
    let done = run(&home, &["list"]);
    assert_eq!((done.status.code(), done.stdout.len()), (Some(0), 0));
    assert!(String::from_utf8_lossy(&done.stderr).contains("there are no sessions"));
    assert!(listed(&home, &[]).is_empty());
    assert!(home.names().is_empty(), "{:?}", home.names());
}

#[test]
fn session_is_found_by_its_name() {
    let home = home_of_three();
    let question = |name: &str| out(&home, &["context", name]);
    assert!(question("latest").contains("Why?"));
    assert!(question("bbbbbb").contains("Why?"));
    assert!(question("aaaaaaaa-0002").contains("Harbour"));
    assert!(out(&home, &["inspect", "bbbbbbbb"]).contains("bbbbbbbb-0003"));
    assert!(out(&home, &["convert", "-t", "canonical", "-o", "-", "bbbbbb"]).contains("Why?"));
    assert!(out(&home, &["detect", "latest"]).contains("pi@3"));
    let done = run(&home, &["context", "aaaaaaaa"]);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{err}");
    for id in ["0001", "0002"] {
        let path = format!("x_aaaaaaaa-{id}.jsonl  # pi, ");
        assert!(err.lines().any(|line| line.contains(&path)), "{err}");
    }
    let done = run(&home, &["inspect", "aaaaab"]);
    assert_ne!(done.status.code(), Some(0));
    // A file with such a name is the file.
    home.write("project/latest", line("d", "/", "2026-01-01T00:00:00Z", "Mine?").as_bytes());
    assert!(question("latest").contains("Mine?"));
}

#[test]
fn list_by_name_of_agent_orchestrator_is_as_its_own() {
    let home = home_of_all();
    let folder = home.path("project/.agent-orchestrator/agent-sessions");
    let own = out(&home, &["list", "--agent", "agent-orchestrator"]);
    assert!(own.starts_with("name "), "{own}");
    let folder = folder.to_str().expect("UTF-8");
    assert_eq!(out(&home, &["list", "--sessions-dir", folder]), own);
    let named = ["list", "--agent", "agent-orchestrator", "--sessions-dir", folder];
    assert_eq!(out(&home, &named), own);
    let done = run(&home, &[&named[..], &["--since", "1d"]].concat());
    assert_eq!(done.status.code(), Some(2));
    let sessions = listed(&home, &["--agent", "ao", folder]);
    assert!(!sessions.is_empty(), "a PATH is listed as that of any agent");
}

#[test]
fn identifiers_are_as_long_as_it_takes_to_distinguish_sessions() {
    let home = Dir::new();
    let ids = [
        "019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a5b",
        "019b8fa2-6a6e-7c31-9e5b-0c1d2e3f4a5b",
        "11111111-0000-7000-8000-000000000001",
    ];
    for id in ids {
        let text = line(id, "/w", "2026-01-03T08:21:00.000Z", "Why?");
        home.write(&format!(".pi/agent/sessions/w/x_{id}.jsonl"), text.as_bytes());
    }
    let table = out(&home, &["list", "--width", "200"]);
    for shown in ["  019b8fa2-6a6d  ", "  019b8fa2-6a6e  ", "  11111111  "] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    let one = out(&home, &["inspect", "--json", "019b8fa2-6a6e"]);
    assert!(one.contains(ids[1]), "{one}");
}

#[test]
fn list_by_state_has_only_sessions_in_it() {
    let home = home_of_three();
    home.write(".pi/agent/sessions/none.jsonl", b"");
    home.write(".pi/agent/sessions/noise.jsonl", b"\x00\x01\x02\x03");
    assert_eq!(listed(&home, &["--state", "ok"]).len(), 3);
    assert_eq!(texts(&listed(&home, &["--state", "empty"]), "id"), ["none"]);
    assert_eq!(texts(&listed(&home, &["--state", "unreadable"]), "id"), ["noise"]);
    assert_eq!(listed(&home, &["--state", "damaged"]).len(), 0);
}

#[test]
fn list_has_sessions_in_the_folders_of_projects_that_sessions_name() {
    let home = Dir::new();
    let there = home.path("elsewhere");
    fs::create_dir_all(&there).expect("a folder");
    let text =
        line("aaaaaaaa-0001", there.to_str().expect("UTF-8"), "2026-01-03T08:21:00.000Z", "Why?");
    home.write(".pi/agent/sessions/x/x_aaaaaaaa-0001.jsonl", text.as_bytes());
    let source = testdata().join("agent-orchestrator");
    let folder = there.join(".agent-orchestrator/agent-sessions");
    let mut command = program(&home);
    command.args([
        "convert",
        "-q",
        "--layout",
        "native",
        "--no-origin",
        "-t",
        "agent-orchestrator",
    ]);
    command.arg("--out-dir").arg(&folder).args(common::inputs_below(&source));
    command.output().expect("the program runs");
    let sessions = listed(&home, &[]);
    let count = sessions.iter().filter(|one| one["agent"] == "agent-orchestrator").count();
    assert!(count > 0, "{sessions:?}");
    assert_eq!(listed(&home, &[]), sessions, "from the cache");
    let colours = out(&home, &["list", "--color", "always", "--width", "100"]);
    assert!(colours.starts_with("\u{1b}[1m"), "{colours}");
    assert!(!out(&home, &["list", "--width", "100"]).contains('\u{1b}'));
}
