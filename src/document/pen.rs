//! Writer of a document with a list.

use super::Path;
use crate::error::{Error, Result};
use crate::format::Spool;
use crate::json::{Cursor, EscapeStyle, text};
use crate::lines::BOM;
use crate::parts::room::{Part, Room};
use crate::record::{Field, Node};
use std::borrow::Cow;
use std::io::{self, Write};

/// Layout in which a program writes its documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether each member and each item is on a line of its own, and all text spelled, as in
    /// JavaScript's `JSON.stringify(value, null, 2)`.
    pub indented: bool,
    /// Whether a line ending follows.
    pub newline: bool,
}

/// Returns the text of a frame before the items of its list, and the text behind them.
#[must_use]
pub fn around(frame: &[u8], path: Path) -> (&[u8], &[u8]) {
    let mut cursor = Cursor::new(frame);
    for name in path {
        let _ = cursor.begin_object();
        while let Ok(Some(key)) = cursor.next_key() {
            if text::is(key.of(frame), name) {
                break;
            }
            let _ = cursor.skip_value();
        }
    }
    let _ = cursor.begin_array();
    frame.split_at_checked(cursor.at()).unwrap_or((frame, b""))
}

/// Writes a list, item by item; the text around it, which may depend on the items, comes last.
pub struct ListPen {
    items: Part,
    path: Path,
    style: Style,
    count: u64,
    out: Vec<u8>,
    spelling: Spelling,
}

impl ListPen {
    /// Begins with an empty list.
    #[must_use]
    pub fn new(spool: Box<dyn Spool>, path: Path, style: Style) -> Self {
        let spelling = Spelling { depth: path.len() + 1, opened: true, ..Spelling::default() };
        let items = Room::of(spool).part();
        Self { items, path, style, count: 0, out: Vec::new(), spelling }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn item(&mut self, item: &[u8]) -> Result<()> {
        self.out.clear();
        if self.count > 0 {
            self.spelling.add(b",", self.style, &mut self.out);
        }
        self.spelling.add(&spelled(item, self.style), self.style, &mut self.out);
        self.count += 1;
        self.items.write_all(&self.out).map_err(failed)
    }

    /// Writes the document: its frame with the items. `session` is the record that names the
    /// properties of the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, mut part: Box<dyn Write>, frame: &[u8], session: &Node) -> Result<()> {
        let frame = spelled(frame, self.style);
        let (head, tail) = around(&frame, self.path);
        let file = session.node(Field::File);
        self.out.clear();
        if file.is_some_and(|file| file.is_true(Field::Bom)) {
            self.out.extend_from_slice(BOM);
        }
        Spelling::default().add(head, self.style, &mut self.out);
        part.write_all(&self.out).map_err(failed)?;
        io::copy(&mut self.items.reading(0), &mut part).map_err(failed)?;
        self.out.clear();
        self.spelling.add(tail, self.style, &mut self.out);
        let newline = file.and_then(|file| file.json(Field::FinalNewline));
        if newline.map_or(self.style.newline, |newline| newline.as_bytes() == b"true") {
            self.out.push(b'\n');
        }
        part.write_all(&self.out).and_then(|()| part.flush()).map_err(failed)
    }
}

fn failed(error: io::Error) -> Error {
    Error::io("cannot write", error)
}

fn spelled(text: &[u8], style: Style) -> Cow<'_, [u8]> {
    if !style.indented {
        return Cow::Borrowed(text);
    }
    let mut spelled = Vec::with_capacity(text.len());
    EscapeStyle::SCRIPT.spell(text, &mut spelled);
    Cow::Owned(spelled)
}

/// Place in a text that is laid out.
#[derive(Default)]
struct Spelling {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Whether the last token opened an object or a list.
    opened: bool,
}

impl Spelling {
    /// Appends the next piece of the text.
    fn add(&mut self, text: &[u8], style: Style, out: &mut Vec<u8>) {
        if !style.indented {
            return out.extend_from_slice(text);
        }
        for byte in text {
            if self.in_string {
                self.in_string = *byte != b'"' || self.escaped;
                self.escaped = *byte == b'\\' && !self.escaped;
                out.push(*byte);
                continue;
            }
            let closes = matches!(byte, b'}' | b']');
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                _ if closes => {
                    self.depth = self.depth.saturating_sub(1);
                    if !std::mem::take(&mut self.opened) {
                        self.line(out);
                    }
                }
                _ if std::mem::take(&mut self.opened) => self.line(out),
                _ => {}
            }
            out.push(*byte);
            match byte {
                b'{' | b'[' => (self.depth, self.opened) = (self.depth + 1, true),
                b',' => self.line(out),
                b':' => out.push(b' '),
                b'"' => self.in_string = true,
                _ => {}
            }
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}
