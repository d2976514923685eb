//! Conversion of one line of a log to records, and back.
//!
//! | line | canonical |
//! |---|---|
//! | `user_message` | `message` of role `user` and subtype `user_message` |
//! | with `data`, or of type `system` | `notice`; `data` is what `claude` printed |
//! | with `model`, or of type `assistant` | `message` of role `assistant` |
//! | with `content`, or of type `user` | `message` of role `user`; each answer of a tool in it is a message of role `tool` of its own, all of one `group` |
//! | with `duration_ms`, or of type `result` | `result` |
//! | any other object | `opaque` |
//! | `parent_tool_use_id` | `parent_call` |
//! | members without a row in `wire.rs` | `extra`; those of the message inside a printed line under `extra.message` |

use super::wire::{self, PARENT, PROMPT};
use crate::dialect::anthropic::block::{self, Types};
use crate::dialect::anthropic::split;
use crate::json::{Cursor, EscapeStyle, Fault, Json, text};
use crate::lines::USUAL;
use crate::mapping::{Extra, Object, Row, Source};
use crate::record::{Field, Kind, Node, Record, Value};
use bytes::Bytes;

/// Shape in which lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lines as `claude` prints them: version 1.
    Printed,
    /// Lines as the SDK's data classes: version 2.
    Classes,
}

impl Shape {
    /// Returns the shape of a version's lines.
    pub fn of(version: u32) -> Self {
        if version == 1 { Self::Printed } else { Self::Classes }
    }

    /// Returns the spelling of the lines.
    pub fn spelling(self) -> EscapeStyle {
        match self {
            Self::Printed => EscapeStyle::SCRIPT,
            Self::Classes => EscapeStyle::PYTHON,
        }
    }
}

/// Kind of a line, with its shape where several exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Prompt, which the scripts add.
    Prompt,
    /// Notice of the SDK or of `claude`.
    System(Shape),
    /// Answer of the model.
    Assistant(Shape),
    /// Answers of tools.
    User(Shape),
    /// Outcome of a prompt.
    Result(Shape),
    /// Object of any other kind.
    Other,
}

impl What {
    /// Determines the kind of a line by the members of the object that begins the text.
    pub fn of(text: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text);
        let mut wire = None;
        let (mut content, mut inner, mut names) = (false, false, [false; 4]);
        const NAMES: [&str; 4] = ["data", "duration_ms", "model", "subtype"];
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            let first = cursor.peek();
            let value = cursor.skip_value()?;
            let key = key.of(text);
            if text::is(key, "type") {
                wire = Some(text::decode(value.of(text)).unwrap_or_default());
            } else if text::is(key, "content") {
                content = matches!(first, Some(b'"' | b'n' | b'['));
            } else if text::is(key, "message") {
                inner = first == Some(b'{');
            } else if let Some(place) = NAMES.iter().position(|name| text::is(key, name)) {
                names[place] = true;
            }
        }
        cursor.end()?;
        let [data, duration, model, subtype] = names;
        Ok(match wire.as_deref() {
            Some(PROMPT) if content => Self::Prompt,
            Some("system") if subtype => Self::System(Shape::Printed),
            Some("assistant") if inner => Self::Assistant(Shape::Printed),
            Some("user") if inner => Self::User(Shape::Printed),
            Some("result") if subtype => Self::Result(Shape::Printed),
            Some(_) => Self::Other,
            None if data && subtype => Self::System(Shape::Classes),
            None if duration && subtype => Self::Result(Shape::Classes),
            None if model && content => Self::Assistant(Shape::Classes),
            None if content => Self::User(Shape::Classes),
            None => Self::Other,
        })
    }

    /// Returns the shape, if the line is of a kind that has one.
    pub fn shape(self) -> Option<Shape> {
        match self {
            Self::System(shape)
            | Self::Assistant(shape)
            | Self::User(shape)
            | Self::Result(shape) => Some(shape),
            Self::Prompt => Some(Shape::Classes),
            Self::Other => None,
        }
    }
}

/// Reads a line that is a JSON object. `group` names the group of the records if the line is split.
pub fn read(line: &Bytes, group: &str) -> Result<Vec<Record>, Fault> {
    let what = What::of(line)?;
    let mut source = Source::new(line);
    match what {
        What::Prompt => prompt(&mut source).map(|record| vec![record]),
        What::System(shape) => notice(&mut source, shape).map(|record| vec![record]),
        What::Result(shape) => result(&mut source, shape).map(|record| vec![record]),
        What::Assistant(shape) => {
            let record = message(&mut source, shape, "assistant", wire::ASSISTANT)?;
            Ok(vec![record])
        }
        What::User(shape) => Ok(split(message(&mut source, shape, "user", wire::USER)?, group)),
        What::Other => {
            let mut record = Record::new(Kind::Opaque)
                .with_some(Field::Type, source.peek("type")?.filter(|wire| wire.text().is_some()));
            let span = source.cursor.skip_value()?;
            record.node.set(Field::Data, source.json(span));
            Ok(vec![record])
        }
    }
}

fn prompt(source: &mut Source<'_>) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Message);
    let node = &mut record.node;
    node.set(Field::Role, Json::constant("\"user\""));
    node.set(Field::Subtype, Json::string(PROMPT));
    let mut extra = Extra::default();
    let mut content = None;
    source.taking(wire::USER_MESSAGE, node, &mut extra, &mut |source, key, _| {
        let name = source.spelling(key);
        if text::is(name, "type") {
            source.cursor.skip_value()?;
        } else if text::is(name, "content") {
            content = Some(block::content(source)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    })?;
    node.put(Field::Content, content);
    extra.put(node);
    Ok(record)
}

fn notice(source: &mut Source<'_>, shape: Shape) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Notice);
    if shape == Shape::Classes {
        source.object(wire::SYSTEM, None, &mut record.node)?;
        return Ok(record);
    }
    let subtype = source.peek("subtype")?;
    record.node.put(Field::Subtype, subtype.filter(|subtype| subtype.text().is_some()));
    let span = source.cursor.skip_value()?;
    record.node.set(Field::Data, source.json(span));
    Ok(record)
}

fn result(source: &mut Source<'_>, shape: Shape) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Result);
    let printed = shape == Shape::Printed;
    let members = if printed { wire::PRINTED_RESULT } else { wire::RESULT };
    source.object(members, printed.then_some("type"), &mut record.node)?;
    Ok(record)
}

fn message(
    source: &mut Source<'_>,
    shape: Shape,
    role: &'static str,
    classes: &'static [Row],
) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Message);
    let node = &mut record.node;
    node.set(Field::Role, Json::string(role));
    let (mut extra, mut inner) = (Extra::default(), Extra::default());
    let (mut content, mut within) = (None, Node::default());
    let members = if shape == Shape::Printed { wire::PRINTED } else { classes };
    source.taking(members, node, &mut extra, &mut |source, key, _| {
        let name = source.spelling(key);
        if text::is(name, PARENT) && source.cursor.peek() == Some(b'n') {
            source.cursor.skip_value()?;
        } else if shape == Shape::Classes && text::is(name, "content") {
            content = Some(block::content(source)?);
        } else if shape == Shape::Printed && text::is(name, "type") {
            source.cursor.skip_value()?;
        } else if shape == Shape::Printed && text::is(name, "message") {
            content = message_inside(source, role, &mut within, &mut inner)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    })?;
    for (field, value) in within.iter() {
        node.set(field, value.clone());
    }
    node.put(Field::Content, content);
    if let Some(inner) = inner.finish() {
        extra.add(b"\"message\"", inner.as_bytes());
    }
    extra.put(node);
    Ok(record)
}

/// Reads the message inside a printed line, and returns its content.
fn message_inside(
    source: &mut Source<'_>,
    role: &str,
    node: &mut Node,
    extra: &mut Extra,
) -> Result<Option<Value>, Fault> {
    let mut content = None;
    source.taking(wire::MESSAGE, node, extra, &mut |source, key, _| {
        let name = source.spelling(key);
        if text::is(name, "content") && block::is_content(source) {
            content = Some(block::content(source)?);
            return Ok(true);
        }
        // Values that the writer adds by itself.
        let known = if text::is(name, "role") { Some(role) } else { None };
        let known = if text::is(name, "type") { Some("message") } else { known };
        let mut ahead = source.cursor.clone();
        let value = ahead.skip_value()?;
        let same = known.is_some_and(|known| text::is(source.spelling(value), known));
        if same {
            source.cursor = ahead;
        }
        Ok(same)
    })?;
    Ok(content)
}

/// Appends the line that records represent, in its spelling; several records are of one group.
/// Returns false if there is no such line in this shape.
pub fn write(records: &[Record], shape: Shape, out: &mut Vec<u8>) -> bool {
    let Some(record) = records.first() else { return false };
    let mut line = Vec::with_capacity(USUAL);
    let node = &record.node;
    match record.kind {
        Kind::Message => write_message(records, shape, &mut line),
        Kind::Notice if shape == Shape::Printed => {
            let data = node.json(Field::Data).map_or(&b"{}"[..], Json::as_bytes);
            line.extend_from_slice(data);
        }
        Kind::Notice => {
            let mut object = Object::open(&mut line);
            object.in_order(wire::SYSTEM, node, node.json(Field::Extra), &mut |_, _| false);
            object.close();
        }
        Kind::Result => write_result(node, shape, &mut line),
        Kind::Opaque => match node.json(Field::Data) {
            Some(data) => line.extend_from_slice(data.as_bytes()),
            None => return false,
        },
        _ => return false,
    }
    shape.spelling().spell(&line, out);
    true
}

fn write_result(node: &Node, shape: Shape, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let printed = shape == Shape::Printed;
    let members = if printed { wire::PRINTED_RESULT } else { wire::RESULT };
    object.in_order(members, node, node.json(Field::Extra), &mut |_, _| false);
    object.close();
}

fn write_message(records: &[Record], shape: Shape, out: &mut Vec<u8>) {
    let Some(Record { node, .. }) = records.first() else { return };
    let types = if shape == Shape::Printed { Types::Given } else { Types::Absent };
    let write_content = |out: &mut Vec<u8>| match (records, node.get(Field::Content)) {
        ([_], Some(content)) => block::write(content, types, out),
        ([_], None) => out.extend_from_slice(b"null"),
        _ => {
            let blocks = records.iter().filter_map(|record| record.node.nodes(Field::Content));
            block::write_list(blocks.flatten(), types, out);
        }
    };
    let assistant = node.is(Field::Role, "assistant");
    let mut object = Object::open(out);
    match shape {
        Shape::Printed => write_printed(node, assistant, &write_content, &mut object),
        Shape::Classes => write_classes(node, assistant, &write_content, &mut object),
    }
    object.close();
}

type ContentWriter<'s> = &'s dyn Fn(&mut Vec<u8>);

fn write_parent(node: &Node, object: &mut Object<'_>) {
    let parent = node.json(Field::ParentCall).map_or(&b"null"[..], Json::as_bytes);
    object.member(PARENT, parent);
}

fn write_classes(
    node: &Node,
    assistant: bool,
    write_content: ContentWriter<'_>,
    object: &mut Object<'_>,
) {
    let prompt = node.is(Field::Subtype, PROMPT);
    let members = match () {
        () if prompt => wire::USER_MESSAGE,
        () if assistant => wire::ASSISTANT,
        () => wire::USER,
    };
    let unnamed = node.json(Field::Model).is_none() && !is_extra(node, "model");
    object.in_order(members, node, node.json(Field::Extra), &mut |row, object| {
        let key = row.key;
        match key {
            "type" => text::quote(PROMPT, object.key(key)),
            "content" => write_content(object.key(key)),
            PARENT => write_parent(node, object),
            // Without this member the line would be that of a tool.
            "model" if unnamed => object.member(key, b"null"),
            _ => return false,
        }
        true
    });
}

/// Whether a member is among those that have no field.
fn is_extra(node: &Node, name: &str) -> bool {
    node.json(Field::Extra).is_some_and(|extra| extra.member(name).is_some())
}

fn write_printed(
    node: &Node,
    assistant: bool,
    write_content: ContentWriter<'_>,
    object: &mut Object<'_>,
) {
    let role: &[u8] = if assistant { b"\"assistant\"" } else { b"\"user\"" };
    let extra = node.json(Field::Extra);
    let inner = extra.and_then(|extra| extra.member("message"));
    let kept = |name: &str| inner.as_ref().is_some_and(|inner| inner.member(name).is_some());
    let message = |object: &mut Object<'_>| {
        let mut message = Object::open(object.key("message"));
        message.in_order(wire::MESSAGE, node, inner.as_ref(), &mut |row, object| {
            let key = row.key;
            match key {
                "role" if !kept(key) => object.member(key, role),
                "type" if assistant && !kept(key) => object.member(key, b"\"message\""),
                "content" if !kept(key) => write_content(object.key(key)),
                _ => return false,
            }
            true
        });
        message.close();
    };
    object.in_order(wire::PRINTED, node, extra, &mut |row, object| {
        match row.key {
            "type" => object.member("type", role),
            "message" => message(object),
            PARENT => write_parent(node, object),
            _ => return false,
        }
        true
    });
}
