//! Sessions that were edited in another format, and are converted back: what is no single round
//! trip, and so no case of `testdata/roundtrip/`.

use crate::common::{Dir, files, read, testdata};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with a session of our own that went to another format, as the file `away`.
fn away(case: &str, name: &str, to: &str) -> Dir {
    let dir = Dir::new();
    dir.copy(case, name);
    let (code, said) = dir.exit(&["convert", "-t", to, "-o", "away", name]);
    assert_eq!(code, 0, "{said}");
    dir
}

fn append(dir: &Dir, lines: &str) {
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    fs::write(dir.path("away"), text + lines).expect("a file");
}

/// An entry of pi's tree, behind the last one that has an identifier.
fn entries(dir: &Dir, messages: &[&str]) -> String {
    let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
    let last = text.lines().rev().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["id"].as_str().map(str::to_owned)
    });
    let mut parent = last.expect("an entry");
    let mut out = String::new();
    for (n, message) in messages.iter().enumerate() {
        let id = format!("aa11bb2{n}");
        let time = format!("2027-03-01T00:00:0{n}.000Z");
        out += &format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"{time}","message":{message}}}"#
        );
        out.push('\n');
        parent = id;
    }
    out
}

const QUESTION: &str =
    r#"{"role":"user","content":[{"type":"text","text":"Any more?"}],"timestamp":1803859200000}"#;
const ANSWER: &str = r#"{"role":"assistant","content":[{"type":"text","text":"No more."}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1803859201000}"#;

#[test]
fn a_file_without_its_last_line_ending_comes_back_without_it() {
    for path in files(&testdata().join("connectonion")) {
        let inside = path.parent().is_some_and(|folder| folder.ends_with("in"));
        if !inside || path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let source = read(&path);
        let source = source.trim_ascii_end();
        let dir = Dir::new();
        dir.write("in.yaml", source);
        let format = dir.said(&["detect", "in.yaml"]).1;
        for to in ["connectonion@1", "connectonion@2", "connectonion@3"] {
            let own = ["connectonion@1", "connectonion@2", "connectonion@3"];
            let own = own.into_iter().find(|own| format.contains(own)).expect("a version");
            let there = ["convert", "--force", "-t", to, "-o", "away.yaml", "in.yaml"];
            let back = ["convert", "--force", "-t", own, "-o", "back.yaml", "away.yaml"];
            for step in [there, back] {
                let (code, said) = dir.exit(&step);
                assert_eq!(code, 0, "{} to {to}: {said}", path.display());
            }
            let back = read(&dir.path("back.yaml"));
            assert!(back == source, "{} to {to}", path.display());
        }
    }
}

/// Every part of an answer refers to its place in a list; to go through the list for each would take
/// minutes here.
#[test]
fn an_answer_of_many_parts_takes_linear_time() {
    let call =
        |n| format!(r#"{{"type":"toolCall","id":"c{n}","name":"ls","arguments":{{"n":{n}}}}}"#);
    let calls: Vec<String> = (0..20_000).map(call).collect();
    let answer = ANSWER.replace(r#"{"type":"text","text":"No more."}"#, &calls.join(","));
    let session = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        format!(r#"{{"type":"message","id":"aa11bb20","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{QUESTION}}}"#),
        format!(r#"{{"type":"message","id":"aa11bb21","parentId":"aa11bb20","timestamp":"2026-01-01T00:00:02.000Z","message":{answer}}}"#),
    ];
    let session = session.join("\n") + "\n";
    for to in ["connectonion@3", "codelia"] {
        let dir = Dir::new();
        fs::write(dir.path("in.jsonl"), &session).expect("a file");
        let (code, told) = dir.exit(&["convert", "-t", to, "--out-dir", "away", "in.jsonl"]);
        assert_eq!(code, 0, "{told}");
        let (code, told) = dir.exit(&["convert", "-t", "pi@3", "--out-dir", "back", "away"]);
        assert_eq!(code, 0, "{told}");
        let back: Vec<_> = files(&dir.path("back")).iter().map(|path| read(path)).collect();
        assert!(back == [session.as_bytes()], "{to}");
    }
}

#[test]
fn messages_that_occur_twice_without_times_are_no_block_written_twice() {
    let session = r#"{"kind":"session","source":"x","id":"s1","created":"2026-03-02T21:40:11Z"}"#;
    let mut stream = format!("{session}\n");
    let mut parent = String::from("null");
    for n in 0..6 {
        let (role, text) = if n % 2 == 0 { ("user", "Go on.") } else { ("assistant", "Yes.") };
        stream += &format!(
            "{{\"kind\":\"message\",\"id\":\"m{n}\",\"parent\":{parent},\"role\":\"{role}\",\"content\":\"{text}\"}}\n"
        );
        parent = format!("\"m{n}\"");
    }
    let dir = Dir::new();
    dir.write("s.jsonl", stream.as_bytes());
    assert_eq!(dir.exit(&["convert", "-t", "pi@1", "-o", "old.jsonl", "s.jsonl"]).0, 0);
    let (code, said) = dir.exit(&["repair", "-n", "old.jsonl"]);
    assert_eq!(code, 0, "{said}");
}

/// The files below a folder whose text holds this.
fn holding(folder: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |file: &PathBuf| String::from_utf8_lossy(&read(file)).contains(text);
    files(folder).into_iter().filter(holds).collect()
}

/// A question and its answer behind a file of ConnectOnion @2, as its software adds a turn.
fn ask_in_yaml(dir: &Dir, file: &str) {
    let text = fs::read_to_string(dir.path(file)).expect("UTF-8");
    let turn = 1 + text.matches("\n  timestamp:").count();
    let turns = format!(
        "- input: Q-two?\n  expected: ''\n  model: m\n  duration_ms: 7\n  tokens: 12\n  cost: 0.5\n  \
         tools_called: []\n  result: A-two.\n  evaluation: ''\n  turn: {turn}\n  \
         timestamp: '2027-03-01 00:00:01'\n"
    );
    let messages = format!(
        "  {turn}:\n  - role: user\n    content: Q-two?\n  - role: assistant\n    content: A-two.\n"
    );
    let behind = |text: &str, from: usize| {
        let rest = &text[from..];
        let end = rest.match_indices('\n').find(|(at, _)| {
            rest.as_bytes().get(at + 1).is_none_or(|b| !matches!(b, b' ' | b'-' | b'\n'))
        });
        from + end.map_or(rest.len(), |(at, _)| at + 1)
    };
    let at = behind(&text, text.find("\nturns:").expect("turns") + 1);
    let text = [&text[..at], &turns, &text[at..]].concat();
    let at = behind(&text, text.find("\nmessages:").expect("messages") + 1);
    let text = [&text[..at], &messages, &text[at..]].concat();
    fs::write(dir.path(file), text).expect("a file");
}

#[test]
fn a_turn_that_was_added_and_deleted_again_stays_deleted() {
    for to in ["connectonion@1", "connectonion@2"] {
        let dir = away("pi/v3/migrated", "in.jsonl", "connectonion@2");
        ask_in_yaml(&dir, "away");
        let there = ["convert", "-t", "agent-orchestrator@2", "--out-dir", "b", "away"];
        let (code, said) = dir.exit(&there);
        assert_eq!(code, 0, "{said}");
        let log = files(&dir.path("b")).into_iter().find(|file| file.ends_with("away.jsonl"));
        let log = log.expect("a log");
        let text = fs::read_to_string(&log).expect("UTF-8");
        let lines = text.lines().take_while(|line| !line.contains("Q-two?"));
        let left: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(left.len() < text.len());
        fs::write(&log, left).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", to, "--out-dir", "c", "b"]);
        assert_eq!(code, 0, "{to}: {said}");
        assert!(holding(&dir.path("c"), "Q-two?").is_empty(), "{to}: {said}");
        assert!(holding(&dir.path("c"), "A-two.").is_empty(), "{to}: {said}");
    }
}

/// What pi writes when it goes on with a session, and what a person does there without asking.
#[test]
fn settings_and_names_of_pi_reject_no_origin() {
    let settings = [
        r#""type":"thinking_level_change","thinkingLevel":"low""#,
        r#""type":"model_change","provider":"p","modelId":"m2""#,
        r#""type":"session_info","name":"harbour lamps""#,
        r#""type":"label","targetId":"PARENT","label":"here""#,
        r#""type":"custom","customType":"x","data":{"a":1}"#,
    ];
    let homes = [
        ("codelia/v1/state", "in", "codelia@1"),
        ("codelia/v2/log", "in", "codelia@2"),
        ("connectonion/v2/harbour", "in.yaml", "connectonion@2"),
        ("connectonion/v3/tides", "in.yaml", "connectonion@3"),
    ];
    for ((case, name, home), setting) in
        homes.iter().flat_map(|home| settings.iter().map(move |setting| (home, setting)))
    {
        for asked in [&[][..], &[QUESTION, ANSWER][..]] {
            let dir = away(case, name, "pi@3");
            let text = fs::read_to_string(dir.path("away")).expect("UTF-8");
            let last: serde_json::Value =
                serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
            let last = last["id"].as_str().expect("an identifier");
            let setting = setting.replace("PARENT", last);
            append(
                &dir,
                &format!(
                    "{{{setting},\"id\":\"12345678\",\"parentId\":\"{last}\",\"timestamp\":\"2027-02-28T00:00:00.000Z\"}}\n"
                ),
            );
            let new = entries(&dir, asked);
            append(&dir, &new);
            let (code, said) = dir.exit(&["convert", "-t", home, "--out-dir", "back", "away"]);
            assert_eq!(code, 0, "{home} {setting} {}: {said}", asked.len());
            assert!(!said.contains("CY0621"), "{home} {setting}: {said}");
            let back = dir.path("back").display().to_string();
            assert_eq!(dir.exit(&["validate", &back]).0, 0, "{home} {setting}");
            let kept = files(&dir.path("back"))
                .iter()
                .any(|file| memchr::memmem::find(&read(file), b"Any more?").is_some());
            assert_eq!(kept, !asked.is_empty(), "{home} {setting}");
        }
    }
}
