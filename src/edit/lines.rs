//! Three-way merge of parts that consist of lines.

use super::json::{self, hash, likeness};
use super::plan::{Items, Level, Piece, plan};
use crate::error::{Cannot, Error, Result};
use crate::ids::fingerprint;
use crate::json::{Cursor, Json};
use crate::lines::{BOM, Lines};
use crate::parts::Parts;
use bytes::Bytes;
use std::io::{self, Read, Write};
use std::ops::Range;

/// Lines of a part, which are read when they are needed. Each takes 16 bytes of memory.
struct PartLines<'p> {
    parts: &'p mut dyn Parts,
    name: &'p str,
    /// Beginning of each line, and the end of the last one.
    starts: Vec<u64>,
    hashes: Vec<u64>,
    /// Whether the last line has an ending.
    is_closed: bool,
}

impl<'p> PartLines<'p> {
    fn of(parts: &'p mut dyn Parts, name: &'p str, limit: usize) -> Result<Self> {
        let mut lines = Lines::new(parts.open(name)?, limit);
        lines.skip_bom()?;
        let (mut starts, mut hashes, mut is_closed) = (Vec::new(), Vec::new(), true);
        loop {
            starts.push(lines.position().byte);
            let Some(line) = lines.next_owned()? else { break };
            is_closed = line.terminated;
            hashes.push(match Value::of(&line.bytes) {
                Some(value) => hash(&value.json) ^ u64::from(value.has_comma()),
                None => fingerprint(line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes)),
            });
        }
        drop(lines);
        Ok(Self { parts, name, starts, hashes, is_closed })
    }

    /// Returns the place of these lines in bytes.
    fn span(&self, lines: Range<u32>) -> Range<u64> {
        let at = |line: u32| self.starts.get(line as usize).copied().unwrap_or_default();
        at(lines.start)..at(lines.end)
    }

    fn open(&mut self, span: &Range<u64>) -> Result<io::Take<Box<dyn Read>>> {
        let part = self.parts.open_at(self.name, span.start)?;
        Ok(part.take(span.end.saturating_sub(span.start)))
    }

    /// Reads a line with its ending.
    fn line(&mut self, line: u32) -> Result<Bytes> {
        let span = self.span(line..line + 1);
        let mut text = Vec::with_capacity((span.end - span.start) as usize);
        self.open(&span)?.read_to_end(&mut text).cannot("read")?;
        Ok(text.into())
    }
}

impl Items for PartLines<'_> {
    fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    fn likeness(&mut self, item: u32, level: Level) -> Option<u64> {
        let line = self.line(item).ok()?;
        Value::of(&line).map(|value| likeness(&value.json, level))
    }
}

/// The three lists of lines, and the merged part.
struct Merge<'p> {
    source: PartLines<'p>,
    before: PartLines<'p>,
    after: PartLines<'p>,
    out: io::BufWriter<&'p mut dyn Write>,
    /// Lines of the source that are next to be copied.
    run: Range<u32>,
    /// Whether the last line that was written has no ending.
    is_open: bool,
    /// Ending of new lines.
    ending: &'static [u8],
}

/// Returns the hashes of the lines of a part, which are equal for lines of the same meaning.
pub fn hashes(parts: &mut dyn Parts, name: &str, limit: usize) -> Result<Vec<u64>> {
    PartLines::of(parts, name, limit).map(|lines| lines.hashes)
}

/// Writes a part of the source with the changes that lead from a part of `before` to one of
/// `after`. Lines longer than `limit` bytes are an error. Returns the hashes of the lines that the
/// part must have now, where the source has those of `before`.
pub fn merge<'p>(
    (source, before, after): (&'p mut dyn Parts, &'p mut dyn Parts, &'p mut dyn Parts),
    name: &'p str,
    limit: usize,
    out: &'p mut dyn Write,
) -> Result<Option<Vec<u64>>> {
    let mut source = PartLines::of(source, name, limit)?;
    let mut before = PartLines::of(before, name, limit)?;
    let mut after = PartLines::of(after, name, limit)?;
    let pieces = plan(&mut source, &mut before, &mut after);
    let out = io::BufWriter::with_capacity(128 << 10, out);
    let ending = match source.hashes.is_empty() || !source.line(0)?.ends_with(b"\r\n") {
        true => &b"\n"[..],
        false => b"\r\n",
    };
    let mut merge = Merge { source, before, after, out, run: 0..0, is_open: false, ending };
    if merge.source.starts.first().is_some_and(|start| *start > 0) {
        merge.out.write_all(BOM).map_err(no_room)?;
    }
    for piece in pieces {
        merge.piece(piece)?;
    }
    merge.copy_run()?;
    merge.out.flush().map_err(no_room)?;
    let Merge { source, before, after, .. } = merge;
    Ok((source.hashes == before.hashes).then_some(after.hashes))
}

fn no_room(error: io::Error) -> Error {
    Error::io("cannot write a temporary file", error)
}

impl Merge<'_> {
    fn piece(&mut self, piece: Piece) -> Result<()> {
        match piece {
            Piece::Own(line) if line == self.run.end => self.run.end += 1,
            Piece::Own(line) => {
                self.copy_run()?;
                self.run = line..line + 1;
            }
            Piece::Edited(own, before, after) => {
                self.copy_run()?;
                let lines =
                    [self.source.line(own)?, self.before.line(before)?, self.after.line(after)?];
                self.write(&edited(&lines))?;
            }
            Piece::New(line) => {
                self.copy_run()?;
                let line = self.after.line(line)?;
                self.write(&[without_ending(&line), self.ending].concat())?;
            }
        }
        Ok(())
    }

    /// Copies the lines of the source that wait, in one piece.
    fn copy_run(&mut self) -> Result<()> {
        let run = std::mem::take(&mut self.run);
        if run.is_empty() {
            return Ok(());
        }
        self.close()?;
        let count = self.source.hashes.len() as u32;
        self.is_open = run.end == count && !self.source.is_closed;
        let span = self.source.span(run);
        let mut from = self.source.open(&span)?;
        io::copy(&mut from, &mut self.out).map(drop).map_err(no_room)
    }

    fn write(&mut self, line: &[u8]) -> Result<()> {
        self.close()?;
        self.is_open = !line.ends_with(b"\n");
        self.out.write_all(line).map_err(no_room)
    }

    /// Ends the line before the next one.
    fn close(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_open) {
            self.out.write_all(self.ending).map_err(no_room)?;
        }
        Ok(())
    }
}

/// Returns the line of the source with the changes between the two others, and with its own ending.
fn edited([source, before, after]: &[Bytes; 3]) -> Vec<u8> {
    let text = without_ending(source);
    let ending = source.get(text.len()..).unwrap_or_default();
    let [own, old, new] = [source, before, after].map(Value::of);
    let (Some(own), Some(old), Some(new)) = (own, old, new) else {
        return [without_ending(after), ending].concat();
    };
    let behind = match old.has_comma() == new.has_comma() {
        true => own.behind,
        false => new.behind,
    };
    let merged = json::merged(&own.json, &old.json, &new.json);
    [own.lead, merged.as_bytes(), without_ending(behind), ending].concat()
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line that is one JSON value, perhaps an item of a list with a comma behind it.
struct Value<'l> {
    lead: &'l [u8],
    json: Json,
    behind: &'l [u8],
}

impl<'l> Value<'l> {
    fn of(line: &'l Bytes) -> Option<Self> {
        let mut cursor = Cursor::new(line);
        let span = cursor.skip_value().ok()?;
        let (lead, behind) = (line.get(..span.start)?, line.get(span.end..)?);
        let is_whole = [&b""[..], b","].contains(&behind.trim_ascii());
        let json = Json::trusted(line.slice(span.start..span.end));
        is_whole.then_some(Self { lead, json, behind })
    }

    fn has_comma(&self) -> bool {
        self.behind.contains(&b',')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    fn check(source: &str, before: &str, after: &str, wanted: &str) {
        let [mut source, mut before, mut after] = [source, before, after].map(memory::Bytes::new);
        let mut out = Vec::new();
        merge((&mut source, &mut before, &mut after), "", 1 << 20, &mut out).expect("memory");
        assert_eq!(String::from_utf8_lossy(&out), wanted);
    }

    #[test]
    fn one_edited_word_changes_one_word() {
        check(
            "\u{feff}{ \"id\":1, \"t\":\"a\" }\r\n\r\n{\"id\":2,\"t\":\"b\",\"x\":1.50}\r\ntorn {",
            "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}\n",
            "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"c\"}\n",
            "\u{feff}{ \"id\":1, \"t\":\"a\" }\r\n\r\n{\"id\":2,\"t\":\"c\",\"x\":1.50}\r\ntorn {",
        );
    }

    #[test]
    fn lines_are_added_removed_and_moved() {
        let lines = "{\"id\":1,\"t\":\"a\"}\n{\"id\":2,\"t\":\"b\"}";
        let own = "{\"id\": 1,\"t\":\"a\"}\n{\"id\": 2,\"t\":\"b\"}";
        let new = "{\"id\":3,\"t\":\"c\"}";
        check(own, lines, &format!("{lines}\n{new}\n"), &format!("{own}\n{new}\n"));
        check(own, lines, "{\"id\":2,\"t\":\"b\"}", "{\"id\": 2,\"t\":\"b\"}");
        let swapped = "{\"id\":2,\"t\":\"b\"}\n{\"id\":1,\"t\":\"a\"}\n";
        check(own, lines, swapped, "{\"id\": 2,\"t\":\"b\"}\n{\"id\": 1,\"t\":\"a\"}\n");
        check("", "", new, &format!("{new}\n"));
    }
}
