//! The cases: what the input holds, or what stands around it.

use crate::common::{Dir, Mount, converted, migrated, recognise};
use copyist::format::{OnError, Options};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Input, what stands around it, and how the four commands are called; an empty call is none.
pub struct Case {
    pub name: &'static str,
    pub input: Vec<u8>,
    pub scene: Scene,
    pub calls: [String; 4],
}

/// Sets the scene, or says why it cannot be set here.
type Scene = fn(&Dir) -> Result<World, String>;

/// What the program meets beside its files.
pub enum World {
    Plain,
    /// The program may do what everybody may, and nothing else.
    Nobody,
    /// The input grows.
    Growing,
    /// No one reads what is printed.
    Deaf,
    /// There is a file system without room.
    #[allow(dead_code, reason = "it is unmounted when it is dropped")]
    Full(Mount),
}

impl Case {
    /// A file of these bytes, for all four commands.
    pub fn of(name: &'static str, input: impl Into<Vec<u8>>) -> Self {
        let calls = [
            "migrate -o out in.jsonl",
            "convert -t canonical -o out in.jsonl",
            "validate in.jsonl",
            "context in.jsonl",
        ];
        let calls = calls.map(str::to_owned);
        Self { name, input: input.into(), scene: |_| Ok(World::Plain), calls }
    }

    /// The same file with its format named.
    pub fn named(name: &'static str, format: &str, input: impl Into<Vec<u8>>) -> Self {
        let case = Self::of(name, input);
        let calls = case.calls.map(|call| format!("{call} -f {format}"));
        Self { calls, ..case }
    }

    /// A good session in a bad world.
    fn around(name: &'static str, scene: Scene) -> Self {
        Self { scene, ..Self::of(name, session(&[])) }
    }

    /// The same with these calls.
    fn called(name: &'static str, scene: Scene, calls: [&str; 4]) -> Self {
        Self { calls: calls.map(str::to_owned), ..Self::around(name, scene) }
    }

    /// The same with `migrate` and `convert` only, called so.
    fn written(name: &'static str, scene: Scene, arguments: &str) -> Self {
        let convert = format!("convert -t canonical {arguments}");
        Self::called(name, scene, [&format!("migrate {arguments}"), &convert, "", ""])
    }

    /// All that a whole output can be: migrated, converted, or the input itself.
    pub fn whole(&self) -> Vec<Vec<u8>> {
        let input = &self.input;
        let keep = Options { on_error: OnError::Keep, ..Options::default() };
        let Some((format, version)) = recognise(input) else { return Vec::new() };
        let migrated = migrated(input, "pi@3", &Options::default()).0;
        let converted = converted(input, format, version, "canonical", &keep).0;
        [migrated, converted, Ok(input.clone())].into_iter().flatten().collect()
    }
}

const HEADER: &[u8] =
    br#"{"type":"session","id":"s","timestamp":"2025-12-01T10:00:00.000Z","cwd":"/w"}"#;

/// A session of version 1 with two messages and these lines.
pub fn session(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in [HEADER, &user("hello"), &user("again")] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

/// A message that holds this, as it is spelled in JSON.
pub fn user(text: &str) -> Vec<u8> {
    entry(&format!("\"role\":\"user\",\"timestamp\":1,\"content\":\"{text}\""))
}

fn entry(message: &str) -> Vec<u8> {
    let time = "2025-12-01T10:00:01.000Z";
    format!("{{\"type\":\"message\",\"timestamp\":\"{time}\",\"message\":{{{message}}}}}")
        .into_bytes()
}

fn without_end(mut text: Vec<u8>, bytes: usize) -> Vec<u8> {
    text.truncate(text.len() - bytes);
    text
}

/// Bytes without any order, the same in each run.
pub fn noise() -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..4096).map(|_| next()).collect()
}

const YAML: &str = "session: s\nmessages:\n  - role: user\n    content: hello\n";
const PRETTY: &str = "{\n  \"type\": \"session\",\n  \"id\": \"s\",\n  \"cwd\": \"/w\"\n}\n";
const CSV: &str = "id,role,text\n1,user,hello\n2,assistant,hi\n";

/// Bad contents.
pub fn contents() -> Vec<Case> {
    let headless = session(&[])[HEADER.len() + 1..].to_vec();
    let number = "\"role\":\"user\",\"timestamp\":12345678901234567890123,\"content\":\"x\"";
    let twice = "\"role\":\"user\",\"timestamp\":1,\"content\":\"a\",\"content\":\"b\"";
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!("\"role\":\"user\",\"timestamp\":1,\"content\":\"x\",\"deep\":{deep}");
    vec![
        Case::of("empty file", ""),
        Case::of("white space only", " \n\t\r\n\n"),
        Case::of("random bytes", noise()),
        Case::named("random bytes, -f pi", "pi", noise()),
        Case::of("YAML", YAML),
        Case::named("YAML, -f pi", "pi", YAML),
        Case::of("pretty-printed JSON", PRETTY),
        Case::named("pretty-printed JSON, -f pi", "pi", PRETTY),
        Case::of("CSV", CSV),
        Case::named("CSV, -f pi", "pi", CSV),
        Case::named("pi's file, -f canonical", "canonical", session(&[])),
        Case::of("no header", headless),
        Case::of("torn last line", without_end(session(&[]), 20)),
        Case::of("torn header", &HEADER[..40]),
        Case::of("no final newline", without_end(session(&[]), 1)),
        Case::of("glued lines", session(&[[user("a"), user("b")].concat()])),
        Case::of("run of NUL bytes", session(&[vec![0; 5000], user("x")])),
        Case::named("nothing but NUL bytes, -f pi", "pi", vec![0; 5000]),
        Case::of("byte order mark", [b"\xef\xbb\xbf", &session(&[])[..]].concat()),
        Case::of("CRLF", String::from_utf8(session(&[])).expect("text").replace('\n', "\r\n")),
        Case::of("U+2028 in a string", session(&[user("a\u{2028}b")])),
        Case::of(
            "invalid UTF-8",
            session(&[user("a?b").iter().map(|b| if *b == b'?' { 0xff } else { *b }).collect()]),
        ),
        Case::of("half of a surrogate pair", session(&[user("\\ud83d and \\ude00")])),
        Case::of("integer of 23 digits", session(&[entry(number)])),
        Case::of("member that stands twice", session(&[entry(twice)])),
        Case::of("nested 10,000 levels deep", session(&[entry(&deep)])),
        Case::of("one line of 20 MB", session(&[user(&"x".repeat(20_000_000))])),
    ]
}

/// Bad circumstances.
pub fn circumstances() -> Vec<Case> {
    let folder =
        ["migrate -o out folder", "convert -t canonical -o out folder", "", "context folder"];
    let secret = [
        "migrate --out-dir out folder",
        "convert -t canonical --out-dir out folder",
        "validate folder",
        "",
    ];
    let closed = [
        "migrate --in-place folder/in.jsonl",
        "convert -t canonical -o folder/out in.jsonl",
        "",
        "",
    ];
    let piped = [
        "migrate -o - in.jsonl",
        "convert -t canonical -o - in.jsonl",
        "validate in.jsonl",
        "context in.jsonl",
    ];
    let mut cases = vec![
        Case::around("no such file", gone),
        Case::called("folder as input of -o", in_folder, folder),
        Case::written("folder as output of -o", in_folder, "-o folder --force in.jsonl"),
        Case::written("file as --out-dir", plain, "--out-dir in.jsonl in.jsonl"),
        Case::around("unreadable file", secret_file),
        Case::called("unreadable folder", secret_folder, secret),
        Case::called("unwritable folder", closed_folder, closed),
        Case::written("/dev/full as output", dev_full, "-o /dev/full in.jsonl"),
        Case::called("closed pipe", |_| Ok(World::Deaf), piped),
    ];
    cases.extend(names());
    cases.extend(big());
    cases
}

/// Names that meet.
fn names() -> Vec<Case> {
    let link = [
        "migrate -o out link",
        "convert -t canonical -o out link",
        "validate link",
        "context link",
    ];
    let twins = [
        "migrate --out-dir out in.jsonl folder/in.jsonl",
        "convert -t canonical --out-dir out in.jsonl folder/in.jsonl",
        "validate in.jsonl folder/in.jsonl",
        "context in.jsonl folder/in.jsonl",
    ];
    let hard = "output is a hard link to the input";
    let soft = "output is a link to the input";
    let in_place = ["migrate --in-place link", "", "", ""];
    vec![
        Case::written("output exists", taken, "-o taken in.jsonl"),
        Case::written("output is the input", plain, "--force -o in.jsonl in.jsonl"),
        Case::written("output is ./ the input", plain, "--force -o ./in.jsonl in.jsonl"),
        Case::written(hard, hard_link, "--force -o link in.jsonl"),
        Case::written(soft, soft_link, "--force -o link in.jsonl"),
        Case::called("link as input", soft_link, link),
        Case::called("link as input, --in-place", soft_link, in_place),
        Case::called("two inputs of one name", in_folder, twins),
    ]
}

/// What needs a session of some size: it takes time to read, and room.
fn big() -> Vec<Case> {
    let input = session(&vec![user(&"x".repeat(2000)); 2000]);
    let growing: Scene = |_| Ok(World::Growing);
    let in_full = ["migrate --in-place full/in.jsonl", "", "", ""];
    let in_place = ["migrate --in-place in.jsonl", "", "", ""];
    let cases = [
        Case::written("full disk", full, "-o full/out in.jsonl"),
        Case::called("full disk, --in-place", full_with_input, in_full),
        Case::written("input grows", growing, "--out-dir out in.jsonl"),
        Case::called("input grows, --in-place", growing, in_place),
    ];
    cases.into_iter().map(|case| Case { input: input.clone(), ..case }).collect()
}

fn plain(_: &Dir) -> Result<World, String> {
    Ok(World::Plain)
}

fn gone(dir: &Dir) -> Result<World, String> {
    fs::remove_file(dir.path("in.jsonl")).expect("a file of ours");
    Ok(World::Plain)
}

fn in_folder(dir: &Dir) -> Result<World, String> {
    dir.write("folder/in.jsonl", &session(&[]));
    Ok(World::Plain)
}

fn taken(dir: &Dir) -> Result<World, String> {
    dir.write("taken", b"precious");
    Ok(World::Plain)
}

fn hard_link(dir: &Dir) -> Result<World, String> {
    let linked = fs::hard_link(dir.path("in.jsonl"), dir.path("link"));
    linked.map(|()| World::Plain).map_err(|error| error.to_string())
}

fn soft_link(dir: &Dir) -> Result<World, String> {
    symlink("in.jsonl", dir.path("link")).expect("a link");
    Ok(World::Plain)
}

fn forbid(path: &Path, mode: u32) -> World {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of ours");
    World::Nobody
}

fn secret_file(dir: &Dir) -> Result<World, String> {
    Ok(forbid(&dir.path("in.jsonl"), 0))
}

fn secret_folder(dir: &Dir) -> Result<World, String> {
    in_folder(dir)?;
    Ok(forbid(&dir.path("folder"), 0))
}

fn closed_folder(dir: &Dir) -> Result<World, String> {
    in_folder(dir)?;
    Ok(forbid(&dir.path("folder"), 0o555))
}

fn dev_full(_: &Dir) -> Result<World, String> {
    if Path::new("/dev/full").exists() { Ok(World::Plain) } else { Err("no /dev/full".into()) }
}

fn full(dir: &Dir) -> Result<World, String> {
    mounted(dir, "64k")
}

/// Room for the input, and not for another one.
fn full_with_input(dir: &Dir) -> Result<World, String> {
    let world = mounted(dir, "5m")?;
    fs::copy(dir.path("in.jsonl"), dir.path("full/in.jsonl")).expect("room for one");
    Ok(world)
}

fn mounted(dir: &Dir, size: &str) -> Result<World, String> {
    Mount::new(dir, "full", size).map(World::Full)
}
