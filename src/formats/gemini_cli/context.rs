//! Messages that the program sends when it resumes a session: contents of Gemini's interface.
//!
//! Thoughts are removed, neighbours of one role are joined, and results that a line repeats are sent
//! twice. A call without a result is sent as it is.
//!
//! Source: `convertSessionToClientHistory` in the bundle of 0.61.0, and its requests.

use super::{log, message, part, result};
use crate::format::{Context, Corrections};
use crate::json::Json;
use crate::mapping::{Extra, Object};
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::collections::{HashMap, HashSet};

/// Begins a context.
pub fn open(_: &Record) -> Box<dyn Context> {
    Box::<Messages>::default()
}

/// Layout of a message that repeats results, which only Gemini's interface gets.
const REPEATED: &str = "repeated";

/// Layout of results behind which parts repeat them.
const LISTED: &str = "listed again";

/// Answer that the program puts behind results that no answer follows.
const INTERRUPTED: &str = "[The previous response was interrupted before it completed.]";

#[derive(Default)]
struct Messages {
    /// Names of the calls, by their identifiers.
    names: HashMap<Json, Json>,
    /// Results of the last answer.
    results: Vec<Node>,
    /// Number of calls of the last answer without a result so far.
    open: usize,
    /// Contents of messages in which the program lists the results of an answer once more, by the
    /// identifiers of the answers.
    listed: HashMap<String, Json>,
    /// Identifier of the last answer and content of its message, until its results are there.
    due: Option<(String, Json)>,
    /// Answers whose results were repeated.
    again: HashSet<String>,
}

impl Context for Messages {
    fn pass(&mut self, record: &Record) {
        let data = record.node.json(Field::Data).filter(|_| record.is_repetition());
        let Some(data) = data else { return };
        let id = data.text_of("id").unwrap_or_default();
        let answer = id.strip_suffix(log::LISTED_AGAIN).map(str::to_owned);
        self.listed.extend(answer.zip(data.member("content")));
    }

    fn message(&mut self, _: u32, record: &Record) -> Option<Record> {
        let node = &record.node;
        if record.is_repetition() {
            let id = node.text(Field::Id).unwrap_or_default();
            if id.strip_suffix(log::LISTED_AGAIN).is_some_and(|id| self.again.contains(id)) {
                return None;
            }
            let parts = self.repeated(&node.json(Field::Data)?.member("content")?);
            let mut repeated = Record::new(Kind::Message);
            for field in [Field::Id, Field::Parent, Field::Time] {
                repeated.node.put(field, node.json(field).cloned());
            }
            repeated.node.set(Field::Role, Json::constant("\"tool\""));
            repeated.node.set(Field::Layout, Json::string(REPEATED));
            repeated.node.set(Field::Content, parts);
            return Some(repeated);
        }
        if record.kind != Kind::Message || record.is_aside() {
            return None;
        }
        if node.is(Field::Role, "assistant") {
            self.results.clear();
            self.open = 0;
            for call in node.blocks_of(block::TOOL_CALL) {
                let pair = call.json(Field::Id).cloned().zip(call.json(Field::Name).cloned());
                self.names.extend(pair);
                self.open += 1;
            }
            // A message that came again keeps its identifier beside its record's.
            let own = node.json(Field::Extra).and_then(|extra| extra.member("id")?.text());
            let own = own.or_else(|| node.text(Field::Id));
            self.due = own.and_then(|id| self.listed.remove_entry(&id));
        } else if node.is(Field::Role, "tool") && !super::write::is_own(node) {
            self.results.push(node.clone());
            let results = node.content();
            self.open = self.open.saturating_sub(results.len());
            if self.open == 0
                && let Some((answer, content)) = self.due.take()
            {
                self.again.insert(answer);
                let mut record = record.clone();
                record.node.set(Field::Layout, Json::string(LISTED));
                if let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content) {
                    blocks.extend(self.repeated(&content));
                }
                return Some(record);
            }
        }
        Some(record.clone())
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        let node = &message.node;
        let blocks = node.nodes(Field::Content);
        let is_empty =
            blocks.is_some_and(|all| all.iter().all(|own| own.is(Field::Type, block::THINKING)));
        let mut sent = (!is_empty && !node.is(Field::Layout, REPEATED)).then(|| node.clone())?;
        if node.is(Field::Layout, LISTED)
            && let Some(Value::Nodes(blocks)) = sent.get_mut(Field::Content)
        {
            blocks.retain(|block| !block.is(Field::Type, block::OPAQUE));
        }
        Some(sent)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        let parts = self.parts(&message.node);
        if parts.is_empty() {
            return;
        }
        let is_answer = message.node.is(Field::Role, "assistant");
        let mut object = Object::open(out);
        object.member("role", if is_answer { b"\"model\"" } else { b"\"user\"" });
        let list = object.key("parts");
        list.push(b'[');
        for (number, own) in parts.iter().enumerate() {
            if number > 0 {
                list.push(b',');
            }
            list.extend_from_slice(own.json(Field::Data).map_or(&b"{}"[..], Json::as_bytes));
        }
        list.push(b']');
        object.close();
    }

    fn own_corrections(&self) -> Option<Box<dyn Corrections>> {
        Some(Box::new(Joined { names: HashMap::new(), held: None }))
    }
}

/// Returns a part as it is, for the messages of Gemini's interface.
fn raw(text: Vec<u8>) -> Node {
    block::of(block::OPAQUE).with(Field::Data, Json::trusted(text.into()))
}

impl Messages {
    /// Returns the parts of a message that repeats results, in which calls may stand for their
    /// results.
    fn repeated(&self, content: &Json) -> Vec<Node> {
        let mut parts = Vec::new();
        for part in content.elements() {
            if !part.is_string() {
                parts.push(sent_part(&part));
                continue;
            }
            let is_its = |own: &&Node| message::call_of(own).as_ref() == Some(&part);
            for own in self.results.iter().filter(is_its) {
                let block = own.nodes(Field::Content).and_then(<[Node]>::first);
                let all = block.map(|block| result_parts(own, block, &part, &self.names));
                let its = all.map(|all| result::of_call(all, &part)).unwrap_or_default();
                parts.extend(its.iter().map(sent_part));
            }
        }
        parts
    }

    fn parts(&self, node: &Node) -> Vec<Node> {
        parts(node, &self.names)
    }
}

/// Returns what is sent of a message.
fn parts(node: &Node, names: &HashMap<Json, Json>) -> Vec<Node> {
    let text = node.json(Field::Content).filter(|text| !text.is_null()).cloned().map(block::text);
    let blocks = super::blocks::attached(node);
    let is = |own: &Node, name: &str| own.is(Field::Type, name);
    let has_own = blocks
        .iter()
        .any(|own| part::is_part(own) && (is(own, block::TOOL_CALL) || is(own, block::THINKING)));
    let mut has_thought = false;
    let mut all = Vec::new();
    for own in text.iter().chain(&blocks) {
        let is_call = is(own, block::TOOL_CALL);
        if is(own, block::THINKING) {
            has_thought |= !has_own || part::is_part(own);
            continue;
        }
        if has_own && !part::is_part(own) {
            continue;
        }
        let mut out = Vec::new();
        match own.json(Field::Call).filter(|_| is(own, block::TOOL_RESULT)) {
            Some(call) if !super::write::is_own(node) => {
                all.extend(result_parts(node, own, call, names).iter().map(sent_part));
                continue;
            }
            _ if is_call && !part::is_part(own) => call_of(own, has_thought, &mut out),
            _ => part::write(own, &mut out),
        }
        has_thought &= !is_call;
        all.push(sent_part(&message::json(&out)));
    }
    all
}

/// Returns the parts of a result, `block` of the message `node`, as a session holds them.
fn result_parts(node: &Node, block: &Node, call: &Json, names: &HashMap<Json, Json>) -> Vec<Json> {
    let form = node.json(Field::Extra).and_then(|extra| extra.member("result"));
    let failed = block.is_true(Field::IsError).then_some("error");
    let name = names.get(call).or(block.json(Field::Name));
    let list = result::written(call, name, block, form.as_ref(), failed);
    match list.is_list() {
        true => list.elements().collect(),
        false => result::usual(call, name, block).elements().collect(),
    }
}

/// Returns a part as it is sent.
fn sent_part(part: &Json) -> Node {
    raw(plain(part).as_bytes().to_vec())
}

/// Writes a call. Behind thoughts, whose signature is not in the session, it gets another one.
fn call_of(call: &Node, has_thought: bool, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let mut inner = Object::open(object.key("functionCall"));
    for (name, field) in [("id", Field::Id), ("name", Field::Name), ("args", Field::Arguments)] {
        call.json(field).into_iter().for_each(|value| inner.member(name, value.as_bytes()));
    }
    inner.close();
    if has_thought {
        object.member("thoughtSignature", b"\"skip_thought_signature_validator\"");
    }
    object.close();
}

/// Returns a part in which the identifier of a call has no name of a tool before it.
fn plain(part: &Json) -> Json {
    let mut out = Extra::default();
    for (key, value) in part.members() {
        let value = message::json(value);
        let text = |name: &str| value.member(name)?.text();
        let bare = text("name").zip(text("id")).and_then(|(name, id)| {
            let bare = id.strip_prefix(&format!("{name}__"))?;
            Some(super::log::with_member(&value, "id", Json::string(bare).as_bytes()))
        });
        out.add(key, bare.as_ref().unwrap_or(&value).as_bytes());
    }
    out.finish().unwrap_or_else(|| part.clone())
}

/// Joins neighbours of one role.
struct Joined {
    names: HashMap<Json, Json>,
    held: Option<Node>,
}

impl Corrections for Joined {
    fn message(&mut self, node: Node, out: &mut Vec<Node>) {
        for call in node.content() {
            let pair = call.json(Field::Id).cloned().zip(call.json(Field::Name).cloned());
            self.names.extend(pair.filter(|_| call.is(Field::Type, block::TOOL_CALL)));
        }
        let own = parts(&node, &self.names);
        if own.is_empty() {
            return;
        }
        let role = if node.is(Field::Role, "assistant") { "assistant" } else { "user" };
        if let Some(held) = self.held.as_mut().filter(|held| held.is(Field::Role, role))
            && let Some(Value::Nodes(blocks)) = held.get_mut(Field::Content)
        {
            return blocks.extend(own);
        }
        let message =
            Node::default().with(Field::Role, Json::string(role)).with(Field::Content, own);
        out.extend(self.held.replace(message));
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        let ends_with_result = self.held.as_ref().is_some_and(|held| {
            let last = held.nodes(Field::Content).and_then(<[Node]>::last);
            let data = last.and_then(|last| last.json(Field::Data));
            data.is_some_and(|data| data.member("functionResponse").is_some())
        });
        out.extend(self.held.take());
        if ends_with_result {
            let text = format!("{{\"text\":\"{INTERRUPTED}\"}}");
            out.push(
                Node::default()
                    .with(Field::Role, Json::constant("\"assistant\""))
                    .with(Field::Content, vec![raw(text.into_bytes())]),
            );
        }
    }
}
