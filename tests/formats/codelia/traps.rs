//! The traps of Codelia's files, each in a small one of our own.

use super::sent;
use crate::common::{
    Dir, assert_same, converted, files, files_of, from_canonical, options, own, read, recognise,
    to_canonical,
};
use copyist::diagnostic::Code;
use copyist::format::{OnError, Options};
use copyist::formats::codelia::FORMAT;
use copyist::ids::Choice;

/// The records of a stream, with what they say.
fn records(case: &str) -> Vec<serde_json::Value> {
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = to_canonical(&own(&format!("codelia/{case}")), &keep);
    let lines = stream.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a record")).collect()
}

fn of_kind<'r>(records: &'r [serde_json::Value], kind: &str) -> Vec<&'r serde_json::Value> {
    records.iter().filter(|record| record["kind"] == kind).collect()
}

#[test]
fn a_request_that_shows_its_own_answer_does_not_double_it() {
    let records = records("v1/aliased");
    let messages = of_kind(&records, "message");
    let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().expect("a role")).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let ids: Vec<_> = messages.iter().map(|m| m["id"].clone()).collect();
    let answers: Vec<_> =
        of_kind(&records, "response").iter().map(|r| r["messages"].clone()).collect();
    assert_eq!(answers, [serde_json::json!([ids[1]]), serde_json::json!([ids[3]])]);
    let outputs = of_kind(&records, "tool_output");
    assert_eq!(outputs[0]["messages"], serde_json::json!([ids[2]]));
}

#[test]
fn a_compacted_history_is_a_branch_of_its_own() {
    let records = records("v1/compacted");
    let roots = of_kind(&records, "message").iter().filter(|m| m["parent"].is_null()).count();
    assert_eq!(roots, 2);
    let said = sent(&own("codelia/v1/compacted"));
    let first = said[0]["content"][0]["text"].as_str().expect("a text");
    assert!(first.starts_with("[codelia.compaction.retain]"), "{first}");
    assert_eq!(said.len(), 4);
}

#[test]
fn a_tools_message_is_what_the_model_was_shown() {
    let records = records("v1/lamp");
    let tools: Vec<_> =
        of_kind(&records, "message").into_iter().filter(|m| m["role"] == "tool").collect();
    let content = |n: usize| &tools[n]["content"][0]["content"];
    assert_eq!(tools.len(), 3);
    assert!(content(0).as_str().expect("a text").contains("[tool output truncated; ref=toolu_1]"));
    assert_eq!(content(1)[1]["type"], "image");
    // The whole output stands beside it.
    let outputs = of_kind(&records, "tool_output");
    assert!(outputs[0]["output"].as_str().expect("a text").ends_with("08:39 lamp off\n"));
    assert_eq!(outputs[1]["output"], "image:[image]");
    // Numbers of events with gaps come as they are.
    let seqs: Vec<_> = of_kind(&records, "event").iter().map(|e| e["seq"].clone()).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16]);
}

#[test]
fn two_lines_that_a_crash_fused_are_both_reported_and_kept() {
    let source = String::from_utf8(own("codelia/v1/aliased")).expect("UTF-8");
    let lines: Vec<_> = source.lines().collect();
    let fused = format!("{}{}", &lines[6][..40], lines[7]);
    let source = source.replacen(&format!("{}\n{}", lines[6], lines[7]), &fused, 1);
    let keep = options(OnError::Keep, Choice::Derived);
    let (format, version) = recognise(source.as_bytes()).expect("a run");
    let (done, found) = converted(source.as_bytes(), format, version, "canonical", &keep);
    assert!(found.counts.contains_key(&Code::Syntax), "{:?}", found.counts);
    let back = from_canonical(&done.expect("readable"), "codelia", &keep);
    assert_same(&back, source.as_bytes(), "fused lines");
}

#[test]
fn three_spellings_of_an_answer_without_text_stay_three() {
    let records = records("v1/state");
    let empty = of_kind(&records, "message").into_iter().filter(|m| m["role"] == "assistant");
    let spelled: Vec<_> = empty.map(|m| m["content"].clone()).collect();
    let expected = [serde_json::json!(null), serde_json::json!(""), serde_json::json!([])];
    assert_eq!(spelled[1..4], expected);
}

#[test]
fn an_edit_in_the_stream_changes_that_and_nothing_else() {
    let keep = options(OnError::Keep, Choice::Derived);
    // What is changed in the stream, in the file, and in how many places it stands there.
    let edits = [
        ("\"text\":\"Is the lamp lit?", "\"text\":\"Is the lamp lit?", 3),
        ("\"content\":\"Looking.", "\"content\":\"Looking.", 2),
        ("\\\"command\\\":\\\"tail", "\"arguments\":\"{\\\"command\\\":\\\"tail", 2),
        ("\"input\":900", "\"input_tokens\":900", 1),
        ("\"context_left\":9", "\"context_left_percent\":9", 1),
        ("\"final\":\"No: it is off", "\"final\":\"No: it is off", 1),
        ("You are Codelia", "You are Codelia", 3),
    ];
    let source = String::from_utf8(own("codelia/v1/lamp")).expect("UTF-8");
    let stream = String::from_utf8(to_canonical(source.as_bytes(), &keep)).expect("UTF-8");
    for (canonical, wire, places) in edits {
        let put = |text: &str, at: &str, times| text.replacen(at, &format!("{at}7"), times);
        assert!(stream.contains(canonical), "{canonical}");
        assert_eq!(source.matches(wire).count(), places, "{wire}");
        let edited = put(&stream, canonical, 1);
        let expected = put(&source, wire, places);
        let back = from_canonical(edited.as_bytes(), "codelia", &keep);
        assert_same(&back, expected.as_bytes(), canonical);
    }
}

/// A run with so many requests, each of which shows all that was said before.
fn long_run(requests: usize) -> (String, usize) {
    let run = "3f0c5a52-9d0e-4c0a-8f3e-0b7f6f1c2d11";
    let line = |kind: &str, rest: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"run_id\":\"{run}\",\"ts\":\"2026-09-14T08:30:00.000Z\",{rest}}}\n"
        )
    };
    let prompt = format!("You are Codelia. {}", "Be careful. ".repeat(100));
    let tools = format!("[{{\"name\":\"shell\",\"description\":\"{}\"}}]", "Runs it. ".repeat(200));
    let mut out = format!(
        "{{\"type\":\"header\",\"schema_version\":1,\"run_id\":\"{run}\",\"started_at\":\"2026-09-14T08:30:00.000Z\",\"prompts\":{{\"system\":\"{prompt}\"}},\"tools\":{{\"definitions\":{tools}}}}}\n"
    );
    out += &line("run.start", "\"input\":{\"type\":\"text\",\"text\":\"Go\"}");
    let mut unique = out.len();
    let mut shown = format!(
        "{{\"role\":\"system\",\"content\":\"{prompt}\"}},{{\"role\":\"user\",\"content\":\"Go\"}}"
    );
    for n in 1..=requests {
        out += &line(
            "llm.request",
            &format!(
                "\"seq\":{n},\"input\":{{\"messages\":[{shown}],\"tools\":{tools},\"tool_choice\":null}}"
            ),
        );
        let call = format!(
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"shell\",\"arguments\":\"{{}}\"}}}}]}}"
        );
        let printed = format!("{n} {}", "output ".repeat(100));
        let answer = format!(
            "{{\"role\":\"tool\",\"tool_call_id\":\"c{n}\",\"tool_name\":\"shell\",\"content\":\"{printed}\"}}"
        );
        let said =
            line("llm.response", &format!("\"seq\":{n},\"output\":{{\"messages\":[{call}]}}"))
                + &line(
                    "tool.output",
                    &format!(
                        "\"tool\":\"shell\",\"tool_call_id\":\"c{n}\",\"result_raw\":\"{printed}\""
                    ),
                );
        unique += said.len();
        out += &said;
        shown = format!("{shown},{call},{answer}");
    }
    (out, unique)
}

#[test]
fn a_stream_grows_with_messages_and_not_with_what_is_shown() {
    let (source, unique) = long_run(200);
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = to_canonical(source.as_bytes(), &keep);
    assert_same(&from_canonical(&stream, "codelia", &keep), source.as_bytes(), "200 requests");
    let most = unique * 13 / 10 + 200 * 600;
    println!(
        "{} bytes, {unique} of them said once: {} in the stream, at most {most}",
        source.len(),
        stream.len()
    );
    assert!(stream.len() <= most && stream.len() * 10 < source.len());
}

/// A value with the members of all objects in the order of their names, as `jq -S` prints them.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            let members: std::collections::BTreeMap<_, _> = map.into_iter().collect();
            members.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        serde_json::Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The words of a source in the layouts of other programs.
fn layouts(source: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(source).expect("UTF-8");
    let values: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(text).into_iter().map(|v| v.expect("JSON")).collect();
    let lines = |print: fn(&serde_json::Value) -> String| {
        values.iter().map(|value| print(&sorted(value.clone())) + "\n").collect::<String>()
    };
    let mut layouts = vec![lines(serde_json::Value::to_string)];
    if let [state] = values.as_slice() {
        layouts.push(serde_json::to_string_pretty(state).expect("JSON") + "\n");
        layouts.push(lines(|value| serde_json::to_string_pretty(value).expect("JSON")));
        layouts.push(layouts[2].replace('\n', "\r\n"));
    }
    layouts
}

/// What another program sorted, and a state that one laid out on many lines, is in every format on
/// as many lines as that has records, and comes home byte for byte.
#[test]
fn files_that_were_reprinted_come_back() {
    let keep = options(OnError::Keep, Choice::Derived);
    let mut count = 0;
    for case in ["v1/aliased", "v1/lamp", "v1/seed", "v1/seed-state", "v1/state", "v2/log"] {
        for text in layouts(&own(&format!("codelia/{case}"))) {
            let (format, version) = recognise(text.as_bytes()).expect("a format");
            let home = format.at(version);
            let stream = crate::common::to_canonical(text.as_bytes(), &keep);
            let records = stream.split(|b| *b == b'\n').filter(|line| !line.is_empty());
            let read = |line| serde_json::from_slice::<serde_json::Value>(line);
            assert!(records.into_iter().all(|line| read(line).is_ok()), "{case}");
            let back = crate::common::returned(text.as_bytes(), &keep);
            assert_same(&back, text.as_bytes(), case);
            for to in ["pi@3", "connectonion@2", "agent-orchestrator@2"] {
                let what = format!("{case} by {to}: {}", &text[..text.len().min(60)]);
                let (there, found) = converted(text.as_bytes(), format, version, to, &keep);
                let there = there.unwrap_or_else(|error| panic!("{what}: {error}"));
                let (other, version) = recognise(&there).expect("a format");
                let (back, said) = converted(&there, other, version, &home, &keep);
                let back = back.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_same(&back, text.as_bytes(), &format!("{what} {found:?} {said:?}"));
                count += 1;
            }
        }
    }
    assert!(count > 30, "{count}");
}

/// Where a request, or the output that it shows, has the same text in another spelling.
#[test]
fn an_output_that_is_spelled_otherwise_than_its_message_comes_home() {
    for case in ["codelia/v1/lamp", "codelia/v1/seed"] {
        let source = String::from_utf8(own(case)).expect("UTF-8");
        let spelled = [
            ("\"shell\"", "\"sh\\u0065ll\""),
            ("_call_id\":\"toolu_3\"", "_call_id\":\"tool\\u0075_3\""),
            ("_call_id\":\"call_1\"", "_call_id\":\"c\\u0061ll_1\""),
            ("\"id\":\"call_1\"", "\"id\":\"c\\u0061ll_1\""),
        ];
        for (old, new) in spelled {
            for outputs in [true, false] {
                let line = |line: &str| match line.contains("\"tool.output\"") == outputs {
                    true => line.replace(old, new) + "\n",
                    false => line.to_owned() + "\n",
                };
                let run: String = source.lines().map(line).collect();
                for to in ["canonical", "pi@3", "connectonion@2", "codelia@2"] {
                    comes_home(run.as_bytes(), to, &format!("{case}, {new}, {outputs}, {to}"));
                }
            }
        }
    }
}

fn comes_home(source: &[u8], to: &str, what: &str) {
    let keep = options(OnError::Keep, Choice::Derived);
    let (format, version) = recognise(source).expect("a known format");
    let (there, _) = converted(source, format, version, to, &keep);
    let there = there.expect("a session");
    let (seen, number) = recognise(&there).expect("a known format");
    let (back, told) = converted(&there, seen, number, &format.at(version), &keep);
    let back = files_of(&back.expect("a session")).remove(0).1;
    assert_same(&back, source, &format!("{what}: {:?}", told.counts));
}

#[test]
fn a_state_whose_numbers_no_column_keeps_is_reported() {
    let source = String::from_utf8(own("codelia/v1/state")).expect("UTF-8");
    let keep = options(OnError::Keep, Choice::Derived);
    for (old, new) in [
        ("\"invoke_seq\":5", "\"invoke_seq\":5.0"),
        ("\"invoke_seq\":5", "\"invoke_seq\":null"),
        ("\"schema_version\":1", "\"schema_version\":1.00"),
        ("\"run_id\":\"3f", "\"run_id\":\"\\u0033f"),
    ] {
        let state = source.replacen(old, new, 1);
        assert_ne!(state, source);
        let plain = Options { origin: false, ..keep.clone() };
        let (there, told) = converted(state.as_bytes(), &FORMAT, 1, "codelia@2", &plain);
        assert!(there.is_ok() && told.dropped() > 0, "{new}: {:?}", told.counts);
    }
    comes_home(source.as_bytes(), "codelia@2", "as the runtime spells it");
}

#[test]
fn a_log_whose_first_message_is_unusual_is_a_log() {
    let source = String::from_utf8(own("codelia/v1/state")).expect("UTF-8");
    let first = "\"role\":\"system\",\"content\":\"You are Codelia, a coding assistant.\\nWorkspace: /home/ada/灯台\"";
    for new in ["\"role\":null,\"content\":\"x\"", "\"role\":\"system\""] {
        let state = source.replacen(first, new, 1);
        assert_ne!(state, source);
        comes_home(state.as_bytes(), "codelia@2", new);
        let dir = Dir::new();
        dir.write("s.json", state.as_bytes());
        assert_eq!(dir.exit(&["convert", "-t", "codelia@2", "--out-dir", "o", "s.json"]).0, 0);
        let (code, said) = dir.exit(&["convert", "-t", "codelia@1", "--out-dir", "h", "o"]);
        assert_eq!(code, 0, "{said}");
        assert_same(&read(&files(&dir.path("h"))[0]), state.as_bytes(), &said);
    }
}
