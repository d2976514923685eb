//! Files that one agent wrote at several times, as one session.

use crate::common::{self, Dir, options, own, read};
use copyist::context::{Form, Request};
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::Value;

/// Two files of one agent, the later one first by its name, and one of another agent.
fn files() -> Dir {
    let dir = Dir::new();
    let quay = String::from_utf8(own("connectonion/v1/quay")).expect("UTF-8");
    let later = quay.replacen("2025-12-02 09:14:55", "2025-12-03 10:00:00", 1);
    let later = later.replacen("input: 'yes'", "input: 'again'", 1);
    assert_ne!(later, quay);
    dir.write("in/a.yaml", later.as_bytes());
    dir.write("in/b.yaml", quay.as_bytes());
    dir.copy("connectonion/v1/seed", "in/c.yaml");
    dir
}

fn sent(source: &[u8]) -> Vec<Value> {
    let keep = options(OnError::Keep, Choice::Derived);
    let request = Request { form: Form::Canonical, ..Request::default() };
    let (sent, _) = common::context(source, &request, &keep);
    common::as_javascript(&sent.expect("a context"))["messages"].as_array().expect("some").clone()
}

fn is_system(message: &Value) -> bool {
    message["role"] == "system"
}

#[test]
fn the_sessions_of_an_agent_become_one_in_the_order_of_their_times() {
    let dir = files();
    let (earlier, later) =
        (sent(&read(&dir.path("in/b.yaml"))), sent(&read(&dir.path("in/a.yaml"))));
    // The system says the same in both, and once is enough.
    let later = later.into_iter().filter(|message| !is_system(message));
    let expected: Vec<Value> = earlier.into_iter().chain(later).collect();
    assert_eq!(expected.iter().filter(|message| is_system(message)).count(), 1);
    for to in ["canonical", "connectonion@2", "connectonion@3", "pi@3"] {
        let out = format!("out-{to}");
        let args = ["convert", "--join", "agent", "-t", to, "--out-dir", &out, "in"];
        let (exit, said) = dir.said(&args);
        assert_eq!(exit, 0, "{to}: {said}");
        let names: Vec<_> = dir.names().into_iter().filter(|n| n.starts_with(&out)).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let joined = names.iter().find(|name| name.contains("quay")).expect("named by the agent");
        let found = sent(&read(&dir.path(joined)));
        // Not every format has a system message among the others.
        let system = found.iter().any(is_system);
        let wanted = expected.iter().filter(|message| system || !is_system(message));
        // Identifiers that both sessions have get a number in the second.
        let numbered = texts(&found).into_iter().map(|text| without_numbers(&text));
        let wanted = texts(wanted).into_iter().map(|text| without_numbers(&text));
        assert_eq!(numbered.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{to}");
    }
}

/// A text without the numbers behind identifiers that several calls have.
fn without_numbers(text: &str) -> String {
    text.replace("_2\"", "\"").replace("_2\"", "\"")
}

/// Who says what; ids and the like are each format's own.
fn texts<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let text = |message: &Value| format!("{}: {}", message["role"], message["content"]);
    messages.into_iter().map(text).collect()
}

#[test]
fn turns_are_counted_on() {
    let dir = files();
    let (exit, said) =
        dir.said(&["convert", "--join", "agent", "-t", "connectonion@2", "--out-dir", "o", "in"]);
    assert_eq!(exit, 0, "{said}");
    let text = String::from_utf8(read(&dir.path("o/quay.yaml"))).expect("UTF-8");
    let inputs: Vec<_> = text.lines().filter(|line| line.contains("input: ")).collect();
    assert_eq!(inputs.len(), 6, "{text}");
    assert!(inputs[1].ends_with("yes'") || inputs[1].ends_with("\"yes\""), "{}", inputs[1]);
    assert!(inputs[4].ends_with("again"), "{}", inputs[4]);
    for turn in 1..=6 {
        assert!(text.contains(&format!("turn: {turn}\n")), "{turn}: {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("  system_prompt")).count(), 0);
    assert_eq!(text.lines().filter(|line| line.starts_with("system_prompt")).count(), 1, "{text}");
}

#[test]
fn files_of_the_target_s_own_version_are_not_joined() {
    let dir = files();
    let (exit, said) =
        dir.said(&["convert", "--join", "agent", "-t", "connectonion@1", "--out-dir", "o", "in"]);
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("CY0206"), "{said}");
    assert!(!dir.path("o/quay.yaml").exists());
}

#[test]
fn what_joins_carries_nothing_and_is_not_marked_as_if_it_did() {
    let dir = files();
    let joins = ["convert", "--join", "agent", "-t", "connectonion@2", "--out-dir", "o", "in"];
    assert_eq!(dir.said(&joins).0, 0);
    let text = String::from_utf8(read(&dir.path("o/quay.yaml"))).expect("UTF-8");
    assert!(!text.contains("x_copyist"), "{text}");
    let (exit, said) = dir.said(&["convert", "-t", "canonical", "-o", "stream", "o/quay.yaml"]);
    assert_eq!((exit, said.contains("CY0624")), (0, false), "{said}");
}
