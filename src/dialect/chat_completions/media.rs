//! Conversion of images and documents, which the interface takes as `data:` URLs.

use super::super::data_url;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, Spacing};
use crate::record::{Field, Node, block};

/// A kind of part: its type, the type of its block, the member that holds the URL, and the member
/// beside it that holds a name.
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
pub fn is_media(node: &Node) -> bool {
    shape_of(node).is_some()
}

fn shape_of(node: &Node) -> Option<&'static Shape> {
    let shape = SHAPES.iter().find(|shape| node.is(Field::Type, shape.block))?;
    let has = |field| node.json(field).is_some_and(Json::is_string);
    (has(Field::Data) && has(Field::MediaType)).then_some(shape)
}

/// Whether a part is of a type that the interface knows although the record model has no block for
/// it, such as an image that is given by its web address.
pub fn is_known(part: &Json) -> bool {
    let Some(wire) = part.text_of("type") else { return false };
    let holds = |name| part.member(&wire).is_some_and(|holder| holder.member(name).is_some());
    match wire.as_str() {
        "image_url" => holds("url"),
        "file" => holds("file_data") || holds("file_id"),
        "input_audio" => holds("data"),
        "refusal" => part.member("refusal").is_some(),
        _ => false,
    }
}

/// Converts the parts that show an image or a document to blocks, whatever the order of their
/// members. Other members of a part stay with the block.
pub fn understand(blocks: &mut [Node]) {
    for node in blocks.iter_mut().filter(|block| block.is(Field::Type, block::OPAQUE)) {
        let Some(part) = node.json(Field::Data).cloned() else { continue };
        let wire = part.text_of("type");
        let shape = SHAPES.iter().find(|shape| wire.as_deref() == Some(shape.wire));
        shape.and_then(|shape| read(&part, shape)).into_iter().for_each(|found| *node = found);
    }
}

fn read(part: &Json, shape: &Shape) -> Option<Node> {
    let holder = part.member(shape.wire)?;
    let url = holder.member(shape.url)?.text()?;
    let (media, data) = data_url::split(&url)?;
    let mut node = block::of(shape.block)
        .with(Field::Data, Json::string(data))
        .with(Field::MediaType, Json::string(media));
    let name = shape.name.filter(|name| holder.member(name).is_some_and(|n| n.text().is_some()));
    node.put(Field::Name, name.and_then(|name| holder.member(name)));
    let mut extra = beside(part, &["type", shape.wire])?;
    if let Some(inner) = beside(&holder, &[shape.url, name.unwrap_or(shape.url)])?.finish() {
        extra.add(Json::string(shape.wire).as_bytes(), inner.as_bytes());
    }
    extra.put(&mut node);
    Some(node)
}

/// Returns the members of an object other than `known`; `None` if a name occurs twice, because then
/// the object can be read in two ways.
fn beside(object: &Json, known: &[&str]) -> Option<Extra> {
    let (mut rest, mut seen) = (Extra::default(), Vec::with_capacity(4));
    for (key, value) in object.members() {
        let name = text::decode(key)?;
        if !known.contains(&name.as_str()) {
            rest.add(key, value);
        }
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
    }
    Some(rest)
}

/// Returns the part of a block, in the program's JSON spelling; `None` if the block has none. A
/// part that is not the format's `own` loses its other members, unless the interface knows them.
pub fn write(node: &Node, spacing: Spacing, own: bool) -> Option<Json> {
    let shape = shape_of(node)?;
    let extra = node.json(Field::Extra).filter(|extra| own || block::is_detail(extra));
    let members = |extra: Option<&Json>, object: &mut Object<'_>| {
        let beside = extra.into_iter().flat_map(Json::members);
        for (key, value) in beside.filter(|(key, _)| !text::is(key, shape.wire)) {
            object.spelled(key, value);
        }
    };
    let mut out = Vec::new();
    let mut part = Object::spaced(&mut out, spacing);
    text::quote(shape.wire, part.key("type"));
    let mut holder = Object::spaced(part.key(shape.wire), spacing);
    if let Some((key, name)) = shape.name.zip(node.json(Field::Name)) {
        holder.member(key, name.as_bytes());
    }
    text::quote(&data_url::of(node), holder.key(shape.url));
    members(extra.and_then(|extra| extra.member(shape.wire)).as_ref(), &mut holder);
    holder.close();
    members(extra, &mut part);
    part.close();
    Some(Json::trusted(out.into()))
}
