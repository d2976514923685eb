//! Agents that write while `append` runs: nothing that they wrote is lost.

use crate::common::{Dir, read};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Formats of lines, with the name of the session's main file.
const LINES: [(&str, &str); 4] = [
    ("pi", "s.jsonl"),
    ("claude-code", "s.jsonl"),
    ("agent-orchestrator", "s.jsonl"),
    ("canonical", "s.copyist.jsonl"),
];

/// A session of this format with so many messages.
fn session(dir: &Dir, format: &str, file: &str, messages: usize) {
    let mut lines =
        json!({"type": "session", "version": 3, "id": "019ac000-0000-7000-8000-000000000001",
        "timestamp": "2026-11-20T10:00:00.000Z", "cwd": "/w"})
        .to_string();
    let mut parent = Value::Null;
    for n in 0..messages {
        let (id, time) = (format!("{n:08x}"), "2026-11-20T10:00:01.000Z");
        let message = match n % 2 {
            0 => json!({"role": "user", "content": format!("Question {n}"), "timestamp": n}),
            _ => {
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("Answer {n}")}],
                "api": "a", "provider": "p", "model": "m", "stopReason": "stop", "timestamp": n,
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}})
            }
        };
        let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message});
        write!(lines, "\n{entry}").expect("room");
        parent = json!(id);
    }
    dir.write("in/s.jsonl", (lines + "\n").as_bytes());
    let args = ["convert", "--no-origin", "-q", "-t", format, "in/s.jsonl", "--out-dir", "."];
    let (code, why) = dir.said(&args);
    assert!(code <= 1, "{format}: {why}");
    assert!(dir.path(file).is_file(), "{:?}", dir.names());
    fs::remove_dir_all(dir.path("in")).expect("it is there");
}

fn start(dir: &Dir, file: &str, text: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_copyist"))
        .args(["append", "--text", text, file])
        .current_dir(dir.root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs")
}

/// Ends an appending process; returns whether it appended.
fn ended(child: Child) -> bool {
    let done = child.wait_with_output().expect("it ends");
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() || why.contains("CY0013") || why.contains("changed"), "{why}");
    done.status.success()
}

/// The last line of a file with another text and, where it has one, another identifier.
fn line_of_agent(file: &Path, marker: &str) -> String {
    let text = fs::read_to_string(file).expect("UTF-8");
    let says = |line: &&str| line.contains("\"Question ");
    let line = text.lines().rev().find(says).expect("a question");
    let start = line.find("Question ").expect("it is there");
    let end = start + line[start..].find('"').expect("its end");
    let line = format!("{}{marker}{}", &line[..start], &line[end..]);
    let mut value: Value = serde_json::from_str(&line).expect("JSON");
    for name in ["id", "uuid"] {
        if let Some(id) = value.get_mut(name) {
            *id = json!(format!("a9e00000-0000-4000-8000-{:012x}", marker.len() * 7919 + start));
        }
    }
    value.to_string() + "\n"
}

fn holds(file: &Path, text: &str) -> bool {
    memchr::memmem::find(&read(file), format!("{text}\"").as_bytes()).is_some()
}

/// Writes a line as an agent does, at another moment of `append` in each round. Returns how many
/// lines of the agent, and of copyist, are not in the file afterwards.
fn race(format: &str, file: &str, messages: usize, rounds: u32) -> (usize, usize) {
    let dir = Dir::new();
    session(&dir, format, file, messages);
    let path = dir.path(file);
    let (mut agents, mut ours) = (Vec::new(), Vec::new());
    let mut long = Duration::ZERO;
    for round in 0..rounds {
        let (their, our) = (format!("agent {round}."), format!("copyist {round}."));
        let line = line_of_agent(&path, &their);
        let begun = Instant::now();
        let child = start(&dir, file, &our);
        if round > 0 {
            std::thread::sleep(long * round / rounds);
            let mut open = fs::OpenOptions::new().append(true).open(&path).expect("the file");
            open.write_all(line.as_bytes()).expect("room");
            agents.push(their);
        }
        if ended(child) {
            ours.push(our);
        }
        if round == 0 {
            long = begun.elapsed();
        }
    }
    let lost = |texts: &[String]| texts.iter().filter(|text| !holds(&path, text)).count();
    (lost(&agents), lost(&ours))
}

/// Writes a session of ConnectOnion anew, as its agent does. Returns how many of these writes are
/// not in the file afterwards.
fn race_of_rewrites(messages: usize, rounds: u32) -> usize {
    let dir = Dir::new();
    session(&dir, "connectonion", "s.yaml", messages);
    let path = dir.path("s.yaml");
    let whole = fs::read_to_string(&path).expect("UTF-8");
    let (mut lost, mut long) = (0, Duration::ZERO);
    for round in 0..rounds {
        fs::write(&path, &whole).expect("room");
        let begun = Instant::now();
        let child = start(&dir, "s.yaml", "copyist.");
        if round > 0 {
            std::thread::sleep(long * round / rounds);
            let marker = format!("agent {round}.");
            let mut open = fs::File::create(&path).expect("the file");
            // Its YAML library writes the text piece by piece.
            for piece in whole.replace("Question 0", &marker).as_bytes().chunks(16 << 10) {
                open.write_all(piece).expect("room");
            }
            ended(child);
            let text = fs::read_to_string(&path).expect("UTF-8");
            lost += usize::from(!text.contains(&marker));
        } else {
            assert!(ended(child));
            long = begun.elapsed();
        }
    }
    lost
}

/// Four processes append, and an agent does, for this long. Returns the numbers of lines that were
/// written and that are not in the file afterwards.
fn crowd(format: &str, file: &str, messages: usize, time: Duration) -> (usize, usize) {
    let dir = Dir::new();
    session(&dir, format, file, messages);
    let (path, end) = (dir.path(file), Instant::now() + time);
    let appender = |who: usize| {
        let (dir, mut done) = (&dir, Vec::new());
        while Instant::now() < end {
            let text = format!("copyist {who} {}.", done.len());
            if !ended(start(dir, file, &text)) {
                break;
            }
            done.push(text);
        }
        done
    };
    let agent = || {
        let (line, mut done) = (line_of_agent(&path, "MARKER"), Vec::new());
        while Instant::now() < end {
            let text = format!("agent {}.", done.len());
            let id = format!("a9e00000-0000-4000-8000-{:012x}", done.len());
            let mut value: Value =
                serde_json::from_str(&line.replace("MARKER", &text)).expect("JSON");
            for name in ["id", "uuid"] {
                value.get_mut(name).into_iter().for_each(|old| *old = json!(id));
            }
            let mut open = fs::OpenOptions::new().append(true).open(&path).expect("the file");
            open.write_all((value.to_string() + "\n").as_bytes()).expect("room");
            done.push(text);
            std::thread::sleep(Duration::from_millis(11));
        }
        done
    };
    let (appender, agent) = (&appender, &agent);
    let texts: Vec<String> = std::thread::scope(|scope| {
        let mut all: Vec<_> = (0..4).map(|who| scope.spawn(move || appender(who))).collect();
        all.push(scope.spawn(agent));
        all.into_iter().flat_map(|one| one.join().expect("it ends")).collect()
    });
    let lost = texts.iter().filter(|text| !holds(&path, text)).count();
    (texts.len(), lost)
}

fn races(messages: usize, rounds: u32, time: Duration) {
    for (format, file) in LINES {
        let (agents, ours) = race(format, file, messages, rounds);
        println!("{format}: {rounds} rounds, {agents} lines of the agent lost, {ours} of copyist");
        let (written, lost) = crowd(format, file, messages, time);
        println!("{format}: four processes and an agent, {written} lines, {lost} lost");
        assert_eq!((agents, ours, lost), (0, 0, 0), "{format}");
    }
    let lost = race_of_rewrites(messages.min(2_000), rounds);
    println!("connectonion: {rounds} rounds, {lost} texts of the agent lost");
    assert_eq!(lost, 0);
}

#[test]
fn what_an_agent_writes_while_a_message_is_appended_stays() {
    races(1_000, 6, Duration::from_millis(500));
}

#[test]
#[ignore = "ten minutes"]
fn what_an_agent_writes_in_eighty_rounds_stays() {
    races(20_000, 80, Duration::from_secs(60));
}

#[test]
fn an_appended_message_adds_bytes_behind_what_is_there() {
    for (format, file) in LINES {
        let dir = Dir::in_memory();
        session(&dir, format, file, 20);
        // Other spellings of lines, as other releases of an agent have them.
        let text = String::from_utf8(read(&dir.path(file))).expect("UTF-8");
        let text = text.replace("\"Question 4\"", "\"\\u0051uestion 4\"");
        dir.write(file, text.as_bytes());
        let (code, why) = dir.exit(&["append", "--text", "One more.", file]);
        assert_eq!(code, 0, "{format}: {why}");
        let after = String::from_utf8(read(&dir.path(file))).expect("UTF-8");
        let added = after.strip_prefix(&text).unwrap_or_else(|| panic!("{format}: written anew"));
        assert!(added.contains("One more.") && added.len() < 1_000, "{format}: {added}");
    }
}

#[test]
fn a_message_keeps_the_identifier_of_its_session() {
    let dir = Dir::in_memory();
    session(&dir, "claude-code", "s.jsonl", 4);
    let text = String::from_utf8(read(&dir.path("s.jsonl"))).expect("UTF-8");
    let text = text.replace("019ac000-0000-7000-8000-000000000001", "session-of-a-tool");
    dir.write("s.jsonl", text.as_bytes());
    let (code, why) = dir.exit(&["append", "--text", "One more.", "s.jsonl"]);
    assert_eq!(code, 0, "{why}");
    let after = String::from_utf8(read(&dir.path("s.jsonl"))).expect("UTF-8");
    let ids = after.matches("\"sessionId\":").count();
    assert_eq!(after.matches("\"sessionId\":\"session-of-a-tool\"").count(), ids, "{after}");
    assert!(after.starts_with(&text));
}
