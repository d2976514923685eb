//! Sessions that an interface refuses, of each agent: the line that is named, and what `repair
//! --resumable` writes. Sessions that the agent itself makes acceptable are valid.

use crate::common::Dir;
use crate::common::rollout::{answer, call, output, rollout, user};
use serde_json::{Value, json};

/// First bytes of a PNG of 8 by 8 pixels.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQAAAADsdIMmAAAAC0lEQVR42mNgQAUAABAAAaoZ+IIAAAAASUVORK5CYII=";

/// A transcript of Claude Code: each line is the child of the one before.
pub fn transcript(messages: &[(&str, Value)]) -> String {
    let uuid = |n: usize| json!(format!("7f0000{n:02}-0000-4000-8000-000000000001"));
    let line = |(n, (kind, content)): (usize, &(&str, Value))| {
        let mut message = json!({"role": kind, "content": content});
        if *kind == "assistant" {
            message["id"] = json!(format!("msg_{n}"));
            message["type"] = json!("message");
            message["model"] = json!("claude-sonnet-4-5");
            message["usage"] = json!({"input_tokens": 1, "output_tokens": 1});
        }
        let parent = if n == 0 { Value::Null } else { uuid(n - 1) };
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "/srv/garden", "sessionId": "7f000000-0000-4000-8000-000000000000",
            "version": "2.1.200", "gitBranch": "main", "type": kind, "message": message,
            "uuid": uuid(n), "timestamp": format!("2026-03-03T09:00:{n:02}.000Z")})
        .to_string()
    };
    messages.iter().enumerate().map(line).map(|line| line + "\n").collect()
}

/// Expects a session to be refused at a line for this reason.
pub fn refused(dir: &Dir, name: &str, line: usize, why: &str) {
    let (code, told) = dir.exit(&["validate", name]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains(&format!("{name}:{line}:")), "not line {line}: {told}");
    assert!(told.contains("warning[CY0416]") && told.contains(why), "no {why}: {told}");
}

pub fn valid(dir: &Dir, name: &str) {
    let (code, told) = dir.exit(&["validate", name]);
    assert_eq!(code, 0, "{told}");
}

/// Repairs a session with `--resumable`, expects this fix and a valid session, and returns it.
pub fn repaired(dir: &Dir, name: &str, fix: &str) -> String {
    let (code, told) = dir.exit(&["repair", "--resumable", "--force", "-o", "o.jsonl", name]);
    assert!(code == 0 && told.contains(fix), "{code}: {told}");
    valid(dir, "o.jsonl");
    let (_, told) = dir.exit(&["repair", "--resumable", "--force", "-o", "p.jsonl", "o.jsonl"]);
    assert!(!told.contains("CY08"), "a second repair changes more: {told}");
    String::from_utf8(crate::common::read(&dir.path("o.jsonl"))).expect("UTF-8")
}

fn image(source: Value) -> Value {
    json!([{"type": "tool_result", "tool_use_id": "t1",
        "content": [{"type": "image", "source": source}]}])
}

#[test]
fn claude_code_faults_are_named_and_repaired() {
    let dir = Dir::new();
    let read = json!([{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]);
    let with = |answer: Value, result: Value| {
        transcript(&[
            ("user", json!("look")),
            ("assistant", answer),
            ("user", result),
            ("assistant", json!([{"type": "text", "text": "A twill."}])),
            ("user", json!("And now?")),
        ])
    };
    let done = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "one"}]);
    let renamed = json!([{"type": "tool_result", "tool_use_id": "functions.Bash:0",
        "content": "one"}]);
    let of_id = json!([{"type": "tool_use", "id": "functions.Bash:0", "name": "B", "input": {}}]);
    let jpg = json!({"type": "base64", "media_type": "image/jpg", "data": PNG});
    let none = json!({"type": "base64", "data": PNG});
    let cases = [
        (read.clone(), image(jpg), 3, "image/jpg, its data are image/png", "CY0886"),
        (read.clone(), image(none), 3, "media type of the image is missing", "CY0886"),
        (of_id, renamed, 2, "cannot be the identifier of a call", "CY0884"),
        (
            json!([{"type": "tool_use", "id": "t1", "name": "Read"}]),
            done.clone(),
            2,
            "a call has no arguments",
            "CY0857",
        ),
        (
            json!([{"type": "tool_use", "id": "t1", "name": "Read", "input": "{\"x\":1}"}]),
            done.clone(),
            2,
            "are no object",
            "CY0868",
        ),
        (
            json!([{"type": "thinking", "thinking": "Hm."}, read[0]]),
            done,
            2,
            "a thought has no signature",
            "CY0885",
        ),
    ];
    for (answer, result, line, why, fix) in cases {
        dir.write("s.jsonl", with(answer, result).as_bytes());
        refused(&dir, "s.jsonl", line, why);
        let text = repaired(&dir, "s.jsonl", fix);
        assert!(text.contains("A twill."), "{text}");
    }
    dir.write(
        "s.jsonl",
        transcript(&[
            ("user", json!("")),
            (
                "assistant",
                json!([{"type": "text",
        "text": "Six."}]),
            ),
            ("user", json!("And?")),
        ])
        .as_bytes(),
    );
    refused(&dir, "s.jsonl", 1, "the message is empty");
}

#[test]
fn time_that_a_question_gets_is_reported() {
    let dir = Dir::new();
    let said = json!([{"type": "text", "text": "A twill."}]);
    let text = transcript(&[("user", json!("look")), ("assistant", said), ("user", json!("And?"))]);
    let time = r#","timestamp":"2026-03-03T09:00:00.000Z""#;
    assert!(text.contains(time), "{text}");
    dir.write("s.jsonl", text.replace(time, "").as_bytes());
    let (code, told) = dir.exit(&["repair", "--resumable", "-o", "o.jsonl", "s.jsonl"]);
    assert!(code == 0 && told.contains("s.jsonl:1:0: warning[CY0857]"), "{code}: {told}");
}

#[test]
fn images_that_are_too_large_are_refused() {
    let dir = Dir::new();
    let wide = |pixels: u32| {
        let chunk = |said: &[&[u8]]| {
            let said = said.concat();
            let mut sum = flate2::Crc::new();
            sum.update(&said);
            let length = u32::try_from(said.len() - 4).expect("a short chunk");
            [&length.to_be_bytes(), said.as_slice(), &sum.sum().to_be_bytes()].concat()
        };
        let size = [pixels.to_be_bytes(), 8_u32.to_be_bytes()].concat();
        let head = [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(&[b"IHDR", &size, b"\x08\0\0\0\0"]),
            chunk(&[b"IDAT", b"abcd"]),
            chunk(&[b"IEND"]),
        ]
        .concat();
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png",
            "data": copyist::json::text::to_base64(&head)}})
    };
    let said = json!([{"type": "text", "text": "Ok"}]);
    for (count, pixels, why) in
        [(1, 9000, "larger than 8000 pixels"), (21, 2400, "among more than 20 images")]
    {
        let images = json!(vec![wide(pixels); count]);
        let text = transcript(&[("user", images), ("assistant", said.clone())]);
        dir.write("s.jsonl", text.as_bytes());
        refused(&dir, "s.jsonl", 1, why);
    }
    let images = json!(vec![wide(2400); 20]);
    dir.write("s.jsonl", transcript(&[("user", images), ("assistant", said)]).as_bytes());
    valid(&dir, "s.jsonl");
}

#[test]
fn codex_faults_are_named_and_repaired() {
    let dir = Dir::new();
    let long = "call_".to_owned() + &"x".repeat(115);
    let thought = json!({"type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Of glaze."}]});
    let mut empty = thought.clone();
    empty["encrypted_content"] = json!("");
    let mut named = answer("Celadon.");
    named["id"] = json!("msg_".to_owned() + &"y".repeat(70));
    let cases = [
        (vec![user("Glaze?"), thought, answer("Celadon.")], 3, "no encrypted content", "CY0885"),
        (vec![user("Glaze?"), empty, answer("Celadon.")], 3, "no encrypted content", "CY0885"),
        (
            vec![user("Glaze?"), call(&long), output(&long, "clay"), answer("Celadon.")],
            3,
            "more than 64 characters",
            "CY0884",
        ),
        (vec![user("Glaze?"), named], 3, "more than 64 characters", "CY0884"),
    ];
    for (items, line, why, fix) in cases {
        dir.write("s.jsonl", rollout(&items).as_bytes());
        refused(&dir, "s.jsonl", line, why);
        let text = repaired(&dir, "s.jsonl", fix);
        assert!(text.contains("Celadon."), "{text}");
    }
    let look = |url: &str| {
        let mut item = user("Look");
        let image = json!({"type": "input_image", "image_url": url});
        item["content"].as_array_mut().expect("a list").push(image);
        rollout(&[item, answer("Ok")])
    };
    dir.write("s.jsonl", look("file:///tmp/a.png").as_bytes());
    refused(&dir, "s.jsonl", 2, "no web address");
    // Codex 0.145 and later send a text for these, and providers accept U+0000.
    for url in ["data:image/png;base64,", "data:image/png;base64,PGh0bWw+"] {
        dir.write("s.jsonl", look(url).as_bytes());
        valid(&dir, "s.jsonl");
    }
    let items = [user("a"), call("c"), output("c", "SEED\0tail"), answer("b")];
    dir.write("s.jsonl", rollout(&items).as_bytes());
    valid(&dir, "s.jsonl");
}

/// A session of pi with these messages.
fn session(messages: &[Value]) -> String {
    let header = json!({"type": "session", "version": 3,
        "id": "019c0000-0000-7000-8000-00000000aaaa", "timestamp": "2026-03-03T09:00:00.000Z",
        "cwd": "/srv/garden"});
    let entry = |(n, message): (usize, &Value)| {
        let id = |n: usize| json!(format!("000000{n:02}"));
        let parent = if n == 0 { Value::Null } else { id(n - 1) };
        let mut message = message.clone();
        message["timestamp"] = json!(1_772_528_400_000_u64 + n as u64);
        json!({"type": "message", "id": id(n), "parentId": parent,
            "timestamp": format!("2026-03-03T09:00:{n:02}.000Z"), "message": message})
        .to_string()
    };
    let lines = std::iter::once(header.to_string()).chain(messages.iter().enumerate().map(entry));
    lines.map(|line| line + "\n").collect()
}

fn asked(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn answered(block: Value, (api, provider): (&str, &str)) -> Value {
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    json!({"role": "assistant", "content": [block], "api": api, "provider": provider,
        "model": "m", "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": 2, "cost": cost}, "stopReason": "stop"})
}

fn returned(text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": "functions.bash:0", "toolName": "bash",
        "content": [{"type": "text", "text": text}], "isError": false})
}

const ANTHROPIC: (&str, &str) = ("anthropic-messages", "anthropic");
const KIMI: (&str, &str) = ("openai-completions", "moonshot");

fn bash() -> Value {
    json!({"type": "toolCall", "id": "functions.bash:0", "name": "bash",
        "arguments": {"command": "ls"}})
}

/// A session whose two calls have one identifier, and that continues with this model.
fn counted_anew(last: (&str, &str)) -> String {
    let said = json!({"type": "text", "text": "Two."});
    session(&[
        asked("Reef?"),
        answered(bash(), KIMI),
        returned("one"),
        asked("Again"),
        answered(bash(), KIMI),
        returned("two"),
        answered(said, last),
    ])
}

#[test]
fn pi_identifiers_that_occur_twice_are_renamed_with_their_results() {
    let dir = Dir::new();
    dir.write("s.jsonl", counted_anew(ANTHROPIC).as_bytes());
    refused(&dir, "s.jsonl", 6, "the identifier of a call occurs twice");
    let text = repaired(&dir, "s.jsonl", "CY0884");
    for member in [r#""id":"functions.bash:0_2""#, r#""toolCallId":"functions.bash:0_2""#] {
        assert_eq!(text.matches(member).count(), 1, "{member}: {text}");
    }
    // A late result goes to the call with the new identifier.
    let late = session(&[
        asked("Reef?"),
        answered(bash(), KIMI),
        returned("one"),
        answered(bash(), KIMI),
        asked("Again"),
        returned("two"),
        answered(json!({"type": "text", "text": "Two."}), ANTHROPIC),
    ]);
    dir.write("s.jsonl", late.as_bytes());
    let text = repaired(&dir, "s.jsonl", "CY0831");
    let result = r#""toolCallId":"functions.bash:0_2","toolName":"bash""#;
    let line = text.lines().find(|line| line.contains(result)).expect("the result");
    assert!(line.contains(r#""text":"two""#), "{text}");
    // The interface of the model that gave these identifiers accepts them.
    dir.write("s.jsonl", counted_anew(KIMI).as_bytes());
    valid(&dir, "s.jsonl");
}

#[test]
fn identifiers_that_occur_twice_are_unique_in_every_other_format() {
    let dir = Dir::new();
    dir.write("s.jsonl", counted_anew(KIMI).as_bytes());
    let items = [
        user("a"),
        call("x"),
        output("x", "one"),
        user("b"),
        call("x"),
        output("x", "two"),
        answer("c"),
    ];
    dir.write("r.jsonl", rollout(&items).as_bytes());
    for (source, target) in [
        ("s.jsonl", "claude-code"),
        ("s.jsonl", "codex"),
        ("r.jsonl", "claude-code"),
        ("r.jsonl", "pi"),
    ] {
        let args = ["convert", "--force", "-t", target, "-o", "o/s.jsonl", source];
        let (code, told) = dir.exit(&args);
        assert_eq!(code, 0, "{told}");
        let done = dir.run(&["context", "--as", "anthropic", "o/s.jsonl"]).stdout;
        let context: Value = serde_json::from_slice(&done).expect("JSON");
        let blocks = context["messages"].as_array().expect("a list").iter();
        let blocks = blocks.flat_map(|message| message["content"].as_array()).flatten();
        let ids: Vec<_> = blocks.filter_map(|b| b["id"].as_str()).map(str::to_owned).collect();
        assert!(ids.len() == 2 && ids[0] != ids[1], "{source} as {target}: {ids:?}");
        // The session of the source is restored with its own identifiers.
        let own = if source == "s.jsonl" { "pi" } else { "codex" };
        let (code, told) =
            dir.exit(&["convert", "--force", "-t", own, "-o", "b.jsonl", "o/s.jsonl"]);
        assert_eq!(code, 0, "{told}");
        assert!(
            crate::common::read(&dir.path("b.jsonl")) == crate::common::read(&dir.path(source))
        );
    }
}

#[test]
fn pi_result_without_its_role_gets_it() {
    let call = json!({"type": "toolCall", "id": "functions.bash:0", "name": "bash",
        "arguments": {}});
    let said = json!({"type": "text", "text": "Two."});
    for role in [Value::Null, json!("tool")] {
        let dir = Dir::new();
        let mut result = returned("coral");
        match role.is_null() {
            true => drop(result.as_object_mut().expect("an object").remove("role")),
            false => result["role"] = role.clone(),
        }
        let text = session(&[
            asked("Reef?"),
            answered(call.clone(), KIMI),
            result,
            answered(said.clone(), KIMI),
        ]);
        dir.write("s.jsonl", text.as_bytes());
        let (code, told) = dir.exit(&["validate", "s.jsonl"]);
        assert!(code == 1 && told.contains("CY0415") && told.contains("role"), "{told}");
        for more in [&[][..], &["--resumable"]] {
            let args = [&["repair", "--force", "-o", "o.jsonl", "s.jsonl"], more].concat();
            let (code, told) = dir.exit(&args);
            assert!(code == 0 && told.contains("CY0857"), "{told}");
            assert!(!told.contains("CY0833"), "a result was added: {told}");
            valid(&dir, "o.jsonl");
            let sent = dir.run(&["context", "--as", "anthropic", "o.jsonl"]).stdout;
            let sent = String::from_utf8(sent).expect("UTF-8");
            assert!(sent.contains("coral") && !sent.contains("No result"), "{sent}");
        }
    }
}

#[test]
fn codex_times_that_are_numbers_become_text() {
    let text = rollout(&[user("Glaze?"), answer("Celadon.")]);
    let as_number = |time: &str| {
        let time = copyist::times::read(&copyist::json::Json::string(time)).expect("a time");
        json!(time.as_millisecond())
    };
    for from in [0, 2] {
        let dir = Dir::new();
        let changed = text.lines().enumerate().map(|(n, line)| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if n >= from {
                line["timestamp"] = as_number(line["timestamp"].as_str().expect("a time"));
            }
            line.to_string() + "\n"
        });
        dir.write("s.jsonl", changed.collect::<String>().as_bytes());
        let (code, told) = dir.exit(&["validate", "s.jsonl"]);
        let why = if from == 0 { "the time of the first record is a number" } else { "timestamp" };
        assert!(code == 1 && told.contains(why), "{told}");
        assert!(!told.contains("file's name"), "{told}");
        let (code, told) = dir.exit(&["repair", "-o", "o.jsonl", "s.jsonl"]);
        assert!(code == 0 && told.contains("CY0868"), "{told}");
        valid(&dir, "o.jsonl");
        let fixed = String::from_utf8(crate::common::read(&dir.path("o.jsonl"))).expect("UTF-8");
        let times = |text: &str| -> Vec<String> {
            let time = |line: &str| {
                let line: Value = serde_json::from_str(line).expect("JSON");
                line["timestamp"].as_str().expect("a text").to_owned()
            };
            text.lines().map(time).collect()
        };
        assert_eq!(times(&fixed), times(&text));
    }
}

/// Sessions of users' reports: the verdict, the line that is named, and whether `--resumable`
/// makes them valid.
const REPORTED: &[(&str, usize, bool)] = &[
    ("9-refused-not-known/04e", 1, false),
    ("9-refused-not-known/05a", 3, false),
    ("9-refused-not-known/05b", 3, true),
    ("9-refused-not-known/05d", 3, true),
    ("9-refused-not-known/05i", 1, false),
    ("9-refused-not-known/06b", 2, true),
    ("9-refused-not-known/08a", 2, true),
    ("9-refused-not-known/10a", 2, true),
    ("9-refused-not-known/10c", 2, true),
    ("9-refused-not-known/16a", 5, true),
    ("9-refused-not-known/16c", 5, true),
    ("9-refused-not-known/17a", 5, true),
    ("9-refused-not-known/28d", 3, false),
    ("9-refused-not-known/81c", 6, true),
    ("9-refused-not-known/81f", 6, true),
    ("9-refused-not-known/81g", 6, true),
    ("5-call-ids-used-again/50e", 8, true),
    ("10-codex-mends-images/28a", 0, true),
    ("10-codex-mends-images/28b", 0, true),
    ("10-codex-mends-images/28c", 0, true),
    ("real-1-codex-nul-refused", 0, true),
];

#[test]
fn sessions_of_reports_have_the_verdict_of_their_interfaces() {
    let Some(corpus) = crate::common::corpus("sessions of reports") else { return };
    let dir = Dir::new();
    for (case, line, repairs) in REPORTED {
        let all = crate::common::files(&corpus.join("field3").join(case)).into_iter();
        let file = all.into_iter().find(|file| file.extension().is_some_and(|end| end == "jsonl"));
        let file = file.unwrap_or_else(|| panic!("{case}: no session"));
        let file = file.to_str().expect("UTF-8");
        let (code, told) = dir.exit(&["validate", file]);
        assert_eq!(code, i32::from(*line > 0), "{case}: {told}");
        let place = format!("{file}:{line}:");
        assert!(*line == 0 || told.contains(&place), "{case}: not line {line}: {told}");
        let args = ["repair", "-q", "--resumable", "--force", "-o", "o.jsonl", file];
        assert_eq!(dir.exit(&args).0 == 0, *repairs, "{case}");
    }
}
