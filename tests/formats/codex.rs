//! Codex's rollouts: the corpus comes back byte for byte, versions migrate, what crashes and older
//! releases leave is repaired.

use crate::common::{
    Dir, alone, context, corpus, files, from_canonical, migrated, options, own, read, recognise,
    to_canonical,
};
use copyist::context::{Form, Request};
use copyist::format::OnError;
use copyist::ids::Choice;

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
}
