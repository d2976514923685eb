//! Size of what a model gets from a session, and the places that it comes from.

use super::{Opened, sent};
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::record::{Field, Node, Value};
use std::collections::HashSet;

/// Returns the number of bytes of text that a model gets from a session; an image counts as much as
/// it costs tokens.
///
/// # Errors
/// The errors of [`run`](super::run).
pub fn bytes(format: &'static Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<u64> {
    let mut bytes = 0;
    for message in sent(format, parts, cx, cx)? {
        bytes += size_of(&message?.value.node);
    }
    Ok(bytes)
}

/// Returns the size of a node in bytes; an image counts as much text as it costs tokens.
#[must_use]
pub fn size_of(node: &Node) -> u64 {
    const IMAGE: u64 = 6000;
    let sizes = node.iter().map(|(field, value)| match value {
        Value::Json(json) if field == Field::Data => IMAGE.min(json.as_bytes().len() as u64),
        Value::Json(json) => json.as_bytes().len() as u64,
        Value::Node(node) => size_of(node),
        Value::Nodes(nodes) => nodes.iter().map(size_of).sum(),
    });
    sizes.sum()
}

/// Returns the parts and lines of the session from which a model gets something.
///
/// # Errors
/// The errors of [`run`](super::run).
pub fn places(
    format: &'static Format,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<HashSet<(u32, u64)>> {
    let mut messages = Opened::of(format, parts, cx, &mut |_| {})?.messages(cx)?;
    let mut places = HashSet::new();
    while let Some(message) = messages.next() {
        let message = message?;
        if messages.context.sent(&message.value).is_some() {
            places.insert((message.at.part, message.at.line));
        }
    }
    Ok(places)
}
