//! Residue in logs: lines of the type `copyist`, never the first nor the last one.
//!
//! The scripts pass over lines of types that they do not know, except that the first line tells
//! what the log is and the last one whether the session is done. One more such line, before the last,
//! says how many chunks there are, as does a member `copyist` of the metadata. Those of a session
//! without a line carry the chunks.

use super::meta;
use crate::error::{Error, Result};
use crate::format::{
    Beginning, COUNT, Carrier, Load, RESIDUE, Took, lines_of, list, spread, take_noted, take_whole,
};
use crate::record::{Kind, Record};
use std::io::{Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part, lacks: None, put };

const TYPE: &str = "copyist";

fn take(record: &mut Record) -> Took {
    if record.kind == Kind::Session {
        return take_noted(&mut record.node, TYPE);
    }
    take_whole(record, TYPE)
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
    let mark = (load.lines > 1).then_some(last);
    spread(from, load, (1, last, mark), to, &mut |line, freight, out| {
        out.extend_from_slice(line);
        let head = format!("\"type\":\"{TYPE}\"");
        lines_of(freight, &head, out);
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
    let (name, list) = match load.count {
        0 => (COUNT, load.all.to_string()),
        _ => (RESIDUE, list(&chunks)),
    };
    let text = format!("{object},\n  \"{TYPE}\": {{\n    \"{name}\": [{list}]\n  }}\n}}\n");
    to.write_all(text.as_bytes()).map_err(|error| Error::io("cannot write", error))
}
