//! How often a command reads its source, by the system's count: what a reading more costs is seen
//! only in large files, so that a change could bring it back unnoticed.

use crate::common::Dir;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A transcript of about so many bytes.
fn transcript(bytes: usize) -> String {
    let (mut text, mut parent) = (String::new(), None);
    let uuid = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
    for n in 0.. {
        let answer = json!({"id": format!("msg_{n}"), "type": "message", "role": "assistant",
            "model": "claude-opus-4", "stop_reason": "tool_use", "stop_sequence": null,
            "content": [{"type": "tool_use", "id": format!("toolu_{n}"), "name": "Bash",
                "input": {"command": "ls"}}],
            "usage": {"input_tokens": 1, "output_tokens": 1}});
        let result = json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": format!("toolu_{}", n - n % 2), "content": "a file\n".repeat(50)}]});
        let (kind, message) = match n {
            0 => ("user", json!({"role": "user", "content": "Which files are there?"})),
            _ if n % 2 == 1 => ("assistant", answer),
            _ => ("user", result),
        };
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/w", "sessionId": uuid(0), "version": "2.1.100", "type": kind,
            "message": message, "uuid": uuid(n + 1),
            "timestamp": format!("2026-01-03T{:02}:{:02}:{:02}.000Z", n / 3600 % 24, n / 60 % 60, n % 60)});
        if n % 2 == 0 && n > 0 {
            line["message"]["content"][0]["tool_use_id"] = json!(format!("toolu_{}", n - 1));
        }
        parent = Some(uuid(n + 1));
        text += &format!("{line}\n");
        if text.len() > bytes && n % 2 == 0 {
            break;
        }
    }
    text
}

/// Returns how many times the size of a file a command reads.
fn readings(dir: &Dir, file: &str, args: &[&str]) -> f64 {
    let size = std::fs::metadata(dir.path(file)).expect("a file").len();
    // The system adds the counts of a process to those of the one that waits for it.
    let script = "\"$@\" >/dev/null 2>&1; cat /proc/$$/io";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_copyist")]).args(args).arg(file);
    let done = command.current_dir(dir.root()).env("HOME", dir.root()).output().expect("a shell");
    let counts = String::from_utf8_lossy(&done.stdout);
    let read = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    let read: f64 = read.expect("a count").parse().expect("a number");
    read / size as f64
}

const LARGE: usize = 6 << 20;
const SMALL: usize = 1 << 20;

#[test]
fn sources_are_not_read_more_often_than_known() {
    if !Path::new("/proc/self/io").exists() {
        return;
    }
    let dir = Dir::new();
    for (sort, size) in [("large", LARGE), ("small", SMALL)] {
        let source = format!("{sort}.jsonl");
        dir.write(&source, transcript(size).as_bytes());
        for to in ["codex", "pi"] {
            let out = format!("{sort}-{to}.jsonl");
            dir.exit(&["convert", "--no-origin", "-t", to, "-o", &out, &source]);
        }
    }
    let convert = |to| vec!["convert", "--no-origin", "-t", to, "-o", "out"];
    // Of large files of Claude Code, Codex and pi; small ones are read once, and so is an output
    // whose session is looked up.
    let all = [
        ("to canonical", convert("canonical"), [2.0, 1.0, 1.0], 1.0),
        ("to codex", convert("codex"), [2.0, 2.0, 1.0], 1.0),
        ("to pi", convert("pi"), [2.0, 2.0, 1.0], 2.0),
        ("validate", vec!["validate"], [5.0, 4.0, 4.0], 1.0),
        ("inspect", vec!["inspect"], [7.0, 6.0, 6.0], 1.0),
        ("context", vec!["context"], [3.0, 2.0, 2.0], 1.0),
        ("repair -n", vec!["repair", "-n"], [6.0, 4.0, 4.0], 1.0),
    ];
    let mut wrong = Vec::new();
    for (name, args, large, small) in &all {
        let files = ["large.jsonl", "large-codex.jsonl", "large-pi.jsonl"].iter().zip(*large);
        let smalls = ["small.jsonl", "small-codex.jsonl", "small-pi.jsonl"].iter().zip([*small; 3]);
        for (file, most) in files.chain(smalls) {
            let _ = std::fs::remove_file(dir.path("out"));
            let read = readings(&dir, file, args);
            println!("{name:14} {file:18} {read:.2}");
            // Programs and libraries are read, too.
            if read > most + 0.4 {
                wrong.push(format!("{name} of {file}: {read:.2}, at most {most}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
