//! Where a session with its residue begins to say something else than what its file shows, in words:
//! who edited one of several places where the session says the same looks for the others.

use super::align::shown;
use super::merge::{Source, is_told};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::Cx;
use crate::json::text;
use crate::position::Located;
use crate::record::{Record, block};

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
