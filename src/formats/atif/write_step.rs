//! Records as steps.

use super::read_step::{OBSERVED, UNNAMED};
use super::wire::{self, FILE, IMAGES, SEAM};
use crate::context_rules;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, without};
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::times;

/// Message of a step with a summary.
const COMPACTED: &str = "\"Context compaction performed\"";

/// Names the file of an image, by its type and data; `None` if there is no room for files.
pub type Files<'f> = &'f mut dyn FnMut(&str, &Json) -> Option<String>;

/// Step that is written.
#[derive(Debug, Default)]
pub struct Draft<'r> {
    /// Number of the step.
    pub number: u64,
    /// Record of the step; without one it has results only.
    pub main: Option<&'r Record>,
    /// Records of its observation.
    pub results: &'r [Record],
    /// Whether the records come from a trajectory.
    pub own: bool,
    /// Whether the step repeats an earlier one.
    pub copied: bool,
    /// Data of the step, and of each result, that copyist keeps.
    pub ours: Option<Json>,
    pub of_results: Vec<Option<Json>>,
    /// Calls that started sub-agents whose trajectories are in the document.
    pub agents: &'r [Json],
}

impl Draft<'_> {
    /// Appends the step.
    pub fn write(&self, files: Files<'_>, out: &mut Vec<u8>) {
        let empty = Record::new(Kind::Message);
        let main = self.main.unwrap_or(&empty);
        let shape = Shape::of(main, self.main.is_none());
        let node = shape.node.as_ref().unwrap_or(&main.node);
        let extra = node.json(Field::Extra).filter(|_| self.own && shape.node.is_none());
        let kept = |name: &str| extra.and_then(|extra| extra.member(name));
        // Members that another place of this function writes.
        let others = extra.and_then(|extra| match main.kind {
            Kind::Compaction => without(extra, "message"),
            _ => Some(extra.clone()),
        });
        let mut object = Object::open(out);
        object.in_order(wire::STEP, node, others.as_ref(), &mut |row, object| {
            match row.key {
                "step_id" => object.member(row.key, self.number.to_string().as_bytes()),
                "timestamp" => return self.time(node, object),
                "source" => text::quote(shape.source, object.key(row.key)),
                "model_name" if shape.source != "agent" => return kept(row.key).is_none(),
                "message" if main.kind == Kind::Compaction => {
                    let message = kept(row.key).unwrap_or(Json::constant(COMPACTED));
                    object.member(row.key, message.as_bytes());
                }
                "message" => {
                    let listed = [self.own, self.own && shape.source != "agent"];
                    return message(node, kept(row.key).is_some(), listed, files, object);
                }
                "reasoning_content" => return reasoning(node, object),
                "tool_calls" => return calls(node, self.own, object),
                "observation" => return self.observation(main, files, object),
                "metrics" => match node.node(Field::Usage).filter(|_| !self.copied) {
                    Some(usage) if shape.source == "agent" => {
                        metrics(usage, self.own, object.key(row.key));
                    }
                    _ => return self.copied,
                },
                "is_copied_context" if self.copied => object.member(row.key, b"true"),
                "extra" => {
                    let extra = self.extra(main, kept(row.key));
                    extra.iter().for_each(|extra| object.member(row.key, extra.as_bytes()));
                }
                _ => return false,
            }
            true
        });
        object.close();
    }

    /// Writes the time; one of another format in the notation that every reader knows.
    fn time(&self, node: &Node, object: &mut Object<'_>) -> bool {
        if self.own {
            return false;
        }
        let time = node.json(Field::Time).and_then(times::of).map(times::with_millis);
        time.iter().for_each(|time| text::quote(time, object.key("timestamp")));
        true
    }

    fn extra(&self, main: &Record, kept: Option<Json>) -> Option<Json> {
        let managed = (main.kind == Kind::Compaction && kept.is_none()).then_some(Json::constant(
            r#"{"context_management":{"type":"compaction","boundary":"replace"}}"#,
        ));
        wire::with_ours(kept.or(managed).as_ref(), self.ours.as_ref())
    }

    fn observation(&self, main: &Record, files: Files<'_>, object: &mut Object<'_>) -> bool {
        if main.kind == Kind::Compaction {
            let summary = main.node.json(Field::Summary).map_or(&b"\"\""[..], Json::as_bytes);
            let results = [b"{\"results\":[{\"content\":", summary, b"}]}"].concat();
            object.member("observation", &results);
            return true;
        }
        if self.results.is_empty() {
            return false;
        }
        let mut items = Vec::new();
        for (place, record) in self.results.iter().enumerate() {
            let mut item = Vec::new();
            let ours = self.of_results.get(place).and_then(Option::as_ref);
            self.result(record, ours, files, &mut item);
            items.push(Json::trusted(item.into()));
        }
        let results = [b"{\"results\":", Json::list(&items).as_bytes(), b"}"].concat();
        object.member("observation", &results);
        true
    }

    fn result(&self, record: &Record, ours: Option<&Json>, files: Files<'_>, out: &mut Vec<u8>) {
        let observed = record.node.is(Field::Layout, OBSERVED);
        let block = record.node.nodes(Field::Content).and_then(<[Node]>::first);
        let node = block.filter(|_| !observed).unwrap_or(&record.node);
        let extra = node.json(Field::Extra).filter(|_| self.own);
        let kept = |name: &str| extra.and_then(|extra| extra.member(name));
        let call = node.json(Field::Call).filter(|_| !observed);
        let named = call.filter(|call| {
            !record.node.is(Field::Layout, UNNAMED)
                && (self.own && self.main.is_some() || self.calls(call))
        });
        let mut object = Object::open(out);
        object.in_order(wire::RESULT, node, extra, &mut |row, object| {
            match row.key {
                "source_call_id" => match named {
                    Some(call) => object.member(row.key, call.as_bytes()),
                    None => return kept(row.key).is_none(),
                },
                "content" => {
                    let parts = match content_of(node) {
                        Some(content) => parts(content, [self.own; 2], files),
                        None if self.own => return false,
                        None => Json::constant("\"\""),
                    };
                    object.member(row.key, parts.as_bytes());
                }
                "subagent_trajectory_ref" => {
                    let call =
                        call.filter(|call| self.agents.contains(call) && kept(row.key).is_none());
                    let Some(call) = call else { return false };
                    let one = [b"[{\"trajectory_id\":", call.as_bytes(), b"}]"].concat();
                    object.member(row.key, &one);
                }
                "extra" => {
                    let mut extra = Extra::default();
                    kept(row.key).iter().for_each(|kept| extra.add_members(kept));
                    if node.is_true(Field::IsError) {
                        extra.add(b"\"is_error\"", b"true");
                    }
                    ours.iter().for_each(|ours| extra.add(b"\"copyist\"", ours.as_bytes()));
                    let extra = extra.finish().or_else(|| kept(row.key));
                    extra.iter().for_each(|extra| object.member(row.key, extra.as_bytes()));
                }
                _ => return false,
            }
            true
        });
        object.close();
    }

    /// Whether the step has this call.
    fn calls(&self, call: &Json) -> bool {
        self.main.is_some_and(|main| has_call(&main.node, call))
    }
}

/// Whether a message calls a tool by this identifier.
pub fn has_call(node: &Node, call: &Json) -> bool {
    let mut blocks = node.content().iter();
    blocks.any(|own| own.is(Field::Type, block::TOOL_CALL) && own.json(Field::Id) == Some(call))
}

/// Returns the content of a result, in either of its forms.
fn content_of(node: &Node) -> Option<&Value> {
    node.get(Field::Content).or_else(|| node.get(Field::Output))
}

/// Form of a record in a step.
struct Shape {
    source: &'static str,
    /// Message that is sent of the record, where that is not the record itself.
    node: Option<Node>,
}

impl Shape {
    fn of(record: &Record, alone: bool) -> Self {
        let is = |role| record.kind == Kind::Message && record.node.is(Field::Role, role);
        let source = match record.kind {
            _ if alone => "system",
            Kind::Compaction => "system",
            _ if is("assistant") => "agent",
            _ if is("system") => "system",
            _ => "user",
        };
        let is_plain = alone || record.kind == Kind::Compaction || is("user") || source != "user";
        let node = (!is_plain).then(|| words(record).unwrap_or_default());
        Self { source, node }
    }
}

/// Returns the message that is sent of a command, a summary of a branch or a message of an
/// extension.
pub fn words(record: &Record) -> Option<Node> {
    let mut node = context_rules::message(record, false)?;
    node.put(Field::Time, record.node.json(Field::Time).cloned());
    node.take(Field::Extra);
    Some(node)
}

/// Writes the message of a step.
fn message(
    node: &Node,
    kept: bool,
    listed: [bool; 2],
    files: Files<'_>,
    object: &mut Object<'_>,
) -> bool {
    let content = node.get(Field::Content);
    if kept && content.is_none_or(|content| *content == Value::Nodes(Vec::new())) {
        return false;
    }
    let parts = content.map_or(Json::constant("\"\""), |content| parts(content, listed, files));
    object.member("message", parts.as_bytes());
    true
}

/// Returns content as a text, or as parts if there are several, or a trajectory has them `listed`.
/// Thoughts, calls and results are elsewhere.
fn parts(content: &Value, [own, listed]: [bool; 2], files: Files<'_>) -> Json {
    let blocks = match content {
        Value::Json(text) if text.is_null() => return Json::constant("\"\""),
        Value::Json(text) => return text.clone(),
        Value::Nodes(blocks) => blocks.as_slice(),
        Value::Node(_) => &[],
    };
    let parts: Vec<(Json, bool)> =
        blocks.iter().filter_map(|block| part(block, own, files)).collect();
    match parts.as_slice() {
        [] if !listed => Json::constant("\"\""),
        [(part, true)] if !listed => part.member("text").unwrap_or_default(),
        parts => Json::list(parts.iter().map(|(part, _)| part)),
    }
}

/// Returns the part of a block, and whether it is a text.
fn part(node: &Node, own: bool, files: Files<'_>) -> Option<(Json, bool)> {
    let kind = node.text(Field::Type).unwrap_or_default();
    let text = |text: &Json| {
        let part = [b"{\"type\":\"text\",\"text\":", text.as_bytes(), b"}"].concat();
        Some((Json::trusted(part.into()), true))
    };
    match kind.as_str() {
        block::TEXT => text(node.json(Field::Text)?),
        block::THINKING | block::TOOL_CALL | block::TOOL_RESULT => None,
        block::OPAQUE if is_part(node) => Some((node.json(Field::Data)?.clone(), false)),
        _ => match image(node, own, files) {
            Some(part) => Some((part, false)),
            None => text(block::placeholder(node).json(Field::Text)?),
        },
    }
}

/// Whether a block is a part that copyist does not understand, such as audio.
fn is_part(node: &Node) -> bool {
    let data = node.json(Field::Data);
    let path = data.and_then(|data| data.member("source")?.member("path"));
    path.is_some_and(|path| path.is_string())
}

/// Returns the part of an image, which is in a file.
fn image(node: &Node, own: bool, files: Files<'_>) -> Option<Json> {
    let media = node.text(Field::MediaType).filter(|_| node.is(Field::Type, block::IMAGE))?;
    IMAGES.iter().find(|(known, _)| *known == media)?;
    let data = node.json(Field::Data)?;
    let text = data.text()?;
    let path = match text.strip_prefix(FILE) {
        Some(path) => own.then(|| path.to_owned()),
        None => files(&media, data),
    }?;
    let (media, path) = (Json::string(&media), Json::string(&path));
    let head = b"{\"type\":\"image\",\"source\":{\"media_type\":";
    let part = [head, media.as_bytes(), b",\"path\":", path.as_bytes(), b"}}"].concat();
    Some(Json::trusted(part.into()))
}

/// Writes the thoughts of an answer as one text.
fn reasoning(node: &Node, object: &mut Object<'_>) -> bool {
    let thoughts = node.blocks_of(block::THINKING);
    let texts: Vec<&Json> = thoughts.filter_map(|block| block.json(Field::Thinking)).collect();
    let seam = Json::string(SEAM);
    let is_said = |text: &&Json| text.as_bytes() != b"\"\"" || texts.len() == 1;
    let joined = texts.iter().copied().filter(is_said).cloned();
    let joined = joined.reduce(|all, text| all.joined(&seam).joined(&text));
    joined.iter().for_each(|text| object.member("reasoning_content", text.as_bytes()));
    joined.is_some()
}

fn calls(node: &Node, own: bool, object: &mut Object<'_>) -> bool {
    let calls = node.blocks_of(block::TOOL_CALL);
    let items: Vec<Json> = calls.map(|call| call_of(call, own)).collect();
    if !items.is_empty() {
        object.member("tool_calls", Json::list(&items).as_bytes());
    }
    !items.is_empty()
}

fn call_of(call: &Node, own: bool) -> Json {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    let mut extra = call.json(Field::Extra).filter(|_| own).cloned();
    let given = extra.as_ref().and_then(|extra| extra.member("arguments"));
    if given.is_some() {
        extra = extra.and_then(|extra| without(&extra, "arguments"));
    }
    let given = given.filter(|given| call.json(Field::Arguments) == Some(given));
    let arguments = given.unwrap_or_else(|| arguments(call));
    object.in_order(wire::CALL, call, extra.as_ref(), &mut |row, object| {
        match row.key {
            "arguments" => object.member(row.key, arguments.as_bytes()),
            key if key != "extra" && call.json(row.field).is_none() => object.member(key, b"\"\""),
            _ => return false,
        }
        true
    });
    object.close();
    Json::trusted(out.into())
}

/// Returns the arguments of a call as an object.
fn arguments(call: &Node) -> Json {
    let given = call.json(Field::Arguments);
    match given {
        Some(given) if given.is_object() => given.clone(),
        Some(given) if given.is_string() && given.parsed().is_none_or(|p| !p.is_object()) => {
            Json::trusted([b"{\"input\":", given.as_bytes(), b"}"].concat().into())
        }
        _ => block::arguments(call).0,
    }
}

/// Writes tokens and cost: those of the prompt with the ones of the cache.
fn metrics(usage: &Node, own: bool, out: &mut Vec<u8>) {
    let extra = usage.json(Field::Extra).filter(|_| own);
    let count = |field| usage.json(field).and_then(Json::float).filter(|n: &f64| *n >= 0.0);
    let prompt = count(Field::InputTokens).map(|input| {
        let cache = [Field::CacheRead, Field::CacheWrite].into_iter().filter_map(count);
        input + cache.sum::<f64>()
    });
    let whole = |number: f64| Json::number(number as u64);
    let mut object = Object::open(out);
    object.in_order(wire::METRICS, usage, extra, &mut |row, object| {
        match row.key {
            "prompt_tokens" => {
                let Some(prompt) = prompt else { return false };
                object.member(row.key, whole(prompt).as_bytes());
            }
            "completion_tokens" | "cached_tokens" if !own => {
                let count = count(row.field);
                count.iter().for_each(|n| object.member(row.key, whole(*n).as_bytes()));
            }
            "cost_usd" => {
                let cost = usage.node(Field::Cost).and_then(|cost| cost.json(Field::Total));
                let cost = cost.filter(|cost| own || cost.float().is_some_and(f64::is_finite));
                let Some(cost) = cost else { return false };
                object.member(row.key, cost.as_bytes());
            }
            "extra" => {
                let mut inner = Extra::default();
                let kept = extra.and_then(|extra| extra.member(row.key));
                kept.iter().for_each(|kept| inner.add_members(kept));
                for (name, field) in wire::METRICS_EXTRA {
                    if let Some(n) = count(field) {
                        inner.add(Json::string(name).as_bytes(), whole(n).as_bytes());
                    }
                }
                let inner = inner.finish().or(kept);
                inner.iter().for_each(|inner| object.member(row.key, inner.as_bytes()));
            }
            _ => return false,
        }
        true
    });
    object.close();
}
