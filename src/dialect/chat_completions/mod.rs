//! Messages of OpenAI's Chat Completions.
//!
//! | message | canonical |
//! |---|---|
//! | `content` a string | the same |
//! | `content` a list of parts | content blocks; a part that is not a text, image or document is opaque; |
//! | | from another format, a part that the interface does not know becomes a text that names it |
//! | `tool_calls` | `tool_call` blocks behind the text; arguments stay the JSON text that they are |
//! | role `tool` | one `tool_result` block |
//! | `content: null` beside `tool_calls` | layout `null` |
//! | any other member, `id` included | `extra`: programs give some `id`s twice |
//!
//! Source: OpenAI's reference of the interface, and the messages that ConnectOnion stores.

mod losses;
mod media;

pub use losses::losses;
pub use media::is_media;

use crate::json::{Fault, Json, text};
use crate::mapping::{BlockType, Extra, Object, Source, Spacing, row, whole, write_blocks};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// The roles of the interface.
const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];
/// Layout of a message with calls of tools whose text is `null` and not omitted.
const NULL: Json = Json::constant("\"null\"");

/// Parts of a content that is a list.
const PARTS: &[BlockType] =
    &[BlockType { wire: "text", name: block::TEXT, rows: &[row("text", Field::Text)] }];

/// Reads one message; a value that is not a message of a known role becomes an opaque record.
///
/// # Errors
/// If the text is not one JSON value.
///
/// ```
/// use copyist::dialect::chat_completions;
/// use copyist::{mapping::Spacing, record::{Field, block}};
/// let text = r#"{"role":"tool","content":"3 files","tool_call_id":"call_1"}"#;
/// let record = chat_completions::read(&text.into())?;
/// let result = &record.node.nodes(Field::Content).expect("blocks")[0];
/// assert!(result.is(Field::Type, block::TOOL_RESULT) && result.is(Field::Call, "call_1"));
/// let mut out = Vec::new();
/// assert!(chat_completions::write(&record, Spacing::None, true, &mut out));
/// assert_eq!(out, text.as_bytes());
/// # Ok::<(), copyist::json::Fault>(())
/// ```
pub fn read(text: &Bytes) -> Result<Record, Fault> {
    let mut source = Source::new(text);
    let role = source.peek_text("role")?;
    let Some(role) = role.filter(|role| ROLES.contains(&role.as_ref())) else {
        return whole(text, Some("message"));
    };
    let mut parts = Parts::default();
    let mut extra = Extra::default();
    let (mut seen, mut twice) = (Vec::with_capacity(8), false);
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let name = source.spelling(key);
        twice |= seen.contains(&name);
        seen.push(name);
        let first = source.cursor.peek().unwrap_or_default();
        if text::is(name, "role") {
            source.cursor.skip_value()?;
        } else if text::is(name, "content") && matches!(first, b'"' | b'n' | b'[') {
            parts.content = Some(content(&mut source, first)?);
        } else if text::is(name, "tool_calls") && first == b'[' && role == "assistant" {
            match calls(&mut source)? {
                Some(calls) => parts.calls = Some(calls),
                None => return whole(text, Some("message")),
            }
        } else if text::is(name, "tool_call_id") && first == b'"' && role == "tool" {
            let span = source.cursor.skip_value()?;
            parts.call = Some(source.json(span));
        } else {
            source.unknown(key, &mut extra)?;
        }
    }
    source.cursor.end()?;
    // If a name occurs twice, a reader takes the last member, but both must be restored.
    if twice || source.ambiguous {
        return whole(text, Some("message"));
    }
    Ok(parts.record(&role, extra))
}

fn content(source: &mut Source<'_>, first: u8) -> Result<Value, Fault> {
    if first == b'[' {
        let mut blocks = source.block_list(PARTS)?;
        media::understand(&mut blocks);
        return Ok(Value::Nodes(blocks));
    }
    let span = source.cursor.skip_value()?;
    Ok(Value::Json(source.json(span)))
}

/// Reads calls of tools; `None` if one is not of the known shape.
fn calls(source: &mut Source<'_>) -> Result<Option<Vec<Node>>, Fault> {
    let mut list = Vec::new();
    source.cursor.begin_array()?;
    while source.cursor.next_element()? {
        if source.cursor.peek() != Some(b'{') {
            return Ok(None);
        }
        match call(source)? {
            Some(call) => list.push(call),
            None => return Ok(None),
        }
    }
    Ok(Some(list))
}

fn call(source: &mut Source<'_>) -> Result<Option<Node>, Fault> {
    let mut node = block::of(block::TOOL_CALL);
    let mut extra = Extra::default();
    // One bit for `type`, one for `function`: each must come once.
    let mut known = 0;
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let name = source.spelling(key);
        let first = source.cursor.peek().unwrap_or_default();
        if text::is(name, "id") && first == b'"' {
            let span = source.cursor.skip_value()?;
            node.set(Field::Id, source.json(span));
        } else if text::is(name, "type") && first == b'"' {
            let span = source.cursor.skip_value()?;
            if known & 1 != 0 || !text::is(source.spelling(span), "function") {
                return Ok(None);
            }
            known |= 1;
        } else if text::is(name, "function") && first == b'{' && known & 2 == 0 {
            source.cursor.begin_object()?;
            while let Some(key) = source.cursor.next_key()? {
                let span = source.cursor.skip_value()?;
                match source.spelling(key) {
                    b"\"name\""
                        if node.get(Field::Name).is_none()
                            && source.spelling(span).starts_with(b"\"") =>
                    {
                        node.set(Field::Name, source.json(span));
                    }
                    b"\"arguments\"" if node.get(Field::Arguments).is_none() => {
                        node.set(Field::Arguments, source.json(span));
                    }
                    _ => return Ok(None),
                }
            }
            known |= 2;
        } else {
            source.unknown(key, &mut extra)?;
        }
    }
    extra.put(&mut node);
    Ok((known == 3).then_some(node))
}

/// Parts of a message whose members are being read.
#[derive(Default)]
struct Parts {
    content: Option<Value>,
    calls: Option<Vec<Node>>,
    call: Option<Json>,
}

impl Parts {
    fn record(self, role: &str, extra: Extra) -> Record {
        let mut record = Record::new(Kind::Message);
        let node = &mut record.node;
        node.set(Field::Role, Json::string(role));
        let null = |content: &Option<Value>| matches!(content, Some(Value::Json(j)) if j.is_null());
        let content = match (role, self.calls) {
            ("tool", _) => {
                let result = block::of(block::TOOL_RESULT)
                    .with_some(Field::Call, self.call)
                    .with_some(Field::Content, self.content);
                Some(Value::Nodes(vec![result]))
            }
            (_, Some(calls)) => {
                if null(&self.content) {
                    node.set(Field::Layout, NULL);
                }
                let mut blocks = match self.content {
                    Some(Value::Json(write_content)) if !write_content.is_null() => {
                        vec![block::text(write_content)]
                    }
                    Some(Value::Nodes(parts)) => parts,
                    _ => Vec::new(),
                };
                blocks.extend(calls);
                Some(Value::Nodes(blocks))
            }
            (_, None) => self.content,
        };
        node.put(Field::Content, content);
        extra.put(node);
        record
    }
}

/// Writes the message that a record represents; false if the record represents none. A record that
/// was not read from this shape, and so is not `own`, is written without what the interface does not
/// know.
pub fn write(record: &Record, spacing: Spacing, own: bool, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    if record.kind == Kind::Opaque {
        let data = node.json(Field::Data).filter(|_| node.is(Field::Type, "message"));
        data.into_iter().for_each(|data| out.extend_from_slice(data.as_bytes()));
        return data.is_some();
    }
    // Records that are kept from the model are not sent to one; lists of this shape contain all
    // system messages.
    let apart = record.is_aside() && !(own && node.is(Field::Role, "system"));
    let role = node.json(Field::Role).filter(|_| record.kind == Kind::Message && !apart);
    let role = role.filter(|role| ROLES.iter().any(|known| text::is(role.as_bytes(), known)));
    let Some(role) = role else { return false };
    let mut object = Object::spaced(out, spacing);
    object.member("role", role.as_bytes());
    let blocks = node.nodes(Field::Content);
    let result = blocks.and_then(<[Node]>::first);
    match result.filter(|block| block.is(Field::Type, block::TOOL_RESULT)) {
        Some(result) => {
            write_content(result, result.nodes(Field::Content), spacing, own, &mut object);
            if let Some(call) = result.json(Field::Call) {
                object.member("tool_call_id", call.as_bytes());
            }
        }
        None => {
            write_content(node, blocks, spacing, own, &mut object);
            write_calls(blocks.unwrap_or_default(), spacing, &mut object);
        }
    }
    write_extra(node.json(Field::Extra).filter(|_| own), &mut object);
    object.close();
    true
}

/// Whether a block is a call of a tool.
pub fn is_call(node: &Node) -> bool {
    node.is(Field::Type, block::TOOL_CALL)
}

/// Whether a block has a place in a list of parts.
pub fn is_part(node: &Node) -> bool {
    [block::TEXT, block::OPAQUE].iter().any(|name| node.is(Field::Type, name)) || is_media(node)
}

/// Writes the content of a message: as it was spelled, as the one text beside calls, or as a list
/// of parts.
fn write_content(
    holder: &Node,
    blocks: Option<&[Node]>,
    spacing: Spacing,
    own: bool,
    object: &mut Object<'_>,
) {
    if let Some(content) = holder.json(Field::Content) {
        // Of a message from elsewhere, `null` would look as if calls behind it had been cut off.
        let nothing = !own && content.is_null();
        object.member("content", if nothing { b"\"\"" } else { content.as_bytes() });
        return;
    }
    let Some(blocks) = blocks else {
        // The first generation of pi's answers.
        let output = holder.json(Field::Output).filter(|_| !own);
        return output.into_iter().for_each(|text| object.member("content", text.as_bytes()));
    };
    let parts = blocks.iter().filter(|node| is_part(node));
    let parts: Vec<Node> = parts.map(|node| spelled(node, spacing, own)).collect();
    let calls = blocks.iter().any(is_call);
    let all_text = parts.iter().all(|part| part.is(Field::Type, block::TEXT));
    if !own && all_text && !(parts.is_empty() && calls) {
        let text = block::all_text(&parts).unwrap_or(Json::constant("\"\""));
        object.member("content", text.as_bytes());
        return;
    }
    match parts.as_slice() {
        [] if calls && holder.is(Field::Layout, "null") => object.member("content", b"null"),
        [] if calls => {}
        [text] if calls && text.is(Field::Type, block::TEXT) => {
            let text = text.json(Field::Text).map_or(&b"null"[..], Json::as_bytes);
            object.member("content", text);
        }
        parts => write_blocks(PARTS, parts, spacing, object.key("content")),
    }
}

/// Writes blocks as a list of parts, without those that have no place in one.
pub fn write_parts(blocks: &[Node], out: &mut Vec<u8>) {
    let parts = blocks.iter().filter(|node| is_part(node));
    let parts: Vec<Node> = parts.map(|node| spelled(node, Spacing::None, true)).collect();
    write_blocks(PARTS, &parts, Spacing::None, out);
}

/// Whether a block from another format is one that the interface would refuse.
pub fn is_refused(node: &Node) -> bool {
    let data = node.json(Field::Data).filter(|_| node.is(Field::Type, block::OPAQUE));
    data.is_some_and(|part| !media::is_known(part))
}

/// Returns a block in the form in which it is written unchanged.
fn spelled(node: &Node, spacing: Spacing, own: bool) -> Node {
    if !own && is_refused(node) {
        return block::placeholder(node);
    }
    let Some(part) = media::write(node, spacing, own) else { return node.clone() };
    block::of(block::OPAQUE).with(Field::Data, part)
}

/// Writes the calls of tools among the blocks of an answer as the member `tool_calls`, if there are
/// some.
pub fn write_calls(blocks: &[Node], spacing: Spacing, object: &mut Object<'_>) {
    let mut calls = blocks.iter().filter(|block| is_call(block)).peekable();
    if calls.peek().is_none() {
        return;
    }
    let out = object.key("tool_calls");
    out.push(b'[');
    while let Some(call) = calls.next() {
        write_call(call, spacing, out);
        if calls.peek().is_some() {
            out.extend_from_slice(if spacing == Spacing::None { b"," } else { b", " });
        }
    }
    out.push(b']');
}

fn write_call(call: &Node, spacing: Spacing, out: &mut Vec<u8>) {
    let mut member = Object::spaced(out, spacing);
    if let Some(id) = call.json(Field::Id) {
        member.member("id", id.as_bytes());
    }
    member.member("type", b"\"function\"");
    let mut function = Object::spaced(member.key("function"), spacing);
    if let Some(name) = call.json(Field::Name) {
        function.member("name", name.as_bytes());
    }
    if let Some(arguments) = call.json(Field::Arguments) {
        write_arguments(arguments, function.key("arguments"));
    }
    function.close();
    write_extra(call.json(Field::Extra), &mut member);
    member.close();
}

/// Writes the members of an object one by one, to control the spaces between them.
fn write_extra(extra: Option<&Json>, object: &mut Object<'_>) {
    for (key, value) in extra.into_iter().flat_map(Json::members) {
        object.spelled(key, value);
    }
}

/// Writes the arguments of a call, which are a JSON text.
fn write_arguments(arguments: &Json, out: &mut Vec<u8>) {
    let spelling = arguments.as_bytes();
    if spelling.starts_with(b"\"") {
        out.extend_from_slice(spelling);
    } else {
        text::quote(&String::from_utf8_lossy(spelling), out);
    }
}
