//! Images of questions and of results.

use super::wire::member_of;
use crate::json::Json;
use crate::record::{Field, Node, Value, block};
use std::collections::HashMap;

/// Data of images that events of their own hold, by their identifiers.
pub type Assets = HashMap<String, Json>;

/// Returns the images of a list of attachments, or of results for the model.
pub fn images(list: Option<Json>, assets: &Assets) -> Vec<Node> {
    let elements: Vec<Json> = list.iter().flat_map(Json::elements).collect();
    let image = |element: &Json| {
        let data = member_of(element, "data");
        let asset = || assets.get(&element.member("assetId")?.text()?).cloned();
        let mut block = Node::with_capacity(3);
        block.set(Field::Type, block::type_of(block::IMAGE));
        block.set(Field::MediaType, image_type(element)?);
        block.set(Field::Data, data.or_else(asset)?);
        Some(block)
    };
    elements.iter().filter_map(image).collect()
}

/// Returns the media type of an element that is an image.
pub fn image_type(element: &Json) -> Option<Json> {
    member_of(element, "mimeType").filter(|media| media.as_bytes().starts_with(b"\"image/"))
}

/// Returns content that is a text, or a text and images.
pub fn content_of(text: Option<Json>, images: Vec<Node>) -> Option<Value> {
    if images.is_empty() {
        return text.map(Value::Json);
    }
    let text = text.filter(|text| text.as_bytes() != b"\"\"").map(block::text);
    Some(text.into_iter().chain(images).collect::<Vec<_>>().into())
}
