//! JSON as text: checked once, then carried in its source spelling.
//!
//! JSON that comes from JavaScript can contain data that a Rust `String` and an `f64` cannot: lone
//! surrogate escapes, 23-digit integers, `1.50`, duplicate keys, members whose order matters.
//! Therefore a value stays the slice of its line until code must look inside.
//!
//! * [`Cursor`] walks a text once and checks every byte of it against the grammar.
//! * [`Flow`] takes values out of a stream that is too long for memory.
//! * [`Json`] is one checked value, a counted slice of its line.
//! * [`text`] decodes and quotes strings.
//! * [`strings`] skips the inside of strings, where most of the time is spent.
//! * [`edit`] changes a few bytes of an object and leaves the rest unchanged.
//! * [`EscapeStyle`] spells a value as its producer would.

mod cursor;
pub mod edit;
mod escapes;
mod fault;
mod flow;
mod inside;
mod normal;
mod salvage;
pub(crate) mod scan;
mod search;
mod spelling;
pub mod strings;
pub mod text;
mod tokens;
mod value;
#[cfg_attr(not(target_arch = "x86_64"), path = "narrow.rs")]
mod wide;

pub use cursor::{Cursor, Walk};
pub use escapes::{Unit, refused_units};
pub use fault::{Fault, Span, What};
pub use flow::Flow;
pub use inside::{elements, is_whole, member, member_place, members};
pub use salvage::salvage;
pub use spelling::{EscapeStyle, without_nan};
pub use tokens::Tokens;
pub use value::Json;

/// Length in bytes from which a value is large.
const LARGE: usize = 8 << 20;

/// Room in bytes for what follows a large value. Memory that is not written to costs nothing.
const ROOM: usize = 1 << 20;

/// Appends the spelling of a value. Behind a large one there is room for the rest of the line, which
/// would move the value if the buffer had to grow for it.
pub fn put(value: &[u8], out: &mut Vec<u8>) {
    if value.len() >= LARGE {
        out.reserve(value.len() + ROOM);
    }
    out.extend_from_slice(value);
}
