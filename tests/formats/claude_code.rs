//! Claude Code's transcripts: the corpus comes back byte for byte, contexts are what the real
//! program sends, and it resumes what was converted.

use crate::common::{
    Dir, context, converted, corpus, files, files_of, from_canonical, name, options, own, read,
    recognise, returned, session, to_canonical,
};
use copyist::context::{Form, Request};
use copyist::format::{OnError, Options};
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options that keep what is damaged.
pub fn keep() -> Options {
    options(OnError::Keep, Choice::Derived)
}

/// Transcripts below a folder, with their text.
fn transcripts(folder: &Path) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let files = files(folder).into_iter().filter(|file| file.to_string_lossy().ends_with(".jsonl"));
    files.map(|file| (file.clone(), read(&file))).filter(|(_, text)| !text.is_empty())
}

#[test]
fn transcripts_of_the_corpus_come_back_through_the_stream() {
    let Some(corpus) = corpus("transcripts_of_the_corpus_come_back") else { return };
    let mut count = 0;
    for (file, text) in transcripts(&corpus.join("claude-code/generated")) {
        let Some((format, version)) = recognise(&text) else { continue };
        assert_eq!(format.name, "claude-code", "{}", file.display());
        assert!(returned(&text, &keep()) == text, "{}", file.display());
        let stream = to_canonical(&text, &keep());
        let back = from_canonical(&stream, &format.at(version), &keep());
        assert!(to_canonical(&back, &keep()) == stream, "{}", file.display());
        count += 1;
    }
    println!("{count} transcripts came back");
    assert!(count > 200, "{count}");
}

/// The blocks of a message.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(list) => list.clone(),
        _ => Vec::new(),
    }
}

/// A text without the reminders of the program, and with one kind of line break.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(start) = text.find("<system-reminder>") {
        let end =
            text[start..].find("</system-reminder>").map_or(text.len(), |end| start + end + 18);
        text.replace_range(start..end, "");
    }
    // The program joins texts with or without a line break between them.
    text.split('\n')
        .filter(|line| !line.trim().is_empty())
        .collect::<Vec<_>>()
        .join("")
        .trim()
        .to_owned()
}

/// Adds a block, joined with a text before it.
fn add(list: &mut Vec<Value>, block: Value) {
    if let (Some("text"), Some(last)) = (block["type"].as_str(), list.last_mut())
        && last["type"] == "text"
    {
        let both = format!("{}{}", last["text"].as_str().unwrap(), block["text"].as_str().unwrap());
        last["text"] = both.into();
        return;
    }
    list.push(block);
}

/// A block as all releases send it; calls are numbered.
fn told(block: &Value, calls: &mut Vec<String>) -> Option<Value> {
    let number = |id: &Value, calls: &mut Vec<String>| {
        let id = id.as_str().unwrap_or_default();
        calls.iter().position(|call| call == id).unwrap_or_else(|| {
            calls.push(id.to_owned());
            calls.len() - 1
        })
    };
    Some(match block["type"].as_str()? {
        "thinking" | "redacted_thinking" => return None,
        "text" => {
            let text = plain(block["text"].as_str()?);
            return (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
        }
        "tool_use" => {
            // Release 2.1.332 sends an old call of `Task` as one of `Agent`.
            let name = block["name"].as_str()?.replace("Agent", "Task");
            json!({"type": "call", "id": number(&block["id"], calls), "name": name, "input": block["input"]})
        }
        "tool_result" => {
            let mut content = Vec::new();
            let inner = blocks(&block["content"]);
            inner.iter().filter_map(|inner| told(inner, calls)).for_each(|b| add(&mut content, b));
            let failed = block["is_error"] == true;
            json!({"type": "result", "id": number(&block["tool_use_id"], calls), "content": content, "failed": failed})
        }
        _ => json!({"type": block["type"], "source": block["source"]}),
    })
}

/// The messages of a request, those of one role joined, as the interface joins them.
pub fn said(messages: &Value) -> Vec<Value> {
    let (mut said, mut calls) = (Vec::<Value>::new(), Vec::new());
    for message in messages.as_array().into_iter().flatten() {
        let mut content: Vec<_> =
            blocks(&message["content"]).iter().filter_map(|b| told(b, &mut calls)).collect();
        content.retain(|b| {
            let text = b["text"].as_str().unwrap_or_default();
            !text.contains(PROMPT) && text != "No response requested."
        });
        if message["role"] == "system" || content.is_empty() {
            continue;
        }
        if said.last().is_none_or(|last| last["role"] != message["role"]) {
            said.push(json!({"role": message["role"], "content": []}));
        }
        let list = said.last_mut().and_then(|last| last["content"].as_array_mut()).unwrap();
        content.into_iter().for_each(|block| add(list, block));
    }
    for message in said.iter_mut().filter(|message| message["role"] == "user") {
        let mut list = message["content"].take().as_array().cloned().unwrap_or_default();
        list.sort_by_key(|block| block["type"] != "result");
        let mut joined = Vec::new();
        list.into_iter().for_each(|block| add(&mut joined, block));
        message["content"] = joined.into();
    }
    said
}

/// The prompt with which the judge goes on.
const PROMPT: &str = "NEXT-PROMPT of the probe";

/// A JSON text, with U+FFFD for halves of surrogate pairs, as the program sends them.
pub fn parsed(text: &[u8]) -> Value {
    let mut text = text.to_vec();
    for half in copyist::json::text::lone_halves(&text.clone()) {
        text[half.start..half.end].copy_from_slice(b"\\ufffd");
    }
    serde_json::from_slice(&text).expect("JSON")
}

/// The context of a session for Anthropic's interface.
pub fn context_of(text: &[u8]) -> Option<Value> {
    let request = Request { form: Form::Anthropic, ..Request::default() };
    let out = context(text, &request, &keep()).0.ok()?;
    Some(parsed(&out)["messages"].take())
}

/// Scenarios whose context is not what release 2.1.332 sends, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("killed_in_tool", "calls that a kill left open are answered by the program when it resumes"),
    ("killed_and_resumed", "the same"),
    (
        "many_prompts",
        "words of the user that waited are in a reminder, which the corpus leaves out",
    ),
];

#[test]
fn contexts_are_what_the_newest_release_sends() {
    let Some(corpus) = corpus("contexts_are_what_the_newest_release_sends") else { return };
    let generated = corpus.join("claude-code/generated");
    let (mut same, mut others) = (0, Vec::new());
    for file in files(&generated) {
        let Some(id) = name(&file).strip_suffix(".2.1.332.json").map(str::to_owned) else {
            continue;
        };
        let scenario = file.parent().and_then(Path::parent).expect("a scenario");
        let (_, text) = transcripts(&scenario.join("projects"))
            .find(|(file, _)| name(file) == format!("{id}.jsonl"))
            .expect("a transcript");
        let expected = parsed(&read(&file));
        let ours = said(&context_of(&text).expect("a context"));
        match ours == said(&expected["messages"]) {
            true => same += 1,
            false => {
                others.push(scenario.strip_prefix(&generated).expect("below").display().to_string())
            }
        }
    }
    println!("{same} contexts are those of 2.1.332; others: {others:#?}");
    let known = |other: &String| OTHERWISE.iter().any(|(name, _)| other.ends_with(name));
    assert!(others.iter().all(known) && same > 100, "{same} {others:?}");
}

/// Parts of paths of files that are damaged, or no sessions of their own.
const NO_SESSIONS: &[&str] = &[
    "/edge",
    "/mut/",
    "/probes/",
    "/expected/",
    "/truth/",
    ".meta.json",
    "/migrated/",
    "/damage/",
    "subagents",
];

/// Sessions of each format but one in the corpus, as many as `COPYIST_EACH` says, or ten.
pub fn sessions(corpus: &Path, but: &str) -> BTreeMap<&'static str, Vec<(PathBuf, Vec<u8>)>> {
    let each = std::env::var("COPYIST_EACH").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let mut sessions: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let others = copyist::formats::FORMATS.iter().map(|format| format.name);
    for format in others.filter(|name| *name != but && corpus.join(name).is_dir()) {
        let all = files(&corpus.join(format)).into_iter().filter(|file| {
            let path = file.to_string_lossy();
            !NO_SESSIONS.iter().any(|part| path.contains(part))
        });
        let all = all.map(|file| (file.clone(), session(&file)));
        let all: Vec<_> = all
            .filter(|(_, text)| recognise(text).is_some_and(|(own, _)| own.name == format))
            .filter(|(_, text)| context_of(text).is_some_and(|said| said != json!([])))
            .collect();
        let step = (all.len() / each).max(1);
        sessions.insert(format, all.into_iter().step_by(step).take(each).collect());
    }
    sessions
}

/// Answers of the real program to transcripts.
pub fn judged(script: &Path, release: &str, files: &[PathBuf]) -> Vec<Value> {
    let mut judge = Command::new("python3");
    judge.arg(script).args(["--release", release]);
    if release.starts_with("2.0") {
        judge.arg("--no-listed");
    }
    let done = judge.args(files).output().expect("python3 runs");
    let text = String::from_utf8_lossy(&done.stdout);
    let verdicts: Vec<_> = text.lines().flat_map(serde_json::from_str).collect();
    assert_eq!(verdicts.len(), files.len(), "{}", String::from_utf8_lossy(&done.stderr));
    verdicts
}

/// Whether a call of the messages has no result.
pub fn has_open_calls(said: &[Value]) -> bool {
    let text = said.iter().map(ToString::to_string).collect::<String>();
    text.contains("No result provided")
        || text.matches(r#""type":"call""#).count() > text.matches(r#""type":"result""#).count()
}

/// Sessions whose own software sends a thought without a signature as a text. A transcript gets no
/// such thought: it stays in the origin, and the conversion reports it.
const THOUGHTS: &[&str] = &["lossless-pi.jsonl"];

#[test]
#[ignore = "takes minutes, and installs the real program"]
fn the_real_program_resumes_sessions_of_every_other_format() {
    let Some(corpus) = corpus("the_real_program_resumes") else { return };
    let script = corpus.join("../oracle/claude-code/resume_probe.py");
    for (format, sessions) in sessions(&corpus, "claude-code") {
        let dir = Dir::new();
        let (mut written, mut contexts) = (Vec::new(), Vec::new());
        for (n, (file, text)) in sessions.iter().enumerate() {
            let (own, version) = recognise(text).expect("a session");
            let out = converted(text, own, version, "claude-code", &keep()).0.expect("converted");
            let main = files_of(&out).into_iter().next().expect("a part").1;
            dir.write(&format!("{n}.jsonl"), &main);
            written.push(dir.path(&format!("{n}.jsonl")));
            contexts.push((file, said(&context_of(text).expect("a context"))));
        }
        for release in ["2.0.53", "2.1.332"] {
            let (mut same, mut open, mut long, mut thoughts) = (0, 0, 0, 0);
            for (verdict, (file, context)) in
                judged(&script, release, &written).iter().zip(&contexts)
            {
                let what = format!("{} in {release}: {}", file.display(), verdict["result"]);
                assert!(verdict["ok"] == true && verdict["kept"] == true, "{what}");
                // A session that begins with an answer does so in every format.
                if context.first().is_none_or(|first| first["role"] == "user") {
                    assert_eq!(verdict["refused"], json!([]), "{what}");
                    let listed = json!({"sdk": true, "continue": true});
                    let shown = verdict["listed"].is_null() || verdict["listed"] == listed;
                    assert!(shown, "{what}: {}", verdict["listed"]);
                }
                match said(&verdict["messages"]) {
                    sent if sent == *context => same += 1,
                    // Release 2.0.53 leaves such calls out, 2.1.332 answers them itself.
                    _ if has_open_calls(context) => open += 1,
                    // The program asks for a summary before it sends a session of this length.
                    _ if context.len() > 800 => long += 1,
                    _ if THOUGHTS.contains(&name(file).as_str()) => thoughts += 1,
                    sent => panic!("{what}: {context:#?}\n{sent:#?}"),
                }
            }
            println!(
                "{format} in {release}: {same} the same, {open} with open calls, {long} too long, \
                 {thoughts} with a thought"
            );
        }
    }
}

#[test]
fn files_beside_sessions_are_no_sessions() {
    let dir = Dir::new();
    let summary =
        r#"{"type":"summary","summary":"Tides","leafUuid":"7d1f0a52-6b0e-4b3c-8a41-1c9e2f5b7a10"}"#;
    dir.write("0d4c7a10-1111-4222-8333-444455556666.jsonl", format!("{summary}\n").as_bytes());
    dir.write("7d1f0a52-6b0e-4b3c-8a41-1c9e2f5b7a10.jsonl", &own("claude-code/v1/sidechain"));
    let (code, said) = dir.said(&["detect", "0d4c7a10-1111-4222-8333-444455556666.jsonl"]);
    assert!(code == 3 && said.contains("CY0210") && said.contains("no session"), "{code} {said}");
    let (code, said) = dir.said(&["convert", "-t", "pi", "--out-dir", "out", "."]);
    assert!(code == 0 && said.contains("1 converted"), "{code} {said}");
}

#[test]
fn usage_of_an_answer_counts_once() {
    let dir = Dir::new();
    let line = |uuid: &str, parent: &str, block: &str, output: u32| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.81","type":"assistant","message":{{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":7,"output_tokens":{output}}}}},"uuid":"{uuid}","timestamp":"2026-01-01T10:00:00.00{output}Z"}}"#
        )
    };
    let text = [
        r#"{"parentUuid":null,"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.81","type":"user","message":{"role":"user","content":"Go."},"uuid":"u","timestamp":"2026-01-01T10:00:00.000Z"}"#.to_owned(),
        line("a", r#""u""#, r#"{"type":"text","text":"Looking."}"#, 1),
        line("b", r#""a""#, r#"{"type":"tool_use","id":"c1","name":"Bash","input":{}}"#, 9),
        String::new(),
    ];
    dir.write("s.jsonl", text.join("\n").as_bytes());
    let inspected = dir.run(&["inspect", "--json", "s.jsonl"]);
    let inspected: Value = serde_json::from_slice(&inspected.stdout).expect("JSON");
    let inspected = &inspected["inspection"];
    assert_eq!(
        (&inspected["usage"]["input"], &inspected["usage"]["output"]),
        (&json!(7.0), &json!(9.0))
    );
    assert_eq!(dir.exit(&["convert", "-q", "-t", "pi", "-o", "p.jsonl", "s.jsonl"]).0, 0);
    let pi = String::from_utf8(read(&dir.path("p.jsonl"))).expect("UTF-8");
    assert_eq!(pi.matches(r#""role":"assistant""#).count(), 1, "{pi}");
    assert!(pi.contains(r#""input":7,"output":9"#), "{pi}");
}

/// Number of blocks of a list of messages, as the judge or its records give them.
fn weight(messages: &Value) -> usize {
    let content = |message: &Value| match message {
        Value::Array(pair) => blocks(&pair[1]).len(),
        message => blocks(&message["content"]).len(),
    };
    messages.as_array().into_iter().flatten().map(content).sum()
}

/// Damages after which not all is well, and why.
const UNMENDED: &[(&str, &str)] = &[
    ("all-sidechain", "there is no conversation"),
    ("assistant-first", "the question is lost, and none is made up"),
];

#[test]
#[ignore = "takes minutes, and installs the real program"]
fn the_real_program_resumes_repaired_sessions() {
    let Some(corpus) = corpus("the_real_program_resumes_repaired_sessions") else { return };
    let edge = corpus.join("claude-code/edge");
    let script = corpus.join("../oracle/claude-code/resume_probe.py");
    println!(
        "| damage | release | blocks sent before | refused | after | refused |\n|---|---|---|---|---|---|"
    );
    for release in ["2.0.53", "2.1.332"] {
        let before = parsed(&read(&edge.join(format!("expected.{release}.json"))));
        for (file, _) in transcripts(&edge.join("damage")) {
            let dir = Dir::new();
            let stem = name(&file).trim_end_matches(".jsonl").to_owned();
            let session = "5e551011-0000-4000-8000-000000000001.jsonl";
            let source = file.to_string_lossy();
            let done = dir.exit(&["repair", "-q", "--resumable", "-o", session, &source]);
            if !dir.path(session).is_file() {
                println!("| {stem} | {release} | no session: {} |", done.1.trim());
                continue;
            }
            let after = &judged(&script, release, &[dir.path(session)])[0];
            let before = &before[format!("damage/{stem}")];
            let (was, is) = (weight(&before["messages"]), weight(&after["messages"]));
            println!(
                "| {stem} | {release} | {was} | {} | {is} | {} |",
                before["refused"], after["refused"]
            );
            if !UNMENDED.iter().any(|(known, _)| *known == stem) {
                assert!(after["ok"] == true && after["kept"] == true, "{stem} in {release}");
                assert_eq!(after["refused"], json!([]), "{stem} in {release}");
            }
        }
    }
}
