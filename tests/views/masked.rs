//! Secrets are masked in pages and Markdown by default, and in other views where the user wants it.

use crate::common::Dir;
use serde_json::json;
use std::fs;

/// Secrets, each in another part of a session.
const SECRETS: &[&str] = &[
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "mira.holm@example.net",
    "sk-ant-api03-q1W2e3R4t5Y6u7I8o9P0aSdFgHjKlZxCvBnM1234567890qwertyuiopAS-DFghJKAA",
    "AKIAQ3EGRWT5YUIOP7XZ",
    "xoxb-2345678901-2345678901234-AbCdEfGhIjKlMnOpQrStUvWx",
    "hunter2-correct-horse",
];

fn dir() -> Dir {
    let call = json!([
        { "type": "text", "text": format!("Token {}", SECRETS[0]) },
        { "type": "thinking", "thinking": format!("key {}", SECRETS[2]) },
        { "type": "tool_call", "id": "c", "name": "bash", "arguments": { "command": format!("echo {}", SECRETS[3]) } },
    ]);
    let result =
        json!([{ "type": "tool_result", "call": "c", "content": format!("SLACK={}", SECRETS[4]) }]);
    let records = [
        json!({ "kind": "session", "id": "s", "name": format!("for {}", SECRETS[1]) }),
        json!({ "kind": "message", "id": "a", "parent": null, "role": "user", "content": format!("I am mirahol, {}; DB_PASSWORD={} in /home/mirahol/app", SECRETS[1], SECRETS[5]) }),
        json!({ "kind": "message", "id": "b", "parent": "a", "role": "assistant", "content": call }),
        json!({ "kind": "message", "id": "d", "parent": "b", "role": "tool", "content": result }),
        json!({ "kind": "session", "id": "s", "cwd": "/home/mirahol/app" }),
        json!({ "kind": "label", "id": "e", "parent": "d", "target": "b", "label": SECRETS[1] }),
    ];
    let dir = Dir::new();
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    dir.write("in/session.copyist.jsonl", text.as_bytes());
    dir
}

fn shown(secrets: &[&str], view: &str) -> Vec<String> {
    secrets.iter().filter(|secret| view.contains(**secret)).map(|it| (*it).to_owned()).collect()
}

#[test]
fn masked_by_default_are_pages_and_markdown() {
    let dir = dir();
    let secrets = [SECRETS, &["mirahol"]].concat();
    for (form, masks) in
        [("html", true), ("markdown", true), ("text", false), ("json", false), ("yaml", false)]
    {
        for (more, masks) in [(None, masks), (Some("--redact"), true), (Some("--no-redact"), false)]
        {
            let mut args =
                vec!["show", "--as", form, "--tools", "full", "in/session.copyist.jsonl"];
            args.extend(more);
            let done = dir.run(&args);
            let (out, err) =
                (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            assert_eq!(done.status.code(), Some(0), "{err}");
            let found = shown(&secrets, &out);
            match masks {
                true => assert_eq!(found, Vec::<String>::new(), "{form} {more:?}\n{out}"),
                false => assert!(found.len() >= SECRETS.len(), "{form} {more:?}: {found:?}"),
            }
            assert_eq!(err.contains("masked: "), masks, "{form} {more:?}: {err}");
        }
    }
}

#[test]
fn masked_are_the_pages_of_convert_and_their_list() {
    let dir = dir();
    for form in ["html", "markdown"] {
        let (code, err) = dir.exit(&["convert", "-t", form, "--out-dir", form, "in"]);
        assert!(code == 0 && err.contains("masked: "), "{err}");
        for file in crate::common::all_files(&dir.path(form)) {
            let text = fs::read_to_string(&file).expect("UTF-8");
            assert_eq!(
                shown(&[SECRETS, &["mirahol"]].concat(), &text),
                Vec::<String>::new(),
                "{text}"
            );
        }
        let (code, _) =
            dir.exit(&["convert", "-t", form, "--no-redact", "--force", "--out-dir", form, "in"]);
        assert_eq!(code, 0);
        let all = crate::common::all_files(&dir.path(form));
        let page =
            all.iter().find(|file| !file.ends_with("index.html") && !file.ends_with("index.md"));
        let page = fs::read_to_string(page.expect("a page")).expect("UTF-8");
        assert!(shown(SECRETS, &page).len() == SECRETS.len());
    }
}
