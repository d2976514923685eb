//! ConnectOnion's files as people and other programs leave them: encodings of Windows, comments,
//! numbers of Python, layouts that the real software does not write.

use crate::common::{
    self, Dir, assert_same, converted, corpus, from_canonical, options, own, read, recognise,
    through_a_stream,
};
use copyist::context::Request;
use copyist::diagnostic::{Code, Findings};
use copyist::format::{Head, OnError, Options};
use copyist::ids::Choice;
use copyist::yaml::encoding::{self, encode};
use serde_json::Value;

fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// The stream, and what was said.
fn stream(bytes: &[u8]) -> (String, Findings) {
    let (format, version) = recognise(bytes).expect("a known format");
    let (done, found) = converted(bytes, format, version, "canonical", &keep());
    (String::from_utf8(done.expect("readable")).expect("UTF-8"), found)
}

/// There and back through the stream.
fn again(bytes: &[u8]) -> Vec<u8> {
    through_a_stream(bytes, &|stream| stream, &keep()).0
}

fn context(bytes: &[u8], request: &Request) -> Vec<Value> {
    let (sent, _) = common::context(bytes, request, &keep());
    common::as_javascript(&sent.expect("a context"))["messages"]
        .as_array()
        .expect("messages")
        .clone()
}

fn in_encoding(text: &str, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode(text, encoding::named(name).expect("an encoding"), &mut out).expect("its characters");
    out
}

#[test]
fn files_in_the_encodings_of_windows_come_back_byte_for_byte() {
    let harbour = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let tides = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    let ascii = |text: &str| text.replace(|c: char| !c.is_ascii(), "?");
    let accents = ascii(&harbour).replace("berths", "Liegeplätze").replace('\n', "\r\n");
    let chinese = ascii(&harbour).replace("Which berths are free?", "哪些泊位是空的？");
    for (text, name, guessed) in [
        (accents, "cp1252", true),
        (chinese, "gbk", true),
        (format!("\u{feff}{harbour}"), "utf-16le", false),
        (format!("\u{feff}{}", harbour.replace('\n', "\r\n")), "utf-16be", false),
        (format!("\u{feff}{tides}"), "utf-16le", false),
    ] {
        let file = in_encoding(&text, name);
        let (stream, found) = stream(&file);
        assert_eq!(found.counts.contains_key(&Code::GuessedEncoding), guessed, "{name}");
        assert!(stream.contains("\"encoding\":"), "{stream}");
        assert_same(&again(&file), &file, name);
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let all = Request::default();
        assert_eq!(context(&file, &all), context(text.as_bytes(), &all), "{name}");
    }
    let Some(corpus) = corpus("files of Windows") else { return };
    for name in ["b_gbk_windows", "b_cp1252_windows", "b_utf16", "c_utf16", "run_utf16", "b_bom"] {
        let file = read(&corpus.join(format!("connectonion/mut/{name}.yaml")));
        assert_same(&again(&file), &file, name);
    }
}

#[test]
fn an_encoding_can_be_named() {
    let dir = Dir::new();
    let tides = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    let (head, messages) = tides.split_once("messages: |\n").expect("messages");
    let text = head.replace(|c: char| !c.is_ascii(), "?") + "messages: |\n" + messages;
    let text = text.replace(|c: char| !c.is_ascii() && !('\u{a0}'..'\u{100}').contains(&c), "é");
    dir.write("a.yaml", &in_encoding(&text, "cp1252"));
    dir.write("b.yaml", &in_encoding(&text, "utf-16le"));
    for (file, name) in [("a.yaml", "CP1252"), ("b.yaml", "utf-16le")] {
        let stream = format!("{file}.jsonl");
        let call = ["convert", "--encoding", name, "-t", "canonical", "-o", &stream, file];
        assert_eq!(dir.exit(&call).0, 0, "{}", dir.exit(&call).1);
        let out = format!("out-{file}");
        assert_eq!(dir.exit(&["convert", "-t", "connectonion@3", "-o", &out, &stream]).0, 0);
        assert_same(&read(&dir.path(&out)), &read(&dir.path(file)), name);
    }
    let (exit, said) = dir.exit(&["detect", "--encoding", "klingon", "a.yaml"]);
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains("no encoding has this name"), "{said}");
}

#[test]
fn a_character_that_the_encoding_lacks_is_an_error() {
    let harbour = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let file = in_encoding(&harbour.replace(|c: char| !c.is_ascii(), "é"), "cp1252");
    let edited = stream(&file).0.replacen("Berths 4 and 11", "Berths ⑪", 2);
    let (format, version) = recognise(edited.as_bytes()).expect("a known format");
    let (done, _) = converted(edited.as_bytes(), format, version, "connectonion@2", &keep());
    let error = done.expect_err("no place for it");
    assert_eq!(error.code(), Code::NotInEncoding);
    assert!(error.to_string().contains("U+246A"), "{error}");
}

/// Its comments, blank lines and indentation included.
#[test]
fn the_example_of_the_documentation_comes_back() {
    let Some(corpus) = corpus("the example of the documentation") else { return };
    let file = read(&corpus.join("connectonion/mut/seed000_doc_example.yaml"));
    assert_same(&again(&file), &file, "the example of the documentation");
}

#[test]
fn what_only_the_turns_contain_can_be_omitted() {
    let harbour = own("connectonion/v2/harbour");
    let all = context(&harbour, &Request::default());
    let fewer = context(&harbour, &Request { no_restore: true, ..Request::default() });
    assert!(fewer.len() < all.len(), "{} {}", fewer.len(), all.len());
    assert!(fewer.iter().all(|message| all.contains(message)));
    let dir = Dir::new();
    dir.write("a.yaml", &harbour);
    let (exit, said) = dir.said(&["context", "--no-restore", "a.yaml"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(said.matches("\"role\":").count(), fewer.len(), "{said}");
}

/// A run in the layouts that people and programs give it. All mean the same.
#[test]
fn a_run_in_another_layout_is_read_as_yaml() {
    let json =
        r#"[{"role": "user", "content": "1e3"}, {"role": "assistant", "content": "yes: no"}]"#;
    let head = "agent: \"oo\"\nmodel: \"m\"\ntimestamp: \"2026-01-01 10:00:00\"\n";
    let own = format!(
        "{head}messages: |\n  [\n    {}\n  ]\n",
        json[1..json.len() - 1].replace("}, {", "},\n    {")
    );
    let list = "- role: user\n  content: 1e3\n- role: assistant\n  content: 'yes: no'\n";
    let pretty = json.replace("}, {", "\n  },\n  {\n").replace("[{", "[\n  {\n");
    let pretty: Vec<String> = pretty.lines().map(|line| format!("  {line}\n")).collect();
    let plain_head = head.replace('"', "");
    for (layout, file) in [
        ("a list", format!("{head}messages:\n{list}")),
        ("a list first", format!("messages:\n{list}{head}")),
        ("a header without quotes", format!("{plain_head}messages:\n{list}")),
        ("flow", format!("{head}messages: {json}\n")),
        ("single quotes", format!("{head}messages: '{json}'\n")),
        ("double quotes", format!("{head}messages: {}\n", Value::from(json))),
        ("one line in a block", format!("{head}messages: |-\n  {json}\n")),
        ("pretty JSON in a block", format!("{head}messages: |\n{}", pretty.concat())),
    ] {
        let (format, version) = recognise(file.as_bytes()).unwrap_or_else(|| panic!("{layout}"));
        assert_eq!((format.name, version), ("connectonion", 3), "{layout}");
        let (stream, found) = stream(file.as_bytes());
        assert!(found.counts.contains_key(&Code::RunLayout), "{layout}: {:?}", found.counts);
        assert_eq!(found.counts.len(), 1, "{layout}: {:?}", found.counts);
        let all = Request::default();
        assert_eq!(context(file.as_bytes(), &all), context(own.as_bytes(), &all), "{layout}");
        let out = from_canonical(stream.as_bytes(), "connectonion@3", &keep());
        assert_eq!(String::from_utf8(out).expect("UTF-8"), own, "{layout}");
        let (copy, _) = converted(file.as_bytes(), format, 3, "connectonion@3", &keep());
        assert_same(&copy.expect("readable"), file.as_bytes(), layout);
    }
    let (_, found) = stream(own.as_bytes());
    assert!(found.counts.is_empty(), "{:?}", found.counts);
}

#[test]
fn other_yaml_with_messages_is_no_run() {
    let action = "name: a\nruns:\n  using: node20\n";
    for text in ["model: m\nmessages:\n- role: user\n", action, "a: b\n"] {
        let head = Head { name: "a.yaml", bytes: text.as_bytes(), whole: true, encoding: None };
        assert!(copyist::detect::detect(&head).is_none(), "{text}");
    }
}

#[test]
fn a_run_that_was_cut_before_its_messages_is_a_session() {
    let tides = own("connectonion/v3/tides");
    let end = tides.windows(9).position(|window| window == b"messages:").expect("messages");
    let (stream, found) = stream(&tides[..end]);
    // The other line says that there is no end.
    assert_eq!(stream.lines().count(), 2, "{stream}");
    assert!(!stream.contains("\"kind\":\"message\""), "{stream}");
    assert!(found.counts.contains_key(&Code::CutShort), "{:?}", found.counts);
}

#[test]
fn what_follows_a_message_that_is_none_in_pi_follows_what_that_follows() {
    let harbour = String::from_utf8(own("connectonion/v2/harbour")).expect("UTF-8");
    let odd = harbour.replacen("  - role: tool\n", "  - role: tool\n    content: ''\n", 1);
    let (format, version) = recognise(odd.as_bytes()).expect("a known format");
    for to in ["pi@3", "pi@1"] {
        let plain = Options { origin: false, ..keep() };
        let target = converted(odd.as_bytes(), format, version, to, &plain).0.expect("readable");
        let shown = context(&target, &Request::default());
        assert_eq!(shown.len(), context(odd.as_bytes(), &Request::default()).len() - 1, "{to}");
        assert!(shown[0].to_string().contains("Which berths are free?"), "{to}: {shown:?}");
    }
}

/// A section of a file, so many spaces further to the right.
fn deeper(text: &str, section: &str, by: usize) -> String {
    let mut within = false;
    let line = |line: &str| {
        let top = !line.starts_with([' ', '-', '\n']);
        let moves = within && !top && line != "\n";
        within = if top { line == format!("{section}:\n") } else { within };
        format!("{:width$}{line}", "", width = if moves { by } else { 0 })
    };
    text.split_inclusive('\n').map(line).collect()
}

#[test]
fn lists_in_any_layout_come_back() {
    for case in ["v1/quay", "v2/harbour", "v3/lamps"] {
        let text = String::from_utf8(own(&format!("connectonion/{case}"))).expect("UTF-8");
        let turns = [1, 2, 4].map(|by| deeper(&text, "turns", by));
        let messages = [1, 2, 4].map(|by| deeper(&text, "messages", by));
        let both = [2, 4].map(|by| deeper(&deeper(&text, "turns", by), "messages", by));
        for laid in turns.into_iter().chain(messages).chain(both) {
            assert_same(&again(laid.as_bytes()), laid.as_bytes(), case);
        }
    }
}
