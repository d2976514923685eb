//! Guard, which compares the merged session with the file: both must show the same to a model, as
//! an origin may come from anyone. Where they differ, the first difference is described.

use super::matching::align::{are_shown_alike, shown};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::json::{Json, text};
use crate::position::Located;
use crate::record::{Field, Record, block};
use std::collections::VecDeque;

/// Describes the first message that differs; `None` if no difference is found. The order of the
/// results of an answer counts as in [`is_confirmed`].
pub fn differing(
    merged: Source<'_>,
    plain: Source<'_>,
    in_calls: bool,
    cx: &Cx<'_>,
) -> Option<String> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let with = context::sent(merged.0, merged.1, &quiet, &quiet).ok()?;
    let without = context::sent(plain.0, plain.1, &quiet, &quiet).ok()?;
    let mut with = model_messages(by_calls(with, in_calls));
    let mut without = model_messages(by_calls(without, in_calls));
    for number in 1_u64.. {
        let (with, without) = match (with.next(), without.next()) {
            (None, None) => break,
            (with, without) if with == without => continue,
            (with, without) => (with, without),
        };
        let [with, without] =
            [with, without].map(|model_messages| model_messages.map(|(text, _)| text));
        if with == without {
            return Some(format!("message {number} of its context differs, but not in its words"));
        }
        let [a, b] = [&with, &without].map(|text| text.iter().flat_map(|text| text.chars()));
        let same = a.zip(b).take_while(|(a, b)| a == b).count();
        let [with, without] = [with, without].map(|text| excerpt(text.as_deref(), same));
        return Some(format!("message {number} of its context is {without}, and would be {with}"));
    }
    None
}

/// Messages that a model reads, each as its words and as its whole content.
fn model_messages(
    sent: impl Iterator<Item = Result<Located<Record>>>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    sent.filter(is_compared).map_while(Result::ok).map(|message| {
        let node = &message.value.node;
        let words = block::message_text(node).and_then(|words| text::decode(words.as_bytes()));
        (words.unwrap_or_default(), shown(node))
    })
}

/// Excerpt of a message from this number of characters on, and a few characters before.
fn excerpt(message: Option<&str>, behind: usize) -> String {
    const BEFORE: usize = 16;
    const LENGTH: usize = 48;
    let Some(message) = message else { return "none".to_owned() };
    if message.is_empty() {
        return "one without words".to_owned();
    }
    let start = behind.saturating_sub(BEFORE);
    let shown: String = message.chars().skip(start).take(LENGTH).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if message.ends_with(&shown) { "" } else { "…" };
    format!("`{before}{shown}{after}`")
}

/// Whether a file merged with its origin shows the same to a model as the file itself, system
/// messages apart.
///
/// A session whose leaf has no identifier, or that has no leaf, may show nothing by the rules of
/// its source. In that case the path to the last entry with an identifier was written.
///
/// `in_calls` means that the file has each result [with its call](crate::format::Agent::results_in_calls): their
/// order in the merged session does not count then.
pub fn is_confirmed(
    merged: Source<'_>,
    plain: Source<'_>,
    in_calls: bool,
    cx: &Cx<'_>,
) -> Result<bool> {
    let (log, other) = (Log::default(), Log::default());
    let quiet = Cx { options: cx.options, log: &log };
    let other = Cx { options: cx.options, log: &other };
    let Ok(shows) = context::sent(plain.0, plain.1, &other, &quiet) else { return Ok(false) };
    let mut shows = by_calls(shows.filter(is_compared), in_calls).peekable();
    let (format, merged) = merged;
    {
        let Ok(says) = context::sent(format, merged, &other, &quiet) else { return Ok(false) };
        let mut says = by_calls(says.filter(is_compared), in_calls).peekable();
        if says.peek().is_some() || shows.peek().is_none() {
            return Ok(are_same(says, shows));
        }
    }
    let says = context::sent_to_last_named(format, merged, &other, &quiet);
    let says = says.map(|says| by_calls(says.filter(is_compared), in_calls));
    Ok(says.is_ok_and(|says| are_same(says, shows)))
}

/// Puts the results behind an answer into the order of its calls, if that is asked for.
fn by_calls(
    sent: impl Iterator<Item = Result<Located<Record>>>,
    in_calls: bool,
) -> impl Iterator<Item = Result<Located<Record>>> {
    let (mut sent, mut calls, mut results) = (sent.peekable(), Vec::new(), VecDeque::new());
    std::iter::from_fn(move || {
        let is_result = |item: &Result<Located<Record>>| {
            in_calls
                && item.as_ref().is_ok_and(|message| message.value.node.is(Field::Role, "tool"))
        };
        if results.is_empty() {
            results.extend(std::iter::from_fn(|| sent.next_if(is_result)));
            let place = |item: &Result<Located<Record>>| {
                let call = item.as_ref().ok().and_then(|result| ids(result, Field::Call).next());
                calls.iter().position(|own| Some(own) == call.as_ref())
            };
            results.make_contiguous().sort_by_cached_key(place);
        }
        if !results.is_empty() {
            return results.pop_front();
        }
        let message = sent.next();
        calls.clear();
        if let (true, Some(Ok(message))) = (in_calls, &message) {
            calls.extend(ids(message, Field::Id));
        }
        message
    })
}

/// Returns the values that the blocks of a message have in this field.
fn ids(message: &Located<Record>, field: Field) -> impl Iterator<Item = Json> + '_ {
    let blocks = message.value.node.content();
    blocks.iter().filter_map(move |block| block.json(field).cloned())
}

/// Whether two sessions show the same to a model, system messages apart.
pub fn has_same_content(a: Source<'_>, b: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let logs = [Log::default(), Log::default(), Log::default()];
    let [cx_a, cx_b, quiet] = logs.each_ref().map(|log| Cx { options: cx.options, log });
    let a = context::sent(a.0, a.1, &cx_a, &quiet)?.filter(is_compared);
    let b = context::sent(b.0, b.1, &cx_b, &quiet)?.filter(is_compared);
    Ok(are_same(a, b))
}

/// A session to be read, and its format.
pub type Source<'s> = (&'static Format, &'s mut dyn Parts);

/// Whether a message counts: all messages count but system messages.
pub fn is_compared(item: &Result<Located<Record>>) -> bool {
    item.as_ref().map_or(true, |located| !located.value.node.is(Field::Role, "system"))
}

fn are_same(
    mut a: impl Iterator<Item = Result<Located<Record>>>,
    mut b: impl Iterator<Item = Result<Located<Record>>>,
) -> bool {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(Ok(a)), Some(Ok(b))) if are_shown_alike(&a.value.node, &b.value.node) => {}
            _ => return false,
        }
    }
}
