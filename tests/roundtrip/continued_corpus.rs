//! Sessions of the corpus that real programs continued, converted back.

use super::continued::{away, keep, lines, main_of, whole, with};
use crate::common::{alone, converted, corpus, name, read, recognise, session};
use copyist::diagnostic::Code;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const FORMATS: &[&str] = &["pi", "claude-code", "codex", "connectonion", "agent-orchestrator"];

/// Texts of the lines that a program appended: prompts, answers, calls and results. Copies of
/// earlier lines have older times.
fn appended(format: &str, lines: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut said, mut newest) = (Vec::new(), String::from("2026-11-27"));
    let mut seen = Vec::new();
    for line in lines {
        let mut add = |role: &str, value: &Value| said.push((role.to_owned(), text(value)));
        match format {
            "codex" if line["type"] == "response_item" => {
                let item = &line["payload"];
                let role = text(&item["role"]);
                let parts = item["content"].as_array().into_iter().flatten();
                let own = |part: &&Value| !text(&part["text"]).starts_with("<environment_context>");
                match text(&item["type"]).as_str() {
                    "message" if role != "developer" => {
                        parts.filter(own).for_each(|part| add(&role, &part["text"]));
                    }
                    "function_call" => add("call", &item["name"]),
                    "function_call_output" => add("result", &item["call_id"]),
                    _ => {}
                }
            }
            "pi" if line["type"] == "message" => {
                let message = &line["message"];
                for block in message["content"].as_array().into_iter().flatten() {
                    match text(&block["type"]).as_str() {
                        "text" if message["role"] == "toolResult" => {
                            add("result", &message["toolCallId"]);
                        }
                        "text" => add(&text(&message["role"]), &block["text"]),
                        _ => add("call", &block["name"]),
                    }
                }
            }
            "claude-code" if ["user", "assistant"].iter().any(|kind| line["type"] == *kind) => {
                let time = text(&line["timestamp"]);
                let copied = seen.contains(&(time.clone(), text(&line["type"])));
                let placeholder = line["message"]["model"] == "<synthetic>"
                    && line["message"]["content"][0]["text"] == "No response requested.";
                if time < newest || copied || placeholder {
                    continue;
                }
                newest.clone_from(&time);
                seen.push((time, text(&line["type"])));
                let role = text(&line["type"]);
                let content = &line["message"]["content"];
                if content.is_string() {
                    add(&role, content);
                }
                for block in content.as_array().into_iter().flatten() {
                    match text(&block["type"]).as_str() {
                        "tool_result" => add("result", &block["tool_use_id"]),
                        _ => add(&role, &block["text"]),
                    }
                }
            }
            _ => {}
        }
    }
    said
}

/// Why a session did not come back whole; `None` if it did.
fn fault(folder: &Path, source: &str, target: &str) -> Option<String> {
    let was = session(&main_of(&folder.join("source")));
    let (version, there) = (recognise(&was)?.1, away(&was, target));
    // The present writer's file: the one in `target` is of an earlier release.
    let added: Vec<_> = ["appended-1.jsonl", "appended-2.jsonl"]
        .iter()
        .flat_map(|file| lines(&read(&folder.join(file))))
        .collect();
    let file = with(&there, &added);
    let (format, number) = recognise(&file)?;
    let (done, findings) = converted(&file, format, number, source, &keep());
    if let Some(found) =
        findings.diagnostics.iter().find(|found| found.code == Code::OriginRejected)
    {
        return Some(found.message.clone());
    }
    let now = match done {
        Ok(now) => alone(&now),
        Err(error) => return Some(error.to_string()),
    };
    assert_eq!(recognise(&now)?.1, version);
    whole(&was, &now, &appended(target, &added)).err()
}

#[test]
fn sessions_that_real_programs_continued_come_back_whole() {
    let Some(corpus) = corpus("continued").map(|corpus| corpus.join("continued")) else { return };
    if !corpus.is_dir() {
        eprintln!("SKIP continued: {} is missing", corpus.display());
        return;
    }
    let mut tally: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut faults = Vec::new();
    let entries = std::fs::read_dir(&corpus).expect("the corpus");
    let folders = entries.map(|entry| entry.expect("a folder").path()).filter(|path| path.is_dir());
    for folder in folders {
        let (_, pair) = name(&folder)
            .split_once('-')
            .map(|(n, pair)| (n.to_owned(), pair.to_owned()))
            .expect("a pair");
        let first = |text: &str| FORMATS.iter().find(|name| text.starts_with(**name)).copied();
        let source = first(&pair).expect("a format");
        let target = first(&pair[source.len() + 1..]).expect("a format");
        let fault = fault(&folder, source, target);
        let (whole, all) = tally.entry(pair).or_default();
        *whole += u32::from(fault.is_none());
        *all += 1;
        faults.extend(fault.map(|fault| format!("{}: {fault}", name(&folder))));
    }
    for (pair, (whole, all)) in &tally {
        println!("{pair}: {whole} of {all}");
    }
    let whole: u32 = tally.values().map(|(whole, _)| whole).sum();
    println!("whole: {whole} of {}", tally.values().map(|(_, all)| all).sum::<u32>());
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(whole >= 65, "{whole}");
}
