//! Changes that other programs and users make to a converted session.

use crate::common::{self, Dir, files, own, read, testdata};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// This session of pi's, gone to another format below the folder `out`.
fn away(source: &str, to: &str) -> Dir {
    let dir = Dir::new();
    fs::write(dir.path("s.jsonl"), source).expect("a file");
    let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "out", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    dir
}

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A session of pi's in which a tool answered this.
fn pi(answer: &Value) -> String {
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let said = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
            "usage": usage, "stopReason": stop})
    };
    let asked = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let messages = [
        asked("Look at the quay."),
        said(
            json!([{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "q.png"}}]),
            "toolUse",
        ),
        json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": answer,
            "isError": false}),
        said(json!([{"type": "text", "text": "Nine boats."}]), "stop"),
        asked("And the mole?"),
        said(json!([{"type": "text", "text": "Empty."}]), "stop"),
    ];
    let mut text = json!({"type": "session", "version": 3,
        "id": "01a11c43-6488-7c29-a723-a46fb88d8f7a", "timestamp": "2026-10-08T16:05:41.128Z",
        "cwd": "/srv/quay"})
    .to_string();
    text.push('\n');
    let mut parent = Value::Null;
    for (n, mut message) in messages.into_iter().enumerate() {
        let id = format!("1000000{n}");
        message["timestamp"] = json!(1_791_475_574_000_u64 + 1000 * n as u64);
        let time = format!("2026-10-08T16:06:1{n}.000Z");
        let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": time,
            "message": message});
        text.push_str(&entry.to_string());
        text.push('\n');
        parent = json!(id);
    }
    text
}

/// The only file below a folder with this in its path.
fn file(dir: &Dir, folder: &str, part: &str) -> PathBuf {
    let found = files(&dir.path(folder));
    let found = found.into_iter().find(|file| file.display().to_string().contains(part));
    found.expect("such a file")
}

const RUN: &str = "0a0b0c0d-0000-4000-8000-00000000000a";

/// One more run as Codelia writes it; with its request, if that is wanted.
fn run(home: &Path, session: &str, history: Option<&[Value]>) {
    let line = |kind: &str, rest: Value| {
        let mut line = json!({"type": kind, "run_id": RUN, "ts": "2027-03-01T00:00:01.000Z"});
        let rest = rest.as_object().cloned().unwrap_or_default();
        line.as_object_mut().expect("an object").extend(rest);
        line.to_string() + "\n"
    };
    let header = json!({"type": "header", "schema_version": 1, "run_id": RUN,
        "session_id": session, "started_at": "2027-03-01T00:00:00.000Z"});
    let mut text = header.to_string() + "\n";
    let input = json!({"type": "text", "text": "Any more?"});
    text += &line("run.start", json!({"session_id": session, "input": input}));
    if let Some(history) = history {
        let mut messages = vec![json!({"role": "system", "content": "You are Codelia."})];
        messages.extend_from_slice(history);
        messages.push(json!({"role": "user", "content": "Any more?"}));
        let input = json!({"messages": messages, "tools": null, "tool_choice": null});
        text += &line("llm.request", json!({"seq": 9, "input": input}));
    }
    let usage = json!({"model": "m-9", "input_tokens": 70, "output_tokens": 3, "total_tokens": 73});
    let said = json!({"messages": [{"role": "assistant", "content": "No more."}], "usage": usage,
        "stop_reason": "end_turn"});
    text += &line("llm.response", json!({"seq": 9, "output": said}));
    text += &line("run.end", json!({"outcome": "completed", "final": "No more."}));
    let folder = home.join("sessions/2027/03/01");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{RUN}.jsonl")), text).expect("a file");
}

/// Goes on in Codelia's older store; the state is saved, if that is wanted.
fn goes_on(dir: &Dir, request: bool, saved: bool) {
    let file = file(dir, "out", "/state/");
    let mut state: Value = serde_json::from_slice(&read(&file)).expect("JSON");
    let history = state["messages"].as_array().expect("messages").clone();
    let session = state["session_id"].as_str().expect("an identifier").to_owned();
    run(&dir.path("out/s"), &session, request.then_some(history.as_slice()));
    if saved {
        let list = state["messages"].as_array_mut().expect("messages");
        list.push(json!({"role": "user", "content": "Any more?"}));
        list.push(json!({"role": "assistant", "content": "No more."}));
        state["run_id"] = json!(RUN);
        fs::write(&file, state.to_string() + "\n").expect("a file");
    }
}

/// What was said of the only session below a folder.
fn log(dir: &Dir, folder: &str) -> PathBuf {
    let mut all = files(&dir.path(folder)).into_iter();
    all.find(|file| !file.display().to_string().ends_with(".meta.json")).expect("a file")
}

/// What a model is told of the only session below a folder.
fn context(dir: &Dir, folder: &str) -> String {
    let log = log(dir, folder).display().to_string();
    let done = dir.run(&["context", "--as", "canonical", &log]);
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(done.status.success(), "{text}");
    text
}

/// What a model is told in Codelia.
fn told_in_codelia(dir: &Dir) -> String {
    let plain = ["convert", "-t", "pi@3", "--ignore-origin", "--force", "--out-dir", "plain"];
    let (code, said) = dir.exit(&[&plain[..], &["out/s"]].concat());
    assert_eq!(code, 0, "{said}");
    context(dir, "plain")
}

/// A session of our own, gone to another format below the folder `away`.
fn gone(case: &str, to: &str) -> Dir {
    let dir = Dir::new();
    dir.copy(case, "in");
    let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "in"]);
    assert_eq!(code, 0, "{said}");
    dir
}

/// What was said of the session, changed.
fn change(dir: &Dir, change: impl FnOnce(String) -> String) {
    let main = log(dir, "away");
    let old = fs::read_to_string(&main).expect("UTF-8");
    let new = change(old.clone());
    assert_ne!(old, new);
    fs::write(main, new).expect("a file");
}

/// The same at home, all files as one text, and what was said.
fn home(dir: &Dir, to: &str, input: &str) -> (String, String) {
    let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "home", input]);
    assert_eq!(code, 0, "{to}: {said}");
    assert!(!said.contains("CY0621"), "{to}: {said}");
    let all = files(&dir.path("home"));
    let all = all.iter().map(|file| String::from_utf8_lossy(&read(file)).into_owned());
    (all.collect::<Vec<_>>().concat(), said)
}

#[test]
fn what_a_tool_answered_in_parts_is_one_answer_in_codelia() {
    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let text = |text: &str| json!({"type": "text", "text": text});
    for answer in [json!([text("The quay: "), image]), json!([text("The quay"), text(" is full")])]
    {
        for request in [true, false] {
            let source = pi(&answer);
            let dir = away(&source, "codelia@1");
            goes_on(&dir, request, true);
            let (code, said) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "back", "out/s"]);
            assert_eq!(code, 0, "{said}");
            let back = String::from_utf8(read(&file(&dir, "back", ".jsonl"))).expect("UTF-8");
            assert_eq!(back.matches("Any more?").count(), 1, "{back}");
            assert_eq!(back.matches("Nine boats.").count(), 1, "{back}");
            let lines: Vec<_> = source.lines().collect();
            assert!(lines[2..].iter().all(|line| back.contains(*line)), "{back}");
            // The home itself is as it was.
            let (code, said) =
                dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "again", "out/s"]);
            assert_eq!(code, 0, "{said}");
            let run = file(&dir, "again", RUN);
            assert_eq!(read(&run), read(&file(&dir, "out", RUN)));
            let state = file(&dir, "again", "/state/");
            assert_eq!(read(&state), read(&file(&dir, "out", "/state/")));
        }
    }
}

#[test]
fn a_run_that_the_state_does_not_hold_yet_comes_home() {
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    for request in [true, false] {
        let dir = away(&source, "codelia@1");
        goes_on(&dir, request, false);
        let (back, said) = home(&dir, "pi@3", "out/s");
        assert!(said.contains("the session continues at an entry before the newest"), "{said}");
        assert!(back.contains("Any more?") && back.contains("No more."), "{back}");
        // Codelia would go on from its state, and so does pi.
        assert_eq!(context(&dir, "home"), told_in_codelia(&dir));
        assert!(!context(&dir, "home").contains("Any more?"));
        fs::remove_file(file(&dir, "out", "/state/")).expect("a file");
        fs::remove_dir_all(dir.path("home")).expect("a folder");
        home(&dir, "pi@3", "out/s");
        assert!(context(&dir, "home").contains("No more."));
    }
    // Where home has no branches, it is what was said next.
    for (case, to) in HOMES.into_iter().skip(2) {
        for request in [true, false] {
            let dir = whole_in_codelia(case);
            goes_on(&dir, request, false);
            let (back, said) = home(&dir, to, "out/s");
            assert!(said.contains("does not contain its last run"), "{to}: {said}");
            assert!(back.contains("Any more?") && back.contains("No more."), "{to}: {back}");
            assert!(context(&dir, "home").contains("No more."), "{to}");
        }
    }
}

/// A session of our own with all its files, gone to Codelia as `out/s`.
fn whole_in_codelia(case: &str) -> Dir {
    let dir = Dir::new();
    for file in files(&testdata().join(case).join("in")) {
        dir.write(&format!("s/{}", common::name(&file)), &read(&file));
    }
    let there = ["convert", "-t", "codelia@1", "--whole", "--out-dir", "away", "s"];
    let (code, said) = dir.exit(&there);
    assert_eq!(code, 0, "{said}");
    let root = file(&dir, "away", "/state/").display().to_string();
    let root = root.split("/sessions/").next().expect("a folder").to_owned();
    fs::create_dir_all(dir.path("out")).expect("a folder");
    fs::rename(root, dir.path("out/s")).expect("a folder");
    dir
}

/// JSON lines with a space behind each colon and comma.
fn spaced(text: &str) -> String {
    let (mut out, mut inside, mut before) = (String::new(), false, ' ');
    for c in text.chars() {
        out.push(c);
        inside ^= c == '"' && before != '\\';
        if !inside && matches!(c, ':' | ',') {
            out.push(' ');
        }
        before = c;
    }
    out
}

#[test]
fn who_spaces_a_run_out_changes_nothing() {
    let source = pi(&json!([{"type": "text", "text": "The \"quay\""}]));
    let dir = away(&source, "codelia@1");
    goes_on(&dir, true, true);
    for run in files(&dir.path("out")).iter().filter(|f| !f.display().to_string().contains("state"))
    {
        let text = String::from_utf8(read(run)).expect("UTF-8");
        fs::write(run, spaced(&text)).expect("a file");
    }
    let (back, _) = home(&dir, "pi@3", "out/s");
    assert_eq!(back.matches("Nine boats.").count(), 1, "{back}");
    assert_eq!(context(&dir, "home"), told_in_codelia(&dir));
}

/// An edit of pi's context behind the file's last entry, of the last message of this role.
fn context_edit(text: &str, role: &str, replacement: &Value) -> String {
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let entries: Vec<_> = entries.collect();
    let above = |entry: &&Value| entries.iter().find(|other| other["id"] == entry["parentId"]);
    let mut path = std::iter::successors(entries.last(), above);
    let target = path.find(|entry| entry["message"]["role"] == role);
    let edit = json!({"type": "context_edit", "id": "ed170001", "parentId": entries.last().expect("an entry")["id"],
        "timestamp": "2027-03-01T00:00:00.000Z", "targetId": target.expect("a message")["id"],
        "replacement": replacement});
    format!("{text}{edit}\n")
}

const HOMES: [(&str, &str); 5] = [
    ("codelia/v1/state", "codelia@1"),
    ("codelia/v2/log", "codelia@2"),
    ("connectonion/v2/harbour", "connectonion@2"),
    ("connectonion/v3/tides", "connectonion@3"),
    ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
];

#[test]
fn what_pi_sends_in_the_place_of_a_message_is_written_in_the_source() {
    for (case, to) in HOMES {
        for role in ["user", "assistant"] {
            let dir = gone(case, "pi@3");
            change(&dir, |text| context_edit(&text, role, &json!({"content": "(in its place)"})));
            let (text, said) = home(&dir, to, "away");
            assert!(text.contains("(in its place)"), "{to} {role}: {text}");
            assert!(said.contains("was edited"), "{to} {role}: {said}");
            assert!(context(&dir, "home").contains("(in its place)"), "{to} {role}");
            let dir = gone(case, "pi@3");
            change(&dir, |text| context_edit(&text, role, &Value::Null));
            let (_, said) = home(&dir, to, "away");
            assert!(said.contains("a message was deleted"), "{to} {role}: {said}");
        }
    }
}

#[test]
fn messages_of_sub_agents_in_the_target_are_beside_the_conversation_or_reported_as_lost() {
    let said = |content: Value, call: Value| {
        json!({"content": content, "model": "m", "parent_tool_use_id": call}).to_string() + "\n"
    };
    let told = |content: Value, call: Value| {
        json!({"content": content, "parent_tool_use_id": call}).to_string() + "\n"
    };
    let call = |id: &str| json!([{"id": id, "name": "Task", "input": {"prompt": "Count."}}]);
    let answer = |id: &str| json!([{"tool_use_id": id, "content": "done", "is_error": false}]);
    let text = |text: &str| json!([{"text": text}]);
    let lines = [
        json!({"type": "user_message", "content": "Any more?", "timestamp": "2027-03-01T00:00:00.000000Z"})
            .to_string()
            + "\n",
        said(call("t1"), Value::Null),
        told(text("Count the boats."), json!("t1")),
        said(call("t2"), json!("t1")),
        told(answer("t2"), json!("t1")),
        said(text("I counted."), json!("t1")),
        told(answer("t1"), Value::Null),
        said(text("No more."), Value::Null),
    ];
    for (case, to) in HOMES.into_iter().take(4).chain([("pi/v3/spellings", "pi@3")]) {
        let dir = gone(case, "agent-orchestrator@2");
        change(&dir, |text| text + &lines.concat());
        let (text, said) = home(&dir, to, "away");
        assert!(text.contains("Any more?") && text.contains("No more."), "{to}: {text}");
        assert!(!context(&dir, "home").contains("I counted."), "{to}");
        let kept = to == "pi@3";
        assert_eq!(text.contains("I counted."), kept, "{to}: {text}");
        let lost = "messages of sub-agents have no place in the source format: 4";
        assert_eq!(said.contains(lost), !kept, "{to}: {said}");
    }
}

#[test]
fn a_text_that_became_a_list_is_edited() {
    let spellings = "pi/v3/spellings";
    let listed = |text: String| {
        text.replace(
            "    content: Nothing to do.\n",
            "    content:\n    - type: text\n      text: Nope.\n",
        )
    };
    let dir = gone(spellings, "connectonion@2");
    change(&dir, listed);
    let (text, _) = home(&dir, "pi@3", "away");
    assert!(text.contains("Nope."), "{text}");
    let dir = gone(spellings, "connectonion@2");
    change(&dir, |text| text.replace("  result: Nothing to do.\n", "  result:\n  - Nothing\n"));
    let (text, said) = home(&dir, "pi@3", "away");
    assert!(
        text.contains("\"text\" : \"Nothing\"") && said.contains("turn was edited: result"),
        "{text}"
    );
}

#[test]
fn the_last_result_of_another_release_of_connectonion_is_edited() {
    let harbour = ("connectonion/v2/harbour", "connectonion@1", "connectonion@2");
    let quay = ("connectonion/v1/quay", "connectonion@2", "connectonion@1");
    for ((case, there, back), old) in [
        (harbour, "result: Then it goes out at 0900. \u{1f600}"),
        (harbour, "result: Notice written."),
        (quay, "result: Logged."),
    ] {
        let dir = gone(case, there);
        change(&dir, |text| text.replace(old, "result: It stays."));
        let (text, _) = home(&dir, back, "away");
        assert!(text.contains("result: It stays."), "{case}: {text}");
        assert!(context(&dir, "home").contains("It stays."), "{case}");
    }
}

#[test]
fn a_question_that_was_deleted_in_a_run_stays_deleted() {
    for (case, back) in
        [("connectonion/v2/harbour", "connectonion@2"), ("connectonion/v1/quay", "connectonion@1")]
    {
        for which in 0..3 {
            let dir = gone(case, "connectonion@3");
            change(&dir, |text| {
                let mut lines: Vec<_> = text.lines().collect();
                let asked =
                    lines.iter().enumerate().filter(|(_, l)| l.contains("\"role\": \"user\""));
                let place = asked.map(|(place, _)| place).nth(which).expect("a question");
                lines.remove(place);
                lines.join("\n") + "\n"
            });
            let (_, said) = home(&dir, back, "away");
            assert!(said.contains("a message was deleted"), "{case} {which}: {said}");
        }
    }
}

#[test]
fn a_session_that_was_not_touched_in_codelia_is_where_it_was() {
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    let label = json!({"type": "label", "id": "20000000", "parentId": "10000005",
        "timestamp": "2026-10-08T16:07:00.000Z", "targetId": "10000005", "label": ""});
    let source = format!("{source}{label}\n");
    let dir = away(&source, "codelia@1");
    let (text, said) = home(&dir, "pi@3", "out/s");
    assert_eq!(text, source, "{said}");
}

/// Writes the messages of Codelia's state anew, wherever it is stored.
fn restate(dir: &Dir, spell: fn(&Value) -> String, change: impl Fn(&mut Vec<Value>)) {
    for path in files(&dir.path("out")) {
        let (name, text) = (path.display().to_string(), read(&path));
        if name.contains("/state/") {
            let mut state: Value = serde_json::from_slice(&text).expect("JSON");
            change(state["messages"].as_array_mut().expect("messages"));
            fs::write(&path, spell(&state) + "\n").expect("a file");
        } else if name.contains("/messages/") {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let mut all = lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
            change(&mut all);
            let lines: Vec<_> = all.iter().map(|message| spell(message) + "\n").collect();
            fs::write(&path, lines.concat()).expect("a file");
        }
    }
}

/// Which lines of a session came home otherwise; what rides along in one is nothing of it.
fn otherwise<'t>(source: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    let lines = source.lines().zip(text.lines()).enumerate();
    let is_same = |(old, new): (&str, &str)| new.starts_with(old.trim_end_matches('}'));
    lines.filter(|(_, pair)| !is_same(*pair)).map(|(n, (_, new))| (n, new)).collect()
}

/// What is done to a state, the line at home that it changes, and words there.
type Restated = (fn(&mut Vec<Value>), usize, &'static str);

const TRIMMED: &str = "[tool output trimmed; ref=c1]";

const RESTATED: &[Restated] = &[
    // What the runtime does with old outputs.
    (
        |messages| {
            messages[2]["content"] = json!(TRIMMED);
            messages[2]["trimmed"] = json!(true);
        },
        3,
        TRIMMED,
    ),
    (|messages| messages[3]["content"] = json!("Ten boats."), 4, "Ten boats."),
    (|messages| messages[5]["content"] = json!("Full."), 6, "Full."),
];

#[test]
fn what_codelia_resumes_from_is_the_conversation() {
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    for (to, (change, line, words)) in
        ["codelia@1", "codelia@2"].into_iter().flat_map(|to| RESTATED.iter().map(move |r| (to, r)))
    {
        let dir = away(&source, to);
        restate(&dir, Value::to_string, change);
        let (text, said) = home(&dir, "pi@3", "out/s");
        let [(place, edited)] = otherwise(&source, &text)[..] else { panic!("{to}: {text}") };
        assert_eq!((place, text.lines().count()), (*line, 7), "{to}: {text}");
        assert!(edited.contains(words), "{to}: {edited}");
        assert_eq!(said.matches("was edited").count(), 1, "{to}: {said}");
    }
}

#[test]
fn what_codelia_resumed_from_is_the_conversation_before() {
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    for (change, line, words) in RESTATED {
        for request in [true, false] {
            let dir = away(&source, "codelia@1");
            restate(&dir, Value::to_string, change);
            goes_on(&dir, request, true);
            let (text, said) = home(&dir, "pi@3", "out/s");
            let [(place, edited)] = otherwise(&source, &text)[..] else { panic!("{text}") };
            assert_eq!((place, text.lines().count()), (*line, 9), "{said}: {text}");
            assert!(edited.contains(words) && text.contains("No more."), "{text}");
        }
    }
}

#[test]
fn a_message_that_codelia_edits_and_goes_on_from_is_edited_in_every_format() {
    for (case, to) in [
        ("connectonion/v2/harbour", "connectonion@2"),
        ("connectonion/v3/tides", "connectonion@3"),
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
    ] {
        for goes in [false, true] {
            let dir = Dir::new();
            dir.copy(case, "in");
            let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "out", "in"]);
            assert_eq!(code, 0, "{said}");
            let stem = fs::read_dir(dir.path("out")).expect("a folder").next().expect("a session");
            fs::rename(stem.expect("an entry").path(), dir.path("out/s")).expect("a folder");
            restate(&dir, Value::to_string, |messages| {
                let mut tools = messages.iter_mut().filter(|message| message["role"] == "tool");
                tools.next().expect("a result")["content"] = json!(TRIMMED);
            });
            if goes {
                goes_on(&dir, true, true);
            }
            let (text, said) = home(&dir, to, "out/s");
            assert!(text.contains(TRIMMED), "{to}: {text}");
            assert!(said.contains("message of role tool was edited"), "{to}: {said}");
            assert_eq!(text.contains("No more."), goes, "{to}: {text}");
        }
    }
}

/// A run that was broken off amid a call, which the runtime leaves out of what it resumes from.
#[test]
fn a_call_that_nobody_answered_goes_when_codelia_drops_it() {
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    let source: String = source.split_inclusive('\n').take(3).collect();
    let source = source.replace(
        "[{\"type\":\"toolCall\"",
        "[{\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"toolCall\"",
    );
    for to in ["codelia@1", "codelia@2"] {
        for goes in [false, true] {
            let dir = away(&source, to);
            restate(&dir, Value::to_string, |messages| {
                for message in messages {
                    drop(message.as_object_mut().expect("an object").remove("tool_calls"));
                }
            });
            if goes && to == "codelia@1" {
                goes_on(&dir, true, true);
            }
            let (text, said) = home(&dir, "pi@3", "out/s");
            let [(2, edited)] = otherwise(&source, &text)[..] else { panic!("{to}: {text}") };
            assert!(edited.contains("I look.") && !edited.contains("toolCall"), "{to}: {edited}");
            assert!(said.contains("message of role assistant was edited"), "{to}: {said}");
        }
    }
}

#[test]
fn a_state_in_another_spelling_is_not_edited() {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            _ => value.clone(),
        }
    }
    fn spaced(value: &Value) -> String {
        let text = serde_json::to_string_pretty(value).expect("JSON");
        text.lines().map(|line| line.trim_start().to_owned() + " ").collect()
    }
    let source = pi(&json!([{"type": "text", "text": "The quay"}]));
    let tides = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    for (source, back) in [(&source, "pi@3"), (&tides, "connectonion@3")] {
        for to in ["codelia@1", "codelia@2"] {
            for spell in [|value: &Value| sorted(value).to_string(), spaced] {
                let dir = away(source, to);
                restate(&dir, spell, |_| {});
                let (text, said) = home(&dir, back, "out/s");
                assert_eq!(&text, source, "{to}: {said}");
                assert!(!said.contains("was edited"), "{to}: {said}");
            }
        }
    }
}

/// A run that was cancelled before a tool answered: the runtime keeps the answer without its call.
fn is_cancelled(dir: &Dir) {
    goes_on(dir, false, true);
    let run = file(dir, "out", RUN);
    let text = String::from_utf8(read(&run)).expect("UTF-8");
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "s1",
        "type": "function", "function": {"name": "shell", "arguments": "{\"command\":\"sleep 5\"}"}}]});
    let answer = json!({"role": "assistant", "content": "No more."}).to_string();
    let text = text
        .replace(&answer, &format!("{answer},{call}"))
        .replace(r#""outcome":"completed","final":"No more.""#, r#""outcome":"cancelled""#)
        .replace(r#""final":"No more.","outcome":"completed""#, r#""outcome":"cancelled""#);
    assert!(text.contains("sleep 5") && text.contains("cancelled"), "{text}");
    fs::write(run, text).expect("a file");
    let state = file(dir, "out", "/state/");
    let mut saved: Value = serde_json::from_slice(&read(&state)).expect("JSON");
    let messages = saved["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": null}));
    fs::write(&state, saved.to_string() + "\n").expect("a file");
}

#[test]
fn a_run_that_was_cancelled_amid_a_call_comes_home() {
    for (case, to) in [
        ("pi/v3/migrated", "pi@3"),
        ("connectonion/v2/harbour", "connectonion@2"),
        ("connectonion/v3/tides", "connectonion@3"),
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
    ] {
        let dir = Dir::new();
        dir.copy(case, "in");
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "out", "in"]);
        assert_eq!(code, 0, "{said}");
        let stem = fs::read_dir(dir.path("out")).expect("a folder").next().expect("a session");
        fs::rename(stem.expect("an entry").path(), dir.path("out/s")).expect("a folder");
        is_cancelled(&dir);
        let (text, said) = home(&dir, to, "out/s");
        assert!(text.contains("Any more?") && text.contains("No more."), "{to}: {text}");
        assert!(!text.contains("sleep 5"), "{to}: {text}");
        assert!(said.contains("left out of the session's state"), "{to}: {said}");
        assert!(!context(&dir, "home").contains("sleep 5"), "{to}");
    }
}

#[test]
fn what_an_answer_took_in_codelia_is_written_in_the_source() {
    let dir = away(&pi(&json!([{"type": "text", "text": "The quay"}])), "codelia@1");
    goes_on(&dir, true, true);
    let (text, _) = home(&dir, "pi@3", "out/s");
    let answer = text.lines().find(|line| line.contains("No more.")).expect("the answer");
    let answer: Value = serde_json::from_str(answer).expect("JSON");
    let (model, usage) = (&answer["message"]["model"], &answer["message"]["usage"]);
    assert_eq!((model, &usage["input"], &usage["output"]), (&json!("m-9"), &json!(70), &json!(3)));
    assert_eq!(usage["cost"]["total"], 0);
}

#[test]
fn members_that_no_field_is_for_are_reported_as_lost() {
    let harbour = "connectonion/v2/harbour";
    let spellings = "pi/v3/spellings";
    for (case, to, back, part, old, new) in [
        (harbour, "pi@3", "connectonion@2", ".jsonl", "\"id\":", "\"hue\":\"red\",\"id\":"),
        (spellings, "connectonion@2", "pi@3", ".yaml", "total_cost:", "hue: red\ntotal_cost:"),
        (spellings, "connectonion@3", "pi@3", ".yaml", "messages: |", "hue: \"red\"\nmessages: |"),
        (spellings, "agent-orchestrator@2", "pi@3", ".meta.json", "{", "{\n  \"hue\": 1,"),
    ] {
        let dir = gone(case, to);
        let file = file(&dir, "away", part);
        let text = fs::read_to_string(&file).expect("UTF-8");
        fs::write(&file, text.replacen(old, new, 1)).expect("a file");
        let (_, said) = home(&dir, back, "away");
        let lost = "`hue` of the session has no place in the source format";
        assert!(said.contains(&format!("warning[CY0601]: {lost}")), "{to}: {said}");
        assert_eq!(said.matches("has no place in the source format").count(), 1, "{to}: {said}");
    }
}

/// When Codelia sums up what was said.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// Because a person asked for it.
    Asked,
    /// Before the first answer of a run.
    Before,
    /// Between two answers.
    Between,
    /// Behind the last one.
    Behind,
}

/// What Codelia keeps of the last question and its answers: no calls, no results, no thoughts.
fn kept(history: &[Value]) -> Vec<Value> {
    let last = history.iter().rposition(|message| message["role"] == "user").expect("a question");
    let is_kept =
        |m: &&Value| m["role"] == "user" || (m["role"] == "assistant" && m["tool_calls"].is_null());
    history[last..].iter().filter(is_kept).cloned().collect()
}

/// Goes on in Codelia's older store, which sums up its context in the meantime.
fn sums_up(dir: &Dir, when: When) {
    let file = file(dir, "out", "/state/");
    let mut state: Value = serde_json::from_slice(&read(&file)).expect("JSON");
    let history = state["messages"].as_array().expect("messages").clone();
    let session = state["session_id"].as_str().expect("an identifier").to_owned();
    let (asked, said) = (
        json!({"role": "user", "content": "Any more?"}),
        json!({"role": "assistant", "content": "No more."}),
    );
    let mut all = history.clone();
    let mut text = json!({"type": "header", "schema_version": 1, "run_id": RUN,
        "session_id": session, "started_at": "2027-03-01T00:00:00.000Z"})
    .to_string()
        + "\n";
    let mut line = |kind: &str, rest: Value| {
        let mut line = json!({"type": kind, "run_id": RUN, "ts": "2027-03-01T00:00:01.000Z"});
        let rest = rest.as_object().cloned().unwrap_or_default();
        line.as_object_mut().expect("an object").extend(rest);
        text += &(line.to_string() + "\n");
    };
    let input = if when == When::Asked { "" } else { "Any more?" };
    line("run.start", json!({"session_id": session, "input": {"type": "text", "text": input}}));
    let asks = |all: &[Value]| json!({"seq": 9, "input": {"messages": all, "tools": null}});
    let answers = |said: &Value| json!({"seq": 9, "output": {"messages": [said], "usage": null}});
    if when != When::Asked {
        all.push(asked);
    }
    if when == When::Between {
        let call = json!({"id": "t9", "type": "function",
            "function": {"name": "shell", "arguments": "{\"command\":\"ls\"}"}});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        line("llm.request", asks(&all));
        line("llm.response", answers(&call));
        let output = json!({"tool": "shell", "tool_call_id": "t9", "result_raw": "nine"});
        line("tool.output", output);
        all.push(call);
    }
    if when == When::Behind {
        line("llm.request", asks(&all));
        line("llm.response", answers(&said));
        all.push(said.clone());
    }
    let complete = json!({"type": "compaction_complete", "timestamp": 1, "compacted": true});
    line("agent.event", json!({"seq": 1, "event": complete}));
    let own = kept(&all);
    all = vec![
        json!({"role": "user", "content": "[codelia.compaction.retain]\nKeys lie under the mat."}),
        json!({"role": "user", "content": "[codelia.compaction.summary]\nThey counted boats."}),
    ];
    all.extend(own);
    if matches!(when, When::Before | When::Between) {
        line("llm.request", asks(&all));
        line("llm.response", answers(&said));
        all.push(said);
    }
    let last = if when == When::Asked { "Compaction run completed." } else { "No more." };
    line("run.end", json!({"outcome": "completed", "final": last}));
    let folder = dir.path("out/s/sessions/2027/03/01");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{RUN}.jsonl")), text).expect("a file");
    state["messages"] = json!(all);
    state["run_id"] = json!(RUN);
    fs::write(&file, state.to_string() + "\n").expect("a file");
}

#[test]
fn what_codelia_sums_up_is_a_compaction_in_pi() {
    for when in [When::Asked, When::Before, When::Between, When::Behind] {
        let source = pi(&json!([{"type": "text", "text": "The quay"}]));
        let dir = away(&source, "codelia@1");
        sums_up(&dir, when);
        let (text, said) = home(&dir, "pi@3", "out/s");
        // What was there is there as it was, but for what rides along.
        let kept = |(was, is): (&str, &str)| is.starts_with(was.trim_end_matches('}'));
        assert!(source.lines().zip(text.lines()).all(kept), "{when:?}: {text}");
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let entries: Vec<_> = entries.collect();
        let place = entries.iter().position(|entry| entry["type"] == "compaction");
        let place = place.unwrap_or_else(|| panic!("{when:?}: {text}"));
        let compaction = &entries[place];
        assert_eq!(compaction["summary"], "Keys lie under the mat.\n\nThey counted boats.");
        let kept = entries.iter().find(|entry| entry["id"] == compaction["firstKeptEntryId"]);
        let kept = &kept.unwrap_or_else(|| panic!("{when:?}: {compaction}"))["message"];
        let question = if when == When::Asked { "And the mole?" } else { "Any more?" };
        match when {
            // The question was asked behind it.
            When::Before => assert_eq!(compaction["firstKeptEntryId"], compaction["id"]),
            _ => assert!(kept["content"].to_string().contains(question), "{when:?}: {kept}"),
        }
        assert_eq!(compaction["parentId"], entries[place - 1]["id"], "{when:?}");
        let new = usize::from(when != When::Asked);
        assert_eq!(text.matches("No more.").count(), new, "{when:?}: {text}");
        assert_eq!(text.matches("\"Any more?\"").count(), new, "{when:?}: {text}");
        assert!(!text.contains("codelia.compaction"), "{text}");
        assert!(said.contains("note[CY0625]: compaction is new"), "{said}");
        let told = context(&dir, "home");
        assert!(told.contains("They counted boats.") && !told.contains("Look at the quay"));
        let log = log(&dir, "home").display().to_string();
        assert_eq!(dir.exit(&["validate", &log]).0, 0);
    }
}

#[test]
fn what_codelia_sums_up_is_in_full_where_the_source_has_no_compactions() {
    for (case, to) in HOMES.into_iter().skip(2) {
        for when in [When::Asked, When::Before, When::Between, When::Behind] {
            let dir = whole_in_codelia(case);
            sums_up(&dir, when);
            let (text, said) = home(&dir, to, "out/s");
            let lost = "warning[CY0601]: a compaction has no place in the source format";
            assert!(said.contains(lost), "{to} {when:?}: {said}");
            assert!(!text.contains("They counted boats."), "{to} {when:?}");
            assert_eq!(text.contains("Any more?"), when != When::Asked, "{to} {when:?}: {text}");
            let told = context(&dir, "home");
            let first =
                dir.run(&["context", "--as", "canonical", &log(&dir, "s").display().to_string()]);
            let first = String::from_utf8(first.stdout).expect("UTF-8");
            let (before, _) = first.rsplit_once(']').expect("a list");
            assert!(told.starts_with(before), "{to} {when:?}: {told}\n{first}");
        }
    }
}

#[test]
fn a_turn_that_is_deleted_from_a_list_leaves_the_others_as_they_were() {
    // Each turn repeats all messages before it, so only what is told of the turn is gone.
    for (case, back) in [
        ("pi/v3/spellings", "pi@3"),
        ("pi/v1/feature-work", "pi@1"),
        ("codelia/v1/state", "codelia@1"),
    ] {
        let dir = gone(case, "connectonion@1");
        change(&dir, |text| {
            let (head, list) = text.split_once("\nturns:\n").expect("turns");
            let second = list.find("\n- ").expect("a second turn") + 1;
            format!("{head}\nturns:\n{}", &list[second..])
        });
        let (_, said) = home(&dir, back, "away");
        assert!(said.contains("a turn was deleted"), "{case}: {said}");
        assert_eq!(told(&dir, "home"), told(&dir, "away"), "{case}");
    }
}

#[test]
fn turns_behind_one_that_is_deleted_are_recounted() {
    for to in ["agent-orchestrator@1", "agent-orchestrator@2"] {
        let dir = gone("connectonion/v2/harbour", to);
        change(&dir, |text| {
            let lines: Vec<_> = text.split_inclusive('\n').collect();
            let asks = |line: &&str| line.contains("Write the notice.") && line.contains("user");
            let second = lines.iter().position(asks).expect("the second question");
            let first = lines.iter().position(|line| line.contains("Which berths are free?"));
            let is_gone = |place: usize| (first.expect("the first one")..second).contains(&place);
            let left = lines.iter().enumerate();
            let left = left.filter(|(place, line)| !is_gone(*place) || line.contains("copyist"));
            left.map(|(_, line)| *line).collect()
        });
        let (text, said) = home(&dir, "connectonion@2", "away");
        assert!(said.contains("a turn was deleted"), "{to}: {said}");
        assert!(!text.contains("Which berths are free?"), "{to}: {text}");
        assert_eq!(told(&dir, "home"), told(&dir, "away"), "{to}");
    }
}

/// What was said in the only session below a folder, without the system's words.
fn told(dir: &Dir, folder: &str) -> Vec<Value> {
    let told: Value = serde_json::from_str(&context(dir, folder)).expect("JSON");
    let all = told["messages"].as_array().expect("messages").iter();
    all.filter(|message| message["role"] != "system").cloned().collect()
}

#[test]
fn turns_that_are_renumbered_are_what_they_were() {
    for (case, back) in [("pi/v1/feature-work", "pi@1"), ("codelia/v1/lamp", "codelia@1")] {
        let dir = gone(case, "connectonion@2");
        change(&dir, |text| {
            let (head, list) = text.split_once("\nturns:\n").expect("turns");
            let second = list.find("\n- ").expect("a second turn") + 1;
            let (turns, messages) = list[second..].split_once("\n  1:\n").expect("messages");
            let behind = messages.find("\n  2:\n").expect("the second turn") + 1;
            let text = format!("{head}\nturns:\n{turns}\n{}", &messages[behind..]);
            (2..9).fold(text, |text, n| {
                let text =
                    text.replace(&format!("\n  turn: {n}\n"), &format!("\n  turn: {}\n", n - 1));
                text.replace(&format!("\n  {n}:\n"), &format!("\n  {}:\n", n - 1))
            })
        });
        let (_, said) = home(&dir, back, "away");
        assert!(said.contains("a turn was deleted"), "{case}: {said}");
        assert!(!said.contains("message of role"), "{case}: {said}");
        assert_eq!(told(&dir, "home"), told(&dir, "away"), "{case}");
    }
}

#[test]
fn any_message_that_is_omitted_from_pis_context_is_deleted_in_the_source() {
    let cases = [
        ("codelia/v1/lamp", "codelia@1"),
        ("codelia/v1/compacted", "codelia@1"),
        ("connectonion/v2/harbour", "connectonion@2"),
        ("agent-orchestrator/v2/orchard", "agent-orchestrator@2"),
    ];
    for (case, to) in cases {
        let dir = gone(case, "pi@3");
        let text = fs::read_to_string(log(&dir, "away")).expect("UTF-8");
        let entries: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        for target in entries.iter().filter(|entry| entry["type"] == "message") {
            let edit = json!({"type": "context_edit", "id": "ed170001",
                "parentId": entries.last().expect("an entry")["id"],
                "timestamp": "2027-03-01T00:00:00.000Z", "targetId": target["id"],
                "replacement": null});
            fs::write(log(&dir, "away"), format!("{text}{edit}\n")).expect("a file");
            let (_, said) = home(&dir, to, "away");
            assert!(said.contains("a message was deleted"), "{case}: {said}");
            fs::remove_dir_all(dir.path("home")).expect("a folder");
        }
    }
}

#[test]
fn the_outcome_of_a_deleted_prompt_is_deleted_too() {
    let dir = gone("agent-orchestrator/v2/orchard", "connectonion@3");
    change(&dir, |text| {
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let asks = |line: &&str| line.contains("\"role\": \"user\"");
        let asked = lines.iter().enumerate().filter(|(_, line)| asks(line)).map(|(n, _)| n);
        let asked: Vec<_> = asked.collect();
        let left = lines.iter().enumerate().filter(|(n, _)| !(asked[0]..asked[1]).contains(n));
        left.map(|(_, line)| *line).collect()
    });
    let (text, said) = home(&dir, "agent-orchestrator@2", "away");
    assert!(said.contains("a result was deleted"), "{said}");
    assert!(!text.contains("There are 7."), "{text}");
    assert_eq!(told(&dir, "home"), told(&dir, "away"));
}
