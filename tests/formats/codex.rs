//! Codex's rollouts: the corpus comes back byte for byte, versions migrate, what crashes and older
//! releases leave is repaired.

use crate::common::{self, codex};
use crate::common::{
    Dir, alone, context, corpus, files, from_canonical, migrated, options, own, read, recognise,
    to_canonical,
};
use copyist::context::{Form, Request};
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn rollouts_of_the_corpus_come_back_through_the_stream() {
    let Some(corpus) = corpus("rollouts_of_the_corpus_come_back") else { return };
    let options = options(OnError::Stop, Choice::Derived);
    let mut seen = [0; 4];
    for file in files(&corpus.join("codex")) {
        let path = file.to_string_lossy();
        if path.contains("/edge/") || !path.ends_with(".jsonl") {
            continue;
        }
        let text = read(&file);
        let (format, version) = recognise(&text).expect("a rollout");
        assert_eq!(format.name, "codex", "{path}");
        let stream = to_canonical(&text, &options);
        assert_eq!(from_canonical(&stream, &format.at(version), &options), text, "{path}");
        seen[version as usize] += 1;
    }
    println!("rollouts of versions 1, 2 and 3: {:?}", &seen[1..]);
    assert!(seen[1..].iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_bare_rollout_migrates_with_the_folder_of_its_first_command() {
    let options = options(OnError::Stop, Choice::Derived);
    let (done, _) = migrated(&own("codex/v1/orrery"), "codex@2", &options);
    let text = String::from_utf8(alone(&done.expect("undamaged"))).expect("UTF-8");
    let head = text.lines().next().expect("a line");
    assert!(head.contains(r#""type":"session_meta""#), "{head}");
    assert!(head.contains(r#""cwd":"/srv/orrery""#), "{head}");
    assert!(text.contains(r#""type":"user_message","message":"How many moons"#), "{text}");
    let canonical = Request { form: Form::Canonical, ..Request::default() };
    let said = |text: &[u8]| context(text, &canonical, &options).0.expect("a context");
    assert_eq!(said(text.as_bytes()), said(&own("codex/v1/orrery")));
}

#[test]
fn an_edited_message_takes_its_event_along() {
    let options = options(OnError::Stop, Choice::Derived);
    let source = own("codex/v2/taken-back");
    let stream = String::from_utf8(to_canonical(&source, &options)).expect("UTF-8");
    let edited = stream.replacen("Twelve turns.", "Nine turns.", 1);
    let back = String::from_utf8(from_canonical(edited.as_bytes(), "codex@2", &options)).unwrap();
    assert_eq!(back.matches("Nine turns.").count(), 2, "{back}");
    assert_eq!(back.replace("Nine turns.", "Twelve turns.").as_bytes(), source);
}

#[test]
fn repair_moves_the_first_line_and_numbers_the_last_ones() {
    let dir = Dir::new();
    let text = String::from_utf8(own("codex/v3/mars")).expect("UTF-8");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.swap(0, 1);
    let last = lines.last_mut().expect("a line");
    *last = last.replace(r#""ordinal":14,"#, "");
    dir.write("a.jsonl", format!("{}\n", lines.join("\n")).as_bytes());
    let (code, said) = dir.said(&["repair", "-o", "b.jsonl", "a.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("CY0812") && said.contains("CY0867"), "{said}");
    let repaired = String::from_utf8(read(&dir.path("b.jsonl"))).expect("UTF-8");
    assert!(repaired.lines().next().expect("a line").contains("session_meta"), "{repaired}");
    assert!(repaired.trim_end().lines().last().expect("a line").contains(r#""ordinal":14,"#));
    assert!(!said.contains("CY0870"), "{said}");
    // In its place, Codex's own index still has what it was.
    let (code, said) = dir.said(&["repair", "--in-place", "a.jsonl"]);
    assert!(code == 0 && said.contains("CY0870"), "{said}");
}

/// Rollouts of which a release sends something else than `context` prints, with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("args_object.jsonl in 0.34.0", "0.34 sends a result without its call"),
    ("orphan_output.jsonl in 0.34.0", "0.34 sends a result without its call"),
    ("p_orphan_output.jsonl in 0.34.0", "0.34 sends a result without its call"),
    ("torn_mid.jsonl in 0.34.0", "0.34 sends a result without its call"),
    ("custom_dangling.jsonl in 0.34.0", "0.34 puts the result `aborted` before everything else"),
    ("dangling_end.jsonl in 0.34.0", "0.34 puts the result `aborted` before everything else"),
    ("dangling_mid.jsonl in 0.34.0", "0.34 puts the result `aborted` before everything else"),
    ("p_dangling_end.jsonl in 0.34.0", "0.34 puts the result `aborted` before everything else"),
    ("p_dangling_mid.jsonl in 0.34.0", "0.34 puts the result `aborted` before everything else"),
    ("compacted_new.jsonl in 0.34.0", "0.34 ignores what a compaction of a later release says"),
    // The newest release refuses a rollout whose first line is not about the session, and so does
    // copyist; `repair` moves the line.
    ("meta_second.jsonl in ", "refused by the newest release"),
    ("p_meta_second.jsonl in ", "refused by the newest release"),
];

/// Members of items that the corpus leaves out.
const LEFT_OUT: &[&str] = &["id", "status", "action", "content"];

/// An item as the corpus describes it.
fn described(mut item: Value) -> Value {
    let text = |part: Value| if part["text"].is_string() { part["text"].clone() } else { part };
    if let Some(parts) = item["content"].as_array().filter(|_| item["role"].is_string()) {
        let texts: Vec<Value> = parts.iter().cloned().map(text).collect();
        return json!({"role": item["role"], "text": texts});
    }
    let object = item.as_object_mut().expect("an object");
    object.retain(|key, value| !value.is_null() && !LEFT_OUT.contains(&key.as_str()));
    item
}

#[test]
fn contexts_are_those_that_the_real_releases_send() {
    let Some(corpus) = corpus("contexts_are_those_that_the_real_releases_send") else { return };
    let expected = read(&corpus.join("codex/edge.expected.json"));
    let expected: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_slice(&expected).expect("JSON");
    let (mut equal, mut wrong) = (0, Vec::new());
    for (file, releases) in expected {
        let source = read(&corpus.join("codex/edge").join(&file));
        let source = if file.ends_with(".zst") {
            zstd::decode_all(source.as_slice()).expect("a frame")
        } else {
            source
        };
        let options = options(OnError::Keep, Choice::Derived);
        let known = recognise(&source).is_some();
        let ours = known.then(|| context(&source, &Request::default(), &options).0.ok()).flatten();
        let ours: Value = serde_json::from_slice(&ours.unwrap_or_default()).unwrap_or_default();
        let ours = ours["messages"].as_array().map(|list| codex::items(list.clone()));
        let ours: Option<Vec<_>> = ours.map(|list| list.into_iter().map(described).collect());
        for (release, answer) in releases {
            // The prompt of the probe comes last.
            let Some([sent @ .., _]) = answer["input"].as_array().map(Vec::as_slice) else {
                continue;
            };
            let own = |item: &&Value| item["role"] != "developer";
            let sent: Vec<_> = sent.iter().filter(own).cloned().map(described).collect();
            let what = format!("{file} in {release}");
            let known = OTHERWISE.iter().any(|(known, _)| what.starts_with(known));
            equal += u32::from(ours.as_ref() == Some(&sent));
            if (ours.as_ref() == Some(&sent)) == known {
                wrong.push(format!("{what}: {sent:?}, not {ours:?}"));
            }
        }
    }
    println!("{equal} contexts equal");
    assert!(equal > 200 && wrong.is_empty(), "{equal} equal\n{}", wrong.join("\n"));
}

/// The content of a line in either version: the payload without members that are null, or
/// the text of an event that repeats an item.
fn told(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let payload = line["payload"].as_object()?;
    let item = &line["payload"]["item"];
    let texts = [
        &line["payload"]["message"],
        &line["payload"]["text"],
        &item["content"][0]["text"],
        item["summary_text"].as_array().and_then(|list| list.last()).unwrap_or(&Value::Null),
    ];
    if line["type"] == "event_msg"
        && let Some(text) = texts.into_iter().find_map(Value::as_str)
    {
        return Some(format!("event: {text}"));
    }
    let kept: BTreeMap<_, _> = payload.iter().filter(|(_, value)| !value.is_null()).collect();
    (line["type"] != "session_meta").then(|| format!("{}: {kept:?}", line["type"]))
}

/// Number of lines of `old` whose content no line of `new` has.
fn missing(old: &[u8], new: &[u8]) -> usize {
    let mut there: BTreeMap<String, usize> = BTreeMap::new();
    let lines =
        |text: &[u8]| -> Vec<String> { text.split(|b| *b == b'\n').filter_map(told).collect() };
    lines(new).into_iter().for_each(|said| *there.entry(said).or_default() += 1);
    let gone = |said: &String| match there.get_mut(said).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    };
    lines(old).into_iter().filter(gone).count()
}

#[test]
fn a_migration_to_numbered_lines_loses_nothing_and_goes_back() {
    let Some(corpus) = corpus("a_migration_to_numbered_lines_loses_nothing") else { return };
    let options = options(OnError::Stop, Choice::Derived);
    let (mut lines, mut theirs) = (0, 0);
    for file in files(&corpus.join("codex/migrated/before")) {
        let source = read(&file);
        if recognise(&source).is_some_and(|(_, version)| version == 1) {
            continue;
        }
        let path = file.display();
        let numbered = alone(&migrated(&source, "codex@3", &options).0.expect("undamaged"));
        assert_eq!(missing(&source, &numbered), 0, "{path}");
        let back = alone(&migrated(&numbered, "codex@2", &options).0.expect("undamaged"));
        assert_eq!(missing(&source, &back), 0, "{path}");
        let last = std::str::from_utf8(&numbered).expect("UTF-8").lines().enumerate().last();
        let (number, last) = last.expect("a line");
        assert!(last.contains(&format!(r#""ordinal":{number},"#)), "{path}: {last}");
        let own = Request::default();
        let said = |text: &[u8]| context(text, &own, &options).0.expect("a context");
        assert_eq!(said(&numbered), said(&source), "{path}");
        let after = read(&corpus.join("codex/migrated/after").join(crate::common::name(&file)));
        lines += source.split(|b| *b == b'\n').filter_map(told).count();
        theirs += missing(&source, &after);
    }
    println!("of {lines} lines Codex's own migration loses {theirs}, copyist none");
    assert!(theirs > 0);
}

#[test]
fn a_bare_rollout_migrates_to_the_folder_that_the_user_names() {
    let dir = Dir::new();
    dir.copy("codex/v1/orrery", "a.jsonl");
    let head = |file: &str| {
        let text = String::from_utf8(read(&dir.path(file))).expect("UTF-8");
        text.lines().next().expect("a line").to_owned()
    };
    assert_eq!(dir.exit(&["migrate", "--cwd", "/srv/moons", "-o", "b.jsonl", "a.jsonl"]).0, 0);
    assert!(head("b.jsonl").contains(r#""cwd":"/srv/moons""#), "{}", head("b.jsonl"));
    assert_eq!(dir.exit(&["migrate", "--cwd", "moons", "-o", "c.jsonl", "a.jsonl"]).0, 2);
    // A rollout that its agent compressed stays so.
    let packed = zstd::encode_all(own("codex/v1/orrery").as_slice(), 3).expect("memory");
    dir.write("a.jsonl.zst", &packed);
    let (code, said) = dir.said(&["migrate", "--out-dir", "out", "a.jsonl.zst"]);
    assert_eq!(code, 0, "{said}");
    let unpacked =
        zstd::decode_all(read(&dir.path("out/a.jsonl.zst")).as_slice()).expect("a frame");
    assert!(unpacked.starts_with(b"{\"timestamp\":"), "{}", String::from_utf8_lossy(&unpacked));
}

#[test]
fn header_has_no_members_of_another_format() {
    let options = options(OnError::Keep, Choice::Derived);
    let mut count = 0;
    for path in common::own_inputs() {
        let source = common::session(&path);
        let Some((format, version)) = common::recognise(&source) else { continue };
        if ["codex", "canonical"].contains(&format.name) {
            continue;
        }
        let Ok(written) = common::converted(&source, format, version, "codex", &options).0 else {
            continue;
        };
        let text = common::alone(&written);
        let first = text.split(|byte| *byte == b'\n').next().expect("a line");
        let header: BTreeMap<String, Value> = serde_json::from_slice(first).expect("JSON");
        let names: Vec<&str> = header.keys().map(String::as_str).collect();
        assert_eq!(names, ["payload", "timestamp", "type"], "{}", path.display());
        count += 1;
    }
    assert!(count > 20, "{count}");
}
