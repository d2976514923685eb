//! YAML as a stream: events in, scalars out, no tree.
//!
//! * [`Text`] is what a scalar holds; JSON and PyYAML both allow half of a surrogate pair in it.
//! * [`encoding`] makes UTF-8 of what else there is, and back.
//! * [`read`] gives the events of a document with their places.
//! * [`write`](mod@write) spells documents, as PyYAML does or for people.

pub mod encoding;
pub mod read;
mod text;
pub mod write;

pub use text::Text;
