//! The choice of a session at a terminal.

#![cfg(target_os = "linux")]

use crate::common::Dir;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A home with one session of pi for each question, the last one newest.
fn home(questions: &[&str]) -> Dir {
    let home = Dir::new();
    home.write("project/here", b"");
    for (n, question) in questions.iter().enumerate() {
        let id = format!("019b8fa2-6a6d-7c31-9e5b-0c1d2e3f4a{n:02}");
        let time = format!("2026-01-0{}T08:20:55.301Z", n + 1);
        let message = |id: &str, parent: Option<&str>, message: serde_json::Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": time, "message": message});
        let lines = [
            json!({"type": "session", "version": 3, "id": id, "timestamp": time,
                "cwd": home.path("project")}),
            message("a1", None, json!({"role": "user", "content": question, "timestamp": 1})),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let name = format!(".pi/agent/sessions/--w--/2026-01-0{}T08-20-55-301Z_{id}.jsonl", n + 1);
        home.write(&name, text.as_bytes());
    }
    home
}

/// A program at a terminal of its own.
struct AtTerminal {
    child: Child,
    keys: File,
    shown: std::sync::mpsc::Receiver<Vec<u8>>,
    all: String,
}

impl AtTerminal {
    fn start(home: &Dir, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let slave = || OpenOptions::new().read(true).write(true).open(&name).expect("opened");
        let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
        command.args(args).current_dir(home.path("project")).env_clear();
        command.env("HOME", home.root()).env("TERM", "xterm");
        command.stdin(slave()).stderr(slave()).stdout(Stdio::piped());
        let child = command.spawn().expect("the program runs");
        let keys = File::from(master);
        let mut screen = keys.try_clone().expect("a descriptor");
        let (sender, shown) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, shown, all: String::new() }
    }

    /// Waits until the terminal shows this text behind what it showed before.
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        let start = self.all.len();
        while !self.all[start..].contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let bytes = self.shown.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("no {text:?} in {}", self.all));
            self.all.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn press(&mut self, key: &str) {
        self.keys.write_all(key.as_bytes()).expect("a key");
    }

    fn end(self) -> Output {
        self.child.wait_with_output().expect("it ends")
    }
}

#[test]
fn a_session_is_chosen_by_typing_a_part_of_its_title() {
    let home = home(&["Which tides are high?", "How old are lanterns?", "What is felt made of?"]);
    let mut terminal = AtTerminal::start(&home, &["continue", "--in", "codex", "-n"]);
    terminal.wait_for("tides");
    for key in ["l", "a", "n", "t"] {
        terminal.press(key);
        terminal.wait_for(key);
    }
    terminal.press("\r");
    let done = terminal.end();
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{text}");
    assert!(text.contains("2026-01-02T08-20-55-301Z"), "{text}");
}

#[test]
fn the_newest_session_is_offered_first_and_escape_ends_the_command() {
    let home = home(&["Which tides are high?", "How old are lanterns?"]);
    let mut terminal = AtTerminal::start(&home, &["continue", "--in", "codex", "-n"]);
    terminal.wait_for("tides");
    terminal.press("\r");
    let done = terminal.end();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("2026-01-02T08-20-55-301Z"), "{text}");
    let mut terminal = AtTerminal::start(&home, &["continue", "--in", "codex", "-n"]);
    terminal.wait_for("tides");
    terminal.press("\u{1b}");
    let done = terminal.end();
    assert_eq!((done.status.code(), done.stdout), (Some(130), Vec::new()));
}

#[test]
fn no_choice_is_offered_for_json() {
    let home = home(&["Which tides are high?"]);
    let terminal = AtTerminal::start(&home, &["continue", "--in", "codex", "-n", "--json"]);
    let done = terminal.end();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.code() == Some(0) && text.starts_with('{'), "{text}");
}
