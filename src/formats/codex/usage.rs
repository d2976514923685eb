//! Tokens as Codex counts them: running totals in its events, and such events for the answers of
//! another format.
//!
//! Source: `TokenUsageInfo` of openai/codex (`protocol/src/protocol.rs`), and files of releases
//! 0.34.0 to 0.169.0. There the input includes what comes from the cache.

use crate::format::{Counts, Totals};
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Node, Record};

/// Tokens: input, of it from the cache, output, of it reasoning.
type Tokens = [u64; 4];

/// Names of [`Tokens`].
const NAMES: [&str; 4] =
    ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"];

/// Returns the running totals in an event `token_count` or a line `token_usage_record`, and the
/// tokens of the last call before it. The input includes the tokens of the cache.
pub fn totals(record: &Record) -> Vec<Totals> {
    let Some(data) = record.node.json(Field::Data) else { return Vec::new() };
    // Few lines contain totals, and most are long.
    if memchr::memmem::find(data.as_bytes(), b"_token_usage\"").is_none() {
        return Vec::new();
    }
    let all = data.member("thread_token_usage");
    let is_of_call = all.is_some();
    let info = data.member("info");
    let info = |name| info.as_ref().and_then(|info| info.member(name));
    let (all, last) = match is_of_call {
        true => (all, data.member("usage")),
        false => (info("total_token_usage"), info("last_token_usage")),
    };
    let given = |tokens: Option<Json>| tokens.as_ref().filter(|it| !it.is_null()).map(counts);
    let (all, last) = (given(all), given(last));
    let is_count = all.is_some() || last.is_some();
    is_count.then_some(Totals { model: None, is_of_call, all, last }).into_iter().collect()
}

fn counts(tokens: &Json) -> Counts {
    let count = |name| tokens.member(name).as_ref().and_then(Json::float).unwrap_or(0.0);
    let (read, written) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    Counts {
        input: (count("input_tokens") - read - written).max(0.0),
        output: count("output_tokens"),
        cache_read: read,
        cache_write: written,
        cost: 0.0,
    }
}

/// Returns the window of the model that an event names: `token_count` and, in newer releases, the
/// beginning of a turn.
pub fn window(record: &Record) -> Option<u64> {
    let data = record.node.json(Field::Data)?;
    memchr::memmem::find(data.as_bytes(), b"\"model_context_window\"")?;
    let own = |data: &Json| data.member("model_context_window").as_ref().and_then(Json::float);
    own(data).or_else(|| own(&data.member("info")?)).map(|tokens| tokens as u64)
}

/// Counts the tokens of answers. An answer in several messages has one usage.
#[derive(Debug, Default)]
pub struct Counter {
    /// The response that was written last and has not been counted, with its usage.
    last: Option<(Option<Json>, Tokens)>,
    /// The response that was counted last.
    counted: Option<Json>,
    total: Tokens,
}

impl Counter {
    /// Takes the totals of an event that the rollout has.
    pub fn resume(&mut self, event: &Json) {
        let info = event.member("info").and_then(|info| info.member("total_token_usage"));
        if let Some(all) = info {
            self.total = NAMES
                .map(|name| all.member(name).as_ref().and_then(Json::float).unwrap_or(0.0) as u64);
        }
    }

    /// Notes the usage of an answer, which is written.
    pub fn note(&mut self, answer: &Node) {
        let Some(usage) = answer.node(Field::Usage) else { return };
        let count = |field| usage.json(field).and_then(Json::float).unwrap_or(0.0) as u64;
        let (read, written) = (count(Field::CacheRead), count(Field::CacheWrite));
        let input = count(Field::InputTokens).saturating_add(read).saturating_add(written);
        let tokens = [input, read, count(Field::OutputTokens), count(Field::Reasoning)];
        let response = answer.json(Field::ResponseId).map(Json::detached);
        if tokens.iter().any(|count| *count > 0) && (response.is_none() || response != self.counted)
        {
            self.last = Some((response, tokens));
        }
    }

    /// Returns the payload of the event behind the last answer, unless the message that follows
    /// belongs to the same response.
    pub fn event(&mut self, next: Option<&Node>) -> Option<Vec<u8>> {
        let response = next.and_then(|next| next.json(Field::ResponseId));
        let (own, tokens) = self.last.take()?;
        if own.is_some() && own.as_ref() == response {
            self.last = Some((own, tokens));
            return None;
        }
        self.counted = own;
        for (sum, count) in self.total.iter_mut().zip(tokens) {
            *sum = sum.saturating_add(count);
        }
        let mut out = Vec::with_capacity(400);
        let mut event = Object::open(&mut out);
        text::quote("token_count", event.key("type"));
        let mut info = Object::open(event.key("info"));
        write(&self.total, info.key("total_token_usage"));
        write(&tokens, info.key("last_token_usage"));
        info.member("model_context_window", b"null");
        info.close();
        event.member("rate_limits", b"null");
        event.close();
        Some(out)
    }
}

fn write(tokens: &Tokens, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    for (name, count) in NAMES.iter().zip(tokens) {
        object.member(name, count.to_string().as_bytes());
    }
    let [input, _, output, _] = tokens;
    object.member("total_tokens", input.saturating_add(*output).to_string().as_bytes());
    object.close();
}
