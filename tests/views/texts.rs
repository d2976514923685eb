//! Every text of every message is in the views.

use crate::common::{inputs_below, own_inputs, session, testdata};
use crate::{try_view, view};
use copyist::format::OnError;
use copyist::ids::Choice;
use copyist::json::Json;
use copyist::json::text::lone_halves;
use copyist::show::{Form, Request};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// All inputs of the test data, damaged ones included.
fn inputs() -> Vec<PathBuf> {
    let mut all = [own_inputs(), inputs_below(&testdata().join("damaged"))].concat();
    all.push(testdata().join("views/session.jsonl"));
    all
}

/// The words of letters in a text, without the colours of terminals.
fn words(text: &str) -> Vec<String> {
    let colored = text.split("\u{1b}[").enumerate();
    let plain = colored.map(|(number, piece)| match number {
        0 => piece,
        _ => piece.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest),
    });
    let plain = plain.collect::<Vec<_>>().concat();
    let words = plain.split(|c: char| !c.is_alphabetic());
    words.filter(|word| word.len() > 2).map(str::to_owned).collect()
}

/// The texts of messages in the stream of a session: of texts, thoughts, results and commands.
fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|each| texts(each, all)),
        Value::Object(members) => {
            for (name, each) in members {
                match each {
                    Value::String(text) if NAMES.contains(&name.as_str()) => all.push(text.clone()),
                    Value::String(_) => {}
                    _ if NOT_TEXT.contains(&name.as_str()) => {}
                    each => texts(each, all),
                }
            }
        }
        _ => {}
    }
}

/// Members that are no texts of messages: data of programs, and files.
const NOT_TEXT: &[&str] = &["extra", "details", "data", "attachments"];

const NAMES: &[&str] = &["text", "thinking", "content", "command", "output", "summary"];

/// The view of a session as JSON; `None` for a damaged one that cannot be opened.
fn opened(input: &Path, source: &[u8]) -> Option<Value> {
    let view = try_view(source, &Request::new(Form::Json));
    assert!(view.is_some() || input.starts_with(testdata().join("damaged")), "{}", input.display());
    view.map(|view| serde_json::from_str(&view).expect("JSON"))
}

/// A line of JSON without halves of surrogate pairs, which not every parser reads.
fn without_halves(line: &str) -> String {
    let json: Json = line.parse().expect("JSON");
    let mut line = line.as_bytes().to_vec();
    for half in lone_halves(json.as_bytes()) {
        line[half.start..half.end].copy_from_slice(b"\\ufffd");
    }
    String::from_utf8(line).expect("UTF-8")
}

fn decoded(html: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(html.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[test]
fn texts_of_all_messages_are_in_every_complete_view() {
    for input in inputs() {
        let source = session(&input);
        let Some(data) = opened(&input, &source) else { continue };
        let options = crate::common::options(OnError::Keep, Choice::Derived);
        let stream = crate::common::to_canonical(&source, &options);
        let stream = String::from_utf8(stream).expect("UTF-8");
        let mut wanted = Vec::new();
        for line in stream.lines() {
            let parsed = serde_json::from_str(&without_halves(line));
            // Only nesting that no other reader takes is left out.
            assert!(parsed.is_ok() || input.to_string_lossy().contains("/spellings/"), "{line}");
            let Ok::<Value, _>(record) = parsed else { continue };
            if ["message", "compaction", "branch_summary"]
                .iter()
                .any(|kind| record["kind"] == *kind)
            {
                texts(&record, &mut wanted);
            }
        }
        let page = decoded(&view(&source, &Request::new(Form::Html)));
        let markdown = view(&source, &Request::new(Form::Markdown));
        let data = data.to_string();
        for text in wanted {
            for word in words(&text) {
                for (name, view) in [("page", &page), ("markdown", &markdown), ("json", &data)] {
                    assert!(view.contains(&word), "{}: {word} is not in {name}", input.display());
                }
            }
        }
    }
}

#[test]
fn texts_in_yaml_are_those_in_json() {
    for input in inputs() {
        let source = session(&input);
        let Some(json) = opened(&input, &source) else { continue };
        let yaml = view(&source, &Request::new(Form::Yaml));
        let yaml: Value = serde_yaml::from_str(&yaml).expect("YAML");
        assert_eq!(json, yaml, "{}", input.display());
    }
}

/// A rollout with calls of the interface's own tools.
const PROVIDED: &[&str] = &[
    r#"{"timestamp":"2026-08-12T09:00:00.000Z","type":"session_meta","payload":{"id":"0d6f8a42-1f6e-4b1c-9c52-7f4a3b2c1d00","timestamp":"2026-08-12T09:00:00.000Z","cwd":"/srv/orrery","originator":"codex_cli_rs","cli_version":"0.153.0"}}"#,
    r#"{"timestamp":"2026-08-12T09:00:01.000Z","type":"response_item","payload":{"type":"tool_search_call","call_id":"c1","status":"completed","execution":"client","arguments":{"query":"gears"}}}"#,
    r#"{"timestamp":"2026-08-12T09:00:02.000Z","type":"response_item","payload":{"type":"tool_search_output","call_id":"c1","status":"completed","execution":"client","tools":[{"type":"function","name":"count_teeth"},{"type":"namespace","name":"brass","tools":[{"type":"function","name":"weigh"}]}]}}"#,
    r#"{"timestamp":"2026-08-12T09:00:03.000Z","type":"response_item","payload":{"type":"image_generation_call","id":"i1","status":"completed","revised_prompt":"a brass sun","result":"iVBORw0KGgo="}}"#,
    r#"{"timestamp":"2026-08-12T09:00:04.000Z","type":"response_item","payload":{"type":"image_generation_call","id":"i2","status":"failed","revised_prompt":null,"result":""}}"#,
    r#"{"timestamp":"2026-08-12T09:00:05.000Z","type":"response_item","payload":{"type":"web_search_call","status":"completed","action":{"type":"search","query":"brass polish"}}}"#,
    r#"{"timestamp":"2026-08-12T09:00:06.000Z","type":"response_item","payload":{"type":"web_search_call"}}"#,
];

#[test]
fn calls_of_the_interfaces_own_tools_are_shown_with_results() {
    let session = PROVIDED.join("\n") + "\n";
    let view: Value =
        serde_json::from_str(&view(session.as_bytes(), &Request::new(Form::Json))).expect("JSON");
    let items = view["items"].as_array().expect("items").iter();
    let blocks = items.flat_map(|item| item["blocks"].as_array().cloned().unwrap_or_default());
    let shown = |call: Value| {
        let result = &call["result"];
        let texts = result["blocks"].as_array().expect("a result").iter();
        let texts: Vec<_> = texts.map(|block| block["text"].as_str().expect("a text")).collect();
        let failed = if result["is_error"] == true { " (failed)" } else { "" };
        let name = call["name"].as_str().expect("a name");
        format!("{name} {}: {}{failed}", call["arguments"], texts.join(" ").replace('\n', " / "))
    };
    let shown: Vec<_> = blocks.map(shown).collect();
    assert_eq!(
        shown,
        [
            r#"tool_search {"query":"gears"}: count_teeth / brass.weigh"#,
            r#"image_generation {"prompt":"a brass sun"}: image: image/png, 1 kB"#,
            r#"image_generation {}: failed (failed)"#,
            r#"web_search {"type":"search","query":"brass polish"}: completed"#,
            "web_search {}: ",
        ]
    );
}
