//! Origins of trimmed sessions.
//!
//! A trimmed session has the identifiers, the order and the lines of the whole one, and its agent adds
//! lines at the end of its files. So the whole session with what is new is the archived source with
//! these lines behind it, byte for byte. Everything else reads a trimmed session alone: the whole one
//! is what is too big for a model.

use super::file::{Header, Origin, Source, Trimmed, size_of};
use super::keep::{Keep, Kept};
use super::pair::{as_it_is, header, header_of, lengths};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts, Sink};
use crate::formats::Spec;
use crate::parts::room::Room;
use std::io::{self, Read, Write};

/// Returns the header of the origin beside a session, if it can be read.
fn header_beside(parts: &mut dyn Parts) -> Result<Option<Header>> {
    let Some(open) = parts.origin()? else { return Ok(None) };
    let mut file = open()?;
    let size = size_of(&mut *file)?;
    Ok(header_of(file, size))
}

/// Returns the description of a trimmed session; `None` for any other session.
///
/// # Errors
/// If the origin beside the session cannot be read.
pub fn trimmed(parts: &mut dyn Parts) -> Result<Option<Trimmed>> {
    Ok(header_beside(parts)?.and_then(|header| header.trimmed))
}

/// Whether the whole of a trimmed session was made from one of this format.
#[must_use]
pub fn is_trimmed_from(trimmed: &Trimmed, format: &Format) -> bool {
    let chain = trimmed.chain.as_ref().and_then(|header| Spec::parse(&header.source).ok());
    chain.is_some_and(|source| source.format.name == format.name)
}

/// Returns the whole of a trimmed session with what was added to its files since, and with the
/// origin that it had beside it; `None` for any other session. `sink` lends room.
///
/// # Errors
/// If the files were changed in another way, or the origin cannot be read.
pub fn whole(parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<Option<Source>> {
    if trimmed(parts)?.is_none() {
        return Ok(None);
    }
    let Some(opener) = parts.origin()? else { return Ok(None) };
    let unusable = |why: &str| {
        let message = format!("the origin of the trimmed session cannot be used: {why}");
        Error::request(Code::OriginUnreadable, message)
    };
    parts.keep()?;
    let sizes = parts.names().into_iter().map(|name| parts.size(&name));
    let size = sizes.sum::<Result<u64>>()?;
    let origin = Origin::open(opener, size)?.map_err(unusable)?;
    let mut source = origin.source(sink)?.map_err(unusable)?;
    let Some(lengths) = lengths(&origin.trailer, parts)? else {
        let message = "the trimmed session was changed, and not only continued";
        return Err(Error::request(Code::TrimmedChanged, message));
    };
    let room = Room::of(sink.spool()?);
    let failed = |error| Error::io("cannot copy", error);
    for name in parts.names() {
        let known =
            lengths.iter().find(|(known, _)| *known == name).map_or(0, |(_, length)| *length);
        let size = parts.size(&name)?;
        if size == known {
            continue;
        }
        let mut part = room.part();
        if source.parts.names().contains(&name) {
            io::copy(&mut source.parts.open(&name)?, &mut part).map_err(failed)?;
        }
        let mut new = parts.open_at(&name, known)?.take(size - known);
        io::copy(&mut new, &mut part).and_then(|_| part.flush()).map_err(failed)?;
        source.parts.set(&name, part);
    }
    Ok(Some(source))
}

/// Writes the origin of a trimmed session, from which the whole one can be restored, both as they are
/// now. `sink` lends room.
///
/// # Errors
/// If a session cannot be read, or the origin cannot be written.
pub fn keep_whole(
    (own, parts): (Spec, &mut dyn Parts),
    target: &mut dyn Parts,
    file: Box<dyn Write>,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<()> {
    let (chain, before) = (parts.origin()?, header_beside(parts)?);
    let mut header = header(own, own, cx);
    header.trimmed = Some(Trimmed { chain: before.map(Box::new) });
    let source = Kept { format: own.format, parts, further: Vec::new() };
    Keep { file, header, chain }.write(source, as_it_is(target)?, sink, cx).map(drop)
}
