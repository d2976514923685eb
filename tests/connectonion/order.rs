//! Records that come in another order than a file's own. Into a file, messages are written before
//! the last turn is known; to standard output, never.

use super::common::Dir;

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
fn what_comes_late_stands_where_it_belongs() {
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
    super::common::assert_same(&file, &out.stdout, what);
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
        let args = ["convert", "-t", "connectonion@2", "--no-residue", "-o", "s.yaml", "s.jsonl"];
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("cannot hold notice"), "{said}");
        let file = String::from_utf8(std::fs::read(dir.path("s.yaml")).expect("a file"));
        assert!(!file.expect("UTF-8").contains('#'), "{text}");
    }
}
