//! Sessions that open and that the interface of their model refuses: each kind is reported, and
//! mended by `repair --resumable`.

use crate::common::Dir;

const HEADER: &str = r#"{"type":"session","version":3,"id":"019c0000-0000-7000-8000-00000000aaaa","timestamp":"2026-03-03T09:00:00.000Z","cwd":"/srv/garden"}"#;

/// A session: a question, an answer with these blocks, and a result for the call `c1`.
fn session(blocks: &str, result: &str) -> String {
    let entry = |id: u32, message: String| {
        let parent = if id == 1 { "null".to_owned() } else { format!("\"0000000{}\"", id - 1) };
        format!(
            r#"{{"type":"message","id":"0000000{id}","parentId":{parent},"timestamp":"2026-03-03T09:00:0{id}.000Z","message":{message}}}"#
        )
    };
    let cost = r#""cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#;
    let usage = format!(
        r#""usage":{{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,{cost}}}"#
    );
    let answer = format!(
        r#"{{"role":"assistant","content":[{blocks}],"api":"anthropic-messages","provider":"anthropic","model":"m",{usage},"stopReason":"toolUse","timestamp":1772528402000}}"#
    );
    let lines = [
        HEADER.to_owned(),
        entry(1, r#"{"role":"user","content":"water?","timestamp":1772528401000}"#.to_owned()),
        entry(2, answer),
        entry(3, result.to_owned()),
    ];
    lines.map(|line| line + "\n").concat()
}

fn call(name: &str) -> String {
    format!(r#"{{"type":"toolCall","id":"c1","name":"{name}","arguments":{{}}}}"#)
}

fn result(name: &str, content: &str) -> String {
    format!(
        r#"{{"role":"toolResult","toolCallId":"c1","toolName":"{name}","content":[{content}],"isError":false,"timestamp":1772528403000}}"#
    )
}

#[test]
fn what_a_model_refuses_is_reported_and_repaired() {
    let said = r#"{"type":"text","text":"dry"}"#;
    let image =
        |data: &str| format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#);
    let of_call = r#"{"type":"toolCall","id":"c1","name":"read","arguments":{"x":"\ud83d"}}"#;
    let cases = [
        (call("fs.read"), result("fs.read", said), "`fs.read` cannot be", "CY0875"),
        (call("read"), result("read", &image("")), "the image is empty", "CY0876"),
        (call("read"), result("read", &image("PGh0bWw+")), "is no PNG", "CY0876"),
        (call("read"), result("read", &image("a b")), "is not base64", "CY0876"),
        (of_call.to_owned(), result("read", said), "half of a surrogate pair", "CY0834"),
        (said.to_owned(), result("read", said), "a result has no call", "CY0832"),
        (call("read"), result("read", r#"{"type":"text","text":"\u0000"}"#), "U+0000", "CY0834"),
    ];
    for (blocks, result, why, fix) in cases {
        let dir = Dir::new();
        let mut text = session(&blocks, &result);
        // Anthropic's interface accepts it.
        if why == "U+0000" {
            text = text.replace("anthropic-messages", "openai-completions");
        }
        dir.write("s.jsonl", text.as_bytes());
        for args in
            [&["validate", "s.jsonl"][..], &["inspect", "s.jsonl"], &["repair", "-n", "s.jsonl"]]
        {
            let done = dir.run(args);
            let told = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            assert_eq!(done.status.code(), Some(1), "{args:?}: {told}");
            for word in ["refused", "warning[CY0416]", why, "repair --resumable"] {
                assert!(told.contains(word), "{args:?}: no {word}: {told}");
            }
        }
        let (code, told) = dir.exit(&["repair", "--resumable", "-o", "o.jsonl", "s.jsonl"]);
        assert!(code == 0 && told.contains(fix) && !told.contains("CY0416"), "{code}: {told}");
        let (code, told) = dir.exit(&["validate", "o.jsonl"]);
        assert_eq!(code, 0, "{told}");
    }
}

#[test]
fn image_without_its_media_type_gets_it() {
    let dir = Dir::new();
    let image = r#"{"type":"image","data":"R0lGODlhAQABAAAAACwAAAAAAQABAAACAkwBADs="}"#;
    dir.write("s.jsonl", session(&call("read"), &result("read", image)).as_bytes());
    let (code, told) = dir.exit(&["repair", "--resumable", "-o", "o.jsonl", "s.jsonl"]);
    assert!(code == 0 && told.contains("CY0886") && !told.contains("CY0801"), "{code}: {told}");
    let text = std::fs::read_to_string(dir.path("o.jsonl")).expect("text");
    assert!(text.contains(r#"ADs=","mimeType":"image/gif"}"#), "{text}");
    assert!(text.contains(r#"{"code":"CY0886","mimeType":null}"#), "{text}");
    assert_eq!(dir.exit(&["validate", "o.jsonl"]).0, 0);
}

#[test]
fn an_image_that_is_replaced_is_in_the_quarantine() {
    let dir = Dir::new();
    let image = r#"{"type":"image","data":"PGh0bWw+","mimeType":"image/png"}"#;
    dir.write("s.jsonl", session(&call("read"), &result("read", image)).as_bytes());
    assert_eq!(dir.exit(&["repair", "--resumable", "--in-place", "s.jsonl"]).0, 0);
    let aside = std::fs::read_dir(dir.path("")).expect("a folder");
    let aside: Vec<_> = aside.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let quarantine = aside.iter().find(|path| path.to_string_lossy().contains("quarantine"));
    let text = std::fs::read_to_string(quarantine.expect("a quarantine")).expect("text");
    assert!(text.contains("PGh0bWw+") && text.contains("CY0876"), "{text}");
}
