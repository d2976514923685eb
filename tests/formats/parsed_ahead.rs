//! Sessions whose lines another thread parses ahead: the same bytes and findings for any number of
//! threads.

use crate::common::converted;
use copyist::format::{Format, OnError, Options};
use copyist::formats::{claude_code, codex};
use copyist::threads::ThreadBudget;
use serde_json::json;

/// A transcript of about 5 MB; `odd` is put between its lines now and then.
fn transcript(odd: &[&str]) -> Vec<u8> {
    let (mut text, mut parent) = (String::new(), None);
    let uuid = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
    for number in 0.. {
        let words = "a line of code\n\tand \"another\"\n".repeat(1 + number * 7919 % 97);
        let (kind, message) = match number % 2 {
            0 => ("user", json!({"role": "user", "content": format!("{number} {words}")})),
            _ => (
                "assistant",
                json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
                    "model": "claude-opus-4", "content": [{"type": "text", "text": words}],
                    "usage": {"input_tokens": 1, "output_tokens": 1}}),
            ),
        };
        let line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/w", "sessionId": uuid(0), "version": "2.1.100", "type": kind,
            "message": message, "uuid": uuid(number + 1), "timestamp": "2026-01-03T10:00:00.000Z"});
        parent = Some(uuid(number + 1));
        text += &format!("{line}\n");
        if number % 1009 == 1008 {
            odd.iter().for_each(|odd| text += odd);
        }
        if text.len() > 5 << 20 && number % 2 == 1 {
            return text.into_bytes();
        }
    }
    unreachable!("the loop returns")
}

fn with(threads: usize, on_error: OnError) -> (Options, copyist::threads::Busy) {
    let thread_budget = ThreadBudget::new(threads);
    let busy = thread_budget.work();
    (Options { on_error, origin: false, thread_budget, ..Options::default() }, busy)
}

/// Converts with one thread and with several; returns the output and the findings.
fn same(
    source: &[u8],
    from: &'static Format,
    version: u32,
    to: &str,
    on_error: OnError,
) -> Vec<u8> {
    let all = [1, 2, 4].map(|threads| {
        let (options, _busy) = with(threads, on_error);
        let (done, findings) = converted(source, from, version, to, &options);
        (done.map_err(|error| error.to_string()), format!("{findings:?}"))
    });
    let [one, further @ ..] = all;
    further.iter().for_each(|other| assert!(*other == one, "{to}"));
    one.0.unwrap_or_default()
}

#[test]
fn large_sessions_become_the_same_with_any_number_of_threads() {
    let source = transcript(&[]);
    let rollout = same(&source, &claude_code::FORMAT, 2, "codex", OnError::Stop);
    assert!(rollout.len() > 4 << 20);
    same(&source, &claude_code::FORMAT, 2, "pi", OnError::Stop);
    let back = same(&rollout, &codex::FORMAT, 2, "claude-code", OnError::Stop);
    assert!(back.len() > 4 << 20);
    same(&rollout, &codex::FORMAT, 2, "canonical", OnError::Stop);
}

#[test]
fn damage_is_reported_in_its_place_with_any_number_of_threads() {
    let long = format!("{{\"type\":\"x\",\"text\":\"{}\"}}\n", "y".repeat(3 << 20));
    let odd = [
        "\n",
        "{\"type\":\n",
        "[1]\n",
        "{\"type\":\"user\",\"message\":{\"role\":\"user\"}}\r\n",
        &long,
    ];
    let source = transcript(&odd);
    for on_error in [OnError::Stop, OnError::Keep, OnError::Skip] {
        for to in ["codex", "canonical"] {
            same(&source, &claude_code::FORMAT, 2, to, on_error);
        }
    }
    let torn = source.get(..source.len() - 40).unwrap_or_default();
    same(torn, &claude_code::FORMAT, 2, "pi", OnError::Keep);
}
