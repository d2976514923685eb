//! Rollouts of Codex, made of their items.

use serde_json::{Value, json};

/// A rollout with these items, a second apart.
pub fn rollout(items: &[Value]) -> String {
    let line = |(n, (kind, payload)): (usize, (&str, Value))| {
        let time = format!("2026-03-03T09:00:{n:02}.000Z");
        json!({"timestamp": time, "type": kind, "payload": payload}).to_string() + "\n"
    };
    let meta = json!({"id": "019a3b52-0000-7000-8000-00000000c0aa",
        "timestamp": "2026-03-03T09:00:00.000Z", "cwd": "/srv/garden",
        "originator": "codex_cli_rs", "cli_version": "0.142.0", "source": "cli",
        "model_provider": "openai"});
    let items = items.iter().map(|item| ("response_item", item.clone()));
    std::iter::once(("session_meta", meta)).chain(items).enumerate().map(line).collect()
}

pub fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

pub fn answer(text: &str) -> Value {
    json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": text}]})
}

pub fn call(id: &str) -> Value {
    json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id})
}

pub fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}
