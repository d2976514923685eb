//! Rollouts of Codex that are drawn by chance from what real ones contain: parallel calls whose
//! results come in any order, or never; texts of the user while a tool runs; turns that were taken
//! back; compactions; repeated headers. `repair` keeps what a model gets, every other format gets a
//! valid session, and the real Codex sends what `context` prints.

use crate::common::Dir;
use crate::common::codex::{Answer, Cli, RELEASES, items};
use serde_json::{Value, json};

const ID: &str = "01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9fa0";

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// A rollout while it is drawn.
struct Rollout {
    chance: Chance,
    lines: Vec<String>,
    calls: u64,
    texts: u64,
}

fn message(role: &str, text: &str) -> Value {
    let part = if role == "user" { "input_text" } else { "output_text" };
    json!({"type": "message", "role": role, "content": [{"type": part, "text": text}]})
}

impl Rollout {
    fn of(seed: u64) -> String {
        let chance = Chance::of(seed);
        let mut drawn = Self { chance, lines: Vec::new(), calls: 0, texts: 0 };
        drawn.header();
        for _ in 0..2 + drawn.chance.below(4) {
            drawn.turn();
            match drawn.chance.below(8) {
                0 => {
                    let turns = 1 + drawn.chance.below(2);
                    let event = json!({"type": "thread_rolled_back", "num_turns": turns});
                    drawn.line("event_msg", &event);
                }
                1 => drawn.compact(),
                2 => drawn.header(),
                _ => {}
            }
        }
        drawn.lines.concat()
    }

    fn line(&mut self, kind: &str, payload: &Value) {
        let n = self.lines.len();
        let time = format!("2026-03-03T09:{:02}:{:02}.000Z", n / 60, n % 60);
        let line = json!({"timestamp": time, "type": kind, "payload": payload});
        self.lines.push(line.to_string() + "\n");
    }

    fn header(&mut self) {
        let meta = json!({"id": ID, "timestamp": "2026-03-03T09:00:00.000Z", "cwd": "/srv/garden",
            "originator": "codex_cli_rs", "cli_version": "0.142.0", "source": "cli",
            "model_provider": null});
        self.line("session_meta", &meta);
    }

    fn text(&mut self, what: &str) -> String {
        self.texts += 1;
        format!("{what} {}", self.texts)
    }

    fn user(&mut self) {
        let text = self.text("question");
        self.line("response_item", &message("user", &text));
        let event = json!({"type": "user_message", "message": text, "images": [],
            "local_images": [], "text_elements": []});
        self.line("event_msg", &event);
    }

    fn answer(&mut self) {
        let text = self.text("answer");
        self.line("response_item", &message("assistant", &text));
        self.line("event_msg", &json!({"type": "agent_message", "message": text}));
    }

    fn turn(&mut self) {
        self.user();
        for _ in 0..self.chance.below(3) {
            if self.chance.one_in(3) {
                let sealed = json!({"type": "reasoning", "summary": [],
                    "encrypted_content": format!("gAAAA{}", self.texts)});
                self.line("response_item", &sealed);
            }
            if self.chance.one_in(3) {
                self.answer();
            }
            self.parallel();
        }
        if !self.chance.one_in(6) {
            self.answer();
        }
    }

    /// Draws calls of one answer, and their results in any order.
    fn parallel(&mut self) {
        let mut open = Vec::new();
        for _ in 0..1 + self.chance.below(3) {
            self.calls += 1;
            let (id, custom) = (format!("call_{}", self.calls), self.chance.one_in(4));
            let item = match custom {
                true => json!({"type": "custom_tool_call", "call_id": id, "name": "apply_patch",
                    "input": "*** Begin Patch"}),
                false => json!({"type": "function_call", "name": "exec_command", "call_id": id,
                    "arguments": format!("{{\"cmd\":\"ls {}\"}}", self.calls)}),
            };
            self.line("response_item", &item);
            open.push((id, custom));
            // A result may come before the last call of its answer.
            if self.chance.one_in(5) {
                self.result(&mut open);
            }
        }
        while !open.is_empty() {
            if self.chance.one_in(6) {
                self.user();
            }
            if self.chance.one_in(12) {
                open.clear();
            } else {
                self.result(&mut open);
            }
        }
    }

    fn result(&mut self, open: &mut Vec<(String, bool)>) {
        let place = self.chance.below(open.len() as u64) as usize;
        let (id, custom) = open.swap_remove(place);
        let kind = if custom { "custom_tool_call_output" } else { "function_call_output" };
        let said = self.text("output");
        self.line("response_item", &json!({"type": kind, "call_id": id, "output": said}));
    }

    fn compact(&mut self) {
        let summary = self.text("summary");
        let history = [message("user", &self.text("kept")), message("user", &summary)];
        let payload = match self.chance.one_in(4) {
            true => json!({"message": summary}),
            false => json!({"message": summary, "replacement_history": history}),
        };
        self.line("compacted", &payload);
    }
}

/// A rollout in a short notation: a question, an answer, a beginning and an end of a turn, a
/// compaction with a new history, one without, turns taken back.
fn written(notation: &str) -> String {
    let (chance, lines) = (Chance::of(0), Vec::new());
    let mut drawn = Rollout { chance, lines, calls: 0, texts: 0 };
    drawn.header();
    for word in notation.split(' ') {
        let (kind, rest) = word.split_at(1);
        let event = |name: &str| json!({"type": name, "turn_id": format!("turn-{rest}")});
        match kind {
            "q" => drawn.user(),
            "a" => drawn.answer(),
            "(" => drawn.line("event_msg", &event("task_started")),
            ")" => drawn.line("event_msg", &event("task_complete")),
            "c" => {
                let history = [message("user", "kept"), message("user", "summary")];
                let new = json!({"message": "summary", "replacement_history": history});
                drawn.line("compacted", &new);
            }
            "s" => drawn.line("compacted", &json!({"message": "summary"})),
            _ => {
                let turns: u64 = rest.parse().expect("a number");
                let event = json!({"type": "thread_rolled_back", "num_turns": turns});
                drawn.line("event_msg", &event);
            }
        }
    }
    drawn.lines.concat()
}

/// Compactions and turns that were taken back, and what release 0.169.0 sends.
const TAKEN_BACK: &[(&str, &[&str])] = &[
    ("q a c q a", &["kept", "summary", "question 3", "answer 4"]),
    ("q a c q a -1", &["question 1", "answer 2"]),
    ("q a -1 q a c", &["question 3", "answer 4"]),
    ("(1 q a )1 (2 c )2 (3 q a )3 -1", &["kept", "summary"]),
    ("(1 q a )1 (2 q a )2 (3 c )3 -1", &["question 1", "answer 2"]),
    ("(1 q a )1 (2 q a c a )2 -1 (3 q a )3", &["question 1", "answer 2", "question 6", "answer 7"]),
    ("(1 q a )1 (2 c )2 (3 q c a )3 -1", &["kept", "summary"]),
    ("(1 q a )1 (2 q a )2 (3 s )3 (4 q a )4 -1", &["question 1", "question 3", "summary"]),
    ("(1 q a )1 (2 q a )2 (3 s )3 -1", &["question 1", "question 3"]),
];

#[test]
fn a_compaction_does_not_count_where_its_turn_was_taken_back() {
    for (notation, sent) in TAKEN_BACK {
        let dir = Dir::in_memory();
        let source = file(&dir, "in", written(notation).as_bytes());
        let texts = |messages: Vec<Value>| -> Vec<String> {
            let text = |message: &Value| message["content"][0]["text"].as_str().map(str::to_owned);
            messages.iter().filter_map(text).collect()
        };
        assert_eq!(texts(printed(&dir, &[&source])), *sent, "{notation}");
        let done = dir.exit(&["convert", "-q", "-t", "pi", "-o", "out/t.jsonl", &source]);
        assert_eq!(done.0, 0, "{notation}: {}", done.1);
        assert_eq!(texts(printed(&dir, &["out/t.jsonl"])), *sent, "{notation} as pi");
    }
}

fn file(dir: &Dir, folder: &str, text: &[u8]) -> String {
    let name = format!("{folder}/rollout-2026-03-03T09-00-00-{ID}.jsonl");
    dir.write(&name, text);
    name
}

fn printed(dir: &Dir, args: &[&str]) -> Vec<Value> {
    let out = dir.run(&[&["context", "-q"], args].concat()).stdout;
    let out: Value = serde_json::from_slice(&out).unwrap_or_default();
    out["messages"].as_array().cloned().unwrap_or_default()
}

#[test]
fn drawn_rollouts_stay_the_same_for_a_model_after_repair_and_conversion() {
    for seed in 0..25 {
        let dir = Dir::in_memory();
        let text = Rollout::of(seed);
        let source = file(&dir, "in", text.as_bytes());
        let (code, told) = dir.exit(&["validate", &source]);
        assert_eq!(code, 0, "{seed}: {told}");
        let context = printed(&dir, &["--as", "canonical", &source]);
        let args = ["repair", "-q", "--resumable", "--force", "-o", "out/r.jsonl", &source];
        assert_eq!(dir.exit(&args).0, 0, "{seed}");
        assert_eq!(printed(&dir, &["out/r.jsonl"]), printed(&dir, &[&source]), "{seed}");
        for to in ["pi", "claude-code", "connectonion"] {
            let target = if to == "connectonion" { "out/t.yaml" } else { "out/t.jsonl" };
            let (code, told) =
                dir.exit(&["convert", "-q", "--force", "-t", to, "-o", target, &source]);
            assert_eq!(code, 0, "{seed}: {told}");
            let (code, told) = dir.exit(&["validate", target]);
            assert_eq!(code, 0, "{seed} as {to}: {told}\n{text}");
            // Its messages have their texts before their calls. A compaction without a new history,
            // which keeps the user's messages one by one, has another order elsewhere.
            let bare = |line: &str| line.contains("compacted") && !line.contains("replacement");
            if to != "connectonion" && !text.lines().any(bare) {
                let other = printed(&dir, &["--as", "canonical", target]);
                assert_eq!(other, context, "{seed} as {to}");
            }
        }
    }
}

#[test]
#[ignore = "10 minutes: asks the newest Codex CLI about every drawn rollout"]
fn codex_sends_what_the_contexts_of_drawn_rollouts_are() {
    let Some(cli) = Cli::find_newest() else { return };
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (first, count) = (number("COPYIST_SEED", 0), number("COPYIST_EACH", 100));
    let newest = RELEASES[RELEASES.len() - 1];
    let (mut judged, mut wrong) = (0, Vec::new());
    for seed in first..first + count {
        let dir = Dir::in_memory();
        let source = file(&dir, "in", Rollout::of(seed).as_bytes());
        let ours = items(printed(&dir, &[&source]));
        let target = format!("out/rollout-2026-03-03T09-00-00-{ID}.jsonl");
        dir.run(&["repair", "-q", "--resumable", "--force", "-o", &target, &source]);
        for file in [&source, &target] {
            let path = dir.path(file);
            if !path.exists() {
                continue;
            }
            judged += 1;
            let Answer { resumed, sent, error, .. } = cli.ask_one(newest, &path);
            println!("{seed} {file}: {}", if resumed && sent == ours { "same" } else { "OTHER" });
            if !resumed || sent != ours {
                let place = sent.iter().zip(&ours).position(|(a, b)| a != b);
                let place = place.unwrap_or(sent.len().min(ours.len()));
                let differs = [sent.get(place), ours.get(place)];
                wrong.push(format!(
                    "{seed} {file}: resumed {resumed}, {} of {} items, {differs:?} {error}",
                    sent.len(),
                    ours.len()
                ));
            }
        }
    }
    println!("{newest}: {judged} rollouts judged, {} not sent as `context` prints", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
