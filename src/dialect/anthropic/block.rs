//! Content blocks, as the provider's interface spells them, and as the SDK's data classes do: the
//! latter have no `type`.
//!
//! | block | canonical |
//! |---|---|
//! | `text`, `thinking` | the same |
//! | `redacted_thinking` | `thinking` that is `redacted`, with its `data` as signature |
//! | `tool_use` | `tool_call`; `input` is `arguments` |
//! | `tool_result` | the same; `tool_use_id` is `call` |
//! | `image`, `document` in base64 | the same; other members of their `source` are extra |
//! | any other | `opaque` |

use crate::json::{Fault, Json, put, text};
use crate::mapping::{BlockType, Extra, Object, Row, Source, kept, row};
use crate::record::{Field, Node, Value, block};

const fn kind(wire: &'static str, name: &'static str, rows: &'static [Row]) -> BlockType {
    BlockType { wire, name, rows }
}

const TYPE: Row = kept("type");
static TEXT: BlockType = kind("text", block::TEXT, &[TYPE, row("text", Field::Text)]);
static THINKING: BlockType = kind(
    "thinking",
    block::THINKING,
    &[TYPE, row("thinking", Field::Thinking), row("signature", Field::Signature)],
);
static REDACTED: BlockType =
    kind("redacted_thinking", block::THINKING, &[TYPE, row("data", Field::Signature)]);
static CALL: BlockType = kind(
    "tool_use",
    block::TOOL_CALL,
    &[TYPE, row("id", Field::Id), row("name", Field::Name), row("input", Field::Arguments)],
);
static RESULT: BlockType = kind(
    "tool_result",
    block::TOOL_RESULT,
    &[row("tool_use_id", Field::Call), TYPE, kept("content"), row("is_error", Field::IsError)],
);
const MEDIA: &[Row] = &[TYPE, kept("source")];
static IMAGE: BlockType = kind("image", block::IMAGE, MEDIA);
static DOCUMENT: BlockType = kind("document", block::DOCUMENT, MEDIA);

/// Types of blocks that a message can contain.
static OUTER: &[&BlockType] = &[&TEXT, &THINKING, &REDACTED, &CALL, &RESULT, &IMAGE, &DOCUMENT];
/// Types of blocks that the answer of a tool can contain.
static INNER: &[&BlockType] = &[&TEXT, &IMAGE, &DOCUMENT];

/// Reads content: a string, `null`, or a list of blocks.
pub fn content(source: &mut Source<'_>) -> Result<Value, Fault> {
    list(source, OUTER)
}

fn list(source: &mut Source<'_>, kinds: &[&'static BlockType]) -> Result<Value, Fault> {
    if source.cursor.peek() != Some(b'[') {
        let span = source.cursor.skip_value()?;
        return Ok(source.json(span).into());
    }
    let mut list = Vec::new();
    source.cursor.begin_array()?;
    while source.cursor.next_element()? {
        list.push(read(source, kinds)?);
    }
    Ok(list.into())
}

fn read(source: &mut Source<'_>, kinds: &[&'static BlockType]) -> Result<Node, Fault> {
    let mut node = Node::with_capacity(5);
    let Some(kind) = kind_of(source, kinds)? else {
        let span = source.cursor.skip_value()?;
        node.set(Field::Type, block::type_of(block::OPAQUE));
        node.set(Field::Data, source.json(span));
        return Ok(node);
    };
    node.set(Field::Type, block::type_of(kind.name));
    if kind.wire == REDACTED.wire {
        node.set(Field::Redacted, Json::constant("true"));
    }
    let mut extra = Extra::default();
    let (mut content, mut media) = (None, None);
    source.taking(kind.rows, &mut node, &mut extra, &mut |source, key, _| {
        let name = source.spelling(key);
        if text::is(name, "type") {
            source.cursor.skip_value()?;
        } else if kind.wire == RESULT.wire && text::is(name, "content") && is_content(source) {
            content = Some(list(source, INNER)?);
        } else if is_media(kind) && text::is(name, "source") {
            let span = source.cursor.skip_value()?;
            media = base64(&source.json(span));
        } else {
            return Ok(false);
        }
        Ok(true)
    })?;
    node.put(Field::Content, content);
    if let Some(Given { media_type, data, beside }) = media {
        node.set(Field::MediaType, media_type);
        node.set(Field::Data, data);
        beside.into_iter().for_each(|rest| extra.add(b"\"source\"", rest.as_bytes()));
    }
    extra.put(&mut node);
    Ok(node)
}

fn is_media(kind: &BlockType) -> bool {
    [IMAGE.wire, DOCUMENT.wire].contains(&kind.wire)
}

/// Whether the value that begins here can be content.
pub fn is_content(source: &mut Source<'_>) -> bool {
    matches!(source.cursor.peek(), Some(b'"' | b'n' | b'['))
}

/// Members that show the type of a block that has no `type`.
const TELLING: [&str; 5] = ["tool_use_id", "thinking", "input", "name", "text"];
/// Types of blocks by the indices of their members in [`TELLING`]; the first match counts.
static BY_NAMES: &[(&[usize], &BlockType)] =
    &[(&[0], &RESULT), (&[1], &THINKING), (&[2, 3], &CALL), (&[4], &TEXT)];

/// Returns the `type` of the block that begins here, or else which of the [`TELLING`] members it
/// has.
fn type_or_members(source: &Source<'_>) -> Result<(Option<Json>, [bool; TELLING.len()]), Fault> {
    let (mut ahead, mut has) = (source.cursor.clone(), [false; TELLING.len()]);
    if ahead.peek() != Some(b'{') {
        return Ok((None, has));
    }
    ahead.begin_object()?;
    while let Some(key) = ahead.next_key()? {
        let (name, value) = (source.spelling(key), ahead.skip_value()?);
        if text::is(name, "type") {
            return Ok((Some(source.json(value)), has));
        }
        for (has, _) in has.iter_mut().zip(TELLING).filter(|(_, known)| text::is(name, known)) {
            *has = true;
        }
    }
    Ok((None, has))
}

/// Returns the type of the block that begins here, by its name or, if it has none, by its members.
fn kind_of(
    source: &Source<'_>,
    kinds: &[&'static BlockType],
) -> Result<Option<&'static BlockType>, Fault> {
    let wire = match type_or_members(source)? {
        (Some(wire), _) => wire.text(),
        (None, has) => {
            let by = |(names, _): &&(&[usize], &BlockType)| names.iter().all(|name| has[*name]);
            BY_NAMES.iter().find(by).map(|(_, kind)| kind.wire.to_owned())
        }
    };
    let kind = kinds.iter().copied().find(|kind| Some(kind.wire) == wire.as_deref());
    let Some(media) = kind.filter(|kind| is_media(kind)) else { return Ok(kind) };
    let source = source.peek("source")?;
    Ok(source.and_then(|source| base64(&source)).map(|_| media))
}

/// Contents of the source of an image or a document.
struct Given {
    media_type: Json,
    data: Json,
    /// Other members of the source.
    beside: Option<Json>,
}

/// Returns media type and data, if the source contains them in base64 and no member twice.
fn base64(source: &Json) -> Option<Given> {
    let text = |name| source.member(name).filter(Json::is_string);
    let known = ["type", "media_type", "data"];
    let (mut beside, mut named) = (Extra::default(), 0);
    for (key, value) in source.members() {
        match known.iter().any(|name| text::is(key, name)) {
            true => named += 1,
            false => beside.add(key, value),
        }
    }
    let whole = named == known.len() && text("type")?.text()? == "base64";
    let beside = beside.finish();
    Some(Given { media_type: text("media_type")?, data: text("data")?, beside }).filter(|_| whole)
}

/// Whether blocks are written with their `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// With `type`, as the provider's interface does.
    Given,
    /// Without `type`, as the SDK does for the classes that it knows.
    Absent,
}

/// Writes content.
pub fn write(content: &Value, types: Types, out: &mut Vec<u8>) {
    match content {
        Value::Json(json) => put(json.as_bytes(), out),
        Value::Nodes(nodes) => write_list(nodes, types, out),
        Value::Node(_) => out.extend_from_slice(b"null"),
    }
}

/// Writes a list of blocks.
pub fn write_list<'n>(nodes: impl IntoIterator<Item = &'n Node>, types: Types, out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, node) in nodes.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write_block(node, types, out);
    }
    out.push(b']');
}

/// Writes a block.
pub fn write_block(node: &Node, types: Types, out: &mut Vec<u8>) {
    let redacted = node.is_true(Field::Redacted);
    let fits = |kind: &&&BlockType| {
        node.is(Field::Type, kind.name)
            && (kind.name != block::THINKING || redacted == (kind.wire == REDACTED.wire))
    };
    let Some(kind) = OUTER.iter().find(fits) else {
        let data = node.json(Field::Data).map_or(&b"null"[..], Json::as_bytes);
        out.extend_from_slice(data);
        return;
    };
    let typed = types == Types::Given || is_media(kind) || kind.wire == REDACTED.wire;
    let extra = node.json(Field::Extra);
    let mut object = Object::open(out);
    object.in_order(kind.rows, node, extra, &mut |row, object| {
        let key = row.key;
        match (key, node.get(Field::Content)) {
            ("type", _) if typed => text::quote(kind.wire, object.key(key)),
            ("type", _) => {}
            ("source", _) => write_media(node, extra, object.key(key)),
            ("content", Some(content)) => write(content, Types::Given, object.key(key)),
            // The SDK's class always has this member.
            ("is_error", _)
                if !typed
                    && node.get(Field::IsError).is_none()
                    && extra.is_none_or(|extra| extra.member(key).is_none()) =>
            {
                object.member(key, b"null");
            }
            _ => return false,
        }
        true
    });
    object.close();
}

fn write_media(node: &Node, extra: Option<&Json>, out: &mut Vec<u8>) {
    let mut source = Object::open(out);
    source.member("type", b"\"base64\"");
    for (key, field) in [("media_type", Field::MediaType), ("data", Field::Data)] {
        let value = node.json(field).map_or(&b"null"[..], Json::as_bytes);
        source.member(key, value);
    }
    let beside = extra.and_then(|extra| extra.member("source"));
    let beside = beside.filter(Json::is_object);
    source.extra_members(beside.as_ref());
    source.close();
}

/// Whether a block of this name is written with a field.
pub fn holds(name: &str, field: Field) -> bool {
    let media = [block::IMAGE, block::DOCUMENT].contains(&name);
    match field {
        Field::Type | Field::Extra => true,
        Field::Data => media || name == block::OPAQUE,
        Field::MediaType => media,
        Field::Content => name == block::TOOL_RESULT,
        Field::Redacted => name == block::THINKING,
        _ => OUTER
            .iter()
            .filter(|kind| kind.name == name)
            .any(|kind| kind.rows.iter().any(|row| row.field == field)),
    }
}
