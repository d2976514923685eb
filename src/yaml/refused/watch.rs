//! The bytes that the parser reads ahead: where they contain tabs, indicators of blocks and line
//! breaks of YAML 1.1, and which characters are not printable.

use crate::position::Position;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

/// The first stand-in: the parser, which refuses what is not printable, gets the character with
/// this number and the original's low byte behind it, from a plane that is for private use.
const STAND_IN: u32 = 0x0010_fe00;

/// Places that the parser has read ahead, in the bytes that it gets.
#[derive(Debug, Default)]
pub struct Seen {
    line: u64,
    byte: u64,
    /// Tabs.
    pub tabs: Places,
    /// `|` and `>`.
    pub blocks: Places,
    /// U+0085, U+2028 and U+2029.
    pub breaks: Places,
    /// Characters that are not printable.
    pub unprintable: Places,
    /// Places behind stand-ins, with the number of bytes that all up to them are longer than the
    /// originals.
    longer: Vec<(u64, u64)>,
}

/// Places in order.
#[derive(Debug, Default)]
pub struct Places(VecDeque<Position>);

impl Places {
    /// Takes the places before an offset.
    pub fn before(&mut self, end: u64) -> impl Iterator<Item = Position> {
        let count = self.0.partition_point(|at| at.byte < end);
        self.0.drain(..count)
    }
}

impl Seen {
    /// Returns the offset in the stream of an offset in the bytes that the parser gets.
    pub fn source(&self, byte: u64) -> u64 {
        let before = self.longer.partition_point(|(at, _)| *at <= byte);
        let longer = before.checked_sub(1).and_then(|last| self.longer.get(last));
        byte - longer.map_or(0, |(_, bytes)| *bytes)
    }
}

/// A reader that notes places and puts in stand-ins.
pub struct Watch<R> {
    reader: R,
    seen: Rc<RefCell<Seen>>,
    /// Bytes that were read; those up to `given` were passed on.
    bytes: Vec<u8>,
    given: usize,
    /// The beginning of a character at the end of what was read.
    rest: Vec<u8>,
}

impl<R: Read> Watch<R> {
    /// Watches a reader.
    pub fn new(reader: R, seen: Rc<RefCell<Seen>>) -> Self {
        Self { reader, seen, bytes: Vec::new(), given: 0, rest: Vec::new() }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = std::mem::take(&mut self.rest);
        let kept = chunk.len();
        chunk.resize(kept + (64 << 10), 0);
        let read = self.reader.read(chunk.get_mut(kept..).unwrap_or_default())?;
        chunk.truncate(kept + read);
        let whole = if read == 0 { chunk.len() } else { whole(&chunk) };
        self.rest = chunk.split_off(whole);
        self.bytes.clear();
        self.given = 0;
        note(&chunk, &mut self.seen.borrow_mut(), &mut self.bytes);
        // The beginning of a character alone is not the end.
        if self.bytes.is_empty() && read > 0 { self.fill() } else { Ok(()) }
    }
}

impl<R: Read> Read for Watch<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.bytes.len() {
            self.fill()?;
        }
        let mut rest = self.bytes.get(self.given..).unwrap_or_default();
        let read = rest.read(into)?;
        self.given += read;
        Ok(read)
    }
}

/// Returns the length without the beginning of a character at the end.
fn whole(chunk: &[u8]) -> usize {
    let back = (1..=2.min(chunk.len())).find(|back| {
        let lead = chunk.get(chunk.len() - back).copied().unwrap_or_default();
        lead == 0xc2 && *back == 1 || matches!(lead, 0xe2 | 0xef)
    });
    chunk.len() - back.unwrap_or(0)
}

/// Notes the places in a chunk, and adds it to `out` with stand-ins.
fn note(chunk: &[u8], seen: &mut Seen, out: &mut Vec<u8>) {
    let mut from = 0;
    let special = |b: &u8| matches!(b, 0..=0x1f | b'|' | b'>' | 0x7f | 0xc2 | 0xe2 | 0xef);
    while let Some(at) = chunk.get(from..).and_then(|rest| rest.iter().position(special)) {
        let at = from + at;
        let rest = chunk.get(at..).unwrap_or_default();
        out.extend_from_slice(chunk.get(from..at).unwrap_or_default());
        let place = Position {
            line: seen.line + 1,
            byte: seen.byte + out.len() as u64,
            ..Position::default()
        };
        let mut length = 1;
        match rest {
            [b'\n', ..] => seen.line += 1,
            [b'\t', ..] => seen.tabs.0.push_back(place),
            [b'|' | b'>', ..] => seen.blocks.0.push_back(place),
            [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..] => seen.breaks.0.push_back(place),
            _ => {
                if let Some((low, bytes)) = unprintable(rest) {
                    length = bytes;
                    seen.unprintable.0.push_back(place);
                    let stand_in = char::from_u32(STAND_IN + u32::from(low)).unwrap_or_default();
                    out.extend_from_slice(stand_in.encode_utf8(&mut [0; 4]).as_bytes());
                    let longer = seen.longer.last().map_or(0, |(_, bytes)| *bytes);
                    let end = seen.byte + out.len() as u64;
                    seen.longer.push((end, longer + (4 - length as u64)));
                    from = at + length;
                    continue;
                }
            }
        }
        from = at + length;
        out.extend_from_slice(chunk.get(at..from).unwrap_or_default());
    }
    out.extend_from_slice(chunk.get(from..).unwrap_or_default());
    seen.byte += out.len() as u64;
}

/// Returns the low byte of the first character, and its length, if PyYAML refuses it.
///
/// Source: PyYAML 6.0.3, `NON_PRINTABLE` in `reader.py`. NUL bytes are the damage of a file system.
fn unprintable(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\r' | 0, ..] => None,
        [low @ (..=0x1f | 0x7f), ..] => Some((*low, 1)),
        [0xc2, low @ 0x80..=0x9f, ..] => Some((*low, 2)),
        [0xef, 0xbf, low @ (0xbe | 0xbf), ..] => Some((low | 0x40, 3)),
        _ => None,
    }
}

/// Returns the text with the originals of stand-ins.
pub fn restored(text: &str) -> String {
    let original = |c: char| match u32::from(c).checked_sub(STAND_IN) {
        Some(low @ (0xfe | 0xff)) => char::from_u32(0xff00 + low).unwrap_or(c),
        Some(low @ ..=0x9f) => char::from_u32(low).unwrap_or(c),
        _ => c,
    };
    text.chars().map(original).collect()
}

/// Whether PyYAML refuses a character.
pub fn is_unprintable(c: char) -> bool {
    let mut bytes = [0; 4];
    unprintable(c.encode_utf8(&mut bytes).as_bytes()).is_some()
        && !matches!(c, '\n' | '\t' | '\u{85}')
}
