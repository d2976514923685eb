//! pi's rules one by one, and its probes beside what the real pi reads.

use crate::common::{self, Dir, corpus, files, read};
use crate::damage::Random;
use crate::judge::{Done, resumable, salvaging, set_aside};
use copyist::diagnostic::Code;
use copyist::format::{RepairOptions, Repaired};
use copyist::formats::pi;
use serde_json::Value;
use std::path::Path;

fn holds(source: &[u8], wanted: &RepairOptions, what: &str) -> Option<Done> {
    crate::judge::holds(&pi::FORMAT, source, wanted, what)
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;

fn user(id: &str, parent: &str, text: &str) -> String {
    entry(id, parent, &format!(r#""message":{{"role":"user","content":"{text}"}}"#))
}

fn calling(id: &str, parent: &str, calls: &[&str]) -> String {
    let call =
        |id: &&str| format!(r#"{{"type":"toolCall","id":"{id}","name":"ls","arguments":{{}}}}"#);
    let calls: Vec<_> = calls.iter().map(call).collect();
    let calls = calls.join(",");
    entry(
        id,
        parent,
        &format!(
            r#""message":{{"role":"assistant","content":[{calls}],"usage":{{"cost":{{}}}},"stopReason":"toolUse","timestamp":7}}"#
        ),
    )
}

fn result(id: &str, parent: &str, call: &str) -> String {
    entry(
        id,
        parent,
        &format!(
            r#""message":{{"role":"toolResult","toolCallId":"{call}","toolName":"ls","content":[],"isError":false}}"#
        ),
    )
}

fn entry(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t",{rest}}}"#)
}

fn session(entries: &[String]) -> Vec<u8> {
    let lines = [HEADER.to_owned()].into_iter().chain(entries.iter().cloned());
    lines.map(|line| line + "\n").collect::<String>().into_bytes()
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

#[test]
fn a_record_that_another_was_written_into_is_joined() {
    let (a, b) = (user("a", "", "first"), user("b", "a", "second"));
    let (head, tail) = a.split_at(90);
    let source = format!("{HEADER}\n{head}{b}\n{tail}\n");
    let done = holds(source.as_bytes(), &RepairOptions::default(), "interleaved").expect("records");
    assert_eq!((done.report.records, done.report.rescued, done.report.fixes), (3, 2, 3));
    let out = lines(&done.out);
    assert_eq!((&out[1]["id"], &out[2]["id"]), (&"a".into(), &"b".into()));
    assert_eq!(out[1]["copyist"]["repaired"][0]["code"], "CY0806");
}

#[test]
fn a_whole_record_is_saved_from_between_a_torn_one_and_stray_text() {
    let (a, b, c) = (user("a", "", "one"), user("b", "a", "two"), user("c", "b", "three"));
    for behind in ["killed", "\0\0\0", "\"", "[1]"] {
        let source = format!("{HEADER}\n{a}\n{}{c}{behind}\n", &b[..70]);
        let done = holds(source.as_bytes(), &RepairOptions::default(), behind).expect("records");
        assert_eq!(done.report.records, 3, "{behind}");
        assert_eq!(lines(&done.out)[2]["id"], "c", "{behind}");
        assert_eq!(set_aside(&done.aside).len(), 2, "{behind}");
    }
    // An object that belongs to a torn record is none of its own.
    let nested = entry("n", "a", &format!(r#""message":{{"details":[{c},{b}"#));
    let source = format!("{HEADER}\n{a}\n{}\n", nested.trim_end_matches('}'));
    let done = holds(source.as_bytes(), &RepairOptions::default(), "nested").expect("records");
    assert_eq!(done.report.records, 2);
}

#[test]
fn a_torn_record_still_shows_whose_parent_it_was() {
    let torn = &user("b", "a", "torn")[..80];
    let branch = user("x", "", "another root");
    let source =
        format!("{HEADER}\n{}\n{torn}{branch}\n{}\n", user("a", "", "one"), user("c", "b", "two"));
    let done = holds(source.as_bytes(), &RepairOptions::default(), "torn").expect("records");
    assert_eq!(lines(&done.out)[3]["parentId"], "a");
    assert_eq!(lines(&done.out)[3]["copyist"]["repaired"][0]["parentId"], "b");
}

#[test]
fn a_parent_that_could_be_several_is_the_choice_of_the_user() {
    let entries = [
        user("a", "", "one"),
        user("b", "a", "two"),
        user("c", "a", "another two"),
        user("d", "gone", "three"),
    ];
    let dir = Dir::new();
    dir.write("s.jsonl", &session(&entries));
    let (code, said) = dir.said(&["repair", "-o", "out.jsonl", "s.jsonl"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("CY0824") && said.contains("--relink"), "{said}");
    assert_eq!(lines(&read(&dir.path("out.jsonl")))[4]["parentId"], Value::Null);
    for input in ["s.jsonl", "out.jsonl"] {
        let (code, said) =
            dir.said(&["repair", "--force", "--relink", "d=b", "-o", "linked.jsonl", input]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(lines(&read(&dir.path("linked.jsonl")))[4]["parentId"], "b");
    }
    assert_eq!(dir.names(), ["linked.jsonl", "out.jsonl", "s.jsonl"]);
}

#[test]
fn a_header_behind_entries_shows_what_they_are() {
    let bare = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"one"}}"#;
    let (torn, v1) = (&HEADER[..60], HEADER.replace(r#""version":3,"#, ""));
    let b = user("b", "", "two");
    for lines in [[torn, bare, &b], [bare, torn, &b], [bare, HEADER, &b], [&b, &v1, bare]] {
        let source = lines.map(|line| format!("{line}\n")).concat();
        // Once is enough.
        holds(source.as_bytes(), &RepairOptions::default(), &source).expect("records");
    }
}

#[test]
fn a_person_links_entries_once_and_none_that_is_not_there() {
    let entries = [
        user("a", "", "one"),
        user("b", "a", "two"),
        user("x", "a", "another two"),
        user("d", "gone", "three"),
        user("z", "x", "four"),
    ];
    let linked = |pair: (&str, &str)| {
        let relink = vec![(pair.0.to_owned(), pair.1.to_owned())];
        let wanted = RepairOptions { relink, ..RepairOptions::default() };
        holds(&session(&entries), &wanted, "linked").expect("records")
    };
    // Also behind an entry that stands later.
    for parent in ["x", "z"] {
        let done = linked(("d", parent));
        let out = lines(&done.out);
        assert_eq!((&out[4]["parentId"], done.report.fixes), (&parent.into(), 1));
        assert_eq!(out[4]["copyist"]["repaired"][0]["parentId"], "gone");
    }
    // To link what is not there would take the parent from an entry that has one.
    for pair in [("b", "nope"), ("nope", "a"), ("b", "b")] {
        let done = linked(pair);
        assert_eq!(done.findings.counts.get(&Code::NotLinked), Some(&1), "{pair:?}");
        assert_eq!(lines(&done.out)[2]["parentId"], "a", "{pair:?}");
    }
}

#[test]
fn lost_parents_among_entries_out_of_order_take_no_time() {
    let mut entries = vec![user("a", "z", "one")];
    entries.extend((0..60_000).map(|n| user(&n.to_string(), &format!("lost {n}"), "more")));
    entries.push(user("z", "", "last"));
    let begun = std::time::Instant::now();
    let done = crate::judge::repaired(&pi::FORMAT, &session(&entries), &RepairOptions::default());
    assert_eq!(done.expect("records").report.records, 60_003);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn a_tool_call_gets_its_result_or_a_word_about_it() {
    let entries = [
        user("a", "", "go"),
        calling("b", "a", &["c1", "c2", "c3"]),
        result("r1", "b", "c1"),
        user("u", "r1", "never mind"),
        result("r2", "u", "c2"),
        result("r4", "r2", "unknown"),
        user("v", "r4", "on"),
        calling("w", "v", &["c9"]),
    ];
    let done = holds(&session(&entries), &resumable(), "calls").expect("records");
    let out = lines(&done.out);
    let said: Vec<String> = out[1..]
        .iter()
        .map(|entry| match entry["message"]["toolCallId"].as_str() {
            Some(call) => format!("{call} {}", entry["message"]["isError"]),
            None => entry["id"].as_str().expect("an id").to_owned(),
        })
        .collect();
    // The second result was there, too late; the third and the last are not known.
    assert_eq!(said, ["a", "b", "c1 false", "c2 false", "c3 true", "u", "v", "w", "c9 true"]);
    for pair in out[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
    }
    assert_eq!(set_aside(&done.aside).len(), 2);
    assert_eq!(done.report.messages, 9);
}

#[test]
fn two_calls_with_one_identifier_get_a_word_each() {
    let bare = |entry: String| {
        entry.replace(r#""id":"b","parentId":"a","timestamp":"t""#, r#""timestamp":"2025Z""#)
    };
    let header = HEADER.replace(r#""version":3,"#, "");
    let source = format!("{header}\n{}\n", bare(calling("b", "a", &["c", "c"])));
    let done = holds(source.as_bytes(), &resumable(), "a list").expect("records");
    assert_eq!(done.findings.counts[&Code::ResultSynthesized], 2);
}

#[test]
fn an_empty_end_and_half_characters_are_not_sent() {
    let thinking = r#""message":{"role":"assistant","content":[{"type":"thinking","thinking":"\ud83d","thinkingSignature":"x"}],"stopReason":"stop"}"#;
    let answer = r#""message":{"role":"assistant","content":[{"type":"thinking","thinking":"\ud83d","thinkingSignature":"x"},{"type":"text","text":"half \ud83d whole \ud83d\ude00"}],"stopReason":"stop"}"#;
    let entries = [user("a", "", "hi"), entry("b", "a", answer), entry("c", "b", thinking)];
    let done = holds(&session(&entries), &resumable(), "tail").expect("records");
    let out = String::from_utf8(done.out).expect("UTF-8");
    assert!(out.contains(r#""half \ufffd whole \ud83d\ude00""#), "{out}");
    assert!(out.contains(r#"{"code":"CY0834","halves":["d83d"]}"#), "{out}");
    assert!(out.contains(r#""thinking":"\ud83d","thinkingSignature":"x""#), "{out}");
    assert_eq!(out.lines().count(), 3);
}

#[test]
fn a_call_that_lost_its_identifier_gets_no_result() {
    let lost = calling("b", "a", &["c1"]).replace(r#""id":"c1""#, r#""hd":"c1""#);
    let entries = [user("a", "", "go"), lost, user("c", "b", "on")];
    let done = holds(&session(&entries), &resumable(), "no identifier").expect("records");
    assert!(!done.report.changed);
}

#[test]
fn an_empty_answer_before_a_result_that_goes_goes_too() {
    let empty =
        r#""message":{"role":"assistant","content":[],"usage":{"cost":{}},"stopReason":"stop"}"#;
    let entries = [user("a", "", "go"), entry("b", "a", empty), result("c", "b", "unknown")];
    let done = holds(&session(&entries), &resumable(), "two at the end").expect("records");
    assert_eq!(lines(&done.out).len(), 2);
}

#[test]
fn the_end_of_a_branch_does_not_go_where_another_branch_would_take_its_place() {
    let empty =
        r#""message":{"role":"assistant","content":[],"usage":{"cost":{}},"stopReason":"stop"}"#;
    let entries = [user("a", "", "one"), user("q", "a", "two"), entry("d", "a", empty)];
    let done = holds(&session(&entries), &resumable(), "branches").expect("records");
    assert!(!done.report.changed);
    assert_eq!(done.findings.counts[&Code::LeafLeft], 1);
}

#[test]
fn a_leaf_stays_where_it_is_when_the_last_answer_goes() {
    let empty =
        r#""message":{"role":"assistant","content":[],"usage":{"cost":{}},"stopReason":"stop"}"#;
    let label = |parent: &str| {
        let label = entry("l", parent, r#""targetId":"q","label":"x""#);
        label.replace(r#""type":"message""#, r#""type":"label""#)
    };
    for parent in ["q", "d"] {
        let entries =
            [user("a", "", "one"), user("q", "a", "two"), entry("d", "a", empty), label(parent)];
        let done = holds(&session(&entries), &resumable(), parent).expect("records");
        assert_eq!(lines(&done.out)[3]["parentId"], "a", "{parent}");
    }
}

#[test]
fn what_follows_an_end_that_goes_is_the_leaf_ever_after() {
    let empty =
        r#""message":{"role":"assistant","content":[],"usage":{"cost":{}},"stopReason":"stop"}"#;
    let named = |parent: &str| {
        let name = entry("n", parent, r#""name":"x""#);
        name.replace(r#""type":"message""#, r#""type":"session_info""#)
    };
    // A result without its call goes, and what follows it knew its parent or did not.
    for name in [named("r"), named("r").replace(r#""parentId":"r","#, "")] {
        let entries = [user("a", "", "one"), result("r", "", "lost"), name];
        let done = holds(&session(&entries), &resumable(), "a result").expect("records");
        assert_eq!(lines(&done.out)[2]["parentId"], Value::Null);
    }
    // An answer that says nothing would go, but another branch stands before what it follows.
    let other = user("q", "", "another");
    let entries = [user("a", "", "one"), other, named("a"), entry("d", "n", empty)];
    let done = holds(&session(&entries), &resumable(), "another branch").expect("records");
    assert!(!done.report.changed && done.findings.counts.contains_key(&Code::LeafLeft));
}

#[test]
fn what_a_repair_takes_away_is_missed_by_nothing_that_stays() {
    let compaction = concat!(
        r#"{"type":"compaction","id":"c","parentId":"r","timestamp":"t","summary":"so far","#,
        r#""firstKeptEntryId":"r","tokensBefore":9}"#
    );
    let entries = [user("a", "", "Hello"), result("r", "a", "none"), compaction.to_owned()];
    let source = session(&[&entries[..], &[user("b", "c", "Go on")]].concat());
    let done = holds(&source, &resumable(), "a result that a compaction keeps first").expect("it");
    let kept = &lines(&done.out)[2];
    assert_eq!(kept["firstKeptEntryId"], "c", "{kept}");
    let said = &done.findings.diagnostics;
    let found: Vec<_> = said.iter().map(|found| (found.code, found.at.map(|at| at.line))).collect();
    let orphan = (Code::OrphanResult, Some(3));
    assert_eq!(found[0], orphan, "{found:?}");
    assert_eq!(found.last(), Some(&(Code::TargetItself, None)), "{found:?}");
    assert!(said.last().is_some_and(|last| last.message.contains("line 3 of what was repaired")));
}

#[test]
fn trees_of_any_shape_are_repaired_at_once() {
    drawn(3000);
}

#[test]
#[ignore = "a minute: 20,000 trees"]
fn trees_in_full() {
    drawn(20_000);
}

/// Repairs so many trees.
fn drawn(trees: usize) {
    let mut random = Random(7);
    let empty =
        r#""message":{"role":"assistant","content":[],"usage":{"cost":{}},"stopReason":"stop"}"#;
    for n in 0..trees {
        let entry = |id: usize, random: &mut Random| {
            let own = id.to_string();
            let parent = match random.below(4) {
                0 => ["", "lost", "other", "8"][random.below(4)].to_owned(),
                _ => random.below(id.max(1)).to_string(),
            };
            let line = match random.below(6) {
                0 => entry(&own, &parent, empty),
                1 => calling(&own, &parent, &["a", "b"][..=random.below(2)]),
                2 => result(&own, &parent, ["a", "b"][random.below(2)]),
                3 => {
                    let named = entry(&own, &parent, r#""name":"x""#);
                    named.replace(r#""type":"message""#, r#""type":"session_info""#)
                }
                _ => user(&own, &parent, "hi"),
            };
            match random.below(8) {
                0 => line.replace(&format!(r#""parentId":"{parent}","#), ""),
                1 => line.replace(&format!(r#""id":"{own}","#), ""),
                _ => line,
            }
        };
        let entries: Vec<_> = (0..2 + random.below(6)).map(|id| entry(id, &mut random)).collect();
        let source = session(&entries);
        for wanted in [RepairOptions::default(), resumable()] {
            holds(&source, &wanted, &format!("tree {n}"));
        }
    }
}

#[test]
fn an_entry_without_a_parent_does_not_follow_what_follows_it() {
    let nameless = user("c", "b", "three").replace(r#""parentId":"b","#, "");
    let entries = [user("a", "", "one"), user("b", "c", "two"), user("d", "b", "four"), nameless];
    let done = holds(&session(&entries), &RepairOptions::default(), "a circle").expect("records");
    let parents: Vec<_> = lines(&done.out)[1..].iter().map(|e| e["parentId"].clone()).collect();
    assert_eq!(parents, [Value::Null, "c".into(), "b".into(), "a".into()]);
}

#[test]
fn what_is_complete_in_a_torn_record_can_be_restored() {
    let answer = r#""message":{"role":"assistant","content":[{"type":"text","text":"whole"},{"type":"text","text":"tor"#;
    let torn = entry("b", "a", answer);
    let source = [session(&[user("a", "", "hi")]), torn.trim_end_matches('}').into()].concat();
    let done = holds(&source, &salvaging(), "salvage").expect("records");
    let last = &lines(&done.out)[2];
    assert_eq!(last["message"]["content"], serde_json::json!([{"type": "text", "text": "whole"}]));
    assert_eq!(last["message"]["stopReason"], "aborted");
    assert_eq!(last["copyist"]["repaired"][0]["code"], "CY0807");
}

/// The messages that the real pi's context of a corpus file has, or 0 where it built none.
fn theirs(corpus: &Path, name: &str) -> usize {
    let path = corpus.join(format!("pi/expected/{name}.context.json"));
    let text = std::fs::read(&path).unwrap_or_else(|_| panic!("{}", path.display()));
    let context = if text.is_empty() { Value::Null } else { common::as_javascript(&text) };
    context["context"]["messages"].as_array().map_or(0, Vec::len)
}

#[test]
fn no_probe_gives_less_than_the_real_pi_reads() {
    let Some(corpus) = corpus("repair of the probes") else { return };
    println!("| probe | damage | records | fixes | set aside | pi's context | before | after |");
    println!("|---|---|---|---|---|---|---|---|");
    for input in files(&corpus.join("pi/probes")) {
        let name = common::name(&input).replace(".jsonl", "");
        let real = theirs(&corpus, &format!("probes__{name}"));
        let Some(done) = holds(&read(&input), &RepairOptions::default(), &name) else {
            println!("| {name} | nothing to get back | | | | {real} | | |");
            assert_eq!(real, 0, "{name}");
            continue;
        };
        let codes: Vec<_> = done.findings.counts.keys().map(|code| code.name()).collect();
        let Repaired { records, fixes, quarantined, messages_before, messages, .. } = done.report;
        println!(
            "| {name} | {} | {records} | {fixes} | {quarantined} | {real} | {messages_before} | {messages} |",
            codes.join(" ")
        );
        assert!(messages as usize >= real, "{name}: {messages} of {real}");
        assert_eq!(messages_before as usize, real, "{name}: what pi reads of it as it is");
    }
}

#[test]
fn large_files_cut_anywhere_give_back_all_that_is_whole() {
    let Some(corpus) = corpus("large files, cut") else { return };
    let places = std::env::var("COPYIST_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    for input in files(&corpus.join("pi/real")) {
        let source = read(&input);
        let mut random = Random(7);
        for _ in 0..places {
            let end = random.below(source.len());
            holds(
                &source[..end],
                &RepairOptions::default(),
                &format!("{} cut at {end}", input.display()),
            );
        }
    }
}

#[test]
fn a_tree_whose_header_lost_its_version_gets_it_back() {
    let bare = HEADER.replace(r#""version":3,"#, "");
    let entries = [user("a", "", "one"), user("b", "a", "two"), user("c", "a", "a branch")];
    let put = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let repaired = |entries: &[String]| {
        let source = put(&[std::slice::from_ref(&bare), entries].concat());
        holds(source.as_bytes(), &RepairOptions::default(), &source).expect("records")
    };
    let done = repaired(&entries);
    let out = lines(&done.out);
    assert_eq!((&out[0]["version"], &out[0]["id"]), (&3.into(), &"s".into()));
    assert_eq!(out[0]["copyist"]["repaired"][0]["code"], "CY0814");
    assert_eq!(done.findings.counts.into_iter().collect::<Vec<_>>(), [(Code::VersionRestored, 1)]);
    assert!(done.out.ends_with(put(&entries).as_bytes()), "the entries are as they were");
    // A message that only version 2 names so.
    let hook = user("d", "c", "hook").replace("\"user\"", "\"hookMessage\"");
    let done = repaired(&[&entries[..], &[hook]].concat());
    assert_eq!(lines(&done.out)[0]["version"], 2);
    // Where an entry has no identifier, or none follows another, the list is one.
    let plain = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
    for more in [&[&entries[..], &[plain.to_owned()]].concat(), &entries[..1]] {
        let done = repaired(more);
        assert!(!done.report.changed, "{:?}", done.findings.counts);
    }
}

/// The real pi 0.73.1 ends with a TypeError on each of these.
#[test]
fn a_member_that_pi_needs_is_put_in() {
    let answer = r#""message":{"role":"assistant","content":[{"type":"text","text":"x"}]}"#;
    let result = r#""message":{"role":"toolResult","toolCallId":"c","toolName":"ls"}"#;
    let compaction = entry("d", "c", r#""summary":"s","firstKeptEntryId":"a""#)
        .replace(r#""type":"message""#, r#""type":"compaction""#);
    let entries =
        [user("a", "", "go"), entry("b", "a", answer), entry("c", "b", result), compaction];
    let done = holds(&session(&entries), &RepairOptions::default(), "members").expect("records");
    assert_eq!(done.findings.counts[&Code::MemberRestored], 3);
    let lines = lines(&done.out);
    assert_eq!(lines[2]["message"]["usage"]["cost"]["total"], 0);
    assert_eq!(lines[2]["copyist"]["repaired"][0]["member"], "usage");
    assert_eq!(lines[3]["message"]["content"], Value::Array(Vec::new()));
    assert_eq!(lines[4]["tokensBefore"], 0);
}

/// A second compaction that comes back replaces messages that the first one kept.
#[test]
fn repair_reports_why_the_context_changes() {
    let compaction = |id: &str, parent: &str, kept: &str| {
        format!(
            r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"t","summary":"as of {id}","firstKeptEntryId":"{kept}","tokensBefore":9}}"#
        )
    };
    let last = user("e", "d", "five") + &compaction("f", "e", "e");
    let lines = [
        HEADER.to_owned(),
        user("a", "", "one").replace(r#""parentId":"""#, r#""parentId":null"#),
        user("b", "a", "two"),
        compaction("c", "b", "b"),
        user("d", "c", "four"),
        last,
    ];
    let dir = Dir::new();
    dir.write("s.jsonl", (lines.join("\n") + "\n").as_bytes());
    let (code, said) = dir.said(&["repair", "-n", "s.jsonl"]);
    assert_eq!(code, 1, "{said}");
    let why = "context changes: 3 → 2 messages; a compaction was restored";
    assert!(said.contains("note[CY0842]") && said.contains(why), "{said}");
}
