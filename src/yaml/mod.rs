//! YAML as a stream: events in, scalars out, no tree.
//!
//! * [`Text`] is the content of a scalar; JSON and PyYAML both allow half of a surrogate pair in
//!   it.
//! * [`encoding`] converts other encodings to UTF-8, and back.
//! * [`json`] converts nodes to JSON, and JSON to nodes.
//! * [`read`] returns the events of a document with their places.
//! * [`refused`] finds what PyYAML refuses.
//! * [`write`](mod@write) spells documents, as PyYAML does or for users.

pub mod encoding;
pub mod json;
mod keys;
pub mod read;
pub mod refused;
mod text;
pub mod write;

pub use text::Text;

/// Whether text without quotes is a number for YAML 1.1 and for JSON.
fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let exponent = memchr::memchr2(b'e', b'E', text).is_some();
    let point = memchr::memchr(b'.', text).is_some();
    // YAML 1.1 has no exponent without a point, and none without a sign.
    let signed = text.windows(2).any(|pair| matches!(pair, [b'e' | b'E', b'+' | b'-']));
    digits.first().is_some_and(u8::is_ascii_digit)
        && (!exponent || (point && signed))
        && crate::json::Cursor::new(text).skip_value().is_ok_and(|span| span.end == text.len())
}
