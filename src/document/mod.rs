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

mod changes;
mod items;
mod pen;
mod repair;
mod salvage;

pub use changes::Changes;
pub use items::{Frame, Items, frame};
pub use pen::{ListPen, Style, around};
pub use repair::{CompleteFn, Completed, Rules, complete, repair};
pub use salvage::{Salvaged, salvage};

use crate::error::Result;
use crate::format::Piece;
use crate::json::EscapeStyle;
use crate::position::{Located, Position};
use bytes::Bytes;
use std::io::Read;

/// Names of the members that lead to a list, from the outermost object on.
pub type Path = &'static [&'static str];

/// Shows the items of a document, and then the document without them, up to the first fault.
///
/// # Errors
/// If the document cannot be opened.
pub fn pieces(from: Box<dyn Read>, path: Path, limit: usize, show: Piece<'_>) -> Result<()> {
    let mut items = Items::over(from, path, limit)?;
    for item in items.by_ref() {
        let Ok(Located { value, at }) = item else { return Ok(()) };
        if show(at, &on_one_line(value.bytes())).is_break() {
            return Ok(());
        }
    }
    let _ = show(Position { line: 1, ..Position::default() }, &items.frame().text);
    Ok(())
}

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
