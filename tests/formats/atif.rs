//! ATIF: what Harbor demands of a document holds for each one that is written, documents of other
//! programs come back as they are, and a session needs no origin for what a model gets.

use crate::common::{
    self, alone, converted, corpus, files, from_canonical, options, own_inputs, read, recognise,
    session, to_canonical,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::Code;
use copyist::format::{OnError, Options};
use copyist::formats::atif::FORMAT;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::path::PathBuf;

fn keep() -> Options {
    Options { origin: false, ..options(OnError::Keep, Choice::Derived) }
}

fn value(text: &[u8]) -> Value {
    serde_json::from_slice(text).expect("JSON")
}

/// A session as a trajectory.
fn trajectory(source: &[u8]) -> Option<Value> {
    let (format, version) = recognise(source)?;
    let (done, _) = converted(source, format, version, "atif", &keep());
    serde_json::from_slice(&alone(&done.ok()?)).ok()
}

/// Messages that a model gets, without those of the system.
fn sent(session: &[u8]) -> Option<Vec<Value>> {
    let request = Request { form: Form::Canonical, ..Request::default() };
    let context = value(&common::context(session, &request, &keep()).0.ok()?);
    let messages = context["messages"].as_array()?.iter();
    Some(messages.filter(|message| message["role"] != "system").cloned().collect())
}

/// Faults for which Harbor's validator refuses a list of steps.
fn faults(document: &Value) -> Vec<String> {
    const OF_ANSWERS: &[&str] =
        &["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];
    let steps = document["steps"].as_array().expect("steps");
    let mut faults = Vec::new();
    if steps.is_empty() {
        faults.push("no step".to_owned());
    }
    for (number, step) in (1..).zip(steps) {
        let mut fault = |what: &str| faults.push(format!("step {number}: {what}"));
        if step["step_id"] != json!(number) {
            fault("number");
        }
        if step.get("message").is_none() || step["message"].is_null() {
            fault("no message");
        }
        let answers = step["source"] == "agent";
        if !answers && OF_ANSWERS.iter().any(|name| step.get(*name).is_some()) {
            fault("member of an answer");
        }
        let none = Vec::new();
        let calls = step["tool_calls"].as_array().unwrap_or(&none);
        if calls.iter().any(|call| !call["arguments"].is_object()) {
            fault("arguments");
        }
        for result in step["observation"]["results"].as_array().unwrap_or(&none) {
            let call = &result["source_call_id"];
            if !call.is_null() && !calls.iter().any(|own| own["tool_call_id"] == *call) {
                fault("result of another step");
            }
        }
    }
    let agents = document["subagent_trajectories"].as_array().into_iter().flatten();
    agents.for_each(|agent| faults.extend(self::faults(agent)));
    faults
}

#[test]
fn harbor_accepts_what_is_written_of_each_own_session() {
    let mut judged = 0;
    for path in own_inputs() {
        let source = session(&path);
        if recognise(&source).is_some_and(|(format, _)| *format == FORMAT) {
            continue;
        }
        let Some(document) = trajectory(&source) else { continue };
        assert_eq!(faults(&document), Vec::<String>::new(), "{}", path.display());
        assert_eq!(document["schema_version"], "ATIF-v1.7");
        judged += 1;
    }
    assert!(judged > 30, "{judged}");
}

#[test]
fn a_session_needs_no_origin_for_what_a_model_gets() {
    for case in ["pi/v3/everything", "codex/v2/polish", "copilot-cli/v1/beehive"] {
        let source = common::own(case);
        let (format, version) = recognise(&source).expect("a known format");
        let away = converted(&source, format, version, "atif", &keep()).0.expect("a trajectory");
        let back = converted(&away, &FORMAT, 1, &format.at(version), &keep()).0.expect("a session");
        assert_eq!(sent(&away), sent(&source), "{case}");
        assert_eq!(sent(&back), sent(&source), "{case}");
    }
}

/// Documents of other programs, of our own and of the corpus.
fn documents() -> Vec<PathBuf> {
    let is_own = |file: &PathBuf| recognise(&read(file)).is_some_and(|(own, _)| *own == FORMAT);
    let mut all: Vec<_> = own_inputs().into_iter().filter(is_own).collect();
    if let Some(corpus) = corpus("documents of Harbor") {
        let corpus = corpus.join("atif");
        let other = |file: &PathBuf| !file.to_string_lossy().contains("/probes/");
        all.extend(files(&corpus).into_iter().filter(other).filter(is_own));
    }
    all
}

/// JSON without the numbers of steps, and without images whose files only the place of the document
/// can name.
fn compared(mut document: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("step_id");
                map.values_mut().for_each(walk);
            }
            Value::Array(list) => list.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut document);
    document
}

#[test]
fn documents_of_other_programs_come_back_through_the_stream() {
    for path in documents() {
        let source = read(&path);
        let stream = to_canonical(&source, &keep());
        let back = from_canonical(&stream, "atif", &keep());
        assert_eq!(compared(value(&back)), compared(value(&source)), "{}", path.display());
    }
}

fn document(steps: &Value) -> Vec<u8> {
    json!({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": steps})
        .to_string()
        .into_bytes()
}

/// The records of a document, behind that of the session.
fn records(document: &[u8]) -> Vec<Value> {
    let stream = to_canonical(document, &keep());
    let lines = stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.skip(1).map(value).collect()
}

#[test]
fn results_find_their_calls() {
    let call = |id: &str| json!({"tool_call_id": id, "function_name": "f", "arguments": {}});
    let step = |calls: &[Value], results: Value| {
        json!([{"step_id": 1, "source": "agent", "message": "", "tool_calls": calls,
            "observation": {"results": results}}])
    };
    let named = step(&[call("a"), call("b")], json!([{"source_call_id": "b", "content": "x"}]));
    let only = step(&[call("a")], json!([{"content": "x"}]));
    let observed = step(&[call("a"), call("b")], json!([{"content": "x"}]));
    let of = |steps: &Value| records(&document(steps))[1].clone();
    assert_eq!(of(&named)["content"][0]["call"], "b");
    assert_eq!(of(&only)["content"][0]["call"], "a");
    assert_eq!(of(&observed)["role"], "user");
    for steps in [named, only, observed] {
        let stream = to_canonical(&document(&steps), &keep());
        assert_eq!(value(&from_canonical(&stream, "atif", &keep()))["steps"], steps);
    }
}

#[test]
fn behind_a_boundary_the_context_is_new() {
    let steps = json!([
        {"step_id": 1, "source": "user", "message": "Before."},
        {"step_id": 2, "source": "system", "message": "Compacted.",
            "observation": {"results": [{"content": "They spoke."}]},
            "extra": {"context_management": {"type": "compaction", "boundary": "replace"}}},
        {"step_id": 3, "source": "user", "message": "After."},
    ]);
    let sent = Value::from(sent(&document(&steps)).expect("a context")).to_string();
    assert!(!sent.contains("Before.") && sent.contains("They spoke.") && sent.contains("After."));
}

#[test]
fn what_harbor_refuses_is_read_and_reported() {
    let found = |steps: Value| {
        let text = document(&steps);
        let (done, found) = converted(&text, &FORMAT, 1, "canonical", &keep());
        done.expect("a stream");
        found.counts
    };
    let zero = found(json!([{"step_id": 0, "source": "user", "message": "x"}]));
    assert!(zero.contains_key(&Code::StepNumber));
    let strange = found(json!([{"step_id": 1, "source": "agent", "message": "",
        "observation": {"results": [{"source_call_id": "gone", "content": "x"}]}}]));
    assert!(strange.contains_key(&Code::StepCall));
}

#[test]
fn a_compaction_repeats_the_steps_that_it_keeps() {
    let line = |id: &str, parent: &str, rest: Value| {
        let mut line = json!({"kind": "message", "id": id, "parent": parent});
        line.as_object_mut().expect("an object").extend(rest.as_object().expect("one").clone());
        line.to_string()
    };
    let session = json!({"kind": "session", "id": "s", "created": "2026-01-01T00:00:00Z"});
    let lines = [
        session.to_string(),
        json!({"kind": "message", "id": "a", "parent": null, "role": "user", "content": "One."})
            .to_string(),
        line("b", "a", json!({"role": "user", "content": "Two."})),
        json!({"kind": "compaction", "id": "c", "parent": "b", "summary": "One.",
            "first_kept": "b"})
        .to_string(),
        line("d", "c", json!({"role": "user", "content": "Three."})),
    ];
    let stream = lines.join("\n") + "\n";
    let text = from_canonical(stream.as_bytes(), "atif", &keep());
    let document = value(&text);
    assert_eq!(faults(&document), Vec::<String>::new());
    let copied = &document["steps"][3];
    assert_eq!((&copied["message"], &copied["is_copied_context"]), (&json!("Two."), &json!(true)));
    assert_eq!(records(&text).len(), 4, "a copy is no record");
    let edited = String::from_utf8(text).expect("UTF-8").replacen("Two.", "2.", 1);
    let (done, found) = converted(edited.as_bytes(), &FORMAT, 1, "canonical", &keep());
    done.expect("a stream");
    assert!(found.counts.contains_key(&Code::CopyChanged));
}

#[test]
fn an_edit_of_a_step_is_an_edit_of_its_record() {
    let source = common::own("claude-code/v2/parallel");
    let (format, version) = recognise(&source).expect("a known format");
    let away = converted(&source, format, version, "atif", &keep()).0.expect("a trajectory");
    let text = String::from_utf8(away).expect("UTF-8");
    let edited = text.replace("Which lamps are lit?", "Which lamps are out?");
    assert_ne!(edited, text);
    let records = records(edited.as_bytes());
    assert!(records.iter().any(|record| record.to_string().contains("Which lamps are out?")));
    assert!(!records.iter().any(|record| record.to_string().contains("Which lamps are lit?")));
}

#[test]
fn a_thought_that_is_only_a_signature_comes_back_once() {
    let lines = [
        json!({"kind": "session", "source": "claude-code@2", "id": "a1"}),
        json!({"kind": "message", "id": "a", "parent": null, "role": "user", "content": "Look."}),
        json!({"kind": "message", "id": "b", "parent": "a", "role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "SIG"},
            {"type": "text", "text": "Yes."}]}),
    ];
    let stream: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let written = from_canonical(&stream, "atif", &keep());
    let back = records(&alone(&written));
    assert_eq!(back[1]["content"], lines[2]["content"]);
}

#[test]
fn a_document_of_ours_stays_whole_when_it_is_written_again() {
    for path in own_inputs() {
        let source = session(&path);
        let Some(written) = trajectory(&source) else { continue };
        let Some((format, version)) = recognise(&source) else { continue };
        let text = alone(&converted(&source, format, version, "atif", &keep()).0.expect("written"));
        let stream = to_canonical(&text, &keep());
        let again = value(&alone(&from_canonical(&stream, "atif", &keep())));
        for name in ["name", "version", "model_name"] {
            assert_eq!(again["agent"][name], written["agent"][name], "{}", path.display());
        }
        // Arguments that are no object stay what they were, as in documents of others.
        let others = |fault: &String| !fault.ends_with(": arguments");
        let faults: Vec<String> = faults(&again).into_iter().filter(others).collect();
        assert_eq!(faults, Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn members_without_items_come_back() {
    let steps = json!([{"step_id": 1, "source": "agent", "message": "Yes.", "tool_calls": []},
        {"step_id": 2, "source": "robot", "message": "Beep."}]);
    for agents in [
        Value::Null,
        json!([]),
        json!([{"schema_version": "ATIF-v1.7",
        "trajectory_id": "t", "agent": {"name": "a", "version": "1"}, "steps": []}]),
    ] {
        let mut whole = value(&document(&steps));
        whole["subagent_trajectories"] = agents;
        let text = serde_json::to_vec(&whole).expect("JSON");
        let stream = to_canonical(&text, &keep());
        assert_eq!(value(&alone(&from_canonical(&stream, "atif", &keep()))), whole);
    }
}

#[test]
fn repair_completes_the_agent_and_numbers_the_steps() {
    let mut whole = value(&document(&json!([{"source": "user", "message": "Look."},
        {"step_id": 7, "source": "agent", "message": "Yes."}])));
    whole["agent"] = json!({});
    let dir = common::Dir::new();
    dir.write("t.json", whole.to_string().as_bytes());
    let (code, said) = dir.said(&["repair", "--resumable", "-o", "o.json", "t.json"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = dir.said(&["validate", "o.json"]);
    assert_eq!(code, 0, "{said}");
}
