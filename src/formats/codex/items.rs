//! Messages of other formats as items of the Responses interface.

use super::wire;
use crate::diagnostic::Log;
use crate::dialect::responses;
use crate::ids::hash;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Node, Value, block};

/// Maximum length of the names of calls and tools that the interface accepts.
const LONGEST: usize = 64;

/// Text of the result that Codex itself puts behind a call without one.
///
/// Source: `normalize_history` of openai/codex, and requests of releases 0.34.0 to 0.169.0.
pub const ABORTED: &str = "aborted";

/// Appends the result that Codex itself puts behind a call without one.
pub fn aborted(custom: bool, call: &Json, out: &mut Vec<u8>) {
    let wire = if custom { "custom_tool_call_output" } else { "function_call_output" };
    let mut object = Object::open(out);
    object.member("type", Json::string(wire).as_bytes());
    object.member("call_id", call.as_bytes());
    text::quote(ABORTED, object.key("output"));
    object.close();
}

/// Appends the result that Codex itself puts behind a search for tools without one.
fn nothing_found(search: &Json, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    text::quote(FOUND, object.key("type"));
    object.member("call_id", search.as_bytes());
    text::quote("completed", object.key("status"));
    text::quote("client", object.key("execution"));
    object.member("tools", b"[]");
    object.close();
}

/// Appends the result that Codex itself puts behind the call of a message, or behind an item.
pub fn added(message: &Node, call: &Json, out: &mut Vec<u8>) {
    match search(message) {
        Some(search) => nothing_found(&search, out),
        None => aborted(message.is(Field::Subtype, "custom_tool_call"), call, out),
    }
}

/// Text that Codex sends in the place of a sound to models that take none, as all are that release
/// 0.169.0 names.
const NOT_HEARD: &str = "audio content omitted because you do not support audio input";

/// Puts a text in the place of each sound.
pub fn omit_sounds(parts: &mut [Node]) {
    for part in parts {
        if let Some(Value::Nodes(inner)) = part.get_mut(Field::Content) {
            omit_sounds(inner);
        }
        let data = part.json(Field::Data).filter(|_| part.is(Field::Type, block::OPAQUE));
        let wire = data.and_then(|data| data.member("type"));
        if wire.is_some_and(|wire| text::is(wire.as_bytes(), responses::SOUND)) {
            *part = block::text(Json::string(NOT_HEARD));
        }
    }
}

/// Types of a search for tools, and of its result.
const SEARCH: &str = "tool_search_call";
const FOUND: &str = "tool_search_output";

/// Returns the identifier of a search for tools.
pub fn search(item: &Node) -> Option<Json> {
    let id = item.json(Field::Data).filter(|_| item.is(Field::Type, SEARCH))?.member("call_id")?;
    id.text().is_some().then_some(id)
}

/// Returns the identifier of the search whose result an item is, and whether Codex itself searched:
/// it drops a result of its own without a search.
pub fn found(item: &Node) -> Option<(Json, bool)> {
    let item = item.json(Field::Data).filter(|_| item.is(Field::Type, FOUND))?;
    let id = item.member("call_id").filter(|id| id.text().is_some())?;
    let server = item.member("execution").is_some_and(|by| by.as_bytes() == br#""server""#);
    Some((id, !server))
}

/// Whether an item is a message of another agent, with which a turn begins.
pub fn is_of_agent(item: &Node) -> bool {
    [OF_AGENT, wire::AGENTS].iter().any(|wire| item.is(Field::Type, wire))
}

const OF_AGENT: &str = "agent_message";

/// Returns the item that is sent for one that no message describes.
pub fn sent(item: &Node) -> Option<Json> {
    let data = item.json(Field::Data)?;
    if item.is(Field::Type, wire::AGENTS) {
        return of_agents(data);
    }
    if !item.is(Field::Type, "compaction_summary") {
        return Some(data.clone());
    }
    let place = data.place_of(&data.member("type")?);
    let mut renamed = data.as_bytes().to_vec();
    renamed.splice(place.start..place.end, *br#""compaction""#);
    Some(Json::trusted(renamed.into()))
}

/// Returns the item for the payload of a message of another agent; `None` if Codex drops it.
///
/// Source: requests of release 0.169.0.
pub fn of_agents(payload: &Json) -> Option<Json> {
    let word = |name| payload.member(name).filter(|value| value.text().is_some());
    let (author, recipient, words) = (word("author")?, word("recipient")?, word("content")?);
    let starts = payload.member("trigger_turn").filter(is_bool)?;
    let list = payload.member("other_recipients")?;
    list.is_list().then_some(())?;
    let secret = word("encrypted_content");
    let head = || {
        let kind = if starts.as_bytes() == b"true" { "NEW_TASK" } else { "MESSAGE" };
        let name = |id: &Json| id.text().unwrap_or_default();
        let (to, from) = (name(&recipient), name(&author));
        Json::string(&format!("Message Type: {kind}\nTask name: {to}\nSender: {from}\nPayload:\n"))
    };
    let words = if secret.is_some() { head() } else { words };
    let part = |kind: &str, name: &str, value: &Json, out: &mut Vec<u8>| {
        let mut part = Object::open(out);
        text::quote(kind, part.key("type"));
        part.member(name, value.as_bytes());
        part.close();
    };
    let mut content = b"[".to_vec();
    part("input_text", "text", &words, &mut content);
    if let Some(secret) = &secret {
        content.push(b',');
        part("encrypted_content", "encrypted_content", secret, &mut content);
    }
    content.push(b']');
    Some(Object::json(|item| {
        text::quote(OF_AGENT, item.key("type"));
        item.member("author", author.as_bytes());
        item.member("recipient", recipient.as_bytes());
        item.member("content", &content);
    }))
}

fn is_bool(value: &Json) -> bool {
    matches!(value.as_bytes(), b"true" | b"false")
}

/// Returns the item of a message of another version.
pub fn owned(message: &Node) -> Node {
    let mut node = message.clone();
    if let Some(Value::Json(extra)) = node.take(Field::Extra)
        && let Some(own) = extra.member("payload")
    {
        node.set(Field::Extra, own);
    }
    node
}

/// Returns the messages, each one item, of a message of another format; counts what is left out.
pub fn adapted(message: &Node, log: &Log) -> Vec<Node> {
    let lose = |path: &str| log.lost(&format!("message.{path}"));
    let lost = message.fields().filter(|field| !Field::STRUCTURAL.contains(field));
    lost.for_each(|field| lose(field.name()));
    let mut pieces: Vec<Node> = Vec::new();
    let role = message.text(Field::Role).unwrap_or_default();
    if !["user", "assistant", "tool"].contains(&role.as_str()) {
        log.lost(&format!("message of role {role}"));
        return pieces;
    }
    let blocks = match message.get(Field::Content) {
        Some(Value::Nodes(blocks)) => blocks.clone(),
        Some(Value::Json(text)) if !text.is_null() => vec![block::text(text.clone())],
        _ => Vec::new(),
    };
    for block in blocks {
        let is = |kind| block.is(Field::Type, kind);
        if is(block::THINKING) {
            lose("content.*.thinking");
        } else if is(block::TOOL_CALL) {
            pieces.push(piece(&role, call(&block, &lose)));
        } else if is(block::TOOL_RESULT) {
            pieces.push(piece(&role, result(&block, &lose)));
        } else {
            let part = part(&block, role == "user", &lose);
            match pieces.last_mut().and_then(|last| last.get_mut(Field::Content)) {
                Some(Value::Nodes(parts)) if parts.first().is_some_and(is_part) => parts.push(part),
                _ => pieces.push(piece(&role, part)),
            }
        }
    }
    pieces
}

fn is_part(block: &Node) -> bool {
    ![block::TOOL_CALL, block::TOOL_RESULT].iter().any(|kind| block.is(Field::Type, kind))
}

fn piece(role: &str, block: Node) -> Node {
    Node::default().with(Field::Role, Json::string(role)).with(Field::Content, vec![block])
}

/// Returns a text or an image; only users and tools show images.
fn part(given: &Node, images: bool, lose: &dyn Fn(&str)) -> Node {
    let image = given.is(Field::Type, block::IMAGE);
    if given.json(Field::Extra).is_some() {
        lose("content.*.extra");
    }
    if given.is(Field::Type, block::TEXT) {
        return block::text(given.json(Field::Text).cloned().unwrap_or(Json::constant("\"\"")));
    }
    if image && images {
        let mut node = given.clone();
        node.take(Field::Extra);
        return node;
    }
    lose(&format!("content.*.{}", block::kind_of(given)));
    block::placeholder(given)
}

fn call(given: &Node, lose: &dyn Fn(&str)) -> Node {
    let mut node = block::of(block::TOOL_CALL).with(Field::Id, name_of_call(given.json(Field::Id)));
    let name = given.text(Field::Name).unwrap_or_default();
    node.set(Field::Name, Json::string(&plain(&name)));
    let arguments = given.json(Field::Arguments).cloned().unwrap_or(Json::constant("{}"));
    let text = match arguments.text() {
        Some(_) => arguments,
        None => Json::string(&String::from_utf8_lossy(arguments.as_bytes())),
    };
    node.set(Field::Arguments, text);
    for field in [Field::Signature, Field::Namespace, Field::Extra] {
        if given.json(field).is_some() {
            lose(&format!("content.*.{}", field.name()));
        }
    }
    if plain(&name) != name {
        lose("content.*.name");
    }
    node
}

fn result(given: &Node, lose: &dyn Fn(&str)) -> Node {
    let mut node =
        block::of(block::TOOL_RESULT).with(Field::Call, name_of_call(given.json(Field::Call)));
    let content = match given.get(Field::Content) {
        Some(Value::Nodes(blocks)) if blocks.iter().any(|b| b.is(Field::Type, block::IMAGE)) => {
            Value::Nodes(blocks.iter().map(|block| part(block, true, lose)).collect())
        }
        Some(Value::Nodes(blocks)) => {
            let texts: Vec<Node> = blocks.iter().map(|block| part(block, true, lose)).collect();
            Value::Json(block::all_text(&texts).unwrap_or(Json::constant("\"\"")))
        }
        Some(Value::Json(text)) if !text.is_null() => Value::Json(text.clone()),
        _ => Value::Json(given.json(Field::Output).cloned().unwrap_or(Json::constant("\"\""))),
    };
    node.set(Field::Content, content);
    for field in [Field::IsError, Field::Extra] {
        if given.json(field).is_some_and(|value| value.as_bytes() != b"false") {
            lose(&format!("content.*.{}", field.name()));
        }
    }
    node
}

/// Returns an identifier of a call that the interface accepts: the same one for the call and its
/// result.
pub fn name_of_call(id: Option<&Json>) -> Json {
    let id = id.and_then(Json::text).unwrap_or_default();
    let fits = (1..=LONGEST).contains(&id.chars().count());
    Json::string(&if fits { id } else { format!("call_{:016x}", hash(id.as_bytes())) })
}

/// Returns a name of a tool that the interface accepts.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().take(LONGEST).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

/// Returns a hash of a text, such as the identifier of a call.
pub fn hash_of(text: &Json) -> u64 {
    hash(text.text().unwrap_or_default().as_bytes())
}
