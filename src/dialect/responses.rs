//! Items of OpenAI's Responses interface as messages.
//!
//! | item | message |
//! |---|---|
//! | `message` | role and content; `output_text`, `input_text` are `text`, `input_image` with a `data:` URL is `image` |
//! | `reasoning` | assistant, one `thinking` block; `encrypted_content` stays in the block's `extra`, because only its provider can read it |
//! | `function_call`, `custom_tool_call`, `local_shell_call` | assistant, one `tool_call` block; `input` is the member of that name of the arguments, `action` the arguments |
//! | `function_call_output`, `custom_tool_call_output` | tool, one `tool_result` block |
//!
//! A message of another type than the interface's usual one has its type as subtype. Members
//! without a field are in the message's `extra`, in order. An item that the interface itself would
//! not accept, or one of another type, is not a message.
//!
//! Source: the item types of openai/codex (`protocol/src/models.rs`) and files of its releases
//! 0.8.0 to 0.169.0.

pub mod provided;

use super::data_url;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, Row, kept, row};
use crate::record::{Field, Node, Value, block};

/// A type of item: its members in the order in which the interface's clients write them.
#[derive(Debug)]
struct Shape {
    wire: &'static str,
    /// Whether another type is the usual one of its message, so that the message has this type as
    /// its subtype.
    marked: bool,
    /// Role and type of the one block of its message; a `message` has a role of its own, and any
    /// blocks.
    holds: Option<(&'static str, &'static str)>,
    members: &'static [Row],
}

const CALL: Option<(&str, &str)> = Some(("assistant", block::TOOL_CALL));
const RESULT: Option<(&str, &str)> = Some(("tool", block::TOOL_RESULT));
const OUTPUT: &[Row] = &[kept("id"), row("call_id", Field::Call), row("output", Field::Content)];

const fn shape(
    wire: &'static str,
    marked: bool,
    holds: Option<(&'static str, &'static str)>,
    members: &'static [Row],
) -> Shape {
    Shape { wire, marked, holds, members }
}

const SHAPES: &[Shape] = &[
    shape(
        "message",
        false,
        None,
        &[
            kept("id"),
            row("role", Field::Role),
            row("content", Field::Content),
            kept("phase"),
            kept("status"),
        ],
    ),
    shape(
        "reasoning",
        false,
        Some(("assistant", block::THINKING)),
        &[kept("id"), row("summary", Field::Thinking), kept("content"), kept("encrypted_content")],
    ),
    shape(
        "function_call",
        false,
        CALL,
        &[
            kept("id"),
            row("name", Field::Name),
            row("namespace", Field::Namespace),
            row("arguments", Field::Arguments),
            row("call_id", Field::Id),
        ],
    ),
    shape("function_call_output", false, RESULT, OUTPUT),
    shape(
        "custom_tool_call",
        true,
        CALL,
        &[
            kept("id"),
            kept("status"),
            row("call_id", Field::Id),
            row("name", Field::Name),
            row("namespace", Field::Namespace),
            row("input", Field::Arguments),
        ],
    ),
    shape("custom_tool_call_output", true, RESULT, OUTPUT),
    shape(
        "local_shell_call",
        true,
        CALL,
        &[kept("id"), row("call_id", Field::Id), kept("status"), row("action", Field::Arguments)],
    ),
];

/// Types of items that are sent to a model and that no record describes; [`provided`] reads some of
/// them for views.
pub const UNREAD: &[&str] = &[
    "web_search_call",
    "tool_search_call",
    "tool_search_output",
    "image_generation_call",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "agent_message",
    "additional_tools",
];

/// Name of the tool that a `local_shell_call` calls; the item has no name.
const LOCAL_SHELL: &str = "\"local_shell\"";

/// Reads an item; `None` if it is not a message that the interface accepts. `object` is one JSON
/// object.
///
/// ```
/// use copyist::dialect::responses;
/// use copyist::{json::Json, record::{Field, block}};
/// let item: Json = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}"#.parse()?;
/// let message = responses::read(&item).expect("a message");
/// assert_eq!(block::message_text(&message), Some(Json::string("Hi")));
/// let mut out = Vec::new();
/// responses::write(&message, &mut out);
/// assert_eq!(out, item.as_bytes());
/// # Ok::<(), copyist::json::Fault>(())
/// ```
pub fn read(object: &Json) -> Option<Node> {
    let wire = object.member("type")?.text()?;
    let shape = SHAPES.iter().find(|shape| shape.wire == wire)?;
    let role = object.text_of("role");
    let texts = text_type(role.as_deref().filter(|_| shape.holds.is_none()));
    let (mut message, mut inner, mut rest) = (Node::with_capacity(8), Node::default(), Vec::new());
    let mut seen = Vec::with_capacity(8);
    for (key, value) in object.pairs() {
        let name = key.text()?;
        if name != "type" {
            match shape.members.iter().find(|row| row.key == name).map(|row| row.field) {
                Some(Field::Role) => message.set(Field::Role, value),
                None | Some(Field::Extra) => rest.push((key, value)),
                Some(field) => take(shape, field, value, texts, &mut inner)?,
            }
        }
        // Clients refuse an item with a member that occurs twice.
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
    }
    let extra = members(&rest);
    match shape.holds {
        None => {
            message.text(Field::Role)?;
            message.set(Field::Content, inner.take(Field::Content)?);
        }
        Some((role, kind)) => {
            if wire == "local_shell_call" {
                inner.set(Field::Name, Json::constant(LOCAL_SHELL));
            }
            let lacks = |field: &Field| inner.get(*field).is_none();
            if needs(kind).iter().any(lacks) {
                return None;
            }
            message.set(Field::Role, Json::string(role));
            if shape.marked {
                message.set(Field::Subtype, Json::string(shape.wire));
            }
            inner.set(Field::Type, block::type_of(kind));
            message.set(Field::Content, vec![inner]);
        }
    }
    message.put(Field::Extra, extra);
    Some(message)
}

/// Returns the type of the texts in a message of this role; in a result, of no role.
fn text_type(role: Option<&str>) -> &'static str {
    if role == Some("assistant") { "output_text" } else { "input_text" }
}

/// Returns the fields without which the interface refuses an item.
fn needs(kind: &str) -> &'static [Field] {
    match kind {
        block::TOOL_CALL => &[Field::Id, Field::Name, Field::Arguments],
        block::TOOL_RESULT => &[Field::Call, Field::Content],
        _ => &[],
    }
}

fn members(rest: &[(Json, Json)]) -> Option<Json> {
    let mut extra = Extra::default();
    rest.iter().for_each(|(key, value)| extra.add(key.as_bytes(), value.as_bytes()));
    extra.finish()
}

/// Takes the value of a member into the block; `None` if the interface would not accept it.
fn take(shape: &Shape, field: Field, value: Json, texts: &str, inner: &mut Node) -> Option<()> {
    let first = value.as_bytes().first().copied();
    match (field, first) {
        (Field::Content, Some(b'[')) => inner.set(field, parts(&value, texts)?),
        // The text of a message is a list of parts, that of a result may be a string.
        (Field::Content, Some(b'"')) if shape.holds.is_some() => inner.set(field, value),
        (Field::Thinking, Some(b'[')) => summary(&value, inner),
        (Field::Arguments, Some(b'"')) if shape.wire == "custom_tool_call" => {
            let object = [b"{\"input\":", value.as_bytes(), b"}"].concat();
            inner.set(field, Json::trusted(object.into()));
        }
        (Field::Arguments, Some(b'{')) if shape.wire == "local_shell_call" => {
            inner.set(field, value);
        }
        (Field::Arguments, _) if shape.wire == "local_shell_call" => return None,
        (Field::Name | Field::Id | Field::Call | Field::Arguments, Some(b'"')) => {
            inner.set(field, value);
        }
        (Field::Namespace, Some(b'"')) => inner.set(field, value),
        _ => return None,
    }
    Some(())
}

/// Reads the summary of a reasoning item as a text, and keeps the list where it is not that of one
/// text.
fn summary(list: &Json, inner: &mut Node) {
    let text = |part: Json| part.text_of("text");
    let texts: Vec<String> = list.elements().filter_map(text).collect();
    if !texts.is_empty() {
        inner.set(Field::Thinking, Json::string(&texts.join("\n\n")));
    }
    let mut usual = Vec::new();
    write_summary(inner, &mut usual);
    if usual != list.as_bytes() {
        inner.set(
            Field::Extra,
            Json::trusted([b"{\"summary\":", list.as_bytes(), b"}"].concat().into()),
        );
    }
}

/// Types of parts that clients read; they refuse an item with another one.
const PARTS: &[&str] = &["input_text", "output_text", "input_image", SOUND, "encrypted_content"];

/// Reads a list of parts; `None` if clients refuse one of them.
fn parts(list: &Json, texts: &str) -> Option<Vec<Node>> {
    let part = |part: Json| {
        let wire = part.member("type")?.text()?;
        let read = match wire.as_str() {
            "input_image" => image(&part),
            wire if wire == texts => plain(&part, "text").map(|(text, rest)| {
                let mut node = block::text(text);
                node.put(Field::Extra, rest);
                node
            }),
            _ => None,
        };
        if read.is_none() && (!PARTS.contains(&wire.as_str()) || is_unknown_sound(&wire, &part)) {
            return None;
        }
        Some(read.unwrap_or_else(|| block::of(block::OPAQUE).with(Field::Data, part)))
    };
    list.elements().map(part).collect()
}

/// Whether a part is a sound in a shape that clients refuse.
fn is_unknown_sound(wire: &str, part: &Json) -> bool {
    let is_text = |name| part.member(name).is_some_and(|value| value.text().is_some());
    wire == SOUND && !["audio_url", "file_id"].into_iter().any(is_text)
}

/// Type of a part that is a sound.
pub const SOUND: &str = "input_audio";

/// Returns the string `name` of a part, and its other members; `None` unless the string follows the
/// type, as clients write it.
fn plain(part: &Json, name: &str) -> Option<(Json, Option<Json>)> {
    let pairs = part.pairs();
    let [(first, _), (key, value), rest @ ..] = pairs.as_slice() else { return None };
    let usual = text::is(first.as_bytes(), "type") && text::is(key.as_bytes(), name);
    (usual && value.is_string()).then(|| (value.clone(), members(rest)))
}

/// Reads an image that is given by a `data:` URL.
fn image(part: &Json) -> Option<Node> {
    let (url, rest) = plain(part, "image_url")?;
    let url = url.text()?;
    let (kind, data) = data_url::split(&url)?;
    Some(
        block::of(block::IMAGE)
            .with(Field::MediaType, Json::string(kind))
            .with(Field::Data, Json::string(data))
            .with_some(Field::Extra, rest),
    )
}

/// Appends the item of a message that [`read`] returned, or of one with the same form; false if the
/// message is not an item.
pub fn write(message: &Node, out: &mut Vec<u8>) -> bool {
    let (blocks, extra) = (message.nodes(Field::Content), message.json(Field::Extra));
    let inner =
        blocks.and_then(|blocks| blocks.first()).filter(|_| blocks.is_some_and(|b| b.len() == 1));
    let subtype = message.text(Field::Subtype);
    let fits = |shape: &&Shape| match (shape.holds, &subtype) {
        (_, Some(subtype)) => *subtype == shape.wire,
        (None, None) => true,
        (Some((_, kind)), None) => {
            !shape.marked && inner.is_some_and(|inner| inner.is(Field::Type, kind))
        }
    };
    // A `message` is the first of the shapes, and takes what no other shape takes.
    let Some(shape) = SHAPES.iter().rev().find(fits) else { return false };
    let Some(holder) =
        inner.filter(|_| shape.holds.is_some()).or(shape.holds.is_none().then_some(message))
    else {
        return false;
    };
    let role = message.text(Field::Role);
    let texts = text_type(role.as_deref().filter(|_| shape.holds.is_none()));
    let own = holder.json(Field::Extra).filter(|_| shape.holds.is_some());
    let mut object = Object::open(out);
    object.member("type", Json::string(shape.wire).as_bytes());
    object.in_order(shape.members, holder, extra, &mut |row, object| {
        let has_field = row.field != Field::Extra;
        if has_field {
            member(object, row.key, row.field, holder, own, texts);
        }
        has_field
    });
    object.close();
    true
}

/// Writes the member `name` that a field holds.
fn member(
    object: &mut Object<'_>,
    name: &str,
    field: Field,
    holder: &Node,
    own: Option<&Json>,
    texts: &'static str,
) {
    match (field, holder.get(field)) {
        (Field::Thinking, _) => {
            let kept = own.and_then(|own| own.member("summary"));
            match kept.filter(|kept| is_summary(kept, holder)) {
                Some(kept) => object.member(name, kept.as_bytes()),
                None => write_summary(holder, object.key(name)),
            }
        }
        (Field::Content, Some(Value::Nodes(blocks))) => {
            write_parts(blocks, texts, object.key(name))
        }
        (Field::Arguments, Some(Value::Json(value))) if name == "input" => {
            let input = value.member("input").filter(|input| input.text().is_some());
            match input {
                Some(input) => object.member(name, input.as_bytes()),
                None => text::quote(&String::from_utf8_lossy(value.as_bytes()), object.key(name)),
            }
        }
        // An edit may have replaced the text by its value.
        (Field::Arguments, Some(Value::Json(value)))
            if name == "arguments" && !value.is_string() =>
        {
            text::quote(&String::from_utf8_lossy(value.as_bytes()), object.key(name));
        }
        (_, Some(Value::Json(value))) => object.member(name, value.as_bytes()),
        _ => {}
    }
}

/// Whether a list is still the one that a thought was read from.
fn is_summary(list: &Json, thought: &Node) -> bool {
    let mut read = Node::default();
    summary(list, &mut read);
    read.json(Field::Thinking) == thought.json(Field::Thinking)
}

fn write_summary(thought: &Node, out: &mut Vec<u8>) {
    out.push(b'[');
    if let Some(thinking) = thought.json(Field::Thinking) {
        let mut object = Object::open(out);
        object.member("type", b"\"summary_text\"");
        object.member("text", thinking.as_bytes());
        object.close();
    }
    out.push(b']');
}

fn write_parts(blocks: &[Node], texts: &'static str, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, block) in blocks.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if let Some(data) = block.json(Field::Data).filter(|_| block.is(Field::Type, block::OPAQUE))
        {
            out.extend_from_slice(data.as_bytes());
            continue;
        }
        let mut object = Object::open(out);
        if block.is(Field::Type, block::IMAGE) {
            object.member("type", b"\"input_image\"");
            text::quote(&data_url::of(block), object.key("image_url"));
        } else {
            text::quote(texts, object.key("type"));
            let text = block.json(Field::Text).map_or(&b"\"\""[..], Json::as_bytes);
            object.member("text", text);
        }
        object.extra(block);
        object.close();
    }
    out.push(b']');
}
