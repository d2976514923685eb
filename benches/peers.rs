//! Whole commands by turns, one table: migration beside what only copies or parses.
//!
//! `TMPDIR=/dev/shm cargo bench --bench peers` measures 1 MB, 100 MB, 1 GB and 10,000 files of
//! 20 KB, made here; it needs some 4 GB of room. `-- 1 100` measures files of so many megabytes, and
//! `10000x20` so many files of so many kilobytes. `--also 'NAME=COMMAND'` adds a row; in the command
//! `{in}` and `{out}` are a file, and it is left out for folders. Commands that are not installed
//! are left out, too. The least of five rounds counts, so that a busy machine slows all alike.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const COPYIST: &str = env!("CARGO_BIN_EXE_copyist");
const USUAL: [&str; 4] = ["1", "100", "1000", "10000x20"];

/// A command and what it took: time, and the most memory that was seen.
struct Row {
    name: String,
    command: String,
    best: Duration,
    peak: u64,
}

impl Row {
    /// One command takes the shell's place, so that its memory is seen.
    fn in_place_of_the_shell(&self) -> String {
        let exec = if self.command.contains("&&") { "" } else { "exec " };
        format!("{exec}{}", self.command)
    }
}

fn main() {
    let (mut sizes, mut also, mut rounds) = (Vec::new(), Vec::new(), ROUNDS);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--also" => also.extend(args.next()),
            // CI only wants to know that it runs.
            "--test" => (sizes, rounds) = (vec!["0.1".to_owned(), "20x20".to_owned()], 1),
            option if option.starts_with("--") => {}
            _ => sizes.push(arg),
        }
    }
    if sizes.is_empty() {
        sizes = USUAL.map(str::to_owned).to_vec();
    }
    let folder = tempfile::tempdir().expect("a folder");
    for size in &sizes {
        let table = match size.split_once('x') {
            Some((count, each)) => many(folder.path(), number(count), number(each)),
            None => one(folder.path(), number(size), &also),
        };
        measure(&size.replace('x', " files of kB "), table, rounds, folder.path());
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// The rows for one file of so many megabytes.
fn one(folder: &Path, megabytes: f64, also: &[String]) -> Vec<Row> {
    let input = folder.join("in.jsonl");
    fs::write(&input, session((megabytes * 1e6) as usize, 1)).expect("room");
    let (from, to) = (input.display(), folder.join("out.jsonl"));
    let to = to.display();
    let mut rows = vec![
        row("cat", format!("cat {from} > {to}")),
        row("cp", format!("cp {from} {to}")),
        row("jq -c .", format!("jq -c . {from} > {to}")),
        row("copyist -j1", format!("{COPYIST} migrate -q -j1 -o {to} {from}")),
        row("copyist -j2", format!("{COPYIST} migrate -q -j2 -o {to} {from}")),
        row("copyist to canonical", format!("{COPYIST} convert -q -t canonical -o {to} {from}")),
    ];
    for also in also {
        let (name, command) = also.split_once('=').expect("`--also NAME=COMMAND`");
        let command = command.replace("{in}", &from.to_string()).replace("{out}", &to.to_string());
        rows.push(row(name, command));
    }
    rows
}

/// The rows for a folder of files of so many kilobytes.
fn many(folder: &Path, count: f64, kilobytes: f64) -> Vec<Row> {
    let input = folder.join("in");
    fs::create_dir_all(&input).expect("a folder");
    for number in 0..count as usize {
        let session = session((kilobytes * 1e3) as usize, number);
        fs::write(input.join(format!("{number:06}.jsonl")), session).expect("room");
    }
    let (from, to) = (input.display(), folder.join("out"));
    let to = to.display();
    vec![
        row("cp -r", format!("cp -r {from} {to}")),
        row("cp -r; sync", format!("cp -r {from} {to} && sync")),
        row("copyist -j1", format!("{COPYIST} migrate -q -j1 --out-dir {to} {from}")),
        row("copyist -j2", format!("{COPYIST} migrate -q -j2 --out-dir {to} {from}")),
    ]
}

fn row(name: &str, command: String) -> Row {
    Row { name: name.to_owned(), command, best: Duration::MAX, peak: 0 }
}

fn measure(what: &str, mut rows: Vec<Row>, rounds: usize, folder: &Path) {
    rows.retain(|row| {
        let program = row.command.split(' ').next().unwrap_or_default();
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        found.is_ok_and(|found| found.status.success())
    });
    for _ in 0..rounds {
        for row in &mut rows {
            let begun = Instant::now();
            let mut child = Command::new("sh")
                .args(["-c", &row.in_place_of_the_shell()])
                .stdin(Stdio::null())
                .spawn()
                .expect("a shell");
            row.peak = row.peak.max(watched(&mut child));
            row.best = row.best.min(begun.elapsed());
            let _ = fs::remove_file(folder.join("out.jsonl"));
            let _ = fs::remove_dir_all(folder.join("out"));
        }
    }
    let bytes = size(&folder.join("in.jsonl")) + size(&folder.join("in"));
    let yard = rows.iter().find(|row| row.name.starts_with("cp")).map(|row| row.best);
    println!("\n{what}{}, {bytes} bytes", if what.contains(' ') { "" } else { " MB" });
    println!("{:24} {:>9} {:>8} {:>9} {:>9}", "", "seconds", ": cp", "MB/s", "peak MiB");
    for Row { name, best, peak, .. } in &rows {
        let seconds = best.as_secs_f64();
        let ratio = yard.map_or(f64::NAN, |yard| seconds / yard.as_secs_f64());
        let speed = bytes as f64 / 1e6 / seconds;
        println!("{name:24} {seconds:9.3} {ratio:8.2} {speed:9.0} {:9.1}", *peak as f64 / 1024.0);
    }
    let _ = fs::remove_file(folder.join("in.jsonl"));
    let _ = fs::remove_dir_all(folder.join("in"));
}

/// Waits for a command; gives the most memory that it was seen with, in KiB, where the system says.
fn watched(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        match child.try_wait().expect("a child") {
            Some(status) => {
                assert!(status.success(), "a command failed: {status}");
                return peak;
            }
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    }
}

/// The bytes of a file, or of the files in a folder.
fn size(path: &Path) -> u64 {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    let below: u64 = inside.map(|entry| entry.metadata().map_or(0, |meta| meta.len())).sum();
    let own = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    own.map_or(below, |meta| meta.len())
}

/// A session of version 1: questions, calls of tools, source code and listings.
fn session(size: usize, number: usize) -> String {
    let source: Vec<&str> = include_str!("../src/json/cursor.rs").lines().collect();
    let mut out = format!(
        "{{\"type\":\"session\",\"id\":\"s{number}\",\"timestamp\":\"2025-12-01T10:00:00.000Z\",\"cwd\":\"/w\"}}\n"
    );
    let quote = |text: &str| serde_json::to_string(text).expect("a string");
    let mut turn = number;
    while out.len() < size {
        turn += 1;
        let start = turn * 31 % (source.len() - 60);
        let code = quote(&source[start..start + 2 + turn % 50].join("\n"));
        let prose =
            quote(&"the agent reads a file and then \u{5199} it's done. ".repeat(1 + turn % 9));
        let written = write!(
            out,
            concat!(
                r#"{{"type":"message","timestamp":"2025-12-01T10:00:01.000Z","message":{{"role":"user","content":{prose},"timestamp":1764583201000}}}}"#,
                "\n",
                r#"{{"type":"message","timestamp":"2025-12-01T10:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":{prose}}},{{"type":"toolCall","id":"call_{turn}","name":"bash","arguments":{{"command":"sed -n 1,60p f.rs"}}}}],"usage":{{"input":{turn},"output":17,"cost":{{"total":0.0125}}}},"stopReason":"toolUse","timestamp":1764583202000}}}}"#,
                "\n",
                r#"{{"type":"message","timestamp":"2025-12-01T10:00:03.000Z","message":{{"role":"toolResult","toolCallId":"call_{turn}","toolName":"bash","content":[{{"type":"text","text":{code}}}],"isError":false,"timestamp":1764583203000}}}}"#,
                "\n",
            ),
            prose = prose,
            code = code,
            turn = turn,
        );
        written.expect("a string takes everything");
    }
    out
}
