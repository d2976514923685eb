//! Residue in run files: records of the type `x.copyist.residue`, which Codelia passes over, behind
//! the header and the start of the run.

use crate::error::Result;
use crate::format::{Beginning, Carrier, Load, RESIDUE, Took, chunks, list, spread};
use crate::json::Json;
use crate::mapping::Source;
use crate::record::{Field, Kind, Record};
use bytes::Bytes;
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, put };

const TYPE: &str = "x.copyist.residue";

fn take(record: &mut Record) -> Took {
    if record.kind != Kind::Opaque || !record.node.is(Field::Type, TYPE) {
        return Took::default();
    }
    let carried = record.node.json(Field::Data).and_then(|data: &Json| data.member(RESIDUE));
    let chunks = carried.map(|list| chunks(&list)).unwrap_or_default();
    Took { whole: !chunks.is_empty(), chunks, ..Took::default() }
}

/// The first run; a state has no room.
fn part(parts: &[Beginning]) -> Option<usize> {
    let is_run = |(name, head): &Beginning| {
        let begins = head.starts_with(b"{\"type\":\"header\"");
        begins && (name.is_empty() || name.ends_with(".jsonl"))
    };
    parts.iter().position(is_run)
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let last = load.lines.saturating_sub(1).max(1);
    spread(from, load, (last.min(2), last), to, &mut |line, chunks, out| {
        out.extend_from_slice(line);
        let text = Bytes::copy_from_slice(line);
        let source = Source::new(&text);
        out.extend_from_slice(format!("\n{{\"type\":\"{TYPE}\"").as_bytes());
        // The header has no time of its own but that of its run.
        for (key, other) in [("ts", "started_at"), ("run_id", "run_id")] {
            let value = [key, other].iter().find_map(|key| source.peek(key).ok().flatten());
            if let Some(value) = value {
                out.extend_from_slice(format!(",\"{key}\":{value:?}").as_bytes());
            }
        }
        out.extend_from_slice(format!(",\"{RESIDUE}\":[{}]}}", list(chunks)).as_bytes());
        true
    })
}
