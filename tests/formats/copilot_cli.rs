//! Sessions of GitHub Copilot CLI: the corpus comes back byte for byte, contexts are what release
//! 1.0.102 sends, and what a release refuses is repaired.

use crate::common::{
    alone, context, converted, corpus, files, from_canonical, name, options, own, read, recognise,
    to_canonical,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, RepairOptions};
use copyist::formats::copilot_cli::FORMAT;
use copyist::ids::Choice;
use copyist::memory::{Buffer, Bytes};
use copyist::repair;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The sessions that releases wrote.
fn sessions(corpus: &Path) -> Vec<PathBuf> {
    let all = files(&corpus.join("copilot-cli")).into_iter();
    let written = |path: &PathBuf| !path.to_string_lossy().contains("/damage/");
    all.filter(|path| name(path) == "events.jsonl" && written(path)).collect()
}

#[test]
fn sessions_of_the_corpus_come_back_through_the_stream() {
    let Some(corpus) = corpus("sessions_of_the_corpus_come_back") else { return };
    let options = options(OnError::Stop, Choice::Derived);
    let sessions = sessions(&corpus);
    for file in &sessions {
        let text = read(file);
        let (format, _) = recognise(&text).expect("a session");
        assert_eq!(format.name, "copilot-cli", "{}", file.display());
        let stream = to_canonical(&text, &options);
        assert_eq!(from_canonical(&stream, "copilot-cli", &options), text, "{}", file.display());
    }
    assert!(sessions.len() > 60, "{}", sessions.len());
}

pub fn messages(session: &[u8], form: Form) -> Vec<Value> {
    let request = Request { form, ..Request::default() };
    let sent = context(session, &request, &options(OnError::Keep, Choice::Derived)).0;
    let sent: Value = serde_json::from_slice(&sent.expect("a context")).expect("JSON");
    sent["messages"].as_array().expect("messages").clone()
}

/// A message in the spelling of arguments that all have.
pub fn compared(message: &Value) -> Value {
    let mut message = message.clone();
    let members = message.as_object_mut().expect("an object");
    members.remove("__copilotMessageSource");
    for call in members.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().expect("a text").to_owned();
        call["function"]["arguments"] = serde_json::from_str(&arguments).unwrap_or(Value::Null);
    }
    message
}

/// A text in whose recording times are masked.
fn without_times(text: &str) -> String {
    let (begin, end) = ("<current_datetime>", "</current_datetime>");
    let pieces = text.split(begin).enumerate().map(|(place, piece)| match piece.split_once(end) {
        Some((_, rest)) if place > 0 => format!("{begin}T{end}{rest}"),
        _ => piece.to_owned(),
    });
    pieces.collect()
}

/// Whether a message is as it was recorded. Of a long text, the recording has the two ends.
pub fn is_same(ours: &Value, recorded: &Value) -> bool {
    match (ours, recorded) {
        (Value::Object(ours), Value::Object(recorded)) => {
            let same = |(name, value): (&String, &Value)| {
                ours.get(name).is_some_and(|ours| is_same(ours, value))
            };
            ours.len() == recorded.len() && recorded.iter().all(same)
        }
        (Value::String(ours), Value::String(recorded)) => {
            let pieces: Vec<&str> = recorded.split('…').collect();
            match pieces.as_slice() {
                [begin, cut, end] if cut.ends_with(" characters]") => {
                    ours.starts_with(begin) && ours.ends_with(end)
                }
                _ => without_times(ours) == *recorded,
            }
        }
        _ => ours == recorded,
    }
}

/// Sessions in whose requests something is not that of Chat Completions, or not in the file: other
/// interfaces, images, and new identifiers of calls that have one twice.
const OTHERWISE: [&str; 6] = [
    "/reasoning_responses/",
    "/reasoning_anthropic/",
    "/1.0.102/image/",
    "/resumed_same_call_ids/",
    "/0.0.403/resumed/",
    "/1.0.70/resumed/",
];

#[test]
fn contexts_of_the_corpus_are_what_was_sent() {
    let Some(corpus) = corpus("contexts_of_the_corpus") else { return };
    let mut count = 0;
    for file in sessions(&corpus) {
        let path = file.to_string_lossy();
        let folder = file.parent().expect("a folder");
        let scenario = folder.parent().and_then(Path::parent).expect("a scenario");
        let recorded = scenario.join("expected").join(format!("{}.1.0.102.json", name(folder)));
        if !recorded.is_file() || OTHERWISE.iter().any(|other| path.contains(other)) {
            continue;
        }
        let recorded: Value = serde_json::from_slice(&read(&recorded)).expect("JSON");
        let Some(sent) = recorded["messages"].as_array().filter(|_| recorded["opened"] == true)
        else {
            continue;
        };
        // The last one is the prompt of the recording.
        let sent = &sent[..sent.len() - 1];
        let ours = messages(&read(&file), Form::Own);
        assert_eq!(ours.len(), sent.len(), "{path}");
        for (ours, sent) in ours.iter().zip(sent) {
            let (ours, sent) = (compared(ours), compared(sent));
            assert!(is_same(&ours, &sent), "{path}: {ours}\n{sent}");
        }
        count += 1;
    }
    assert!(count > 55, "{count}");
}

#[test]
fn an_edited_question_is_edited_where_it_is_sent() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("copilot-cli/v1/beehive");
    let stream = String::from_utf8(to_canonical(&source, &options)).expect("UTF-8");
    let edited = stream.replacen("Rename west to east.", "Rename it.", 1);
    let back = String::from_utf8(from_canonical(edited.as_bytes(), "copilot-cli", &options));
    let back = back.expect("UTF-8");
    assert_eq!(back.matches("Rename it.").count(), 2, "{back}");
    assert_eq!(back.replace("Rename it.", "Rename west to east.").as_bytes(), source);
}

#[test]
fn messages_of_a_sub_agent_are_not_sent_and_stay() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("copilot-cli/v1/helper");
    assert_eq!(messages(&source, Form::Own).len(), 4);
    let (done, _) = converted(&source, recognise(&source).expect("known").0, 1, "pi", &options);
    let pi = String::from_utf8(alone(&done.expect("a session"))).expect("UTF-8");
    assert!(pi.contains("Twelve jars."), "{pi}");
}

/// A session of three events, each a line.
fn small() -> Vec<Value> {
    let event = |number: u32, kind: &str, data: Value| {
        let id = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
        let parent = (number > 1).then(|| id(number - 1));
        json!({"type": kind, "data": data, "id": id(number), "parentId": parent,
            "timestamp": format!("2026-05-01T10:00:{number:02}.000Z")})
    };
    let session = "0f6a1c52-8c0e-4d77-9f21-5a6d0c9e4b10";
    let call = json!({"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}});
    vec![
        event(
            1,
            "session.start",
            json!({"sessionId": session, "version": 1, "producer": "copilot-agent",
                "copilotVersion": "1.0.44", "startTime": "2026-05-01T10:00:00.000Z"}),
        ),
        event(2, "user.message", json!({"content": "What is here?"})),
        event(
            3,
            "assistant.message",
            json!({"messageId": "m", "content": "", "toolRequests": [call]}),
        ),
        event(
            4,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": true, "result": {"content": "a.txt"}}),
        ),
        event(5, "assistant.message", json!({"messageId": "n", "content": "One file."})),
    ]
}

fn lines(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("{event}\n").into_bytes()).collect()
}

pub fn repaired(damaged: &[u8], resumable: bool) -> Vec<u8> {
    let (options, log) = (options(OnError::Keep, Choice::Derived), Log::default());
    let cx = Cx { options: &options, log: &log };
    let wanted = RepairOptions { resumable, name: "events".to_owned(), ..RepairOptions::default() };
    let (mut parts, mut out) = (Bytes::new(damaged), Buffer::default());
    repair::run(&FORMAT, &mut parts, &mut out, &wanted, &cx).expect("a session");
    out.main()
}

/// Repairs a session, and returns what a model gets of it.
fn sent_when_repaired(damaged: &[u8]) -> Vec<Value> {
    let text = repaired(damaged, false);
    assert!(repaired(&text, false) == text, "{}", String::from_utf8_lossy(&text));
    messages(&text, Form::Own)
}

#[test]
fn calls_get_results_and_results_lose_no_call() {
    let mut events = small();
    events.remove(3);
    let text = lines(&events);
    assert_eq!(repaired(&text, false), text);
    let whole = String::from_utf8(repaired(&text, true)).expect("UTF-8");
    assert_eq!(whole.lines().count(), 5, "{whole}");
    assert!(whole.contains(r#""toolCallId":"c1","success":false"#), "{whole}");
    let mut events = small();
    events.remove(2);
    let orphan = String::from_utf8(repaired(&lines(&events), true)).expect("UTF-8");
    assert!(orphan.lines().count() == 3 && !orphan.contains("c1"), "{orphan}");
    let mut events = small();
    events.swap(3, 4);
    let late = String::from_utf8(repaired(&lines(&events), true)).expect("UTF-8");
    assert!(late.find("a.txt") < late.find("One file."), "{late}");
}

#[test]
fn what_a_release_refuses_is_repaired() {
    let good = messages(&lines(&small()), Form::Own);
    assert_eq!(good.len(), 4);
    for (event, path) in [
        (1, "/id"),
        (2, "/timestamp"),
        (3, "/parentId"),
        (0, "/data/startTime"),
        (0, "/data/copilotVersion"),
        (4, "/data/messageId"),
    ] {
        for value in [None, Some(json!(7))] {
            let mut events = small();
            let (holder, member) = path.rsplit_once('/').expect("a path");
            let holder = events[event].pointer_mut(holder).and_then(Value::as_object_mut);
            let holder = holder.expect("an object");
            match value {
                Some(value) => holder.insert(member.to_owned(), value),
                None => holder.remove(member),
            };
            assert_eq!(sent_when_repaired(&lines(&events)), good, "{path}");
        }
    }
    let text = String::from_utf8(lines(&small())).expect("UTF-8");
    let glued =
        text.replacen("\n{\"data\":{\"messageId\":\"m\"", "{\"data\":{\"messageId\":\"m\"", 1);
    assert_eq!(sent_when_repaired(glued.as_bytes()).len(), 4, "{glued}");
    let first_lost = text.split_once('\n').expect("lines").1;
    assert_eq!(sent_when_repaired(first_lost.as_bytes()), good);
    let nuls = [text.as_bytes(), &[0; 40]].concat();
    assert_eq!(sent_when_repaired(&nuls), good);
    let half = text.replace("a.txt", "a\\ud83dtxt");
    let kept = String::from_utf8(alone(&repaired(half.as_bytes(), false))).expect("UTF-8");
    assert!(kept.contains("a\\ufffdtxt"), "{kept}");
    let raw = text.replace("a.txt", "a\u{2028}txt");
    let kept = String::from_utf8(alone(&repaired(raw.as_bytes(), false))).expect("UTF-8");
    assert!(kept.contains("a\\u2028txt") && !kept.contains('\u{2028}'), "{kept}");
}

#[test]
fn tool_start_is_that_of_its_call() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("copilot-cli/v1/beehive");
    let stream = String::from_utf8(to_canonical(&source, &options)).expect("UTF-8");
    let starts = stream.lines().filter(|line| line.contains(r#""kind":"event""#));
    assert!(starts.clone().all(|line| line.contains(r#""derived":true"#)) && starts.count() == 3);
    // The call alone is edited, and its event follows.
    let edit = |line: &str| match line.contains(r#""kind":"message""#) {
        true => line.replace("wc -l hives.md", "wc hives.md"),
        false => line.to_owned(),
    };
    let edited: String = stream.lines().map(|line| edit(line) + "\n").collect();
    let back = String::from_utf8(from_canonical(edited.as_bytes(), "copilot-cli", &options));
    let back = back.expect("UTF-8");
    assert_eq!(back.replace("wc hives.md", "wc -l hives.md").as_bytes(), source);
    assert_eq!(back.matches("wc hives.md").count(), 2, "{back}");
    // The call is deleted, and its event with it.
    let edit = |line: &str| line.replace(r#""id":"call_2""#, r#""id":"call_9""#);
    let edited: String = stream.lines().map(|line| edit(line) + "\n").collect();
    let back = String::from_utf8(from_canonical(edited.as_bytes(), "copilot-cli", &options));
    let back = back.expect("UTF-8");
    assert_eq!(back.lines().count() + 1, stream.lines().count(), "{back}");
}

#[test]
fn a_branch_without_a_folder_is_omitted() {
    let options = options(OnError::Stop, Choice::Derived);
    let head = json!({"kind": "session", "id": "s", "branch": "main"});
    let asked = json!({"kind": "message", "role": "user", "content": "What is here?"});
    for (cwd, count) in [(None, 0), (Some("/home/ada"), 1)] {
        let mut head = head.clone();
        cwd.into_iter().for_each(|cwd| head["cwd"] = json!(cwd));
        let made = from_canonical(&lines(&[head, asked.clone()]), "copilot-cli", &options);
        let made = String::from_utf8(made).expect("UTF-8");
        assert_eq!(made.matches(r#""branch":"main""#).count(), count, "{made}");
        assert_eq!(made.matches(r#""context""#).count(), count, "{made}");
    }
}
