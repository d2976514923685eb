//! Residue in pi's files: a member `copyist` behind all others of an entry.
//!
//! pi keeps members that it does not know, byte for byte, and shows them to nobody. An entry of its
//! own would be a node of the tree, and one that stands in the wrong place empties the conversation.

use crate::error::Result;
use crate::format::{Carrier, Load, Took, chunks, list, spread, take_extra};
use crate::json::edit::Edits;
use crate::json::{Cursor, Span, text};
use crate::mapping::{Extra, without};
use crate::record::{Field, Record};
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part: |_| Some(0), put };

const KEY: &str = "copyist";
const RESIDUE: &str = "residue";

fn take(record: &mut Record) -> Took {
    let Some(noted) = take_extra(&mut record.node, KEY) else { return Took::default() };
    let carried = noted.member(RESIDUE);
    // Other notes, such as of a repair, are the entry's own.
    let rest = if carried.is_some() { without(&noted, RESIDUE) } else { Some(noted) };
    if let Some(rest) = rest {
        let mut extra = Extra::default();
        record.node.json(Field::Extra).into_iter().for_each(|extra_| extra.add_members(extra_));
        extra.add(format!("\"{KEY}\"").as_bytes(), rest.as_bytes());
        extra.finish().into_iter().for_each(|extra| record.node.set(Field::Extra, extra));
    }
    let chunks = carried.map(|list| chunks(&list)).unwrap_or_default();
    Took { chunks, ..Took::default() }
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
