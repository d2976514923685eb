//! Codex's rollouts in their folders: forks whose history stands in another file, folders that
//! moved.

use crate::common::{Dir, corpus, files, name, own, read};
use serde_json::{Value, json};
use std::path::Path;

const PARENT: &str = "01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f11";
const FORK: &str = "01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f12";
const NEXT: &str = "01990c5a-7b1e-7c3d-8f4a-5b6c7d8e9f13";

/// A numbered rollout: its first line has this number and this base.
fn rollout(id: &str, first: u64, base: Option<(&str, u64)>, said: &[(&str, &str)]) -> String {
    let mut payload = json!({"id": id, "timestamp": "2026-02-01T08:00:00.000Z", "cwd": "/srv/kiln",
        "originator": "codex_exec", "cli_version": "0.169.0", "source": "cli",
        "history_mode": "paginated"});
    if let Some((thread, end)) = base {
        payload["history_base"] = json!({"thread_id": thread, "end_ordinal_exclusive": end,
            "end_byte_offset": 0});
    }
    let line = |(number, (kind, payload)): (u64, (&str, Value))| {
        let time = "2026-02-01T08:00:01.000Z";
        json!({"timestamp": time, "ordinal": number, "type": kind, "payload": payload}).to_string()
    };
    let item = |(role, text): &(&str, &str)| {
        let part = if *role == "user" { "input_text" } else { "output_text" };
        let content = json!([{"type": part, "text": text}]);
        ("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let all = [("session_meta", payload)].into_iter().chain(said.iter().map(item));
    let lines: Vec<String> = (first..).zip(all).map(line).collect();
    lines.join("\n") + "\n"
}

fn place(id: &str) -> String {
    format!("home/sessions/2026/02/01/rollout-2026-02-01T08-00-00-{id}.jsonl")
}

/// A home with a rollout, a fork of it and a fork of that.
fn home() -> Dir {
    let dir = Dir::new();
    let parent = [("user", "Hot?"), ("assistant", "Very."), ("user", "Taken back")];
    dir.write(&place(PARENT), rollout(PARENT, 0, None, &parent).as_bytes());
    let fork = [("user", "And now?"), ("assistant", "Less.")];
    dir.write(&place(FORK), rollout(FORK, 3, Some((PARENT, 3)), &fork).as_bytes());
    let next = [("user", "And at night?")];
    dir.write(&place(NEXT), rollout(NEXT, 6, Some((FORK, 6)), &next).as_bytes());
    dir
}

fn said(dir: &Dir, file: &str) -> Vec<String> {
    let printed = dir.run(&["context", "-q", "--as", "canonical", file]).stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap_or_default();
    let messages = printed["messages"].as_array().cloned().unwrap_or_default();
    let text = |message: &Value| message["content"][0]["text"].as_str().map(str::to_owned);
    messages.iter().filter_map(text).collect()
}

#[test]
fn a_fork_is_read_with_the_lines_of_the_rollouts_before_it() {
    let dir = home();
    let all = ["Hot?", "Very.", "And now?", "Less.", "And at night?"];
    assert_eq!(said(&dir, &place(FORK)), all[..4]);
    assert_eq!(said(&dir, &place(NEXT)), all);
    // The parent may be compressed, or archived.
    let packed = zstd::encode_all(read(&dir.path(&place(PARENT))).as_slice(), 1).expect("memory");
    std::fs::remove_file(dir.path(&place(PARENT))).expect("the file");
    let name = place(PARENT).rsplit('/').next().expect("a name").to_owned();
    dir.write(&format!("home/archived_sessions/{name}.zst"), &packed);
    assert_eq!(said(&dir, &place(NEXT)), all);
}

#[test]
fn a_fork_goes_elsewhere_whole_and_comes_back_as_it_was() {
    let dir = home();
    let (code, text) = dir.said(&["convert", "-t", "pi", "-o", "a.jsonl", &place(NEXT)]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(said(&dir, "a.jsonl"), said(&dir, &place(NEXT)));
    assert_eq!(dir.exit(&["convert", "-t", "codex@3", "-o", "back.jsonl", "a.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("back.jsonl")), read(&dir.path(&place(NEXT))));
    // Version 2 has no references, so it gets the lines themselves.
    let to = ["convert", "-t", "codex@2", "-o", "b.jsonl"];
    assert_eq!(dir.exit(&[&to[..], &[&place(NEXT)]].concat()).0, 0);
    assert_eq!(said(&dir, "b.jsonl"), said(&dir, &place(NEXT)));
    let text = String::from_utf8(read(&dir.path("b.jsonl"))).expect("UTF-8");
    assert!(!text.contains("history_base") && text.contains("Very."), "{text}");
}

#[test]
fn a_fork_without_its_parent_is_reported_and_repaired_where_it_is_to_go_on() {
    let dir = home();
    std::fs::remove_file(dir.path(&place(PARENT))).expect("the file");
    let (code, text) = dir.said(&["context", &place(FORK)]);
    assert!(code <= 1 && text.contains("CY0317"), "{text}");
    assert_eq!(said(&dir, &place(FORK)), ["And now?", "Less."]);
    let (_, text) = dir.said(&["repair", "-n", &place(FORK)]);
    assert!(!text.contains("CY0869"), "{text}");
    let (code, text) = dir.said(&["validate", &place(FORK)]);
    assert!(code == 1 && text.contains("invalid codex@3"), "{text}");
    let (code, text) = dir.said(&["repair", "--resumable", "-o", "new.jsonl", &place(FORK)]);
    assert!(code == 0 && text.contains("CY0869"), "{text}");
    let text = String::from_utf8(read(&dir.path("new.jsonl"))).expect("UTF-8");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert!(first["payload"]["history_base"].is_null());
    assert_eq!(first["copyist"]["repaired"][0]["history_base"]["thread_id"], PARENT);
    // The parent of the fork's fork is there.
    let (_, text) = dir.said(&["repair", "--resumable", "-n", &place(NEXT)]);
    assert!(!text.contains("CY0869"), "{text}");
}

#[test]
fn the_history_of_a_fork_ends_at_the_byte_that_it_names() {
    let dir = home();
    let parent = String::from_utf8(read(&dir.path(&place(PARENT)))).expect("UTF-8");
    let lines: Vec<&str> = parent.split_inclusive('\n').collect();
    let end: usize = lines[..3].iter().map(|line| line.len()).sum();
    let fork = String::from_utf8(read(&dir.path(&place(FORK)))).expect("UTF-8");
    let fork = fork.replace("\"end_byte_offset\":0", &format!("\"end_byte_offset\":{end}"));
    dir.write(&place(FORK), fork.as_bytes());
    assert_eq!(said(&dir, &place(FORK)), ["Hot?", "Very.", "And now?", "Less."]);
    // Release 0.169.0 sends what a line that grew leaves, and what one that is lost lets in.
    let grown = parent.replace("Hot?", &"Hot? ".repeat(20));
    dir.write(&place(PARENT), grown.as_bytes());
    assert_eq!(said(&dir, &place(FORK)).len(), 3);
    let last = lines[3].replace("Taken back", "No");
    dir.write(&place(PARENT), [lines[0], lines[2], &last].concat().as_bytes());
    assert_eq!(said(&dir, &place(FORK)), ["Very.", "No", "And now?", "Less."]);
    // It does not open the session if the first line is lost.
    dir.write(&place(PARENT), lines[1..].concat().as_bytes());
    let (code, text) = dir.said(&["validate", &place(FORK)]);
    assert!(code == 1 && text.contains("CY0317"), "{text}");
}

/// A repair in place moves the bytes that forks count.
#[test]
fn a_repaired_rollout_is_searched_for_forks() {
    let dir = home();
    let damage = |id: &str, name: &str| {
        let text = rollout(id, 0, None, &[("user", "Hot?"), ("assistant", "Very.")]);
        dir.write(name, text.replacen("\"ordinal\":2", "\"ordinal\":1", 1).as_bytes());
    };
    let repaired = |name: &str| {
        let (code, text) = dir.said(&["repair", "--in-place", name]);
        assert!(code == 0 && text.contains("CY0888"), "{code}: {text}");
        let note = text.lines().find(|line| line.contains("CY0893"));
        note.map(|line| line.split("CY0893]: ").nth(1).unwrap_or_default().to_owned())
    };
    damage(PARENT, &place(PARENT));
    let fork = place(FORK).rsplit('/').next().expect("a name").to_owned();
    let title = "forks of the session count its bytes";
    assert_eq!(repaired(&place(PARENT)), Some(format!("{title}: {fork}")));
    // The fork may be archived and compressed.
    let packed = zstd::encode_all(read(&dir.path(&place(FORK))).as_slice(), 1).expect("memory");
    std::fs::remove_file(dir.path(&place(FORK))).expect("the file");
    dir.write(&format!("home/archived_sessions/{fork}.zst"), &packed);
    damage(PARENT, &place(PARENT));
    assert_eq!(repaired(&place(PARENT)), Some(format!("{title}: {fork}.zst")));
    // The fork's fork is none of the parent's.
    std::fs::remove_file(dir.path(&format!("home/archived_sessions/{fork}.zst"))).expect("a file");
    damage(PARENT, &place(PARENT));
    assert_eq!(repaired(&place(PARENT)), None);
    // Outside of Codex's folders there is nothing to look at.
    damage(PARENT, "s.jsonl");
    assert_eq!(repaired("s.jsonl"), Some(format!("{title}, if there are any")));
}

/// Codex 0.169.0 knows `legacy` and `paginated`, and refuses every other mode.
#[test]
fn a_rollout_in_an_unknown_mode_is_invalid() {
    let dir = Dir::new();
    let text = crate::common::rollout::rollout(&[crate::common::rollout::user("Who?")]);
    for (mode, expected) in [("legacy", 0), ("holographic", 1)] {
        let mode = format!("\"source\":\"cli\",\"history_mode\":\"{mode}\"");
        dir.write("s.jsonl", text.replacen("\"source\":\"cli\"", &mode, 1).as_bytes());
        let (code, said) = dir.said(&["validate", "s.jsonl"]);
        assert_eq!(code, expected, "{said}");
    }
}

#[test]
fn a_long_chain_of_forks_is_read_whole() {
    let dir = Dir::new();
    let id = |n: u64| format!("01990c5a-7b1e-7c3d-8f4a-{n:012x}");
    for n in 0u64..100 {
        let before = n.checked_sub(1).map(&id);
        let base = before.as_deref().map(|before| (before, 2 * n));
        let text = format!("Question {n}");
        let rollout = rollout(&id(n), 2 * n, base, &[("user", &text)]);
        dir.write(&place(&id(n)), rollout.as_bytes());
    }
    let all: Vec<_> = (0..100).map(|n| format!("Question {n}")).collect();
    assert_eq!(said(&dir, &place(&id(99))), all);
    // A circle has no end.
    let circle = rollout(&id(0), 0, Some((&id(50), 2)), &[("user", "Question 0")]);
    dir.write(&place(&id(0)), circle.as_bytes());
    let (code, text) = dir.said(&["context", &place(&id(99))]);
    assert!(code <= 1 && text.contains("CY0317"), "{text}");
}

#[test]
fn a_first_line_that_is_written_again_is_not_reported() {
    let dir = Dir::new();
    let source = String::from_utf8(own("codex/v2/polish")).expect("UTF-8");
    let first = source.lines().next().expect("a line").to_owned() + "\n";
    let id = serde_json::from_str::<Value>(&first).expect("JSON")["payload"]["id"].clone();
    for (further, count) in [(id.clone(), 0), (json!(PARENT), 2)] {
        let again = first.replace(id.as_str().expect("a text"), further.as_str().expect("a text"));
        dir.write("a.jsonl", [&source, &again, &again].map(String::as_str).concat().as_bytes());
        let (code, text) = dir.said(&["validate", "a.jsonl"]);
        assert_eq!(text.matches("CY0203").count(), count, "{text}");
        assert_eq!(code, 0, "{text}");
    }
}

#[test]
fn a_segment_behind_turns_that_were_taken_back_begins_in_the_first_file() {
    let Some(corpus) = corpus("a_segment_behind_turns_that_were_taken_back") else { return };
    let all = files(&corpus.join("codex/0.169.0/revert"));
    let (later, first): (Vec<_>, Vec<_>) = all.iter().partition(|path| name(path).contains('_'));
    let dir = Dir::new();
    let said = |file: &Path| said(&dir, file.to_str().expect("UTF-8"));
    let (later, first) = (said(later[0]), said(first[0]));
    // Two of three turns were taken back, and another one was held.
    assert_eq!((first.len(), later.len()), (6, 4));
    assert_eq!(later[..2], first[..2]);
    assert_ne!(later[2], first[2]);
}

#[test]
fn a_folder_that_moved_moves_in_the_first_line_and_in_the_turns() {
    let dir = Dir::new();
    let source = String::from_utf8(own("codex/v2/compacted")).expect("UTF-8");
    assert!(source.matches(r#""cwd":"/srv/orrery""#).count() > 2);
    dir.write("a.jsonl", source.as_bytes());
    let map = ["convert", "-t", "codex@2", "--map-path", "/srv=/data", "-o", "b.jsonl", "a.jsonl"];
    assert_eq!(dir.exit(&map).0, 0);
    let moved = String::from_utf8(read(&dir.path("b.jsonl"))).expect("UTF-8");
    assert_eq!(moved, source.replace(r#""cwd":"/srv/"#, r#""cwd":"/data/"#));
}

#[test]
fn an_inspection_shows_what_takes_the_room() {
    let dir = Dir::new();
    let head = rollout(PARENT, 0, None, &[("user", "Hot?")]);
    let history = json!([{"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "x".repeat(900_000)}]}]);
    let compacted = json!({"timestamp": "2026-02-01T08:00:02.000Z", "type": "compacted",
        "payload": {"message": "", "replacement_history": history}});
    let image = format!("data:image/png;base64,{}", "A".repeat(400_000));
    let shown = json!({"timestamp": "2026-02-01T08:00:03.000Z", "type": "response_item",
        "payload": {"type": "message", "role": "user",
            "content": [{"type": "input_image", "image_url": image}]}});
    dir.write("a.jsonl", format!("{head}{compacted}\n{shown}\n").as_bytes());
    let (_, text) = dir.said(&["inspect", "a.jsonl"]);
    assert!(text.contains("room      compaction 900 kB, images 400 kB\n"), "{text}");
}

/// Codex drops a line with half of a surrogate pair: that is reported, and repair mends it.
#[test]
fn half_characters_that_codex_drops_are_reported() {
    let dir = Dir::new();
    dir.copy("connectonion/v1/quay", "quay.yaml");
    let (code, said) = dir.exit(&["convert", "-t", "codex", "-o", "quay.jsonl", "quay.yaml"]);
    assert!(code == 0 && said.contains("warning[CY0631]"), "{code}: {said}");
    let (code, said) = dir.exit(&["repair", "-o", "mended.jsonl", "quay.jsonl"]);
    assert!(code == 0 && said.contains("CY0834"), "{code}: {said}");
    assert_eq!(dir.exit(&["validate", "mended.jsonl"]).0, 0);
}
