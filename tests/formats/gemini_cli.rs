//! Sessions of Gemini CLI: the corpus comes back byte for byte, contexts are what release 0.61.0
//! sends, and the log is applied as the program applies it.

use crate::common::{
    alone, context, converted, corpus, files, from_canonical, name, options, own, read, recognise,
    to_canonical,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, RepairOptions};
use copyist::formats::gemini_cli::FORMAT;
use copyist::ids::Choice;
use copyist::memory::{Buffer, Bytes};
use copyist::repair;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The sessions that releases wrote.
fn sessions(corpus: &Path) -> Vec<PathBuf> {
    let all = files(&corpus.join("gemini-cli")).into_iter();
    let written = |path: &PathBuf| {
        let path = path.to_string_lossy();
        path.contains("/0.32.1/") || path.contains("/0.61.0/")
    };
    all.filter(written).collect()
}

#[test]
fn sessions_of_the_corpus_come_back_through_the_stream() {
    let Some(corpus) = corpus("sessions_of_the_corpus_come_back") else { return };
    let options = options(OnError::Stop, Choice::Derived);
    let sessions = sessions(&corpus);
    for file in &sessions {
        let text = read(file);
        let (format, version) = recognise(&text).expect("a session");
        assert_eq!(format.name, "gemini-cli", "{}", file.display());
        let stream = to_canonical(&text, &options);
        let to = format!("gemini-cli@{version}");
        let back = from_canonical(&stream, &to, &options);
        assert_eq!(
            String::from_utf8_lossy(&back),
            String::from_utf8_lossy(&text),
            "{}",
            file.display()
        );
    }
    assert!(sessions.len() >= 20, "{}", sessions.len());
}

/// A text without the half of a character in a session of the corpus.
fn with_whole(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace("\\ud83d end", "? end")
}

/// Messages that the program would send of a session.
fn sent(session: &[u8]) -> Vec<Value> {
    let request = Request { form: Form::Own, ..Request::default() };
    let sent = context(session, &request, &options(OnError::Keep, Choice::Derived)).0;
    let sent: Value = serde_json::from_str(&with_whole(&sent.expect("a context"))).expect("JSON");
    sent["messages"].as_array().expect("messages").clone()
}

#[test]
fn contexts_of_the_corpus_are_what_was_sent() {
    let Some(corpus) = corpus("contexts_of_the_corpus_are_what_was_sent") else { return };
    let folder = corpus.join("gemini-cli");
    let expected = with_whole(&read(&folder.join("probes.expected.json")));
    let expected = serde_json::from_str(&expected);
    let expected: serde_json::Map<String, Value> = expected.expect("an object");
    let (mut same, mut unlisted) = (0, Vec::new());
    for (file, expected) in &expected {
        let text = read(&folder.join(file));
        if expected["stderr"].is_string() {
            unlisted.push(name(Path::new(file)));
            continue;
        }
        let mut theirs = expected["sent"].as_array().expect("contents").clone();
        // The last part is the prompt of the recording.
        let parts = theirs.last_mut().and_then(|last| last["parts"].as_array_mut());
        let parts = parts.expect("parts");
        assert_eq!(parts.pop(), Some(json!({"text": "PROBE"})));
        if parts.is_empty() {
            theirs.pop();
        }
        assert_eq!(sent(&text), theirs, "{file}");
        same += 1;
    }
    // The program begins a new session in place of these.
    assert_eq!((same, unlisted.len()), (46, 6), "{unlisted:?}");
}

/// Lines of a log behind a header.
fn log(lines: &[Value]) -> Vec<u8> {
    let header = json!({"sessionId": "0badc0de-0000-4000-8000-000000000001", "projectHash": "0"});
    let all = std::iter::once(&header).chain(lines);
    all.map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:01.000Z", "type": "user", "content": text})
}

fn gemini(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:02.000Z", "type": "gemini", "content": text})
}

/// Texts that are sent.
fn texts(session: &[u8]) -> Vec<String> {
    let contents = sent(session);
    let parts = contents.iter().flat_map(|content| content["parts"].as_array().expect("parts"));
    parts.map(|part| part["text"].as_str().unwrap_or("?").to_owned()).collect()
}

#[test]
fn messages_that_are_dropped_are_a_branch() {
    let dropped = [user("a", "A"), gemini("b", "B"), user("c", "C"), json!({"$rewindTo": "b"})];
    let session = log(&[&dropped[..], &[user("d", "D")]].concat());
    assert_eq!(texts(&session), ["A", "D"]);
    let stream = to_canonical(&session, &options(OnError::Stop, Choice::Derived));
    let stream = String::from_utf8(stream).expect("UTF-8");
    assert!(
        stream.contains(r#""id":"b","parent":"a""#) && stream.contains(r#""id":"d","parent":"a""#)
    );
    assert_eq!(texts(&log(&dropped)), ["A"]);
    let all = [&dropped[..3], &[json!({"$rewindTo": "nowhere"}), user("d", "D")]].concat();
    assert_eq!(texts(&log(&all)), ["D"]);
}

#[test]
fn a_list_replaces_messages_and_keeps_those_that_are_the_same() {
    let (a, b) = (user("a", "A"), gemini("b", "B"));
    let kept = log(&[a.clone(), b.clone(), json!({"$set": {"messages": [a, b]}}), user("c", "C")]);
    assert_eq!(texts(&kept), ["A", "B", "C"]);
    let options = options(OnError::Stop, Choice::Derived);
    let stream = String::from_utf8(to_canonical(&kept, &options)).expect("UTF-8");
    assert_eq!(stream.matches(r#""kind":"message""#).count(), 3, "{stream}");
    // An edit of a message is an edit of each place where it stands.
    let edited = stream.replace(r#""content":"A""#, r#""content":"Z""#);
    let back = from_canonical(edited.as_bytes(), "gemini-cli", &options);
    assert_eq!(texts(&back), ["Z", "B", "C"]);
    let summary = json!({"$set": {"messages": [user("s", "S")]}});
    let packed = log(&[user("a", "A"), gemini("b", "B"), summary, user("c", "C")]);
    assert_eq!(texts(&packed), ["S", "C"]);
}

#[test]
fn an_edited_result_is_edited_where_it_is_repeated() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("gemini-cli/v2/lighthouse");
    let stream = String::from_utf8(to_canonical(&source, &options)).expect("UTF-8");
    assert_eq!(stream.matches("1000 candela\\n").count(), 1, "{stream}");
    let edited = stream.replace("1000 candela\\n", "900 candela\\n");
    let back = from_canonical(edited.as_bytes(), "gemini-cli", &options);
    let back = String::from_utf8(back).expect("UTF-8");
    let source = String::from_utf8(source).expect("UTF-8");
    assert_eq!(back, source.replace("1000 candela\\n", "900 candela\\n"));
}

#[test]
fn a_document_becomes_a_log_and_a_document_again() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("gemini-cli/v1/ferry");
    let (done, _) = converted(&source, &FORMAT, 1, "gemini-cli@2", &options);
    let log = alone(&done.expect("a log"));
    assert_eq!(sent(&log), sent(&source));
    let (done, _) = converted(&log, &FORMAT, 2, "gemini-cli@1", &options);
    let back = alone(&done.expect("a document"));
    let values = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    assert_eq!(values(&back), values(&source));
}

#[test]
fn messages_that_were_taken_back_are_not_in_a_document() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("gemini-cli/v2/pier");
    let (done, _) = converted(&source, &FORMAT, 2, "gemini-cli@1", &options);
    let document = alone(&done.expect("a document"));
    assert_eq!(sent(&document), sent(&source));
}

fn repaired(text: &[u8], resumable: bool) -> Vec<u8> {
    let options = options(OnError::Stop, Choice::Derived);
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let name = "session-2026-01-01T00-00-0badc0de.jsonl".to_owned();
    let wanted = RepairOptions { resumable, name, salvage: true, ..RepairOptions::default() };
    let mut out = Buffer::default();
    repair::run(&FORMAT, &mut Bytes::new(text), &mut out, &wanted, &cx).expect("a repair");
    out.main()
}

#[test]
fn sessions_that_are_not_listed_are_repaired() {
    let whole = log(&[user("a", "A"), gemini("b", "B")]);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let unheaded = lines[1..].concat();
    let back = String::from_utf8(repaired(&unheaded, false)).expect("UTF-8");
    assert!(back.starts_with(r#"{"sessionId":"0badc0de-"#), "{back}");
    for damaged in [
        unheaded,
        ["\u{feff}".as_bytes(), &whole].concat(),
        String::from_utf8_lossy(&whole).replace(r#","projectHash":"0""#, "").into_bytes(),
        String::from_utf8_lossy(&whole).replace(r#""id":"a","#, "").into_bytes(),
        [lines[0], lines[1].trim_ascii_end(), lines[2]].concat(),
        [lines[0], lines[1], &lines[1][..20], lines[2]].concat(),
        whole[..whole.len() - 1].to_vec(),
    ] {
        let back = repaired(&damaged, false);
        assert_eq!(texts(&back), ["A", "B"], "{}", String::from_utf8_lossy(&damaged));
        assert!(back.ends_with(b"\n"));
        assert_eq!(repaired(&back, false), back);
    }
    assert_eq!(repaired(&whole, true), whole);
}

#[test]
fn a_call_without_a_result_gets_one_for_a_resumable_session() {
    let source = own("gemini-cli/v2/pier");
    assert_eq!(repaired(&source, false), source);
    let back = repaired(&source, true);
    // The program puts an answer behind results that no answer follows.
    let contents = sent(&back);
    let last = &contents[contents.len() - 2];
    let response = &last["parts"][0]["functionResponse"];
    assert_eq!((&response["id"], &last["role"]), (&json!("ask_1"), &json!("user")));
    assert!(response["response"]["error"].is_string(), "{last}");
    assert_eq!(repaired(&back, true), back);
}

/// When the program resumes a session, it puts the results of all calls of an answer into each.
#[test]
fn a_call_has_its_own_result_where_each_has_those_of_all() {
    let log = log_of(&resumed()[..1]);
    let options = options(OnError::Stop, Choice::Derived);
    let stream = to_canonical(log.as_bytes(), &options);
    let text = String::from_utf8(stream.clone()).expect("UTF-8");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let results: Vec<Value> = records
        .filter(|record| record["role"] == "tool")
        .map(|record| record["content"][0]["content"].clone())
        .collect();
    assert_eq!(results, ["north", "south"]);
    let back = from_canonical(&stream, "gemini-cli@2", &options);
    assert_eq!(String::from_utf8_lossy(&back), log);
}

/// Lines behind a header and a question.
fn log_of(lines: &[Value]) -> String {
    let head = [
        json!({"sessionId": "7f000000-0000-4000-8000-0000000000f1", "projectHash": "00",
            "startTime": "2026-03-04T09:00:00.000Z", "lastUpdated": "2026-03-04T09:00:00.000Z"}),
        json!({"id": "u1", "timestamp": "2026-03-04T09:00:01.000Z", "type": "user",
            "content": [{"text": "Both?"}]}),
    ];
    head.iter().chain(lines).map(|line| format!("{line}\n")).collect()
}

/// An answer of two calls, each of which has the results of both, and the message that repeats them.
fn resumed() -> [Value; 2] {
    let response = |id: &str, text: &str| json!({"functionResponse": {"id": id, "name": "read", "response": {"output": text}}});
    let all = json!([response("c1", "north"), response("c2", "south")]);
    let call = |id: &str| json!({"id": id, "name": "read", "args": {}, "result": all, "status": "success"});
    [
        json!({"id": "g1", "timestamp": "2026-03-04T09:00:02.000Z", "type": "gemini",
            "content": "", "toolCalls": [call("c1"), call("c2")]}),
        json!({"id": "g1_response", "timestamp": "2026-03-04T09:00:02.000Z", "type": "user",
            "content": all}),
    ]
}

#[test]
fn results_that_a_message_repeats_are_there_once() {
    let options = options(OnError::Stop, Choice::Derived);
    let [answer, repeats] = resumed();
    let command = json!({"id": "u2", "timestamp": "2026-03-04T09:00:03.000Z", "type": "user",
        "content": [{"text": "/stats"}]});
    // The message that repeats them may come behind another one.
    for lines in [vec![answer.clone(), repeats.clone()], vec![answer, command, repeats]] {
        let log = log_of(&lines);
        let stream = to_canonical(log.as_bytes(), &options);
        let back = from_canonical(&stream, "gemini-cli@2", &options);
        assert_eq!(String::from_utf8_lossy(&back), log);
        let codex = from_canonical(&stream, "codex", &options);
        let codex = String::from_utf8(codex).expect("UTF-8");
        assert_eq!(codex.matches("function_call_output").count(), 2, "{codex}");
    }
    let log = log_of(&resumed());
    let parts: Vec<Value> = sent(log.as_bytes())
        .iter()
        .flat_map(|message| message["parts"].as_array().expect("parts").clone())
        .filter(|part| part.get("functionResponse").is_some())
        .collect();
    // Each call sends those of both, and the message sends them once more.
    assert_eq!(parts.len(), 6, "{parts:?}");
}

#[test]
fn results_listed_again_are_sent_behind_those_of_their_answer() {
    let [answer, repeats] = resumed();
    let more = |id: &str, kind: &str| {
        json!({"id": id, "timestamp": "2026-03-04T09:00:04.000Z", "type": kind,
            "content": [{"text": "More."}]})
    };
    // The program resumed the session behind another answer.
    let lines = [answer.clone(), more("g2", "gemini")];
    let list = json!({"$set": {"messages": [answer, repeats, more("g2", "gemini")]}});
    let log = log_of(&[&lines[..], &[list, more("u2", "user")]].concat());
    let roles = |messages: &[Value]| -> Vec<(Value, usize)> {
        let parts = |message: &Value| message["parts"].as_array().expect("parts").len();
        messages.iter().map(|message| (message["role"].clone(), parts(message))).collect()
    };
    let sent = roles(&sent(log.as_bytes()));
    let wanted = [("model", 2), ("user", 6), ("model", 1), ("user", 1)];
    let wanted = wanted.map(|(role, parts)| (json!(role), parts));
    assert!(sent.ends_with(&wanted), "{sent:?}");
}

#[test]
fn an_edited_result_is_edited_in_every_call() {
    let options = options(OnError::Stop, Choice::Derived);
    let stream = to_canonical(log_of(&resumed()[..1]).as_bytes(), &options);
    let text = String::from_utf8(stream).expect("UTF-8");
    let edited: String = text
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("JSON");
            if record["content"][0]["content"] == "north" {
                record["content"][0]["content"] = json!("NORTH");
            }
            format!("{record}\n")
        })
        .collect();
    assert_ne!(edited, text);
    let back = from_canonical(edited.as_bytes(), "gemini-cli@2", &options);
    let back = String::from_utf8(back).expect("UTF-8");
    assert!(back.contains("NORTH") && !back.contains("\"north\""), "{back}");
}

/// The program lists the results of an answer once more when it resumes a session.
#[test]
fn a_list_of_results_is_no_message_of_its_own() {
    let [answer, mut again] = resumed();
    again["timestamp"] = json!("2026-03-05T09:00:00.000Z");
    let set = json!({"$set": {"messages": [
        {"id": "u1", "timestamp": "2026-03-04T09:00:01.000Z", "type": "user",
            "content": [{"text": "Both?"}]},
        &answer, &again,
        {"id": "g2", "timestamp": "2026-03-04T09:00:04.000Z", "type": "gemini", "content": "So."}]}});
    let end = json!({"id": "g2", "timestamp": "2026-03-04T09:00:04.000Z", "type": "gemini",
        "content": "So."});
    let log = log_of(&[answer.clone(), end, set]);
    let options = options(OnError::Stop, Choice::Derived);
    let stream = to_canonical(log.as_bytes(), &options);
    let back = from_canonical(&stream, "gemini-cli@2", &options);
    assert_eq!(String::from_utf8_lossy(&back), log);
    let text = String::from_utf8(stream).expect("UTF-8");
    assert_eq!(text.matches("\"role\":\"tool\"").count(), 2, "{text}");
}

/// A history that the program summed up has calls and results in the content of its messages.
#[test]
fn each_result_of_a_message_reaches_other_formats() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "read", "args": {"at": id}}});
    let result = |id: &str, text: &str| json!({"functionResponse": {"id": id, "name": "read", "response": {"output": text}}});
    let content = |id: &str, kind: &str, content: Value| json!({"id": id, "timestamp": "2026-01-01T00:00:03.000Z", "type": kind, "content": content});
    let session = log(&[
        user("a", "Which lamps?"),
        content("b", "gemini", json!([{"text": "I look."}, call("c1"), call("c2"), call("c3")])),
        content(
            "c",
            "user",
            json!([result("c1", "north"), result("c2", "south"), result("c3", "east")]),
        ),
        gemini("d", "Three."),
    ]);
    let options = options(OnError::Stop, Choice::Derived);
    let stream = to_canonical(&session, &options);
    assert_eq!(from_canonical(&stream, "gemini-cli@2", &options), session);
    let before = sent(&session);
    assert_eq!(before.len(), 4, "{before:?}");
    for to in ["pi", "copilot-cli", "codex", "claude-code", "opencode"] {
        let written = from_canonical(&stream, to, &options);
        let text = String::from_utf8_lossy(&to_canonical(&written, &options)).into_owned();
        for words in ["north", "south", "east", "Three."] {
            assert!(text.contains(words), "{to} has no {words}: {text}");
        }
    }
    let edited = String::from_utf8(stream).expect("UTF-8").replace("south", "SOUTH");
    let back = from_canonical(edited.as_bytes(), "gemini-cli@2", &options);
    let expected = String::from_utf8_lossy(&session).replace("south", "SOUTH");
    assert_eq!(String::from_utf8_lossy(&back), expected);
}
