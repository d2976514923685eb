//! YAML as a stream: an emitter that keeps no tree.
//!
//! * [`Text`] is what a scalar holds; JSON and PyYAML both allow half of a surrogate pair in it.
//! * [`write`] spells documents, as PyYAML does or for people.

mod text;
pub mod write;

pub use text::Text;
