//! Conversion of one line to records, and back.

use super::command::{self, SYSTEM, WORDS};
use super::members::Members;
use super::queued::{self, ATTACHMENT, PROMPT};
use super::wire;
use crate::dialect::anthropic::block::{self, Types};
use crate::dialect::anthropic::context::COMPACT_SUMMARY;
use crate::dialect::anthropic::split;
use crate::json::{Cursor, Fault, Json, Span, text};
use crate::mapping::{self, Extra, Object, Source, template};
use crate::record::{Field, Kind, Node, Record, Value};
use bytes::Bytes;

/// Reads a line. A line that is not an object, or whose message is not an object, is kept whole.
///
/// # Errors
/// If it is not one JSON value.
pub fn read(line: &Bytes) -> Result<Vec<Record>, Fault> {
    if let Some(role) = usual_role(line) {
        let (record, is_usual) = spoken(line, role)?;
        if is_usual {
            return Ok(spoken_records(record, role));
        }
    }
    let Some(members) = Members::of(line) else { return Ok(vec![whole(line, None)?]) };
    let wire = members.kind.and_then(|kind| text::decoded(kind.of(line)));
    let has_message = members.message(line).is_some();
    match wire.as_deref() {
        Some("user") if has_message => Ok(spoken_records(spoken(line, "user")?.0, "user")),
        // An error of the interface takes the place of an answer, and is not sent again.
        Some("assistant") if has_message && !members.is_failed(line) => {
            Ok(vec![spoken(line, "assistant")?.0])
        }
        Some(ATTACHMENT) if queued::is_queued(line) => match queued::read(line)? {
            Some(record) => Ok(vec![record]),
            None => Ok(vec![whole(line, Some(ATTACHMENT))?]),
        },
        Some(SYSTEM) if command::is_command(line) => Ok(vec![command::read(line)?]),
        wire => Ok(vec![whole(line, wire)?]),
    }
}

fn spoken_records(record: Record, role: &str) -> Vec<Record> {
    if role == "user" { results_apart(record) } else { vec![record] }
}

/// Returns the role of a line that seems to be a message, from its first members: those behind the
/// type and the message were not looked at.
fn usual_role(line: &[u8]) -> Option<&'static str> {
    simdutf8::basic::from_utf8(line).ok()?;
    let mut cursor = Cursor::new(line);
    let (mut role, mut has_message) = (None, false);
    cursor.begin_object().ok()?;
    while let Some(key) = cursor.next_key().ok()? {
        match key.of(line) {
            br#""type""# => {
                role = Some(match cursor.skip_value().ok()?.of(line) {
                    br#""user""# => "user",
                    br#""assistant""# => "assistant",
                    _ => return None,
                });
            }
            br#""message""# if cursor.peek() == Some(b'{') => {
                has_message = true;
                if role.is_none() {
                    cursor.skip_value().ok()?;
                }
            }
            _ => drop(cursor.skip_value().ok()?),
        }
        if has_message && role.is_some() {
            return role;
        }
    }
    None
}

/// Keeps a line whole, in its place in the chain.
fn whole(line: &Bytes, wire: Option<&str>) -> Result<Record, Fault> {
    let mut record = mapping::whole(line, wire)?;
    let data = record.node.json(Field::Data).cloned();
    let chained = wire.is_some_and(|wire| wire::CHAINED.contains(&wire));
    for row in wire::CHAIN.iter().take(3).filter(|row| chained || row.field == Field::Time) {
        let value = data.as_ref().and_then(|data| data.member(row.key));
        let fits =
            |json: &Json| json.as_bytes().first().is_some_and(|b| row.field.shape().admits(*b));
        record.node.put(row.field, value.filter(fits));
    }
    if record.node.json(Field::Id).is_none() {
        record.node.take(Field::Parent);
    }
    Ok(record)
}

/// Reads the members of a line's object, those of its message included. Returns whether its type
/// and its message occur once, and it is no error of the interface.
fn members(line: &Bytes, node: &mut Node, role: &str) -> Result<bool, Fault> {
    let (mut extra, mut message_content, mut inner) = (Extra::default(), None, Node::default());
    let (mut types, mut messages, mut failed) = (0, 0, false);
    let mut source = Source::new(line);
    template::read(&mut source, wire::CHAIN, node, &mut extra, &mut |source, key, extra| {
        if text::is(source.spelling(key), "type") {
            types += 1;
            return place_if(source, key, role, extra);
        }
        if text::is(source.spelling(key), wire::API_ERROR) {
            failed = role == "assistant" && source.cursor.peek() == Some(b't');
            return Ok(false);
        }
        let inside = text::is(source.spelling(key), "message");
        messages += u32::from(inside);
        let inside = inside && source.cursor.peek() == Some(b'{');
        if inside {
            let template = message(source, role, &mut inner, &mut message_content)?;
            extra.add(source.spelling(key), template.as_bytes());
        }
        Ok(inside)
    })?;
    source.cursor.end()?;
    for (field, value) in inner.iter() {
        node.set(field, value.clone());
    }
    node.put(Field::Content, message_content);
    extra.put(node);
    Ok(types == 1 && messages == 1 && !failed)
}

/// Reads the message inside a line; returns its template.
fn message(
    source: &mut Source<'_>,
    role: &str,
    node: &mut Node,
    message_content: &mut Option<Value>,
) -> Result<Json, Fault> {
    let mut extra = Extra::default();
    template::read(source, wire::MESSAGE, node, &mut extra, &mut |source, key, extra| {
        let name = source.spelling(key);
        if text::is(name, "content") && block::is_content(source) {
            *message_content = Some(block::content(source)?);
            extra.add(name, template::PLACE);
            return Ok(true);
        }
        match () {
            () if text::is(name, "role") => place_if(source, key, role, extra),
            () if text::is(name, "type") => place_if(source, key, "message", extra),
            () => Ok(false),
        }
    })?;
    Ok(extra.finish().unwrap_or(Json::constant("{}")))
}

/// Marks the place of a member that the writer adds by itself, if it has the usual value.
fn place_if(
    source: &mut Source<'_>,
    key: Span,
    usual: &str,
    extra: &mut Extra,
) -> Result<bool, Fault> {
    let mut ahead = source.cursor.clone();
    let value = ahead.skip_value()?;
    let same = text::is(source.spelling(value), usual);
    if same {
        source.cursor = ahead;
        extra.add(source.spelling(key), template::PLACE);
    }
    Ok(same)
}

/// Whether a member of a record's template is `true`.
#[must_use]
pub fn is_set(record: &Node, name: &str) -> bool {
    let value = record.json(Field::Extra).and_then(|extra| extra.member(name));
    value.is_some_and(|value| value.as_bytes() == b"true")
}

/// Reads a message, and returns whether it [is one by its members](members).
fn spoken(line: &Bytes, role: &'static str) -> Result<(Record, bool), Fault> {
    let mut record = Record::new(Kind::Message).with(Field::Role, Json::string(role));
    let is_usual = members(line, &mut record.node, role)?;
    let node = &mut record.node;
    if role == "assistant" {
        // The lines of one answer share its identifier.
        let group = node.json(Field::ResponseId).filter(|id| id.as_bytes() != b"\"\"").cloned();
        node.put(Field::Group, group);
    }
    if is_set(node, wire::SUMMARY) {
        node.set(Field::Subtype, Json::string(COMPACT_SUMMARY));
    }
    Ok((record, is_usual))
}

/// Makes each result of a tool a record of its own; the last one has the line's identifier, which
/// the next line names.
fn results_apart(record: Record) -> Vec<Record> {
    let id = record.node.text(Field::Id);
    let mut records = split(record, id.as_deref().unwrap_or("line"));
    let last = records.len().saturating_sub(1);
    let Some(id) = id.filter(|_| last > 0) else { return records };
    let mut before = None;
    for (place, record) in records.iter_mut().enumerate() {
        let own = if place == last { id.clone() } else { format!("{id}#{}", place + 1) };
        let own = Json::string(&own);
        if place < last {
            record.node.set(Field::IdMade, Json::constant("true"));
        }
        record.node.set(Field::Id, own.clone());
        record.node.put(Field::Parent, before.replace(own));
    }
    records
}

/// Gives a record another parent than its line names; the line's own stays in the template.
pub fn reparent(node: &mut Node, parent: Json) {
    let own =
        node.json(Field::Parent).map(|own| String::from_utf8_lossy(own.as_bytes()).into_owned());
    if let (Some(own), true) = (own, node.json(Field::Extra).is_some()) {
        restate(node, wire::PARENT, &own);
    }
    node.set(Field::Parent, parent);
}

/// Keeps the line's own identifier in the template, for a record that gets another one.
pub fn keep_id(node: &mut Node, own: &Json) {
    restate(node, "uuid", &String::from_utf8_lossy(own.as_bytes()));
}

/// Writes the line's own value of a member into the template.
fn restate(node: &mut Node, name: &str, own: &str) {
    let Some(template) = node.json(Field::Extra) else { return };
    let mut extra = Extra::default();
    for (key, value) in template.members() {
        let is_place = text::is(key, name) && value == template::PLACE;
        extra.add(key, if is_place { own.as_bytes() } else { value });
    }
    extra.put(node);
}

/// Whether a record is on the same line as the one before.
#[must_use]
pub fn is_joined(first: &Record, record: &Record) -> bool {
    let group = |record: &Record| record.node.json(Field::Group).cloned();
    let spoken =
        |record: &Record| record.kind == Kind::Message && !record.node.is(Field::Role, "assistant");
    spoken(first) && spoken(record) && group(first).is_some() && group(first) == group(record)
}

/// Appends the line that records represent; several records are of one group. Returns false if
/// there is no such line.
pub fn write(records: &[Record], out: &mut Vec<u8>) -> bool {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return false };
    let template = first.node.json(Field::Extra);
    match (first.kind, template) {
        (Kind::Opaque, _) => {
            let Some(data) = first.node.json(Field::Data) else { return false };
            out.extend_from_slice(data.as_bytes());
        }
        (Kind::Message, Some(template)) => {
            let mut node = first.node.clone();
            node.put(Field::Id, last.node.get(Field::Id).cloned());
            write_message(&node, records, template, out);
        }
        _ => return false,
    }
    true
}

fn write_message(node: &Node, records: &[Record], template: &Json, out: &mut Vec<u8>) {
    let assistant = node.is(Field::Role, "assistant");
    let role: &[u8] = if assistant { b"\"assistant\"" } else { b"\"user\"" };
    let mut object = Object::open(out);
    template::write(wire::CHAIN, node, template, &mut object, &mut |key, value, object| {
        match key {
            "type" if value == template::PLACE => object.member(key, role),
            "message" if value.starts_with(b"{") => {
                let inner = Json::trusted(template.bytes().slice_ref(value));
                let mut message = Object::open(object.key(key));
                write_inner(node, records, &inner, role, &mut message);
                message.close();
            }
            WORDS if value == template::PLACE && command::is_of_command(node) => {
                content(records, object.key(key));
            }
            ATTACHMENT if value.starts_with(b"{") => {
                let inner = Json::trusted(template.bytes().slice_ref(value));
                let mut attachment = Object::open(object.key(key));
                let put = &mut |key: &str, value: &[u8], attachment: &mut Object<'_>| {
                    let is_prompt = key == PROMPT && value == template::PLACE;
                    if is_prompt {
                        content(records, attachment.key(key));
                    }
                    is_prompt
                };
                template::write(&[], &Node::default(), &inner, &mut attachment, put);
                attachment.close();
            }
            _ => return false,
        }
        true
    });
    object.close();
}

fn write_inner(
    node: &Node,
    records: &[Record],
    template: &Json,
    role: &[u8],
    message: &mut Object<'_>,
) {
    template::write(wire::MESSAGE, node, template, message, &mut |key, value, message| {
        match key {
            _ if value != template::PLACE => return false,
            "role" => message.member(key, role),
            "type" => message.member(key, b"\"message\""),
            "content" => content(records, message.key(key)),
            _ => return false,
        }
        true
    });
}

fn content(records: &[Record], out: &mut Vec<u8>) {
    match records {
        [record] => match record.node.get(Field::Content) {
            Some(content) => block::write(content, Types::Given, out),
            None => out.extend_from_slice(b"[]"),
        },
        _ => {
            let blocks = records.iter().filter_map(|record| record.node.nodes(Field::Content));
            block::write_list(blocks.flatten(), Types::Given, out);
        }
    }
}
