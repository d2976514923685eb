//! Content of messages that the interfaces of models refuse.
//!
//! [`RULES`] lists what is refused, by which interface, and the source of that. The rules apply to
//! what a program sends: faults that its newest release mends by itself are not asked for.

use super::image::{is_outside, is_whole, larger_side, media_type};
use crate::format::Interface::{self, AnthropicMessages, ChatCompletions, OpenAiResponses};
use crate::json::{Json, Unit, refused_units, text};
use crate::record::{Field, Node, Value, block};
use std::borrow::Cow;

/// A fault in words.
type Words = Cow<'static, str>;

/// Part of a message that a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Looks {
    /// A whole message.
    Message(fn(&Node) -> Option<Words>),
    /// A block, also one in the result of a tool.
    Block(fn(&Node) -> Option<Words>),
    /// The data of an image.
    Image(fn(&str) -> Option<Words>),
}

/// Content that interfaces refuse.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The rule in the words of an interface or of its documents.
    pub refusal: &'static str,
    /// The interfaces.
    pub by: &'static [Interface],
    /// Source of the rule.
    pub source: &'static str,
    /// The time since which it is known.
    pub since: &'static str,
    /// Finds content that is refused, and returns the fault in words.
    pub looks: Looks,
}

const ALL: &[Interface] = &[AnthropicMessages, OpenAiResponses, ChatCompletions];
const ANTHROPIC: &[Interface] = &[AnthropicMessages];
const RESPONSES: &[Interface] = &[OpenAiResponses];
const MESSAGES_API: &str = "Anthropic, Messages";
const VISION: &str = "Anthropic, Vision";
const RESPONSES_API: &str = "OpenAI, Responses";

const fn rule(
    refusal: &'static str,
    by: &'static [Interface],
    source: &'static str,
    since: &'static str,
    looks: Looks,
) -> Rule {
    Rule { refusal, by, source, since, looks }
}

/// Everything that is refused whichever message follows. What concerns several messages is in
/// `context::check`: calls and results in pairs, identifiers that occur twice, many large images.
pub static RULES: &[Rule] = &[
    rule(
        "tools.name: ^[a-zA-Z0-9_-]{1,128}$",
        ALL,
        "Anthropic, Messages; openai/codex issue 24369",
        "2024",
        Looks::Block(tool_name_fault),
    ),
    rule(
        "Could not process image",
        ALL,
        "anthropics/claude-code issues; OpenAI, Images and vision",
        "2024",
        Looks::Image(|data| Some(image_fault(data)?.into())),
    ),
    rule(
        "does not match the media type; Input should be image/jpeg, image/png, image/gif or image/webp",
        ANTHROPIC,
        MESSAGES_API,
        "2024",
        Looks::Block(media_type_fault),
    ),
    rule(
        "image dimensions exceed max allowed size: 8000 pixels",
        ANTHROPIC,
        VISION,
        "2024",
        Looks::Image(|data| {
            let side = larger_side(data).filter(|side| *side > 8000);
            side.map(|_| "the image is larger than 8000 pixels".into())
        }),
    ),
    rule(
        "image exceeds 5 MB maximum",
        ANTHROPIC,
        VISION,
        "2024",
        Looks::Image(|data| {
            let large = data.len() > 5 << 20 && !is_outside(data);
            large.then_some("the image has more than 5 MB in base64".into())
        }),
    ),
    rule(
        "thinking: Invalid signature; signature: Field required",
        ANTHROPIC,
        "Anthropic, Extended thinking",
        "2025-02",
        Looks::Block(unsigned),
    ),
    rule(
        "tool_use.id: ^[a-zA-Z0-9_-]+$",
        ANTHROPIC,
        MESSAGES_API,
        "2024",
        Looks::Block(call_id_fault),
    ),
    rule(
        "tool_use.input: Field required; Input should be a valid dictionary",
        ANTHROPIC,
        MESSAGES_API,
        "2024",
        Looks::Block(arguments_fault),
    ),
    rule(
        "messages must have non-empty content",
        ANTHROPIC,
        MESSAGES_API,
        "2024",
        Looks::Message(empty_fault),
    ),
    rule(
        "Missing required parameter: encrypted_content",
        RESPONSES,
        "OpenAI, Responses, of histories that are not stored",
        "2025",
        Looks::Message(reasoning_fault),
    ),
    rule(
        "call_id, id: maximum length 64",
        RESPONSES,
        RESPONSES_API,
        "2025",
        Looks::Message(length_fault),
    ),
    rule(
        "arguments: maximum length 1048576",
        RESPONSES,
        RESPONSES_API,
        "2025",
        Looks::Block(|block| {
            let text =
                block.text(Field::Arguments).filter(|_| block.is(Field::Type, block::TOOL_CALL))?;
            (text.len() > 1 << 20 && text.chars().count() > 1 << 20)
                .then_some("the arguments of a call have more than 1048576 characters".into())
        }),
    ),
    rule(
        "image_url: not a base64 data URL",
        RESPONSES,
        RESPONSES_API,
        "2025",
        Looks::Block(url_fault),
    ),
    rule(
        "no low surrogate in string; invalid Unicode",
        ALL,
        "RFC 8259, section 8.2; anthropics/claude-code issues",
        "2024",
        Looks::Message(|message| {
            has_unit(message, Unit::Half).then_some("a text has half of a surrogate pair".into())
        }),
    ),
    // Anthropic's and OpenAI's own interfaces answer after texts with U+0000 (rollouts of releases
    // 0.140 to 0.145, transcripts of 2.1).
    rule(
        "U+0000 cannot be converted to text",
        &[ChatCompletions],
        "providers of Chat Completions that store requests in PostgreSQL",
        "2024",
        Looks::Message(|message| {
            has_unit(message, Unit::Nul).then_some("a text has U+0000".into())
        }),
    ),
];

/// Reports what an interface refuses of a message: each fault in words, and whether it is in the
/// data of an image.
pub fn faults(message: &Node, interface: Interface, found: &mut dyn FnMut(Words, bool)) {
    let rules = || RULES.iter().filter(|rule| rule.by.contains(&interface));
    for rule in rules() {
        if let Looks::Message(look) = rule.looks {
            look(message).into_iter().for_each(|fault| found(fault, false));
        }
    }
    for block in message.content() {
        let inner = block.content();
        for block in std::iter::once(block).chain(inner) {
            let data = image_data(block);
            for rule in rules() {
                let fault = match (rule.looks, &data) {
                    (Looks::Block(look), _) => look(block),
                    (Looks::Image(look), Some(data)) => look(data),
                    _ => None,
                };
                let of_image = matches!(rule.looks, Looks::Image(_));
                fault.into_iter().for_each(|fault| found(fault, of_image));
            }
        }
    }
}

/// Longest name of a tool, in characters.
const LONGEST_NAME: usize = 128;

/// Whether a tool can have this name.
///
/// ```
/// use copyist::dialect::refusal::is_tool_name;
/// assert!(is_tool_name("read_file-2") && !is_tool_name("fs.read") && !is_tool_name(""));
/// ```
pub fn is_tool_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_of_name)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns a name that a tool or a call can have: `_` replaces each other character, and a name
/// without characters.
///
/// ```
/// assert_eq!(copyist::dialect::refusal::tool_name("fs.read ä"), "fs_read__");
/// ```
pub fn tool_name(name: &str) -> String {
    let fits = |c: char| u8::try_from(c).is_ok_and(is_of_name);
    let name: String =
        name.chars().map(|c| if fits(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn tool_name_fault(block: &Node) -> Option<Words> {
    let name = block.text(Field::Name).unwrap_or_default();
    let calls = block.is(Field::Type, block::TOOL_CALL);
    (calls && !is_tool_name(&name)).then(|| format!("`{name}` cannot be the name of a tool").into())
}

/// Returns why an image with these data is refused, in words; `None` for one that is taken. Data
/// outside of the session are not checked.
///
/// ```
/// use copyist::dialect::refusal::image_fault;
/// assert_eq!(image_fault(""), Some("the image is empty"));
/// assert_eq!(image_fault("PGh0bWw+"), Some("the image is no PNG, JPEG, GIF or WebP"));
/// assert_eq!(image_fault("iVBORw0KGgoAAAANSUhEUg=="), Some("the image is cut off or damaged"));
/// assert_eq!(image_fault("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkwBADs="), None);
/// ```
pub fn image_fault(data: &str) -> Option<&'static str> {
    if is_outside(data) {
        return None;
    }
    if data.trim().is_empty() {
        return Some("the image is empty");
    }
    let of_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let digits = data.trim_end_matches('=');
    if !digits.bytes().all(of_base64) || digits.len() % 4 == 1 || data.len() - digits.len() > 2 {
        return Some("the image is not base64");
    }
    if media_type(data).is_none() {
        return Some("the image is no PNG, JPEG, GIF or WebP");
    }
    (!is_whole(data)).then_some("the image is cut off or damaged")
}

/// Returns the block of a text in the place of an image that is refused.
pub fn in_place_of_image(fault: &str) -> Vec<u8> {
    text_block(&format!("[An image stood here that no model takes: {fault}.]"))
}

/// Returns the block of a text.
pub fn text_block(words: &str) -> Vec<u8> {
    let mut block = b"{\"type\":\"text\",\"text\":".to_vec();
    text::quote(words, &mut block);
    block.push(b'}');
    block
}

/// Part that a block has in the calls of tools which the provider runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OfServer {
    /// A call with this identifier.
    Call(String),
    /// The result of the call with this identifier.
    Result(String),
}

/// Returns the part of a block of Anthropic's Messages in the calls of such tools. The interface
/// refuses a call and a result that are not in one answer.
///
/// ```
/// use copyist::dialect::refusal::{OfServer, of_server};
/// let block = copyist::json::Json::constant(r#"{"type":"server_tool_use","id":"s1"}"#);
/// assert_eq!(of_server(&block), Some(OfServer::Call("s1".to_owned())));
/// ```
pub fn of_server(block: &Json) -> Option<OfServer> {
    let kind = block.member("type").filter(|_| block.is_object())?.text()?;
    let id = |name| block.member(name)?.text();
    match &*kind {
        "server_tool_use" | "mcp_tool_use" => id("id").map(OfServer::Call),
        other if other.ends_with("_tool_result") => id("tool_use_id").map(OfServer::Result),
        _ => None,
    }
}

/// Returns the data of an image in base64, also of one whose media type is missing.
fn image_data(block: &Node) -> Option<String> {
    if block.is(Field::Type, block::IMAGE) {
        return block.text(Field::Data);
    }
    unread_image(block)?.member("data")?.text()
}

/// Returns the source of an image of Anthropic's Messages that no reader takes as one, because its
/// media type is missing.
fn unread_image(block: &Node) -> Option<Json> {
    let data = block.json(Field::Data).filter(|_| block.is(Field::Type, block::OPAQUE))?;
    let is = |value: &Json, name: &str, of: &str| {
        value.member(name).is_some_and(|value| value.text().as_deref() == Some(of))
    };
    let source = data.member("source").filter(|_| is(data, "type", "image"))?;
    is(&source, "type", "base64").then_some(source)
}

fn media_type_fault(block: &Node) -> Option<Words> {
    let data = image_data(block).filter(|data| !is_outside(data))?;
    let given = block.text(Field::MediaType);
    let given = given.or_else(|| unread_image(block)?.member("media_type")?.text());
    let own = media_type(&data)?;
    match given.as_deref() {
        None | Some("") => Some("the media type of the image is missing".into()),
        Some(given) if given == own => None,
        Some(given) => {
            Some(format!("the media type of the image is {given}, its data are {own}").into())
        }
    }
}

/// Whether a block is an image of more than this number of pixels in width or height.
pub fn is_larger(block: &Node, pixels: u32) -> bool {
    let side = image_data(block).and_then(|data| larger_side(&data));
    side.is_some_and(|side| side > pixels)
}

fn unsigned(block: &Node) -> Option<Words> {
    let is_thought = block.is(Field::Type, block::THINKING) && !block.is_true(Field::Redacted);
    let signature = block.json(Field::Signature);
    let is_signed =
        signature.is_some_and(|signature| !matches!(signature.as_bytes(), b"\"\"" | b"null"));
    (is_thought && !is_signed).then_some("a thought has no signature".into())
}

/// Whether a call can have this identifier in Anthropic's Messages.
pub fn is_call_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(is_of_name)
}

fn call_id_fault(block: &Node) -> Option<Words> {
    let field = if block.is(Field::Type, block::TOOL_CALL) {
        Field::Id
    } else if block.is(Field::Type, block::TOOL_RESULT) {
        Field::Call
    } else {
        return None;
    };
    let id = block.text(field)?;
    (!is_call_id(&id)).then(|| format!("`{id}` cannot be the identifier of a call").into())
}

fn arguments_fault(block: &Node) -> Option<Words> {
    if !block.is(Field::Type, block::TOOL_CALL) {
        return None;
    }
    match block.json(Field::Arguments) {
        None => Some("a call has no arguments".into()),
        Some(given) if given.is_object() => None,
        Some(_) => Some("the arguments of a call are no object".into()),
    }
}

/// A list without blocks is not sent at all.
fn empty_fault(message: &Node) -> Option<Words> {
    let is_empty = message.json(Field::Content).is_some_and(|text| text.as_bytes() == b"\"\"");
    (is_empty && message.is(Field::Role, "user")).then_some("the message is empty".into())
}

/// Returns a member of an item of the Responses interface for which the model has no field.
fn member(message: &Node, name: &str) -> Option<Json> {
    let extra = message.json(Field::Extra)?;
    extra.member("payload").and_then(|item| item.member(name)).or_else(|| extra.member(name))
}

fn reasoning_fault(message: &Node) -> Option<Words> {
    let blocks = message.content();
    let thinks = matches!(blocks, [only] if only.is(Field::Type, block::THINKING));
    let has = |name| {
        let value = member(message, name);
        value.is_some_and(|value| !matches!(value.as_bytes(), b"\"\"" | b"null" | b"[]"))
    };
    // A provider that shows its thoughts requires no other form of them.
    (thinks && !has("encrypted_content") && !has("content"))
        .then_some("reasoning has no encrypted content".into())
}

/// Longest identifier of a call and of an item in the Responses interface, in characters.
pub const LONGEST_ID: usize = 64;

fn length_fault(message: &Node) -> Option<Words> {
    let blocks = message.content().iter();
    let ids = blocks.filter_map(|block| block.text(Field::Id).or_else(|| block.text(Field::Call)));
    let item = member(message, "id").and_then(|id| id.text());
    let long = ids.chain(item).any(|id| id.chars().count() > LONGEST_ID);
    long.then(|| format!("an identifier has more than {LONGEST_ID} characters").into())
}

fn url_fault(block: &Node) -> Option<Words> {
    let data = block.json(Field::Data).filter(|_| block.is(Field::Type, block::OPAQUE))?;
    let url = data.member("image_url")?.text()?;
    let fits = ["data:", "http:", "https:"].iter().any(|scheme| url.starts_with(scheme));
    (!fits).then_some("the address of an image is no data and no web address".into())
}

/// Whether a text of the message has this unit, which interfaces refuse.
fn has_unit(message: &Node, unit: Unit) -> bool {
    let has = |json: &Json| refused_units(json.as_bytes()).any(|(_, found)| found == unit);
    let of_block = |block: &Node| {
        [Field::Text, Field::Thinking, Field::Arguments, Field::Content]
            .iter()
            .filter_map(|field| block.json(*field))
            .any(has)
    };
    match message.get(Field::Content) {
        Some(Value::Json(text)) => has(text),
        Some(Value::Nodes(blocks)) => blocks.iter().any(|block| {
            let inner = block.content();
            of_block(block) || inner.iter().any(of_block)
        }),
        _ => false,
    }
}
