//! How often a command reads its source, by the system's count: what a reading more costs is seen
//! only in large files, so that a change could bring it back unnoticed.

use crate::common::Dir;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Shapes of transcripts of Claude Code.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Straight,
    /// Answers with two calls, each result the child of its own call, and lines beside the chain.
    Parallel,
    /// Prompts that were written again, and answers that were asked for again.
    Rewound,
    /// Summaries in the place of what precedes them.
    Compacted,
    /// Lines of sub-agents between those of the conversation.
    SideChains,
}

/// A transcript while it is written.
struct Transcript {
    text: String,
    lines: usize,
    last: Value,
}

fn uuid(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

impl Transcript {
    /// Adds a line behind `parent`. Returns its identifier.
    fn line(&mut self, kind: &str, parent: &Value, more: Value) -> Value {
        self.lines += 1;
        let n = self.lines;
        let mut line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/w", "sessionId": uuid(0), "version": "2.1.100", "type": kind, "uuid": uuid(n),
            "timestamp": format!("2026-01-03T{:02}:{:02}:{:02}.000Z", n / 3600 % 24, n / 60 % 60, n % 60)});
        let members = line.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("members").clone());
        self.text += &format!("{line}\n");
        self.last = json!(uuid(n));
        self.last.clone()
    }

    fn prompt(&mut self, parent: &Value) -> Value {
        let message = json!({"role": "user", "content": "Which files are there?"});
        self.line("user", parent, json!({"message": message}))
    }

    /// Adds an answer with so many calls, a line each.
    fn answer(&mut self, parent: &Value, calls: usize, side: bool) -> Vec<(String, Value)> {
        let (id, mut above) = (format!("msg_{}", self.lines), parent.clone());
        let mut made = Vec::new();
        for _ in 0..calls {
            let call = format!("toolu_{}", self.lines);
            let message = json!({"id": id, "type": "message", "role": "assistant",
                "model": "claude-opus-4", "stop_reason": "tool_use", "stop_sequence": null,
                "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}],
                "usage": {"input_tokens": 1, "output_tokens": 1}});
            above =
                self.line("assistant", &above, json!({"message": message, "isSidechain": side}));
            made.push((call, above.clone()));
        }
        made
    }

    fn result(&mut self, (call, parent): &(String, Value), side: bool) -> Value {
        let message = json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": call, "content": "a file\n".repeat(50)}]});
        self.line("user", parent, json!({"message": message, "isSidechain": side}))
    }

    /// Adds a turn behind the last line.
    fn turn(&mut self, shape: Shape, number: usize) {
        let mut parent = self.last.clone();
        if shape == Shape::Compacted && number % 100 == 99 {
            let about = json!({"subtype": "compact_boundary", "content": "Conversation compacted",
                "logicalParentUuid": parent, "compactMetadata": {"trigger": "auto", "preTokens": 9}});
            parent = self.line("system", &Value::Null, about);
            let message = json!({"role": "user", "content": "Files were listed."});
            let summary = json!({"message": message, "isCompactSummary": true});
            parent = self.line("user", &parent, summary);
        }
        let prompt = self.prompt(&parent);
        let calls = if shape == Shape::Parallel { 2 } else { 1 };
        let answers = if shape == Shape::Rewound { 1 + number % 2 } else { 1 };
        for _ in 0..answers {
            let made = self.answer(&prompt, calls, false);
            made.iter().for_each(|call| drop(self.result(call, false)));
        }
        if shape == Shape::Rewound && number.is_multiple_of(3) {
            self.prompt(&parent);
        }
        if shape == Shape::SideChains && number.is_multiple_of(5) {
            let own = self.last.clone();
            let call = &self.answer(&Value::Null, 1, true)[0];
            self.result(call, true);
            self.last = own;
        }
        if shape == Shape::Parallel {
            let beside = json!({"type": "last-prompt", "lastPrompt": "on", "sessionId": uuid(0)});
            self.text += &format!("{beside}\n");
        }
    }
}

/// A transcript of about so many bytes.
fn transcript(bytes: usize, shape: Shape) -> String {
    let mut new = Transcript { text: String::new(), lines: 0, last: Value::Null };
    for number in 0.. {
        new.turn(shape, number);
        if new.text.len() > bytes {
            break;
        }
    }
    new.text
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

/// Sessions above and below the size up to which their records are kept.
const LARGE: usize = 3 << 20;
const SMALL: usize = 1 << 20;

/// The commands that are counted, in the order of the columns of the tables below: conversions
/// without an origin, one with an origin, and the commands that write nothing.
const COMMANDS: [&[&str]; 8] = [
    &["convert", "--no-origin", "-t", "canonical", "-o", "out"],
    &["convert", "--no-origin", "-t", "codex", "-o", "out"],
    &["convert", "--no-origin", "-t", "pi", "-o", "out"],
    &["convert", "-t", "connectonion", "-o", "out"],
    &["validate"],
    &["inspect"],
    &["context"],
    &["repair", "-n"],
];

/// Counts the readings of a session by each command. Returns those above the known ones, `most`.
fn above(dir: &Dir, file: &str, most: [u8; 8], threads: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for number in threads {
        let mut row = format!("{file:24} -j{number}");
        for (args, most) in COMMANDS.iter().zip(most) {
            for old in ["out", "out.origin"] {
                let _ = std::fs::remove_file(dir.path(old));
            }
            let alone = ["context", "inspect"].contains(&args[0]);
            let jobs = if alone { &[][..] } else { &["-j", number] };
            let read = readings(dir, file, &[args, jobs].concat());
            row += &format!(" {read:5.2}");
            // Programs and libraries are read, too.
            if read > f64::from(most) + 0.4 {
                wrong.push(format!("{args:?} of {file}, {number}: {read:.2}, at most {most}"));
            }
        }
        println!("{row}");
    }
    wrong
}

/// Whether the system counts what programs read.
fn counts() -> bool {
    Path::new("/proc/self/io").exists()
}

/// Small sessions are read once, and so is an output whose session is looked up.
const ONCE: [u8; 8] = [1, 1, 2, 2, 1, 1, 1, 1];

#[test]
fn transcripts_are_not_read_more_often_than_known() {
    if !counts() {
        return;
    }
    let dir = Dir::new();
    let shapes = [
        ("straight", Shape::Straight, [2, 2, 2, 3, 3, 3, 3, 3]),
        ("parallel", Shape::Parallel, [2, 2, 2, 3, 3, 3, 3, 3]),
        ("rewound", Shape::Rewound, [2, 4, 3, 5, 4, 4, 4, 4]),
        ("compacted", Shape::Compacted, [2, 4, 3, 5, 4, 4, 4, 4]),
        ("side chains", Shape::SideChains, [2, 2, 2, 3, 3, 3, 3, 3]),
    ];
    let mut wrong = Vec::new();
    for (name, shape, most) in shapes {
        let file = format!("{name}.jsonl");
        dir.write(&file, transcript(LARGE, shape).as_bytes());
        wrong.extend(above(&dir, &file, most, &["1", "2"]));
        let file = format!("small {name}.jsonl");
        dir.write(&file, transcript(SMALL, shape).as_bytes());
        wrong.extend(above(&dir, &file, ONCE, &["1"]));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Converts a straight transcript, and adds lines to the result. Returns the names of the large and
/// the small session.
fn converted(dir: &Dir, to: &str, name: &str, more: &dyn Fn(&str) -> Vec<Value>) -> [String; 2] {
    [("large", LARGE), ("small", SMALL)].map(|(sort, size)| {
        let file = format!("{sort} {name}.jsonl");
        let source = format!("source of {file}");
        dir.write(&source, transcript(size, Shape::Straight).as_bytes());
        dir.exit(&["convert", "--no-origin", "-t", to, "-o", &file, &source]);
        let mut text = std::fs::read_to_string(dir.path(&file)).expect("a session");
        for line in more(&text) {
            text += &format!("{line}\n");
        }
        dir.write(&file, text.as_bytes());
        file
    })
}

/// The name of a session, the lines that follow a converted transcript in it, and the known readings.
type Session<'a> = (&'a str, &'a dyn Fn(&str) -> Vec<Value>, [u8; 8]);

fn check(dir: &Dir, to: &str, sessions: &[Session<'_>]) {
    let mut wrong = Vec::new();
    for (name, more, most) in sessions {
        let [large, small] = converted(dir, to, name, more);
        wrong.extend(above(dir, &large, *most, &["1", "2"]));
        wrong.extend(above(dir, &small, ONCE, &["1"]));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Parses the line of this number.
fn nth(text: &str, number: usize) -> Value {
    serde_json::from_str(text.lines().nth(number).expect("a line")).expect("JSON")
}

fn later_entry(text: &str, parent: usize, more: &Value) -> Value {
    let mut entry = json!({"id": "0000later", "parentId": nth(text, parent)["id"],
        "timestamp": "2026-01-04T00:00:00.000Z"});
    let members = entry.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("members").clone());
    entry
}

#[test]
fn sessions_of_pi_are_not_read_more_often_than_known() {
    if !counts() {
        return;
    }
    let dir = Dir::new();
    let ends = |text: &str| text.lines().count() - 1;
    let branched = |text: &str| {
        let message =
            json!({"role": "user", "content": "And now?", "timestamp": 1767484800000_u64});
        vec![later_entry(text, 9, &json!({"type": "message", "message": message}))]
    };
    let compacted = |text: &str| {
        let kept = nth(text, ends(text) - 1)["id"].clone();
        let about = json!({"type": "compaction", "summary": "Files were listed.",
            "firstKeptEntryId": kept, "tokensBefore": 9});
        vec![later_entry(text, ends(text), &about)]
    };
    let sessions: [Session<'_>; 3] = [
        ("straight", &|_| Vec::new(), [1, 1, 1, 2, 3, 3, 2, 3]),
        ("branched", &branched, [1, 4, 1, 5, 4, 4, 3, 4]),
        ("compacted", &compacted, [1, 3, 1, 4, 3, 3, 2, 3]),
    ];
    check(&dir, "pi", &sessions);
}

#[test]
fn rollouts_are_not_read_more_often_than_known() {
    if !counts() {
        return;
    }
    let dir = Dir::new();
    let line = |kind: &str, payload: Value| {
        vec![json!({"timestamp": "2026-01-04T00:00:00.000Z", "type": kind, "payload": payload})]
    };
    let taken_back =
        |_: &str| line("event_msg", json!({"type": "thread_rolled_back", "num_turns": 2}));
    let compacted = |_: &str| line("compacted", json!({"message": "Files were listed."}));
    let sessions: [Session<'_>; 3] = [
        ("straight", &|_| Vec::new(), [1, 2, 2, 3, 3, 3, 2, 3]),
        ("taken back", &taken_back, [1, 2, 2, 5, 4, 4, 3, 4]),
        ("compacted", &compacted, [1, 2, 2, 4, 3, 3, 2, 3]),
    ];
    check(&dir, "codex", &sessions);
}
