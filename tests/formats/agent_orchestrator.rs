//! agent-orchestrator's sessions, held against what the real scripts wrote and answered.

use crate::common::{
    self, Dir, assert_same, converted, corpus, files, from_canonical, name, options, own_inputs,
    read, recognise, returned, session, testdata, to_canonical, without_strange,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::{Code, Severity};
use copyist::format::{OnError, Options};
use copyist::formats::agent_orchestrator::FORMAT;
use copyist::ids::Choice;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const META: &str = ".meta.json";

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// Runs a command on a folder of sessions.
fn ask(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.args(args).arg("--sessions-dir").arg(folder);
    command.output().expect("the program runs")
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// Names of the sessions in a folder of the corpus, by either file.
fn sessions(folder: &Path) -> Vec<PathBuf> {
    let mains = files(folder).into_iter().filter(|path| {
        let name = name(path);
        let alone = || !path.with_file_name(name.replace(META, ".jsonl")).is_file();
        name.ends_with(".jsonl") || (name.ends_with(META) && alone())
    });
    mains.collect()
}

/// Sessions on which the real scripts die, and what ours says.
const CRASHES: &[(&str, &str)] = &[
    (
        "last-is-array",
        "the last line is an array, not an object; ao-status itself fails on it: 'list' object",
    ),
    (
        "last-is-null",
        "the last line is null, not an object; ao-status itself fails on it: 'NoneType' object",
    ),
    (
        "last-is-string",
        "the last line is a string, not an object; ao-status itself fails on it: 'str' object",
    ),
];

#[test]
fn status_and_result_are_those_of_the_real_scripts() {
    let Some(corpus) = corpus("status_and_result_are_those_of_the_real_scripts") else { return };
    let folder = corpus.join("agent-orchestrator/edge_cases");
    let expected = std::fs::read(folder.with_extension("expected.json")).expect("answers");
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let (mut same, mut crashes, mut none) = (0, 0, 0);
    for (session, answers) in expected.as_object().expect("answers") {
        let huge = session == "huge-last";
        let made = huge.then(huge_last);
        let folder = made.as_ref().map_or(folder.as_path(), Dir::root);
        let (status, result) =
            (ask(folder, &["status", session]), ask(folder, &["result", session]));
        assert_eq!(status.status.code(), Some(0), "{session}");
        let word = said(&status.stdout);
        match answers["status"].as_str() {
            Some(theirs) => assert_eq!(word.trim_end(), theirs, "{session}"),
            None => {
                let ours = CRASHES.iter().find(|(name, _)| name == session);
                let ours = ours.unwrap_or_else(|| panic!("{session} is a new crash")).1;
                assert_eq!(word, "running\n", "{session}");
                assert!(said(&status.stderr).contains(ours), "{session}: {}", said(&status.stderr));
                crashes += 1;
            }
        }
        match &answers["result"] {
            Value::String(theirs) => assert_eq!(said(&result.stdout), *theirs, "{session}"),
            theirs if huge => assert_eq!(theirs["length"], result.stdout.len(), "{session}"),
            _ => {
                assert_eq!(result.status.code(), Some(1), "{session}");
                assert!(result.stdout.is_empty() && !result.stderr.is_empty(), "{session}");
                none += 1;
                continue;
            }
        }
        assert_eq!(result.status.code(), Some(0), "{session}");
        same += 1;
    }
    println!(
        "{same} results equal, {none} refused as by the real scripts; {crashes} of their crashes answered"
    );
    assert_eq!((same, none, crashes), (23, 25, CRASHES.len()));
}

/// The case that the corpus describes only: a last line of 3 MB.
fn huge_last() -> Dir {
    let dir = Dir::new();
    dir.write("huge-last.meta.json", b"{}");
    let last = format!("{{\"subtype\":\"success\",\"result\":\"{}\"}}\n", "x".repeat(3_000_000));
    dir.write("huge-last.jsonl", format!("{{}}\n{last}").as_bytes());
    dir
}

#[test]
fn messages_are_those_of_the_documentation() {
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/killed", "killed");
    let ask = |session: &str| {
        let done = ask(dir.root(), &["result", session]);
        assert_eq!(done.status.code(), Some(1), "{session}");
        said(&done.stderr)
    };
    assert!(ask("none").contains("Session not found: there is no none.meta.json in"));
    assert!(ask("killed").contains("Session is still running: the last line has no subtype"));
    dir.write("empty.meta.json", b"{}");
    dir.write("empty.jsonl", b"{\"subtype\":\"success\",\"result\":\"\"}\n");
    assert!(ask("empty").contains("No result found"));
}

/// Both files of a case of our own, under another name.
trait CopyPair {
    fn copy_pair(&self, case: &str, name: &str);
}

impl CopyPair for Dir {
    fn copy_pair(&self, case: &str, name: &str) {
        for file in files(&testdata().join(case).join("in")) {
            let own = common::name(&file);
            let ending = own.split_once('.').expect("an ending").1;
            self.write(&format!("{name}.{ending}"), &common::read(&file));
        }
    }
}

#[test]
fn folders_come_by_option_by_variable_or_as_usual_and_empty_is_not_given() {
    let dir = Dir::new();
    let usual = "project/.agent-orchestrator/agent-sessions";
    for (folder, result) in [(usual, "usual"), ("by-variable", "variable"), ("by-option", "option")]
    {
        dir.write(&format!("{folder}/s.meta.json"), b"{}");
        let line = format!("{{\"subtype\":\"success\",\"result\":\"{result}\"}}\n");
        dir.write(&format!("{folder}/s.jsonl"), line.as_bytes());
    }
    let ask = |args: &[&str], sessions: &str, project: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
        command.args(["result", "s"]).args(args).current_dir(dir.root());
        command.env("AGENT_ORCHESTRATOR_SESSIONS_DIR", sessions);
        command.env("AGENT_ORCHESTRATOR_PROJECT_DIR", project);
        let done = command.output().expect("the program runs");
        (done.status.code().expect("an exit code"), said(&done.stdout))
    };
    let found = |result: &str| (0, format!("{result}\n"));
    assert_eq!(ask(&["--sessions-dir", "by-option"], "by-variable", "project"), found("option"));
    assert_eq!(ask(&["--sessions-dir", ""], "by-variable", "project"), found("variable"));
    assert_eq!(ask(&[], "", "project"), found("usual"));
    assert_eq!(ask(&["--project-dir", "project"], "", "nowhere"), found("usual"));
    assert_eq!(ask(&["--project-dir", ""], "", "nowhere").0, 2);
    assert_eq!(ask(&[], "", "").0, 1);
    assert_eq!(ask(&["--sessions-dir", "nowhere"], "", ""), (1, String::new()));
}

#[test]
fn a_name_leads_nowhere_else() {
    let dir = Dir::new();
    dir.write("s.meta.json", b"{}");
    dir.write("in/t.meta.json", b"{}");
    for name in ["../s", "a/b", "", ".", "a.b", "é", "a\n", &"x".repeat(61)] {
        for command in ["status", "result"] {
            let done = ask(&dir.path("in"), &[command, name]);
            assert_eq!(done.status.code(), Some(2), "{command} {name:?}");
            assert!(said(&done.stderr).contains("1 to 60 letters"), "{}", said(&done.stderr));
        }
    }
}

#[test]
fn the_list_goes_on_where_the_real_one_ends() {
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/orchard", "orchard");
    dir.copy_pair("agent-orchestrator/v2/killed", "killed");
    dir.copy_pair("agent-orchestrator/v1/first", "first");
    dir.write("bad-time.meta.json", br#"{"session_name":"bad-time","created_at":"soon","last_resumed_at":"2025-11-14T08:15:30Z"}"#);
    dir.write("array.meta.json", br#"{"session_name":"array","created_at":"2025-11-14T08:15:30Z","last_resumed_at":"2025-11-14T08:15:30Z"}"#);
    dir.write("array.jsonl", b"[1]\n");
    dir.write("torn.meta.json", b"{\"session_name\"");
    dir.write("lone.jsonl", b"{}\n");
    dir.write("orchard.log", b"x");
    dir.write("stray.meta.json.tmp", b"{}");
    #[cfg(unix)]
    {
        let name: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff.meta.json");
        std::fs::write(dir.root().join(name), "{}").expect("a file");
    }
    let done = ask(dir.root(), &["list"]);
    assert_eq!(done.status.code(), Some(0));
    let (list, asides) = (said(&done.stdout), said(&done.stderr));
    let rows: Vec<Vec<&str>> =
        list.lines().map(|row| row.split_whitespace().take(2).collect()).collect();
    let names = ["array", "bad-time", "first", "killed", "orchard", "torn"];
    let status = ["running", "running", "running", "running", "finished", "running"];
    assert_eq!(rows[0], ["name", "status"]);
    for (row, expected) in rows[1..].iter().zip(names.iter().zip(status)) {
        assert_eq!(*row, [*expected.0, expected.1], "{list}");
    }
    assert_eq!(rows.len(), names.len() + 1, "{list}");
    let orchard = list.lines().nth(5).expect("a row");
    assert!(orchard.contains("  2      0.0053  0f4c1d2e-"), "{orchard}");
    for told in [
        "array: the last line is an array, not an object",
        "bad-time: `created_at` is not a time: \"soon\"; ao-list-sessions itself ends here",
        "torn: torn.meta.json: the file is cut off",
        "lone.jsonl has no lone.meta.json; ao-new would append to it",
        #[cfg(unix)]
        "bad\u{fffd}.meta.json is left out: no session has a name that is not UTF-8",
    ] {
        assert!(asides.contains(told), "{told}\n{asides}");
    }
    let done = ask(dir.root(), &["list", "--json"]);
    let rows: Vec<Value> =
        said(&done.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(rows.len(), names.len());
    assert_eq!((&rows[4]["turns"], &rows[4]["total_cost_usd"]), (&2.into(), &0.0053375.into()));
    assert_eq!(rows[1]["faults"].as_array().expect("faults").len(), 1);
}

#[test]
fn why_names_the_rules_of_all_releases() {
    let dir = Dir::new();
    dir.write("s.meta.json", b"{}");
    dir.write(
        "s.jsonl",
        b"{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"result\":null}\n",
    );
    let done = said(&ask(dir.root(), &["status", "--why", "s"]).stdout);
    let lines: Vec<&str> = done.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "running",
            "  because the subtype of the last line is \"error_max_turns\", not `success`",
            "  by the shell scripts (to 2025-11-13): finished, its type is `result`",
        ]
    );
    assert!(lines.last().expect("a line").contains("agents: "));
    let json: Value =
        serde_json::from_slice(&ask(dir.root(), &["status", "--json", "s"]).stdout).expect("JSON");
    assert_eq!(
        (&json["status"], &json["older"][0]["status"]),
        (&"running".into(), &"finished".into())
    );
}

#[test]
fn a_result_that_is_no_text_is_printed_as_json() {
    let dir = Dir::new();
    dir.write("s.meta.json", b"{}");
    dir.write("s.jsonl", br#"{"subtype":"success","result":"half \ud83d"}"#);
    let done = ask(dir.root(), &["result", "s"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done.stderr).contains("half of a surrogate pair"));
    let done = ask(dir.root(), &["result", "--json", "s"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(said(&done.stdout).ends_with(",\"result\":\"half \\ud83d\"}\n"));
    dir.write("s.jsonl", br#"{"subtype":"success","result":{"a": [1.50]}}"#);
    assert_eq!(said(&ask(dir.root(), &["result", "s"]).stdout), "{\"a\": [1.50]}\n");
}

/// A log of 2 GB that takes no room: nothing but its end was ever written.
#[test]
fn of_a_log_of_2_gb_only_the_end_is_read() {
    let traced = Command::new("strace").arg("-V").output();
    if traced.is_err() {
        eprintln!("SKIP of_a_log_of_2_gb_only_the_end_is_read: no strace");
        return;
    }
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/orchard", "big");
    let end = common::read(&dir.path("big.jsonl"));
    let file = std::fs::File::options().write(true).open(dir.path("big.jsonl")).expect("a file");
    file.set_len(2 << 30).expect("a file that takes no room");
    drop(file);
    let mut file =
        std::fs::File::options().append(true).open(dir.path("big.jsonl")).expect("a file");
    std::io::Write::write_all(&mut file, &[b"\n", end.as_slice()].concat()).expect("room");
    let calls = dir.path("calls");
    let done = Command::new("strace")
        .args(["-f", "-e", "trace=read,pread64,readv,mmap", "-o"])
        .arg(&calls)
        .arg(env!("CARGO_BIN_EXE_copyist"))
        .args(["status", "big", "--sessions-dir"])
        .arg(dir.root())
        .output()
        .expect("strace runs");
    assert_eq!(said(&done.stdout), "finished\n", "{}", said(&done.stderr));
    let calls = said(&common::read(&calls));
    let reads: Vec<u64> = calls
        .lines()
        .filter(|call| call.contains("read"))
        .filter_map(|call| call.rsplit_once("= ")?.1.parse().ok())
        .collect();
    println!("{} reads, {} bytes", reads.len(), reads.iter().sum::<u64>());
    assert!(reads.len() < 200, "{calls}");
    assert!(reads.iter().sum::<u64>() < 1 << 20, "{calls}");
}

#[test]
fn what_the_real_scripts_wrote_comes_back_byte_for_byte() {
    let Some(corpus) = corpus("what_the_real_scripts_wrote_comes_back_byte_for_byte") else {
        return;
    };
    let folder = corpus.join("agent-orchestrator");
    let (mut real, mut others) = (0, 0);
    for set in ["real_run", "bash_era", "edge_cases"] {
        for path in sessions(&folder.join(set)) {
            let what = path.display().to_string();
            let source = session(&path);
            let (format, version) = recognise(&source).unwrap_or_else(|| panic!("{what}"));
            let own = format.at(version);
            let (copy, _) = converted(&source, format, version, &own, &keep());
            assert_same(&copy.expect("a copy"), &source, &what);
            let stream = to_canonical(&source, &keep());
            if set == "edge_cases" {
                assert_same(&returned(&source, &keep()), &source, &what);
                others += 1;
            } else {
                assert_same(&from_canonical(&stream, &own, &keep()), &source, &what);
                real += stream.split(|b| *b == b'\n').count() - 1;
            }
        }
    }
    println!("{real} records that real scripts wrote; {others} other pairs");
    assert_eq!(others, 47);
    assert!(real > 70);
}

/// The context in the form in which formats are compared, without system messages.
fn sent(source: &[u8]) -> Vec<Value> {
    let request = Request { form: Form::Canonical, ..Request::default() };
    let (sent, _) = common::context(source, &request, &keep());
    let all = common::as_javascript(&sent.expect("a context"))["messages"].take();
    let all = all.as_array().expect("messages").clone();
    all.into_iter().filter(|message| message["role"] != "system").collect()
}

/// Sessions whose context is another one in a format, and why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    ("killed", "connectonion", "no place for an image in a tool's answer"),
    ("crashed", "connectonion@2", "a text before a call without an answer is taken for the answer"),
];

#[test]
fn a_model_gets_the_same_after_a_conversion_from_and_to_any_format() {
    let mut inputs = own_inputs();
    if let Some(corpus) = corpus("conversions of what the real scripts wrote") {
        inputs.extend(sessions(&corpus.join("agent-orchestrator/real_run")));
    }
    let targets = [
        "agent-orchestrator@1",
        "agent-orchestrator@2",
        "pi@3",
        "connectonion@2",
        "connectonion@3",
        "canonical",
    ];
    let (mut same, mut named) = (0, 0);
    for input in inputs {
        let source = session(&input);
        let (format, version) = recognise(&source).expect("a known format");
        for to in targets {
            if format.name != FORMAT.name && !to.starts_with(FORMAT.name) {
                continue;
            }
            let what = format!("{} to {to}", input.display());
            let (done, found) = converted(&source, format, version, to, &keep());
            let out = done.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(found.worst() < Some(Severity::Error), "{what}");
            let is_named = OTHERWISE.iter().any(|(stem, other, _)| {
                name(&input).starts_with(stem)
                    && to.starts_with(other)
                    && format.name == FORMAT.name
            });
            if is_named {
                named += 1;
                continue;
            }
            assert_eq!(without_strange(sent(&out)), without_strange(sent(&source)), "{what}");
            if to != "canonical" && format.name == FORMAT.name {
                let (other, number) = recognise(&out).expect("a known format");
                let (back, _) = converted(&out, other, number, "agent-orchestrator", &keep());
                assert_eq!(sent(&back.expect("a session")), sent(&source), "{what} and back");
            }
            same += 1;
        }
    }
    println!("{same} contexts equal, {named} otherwise by name");
    assert!(same > 60);
}

#[test]
fn the_judge_agrees_on_pairs_that_are_written() {
    judge_agrees("the_judge_agrees_on_pairs_that_are_written", 4);
}

#[test]
#[ignore = "a minute: the judge sees every session"]
fn pairs_in_full() {
    judge_agrees("pairs_in_full", 1);
}

/// Writes every session whose number is a multiple of `step` as pairs of both versions, and compares
/// their status with the judge's.
fn judge_agrees(test: &str, step: usize) {
    let judge =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/agent-orchestrator/status.py");
    let python = Command::new("python3").arg("--version").output();
    if !judge.is_file() || python.is_err() {
        eprintln!("SKIP {test}: no python3, or no judge at {}", judge.display());
        return;
    }
    let dir = Dir::in_memory();
    let mut inputs = own_inputs();
    if let Some(corpus) = corpus(test) {
        inputs.extend(
            files(&corpus.join("pi/generated")).into_iter().filter(|p| name(p).ends_with(".jsonl")),
        );
        inputs.extend(sessions(&corpus.join("agent-orchestrator/real_run")));
    }
    // The scripts of one release meet the files of the other.
    let versions = ["agent-orchestrator@1", "agent-orchestrator@2"];
    let written =
        inputs.iter().step_by(step).flat_map(|input| versions.map(|version| (input, version)));
    for (i, (input, version)) in written.enumerate() {
        // Names meet, so each gets a folder of its own.
        let to = dir.path(&format!("{i}"));
        let to = to.to_str().expect("text");
        let input = input.to_str().expect("text");
        let (exit, said) = dir.said(&["convert", "-t", version, "--out-dir", to, input]);
        assert!(exit <= 1, "{input}: {said}");
        for file in files(Path::new(to)).into_iter().filter(|file| name(file).ends_with(META)) {
            let session = name(&file).replace(META, "");
            let theirs =
                Command::new("python3").arg(&judge).args([to, &session]).output().expect("runs");
            let ours = said_word(&ask(Path::new(to), &["status", &session]));
            assert_eq!(ours, said_word(&theirs), "{input} as {version}");
        }
    }
    println!("{} sessions in both versions, judged alike", inputs.len() / step);
    assert!(inputs.len() > 10);
}

/// The word of an answer: the last of a line that may begin with a name.
fn said_word(done: &Output) -> String {
    let line = said(&done.stdout);
    let line = line.lines().next().unwrap_or_default().to_owned();
    let words = ["not_existent", "running", "finished"];
    let word = line.split_whitespace().find(|word| words.contains(word));
    word.unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn a_session_from_elsewhere_ends_with_its_result_and_cannot_be_resumed() {
    let dir = Dir::new();
    let session = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-03T08:20:55.301Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-03T08:21:00.000Z","message":{"role":"user","content":"Grüße 🍎"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-03T08:21:02.500Z","message":{"role":"assistant","content":[{"type":"text","text":"hello"},{"type":"toolCall","id":"t","name":"ls","arguments":{"a":"ü"}}],"model":"m","usage":{"input":3,"output":4,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.25}},"stopReason":"toolUse"}}"#,
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-03T08:21:03.000Z","message":{"role":"toolResult","toolCallId":"t","toolName":"ls","content":[{"type":"text","text":"x"}],"isError":false}}"#,
        r#"{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-03T08:21:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"model":"m","stopReason":"stop"}}"#,
    ];
    let file = |lines: usize| session[..lines].join("\n") + "\n";
    dir.write("my session.v2.jsonl", file(5).as_bytes());
    let (exit, said) = dir.said(&[
        "convert",
        "-t",
        "agent-orchestrator",
        "--no-origin",
        "--out-dir",
        "out",
        "my session.v2.jsonl",
    ]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("CY0611") && said.contains("session cannot be resumed"), "{said}");
    let log = common::read(&dir.path("out/my_session_v2.jsonl"));
    let expected = [
        r#"{"type": "user_message", "content": "Gr\u00fc\u00dfe \ud83c\udf4e", "timestamp": "2026-01-03T08:21:00.000Z"}"#,
        r#"{"content": [{"text": "hello"}], "model": "m", "parent_tool_use_id": null, "stop_reason": "toolUse"}"#,
        r#"{"content": [{"id": "t", "name": "ls", "input": {"a": "\u00fc"}}], "model": "m", "parent_tool_use_id": null, "usage": {"input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 4}, "stop_reason": "toolUse"}"#,
        r#"{"content": [{"tool_use_id": "t", "content": [{"type": "text", "text": "x"}], "is_error": false}], "parent_tool_use_id": null}"#,
        r#"{"content": [{"text": "done"}], "model": "m", "parent_tool_use_id": null, "stop_reason": "stop"}"#,
        r#"{"subtype": "success", "duration_ms": 4000, "is_error": false, "num_turns": 2, "total_cost_usd": 0.25, "usage": {"input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 4}, "result": "done"}"#,
    ];
    assert_same(&log, (expected.join("\n") + "\n").as_bytes(), "the log");
    let meta = r#"{
  "session_name": "my_session_v2",
  "agent": null,
  "project_dir": "/w",
  "agents_dir": "/w/.agent-orchestrator/agents",
  "created_at": "2026-01-03T08:20:55.301000Z",
  "last_resumed_at": "2026-01-03T08:20:55.301000Z",
  "schema_version": "1.0"
}
"#;
    assert_same(
        &common::read(&dir.path("out/my_session_v2.meta.json")),
        meta.as_bytes(),
        "the metadata",
    );
    for lines in [2, 3, 4] {
        dir.write("cut.jsonl", file(lines).as_bytes());
        let (exit, said) = dir.said(&[
            "convert",
            "-t",
            "agent-orchestrator",
            "--force",
            "--out-dir",
            "out",
            "cut.jsonl",
        ]);
        assert_eq!(exit, 0, "{said}");
        let log = String::from_utf8(common::read(&dir.path("out/cut.jsonl"))).expect("UTF-8");
        let last = log.lines().last().expect("a line");
        assert!(
            last.contains(r#""is_error": true"#) && last.contains(r#""result": null"#),
            "{last}"
        );
        assert_eq!(said_word(&ask(&dir.path("out"), &["status", "cut"])), "running");
    }
}

#[test]
fn a_pair_goes_to_a_folder_and_its_name_follows_the_rules() {
    let dir = Dir::new();
    let long = format!("{}é", "n".repeat(70));
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-03T08:20:55.301Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi"}}"#,
    ];
    for folder in ["a", "b"] {
        dir.write(&format!("{folder}/{long}.jsonl"), (lines.join("\n") + "\n").as_bytes());
    }
    let paths = [format!("a/{long}.jsonl"), format!("b/{long}.jsonl")];
    let (exit, said) = dir.said(&["convert", "-t", "ao", "-o", "x.jsonl", &paths[0]]);
    assert!(exit == 2 && said.contains("CY0706"), "{said}");
    assert!(!dir.path("x.jsonl").exists());
    let (exit, said) = dir.said(&["convert", "-t", "ao", "--out-dir", "out", &paths[0], &paths[1]]);
    assert_eq!(exit, 0, "{said}");
    let names = dir.names().into_iter().filter_map(|n| Some(n.strip_prefix("out/")?.to_owned()));
    let names: Vec<_> = names.collect();
    let stem = "n".repeat(60);
    let second = format!("{}-2", "n".repeat(58));
    let expected = [".jsonl", META].map(|ending| format!("{second}{ending}"));
    let expected =
        expected.into_iter().chain([".jsonl", META].map(|ending| format!("{stem}{ending}")));
    assert_eq!(names, expected.collect::<Vec<_>>());
    for stem in [stem, second] {
        let meta: Value =
            serde_json::from_slice(&common::read(&dir.path(&format!("out/{stem}{META}"))))
                .expect("JSON");
        assert_eq!(meta["session_name"], stem);
    }
}

#[test]
fn one_session_from_either_file_or_from_one_alone() {
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/orchard", "pair");
    for path in ["pair.jsonl", "pair.meta.json"] {
        let (exit, said) = dir.said(&["inspect", path]);
        assert_eq!(exit, 0, "{said}");
        assert!(said.contains("name      orchard") && said.contains("message 13"), "{said}");
    }
    let (_, said) = dir.said(&["detect", "."]);
    assert!(said.contains("1 detected (with 1 more file)"), "{said}");
    dir.copy_pair("agent-orchestrator/v1/first", "meta");
    let (exit, said) =
        dir.said(&["convert", "-vt", "agent-orchestrator@1", "--out-dir", "out", "meta.meta.json"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(
        common::read(&dir.path("out/meta.meta.json")),
        common::read(&dir.path("meta.meta.json"))
    );
    // What is told is what was written.
    assert!(!dir.path("out/meta.jsonl").exists());
    assert!(said.contains("out/meta.meta.json") && !said.contains("out/meta.jsonl"), "{said}");
    // What `claude -p --output-format stream-json` prints.
    std::fs::rename(dir.path("pair.meta.json"), dir.path("else.json")).expect("a file of ours");
    let printed = session(&testdata().join("agent-orchestrator/v1/shell/in/shell.jsonl"));
    let printed = common::files_of(&printed)[0].1.clone();
    dir.write("printed.jsonl", &printed);
    let (exit, said) =
        dir.said(&["convert", "-t", "canonical", "-o", "printed.copyist.jsonl", "printed.jsonl"]);
    assert_eq!(exit, 0, "{said}");
    let stream =
        String::from_utf8(common::read(&dir.path("printed.copyist.jsonl"))).expect("UTF-8");
    assert!(stream.contains(r#""source":"agent-orchestrator@1","id":"5a0d9c1e-1111-4222-8333-444455556666","cwd":"/home/ada/orchard""#), "{stream}");
    let (exit, said) = dir.said(&[
        "convert",
        "-t",
        "agent-orchestrator@1",
        "-o",
        "back.jsonl",
        "printed.copyist.jsonl",
    ]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(common::read(&dir.path("back.jsonl")), printed);
}

#[test]
fn inspect_names_what_keeps_a_session_from_being_resumed() {
    let codes = |case: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let source = session(&testdata().join("agent-orchestrator").join(case));
        let mut all = common::files_of(&source);
        all[0].1 = change(std::mem::take(&mut all[0].1));
        let (done, found) = converted(&common::several(all), &FORMAT, 2, "canonical", &keep());
        done.expect("a session");
        found.counts.into_keys().collect::<Vec<_>>()
    };
    let same = |log: Vec<u8>| log;
    let blank = |log: Vec<u8>| [log.as_slice(), b"\n  \n"].concat();
    let unanswered = |log: Vec<u8>| {
        let text = String::from_utf8(log).expect("UTF-8");
        let lines: Vec<&str> = text.lines().take(5).collect();
        (lines.join("\n") + "\n").into_bytes()
    };
    assert_eq!(codes("v2/orchard/in/orchard.jsonl", &same), []);
    assert_eq!(codes("v2/orchard/in/orchard.jsonl", &blank), [Code::HiddenResult]);
    assert_eq!(codes("v2/orchard/in/orchard.jsonl", &unanswered), [Code::OpenToolCall]);
    assert_eq!(codes("v2/killed/in/killed.jsonl", &same), [Code::NoSessionId, Code::OpenToolCall]);
    assert_eq!(codes("v2/spellings/in/spellings.jsonl", &same), [Code::NoMetadata]);
    assert_eq!(codes("v1/shell/in/shell.jsonl", &same), []);
}

#[test]
fn cut_anywhere_a_pair_is_kept_as_it_is() {
    for case in
        ["v2/orchard/in/orchard.jsonl", "v2/killed/in/killed.jsonl", "v1/shell/in/shell.jsonl"]
    {
        let source = session(&testdata().join("agent-orchestrator").join(case));
        for (cut, torn) in common::cuts(&source).step_by(7) {
            let Some((format, version)) = recognise(&torn) else { continue };
            let (done, found) = converted(&torn, format, version, "canonical", &keep());
            done.unwrap_or_else(|error| panic!("{case} cut at {cut}: {error}"));
            let back = returned(&torn, &keep());
            assert_same(&back, &torn, &format!("{case} cut at {cut}, {:?}", found.counts));
        }
    }
}

#[test]
fn a_line_that_is_no_text_shows_nothing_of_the_session() {
    let dir = Dir::new();
    let init =
        b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"a\xff\",\"cwd\":\"/w\"}\n";
    let result = br#"{"type":"result","subtype":"success","result":"x","session_id":"a"}"#;
    let log = [&init[..], result, b"\n"].concat();
    dir.write("a.jsonl", &log);
    let (code, said) = dir.exit(&["convert", "-t", "canonical", "-o", "s.jsonl", "a.jsonl"]);
    assert!(code == 1 && said.contains("CY0101"), "{said}");
    assert!(String::from_utf8(read(&dir.path("s.jsonl"))).is_ok());
    let (code, said) =
        dir.exit(&["convert", "-t", "agent-orchestrator", "-o", "b.jsonl", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(read(&dir.path("b.jsonl")), log);
}

/// The metadata of the shell's scripts have no place for it, and an empty log has none either.
#[test]
fn an_identifier_that_no_line_contains_is_reported_as_lost() {
    let meta = r#"{"session_name":"quiet","agent":null,"project_dir":"/w","agents_dir":"/w/a","created_at":"2025-11-12T15:54:52.399854Z","last_resumed_at":"2025-11-12T15:54:52.399854Z","schema_version":"1.0","session_id":"c68eb198-b150-4ecd-a249-501f82bb1649"}"#;
    let line = r#"{"type":"user_message","content":"q","timestamp":"2025-11-12T15:54:53.000000Z"}"#;
    let result =
        r#"{"type":"result","session_id":"c68eb198-b150-4ecd-a249-501f82bb1649","result":"a"}"#;
    for (log, lost) in [(String::new(), true), (format!("{line}\n{result}\n"), false)] {
        let dir = Dir::new();
        dir.write("quiet.meta.json", meta.as_bytes());
        dir.write("quiet.jsonl", log.as_bytes());
        let old = ["convert", "-t", "agent-orchestrator@1", "--out-dir"];
        let (_, told) = dir.exit(&[&old[..], &["plain", "quiet.jsonl", "--no-origin"]].concat());
        assert_eq!(told.contains("session.id"), lost, "{told}");
        assert_eq!(dir.exit(&[&old[..], &["old", "quiet.jsonl"]].concat()).0, 0);
        let back = ["convert", "-f", "agent-orchestrator@1", "-t", "agent-orchestrator@2"];
        let (code, told) =
            dir.exit(&[&back[..], &["--out-dir", "back", "old/quiet.jsonl"]].concat());
        let meta = std::fs::read_to_string(dir.path("back/quiet.meta.json")).expect("metadata");
        assert!(code == 0 && meta.contains("c68eb198-b150"), "{told}{meta}");
    }
}

/// They are listed by the names of their files.
#[test]
fn metadata_without_a_proper_name_come_home_so() {
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/orchard", "orchard");
    let meta = String::from_utf8(read(&dir.path("orchard.meta.json"))).expect("UTF-8");
    let named = "  \"session_name\": \"orchard\",\n";
    assert!(meta.contains(named), "{meta}");
    let others = ["", "  \"session_name\": null,\n", "  \"session_name\": \"no name\",\n"];
    for instead in others {
        dir.write("orchard.meta.json", meta.replace(named, instead).as_bytes());
        let source = session(&dir.path("orchard.jsonl"));
        for to in ["canonical", "pi@3", "connectonion@2", "agent-orchestrator@1", "codelia@1"] {
            let (there, _) = converted(&source, &FORMAT, 2, to, &keep());
            let there = there.expect("a session");
            let (format, version) = recognise(&there).expect("a known format");
            let (back, told) = converted(&there, format, version, "agent-orchestrator@2", &keep());
            let back = back.expect("a session");
            assert_same(&back, &source, &format!("{to}, {instead:?}, {:?}", told.counts));
        }
    }
}

#[test]
fn what_is_written_for_the_shell_s_scripts_is_recognised_as_theirs() {
    let dir = Dir::new();
    dir.copy_pair("agent-orchestrator/v2/orchard", "orchard");
    let log = String::from_utf8(read(&dir.path("orchard.jsonl"))).expect("UTF-8");
    // The lines that alone tell the version are those of the start and of the end.
    let lines = log.lines().filter(|line| !line.starts_with("{\"subtype\""));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(lines.len() < log.len() && !lines.is_empty(), "{log}");
    dir.write("orchard.jsonl", lines.as_bytes());
    let source = session(&dir.path("orchard.jsonl"));
    let (there, _) = converted(&source, &FORMAT, 2, "agent-orchestrator@1", &keep());
    let there = there.expect("a session");
    let (format, version) = recognise(&there).expect("a known format");
    assert_eq!(format.at(version), "agent-orchestrator@1");
    let (back, told) = converted(&there, format, version, "agent-orchestrator@2", &keep());
    assert_same(&back.expect("a session"), &source, &format!("{:?}", told.counts));
}
