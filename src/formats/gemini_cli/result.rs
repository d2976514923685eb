//! Results of calls.
//!
//! A result is a list of parts, of which the first is a `functionResponse`, or a text. Its form is
//! kept only where it is not the usual one.

use super::media;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object};
use crate::record::{Field, Node, Value, block};

/// Content of a result, and whether the call failed.
#[derive(Debug)]
pub struct Outcome {
    pub content: Value,
    pub is_error: bool,
}

/// Returns what a `response` says, and whether it is an error.
fn response_of(response: &Json) -> (Json, bool) {
    let text = |name: &str| response.member(name).filter(|value| value.text().is_some());
    let only = response.members().count() == 1;
    match (text("output"), text("error")) {
        (Some(output), None) if only => (output, false),
        (None, Some(error)) if only => (error, true),
        (output, error) => {
            let whole = String::from_utf8_lossy(response.as_bytes()).into_owned();
            (Json::string(&whole), output.is_none() && error.is_some())
        }
    }
}

/// Returns the parts of a result that are those of its call. When 0.61.0 resumes a session, it puts
/// the results of all calls of an answer into each of them.
pub fn of_call(parts: Vec<Json>, call: &Json) -> Vec<Json> {
    let response = |part: &Json| part.member("functionResponse");
    let is_its = |own: &Json| own.member("id").as_ref() == Some(call);
    let has_its = parts.iter().filter_map(response).any(|own| is_its(&own));
    if !has_its || parts.iter().filter_map(response).all(|own| is_its(&own)) {
        return parts;
    }
    // Files follow the response to which they belong.
    let mut takes = false;
    let mut its = parts;
    its.retain(|part| {
        takes = response(part).map_or(takes, |own| is_its(&own));
        takes
    });
    its
}

/// Returns the calls of an answer that have a result, each with the parts of its own.
pub fn of_calls(item: &Json) -> Vec<(Json, Vec<Json>)> {
    let mut all: Vec<(Json, Vec<Json>)> = Vec::new();
    for call in item.member("toolCalls").unwrap_or_default().elements() {
        let id = call.member("id").unwrap_or_default();
        let parts = call.member("result").unwrap_or_default().elements().collect();
        let parts = of_call(parts, &id);
        if !parts.is_empty() && !all.iter().any(|(own, _)| *own == id) {
            all.push((id, parts));
        }
    }
    all
}

/// Reads the `result` of a call; `None` if the program sends nothing of it.
pub fn read(result: &Json, call: &Json, status: Option<&str>) -> Option<Outcome> {
    let failed = matches!(status, Some("error" | "cancelled"));
    let parts: Vec<Json> = match result.as_bytes().first() {
        Some(b'"') if text::is(result.as_bytes(), "") => return None,
        Some(b'"') => {
            return Some(Outcome { content: Value::Json(result.clone()), is_error: failed });
        }
        Some(b'[') => result.elements().collect(),
        Some(b'{') => vec![result.clone()],
        _ => return None,
    };
    let parts = of_call(parts, call);
    let (mut texts, mut images, mut is_error) = (Vec::new(), Vec::new(), failed);
    for own in &parts {
        let response = own.member("functionResponse");
        if let Some(response) = &response {
            let (text, wrong) = response_of(&response.member("response").unwrap_or_default());
            texts.push(text);
            is_error |= wrong;
        }
        let inner = response.and_then(|response| response.member("parts")).unwrap_or_default();
        let inner: Vec<Json> = inner.elements().collect();
        let is_part = |own: &&Json| own.member("functionResponse").is_none();
        for own in inner.iter().chain([own]).filter(is_part) {
            match media::read(own) {
                Some(mut image) => {
                    image.take(Field::Extra);
                    images.push(image);
                }
                None => texts.extend(own.member("text").filter(|text| text.text().is_some())),
            }
        }
    }
    let first = texts.into_iter().reduce(|a, b| a.joined(&b));
    let content = match (first, images.is_empty()) {
        (None, true) => return None,
        (Some(text), true) => Value::Json(text),
        (text, _) => Value::Nodes(text.map(block::text).into_iter().chain(images).collect()),
    };
    Some(Outcome { content, is_error })
}

/// Returns the result of a call as the program writes it.
pub fn usual(call: &Json, name: Option<&Json>, result: &Node) -> Json {
    let mut list = vec![b'['];
    write_usual(call, name, result, &mut list);
    for node in result.content() {
        if [block::IMAGE, block::DOCUMENT].iter().any(|name| node.is(Field::Type, name)) {
            list.push(b',');
            media::write(node, &mut list);
        }
    }
    list.push(b']');
    Json::trusted(list.into())
}

fn write_usual(call: &Json, name: Option<&Json>, result: &Node, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let mut response = Object::open(object.key("functionResponse"));
    response.member("id", call.as_bytes());
    response.member("name", name.map_or(&b"\"unknown\""[..], Json::as_bytes));
    let mut inner = Object::open(response.key("response"));
    let key = if result.is_true(Field::IsError) { "error" } else { "output" };
    inner.member(key, text_of(result).as_bytes());
    inner.close();
    response.close();
    object.close();
}

/// Returns the text of a result.
pub fn text_of(result: &Node) -> Json {
    let text = match result.get(Field::Content) {
        Some(Value::Json(text)) => Some(text.clone()).filter(|text| !text.is_null()),
        Some(Value::Nodes(blocks)) => block::all_text(blocks),
        _ => None,
    };
    text.or_else(|| result.json(Field::Output).cloned()).unwrap_or(Json::constant("\"\""))
}

/// Whether an outcome is that of a result.
fn is_of(outcome: Option<&Outcome>, result: &Node) -> bool {
    outcome.is_some_and(|outcome| {
        result.get(Field::Content) == Some(&outcome.content)
            && outcome.is_error == result.is_true(Field::IsError)
    })
}

/// Returns the block of a result, and the form of the result if it is not usual.
pub fn block_of(
    call: &Json,
    name: Option<&Json>,
    (result, status): (&Json, Option<&str>),
) -> Option<(Node, Option<Json>)> {
    let outcome = read(result, call, status)?;
    let mut node = block::of(block::TOOL_RESULT)
        .with(Field::Call, call.clone())
        .with_some(Field::Name, name.cloned())
        .with(Field::Content, outcome.content);
    if outcome.is_error {
        node.set(Field::IsError, Json::constant("true"));
    }
    let is_usual = usual(call, name, &node).as_bytes() == result.as_bytes();
    Some((node, (!is_usual).then(|| result.clone())))
}

/// Returns the form of a result that is written: the one that was read, unless it was edited.
pub fn written(
    call: &Json,
    name: Option<&Json>,
    result: &Node,
    own: Option<&Json>,
    status: Option<&str>,
) -> Json {
    let own = own.filter(|own| is_of(read(own, call, status).as_ref(), result));
    own.cloned().unwrap_or_else(|| usual(call, name, result))
}

/// Returns the result of a call without those of other calls, if one of these is another now.
pub fn current(result: Json, call: &Json, results: &[Node]) -> Json {
    let block_of = |call: &Json| {
        let mut blocks = results.iter().filter_map(|own| own.nodes(Field::Content)?.first());
        blocks.rfind(|block| block.json(Field::Call) == Some(call))
    };
    let is_now = |part: &Json| {
        let other = part.member("functionResponse").and_then(|own| own.member("id"));
        other.filter(|other| other != call).is_none_or(|other| {
            let outcome = read(&result, &other, None);
            let block = block_of(&other);
            block
                .zip(outcome)
                .is_some_and(|(block, outcome)| block.get(Field::Content) == Some(&outcome.content))
        })
    };
    let parts: Vec<Json> = result.elements().collect();
    if parts.iter().all(is_now) {
        return result;
    }
    Json::list(of_call(parts, call))
}

/// Reads a part of content that is a result; `None` for any other part.
pub fn read_part(part: &Json) -> Option<Node> {
    let response = part.member("functionResponse")?;
    let of = |name: &str| response.member(name).filter(|value| value.text().is_some());
    let (call, name) = (of("id")?, of("name"));
    let list = Json::trusted([b"[", part.as_bytes(), b"]"].concat().into());
    let (mut node, form) = block_of(&call, name.as_ref(), (&list, None))?;
    if form.is_some() {
        let mut extra = Extra::default();
        extra.add(b"\"part\"", part.as_bytes());
        extra.put(&mut node);
    }
    Some(node)
}

/// Writes a result as parts of content.
pub fn write_part(node: &Node, out: &mut Vec<u8>) {
    let own = node.json(Field::Extra).and_then(|extra| extra.member("part"));
    let own = own.map(|own| Json::trusted([b"[", own.as_bytes(), b"]"].concat().into()));
    let call = node.json(Field::Call).cloned().unwrap_or(Json::constant("\"\""));
    let list = written(&call, node.json(Field::Name), node, own.as_ref(), None);
    let inner = list.as_bytes().get(1..list.as_bytes().len().saturating_sub(1));
    out.extend_from_slice(inner.unwrap_or_default());
}
