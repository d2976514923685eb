//! Transcripts of Claude Code that tests make: from a short notation, and from a seed.

use serde_json::{Value, json};

/// Session that the lines name.
pub const SESSION: &str = "5b1d0000-0000-4000-8000-000000000001";

/// A transcript from lines such as `4:2 r a`: the line's number and its parent's, its kind and
/// words. Kinds: `u` prompt, `m` text of the program, `a` text of an answer (its name first), `c`
/// call of an answer, `r` result of a call, `p` progress, `s` system, `x` unknown, `d` line of a
/// sub-agent. Lines of one number have one time, as releases copy them.
pub fn transcript(notation: &str) -> String {
    let lines: Vec<_> =
        notation.split(';').map(str::trim).filter(|line| !line.is_empty()).collect();
    let number = |line: &str| line.split(':').next().map(str::to_owned);
    let first = |line: &str| lines.iter().position(|other| number(other) == number(line));
    lines.iter().map(|line| made(first(line).unwrap_or_default(), line)).collect()
}

fn made(nth: usize, line: &str) -> String {
    let (place, said) = line.split_once(' ').expect("a place and a kind");
    let (id, parent) = place.split_once(':').expect("a line and its parent");
    let uuid = |id: &str| match id.parse().expect("a number") {
        0 => Value::Null,
        id => json!(format!("00000000-0000-4000-8000-{id:012}", id = id as u32)),
    };
    let mut words = said.splitn(3, ' ');
    let kind = words.next().unwrap_or_default();
    let (one, two) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let user = |content: Value| json!({"role": "user", "content": content});
    let answer = |block: Value| {
        json!({"id": format!("msg_{one}"), "type": "message", "role": "assistant",
            "model": "claude-x", "content": [block], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let text = |said: &str| json!({"type": "text", "text": said});
    let more = match kind {
        "u" | "d" => json!({"type": "user", "message": user(json!(one))}),
        "m" => json!({"type": "user", "isMeta": true, "message": user(json!([text(one)]))}),
        "k" => json!({"type": "user", "isCompactSummary": true, "message": user(json!(one))}),
        "a" => json!({"type": "assistant", "message": answer(text(two))}),
        "c" => {
            let call = json!({"type": "tool_use", "id": format!("toolu_{two}"), "name": "Read",
                "input": {"file_path": "/x"}});
            json!({"type": "assistant", "message": answer(call)})
        }
        "r" => {
            let said = if two.is_empty() { one } else { two };
            let result = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{one}"),
                "content": said}]);
            json!({"type": "user", "message": user(result)})
        }
        "p" => json!({"type": "progress", "data": {"type": "hook_progress"}}),
        "b" => json!({"type": "system", "subtype": "compact_boundary", "content": "Compacted",
            "level": "info", "compactMetadata": {"trigger": "manual", "preTokens": 9}}),
        "l" => json!({"type": "system", "subtype": "local_command", "content": one,
            "level": "info"}),
        "q" => json!({"type": "attachment", "attachment": {"type": "queued_command",
            "prompt": one, "commandMode": "prompt"}}),
        "s" => json!({"type": "system", "subtype": "informational", "content": "x",
            "level": "info"}),
        _ => json!({"type": "saved_hook_context", "content": []}),
    };
    let time = format!("2026-11-26T10:{:02}:{:02}.000Z", nth / 60, nth % 60);
    let mut line = json!({"parentUuid": uuid(parent), "isSidechain": kind == "d",
        "cwd": "/home/ada/garden", "sessionId": SESSION, "version": "2.1.129",
        "uuid": uuid(id), "timestamp": time});
    let members = line.as_object_mut().expect("an object");
    members.extend(more.as_object().cloned().expect("an object"));
    format!("{line}\n")
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % below.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }
}

/// The notation of a transcript as releases write it: prompts, answers with parallel calls whose
/// results come in any order, lines of hooks between, texts of the program behind results,
/// sub-agents, rewinds, compactions, copies of lines, and perhaps a call that is open at the end.
pub fn generated(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut lines, mut next, mut leaf) = (Vec::<String>::new(), 1, 0);
    let (mut stops, mut rewound) = (Vec::new(), false);
    let mut put = |lines: &mut Vec<String>, parent: usize, said: String| {
        lines.push(format!("{next}:{parent} {said}"));
        next += 1;
        next - 1
    };
    for turn in 0..2 + dice.roll(4) {
        if turn > 0 && dice.one_in(5) {
            leaf = stops[dice.roll(stops.len())];
            rewound = true;
        }
        if turn > 0 && dice.one_in(8) {
            let boundary = put(&mut lines, 0, "b".to_owned());
            leaf = put(&mut lines, boundary, format!("k summary{turn}"));
        }
        leaf = put(&mut lines, leaf, format!("u ask{turn}"));
        for round in 0..dice.roll(3) {
            let answer = format!("{turn}x{round}");
            if dice.one_in(3) {
                leaf = put(&mut lines, leaf, format!("a {answer} think{turn}{round}"));
            }
            let mut calls = Vec::new();
            for call in 0..1 + dice.roll(3) {
                if call > 0 && dice.one_in(6) {
                    put(&mut lines, leaf, "p".to_owned());
                }
                leaf = put(&mut lines, leaf, format!("c {answer} {answer}n{call}"));
                calls.push((leaf, format!("{answer}n{call}")));
                if dice.one_in(8) {
                    put(&mut lines, 0, format!("d side{turn}{round}"));
                }
            }
            while !calls.is_empty() {
                let (call, name) = calls.remove(dice.roll(calls.len()));
                let under =
                    if dice.one_in(6) { put(&mut lines, call, "p".to_owned()) } else { call };
                leaf =
                    put(&mut lines, if dice.one_in(2) { under } else { call }, format!("r {name}"));
                if dice.one_in(8) {
                    let text = put(&mut lines, leaf, format!("m image{name}"));
                    leaf = if calls.is_empty() { text } else { leaf };
                }
            }
            if dice.one_in(6) {
                leaf = put(&mut lines, leaf, "s".to_owned());
            }
        }
        leaf = put(&mut lines, leaf, format!("a {turn}end done{turn}"));
        stops.push(leaf);
        if dice.one_in(6) {
            leaf = put(&mut lines, leaf, "s".to_owned());
        }
    }
    if dice.one_in(5) {
        leaf = put(&mut lines, leaf, "u last".to_owned());
        put(&mut lines, leaf, "c open open1".to_owned());
    } else if !rewound && dice.one_in(3) {
        // A part of the lines again, as a program writes them that opens a session anew.
        let copies: Vec<_> = lines.iter().take(1 + dice.roll(lines.len())).cloned().collect();
        let place = lines.len().saturating_sub(dice.roll(3));
        lines.splice(place..place, copies);
    }
    lines.join(";")
}
