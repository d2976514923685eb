//! Parts of messages as content blocks, and the state of calls as results.

use super::wire::time_of;
use crate::dialect::data_url;
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Object, Row, Source, row, template};
use crate::record::{Field, Node, Value, block};
use bytes::Bytes;

const TEXT: &[Row] = &[row("text", Field::Text)];
const REASONING: &[Row] = &[row("text", Field::Thinking)];
const TOOL: &[Row] = &[row("callID", Field::Id), row("tool", Field::Name)];
const STATE: &[Row] = &[row("input", Field::Arguments)];
const IMAGE: &[Row] = &[row("mime", Field::MediaType)];
const DOCUMENT: &[Row] = &[row("mime", Field::MediaType), row("filename", Field::Name)];

/// Result of a call, which is in the part of the call.
#[derive(Debug)]
pub struct Outcome {
    /// The text, with images behind it.
    pub content: Value,
    /// Whether the call failed.
    pub is_error: bool,
    /// Time of its end.
    pub time: Option<Json>,
    /// Whether the program no longer sends the text.
    pub is_cleared: bool,
}

/// Whether a value is this string.
pub fn is(value: Option<&Json>, wanted: &str) -> bool {
    value.is_some_and(|value| text::is(value.as_bytes(), wanted))
}

/// Returns the type of block of a part, and its rows; `None` for a part that is no content.
fn block_of(part: &Json) -> Option<(&'static str, &'static [Row])> {
    let member = |name: &str| part.member(name);
    let text = |name: &str| member(name).and_then(|value| value.text());
    Some(match text("type")?.as_str() {
        "text" if member("ignored").is_some_and(|value| value.as_bytes() == b"true") => None?,
        "text" => text("text").map(|_| (block::TEXT, TEXT))?,
        "reasoning" => text("text").map(|_| (block::THINKING, REASONING))?,
        "tool" => {
            let input = member("state")?.member("input")?;
            let has_input = input.as_bytes().starts_with(b"{");
            text("callID").and(text("tool")).filter(|_| has_input)?;
            (block::TOOL_CALL, TOOL)
        }
        "file" => {
            let (mime, url) = (text("mime")?, text("url")?);
            match data_url::split(&url) {
                // Their text is in parts of its own.
                _ if ["text/plain", "application/x-directory"].contains(&mime.as_str()) => None?,
                Some((own, _)) if own != mime => (block::OPAQUE, &[]),
                Some(_) if mime.starts_with("image/") => (block::IMAGE, IMAGE),
                Some(_) => (block::DOCUMENT, DOCUMENT),
                None => (block::OPAQUE, &[]),
            }
        }
        "subtask" => (block::OPAQUE, &[]),
        _ => None?,
    })
}

/// Part that is content: its block, the template of the other members, and the result of a call.
#[derive(Debug)]
pub struct Content {
    pub block: Node,
    pub template: Json,
    pub outcome: Option<Outcome>,
}

/// Reads a part that is content; `None` for any other part, which is kept as it is.
///
/// # Errors
/// If the part is not JSON.
pub fn read(part: &Json) -> Result<Option<Content>, Fault> {
    let Some((name, rows)) = block_of(part) else { return Ok(None) };
    let mut node = Node::with_capacity(6);
    node.set(Field::Type, block::type_of(name));
    if name == block::OPAQUE {
        node.set(Field::Data, part.clone());
        let template = Json::constant("null");
        return Ok(Some(Content { block: node, template, outcome: None }));
    }
    let (mut extra, mut state, mut outcome) = (Extra::default(), Node::default(), None);
    let mut source = Source::new(part.bytes());
    template::read(&mut source, rows, &mut node, &mut extra, &mut |source, key, extra| {
        let spelled = source.spelling(key);
        if name == block::TOOL_CALL && text::is(spelled, "state") {
            let mut own = Extra::default();
            outcome = read_state(source, &mut state, &mut own)?;
            extra.add(spelled, own.finish().unwrap_or(Json::constant("{}")).as_bytes());
            return Ok(true);
        }
        let is_data = [block::IMAGE, block::DOCUMENT].contains(&name) && text::is(spelled, "url");
        if is_data {
            source.cursor.skip_value()?;
            extra.add(spelled, template::PLACE);
        }
        Ok(is_data)
    })?;
    node.put(Field::Arguments, state.take(Field::Arguments));
    if name == block::THINKING {
        let of_provider = part.member("metadata").and_then(|data| data.member("anthropic"));
        let signature = of_provider.and_then(|data| data.member("signature"));
        node.put(Field::Signature, signature.filter(|signature| signature.text().is_some()));
    }
    if [block::IMAGE, block::DOCUMENT].contains(&name) {
        let url = part.member("url").and_then(|url| url.text()).unwrap_or_default();
        let data = data_url::split(&url).map(|(_, data)| Json::string(data));
        node.put(Field::Data, data);
    }
    let template = extra.finish().unwrap_or(Json::constant("{}"));
    Ok(Some(Content { block: node, template, outcome }))
}

/// Reads the state of a call that comes next; returns the result, if the call has ended.
fn read_state(
    source: &mut Source<'_>,
    state: &mut Node,
    own: &mut Extra,
) -> Result<Option<Outcome>, Fault> {
    let status = source.peek_text("status")?.unwrap_or_default().into_owned();
    let (mut text, mut images, mut time) = (None, Vec::new(), None);
    let result = if status == "error" { "error" } else { "output" };
    template::read(source, STATE, state, own, &mut |source, key, own| {
        let name = source.spelling(key);
        let first = source.cursor.peek();
        if text::is(name, result) && first == Some(b'"') && text.is_none() {
            let value = source.cursor.skip_value()?;
            text = Some(source.json(value));
            own.add(name, template::PLACE);
        } else if text::is(name, "attachments") && first == Some(b'[') {
            let value = source.cursor.skip_value()?;
            own.add(name, read_list(&source.json(value), &mut images)?.as_bytes());
        } else if text::is(name, "time") {
            time = Some(super::wire::kept(source, key, own)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    })?;
    let ended = ["completed", "error"].contains(&status.as_str());
    let Some(output) = text.filter(|_| ended) else { return Ok(None) };
    let member = |name: &str| time.as_ref().and_then(|time| time.member(name));
    let content = match images.is_empty() {
        true => Value::Json(output),
        false => Value::Nodes(std::iter::once(block::text(output)).chain(images).collect()),
    };
    Ok(Some(Outcome {
        content,
        is_error: status == "error",
        time: member("end").as_ref().and_then(time_of),
        is_cleared: member("compacted").is_some(),
    }))
}

/// Reads a list of attachments: adds those that are content, and returns a template of the list.
fn read_list(list: &Json, blocks: &mut Vec<Node>) -> Result<Json, Fault> {
    let mut places = Vec::new();
    for part in list.elements() {
        match read(&part)? {
            Some(content) if is_attached(&content.block) => {
                blocks.push(content.block);
                places.push(list_of(&[content.template]));
            }
            _ => places.push(part),
        }
    }
    Ok(list_of(&places))
}

/// Whether a block of a result is an attachment.
fn is_attached(node: &Node) -> bool {
    [block::IMAGE, block::DOCUMENT].iter().any(|name| node.is(Field::Type, name))
}

/// Place of a block in the template of a list of parts: a list that holds the template of its part,
/// or nothing for a new one. `None` for a part that is kept as it is.
pub fn place_of(item: &Json) -> Option<Option<Json>> {
    item.as_bytes().starts_with(b"[").then(|| item.elements().next())
}

/// Whether a template is that of a part for such a block.
pub fn fits(template: Option<&Json>, node: &Node) -> bool {
    let Some(template) = template else { return true };
    let kind = template.member("type").and_then(|kind| kind.text()).unwrap_or_default();
    let names: &[&str] = match kind.as_str() {
        "text" => &[block::TEXT],
        "reasoning" => &[block::THINKING],
        "tool" => &[block::TOOL_CALL],
        "file" => &[block::IMAGE, block::DOCUMENT],
        _ => &[block::OPAQUE],
    };
    names.iter().any(|name| node.is(Field::Type, name))
}

/// Returns a list of these values.
pub fn list_of(values: &[Json]) -> Json {
    let values: Vec<&[u8]> = values.iter().map(Json::as_bytes).collect();
    Json::trusted(Bytes::from([b"[", values.join(&b","[..]).as_slice(), b"]"].concat()))
}

/// Identifiers of the session and the message around a part, and the time of the message in
/// milliseconds, for parts that have none of their own.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub session: &'a str,
    pub message: &'a str,
    pub time: i64,
}

impl Around<'_> {
    /// Returns a new part with these members, and with the identifiers behind them, as in an export.
    pub fn part(self, id: &str, kind: &str, others: &str) -> Json {
        let [id, session, message] = [id, self.session, self.message].map(Json::string);
        let text = |json: &Json| String::from_utf8_lossy(json.as_bytes()).into_owned();
        let [id, session, message] = [&id, &session, &message].map(text);
        let part = format!(
            r#"{{"type":"{kind}"{others},"id":{id},"sessionID":{session},"messageID":{message}}}"#
        );
        Json::trusted(part.into_bytes().into())
    }

    /// Returns the template of a new part for a block.
    fn template(self, id: &str, node: &Node) -> Json {
        let name = node.text(Field::Type).unwrap_or_default();
        let (kind, others) = match name.as_str() {
            block::THINKING => {
                let time = self.time;
                let signature = node.json(Field::Signature).map_or_else(String::new, |signature| {
                    let signature = String::from_utf8_lossy(signature.as_bytes());
                    format!(r#","metadata":{{"anthropic":{{"signature":{signature}}}}}"#)
                });
                let time = format!(r#","time":{{"start":{time},"end":{time}}}"#);
                ("reasoning", format!(r#","text":0{signature}{time}"#))
            }
            block::TOOL_CALL => ("tool", r#","callID":0,"tool":0,"state":{}"#.to_owned()),
            block::IMAGE => ("file", r#","mime":0,"url":0"#.to_owned()),
            block::DOCUMENT => ("file", r#","mime":0,"filename":0,"url":0"#.to_owned()),
            _ => ("text", r#","text":0"#.to_owned()),
        };
        self.part(id, kind, &others)
    }
}

/// Writes the part of a block, by its template, with the result of its call. `id` is for a part
/// without a template.
pub fn write(
    (node, own): (&Node, Option<&Json>),
    result: Option<&Node>,
    id: &str,
    around: Around<'_>,
    out: &mut Vec<u8>,
) {
    if let Some(data) = node.json(Field::Data).filter(|_| node.is(Field::Type, block::OPAQUE)) {
        return out.extend_from_slice(data.as_bytes());
    }
    let template = own.cloned().unwrap_or_else(|| around.template(id, node));
    let rows = match node.text(Field::Type).unwrap_or_default().as_str() {
        block::THINKING => REASONING,
        block::TOOL_CALL => TOOL,
        block::IMAGE => IMAGE,
        block::DOCUMENT => DOCUMENT,
        _ => TEXT,
    };
    let mut object = Object::open(out);
    template::write(rows, node, &template, &mut object, &mut |key, value, object| {
        match key {
            "url" if value == template::PLACE => {
                text::quote(&data_url::of(node), object.key(key));
            }
            "state" if rows.first().is_some_and(|row| row.key == "callID") => {
                let own = Json::trusted(Bytes::copy_from_slice(value));
                write_state(node, &own, result, around, object.key(key));
            }
            _ => return false,
        }
        true
    });
    object.close();
}

/// Writes the state of a call: by its template, unless the call ended in another way.
fn write_state(
    call: &Node,
    own: &Json,
    result: Option<&Node>,
    around: Around<'_>,
    out: &mut Vec<u8>,
) {
    let is_error = result.is_some_and(|result| result.is_true(Field::IsError));
    let status = own.member("status").and_then(|status| status.text()).unwrap_or_default();
    let fits = match (result, status.as_str()) {
        (Some(_), "completed") => !is_error,
        (Some(_), "error") => is_error,
        (None, "pending" | "running") => true,
        (None, _) => !status.is_empty() && own.member("output").or(own.member("error")).is_none(),
        _ => false,
    };
    let blocks = result.and_then(|result| result.nodes(Field::Content)).unwrap_or_default();
    let images: Vec<&Node> = blocks.iter().filter(|node| is_attached(node)).collect();
    let time = around.time;
    let usual = match result {
        None => format!(r#"{{"status":"running","input":0,"time":{{"start":{time}}}}}"#),
        Some(_) if is_error => format!(
            r#"{{"status":"error","input":0,"error":0,"time":{{"start":{time},"end":{time}}}}}"#
        ),
        Some(_) => {
            let attachments = if images.is_empty() { "" } else { r#","attachments":[]"# };
            format!(
                r#"{{"status":"completed","input":0,"output":0,"title":"","metadata":{{}},"time":{{"start":{time},"end":{time}}}{attachments}}}"#
            )
        }
    };
    let template = if fits { own.clone() } else { Json::trusted(usual.into_bytes().into()) };
    let mut object = Object::open(out);
    template::write(STATE, call, &template, &mut object, &mut |key, value, object| {
        match (key, result) {
            ("output" | "error", Some(result)) if value == template::PLACE => {
                object.member(key, text_of(result).as_bytes());
            }
            ("attachments", _) if value.starts_with(b"[") => {
                let places = Json::trusted(Bytes::copy_from_slice(value));
                write_attachments(&places, &images, around, object.key(key));
            }
            _ => return false,
        }
        true
    });
    object.close();
}

/// Writes a list of attachments by its template: an image in each place, and the others behind.
fn write_attachments(places: &Json, images: &[&Node], around: Around<'_>, out: &mut Vec<u8>) {
    let (mut images, mut list) = (images.iter().zip(1..), Vec::new());
    let spelled = |(image, number): (&&Node, u32), own: Option<&Json>| {
        let mut part = Vec::new();
        let id = attachment(around.message, number);
        write((image, own), None, &id, around, &mut part);
        Json::trusted(part.into())
    };
    for item in places.elements() {
        match place_of(&item) {
            Some(own) => list.extend(images.next().map(|image| spelled(image, own.as_ref()))),
            None => list.push(item),
        }
    }
    list.extend(images.map(|image| spelled(image, None)));
    out.extend_from_slice(list_of(&list).as_bytes());
}

/// Returns the identifier of an attachment, which no row of a store has.
fn attachment(message: &str, number: u32) -> String {
    format!("prt_{}a{number}", message.trim_start_matches("msg_"))
}

/// Returns the text of a result.
fn text_of(result: &Node) -> Json {
    let content = match result.get(Field::Content) {
        Some(Value::Json(text)) => text.text().is_some().then(|| text.clone()),
        Some(Value::Nodes(blocks)) => block::all_text(blocks),
        _ => None,
    };
    content.unwrap_or(Json::constant("\"\""))
}
