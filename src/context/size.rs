//! Size of what a model gets from a session, and the places that it comes from.

use super::{Joined, Opened, Thoughts, plain};
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::position::Located;
use crate::record::{Field, Node, Value};
use std::collections::HashSet;

/// Size of what a model gets from a session.
#[derive(Clone, Debug, Default)]
pub struct Size {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes of text; an image counts as much as it costs tokens.
    pub bytes: u64,
    /// Parts and lines from which a model gets something.
    pub places: HashSet<(u32, u64)>,
}

/// Measures what a model gets from a session.
///
/// # Errors
/// The errors of [`run`](super::run).
pub fn size(format: &'static Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Size> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut messages = Opened::of(format, parts, cx, &mut |_| {})?.messages(&quiet)?;
    let (mut size, mut joined) = (Size::default(), Joined::compared());
    while let Some(message) = messages.next() {
        let Located { value, at } = message?;
        let Some(sent) = messages.context.sent(&value) else { continue };
        size.places.insert((at.part, at.line));
        plain(&sent, Thoughts::None).into_iter().for_each(|sent| joined.add(at, sent));
        size.add(&mut joined);
    }
    joined.finish();
    size.add(&mut joined);
    Ok(size)
}

impl Size {
    /// Adds the messages that are complete.
    fn add(&mut self, joined: &mut Joined) {
        while let Some(message) = joined.next() {
            self.messages += 1;
            self.bytes += size_of(&message.node);
        }
    }
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
