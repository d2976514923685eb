//! ConnectOnion's files of turns as PyYAML reads them: keys that occur twice, merge keys, and text
//! that PyYAML refuses or reads as something else.

use crate::common::{self, Dir, corpus, files, options, read};
use crate::damage::Random;
use crate::judge::{Done, holds, repaired};
use crate::yaml::loader;
use copyist::context::Request;
use copyist::diagnostic::{Code, Findings};
use copyist::format::{OnError, RepairOptions};
use copyist::formats::connectonion::FORMAT;
use copyist::ids::Choice;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const TOP: &str = "name: a\ncreated: '2026-01-01 10:00:00'\nupdated: '2026-01-01 10:00:00'\ntotal_cost: 0.0\ntotal_tokens: 0\nturns:\n- input: Ask.\n  result: Say.\n  turn: 1\nsystem_prompt: S\n";

/// A session whose question has this content; the last line is the answer's.
fn asked(content: &str) -> String {
    let answer = "  - role: assistant\n    content: Say.\n";
    format!("{TOP}messages:\n  1:\n  - role: user\n    content: {content}\n{answer}")
}

/// The context of a session, and what is reported.
fn context(source: &[u8]) -> (Vec<Value>, Findings) {
    let keep = options(OnError::Keep, Choice::Derived);
    let (sent, findings) = common::context(source, &Request::default(), &keep);
    let sent = sent.map(|sent| common::as_javascript(&sent)).unwrap_or_default();
    (sent["messages"].as_array().cloned().unwrap_or_default(), findings)
}

/// The contents of a context, behind its prompt.
fn contents(source: &[u8]) -> Vec<Value> {
    context(source).0.iter().skip(1).map(|message| message["content"].clone()).collect()
}

/// Data that PyYAML reads of files, in their order.
fn loaded(loader: &Path, files: &[PathBuf]) -> Vec<Value> {
    // A value that JSON cannot express is none that the agent could send.
    let script = "import sys, json; sys.path.insert(0, sys.argv[1]); import load\n\
        def said(file):\n\
        \x20   try: return json.dumps(load.canon(file), default=str)\n\
        \x20   except Exception as error: return json.dumps({'ok': False, 'error': str(error)})\n\
        for file in sys.stdin.read().splitlines(): print(said(file))";
    let list = tempfile::NamedTempFile::new().expect("a file");
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    std::fs::write(list.path(), names.join("\n")).expect("a writable file");
    let input = std::fs::File::open(list.path()).expect("the list");
    let folder = loader.parent().expect("a folder");
    let asked = Command::new("python3").args(["-c", script]).arg(folder).stdin(input).output();
    let said = asked.expect("Python runs").stdout;
    said.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(common::as_javascript).collect()
}

#[test]
fn a_key_that_occurs_twice_has_its_last_value() {
    let said = |role, text| format!("  - role: {role}\n    content: {text}\n");
    let answer = said("assistant", "Say.");
    let one = |text| format!("  1:\n{}{answer}", said("user", text));
    let call = "  - role: assistant\n    content: null\n    tool_calls:\n    - id: c\n      type: function\n      function: {name: f, arguments: '{}', arguments: '[]'}\n  - {role: tool, tool_call_id: c, content: one, content: two}\n";
    let cases = [
        ("content", asked("first\n    content: second"), json!(["second", "Say."])),
        ("role", asked("first\n    role: user"), json!(["first", "Say."])),
        ("key", format!("{TOP}messages:\n{}{}", one("a"), one("b")), json!(["b", "Say."])),
        (
            "list",
            format!("{TOP}messages:\n{}messages:\n{}", one("a"), one("b")),
            json!(["b", "Say."]),
        ),
        (
            "call",
            format!("{TOP}messages:\n  1:\n{}{call}{answer}", said("user", "a")),
            json!(["a", null, "two", "Say."]),
        ),
    ];
    for (what, source, expected) in cases {
        let (messages, findings) = context(source.as_bytes());
        let contents: Vec<_> =
            messages.iter().skip(1).map(|message| message["content"].clone()).collect();
        assert_eq!(json!(contents), expected, "{what}");
        let twice = |code| matches!(code, Code::TwiceNamed | Code::TurnKey);
        assert!(findings.diagnostics.iter().any(|found| twice(found.code)), "{what}");
        if what == "call" {
            assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "[]");
        }
        // Nothing is torn apart that the agent reads.
        let done = holds(&FORMAT, source.as_bytes(), &RepairOptions::default(), what);
        let done = done.expect("a session");
        assert_eq!(json!(self::contents(&done.out)), expected, "{what}");
    }
}

#[test]
fn the_last_of_two_members_of_the_top_counts() {
    let source = asked("Ask.").replacen("messages:", "system_prompt: T\nmessages:", 1);
    let (messages, findings) = context(source.as_bytes());
    assert_eq!(messages[0], json!({"role": "system", "content": "T"}));
    assert!(findings.diagnostics.iter().any(|found| found.code == Code::TwiceNamed));
}

#[test]
fn the_members_of_a_merge_key_are_in_the_message() {
    let source = asked("Ask.").replacen("  - role", "  - &a\n    role", 1)
        + "  - <<: *a\n    content: merged\n  - content: Bye.\n    <<: [*a, {role: assistant}]\n";
    let (messages, _) = context(source.as_bytes());
    let last: Vec<_> = messages.iter().skip(3).take(2).collect();
    let expected =
        [json!({"role": "user", "content": "merged"}), json!({"role": "user", "content": "Bye."})];
    assert_eq!(last, expected.iter().collect::<Vec<_>>());
}

/// Repairs a session twice; the second time changes nothing.
fn rewritten(source: &[u8]) -> Option<Done> {
    let done = repaired(&FORMAT, source, &RepairOptions::default())?;
    let again = repaired(&FORMAT, &done.out, &RepairOptions::default())?;
    assert!(!again.report.changed, "{}", done.out.escape_ascii());
    Some(done)
}

/// Contents that PyYAML refuses or reads as something else, and the texts that they are.
const REFUSED: &[(&str, &str)] = &[
    ("|\n      one\u{85}two\n      three", "one\u{85}two\nthree\n"),
    (">\n      one\u{85}two", "one\u{85}two\n"),
    ("|-\n      one\u{2028}two", "one\u{2028}two"),
    (">\n      one\u{2029}\n      two", "one\u{2029} two\n"),
    ("\"one\u{85}two\"", "one\u{85}two"),
    ("=", "="),
    ("<<", "<<"),
    ("\"raw \u{88} here\"", "raw \u{88} here"),
    ("\"raw \u{1b}[0m\"", "raw \u{1b}[0m"),
    ("'it''s \u{fffe}'", "it's \u{fffe}"),
    ("plain \u{7f} text", "plain \u{7f} text"),
    ("|-\n      block \u{9f}\n      yes", "block \u{9f}\nyes"),
    ("yes", "yes"),
    ("0123", "0123"),
    ("12:30:45", "12:30:45"),
    ("2025-12-03", "2025-12-03"),
    ("3", "3"),
    ("!!int 12", "12"),
    ("!!int twelve", "twelve"),
    ("&a 12", "12"),
    ("!!str &a one\u{85}two", "one\u{85}two"),
    ("&a <<", "<<"),
    ("\"one\u{2028} two\"", "one\u{2028} two"),
];

#[test]
fn text_that_pyyaml_does_not_read_as_it_is_is_rewritten() {
    let loader = loader();
    let folder = tempfile::tempdir().expect("a folder");
    for (at, (content, text)) in REFUSED.iter().enumerate() {
        let source = asked(content);
        let done = rewritten(source.as_bytes());
        let done = done.expect("a session");
        assert!(
            done.findings.diagnostics.iter().any(|found| found.code == Code::Respelled),
            "{content:?}"
        );
        assert_eq!(json!(contents(&done.out)), json!([text, "Say."]), "{content:?}");
        let file = folder.path().join(format!("{at}.yaml"));
        std::fs::write(&file, &done.out).expect("a writable folder");
        if let Some(loader) = &loader {
            let read = loaded(loader, &[file]).remove(0);
            assert_eq!(read["messages"][1]["content"], *text, "{content:?}: {read}");
        }
    }
}

#[test]
fn text_that_pyyaml_reads_stays() {
    for (content, text) in [
        ("'one\u{85}two'", json!("one two")),
        ("|\n      one\u{85}\n      two", json!("one\n\ntwo\n")),
        ("\"one\\Ntwo\"", json!("one\u{85}two")),
        ("\"one\u{2028}two\"", json!("one\u{2028}two")),
        ("!!str", json!("")),
        ("null", json!(null)),
        ("!!str 12", json!("12")),
        ("[{type: text, text: a}]", json!([{"type": "text", "text": "a"}])),
    ] {
        let source = asked(content);
        let done = repaired(&FORMAT, source.as_bytes(), &RepairOptions::default());
        assert!(!done.expect("a session").report.changed, "{content:?}");
        assert_eq!(contents(source.as_bytes())[0], text, "{content:?}");
    }
}

#[test]
fn sessions_of_the_field_are_read_as_pyyaml_reads_them() {
    let Some(corpus) = corpus("keys and texts of ConnectOnion as PyYAML reads them") else {
        return;
    };
    let (Some(loader), true) = (loader(), corpus.join("field3").is_dir()) else {
        return eprintln!("SKIP keys and texts of ConnectOnion: no loader or no files");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let kinds = ["3-yaml-duplicate-keys", "6-yaml-line-separators"];
    let more = ["13-yaml-control-characters", "14-yaml-typed-text"];
    let mut compared = 0;
    for file in kinds.iter().chain(&more).flat_map(|kind| files(&corpus.join("field3").join(kind)))
    {
        if file.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        let source = read(&file);
        let done = rewritten(&source);
        let out = folder.path().join("out.yaml");
        std::fs::write(&out, done.expect("a session").out).expect("a writable folder");
        let read = loaded(&loader, &[file.clone(), out.clone()]);
        let texts = |read: &Value| read["messages"].as_array().cloned().unwrap_or_default();
        assert_eq!(read[1]["ok"], true, "{}: {}", file.display(), read[1]);
        assert_eq!(
            plain(&texts(&read[1])),
            plain(&context(&common::read(&out)).0),
            "{}",
            file.display()
        );
        if file.to_string_lossy().contains(kinds[0]) {
            assert_eq!(plain(&texts(&read[0])), plain(&context(&source).0), "{}", file.display());
        }
        compared += 1;
    }
    println!("{compared} sessions as PyYAML reads them");
    assert!(compared > 10, "{compared}");
}

/// Messages without `null` members.
fn plain(messages: &[Value]) -> Vec<Value> {
    let kept = |message: &Value| {
        let members =
            message.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    messages.iter().map(kept).collect()
}

/// Whether all messages have a known role, and no content is a mapping: the agent sends these.
fn is_sent(read: &Value) -> bool {
    let known = |message: &Value| {
        let role = message["role"].as_str().unwrap_or_default();
        ["system", "user", "assistant"].contains(&role) && !message["content"].is_object()
    };
    read["messages"].as_array().is_some_and(|messages| messages.iter().all(known))
}

/// Pieces of which generated contents consist.
const PIECES: &[&str] = &[
    "a",
    "two words",
    "yes",
    "12",
    "1.5",
    "0x1f",
    "~",
    "null",
    "2025-12-03",
    "12:30",
    "=",
    "<<",
    "'",
    "\"",
    "\\n",
    "\\x85",
    "\\N",
    "\u{85}",
    "\u{2028}",
    "\u{88}",
    "\u{7f}",
    "\u{fffe}",
    "\u{feff}",
    "é",
    "\t",
    " ",
    "# x",
    ": ",
    "- ",
    "|",
    ">",
    "&a",
    "*a",
    "!!str ",
    "!!int ",
    "!x ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "?",
    "%",
    "@",
    "\n",
    "\n\n",
    "\n      ",
    "\n    role: user",
    "\n    content: b",
    "\u{1f600}",
    "\u{1b}",
];
const OPENINGS: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("'", "'"),
    ("\"", "\""),
    ("|\n      ", ""),
    (">-\n      ", ""),
    ("|+\n      ", "\n"),
    ("[", "]"),
    ("{", "}"),
    ("&a ", ""),
    ("!!str ", ""),
    ("!!int ", ""),
];

#[test]
#[ignore = "thousands of generated sessions"]
fn generated_sessions_are_read_as_pyyaml_reads_them() {
    let Some(loader) = loader() else { return };
    let seed = std::env::var("COPYIST_SEEDS").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let mut sources = Vec::new();
    for _ in 0..4000 {
        let (open, close) = OPENINGS[random.below(OPENINGS.len())];
        let pieces: String =
            (0..1 + random.below(5)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        sources.push(asked(&format!("{open}{pieces}{close}")));
    }
    let place = |kind: &str, at: usize| folder.path().join(format!("{kind}{at}.yaml"));
    let mut repairs = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let done = repaired(&FORMAT, source.as_bytes(), &RepairOptions::default());
        std::fs::write(place("in", at), source).expect("a writable folder");
        let out = done.as_ref().map_or(source.as_bytes(), |done| &done.out);
        std::fs::write(place("out", at), out).expect("a writable folder");
        repairs.push(done.map(|done| done.report.changed));
    }
    let all = |kind| -> Vec<_> { (0..sources.len()).map(|at| place(kind, at)).collect() };
    let (before, after) = (loaded(&loader, &all("in")), loaded(&loader, &all("out")));
    let (mut passed, mut differs, mut lasting, mut needless) = (vec![], vec![], vec![], vec![]);
    for (at, source) in sources.iter().enumerate() {
        let shown = source[TOP.len()..].to_owned();
        let ours = plain(&context(source.as_bytes()).0);
        let same = |read: &Value| plain(read["messages"].as_array().unwrap_or(&vec![])) == ours;
        match (before[at]["ok"] == true, repairs[at]) {
            (false, Some(false)) => passed.push(format!("{shown:?}: {}", before[at]["error"])),
            (true, Some(false)) if is_sent(&before[at]) && !same(&before[at]) => {
                differs.push(format!("{shown:?}: {} {ours:?}", before[at]["messages"]));
            }
            (true, Some(true)) if same(&before[at]) => needless.push(format!("{shown:?}")),
            (_, Some(true)) if after[at]["ok"] != true => {
                lasting.push(format!("{shown:?}: {}", after[at]["error"]));
            }
            _ => {}
        }
    }
    for (what, list) in [
        ("refused by PyYAML, not by copyist", &passed),
        ("read as something else", &differs),
        ("refused after repair", &lasting),
        ("repaired without need", &needless),
    ] {
        println!("{what}: {} of {}", list.len(), sources.len());
        list.iter().take(40).for_each(|line| println!("    {line}"));
    }
    let wrong = passed.len() + differs.len() + lasting.len();
    assert!(wrong * 40 <= sources.len(), "{wrong} of {}", sources.len());
}

#[test]
fn character_in_the_name_of_an_anchor_is_not_repaired_again_and_again() {
    let dir = Dir::in_memory();
    dir.write("s.yaml", b": :: &\x1a");
    let args = ["repair", "-q", "-f", "connectonion", "-o", "once.yaml", "s.yaml"];
    let (code, said) = dir.exit(&args);
    assert!(code == 3 && said.contains("CY0841") && !said.contains("CY0839"), "{code} {said}");
}

#[test]
fn a_form_feed_at_the_end_of_a_remark_becomes_a_blank_once() {
    let dir = Dir::in_memory();
    for text in ["#!\u{c}", "# remark\u{c}\nname: s\nturns: []\n"] {
        dir.write("s.yaml", text.as_bytes());
        let args = ["repair", "-q", "--force", "-f", "connectonion", "-o"];
        let (code, said) = dir.exit(&[&args[..], &["once.yaml", "s.yaml"]].concat());
        assert!(!said.contains("CY0839"), "{text:?}: {code} {said}");
        let once = std::fs::read(dir.path("once.yaml")).unwrap_or_default();
        let once = String::from_utf8(once).expect("UTF-8");
        assert!(!once.contains('\u{c}') && !once.contains("remark  "), "{text:?}: {once:?}");
    }
}
