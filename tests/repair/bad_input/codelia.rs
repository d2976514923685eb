//! Bad files of Codelia: a run, a state and a log of messages.

use super::cases::{Case, noise};
use crate::common::own;

/// The run of the specification, with this in place of its last but one.
fn run(line: &[u8]) -> Vec<u8> {
    let good = own("codelia/v1/seed");
    let mut lines: Vec<_> = good.split(|b| *b == b'\n').collect();
    lines[7] = line;
    lines.join(&b'\n')
}

fn event(data: &str) -> Vec<u8> {
    let head =
        "\"run_id\":\"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a\",\"ts\":\"2026-02-03T12:00:02.000Z\"";
    format!("{{\"type\":\"x.test\",{head},{data}}}").into_bytes()
}

/// Bad files.
pub fn files() -> Vec<Case> {
    let good = own("codelia/v1/seed");
    let (first, rest) = good.split_at(good.iter().position(|b| *b == b'\n').expect("a line") + 1);
    let text = String::from_utf8(good.clone()).expect("UTF-8");
    let (state, log) = (own("codelia/v1/state"), own("codelia/v2/log"));
    let deep = format!("\"deep\":{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let event_line = event("\"n\":1");
    vec![
        Case::of("run: as it should be", good.clone()),
        Case::named("run: random bytes", "codelia", noise()),
        Case::named("run: white space only", "codelia", " \n\t\n"),
        Case::named("run: another format's", "codelia", own("pi/v3/bom")),
        Case::of("run: no header", rest),
        Case::of("run: torn header", &first[..120]),
        Case::of("run: torn last line", &good[..good.len() - 20]),
        Case::of("run: no final newline", &good[..good.len() - 1]),
        Case::of("run: glued lines", run(&[event_line.clone(), event_line].concat())),
        Case::of("run: NUL bytes", run(&[0; 5000])),
        Case::of("run: byte order mark", [b"\xef\xbb\xbf", &good[..]].concat()),
        Case::of("run: CRLF", text.replace('\n', "\r\n")),
        Case::of("run: invalid UTF-8", run(b"{\"type\":\"x.test\",\"n\":\"\xff\"}")),
        Case::of("run: half of a surrogate pair", run(&event("\"n\":\"\\ud83d\""))),
        Case::of("run: integer of 23 digits", run(&event("\"n\":12345678901234567890123"))),
        Case::of("run: a member twice", run(&event("\"n\":1,\"n\":2"))),
        Case::of("run: nested 10,000 deep", run(&event(&deep))),
        Case::of(
            "run: a line of 20 MB",
            run(&event(&format!("\"n\":\"{}\"", "x".repeat(20_000_000)))),
        ),
        Case::of("run: no object", run(b"[1]")),
        Case::of("run: two headers", [first, &good[..]].concat()),
        Case::of(
            "run: a newer version",
            text.replacen("\"schema_version\":1", "\"schema_version\":9", 1),
        ),
        Case::of("state: as it should be", state.clone()),
        Case::of("state: torn", &state[..state.len() - 40]),
        Case::of("state: two of them", [&state[..], &state[..]].concat()),
        Case::of("log: as it should be", log.clone()),
        Case::of("log: torn last line", &log[..log.len() - 20]),
        Case::of("log: a line of a run", [&log[..], first].concat()),
    ]
}
