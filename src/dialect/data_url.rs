//! URLs that contain their data in base64, as interfaces take images and documents.

use crate::record::{Field, Node};

/// Splits a URL into media type and base64 data; `None` if it is another kind of URL.
///
/// ```
/// use copyist::dialect::data_url;
/// assert_eq!(data_url::split("data:image/png;base64,iVBO"), Some(("image/png", "iVBO")));
/// assert_eq!(data_url::split("https://example.org/a.png"), None);
/// ```
pub fn split(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// Returns the URL of an image or document block.
pub fn of(block: &Node) -> String {
    let text = |field| block.text(field).unwrap_or_default();
    format!("data:{};base64,{}", text(Field::MediaType), text(Field::Data))
}
