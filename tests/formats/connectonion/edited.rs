//! What people and other programs do to files: cuts, edits, migrations, conversions.

use super::{ERAS, FORMAT, Scenario, ours, scenarios};
use crate::common::{
    self, assert_same, converted, corpus, from_canonical, options, own_inputs, read, recognise,
};
use copyist::context::{Form, Request};
use copyist::diagnostic::{Code, Severity};
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::Value;

#[test]
fn a_cut_file_gives_every_whole_message_and_the_cut_is_reported() {
    let source = common::own("connectonion/v2/harbour");
    let (format, version) = recognise(&source).expect("a known format");
    let keep = options(OnError::Keep, Choice::Derived);
    let text = String::from_utf8(source.clone()).expect("UTF-8");
    let cut = text.find("    content: ok").expect("the answer") + 8;
    let (done, found) = converted(&source[..cut], format, version, "canonical", &keep);
    let stream = String::from_utf8(done.expect("what is there")).expect("UTF-8");
    assert_eq!(stream.matches("\"role\":\"assistant\",\"content\":[").count(), 2, "{stream}");
    let broken = [Code::YamlCutShort, Code::YamlSyntax];
    assert!(broken.iter().any(|code| found.counts.contains_key(code)), "{:?}", found.counts);
}

#[test]
fn a_torn_run_that_is_closed_when_restored_is_reported() {
    let source = common::own("connectonion/v3/tides");
    let text = String::from_utf8(source.clone()).expect("UTF-8");
    let keep = options(OnError::Keep, Choice::Derived);
    let ends: Vec<_> = text.match_indices("},\n").map(|(at, _)| at).collect();
    let list = text.find("  [\n").expect("a list");
    for cut in [ends[1] + 3, ends[1] + 20, ends[0] + 1, list + 4, list, list - 1] {
        let torn = &source[..cut];
        let (format, version) = recognise(torn).expect("a known format");
        for target in ["pi", "connectonion@2", "canonical"] {
            let what = format!("{target} {cut}");
            let (out, found) = converted(torn, format, version, target, &keep);
            assert!(found.counts.contains_key(&Code::CutShort), "{what}: {found:?}");
            let out = out.expect("a session");
            let (from, of) = recognise(&out).expect("a known format");
            let (home, found) = converted(&out, from, of, "connectonion@3", &keep);
            let home = String::from_utf8(home.expect("a run")).expect("UTF-8");
            // An origin contains the torn file itself.
            if target != "canonical" {
                assert_eq!(home.as_bytes(), torn, "{what}");
                continue;
            }
            assert!(home.ends_with("  ]\n"), "{what}: {home}");
            assert_eq!(found.counts.get(&Code::ListClosed), Some(&1), "{what}: {found:?}");
        }
    }
}

#[test]
fn migration_reaches_the_wanted_version_and_reports_what_is_lost() {
    let dir = common::Dir::new();
    let source = common::own("connectonion/v2/harbour");
    dir.write("a.yaml", &source);
    let (exit, said) = dir.said(&["migrate", "--in-place", "a.yaml"]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("1 unchanged"), "{said}");
    // A run file is no agent's file, and has another name.
    let newest = ["--to", "connectonion@3"];
    let (exit, said) = dir.said(&[&["migrate", "--in-place", "a.yaml"], &newest[..]].concat());
    assert_eq!(exit, 3, "{said}");
    assert_eq!(dir.names(), ["a.yaml"]);
    assert_eq!(read(&dir.path("a.yaml")), source);
    let strict = ["convert", "--no-origin", "--fail-on", "loss", "-o", "b.yaml", "a.yaml"];
    let (exit, said) = dir.said(&[&strict[..], &["-t", "connectonion@3"]].concat());
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("connectonion@3 cannot hold turn"), "{said}");
}

/// Each way from version to version, with what is not lost on it.
#[test]
fn migration_is_conversion_between_versions() {
    let dir = common::Dir::new();
    for case in ["connectonion/v1/quay", "connectonion/v2/harbour", "connectonion/v3/tides"] {
        let source = common::own(case);
        let (format, version) = recognise(&source).expect("a known format");
        dir.write("in.yaml", &source);
        for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
            let args = ["migrate", "--force", "--to", to, "-o", "out.yaml", "in.yaml"];
            let (exit, said) = dir.exit(&args);
            assert_eq!(exit, 0, "{case} to {to}: {said}");
            let stop = options(OnError::Stop, Choice::Derived);
            let (done, _) = converted(&source, format, version, to, &stop);
            let out = read(&dir.path("out.yaml"));
            let done = common::alone(&done.expect("converted"));
            common::assert_same(&out, &done, &format!("{case} to {to}"));
        }
    }
}

/// What a model would get, in the form in which formats are compared.
fn sent(source: &[u8]) -> Vec<Value> {
    let keep = options(OnError::Keep, Choice::Derived);
    let request = Request { form: Form::Canonical, ..Request::default() };
    let (sent, _) = common::context(source, &request, &keep);
    common::as_javascript(&sent.expect("a context"))["messages"]
        .as_array()
        .expect("messages")
        .clone()
}

/// Converts to each of these in turn, and holds the context after each.
fn words_are_kept(source: &[u8], ways: &[&[&str]], what: &str) {
    let keep = options(OnError::Keep, Choice::Derived);
    let expected = sent(source);
    for way in ways {
        let mut file = source.to_vec();
        for to in *way {
            let (format, version) = recognise(&file).expect("a known format");
            let (done, found) = converted(&file, format, version, to, &keep);
            file = done.unwrap_or_else(|error| panic!("{what} by {way:?}: {error}"));
            assert!(found.worst() < Some(Severity::Error), "{what} by {way:?}");
        }
        let (mut ours, mut expected) = (sent(&file), expected.clone());
        if way.iter().any(|to| to.starts_with("pi")) {
            // pi keeps the system prompt out of its files.
            ours.retain(|message| message["role"] != "system");
            expected.retain(|message| message["role"] != "system");
        }
        assert_eq!(ours, expected, "{what} by {way:?}");
    }
}

const WAYS: &[&[&str]] = &[
    &["pi@3"],
    &["connectonion@1"],
    &["connectonion@2"],
    &["connectonion@3"],
    &["canonical"],
    &["connectonion@1", "connectonion@2", "connectonion@3", "connectonion@1"],
    &["pi@3", "connectonion@1"],
];

#[test]
fn a_model_gets_the_same_after_a_conversion_to_any_format() {
    for input in own_inputs() {
        let source = read(&input);
        let (format, _) = recognise(&source).expect("a known format");
        if format.name == FORMAT && !input.iter().any(|part| part == "spellings") {
            words_are_kept(&source, WAYS, &input.display().to_string());
        }
    }
}

#[test]
fn a_model_gets_the_same_of_what_the_first_release_wrote() {
    let Some(corpus) = corpus("what ConnectOnion wrote first") else { return };
    let mut kept = 0;
    for Scenario { name: scenario, sessions, .. } in scenarios(&corpus.join(FORMAT).join(ERAS[0].0))
    {
        for session in sessions {
            words_are_kept(&read(&session), WAYS, &scenario);
            kept += 1;
        }
    }
    println!("{kept} contexts are the same by {} ways", WAYS.len());
    assert!(kept > 60, "{kept}");
}

/// What people and other programs make of a file: how many messages the context has, and what is
/// said.
#[test]
fn edited_files_are_read_whole_or_reported_to_be_otherwise() {
    let text = String::from_utf8(common::own("connectonion/v2/harbour")).expect("UTF-8");
    let (before, messages) = text.split_once("messages:\n").expect("messages");
    let (head, turns) = before.split_once("turns:\n").expect("turns");
    let behind = format!("{head}messages:\n{messages}turns:\n{turns}");
    let cases: &[(&str, String, usize, &[Code])] = &[
        ("as it is", text.clone(), 11, &[]),
        ("turns behind messages", behind, 11, &[]),
        ("cut before messages", before.to_owned(), 4, &[Code::YamlCutShort]),
        ("messages a list", format!("{before}messages: [1, 2]\n"), 4, &[Code::NotObject]),
        ("a text for a turn", text.replace("  3: []", "  3: hello"), 11, &[Code::NotObject]),
        ("a word for a turn", text.replace("  3: []", "  x: []"), 9, &[Code::TurnKey]),
        ("a turn twice", text.replace("  3: []", "  2: []"), 9, &[Code::TurnKey]),
        ("a huge turn", text.replace("  3: []", "  18446744073709551615: []"), 9, &[Code::TurnKey]),
        ("no final newline", text.trim_end().to_owned(), 11, &[Code::NoFinalNewline]),
        ("CRLF", text.replace('\n', "\r\n"), 11, &[]),
        ("a tag", text.replace("content: ok\n", "content: !x ok\n"), 11, &[Code::YamlBeyondJson]),
    ];
    let keep = options(OnError::Keep, Choice::Derived);
    for (case, file, count, codes) in cases {
        let (format, version) = recognise(file.as_bytes()).unwrap_or_else(|| panic!("{case}"));
        let (done, found) = converted(file.as_bytes(), format, version, "canonical", &keep);
        for code in *codes {
            assert!(found.counts.contains_key(code), "{case}: {:?}", found.counts);
        }
        let (ours, _) = ours(file.as_bytes());
        assert!(ours.len() >= *count, "{case}: {} messages", ours.len());
        done.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_same(&common::returned(file.as_bytes(), &keep), file.as_bytes(), case);
    }
}

/// Nobody is told that what stands behind a second document's beginning was carried along.
#[test]
fn a_second_document_is_reported_as_what_was_not_read() {
    let turns = String::from_utf8(common::own("connectonion/v2/harbour")).expect("UTF-8");
    let run = "agent: a\nmodel: m\ntokens: 1\nmessages:\n- role: user\n  content: hi\n".to_owned();
    let keep = options(OnError::Keep, Choice::Derived);
    for file in [turns, run] {
        let both = format!("{file}---\n{file}");
        let (format, version) = recognise(both.as_bytes()).expect("a session");
        let (done, found) = converted(both.as_bytes(), format, version, "canonical", &keep);
        done.expect("what stands before it");
        let told = found.diagnostics.iter().find(|told| told.code == Code::YamlSyntax);
        let at = told.and_then(|told| told.at).expect("a place");
        assert_eq!(at.byte, file.len() as u64);
    }
}

#[test]
fn messages_that_are_null_are_no_cut() {
    let source = common::own("connectonion/v2/harbour");
    let text = String::from_utf8(source).expect("UTF-8");
    let top = &text[..text.find("messages:").expect("messages")];
    let keep = options(OnError::Keep, Choice::Derived);
    for (end, cut) in [("messages: null\n", false), ("messages: ~\n", false), ("messages:", true)] {
        let text = [top, end].concat();
        let (format, version) = recognise(text.as_bytes()).expect("a known format");
        let (done, found) = converted(text.as_bytes(), format, version, "canonical", &keep);
        let stream = String::from_utf8(done.expect("what is there")).expect("UTF-8");
        assert_eq!(stream.matches("\"synthesized\":true").count(), 6, "{end}: {stream}");
        assert_eq!(found.counts.contains_key(&Code::YamlCutShort), cut, "{end}");
        assert!(cut || found.counts.contains_key(&Code::Restored), "{end}");
    }
}

#[test]
fn values_in_members_of_a_message_keep_their_types() {
    let dir = common::Dir::new();
    let source = String::from_utf8(common::own("connectonion/v2/harbour")).expect("UTF-8");
    let call = "        arguments: '{}'\n";
    let more = "      extra_content:\n        t:\n        - 1\n        - true\n        - null\n        \
                - 1.5\n        - '1'\n";
    let spaced = source.replacen(call, &format!("{call}{more}"), 1).replacen(
        "content: ok\n",
        "content: yes\n",
        1,
    );
    assert_ne!(spaced, source);
    dir.write("a.yaml", spaced.as_bytes());
    assert_eq!(dir.exit(&["convert", "-q", "-t", "canonical", "-o", "a.jsonl", "a.yaml"]).0, 0);
    let stream = String::from_utf8(read(&dir.path("a.jsonl"))).expect("UTF-8");
    assert!(stream.contains(r#""t":[1,true,null,1.5,"1"]"#), "{stream}");
    // What is said is text, whatever it looks like.
    assert!(
        stream.contains(r#""text":"yes""#) || stream.contains(r#""content":"yes""#),
        "{stream}"
    );
    let run = ["convert", "-q", "-t", "connectonion@3", "--out-dir", "run", "a.yaml"];
    assert_eq!(dir.exit(&run).0, 0);
    let run = common::files(&dir.path("run")).into_iter().find(|file| file.ends_with("run_1.yaml"));
    let run = run.unwrap_or_else(|| common::files(&dir.path("run"))[0].clone());
    let run = String::from_utf8(read(&run)).expect("UTF-8");
    let t = run.find(r#""t""#).map(|at| &run[at..at + 40]);
    assert!(
        t.is_some_and(|t| t.replace(' ', "").starts_with(r#""t":[1,true,null,1.5,"1"]"#)),
        "{t:?}"
    );
    assert_eq!(
        dir.exit(&["convert", "-q", "-t", "connectonion@2", "-o", "b.yaml", "a.jsonl"]).0,
        0
    );
    assert_eq!(read(&dir.path("b.yaml")), spaced.as_bytes());
}

/// What no field takes keeps its place, and has it no more when the field has a value: a file with
/// both has one member twice, and its software takes the later one.
#[test]
fn a_member_that_is_null_is_edited_in_its_place() {
    let keep = options(OnError::Keep, Choice::Derived);
    let (dated, keyed, run) =
        ("connectonion/v1/quay", "connectonion/v2/harbour", "connectonion/v3/tides");
    let cases = [
        (dated, "name", "agent"),
        (dated, "timestamp", "created"),
        (keyed, "name", "agent"),
        (keyed, "session_id", "id"),
        (keyed, "created", "created"),
        (keyed, "updated", "updated"),
        (run, "agent", "agent"),
        (run, "model", "model"),
        (run, "cwd", "cwd"),
        (run, "timestamp", "updated"),
    ];
    for (case, name, field) in cases {
        let source = String::from_utf8(common::own(case)).expect("UTF-8");
        let begins = |line: &&str| line.starts_with(&format!("{name}: "));
        let line = source.lines().find(begins).expect("the member");
        for odd in ["null", "[]"] {
            let file = source.replacen(line, &format!("{name}: {odd}"), 1);
            let (_, version) = recognise(file.as_bytes()).expect("a session");
            let to = format!("connectonion@{version}");
            let stream = common::to_canonical(file.as_bytes(), &keep);
            let what = format!("{case} {name}: {odd}");
            assert_same(&from_canonical(&stream, &to, &keep), file.as_bytes(), &what);
            let stream = String::from_utf8(stream).expect("UTF-8");
            let kind = "\"kind\":\"session\",";
            let edited = stream.replacen(kind, &format!("{kind}\"{field}\":\"new\","), 1);
            assert_ne!(edited, stream);
            let home = from_canonical(edited.as_bytes(), &to, &keep);
            let new = if case == run { "\"new\"" } else { "new" };
            let wanted = source.replacen(line, &format!("{name}: {new}"), 1);
            assert_same(&home, wanted.as_bytes(), &what);
        }
    }
    // Turns have such members, too.
    let source = String::from_utf8(common::own(keyed)).expect("UTF-8");
    let (model, null, new) = ("  model: co/gemini-2.5-pro\n", "  model: null\n", "  model: new\n");
    let file = source.replacen(model, null, 1);
    let stream = common::to_canonical(file.as_bytes(), &keep);
    assert_same(&from_canonical(&stream, "connectonion@2", &keep), file.as_bytes(), "a turn");
    let stream = String::from_utf8(stream).expect("UTF-8");
    let edited = stream.replacen("\"kind\":\"turn\",", "\"kind\":\"turn\",\"model\":\"new\",", 1);
    let home = from_canonical(edited.as_bytes(), "connectonion@2", &keep);
    assert_same(&home, source.replacen(model, new, 1).as_bytes(), "an edited turn");
}
