//! Sessions of other formats, for writers that hold only some of their data.
//!
//! [`ListWriter`] writes a list of messages, whatever its file is; [`fitted`] removes from content
//! what a format does not hold.

mod content;
mod list;

pub use content::{Holds, fitted, has_row};
pub use list::{ListWriter, MessageList, write_session};
