//! Codelia's runs, states and logs, one by one and as homes, with the rules of its readers as judge.

use crate::common::{Dir, corpus, files, files_of, name, own, read, several};
use crate::judge::{holds, repaired, resumable, set_aside};
use copyist::diagnostic::Code;
use copyist::format::RepairOptions;
use copyist::formats::codelia::FORMAT;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn judge() -> Option<PathBuf> {
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/codelia/check.py");
    let python = Command::new("python3").arg("--version").output().is_ok();
    if !(judge.is_file() && python) {
        eprintln!("SKIP Codelia as judge: no python3, or no judge");
    }
    (judge.is_file() && python).then_some(judge)
}

/// What the rules of Codelia's readers find in a file or a home.
fn faults(judge: &Path, path: &Path) -> Vec<String> {
    let asked = Command::new("python3").arg(judge).arg(path).output().expect("Python runs");
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    if !asked.stderr.is_empty() {
        return vec!["the judge cannot read it".to_owned()];
    }
    said.lines().filter(|line| *line != "all accepted").map(str::to_owned).collect()
}

#[test]
fn codelia_accepts_every_repaired_file() {
    let Some(corpus) = corpus("repair of runs") else { return };
    let judge = judge();
    let dir = Dir::in_memory();
    println!("| file | damage | records | back | set aside | found before | after |");
    println!("|---|---|---|---|---|---|---|");
    let mut inputs = files(&corpus.join("codelia/edge"));
    inputs.retain(|path| !path.starts_with(corpus.join("codelia/edge/home")));
    assert_eq!(inputs.len(), 12);
    for input in inputs {
        let (source, name) = (read(&input), name(&input));
        let Some(done) = holds(&FORMAT, &source, &resumable(), &name) else {
            println!("| {name} | nothing to get back | | | | | |");
            assert!(source.is_empty(), "{name}");
            continue;
        };
        let out = dir.write(&name, &done.out);
        let counts = |path: &Path| judge.as_ref().map_or(0, |judge| faults(judge, path).len());
        let codes: Vec<_> = done.findings.counts.keys().map(|code| code.name()).collect();
        let report = done.report;
        let (before, after) = (counts(&input), counts(&out));
        if name.ends_with(".jsonl") {
            assert!(taken(&out) >= taken(&input) || name == "bom.jsonl", "{name}: records less");
        }
        println!(
            "| {name} | {} | {} | {} | {} | {before} | {after} |",
            codes.join(" "),
            report.records,
            report.rescued,
            report.quarantined
        );
        // What is no run at all or of a version that is not known stays what it is, and blank lines
        // are no damage.
        let odd =
            ["ops_for_write_ts.jsonl", "schema_version_2.jsonl", "blank_lines_and_garbage.jsonl"];
        assert!(after == 0 || odd.contains(&name.as_str()) && after <= before, "{name}: {after}");
    }
}

/// The records of a run or a log that Codelia's readers take: objects in UTF-8 on lines of their own.
fn taken(file: &Path) -> usize {
    let text = read(file);
    let whole = |line: &&[u8]| serde_json::from_slice::<HashMap<String, Value>>(line).is_ok();
    text.split(|b| *b == b'\n').filter(whole).count()
}

#[test]
fn the_home_of_oddities_keeps_all_that_is_whole() {
    let Some(corpus) = corpus("repair of the home of oddities") else { return };
    let Some(judge) = judge() else { return };
    let from = corpus.join("codelia/edge/home");
    let dir = copied(&from);
    let (code, said) = dir.exit(&["repair", "--in-place", "--report", "r", "home"]);
    assert_eq!(code, 0, "{said}");
    println!("| file of the home | taken before | after |\n|---|---|---|");
    for file in files(&from).iter().filter(|file| name(file).ends_with(".jsonl")) {
        let below = file.strip_prefix(&from).expect("below").display();
        let (before, after) = (taken(file), taken(&dir.path(&format!("home/{below}"))));
        println!("| {below} | {before} | {after} |");
        assert_eq!(before, after, "{below}");
    }
    let report: Value = serde_json::from_slice(&read(&dir.path("r"))).expect("JSON");
    let aside = report["inputs"].as_array().expect("a list").iter();
    let aside: u64 = aside.filter_map(|input| input["repair"]["quarantined"].as_u64()).sum();
    println!("{aside} bytes set aside");
    assert_eq!(aside, 105);
    assert_eq!(faults(&judge, &dir.path("home/sessions")), [""; 0]);
}

#[test]
fn the_header_of_a_run_comes_before_blank_lines() {
    let run = own("codelia/v1/seed");
    let source = [&b"\n  \n"[..], &run].concat();
    let done =
        holds(&FORMAT, &source, &RepairOptions::default(), "blank lines first").expect("records");
    assert_eq!(done.findings.counts.get(&Code::HeaderMoved), Some(&1));
    let (header, rest) = run.split_at(run.iter().position(|b| *b == b'\n').expect("a line") + 1);
    assert_eq!(done.out, [header, &b"\n  \n"[..], rest].concat());
}

/// A copy of a home, as `home`.
fn copied(from: &Path) -> Dir {
    let dir = Dir::in_memory();
    for file in files(from) {
        let below = file.strip_prefix(from).expect("below").display().to_string();
        dir.write(&format!("home/{below}"), &read(&file));
    }
    dir
}

#[test]
fn an_answer_that_the_state_lacks_is_reported() {
    let corpus_home = |home: &str| Some(corpus("a state behind")?.join("codelia").join(home));
    let Some(from) = corpus_home("v0.1.80/home_crashed") else { return };
    let dir = copied(&from);
    let (code, said) = dir.said(&["repair", "-n", "home"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("CY0310") && !said.contains("CY0862"), "{said}");
    let logs = files(&dir.path("home/sessions/messages"));
    let text = String::from_utf8(read(&logs[0])).expect("UTF-8");
    let older = text.split_inclusive('\n').filter(|line| !line.contains("about to crash"));
    std::fs::write(&logs[0], older.collect::<String>()).expect("a file");
    let (code, said) = dir.said(&["repair", "-n", "home"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("CY0862"), "{said}");
}

#[test]
fn a_torn_message_does_not_decide_what_a_file_is() {
    let torn = r#"{"role":"user","content":"Which lamps"#;
    let other = r#"{"kind":"turn","input":"Which?"}"#;
    let message = r#"{"role":"user","content":"Count."}"#;
    let result = r#"{"role":"tool","tool_call_id":"x","content":"y"}"#;
    for (lines, run) in [
        (vec![torn, other], true),
        (vec![torn, other, message], false),
        (vec![result, other], true),
        (vec![result, other, message], false),
    ] {
        let source = lines.join("\n") + "\n";
        for wanted in [RepairOptions::default(), resumable()] {
            let done = holds(&FORMAT, source.as_bytes(), &wanted, "torn").expect("records");
            let header = done.findings.counts.contains_key(&Code::HeaderRebuilt);
            assert_eq!(header, run, "{}", done.out.escape_ascii());
        }
    }
}

#[test]
fn a_log_of_nothing_but_results_without_calls_is_not_changed() {
    let source = "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"y\"}\n";
    assert!(repaired(&FORMAT, source.as_bytes(), &resumable()).is_none());
    let done = repaired(&FORMAT, source.as_bytes(), &RepairOptions::default()).expect("a message");
    assert!(!done.report.changed);
}

/// A session of two files, as the program is given them: a run that was killed, and a log.
fn killed(log: &[&str], after: &str) -> Vec<u8> {
    let said = [
        r#"{"role":"system","content":"S"}"#,
        r#"{"role":"user","content":"Before."}"#,
        r#"{"role":"assistant","content":"Yes."}"#,
        r#"{"role":"user","content":"Go."}"#,
    ]
    .join(",");
    let call = r#"{"role":"assistant","content":"Now.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
    let record = |kind: &str, rest: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"run_id\":\"r\",\"ts\":\"2026-02-03T12:00:01.000Z\",{rest}}}\n"
        )
    };
    let run = [
        format!("{HEADER}\n{START}\n{STATUS}\n"),
        record(
            "llm.request",
            &format!(r#""seq":1,"input":{{"messages":[{said}],"tools":null,"tool_choice":null}}"#),
        ),
        record(
            "llm.response",
            &format!(
                r#""seq":1,"output":{{"messages":[{call}],"usage":null,"stop_reason":null,"provider_meta":null}}"#
            ),
        ),
        after.to_owned(),
    ];
    let log = log.iter().map(|line| format!("{line}\n")).collect::<String>();
    several(vec![
        ("/sessions/2026/02/03/r.jsonl".to_owned(), run.concat().into_bytes()),
        ("/sessions/messages/s.jsonl".to_owned(), log.into_bytes()),
    ])
}

#[test]
fn what_a_killed_run_proves_is_appended_to_what_the_agent_takes_up() {
    let before =
        [r#"{"role":"user","content":"Before."}"#, r#"{"role":"assistant","content":"Yes."}"#];
    let output = r#"{"type":"tool.output","run_id":"r","ts":"2026-02-03T12:00:02.000Z","tool":"ls","tool_call_id":"b","result_raw":"x\ny"}"#;
    let source = killed(&before, &format!("{output}\n"));
    let plain = holds(&FORMAT, &source, &RepairOptions::default(), "killed").expect("a session");
    assert!(!plain.report.changed && plain.findings.counts.contains_key(&Code::StateBehind));
    let done = holds(&FORMAT, &source, &resumable(), "killed").expect("a session");
    assert!(!done.findings.counts.contains_key(&Code::StateBehind));
    assert_eq!(done.findings.counts[&Code::HistoryRestored], 3);
    let parts = files_of(&done.out);
    let log = lines(&parts.iter().find(|(name, _)| name.contains("messages")).expect("a log").1);
    let said: Vec<_> = log.iter().map(|message| message["content"].clone()).collect();
    let unknown = Value::from(copyist::repair::OUTCOME_UNKNOWN);
    assert_eq!(
        said,
        [
            "Before.".into(),
            "Yes.".into(),
            "Go.".into(),
            "Now.".into(),
            Value::from("x\ny"),
            unknown
        ]
    );
    assert!(log[..2].iter().all(|message| message["copyist"].is_null()));
    assert!(log[2..].iter().all(|message| message["copyist"]["repaired"].is_array()));
    // A history that was put together anew does not tell what would have been stored.
    for other in [&before[1..], &[before[0], r#"{"role":"assistant","content":"No."}"#]] {
        let source = killed(other, "");
        let done = holds(&FORMAT, &source, &resumable(), "anew").expect("a session");
        assert!(!done.report.changed && done.findings.counts.contains_key(&Code::StateBehind));
    }
}

/// The sessions of a home stay in one home, also where the header of a run is torn; its database gets
/// the row of each.
#[test]
fn a_repaired_home_is_one_home() {
    let dir = Dir::new();
    let header = |id| {
        format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-02-03T12:00:00.000Z","cwd":"/w"}}"#
        )
    };
    let asked = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-03T12:00:01.000Z","message":{"role":"user","content":"Hot?"}}"#;
    let ids = ["0195a000-0000-7000-8000-000000000001", "0195a000-0000-7000-8000-000000000002"];
    for id in ids {
        dir.write(&format!("in/{id}.jsonl"), format!("{}\n{asked}\n", header(id)).as_bytes());
    }
    let home = ["convert", "-t", "codelia@2", "--no-origin", "--layout", "native"];
    let (code, said) = dir.exit(&[&home[..], &["--out-dir", "old/home", "in"]].concat());
    assert_eq!(code, 0, "{said}");
    let below = |folder: &str| {
        let home = dir.path(folder);
        let mut paths: Vec<PathBuf> = files(&home)
            .iter()
            .map(|file| file.strip_prefix(&home).expect("below").to_owned())
            .collect();
        paths.retain(|path| !path.ends_with(format!("{}.quarantine.jsonl", ids[1])));
        paths.sort();
        paths
    };
    let run = files(&dir.path("old/home/sessions/2026")).remove(0);
    let bytes = read(&run);
    std::fs::write(&run, &bytes[20..]).expect("a file");
    for (folder, said) in [("new", "1 repaired, 1 healthy"), ("again", "2 healthy")] {
        let from = if folder == "new" { "old" } else { "new" };
        let (code, told) = dir.exit(&["repair", "--out-dir", folder, from]);
        assert!(code == 0 && told.contains(said), "{told}");
    }
    assert_eq!(below("new/home"), below("old/home"));
    assert_eq!(below("again"), below("new"));
    for id in ids {
        let session = format!("new/home#{id}");
        let (code, said) = dir.said(&["validate", "new"]);
        assert!(code == 0 && said.contains(&format!("{session}: valid codelia@2")), "{said}");
    }
}

#[test]
fn homes_come_back_whole() {
    let Some(corpus) = corpus("repair of homes") else { return };
    let Some(judge) = judge() else { return };
    for home in ["v0.1.80/home", "v0.1.80/home_crashed", "v0-3fe5dc9/home"] {
        let from = corpus.join("codelia").join(home);
        let dir = copied(&from);
        let all = || files(&dir.path("home")).iter().map(|file| read(file)).collect::<Vec<_>>();
        let before = all();
        let (code, said) = dir.exit(&["repair", "--in-place", "home"]);
        // Some sessions have U+0000 in an output.
        assert_eq!(code, i32::from(said.contains(" refused,")), "{home}: {said}");
        assert_eq!(all(), before, "{home}: a healthy home was touched");
        // Every run and every log loses its end and a byte in the middle.
        let torn = files(&dir.path("home")).into_iter().filter(|file| {
            let name = name(file);
            name.ends_with(".jsonl") || name.ends_with(".json") && name.len() > 20
        });
        for file in torn {
            let mut bytes = read(&file);
            bytes.truncate(bytes.len().saturating_sub(9));
            std::fs::write(&file, bytes).expect("a file");
        }
        let (code, said) = dir.exit(&["repair", "--in-place", "--resumable", "home"]);
        assert_eq!(code, i32::from(said.contains(" refused,")), "{home}: {said}");
        // Rows still count the messages that were torn.
        let found = faults(&judge, &dir.path("home/sessions"));
        let found: Vec<_> =
            found.iter().filter(|fault| !fault.contains("its log differs")).collect();
        assert!(found.is_empty(), "{home}: {found:?}");
        let (code, said) = dir.exit(&["repair", "-n", "--resumable", "home"]);
        assert_eq!(code, i32::from(said.contains(" refused,")), "{home}: {said}");
    }
}

const HEADER: &str = r#"{"type":"header","schema_version":1,"run_id":"r","session_id":"s","started_at":"2026-02-03T12:00:00.123Z"}"#;
const START: &str = r#"{"type":"run.start","run_id":"r","session_id":"s","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"Go."}}"#;
const STATUS: &str =
    r#"{"type":"run.status","run_id":"r","ts":"2026-02-03T12:00:00.457Z","status":"running"}"#;

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

/// U+0000 in a log or a state, which no model takes.
#[test]
fn what_no_model_takes_is_replaced_in_what_the_agent_takes_up() {
    let said = r#"{"role":"user","content":"a\u0000b"}"#;
    let state = format!(
        r#"{{"schema_version":1,"session_id":"s","updated_at":"2026-02-03T12:00:00.000Z","messages":[{said}]}}"#
    );
    for source in [format!("{said}\n"), state + "\n"] {
        let plain = holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "U+0000");
        assert!(!plain.expect("a session").report.changed);
        let done = repaired(&FORMAT, source.as_bytes(), &resumable()).expect("a session");
        assert_eq!(done.findings.counts[&Code::SurrogateReplaced], 1);
        let mended = String::from_utf8(done.out).expect("UTF-8");
        assert!(mended.contains(r#""content":"a\ufffdb","copyist":{"repaired":[{"code":"CY0834","halves":["0000"]}]}"#), "{mended}");
    }
}

#[test]
fn a_header_is_rebuilt_or_moved_to_the_front() {
    let source = format!("{START}\n{STATUS}\n");
    let done =
        holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "no header").expect("records");
    let header = &lines(&done.out)[0];
    assert_eq!((&header["run_id"], &header["session_id"]), (&"r".into(), &"s".into()));
    assert_eq!(header["started_at"], "2026-02-03T12:00:00.456Z");
    assert_eq!(header["copyist"]["repaired"][0]["code"], "CY0811");
    let source = format!("{START}\n{HEADER}\n{STATUS}\n{HEADER}\n{START}\n");
    let done =
        holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), "late").expect("records");
    assert_eq!(
        String::from_utf8(done.out).expect("UTF-8"),
        format!("{HEADER}\n{START}\n{STATUS}\n")
    );
}

#[test]
fn a_call_of_a_tool_gets_a_word_about_it_before_the_next_turn() {
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}}"#
        )
    };
    let result = |id: &str| {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","tool_name":"ls","content":"x"}}"#)
    };
    let said = r#"{"role":"assistant","content":"Done."}"#;
    let messages = [
        r#"{"role":"user","content":"Go."}"#.to_owned(),
        call("a"),
        call("b"),
        result("b"),
        result("lost"),
        said.to_owned(),
        call("c"),
    ];
    let log = messages.iter().map(|line| format!("{line}\n")).collect::<String>();
    let done = holds(&FORMAT, log.as_bytes(), &resumable(), "log").expect("records");
    let calls: Vec<_> = lines(&done.out).iter().map(|m| m["tool_call_id"].clone()).collect();
    let none = Value::Null;
    let expected = [&none, &none, &none, &"b".into(), &"a".into(), &none, &none, &"c".into()];
    assert_eq!(calls.iter().collect::<Vec<_>>(), expected);
    let state = format!(
        r#"{{"schema_version":1,"session_id":"s","updated_at":"t","messages":[{}]}}"#,
        messages.join(",")
    );
    let source = format!("{state}\n");
    let done = repaired(&FORMAT, source.as_bytes(), &resumable()).expect("a state");
    assert_eq!(set_aside(&done.aside).len(), 1);
    let state = &lines(&done.out)[0];
    let calls: Vec<_> = state["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| m["tool_call_id"].clone())
        .collect();
    assert_eq!(calls.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_torn_state_keeps_every_whole_message() {
    let torn = r#"{"schema_version":1,"session_id":"s","updated_at":"t","messages":[{"role":"user","content":"a"},{"role":"user","con"#;
    let done =
        holds(&FORMAT, torn.as_bytes(), &RepairOptions::default(), "s.json").expect("a state");
    let state = &lines(&done.out)[0];
    assert_eq!(state["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(state["copyist"]["repaired"][0]["code"], "CY0855");
    assert_eq!((done.report.messages_before, done.report.messages), (0, 1));
}

#[test]
fn what_is_no_utf_8_in_a_state_is_replaced_and_reported() {
    let message = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let [one, two] = ["one", "two"].map(message);
    let state = format!(
        "{{\"schema_version\":1,\"session_id\":\"s\",\"updated_at\":\"t\",\"messages\":[{one},{two}]}}\n"
    );
    let place = state.find("content").expect("a key") + 1;
    let mut bytes = state.into_bytes();
    bytes[place] = 0xff;
    let codes = |bytes: &[u8]| {
        let done = holds(&FORMAT, bytes, &RepairOptions::default(), "s.json").expect("a state");
        let codes: Vec<_> = done.findings.counts.keys().copied().collect();
        (codes, done)
    };
    let (told, done) = codes(&bytes);
    assert_eq!(told, [Code::Utf8Replaced]);
    let new = &lines(&done.out)[0];
    assert_eq!(new["messages"][0]["c\u{fffd}ntent"], "one", "{new}");
    assert_eq!(new["messages"][1]["content"], "two", "{new}");
    assert_eq!(new["copyist"]["repaired"][0]["code"], "CY0804");
    assert_eq!((done.report.messages_before, done.report.messages), (2, 2));
    let aside = set_aside(&done.aside);
    assert_eq!((aside.len(), &aside[0].bytes[..]), (1, &bytes[..bytes.len() - 1]));
    // Where it is cut, too, both are told; what is lost is cut only.
    let (told, _) = codes(&bytes[..bytes.len() - 20]);
    assert_eq!(told, [Code::Utf8Replaced, Code::StateRestored]);
    let (told, _) = codes(&bytes[..place + 5]);
    assert_eq!(told, [Code::StateRestored]);
}
