//! Residue in logs: lines of the type `copyist`, never the first nor the last one.
//!
//! The scripts pass over lines of types that they do not know, except that the first line tells
//! what the log is and the last one whether the session is done. A session without a line has a
//! member `copyist` in its metadata.

use super::meta;
use crate::error::{Error, Result};
use crate::format::{Beginning, Carrier, Load, RESIDUE, Took, chunks, list, spread, take_noted};
use crate::json::Json;
use crate::record::{Field, Kind, Record};
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, put };

const TYPE: &str = "copyist";

fn take(record: &mut Record) -> Took {
    if record.kind == Kind::Session {
        return Took { chunks: take_noted(&mut record.node, TYPE), ..Took::default() };
    }
    if record.kind != Kind::Opaque || !record.node.is(Field::Type, TYPE) {
        return Took::default();
    }
    let carried = record.node.json(Field::Data).and_then(|data: &Json| data.member(RESIDUE));
    let chunks = carried.map(|list| chunks(&list)).unwrap_or_default();
    Took { whole: !chunks.is_empty(), chunks, ..Took::default() }
}

/// The log, or the metadata of an empty one.
fn part(parts: &[Beginning]) -> Option<usize> {
    let log = parts.iter().position(|(name, head)| name.is_empty() && !head.is_empty());
    log.or_else(|| parts.iter().position(|(name, _)| name == meta::ENDING))
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    if load.part == meta::ENDING {
        return put_meta(from, load, to);
    }
    let last = load.lines.saturating_sub(1).max(1);
    spread(from, load, (1, last), to, &mut |line, chunks, out| {
        out.extend_from_slice(line);
        let list = list(chunks);
        out.extend_from_slice(
            format!("\n{{\"type\":\"{TYPE}\",\"{RESIDUE}\":[{list}]}}").as_bytes(),
        );
        true
    })
}

/// Metadata are short, and nothing that was said is in the residue of a session without a line.
fn put_meta(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let mut text = String::new();
    from.read_to_string(&mut text).map_err(|error| Error::io("cannot read", error))?;
    let mut chunks = Vec::new();
    while let Some(chunk) = (load.next)()? {
        chunks.push(chunk);
    }
    let object = text.trim_end().strip_suffix('}').map(str::trim_end).unwrap_or_default();
    let list = list(&chunks);
    let text = format!("{object},\n  \"{TYPE}\": {{\n    \"{RESIDUE}\": [{list}]\n  }}\n}}\n");
    to.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", error))
}
