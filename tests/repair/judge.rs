//! What repair promises, as one question that any session can be put to.

use crate::common::{files_of, parts, recognise, several};
use copyist::diagnostic::{Code, Findings, Log};
use copyist::format::{Cx, Format, OnError, Options, RepairOptions, Repaired};
use copyist::json::Cursor;
use copyist::json::text::from_base64;
use copyist::memory::Buffer;
use copyist::repair::{self, QUARANTINE, literal_backslashes};
use copyist::validate::{self, Schema};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// A repaired session.
pub struct Done {
    /// Its parts, as one text.
    pub out: Vec<u8>,
    pub aside: Vec<u8>,
    pub report: Repaired,
    pub findings: Findings,
}

/// Repairs in memory; `None` if nothing is to be got back.
pub fn repaired(format: &Format, source: &[u8], wanted: &RepairOptions) -> Option<Done> {
    let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
    let cx = Cx { options: &options, log: &log };
    let done = repair::run(format, &mut parts(source), &mut out, wanted, &cx);
    let report = match done {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(error.code(), Code::NothingBack, "{error}: {}", source.escape_ascii());
            return None;
        }
    };
    let aside = out.part(QUARANTINE).unwrap_or_default();
    let names = out.names().filter(|name| *name != QUARANTINE);
    let part = |name: &str| (name.to_owned(), out.part(name).unwrap_or_default());
    let out = several(names.map(part).collect());
    Some(Done { out, aside, report, findings: log.into_findings() })
}

pub fn resumable() -> RepairOptions {
    RepairOptions { resumable: true, ..RepairOptions::default() }
}

pub fn salvaging() -> RepairOptions {
    RepairOptions { salvage: true, ..RepairOptions::default() }
}

/// One thing that was set aside.
pub struct Aside {
    pub part: String,
    pub offset: usize,
    pub code: String,
    pub bytes: Vec<u8>,
    /// Whether the first repair set it aside, so that it stood in the input.
    pub first: bool,
}

/// What was set aside: where, why, and the bytes.
pub fn set_aside(quarantine: &[u8]) -> Vec<Aside> {
    let line = |line: &[u8]| {
        let item: Value = serde_json::from_slice(line).expect("JSON");
        let bytes = match (item["text"].as_str(), item["base64"].as_str()) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(text)) => from_base64(text).expect("base64"),
            _ => panic!("{item}"),
        };
        assert_eq!(item["length"], bytes.len());
        assert!(item["reason"].is_string() && item["line"].is_u64());
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let offset = item["offset"].as_u64().expect("an offset") as usize;
        let first = item["pass"].is_null();
        Aside { part: text("part"), offset, code: text("code"), bytes, first }
    };
    quarantine.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(line).collect()
}

/// Takes the number off identifiers of calls, which repair adds where two calls have the same.
fn call_names(message: &mut Value) {
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    let id_of = |block: &Value| match block["type"].as_str() {
        Some("toolCall" | "tool_use") => Some("id"),
        Some("tool_result") => Some("tool_use_id"),
        _ => None,
    };
    let ids = blocks.into_iter().flatten().filter_map(|block| block.get_mut(id_of(block)?));
    let mut ids: Vec<&mut Value> = ids.collect();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let own = |id: &Value| {
        let mut own = id.as_str()?;
        while let Some((before, _)) = own.rsplit_once('_').filter(|(_, last)| number(last)) {
            own = before;
        }
        Some(own.to_owned())
    };
    ids.iter_mut().for_each(|id| {
        if let Some(own) = own(id) {
            **id = own.into();
        }
    });
    if let Some(id) = message.get_mut("toolCallId")
        && let Some(own) = own(id)
    {
        *id = own.into();
    }
}

/// What a record says, apart from what repair may change.
fn payload(record: &[u8]) -> Option<String> {
    // Half characters and U+0000 are no text for a model, and some of them are replaced.
    let mut text = record.to_vec();
    let mut at = 0;
    // A line of YAML may end with one.
    while let Some(next) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        let escape = text.get(at + 1..at + 6).unwrap_or_default().to_ascii_lowercase();
        if escape.starts_with(b"ud") || escape == b"u0000" {
            text[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += 2;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&text) else {
        // Nested too deeply for this test's parser; what stands before the identifier will do.
        let text = String::from_utf8_lossy(&text).into_owned();
        let said = text.split("\"id\":").next().unwrap_or_default().to_owned();
        return text.starts_with('{').then_some(said);
    };
    let object = value.as_object_mut()?;
    let changed = [
        "id",
        "parentId",
        "firstKeptEntryId",
        "firstKeptEntryIndex",
        "targetId",
        "uuid",
        "parentUuid",
        "ordinal",
        "copyist",
    ];
    put_back(object);
    // A result that is made for a call of Gemini CLI is a member of the call.
    for call in object.get_mut("toolCalls").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_made = call["result"].to_string().contains("The outcome of the call is unknown");
        call.as_object_mut().filter(|_| is_made).map(|call| call.remove("result"));
    }
    // Lost messages are taken out of the list of those that a compaction keeps.
    for list in ["preservedMessages", "preservedSegment"] {
        let metadata = object.get_mut("compactMetadata").and_then(Value::as_object_mut);
        metadata.map(|metadata| metadata.remove(list));
    }
    if let Some(message) = object.get_mut("message") {
        call_names(message);
    }
    let header = object.get("type").is_some_and(|kind| kind == "session");
    // What is no UUID there opens no rollout of Codex.
    if object.get("type").is_some_and(|kind| kind == "session_meta") {
        object
            .get_mut("payload")
            .and_then(Value::as_object_mut)
            .map(|payload| payload.remove("id"));
    }
    for path in put_in(object) {
        let (inside, key) = path.rsplit_once('.').unwrap_or(("", &path));
        let holder = inside.split('.').filter(|key| !key.is_empty());
        let top = object.contains_key("message").then_some("message");
        let holder = top.into_iter().chain(holder).try_fold(&mut *object, |object, key| {
            object.get_mut(key).and_then(Value::as_object_mut)
        });
        // The order of the others stays.
        holder.and_then(|holder| holder.shift_remove(key));
    }
    for key in changed.iter().chain(["timestamp", "cwd", "version"].iter().filter(|_| header)) {
        object.remove(*key);
    }
    let sorted: BTreeMap<_, _> = object.iter().collect();
    Some(format!("{sorted:?}"))
}

/// Gives a line the time and the content that its notes say it had.
fn put_back(object: &mut serde_json::Map<String, Value>) {
    let notes = object.get("copyist").and_then(|note| note["repaired"].as_array()).cloned();
    // Of several changes of a member, the first one tells what stood there.
    for note in notes.iter().flatten().rev() {
        match note.get("timestamp") {
            Some(Value::Null) => drop(object.remove("timestamp")),
            Some(time) => drop(object.insert("timestamp".to_owned(), time.clone())),
            None => {}
        }
        if let (Some(content), Some(message)) = (note.get("content"), object.get_mut("message")) {
            message["content"] = content.clone();
        }
        // A result without its call is a text at the beginning of a conversation.
        let blocks = object
            .get_mut("message")
            .and_then(|message| message.get_mut("content")?.as_array_mut());
        if let (Some(old), Some(blocks), true) =
            (note.get("block"), blocks, note["code"] == "CY0832")
        {
            let is_text = |block: &&mut Value| {
                block["text"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("[A tool answered here:"))
            };
            blocks.iter_mut().find(is_text).into_iter().for_each(|block| *block = old.clone());
        }
        // An event of Copilot CLI has its members in its data.
        if let (Some(Value::Object(data)), Some(note)) = (object.get_mut("data"), note.as_object())
        {
            for (key, old) in note {
                data.get_mut(key).into_iter().for_each(|value| *value = old.clone());
            }
        }
    }
}

/// Members that the notes of a record say were put in.
fn put_in(object: &serde_json::Map<String, Value>) -> Vec<String> {
    let notes = object.get("copyist").and_then(|note| note["repaired"].as_array());
    let notes = notes.into_iter().flatten().filter(|note| note["code"] == "CY0857");
    notes.filter_map(|note| note["member"].as_str().map(str::to_owned)).collect()
}

/// The values of a text, one behind the other.
fn values(text: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut from) = (Vec::new(), 0);
    let mut stream =
        serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
    while let Some(Ok(_)) = stream.next() {
        found.push(text[from..stream.byte_offset()].trim_ascii());
        from = stream.byte_offset();
    }
    found
}

fn is_blank(line: &[u8]) -> bool {
    String::from_utf8_lossy(line).trim().is_empty()
}

/// Whether a part is one JSON object, and not one for each line; `what` begins with the path.
fn is_document(name: &str, what: &str) -> bool {
    let path = what.split(' ').next().unwrap_or_default();
    name.contains(".json") && !name.ends_with(".jsonl")
        || name.is_empty() && path.ends_with(".json")
}

/// Fails unless repair keeps its promises about these bytes.
pub fn holds(format: &Format, source: &[u8], wanted: &RepairOptions, what: &str) -> Option<Done> {
    let before = files_of(source);
    let Some(done) = repaired(format, source, wanted) else {
        let whole = |line: &[u8]| serde_json::from_slice::<HashMap<String, Value>>(line).is_ok();
        let mut lines = before.iter().flat_map(|(_, bytes)| bytes.split(|b| *b == b'\n'));
        let lost = lines.any(whole) && !is_yaml(what);
        assert!(!lost, "{what}: a whole record, and nothing came back");
        return None;
    };
    let aside = set_aside(&done.aside);
    let after: HashMap<_, _> = files_of(&done.out).into_iter().collect();
    let names = before.iter().map(|(name, _)| name).chain(after.keys());
    let mut names: Vec<_> = names.cloned().collect();
    names.sort();
    names.dedup();
    for name in names {
        let own = before.iter().find(|(part, _)| *part == name);
        let own = own.map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
        let new = after.get(&name).map(Vec::as_slice).unwrap_or_default();
        let what = format!("{what} {name}");
        let (first, later): (Vec<&Aside>, Vec<_>) =
            aside.iter().filter(|aside| aside.part == name).partition(|aside| aside.first);
        let left = without(own, first.into_iter(), &what);
        // What a later repair set aside of what the first one made is as good as there.
        let later: Vec<_> = later.iter().flat_map(|aside| [&b"\n"[..], &aside.bytes]).collect();
        let new = &[new, &later.concat()].concat();
        if name.ends_with(".txt") {
            assert!(own == new, "{what}: text changed");
        } else if is_yaml(&what) {
            lines_are_there(&left, own, new, &what);
        } else if is_document(&name, &what) {
            a_document_is_there(&left, own, new, &what);
        } else {
            records_are_there(&left, new, &what);
            none_is_invented(own, new, &what);
        }
    }
    let what = &format!("{what}, resumable {}, salvage {}", wanted.resumable, wanted.salvage);
    once_is_enough(format, &done, wanted, what);
    assert_eq!(done.report.changed, done.report.fixes > 0, "{what}: {:?}", done.findings.counts);
    Some(done)
}

/// The bytes of a part without those that were set aside.
fn without<'a>(own: &[u8], aside: impl Iterator<Item = &'a Aside>, what: &str) -> Vec<u8> {
    let mut left = own.to_vec();
    for Aside { offset, code, bytes, .. } in aside {
        let there = &mut left[*offset..offset + bytes.len()];
        if code != "CY0804" && code != "CY0806" {
            assert_eq!(there, bytes, "{what}: {code} at {offset}");
        }
        there.fill(b' ');
    }
    left
}

/// Every byte that was not set aside is in the output, as the record that it was.
fn records_are_there(left: &[u8], new: &[u8], what: &str) {
    let mut there: HashMap<String, usize> = HashMap::new();
    let mut count = |said| *there.entry(said).or_default() += 1;
    for line in new.split(|b| *b == b'\n').map(<[u8]>::trim_ascii) {
        count(payload(line).unwrap_or_else(|| String::from_utf8_lossy(line).into_owned()));
    }
    let mut take = |said: String| {
        let count = there.get_mut(&said).filter(|count| **count > 0);
        *count.unwrap_or_else(|| panic!("{what}: {said} is lost")) -= 1;
    };
    for line in left.split(|b| *b == b'\n').filter(|line| !is_blank(line)) {
        // Escapes that JSON does not know come back as backslashes.
        let read = literal_backslashes(line).filter(|line| is_whole(line));
        let line = read.as_deref().unwrap_or(line);
        let records = values(line);
        let length: usize = records.iter().map(|record| record.len()).sum();
        let all = line.iter().filter(|b| !b.is_ascii_whitespace()).count();
        if length < all {
            // Words, or numbers that only Python takes: the line as it is.
            take(String::from_utf8_lossy(line.trim_ascii()).into_owned());
            continue;
        }
        for record in records {
            take(
                payload(record)
                    .unwrap_or_else(|| panic!("{what}: {} is no record", record.escape_ascii())),
            );
        }
    }
}

fn is_whole(line: &[u8]) -> bool {
    let mut cursor = Cursor::new(line.trim_ascii());
    cursor.skip_value().is_ok() && cursor.end().is_ok()
}

fn none_is_invented(own: &[u8], new: &[u8], what: &str) {
    for line in new.split(|b| *b == b'\n').map(<[u8]>::trim_ascii) {
        let there = memchr::memmem::find(own, line).is_some();
        let whole = is_blank(line) || is_whole(line);
        assert!(whole || there, "{what}: {} is no record", line.escape_ascii());
        let marked = memchr::memmem::find(line, b"\"repaired\":[{\"code\":\"CY08").is_some();
        assert!(marked || there, "{what}: {} is invented", line.escape_ascii());
    }
}

fn is_yaml(what: &str) -> bool {
    what.split(' ').next().unwrap_or_default().ends_with(".yaml")
}

/// Every line of YAML is there, but for commas around it and the dash of an item; a file with new
/// lines has a note of them.
fn lines_are_there(left: &[u8], own: &[u8], new: &[u8], what: &str) {
    let bare = |line: &[u8]| {
        let text = String::from_utf8_lossy(line);
        let text = text.trim().trim_start_matches([',', ' ']).trim_start_matches("- ").to_owned();
        text.strip_suffix(',').map_or(text.clone(), str::to_owned)
    };
    let mut there: HashMap<String, usize> = HashMap::new();
    new.split(|b| *b == b'\n').for_each(|line| *there.entry(bare(line)).or_default() += 1);
    // The line that names a list may have lost its ending, or the one before it.
    let names = ["messages: |", "messages:", "turns:"];
    let apart = |line: &[u8]| {
        let text = String::from_utf8_lossy(line).into_owned();
        let name = names.into_iter().find(|name| text.contains(name));
        let name = name.filter(|_| !there.contains_key(&bare(line)));
        name.map_or(text.clone(), |name| text.replace(name, &format!("\n{name}\n")))
    };
    let lines: Vec<_> = left.split(|b| *b == b'\n').map(apart).collect();
    let lines = lines.join("\n");
    for line in lines.as_bytes().split(|b| *b == b'\n').filter(|line| !bare(line).is_empty()) {
        // Messages of a run that stood on one line have lines of their own.
        let apart = messages_of(line);
        if apart.len() > 1 {
            for message in apart {
                let said = String::from_utf8_lossy(message).into_owned();
                let count = there.get_mut(&said).filter(|count| **count > 0);
                *count.unwrap_or_else(|| panic!("{what}: {said} is lost")) -= 1;
            }
            continue;
        }
        // Notes of a run stand on one line, and others may follow them.
        let notes = bare(line).strip_suffix("]}").map(str::to_owned);
        let notes = notes.filter(|notes| notes.starts_with("copyist: {"));
        if notes.is_some_and(|notes| there.keys().any(|line| line.starts_with(&notes))) {
            continue;
        }
        // An empty list of turns is spelled so.
        let said = Some(bare(line)).filter(|line| there.get(line).is_some_and(|n| *n > 0));
        let said = said.unwrap_or_else(|| format!("{} []", bare(line)));
        let count = there.get_mut(&said).filter(|count| **count > 0);
        *count.unwrap_or_else(|| panic!("{what}: {} is lost", line.escape_ascii())) -= 1;
    }
    let before: Vec<_> = own.split(|b| *b == b'\n').map(bare).collect();
    let noted = memchr::memmem::find(new, b"copyist:").is_some();
    for line in new.split(|b| *b == b'\n').map(bare) {
        let frame = ["]", "[", "messages: |"].contains(&line.as_str()) || line.is_empty();
        let inside = || before.iter().any(|own| own.contains(&line));
        assert!(frame || noted || inside(), "{what}: {line} is invented");
    }
}

/// The objects of a line that holds nothing else, with commas between them.
fn messages_of(line: &[u8]) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), line.trim_ascii());
    while rest.starts_with(b"{") {
        let Ok(span) = Cursor::new(rest).skip_value() else { return Vec::new() };
        found.push(span.of(rest));
        rest = rest[span.end..].trim_ascii();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii();
    }
    if rest.is_empty() { found } else { Vec::new() }
}

/// The lines of a document are there, but for their commas; a new one is marked.
fn a_document_is_there(left: &[u8], own: &[u8], new: &[u8], what: &str) {
    let bare = |line: &[u8]| {
        let line = line.trim_ascii();
        line.strip_suffix(b",").unwrap_or(line).to_vec()
    };
    let there: Vec<_> = new.split(|b| *b == b'\n').map(bare).collect();
    let whole = memchr::memmem::find(new, left.trim_ascii()).is_some();
    for line in left.split(|b| *b == b'\n').filter(|line| !is_blank(line) && !whole) {
        let line = bare(line);
        let inside = there.iter().any(|new| {
            // What stands on one line gets its new members there, too.
            let open = line.strip_suffix(b"}").filter(|open| !open.is_empty());
            // What is open at the damage is closed there.
            let torn = line.ends_with(b"{") || line.ends_with(b"[");
            let open = open.or_else(|| torn.then_some(line.as_slice()));
            *new == line || open.is_some_and(|open| new.starts_with(open))
        });
        assert!(inside, "{what}: {} is lost", line.escape_ascii());
    }
    let marked = memchr::memmem::find(new, b"CY08").is_some();
    let there = memchr::memmem::find(own, new).is_some();
    assert!(marked || there, "{what}: {} is invented", new.escape_ascii());
}

fn once_is_enough(format: &Format, done: &Done, wanted: &RepairOptions, what: &str) {
    let again = repaired(format, &done.out, wanted).expect("records");
    let said = &again.findings.diagnostics;
    let shown = String::from_utf8_lossy(&done.out);
    assert!(!again.report.changed, "{what}: not at once: {said:?}\n{shown}");
    assert_eq!(again.out, done.out, "{what}");
    assert!(again.aside.is_empty(), "{what}");
}

/// The codes that say that a session is not valid.
pub fn invalid(session: &[u8]) -> Vec<Code> {
    let (format, version) = recognise(session).expect("a session");
    let schema = Schema::of(format.version(version).expect("a version")).expect("a schema");
    let options = Options { on_error: OnError::Keep, ..Options::default() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    validate::run(format, &schema, &mut parts(session), 10, &cx).expect("it can be read");
    log.into_findings().counts.into_keys().filter(|code| code.is_invalid()).collect()
}
