//! Items of residue in chunks of text.
//!
//! Items are lines of JSON. Some hundred of them are compressed together and written as base64:
//! what a target cannot express is often more than what it can, and much of it repeats. The first
//! line of a chunk says which one it is, and the last chunk that it is the last.

use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::Spool;
use crate::json::Json;
use crate::json::text::{from_base64, to_base64};
use bytes::Bytes;
use std::io::{self, BufRead, BufReader, Read, SeekFrom, Write};
use zstd::bulk::Compressor;

/// The version of what a chunk holds.
const VERSION: u64 = 1;
/// How much of items one chunk holds, unless a single one is longer.
const CHUNK: usize = 192 << 10;
/// Fast, and half a point behind the default.
const LEVEL: i32 = 1;
/// What a chunk may expand to: its own size so many times, and so much.
const EXPANSION: (u64, u64) = (200, 1 << 30);

/// Packs items and keeps the chunks outside of memory, a line each.
pub struct Packer {
    spool: Box<dyn Spool>,
    items: Vec<u8>,
    count: u64,
    /// For all chunks: it takes long to make one.
    compressor: Compressor<'static>,
}

impl Packer {
    /// Nothing yet.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(spool: Box<dyn Spool>) -> Result<Self> {
        let compressor = Compressor::new(LEVEL).and_then(|mut compressor| {
            // A chunk stands in a file that people edit.
            compressor.include_checksum(true)?;
            Ok(compressor)
        });
        let compressor = compressor.map_err(cannot_write)?;
        Ok(Self { spool, items: Vec::new(), count: 0, compressor })
    }

    /// Adds an item, a JSON object without line breaks.
    ///
    /// # Errors
    /// If there is no room for chunks.
    pub fn item(&mut self, item: &[u8]) -> Result<()> {
        self.items.extend_from_slice(item);
        self.items.push(b'\n');
        if self.items.len() >= CHUNK { self.pack(false) } else { Ok(()) }
    }

    fn pack(&mut self, last: bool) -> Result<()> {
        let end = if last { ",\"last\":true" } else { "" };
        let head = format!("{{\"residue\":{VERSION},\"chunk\":{}{end}}}\n", self.count);
        let text = [head.as_bytes(), &self.items].concat();
        let packed = self.compressor.compress(&text).map_err(cannot_write)?;
        let line = format!("{}\n", to_base64(&packed));
        self.spool.write_all(line.as_bytes()).map_err(cannot_write)?;
        self.items.clear();
        self.count += 1;
        Ok(())
    }

    /// The chunks, and how many they are.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn finish(mut self) -> Result<(u64, Chunks)> {
        self.pack(true)?;
        Ok((self.count, Chunks::over(self.spool)?))
    }
}

/// Chunks that wait outside of memory.
pub struct Chunks {
    spool: BufReader<Box<dyn Spool>>,
}

impl Chunks {
    /// Those of a spool, from its first on.
    pub fn over(mut spool: Box<dyn Spool>) -> Result<Self> {
        spool.seek(SeekFrom::Start(0)).map_err(cannot_read)?;
        Ok(Self { spool: BufReader::new(spool) })
    }

    /// The next chunk, without its quotes.
    pub fn next(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        // An empty one is a chunk, too, and no good one.
        let read = self.spool.read_line(&mut line).map_err(cannot_read)?;
        line.truncate(line.trim_end().len());
        // Chunks may wait for each other.
        line.shrink_to_fit();
        Ok((read > 0).then_some(line))
    }

    /// Begins again.
    pub fn rewind(self) -> Result<Self> {
        Self::over(self.spool.into_inner())
    }
}

fn cannot_write(error: io::Error) -> Error {
    Error::io("cannot write a temporary file", error)
}

fn cannot_read(error: io::Error) -> Error {
    Error::io("cannot read a temporary file", error)
}

/// The items of chunks.
pub struct Items {
    chunks: Chunks,
    /// The items of the chunk that is being read.
    open: Bytes,
    number: u64,
    ended: bool,
}

impl Items {
    /// Those of these chunks.
    pub fn of(chunks: Chunks) -> Self {
        Self { chunks, open: Bytes::new(), number: 0, ended: false }
    }

    /// The next item. What is missing or damaged is an error, for half of it tells nothing.
    pub fn next(&mut self) -> Result<Option<Json>> {
        while self.open.is_empty() {
            let Some(chunk) = self.chunks.next()? else {
                return if self.ended { Ok(None) } else { Err(refused("its end is missing")) };
            };
            if self.ended {
                return Err(refused("chunks stand behind its last one"));
            }
            self.open = unpacked(&chunk)?;
            let head = self.line()?;
            let is = |name: &str, value: u64| {
                head.member(name).and_then(|n| n.float()) == Some(value as f64)
            };
            if !is("residue", VERSION) {
                return Err(refused("it is of a version that is not known"));
            }
            if !is("chunk", self.number) {
                return Err(refused(&format!("chunk {} is missing", self.number)));
            }
            self.number += 1;
            self.ended = head.member("last").is_some();
        }
        self.line().map(Some)
    }

    fn line(&mut self) -> Result<Json> {
        let end = memchr::memchr(b'\n', &self.open).ok_or_else(|| refused("a chunk is damaged"))?;
        let line = self.open.split_to(end);
        drop(self.open.split_to(1));
        let mut cursor = crate::json::Cursor::new(&line);
        let whole = std::str::from_utf8(&line).is_ok()
            && line.first() == Some(&b'{')
            && cursor.skip_value().is_ok()
            && cursor.end().is_ok();
        if whole { Ok(Json::checked(line)) } else { Err(refused("a chunk is damaged")) }
    }

    /// Begins again.
    pub fn rewind(self) -> Result<Self> {
        Ok(Self::of(self.chunks.rewind()?))
    }
}

fn unpacked(chunk: &str) -> Result<Bytes> {
    let damaged = || refused("a chunk is damaged");
    let packed = from_base64(chunk).ok_or_else(damaged)?;
    let limit = packed.len() as u64 * EXPANSION.0 + EXPANSION.1;
    let decoder = zstd::stream::read::Decoder::new(packed.as_slice()).map_err(|_| damaged())?;
    let mut text = Vec::new();
    decoder.take(limit).read_to_end(&mut text).map_err(|_| damaged())?;
    Ok(text.into())
}

/// The error for residue that is of no use.
pub fn refused(why: &str) -> Error {
    let message = format!("residue is not used: {why}");
    Error::unfit(Diagnostic::new(Code::ResidueRefused, message))
}

/// The same of one refused for what was done to the file, with the first of that.
pub fn refused_for(refused: Error, said: Log) -> Diagnostic {
    const DEEDS: &[Code] = &[Code::ResidueEdited, Code::ResidueAdded, Code::ResidueDeleted];
    let found = refused.into_diagnostic();
    let deeds = said.into_findings().diagnostics.into_iter();
    let mut deeds = deeds.filter(|said| DEEDS.contains(&said.code));
    let Some(first) = deeds.next() else { return found };
    let more = match deeds.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let message = format!("{} ({}{more})", found.message, first.message);
    Diagnostic { at: first.at.or(found.at), ..Diagnostic::new(found.code, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn packed(items: usize) -> (u64, Chunks) {
        let mut packer = Packer::new(Box::new(Cursor::new(Vec::new()))).expect("memory");
        for i in 0..items {
            packer.item(format!("{{\"n\":{i},\"text\":\"{i:0>200}\"}}").as_bytes()).expect("room");
        }
        packer.finish().expect("room")
    }

    fn read(chunks: Vec<String>) -> std::result::Result<usize, String> {
        let spool = Cursor::new(chunks.join("\n").into_bytes());
        let mut items = Items::of(Chunks::over(Box::new(spool)).expect("memory"));
        let mut count = 0;
        loop {
            match items.next() {
                Ok(Some(_)) => count += 1,
                Ok(None) => return Ok(count),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[test]
    fn items_come_back_and_what_is_missing_is_noticed() {
        let (count, mut chunks) = packed(5000);
        assert!(count > 3, "{count}");
        let mut all = Vec::new();
        while let Some(chunk) = chunks.next().expect("memory") {
            all.push(chunk);
        }
        assert_eq!(read(all.clone()), Ok(5000));
        let end = all[..all.len() - 1].to_vec();
        assert!(read(end).is_err_and(|error| error.contains("its end is missing")));
        let middle = [&all[..1], &all[2..]].concat();
        assert!(read(middle).is_err_and(|error| error.contains("chunk 1 is missing")));
        let behind = [&all[..], &[String::new(), all[1].clone()]].concat();
        assert!(read(behind).is_err_and(|error| error.contains("behind its last one")));
        let between = [&all[..1], &[String::new()], &all[1..]].concat();
        assert!(read(between).is_err_and(|error| error.contains("a chunk is damaged")));
        let mut damaged = all;
        damaged[1].replace_range(40..44, "AAAA");
        assert!(read(damaged).is_err());
    }
}
