//! Sessions of every kind that come back to their files after another agent went on with them, also
//! after Gemini CLI resumed them: it writes the whole conversation anew.

use crate::common::{self, Dir, inputs_below, read};
use crate::onward::{path_of, said};
use crate::onward_named::go;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes into a log what the program writes when it resumes it, with a question and its answer.
fn resume(log: &Path, round: usize) {
    let mut text = fs::read_to_string(log).expect("a log");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let time = format!("2026-12-01T09:0{round}:00.000Z");
    let message = |id: &str, kind: &str, content: Value| {
        json!({"id": format!("{id}{round}"), "timestamp": time, "type": kind,
            "content": content})
    };
    let context = json!([{"text": "<session_context>\nToday is a day.\n</session_context>"}]);
    let mut all = vec![message("context", "user", context)];
    // A log that was resumed before already lists the results of its answers.
    let last = lines.iter().rposition(|line| line["$set"]["messages"].is_array());
    let known = last.map(|place| lines[place]["$set"]["messages"].clone());
    let (known, from) = (known.unwrap_or(json!([])), last.unwrap_or(0));
    let known = known.as_array().expect("a list").iter().skip(1);
    for line in known.chain(lines[from..].iter().filter(|line| line.get("type").is_some())) {
        let mut again = line.clone();
        let results: Vec<Value> = line["toolCalls"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|call| call["result"].as_array().expect("a result").clone())
            .collect();
        if line["type"] == "gemini" && line["content"].is_string() {
            let list = |name: &str| line[name].as_array().into_iter().flatten();
            let thoughts = list("thoughts")
                .map(|thought| json!({"text": thought["description"], "thought": true}));
            let text = line["content"].as_str().filter(|text| !text.is_empty());
            let text = text.into_iter().map(|text| json!({"text": text}));
            let calls = list("toolCalls").map(|call| {
                json!({"functionCall":
                    {"id": call["id"], "name": call["name"], "args": call["args"]}})
            });
            again["content"] = thoughts.chain(text).chain(calls).collect();
        }
        let id = line["id"].as_str().expect("an identifier").to_owned();
        all.push(again);
        if !results.is_empty() && !all.iter().any(|own| own["id"] == format!("{id}_response")) {
            let mut listed = message(&id, "user", json!(results));
            listed["id"] = json!(format!("{id}_response"));
            all.push(listed);
        }
    }
    let new = [
        json!({"$set": {"messages": all, "lastUpdated": time}}),
        message("question", "user", json!([{"text": format!("Round {round}?")}])),
        json!({"$set": {"lastUpdated": time}}),
        message("answer", "gemini", json!("Yes.")),
    ];
    new.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    fs::write(log, text).expect("written");
}

/// Adds a question and its answer to a session.
fn append(home: &Dir, file: &Path, round: usize) {
    let file = file.to_str().expect("UTF-8");
    for (role, text) in [("user", format!("Round {round}?")), ("assistant", "Yes.".to_owned())] {
        let (code, words) = said(home, &["append", "--role", role, "--text", &text, file]);
        assert_eq!(code, 0, "{file}: {words}");
    }
}

/// Lets another agent go on with a session three times, and brings it back each time by its
/// identifier.
fn there_and_back(agent: &str, source: &Path, via: &str) {
    let case = format!("{} by way of {via}", source.display());
    let home = Dir::new();
    let project = home.path("project");
    fs::create_dir_all(&project).expect("a folder");
    let source = source.to_str().expect("UTF-8");
    let begun = go(&home, &[source, "--cwd", project.to_str().expect("UTF-8")], agent);
    let original = path_of(&begun);
    let _ = fs::remove_file(format!("{}.origin", original.display()));
    let id = begun["id"].as_str().expect("an identifier");
    let before = read(&original);
    let mut length = before.len();
    for round in 0..3 {
        let there = go(&home, &[id], via);
        assert_eq!(there["way"], if round == 0 { "new" } else { "there" }, "{case}: {there}");
        match via {
            "gemini-cli" => resume(&path_of(&there), round),
            _ => append(&home, &path_of(&there), round),
        }
        // The name is that of both files.
        let back = go(&home, &[id], agent);
        let ways = (&back["way"], &back["added"], path_of(&back));
        assert_eq!(ways, (&json!("added"), &json!(2), original.clone()), "{case}: {back}");
        let after = read(&original);
        assert!(after.starts_with(&before) && after.len() > length, "{case}: {back}");
        let tail = String::from_utf8_lossy(&after[length..]).into_owned();
        assert!(tail.contains(&format!("Round {round}?")), "{case}: {tail}");
        length = after.len();
    }
}

/// Agents that only add to the files of their sessions.
const AGENTS: [&str; 5] = ["claude-code", "codex", "copilot-cli", "gemini-cli", "pi"];

/// The session of a case of our test data, and its agent.
fn case(name: &str) -> (&str, PathBuf) {
    let agent = name.split('/').next().expect("an agent");
    (agent, inputs_below(&common::testdata().join(name)).remove(0))
}

#[test]
fn messages_that_the_program_wrote_in_another_form_are_no_edits() {
    for name in ["codex/v2/polish", "codex/v2/compacted", "claude-code/v2/parallel"] {
        let (agent, source) = case(name);
        there_and_back(agent, &source, "gemini-cli");
    }
}

#[test]
fn results_with_images_that_the_program_listed_again_are_no_messages() {
    let (agent, source) = case("codex/v3/mars");
    there_and_back(agent, &source, "gemini-cli");
}

#[test]
fn one_identifier_names_a_session_and_its_copy_that_begins_elsewhere() {
    for name in ["claude-code/v2/compacted", "pi/v2/branched"] {
        let (agent, source) = case(name);
        there_and_back(agent, &source, "gemini-cli");
    }
}

#[test]
fn sessions_with_files_of_sub_agents_come_back_more_than_once() {
    for name in ["claude-code/v2/subagents", "claude-code/v2/nested-subagents"] {
        let (agent, source) = case(name);
        ["codex", "pi"].into_iter().for_each(|via| there_and_back(agent, &source, via));
    }
}

#[test]
fn the_header_of_a_log_stays_as_it_is() {
    let (agent, source) = case("gemini-cli/v2/lighthouse");
    there_and_back(agent, &source, "codex");
}

#[test]
#[ignore = "half a minute: each session of our test data by way of each other agent"]
fn every_session_comes_back_three_times_in_full() {
    for agent in AGENTS {
        let sources = inputs_below(&common::testdata().join(agent));
        let is_log = |path: &PathBuf| path.extension().is_some_and(|it| it == "jsonl");
        for source in sources.iter().filter(|path| is_log(path)) {
            // Its texts are spelled as no program spells them, and the whole history is written anew.
            let is_respelled = source.components().any(|part| part.as_os_str() == "spellings");
            for via in AGENTS.into_iter().filter(|via| *via != agent) {
                if !(is_respelled && via == "gemini-cli") {
                    there_and_back(agent, source, via);
                }
            }
        }
    }
}
