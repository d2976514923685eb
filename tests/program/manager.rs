//! Sessions that programs write on: the same bytes as pi's own session manager, other formats, two
//! writers, kills.

use crate::common::Dir;
use copyist::manager::{Compaction, CustomMessage, Noted, Session};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The session manager of the real pi, or `None` after saying aloud why not.
fn module() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?.join(".cache/pi-oracle");
    let home = std::env::var_os("PI_ORACLE_HOME").map_or(home, PathBuf::from);
    let package = "v0.87.1/node_modules/@earendil-works/pi-coding-agent";
    let module = home.join(package).join("dist/core/session-manager.js");
    let node = Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
    if node && module.is_file() {
        return Some(module);
    }
    eprintln!("SKIP pi's session manager: oracle/pi/install.sh installs it, and it needs Node");
    None
}

/// Draws numbers; the same seed gives the same ones.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end.max(1) as u64) as usize
    }

    fn word(&mut self) -> String {
        let words = ["tide", "ledger", "naïve", "a\nb", "\"quoted\"", "日本", "", "{}", "tab\t"];
        words[self.below(words.len())].to_owned()
    }
}

/// Operations on a session, in the words of `session_manager.mjs`. Entries are named by how many
/// entries were appended before them.
fn operations(count: usize, dice: &mut Dice) -> Vec<Value> {
    let text = |text: String| json!([{"type": "text", "text": text}]);
    let usage = json!({"input": 3, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 8,
        "cost": {"input": 0.1, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.35}});
    let mut made = Vec::new();
    let mut entries = 0;
    for n in 0..count {
        let any = dice.below(entries);
        let kind = if entries == 0 { 0 } else { dice.below(16) };
        let op = match kind {
            0..=3 => json!({"op": "message", "message":
                {"role": "user", "content": text(dice.word()), "timestamp": 1_790_000_000_000_u64 + n as u64}}),
            4..=6 => json!({"op": "message", "message": {"role": "assistant", "content": [
                {"type": "thinking", "thinking": dice.word(), "thinkingSignature": "sig"},
                {"type": "toolCall", "id": format!("call{n}"), "name": "bash", "arguments": {"command": dice.word()}}],
                "api": "anthropic-messages", "provider": "anthropic", "model": "m", "usage": usage,
                "stopReason": "toolUse", "timestamp": 1_790_000_000_000_u64 + n as u64}}),
            7 => {
                json!({"op": "message", "message": {"role": "toolResult", "toolCallId": format!("call{n}"),
                "toolName": "bash", "content": text(dice.word()), "isError": false,
                "timestamp": 1_790_000_000_000_u64 + n as u64}})
            }
            8 => json!({"op": "thinking", "level": "high"}),
            9 => json!({"op": "model", "provider": "openai", "model": dice.word()}),
            10 => json!({"op": "compaction", "summary": dice.word(), "first": any, "tokens": n,
                "details": {"readFiles": [dice.word()]}, "hook": n % 2 == 0}),
            11 => json!({"op": "extension", "type": "todo", "data": {"n": n, "w": dice.word()}}),
            12 => {
                json!({"op": "custom", "type": "note", "content": dice.word(), "display": n % 2 == 0,
                "details": {"n": n}})
            }
            13 => match dice.below(3) {
                0 => json!({"op": "label", "target": any}),
                _ => json!({"op": "label", "target": any, "label": format!("mark{n}")}),
            },
            14 => match dice.below(8) {
                0 => json!({"op": "start"}),
                1 => json!({"op": "name", "name": dice.word()}),
                _ => json!({"op": "branch", "from": any}),
            },
            _ => {
                json!({"op": "summary", "from": any, "summary": dice.word(), "details": {}, "hook": false})
            }
        };
        entries +=
            usize::from(!["start", "branch"].contains(&op["op"].as_str().unwrap_or_default()));
        made.push(op);
    }
    made
}

/// A message of pi as an object of the canonical stream.
fn canonical(message: &Value) -> Value {
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/w"});
    let entry = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "t", "message": message});
    let dir = Dir::in_memory();
    let file = dir.write("message.jsonl", format!("{header}\n{entry}\n").as_bytes());
    let mut message = Session::open(file).expect("a session").messages().expect("one").remove(0);
    let members = message.as_object_mut().expect("an object");
    for name in ["kind", "id", "parent", "time"] {
        members.shift_remove(name);
    }
    message
}

fn text(op: &Value, name: &str) -> String {
    op[name].as_str().expect(name).to_owned()
}

/// Carries out operations; returns the identifiers of the entries.
fn carry_out(session: &mut Session, operations: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for op in operations {
        let of = |name: &str| op[name].as_u64().map(|at| ids[at as usize].clone());
        let noted =
            || Noted { details: op.get("details").cloned(), from_hook: op["hook"].as_bool() };
        let id = match op["op"].as_str().expect("an operation") {
            "message" => session.append_message(canonical(&op["message"])),
            "thinking" => session.append_thinking_change(&text(op, "level")),
            "model" => session.append_model_change(&text(op, "provider"), &text(op, "model")),
            "compaction" => session.append_compaction(Compaction {
                summary: text(op, "summary"),
                first_kept: of("first"),
                tokens_before: op["tokens"].as_u64().expect("tokens"),
                noted: noted(),
            }),
            "extension" => session.append_extension(&text(op, "type"), Some(op["data"].clone())),
            "custom" => session.append_custom_message(CustomMessage {
                custom_type: text(op, "type"),
                content: op["content"].clone(),
                display: op["display"] == true,
                details: op.get("details").cloned(),
            }),
            "label" => session.append_label(&of("target").expect("a target"), op["label"].as_str()),
            "name" => session.append_name(&text(op, "name")),
            "branch" => {
                session.branch(&of("from").expect("an entry")).expect("it is there");
                continue;
            }
            "start" => {
                session.branch_from_start().expect("a tree");
                continue;
            }
            _ => session.branch_with_summary(of("from").as_deref(), &text(op, "summary"), noted()),
        };
        ids.push(id.unwrap_or_else(|error| panic!("{op}: {error}")));
    }
    ids
}

/// A file with the identifiers of entries numbered in the order of their lines, and without times
/// of entries.
fn leveled(file: &str, folder: &Path) -> String {
    let mut names = std::collections::HashMap::new();
    let mut out = String::new();
    for (n, line) in file.lines().enumerate() {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        let id = entry["id"].as_str().expect("an id").to_owned();
        names.insert(id, format!("#{n}"));
        let mut line = line.to_owned();
        if let Some(time) = entry["timestamp"].as_str() {
            line = line.replace(time, "T");
        }
        for member in ["id", "parentId", "targetId", "firstKeptEntryId", "fromId"] {
            let Some(id) = entry[member].as_str() else { continue };
            // The branch that was left does not come along.
            let name = names.get(id).map_or("elsewhere", String::as_str);
            line = line
                .replace(&format!("\"{member}\":\"{id}\""), &format!("\"{member}\":\"{name}\""));
        }
        if let Some(parent) = entry["parentSession"].as_str() {
            assert_eq!(Path::new(parent).parent(), Some(folder));
            line = line.replace(parent, "PARENT");
        }
        out += &(line + "\n");
    }
    out
}

/// Compares what pi and copyist write of the same operations; returns the number of lines.
fn compare_with_pi(count: usize, seed: u64) -> usize {
    let Some(module) = module() else { return 0 };
    let (dir, theirs) = (Dir::in_memory(), Dir::in_memory());
    let operations = operations(count, &mut Dice(seed));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/session_manager.mjs");
    let mut node = Command::new("node");
    node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().expect("node runs");
    let setup = json!({"module": module, "cwd": "/work", "folder": theirs.root()});
    let lines: Vec<_> = [&setup].into_iter().chain(&operations).map(Value::to_string).collect();
    let mut input = node.stdin.take().expect("a pipe");
    input.write_all(lines.join("\n").as_bytes()).expect("node reads");
    drop(input);
    let said = node.wait_with_output().expect("node ends");
    assert!(said.status.success());
    let pi: Value = serde_json::from_slice(&said.stdout).expect("JSON");

    let mut session = Session::create("pi", "/work", dir.root()).expect("a session");
    let ids = carry_out(&mut session, &operations);
    let file = session.file().expect("a file").to_owned();
    let whole = fs::read_to_string(&file).expect("it is there");
    let expected = leveled(pi["whole"].as_str().expect("a text"), theirs.root());
    let ours = leveled(&whole, dir.root());
    for (n, (ours, theirs)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {n}");
    }
    assert_eq!(ours.len(), expected.len());
    let at = |ids: &Value, id: &Value| ids.as_array().expect("a list").iter().position(|i| i == id);
    assert_eq!(
        session.leaf().and_then(|leaf| ids.iter().position(|id| *id == leaf)),
        at(&pi["ids"], &pi["leaf"])
    );

    // Reading the file gives the session that wrote it.
    let read = Session::open(&file).expect("a session");
    assert_eq!(read.tree(), session.tree());

    if session.leaf().is_some() {
        let branch = session.fork(None).expect("a branch");
        let branch = fs::read_to_string(branch.file().expect("a file")).expect("it is there");
        let expected = leveled(pi["branch"].as_str().expect("a text"), theirs.root());
        for (n, (ours, theirs)) in
            leveled(&branch, dir.root()).lines().zip(expected.lines()).enumerate()
        {
            assert_eq!(ours, theirs, "line {n} of the branch");
        }
    }
    whole.lines().count()
}

#[test]
fn pi_writes_the_same_bytes_for_the_same_operations() {
    let lines: usize = (1..=4).map(|seed| compare_with_pi(150, seed)).sum();
    println!("{lines} lines as pi writes them");
}

#[test]
#[ignore = "ten thousand operations"]
fn pi_writes_the_same_bytes_for_ten_thousand_operations() {
    println!("{} lines as pi writes them", compare_with_pi(10_000, 7));
}

/// A conversation of two turns, the first with a tool.
pub fn talk() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "List the files."}),
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_call", "id": "call_1", "name": "bash", "arguments": {"command": "ls"}}]}),
        json!({"role": "tool", "content": [
            {"type": "tool_result", "call": "call_1", "name": "bash", "content": "README.md"}]}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "One file."}]}),
        json!({"role": "user", "content": "Thanks."}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "Gladly."}]}),
    ]
}

/// Texts of the messages, those of one role that follow each other joined.
pub fn joined(said: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (role, text) in said {
        match joined.last_mut().filter(|(last, _)| *last == role) {
            Some((_, before)) => *before += &text,
            None => joined.push((role, text)),
        }
    }
    joined
}

/// What was said, by role, of the messages that a reader did not restore.
pub fn said(session: &Session) -> Vec<(String, String)> {
    let messages = session.messages().expect("a path");
    let text = |message: &Value| match &message["content"] {
        Value::Array(blocks) => blocks.iter().map(block_text).collect(),
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    let role = |message: &Value| message["role"].as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .map(|message| (role(message), text(message)))
        .filter(|(_, t)| !t.is_empty())
        .collect()
}

fn block_text(block: &Value) -> String {
    let inner = || block["content"].as_array().map(|list| list.iter().map(block_text).collect());
    let text = block["text"].as_str().or(block["content"].as_str()).map(str::to_owned);
    text.or_else(inner).or_else(|| block["name"].as_str().map(str::to_owned)).unwrap_or_default()
}

#[test]
fn a_conversation_can_be_appended_in_every_format_that_is_one_file() {
    let mut held = Vec::new();
    for format in copyist::formats::written() {
        for version in format.versions {
            let name = format.at(version.number);
            let dir = Dir::in_memory();
            let mut session = Session::create(&name, "/work", dir.root()).expect("a session");
            let appended: Result<Vec<_>, _> =
                talk().into_iter().map(|message| session.append_message(message)).collect();
            match appended {
                Ok(_) => {
                    let file = session.file().expect("a file").to_owned();
                    let read = Session::open(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert_eq!(said(&read), said(&session), "{name}");
                    let mut expected = Session::in_memory("pi", "/work").expect("a session");
                    for message in talk() {
                        expected.append_message(message).expect("a message");
                    }
                    // Agents that have a line for each block have several messages of an answer.
                    assert_eq!(joined(said(&read)), joined(said(&expected)), "{name}");
                    held.push(name);
                }
                Err(error) => println!("{name}: {error}"),
            }
        }
    }
    println!("{}", held.join(", "));
}

#[test]
fn what_was_there_stays_byte_for_byte_where_a_format_is_a_list_of_lines() {
    let mut appended = Vec::new();
    for path in crate::common::own_inputs() {
        let Ok(session) = Session::open(&path) else { continue };
        let (format, version) = session.format();
        if !["pi", "canonical", "agent-orchestrator", "connectonion"].contains(&format) {
            continue;
        }
        let dir = Dir::in_memory();
        let copy = dir.path(&crate::common::name(&path));
        for (old, new) in beside(&path, &copy) {
            fs::copy(old, new).expect("a copy");
        }
        let before = fs::read(&copy).expect("it is there");
        let mut session = Session::open(&copy).expect("a session");
        let told = said(&session);
        let message = json!({"role": "user", "content": "One more question."});
        match session.append_message(message) {
            Ok(_) => {}
            Err(error) => {
                println!("{}: {error}", path.display());
                continue;
            }
        }
        let after = fs::read(&copy).expect("it is there");
        let read = Session::open(&copy).expect("a session");
        let mut expected = told;
        expected.push(("user".to_owned(), "One more question.".to_owned()));
        assert_eq!(said(&read), expected, "{}", path.display());
        if ["pi", "canonical"].contains(&format) {
            assert!(after.starts_with(&before), "{}", path.display());
        }
        appended.push(format!("{format}@{version}"));
    }
    appended.sort();
    appended.dedup();
    println!("{}", appended.join(", "));
}

/// The files of a session, and their places beside a copy of one of them.
fn beside(path: &Path, copy: &Path) -> Vec<(PathBuf, PathBuf)> {
    let stem = |path: &Path| path.to_string_lossy().replace(".meta.json", "").replace(".jsonl", "");
    let mut files = vec![(path.to_owned(), copy.to_owned())];
    for ending in [".meta.json", ".jsonl"] {
        let other = PathBuf::from(stem(path) + ending);
        if other.is_file() && other != path {
            files.push((other, PathBuf::from(stem(copy) + ending)));
        }
    }
    files
}

#[test]
fn what_another_program_appended_is_read_first() {
    let dir = Dir::in_memory();
    let file = dir.path("s.jsonl");
    let mut session = Session::create_at("pi", "/work", &file).expect("a session");
    let first = session.append_message(talk().remove(0)).expect("a message");
    // A program that knows nothing of locks, and dies in the middle of a line.
    let mut other = fs::OpenOptions::new().append(true).open(&file).expect("the file");
    let theirs = json!({"type": "message", "id": "0badcafe", "parentId": first, "timestamp": "t",
        "message": {"role": "user", "content": "From elsewhere."}});
    write!(other, "{theirs}\n{{\"type\":\"message\",\"id\":\"dead").expect("room");
    let ours = session.append_message(talk().remove(4)).expect("a message");
    let record = session.entry(&ours).expect("it is there");
    assert_eq!(record.node.text(copyist::record::Field::Parent).as_deref(), Some("0badcafe"));
    let text = fs::read_to_string(&file).expect("the file");
    assert_eq!(text.lines().count(), 5);
    assert!(text.ends_with('\n'));
    assert_eq!(said(&Session::open(&file).expect("a session")).len(), 3);
}

#[test]
fn processes_that_append_at_the_same_time_lose_nothing() {
    let dir = Dir::in_memory();
    let file = dir.path("s.jsonl");
    let mut session = Session::create_at("pi", "/work", &file).expect("a session");
    session.append_message(talk().remove(0)).expect("a message");
    let messages = |who: usize| {
        let line = |n| json!({"role": "user", "content": format!("{who} {n}")}).to_string() + "\n";
        (0..50).map(line).collect::<String>()
    };
    let children: Vec<_> = (0..4)
        .map(|who| {
            let mut child = append_to(&file);
            let mut pipe = child.stdin.take().expect("a pipe");
            pipe.write_all(messages(who).as_bytes()).expect("it reads");
            child
        })
        .collect();
    let mut ids = Vec::new();
    for child in children {
        let said = child.wait_with_output().expect("it ends");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        ids.extend(String::from_utf8(said.stdout).expect("UTF-8").lines().map(str::to_owned));
    }
    assert_eq!(ids.len(), 200);
    let session = Session::open(&file).expect("a session");
    assert_eq!(session.path(None).expect("a path").len(), 201, "one line of entries");
    assert!(ids.iter().all(|id| session.entry(id).is_some()));
}

fn append_to(file: &Path) -> std::process::Child {
    let mut copyist = Command::new(env!("CARGO_BIN_EXE_copyist"));
    copyist.arg("append").arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
    copyist.stderr(Stdio::piped()).spawn().expect("it runs")
}

/// A new session of this format with one message, below a folder; its file, and what a message may
/// be long.
fn begun(format: &str, folder: &Path) -> (PathBuf, usize) {
    if format.starts_with("codelia") {
        let (version, id) = match format {
            "codelia@1" => ("v1/state", "state/b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22.json"),
            _ => ("v2/log", "messages/b1d0a7e4-6c55-4d0b-9a57-5a8f8e0c9d22.jsonl"),
        };
        let file = folder.join("sessions").join(id);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, crate::common::own(&format!("codelia/{version}"))).expect("a file");
        return (file, 100);
    }
    let mut session = Session::create(format, "/work", folder).expect("a session");
    session.append_message(talk().remove(0)).expect("a message");
    let is_whole = format.starts_with("connectonion") || format == "pi@1";
    let long = if is_whole { 100 } else { 200_000 };
    (session.file().expect("a file").to_owned(), long)
}

/// Kills a process that appends to a session of this format at random moments; returns how many
/// messages it acknowledged, and how many of these the files hold.
fn kill_while_appending(format: &str, rounds: u64) -> (usize, usize) {
    let dir = Dir::in_memory();
    let (mut files, mut dice) = (Vec::new(), Dice(11));
    let mut now = begun(format, &dir.path("0"));
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let (file, long) = now.clone();
        let mut child = append_to(&file);
        let mut pipe = child.stdin.take().expect("a pipe");
        let feeder = std::thread::spawn(move || {
            let long = "x".repeat(long);
            for n in 0..10_000 {
                let role = if n % 2 == 0 { "user" } else { "assistant" };
                let message = json!({"role": role, "content": format!("{round}-{n}: {long}")});
                if writeln!(pipe, "{message}").is_err() {
                    break;
                }
            }
        });
        // Opening a session takes some time itself.
        std::thread::sleep(std::time::Duration::from_millis(3 + dice.below(70) as u64));
        child.kill().expect("it runs");
        let said = child.wait_with_output().expect("it ends");
        feeder.join().expect("it ends");
        let text = String::from_utf8(said.stdout).expect("UTF-8");
        // A line without its ending may be half an identifier.
        let count = text.matches('\n').count();
        acknowledged.extend((0..count).map(|n| format!("{round}-{n}: ")));
        if fs::metadata(&file).expect("the file").len() > 1000 * long as u64 {
            files.push(file);
            now = begun(format, &dir.path(&(round + 1).to_string()));
        }
    }
    files.push(now.0);
    let mut held = std::collections::HashSet::new();
    for file in &files {
        let session = Session::open(file).unwrap_or_else(|error| panic!("{format}: {error}"));
        let texts = said(&session)
            .into_iter()
            .filter_map(|(_, text)| text.split_once(": ").map(|(number, _)| format!("{number}: ")));
        held.extend(texts);
    }
    let kept = acknowledged.iter().filter(|text| held.contains(*text)).count();
    (acknowledged.len(), kept)
}

/// Every format and version.
fn all_formats() -> Vec<String> {
    let formats = copyist::formats::written();
    formats.flat_map(|f| f.versions.iter().map(|version| f.at(version.number))).collect()
}

#[test]
fn a_killed_program_loses_nothing_that_it_acknowledged() {
    for format in all_formats() {
        let (acknowledged, kept) = kill_while_appending(&format, 4);
        assert_eq!(acknowledged, kept, "{format}");
    }
}

#[test]
#[ignore = "two hundred rounds for each format"]
fn a_program_killed_two_hundred_times_loses_nothing_that_it_acknowledged() {
    for format in all_formats() {
        let (acknowledged, kept) = kill_while_appending(&format, 200);
        println!("{format}: 200 kills, {acknowledged} acknowledged, {kept} kept");
        assert!(acknowledged > 0, "{format}");
        assert_eq!(acknowledged, kept, "{format}");
    }
}

#[test]
fn the_newest_session_of_a_folder_is_continued() {
    let dir = Dir::in_memory();
    let begin = |cwd: &str, text: &str| {
        let mut session = Session::create("pi", cwd, dir.root()).expect("a session");
        session.append_message(json!({"role": "user", "content": text})).expect("a message");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    begin("/work", "old");
    begin("/work", "new");
    begin("/other", "other");
    dir.write("notes.jsonl", b"not a session\n");
    let recent = |cwd: &str| Session::continue_recent("pi", cwd, dir.root()).expect("a session");
    assert_eq!(said(&recent("/work")), [("user".to_owned(), "new".to_owned())]);
    assert_eq!(said(&recent("/other")), [("user".to_owned(), "other".to_owned())]);
    assert!(said(&recent("/nowhere")).is_empty(), "a new one");
}
