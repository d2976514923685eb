//! Messages as records, and back, by templates of their members.

use super::blocks::{BLOCKS, CALL_ID, attached, detached, is_same, list, placed};
use super::{media, part, result, wire};
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Object, Row, Source, row, template, without};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

const MESSAGE: &[Row] =
    &[row("id", Field::Id), row("timestamp", Field::Time), row("model", Field::Model)];
const CALL: &[Row] =
    &[row("id", Field::Id), row("name", Field::Name), row("args", Field::Arguments)];

/// The kind of a message by its type and its words.
#[derive(Debug, PartialEq, Eq)]
pub enum Sort {
    /// A message of the conversation.
    Talk,
    /// A message that is not sent, by its name.
    Notice(String),
    /// An object of another type.
    Other,
}

/// Returns the kind of a message.
pub fn sort(item: &Json) -> Sort {
    let content = item.member("content");
    let is_content = content.is_some_and(|it| {
        it.as_bytes().starts_with(b"\"")
            || it.as_bytes().starts_with(b"[")
            || it.as_bytes().starts_with(b"{")
    });
    match item.member("type").and_then(|kind| kind.text()).as_deref() {
        Some("user") if is_content => {
            let mut node = Node::default();
            node.set(Field::Content, content_of(item));
            match wire::inserted(&part::all_shown(&node)) {
                Some(name) => Sort::Notice(name.to_owned()),
                None => Sort::Talk,
            }
        }
        Some("gemini") => Sort::Talk,
        Some(name @ ("info" | "error" | "warning")) => Sort::Notice(name.to_owned()),
        _ => Sort::Other,
    }
}

/// Returns the parts of a message's content as blocks.
fn content_of(item: &Json) -> Vec<Node> {
    let content = item.member("content").unwrap_or_default();
    match content.as_bytes().first() {
        Some(b'"') if !text::is(content.as_bytes(), "") => vec![block::text(content)],
        Some(b'[') => content.elements().map(|own| part::read(&own)).collect(),
        Some(b'{') => vec![part::read(&content)],
        _ => Vec::new(),
    }
}

/// Message of the conversation: its record, and those of the results of its calls.
#[derive(Debug)]
pub struct Read {
    pub message: Record,
    pub results: Vec<Record>,
}

/// Reads a message of the conversation.
///
/// # Errors
/// If it is not JSON.
pub fn read(item: &Json) -> Result<Read, Fault> {
    let mut message = Record::new(Kind::Message);
    let node = &mut message.node;
    let (mut kept, mut thoughts, mut calls, mut results) =
        (Extra::default(), Vec::new(), Vec::new(), Vec::new());
    let mut content = content_of(item);
    let is_user = item.member("type").is_some_and(|kind| text::is(kind.as_bytes(), "user"));
    let mut source = Source::new(item.bytes());
    template::read(&mut source, MESSAGE, node, &mut kept, &mut |source, key, kept| {
        let name = source.spelling(key);
        let is = |wanted: &str| text::is(name, wanted);
        if !["type", "content", "thoughts", "tokens", "toolCalls"].iter().any(|own| is(own)) {
            return Ok(false);
        }
        let span = source.cursor.skip_value()?;
        let value = source.json(span);
        let place: &[u8] = match value.as_bytes().first() {
            _ if is("type") => template::PLACE,
            Some(b'"') if is("content") && !content.is_empty() => template::PLACE,
            Some(b'[') if is("content") => b"[]",
            Some(b'{') if is("content") => b"{}",
            Some(b'[') if is("thoughts") && !is_user => match read_thoughts(&value) {
                Some(read) => {
                    thoughts = read;
                    template::PLACE
                }
                None => value.as_bytes(),
            },
            Some(b'[') if is("toolCalls") && !is_user => match read_calls(&value, &mut results) {
                Some(read) => {
                    calls = read;
                    template::PLACE
                }
                None => value.as_bytes(),
            },
            _ => value.as_bytes(),
        };
        kept.add(name, place);
        Ok(true)
    })?;
    if let Some(tokens) = item.member("tokens").filter(|it| it.as_bytes().starts_with(b"{")) {
        node.set(Field::Usage, wire::usage_of(&tokens));
    }
    let is_result = |node: &Node| node.is(Field::Type, block::TOOL_RESULT);
    let role = match is_user {
        true if !content.is_empty() && content.iter().all(is_result) => "tool",
        true => "user",
        false => "assistant",
    };
    node.set(Field::Role, Json::string(role));
    let mut blocks = Extra::default();
    let given = item.member("content").filter(|own| own.as_bytes().starts_with(b"["));
    let given: Vec<Json> = given.unwrap_or_default().elements().collect();
    let is_beside = |own: &Node| calls.iter().chain(&thoughts).any(|beside| is_same(own, beside));
    let beside: Vec<bool> = content.iter().map(is_beside).collect();
    let mut number = beside.iter();
    content.retain(|_| number.next() == Some(&false));
    let mut templates = detached(&mut content).map(|own| own.elements().collect::<Vec<_>>());
    if beside.contains(&true) {
        let mut own =
            templates.unwrap_or_else(|| vec![Json::constant("0"); content.len()]).into_iter();
        let place = |(part, is_beside): (&Json, &bool)| match is_beside {
            true => Json::trusted([b"[", part.as_bytes(), b"]"].concat().into()),
            false => own.next().unwrap_or(Json::constant("0")),
        };
        templates = Some(given.iter().zip(&beside).map(place).collect());
    }
    if let Some(templates) = templates {
        let mut out = Vec::new();
        list(&templates, &mut out, |own, out| out.extend_from_slice(own.as_bytes()));
        blocks.add(b"\"content\"", &out);
    }
    for (name, list) in [("thoughts", &mut thoughts), ("toolCalls", &mut calls)] {
        let templates = detached(list);
        templates.iter().for_each(|own| blocks.add(Json::string(name).as_bytes(), own.as_bytes()));
    }
    let blocks = blocks.finish();
    blocks.iter().for_each(|own| kept.add(Json::string(BLOCKS).as_bytes(), own.as_bytes()));
    kept.put(node);
    let is_text = item.member("content").is_some_and(|own| own.as_bytes().starts_with(b"\""));
    match content.first().and_then(|only| only.json(Field::Text)) {
        Some(text) if is_user && is_text => node.set(Field::Content, text.clone()),
        _ => {
            let all: Vec<Node> = thoughts.into_iter().chain(content).chain(calls).collect();
            node.set(Field::Content, all);
        }
    }
    if role == "user" && wire::is_ignored(&part::all_shown(node)) {
        node.set(Field::Excluded, Json::constant("true"));
    }
    if role == "tool" {
        results = further(node);
    }
    Ok(Read { message, results })
}

/// Takes all results of a message but the first, each as a record of its own.
fn further(message: &mut Node) -> Vec<Record> {
    let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return Vec::new() };
    let blocks = blocks.drain(1.min(blocks.len())..).collect::<Vec<_>>();
    let record = |block| {
        let mut record = Record::new(Kind::Message);
        let mut extra = Extra::default();
        extra.add(b"\"further\"", b"true");
        record.node.set(Field::Role, Json::constant("\"tool\""));
        record.node.put(Field::Time, message.json(Field::Time).cloned());
        record.node.set(Field::Content, vec![block]);
        extra.put(&mut record.node);
        record
    };
    blocks.into_iter().map(record).collect()
}

/// Adds a further result to the message from which it was taken; false if it is none of that.
pub fn join(message: &mut Node, further: &Node) -> bool {
    let is_further = further.json(Field::Extra).is_some_and(|it| it.member("further").is_some());
    match (message.is(Field::Role, "tool") && is_further, message.get_mut(Field::Content)) {
        (true, Some(Value::Nodes(blocks))) => {
            blocks.extend(further.nodes(Field::Content).unwrap_or_default().iter().cloned());
            true
        }
        _ => false,
    }
}

/// Returns a thought's subject and description as one text.
fn joined(subject: &str, description: &str) -> String {
    match subject {
        "" => description.to_owned(),
        subject => format!("**{subject}**\n{description}"),
    }
}

/// Returns the subject and the description of a thought, as the program takes them out of a text.
fn parted(thought: &str) -> (&str, &str) {
    let rest = thought.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    match rest {
        Some((subject, description)) if !subject.is_empty() && !subject.contains('\n') => {
            (subject, description.strip_prefix('\n').unwrap_or(description))
        }
        _ => ("", thought),
    }
}

/// Reads the thoughts of an answer; `None` if one has another shape.
fn read_thoughts(list: &Json) -> Option<Vec<Node>> {
    let read = |thought: Json| {
        let text = |name: &str| thought.member(name)?.text();
        let (subject, description) = (text("subject")?, text("description")?);
        let whole = joined(&subject, &description);
        let is_parted = parted(&whole) == (&*subject, &*description)
            && text::lone_halves(thought.as_bytes()).is_empty();
        let mut kept = Extra::default();
        for (key, value) in thought.members() {
            let is_own = text::is(key, "subject") || text::is(key, "description");
            kept.add(key, if is_own && is_parted { template::PLACE } else { value });
        }
        let mut node = Node::with_capacity(3);
        node.set(Field::Type, block::type_of(block::THINKING));
        node.set(Field::Thinking, Json::string(&whole));
        media::keep(&kept.finish()?, &mut node);
        Some(node)
    };
    list.elements().map(read).collect()
}

/// Writes a thought. `time` is that of its message.
fn write_thought(node: &Node, time: Option<&Json>, out: &mut Vec<u8>) {
    let text = node.text(Field::Thinking).unwrap_or_default();
    let (subject, description) =
        Some(parted(&text)).filter(|(a, b)| joined(a, b) == text).unwrap_or(("", &text));
    let kept = media::kept(node)
        .unwrap_or(Json::constant(r#"{"subject":0,"description":0,"timestamp":0}"#));
    let own = |name: &str| kept.member(name).and_then(|own| own.text());
    let is_as_read = own("subject").zip(own("description"));
    let is_as_read = is_as_read.is_some_and(|(a, b)| joined(&a, &b) == text);
    let mut object = Object::open(out);
    for (key, value) in kept.members() {
        match key {
            b"\"subject\"" if !is_as_read => object.spelled(key, Json::string(subject).as_bytes()),
            b"\"description\"" if !is_as_read => {
                object.spelled(key, Json::string(description).as_bytes());
            }
            b"\"timestamp\"" if value == template::PLACE => {
                object.spelled(key, time.map_or(&b"\"\""[..], Json::as_bytes));
            }
            _ => object.spelled(key, value),
        }
    }
    object.close();
}

/// Reads the calls of an answer, and their results; `None` if one has another shape.
fn read_calls(list: &Json, results: &mut Vec<Record>) -> Option<Vec<Node>> {
    let is_call = |call: &Json| {
        ["id", "name"]
            .iter()
            .all(|name| call.member(name).is_some_and(|it| it.as_bytes().starts_with(b"\"")))
    };
    let calls: Vec<Json> = list.elements().collect();
    if !calls.iter().all(is_call) {
        return None;
    }
    let read = |call: &Json| {
        let mut node = Node::with_capacity(5);
        node.set(Field::Type, block::type_of(block::TOOL_CALL));
        let kept = template::take(call, CALL, &mut node);
        let status = call.member("status").and_then(|status| status.text());
        let (id, name) =
            (node.json(Field::Id).cloned().unwrap_or_default(), node.json(Field::Name));
        let own = call.member("result").unwrap_or_default();
        let found = result::block_of(&id, name, (&own, status.as_deref()));
        let mut extra = Extra::default();
        let is_usual = |failed| status.as_deref() == Some(if failed { "error" } else { "success" });
        for (key, value) in kept.members() {
            let is_place = found.as_ref().is_some_and(|(block, _)| {
                text::is(key, "result")
                    || (text::is(key, "status") && is_usual(block.is_true(Field::IsError)))
            });
            extra.add(key, if is_place { template::PLACE } else { value });
        }
        extra.add(Json::string(CALL_ID).as_bytes(), id.as_bytes());
        extra.finish().iter().for_each(|kept| media::keep(kept, &mut node));
        if let Some((mut block, form)) = found {
            block.take(Field::Name);
            let mut record = Record::new(Kind::Message);
            record.node.set(Field::Role, Json::constant("\"tool\""));
            record.node.put(Field::Time, call.member("timestamp").filter(|it| it.text().is_some()));
            record.node.set(Field::Content, vec![block]);
            if let Some(form) = form {
                let mut extra = Extra::default();
                extra.add(b"\"result\"", form.as_bytes());
                extra.put(&mut record.node);
            }
            results.push(record);
        }
        node
    };
    Some(calls.iter().map(read).collect())
}

/// Writes a call with its result, which is a message of role `tool`. `results` are those of all calls
/// of the message.
fn write_call(
    node: &Node,
    time: Option<&Json>,
    (answer, results): (Option<&Node>, &[Node]),
    out: &mut Vec<u8>,
) {
    let usual = Json::constant(r#"{"id":0,"name":0,"args":0,"result":0,"status":0,"timestamp":0}"#);
    let kept = media::kept(node).and_then(|own| without(&own, CALL_ID)).unwrap_or(usual);
    let block = answer.and_then(|answer| answer.nodes(Field::Content)?.first());
    let failed = block.is_some_and(|block| block.is_true(Field::IsError));
    let mut object = Object::open(out);
    let mut has_result = false;
    template::write(CALL, node, &kept, &mut object, &mut |key, value, object| {
        let status = kept.member("status").and_then(|status| status.text());
        let fits = matches!(status.as_deref(), Some("error" | "cancelled")) == failed;
        match (key, block) {
            ("result", Some(block)) => {
                has_result = true;
                let form = answer.and_then(|it| it.json(Field::Extra)?.member("result"));
                let status = status.as_deref().or(failed.then_some("error"));
                let id = node.json(Field::Id).cloned().unwrap_or_default();
                let name = node.json(Field::Name);
                let result = result::written(&id, name, block, form.as_ref(), status);
                let result = result::current(result, &id, results);
                object.member(key, result.as_bytes());
            }
            ("result", None) if value == template::PLACE => {}
            ("status", Some(_)) if value == template::PLACE || !fits => {
                object.member(key, if failed { b"\"error\"" } else { b"\"success\"" });
            }
            ("status", None) if value == template::PLACE => {}
            ("timestamp", _) if value == template::PLACE => {
                let time = answer.and_then(|it| it.json(Field::Time)).or(time);
                object.member(key, time.map_or(&b"\"\""[..], Json::as_bytes));
            }
            _ => return false,
        }
        true
    });
    if let Some(block) = block.filter(|_| !has_result) {
        let id = node.json(Field::Id).cloned().unwrap_or_default();
        let result = result::usual(&id, node.json(Field::Name), block);
        object.member("result", result.as_bytes());
        if kept.member("status").is_none() {
            object.member("status", if failed { b"\"error\"" } else { b"\"success\"" });
        }
    }
    object.close();
}

/// Writes a message by its template, with the results of its calls.
pub fn write(node: &Node, results: &[Node], out: &mut Vec<u8>) {
    let kept = node.json(Field::Extra).cloned().unwrap_or(Json::constant("{}"));
    let text = node.json(Field::Content).filter(|text| !text.is_null()).cloned().map(block::text);
    let blocks = attached(node);
    let is_apart =
        |name: &'static str| move |node: &&Node| node.is(Field::Type, name) && !part::is_part(node);
    let content: Vec<&Node> =
        text.iter().chain(&blocks).filter(|node| part::is_part(node)).collect();
    let thoughts: Vec<&Node> = blocks.iter().filter(is_apart(block::THINKING)).collect();
    let calls: Vec<&Node> = blocks.iter().filter(is_apart(block::TOOL_CALL)).collect();
    let time = node.json(Field::Time);
    let mut open: Vec<&Node> = results.iter().collect();
    let mut answers = Vec::new();
    for call in &calls {
        let own = call.json(Field::Id);
        let place = open.iter().position(|result| call_of(result).as_ref() == own);
        answers.push(place.map(|place| open.remove(place)));
    }
    let write_calls = |out: &mut Vec<u8>| {
        let mut pairs = calls.iter().zip(&answers);
        list(&mut pairs, out, |(call, answer), out| {
            write_call(call, time, (*answer, results), out);
        });
    };
    let write_thoughts =
        |out: &mut Vec<u8>| list(thoughts.iter(), out, |own, out| write_thought(own, time, out));
    let (mut has_content, mut has_calls, mut has_thoughts) = (false, false, false);
    let mut object = Object::open(out);
    let shown = [wire::VERSIONS, BLOCKS]
        .iter()
        .fold(kept.clone(), |kept, name| without(&kept, name).unwrap_or(Json::constant("{}")));
    template::write(MESSAGE, node, &shown, &mut object, &mut |key, value, object| {
        match key {
            "type" => {
                let is_answer = node.is(Field::Role, "assistant");
                object.member(key, if is_answer { b"\"gemini\"" } else { b"\"user\"" });
            }
            "content" => {
                has_content = true;
                let beside: Vec<&Node> = calls.iter().chain(&thoughts).copied().collect();
                match placed(node, &content, &beside) {
                    Some(parts) => list(&parts, object.key(key), |own, out| {
                        out.extend_from_slice(own.as_bytes());
                    }),
                    None => write_content(&content, value, object.key(key)),
                }
            }
            "thoughts" if value == template::PLACE => {
                has_thoughts = true;
                write_thoughts(object.key(key));
            }
            "toolCalls" if value == template::PLACE => {
                has_calls = true;
                write_calls(object.key(key));
            }
            "tokens" => match node.node(Field::Usage) {
                Some(usage) => wire::write_tokens(usage, value, object.key(key)),
                None if value.starts_with(b"{") => {}
                None => return false,
            },
            _ => return false,
        }
        true
    });
    if !has_content && !content.is_empty() {
        write_content(&content, b"0", object.key("content"));
    }
    if !has_thoughts && !thoughts.is_empty() {
        write_thoughts(object.key("thoughts"));
    }
    if !has_calls && !calls.is_empty() {
        write_calls(object.key("toolCalls"));
    }
    object.close();
}

/// Returns the call to which a message with a result belongs.
pub fn call_of(result: &Node) -> Option<Json> {
    let blocks = result.nodes(Field::Content)?;
    blocks
        .first()
        .filter(|block| block.is(Field::Type, block::TOOL_RESULT))?
        .json(Field::Call)
        .cloned()
}

/// Writes content: a text alone as the text, if it was one, and a list otherwise.
fn write_content(parts: &[&Node], own: &[u8], out: &mut Vec<u8>) {
    let is_list = own == b"[]" || (own == b"{}" && parts.len() != 1);
    match parts {
        [] if !is_list => out.extend_from_slice(if own == template::PLACE { b"\"\"" } else { own }),
        [only]
            if !is_list
                && own != b"{}"
                && only.is(Field::Type, block::TEXT)
                && only.get(Field::Extra).is_none() =>
        {
            out.extend_from_slice(only.json(Field::Text).map_or(&b"\"\""[..], Json::as_bytes));
        }
        [only] if own == b"{}" => part::write(only, out),
        parts => list(parts.iter(), out, |own, out| part::write(own, out)),
    }
}

/// Returns a value from its spelling.
pub fn json(text: &[u8]) -> Json {
    Json::trusted(Bytes::copy_from_slice(text))
}
