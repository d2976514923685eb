//! Parts that share room outside of memory: a session may have more of them than a process may have
//! open files.

use super::{Sink, Spool};
use crate::error::Result;
use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// Shared room for parts.
#[derive(Clone)]
pub struct Room(Rc<RefCell<Store>>);

struct Store {
    spool: Box<dyn Spool>,
    end: u64,
}

impl Room {
    /// Makes a room in this spool.
    pub fn of(spool: Box<dyn Spool>) -> Self {
        Self(Rc::new(RefCell::new(Store { spool, end: 0 })))
    }

    /// Returns the existing room, or a new one in a spool of the sink.
    ///
    /// # Errors
    /// If that has none.
    pub fn within<'r>(room: &'r mut Option<Self>, sink: &mut dyn Sink) -> Result<&'r Self> {
        Ok(match room {
            Some(room) => room,
            empty => empty.insert(Self::of(sink.spool()?)),
        })
    }

    /// Returns a new part.
    pub fn part(&self) -> Part {
        Part { room: self.clone(), pieces: Rc::default() }
    }
}

/// A part, shared by its writer and its readers.
#[derive(Clone)]
pub struct Part {
    room: Room,
    pieces: Rc<RefCell<Vec<Piece>>>,
}

/// Contiguous piece of a part.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// Begin of the piece in the part.
    start: u64,
    /// Place of the piece in the room.
    place: u64,
    length: u64,
}

impl Piece {
    fn end(&self) -> u64 {
        self.start + self.length
    }
}

impl Part {
    /// Reads from this place on.
    pub fn reading(&self, at: u64) -> Reading {
        Reading { part: self.clone(), at }
    }

    /// Returns the whole part, for parts that are known to be small.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn contents(&self) -> io::Result<Vec<u8>> {
        let mut contents = Vec::new();
        self.reading(0).read_to_end(&mut contents)?;
        Ok(contents)
    }

    /// Returns how many bytes were written.
    pub fn length(&self) -> u64 {
        self.pieces.borrow().last().map_or(0, Piece::end)
    }

    /// Shortens the part to this length.
    pub fn cut(&mut self, length: u64) {
        let mut pieces = self.pieces.borrow_mut();
        pieces.retain(|piece| piece.start < length);
        if let Some(last) = pieces.last_mut() {
            last.length = last.length.min(length - last.start);
        }
    }

    /// Notes a piece that was written; most pieces are directly behind the one before.
    fn note(&mut self, place: u64, length: u64) {
        let mut pieces = self.pieces.borrow_mut();
        match pieces.last_mut() {
            Some(last) if last.place + last.length == place => last.length += length,
            last => {
                let start = last.map_or(0, |last| last.end());
                pieces.push(Piece { start, place, length });
            }
        }
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.clone();
        let mut store = room.0.borrow_mut();
        let place = store.end;
        store.spool.seek(SeekFrom::Start(place))?;
        let written = store.spool.write(bytes)? as u64;
        store.end += written;
        self.note(place, written);
        Ok(written as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.room.0.borrow_mut().spool.flush()
    }
}

/// Reads a part from a place of its own.
pub struct Reading {
    part: Part,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let pieces = self.part.pieces.borrow();
        let next = pieces.partition_point(|piece| piece.end() <= self.at);
        let Some(piece) = pieces.get(next) else { return Ok(0) };
        let wanted = (piece.end() - self.at).min(into.len() as u64) as usize;
        let mut store = self.part.room.0.borrow_mut();
        store.spool.seek(SeekFrom::Start(piece.place + (self.at - piece.start)))?;
        let read = store.spool.read(into.get_mut(..wanted).unwrap_or_default())?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reading {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(offset) => self.part.length().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn parts_that_are_written_by_turns_are_read_one_by_one() {
        let room = Room::of(Box::new(Cursor::new(Vec::new())));
        let mut parts = [room.part(), room.part(), room.part()];
        let mut wanted = [Vec::new(), Vec::new(), Vec::new()];
        for turn in 0..60u8 {
            let which = (usize::from(turn) * 7 % 5).min(2);
            let text = vec![turn; usize::from(turn)];
            parts[which].write_all(&text).expect("memory");
            wanted[which].extend_from_slice(&text);
        }
        for (part, wanted) in parts.iter().zip(&wanted) {
            for at in [0, 1, wanted.len() / 2, wanted.len(), wanted.len() + 1] {
                let mut read = Vec::new();
                part.reading(at as u64).read_to_end(&mut read).expect("memory");
                assert_eq!(read, wanted.get(at..).unwrap_or_default(), "from {at}");
            }
        }
    }
}
