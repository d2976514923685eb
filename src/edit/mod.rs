//! Edits of a session's files as patches: what was edited is changed in the source's text, and
//! every other byte stays.
//!
//! An edit is known as two texts that one writer made: of the session as it was, and as it is now.
//! Their difference is applied to the source.

pub mod json;
mod lines;
mod plan;
pub mod yaml;

use crate::error::{Cannot, Result};
use crate::format::{Format, Parts, Sink};
use crate::json::Json;
use crate::lines::Lines;
use crate::parts::room::{Part, Room};
use crate::stage::Staged;
use bytes::Bytes;
use std::io::{self, Read, Write};

/// Content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Lines, most of them one JSON value.
    Lines,
    /// One JSON value.
    Json,
    /// One YAML document.
    Yaml,
    /// Anything else.
    Other,
}

impl Kind {
    /// Returns the content of a part: by the ending of its name, or else by the format's usual one.
    fn of(format: &Format, parts: &dyn Parts, name: &str) -> Self {
        let file = parts.file_name().filter(|_| name.is_empty()).unwrap_or_default();
        let usual = format.extensions.first().filter(|_| name.is_empty());
        let names = [name, &file, usual.copied().unwrap_or_default()];
        names.into_iter().find_map(Self::named).unwrap_or(Self::Other)
    }

    fn named(name: &str) -> Option<Self> {
        let kinds = [
            (".jsonl", Self::Lines),
            (".json", Self::Json),
            (".yaml", Self::Yaml),
            (".yml", Self::Yaml),
        ];
        kinds.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, kind)| kind)
    }
}

/// Returns the parts of the source with the changes that lead from `before` to `after`, which are
/// sessions of its format. `None` if the source's text has no place for a change. Lines longer than
/// `limit` bytes are an error.
pub fn merged(
    format: &Format,
    source: &mut dyn Parts,
    (before, after): (&mut dyn Parts, &mut dyn Parts),
    limit: usize,
    sink: &mut dyn Sink,
) -> Result<Option<Staged>> {
    let (own, old, new) = (source.names(), before.names(), after.names());
    let room = Room::of(sink.spool()?);
    let mut merged = Vec::new();
    for name in &own {
        let mut part = room.part();
        match (old.contains(name), new.contains(name)) {
            // The session lost the part.
            (true, false) => continue,
            (_, false) => copy(source, name, &mut part)?,
            (false, true) => copy(after, name, &mut part)?,
            (true, true) if are_same(before, after, name)? => copy(source, name, &mut part)?,
            // What is in a file that sessions share is written as a change of that file.
            (true, true) if format.is_shared(name) => copy(after, name, &mut part)?,
            (true, true) => match Kind::of(format, source, name) {
                Kind::Lines if is_one_value(source, name, limit)? => {
                    if !merge_json((source, before, after), name, &mut part)? {
                        return Ok(None);
                    }
                }
                Kind::Lines => {
                    part = merged_lines((source, before, after), name, limit, &room)?;
                }
                Kind::Json if merge_json((source, before, after), name, &mut part)? => {}
                Kind::Yaml if merge_yaml((source, before, after), name, &mut part)? => {}
                // A file that PyYAML cannot read, or whose text is a list in JSON, may still have
                // an item on each line.
                Kind::Yaml => {
                    part = merged_lines((source, before, after), name, limit, &room)?;
                }
                Kind::Json | Kind::Other => return Ok(None),
            },
        }
        merged.push((name.clone(), part));
    }
    for name in new.iter().filter(|name| !own.contains(name)) {
        if old.contains(name) && are_same(before, after, name)? {
            continue;
        }
        let mut part = room.part();
        copy(after, name, &mut part)?;
        merged.push((name.clone(), part));
    }
    let mut staged = Staged::of(merged);
    staged.name(source.file_name(), source.session());
    Ok(Some(staged))
}

/// Returns a part that consists of lines, with the changes that lead from `before` to `after`. Where
/// these lines have too little in common with the source's, it is the part of `after`.
fn merged_lines(
    (source, before, after): (&mut dyn Parts, &mut dyn Parts, &mut dyn Parts),
    name: &str,
    limit: usize,
    room: &Room,
) -> Result<Part> {
    let mut part = room.part();
    let wanted = lines::merge((&mut *source, &mut *before, &mut *after), name, limit, &mut part)?;
    if let Some(wanted) = wanted
        && lines::hashes(&mut Staged::one(part.clone()), "", limit)? != wanted
    {
        part = room.part();
        copy(after, name, &mut part)?;
    }
    Ok(part)
}

/// Whether a part is one JSON value on several lines: a file may have no ending that shows it.
fn is_one_value(parts: &mut dyn Parts, name: &str, limit: usize) -> Result<bool> {
    let mut lines = Lines::new(parts.open(name)?, limit);
    lines.skip_bom()?;
    let first = lines.next_owned()?.map(|line| line.bytes).unwrap_or_default();
    let text = first.trim_ascii();
    Ok(text.starts_with(b"{") && Json::read(&first).is_err() && is_json(parts, name)?)
}

/// Whether a part is one JSON value.
fn is_json(parts: &mut dyn Parts, name: &str) -> Result<bool> {
    Ok(Json::read(&contents(parts, name)?).is_ok())
}

/// Writes a part that is one JSON value with the changes that lead from `before` to `after`.
/// Returns false if one of the parts is anything else.
fn merge_json(
    (source, before, after): (&mut dyn Parts, &mut dyn Parts, &mut dyn Parts),
    name: &str,
    to: &mut dyn Write,
) -> Result<bool> {
    let texts = [contents(source, name)?, contents(before, name)?, contents(after, name)?];
    let [own, old, new] = &texts;
    let Some(merged) = json::merged_text(own, old, new) else { return Ok(false) };
    to.write_all(&merged).cannot("copy")?;
    Ok(true)
}

/// Writes a part that is a YAML document with the changes that lead from `before` to `after`.
/// Returns false if a change has no place in it.
fn merge_yaml(
    (source, before, after): (&mut dyn Parts, &mut dyn Parts, &mut dyn Parts),
    name: &str,
    to: &mut dyn Write,
) -> Result<bool> {
    yaml::merge(
        &mut |at| source.open_at(name, at),
        &mut |at| before.open_at(name, at),
        &mut |at| after.open_at(name, at),
        to,
    )
}

fn contents(parts: &mut dyn Parts, name: &str) -> Result<Bytes> {
    let mut contents = Vec::new();
    parts.open(name)?.read_to_end(&mut contents).cannot("read")?;
    Ok(contents.into())
}

fn copy(parts: &mut dyn Parts, name: &str, to: &mut dyn Write) -> Result<()> {
    io::copy(&mut parts.open(name)?, to).map(drop).cannot("copy")
}

/// Whether a part has the same bytes in two sessions.
fn are_same(a: &mut dyn Parts, b: &mut dyn Parts, name: &str) -> Result<bool> {
    let (mut a, mut b) = (a.open(name)?, b.open(name)?);
    let [mut of_a, mut of_b] = [vec![0; PIECE], vec![0; PIECE]];
    loop {
        let (of_a, of_b) = (fill(&mut *a, &mut of_a)?, fill(&mut *b, &mut of_b)?);
        if of_a != of_b {
            return Ok(false);
        }
        if of_a.is_empty() {
            return Ok(true);
        }
    }
}

const PIECE: usize = 64 << 10;

/// Reads until the buffer is full or the part ends. Returns what was read.
fn fill<'b>(from: &mut dyn Read, buffer: &'b mut [u8]) -> Result<&'b [u8]> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        let read = from.read(room).cannot("read")?;
        if read == 0 {
            break;
        }
        filled += read;
    }
    Ok(buffer.get(..filled).unwrap_or_default())
}
