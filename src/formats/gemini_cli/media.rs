//! Images and documents as parts, and templates of blocks.

use crate::json::Json;
use crate::mapping::{Extra, Object, Row, row, template, within};
use crate::record::{Field, Node, block};

const DATA: &[Row] = &[within("inlineData", None, INLINE)];
const INLINE: &[Row] = &[row("mimeType", Field::MediaType), row("data", Field::Data)];

const USUAL: &str = r#"{"inlineData":{"mimeType":0,"data":0}}"#;

/// Reads a part with data; `None` for any other part.
pub fn read(part: &Json) -> Option<Node> {
    let data = part.member("inlineData")?;
    let text = |name: &str| data.member(name)?.text();
    let (mime, _) = text("mimeType").zip(text("data"))?;
    let name = if mime.starts_with("image/") { block::IMAGE } else { block::DOCUMENT };
    Some(take(part, name, DATA, USUAL))
}

/// Writes a block with data as a part.
pub fn write(node: &Node, out: &mut Vec<u8>) {
    fill(node, DATA, USUAL, out);
}

/// Reads a part by its rows; a template other than the usual one is kept.
pub fn take(part: &Json, name: &str, rows: &'static [Row], usual: &str) -> Node {
    let mut node = block::of(name);
    let kept = template::take(part, rows, &mut node);
    if kept.as_bytes() != usual.as_bytes() {
        keep(&kept, &mut node);
    }
    node
}

/// Writes a part by its rows.
pub fn fill(node: &Node, rows: &'static [Row], usual: &'static str, out: &mut Vec<u8>) {
    let kept = kept(node).unwrap_or(Json::constant(usual));
    let mut object = Object::open(out);
    template::write(rows, node, &kept, &mut object, &mut |_, _, _| false);
    object.close();
}

/// Keeps the template of a block, as a member of its own name.
pub fn keep(template: &Json, node: &mut Node) {
    let mut extra = Extra::default();
    extra.add(b"\"gemini\"", template.as_bytes());
    extra.put(node);
}

/// Returns the template of a block, if it is not the usual one.
pub fn kept(node: &Node) -> Option<Json> {
    node.json(Field::Extra)?.member("gemini")
}
