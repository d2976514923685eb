//! Images and documents, which the interface takes as `data:` URLs.

use crate::json::{Json, text};
use crate::mapping::{Object, Spacing};
use crate::record::{Field, Node, block};

/// A kind of part: its type and that of its block, the member that holds the URL, and beside it
/// that of a name.
struct Shape {
    wire: &'static str,
    block: &'static str,
    url: &'static str,
    name: Option<&'static str>,
}

const SHAPES: &[Shape] = &[
    Shape { wire: "image_url", block: block::IMAGE, url: "url", name: None },
    Shape { wire: "file", block: block::DOCUMENT, url: "file_data", name: Some("filename") },
];

/// Whether a block is written as such a part.
#[must_use]
pub fn is_media(node: &Node) -> bool {
    shape_of(node).is_some()
}

fn shape_of(node: &Node) -> Option<&'static Shape> {
    let shape = SHAPES.iter().find(|shape| node.is(Field::Type, shape.block))?;
    let has = |field| node.json(field).is_some_and(|json| json.as_bytes().starts_with(b"\""));
    (has(Field::Data) && has(Field::MediaType)).then_some(shape)
}

/// Makes blocks of the parts that say nothing but a URL, so that they can be written again.
pub fn understand(blocks: &mut [Node]) {
    for node in blocks.iter_mut().filter(|block| block.is(Field::Type, block::OPAQUE)) {
        let Some(part) = node.json(Field::Data).cloned() else { continue };
        let wire = part.member("type").and_then(|wire| wire.text());
        let shape = SHAPES.iter().find(|shape| wire.as_deref() == Some(shape.wire));
        let Some(found) = shape.and_then(|shape| read(&part, shape)) else { continue };
        if write(&found, Spacing::None).is_some_and(|written| written.as_bytes() == part.normal()) {
            *node = found;
        }
    }
}

fn read(part: &Json, shape: &Shape) -> Option<Node> {
    let holder = part.member(shape.wire)?;
    let url = holder.member(shape.url)?.text()?;
    let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    let mut node = Node::with_capacity(4);
    node.set(Field::Type, block::type_of(shape.block));
    node.set(Field::Data, Json::string(data));
    node.set(Field::MediaType, Json::string(media));
    let name = shape.name.and_then(|name| holder.member(name));
    name.into_iter().for_each(|name| node.set(Field::Name, name));
    Some(node)
}

/// The part of a block, as the program spells its JSON; `None` if it has none.
#[must_use]
pub fn write(node: &Node, spacing: Spacing) -> Option<Json> {
    let shape = shape_of(node)?;
    let text = |field| node.text(field).unwrap_or_default();
    let url = format!("data:{};base64,{}", text(Field::MediaType), text(Field::Data));
    let mut out = Vec::new();
    let mut part = Object::spaced(&mut out, spacing);
    text::quote(shape.wire, part.key("type"));
    let mut holder = Object::spaced(part.key(shape.wire), spacing);
    if let Some((key, name)) = shape.name.zip(node.json(Field::Name)) {
        holder.member(key, name.as_bytes());
    }
    text::quote(&url, holder.key(shape.url));
    holder.close();
    part.close();
    Some(Json::checked(out.into()))
}
