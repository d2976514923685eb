//! Where a session with its residue begins to say something else than what its file shows, in words:
//! who edited one of several places where the session says the same looks for the others.

use super::align::shown;
use super::merge::{Source, is_told};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::Cx;
use crate::position::Located;
use crate::record::Record;

/// The first message that differs; `None` if none can be told.
pub fn differing(merged: Source<'_>, plain: Source<'_>, cx: &Cx<'_>) -> Option<String> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut with = words(context::sent(merged.0, merged.1, &quiet, &quiet).ok()?);
    let mut without = words(context::sent(plain.0, plain.1, &quiet, &quiet).ok()?);
    for number in 1_u64.. {
        let (with, without) = match (with.next(), without.next()) {
            (None, None) => break,
            (with, without) if with == without => continue,
            (with, without) => (with.unwrap_or_default(), without.unwrap_or_default()),
        };
        let same = with.chars().zip(without.chars()).take_while(|(a, b)| a == b).count();
        return Some(format!(
            "message {number} of its context is {}, and would be {}",
            excerpt(&without, same),
            excerpt(&with, same)
        ));
    }
    None
}

/// What a model is told, message by message.
fn words(sent: impl Iterator<Item = Result<Located<Record>>>) -> impl Iterator<Item = String> {
    let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    sent.filter(is_told).map_while(Result::ok).map(move |message| said(shown(&message.value.node)))
}

/// What of a message stands behind so many characters, and a little before.
fn excerpt(message: &str, behind: usize) -> String {
    const BEFORE: usize = 16;
    const LENGTH: usize = 48;
    if message.is_empty() {
        return "none".to_owned();
    }
    // What is before a quote belongs to another text.
    let before: Vec<char> = message.chars().take(behind).collect();
    let quoted = before.iter().rposition(|c| *c == '"').map_or(0, |quote| quote + 1);
    let start = behind.saturating_sub(BEFORE).max(quoted);
    let shown: String = message.chars().skip(start).take(LENGTH).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if message.ends_with(&shown) { "" } else { "…" };
    format!("`{before}{shown}{after}`")
}
