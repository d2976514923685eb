//! Messages of a document as records, and back.
//!
//! A message is `{"info":…,"parts":[…]}`. The template of the item is the unnamed data of its
//! record: in the list of parts, content has places, and other parts are kept as they are.

use super::part::{self, Around, Content, Outcome, fits, is, list_of, place_of};
use super::wire::{self, MESSAGE, MESSAGE_TIMES, kept, read_times};
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Object, Source, template, whole};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// Layout of a record that continues the message before it with a further step.
pub const STEP: Json = Json::constant("\"step\"");

/// Layout of a result whose text the program no longer sends.
pub const CLEARED: &str = "cleared";

/// Layout of a compaction of release 2, which is sent as one message of the user.
pub const SECOND: &str = "second";

/// Message of a document.
#[derive(Clone, Debug)]
pub struct Item {
    /// Text, on one line.
    pub text: Bytes,
    pub info: Json,
    /// Parts in the order in which the program reads them.
    pub parts: Vec<Json>,
}

impl Item {
    /// Returns the message that a value is; `None` for a value of another shape.
    pub fn of(text: Bytes) -> Option<Self> {
        let value = Json::trusted(text.clone());
        let (info, parts) = (value.member("info")?, value.member("parts")?);
        let role = info
            .member("role")
            .filter(|role| is(Some(role), "user") || is(Some(role), "assistant"));
        let id = info.member("id").and_then(|id| id.text());
        let well = role.is_some() && id.is_some() && parts.as_bytes().starts_with(b"[");
        let mut parts: Vec<Json> = parts.elements().collect();
        let key = |part: &Json| part.member("id").and_then(|id| id.text());
        parts.sort_by_cached_key(key);
        let twice = ["info", "parts"]
            .iter()
            .any(|name| value.members().filter(|(key, _)| text::is(key, name)).count() > 1);
        (well && !twice).then_some(Self { text, info, parts })
    }

    /// Returns a member of `info`.
    pub fn info(&self, name: &str) -> Option<Json> {
        self.info.member(name)
    }

    /// Returns a text of `info`; empty if there is none.
    pub fn text_of(&self, name: &str) -> String {
        self.info(name).and_then(|value| value.text()).unwrap_or_default()
    }

    /// Returns the part of a compaction, if the message is the request for one.
    pub fn compaction(&self) -> Option<&Json> {
        let user = is(self.info("role").as_ref(), "user");
        self.parts.iter().find(|part| user && is(part.member("type").as_ref(), "compaction"))
    }

    /// Whether the message is the finished answer to a request for a compaction.
    pub fn sums_up(&self, request: &Self) -> bool {
        let is_true = |value: Json| value.as_bytes() == b"true";
        self.info("summary").is_some_and(is_true)
            && self.info("finish").is_some()
            && self.info("error").is_none()
            && self.text_of("parentID") == request.text_of("id")
    }

    /// Whether the program leaves out an answer because of its error.
    fn is_failed(&self) -> bool {
        let Some(error) = self.info("error").filter(|error| !error.is_null()) else { return false };
        let counts = |part: &Json| {
            let kind = part.member("type");
            !is(kind.as_ref(), "step-start") && !is(kind.as_ref(), "reasoning")
        };
        let aborted = is(error.member("name").as_ref(), "MessageAbortedError");
        !(aborted && self.parts.iter().any(counts))
    }
}

/// Returns the record of a value that is no message.
pub fn other(text: &Bytes) -> Result<Record, Fault> {
    whole(text, Some("message"))
}

/// Returns the record of a compaction: its request, and its answer.
pub fn compaction(request: &Item, answer: &Item) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Compaction);
    let node = &mut record.node;
    node.put(Field::Id, request.info("id"));
    read_times(&request.info("time").unwrap_or_default(), MESSAGE_TIMES, node);
    node.set(Field::Summary, summary(&answer.parts));
    let part = request.compaction();
    if part.is_some_and(|part| part.member("release").is_some()) {
        node.set(Field::Layout, Json::string(SECOND));
    }
    let first = part.and_then(|part| part.member("tail_start_id"));
    node.put(Field::FirstKept, first.filter(|first| first.text().is_some()));
    let mut extra = Extra::default();
    extra.add(b"\"request\"", &request.text);
    extra.add(b"\"answer\"", &answer.text);
    extra.put(node);
    Ok(record)
}

/// Returns the texts of these parts, joined.
fn summary(parts: &[Json]) -> Json {
    let texts = parts.iter().filter(|part| is(part.member("type").as_ref(), "text"));
    let texts = texts.filter_map(|part| part.member("text")).filter(|text| text.text().is_some());
    texts.reduce(|a, b| a.joined(&b)).unwrap_or(Json::constant("\"\""))
}

/// Writes the two messages of a compaction; false if the record has none. An edited summary is
/// written in the place of the first text.
pub fn write_compaction(
    node: &Node,
    put: &mut dyn FnMut(&[u8]) -> crate::error::Result<()>,
) -> crate::error::Result<bool> {
    let extra = node.json(Field::Extra);
    let member = |name: &str| extra.and_then(|extra| extra.member(name));
    let (Some(request), Some(answer)) = (member("request"), member("answer")) else {
        return Ok(false);
    };
    put(request.as_bytes())?;
    let parts: Vec<Json> = answer.member("parts").unwrap_or_default().elements().collect();
    let edited = node.json(Field::Summary).filter(|held| **held != summary(&parts));
    let Some(edited) = edited else { return put(answer.as_bytes()).map(|()| true) };
    let (mut written, mut once) = (Vec::new(), false);
    for part in parts {
        if !is(part.member("type").as_ref(), "text") {
            written.push(part);
        } else if !std::mem::replace(&mut once, true) {
            written.push(replaced(&part, "text", edited));
        }
    }
    put(replaced(&answer, "parts", &list_of(&written)).as_bytes()).map(|()| true)
}

/// Returns an object with another value of a member.
pub fn replaced(object: &Json, name: &str, value: &Json) -> Json {
    let mut out = Extra::default();
    for (key, own) in object.members() {
        out.add(key, if text::is(key, name) { value.as_bytes() } else { own });
    }
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Place of a message in its session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reverted<'a> {
    /// Whether the user took the message back.
    pub is_off: bool,
    /// First part that the user took back.
    pub from: Option<&'a str>,
}

/// Reads a message: the records of its steps, each with the results of its calls behind it.
///
/// # Errors
/// If the text is not JSON.
pub fn read(
    item: &Item,
    reverted: Reverted<'_>,
    at: Position,
) -> Result<Vec<Located<Record>>, Fault> {
    let mut steps = Steps {
        records: Vec::new(),
        blocks: Vec::new(),
        places: Vec::new(),
        results: Vec::new(),
        first: Some(Record::new(Kind::Message)),
        at,
    };
    let mut off = false;
    for own in &item.parts {
        let id = own.member("id");
        off |=
            reverted.from.is_some() && id.as_ref().and_then(Json::text).as_deref() == reverted.from;
        let starts = is(own.member("type").as_ref(), "step-start");
        if starts && !steps.results.is_empty() {
            steps.end();
        }
        let read = if off { None } else { part::read(own)? };
        let Some(Content { block, template, outcome }) = read else {
            steps.places.push(own.clone());
            continue;
        };
        steps.places.push(list_of(&[template]));
        if let Some(outcome) = outcome {
            let call = block.json(Field::Id).cloned();
            steps.results.push(result(id, call, outcome));
        }
        steps.blocks.push(block);
    }
    steps.end();
    let Steps { mut records, .. } = steps;
    if let Some(first) = records.first_mut() {
        info(item, &mut first.value.node)?;
    }
    if reverted.is_off || item.is_failed() || item.compaction().is_some() {
        for record in &mut records {
            record.value.node.set(Field::Excluded, Json::constant("true"));
        }
    }
    Ok(records)
}

/// Steps of a message while it is read.
struct Steps {
    records: Vec<Located<Record>>,
    blocks: Vec<Node>,
    /// Template of the list of parts.
    places: Vec<Json>,
    results: Vec<Record>,
    /// The first record, before it is complete.
    first: Option<Record>,
    at: Position,
}

impl Steps {
    /// Ends a step. All but the first have the identifiers of their first parts.
    fn end(&mut self) {
        let places = std::mem::take(&mut self.places);
        let first = self.first.take();
        let is_first = first.is_some();
        let mut record = first.unwrap_or_else(|| Record::new(Kind::Message));
        let node = &mut record.node;
        if !is_first {
            node.put(Field::Id, places.first().and_then(|start| start.member("id")));
            node.set(Field::Layout, STEP);
            node.set(Field::Role, Json::constant("\"assistant\""));
        }
        node.set(Field::Content, std::mem::take(&mut self.blocks));
        let mut extra = Extra::default();
        extra.add(b"\"parts\"", list_of(&places).as_bytes());
        extra.put(node);
        let results = std::mem::take(&mut self.results);
        let all = std::iter::once(record).chain(results);
        self.records.extend(all.map(|value| Located { value, at: self.at }));
    }
}

/// Returns the record of a result. Its identifier is that of the part.
fn result(id: Option<Json>, call: Option<Json>, outcome: Outcome) -> Record {
    let mut record = Record::new(Kind::Message);
    let node = &mut record.node;
    node.put(Field::Id, id.filter(|id| id.text().is_some()));
    node.put(Field::Time, outcome.time);
    node.set(Field::Role, Json::constant("\"tool\""));
    let mut block = Node::with_capacity(4);
    block.set(Field::Type, block::type_of(block::TOOL_RESULT));
    block.put(Field::Call, call);
    block.set(Field::Content, outcome.content);
    if outcome.is_error {
        block.set(Field::IsError, Json::constant("true"));
    }
    node.set(Field::Content, vec![block]);
    if outcome.is_cleared {
        node.set(Field::Layout, Json::string(CLEARED));
    }
    record
}

/// Reads the `info` of a message into its first record.
fn info(item: &Item, node: &mut Node) -> Result<(), Fault> {
    let parts = node.json(Field::Extra).and_then(|extra| extra.member("parts"));
    let mut own = Extra::default();
    let mut source = Source::new(item.info.bytes());
    let mut inner = Node::with_capacity(8);
    let (mut usage, mut cost) = (Node::default(), None);
    template::read(&mut source, MESSAGE, &mut inner, &mut own, &mut |source, key, own| {
        let name = source.spelling(key);
        if text::is(name, "time") {
            read_times(&kept(source, key, own)?, MESSAGE_TIMES, &mut usage);
        } else if text::is(name, "cost") {
            cost = Some(kept(source, key, own)?);
        } else if text::is(name, "error") {
            let error = kept(source, key, own)?;
            let message = error.member("data").and_then(|data| data.member("message"));
            usage
                .put(Field::Error, message.or(error.member("name")).filter(|m| m.text().is_some()));
        } else if text::is(name, "tokens")
            && let Some(tokens) = wire::read_tokens(source, &mut usage)?
        {
            own.add(name, tokens.as_bytes());
        } else {
            return Ok(false);
        }
        Ok(true)
    })?;
    if let Some(Value::Node(tokens)) = usage.get_mut(Field::Usage)
        && let Some(cost) = cost.filter(|cost| cost.float().is_some())
    {
        let mut total = Node::default();
        total.set(Field::Total, cost);
        tokens.set(Field::Cost, total);
    }
    for (field, value) in inner.iter().chain(usage.iter()) {
        node.set(field, value.clone());
    }
    let mut extra = Extra::default();
    for (key, value) in Json::trusted(item.text.clone()).members() {
        match key {
            b"\"info\"" => extra.add(key, own_or_empty(&mut own).as_bytes()),
            b"\"parts\"" => extra.add(key, parts.as_ref().map_or(&b"[]"[..], Json::as_bytes)),
            _ => extra.add(key, value),
        }
    }
    extra.put(node);
    Ok(())
}

fn own_or_empty(own: &mut Extra) -> Json {
    std::mem::take(own).finish().unwrap_or(Json::constant("{}"))
}

/// Message while it is written: the records of its steps, and the results of its calls.
#[derive(Debug, Default)]
pub struct Written {
    pub steps: Vec<Node>,
    pub results: Vec<Node>,
}

impl Written {
    /// Whether each call of the message has its result.
    pub fn is_answered(&self) -> bool {
        let blocks =
            self.steps.iter().flat_map(|step| step.nodes(Field::Content).unwrap_or_default());
        let calls = blocks.filter(|block| block.is(Field::Type, block::TOOL_CALL)).count();
        calls <= self.results.len()
    }

    /// Whether a call of the message waits for this result.
    pub fn calls_for(&self, result: &Node) -> bool {
        let Some(call) = result.json(Field::Call) else { return false };
        let blocks =
            self.steps.iter().flat_map(|step| step.nodes(Field::Content).unwrap_or_default());
        let calls = blocks.filter(|block| block.is(Field::Type, block::TOOL_CALL));
        let calls = calls.filter(|block| block.json(Field::Id) == Some(call)).count();
        self.results.iter().filter(|own| own.json(Field::Call) == Some(call)).count() < calls
    }

    /// Writes the message.
    pub fn write(mut self, around: Around<'_>, out: &mut Vec<u8>) {
        let steps = std::mem::take(&mut self.steps);
        let Some(first) = steps.first() else { return };
        let last = format!("prt_{}", around.message.trim_start_matches("msg_"));
        let mut parts = Parts { list: Vec::new(), last, results: self.results, around };
        steps.iter().for_each(|step| parts.step(step));
        let extra = first.json(Field::Extra).cloned().unwrap_or(Json::constant("{}"));
        let mut object = Object::open(out);
        for (key, value) in extra.members() {
            match key {
                b"\"info\"" => write_info(first, value, object.key("info")),
                b"\"parts\"" => object.spelled(key, list_of(&parts.list).as_bytes()),
                _ => object.spelled(key, value),
            }
        }
        object.close();
    }
}

/// Parts of a message while they are written.
struct Parts<'a> {
    list: Vec<Json>,
    /// Identifier of the last part.
    last: String,
    results: Vec<Node>,
    around: Around<'a>,
}

impl Parts<'_> {
    /// Adds the parts of a step: blocks in the places of their templates, and the others between.
    fn step(&mut self, step: &Node) {
        let places = step.json(Field::Extra).and_then(|extra| extra.member("parts"));
        let places: Vec<Json> = places.unwrap_or_default().elements().collect();
        let mut blocks = step.nodes(Field::Content).unwrap_or_default();
        let last = places.iter().rposition(|item| place_of(item).is_some());
        for (number, item) in places.iter().enumerate() {
            let Some(mut own) = place_of(item) else {
                self.push(item.clone());
                continue;
            };
            let is_elsewhere = |block: &Node| {
                let rest = places.get(number + 1..).unwrap_or_default().iter();
                rest.filter_map(place_of).any(|own| fits(own.as_ref(), block))
            };
            // A block that fits no further place is new; a place that fits no block has lost it.
            while let Some((block, rest)) = blocks.split_first() {
                let is_its = fits(own.as_ref(), block);
                if !is_its && is_elsewhere(block) {
                    break;
                }
                self.block(block, own.as_ref().filter(|_| is_its));
                blocks = rest;
                if is_its && Some(number) != last {
                    break;
                }
                // Behind the last place, blocks are new.
                own = own.take_if(|_| !is_its);
            }
        }
        blocks.iter().for_each(|block| self.block(block, None));
    }

    /// Adds the part of a block, with the result of its call.
    fn block(&mut self, block: &Node, own: Option<&Json>) {
        let call = block.json(Field::Id).filter(|_| block.is(Field::Type, block::TOOL_CALL));
        let is_its = |own: &Node| call.is_some() && own.json(Field::Call) == call;
        let place = self.results.iter().position(is_its);
        let result = place.map(|place| self.results.remove(place));
        let (id, mut written) = (format!("{}0", self.last), Vec::new());
        part::write((block, own), result.as_ref(), &id, self.around, &mut written);
        self.push(Json::trusted(written.into()));
    }

    /// Adds a part, and notes its identifier.
    fn push(&mut self, part: Json) {
        let id = part.member("id").and_then(|id| id.text());
        id.into_iter().for_each(|id| self.last = id);
        self.list.push(part);
    }
}

fn write_info(node: &Node, template: &[u8], out: &mut Vec<u8>) {
    let template = Json::trusted(Bytes::copy_from_slice(template));
    let mut object = Object::open(out);
    template::write(MESSAGE, node, &template, &mut object, &mut |key, value, object| {
        match (key, node.node(Field::Usage)) {
            ("time", _) => wire::write_times(value, MESSAGE_TIMES, node, object.key(key)),
            ("tokens", Some(usage)) if value.starts_with(b"{") => {
                wire::write_tokens(usage, value, object.key(key));
            }
            _ => return false,
        }
        true
    });
    object.close();
}
