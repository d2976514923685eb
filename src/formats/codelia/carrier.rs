//! Residue in run files: records of the type `x.copyist.residue`, which Codelia passes over, behind
//! the header and the start of the run; one more, before the last record, says how many chunks there
//! are, as does one in each other run.

use crate::error::Result;
use crate::format::{Beginning, Carrier, Load, Took, lines_of, spread, take_whole};
use crate::mapping::Source;
use crate::record::Record;
use bytes::Bytes;
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, put };

const TYPE: &str = "x.copyist.residue";

fn take(record: &mut Record) -> Took {
    take_whole(record, TYPE)
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
    let mark = match load.count {
        // Behind the start of another run.
        0 => Some(2),
        _ => (load.lines > 1).then_some(last),
    };
    spread(from, load, (last.min(2), last, mark), to, &mut |line, freight, out| {
        out.extend_from_slice(line);
        let text = Bytes::copy_from_slice(line);
        let source = Source::new(&text);
        let mut head = format!("\"type\":\"{TYPE}\"");
        // The header has no time of its own but that of its run.
        for (key, other) in [("ts", "started_at"), ("run_id", "run_id")] {
            let value = [key, other].iter().find_map(|key| source.peek(key).ok().flatten());
            if let Some(value) = value {
                head.push_str(&format!(",\"{key}\":{value:?}"));
            }
        }
        out.extend_from_slice(lines_of(freight, &head).as_bytes());
        true
    })
}
