//! Records that come in another order than a file's own. Into a file, messages are written before
//! the last turn is known; to standard output, never.

use crate::common::{self, Dir, converted, options, own, recognise};
use copyist::context::Request;
use copyist::diagnostic::Findings;
use copyist::format::{OnError, Options};
use copyist::ids::Choice;

const HEAD: &str = r#"{"kind":"session","source":"connectonion@2","created":"2025-12-03 10:12:44","updated":"2025-12-03 10:15:30","agent":"oo"}"#;
const PROMPT: &str = r#"{"kind":"session","system_prompt":"You are terse."}"#;

fn turn(number: usize) -> String {
    format!(
        r#"{{"kind":"turn","time":"2025-12-03 10:12:50","model":"m","input":"ask {number}","result":"answer","number":{number}}}"#
    )
}

/// The messages of a turn, of more than a piece of output.
fn messages(number: usize) -> String {
    let message = |place: usize| {
        let (role, text) = (["user", "assistant"][place % 2], "so it goes ".repeat(40));
        format!(
            r#"{{"kind":"message","id":"{number}-{place}","turn":{number},"role":"{role}","content":"{text}"}}"#
        )
    };
    (0..1000).map(message).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_comes_late_is_where_it_belongs() {
    let remark = |place: &str| {
        format!(
            r##"{{"kind":"notice","subtype":"comment","layout":"{place}","data":"\n# so be it"}}"##
        )
    };
    let ordinary = [HEAD.to_owned(), turn(1), turn(2), PROMPT.to_owned()];
    let both = [messages(1), messages(2)];
    let late = [
        Some(turn(3)),
        Some(r#"{"kind":"session","file":{"eol":"crlf"}}"#.to_owned()),
        Some(r#"{"kind":"session","file":{"final_newline":false}}"#.to_owned()),
        Some(r#"{"kind":"session","updated":"2025-12-04 10:15:30"}"#.to_owned()),
        Some(remark("turns")),
        Some(remark("messages")),
        Some(remark("end")),
        None,
    ];
    for late in late {
        let late: Vec<_> = late.into_iter().collect();
        let lines = [&ordinary[..], &both[..1], &late, &both[1..]].concat();
        same(&(lines.join("\n") + "\n"), &format!("{late:?} between messages"));
        let lines = [&ordinary[..], &both, &late].concat();
        same(&(lines.join("\n") + "\n"), &format!("{late:?} behind messages"));
    }
}

fn same(stream: &str, what: &str) {
    let dir = Dir::new();
    dir.write("s.jsonl", stream.as_bytes());
    let args = |to| ["convert", "-t", "connectonion@2", "--force", "-o", to, "s.jsonl"];
    let (code, said) = dir.exit(&args("s.yaml"));
    let out = dir.run(&args("-"));
    assert_eq!(Some(code), out.status.code(), "{what}: {said}");
    let file = std::fs::read(dir.path("s.yaml")).unwrap_or_default();
    assert!(code != 0 || file.len() > stream.len() / 2, "{what}: {said}");
    crate::common::assert_same(&file, &out.stdout, what);
    if code == 0 {
        let back = ["convert", "-t", "canonical", "--force", "-o", "b.jsonl", "s.yaml"];
        assert_eq!(dir.exit(&back).0, 0, "{what}");
    }
}

#[test]
fn what_is_no_comment_does_not_get_into_a_file() {
    for text in ["# glued", "\\n# one\\nevil: yes", "\\n# one\\u2028evil: yes", "\\n# \\u0000", "x"]
    {
        let notice =
            format!(r#"{{"kind":"notice","subtype":"comment","layout":"turns","data":"{text}"}}"#);
        let dir = Dir::new();
        let lines = [HEAD, &turn(1), &notice].join("\n");
        dir.write("s.jsonl", format!("{lines}\n").as_bytes());
        let args = ["convert", "-t", "connectonion@2", "--no-origin", "-o", "s.yaml", "s.jsonl"];
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("cannot hold notice"), "{said}");
        let file = String::from_utf8(std::fs::read(dir.path("s.yaml")).expect("a file"));
        assert!(!file.expect("UTF-8").contains('#'), "{text}");
    }
}

/// A file with the members of its top sorted, as programs write them that sort.
fn sorted(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    let mut members: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match members.last_mut() {
            Some(last) if line.starts_with([' ', '-', '\n']) => last.push_str(line),
            _ => members.push(line.to_owned()),
        }
    }
    members.sort();
    members.concat().into_bytes()
}

fn to(source: &[u8], target: &str, origin: bool) -> (Vec<u8>, Findings) {
    let (format, version) = recognise(source).expect("a known format");
    let options = Options { origin, ..options(OnError::Stop, Choice::Derived) };
    let (done, findings) = converted(source, format, version, target, &options);
    (done.unwrap_or_else(|error| panic!("{target}: {error}")), findings)
}

#[test]
fn messages_before_turns_mean_the_same() {
    for case in ["connectonion/v2/harbour", "connectonion/v2/seed"] {
        let source = own(case);
        let other = sorted(&source);
        let place = |text: &[u8], what: &str| memchr::memmem::find(text, what.as_bytes());
        assert!(place(&other, "\nmessages:") < place(&other, "\nturns:"), "{case}");
        for target in ["connectonion@1", "connectonion@3", "pi@3", "codelia@1", "canonical"] {
            // How a file is spelled and when it was written last goes to no other format.
            let plain = |text: &[u8]| {
                let text = String::from_utf8(to(text, target, false).0).expect("UTF-8");
                let count = |what: &str| text.matches(what).count();
                ["user", "assistant", "duration", "\"turn\""].map(count)
            };
            assert_eq!(plain(&other), plain(&source), "{case} to {target}");
        }
        let (first, _) = to(&source, "connectonion@1", false);
        common::assert_same(&to(&other, "connectonion@1", false).0, &first, case);
        let request = Request::default();
        let keep = options(OnError::Stop, Choice::Derived);
        let sent = |text: &[u8]| common::context(text, &request, &keep).0.expect("a context");
        common::assert_same(&sent(&other), &sent(&source), case);
    }
}

#[test]
fn a_session_comes_home_from_a_file_whose_members_were_sorted() {
    for case in ["connectonion/v3/tides", "connectonion/v1/quay", "pi/v3/everything"] {
        let source = own(case);
        let (format, version) = recognise(&source).expect("a known format");
        let away = to(&source, "connectonion@2", true).0;
        let away = common::beside_origin(sorted(&common::alone(&away)), &away);
        let (back, findings) = to(&away, &format.at(version), true);
        common::assert_same(&back, &source, case);
        assert!(findings.diagnostics.is_empty(), "{case}: {:?}", findings.diagnostics);
    }
}

#[test]
fn a_sorted_file_that_is_cut_gives_what_is_whole_once() {
    let source = sorted(&own("connectonion/v2/harbour"));
    let keep = options(OnError::Keep, Choice::Derived);
    for cut in (source.len() / 3..source.len()).step_by(7) {
        let torn = &source[..cut];
        let Some((format, version)) =
            recognise(torn).filter(|(format, _)| format.name == super::FORMAT)
        else {
            continue;
        };
        let (done, findings) = converted(torn, format, version, "canonical", &keep);
        let stream = String::from_utf8(done.expect("what is whole")).expect("UTF-8");
        let asked = stream.matches("\"content\":\"Which berths are free?\"").count();
        assert_eq!(asked, 1, "{cut}: {stream}");
        let said: Vec<_> = findings.diagnostics.iter().map(|d| (d.code, d.at)).collect();
        let mut once = said.clone();
        once.dedup();
        assert_eq!(said, once, "{cut}");
    }
}

#[test]
fn what_is_behind_the_end_of_a_file_has_a_place_in_it() {
    let source = own("connectonion/v3/tides");
    let was = to(&source, "connectonion@2", true).0;
    let away = [&common::alone(&was)[..], b"\n# so be it\n"].concat();
    let (_, findings) = to(&common::beside_origin(away.clone(), &was), "connectonion@3", true);
    let places: Vec<_> = findings.diagnostics.iter().filter_map(|found| found.at).collect();
    assert!(!places.is_empty(), "{:?}", findings.diagnostics);
    assert!(places.iter().all(|at| at.byte <= away.len() as u64), "{places:?}");
}
