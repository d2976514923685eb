//! The real pi as judge: it opens what we migrated, sees every entry, and sends the same words.
//!
//! `../shared/oracle/pi/install.sh` installs it once; without it the test says that it is skipped.

use crate::common::{
    self, as_javascript, corpus, files, migrated, name, options, own_inputs, read, recognise,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::Log;
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The script that asks pi for the context of a file, or `None` after saying aloud why not.
fn judge() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/pi/context.mjs");
    let home = std::env::var_os("PI_ORACLE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/pi-oracle")));
    let node = Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
    let installed = home.is_some_and(|home| home.join("v0.73.1/node_modules").is_dir());
    let why = match (script.is_file(), node, installed) {
        (false, ..) => "no oracle beside the project",
        (_, false, _) => "no Node",
        (.., false) => "pi is not installed; oracle/pi/install.sh does it",
        _ => return Some(script),
    };
    eprintln!("SKIP the real pi: {why}");
    None
}

/// What the real pi sees in a file.
fn ask(script: &Path, file: &Path) -> serde_json::Value {
    let asked = Command::new("timeout")
        .args(["60", "node"])
        .arg(script)
        .arg("--ids")
        .arg(file)
        .output()
        .expect("node runs");
    let err = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success(), "{}: pi fails: {err}", file.display());
    as_javascript(&asked.stdout)
}

#[test]
fn the_real_pi_opens_every_migrated_file_and_sees_every_entry() {
    let Some(script) = judge() else { return };
    let mut inputs = own_inputs();
    if let Some(corpus) = corpus("the corpus for the real pi") {
        inputs.extend(
            ["real", "generated", "public"]
                .iter()
                .flat_map(|set| files(&corpus.join("pi").join(set))),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut opened = 0;
    for input in inputs {
        let source = read(&input);
        let Some((format, version)) = recognise(&source) else {
            continue;
        };
        let newest = format.versions.last().expect("a version").number;
        let options = options(OnError::Stop, Choice::Derived);
        let (done, _) = migrated(&source, &format.at(newest), &options);
        if format.name != "pi" {
            continue;
        }
        // Damaged files are told of elsewhere; those at the target are pi's own.
        let Ok(out) = done else { continue };
        if version == newest {
            continue;
        }
        let file = folder.path().join(name(&input));
        std::fs::write(&file, &out).expect("a writable folder");
        let seen = ask(&script, &file);
        let lines = out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let entries = lines.filter(|line| {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
            value["type"] != "session"
        });
        assert_eq!(seen["entries"].as_f64(), Some(entries.count() as f64), "{}", input.display());
        assert_eq!(read(&file), out, "{}: pi wrote the file anew", input.display());
        opened += 1;
    }
    println!("the real pi opened {opened} migrated files");
    assert!(opened >= 4);
}

/// The real pi's own words for what it sends, of contexts that are given line by line.
const SENT: &str = "
import { createInterface } from 'node:readline';
const { convertToLlm } = await import(process.argv.at(-1));
for await (const line of createInterface({ input: process.stdin })) {
  const whole = (_, value) => typeof value === 'string' ? value.toWellFormed() : value;
  const messages = convertToLlm(JSON.parse(line).messages);
  for (const { content } of messages) {
    // A character may be cut in two between texts that stand side by side.
    for (let i = 1; Array.isArray(content) && i < content.length; i++) {
      if (content[i].type === 'text' && content[i - 1].type === 'text') {
        content[i - 1].text += content[i].text;
        content.splice(i--, 1);
      }
    }
  }
  console.log(JSON.stringify(messages, whole));
}
";

/// The module of the newest pi that says what it sends.
fn words() -> Option<PathBuf> {
    let home = std::env::var_os("PI_ORACLE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/pi-oracle")));
    let inside = "v0.87.1/node_modules/@earendil-works/pi-coding-agent/dist/core/messages.js";
    home.map(|home| home.join(inside)).filter(|module| module.is_file())
}

/// A message of pi's in the form in which contexts are compared, by the rules of its providers:
/// what was broken off or says nothing is not sent, thoughts are left out.
fn comparable(message: &Value) -> Option<Value> {
    if ["error", "aborted"].iter().any(|why| message["stopReason"] == *why) {
        return None;
    }
    // Answers of the first generation, which the newest pi no longer finds, are still said.
    let first = message.get("content").is_none();
    let content = blocks(&message[if first { "output" } else { "content" }]);
    let (role, content) = match message["role"].as_str()? {
        "toolResult" => {
            let call = &message["toolCallId"];
            ("tool", json!([{"type": "tool_result", "call": call, "content": content}]))
        }
        role => (role, json!(content)),
    };
    let empty = content.as_array().is_some_and(Vec::is_empty);
    (!empty).then(|| json!({"role": role, "content": content}))
}

/// Answers that stand side by side as one, and texts in them, too: so contexts are compared.
fn side_by_side(messages: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for message in messages {
        let answer = |message: &Value| message["role"] == "assistant";
        let Some(last) = out.last_mut().filter(|last| answer(last) && answer(&message)) else {
            out.push(message);
            continue;
        };
        let list = last["content"].as_array_mut().expect("blocks");
        for block in message["content"].as_array().expect("blocks") {
            match list.last_mut().filter(|last| last["type"] == "text" && block["type"] == "text") {
                Some(last) => {
                    let text = |block: &Value| block["text"].as_str().expect("a text").to_owned();
                    last["text"] = json!(text(last) + &text(block));
                }
                None => list.push(block.clone()),
            }
        }
    }
    out
}

fn blocks(content: &Value) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let text = json!([{"type": "text", "text": content}]);
    for block in if content.is_string() { &text } else { content }.as_array().into_iter().flatten()
    {
        let of = |key: &str| block[key].clone();
        match block["type"].as_str() {
            Some("text") if block["text"] == "" => {}
            Some("text") => out.push(json!({"type": "text", "text": of("text")})),
            Some("thinking") => {}
            Some("image") => out.push(
                json!({"type": "image", "media_type": of("mimeType"), "data": of("data")}),
            ),
            Some("toolCall") => out.push(json!({
                "type": "tool_call", "id": of("id"), "name": of("name"), "arguments": of("arguments"),
            })),
            _ => out.push(block.clone()),
        }
    }
    out
}

#[test]
fn what_is_sent_is_what_the_real_pi_sends() {
    let Some(_) = judge() else { return };
    let Some(module) = words() else {
        eprintln!("SKIP the real pi: no release 0.87.1");
        return;
    };
    let mut inputs = own_inputs();
    if let Some(corpus) = corpus("the corpus for what the real pi sends") {
        inputs.extend(
            ["real", "generated", "public", "probes"]
                .iter()
                .flat_map(|set| files(&corpus.join("pi").join(set))),
        );
    }
    let context = |source: &[u8], form| {
        let options = options(OnError::Keep, Choice::Sequential);
        recognise(source).filter(|(format, _)| format.name == "pi")?;
        common::context(source, &Request { form, ..Request::default() }, &options).0.ok()
    };
    let both = |input: &PathBuf| {
        let source = read(input);
        Some((context(&source, Form::Own)?, context(&source, Form::Canonical)?, name(input)))
    };
    let contexts: Vec<_> = inputs.iter().filter_map(both).collect();
    let lines: Vec<u8> = contexts.iter().flat_map(|(own, ..)| own.clone()).collect();
    let answers = told(&module, lines);
    assert_eq!(answers.len(), contexts.len());
    for ((_, ours, name), theirs) in contexts.iter().zip(&answers) {
        let ours = as_javascript(ours)["messages"].take();
        let theirs = as_javascript(theirs.as_bytes());
        let theirs: Vec<_> = theirs.as_array().expect("a list").iter().collect();
        // How sections of a system prompt become text is a matter of each provider's module.
        let plain = |m: &&Value| m["role"] != "system";
        let theirs: Vec<_> = theirs.into_iter().filter(plain).filter_map(comparable).collect();
        // Each call has a result in a comparison, whichever program adds one.
        let added =
            |m: &&Value| m["content"][0]["content"][0]["text"] == copyist::record::turns::NO_RESULT;
        let ours = ours.as_array().expect("a list").iter().filter(plain);
        let ours: Vec<_> = ours.filter(|message| !added(message)).collect();
        let theirs = side_by_side(theirs);
        assert_eq!(ours, theirs.iter().collect::<Vec<_>>(), "{name}");
    }
    println!("{} contexts are sent in the real pi's words", contexts.len());
    assert!(contexts.len() >= 4);
}

/// What the script says of each line.
fn told(module: &Path, lines: Vec<u8>) -> Vec<String> {
    let mut node = Command::new("node")
        .args(["--input-type=module", "-e", SENT])
        .arg(module)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node runs");
    let mut stdin = node.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&lines));
    let done = node.wait_with_output().expect("node ends");
    writer.join().expect("a writer").expect("all is read");
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// A session as repair leaves it, and what it says of it.
fn repaired(source: &[u8], name: &str) -> Option<(Vec<u8>, copyist::format::Repaired)> {
    use copyist::format::{Cx, Options, RepairOptions};
    use copyist::memory::{Buffer, Bytes};
    let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let wanted =
        RepairOptions { name: name.to_owned(), resumable: true, ..RepairOptions::default() };
    let format = &copyist::formats::pi::FORMAT;
    let done =
        copyist::repair::run(format, &mut Bytes::new(source), &mut out, &wanted, &cx).ok()?;
    Some((out.main(), done))
}

#[test]
fn the_real_pi_opens_every_repaired_file_and_reaches_what_repair_counted() {
    let Some(script) = judge() else { return };
    let mut inputs = files(&common::testdata().join("damaged/pi"));
    inputs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    if let Some(corpus) = corpus("damaged files for the real pi") {
        for set in ["real", "generated", "probes"] {
            inputs.extend(files(&corpus.join("pi").join(set)));
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut opened = 0;
    println!("| file | pi's branch | pi's context |\n|---|---|---|");
    for input in inputs {
        let name = name(&input);
        let Some((out, done)) = repaired(&read(&input), &name) else { continue };
        let file = folder.path().join(&name);
        std::fs::write(&file, &out).expect("a writable folder");
        let seen = ask(&script, &file);
        let branch = seen["branch"].as_array().map_or(0, Vec::len) as u64;
        let messages = seen["context"]["messages"].as_array().map_or(0, Vec::len) as u64;
        println!("| {name} | {branch} | {messages} |");
        assert_eq!((branch, messages), (done.entries, done.messages), "{name}");
        opened += 1;
    }
    println!("the real pi opened {opened} repaired files");
    assert!(opened >= 6);
}
