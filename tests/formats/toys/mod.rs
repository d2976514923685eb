//! Formats of our own invention, each as small as a real one could be: of JSON Lines, of one JSON
//! document, and of SQLite. They show what a new format has to write, and are where to begin one:
//! copy the file of the same kind.

mod database;
mod document;
mod lines;

use crate::common::{own_inputs, read, recognise};
use copyist::convert;
use copyist::detect::detect;
use copyist::diagnostic::{Code, Findings, Log};
use copyist::format::{Confidence, Cx, Format, Head, OnError, Options, RepairOptions};
use copyist::formats::{Spec, written};
use copyist::memory::{Buffer, Bytes};
use copyist::record::{Field, Kind, Record, block};
use copyist::repair::{self, QUARANTINE};
use rusqlite::Connection;
use std::path::Path;

/// The messages of a conversation, in the shape of Chat Completions.
const TALK: [&str; 5] = [
    r#"{"role":"user","content":"How many files are there? 😀"}"#,
    r#"{"role":"assistant","content":"I count.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}"#,
    r#"{"role":"tool","content":"a\nb","tool_call_id":"c1"}"#,
    r#"{"role":"assistant","content":"Two: a and b."}"#,
    r#"{"role":"user","content":"Thanks."}"#,
];

fn time(number: usize) -> String {
    format!("2026-01-02T03:04:{number:02}.000Z")
}

fn diary() -> Vec<u8> {
    let mut text =
        format!("{{\"diary\":1,\"id\":\"d1\",\"cwd\":\"/w\",\"began\":\"{}\"}}\n", time(0));
    for (number, message) in TALK.iter().enumerate() {
        text += &format!("{{\"at\":\"{}\",\"message\":{message}}}\n", time(number));
    }
    text.into_bytes()
}

fn album() -> Vec<u8> {
    let parts = [
        r#""How many files are there? 😀""#,
        r#"[{"type":"text","text":"I count."},{"type":"call","id":"c1","name":"bash","input":{"command":"ls"}}]"#,
        r#"[{"type":"result","call":"c1","output":"a\nb"}]"#,
        r#""Two: a and b.""#,
        r#"[{"type":"text","text":"Thanks."}]"#,
    ];
    let roles = ["user", "assistant", "tool", "assistant", "user"];
    let items = parts.iter().zip(roles).enumerate().map(|(number, (parts, role))| {
        let at = time(number);
        format!(r#"{{"id":"m{number}","at":"{at}","role":"{role}","parts":{parts},"mood":"calm"}}"#)
    });
    let items = items.collect::<Vec<_>>().join(",");
    let text = format!(
        r#"{{"album":1,"id":"a1","cwd":"/w","began":"{}","messages":[{items}],"pages":12,"cover":{{}}}}"#,
        time(0)
    );
    // The order of members is that of the text: what the writer makes is compared byte for byte.
    pretty(&text).into_bytes()
}

/// Lays JSON out as JavaScript does with two spaces.
fn pretty(text: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0, false, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if in_string {
            in_string = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        let closes = |next: Option<&char>| matches!(next, Some('}' | ']'));
        let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
        match c {
            '{' | '[' if closes(characters.peek()) => out.extend([c, characters.next().unwrap()]),
            '{' | '[' => {
                depth += 1;
                out.push(c);
                out += &line(depth);
            }
            '}' | ']' => {
                depth -= 1;
                out += &line(depth);
                out.push(c);
            }
            ',' => out += &format!(",{}", line(depth)),
            ':' => out += ": ",
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn cellar() -> Vec<u8> {
    let mut db = Connection::open_in_memory().expect("memory");
    db.execute_batch(
        "PRAGMA page_size = 512;
         CREATE TABLE cellar (id TEXT PRIMARY KEY, cwd TEXT, began TEXT);
         CREATE TABLE note (id INTEGER PRIMARY KEY, session TEXT, at TEXT, message TEXT);",
    )
    .expect("tables");
    let values = ("b1", "/w", time(0));
    db.execute("INSERT INTO cellar VALUES (?1, ?2, ?3)", values).expect("a session");
    for (number, message) in TALK.iter().enumerate() {
        let values = (number as i64 + 1, "b1", time(number), message);
        db.execute("INSERT INTO note VALUES (?1, ?2, ?3, ?4)", values).expect("a note");
    }
    db.serialize("main").expect("bytes").to_vec()
}

fn toys() -> [(&'static Format, Vec<u8>); 3] {
    [(&lines::FORMAT, diary()), (&document::FORMAT, album()), (&database::FORMAT, cellar())]
}

fn spec(format: &'static Format) -> Spec {
    Spec { format, version: None }
}

/// Converts in memory, without an origin: the table of formats does not have the toys.
fn converted(bytes: &[u8], from: &'static Format, to: Spec) -> (Vec<u8>, Findings) {
    let (log, options) = (Log::default(), Options { origin: false, ..Options::default() });
    let cx = Cx { options: &options, log: &log };
    let (mut out, version) = (Buffer::default(), from.versions[from.versions.len() - 1].number);
    let version = recognise(bytes).map_or(version, |(_, version)| version);
    convert::run(from, version, to, &mut Bytes::new(bytes), &mut out, &cx)
        .unwrap_or_else(|error| panic!("{} to {}: {error:?}", from.name, to.format.name));
    (out.main(), log.into_findings())
}

fn canonical() -> Spec {
    Spec::parse("canonical").expect("a format")
}

fn records(bytes: &[u8], format: &Format) -> Vec<Record> {
    let (log, options) =
        (Log::default(), Options { on_error: OnError::Skip, ..Options::default() });
    let cx = Cx { options: &options, log: &log };
    let mut parts = Bytes::new(bytes);
    let records = (format.read)(&mut parts, &cx).expect("a reader");
    records.map(|record| record.expect("a record").value).collect()
}

/// Role, text, calls and results of each message.
fn talk(bytes: &[u8], format: &Format) -> Vec<(String, String)> {
    let all = records(bytes, format);
    let messages = all.iter().filter(|record| record.kind == Kind::Message);
    let texts = |record: &Record| {
        let mut text = block::message_text(&record.node).and_then(|text| text.text());
        for block in record.node.nodes(Field::Content).unwrap_or_default() {
            let name = block.text(Field::Name).filter(|_| block.is(Field::Type, block::TOOL_CALL));
            text.get_or_insert_default().push_str(&name.unwrap_or_default());
            let result = block::message_text(block).and_then(|text| text.text());
            text.get_or_insert_default().push_str(&result.unwrap_or_default());
        }
        (record.node.text(Field::Role).unwrap_or_default(), text.unwrap_or_default())
    };
    messages.map(texts).collect()
}

#[test]
fn toys_are_detected_and_no_other_file_is_taken_for_one() {
    fn head(bytes: &[u8]) -> Head<'_> {
        Head { name: "", bytes, whole: true, encoding: None }
    }
    for (format, bytes) in toys() {
        let found = (format.sniff)(&head(&bytes)).expect("the format");
        assert_eq!(found.confidence, Confidence::Certain, "{}", format.name);
        let others = toys().map(|(other, _)| other);
        let others = others.iter().copied().filter(|other| *other != format);
        let taken = others.chain(written()).find(|o| (o.sniff)(&head(&bytes)).is_some());
        assert_eq!(taken.map(|format| format.name), None, "{}", format.name);
    }
    for input in own_inputs() {
        let bytes = read(&input);
        let taken = toys().into_iter().find(|(toy, _)| (toy.sniff)(&head(&bytes)).is_some());
        assert!(taken.is_none(), "{}", input.display());
    }
    assert!(detect(&head(b"{\"at\":\"t\"}")).is_none());
}

#[test]
fn toys_come_back_from_the_stream_byte_for_byte() {
    for (format, bytes) in toys() {
        let (stream, _) = converted(&bytes, format, canonical());
        let (back, found) = converted(&stream, canonical().format, spec(format));
        assert!(found.dropped() == 0, "{}: {found:?}", format.name);
        if format == &database::FORMAT {
            // The pages of a database have no order that its contents decide.
            let (again, _) = converted(&back, format, canonical());
            assert_eq!(String::from_utf8(again), String::from_utf8(stream));
        } else {
            assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn conversations_go_from_toys_to_agents_and_back() {
    for (format, bytes) in toys() {
        let said = talk(&bytes, format);
        for to in ["pi", "claude-code"] {
            let agent = Spec::parse(to).expect("a format");
            let (there, _) = converted(&bytes, format, agent);
            let (back, _) = converted(&there, agent.format, spec(format));
            let wanted: Vec<_> = said.iter().filter(|(_, text)| !text.is_empty()).collect();
            let heard = talk(&back, format);
            assert_eq!(heard.iter().collect::<Vec<_>>(), wanted, "{} by {to}", format.name);
        }
    }
}

#[test]
fn sessions_of_agents_become_toys() {
    let agents = ["pi", "claude-code"];
    let inputs = own_inputs().into_iter().map(|path| (read(&path), path));
    let mut count = 0;
    for (bytes, path) in inputs {
        let Some((from, _)) = recognise(&bytes).filter(|(from, _)| agents.contains(&from.name))
        else {
            continue;
        };
        for (format, _) in toys() {
            let (toy, _) = converted(&bytes, from, spec(format));
            let (stream, _) = converted(&toy, format, canonical());
            let (again, found) = converted(&stream, canonical().format, spec(format));
            assert!(found.dropped() == 0, "{}: {found:?}", path.display());
            assert!(again == toy || format == &database::FORMAT, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn toys_are_recovered_wherever_they_are_cut() {
    for (format, bytes) in toys() {
        let said = talk(&bytes, format);
        let ends = ends(format, &bytes);
        assert_eq!(ends.len(), said.len(), "{}", format.name);
        for cut in 0..bytes.len() {
            let torn = &bytes[..cut];
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let log = Log::default();
            let options = Options::default();
            let cx = Cx { options: &options, log: &log };
            let (mut parts, mut out) = (Bytes::new(torn), Buffer::default());
            let wanted = RepairOptions { name: "torn".to_owned(), ..RepairOptions::default() };
            match repair::run(format, &mut parts, &mut out, &wanted, &cx) {
                Ok(done) => {
                    let back = talk(&out.main(), format);
                    let kept = said.iter().filter(|said| back.contains(said)).count();
                    let name = format.name;
                    assert!(kept >= whole && back.len() == kept, "{name} cut at {cut}: {back:?}");
                    assert_eq!(done.messages, back.len() as u64, "{name} cut at {cut}");
                    let changed = out.main() != torn;
                    assert!(!changed || log.count_of(Code::Unsettled) == 0);
                    assert!(done.quarantined == 0 || out.part(QUARANTINE).is_some());
                }
                Err(error) => {
                    assert_eq!((error.code(), whole), (Code::NothingBack, 0), "cut at {cut}");
                }
            }
        }
    }
}

/// The byte at which each message of a toy ends.
fn ends(format: &Format, bytes: &[u8]) -> Vec<usize> {
    // SQLite leaves earlier copies of rows in pages that it divides.
    let find = |text: &str| {
        let mut places = bytes.windows(text.len());
        places.rposition(|window| window == text.as_bytes()).expect("a piece") + text.len()
    };
    match format.name {
        // An item ends with the brace before the indentation of the next one.
        "album" => {
            let text = std::str::from_utf8(bytes).expect("UTF-8");
            text.match_indices("\n    }").map(|(at, end)| at + end.len()).collect()
        }
        "diary" => TALK.iter().map(|message| find(message) + 1).collect(),
        // The row of the session is on the page before.
        _ => TALK.iter().map(|message| find(message)).collect(),
    }
}

/// Files of the toys, with the most lines that each may have.
const COSTS: [(&str, &str, usize); 3] = [
    ("lines.rs", include_str!("lines.rs"), 150),
    ("document.rs", include_str!("document.rs"), 200),
    ("database.rs", include_str!("database.rs"), 200),
];

#[test]
fn a_new_format_costs_few_lines() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/add-a-format.md");
    let page = String::from_utf8(read(&page)).expect("UTF-8");
    for (file, text, most) in COSTS {
        let lines = text.lines().count();
        assert!(lines <= most, "{file} has {lines} lines");
        let row = format!("`tests/formats/toys/{file}` | {lines} |");
        assert!(page.contains(&row), "docs/add-a-format.md lacks {row}");
    }
}
