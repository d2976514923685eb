//! Edited streams that are converted back to the format that they come from.

use crate::common::{Dir, all_files, files, read, testdata, through_a_stream};
use copyist::format::Options;
use serde_json::{Value, json};
use std::fs;

/// A session of our own as a stream, record by record.
struct Stream {
    dir: Dir,
    records: Vec<Value>,
    /// The lines as they were, with their values.
    lines: Vec<(Value, String)>,
}

impl Stream {
    /// The stream that is kept beside a session of our own.
    fn of_records(case: &str) -> Self {
        let text = read(&testdata().join(case).join("canonical.jsonl"));
        let text = String::from_utf8(text).expect("UTF-8");
        Self::of_text(Dir::new(), &text)
    }

    fn of_text(dir: Dir, text: &str) -> Self {
        let value = |line: &str| (serde_json::from_str(line).expect("JSON"), line.to_owned());
        let lines: Vec<(Value, String)> = text.lines().map(value).collect();
        Self { dir, records: lines.iter().map(|(value, _)| value.clone()).collect(), lines }
    }

    /// Writes the stream; a record that nobody edited is the line that it was.
    fn write(&self) {
        let line = |record: &Value| {
            let known = self.lines.iter().find(|(value, _)| value == record);
            known.map_or_else(|| record.to_string(), |(_, line)| line.clone()) + "\n"
        };
        let lines: String = self.records.iter().map(line).collect();
        self.dir.write("s.jsonl", lines.as_bytes());
    }

    fn session(&mut self) -> &mut Value {
        self.records.iter_mut().find(|record| record["kind"] == "session").expect("a session")
    }

    /// A session of Codelia's with two runs, and its state.
    fn of_codelia() -> Self {
        let dir = Dir::new();
        let own =
            |case: &str| files(&testdata().join("codelia/v1").join(case).join("in")).remove(0);
        for (case, folder) in [("lamp", "sessions/2026/09/14"), ("state", "sessions/state")] {
            let folder = dir.path("home").join(folder);
            fs::create_dir_all(&folder).expect("a folder");
            let file = own(case);
            fs::copy(&file, folder.join(file.file_name().expect("a name"))).expect("a file");
        }
        Self::in_folder(dir, "home")
    }

    fn in_folder(dir: Dir, name: &str) -> Self {
        let (code, said) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", name]);
        assert_eq!(code, 0, "{said}");
        let text = String::from_utf8(read(&files(&dir.path("out"))[0])).expect("UTF-8");
        Self::of_text(dir, &text)
    }

    /// The places of the messages of one role, in their order.
    fn said_by(&self, role: &str) -> Vec<usize> {
        let is = |record: &Value| record["kind"] == "message" && record["role"] == role;
        (0..self.records.len()).filter(|at| is(&self.records[*at])).collect()
    }

    /// Takes records out; what followed them follows what they followed.
    fn take_out(&mut self, is_out: impl Fn(&Value) -> bool) {
        let (out, mut left): (Vec<_>, Vec<_>) = self.records.drain(..).partition(|r| is_out(r));
        for record in &mut left {
            while let Some(gone) =
                out.iter().find(|gone| !gone["id"].is_null() && gone["id"] == record["parent"])
            {
                record["parent"] = gone["parent"].clone();
            }
        }
        self.records = left;
    }

    /// Goes home to `folder`. Gives the exit code, and what was said.
    fn home(&self, to: &str) -> (i32, String) {
        self.write();
        // The origin goes with a stream that was read from a file.
        let out = self.dir.path("out");
        let out = if out.is_dir() { all_files(&out) } else { Vec::new() };
        let origin = out.into_iter().find(|file| file.to_string_lossy().ends_with(".origin"));
        origin.iter().for_each(|origin| drop(self.dir.write("s.jsonl.origin", &read(origin))));
        self.dir.exit(&["convert", "-v", "-t", to, "--out-dir", "home-again", "s.jsonl"])
    }

    /// Whether the session says at home what the stream says.
    fn has_same_content(&self) {
        let (code, said) =
            self.dir.exit(&["convert", "-t", "canonical", "--out-dir", "again", "home-again"]);
        assert_eq!(code, 0, "{said}");
        let again = files(&self.dir.path("again")).remove(0);
        let (here, there) = (context(&self.dir, "s.jsonl"), context(&self.dir, &again.display()));
        assert!(!here.is_empty());
        assert_eq!(here, there);
    }
}

/// What a session says to a model, the system's own words apart.
fn context(dir: &Dir, file: &(impl ToString + ?Sized)) -> Vec<Value> {
    let done = dir.run(&["context", "--as", "canonical", &file.to_string()]);
    let context: Value = serde_json::from_slice(&done.stdout).expect("a context");
    let messages = context["messages"].as_array().expect("messages").clone();
    let told = |message: &Value| json!([message["role"], message["content"]]);
    messages.iter().filter(|message| message["role"] != "system").map(told).collect()
}

/// Takes the turn with this question out of a file of pi's.
fn cut_turn(text: &str, number: usize) -> String {
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let asked: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at]["message"]["role"] == "user").collect();
    let (from, to) = (asked[number], asked[number + 1]);
    lines[to]["parentId"] = lines[from]["parentId"].clone();
    lines.drain(from..to);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_format_in_between_restores_nothing_that_was_deleted() {
    for (case, home) in
        [("connectonion/v2/harbour", "connectonion@2"), ("connectonion/v1/seed", "connectonion@1")]
    {
        for stop in ["canonical", "connectonion@3", "agent-orchestrator@2", "codelia@1"] {
            let dir = Dir::new();
            dir.copy(case, "in.yaml");
            let there = ["convert", "-t", "pi@3", "-o", "away.jsonl", "in.yaml"];
            assert_eq!(dir.exit(&there).0, 0);
            let away = fs::read_to_string(dir.path("away.jsonl")).expect("UTF-8");
            dir.write("away.jsonl", cut_turn(&away, 0).as_bytes());
            let (_, said) = dir.exit(&["convert", "-t", stop, "--out-dir", "b", "away.jsonl"]);
            assert!(!said.contains("unchanged"), "{stop}: {said}");
            let (_, said) = dir.exit(&["convert", "-t", home, "--out-dir", "c", "b"]);
            let (_, said_too) = dir.exit(&["convert", "-t", "canonical", "--out-dir", "d", "c"]);
            let back = files(&dir.path("d")).remove(0);
            let (here, there) = (context(&dir, "away.jsonl"), context(&dir, &back.display()));
            assert_eq!(here, there, "{case} {stop}: {said}{said_too}");
        }
    }
}

#[test]
fn a_deleted_message_leaves_the_others_in_the_state() {
    let whole = Stream::of_codelia();
    let messages = whole.records.iter().filter(|record| record["kind"] == "message");
    let ids: Vec<Value> = messages.map(|record| record["id"].clone()).collect();
    for (id, to) in ids.iter().zip(["codelia@1", "codelia@2"].iter().cycle()) {
        let mut stream = Stream::of_codelia();
        stream.take_out(|record| record["id"] == *id);
        let (code, said) = stream.home(to);
        let told = said.contains("error[CY0627]");
        assert_eq!(code, i32::from(told), "{id} {to}: {said}");
        stream.has_same_content();
        let home = stream.dir.path("home-again/s/sessions");
        let runs = files(&home).into_iter().filter(|file| file.starts_with(home.join("2026")));
        for line in runs.flat_map(|run| read(&run)).collect::<Vec<_>>().split(|b| *b == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            assert!(line["type"] == "header" || line["ts"].is_string(), "{id} {to}: {line}");
        }
    }
}

/// A stream that no file of a format was read as.
fn written_by_hand(records: &[Value]) -> Dir {
    let dir = Dir::new();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    dir.write("hand.jsonl", lines.as_bytes());
    dir
}

#[test]
fn a_tree_that_pi_would_hang_on_is_reported() {
    let said = |id: &str, parent: &str, role: &str| json!({"kind": "message", "id": id, "parent": parent, "role": role, "content": id});
    let session = json!({"kind": "session", "id": "s", "source": "connectonion@2"});
    let circle = [session.clone(), said("a", "b", "user"), said("b", "a", "assistant")];
    let twice = [session, said("a", "", "user"), said("a", "a", "assistant")];
    for (records, code) in [(&circle, "CY0404"), (&twice, "CY0401")] {
        let dir = written_by_hand(records);
        let (exit, told) = dir.exit(&["convert", "-t", "pi", "--out-dir", "out", "hand.jsonl"]);
        assert_eq!(exit, 1, "{told}");
        assert!(told.contains(code), "{told}");
    }
}

#[test]
fn a_leaf_that_is_not_there_is_reported() {
    let session = json!({"kind": "session", "id": "s", "source": "pi@3", "leaf": "nobody"});
    let question = json!({"kind": "message", "id": "a", "parent": null, "role": "user",
        "content": "Hello"});
    let dir = written_by_hand(&[session, question]);
    for command in [&["validate"][..], &["convert", "-t", "codelia", "--out-dir", "out"]] {
        let (_, told) = dir.exit(&[command, &["hand.jsonl"]].concat());
        assert!(told.contains("CY0403"), "{told}");
    }
}

#[test]
fn what_is_kept_as_no_record_does_not_become_one() {
    let session = json!({"kind": "session", "id": "s", "source": "pi@3"});
    let question = json!({"kind": "message", "id": "a", "parent": null, "role": "user",
        "content": "Hello"});
    let entry = json!({"type": "message", "id": "b", "parentId": "a",
        "message": {"role": "user", "content": "Smuggled in"}});
    for text in [format!("{entry}"), format!("torn\n{entry}")] {
        let kept = json!({"kind": "opaque", "text": text});
        let dir = written_by_hand(&[session.clone(), question.clone(), kept]);
        let (exit, told) = dir.exit(&["convert", "-t", "pi", "-o", "out.jsonl", "hand.jsonl"]);
        assert_eq!(exit, 0, "{told}");
        assert!(told.contains("cannot hold opaque"), "{told}");
        assert_eq!(context(&dir, "out.jsonl").len(), 1);
    }
}

/// The sessions of our own that are kept as a list, and what they come from.
const LISTS: &[(&str, &str)] = &[
    ("codelia/v1/lamp", "codelia@1"),
    ("codelia/v2/log", "codelia@2"),
    ("connectonion/v1/seed", "connectonion@1"),
    ("connectonion/v2/harbour", "connectonion@2"),
    ("connectonion/v3/lamps", "connectonion@3"),
    ("agent-orchestrator/v2/killed", "agent-orchestrator@2"),
];

#[test]
fn what_is_behind_the_leaf_that_a_stream_states_is_reported() {
    for (case, source) in LISTS {
        let mut stream = Stream::of_records(case);
        let last = stream.records.iter().rposition(|r| r["kind"] == "message").expect("a message");
        let leaf = stream.records[last]["id"].clone();
        stream.session()["leaf"] = leaf.clone();
        stream.records.push(json!({"kind": "message", "id": "ffff0001", "parent": leaf,
            "role": "user", "content": "Nobody is shown this."}));
        let (_, told) = stream.home(source);
        assert!(told.contains("message off the active branch"), "{case}: {told}");
        stream.has_same_content();
    }
}

#[test]
fn a_conversation_that_lost_its_beginning_is_reported() {
    for (case, source) in LISTS.iter().chain(&[("pi/v3/everything", "pi@3")]) {
        for to in [source, "pi", "codelia", "connectonion@2", "agent-orchestrator"] {
            let mut stream = Stream::of_records(case);
            let said = stream.said_by("assistant");
            let gone = stream.records.remove(said[0]);
            assert!(stream.records.iter().any(|record| record["parent"] == gone["id"]), "{case}");
            let (_, told) = stream.home(to);
            assert_eq!(told.matches("CY0402").count(), 1, "{case} to {to}: {told}");
        }
    }
}

#[test]
fn what_is_put_into_the_stream_of_a_tree_is_what_its_software_reads() {
    let mut stream = Stream::of_records("pi/v3/everything");
    let last = stream.records.iter().rposition(|r| r["kind"] == "message").expect("a message");
    let leaf = stream.records[last]["id"].clone();
    stream.records.truncate(last + 1);
    for record in [
        json!({"id": "ffff0001", "parent": leaf, "role": "user", "content": "Look."}),
        json!({"id": "ffff0002", "parent": "ffff0001", "role": "assistant", "content":
            [{"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]}),
        json!({"id": "ffff0003", "parent": "ffff0002", "role": "tool", "content":
            [{"type": "tool_result", "call": "c1", "content": "quay.txt"}]}),
        json!({"id": "ffff0004", "parent": "ffff0003", "role": "assistant", "content": "One."}),
    ] {
        let mut new = json!({"kind": "message", "time": "2027-03-01T00:00:01.000Z"});
        new.as_object_mut().expect("a record").extend(record.as_object().expect("one").clone());
        stream.records.push(new);
    }
    assert_eq!(stream.home("pi").0, 0);
    let file = files(&stream.dir.path("home-again")).remove(0);
    let text = std::fs::read_to_string(&file).expect("UTF-8");
    let new: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [.., call, result, answer] = new.as_slice() else { panic!("{text}") };
    assert_eq!(call["message"]["stopReason"], "toolUse");
    assert_eq!(result["message"]["toolName"], "bash");
    assert_eq!(answer["message"]["content"], json!([{"type": "text", "text": "One."}]));
    assert_eq!(answer["message"]["usage"]["cost"]["total"], 0);
    let (code, said) = stream.dir.exit(&["validate", "home-again"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn what_a_line_has_no_place_for_is_reported_as_lost() {
    let mut stream = Stream::of_records("agent-orchestrator/v2/orchard");
    let time = "2027-03-01T00:00:01.000Z";
    stream.records.push(json!({"kind": "message", "role": "assistant", "content": "Done.",
        "time": time}));
    let (code, told) = stream.home("agent-orchestrator@2");
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("cannot hold message.time"), "{told}");
}

#[test]
fn an_entry_that_occurs_twice_in_a_stream_of_a_tree_is_reported() {
    let mut stream = Stream::of_records("pi/v3/everything");
    let at = stream.said_by("assistant")[0];
    let twice = stream.records[at].clone();
    stream.records.push(twice);
    let (_, told) = stream.home("pi");
    assert!(told.contains("CY0401"), "{told}");
}

#[test]
fn an_edit_of_a_stream_is_restored_through_any_format() {
    for (case, source) in LISTS {
        for via in ["pi", "codelia", "connectonion@2", "agent-orchestrator"] {
            let mut stream = Stream::of_records(case);
            let is_text = |record: &Value| record["content"].is_string();
            let said = stream.said_by("assistant").into_iter().rev();
            let Some(at) = said.into_iter().find(|at| is_text(&stream.records[*at])) else {
                continue;
            };
            stream.records[at]["content"] = json!("Said otherwise.");
            stream.write();
            let ways = [("s.jsonl", via, "there"), ("there", "canonical", "back")];
            for (from, to, out) in ways.into_iter().chain([("back", *source, "home-again")]) {
                let (_, told) = stream.dir.exit(&["convert", "-t", to, "--out-dir", out, from]);
                assert!(!told.contains("CY0621"), "{case} over {via}: {told}");
            }
            stream.has_same_content();
        }
    }
}

/// A line of pi's tree behind the one before it.
fn entry(number: usize, message: &Value) -> String {
    let parent = if number == 0 { Value::Null } else { json!(format!("{:08x}", number - 1)) };
    let entry = json!({"type": "message", "id": format!("{number:08x}"), "parentId": parent,
        "timestamp": "2026-01-01T00:00:00.000Z", "message": message});
    format!("{entry}\n")
}

/// A session of pi's in which these answers stand side by side, with the results of so many calls
/// behind them.
fn side_by_side(answers: &[Value], results: usize) -> String {
    let answer = |content: &Value| {
        json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
            "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": "toolUse", "timestamp": 1})
    };
    let result = |call: usize| {
        json!({"role": "toolResult", "toolCallId": format!("c{call}"), "toolName": "bash",
            "content": [{"type": "text", "text": "ok"}], "isError": false, "timestamp": 1})
    };
    let mut messages = vec![json!({"role": "user", "content": "go", "timestamp": 1})];
    messages.extend(answers.iter().map(answer));
    messages.extend((0..results).map(result));
    let header = json!({"type": "session", "version": 3, "cwd": "/w",
        "id": "11111111-1111-4111-8111-111111111111", "timestamp": "2026-01-01T00:00:00.000Z"});
    let entries = messages.iter().enumerate().map(|(number, message)| entry(number, message));
    format!("{header}\n") + &entries.collect::<String>()
}

fn comes_home(session: &str, to: &str) {
    let dir = Dir::new();
    dir.write("s.jsonl", session.as_bytes());
    let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = dir.exit(&["convert", "-t", "pi", "--out-dir", "home", "away"]);
    assert_eq!(code, 0, "{said}");
    let home = String::from_utf8(read(&files(&dir.path("home"))[0])).expect("UTF-8");
    let values = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    assert!(values(&home) == values(session), "{to}");
}

fn call(number: usize, arguments: &Value) -> Value {
    json!([{"type": "toolCall", "id": format!("c{number}"), "name": "bash", "arguments": arguments}])
}

/// With work that grows as the square, these took minutes.
#[test]
fn very_many_answers_and_members_cost_what_they_are() {
    let answers: Vec<_> = (0..4000).map(|n| call(n, &json!({ "a": n }))).collect();
    comes_home(&side_by_side(&answers, answers.len()), "connectonion@3");
    let members: serde_json::Map<_, _> = (0..60_000).map(|n| (format!("k{n}"), json!(n))).collect();
    comes_home(&side_by_side(&[call(0, &members.into())], 1), "agent-orchestrator@2");
}

#[test]
fn a_stream_with_a_damaged_beginning_is_not_passed_over() {
    let stream = read(&testdata().join("pi/v3/everything/canonical.jsonl"));
    for front in [&b"{\"kind\":\"ses\n"[..], b"<<<<<<< HEAD\n", &[0; 100]] {
        let dir = Dir::new();
        dir.write("in/s.copyist.jsonl", &[front, &stream].concat());
        let done = dir.run(&["validate", "in"]);
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(!done.status.success() && !said.contains("skipped"), "{said}");
    }
}

#[test]
fn a_record_that_is_before_a_session_in_its_file_is_behind_it_in_the_stream() {
    let dir = Dir::new();
    let text = "name: x\nturns:\n  a: 1\nmessages:\n  1:\n  - role: user\n    content: hi\n";
    dir.write("a.yaml", text.as_bytes());
    dir.exit(&["convert", "-t", "canonical", "-o", "s.jsonl", "a.yaml"]);
    let (code, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "b.yaml", "s.jsonl"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn an_edit_in_a_stream_leaves_a_missing_parent_alone() {
    let entry = |id: &str, parent: &str, rest: &str| {
        format!(r#"{{"type":"{rest},"id":"{id}","parentId":"{parent}","timestamp":"t"}}"#) + "\n"
    };
    let said = r#"message","message":{"role":"user","content":"q"}"#;
    let source = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#.to_owned() + "\n",
        entry("aaaaaaaa", "00000000", said),
        entry("bbbbbbbb", "99999999", said),
        entry("cccccccc", "bbbbbbbb", r#"label","targetId":"bbbbbbbb","label":"first""#),
    ];
    let edit = |text: String| text.replace("\"first\"", "\"second\"");
    let source = source.concat();
    let (back, _) = through_a_stream(source.as_bytes(), &edit, &Options::default());
    assert_eq!(String::from_utf8_lossy(&back), edit(source));
}
