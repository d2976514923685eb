//! pi's rules, one by one, on lines of our own.

use crate::common::{
    Dir, alone, assert_same, context, converted, files, from_canonical, migrated, options, own,
    read, recognise, returned, to_canonical,
};
use copyist::context::Request;
use copyist::diagnostic::{Code, FieldOutcome};
use copyist::format::{OnError, Options};
use copyist::formats::pi;
use copyist::ids::Choice;

const HEADER: &str = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/w"}"#;
const USER: &str = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"a"}}"#;

fn sequential() -> Options {
    options(OnError::Stop, Choice::Sequential)
}

fn lines(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// The output's lines, and the codes that were given.
fn migrate(source: &[&str], to: &str, options: &Options) -> (Vec<String>, Vec<Code>) {
    let (done, found) = migrated(&lines(source), to, options);
    let text = String::from_utf8(done.expect("undamaged")).expect("UTF-8");
    (text.lines().map(str::to_owned).collect(), found.counts.into_keys().collect())
}

#[test]
fn versions_are_what_javascript_makes_of_them() {
    // EscapeStyle, version that it is migrated from, and what becomes of it on the way to 3.
    let cases: &[(&str, Option<u32>, &str)] = &[
        ("", Some(1), r#","version":3}"#),
        (r#","version":null"#, Some(1), r#","version":3}"#),
        (r#","version":0"#, Some(1), r#","version":3}"#),
        (r#","version":1"#, Some(1), r#","version":3}"#),
        (r#","version":"2""#, Some(2), r#","version":3}"#),
        (r#","version":2.5"#, Some(2), r#","version":3}"#),
        (r#","version":"x""#, None, r#","version":"x"}"#),
        (r#","version":"0.1.0""#, None, r#","version":"0.1.0"}"#),
    ];
    for (member, from, end) in cases {
        let header = HEADER.replace('}', &format!("{member}}}"));
        let (out, codes) = migrate(&[&header, USER], "pi@3", &sequential());
        assert!(out[0].ends_with(end), "{member}: {}", out[0]);
        let ids = out[1].contains(r#""id":"00000001","parentId":null"#);
        assert_eq!(ids, *from == Some(1), "{member}: {}", out[1]);
        assert_eq!(codes.contains(&Code::StrangeVersion), from.is_none(), "{member}: {codes:?}");
        let found = recognise(&lines(&[&header, USER])).map(|(_, version)| version);
        assert_eq!(found, Some(from.unwrap_or(3)), "{member}");
    }
}

#[test]
fn a_newer_version_is_refused_by_migration_and_read_elsewhere() {
    let header = HEADER.replace('}', r#","version":99}"#);
    let source = lines(&[&header, USER]);
    let error = migrated(&source, "pi@3", &sequential()).0.expect_err("too new");
    assert_eq!(error.code(), Code::VersionRefused);
    let forced = Options { force_version: true, ..sequential() };
    let (done, found) = migrated(&source, "pi@3", &forced);
    assert_eq!(done.expect("forced"), source);
    assert!(found.counts.contains_key(&Code::NewerVersion));
    let (format, version) = recognise(&source).expect("a pi file");
    let (_, found) = converted(&source, format, version, "canonical", &sequential());
    assert!(found.counts.contains_key(&Code::NewerVersion));
    assert_eq!(returned(&source, &sequential()), source);
}

/// Index, first kept entry in the output, code. Entries: two messages, the compaction (record 3),
/// a message.
const KEPT: &[(&str, Option<&str>, Option<Code>)] = &[
    ("1", Some("00000001"), None),
    ("2", Some("00000002"), None),
    ("2.0", Some("00000002"), None),
    ("2e0", Some("00000002"), None),
    ("0", Some("00000001"), Some(Code::KeptFromHeader)),
    ("-0", Some("00000001"), Some(Code::KeptFromHeader)),
    ("3", Some("00000003"), Some(Code::KeptSelf)),
    ("4", None, Some(Code::KeptNowhere)),
    ("99", None, Some(Code::KeptNowhere)),
    ("1e400", None, Some(Code::KeptNowhere)),
    ("-1", None, Some(Code::KeptNowhere)),
    ("1.5", None, Some(Code::KeptNowhere)),
    ("\"1\"", None, Some(Code::KeptNoNumber)),
    ("null", None, Some(Code::KeptNoNumber)),
    ("[1]", None, Some(Code::KeptNoNumber)),
];

#[test]
fn compaction_indexes_become_identifiers() {
    for (index, kept, code) in KEPT {
        let compaction = format!(
            r#"{{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":{index},"tokensBefore":5}}"#
        );
        let source = [HEADER, USER, "", USER, &compaction, USER];
        let (out, codes) = migrate(&source, "pi@2", &sequential());
        let kept = kept.map(|id| format!(r#","firstKeptEntryId":"{id}""#)).unwrap_or_default();
        let left = if *code == Some(Code::KeptNoNumber) {
            format!(r#","firstKeptEntryIndex":{index}"#)
        } else {
            String::new()
        };
        let note = match code {
            None | Some(Code::KeptNoNumber) => String::new(),
            Some(_) => format!(r#","copyist":{{"migrated":{{"firstKeptEntryIndex":{index}}}}}"#),
        };
        let expected = format!(
            r#"{{"type":"compaction","timestamp":"t","summary":"S"{left},"tokensBefore":5,"id":"00000003","parentId":"00000002"{kept}{note}}}"#
        );
        assert_eq!(out[4], expected, "index {index}");
        assert_eq!(codes, code.iter().copied().collect::<Vec<_>>(), "index {index}");
        // Another number for the same entry is the same index.
        let source = source.map(|line| line.replace("2.0", "2").replace("2e0", "2"));
        if *code != Some(Code::KeptNoNumber) {
            comes_home(&lines(&source.each_ref().map(String::as_str)), index);
        }
    }
}

/// A list that was migrated comes back as it was, and the conversation says what it said.
fn comes_home(list: &[u8], what: &str) {
    let mut source = list.to_vec();
    for (to, version) in [("pi@3", 1), ("pi@1", 3)] {
        let (done, found) = converted(&source, &pi::FORMAT, version, to, &Options::default());
        source = done.expect("a session");
        assert!(!found.counts.contains_key(&Code::OriginRejected), "{what}: {found:?}");
    }
    assert_same(&alone(&source), list, &format!("index {what}, from pi@3"));
}

#[test]
fn an_index_that_was_migrated_comes_home_as_it_was() {
    let compaction = |index: &str| {
        format!(
            r#"{{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":{index},"tokensBefore":5}}"#
        )
    };
    for index in ["0", "1", "2", "3", "4", "9", "-1"] {
        comes_home(&lines(&[HEADER, USER, HEADER, USER, &compaction(index), USER]), index);
    }
    // What was said elsewhere since then counts, and stays noted as it was.
    let tree = migrate(&[HEADER, USER, USER, &compaction("0")], "pi@3", &sequential()).0;
    let kept =
        tree[3].replace(r#""firstKeptEntryId":"00000001""#, r#""firstKeptEntryId":"00000002""#);
    let source = lines(&[&tree[0], &tree[1], &tree[2], &kept]);
    let list = converted(&source, &pi::FORMAT, 3, "pi@1", &Options::default()).0.expect("a list");
    let list = String::from_utf8(alone(&list)).expect("UTF-8");
    assert!(list.contains(r#""firstKeptEntryIndex":2"#), "{list}");
    assert!(list.contains(r#""migrated":{"firstKeptEntryIndex":0}"#), "{list}");
}

#[test]
fn an_index_counts_headers_and_no_blank_lines() {
    let compaction = |index: u32| {
        format!(
            r#"{{"type":"compaction","firstKeptEntryIndex":{index},"timestamp":"t","summary":"S"}}"#
        )
    };
    let (at_header, behind) = (compaction(2), compaction(3));
    let (out, codes) =
        migrate(&[HEADER, USER, HEADER, USER, " \t", &at_header, &behind], "pi@3", &sequential());
    assert!(out[5].contains(r#""firstKeptEntryId":"00000002""#), "another header: {}", out[5]);
    assert!(out[6].contains(r#""firstKeptEntryId":"00000002""#), "behind it: {}", out[6]);
    assert!(out[6].starts_with(r#"{"type":"compaction","timestamp""#), "{}", out[6]);
    assert_eq!(codes, [Code::FurtherHeader, Code::KeptBehind]);
    // Behind a header that stands right before it, the compaction itself is the next entry.
    let (out, codes) = migrate(&[HEADER, USER, HEADER, HEADER, &at_header], "pi@3", &sequential());
    assert!(out[4].contains(r#""firstKeptEntryId":"00000002""#), "itself: {}", out[4]);
    assert_eq!(codes, [Code::FurtherHeader, Code::KeptSelf]);
    assert!(out[0].ends_with(r#""version":3}"#) && out[2].ends_with(r#""version":3}"#));
}

#[test]
fn members_are_found_however_they_are_spelled_and_wherever_they_are() {
    let cases = [
        // Identifiers that were there are replaced in their place.
        (
            r#"{"id":"x","type":"custom","parentId":"y","data":1.50}"#,
            r#"{"id":"00000001","type":"custom","parentId":null,"data":1.50}"#,
        ),
        // Escaped keys are the same keys.
        (
            r#"{"\u0074ype":"message","message":{"\u0072ole":"hook\u004dessage"}}"#,
            r#"{"\u0074ype":"message","message":{"\u0072ole":"custom"},"id":"00000001","parentId":null}"#,
        ),
        // The last of two members counts.
        (
            r#"{"type":"message","message":{"role":"user","role":"hookMessage"}}"#,
            r#"{"type":"message","message":{"role":"user","role":"custom"},"id":"00000001","parentId":null}"#,
        ),
        (
            r#"{"type":"message","message":{"role":"hookMessage","role":"user"}}"#,
            r#"{"type":"message","message":{"role":"hookMessage","role":"user"},"id":"00000001","parentId":null}"#,
        ),
        // White space stays, and an empty object needs no comma.
        (r#" { "a" : 1 } "#, r#" { "a" : 1 ,"id":"00000001","parentId":null} "#),
        ("{}", r#"{"id":"00000001","parentId":null}"#),
        // A role that is none of a message's own is left alone.
        (
            r#"{"type":"custom","message":{"role":"hookMessage"}}"#,
            r#"{"type":"custom","message":{"role":"hookMessage"},"id":"00000001","parentId":null}"#,
        ),
    ];
    for (line, expected) in cases {
        let (out, _) = migrate(&[HEADER, line], "pi@3", &sequential());
        assert_eq!(out[1], expected);
    }
}

#[test]
fn a_note_of_ours_that_is_there_is_added_to() {
    for (note, expected) in [
        (r#"{"other":[1]}"#, r#"{"migrated":{"firstKeptEntryIndex":9},"other":[1]}"#),
        ("{}", r#"{"migrated":{"firstKeptEntryIndex":9}}"#),
    ] {
        let line = format!(r#"{{"type":"compaction","firstKeptEntryIndex":9,"copyist":{note}}}"#);
        let (out, _) = migrate(&[HEADER, &line], "pi@3", &sequential());
        assert!(out[1].contains(&format!(r#""copyist":{expected}"#)), "{}", out[1]);
    }
}

#[test]
fn an_identifier_beside_the_index_of_what_is_kept_is_replaced_and_reported() {
    let line = r#"{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":1,"firstKeptEntryId":"zz","tokensBefore":5}"#;
    let (out, codes) = migrate(&[HEADER, USER, line], "pi@3", &sequential());
    assert!(!out[2].contains("zz"), "{}", out[2]);
    assert_eq!(codes, [Code::IdReplaced]);
}

#[test]
fn a_byte_order_mark_and_a_missing_line_ending_are_repaired_by_a_migration_only() {
    let old = format!("\u{feff}{HEADER}\n{USER}");
    let (done, found) = migrated(old.as_bytes(), "pi@2", &sequential());
    let new = String::from_utf8(done.expect("undamaged")).expect("UTF-8");
    assert!(new.starts_with('{') && new.ends_with("}\n"), "{new}");
    let codes: Vec<_> = found.counts.into_keys().collect();
    assert_eq!(codes, [Code::ByteOrderMark, Code::NoFinalNewline]);
    let (done, found) = migrated(old.as_bytes(), "pi@1", &sequential());
    assert_eq!(done.expect("undamaged"), old.as_bytes());
    assert_eq!(found.counts.len(), 2);
}

#[test]
fn a_tree_with_defects_is_migrated_with_warnings() {
    let header = HEADER.replace('}', r#","version":2}"#);
    let entry = |id: &str, parent: &str| {
        format!(r#"{{"type":"label","id":"{id}","parentId":{parent},"targetId":"gone"}}"#)
    };
    let (a, b) = (entry("a", "null"), entry("b", "\"lost\""));
    let (out, codes) = migrate(&[&header, &a, &b, &b], "pi@3", &sequential());
    assert_eq!(out[1..], [a, b.clone(), b]);
    assert_eq!(codes, [Code::DuplicateId, Code::MissingParent, Code::MissingTarget]);
}

#[test]
fn an_entry_that_can_be_read_in_two_ways_is_kept_whole_in_its_place() {
    let twice = r#"{"type":"label","type":"message","timestamp":"t","message":{"role":"user","content":"b"}}"#;
    let source = lines(&[HEADER, USER, twice, USER]);
    let stream = String::from_utf8(to_canonical(&source, &Options::default())).expect("UTF-8");
    let opaque = stream.lines().nth(2).expect("three records");
    assert!(opaque.starts_with(r#"{"kind":"opaque","id":""#), "{opaque}");
    assert_eq!(from_canonical(stream.as_bytes(), "pi@1", &Options::default()), source);
    let (done, _) = migrated(&source, "pi@3", &Options::default());
    let (format, _) = recognise(&source).expect("a pi file");
    let tree = done.expect("undamaged");
    let (older, _) = converted(&tree, format, 3, "pi@1", &Options::default());
    assert_eq!(
        alone(&older.expect("one branch")).split(|b| *b == b'\n').count(),
        5,
        "nothing is off the branch"
    );
}

#[test]
fn the_last_type_of_a_header_counts() {
    for other in ["{}", "null", r#""message""#] {
        let twice = HEADER.replacen("\"type\"", &format!("\"type\":{other},\"type\""), 1);
        let list = lines(&[&twice, USER, USER]);
        assert_same(&returned(&list, &Options::default()), &list, &twice);
    }
}

#[test]
fn events_of_the_first_releases_are_in_the_chain() {
    let event = r#"{"type":"event","timestamp":"t","event":{"type":"turn_start"}}"#;
    let source = lines(&[HEADER, USER, event, USER]);
    let stream = String::from_utf8(to_canonical(&source, &Options::default())).expect("UTF-8");
    let member = |line: &str, name: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        value[name].as_str().map(str::to_owned)
    };
    let records: Vec<_> = stream.lines().collect();
    assert_eq!(member(records[3], "parent"), member(records[2], "id"));
    assert_eq!(from_canonical(stream.as_bytes(), "pi@1", &Options::default()), source);
}

/// An entry that a person typed.
fn entry(id: &str, parent: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

#[test]
fn a_downgrade_keeps_the_active_branch() {
    let header = HEADER.replace('}', r#","version":3}"#);
    let left = entry("b", "\"a\"", "left");
    let (root, taken) = (entry("a", "null", "root"), entry("c", "\"a\"", "taken"));
    let compaction = r#"{"type":"compaction","id":"d","parentId":"c","timestamp":"t","summary":"S","firstKeptEntryId":"c","tokensBefore":1}"#;
    let source = lines(&[&header, &root, &left, &taken, compaction]);
    let (format, version) = recognise(&source).expect("a pi file");
    let plain = Options { origin: false, ..Options::default() };
    let (done, found) = converted(&source, format, version, "pi@1", &plain);
    let text = String::from_utf8(done.expect("undamaged")).expect("UTF-8");
    let expected = [
        HEADER,
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"root"}}"#,
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"taken"}}"#,
        r#"{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":2,"tokensBefore":1}"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert!(found.counts.contains_key(&Code::Dropped));
    let lost: Vec<_> = found.losses.iter().map(|((_, path), n)| (path.as_str(), *n)).collect();
    assert_eq!(
        lost,
        [("compaction.id", 1), ("message off the active branch", 1), ("message.id", 2)]
    );
}

#[test]
fn an_entry_before_its_parent_is_written_behind_it_in_every_linear_format() {
    let header = HEADER.replace('}', r#","version":3}"#);
    let (one, two) = (entry("a", "null", "one"), entry("b", "\"a\"", "two"));
    let (three, four) = (entry("c", "\"b\"", "three"), entry("d", "\"c\"", "four"));
    let source = lines(&[&header, &three, &two, &one, &four]);
    let (format, version) = recognise(&source).expect("a pi file");
    for to in ["pi@1", "connectonion@1", "connectonion@3", "agent-orchestrator@2", "codelia@1"] {
        let plain = Options { origin: false, ..Options::default() };
        let target = converted(&source, format, version, to, &plain).0.expect("undamaged");
        let text = String::from_utf8(target).expect("UTF-8");
        let places = ["one", "two", "three", "four"].map(|said| text.rfind(&format!("{said}\"")));
        assert!(places.is_sorted() && places[0].is_some(), "{to}: {text}");
        let target = converted(&source, format, version, to, &Options::default()).0;
        let target = target.expect("undamaged");
        let (seen, number) = recognise(&target).expect("a known format");
        let back = converted(&target, seen, number, "pi@3", &Options::default()).0;
        assert_eq!(back.expect("the source"), source, "{to}");
    }
}

#[test]
fn a_key_without_its_quote_is_damage_everywhere() {
    let source = lines(&[HEADER, r#"{"type":"message",x":1}"#]);
    let error = migrated(&source, "pi@3", &Options::default()).0.expect_err("no JSON");
    assert_eq!(error.code(), Code::Syntax);
    let (format, version) = recognise(&source).expect("a pi file");
    let (stream, _) = converted(&source, format, version, "canonical", &Options::default());
    assert!(stream.is_err());
}

#[test]
fn a_byte_order_mark_stays_in_front_of_what_is_before_the_header() {
    let header = HEADER.replace('}', r#","version":3}"#);
    let spaces = " ".repeat(300_000);
    for lead in [" ", "", &spaces] {
        let source = format!("\u{feff}{lead}\n{header}\n").into_bytes();
        let (done, _) = migrated(&source, "pi@3", &Options::default());
        assert!(done.expect("undamaged") == source);
        let (format, version) = (&copyist::formats::pi::FORMAT, 3);
        let (stream, _) = converted(&source, format, version, "canonical", &Options::default());
        let back = from_canonical(&stream.expect("undamaged"), "pi@3", &Options::default());
        assert!(back == source, "{} bytes before the header", lead.len());
    }
}

/// Converts one entry of version 3 to another version; gives the line and the losses.
fn entry_to(entry: &str, to: &str) -> (String, Vec<String>) {
    let header = HEADER.replace('}', r#","version":3}"#);
    let source = lines(&[&header, entry]);
    let (format, version) = recognise(&source).expect("a pi file");
    let plain = Options { origin: false, ..Options::default() };
    let (done, found) = converted(&source, format, version, to, &plain);
    let text = String::from_utf8(done.expect("undamaged")).expect("UTF-8");
    let lost = found.losses.into_keys().map(|(_, path)| path).collect();
    (text.lines().nth(1).unwrap_or_default().to_owned(), lost)
}

#[test]
fn a_message_that_occurs_twice_is_kept_whole() {
    let base = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","#;
    for twice in [
        r#""message":"hello","message":{"role":"user","content":"B"}}"#,
        r#""message":5,"message":{"role":"user","content":"B"}}"#,
        r#""message":{"role":"user","content":"B"},"message":{"content":"C"}}"#,
    ] {
        let entry = format!("{base}{twice}");
        assert_eq!(entry_to(&entry, "pi@2").0, entry);
    }
}

#[test]
fn an_entry_that_is_kept_whole_stays_in_its_place() {
    let twice = r#"{"type":"message","timestamp":"t","message":{"role":"user","role":"user","content":"b"}}"#;
    let source = lines(&[HEADER, USER, twice, USER, HEADER]);
    let stream = to_canonical(&source, &sequential());
    let tree = String::from_utf8(from_canonical(&stream, "pi@3", &sequential())).expect("UTF-8");
    let out: Vec<_> = tree.lines().collect();
    assert!(out[2].ends_with(r#","id":"00000002","parentId":"00000001"}"#), "{}", out[2]);
    assert!(out[3].contains(r#""parentId":"00000002""#), "{}", out[3]);
    assert!(out[4].contains(r#""version":3"#), "{}", out[4]);
}

#[test]
fn an_index_passes_over_records_that_are_no_entries() {
    let compaction = |index: u32| {
        format!(
            r#"{{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":{index}}}"#
        )
    };
    let at_entry = compaction(4);
    let at_number = compaction(2);
    let source = lines(&[HEADER, USER, "123", USER, USER, &at_entry, &at_number]);
    for on_error in [OnError::Keep, OnError::Skip] {
        let (done, found) = migrated(&source, "pi@3", &options(on_error, Choice::Sequential));
        let text = String::from_utf8(done.expect("kept or skipped")).expect("UTF-8");
        assert!(text.contains(r#""firstKeptEntryId":"00000003""#), "{text}");
        assert!(found.counts.contains_key(&Code::KeptNowhere), "{text}");
    }
}

#[test]
fn an_index_does_not_count_lines_that_are_no_json() {
    let third = USER.replace("\"a\"", "\"third\"");
    let compaction =
        r#"{"type":"compaction","timestamp":"t","summary":"S","firstKeptEntryIndex":2}"#;
    let (front, rest) = USER.split_at(USER.len() / 2);
    let marked = format!("\u{feff}{USER}");
    for stray in [&["oops"][..], &[&marked], &[front, rest], &["1 2", "nul"], &["", "[", "-"]] {
        let source = lines(&[&[HEADER, USER], stray, &[&third, compaction]].concat());
        let keep = options(OnError::Keep, Choice::Sequential);
        let shown = |bytes: &[u8]| {
            let text = context(bytes, &Request::default(), &keep).0.expect("read");
            String::from_utf8(text).expect("UTF-8")
        };
        assert!(shown(&source).contains("third"), "{stray:?}: {}", shown(&source));
        let migrated = migrated(&source, "pi@3", &keep).0.expect("kept");
        assert_eq!(shown(&migrated), shown(&source), "{stray:?}");
        let stream = to_canonical(&source, &keep);
        assert_eq!(shown(&stream), shown(&source), "{stray:?}");
        assert_same(&returned(&source, &keep), &source, &format!("{stray:?}"));
        let later = from_canonical(&stream, "pi@3", &keep);
        assert_eq!(shown(&later), shown(&source), "{stray:?}");
    }
}

#[test]
fn every_field_that_is_not_written_is_counted() {
    let stream = concat!(
        r#"{"kind":"session","source":"canonical","id":"s","agent":"x"}"#,
        "\n",
        r#"{"kind":"message","id":"a","parent":null,"role":"user","content":"x","excluded":true,"display":false,"error":"e","extra":{"message":"hello"}}"#,
        "\n",
        r#"{"kind":"message","id":"b","parent":"a","role":"tool","content":[{"type":"tool_result","content":[{"type":"document","data":"x"}]}]}"#,
        "\n",
        r#"{"kind":"event","run":"r","seq":1,"data":{}}"#,
        "\n",
        r#"{"kind":"turn","number":1}"#,
        "\n",
    );
    let (format, version) = recognise(stream.as_bytes()).expect("a stream");
    let plain = Options { origin: false, ..Options::default() };
    let (done, found) = converted(stream.as_bytes(), format, version, "pi@3", &plain);
    let text = String::from_utf8(done.expect("a session")).expect("UTF-8");
    for line in text.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    let lost: Vec<_> = found.losses.keys().map(|(_, path)| path.as_str()).collect();
    assert_eq!(
        lost,
        [
            "event",
            "message.content.*.content.*.document",
            "message.display",
            "message.error",
            "message.excluded",
            "message.extra",
            "session.agent",
            "turn",
        ]
    );
}

#[test]
fn a_first_kept_entry_that_version_1_cannot_name_is_counted() {
    let entry = r#"{"type":"compaction","id":"d","parentId":null,"timestamp":"t","summary":"S","firstKeptEntryId":"gone","tokensBefore":1}"#;
    let (_, lost) = entry_to(entry, "pi@1");
    assert_eq!(lost, ["compaction.first_kept", "compaction.id"]);
}

#[test]
fn the_last_of_two_identifiers_in_a_header_counts_everywhere() {
    let header = HEADER.replace('}', r#","version":3,"id":2}"#);
    let source = lines(&[&header, USER]);
    assert_eq!(
        migrated(&source, "pi@3", &sequential()).0.expect_err("no id").code(),
        Code::NoHeader
    );
    let format = &copyist::formats::pi::FORMAT;
    let (done, _) = converted(&source, format, 3, "canonical", &sequential());
    assert_eq!(done.expect_err("no id").code(), Code::NoHeader);
}

#[test]
fn an_unknown_version_reaches_no_older_target() {
    for version in [r#""x""#, "99"] {
        let header = HEADER.replace('}', &format!(r#","version":{version}}}"#));
        let forced = Options { force_version: true, ..sequential() };
        let done = migrated(&lines(&[&header, USER]), "pi@2", &forced).0;
        assert_eq!(done.expect_err("not there").code(), Code::WrongVersion);
    }
}

#[test]
fn entries_without_identifiers_come_home_from_where_they_are_not_sent() {
    let header = |version: u32| {
        format!(
            "{{\"type\":\"session\",\"version\":{version},\"id\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}}\n"
        )
    };
    let said = |ends: &str, text: &str| {
        format!(
            "{{\"type\":\"message\",{ends}\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1}}}}\n"
        )
    };
    let named = said("\"id\":\"a\",\"parentId\":null,", "a");
    let last = said("\"id\":\"c\",\"parentId\":\"a\",", "c");
    for version in [2, 3] {
        for entries in [
            vec![said("", "a"), said("", "b")],
            vec![named.clone(), said("", "b"), last.clone()],
            vec![named.clone(), last.clone(), said("", "b")],
        ] {
            let file = header(version) + &entries.concat();
            for to in
                ["pi@1", "connectonion@2", "connectonion@3", "agent-orchestrator@2", "codelia@1"]
            {
                let dir = Dir::new();
                dir.write("s.jsonl", file.as_bytes());
                let (code, words) =
                    dir.exit(&["convert", "-t", to, "--out-dir", "away", "s.jsonl"]);
                assert_eq!(code, 0, "{to}: {words}");
                let home = format!("pi@{version}");
                let (code, words) =
                    dir.exit(&["convert", "-t", &home, "--out-dir", "home", "away"]);
                assert_eq!(code, 0, "{to}: {words}");
                let back = read(&files(&dir.path("home")).remove(0));
                assert_same(&back, file.as_bytes(), &format!("back from {to}: {words}"));
            }
        }
    }
}

#[test]
fn what_a_migration_makes_again_needs_no_origin() {
    for case in ["pi/v1/feature-work", "pi/v1/compacted", "pi/v1/first-generation"] {
        let dir = Dir::new();
        dir.copy(case, "a.jsonl");
        assert_eq!(dir.exit(&["migrate", "-o", "b.jsonl", "a.jsonl"]).0, 0);
        let (code, said) = dir.exit(&["convert", "-t", "pi@1", "-o", "c.jsonl", "b.jsonl"]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(read(&dir.path("c.jsonl")), own(case), "{case}");
    }
}

#[test]
fn a_stream_that_begins_with_a_blank_line_of_its_source_is_one() {
    let second = HEADER.replace("\"s\"", "\"t\"");
    let file =
        format!("\n\n{HEADER}\n{second}\n{USER}\n").replace("\"cwd\"", "\"version\":3,\"cwd\"");
    let file = file.replace("\"message\",", "\"message\",\"id\":\"aaaaaaaa\",\"parentId\":null,");
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = to_canonical(file.as_bytes(), &keep);
    let (format, version) = recognise(&stream).expect("a known format");
    assert_eq!(format.at(version), "canonical");
    assert_same(&returned(file.as_bytes(), &keep), file.as_bytes(), "home");
}

/// A stream may give a session of pi a name for which its header has no place.
#[test]
fn a_name_in_the_session_record_is_lost_and_reported() {
    let keep = options(OnError::Keep, Choice::Derived);
    let stream = String::from_utf8(to_canonical(&own("pi/v3/migrated"), &keep)).expect("UTF-8");
    let named =
        stream.replacen("\"kind\":\"session\",", "\"kind\":\"session\",\"name\":\"Pole\",", 1);
    let (canonical, version) = recognise(named.as_bytes()).expect("a stream");
    let (done, found) = converted(named.as_bytes(), canonical, version, "pi@3", &keep);
    assert!(done.is_ok());
    let lost = (FieldOutcome::Dropped, "session.name".to_owned());
    assert!(found.losses.contains_key(&lost), "{:?}", found.losses);
}
