//! Records as JSON text: one object, `kind` first, the fields in the model's order.
//!
//! The canonical stream has such an object on each line; other formats keep records so for which
//! they have no place.

mod read;
mod write;

pub use read::{parse, parse_any};
pub use write::{line, line_of, normal_line_of, object_of};
