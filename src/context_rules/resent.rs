//! The messages of a history as pi sends them to a model again.
//!
//! pi leaves out what a model's interface refuses, answers calls that have no result, and rewrites
//! what another model wrote: its thoughts become text, identifiers of its calls get the form of the
//! interface.
//!
//! Source: `transformMessages` of `api/transform-messages.ts`, `convertMessages` of
//! `api/anthropic-messages.ts` and `api/openai-completions.ts`, and `utils/transcript.ts` of pi's
//! `ai` package, release 0.87.1.

use super::words::{self, spoken};
use crate::format::{Api, Resent};
use crate::ids;
use crate::json::{Json, text};
use crate::record::{Field, Kind, Node, Record, Value, block, is_broken, turns};
use std::borrow::Cow;
use std::collections::HashSet;

/// Messages of pi on their way to an interface.
#[derive(Debug)]
pub struct Messages {
    api: Api,
    /// Model with which the session continues, if it is one of the interface's own provider.
    model: Option<Json>,
    /// The system message, until it is sent.
    system: Option<Node>,
    /// Hashes of the identifiers of calls that were rewritten.
    rewritten: HashSet<u64>,
    /// Calls of the last answer.
    calls: Vec<Node>,
    /// Identifiers of the results since then.
    results: HashSet<Option<Json>>,
}

/// Names of an interface: the provider, and the interface as pi's messages name it.
fn names(api: Api) -> (&'static str, &'static str) {
    match api {
        Api::Anthropic => ("anthropic", "anthropic-messages"),
        Api::OpenAi => ("openai", "openai-completions"),
    }
}

impl Messages {
    /// Begins with the system message, and with the last provider and model of the session.
    pub fn new(api: Api, system: Option<Node>, last: Option<(&Json, &Json)>) -> Self {
        let own = last.filter(|(provider, _)| text::is(provider.as_bytes(), names(api).0));
        Self {
            api,
            model: own.map(|(_, model)| model.clone()),
            system,
            rewritten: HashSet::new(),
            calls: Vec::new(),
            results: HashSet::new(),
        }
    }

    /// Whether the model that gets the messages wrote this answer.
    fn is_own(&self, answer: &Node) -> bool {
        let (provider, api) = names(self.api);
        answer.is(Field::Provider, provider)
            && answer.is(Field::Api, api)
            && self.model.is_some()
            && answer.json(Field::Model) == self.model.as_ref()
    }

    /// Answers the calls that have no result.
    fn close(&mut self, out: &mut Vec<Node>) {
        for call in self.calls.drain(..) {
            if !self.results.contains(&call.json(Field::Id).cloned()) {
                out.push(no_result(&call));
            }
        }
        self.results.clear();
    }

    fn user(&mut self, record: &Record, sent: &Node, out: &mut Vec<Node>) {
        self.close(out);
        let typed = record.kind == Kind::Message && record.node.is(Field::Role, "user");
        if let Some(Value::Json(text)) = sent.get(Field::Content).filter(|_| typed) {
            let text = spoken(text);
            let blank = self.api == Api::Anthropic && is_blank(&text);
            out.push(message("user", if blank { Vec::new().into() } else { text.into() }));
            return;
        }
        let content = listed(sent.get(Field::Content));
        let shown = |part: &Node| match part.json(Field::Text).filter(|_| is_text(part)) {
            Some(text) => {
                let text = spoken(text);
                let empty = match self.api {
                    Api::Anthropic => is_blank(&text),
                    Api::OpenAi => is_empty(&text),
                };
                (!empty).then(|| block::text(text))
            }
            None => Some(image(part)),
        };
        out.push(message("user", content.iter().filter_map(shown).collect::<Vec<_>>().into()));
    }

    fn answer(&mut self, answer: &Node, out: &mut Vec<Node>) {
        let own = self.is_own(answer);
        let mut content = Vec::new();
        for part in listed(answer.get(Field::Content)).iter() {
            content.extend(self.part(part, own));
        }
        self.close(out);
        if is_broken(answer) {
            return;
        }
        let calls = content.iter().filter(|part| part.is(Field::Type, block::TOOL_CALL));
        self.calls = calls.cloned().collect();
        // Thoughts alone are no message of Chat Completions.
        if self.api == Api::OpenAi && self.calls.is_empty() && !content.iter().any(is_text) {
            content.clear();
        }
        out.push(message("assistant", content.into()));
    }

    /// Returns a part of an answer as it is sent; `None` for one that is left out.
    fn part(&mut self, part: &Node, own: bool) -> Option<Node> {
        if is_text(part) {
            let text = spoken(part.json(Field::Text)?);
            (!is_blank(&text)).then(|| block::text(text))
        } else if part.is(Field::Type, block::THINKING) {
            self.thought(part, own)
        } else if part.is(Field::Type, block::TOOL_CALL) {
            let mut call = bare(part);
            call.take(Field::Signature);
            if self.api == Api::Anthropic {
                call.set(Field::Arguments, block::arguments(part).0);
            }
            if !own && let Some(id) = part.json(Field::Id) {
                let new = self.identifier(id);
                if new != *id {
                    self.rewritten.insert(ids::hash(&id.normal()));
                    call.set(Field::Id, new);
                }
            }
            Some(call)
        } else {
            None
        }
    }

    /// Returns a thought: as it is for the model that had it, as text for another one.
    fn thought(&self, part: &Node, own: bool) -> Option<Node> {
        let signature = part.json(Field::Signature).filter(|signature| !is_blank(signature));
        if part.is_true(Field::Redacted) {
            return (own && self.api == Api::Anthropic).then(|| bare(part));
        }
        let text = part.json(Field::Thinking).map(spoken).unwrap_or(Json::constant("\"\""));
        if self.api == Api::OpenAi && own {
            let named = |signature: &&Json| {
                REASONING.iter().any(|name| text::is(signature.as_bytes(), name))
            };
            let shown = signature.filter(named).is_some() && !is_blank(&text);
            return shown.then(|| bare(part));
        }
        if own && signature.is_some() {
            let mut part = bare(part);
            part.set(Field::Thinking, text);
            return Some(part);
        }
        (!is_blank(&text)).then(|| block::text(text))
    }

    /// Returns the identifier of a call in the form of the interface.
    fn identifier(&self, id: &Json) -> Json {
        let Some(given) = id.text() else { return id.clone() };
        let new = match self.api {
            Api::Anthropic => plain(&given).chars().take(64).collect(),
            Api::OpenAi => shortened(&given),
        };
        if new == given { id.clone() } else { Json::string(&new) }
    }

    fn result(&mut self, given: &Node, out: &mut Vec<Node>) {
        let given = given.nodes(Field::Content).and_then(<[Node]>::first);
        let mut result = block::of(block::TOOL_RESULT);
        let call = given.and_then(|given| given.json(Field::Call)).map(|id| {
            let known = self.rewritten.contains(&ids::hash(&id.normal()));
            if known { self.identifier(id) } else { id.clone() }
        });
        self.results.insert(call.clone());
        result.put(Field::Call, call);
        result.put(Field::IsError, given.and_then(|given| given.json(Field::IsError)).cloned());
        let blocks = listed(given.and_then(|given| given.get(Field::Content)));
        result.set(Field::Content, output(&blocks, self.api));
        out.push(message("tool", vec![result].into()));
    }
}

impl Resent for Messages {
    fn message(&mut self, record: &Record, out: &mut Vec<Node>) {
        out.extend(self.system.take());
        let node = &record.node;
        let is = |role| record.kind == Kind::Message && node.is(Field::Role, role);
        if is("assistant") {
            self.answer(node, out);
        } else if is("tool") {
            self.result(node, out);
        } else if !is("system")
            && let Some(sent) = words::message(record, false)
        {
            self.user(record, &sent, out);
        }
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        out.extend(self.system.take());
        self.close(out);
    }
}

/// Names of the members in which interfaces give thoughts; pi keeps the name as the signature.
const REASONING: [&str; 3] = ["reasoning", "reasoning_content", "reasoning_text"];

fn message(role: &str, content: Value) -> Node {
    Node::default().with(Field::Role, Json::string(role)).with(Field::Content, content)
}

/// Result that pi gives to a call without one.
pub const NO_RESULT: &str = "No result provided";

fn no_result(call: &Node) -> Node {
    let mut message = Node::with_capacity(2);
    let id = call.json(Field::Id).cloned().unwrap_or_default();
    turns::no_result(&id, Json::string(NO_RESULT), &mut message);
    message
}

/// Returns content as a list of parts.
fn listed(content: Option<&Value>) -> Cow<'_, [Node]> {
    match content {
        Some(Value::Json(text)) if !text.is_null() => Cow::Owned(vec![block::text(text.clone())]),
        Some(Value::Nodes(parts)) => Cow::Borrowed(parts),
        _ => Cow::default(),
    }
}

/// Returns the content of a tool's result: one text, or a list where it has images.
fn output(blocks: &[Node], api: Api) -> Value {
    let attached = blocks.iter().any(|part| part.is(Field::Type, block::IMAGE));
    let text = || {
        let texts = blocks.iter().filter(|part| is_text(part));
        let texts = texts.filter_map(|part| part.json(Field::Text).cloned());
        let line = Json::constant("\"\\n\"");
        texts.reduce(|a, b| a.joined(&line).joined(&b)).map(|text| spoken(&text))
    };
    if !attached {
        return text().unwrap_or(Json::constant("\"\"")).into();
    }
    let mut list: Vec<Node> = match api {
        // Chat Completions gets the texts as one, and the images behind the results.
        Api::OpenAi => text().filter(|text| !is_empty(text)).map(block::text).into_iter().collect(),
        Api::Anthropic => Vec::new(),
    };
    for part in blocks {
        match part.json(Field::Text).filter(|_| is_text(part)) {
            Some(text) if api == Api::Anthropic => list.push(block::text(spoken(text))),
            Some(_) => {}
            None => list.push(image(part)),
        }
    }
    if api == Api::Anthropic && !list.iter().any(is_text) {
        list.insert(0, block::text(Json::constant("\"(see attached image)\"")));
    }
    list.into()
}

fn is_text(part: &Node) -> bool {
    part.is(Field::Type, block::TEXT)
}

/// Returns a block without members that only its source knows.
fn bare(part: &Node) -> Node {
    let mut part = part.clone();
    part.take(Field::Extra);
    part
}

/// Returns a part that is not a text without what interfaces do not know.
fn image(part: &Node) -> Node {
    if part.is(Field::Type, block::OPAQUE) {
        return part.clone();
    }
    let mut image = Node::with_capacity(3);
    for field in [Field::Type, Field::MediaType, Field::Data] {
        image.put(field, part.get(field).cloned());
    }
    image
}

/// Whether JavaScript's `trim` leaves nothing of a text.
fn is_blank(text: &Json) -> bool {
    let space = |c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}');
    is_empty(text) || text.text().is_some_and(|text| text.chars().all(space))
}

fn is_empty(text: &Json) -> bool {
    matches!(text.as_bytes(), b"\"\"" | b"null")
}

/// Returns a text with `_` in the place of each UTF-16 unit that identifiers may not have.
fn plain(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.chars()
        .flat_map(|c| std::iter::repeat_n(if fits(c) { c } else { '_' }, c.len_utf16()))
        .collect()
}

/// Longest identifier of a call in Chat Completions.
const LONGEST: usize = 40;

/// Returns an identifier for Chat Completions. That of the Responses interface consists of the
/// call's and the item's, with `|` between them.
fn shortened(id: &str) -> String {
    let Some((call, item)) = id.split_once('|') else { return id.chars().take(LONGEST).collect() };
    let (call, item) = (plain(call), plain(item));
    let whole = if item.is_empty() { call.clone() } else { format!("{call}_{item}") };
    if whole.len() <= LONGEST {
        return whole;
    }
    let hash: String = short_hash(id).chars().take(8).collect();
    let room = (LONGEST - hash.len() - 1).max(1);
    format!("{}_{hash}", call.chars().take(room).collect::<String>())
}

/// Source: `shortHash` of `utils/hash.ts`.
fn short_hash(text: &str) -> String {
    let (mut first, mut second) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for unit in text.encode_utf16() {
        first = (first ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        second = (second ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mixed = |a: u32, b: u32| {
        (a ^ (a >> 16)).wrapping_mul(2_246_822_507) ^ (b ^ (b >> 13)).wrapping_mul(3_266_489_909)
    };
    first = mixed(first, second);
    second = mixed(second, first);
    ids::base36(second) + &ids::base36(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that pi's own functions give.
    #[test]
    fn identifiers_are_those_of_pi() {
        let long = format!("call_{}|fc_{}", "a".repeat(30), "é+/=".repeat(20));
        assert_eq!(short_hash(&long), "1jnncni12za0co");
        assert_eq!(shortened(&long), "call_aaaaaaaaaaaaaaaaaaaaaaaaaa_1jnncni1");
        assert_eq!(shortened("call_X|fc_1"), "call_X_fc_1");
        assert_eq!(plain("a|b😀"), "a_b__");
    }
}
