//! Running one command in one case, with a look at everything before and after.

use super::cases::{Case, World};
use crate::common::Dir;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What one run came to.
struct Done {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
    /// Most bytes of memory that it held at a time, where that can be known.
    peak: u64,
}

impl Case {
    /// The cells of the case's row and the memory of each run, or why there can be none here.
    pub fn run(&self) -> Result<([String; 4], [u64; 4]), String> {
        let (mut cells, mut peaks) = ([const { String::new() }; 4], [0; 4]);
        for (i, call) in self.calls.iter().enumerate() {
            (cells[i], peaks[i]) = match call.as_str() {
                "" => ("·".to_owned(), 0),
                call => self.cell(call)?,
            };
        }
        Ok((cells, peaks))
    }

    fn cell(&self, call: &str) -> Result<(String, u64), String> {
        let dir = Dir::new();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(dir.root(), open).expect("a folder of ours");
        dir.write("in.jsonl", &self.input);
        let world = (self.scene)(&dir)?;
        let before = snapshot(&dir);
        let limit = Duration::from_secs(30 + self.input.len() as u64 / 1_000_000);
        let done = called(&dir, call, &world, limit)?;
        let what = format!("{}: {call}", self.name);
        assert!(!done.stderr.contains("panicked"), "{what}: {}", done.stderr);
        let mut made = self.made(&what, &world, &before, &snapshot(&dir));
        // Results stand on the stream that carries no data.
        let printed = String::from_utf8_lossy(&done.stdout);
        let data = !printed.is_empty() && !printed.starts_with("{\"path\":");
        if data {
            made.push("stdout".to_owned());
        }
        let results = if data || printed.is_empty() { &done.stderr } else { &*printed };
        let mut cell = done.code.to_string();
        for finding in findings(results) {
            cell.push_str(&format!(" {finding}"));
        }
        if !made.is_empty() {
            cell.push_str(&format!(" → {}", made.join(" ")));
        }
        Ok((cell, done.peak))
    }

    /// The files that are new or changed, after a look at whether that is as it should be.
    fn made(&self, what: &str, world: &World, before: &Files, after: &Files) -> Vec<String> {
        for name in before.keys() {
            assert!(after.contains_key(name), "{what}: {name} is gone");
        }
        let mut made = Vec::new();
        for (name, now) in after {
            assert!(!name.contains(".copyist-"), "{what}: {name} was left");
            let then = before.get(name);
            let grown = matches!(world, World::Growing)
                && then.is_some_and(|then| now.starts_with(then) && now.ends_with(b"\n"));
            if then == Some(now) || grown {
                continue;
            }
            if then.is_some() {
                assert_eq!(after.get(&format!("{name}.bak")), then, "{what}: {name} was touched");
            }
            if name.ends_with(".origin") {
                continue;
            }
            assert!(self.whole().contains(now), "{what}: {name} is not whole");
            made.push(name.clone());
        }
        made
    }
}

/// Contents by name; of a link, where it points.
type Files = BTreeMap<String, Vec<u8>>;

fn snapshot(dir: &Dir) -> Files {
    let entries = walkdir::WalkDir::new(dir.root()).into_iter().flatten();
    let look = |entry: walkdir::DirEntry| {
        let path = entry.path();
        let bytes = match entry.file_type() {
            kind if kind.is_file() => fs::read(path).unwrap_or_default(),
            kind if kind.is_symlink() => {
                fs::read_link(path).expect("a link").into_os_string().into_encoded_bytes()
            }
            _ => return None,
        };
        let name = path.strip_prefix(dir.root()).expect("below");
        Some((name.display().to_string(), bytes))
    };
    entries.filter_map(look).collect()
}

/// Each code with its first place, and how often it was found if that is more than once.
fn findings(results: &str) -> Vec<String> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for line in results.lines().filter(|line| line.starts_with('{')) {
        let result: Value = serde_json::from_str(line).expect("results are JSON");
        for finding in result["diagnostics"].as_array().into_iter().flatten() {
            let code = finding["code"].as_str().expect("a code");
            if let Some((_, count)) = found.iter_mut().find(|(first, _)| first.starts_with(code)) {
                *count += 1;
            } else if finding["line"].is_null() {
                found.push((code.to_owned(), 1));
            } else {
                found.push((format!("{code}@{}:{}", finding["line"], finding["byte"]), 1));
            }
        }
    }
    let show = |(first, count)| if count > 1 { format!("{first}×{count}") } else { first };
    found.into_iter().map(show).collect()
}

/// Runs the program for so long and no longer.
fn called(dir: &Dir, call: &str, world: &World, limit: Duration) -> Result<Done, String> {
    let spool = || tempfile::tempfile().expect("a temporary file");
    let (mut stdout, mut stderr) = (spool(), spool());
    let handle = |file: &File| file.try_clone().expect("a second handle");
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.args(call.split(' ')).arg("--json").current_dir(dir.root());
    command.stdout(handle(&stdout)).stderr(handle(&stderr));
    match world {
        World::Nobody if owner(dir) == 0 => drop(command.uid(NOBODY).gid(NOBODY)),
        World::Deaf => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            command.stdout(writer);
        }
        _ => {}
    }
    let (status, peak) = match world {
        World::Growing => while_growing(dir, || wait(&mut command, limit))?,
        _ => wait(&mut command, limit)?,
    };
    let mut text = (Vec::new(), Vec::new());
    for (file, text) in [(&mut stdout, &mut text.0), (&mut stderr, &mut text.1)] {
        file.rewind().expect("a file");
        file.read_to_end(text).expect("a file");
    }
    let stderr = String::from_utf8_lossy(&text.1).into_owned();
    let code = status.code().unwrap_or_else(|| panic!("{call}: {status}: {stderr}"));
    Ok(Done { code, stdout: text.0, stderr, peak })
}

/// The user that owns nothing.
const NOBODY: u32 = 65534;

fn owner(dir: &Dir) -> u32 {
    fs::metadata(dir.root()).expect("a folder").uid()
}

fn wait(command: &mut Command, limit: Duration) -> Result<(ExitStatus, u64), String> {
    let mut child = command.spawn().map_err(|error| format!("cannot run: {error}"))?;
    let start = Instant::now();
    let mut peak = 0;
    loop {
        peak = peak_memory(child.id()).unwrap_or(peak);
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return Ok((status, peak));
        }
        if start.elapsed() > limit {
            child.kill().expect("a child of ours");
            panic!("{command:?} takes more than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The most memory that a process ever had, from what Linux tells of it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

/// Does something while blank lines, which are no damage, are added to the input.
fn while_growing<T>(dir: &Dir, work: impl FnOnce() -> T) -> T {
    let path = dir.path("in.jsonl");
    let mut file = File::options().append(true).open(path).expect("a file of ours");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                file.write_all(b"\n").expect("room");
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        done
    })
}
