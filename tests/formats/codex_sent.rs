//! Items and lines of Codex that no message describes: which of them release 0.169.0 sends, and
//! what it adds to them and takes back with them.

use crate::common::{Dir, context, options, read, returned};
use copyist::context::Request;
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::Value;

const SESSION: &str = "01a22000-0000-7000-8000-00000000ab01";

/// Writes a rollout with one turn, and these lines behind it.
fn rollout(lines: &[(&str, &str)]) -> Vec<u8> {
    let meta = format!(
        r#"{{"id":"{SESSION}","timestamp":"2026-11-26T05:00:00.000Z","cwd":"/srv","originator":"codex_cli_rs","cli_version":"0.169.0","source":"cli"}}"#
    );
    let first = [
        ("session_meta", meta.as_str()),
        ("response_item", &message("user", "q")),
        ("event_msg", r#"{"type":"user_message","message":"q"}"#),
        ("response_item", &message("assistant", "a")),
    ];
    let line = |(wire, payload): &(&str, &str)| {
        let time = "2026-11-26T05:00:01.000Z";
        format!(r#"{{"timestamp":"{time}","type":"{wire}","payload":{payload}}}"#) + "\n"
    };
    first.iter().chain(lines).map(line).collect::<String>().into_bytes()
}

fn message(role: &str, text: &str) -> String {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
    )
}

/// Returns what is sent behind the first turn, and whether the first turn is sent.
fn sent(lines: &[(&str, &str)]) -> Vec<Value> {
    let text = rollout(lines);
    let options = options(OnError::Stop, Choice::Derived);
    let out = context(&text, &Request::default(), &options).0.expect("a context");
    let out: Value = serde_json::from_slice(&out).expect("JSON");
    let of_first_turn = |item: &&Value| {
        !["q", "a"].iter().any(|text| item["content"][0]["text"].as_str() == Some(*text))
    };
    out["messages"].as_array().expect("a list").iter().filter(of_first_turn).cloned().collect()
}

#[test]
fn items_without_a_message_are_sent_as_codex_sends_them() {
    fn item(payload: &str) -> (&str, &str) {
        ("response_item", payload)
    }
    let search = r#"{"type":"tool_search_call","call_id":"t1","status":"completed","execution":"client","arguments":{"query":"x"}}"#;
    let none = r#"{"type":"tool_search_output","call_id":"t1","status":"completed","execution":"client","tools":[]}"#;
    let server = r#"{"type":"tool_search_output","call_id":"t1","status":"completed","execution":"server","tools":[]}"#;
    let mail = r#"{"author":"/root/a","recipient":"/root","other_recipients":[],"content":"Done.","trigger_turn":true}"#;
    let received = r#"{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"Done."}]}"#;
    let secret = r#"{"author":"/root/a","recipient":"/root","other_recipients":[],"content":"","encrypted_content":"gAAA","trigger_turn":false}"#;
    let opened = r#"{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"Message Type: MESSAGE\nTask name: /root\nSender: /root/a\nPayload:\n"},{"type":"encrypted_content","encrypted_content":"gAAA"}]}"#;
    let heard = |sound: &str, role: &str| {
        let text = r#"{"type":"input_text","text":"hear"}"#;
        format!(r#"{{"type":"message","role":"{role}","content":[{text},{sound}]}}"#)
    };
    let omitted = r#"{"type":"input_text","text":"audio content omitted because you do not support audio input"}"#;
    let [url, file, other] = [
        r#"{"type":"input_audio","audio_url":"data:audio/wav;base64,UklGRg=="}"#,
        r#"{"type":"input_audio","file_id":"file_1"}"#,
        r#"{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}"#,
    ];
    let call = r#"{"type":"function_call","name":"x","arguments":"{}","call_id":"c1"}"#;
    let result = |part: &str| {
        format!(r#"{{"type":"function_call_output","call_id":"c1","output":[{part}]}}"#)
    };
    for (case, lines, expected) in [
        (
            "another effort",
            vec![item(r#"{"type":"configuration_update","reasoning":{"effort":"high"}}"#)],
            vec![],
        ),
        ("a sound", vec![item(&heard(url, "user"))], vec![&*heard(omitted, "user")]),
        ("a sound in a file", vec![item(&heard(file, "user"))], vec![&*heard(omitted, "user")]),
        ("a sound of another interface", vec![item(&heard(other, "user"))], vec![]),
        (
            "a sound in a result",
            vec![item(call), item(&result(url))],
            vec![call, &*result(omitted)],
        ),
        ("a search", vec![item(search), item(none)], vec![search, none]),
        ("a search without a result", vec![item(search)], vec![search, none]),
        ("a result without a search", vec![item(none)], vec![]),
        ("a result of the provider's search", vec![item(server)], vec![server]),
        (
            "a summary by its older name",
            vec![item(r#"{"type":"compaction_summary","encrypted_content":"gAAA"}"#)],
            vec![r#"{"type":"compaction","encrypted_content":"gAAA"}"#],
        ),
        ("another agent's message", vec![("inter_agent_communication", mail)], vec![received]),
        ("one that is encrypted", vec![("inter_agent_communication", secret)], vec![opened]),
        (
            "one without its recipients",
            vec![("inter_agent_communication", r#"{"author":"/root/a","content":"x"}"#)],
            vec![],
        ),
        (
            "one that is taken back as a turn",
            vec![
                ("inter_agent_communication", mail),
                ("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
            ],
            vec![],
        ),
    ] {
        let expected: Vec<Value> =
            expected.iter().map(|item| serde_json::from_str(item).expect("JSON")).collect();
        assert_eq!(sent(&lines), expected, "{case}");
        let text = rollout(&lines);
        assert_eq!(returned(&text, &options(OnError::Stop, Choice::Derived)), text, "{case}");
    }
}

#[test]
fn a_message_of_another_agent_is_a_turn_of_its_own() {
    let mail = r#"{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"Done."}]}"#;
    let lines = [
        ("response_item", &*message("user", "q2")),
        ("response_item", &message("assistant", "a2")),
        ("response_item", mail),
        ("response_item", &message("assistant", "a3")),
        ("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
    ];
    let texts =
        sent(&lines).iter().map(|item| item["content"][0]["text"].to_string()).collect::<Vec<_>>();
    assert_eq!(texts, ["\"q2\"", "\"a2\""]);
}

#[test]
fn a_lost_item_is_restored_from_its_event() {
    let item = |role, text| ("response_item", message(role, text));
    let event =
        |text: &str| ("event_msg", format!(r#"{{"type":"user_message","message":"{text}"}}"#));
    let back = ("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#.to_owned());
    let turn = [item("user", "q2"), event("q2"), item("assistant", "a2")];
    let begin = [&turn[..], std::slice::from_ref(&back)].concat();
    let edited = [item("user", "q2 by hand"), event("q2"), item("assistant", "a2")];
    for (case, lines, expected) in [
        ("whole", turn.to_vec(), None),
        ("with another text than its event", edited.to_vec(), None),
        ("lost", turn[1..].to_vec(), Some(r#"["q","a","q2","a2"]"#)),
        ("lost in a turn that is taken back", begin[1..].to_vec(), Some(r#"["q","a"]"#)),
    ] {
        let lines: Vec<_> = lines.iter().map(|(wire, payload)| (*wire, &**payload)).collect();
        let dir = Dir::new();
        dir.write("a.jsonl", &rollout(&lines));
        let (code, said) = dir.said(&["validate", "a.jsonl"]);
        assert_eq!(code, i32::from(expected.is_some()), "{case}: {said}");
        let (code, said) = dir.said(&["repair", "-o", "b.jsonl", "a.jsonl"]);
        assert_eq!(code, 0, "{case}: {said}");
        assert_eq!(said.contains("CY0891"), expected.is_some(), "{case}: {said}");
        let Some(expected) = expected else { continue };
        let text = read(&dir.path("b.jsonl"));
        let out = context(&text, &Request::default(), &options(OnError::Stop, Choice::Derived));
        let out: Value = serde_json::from_slice(&out.0.expect("a context")).expect("JSON");
        let texts = out["messages"].as_array().expect("a list").iter();
        let texts: Vec<_> = texts.map(|item| item["content"][0]["text"].clone()).collect();
        assert_eq!(Value::from(texts).to_string(), expected, "{case}");
        assert_eq!(dir.exit(&["validate", "b.jsonl"]).0, 0, "{case}");
    }
}
