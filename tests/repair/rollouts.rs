//! Codex's rollouts: what the agent refuses as a whole or drops comes back.

use crate::common::codex::{Cli, RELEASES, items};
use crate::common::{Dir, corpus, files, name, read};
use crate::judge::{Done, holds, repaired, resumable, salvaging};
use copyist::format::RepairOptions;
use copyist::formats::codex::FORMAT;
use serde_json::{Value, json};

const META: &str = r#"{"timestamp":"2026-02-01T08:00:00.000Z","type":"session_meta","payload":{"id":"01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f0a","timestamp":"2026-02-01T08:00:00.000Z","cwd":"/srv/kiln","originator":"codex_exec","cli_version":"0.142.0"}}"#;

fn item(payload: Value) -> String {
    json!({"timestamp": "2026-02-01T08:00:01.000Z", "type": "response_item", "payload": payload})
        .to_string()
}

fn asked(text: &str) -> String {
    let part = json!([{"type": "input_text", "text": text}]);
    item(json!({"type": "message", "role": "user", "content": part}))
}

fn call(id: &str) -> String {
    item(json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id}))
}

fn result(id: &str) -> String {
    item(json!({"type": "function_call_output", "call_id": id, "output": "1260 degrees"}))
}

fn done(lines: &[&str], wanted: &RepairOptions) -> Done {
    let text = format!("{}\n", lines.join("\n"));
    holds(&FORMAT, text.as_bytes(), wanted, "rollout.jsonl").expect("records")
}

fn lines(done: &Done) -> Vec<Value> {
    let text = std::str::from_utf8(&done.out).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_first_line_without_needed_members_gets_them() {
    let dir = Dir::new();
    let meta = r#"{"type":"session_meta","payload":{"id":"kiln","cwd":null}}"#;
    let context = r#"{"timestamp":"2026-02-01T08:00:00.500Z","type":"turn_context","payload":{"cwd":"/srv/kiln","model":"gpt-5"}}"#;
    let id = "01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f0a";
    let file = format!("rollout-2026-02-01T08-00-00-{id}.jsonl");
    dir.write(&file, format!("{meta}\n{context}\n{}\n", asked("Hot?")).as_bytes());
    let (code, said) = dir.said(&["repair", "-o", "new.jsonl", &file]);
    assert_eq!(code, 0, "{said}");
    let text = String::from_utf8(read(&dir.path("new.jsonl"))).expect("UTF-8");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let expected = json!({"id": id, "cwd": "/srv/kiln", "timestamp": "2026-02-01T08:00:00.500Z",
        "originator": "copyist", "cli_version": "0.0.0"});
    assert_eq!(first["payload"], expected);
    assert_eq!(first["timestamp"], "2026-02-01T08:00:00.500Z");
    let notes = first["copyist"]["repaired"].as_array().expect("notes");
    assert!(notes.contains(&json!({"code": "CY0811", "id": "kiln"})), "{notes:?}");
    assert!(notes.contains(&json!({"code": "CY0857", "member": "payload.originator"})));
    assert_eq!(text.lines().nth(1), Some(context));
}

#[test]
fn a_value_of_the_wrong_type_is_rewritten() {
    let arguments = json!({"type": "function_call", "name": "shell", "arguments": {"cmd": "ls"},
        "call_id": "c"});
    let output = json!({"type": "function_call_output", "call_id": "c",
        "output": {"content": "ok", "success": true}});
    let text = json!({"type": "message", "role": "assistant", "content": "Done."});
    let source = [META.to_owned(), item(arguments), item(output), item(text)].join("\n") + "\n";
    let dir = Dir::new();
    dir.write("a.jsonl", source.as_bytes());
    let (code, said) = dir.said(&["repair", "-o", "b.jsonl", "a.jsonl"]);
    assert!(code == 0 && said.matches("CY0868").count() == 3, "{said}");
    let text = String::from_utf8(read(&dir.path("b.jsonl"))).expect("UTF-8");
    let lines: Vec<Value> = text.lines().flat_map(serde_json::from_str).collect();
    assert_eq!(lines[1]["payload"]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(lines[1]["copyist"]["repaired"][0]["arguments"], json!({"cmd": "ls"}));
    assert_eq!(lines[2]["payload"]["output"], "ok");
    assert_eq!(lines[3]["payload"]["content"], json!([{"type": "output_text", "text": "Done."}]));
}

#[test]
fn half_of_a_character_and_a_missing_time_cost_no_line() {
    let half = asked("Kiln ⚠").replace('⚠', r"\ud83d");
    let timeless = asked("Hot?").replacen(r#""timestamp":"2026-02-01T08:00:01.000Z","#, "", 1);
    assert_ne!(timeless, asked("Hot?"));
    let done = done(&[META, &half, &timeless], &RepairOptions::default());
    let lines = lines(&done);
    assert_eq!(lines[1]["payload"]["content"][0]["text"], "Kiln \u{fffd}");
    assert_eq!(lines[2]["timestamp"], "2026-02-01T08:00:01.000Z");
    assert!(done.aside.is_empty());
}

/// A name of a tool and a character that no model takes are left without `--resumable`.
#[test]
fn what_no_model_takes_is_replaced_where_it_is_to_go_on() {
    let call = call("a").replace(r#""name":"shell""#, r#""name":"fs.read""#);
    assert!(call.contains("fs.read"), "{call}");
    let source = [META, &asked("Hot?").replace("Hot?", r"Hot\u0000?"), &call, &result("a")];
    assert!(!done(&source, &RepairOptions::default()).report.changed);
    let anew = |lines: &str| repaired(&FORMAT, lines.as_bytes(), &resumable()).expect("records");
    let mended = anew(&(source.join("\n") + "\n"));
    let back = lines(&mended);
    // The interface of Codex's models accepts U+0000.
    assert_eq!(back[1]["payload"]["content"][0]["text"], "Hot\0?");
    assert_eq!(back[2]["payload"]["name"], "fs_read");
    assert_eq!(back[2]["copyist"]["repaired"][0]["name"], "fs.read");
    assert!(!anew(std::str::from_utf8(&mended.out).expect("UTF-8")).report.changed);
}

#[test]
fn calls_and_results_are_in_pairs_where_it_is_to_go_on() {
    let (a, b, lost) = (call("a"), call("b"), result("lost"));
    let history = json!({"timestamp": "2026-02-01T08:00:02.000Z", "type": "compacted", "payload": {
        "message": "", "replacement_history": [
            {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "h"}]}});
    let history = history.to_string();
    let (first, second, late) = (result("b"), result("b"), result("h"));
    let all = [META, &a, &b, &first, &second, &lost, &history, &late];
    let plain = done(&all, &RepairOptions::default());
    assert!(!plain.report.changed, "{:?}", plain.findings);
    let done = done(&all, &resumable());
    let lines = lines(&done);
    let calls: Vec<_> = lines.iter().map(|line| line["payload"]["call_id"].as_str()).collect();
    let expected = [None, Some("a"), Some("a"), Some("b"), Some("b"), None, Some("h")];
    assert_eq!(calls, expected);
    assert_eq!(lines[2]["payload"]["output"], "aborted");
    assert_eq!(lines[2]["copyist"]["repaired"][0]["code"], "CY0831");
    assert_eq!(String::from_utf8_lossy(&done.aside).matches("CY0832").count(), 2);
}

#[test]
fn only_a_numbered_rollout_loses_its_second_first_line() {
    let (asked, more) = (asked("Hot?"), asked("And now?"));
    // A fork of release 0.142 has its parent's first line behind its own.
    let fork = done(&[META, META, &asked], &RepairOptions::default());
    assert!(!fork.report.changed, "{:?}", fork.findings);
    let number = |line: &str, number: u32| {
        line.replacen(r#","type""#, &format!(r#","ordinal":{number},"type""#), 1)
            .replace(r#""cli_version":"#, r#""history_mode":"paginated","cli_version":"#)
    };
    let all = [number(META, 0), number(&asked, 1), number(META, 2), number(&more, 3)];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let numbered = done(&all, &RepairOptions::default());
    assert_eq!(lines(&numbered).len(), 3);
    assert!(String::from_utf8_lossy(&numbered.aside).contains("CY0813"));
}

#[test]
fn numbers_of_lines_ascend() {
    let mode = META.replace(r#""cli_version":"#, r#""history_mode":"paginated","cli_version":"#);
    let repaired = |numbers: &[Option<u32>]| -> (bool, Vec<Value>) {
        let asked = ["Hot?", "And now?", "And there?", "Where?"].map(asked);
        let all = std::iter::once(&mode).chain(&asked).zip(numbers);
        let all = all.map(|(line, number)| match number {
            Some(number) => {
                line.replacen(r#","type""#, &format!(r#","ordinal":{number},"type""#), 1)
            }
            None => line.clone(),
        });
        let all: Vec<String> = all.collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let done = done(&all, &RepairOptions::default());
        let numbers = lines(&done).iter().map(|line| line["ordinal"].clone()).collect();
        (done.report.changed, numbers)
    };
    let is = |numbers: [u32; 5]| numbers.map(Value::from).to_vec();
    let [all, gap] = [[0, 1, 2, 3, 4], [0, 1, 4, 5, 6]];
    assert_eq!(repaired(&all.map(Some)), (false, is(all)));
    assert_eq!(repaired(&gap.map(Some)), (false, is(gap)), "Codex takes the next number");
    assert_eq!(repaired(&[0, 1, 1, 2, 3].map(Some)), (true, is(all)), "twice");
    assert_eq!(repaired(&[0, 1, 0, 1, 9].map(Some)), (true, is([0, 1, 2, 3, 9])), "back");
    let missing = [Some(0), Some(1), None, Some(2), None];
    assert_eq!(repaired(&missing), (true, is(all)), "missing");
}

#[test]
fn what_is_complete_of_a_torn_item_comes_back_where_it_has_content() {
    let whole =
        json!([{"type": "input_text", "text": "Hot?"}, {"type": "input_text", "text": "Very"}]);
    let line = item(json!({"type": "message", "role": "user", "content": whole}));
    let torn = line.split("Very").next().expect("a line");
    let back = lines(&done(&[META, torn], &salvaging()));
    assert_eq!(back[1]["payload"]["content"], json!([{"type": "input_text", "text": "Hot?"}]));
    // Neither a call without its identifier nor a message without a whole part has content.
    for torn in [call("a"), asked("Hot?")] {
        let torn = &torn[..torn.len() - 20];
        assert_eq!(lines(&done(&[META, torn], &salvaging())).len(), 1, "{torn}");
    }
}

/// Rollouts that the releases refuse also after repair, with the reason.
const LEFT: &[(&str, &str, &str)] = &[
    ("bare.jsonl", "", "version 1: `migrate` brings it to one that they read"),
    ("empty.jsonl", "", "nothing is there"),
    ("p_mode_unknown.jsonl", "0.169.0", "a later release may know the mode"),
    ("provider_unknown.jsonl", "0.169.0", "the provider is a matter of the user's settings"),
];

/// Rollouts of which a release sends something else than `context` prints, with the reason.
const OTHERWISE: &[(&str, &str, &str)] =
    &[("compacted_new.jsonl", "0.34.0", "0.34 ignores what a compaction of a later release says")];

#[test]
#[ignore = "10 minutes: asks four releases of the Codex CLI about every file"]
fn codex_resumes_what_was_repaired() {
    let (Some(cli), Some(corpus)) = (Cli::find(), corpus("codex's edge cases")) else { return };
    let dir = Dir::in_memory();
    let (mut before, mut after, mut same, mut wrong) = ([0; 4], [0; 4], [0; 4], Vec::new());
    let only = std::env::var("COPYIST_ONLY").unwrap_or_default();
    let rollout = |file: &std::path::PathBuf| file.extension().is_some_and(|end| end == "jsonl");
    let all = files(&corpus.join("codex/edge")).into_iter().filter(rollout);
    for file in all.filter(|file| name(file).contains(&only)) {
        let (case, input) = (name(&file), file.to_str().expect("UTF-8"));
        dir.run(&["repair", "-q", "--resumable", "--force", "-o", &case, input]);
        let repaired = if dir.path(&case).exists() { dir.path(&case) } else { file.clone() };
        let printed = dir.run(&["context", "-q", repaired.to_str().expect("UTF-8")]).stdout;
        let printed: Value = serde_json::from_slice(&printed).unwrap_or_default();
        let ours = items(printed["messages"].as_array().cloned().unwrap_or_default());
        let new = cli.ask(&repaired);
        let changed = read(&file) != read(&repaired);
        let old = changed.then(|| cli.ask(&file));
        for (n, new) in new.into_iter().enumerate() {
            let old = old.as_ref().map_or(new.resumed, |old| old[n].resumed);
            let known = |list: &[(&str, &str, &str)]| {
                list.iter()
                    .any(|(file, release, _)| *file == case && RELEASES[n].ends_with(release))
            };
            before[n] += u32::from(old);
            after[n] += u32::from(new.resumed);
            same[n] += u32::from(new.resumed && new.sent == ours);
            if new.resumed == known(LEFT) {
                wrong.push(format!("{case} in {}: {} {}", RELEASES[n], new.resumed, new.error));
            } else if new.resumed && (new.sent == ours) == known(OTHERWISE) {
                wrong.push(format!("{case} in {}: {:?}\nnot {ours:?}", RELEASES[n], new.sent));
            }
        }
    }
    println!("{RELEASES:?}: resumed before {before:?}, after {after:?}, as `context` {same:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
