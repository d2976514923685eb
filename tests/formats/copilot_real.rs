//! The real GitHub Copilot CLI as judge. `COPILOT_ORACLE_CACHE` names the folder of its releases,
//! which the oracle says how to install.

use crate::claude_code::{keep, sessions};
use crate::common::{Dir, converted, corpus, files, files_of, name, read, recognise};
use crate::copilot_cli::{compared, is_same, messages, repaired};
use copyist::context::Form;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release that judges.
const RELEASE: &str = "1.0.102";

/// Finds the script that asks the release, or reports that it is missing.
fn judge(corpus: &Path) -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let cache = std::env::var_os("COPILOT_ORACLE_CACHE")
        .map_or_else(|| home.join(".cache/copyist-copilot"), PathBuf::from);
    let script = corpus.join("../oracle/copilot-cli/resume_probe.py");
    if cache.join(RELEASE).join("copilot").exists() && script.is_file() {
        return Some(script);
    }
    eprintln!("SKIP the real Copilot CLI: oracle/copilot-cli/install.sh installs {RELEASE}");
    None
}

/// Puts a session where the program looks for it: returns its folder.
fn put(dir: &Dir, place: &str, session: &[u8]) -> PathBuf {
    let mut lines = session.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty()).expect("a line");
    let first: Value = serde_json::from_slice(first).expect("an event");
    let id = first["data"]["sessionId"].as_str().expect("an identifier");
    dir.write(&format!("{place}/{id}/events.jsonl"), session);
    dir.path(&format!("{place}/{id}"))
}

/// Asks the program to resume a session. Returns the messages that it sends, without its prompt.
fn resumed(script: &Path, session: &Path) -> Result<Vec<Value>, String> {
    let mut asked = Command::new("python3");
    asked.arg(script).args(["--version", RELEASE, "--timeout", "120"]);
    let done = asked.arg(session).output().expect("python3");
    let answer: Value = serde_json::from_slice(&done.stdout)
        .map_err(|_| String::from_utf8_lossy(&done.stderr).into_owned())?;
    let sent = answer["messages"].as_array();
    let (Some(sent), true, true) = (sent, answer["opened"] == true, answer["kept"] == true) else {
        return Err(format!("{} {}", answer["rc"], answer["out"]));
    };
    Ok(sent[..sent.len() - 1].to_vec())
}

/// Describes the first message that is not sent as `context` prints it.
fn differing(session: &[u8], sent: &[Value]) -> Option<String> {
    let ours = messages(session, Form::Own);
    let mut both = ours.iter().map(compared).zip(sent.iter().map(compared));
    let place = both.position(|(ours, sent)| !is_same(&ours, &sent));
    let place = place.or_else(|| (ours.len() != sent.len()).then(|| ours.len().min(sent.len())))?;
    Some(format!("message {place}: {:?}\n{:?}", ours.get(place), sent.get(place)))
}

#[test]
#[ignore = "minutes: the real Copilot CLI resumes ten sessions of each format"]
fn the_real_program_resumes_sessions_of_every_other_format() {
    let Some(corpus) = corpus("the real Copilot CLI") else { return };
    let Some(script) = judge(&corpus) else { return };
    let mut wrong = Vec::new();
    for (format, sessions) in sessions(&corpus, "copilot-cli") {
        let dir = Dir::in_memory();
        let (mut opened, mut same) = (0, 0);
        for (n, (file, text)) in sessions.iter().enumerate() {
            let (own, version) = recognise(text).expect("a session");
            let out = converted(text, own, version, "copilot-cli", &keep()).0.expect("converted");
            let main = files_of(&out).into_iter().next().expect("a part").1;
            match resumed(&script, &put(&dir, &n.to_string(), &main)) {
                Err(error) => wrong.push(format!("{}: {error}", file.display())),
                Ok(sent) => {
                    opened += 1;
                    // The program shortens a session that is longer than the model's context.
                    let differs = differing(&main, &sent).filter(|_| main.len() < LONG);
                    same += u32::from(differs.is_none());
                    wrong.extend(differs.map(|it| format!("{}: {it}", file.display())));
                }
            }
        }
        println!("{format}: {opened} of {} opened, {same} as printed", sessions.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Size from which a session may be too long for the model's context.
const LONG: usize = 100_000;

/// Damages after which there is nothing to resume.
const NOTHING: [&str; 2] = ["empty_file", "only_start"];

/// The conversation twice: the program gives the second ones of equal calls other identifiers.
const RENAMED: &str = "doubled";

#[test]
#[ignore = "minutes: the real Copilot CLI resumes repaired sessions"]
fn the_real_program_resumes_repaired_sessions() {
    let Some(corpus) = corpus("the real Copilot CLI") else { return };
    let Some(script) = judge(&corpus) else { return };
    let (dir, mut wrong, mut count) = (Dir::in_memory(), Vec::new(), 0);
    for file in files(&corpus.join("copilot-cli/damage")) {
        let place = file.strip_prefix(corpus.join("copilot-cli/damage")).expect("below");
        let damage = place.iter().next().expect("a folder").to_string_lossy().into_owned();
        if name(&file) != "events.jsonl" || NOTHING.contains(&damage.as_str()) {
            continue;
        }
        let whole = repaired(&read(&file), false);
        count += 1;
        match resumed(&script, &put(&dir, &damage, &whole)) {
            Err(error) => wrong.push(format!("{damage}: {error}")),
            Ok(sent) => {
                let differs = differing(&whole, &sent).filter(|_| damage != RENAMED);
                println!("{damage}: {} messages", sent.len());
                wrong.extend(differs.map(|it| format!("{damage}: {it}")));
            }
        }
    }
    assert!(count > 50 && wrong.is_empty(), "{count}\n{}", wrong.join("\n"));
}
