//! Conversion of Codelia's messages to records and back.
//!
//! | Codelia | canonical |
//! |---|---|
//! | role `system`, `user` | the same; parts of a content become blocks |
//! | role `assistant` | the same; `tool_calls` are blocks behind the text, arguments stay the JSON text that they are |
//! | role `reasoning` | role `assistant` with one `thinking` block, layout `reasoning` |
//! | `raw_item` of type `redacted_thinking` | `redacted`, with its `data` as signature |
//! | role `tool` | one `tool_result` block |
//! | part `image_url` with a `data:` URL | `image`; what is beside the URL is `extra` |
//! | part `document` | `document` |
//! | any other part | `opaque` |
//! | `refusal`, `name`, `raw_item`, `output_ref`, `trimmed`, `provider_meta` and the like | `extra` |
//!
//! An assistant message that calls tools and contains no text has `content: null`. Other spellings
//! have a layout: `parts` for a list, `absent` if there is no such member.

use super::wire::members;
use crate::dialect::data_url;
use crate::json::{Fault, Json};
use crate::mapping::{Extra, Object, Row, Source, apart, fixed, kept, row, whole, within, without};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

const CONTENT: Row = apart("content");
const SPEAKER: &[Row] = &[CONTENT];
const ASSISTANT: &[Row] = &[CONTENT, kept("tool_calls")];
const TOOL: &[Row] = &[
    row("tool_call_id", Field::Call),
    row("tool_name", Field::Name),
    CONTENT,
    row("is_error", Field::IsError),
];
const REASONING: &[Row] = &[row("content", Field::Thinking)];

/// Layouts of messages.
const THOUGHT: Json = Json::constant("\"reasoning\"");
const PARTS: Json = Json::constant("\"parts\"");
const ABSENT: Json = Json::constant("\"absent\"");

/// Reads one message. A value that is not a message of a known role becomes an opaque record.
pub fn read(text: &Bytes) -> Result<Record, Fault> {
    let mut source = Source::new(text);
    let role = source.peek_text("role")?;
    let rows = match role.as_deref() {
        Some("system" | "user") => SPEAKER,
        Some("assistant") => ASSISTANT,
        Some("tool") => TOOL,
        Some("reasoning") => REASONING,
        _ => return whole(text, Some("message")),
    };
    source.unique = true;
    let (mut node, mut extra) = (Node::default(), Extra::default());
    source.members(rows, Some("role"), &mut node, &mut extra)?;
    source.cursor.end()?;
    let content = match source.apart {
        None => None,
        Some(span) => match content(&source.json(span))? {
            Some(content) => Some(content),
            None => return whole(text, Some("message")),
        },
    };
    if source.ambiguous {
        return whole(text, Some("message"));
    }
    let mut record = Record::new(Kind::Message);
    let extra = extra.finish();
    match role.as_deref() {
        Some("tool") => {
            node.set(Field::Type, block::type_of(block::TOOL_RESULT));
            node.put(Field::Content, content);
            node.put(Field::Extra, extra);
            record.node.set(Field::Role, Json::constant("\"tool\""));
            record.node.set(Field::Content, vec![node]);
        }
        Some("reasoning") => {
            node.set(Field::Type, block::type_of(block::THINKING));
            if !redacted(extra.as_ref(), &mut node) {
                node.put(Field::Extra, extra);
            }
            record.node.set(Field::Role, Json::constant("\"assistant\""));
            record.node.set(Field::Layout, THOUGHT);
            record.node.set(Field::Content, vec![node]);
        }
        Some("assistant") => {
            record.node.set(Field::Role, Json::constant("\"assistant\""));
            if !assistant(content, extra, &mut record.node)? {
                return whole(text, Some("message"));
            }
        }
        role => {
            record.node.set(Field::Role, Json::string(role.unwrap_or_default()));
            record.node.put(Field::Content, content);
            record.node.put(Field::Extra, extra);
        }
    }
    Ok(record)
}

/// Takes the data that a provider keeps of a redacted thought; false if the message contains any
/// other member beside it.
fn redacted(extra: Option<&Json>, thought: &mut Node) -> bool {
    let data = extra.and_then(|extra| extra.member("raw_item")?.member("data"));
    let Some(data) = data.filter(Json::is_string) else { return false };
    let hides =
        Node::default().with(Field::Redacted, Json::constant("true")).with(Field::Signature, data);
    if hidden(&hides).as_ref() != extra {
        return false;
    }
    hides.iter().for_each(|(field, value)| thought.set(field, value.clone()));
    true
}

/// Returns the members that a redacted thought is written with.
fn hidden(thought: &Node) -> Option<Json> {
    let data = thought.json(Field::Signature).filter(|_| thought.is_true(Field::Redacted))?;
    Some(Object::json(|object| {
        let mut item = Object::open(object.key("raw_item"));
        item.member("type", b"\"redacted_thinking\"");
        item.member("data", data.as_bytes());
        item.close();
    }))
}

/// Sets the content and the calls of an assistant message; false if a call is not of the known
/// shape.
fn assistant(content: Option<Value>, extra: Option<Json>, node: &mut Node) -> Result<bool, Fault> {
    let list = extra.as_ref().and_then(|extra| extra.member("tool_calls"));
    let list = list.filter(|list| !matches!(list.normal().as_slice(), b"[]" | b"null"));
    let Some(list) = list else {
        node.put(Field::Content, content);
        node.put(Field::Extra, extra);
        return Ok(true);
    };
    let Some(calls) = calls(&list)? else { return Ok(false) };
    let (mut blocks, layout) = match content {
        None => (Vec::new(), Some(ABSENT)),
        Some(Value::Nodes(parts)) => (parts, Some(PARTS)),
        Some(Value::Json(written_content)) if !written_content.is_null() => {
            (vec![block::text(written_content)], None)
        }
        Some(_) => (Vec::new(), None),
    };
    blocks.extend(calls);
    node.put(Field::Layout, layout);
    node.set(Field::Content, blocks);
    node.put(Field::Extra, extra.and_then(|extra| without(&extra, "tool_calls")));
    Ok(true)
}

const FUNCTION: &[Row] = &[row("name", Field::Name), row("arguments", Field::Arguments)];
const CALL: &[Row] =
    &[row("id", Field::Id), fixed("type", "\"function\""), within("function", None, FUNCTION)];

fn calls(list: &Json) -> Result<Option<Vec<Node>>, Fault> {
    let mut source = Source::new(list.bytes());
    source.unique = true;
    if source.cursor.peek() != Some(b'[') {
        return Ok(None);
    }
    let mut calls = Vec::new();
    source.cursor.begin_array()?;
    while source.cursor.next_element()? {
        if source.cursor.peek() != Some(b'{') {
            return Ok(None);
        }
        let mut node = Node::with_capacity(5);
        source.object(CALL, None, &mut node)?;
        node.set(Field::Type, block::type_of(block::TOOL_CALL));
        calls.push(node);
    }
    Ok(Some(calls).filter(|_| !source.ambiguous))
}

/// Converts a content: a string, `null`, or parts as blocks. `None` for anything else.
pub fn content(json: &Json) -> Result<Option<Value>, Fault> {
    match json.as_bytes().first() {
        Some(b'"' | b'n') => Ok(Some(Value::Json(json.clone()))),
        Some(b'[') => {
            let mut source = Source::new(json.bytes());
            let mut parts = Vec::new();
            source.cursor.begin_array()?;
            while source.cursor.next_element()? {
                let span = source.cursor.skip_value()?;
                parts.push(part(&source.json(span))?);
            }
            Ok(Some(Value::Nodes(parts)))
        }
        _ => Ok(None),
    }
}

const TEXT: &[Row] = &[fixed("type", "\"text\""), row("text", Field::Text)];
const URL: &[Row] = &[apart("url")];
const IMAGE: &[Row] = &[fixed("type", "\"image_url\""), within("image_url", None, URL)];
const SOURCE: &[Row] = &[row("data", Field::Data), row("media_type", Field::MediaType)];
const DOCUMENT: &[Row] = &[fixed("type", "\"document\""), within("source", None, SOURCE)];

/// Types of parts that the model has blocks for.
const PART_TYPES: [(&str, &str, &[Row]); 3] = [
    ("text", block::TEXT, TEXT),
    ("image_url", block::IMAGE, IMAGE),
    ("document", block::DOCUMENT, DOCUMENT),
];

fn part(json: &Json) -> Result<Node, Fault> {
    let mut source = Source::new(json.bytes());
    let wire = source.peek_text("type")?;
    if let Some((_, name, rows)) = PART_TYPES.iter().find(|(w, ..)| Some(*w) == wire.as_deref()) {
        let mut node = Node::with_capacity(4);
        source.unique = true;
        source.object(rows, None, &mut node)?;
        let whole = match (*name, source.apart) {
            (block::IMAGE, Some(url)) => image(&source.json(url), &mut node),
            (block::IMAGE, None) => false,
            (block::DOCUMENT, _) => {
                node.json(Field::Data).is_some_and(|data| data.text().is_some())
            }
            _ => node.json(Field::Text).is_some(),
        };
        if whole && !source.ambiguous {
            node.set(Field::Type, block::type_of(name));
            return Ok(node);
        }
    }
    Ok(block::of(block::OPAQUE).with(Field::Data, json.clone()))
}

/// Splits a `data:` URL; false for another URL, or one that is spelled with escapes.
fn image(url: &Json, node: &mut Node) -> bool {
    let spelling = String::from_utf8_lossy(url.as_bytes());
    let inner = spelling.strip_prefix('"').and_then(|url| url.strip_suffix('"'));
    let Some((media, data)) = inner.and_then(data_url::split) else {
        return false;
    };
    if media.contains(['\\', ';', ',']) || data.contains('\\') {
        return false;
    }
    node.set(Field::MediaType, Json::string(media));
    node.set(Field::Data, Json::string(data));
    true
}

/// Writes the message that a record represents; false if the record is not a message. A record that
/// is not `own`, but came from another format, is written only with the members that Codelia knows.
pub fn write(record: &Record, own: bool, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    if record.kind == Kind::Opaque {
        let data = node.json(Field::Data).filter(|_| node.is(Field::Type, "message"));
        data.into_iter().for_each(|data| out.extend_from_slice(data.as_bytes()));
        return data.is_some();
    }
    let blocks = node.content();
    let extra = |node: &Node| node.json(Field::Extra).filter(|_| own).cloned();
    let first = blocks.first();
    let is = |role: &str| node.is(Field::Role, role);
    if record.kind != Kind::Message
        || !["system", "user", "assistant", "tool"].iter().any(|r| is(r))
    {
        return false;
    }
    let mut object = Object::open(out);
    if is("assistant") && node.is(Field::Layout, "reasoning") {
        object.member("role", b"\"reasoning\"");
        if let Some(thought) = first {
            let extra = extra(thought).or_else(|| hidden(thought).filter(|_| own));
            members(REASONING, thought, extra.as_ref(), None, &mut object);
        }
    } else if is("tool") {
        object.member("role", b"\"tool\"");
        let empty = Node::default();
        let result = first.filter(|b| b.is(Field::Type, block::TOOL_RESULT)).unwrap_or(&empty);
        let written = written_content(result, result.nodes(Field::Content), own);
        members(TOOL, result, extra(result).as_ref(), written.as_deref(), &mut object);
    } else {
        let role = node.json(Field::Role).map_or(&b"null"[..], Json::as_bytes);
        object.member("role", role);
        let written_content = written_content(node, node.nodes(Field::Content), own);
        let mut calls = Extra::default();
        if let Some(list) = written_calls(blocks, own) {
            calls.add(b"\"tool_calls\"", &list);
        }
        extra(node).iter().for_each(|extra| calls.add_members(extra));
        members(ASSISTANT, node, calls.finish().as_ref(), written_content.as_deref(), &mut object);
    }
    object.close();
    true
}

fn is_call(node: &Node) -> bool {
    node.is(Field::Type, block::TOOL_CALL)
}

/// Spells the content of a message or result as it was spelled, or else in the shape that fits.
fn written_content(holder: &Node, blocks: Option<&[Node]>, own: bool) -> Option<Vec<u8>> {
    if let Some(content) = holder.json(Field::Content) {
        return Some(content.as_bytes().to_vec());
    }
    let blocks = blocks?;
    let calls = blocks.iter().any(is_call);
    let parts: Vec<&Node> = blocks.iter().filter(|node| !is_call(node) && is_part(node)).collect();
    let listed = holder.is(Field::Layout, "parts") || (own && !calls);
    match parts.as_slice() {
        _ if listed => {}
        [] if holder.is(Field::Layout, "absent") => return None,
        [] if calls => return Some(b"null".to_vec()),
        [] => return Some(b"\"\"".to_vec()),
        [one]
            if one.is(Field::Type, block::TEXT) && one.json(Field::Extra).is_none_or(|_| !own) =>
        {
            return one.json(Field::Text).map(|text| text.as_bytes().to_vec());
        }
        _ => {}
    }
    let mut out = vec![b'['];
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_part(part, own, &mut out);
    }
    out.push(b']');
    Some(out)
}

/// Whether a block can be in a list of parts.
pub fn is_part(node: &Node) -> bool {
    [block::TEXT, block::IMAGE, block::DOCUMENT, block::OPAQUE]
        .iter()
        .any(|name| node.is(Field::Type, name))
}

/// Replaces the parts of a message from another format that Codelia's readers refuse by texts;
/// `None` if there are no such parts. `lost` is called with the path of each.
pub fn without_refused_parts(record: &Record, lost: &dyn Fn(&str)) -> Option<Record> {
    fn replaced(node: &mut Node, path: &str, lost: &dyn Fn(&str)) {
        let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
        for block in blocks {
            if is_refused(block) {
                lost(&format!("{path}.content.*.{}", block::kind_of(block)));
                *block = block::placeholder(block);
            }
            replaced(block, &format!("{path}.content.*"), lost);
        }
    }
    fn has_refused(node: &Node) -> bool {
        let blocks = node.content();
        blocks.iter().any(|block| is_refused(block) || has_refused(block))
    }
    has_refused(&record.node).then(|| {
        let mut record = record.clone();
        replaced(&mut record.node, record.kind.name(), lost);
        record
    })
}

/// Whether Codelia's readers refuse a block. They know the blocks that the model has, images by
/// URL, and the parts that Codelia's adapters wrap.
fn is_refused(block: &Node) -> bool {
    if !block.is(Field::Type, block::OPAQUE) {
        return false;
    }
    let part = block.json(Field::Data);
    let holds = |outer: &str, inner: &str| part.and_then(|p| p.member(outer)?.member(inner));
    match part.and_then(|part| part.member("type")?.text()).as_deref() {
        Some("image_url") => holds("image_url", "url").is_none_or(|url| url.text().is_none()),
        Some("other") => part.and_then(|part| part.member("payload")).is_none(),
        _ => true,
    }
}

fn write_part(part: &Node, own: bool, out: &mut Vec<u8>) {
    let known = PART_TYPES.iter().find(|(_, name, _)| part.is(Field::Type, name));
    let Some((_, name, rows)) = known else {
        let data = part.json(Field::Data).map_or(&b"null"[..], Json::as_bytes);
        out.extend_from_slice(data);
        return;
    };
    let url = (*name == block::IMAGE).then(|| Json::string(&data_url::of(part)));
    let extra = part.json(Field::Extra).filter(|extra| own || block::is_detail(extra));
    let mut object = Object::open(out);
    members(rows, part, extra, url.as_ref().map(Json::as_bytes), &mut object);
    object.close();
}

/// Spells the list of calls; `None` if there are none.
fn written_calls(blocks: &[Node], own: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for call in blocks.iter().filter(|block| is_call(block)) {
        out.push(if out.is_empty() { b'[' } else { b',' });
        let mut node = call.clone();
        if let Some(arguments) = call.json(Field::Arguments).filter(|_| !own) {
            node.set(Field::Arguments, as_text(arguments));
        }
        let mut object = Object::open(&mut out);
        let extra = call.json(Field::Extra).filter(|_| own);
        members(CALL, &node, extra, None, &mut object);
        object.close();
    }
    (!out.is_empty()).then(|| {
        out.push(b']');
        out
    })
}

/// Converts arguments to the JSON text that Codelia expects.
fn as_text(arguments: &Json) -> Json {
    if arguments.is_string() {
        return arguments.clone();
    }
    Json::string(&String::from_utf8_lossy(arguments.as_bytes()))
}

/// Gist of a message: its content without the spelling and without members that only Codelia knows.
/// The gist of a tool's answer is its call. Two messages with the same gist replace each other in a
/// history.
pub fn gist(record: &Record) -> Vec<u8> {
    let node = &record.node;
    let mut out = Vec::new();
    let mut add = |value: Option<&Json>| {
        out.extend_from_slice(value.map_or(&b"-"[..], Json::as_bytes));
        out.push(b' ');
    };
    add(node.json(Field::Role));
    match node.get(Field::Content) {
        Some(Value::Nodes(blocks)) => {
            for block in blocks {
                if block.is(Field::Type, block::TOOL_RESULT) {
                    add(block.json(Field::Call));
                    continue;
                }
                let fields =
                    [Field::Text, Field::Thinking, Field::Data, Field::Id, Field::Arguments];
                fields.iter().for_each(|field| add(block.json(*field)));
            }
        }
        Some(Value::Json(written_content)) => add(Some(written_content)),
        _ => {}
    }
    out
}

/// Returns the messages of a list; `None` for a value that is not a list.
pub fn each(list: &Json) -> Option<Vec<Json>> {
    list.is_list().then(|| list.elements().collect())
}
