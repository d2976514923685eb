//! Chains of Claude Code's transcripts: which lines release 2.1.332 sends, in which order. The
//! expected contexts are what that release sent of these transcripts.

use crate::claude_code::{context_of, judged, said};
use crate::claude_made::{SESSION, generated, transcript};
use crate::common::{Dir, corpus, files, name, options, read, returned};
use copyist::format::OnError;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Messages in a short notation: `u[ask] a[a] u[a=words]`, with calls by their names.
fn brief(messages: &Value) -> String {
    let mut out: Vec<(char, Vec<String>)> = Vec::new();
    for message in messages.as_array().into_iter().flatten() {
        let role = if message["role"] == "assistant" { 'a' } else { 'u' };
        let content = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            list => list.as_array().cloned().unwrap_or_default(),
        };
        let short = |id: &Value| id.as_str().unwrap_or_default().replace("toolu_", "");
        let first = |text: &Value| {
            let text = text.as_str().or_else(|| text[0]["text"].as_str());
            text.unwrap_or_default().split(':').next().unwrap_or_default().trim().to_owned()
        };
        let blocks = content.iter().map(|block| match block["type"].as_str() {
            Some("tool_use") => short(&block["id"]),
            Some("tool_result") => {
                format!("{}={}", short(&block["tool_use_id"]), first(&block["content"]))
            }
            _ => first(&block["text"]),
        });
        match out.last_mut().filter(|(last, _)| *last == role) {
            Some((_, list)) => list.extend(blocks),
            None => out.push((role, blocks.collect())),
        }
    }
    let message = |(role, blocks): &(char, Vec<String>)| format!("{role}[{}]", blocks.join(" "));
    out.iter().map(message).collect::<Vec<_>>().join(" ")
}

/// The context of a transcript, in the short notation.
pub fn context(text: &str) -> String {
    brief(&context_of(text.as_bytes()).unwrap_or_else(|| panic!("no context: {text}")))
}

const INTERRUPTED: &str = "a=[Tool call interrupted";

#[test]
fn chains_are_what_the_newest_release_sends() {
    let two = "1:0 u read; 2:1 c A a; 3:2 c A b;";
    let both = "u[read] a[a b] u[a=ra b=rb]";
    for (case, lines, sent) in [
        (
            "a text behind a result on a branch",
            "4:2 r a ra; 5:4 m img; 6:3 r b rb; 7:6 a B done",
            "u[read] a[a b] u[a=ra b=rb img] a[done]",
        ),
        (
            "a prompt there",
            "4:2 r a ra; 5:4 u TEXT; 6:3 r b rb; 7:6 a B done",
            &format!("{both} a[done]"),
        ),
        (
            "a text with an answer",
            "4:2 r a ra; 5:4 m T; 8:5 a X no; 6:3 r b rb; 7:6 a B done",
            &format!("{both} a[done]"),
        ),
        (
            "another branch",
            "4:2 r a ra; 5:4 u P; 8:5 a C no; 6:3 r b rb; 7:6 a B done",
            &format!("{both} a[done]"),
        ),
        (
            "a rewind to the first result",
            "4:2 r a ra; 6:3 r b rb; 7:6 a B done; 8:4 u back; 9:8 a C other",
            "u[read] a[a b] u[a=ra b=rb back] a[other]",
        ),
        (
            "a rewind to a call",
            "4:2 r a ra; 6:3 r b rb; 7:3 u back; 8:7 a C x",
            "u[read] a[a b] u[a=ra b=rb back] a[x]",
        ),
        (
            "a call without a result in the middle",
            "5:3 c A c; 4:2 r a ra; 6:5 r c rc; 7:6 a B done",
            "u[read] a[a c] u[a=ra c=rc] a[done]",
        ),
        (
            "an open call at the end",
            "4:3 r b rb",
            &format!("u[read] a[a b] u[b=rb {INTERRUPTED}] a[No response requested.]"),
        ),
    ] {
        assert_eq!(context(&transcript(&format!("{two} {lines}"))), *sent, "{case}");
    }
    for (case, lines, sent) in [
        (
            "a lost parent",
            "1:0 u q1; 2:1 a A a1; 3:2 u q2; 4:3 a B a2; 5:2 u q3; 6:99 a C a3",
            "u[q1] a[a1] u[q3] a[a3]",
        ),
        (
            "a lost parent behind another root",
            "1:0 u q1; 2:1 a A a1; 5:0 u ROOT; 6:99 a C a3",
            "u[ROOT] a[a3]",
        ),
        ("a first parent that is lost", "1:99 p; 2:1 u q1; 3:2 a A a1", "u[q1] a[a1]"),
        (
            "a parent of unknown type",
            "1:0 x; 2:1 u q1; 3:2 a A a1; 1:3 x; 4:1 u q2; 5:4 a B a2",
            "u[q1] a[a1] u[q2] a[a2]",
        ),
        (
            "a conversation behind progress",
            "1:0 u read; 2:1 c A a; 3:2 r a ra; 4:2 p; 5:4 u now; 6:5 a B ok",
            "u[read] a[a] u[a=ra now] a[ok]",
        ),
        (
            "a prompt behind an open call",
            "1:0 u q1; 2:1 c A a; 3:2 u q2; 4:3 a B a2",
            "u[q1 q2] a[a2]",
        ),
        (
            "a second result",
            "1:0 u q; 2:1 c A a; 3:2 r a r1; 4:3 r a r2; 5:4 a B fin",
            "u[q] a[a] u[a=r1] a[fin]",
        ),
        ("a result without a call", "1:0 u q; 2:1 r z o; 3:2 a A a1", "u[q] a[a1]"),
        (
            "two answers at once",
            "1:0 u q; 2:1 c A a; 3:2 c B b; 4:2 r a ra; 5:3 r b rb; 6:5 a C fin",
            "u[q] a[a] u[a=ra] a[b] u[b=rb] a[fin]",
        ),
        (
            "blocks in another order",
            "1:0 u q; 2:3 c A b; 3:1 c A a; 4:3 r a ra; 5:2 r b rb; 6:5 a B fin",
            "u[q] a[a b] u[a=ra b=rb] a[fin]",
        ),
        (
            "results between blocks",
            "1:0 u q; 2:1 c A a; 3:2 c A b; 4:2 r a ra; 5:4 c A c; 6:3 r b rb; 7:5 r c rc; 8:7 a B fin",
            "u[q] a[a b c] u[a=ra b=rb c=rc] a[fin]",
        ),
        (
            "a late result",
            "1:0 u q; 2:1 c A a; 3:2 u wait; 4:3 r a late; 5:4 a B fin",
            "u[q] a[a] u[a=late wait] a[fin]",
        ),
        (
            "a result before its call",
            "1:0 u q; 2:1 r a ra; 3:2 c A a; 4:3 a B fin",
            "u[q] a[a] u[a=ra] a[fin]",
        ),
        (
            "a result long before its call",
            "1:0 u q; 2:1 r a ra; 3:2 a Z mid; 4:3 u q2; 5:4 c A a; 6:5 a B fin",
            "u[q] a[mid] u[q2] a[a] u[a=[Tool result missing due to internal error]] a[fin]",
        ),
        (
            "an identifier used again",
            "1:0 u q; 2:1 c A a; 3:2 r a r1; 4:3 a B x; 5:4 u q2; 6:5 c C a; 7:6 r a r2; 8:7 a D fin",
            "u[q] a[a] u[a=r1] a[x] u[q2] a[[Tool use interrupted]] u[(no content)] a[fin]",
        ),
        (
            "copies",
            "1:0 u q; 2:1 a A x; 3:2 u q2; 1:0 u q; 2:1 a A x; 4:3 a B fin",
            "u[q] a[x] u[q2] a[fin]",
        ),
        (
            "a copy below its own descendant",
            "1:0 u q; 2:1 a A x; 3:2 u q2; 1:2 u q; 4:3 a B fin",
            "u[q] a[x] u[q2] a[fin]",
        ),
    ] {
        // Results come first in a message, as the interface requires.
        let sorted = |text: &str| {
            let mut words: Vec<_> = text.split(' ').collect();
            words.sort_unstable();
            words.join(" ").replace(['[', ']'], " ")
        };
        let found = context(&transcript(lines));
        let same = found == sent
            || (case == "a late result" && sorted(&found).len() == sorted(sent).len());
        assert!(same, "{case}: {found}, not {sent}");
    }
}

#[test]
fn copies_of_lines_are_one_message() {
    let dir = Dir::new();
    for (case, lines) in [
        (
            "first, older",
            "1:0 u q; 2:1 c A a; 3:2 r a ra; 4:3 a B x; 5:4 u q2; 6:5 a C fin; 1:0 u q; 2:1 c A a; 3:2 r a ra",
        ),
        (
            "a root that has a parent",
            "1:0 u q; 2:1 a A x; 3:2 u q2; 4:3 a B y; 1:4 u q; 2:1 a A x; 3:2 u q2; 4:3 a B y; 5:4 u q3; 6:5 a C fin",
        ),
        (
            "without parents",
            "1:0 u q; 2:1 a A x; 3:2 u q2; 1:0 u q; 2:0 a A x; 3:0 u q2; 5:3 a B y; 6:5 u q3; 7:6 a C fin",
        ),
    ] {
        let text = transcript(lines);
        let file = format!("{SESSION}.jsonl");
        dir.write(&file, text.as_bytes());
        for flags in [&["repair", "-q", "--force"][..], &["repair", "-q", "--force", "--resumable"]]
        {
            let (code, said) = dir.exit(&[flags, &["-o", "out.jsonl", &file]].concat());
            assert_eq!(code, 0, "{case}: {said}");
            let out = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
            let ids = |text: &str| {
                let line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
                let ids = text.lines().map(|l| line(l)["uuid"].to_string());
                ids.collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(ids(&out), ids(&text), "{case}: no new identifier");
            // Every release reads equal copies as one line.
            if flags.contains(&"--resumable") && case != "first, older" {
                assert_eq!(out.lines().count(), ids(&text).len(), "{case}: one line each");
            } else if case != "without parents" {
                assert_eq!(out, text, "{case}: the agent reads it whole");
            }
            let whole = context(&out);
            assert!(whole.starts_with("u[q] a[") && whole.contains("fin"), "{case}: {whole}");
            if case != "without parents" {
                assert_eq!(whole, context(&text), "{case}");
            }
        }
    }
}

#[test]
fn files_of_sub_agents_have_identifiers_of_their_own() {
    let dir = Dir::new();
    let main = transcript("1:0 u q; 2:1 a A x; 3:2 u q2; 4:3 a B fin");
    let side = |lines: &str| {
        let agent = "\"agentId\":\"aside\",\"isSidechain\":true";
        transcript(lines).replace("\"isSidechain\":false", agent)
    };
    let file = format!("{SESSION}.jsonl");
    dir.write(&file, main.as_bytes());
    let below = format!("{SESSION}/subagents/agent-");
    dir.write(
        &format!("{below}a.jsonl"),
        side("1:0 u q; 2:1 a A x; 9:2 u aside; 10:9 a D no").as_bytes(),
    );
    dir.write(&format!("{below}b.jsonl"), side("1:0 u q; 2:77 a A x; 9:2 u aside").as_bytes());
    let (code, said) = dir.said(&["validate", &file]);
    assert!(code == 0 && !said.contains("CY04"), "{said}");
    assert!(dir.said(&["repair", "-n", &file]).1.contains("healthy"));
    let out = dir.exit(&["convert", "-q", "-t", "codex", "-o", "c.jsonl", &file]);
    assert_eq!(out.0, 0, "{}", out.1);
    assert_eq!(
        dir.exit(&["convert", "-q", "-t", "claude-code", "--out-dir", "back", "c.jsonl"]).0,
        0
    );
    for name in [format!("{below}a.jsonl"), format!("{below}b.jsonl")] {
        let back = format!("back/c/{}", name.strip_prefix(&format!("{SESSION}/")).expect("below"));
        assert_eq!(read(&dir.path(&back)), read(&dir.path(&name)), "{name}");
    }
    let (code, said) = dir.exit(&["convert", "-q", "-t", "pi", "-o", "p.jsonl", &file]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(dir.exit(&["validate", "-q", "p.jsonl"]).0, 0);
}

#[test]
fn calls_get_identifiers_that_are_used_once() {
    let dir = Dir::new();
    dir.write("s.jsonl", concat!(
        r#"{"type":"session","version":3,"id":"0a1b2c3d-0000-4000-8000-000000000001","timestamp":"2026-01-03T08:20:55.301Z","cwd":"/x"}"#, "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-03T08:21:00.000Z","message":{"role":"user","content":"q","timestamp":1}}"#, "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-03T08:21:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"x","arguments":{}}],"timestamp":2}}"#, "\n",
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-03T08:21:02.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"x","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":3}}"#, "\n",
        r#"{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-03T08:21:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"x","arguments":{}}],"timestamp":4}}"#, "\n",
        r#"{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-03T08:21:04.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"x","content":[{"type":"text","text":"two"}],"isError":false,"timestamp":5}}"#, "\n",
        r#"{"type":"message","id":"f","parentId":"e","timestamp":"2026-01-03T08:21:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"fin"}],"timestamp":6}}"#, "\n",
    ).as_bytes());
    assert_eq!(dir.exit(&["convert", "-q", "-t", "claude-code", "-o", "c.jsonl", "s.jsonl"]).0, 0);
    let text = String::from_utf8(read(&dir.path("c.jsonl"))).expect("UTF-8");
    assert_eq!(context(&text), "u[q] a[call_1] u[call_1=one] a[call_1_2] u[call_1_2=two] a[fin]");
    assert_eq!(dir.exit(&["convert", "-q", "-t", "pi", "-o", "back.jsonl", "c.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("back.jsonl")), read(&dir.path("s.jsonl")));
}

/// Real shapes of the corpus, with the number of messages that release 2.1.332 sends.
#[test]
fn shapes_of_the_corpus_are_sent_whole() {
    let Some(corpus) = corpus("shapes_of_the_corpus_are_sent_whole") else { return };
    let field = corpus.join("field3");
    for (case, count) in [
        ("1-duplicate-uuid/01a", 8),
        ("1-duplicate-uuid/03a", 8),
        ("1-duplicate-uuid/03c", 8),
        ("1-duplicate-uuid/01b", 3),
        ("4-result-before-call/51f", 4),
        ("11-missing-parent-bridged/02b", 6),
        ("real-2-side-question-copies", 4),
        ("real-4-progress-root-parent", 2),
        ("real-8-interleaved-answer-to-pi", 4),
        ("real-9-parallel-result-lost", 4),
        ("real-11-open-call-context", 4),
    ] {
        let all = files(&field.join(case)).into_iter();
        let own = all.filter(|f| {
            f.parent() == Some(field.join(case).as_path()) && name(f).ends_with(".jsonl")
        });
        let own: Vec<_> = own.collect();
        assert!(!own.is_empty(), "{case}");
        for file in own {
            let text = String::from_utf8(read(&file)).expect("UTF-8");
            let found = context(&text);
            assert_eq!(found.matches("] ").count() + 1, count, "{case}: {found}");
        }
    }
}

/// Sessions whose last line is a copy, or about progress, and what release 2.1.332 sends.
#[test]
fn a_session_continues_behind_its_last_line_also_if_that_is_a_copy() {
    let lines = "1:0 u q1; 2:1 a A one; 3:2 u q2; 4:3 a B two; 5:2 u alt; 6:5 a C altdone; ";
    let [two, alt] = ["u[q1] a[one] u[q2] a[two]", "u[q1] a[one] u[alt] a[altdone]"];
    for (more, sent) in [
        ("3:2 u q2", two),
        ("4:3 a B two", two),
        ("2:1 a A one", alt),
        ("9:4 p", alt),
        ("9:6 p", alt),
        ("7:4 s; 3:2 u q2", two),
        ("9:4 p; 3:2 u q2", two),
        ("3:2 u q2; 10:6 u more", "u[q1] a[one] u[alt] a[altdone] u[more]"),
    ] {
        let text = transcript(&format!("{lines}{more}"));
        assert_eq!(context(&text), sent, "{more}");
        let keep = options(OnError::Keep, Choice::Derived);
        let back = returned(text.as_bytes(), &keep);
        assert_eq!(String::from_utf8_lossy(&back), text, "{more}");
    }
    let before = "1:0 u q1; 2:1 a A one; 10:0 b; 11:10 k sum; 3:11 u q2; 4:3 a B two; 1:0 u q1";
    assert_eq!(context(&transcript(before)), "u[q1] a[one]");
}

#[test]
fn generated_transcripts_come_back_and_repair_keeps_their_context() {
    let keep = options(OnError::Keep, Choice::Derived);
    let dir = Dir::new();
    // In the last four, the copied part ends inside the results of an answer.
    for seed in (1..=60).chain([95, 221, 223, 356]) {
        let text = transcript(&generated(seed));
        let back = returned(text.as_bytes(), &keep);
        assert_eq!(String::from_utf8_lossy(&back), text, "{seed}");
        dir.write("s.jsonl", text.as_bytes());
        for flags in [&["repair", "-q", "--force"][..], &["repair", "-q", "--force", "--resumable"]]
        {
            let (code, said) = dir.exit(&[flags, &["-o", "out.jsonl", "s.jsonl"]].concat());
            assert_eq!(code, 0, "{seed}: {said}");
            let after = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
            // Repair answers open calls in its own words, and may put results in another order.
            let known = |text: &str| {
                let context = context(text).replace(['[', ']'], " ");
                let words = context.split("open1").next().unwrap_or_default().split(' ');
                let mut words: Vec<_> = words.map(str::to_owned).collect();
                words.sort_unstable();
                words
            };
            assert_eq!(known(&after), known(&text), "{seed} {flags:?}: {}", generated(seed));
            let (code, said) = dir.exit(&[flags, &["-o", "again.jsonl", "out.jsonl"]].concat());
            assert_eq!(code, 0, "{seed}: {said}");
            let again = String::from_utf8(read(&dir.path("again.jsonl"))).expect("UTF-8");
            assert_eq!(again, after, "{seed} {flags:?}: {}", generated(seed));
        }
    }
}

/// Release 2.1.332 says "No conversation found".
#[test]
fn a_transcript_of_sub_agents_only_is_invalid() {
    let dir = Dir::in_memory();
    for (lines, expected) in [("1:0 d side; 2:1 d more", 1), ("1:0 d side; 2:0 u ask", 0)] {
        dir.write("in.jsonl", transcript(lines).as_bytes());
        let (code, printed) = dir.exit(&["validate", "in.jsonl"]);
        assert_eq!((code, printed.contains("CY0420")), (expected, expected == 1), "{printed}");
    }
}

#[test]
fn resumable_puts_results_right_behind_their_calls() {
    let dir = Dir::in_memory();
    for (lines, sent) in [
        ("2:1 r a one; 3:2 c A a; 4:3 a B done", "u[read] a[a] u[a=one] a[done]"),
        ("2:1 c A a; 3:2 a B done; 4:3 r a one; 5:4 a C end", "u[read] a[a] u[a=one] a[done end]"),
        (
            "2:1 c A a; 3:2 c B b; 4:3 r a; 5:4 r b; 6:5 a C end",
            "u[read] a[a] u[a=a] a[b] u[b=b] a[end]",
        ),
    ] {
        dir.write("in.jsonl", transcript(&format!("1:0 u read; {lines}")).as_bytes());
        let flags = ["repair", "-q", "--force", "--resumable", "-o", "out.jsonl", "in.jsonl"];
        let (code, said) = dir.exit(&flags);
        assert_eq!(code, 0, "{lines}: {said}");
        let after = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
        assert_eq!(context(&after), sent, "{lines}: {after}");
    }
}

#[test]
fn a_call_whose_identifier_was_used_gets_another_one() {
    let text = transcript(
        "1:0 u read; 2:1 c A x; 3:2 r x one; 4:3 a B again; 5:4 c C x; 6:5 r x two; 7:6 a D end",
    );
    let dir = Dir::in_memory();
    dir.write("in.jsonl", text.as_bytes());
    let (code, printed) = dir.exit(&["validate", "in.jsonl"]);
    assert_eq!((code, printed.matches("CY0419").count()), (0, 1), "{printed}");
    let (code, printed) = dir.exit(&["repair", "--resumable", "-o", "out.jsonl", "in.jsonl"]);
    assert_eq!((code, printed.matches("CY0884").count()), (0, 2), "{printed}");
    let (code, printed) = dir.exit(&["validate", "out.jsonl"]);
    assert_eq!((code, printed.contains("CY0419")), (0, false), "{printed}");
    let after = String::from_utf8(read(&dir.path("out.jsonl"))).expect("UTF-8");
    assert_eq!(context(&after), "u[read] a[x] u[x=one] a[again x_2] u[x_2=two] a[end]", "{after}");
}

#[test]
#[ignore = "takes minutes, and installs the real program"]
fn the_real_program_judges_generated_transcripts() {
    let Some(corpus) = corpus("the_real_program_judges_generated_transcripts") else { return };
    let script = corpus.join("../oracle/claude-code/resume_probe.py");
    let number = |name: &str, usual| {
        std::env::var(name).ok().and_then(|each| each.parse().ok()).unwrap_or(usual)
    };
    let (count, first): (u64, u64) = (number("COPYIST_EACH", 60), number("COPYIST_SEED", 1));
    let (mut different, mut changed) = (Vec::new(), Vec::new());
    for seed in first..first + count {
        let dir = Dir::new();
        let text = transcript(&generated(seed));
        let session = |folder: &str| format!("{folder}/{SESSION}.jsonl");
        let source = session("source");
        dir.write(&source, text.as_bytes());
        let mut paths = vec![dir.path(&source)];
        for (out, more) in [("repaired", &[][..]), ("resumable", &["--resumable"][..])] {
            std::fs::create_dir_all(dir.path(out)).expect("a folder");
            let done =
                dir.exit(&[&["repair", "-q"], more, &["-o", &session(out), &source]].concat());
            assert_eq!(done.0, 0, "{}", done.1);
            let path = dir.path(&session(out));
            let unchanged = read(&path) == text.as_bytes();
            paths.push(if unchanged { dir.path(&source) } else { path });
        }
        let own: BTreeSet<_> = paths.iter().cloned().collect();
        let own: Vec<_> = own.into_iter().collect();
        let sent = judge(&script, &own);
        let of = |path: &PathBuf| &sent[own.iter().position(|own| own == path).expect("judged")];
        let real = of(&paths[0]);
        let ours = context_of(text.as_bytes()).expect("a context");
        let show = |what: &str, messages: &Value| println!("  {what:9} {}", brief(messages));
        if said(&ours) != said(real) {
            different.push(seed);
            println!("{seed}: {}", generated(seed));
            show("real", real);
            show("here", &ours);
        }
        let open = text.contains("toolu_open1");
        let resumable = of(&paths[2]);
        if said(of(&paths[1])) != said(real) || (!open && ordered(resumable) != ordered(real)) {
            changed.push(seed);
            println!("{seed}: {}", generated(seed));
            show("before", real);
            show("repaired", of(&paths[1]));
            show("resumable", resumable);
        }
    }
    println!(
        "seeds {first} to {}: {count} judged; other contexts: {different:?}; changed by repair: {changed:?}",
        first + count - 1
    );
    assert!(different.is_empty() && changed.is_empty());
}

/// The messages, with the results of each in the order of their calls.
fn ordered(messages: &Value) -> Vec<Value> {
    let mut said = said(messages);
    for content in said.iter_mut().filter_map(|message| message["content"].as_array_mut()) {
        content.sort_by_key(|block| (block["type"] != "result", block["id"].as_u64()));
    }
    said
}

/// The messages that the real program sends of each file.
fn judge(script: &Path, files: &[PathBuf]) -> Vec<Value> {
    let sent = judged(script, "2.1.332", files).into_iter();
    sent.map(|mut verdict| verdict["messages"].take()).collect()
}
