//! The guard: the merged session must say to a model what the file says, for an origin may come from
//! anybody. Where it does not, the first difference is put into words.

use super::matching::align::{are_shown_alike, shown};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::json::text;
use crate::position::Located;
use crate::record::{Field, Record, block};

/// The first message that differs; `None` if none can be told.
pub fn differing(merged: Source<'_>, plain: Source<'_>, cx: &Cx<'_>) -> Option<String> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut with = said(context::sent(merged.0, merged.1, &quiet, &quiet).ok()?);
    let mut without = said(context::sent(plain.0, plain.1, &quiet, &quiet).ok()?);
    for number in 1_u64.. {
        let (with, without) = match (with.next(), without.next()) {
            (None, None) => break,
            (with, without) if with == without => continue,
            (with, without) => (with, without),
        };
        let [with, without] = [with, without].map(|said| said.map(|(text, _)| text));
        if with == without {
            return Some(format!("message {number} of its context is another, in the same words"));
        }
        let [a, b] = [&with, &without].map(|text| text.iter().flat_map(|text| text.chars()));
        let same = a.zip(b).take_while(|(a, b)| a == b).count();
        let [with, without] = [with, without].map(|text| excerpt(text.as_deref(), same));
        return Some(format!("message {number} of its context is {without}, and would be {with}"));
    }
    None
}

/// What a model is told, message by message: the words, and all of it.
fn said(
    sent: impl Iterator<Item = Result<Located<Record>>>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    sent.filter(is_told).map_while(Result::ok).map(|message| {
        let node = &message.value.node;
        let words = block::said(node).and_then(|words| text::decode(words.as_bytes()));
        (words.unwrap_or_default(), shown(node))
    })
}

/// What of a message stands behind so many characters, and a little before.
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

/// Whether a model would be told the same by what a file becomes with its origin as by the file
/// itself, the system's own words apart.
///
/// A session that stands at an entry without an identifier, or at none, may say nothing by the rules of
/// its source; what was written of it is what leads to the last entry that has one.
///
/// # Errors
/// If one of them cannot be read any more.
pub fn is_heard(merged: Source<'_>, plain: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let (log, other) = (Log::default(), Log::default());
    let quiet = Cx { options: cx.options, log: &log };
    let other = Cx { options: cx.options, log: &other };
    let Ok(shows) = context::sent(plain.0, plain.1, &other, &quiet) else { return Ok(false) };
    let mut shows = shows.filter(is_told).peekable();
    let (format, merged) = merged;
    {
        let Ok(says) = context::sent(format, merged, &other, &quiet) else { return Ok(false) };
        let mut says = says.filter(is_told).peekable();
        if says.peek().is_some() || shows.peek().is_none() {
            return Ok(are_same(says, shows));
        }
    }
    let says = context::sent_to_last_named(format, merged, &other, &quiet);
    Ok(says.is_ok_and(|says| are_same(says.filter(is_told), shows)))
}

/// Whether a model would be told the same by two sessions, the system's own words apart.
///
/// # Errors
/// If one of them cannot be read.
pub fn says_the_same(a: Source<'_>, b: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let logs = [Log::default(), Log::default(), Log::default()];
    let [cx_a, cx_b, quiet] = logs.each_ref().map(|log| Cx { options: cx.options, log });
    let a = context::sent(a.0, a.1, &cx_a, &quiet)?.filter(is_told);
    let b = context::sent(b.0, b.1, &cx_b, &quiet)?.filter(is_told);
    Ok(are_same(a, b))
}

/// A session to be read, and its format.
pub type Source<'s> = (&'static Format, &'s mut dyn Parts);

/// Whether a message counts: the system's own words do not.
pub fn is_told(item: &Result<Located<Record>>) -> bool {
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
