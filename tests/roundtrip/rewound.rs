//! Sessions of Codex in which the user went back to an earlier message in another agent. Codex has
//! an event that takes turns back, so nothing of its rollout is deleted.

use super::continued::{
    any_more, away, back, keep, lines, main_of, of_claude_code, of_pi, said, with,
};
use crate::common::rollout::{answer, rollout, user};
use crate::common::{self, alone, files_of, recognise, session, testdata};
use copyist::context::{Form, Request};
use copyist::diagnostic::Code;
use serde_json::{Value, json};

/// Rollouts of both versions that have events, one with a compaction.
const ROLLOUTS: &[&str] = &["codex/v2/polish", "codex/v2/taken-back", "codex/v3/mars", COMPACTED];

const COMPACTED: &str = "a rollout with a compaction";

fn of(case: &str) -> Vec<u8> {
    match case {
        COMPACTED => compacted(),
        _ => session(&main_of(&testdata().join(case).join("in"))),
    }
}

/// A rollout with two turns, a compaction that lists what it keeps, and a turn behind it.
fn compacted() -> Vec<u8> {
    let event = |kind: &str, turn: &str| ("event_msg", json!({"type": kind, "turn_id": turn}));
    let mut payloads = Vec::new();
    for (turn, asked, said) in
        [("t1", "Who?", "Ann."), ("t2", "Where?", "There."), ("t4", "When?", "Now.")]
    {
        if turn == "t4" {
            let kept = json!({"message": "", "replacement_history":
                [user("Who?"), user("Where?"), user("In short: Ann was there.")]});
            payloads.push(event("task_started", "t3"));
            payloads.push(("compacted", kept));
            payloads.push(event("task_complete", "t3"));
        }
        payloads.push(event("task_started", turn));
        payloads.push(("response_item", user(asked)));
        payloads.push(("event_msg", json!({"type": "user_message", "message": asked})));
        payloads.push(("response_item", answer(said)));
        payloads.push(event("task_complete", turn));
    }
    let mut text = rollout(&[]);
    for (n, (kind, payload)) in payloads.into_iter().enumerate() {
        let time = format!("2026-03-03T09:01:{n:02}.000Z");
        text += &(json!({"timestamp": time, "type": kind, "payload": payload}).to_string() + "\n");
    }
    text.into_bytes()
}

/// Name of the members with the identifiers of an entry and of its parent.
fn links(target: &str) -> (&'static str, &'static str) {
    match target {
        "pi" => ("id", "parentId"),
        _ => ("uuid", "parentUuid"),
    }
}

/// Lines that the program of a format appends for a prompt behind this entry. Two messages of one
/// time and text would be copies, so each round has times and identifiers of its own.
fn prompted(target: &str, behind: &Value, round: u32) -> Vec<Value> {
    let new = match target {
        "pi" => of_pi(behind),
        _ => of_claude_code_behind(behind),
    };
    let text = Value::from(new).to_string();
    let text = text.replace("2027-", &format!("{}-", 2027 + round));
    let text = match target {
        "pi" => text.replace("9999999", &format!("99999{round:02}")),
        _ => text.replace("\"0000000", &format!("\"00000{round:02}")),
    };
    let mut new: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    new[usize::from(target == "claude-code")][links(target).1] = behind.clone();
    new
}

fn of_claude_code_behind(behind: &Value) -> Vec<Value> {
    let root = json!("ffffffff-0000-4000-8000-000000000000");
    of_claude_code(if behind.is_null() { &root } else { behind })
}

/// The last entry of these lines.
fn last(target: &str, new: &[Value]) -> Value {
    let name = links(target).0;
    new.iter().rev().find_map(|line| line.get(name).cloned()).expect("an entry")
}

/// The questions of a file, and the entry before each one.
fn questions(target: &str, file: &[u8]) -> Vec<(String, Value)> {
    let all = lines(&files_of(file)[0].1);
    let asked = |line: &&Value| {
        let blocks = &line["message"]["content"];
        line["message"]["role"] == "user" && blocks[0]["type"] != "tool_result"
    };
    let text = |line: &Value| match &line["message"]["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let parent = links(target).1;
    all.iter().filter(asked).map(|line| (text(line), line[parent].clone())).collect()
}

/// Roles and texts of the messages that a session sends to a model.
fn sent(session: &[u8]) -> Vec<(String, String)> {
    let request = Request { form: Form::Canonical, ..Request::default() };
    let out = common::context(&alone(session), &request, &keep()).0.expect("a context");
    let mut value: Value = serde_json::from_slice(&out).expect("JSON");
    let mut messages = value["messages"].as_array_mut().map(std::mem::take).expect("messages");
    messages.retain(|message| message["role"] != "system");
    said(&messages)
}

/// The source with two more turns, so that a file can go back to several questions.
fn with_two_turns(was: &[u8]) -> Vec<u8> {
    let mut was = was.to_vec();
    for round in 0..2 {
        let there = away(&was, "pi");
        let leaf = last("pi", &lines(&files_of(&there)[0].1));
        was = back(&with(&there, &prompted("pi", &leaf, round)), "codex").0;
    }
    was
}

/// Converts a continued file back. Checks that the source's bytes stay, and that both send the same
/// to a model; returns the session and the numbers of turns that are taken back.
fn returned(was: &[u8], file: &[u8], what: &str) -> (Vec<u8>, Vec<u64>) {
    let (now, found) = back(file, "codex");
    let (old, new) = (files_of(was)[0].1.clone(), files_of(&now)[0].1.clone());
    assert!(new.starts_with(&old), "{what}: {found:?}");
    let deleted = found.diagnostics.iter().any(|found| found.code == Code::OriginDeleted);
    assert!(!deleted, "{what}: {found:?}");
    assert_eq!(sent(&now), sent(file), "{what}");
    let added = lines(&new[old.len()..]);
    let events: Vec<_> =
        added.iter().filter(|line| line["payload"]["type"] == "thread_rolled_back").collect();
    let numbered = recognise(was).expect("a format").1 == 3;
    assert!(events.iter().all(|event| event.get("ordinal").is_some() == numbered), "{what}");
    let turns = events.iter().map(|event| event["payload"]["num_turns"].as_u64().expect("turns"));
    let turns = turns.collect();
    (now, turns)
}

#[test]
fn a_prompt_behind_an_earlier_message_takes_back_turns_of_codex() {
    for case in ROLLOUTS {
        let first = with_two_turns(&of(case));
        for target in ["pi", "claude-code"] {
            let mut was = first.clone();
            for (round, turns) in [(2, 2), (3, 1), (4, 1)] {
                let there = away(&was, target);
                let all = questions(target, &there);
                let asked: Vec<_> = all.iter().filter(|(text, _)| text == "Any more?").collect();
                let behind = &asked[asked.len() - turns as usize].1;
                let file = with(&there, &prompted(target, behind, round));
                let (now, back) = returned(&was, &file, &format!("{case} {target} {round}"));
                assert_eq!(back, [turns], "{case} {target}");
                assert_eq!(sent(&now).last(), any_more().last());
                was = now;
            }
        }
    }
}

#[test]
fn a_prompt_in_the_place_of_the_first_one_takes_back_all_turns() {
    for case in ROLLOUTS {
        let was = with_two_turns(&of(case));
        for target in ["pi", "claude-code"] {
            let there = away(&was, target);
            let (_, behind) = questions(target, &there).remove(0);
            let file = with(&there, &prompted(target, &behind, 5));
            let (now, _) = returned(&was, &file, &format!("{case} {target}"));
            assert_eq!(sent(&now), any_more(), "{case} {target}");
            let there = away(&now, target);
            let leaf = last(target, &lines(&files_of(&there)[0].1));
            let (again, back) = returned(&now, &with(&there, &prompted(target, &leaf, 6)), case);
            assert_eq!(sent(&again), [any_more(), any_more()].concat(), "{case} {target}");
            assert!(back.is_empty());
        }
    }
}

#[test]
fn a_file_that_goes_back_twice_keeps_the_turns_between() {
    for case in ROLLOUTS {
        let was = with_two_turns(&of(case));
        for target in ["pi", "claude-code"] {
            let there = away(&was, target);
            let behind = questions(target, &there).pop().expect("a question").1;
            let mut new = prompted(target, &behind, 5);
            new.extend(prompted(target, &behind, 6));
            let leaf = last(target, &new);
            new.extend(prompted(target, &leaf, 7));
            let (now, back) = returned(&was, &with(&there, &new), &format!("{case} {target}"));
            assert_eq!(back, [1, 1], "{case} {target}");
            assert!(sent(&now).ends_with(&[any_more(), any_more()].concat()));
        }
    }
}

/// Codex searches for a compaction behind the turns that are taken back, so it takes a compaction
/// back with the first message of its list.
#[test]
fn a_file_goes_back_to_questions_of_a_compaction_where_codex_can() {
    let was = with_two_turns(&compacted());
    for target in ["pi", "claude-code"] {
        let there = away(&was, target);
        let all = questions(target, &there);
        let texts: Vec<_> = all.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts[..4], ["Who?", "Where?", "In short: Ann was there.", "When?"]);
        for (n, (text, behind)) in all.iter().enumerate() {
            let file = with(&there, &prompted(target, behind, 5));
            if n == 1 || n == 2 {
                let error = refused(&file);
                assert!(error.contains("no turn of the source ends"), "{target} {text}: {error}");
                continue;
            }
            let (_, back) = returned(&was, &file, &format!("{target} {text}"));
            assert_eq!(back, [(all.len() - n) as u64], "{target} {text}");
        }
    }
}

/// A change of a setting behind an earlier message moves the leaf of pi.
#[test]
fn a_leaf_that_is_moved_back_takes_back_turns_without_a_new_one() {
    for case in ROLLOUTS {
        let was = with_two_turns(&of(case));
        let there = away(&was, "pi");
        let behind = questions("pi", &there).pop().expect("a question").1;
        let moved = &prompted("pi", &behind, 5)[..1];
        let (now, back) = returned(&was, &with(&there, moved), case);
        assert_eq!(back, [1], "{case}");
        let there = away(&now, "pi");
        let leaf = last("pi", &lines(&files_of(&there)[0].1));
        let (again, back) = returned(&now, &with(&there, &prompted("pi", &leaf, 6)), case);
        assert!(back.is_empty(), "{case}: {back:?}");
        assert!(sent(&again).len() == sent(&was).len(), "{case}");
    }
}

fn refused(file: &[u8]) -> String {
    let (format, version) = recognise(file).expect("a format");
    let done = common::converted(file, format, version, "codex", &keep()).0;
    done.expect_err("no turn ends there").to_string()
}
