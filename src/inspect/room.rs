//! Room that the parts of a session take, so that a user sees what makes a huge file huge.

use crate::record::{Field, Kind, Node, Record, Value, block};
use std::collections::BTreeMap;

/// Name for the images of messages, whatever record shows them.
const IMAGES: &str = "images";

/// Adds the bytes of a record's values, by its kind; images of messages are counted apart.
pub fn note(room: &mut BTreeMap<&'static str, u64>, record: &Record) {
    if record.kind == Kind::Session {
        return;
    }
    let (all, images) = (size(&record.node), images(&record.node));
    *room.entry(record.kind.name()).or_default() += all - images;
    if images > 0 {
        *room.entry(IMAGES).or_default() += images;
    }
}

/// Length of all values; the source text of a record would count them twice.
fn size(node: &Node) -> u64 {
    let values = node.iter();
    values
        .map(|(_, value)| match value {
            Value::Json(json) => json.as_bytes().len() as u64,
            Value::Node(node) => size(node),
            Value::Nodes(nodes) => nodes.iter().map(size).sum(),
        })
        .sum()
}

fn images(node: &Node) -> u64 {
    let blocks = node.content();
    let image = |block: &Node| match block.is(Field::Type, block::IMAGE) {
        true => block.json(Field::Data).map_or(0, |data| data.as_bytes().len() as u64),
        false => images(block),
    };
    blocks.iter().map(image).sum()
}
