//! Residue in pi's files: a member `copyist` behind all others of an entry.
//!
//! pi keeps members that it does not know, byte for byte, and shows them to nobody. An entry of its
//! own would be a node of the tree, and one that stands in the wrong place empties the conversation.
//! The header says how many chunks there are.

use super::wire::NOTE;
use crate::error::Result;
use crate::format::{COUNT, Carrier, Load, RESIDUE, Took, list, spread, take_noted};
use crate::json::edit::Edits;
use crate::json::text::is;
use crate::members::Scan;
use crate::record::Record;
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part: |_| Some(0), lacks: None, put };

fn take(record: &mut Record) -> Took {
    take_noted(&mut record.node, NOTE)
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let (last, several) = (load.lines, load.lines > 1);
    let mark = several.then_some(1);
    spread(from, load, (last.min(2), last, mark), to, &mut |line, freight, out| {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(Some(scan)) = Scan::of(text) else { return false };
        // What is read in two ways is kept whole, and nothing is looked for in it.
        if super::read::is_whole(text) {
            return false;
        }
        // From a further header nothing is read.
        let kind = scan.kind.as_ref().and_then(|kind| text.get(kind.value.start..kind.value.end));
        let header = kind.is_some_and(|kind| is(kind, "session"));
        let (name, items) = match freight.count {
            Some(count) if header => (COUNT, count.to_string()),
            None if !several || !header => (RESIDUE, list(freight.chunks)),
            _ => return false,
        };
        let mut edits = Edits::default();
        let present = scan.note.map(|note| note.value);
        edits.append(text, NOTE, present, name, items.as_bytes());
        edits.apply(text, scan.close, scan.members == 0, out);
        true
    })
}
