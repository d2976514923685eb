//! A block of lines of a file of turns.

use crate::diagnostic::Code;
use crate::position::Position;
use std::ops::Range;

/// The kind of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A member of the top, with its name.
    Top(String),
    /// A turn.
    Turn,
    /// The key of the messages of a turn.
    Key(String),
    /// A message.
    Message,
    /// The text before the first member.
    Before,
    /// Text that belongs to no other kind, such as the text behind a line between documents.
    Between,
}

/// A piece of the file.
#[derive(Debug)]
pub enum Piece {
    /// A block.
    Block(Block),
    /// Bytes that belong to no block: the marks of a merge conflict and one of its sides, NUL
    /// bytes.
    Aside(Vec<u8>, Position, Code),
}

/// A block with its lines.
#[derive(Debug)]
pub struct Block {
    /// The kind of the block.
    pub kind: Kind,
    /// Its lines, with their ends.
    pub bytes: Vec<u8>,
    /// Whether the last line has an ending.
    pub terminated: bool,
    /// Positions in the file of the block's pieces, each with the offset of the piece in the block.
    pub places: Vec<(usize, Position)>,
}

impl Block {
    /// Returns the position of the beginning of the block.
    pub fn at(&self) -> Position {
        self.places.first().map(|(_, at)| *at).unwrap_or_default()
    }

    /// Whether the block was put in by repair, so that it has no place in the file.
    pub fn is_put_in(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the last line so far, with its ending.
    pub fn last_line(&self) -> &[u8] {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let start = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
        self.bytes.get(start..).unwrap_or_default()
    }

    /// Whether the block is a literal text, which the user laid out in lines.
    pub fn is_of_text(&self) -> bool {
        let line = self.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        line.trim_ascii_end().ends_with(b"|") || line.trim_ascii_end().ends_with(b"|-")
    }

    /// Returns the pieces of a range, each with its position in the file.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (Position, &[u8])> {
        let ends = self.places.iter().skip(1).map(|(start, _)| *start).chain([self.bytes.len()]);
        self.places.iter().zip(ends).filter_map(move |((start, at), end)| {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            let bytes = self.bytes.get(from..to).filter(|bytes| !bytes.is_empty())?;
            Some((at.plus(from - start), bytes))
        })
    }

    /// Keeps the text before a line, and returns the block that begins with the line.
    pub fn split_off(&mut self, start: usize) -> Self {
        let first = self.places.partition_point(|(place, _)| *place < start);
        let places = self.places.split_off(first);
        let places = places.into_iter().map(|(place, at)| (place - start, at)).collect();
        let bytes = self.bytes.split_off(start);
        let terminated = std::mem::replace(&mut self.terminated, true);
        Self { kind: self.kind.clone(), bytes, terminated, places }
    }

    /// Adds pieces of a line behind the others.
    pub fn add(&mut self, pieces: Vec<(Position, Vec<u8>)>, terminated: bool) {
        for (at, bytes) in pieces {
            self.places.push((self.bytes.len(), at));
            self.bytes.extend_from_slice(&bytes);
        }
        self.terminated = terminated;
    }
}
