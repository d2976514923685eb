//! Every text of every message is in the views.

use crate::common::{inputs_below, own_inputs, session, testdata};
use crate::view;
use copyist::format::OnError;
use copyist::ids::Choice;
use copyist::show::{Form, Request};
use serde_json::Value;
use std::path::PathBuf;

/// All inputs of the test data, damaged ones included.
fn inputs() -> Vec<PathBuf> {
    let mut all = [own_inputs(), inputs_below(&testdata().join("damaged"))].concat();
    all.push(testdata().join("views/session.jsonl"));
    all
}

/// The words of letters in a text; entities count as nothing.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphabetic());
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
                    _ if name == "extra" || name == "details" || name == "data" => {}
                    each => texts(each, all),
                }
            }
        }
        _ => {}
    }
}

const NAMES: &[&str] = &["text", "thinking", "content", "command", "output", "summary"];

fn decoded(html: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(html.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[test]
fn texts_of_all_messages_are_in_every_complete_view() {
    for input in inputs() {
        let source = session(&input);
        if crate::common::recognise(&source).is_none() {
            continue;
        }
        let data: Value =
            serde_json::from_str(&view(&source, &Request::new(Form::Json))).expect("JSON");
        let options = crate::common::options(OnError::Keep, Choice::Derived);
        let stream = crate::common::to_canonical(&source, &options);
        let stream = String::from_utf8(stream).expect("UTF-8");
        let mut wanted = Vec::new();
        for line in stream.lines() {
            let record: Value = serde_json::from_str(line).expect("a record");
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
        if crate::common::recognise(&source).is_none() {
            continue;
        }
        let json: Value =
            serde_json::from_str(&view(&source, &Request::new(Form::Json))).expect("JSON");
        let yaml = view(&source, &Request::new(Form::Yaml));
        let yaml: Value = serde_yaml::from_str(&yaml).expect("YAML");
        assert_eq!(json, yaml, "{}", input.display());
    }
}
