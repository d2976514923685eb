//! One event as a record, and back.
//!
//! The members of an event's data that have a field leave a place in `extra.data`, so that the data
//! are written in the order of the release that wrote them.

use super::images::{Assets, content_of, images};
use super::wire::{self, member_of};
use crate::json::{Json, is_whole};
use crate::mapping::template::{self, PLACE};
use crate::mapping::{Extra, Object, Row};
use crate::record::{Field, Kind, Node, Record, block};

/// The members of an event.
struct Event {
    wire: Json,
    data: Json,
    time: Option<Json>,
    /// The identifiers, and members that other releases add.
    rest: Extra,
}

impl Event {
    /// Divides a line; `None` for an object that is no event, or that can be read in two ways.
    fn of(line: &Json) -> Option<Self> {
        let (mut wire, mut data, mut time, mut rest) = (None, None, None, Extra::default());
        for (key, value) in line.pairs() {
            let is_text = value.is_string();
            let place = match key.text()?.as_str() {
                "type" => &mut wire,
                "data" => &mut data,
                "timestamp" if is_text => &mut time,
                _ => {
                    rest.add(key.as_bytes(), value.as_bytes());
                    continue;
                }
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        let wire = wire.filter(Json::is_string)?;
        let data = data.filter(Json::is_object)?;
        Some(Self { wire, data, time, rest })
    }
}

/// Reads an event. What no field describes is a notice, as is a further beginning; an object that is
/// no event is kept whole.
pub fn read(line: &Json, first: bool, assets: &Assets) -> Record {
    let whole = || Record::new(Kind::Opaque).with(Field::Data, line.clone());
    let Some(Event { wire, data, time, rest }) = Event::of(line) else { return whole() };
    let agent = member_of(line, "agentId").or_else(|| member_of(&data, "parentToolCallId"));
    let read = match wire.text().unwrap_or_default().as_str() {
        wire::START if first => Some(plain(Kind::Session, wire::START_ROWS, &data)),
        wire::USER => question(&data, assets),
        wire::ASSISTANT => answer(&data),
        wire::TOOL_COMPLETE if !is_made_by_resuming(&data) => result(&data, assets),
        wire::MODEL_CHANGE => Some(plain(Kind::ModelChange, wire::MODEL_ROWS, &data))
            .filter(|(record, _)| record.node.get(Field::Model).is_some()),
        wire::COMPACTION_COMPLETE if is_summary(&data) => {
            Some(plain(Kind::Compaction, wire::COMPACTION_ROWS, &data))
        }
        _ => None,
    };
    let is_kept_whole = [wire::USER, wire::ASSISTANT, wire::TOOL_COMPLETE];
    let (mut record, kept) = match read {
        Some((record, kept)) => (record, Some(kept)),
        // An entry of the conversation that the program refuses.
        None if is_kept_whole.iter().any(|kind| wire.text().as_deref() == Some(*kind))
            && !is_made_by_resuming(&data) =>
        {
            return whole();
        }
        None if wire.text().as_deref() == Some(wire::TOOL_START) => {
            let record = Record::new(Kind::Event).with(Field::Data, data);
            (record, None)
        }
        None => (notice(wire, data), None),
    };
    record.node.put(Field::ParentCall, agent.filter(|_| record.kind == Kind::Message));
    record.node.put(Field::Time, time);
    let mut extra = Extra::default();
    kept.iter().for_each(|kept| extra.add(b"\"data\"", kept.as_bytes()));
    rest.finish().iter().for_each(|rest| extra.add_members(rest));
    extra.put(&mut record.node);
    record
}

/// Whether the first object of a file begins a session.
pub fn is_start(line: &Json) -> bool {
    Event::of(line).is_some_and(|event| event.wire.text().as_deref() == Some(wire::START))
}

fn is_summary(data: &Json) -> bool {
    let success = data.member("success").is_some_and(|it| it.as_bytes() == b"true");
    success && member_of(data, "summaryContent").is_some()
}

fn notice(wire: Json, data: Json) -> Record {
    Record::new(Kind::Notice).with(Field::Subtype, wire).with(Field::Data, data)
}

/// A record, and the template of its event's data.
type Parsed = (Record, Json);

fn plain(kind: Kind, rows: &'static [Row], data: &Json) -> Parsed {
    let mut record = Record::new(kind);
    let kept = template::take(data, rows, &mut record.node);
    (record, kept)
}

/// Returns a message, and its data with other values in the place of some.
fn message(role: &'static str, data: &Json, new: impl Fn(&str, &Json) -> Option<Json>) -> Parsed {
    let record = Record::new(Kind::Message).with(Field::Role, Json::string(role));
    (record, with(data, new))
}

/// Returns an object with other values in the place of some.
fn with(object: &Json, new: impl Fn(&str, &Json) -> Option<Json>) -> Json {
    let mut kept = Extra::default();
    for (key, value) in object.pairs() {
        let new = new(&key.text().unwrap_or_default(), &value);
        kept.add(key.as_bytes(), new.as_ref().unwrap_or(&value).as_bytes());
    }
    kept.finish().unwrap_or_else(|| Json::constant("{}"))
}

fn place() -> Json {
    Json::trusted(PLACE.into())
}

fn question(data: &Json, assets: &Assets) -> Option<Parsed> {
    let content = member_of(data, "content")?;
    let (mut record, kept) = message("user", data, |name, value| match name {
        "content" => Some(place()),
        "transformedContent" => around(value, &content),
        _ => None,
    });
    let images = images(data.member("attachments"), assets);
    record.node.put(Field::Content, content_of(Some(content), images));
    Some((record, kept))
}

/// Divides the text that is sent into what is before and behind the question in it, so that an edit
/// of the question is one of the text, too.
fn around(sent: &Json, question: &Json) -> Option<Json> {
    let inner = |text: &Json| Some(text.as_bytes().get(1..text.as_bytes().len() - 1)?.to_vec());
    let sent = member_text(sent)?;
    let (sent, question) = (inner(&sent)?, inner(question).filter(|it| !it.is_empty())?);
    let mut found = memchr::memmem::find_iter(&sent, &question);
    let (at, None) = (found.next()?, found.next()) else { return None };
    let quoted = |text: &[u8]| [b"\"", text, b"\""].concat();
    let before = quoted(sent.get(..at)?);
    let behind = quoted(sent.get(at + question.len()..)?);
    let both = [b"[", before.as_slice(), b",", &behind, b"]"].concat();
    is_whole(&both).then(|| Json::trusted(both.into()))
}

fn member_text(value: &Json) -> Option<Json> {
    Some(value.clone()).filter(Json::is_string)
}

/// Returns the text that the program sends for a question: it has the time and reminders around it.
pub fn transformed(node: &Node) -> Option<Json> {
    let kept = data_of(node)?.member("transformedContent")?;
    joined(&kept, &text_of(node)).or_else(|| member_text(&kept))
}

/// Puts a question between the two texts that are around it.
fn joined(both: &Json, question: &Json) -> Option<Json> {
    let texts: Vec<Json> = both.elements().collect();
    let [before, behind] = texts.as_slice() else { return None };
    Some(before.clone().joined(question).joined(behind))
}

fn answer(data: &Json) -> Option<Parsed> {
    let content = member_of(data, "content")?;
    let thought = member_of(data, "reasoningText");
    let requests = data.member("toolRequests");
    let calls: Vec<Json> = requests.iter().flat_map(Json::elements).collect();
    let is_call =
        |call: &Json| ["toolCallId", "name"].iter().all(|it| member_of(call, it).is_some());
    if requests.is_some_and(|list| !list.is_list()) || !calls.iter().all(is_call) {
        return None;
    }
    let (mut record, kept) = message("assistant", data, |name, value| match name {
        "content" => Some(place()),
        "toolRequests" => Some(templates(&calls)),
        "reasoningText" => member_text(value).map(|_| place()),
        _ => None,
    });
    let kept = template::take(&kept, wire::ANSWER_ROWS, &mut record.node);
    let mut blocks = Vec::new();
    if let Some(thought) = thought {
        let mut block = Node::with_capacity(2);
        block.set(Field::Type, block::type_of(block::THINKING));
        block.set(Field::Thinking, thought);
        blocks.push(block);
    }
    blocks.extend((content.as_bytes() != b"\"\"").then(|| block::text(content)));
    for call in &calls {
        let mut block = Node::with_capacity(5);
        block.set(Field::Type, block::type_of(block::TOOL_CALL));
        template::take(call, wire::CALL_ROWS, &mut block);
        blocks.push(block);
    }
    record.node.set(Field::Content, blocks);
    Some((record, kept))
}

/// Returns the templates of calls, which the identifiers of the calls name.
fn templates(calls: &[Json]) -> Json {
    let is_field = |name: &str| matches!(name, "name" | "arguments");
    Json::list(calls.iter().map(|call| with(call, |name, _| is_field(name).then(place))))
}

/// The member with the text of a result, and the name of the text in it.
const fn text_place(failed: bool) -> (&'static str, &'static str) {
    if failed { ("error", "message") } else { ("result", "content") }
}

fn result(data: &Json, assets: &Assets) -> Option<Parsed> {
    let call = member_of(data, "toolCallId")?;
    let failed = match data.member("success")?.as_bytes() {
        b"true" => false,
        b"false" => true,
        _ => return None,
    };
    let (holder, text) = text_place(failed);
    let content = data.member(holder).and_then(|holder| member_of(&holder, text));
    let (mut record, kept) = message("tool", data, |name, value| match name {
        "toolCallId" | "success" => Some(place()),
        _ if name == holder && content.is_some() => {
            Some(with(value, |name, _| (name == text).then(place)))
        }
        _ => None,
    });
    let mut block = Node::with_capacity(4);
    block.set(Field::Type, block::type_of(block::TOOL_RESULT));
    block.set(Field::Call, call);
    let output = data.member("result").filter(|_| !failed);
    let images = images(output.and_then(|output| output.member("binaryResultsForLlm")), assets);
    block.put(Field::Content, content_of(content, images));
    block.put(Field::IsError, failed.then(|| Json::constant("true")));
    record.node.set(Field::Content, vec![block]);
    Some((record, kept))
}

/// Returns the template of an event's data.
pub fn data_of(node: &Node) -> Option<Json> {
    node.json(Field::Extra)?.member("data")
}

/// Appends the event of a record; false if there is none for it.
pub fn write(record: &Record, out: &mut Vec<u8>) -> bool {
    let (node, mut data) = (&record.node, Vec::new());
    let kept = data_of(node);
    let given = node.json(Field::Data);
    let filled = |rows, data: &mut Vec<u8>| template::fill(kept.as_ref(), rows, node, data);
    let wire = match record.kind {
        Kind::Session => {
            filled(wire::START_ROWS, &mut data);
            wire::START
        }
        Kind::ModelChange => {
            filled(wire::MODEL_ROWS, &mut data);
            wire::MODEL_CHANGE
        }
        Kind::Compaction if kept.is_some() => {
            filled(wire::COMPACTION_ROWS, &mut data);
            wire::COMPACTION_COMPLETE
        }
        Kind::Message => match write_message(node, kept.as_ref(), &mut data) {
            Some(wire) => wire,
            None => return false,
        },
        Kind::Notice | Kind::Event => {
            let start = Json::string(wire::TOOL_START);
            let is_start = record.kind == Kind::Event;
            let wire = if is_start { Some(&start) } else { node.json(Field::Subtype) };
            let (Some(wire), Some(given)) = (wire, given) else { return false };
            envelope(node, wire, given.as_bytes(), out);
            return true;
        }
        Kind::Opaque => {
            given.into_iter().for_each(|line| out.extend_from_slice(line.as_bytes()));
            return given.is_some();
        }
        _ => return false,
    };
    envelope(node, &Json::string(wire), &data, out);
    true
}

fn envelope(node: &Node, wire: &Json, data: &[u8], out: &mut Vec<u8>) {
    let extra = node.json(Field::Extra);
    let own = |name: &str| extra.and_then(|extra| extra.member(name));
    let mut object = Object::open(out);
    object.member("type", wire.as_bytes());
    object.member("data", data);
    let time = node.json(Field::Time).cloned().or_else(|| own("timestamp"));
    let first = [("id", own("id")), ("timestamp", time), ("parentId", own("parentId"))];
    for (name, value) in first {
        value.into_iter().for_each(|value| object.member(name, value.as_bytes()));
    }
    for (key, value) in extra.into_iter().flat_map(Json::members) {
        let key = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        if !matches!(key, b"data" | b"id" | b"timestamp" | b"parentId") {
            object.member(&String::from_utf8_lossy(key), value);
        }
    }
    object.close();
}

/// Returns the text of content that is one, or of its blocks.
pub fn text_of(holder: &Node) -> Json {
    let text = block::message_text(holder).filter(|text| !text.is_null());
    text.or_else(|| holder.json(Field::Output).cloned()).unwrap_or(Json::constant("\"\""))
}

fn write_message(node: &Node, kept: Option<&Json>, out: &mut Vec<u8>) -> Option<&'static str> {
    let blocks = node.content();
    let none = Json::constant("{}");
    let (kept, mut object) = (kept.unwrap_or(&none), Object::open(out));
    let wire = if node.is(Field::Role, "user") {
        write_question(node, kept, &mut object);
        wire::USER
    } else if node.is(Field::Role, "assistant") {
        write_answer(node, blocks, kept, &mut object);
        wire::ASSISTANT
    } else {
        let result = blocks.iter().find(|block| block.is(Field::Type, block::TOOL_RESULT))?;
        write_result(result, kept, &mut object);
        wire::TOOL_COMPLETE
    };
    object.close();
    Some(wire)
}

fn write_question(node: &Node, kept: &Json, object: &mut Object<'_>) {
    let content = text_of(node);
    let mut written = false;
    template::write(&[], node, kept, object, &mut |name, value, object| match name {
        "content" => {
            written = true;
            object.member(name, content.as_bytes());
            true
        }
        "transformedContent" => {
            let both = Json::trusted(value.to_vec().into());
            let sent = joined(&both, &content);
            sent.iter().for_each(|sent| object.member(name, sent.as_bytes()));
            sent.is_some()
        }
        _ => false,
    });
    if !written {
        object.member("content", content.as_bytes());
    }
}

fn write_answer(node: &Node, blocks: &[Node], kept: &Json, object: &mut Object<'_>) {
    let thoughts = blocks.iter().filter(|block| block.is(Field::Type, block::THINKING));
    let thoughts = thoughts.filter_map(|block| block.json(Field::Thinking).cloned());
    let calls = blocks.iter().filter(|block| block.is(Field::Type, block::TOOL_CALL));
    let templates: Vec<Json> =
        kept.member("toolRequests").iter().flat_map(Json::elements).collect();
    let written = |call: &Node| {
        let (id, mut out) = (call.json(Field::Id), Vec::new());
        let own = templates.iter().find(|template| template.member("toolCallId").as_ref() == id);
        template::fill(own, wire::CALL_ROWS, call, &mut out);
        out
    };
    let members = [
        ("content", Some(text_of(node))),
        ("reasoningText", thoughts.reduce(|a, b| a.joined(&b))),
        ("toolRequests", Some(Json::list(calls.map(written)))),
    ];
    let mut named = Vec::new();
    template::write(wire::ANSWER_ROWS, node, kept, object, &mut |name, value, object| {
        let Some((key, new)) = members.iter().find(|(key, _)| *key == name) else { return false };
        named.push(*key);
        match new {
            Some(new) => object.member(key, new.as_bytes()),
            None if value != PLACE => return false,
            None => {}
        }
        true
    });
    for (key, new) in members.iter().filter(|(key, _)| !named.contains(key)) {
        let needed =
            *key != "toolRequests" || new.as_ref().is_some_and(|new| new.as_bytes() != b"[]");
        new.iter().filter(|_| needed).for_each(|new| object.member(key, new.as_bytes()));
    }
}

fn write_result(result: &Node, kept: &Json, object: &mut Object<'_>) {
    let failed = result.is_true(Field::IsError);
    let success = Json::constant(if failed { "false" } else { "true" });
    let call = result.json(Field::Call).cloned().unwrap_or(Json::constant("\"\""));
    let has_text = [Field::Content, Field::Output].iter().any(|field| result.get(*field).is_some());
    let (holder, text) = text_place(failed);
    let mut named = Vec::new();
    template::write(&[], result, kept, object, &mut |name, value, object| {
        named.push(name.to_owned());
        match name {
            "toolCallId" => object.member(name, call.as_bytes()),
            "success" => object.member(name, success.as_bytes()),
            _ if name == holder && has_text => {
                let value = Json::trusted(value.to_vec().into());
                write_text(text, result, &value, object.key(name));
            }
            // The text is in the other place now.
            "result" | "error" => {
                let old = Json::trusted(value.to_vec().into());
                let held = old.member(text_place(!failed).1);
                return held.is_some_and(|held| held.as_bytes() == PLACE);
            }
            _ => return false,
        }
        true
    });
    let lacks = |name: &str| !named.iter().any(|known| known == name);
    if lacks("toolCallId") {
        object.member("toolCallId", call.as_bytes());
    }
    if lacks("success") {
        object.member("success", success.as_bytes());
    }
    if lacks(holder) && has_text {
        write_text(text, result, &Json::constant("{}"), object.key(holder));
    }
}

/// Writes the object with the text of a result.
fn write_text(name: &str, result: &Node, kept: &Json, out: &mut Vec<u8>) {
    let (content, mut written) = (text_of(result), false);
    let mut object = Object::open(out);
    template::write(&[], result, kept, &mut object, &mut |key, _, object| {
        let is_text = key == name;
        if is_text {
            written = true;
            object.member(name, content.as_bytes());
        }
        is_text
    });
    if !written {
        object.member(name, content.as_bytes());
    }
    object.close();
}

/// Whether a record has everything that its event needs: a new one does not.
pub fn is_complete(record: &Record) -> bool {
    match record.kind {
        Kind::Message | Kind::ModelChange | Kind::Compaction => data_of(&record.node).is_some(),
        _ => true,
    }
}

/// Whether the program wrote a result itself for a call without one, when it resumed the session: it
/// sends another text in its place.
fn is_made_by_resuming(data: &Json) -> bool {
    data.text_of("model").is_some_and(|model| model == "resumed")
}
