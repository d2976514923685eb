//! Turns whose messages come in an order that only their own program accepts: results without calls,
//! calls without results.

use crate::common::rollout::{answer, call, output, rollout, user};
use crate::common::{Dir, corpus, read};
use serde_json::Value;

/// The messages of a context for Anthropic's interface, each as its role and its blocks in words.
fn sent(dir: &Dir, file: &str) -> Vec<String> {
    let out = dir.run(&["context", "--as", "anthropic", file]).stdout;
    let out: Value = serde_json::from_slice(&out).expect("JSON");
    let block = |block: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let inner = &block["content"];
        match block["type"].as_str().unwrap_or_default() {
            "tool_use" => format!("call {}", text(&block["id"])),
            "tool_result" => match inner.as_array() {
                Some(list) => format!("result {}", text(&list[0]["text"])),
                None => format!("result {}", text(inner)),
            },
            _ => text(&block["text"]),
        }
    };
    let message = |message: &Value| {
        let content = &message["content"];
        let said = match content.as_array() {
            Some(blocks) => blocks.iter().map(block).collect::<Vec<_>>().join(", "),
            None => content.as_str().unwrap_or_default().to_owned(),
        };
        format!("{}: {said}", message["role"].as_str().unwrap_or_default())
    };
    out["messages"].as_array().expect("a list").iter().map(message).collect()
}

/// Converts a rollout to a format, and expects a valid session whose context is the same, from
/// which the rollout is restored.
fn converted(dir: &Dir, source: &str, to: &str) {
    let ending = if to == "connectonion" { "yaml" } else { "jsonl" };
    let target = format!("{to}/s.{ending}");
    let (code, told) = dir.exit(&["convert", "-t", to, "-o", &target, source]);
    assert_eq!(code, 0, "{told}");
    let (code, told) = dir.exit(&["validate", &target]);
    assert_eq!(code, 0, "{to}: {told}");
    let context = |file: &str| dir.run(&["context", "--as", "canonical", file]).stdout;
    assert_eq!(
        String::from_utf8(context(&target)).expect("UTF-8"),
        String::from_utf8(context(source)).expect("UTF-8"),
        "{to}"
    );
    let back = format!("{to}/back.jsonl");
    let (code, told) = dir.exit(&["convert", "-t", "codex", "-o", &back, &target]);
    assert_eq!(code, 0, "{told}");
    assert!(read(&dir.path(&back)) == read(&dir.path(source)), "{to}: not restored: {told}");
}

#[test]
fn a_result_without_a_call_is_omitted_where_it_would_be_refused() {
    let dir = Dir::new();
    let items = [user("water"), output("c9", "old"), answer("Yes.")];
    dir.write("s.jsonl", rollout(&items).as_bytes());
    assert_eq!(sent(&dir, "s.jsonl"), ["user: water", "assistant: Yes."]);
    let args =
        ["convert", "--no-origin", "--fail-on", "loss", "-t", "pi", "-o", "n.jsonl", "s.jsonl"];
    let (code, told) = dir.exit(&args);
    assert!(code == 1 && told.contains("result without a call"), "{code}: {told}");
}

/// Sessions of users of this shape, in the corpus.
#[test]
fn turns_of_the_corpus_stay_valid_in_pi() {
    let Some(corpus) = corpus("turns of the corpus") else { return };
    let dir = Dir::new();
    for case in ["real-6-codex-steered-to-pi", "real-8-interleaved-answer-to-pi"] {
        let folder = corpus.join("field3").join(case);
        let all = crate::common::files(&folder).into_iter();
        for file in all.filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
            let file = file.to_str().expect("UTF-8");
            let (code, told) = dir.exit(&["convert", "--force", "-t", "pi", "-o", "p.jsonl", file]);
            assert_eq!(code, 0, "{told}");
            let (code, told) = dir.exit(&["validate", "p.jsonl"]);
            assert_eq!(code, 0, "{file}: {told}");
        }
    }
}

/// A call without a result waits for it among a hundred messages. The call behind them has its own
/// result.
#[test]
fn a_call_without_a_result_leaves_later_calls_alone() {
    let mut items = vec![user("Water all beds."), call("lost"), user("Go on.")];
    for number in 0..120 {
        items.push(call(&format!("c{number}")));
        items.push(output(&format!("c{number}"), &format!("bed {number}")));
    }
    items.push(answer("Done."));
    let dir = Dir::new();
    dir.write("in.jsonl", rollout(&items).as_bytes());
    for to in ["pi", "claude-code"] {
        converted(&dir, "in.jsonl", to);
        for file in ["in.jsonl".to_owned(), format!("{to}/s.jsonl")] {
            let all = sent(&dir, &file).concat();
            assert!(all.contains("bed 119"), "{all}");
            for number in 0..120 {
                let result = format!("result bed {number}");
                let behind = all.split(&format!("call c{number}")).nth(1).expect("the call");
                let next = behind.find("result").expect("a result");
                assert!(behind[next..].starts_with(&result), "{file}: {number}: {all}");
            }
        }
    }
}
