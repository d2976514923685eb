//! Steps as records: what a reader takes from a step alone, without what copyist keeps beside it.
//!
//! A step of the agent is its message, behind which come the results in its observation. Results
//! without a call are what the user's side observed, and so messages of the user, unless the step
//! has one call only.

use super::wire::{self, FILE};
use crate::json::{Json, text};
use crate::mapping::{Extra, Row};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// Layout of a message that the observation of a step contains.
pub const OBSERVED: &str = "observation";
/// Layout of a result whose call is the only one of its step, and not named.
pub const UNNAMED: &str = "unnamed";

/// Layout of a result that names a call of another step.
pub const ELSEWHERE: &str = "elsewhere";

/// Records of a step.
#[derive(Debug, Default)]
pub struct Step {
    /// Record of the step.
    pub main: Option<Record>,
    /// Records of its observation, each with what copyist keeps of it.
    pub results: Vec<(Record, Option<Json>)>,
    /// Value of `step_id`.
    pub number: Option<Json>,
    /// Data of the step that copyist keeps.
    pub ours: Option<Json>,
    /// Results that name a call of another step.
    pub elsewhere: Vec<Json>,
}

/// Returns the records of a step; `None` for a value of another shape.
pub fn read(text: &Bytes) -> Option<Step> {
    let step = Json::trusted(text.clone());
    let source = step.member("source").filter(|_| step.is_object())?.text()?;
    let role = match source.as_str() {
        "user" | "system" => source.as_str(),
        "agent" => "assistant",
        _ => return None,
    };
    let mut parts = Parts::default();
    let (mut node, mut extra, mut out) =
        (Node::with_capacity(10), Extra::default(), Step::default());
    for (key, value) in step.pairs() {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        let agent = role == "assistant";
        match name.as_str() {
            "source" => continue,
            "step_id" => out.number = Some(value),
            "message" if is_content(&value) => parts.message = Some(value),
            "reasoning_content" if agent && value.is_string() => parts.thinking = Some(value),
            "tool_calls" if agent => match calls(&value).filter(|calls| !calls.is_empty()) {
                Some(calls) => parts.calls = Some(calls),
                None => extra.add(key.as_bytes(), value.as_bytes()),
            },
            "observation" => parts.observation = Some(value),
            "metrics" if agent && value.is_object() => node.set(Field::Usage, usage(&value)),
            "extra" if value.is_object() => {
                let (rest, ours) = wire::divided(&value);
                out.ours = ours;
                rest.iter().for_each(|rest| extra.add(key.as_bytes(), rest.as_bytes()));
            }
            _ => match row(wire::STEP, &name, &value) {
                Some(field) => node.set(field, value),
                None => extra.add(key.as_bytes(), value.as_bytes()),
            },
        }
    }
    let mut main = Record { kind: Kind::Message, node };
    let observation = parts.observation.take();
    if let Some(summary) = observation.as_ref().and_then(|own| summary(&step, own)) {
        main.kind = Kind::Compaction;
        main.node.set(Field::Summary, summary);
        parts.message.iter().for_each(|message| extra.add(b"\"message\"", message.as_bytes()));
        main.node.take(Field::Model);
    } else {
        main.node.set(Field::Role, Json::string(role));
        parts.content(role, &mut main.node);
        let found = observation.as_ref().map(|own| results(own, &parts, &mut out));
        match (found, observation) {
            (Some(Some(results)), _) => out.results = results,
            (_, Some(own)) => extra.add(b"\"observation\"", own.as_bytes()),
            _ => {}
        }
    }
    extra.put(&mut main.node);
    out.main = Some(main);
    Some(out)
}

/// Members of a step that are not fields of its own.
#[derive(Default)]
struct Parts {
    message: Option<Json>,
    thinking: Option<Json>,
    calls: Option<Vec<Node>>,
    observation: Option<Json>,
}

impl Parts {
    /// Sets the content of a message: of an answer as blocks.
    fn content(&mut self, role: &str, node: &mut Node) {
        let message = self.message.take().map(|message| content(&message));
        if role != "assistant" {
            node.put(Field::Content, message);
            return;
        }
        let mut blocks = Vec::new();
        blocks.extend(
            self.thinking
                .take()
                .map(|thinking| block::of(block::THINKING).with(Field::Thinking, thinking)),
        );
        match message {
            Some(Value::Nodes(parts)) => blocks.extend(parts),
            Some(Value::Json(text)) if text.as_bytes() != b"\"\"" => blocks.push(block::text(text)),
            _ => {}
        }
        blocks.extend(self.calls.iter().flatten().cloned());
        node.set(Field::Content, blocks);
    }

    fn names(&self, call: &Json) -> bool {
        self.calls.iter().flatten().any(|own| own.json(Field::Id) == Some(call))
    }
}

/// Returns the field of a member with a row, if the value has its shape.
fn row(rows: &[Row], name: &str, value: &Json) -> Option<Field> {
    let row = rows.iter().find(|row| row.key == name && row.field != Field::Extra)?;
    let first = value.as_bytes().first()?;
    row.field.shape().admits(*first).then_some(row.field)
}

/// Reads an object by its rows; the other members are its unnamed ones. `take` is asked first.
pub fn object(
    value: &Json,
    rows: &[Row],
    node: &mut Node,
    take: &mut dyn FnMut(&str, &Json, &mut Node, &mut Extra) -> bool,
) {
    let mut extra = Extra::default();
    for (key, value) in value.pairs() {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        if take(&name, &value, node, &mut extra) {
            continue;
        }
        match row(rows, &name, &value) {
            Some(field) => node.set(field, value),
            None => extra.add(key.as_bytes(), value.as_bytes()),
        }
    }
    extra.put(node);
}

fn is_content(value: &Json) -> bool {
    value.is_string() || (value.is_list() && value.elements().all(|part| part.is_object()))
}

/// Returns content: a text as it is, and parts as blocks.
fn content(value: &Json) -> Value {
    if value.is_string() {
        return Value::Json(value.clone());
    }
    Value::Nodes(value.elements().map(|part| part_of(&part)).collect())
}

/// Returns the block of a part.
fn part_of(part: &Json) -> Node {
    let mut node = Node::with_capacity(3);
    let members = part.members().count();
    let kind = part.text_of("type").unwrap_or_default();
    let source = part.member("source").filter(|source| source.members().count() == 2);
    let of = |name| source.as_ref()?.member(name).filter(Json::is_string);
    match (kind.as_str(), part.member("text").filter(Json::is_string), of("path"), of("media_type"))
    {
        ("text", Some(text), ..) if members == 2 => return block::text(text),
        ("image", _, Some(path), Some(media)) if members == 2 => {
            node.set(Field::Type, block::type_of(block::IMAGE));
            let path = path.text().unwrap_or_default();
            node.set(Field::Data, Json::string(&format!("{FILE}{path}")));
            node.set(Field::MediaType, media);
        }
        _ => {
            node.set(Field::Type, block::type_of(block::OPAQUE));
            node.set(Field::Data, part.clone());
        }
    }
    node
}

/// Returns the calls of a list; `None` if one is of another shape.
fn calls(list: &Json) -> Option<Vec<Node>> {
    if !list.is_list() {
        return None;
    }
    let call = |call: Json| {
        let of = |name| call.member(name).filter(Json::is_string);
        (of("tool_call_id").is_some() && of("function_name").is_some()).then(|| {
            let mut node = block::of(block::TOOL_CALL);
            object(&call, wire::CALL, &mut node, &mut |name, value, node, extra| {
                let own = name == "arguments";
                if own {
                    node.set(Field::Arguments, value.clone());
                }
                // No valid document has others. It is written again as it is.
                if own && !value.is_object() {
                    extra.add(b"\"arguments\"", value.as_bytes());
                }
                own
            });
            node
        })
    };
    list.elements().map(call).collect()
}

/// Returns the tokens of an answer: those of the prompt without the ones of the cache.
fn usage(metrics: &Json) -> Node {
    let mut usage = Node::with_capacity(6);
    let count = |holder: &Json, name: &str| -> Option<u64> {
        let value = holder.member(name)?;
        std::str::from_utf8(value.as_bytes()).ok()?.parse().ok()
    };
    let inner = metrics.member("extra").filter(Json::is_object);
    let of_inner = |name| inner.as_ref().and_then(|inner| count(inner, name));
    let written = of_inner(wire::METRICS_EXTRA[0].0);
    let cached = count(metrics, "cached_tokens");
    let cache = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let input = count(metrics, "prompt_tokens").and_then(|all| all.checked_sub(cache));
    object(metrics, wire::METRICS, &mut usage, &mut |name, value, usage, extra| match name {
        "prompt_tokens" => {
            usage.put(Field::InputTokens, input.map(Json::number));
            input.is_some()
        }
        "cost_usd" if value.float().is_some() => {
            let cost = Node::default().with(Field::Total, value.clone());
            usage.set(Field::Cost, cost);
            true
        }
        "extra" if value.is_object() => {
            let mut rest = Extra::default();
            for (key, value) in value.pairs() {
                let known = wire::METRICS_EXTRA.iter().find(|(name, field)| {
                    // What is taken off the prompt must be added to it again.
                    let fits = *field != Field::CacheWrite || input.is_some();
                    text::is(key.as_bytes(), name) && of_inner(name).is_some() && fits
                });
                match known {
                    Some((_, field)) => usage.set(*field, value),
                    None => rest.add(key.as_bytes(), value.as_bytes()),
                }
            }
            let taken = METRICS_FIELDS.iter().any(|field| usage.get(*field).is_some());
            let rest = rest.finish().or_else(|| (!taken).then_some(Json::constant("{}")));
            rest.iter().for_each(|rest| extra.add(b"\"extra\"", rest.as_bytes()));
            true
        }
        _ => false,
    });
    usage
}

const METRICS_FIELDS: [Field; 2] = [Field::CacheWrite, Field::Reasoning];

/// Returns the summary of a step after which a model sees only that and what follows.
fn summary(step: &Json, observation: &Json) -> Option<Json> {
    let managed = step.member("extra")?.member("context_management")?;
    let is = |name: &str, text: &str| managed.member(name)?.text().filter(|own| own == text);
    is("boundary", "replace")?;
    if step.member("source").is_none_or(|source| source.as_bytes() != b"\"system\"") {
        return None;
    }
    let only =
        |object: &Json, name: &str| object.member(name).filter(|_| object.members().count() == 1);
    let list: Vec<Json> = only(observation, "results")?.elements().collect();
    let [result] = list.as_slice() else { return None };
    only(result, "content").filter(Json::is_string)
}

/// Returns the records of an observation; `None` if one of its results has another shape.
fn results(
    observation: &Json,
    parts: &Parts,
    out: &mut Step,
) -> Option<Vec<(Record, Option<Json>)>> {
    let list = observation.member("results").filter(|_| observation.members().count() == 1)?;
    let all: Vec<Json> = list.elements().collect();
    let calls: Vec<&Json> =
        parts.calls.iter().flatten().filter_map(|call| call.json(Field::Id)).collect();
    let only = match calls.as_slice() {
        [only] if all.len() == 1 => Some(*only),
        _ => None,
    };
    let is_known = |result: &Json| {
        let has = result.member("content").as_ref().is_some_and(is_content);
        let call = result.member("source_call_id").filter(Json::is_string);
        result.is_object() && (has || call.is_some() || only.is_some())
    };
    if all.is_empty() || !all.iter().all(is_known) {
        return None;
    }
    Some(all.iter().map(|result| one_result(result, only, parts, out)).collect())
}

fn one_result(
    result: &Json,
    only: Option<&Json>,
    parts: &Parts,
    out: &mut Step,
) -> (Record, Option<Json>) {
    let (mut node, mut record) = (Node::with_capacity(6), Record::new(Kind::Message));
    let mut ours = None;
    let alone = out.ours.as_ref().is_some_and(|ours| ours.member("alone").is_some());
    let named = result.member("source_call_id").as_ref().is_some_and(Json::is_string);
    let called = alone || only.is_some() || named;
    object(result, wire::RESULT, &mut node, &mut |name, value, node, extra| match name {
        "content" if is_content(value) => {
            node.set(Field::Content, content(value));
            true
        }
        "extra" if value.is_object() => {
            let (mut rest, own) = wire::divided(value);
            ours = own;
            let failed = value.member("is_error").filter(|value| value.as_bytes() == b"true");
            let failed = failed.filter(|_| called);
            if let Some(failed) = failed {
                node.set(Field::IsError, failed);
                rest = rest.and_then(|rest| crate::mapping::without(&rest, "is_error"));
            }
            rest.iter().for_each(|rest| extra.add(b"\"extra\"", rest.as_bytes()));
            true
        }
        _ => false,
    });
    if node.json(Field::Call).is_none() && only.is_some() {
        node.put(Field::Call, only.cloned());
        record.node.set(Field::Layout, Json::string(UNNAMED));
    }
    let call = node.json(Field::Call).cloned();
    if call.is_none() && !alone {
        record.node.set(Field::Role, Json::constant("\"user\""));
        record.node.set(Field::Layout, Json::string(OBSERVED));
        for field in [Field::Content, Field::Extra] {
            record.node.put(field, node.take(field));
        }
        return (record, ours);
    }
    if let Some(call) = call.filter(|call| !parts.names(call)) {
        record.node.set(Field::Layout, Json::string(ELSEWHERE));
        out.elsewhere.push(call);
    }
    node.set(Field::Type, block::type_of(block::TOOL_RESULT));
    record.node.set(Field::Role, Json::constant("\"tool\""));
    record.node.set(Field::Content, vec![node]);
    (record, ours)
}
