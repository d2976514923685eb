//! `convert --redact`: no planted secret is in any output, and everything else is.

use crate::common::Dir;
use copyist::redact::{Custom, Redactor, Rules};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Thirty secrets, in pieces, so that no file of the project contains one.
const SECRETS: [&[&str]; 30] = [
    &["AKIA", "IOSFODNN7EXAMPLE"],
    &["ghp_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"],
    &["gho_", "bB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"],
    &["ghs_", "cB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"],
    &["github_pat_", "11ABCDEFG0aB3dE6gH9jK2_mN5pQ8sT1vW4yZ7"],
    &["glpat-", "aB3dE6gH9jK2mN5pQ8sT"],
    &["xoxb-", "123456789012-1234567890123-aB3dE6gH9jK2"],
    &["sk-ant-", "api03-aB3dE6gH9jK2mN5pQ8sT"],
    &["sk-", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9"],
    &["sk-proj-", "aB3dE6gH9jK2mN5pQ8sT_1vW4-yZ7"],
    &["AIza", "SyA-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0e"],
    &["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"],
    &["rk_live_", "5eC39HqLyjWDarjtT1zdp7dc"],
    &["sk_test_", "6eC39HqLyjWDarjtT1zdp7dc"],
    &["npm_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"],
    &["pypi-", "AgEIcHlwaS5vcmcCJDAwMDAwMDAw"],
    &["hf_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3h"],
    &["SK", "0123456789abcdef0123456789abcdef"],
    &["SG.", "aB3dE6gH9jK2mN5pQ8sT1v.W4yZ7bC0eF3hI6aB3dE6gH9jK2mN5pQ"],
    &["eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3"],
    &["MTk4NjIyNDgz", "NDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"],
    &["110201543", ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"],
    &["ada.lovelace", "@mail.example.org"],
    &["/home/", "lovelace42"],
    &["MIIEpAIBAAKCAQEA7bq7T1vW4yZ7bC0e", "F3hI6aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b"],
    &["hunter2", "hunter2"],
    &["q9w8", "e7r6t5"],
    &["wJalrXUtnFEMI/", "K7MDENG/bPxRfiCYEXAMPLEKEY"],
    &["sword", "fish77"],
    &["dXNlcjpw", "YXNzd29yZDEyMzQ1Njc4OTA="],
];

/// A text with all secrets, each as it occurs in files and outputs.
fn planted() -> String {
    let secrets: Vec<String> = SECRETS.iter().map(|pieces| pieces.concat()).collect();
    let mut text = String::new();
    for secret in &secrets[..24] {
        let _ = writeln!(text, "see {secret}/x or '{secret}'");
    }
    let (begin, end) = (["-----BEGIN ", "PRIVATE KEY-----"], ["-----END ", "PRIVATE KEY-----"]);
    let _ = writeln!(text, "{}\n{}\n{}", begin.concat(), secrets[24], end.concat());
    let _ = writeln!(text, "DB_PASSWORD={}\n\"api_key\": \"{}\"", secrets[25], secrets[26]);
    let _ = writeln!(text, "aws_secret_access_key = {}", secrets[27]);
    let _ = writeln!(text, "postgres://ada:{}@db/tides", secrets[28]);
    let _ = writeln!(text, "Authorization: Bearer {}", secrets[29]);
    text
}

/// A session of pi with the secrets in a title, a folder, a question, thoughts, arguments and a
/// result; every character of the secrets is an escape if `escaped`.
fn session(escaped: bool) -> String {
    let text = planted();
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let mut entries =
        vec![json!({"type": "session", "version": 3, "id": "0195b9a6-7b1c-7000-8000-0123456789ab",
            "timestamp": "2026-01-03T10:00:00.000Z", "cwd": "/home/lovelace42/tides"})];
    let mut add = |id: &str, parent: &str, rest: Value| {
        let mut entry = json!({"type": "message", "id": id, "parentId": parent,
            "timestamp": "2026-01-03T10:00:01.000Z"});
        if parent.is_empty() {
            entry["parentId"] = Value::Null;
        }
        entry.as_object_mut().expect("an object").extend(rest.as_object().expect("one").clone());
        entries.push(entry);
    };
    add("a0000001", "", json!({"message": {"role": "user", "content": text, "timestamp": 1}}));
    let answer = json!([
        {"type": "text", "text": text},
        {"type": "toolCall", "id": "call_1", "name": "write",
            "arguments": {"path": "/home/lovelace42/x", "content": text,
                "api_key": SECRETS[26].concat(), "nested": json!({"deep": [text]}).to_string()}},
    ]);
    add(
        "a0000002",
        "a0000001",
        json!({"message": {"role": "assistant", "content": answer,
        "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5",
        "usage": usage, "stopReason": "toolUse", "timestamp": 2}}),
    );
    add(
        "a0000003",
        "a0000002",
        json!({"message": {"role": "toolResult", "toolCallId": "call_1",
        "toolName": "write", "content": [{"type": "text", "text": text}], "isError": false,
        "timestamp": 3}}),
    );
    add(
        "a0000004",
        "a0000003",
        json!({"message": {"role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5",
        "usage": usage, "stopReason": "stop", "timestamp": 4}}),
    );
    add("a0000005", "a0000004", json!({"type": "session_info", "name": text}));
    let lines = entries.iter().map(|entry| match escaped {
        true => with_escapes(&entry.to_string()),
        false => entry.to_string(),
    });
    lines.map(|line| line + "\n").collect()
}

/// The line with escapes in the place of all letters in texts that contain a secret.
fn with_escapes(line: &str) -> String {
    let mut out = line.to_owned();
    for secret in SECRETS {
        let plain = secret.concat();
        let spelled: String = plain.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        // Names of members and folders of the session stay readable.
        out = out.replace(&plain, &spelled);
    }
    out
}

/// All files below a folder, as one text.
fn everything(dir: &Dir, folder: &str) -> String {
    let files = crate::common::all_files(&dir.path(folder));
    let names = files.iter().map(|file| file.display().to_string());
    let names: Vec<_> =
        names.map(|name| name.replace(&dir.root().display().to_string(), "")).collect();
    let texts =
        files.iter().map(|file| String::from_utf8_lossy(&crate::common::read(file)).into_owned());
    names.into_iter().chain(texts).collect()
}

const TARGETS: [&str; 8] = [
    "canonical",
    "pi",
    "claude-code",
    "codex",
    "connectonion",
    "connectonion@2",
    "agent-orchestrator",
    "codelia",
];

#[test]
fn no_planted_secret_is_in_any_output() {
    for escaped in [false, true] {
        for target in TARGETS {
            let dir = Dir::new();
            dir.write("in.jsonl", session(escaped).as_bytes());
            let args = ["convert", "--redact", "-t", target, "--out-dir", "out", "in.jsonl"];
            let (code, said) = dir.exit(&args);
            assert_eq!(code, 0, "{target}: {said}");
            assert!(said.contains("masked: ") && said.contains(" private keys"), "{said}");
            let out = everything(&dir, "out");
            // Texts in JSON have their escapes.
            let out = [out.clone(), out.replace("\\/", "/").replace("\\u0040", "@")].concat();
            let found: Vec<_> =
                SECRETS.iter().map(|it| it.concat()).filter(|it| out.contains(it)).collect();
            assert_eq!(found, [""; 0], "{target}");
            assert!(out.contains("[masked GitHub token 1]"), "{target}: {out}");
            assert!(!out.contains(".origin"), "{target} has no origin");
        }
    }
}

/// Returns the context of a session, as `copyist context` prints it.
fn context(dir: &Dir, path: &str) -> Value {
    let done = dir.run(&["context", "--as", "canonical", path]);
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

#[test]
fn masked_sessions_keep_their_identifiers_and_their_context() {
    let dir = Dir::new();
    dir.write("in.jsonl", session(false).as_bytes());
    let convert = |to: &str, from: &str| {
        let (code, said) = dir.exit(&["convert", "--redact", "-t", "pi", "-o", to, from]);
        assert_eq!(code, 0, "{said}");
        said
    };
    convert("one.jsonl", "in.jsonl");
    let again = convert("two.jsonl", "one.jsonl");
    assert!(again.contains("masked: nothing"), "{again}");
    let read = |name: &str| String::from_utf8(crate::common::read(&dir.path(name))).expect("UTF-8");
    assert_eq!(read("one.jsonl"), read("two.jsonl"), "masking twice equals masking once");
    let (code, said) = dir.exit(&["validate", "one.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let ids = |name: &str| -> Vec<Value> {
        let lines = read(name).lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let lines = lines.expect("JSON").into_iter();
        lines
            .map(|it| {
                json!([
                    it["id"],
                    it["parentId"],
                    it["message"]["toolCallId"],
                    it["message"]["model"]
                ])
            })
            .collect()
    };
    assert_eq!(ids("in.jsonl"), ids("one.jsonl"));
    // The context is that of the session, with marks.
    let mut plain = session(false);
    for (whole, marked) in texts_of(&session(false)).into_iter().zip(texts_of(&read("one.jsonl"))) {
        let (whole, marked) = (Value::from(whole).to_string(), Value::from(marked).to_string());
        plain = plain.replace(&whole, &marked);
    }
    dir.write("plain.jsonl", plain.as_bytes());
    assert_eq!(context(&dir, "one.jsonl"), context(&dir, "plain.jsonl"));
}

/// All strings of the values of a session, in their order.
fn texts_of(session: &str) -> Vec<String> {
    fn add(value: &Value, texts: &mut Vec<String>) {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| add(item, texts)),
            Value::Object(members) => members.values().for_each(|member| add(member, texts)),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    session.lines().for_each(|line| add(&serde_json::from_str(line).expect("JSON"), &mut texts));
    texts
}

#[test]
fn dry_run_and_json_count_what_is_masked_by_kind() {
    let dir = Dir::new();
    dir.write("in.jsonl", session(false).as_bytes());
    let done = dir.run(&["convert", "--redact", "-n", "--json", "-t", "codex", "in.jsonl"]);
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let predicted = report["masked"].clone();
    assert!(predicted["e-mail"].as_u64() > Some(5), "{predicted}");
    assert!(predicted["home path"].as_u64() > Some(5), "{predicted}");
    let args = ["convert", "--redact", "-t", "codex", "-o", "out.jsonl", "--report", "report.json"];
    let (code, said) = dir.exit(&[&args[..], &["in.jsonl"]].concat());
    assert_eq!(code, 0, "{said}");
    let report: Value =
        serde_json::from_slice(&crate::common::read(&dir.path("report.json"))).expect("JSON");
    assert_eq!(report["inputs"][0]["masked"], predicted);
    assert_eq!(report["summary"]["masked"], predicted);
}

#[test]
fn origins_are_neither_read_nor_written_with_masks() {
    let dir = Dir::new();
    dir.write("in.jsonl", session(false).as_bytes());
    let (code, said) = dir.exit(&["convert", "-t", "connectonion", "-o", "plain.yaml", "in.jsonl"]);
    assert!(code == 0 && dir.path("plain.yaml.origin").is_file(), "{said}");
    let (code, said) =
        dir.exit(&["convert", "--redact", "-t", "pi", "-o", "out.jsonl", "plain.yaml"]);
    assert_eq!(code, 0, "{said}");
    assert!(!dir.path("out.jsonl.origin").exists());
    let out = String::from_utf8(crate::common::read(&dir.path("out.jsonl"))).expect("UTF-8");
    assert!(!out.contains("lovelace42") && out.contains("[masked GitHub token 1]"), "{out}");
}

#[test]
fn rules_of_the_settings_are_masked_too() {
    let dir = Dir::new();
    let settings = "redact:\n  patterns:\n  - name: ticket\n    regex: T-[0-9]+\n  words: [Kraken]\n  users: [eve]\n";
    dir.write("config.yaml", settings.as_bytes());
    let entry = r#"{"type":"message","id":"a0000001","parentId":null,"timestamp":"t","message":{"role":"user","content":"eve: T-77 of Kraken"}}"#;
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;
    dir.write("in.jsonl", format!("{header}\n{entry}\n").as_bytes());
    let run = |settings: &str| {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(["convert", "--redact", "-t", "canonical", "-o", "-", "in.jsonl"])
            .current_dir(dir.root())
            .env("COPYIST_CONFIG", dir.path(settings))
            .output()
            .expect("the program runs");
        String::from_utf8([done.stdout, done.stderr].concat()).expect("UTF-8")
    };
    let said = run("config.yaml");
    assert!(said.contains("[user]: [masked ticket 1] of [masked word 1]"), "{said}");
    dir.write("bad.yaml", b"redact:\n  patterns:\n  - name: x\n    regex: (\n");
    assert!(run("bad.yaml").contains("redact: pattern `x`"), "{}", run("bad.yaml"));
}

#[test]
fn time_is_in_proportion_to_the_length() {
    let pieces = [
        "sk-",
        "eyJ",
        "ghp_",
        "hf_",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "token: ",
        "a@",
        "/home/",
        "://",
        "\"",
        "\\",
        "AKIA",
        "-----END PRIVATE KEY-----",
        "Authorization: ",
        "_key",
        "passw",
    ];
    let rules = Rules::of(&Custom::default()).expect("valid rules");
    for piece in pieces {
        let time = |length: usize| {
            let text = piece.repeat(length / piece.len());
            let begun = std::time::Instant::now();
            let _ = Redactor::new(&rules).text(&text);
            begun.elapsed().as_secs_f64()
        };
        // Four times the length takes four times as long; a square would take sixteen times. Other
        // programs on the machine can make one measurement long, but not each of several.
        let ratios = || (0..5).map(|_| time(1 << 20) / time(1 << 18));
        assert!(ratios().any(|ratio| ratio < 8.0), "{piece}");
    }
}
