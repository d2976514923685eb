//! Origins of sessions with which two agents go on by turns.
//!
//! After new messages were added to both files, neither is what a writer makes of the other. The
//! origin then contains one file and the digests of the other one, both as they are at that moment.
//! New messages that the other agent adds later are behind the bytes of these digests.

use super::archive::{self, Unreadable, digest_of};
use super::digest::Digest;
use super::file::{HEADER, Header, Origin, Trailer};
use super::keep::{Keep, Kept, Made};
use crate::error::{Cannot, Result};
use crate::format::{Cx, Parts, Sink};
use crate::formats::Spec;
use crate::parts::room::Room;
use crate::stage::{Like, Staged};
use std::io::{self, Read, Write};

/// Writes the origin of `target`, from which `source` can be restored, both as they are now. `sink`
/// lends room.
pub fn pair(
    (source, parts): (Spec, &mut dyn Parts),
    (target, made): (Spec, &mut dyn Parts),
    file: Box<dyn Write>,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<()> {
    let mut header = header(source, target, cx);
    header.by_turns = true;
    let source = Kept { format: source.format, parts, further: Vec::new() };
    Keep { file, header, chain: None }.write(source, as_it_is(made)?, sink, cx).map(drop)
}

/// Returns the header of an origin of two files.
pub(super) fn header(source: Spec, target: Spec, cx: &Cx<'_>) -> Header {
    let named = |spec: Spec| spec.format.at(spec.version().number);
    let place = Like { stem: None, takes_parts: true, is_native: true };
    Header::new(named(source), named(source), named(target), place, cx)
}

/// Describes a target as it is now.
pub(super) fn as_it_is(target: &mut dyn Parts) -> Result<Made> {
    let digests = target.names().into_iter().map(|name| digest_of(target.open(&name)?));
    Ok(Made { parts: digests.collect::<Result<_>>()?, shares: false })
}

/// Reads the header of an origin of this size in bytes, without the rest of it. `None` for another
/// file.
pub fn header_of(file: impl Read, packed: u64) -> Option<Header> {
    let mut header = None;
    // The header is the first member. The error ends the reading behind it.
    let _ = archive::read(file, (packed, 0), &mut |name, from| {
        if name == HEADER {
            header = Some(archive::contents(from)?);
        }
        Err(io::Error::other("no more is wanted"))
    });
    Header::parse(&header?)
}

/// Change of a file since its origin was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// No change.
    Unchanged,
    /// Bytes were added at the end of parts, or further parts.
    Continued,
    /// Any other change.
    Changed,
}

/// A file now and as it was when its origin was written.
pub struct Before {
    /// The change.
    pub since: Since,
    /// The parts as they were.
    pub parts: Staged,
}

/// Compares the source of an origin with the file from which it came.
///
/// # Errors
/// If one of them cannot be read; `Err` inside is the reason why the origin cannot be used.
pub fn source_before(
    origin: &Origin,
    now: &mut dyn Parts,
    sink: &mut dyn Sink,
) -> Result<std::result::Result<Before, Unreadable>> {
    let mut parts = match origin.source(sink)? {
        Ok(source) => source.parts,
        Err(why) => return Ok(Err(why)),
    };
    let (known, names) = (parts.names(), now.names());
    let mut since = if known.len() == names.len() { Since::Unchanged } else { Since::Continued };
    for name in &known {
        let length = parts.size(name)?;
        let size = if names.contains(name) { now.size(name)? } else { 0 };
        let begins = size >= length
            && digest_of(parts.open(name)?)? == digest_of(now.open(name)?.take(length))?;
        since = match begins {
            false => return Ok(Ok(Before { since: Since::Changed, parts })),
            true if size > length => Since::Continued,
            true => since,
        };
    }
    Ok(Ok(Before { since, parts }))
}

/// Compares the target of an origin with the file as it was when the origin was written.
pub fn target_before(origin: &Origin, now: &mut dyn Parts, sink: &mut dyn Sink) -> Result<Before> {
    Ok(match as_it_was(&origin.trailer, now, sink)? {
        None => Before { since: Since::Changed, parts: Staged::default() },
        Some(mut parts) => {
            let size = |parts: &mut dyn Parts| {
                let sizes = parts.names().into_iter().map(|name| parts.size(&name));
                sizes.sum::<Result<u64>>()
            };
            let same = size(&mut parts)? == size(now)?;
            Before { since: if same { Since::Unchanged } else { Since::Continued }, parts }
        }
    })
}

/// Returns a session as it was when its origin was written: of each part the bytes of its digest.
/// `None` if the session does not begin with these bytes.
pub fn as_it_was(
    trailer: &Trailer,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
) -> Result<Option<Staged>> {
    let Some(lengths) = lengths(trailer, parts)? else { return Ok(None) };
    let room = Room::of(sink.spool()?);
    let mut was = Vec::new();
    for (name, length) in lengths {
        let mut part = room.part();
        io::copy(&mut parts.open(&name)?.take(length), &mut part).cannot("copy")?;
        was.push((name, part));
    }
    Ok(Some(Staged::of(was)))
}

/// Returns the parts that a session had when its origin was written, and the length of each of them
/// then. `None` if the session does not begin with these bytes.
pub(super) fn lengths(
    trailer: &Trailer,
    parts: &mut dyn Parts,
) -> Result<Option<Vec<(String, u64)>>> {
    let mut unmatched: Vec<&Digest> = trailer.parts.iter().collect();
    let mut lengths = Vec::new();
    for name in parts.names() {
        let size = parts.size(&name)?;
        let mut fitting = None;
        for (place, digest) in
            unmatched.iter().enumerate().filter(|(_, digest)| digest.length <= size)
        {
            if digest_of(parts.open(&name)?.take(digest.length))? == **digest {
                fitting = Some(place);
                break;
            }
        }
        let Some(place) = fitting else { continue };
        lengths.push((name, unmatched.remove(place).length));
    }
    Ok(unmatched.is_empty().then_some(lengths))
}
