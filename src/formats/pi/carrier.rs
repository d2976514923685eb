//! Residue in pi's files: a member `copyist` behind all others of an entry.
//!
//! pi keeps members that it does not know, byte for byte, and shows them to nobody. An entry of its
//! own would be a node of the tree, and one that stands in the wrong place empties the conversation.

use crate::error::Result;
use crate::format::{Carrier, Load, RESIDUE, Took, list, spread, take_noted};
use crate::json::edit::Edits;
use crate::json::{Cursor, Span, text};
use crate::record::Record;
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part: |_| Some(0), put };

const KEY: &str = "copyist";

fn take(record: &mut Record) -> Took {
    Took { chunks: take_noted(&mut record.node, KEY), ..Took::default() }
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let last = load.lines;
    spread(from, load, (last.min(2), last), to, &mut |line, chunks, out| {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        let Some((present, close)) = places(text) else { return false };
        let mut edits = Edits::default();
        edits.append(text, KEY, present, RESIDUE, list(chunks).as_bytes());
        edits.apply(line, close, false, out);
        true
    })
}

/// Where the value of the member stands in an entry, if it has it, and where the entry ends.
fn places(line: &[u8]) -> Option<(Option<Span>, usize)> {
    let mut cursor = Cursor::new(line);
    cursor.begin_object().ok()?;
    let mut present = None;
    while let Some(key) = cursor.next_key().ok()? {
        let value = cursor.skip_value().ok()?;
        if text::is(key.of(line), KEY) {
            present = Some(value);
        }
    }
    Some((present, cursor.at().checked_sub(1)?))
}
