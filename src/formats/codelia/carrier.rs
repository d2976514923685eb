//! Residue in run files: records of the type `x.copyist.residue`, which Codelia passes over, behind
//! the header and the start of the run; one more, before the last record, says how many chunks there
//! are, as does one in each other run. A state has no room for a mark, but it names its last run, and
//! of a session from elsewhere that name follows from the session's, which no name of Codelia's does.

use super::names::made_run;
use crate::error::Result;
use crate::format::{Beginning, Carrier, Cx, Load, Parts, Took, lines_of, spread, take_whole};
use crate::mapping::Source;
use crate::record::{Field, Kind, Record};
use bytes::Bytes;
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, lacks: Some(lacks), put };

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

/// Whether the state names a run that copyist wrote, and no run is there.
fn lacks(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<bool> {
    parts.keep()?;
    let (mut named, mut runs) = (None, 1);
    for item in super::read(parts, cx)?.map_while(Result::ok) {
        let Record { kind, node } = item.value;
        match kind {
            Kind::Run => return Ok(false),
            Kind::Message => runs += u64::from(node.is(Field::Role, "user")),
            Kind::Snapshot => {
                named = node.text(Field::Session).zip(node.text(Field::Run)).or(named)
            }
            _ => {}
        }
    }
    // Each input of a person began a run, and so may an answer before the first.
    Ok(named.is_some_and(|(session, run)| (1..=runs).any(|nth| made_run(&session, nth) == run)))
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
        lines_of(freight, &head, out);
        true
    })
}
