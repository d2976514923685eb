//! Residue in logs: lines of the type `copyist`, never the first nor the last one.
//!
//! The scripts pass over lines of types that they do not know, except that the first line tells
//! what the log is and the last one whether the session is done.

use crate::error::Result;
use crate::format::{Carrier, Load, Took, chunks, list, spread};
use crate::json::Json;
use crate::record::{Field, Kind, Record};
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, put };

const TYPE: &str = "copyist";

fn take(record: &mut Record) -> Took {
    if record.kind != Kind::Opaque || !record.node.is(Field::Type, TYPE) {
        return Took::default();
    }
    let carried = record.node.json(Field::Data).and_then(|data: &Json| data.member("residue"));
    let chunks = carried.map(|list| chunks(&list)).unwrap_or_default();
    Took { whole: !chunks.is_empty(), chunks, ..Took::default() }
}

/// The log, not the metadata.
fn part(parts: &[(String, Vec<u8>)]) -> Option<usize> {
    parts.iter().position(|(name, head)| name.is_empty() && !head.is_empty())
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let last = load.lines.saturating_sub(1).max(1);
    spread(from, load, (1, last), to, &mut |line, chunks, out| {
        out.extend_from_slice(line);
        let list = list(chunks);
        out.extend_from_slice(format!("\n{{\"type\":\"{TYPE}\",\"residue\":[{list}]}}").as_bytes());
        true
    })
}
