//! Lists of records inside one JSON document, such as `{"id":"s","messages":[…]}`.
//!
//! The document without the items of its list is the [`Frame`]. [`Items`] reads through a document
//! with the memory of one item, [`ListPen`] writes one, [`salvage()`] makes a document of the pieces
//! of a damaged one, and [`repair`](repair()) repairs a session that is a document alone.
//!
//! ```
//! use copyist::document::{Items, frame};
//! let text = || Box::new(&br#"{"id":"s","messages":[{"n":1},{"n":2}],"end":true}"#[..]);
//! assert_eq!(frame(text(), &["messages"], 100)?.text, br#"{"id":"s","messages":[],"end":true}"#[..]);
//! let second = Items::over(text(), &["messages"], 100)?.nth(1).expect("an item")?;
//! assert_eq!((second.value.as_bytes(), second.at.byte), (&br#"{"n":2}"#[..], 30));
//! # Ok::<(), copyist::error::Error>(())
//! ```

mod items;
mod pen;
mod repair;
mod salvage;

pub use items::{Frame, Items, frame};
pub use pen::{ListPen, Style, around};
pub use repair::{CompleteFn, Completed, Rules, complete, repair};
pub use salvage::{Salvaged, salvage};

use crate::json::EscapeStyle;
use bytes::Bytes;

/// Names of the members that lead to a list, from the outermost object on.
pub type Path = &'static [&'static str];

/// Returns JSON without the line breaks between its values, for values in records contain none.
#[must_use]
pub fn on_one_line(text: &Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', text).is_none() {
        return text.clone();
    }
    let mut line = Vec::with_capacity(text.len());
    EscapeStyle::SCRIPT.spell(text, &mut line);
    line.into()
}
