//! Regions of a text: the columns and lengths that belong to places known by line and byte.

use crate::position::Position;
use std::io::{BufRead, BufReader, Read};

/// The rest of a line, from a place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Line number, from 1.
    pub line: u64,
    /// The bytes, if the text confirms the place.
    pub bytes: Option<Bytes>,
}

/// The bytes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Column in characters, from 1.
    pub column: u64,
    /// Offset in bytes from the start of the file.
    pub offset: u64,
    /// Number of bytes up to the end of the line.
    pub length: u64,
}

/// Returns the region of each place in a text, which is read once and up to the last place. Without
/// a text, or if the byte of a place is not in its line, only the line is known.
pub fn regions(text: Option<impl Read>, places: &[Position]) -> Vec<Region> {
    let mut all: Vec<_> =
        places.iter().map(|place| Region { line: place.line, bytes: None }).collect();
    // Only the first line begins at byte 0. Elsewhere byte 0 means that only the line is known.
    let is_known = |place: &Position| place.byte > 0 || place.line == 1;
    let mut order: Vec<_> =
        places.iter().enumerate().filter(|(_, place)| is_known(place)).collect();
    order.sort_by_key(|(_, place)| place.byte);
    let mut found = |n: usize, bytes: Bytes| {
        all.iter_mut().skip(n).take(1).for_each(|region| region.bytes = Some(bytes));
    };
    if let Some(text) = text {
        // What was confirmed before an error is correct.
        let _ = scan(BufReader::with_capacity(1 << 16, text), &order, &mut found);
    }
    all
}

/// A line of which a part was read.
struct Line {
    number: u64,
    /// Characters before the part that follows.
    characters: u64,
    /// The last byte, if it is a carriage return, does not belong to the text of the line.
    ends_in_return: bool,
    /// Places in the line, each with its column.
    places: Vec<(usize, u64, u64)>,
}

fn scan(
    mut text: impl BufRead,
    order: &[(usize, &Position)],
    found: &mut impl FnMut(usize, Bytes),
) -> std::io::Result<()> {
    let mut waiting = order.iter().peekable();
    let mut line = Line { number: 1, characters: 0, ends_in_return: false, places: Vec::new() };
    let mut offset = 0;
    while waiting.peek().is_some() || !line.places.is_empty() {
        let buffer = text.fill_buf()?;
        let newline = memchr::memchr(b'\n', buffer);
        let piece = buffer.get(..newline.unwrap_or(buffer.len())).unwrap_or_default();
        let is_end = newline.is_some() || buffer.is_empty();
        let end = offset + piece.len() as u64;
        while let Some((n, at)) = waiting.next_if(|(_, at)| at.byte < end + u64::from(is_end)) {
            let before = piece.get(..at.byte.saturating_sub(offset) as usize).unwrap_or_default();
            if at.line == line.number {
                line.places.push((*n, at.byte, line.characters + characters(before) + 1));
            }
        }
        line.characters += characters(piece);
        line.ends_in_return = piece.last().map_or(line.ends_in_return, |byte| *byte == b'\r');
        let consumed = piece.len() + usize::from(newline.is_some());
        let is_last = buffer.is_empty();
        text.consume(consumed);
        offset = end + u64::from(newline.is_some());
        if is_end {
            let end = end - u64::from(line.ends_in_return);
            for (n, byte, column) in line.places.drain(..) {
                found(n, Bytes { column, offset: byte, length: end.saturating_sub(byte) });
            }
            line.number += 1;
            (line.characters, line.ends_in_return) = (0, false);
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Number of characters in a piece of UTF-8.
fn characters(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64, byte: u64) -> Position {
        Position { line, byte, ..Position::default() }
    }

    #[test]
    fn each_place_has_the_rest_of_its_line() {
        let text = "äb\r\n\nxyz";
        let places = [at(3, 7), at(1, 0), at(1, 2), at(2, 5), at(3, 9), at(1, 7), at(2, 0)];
        let found = regions(Some(text.as_bytes()), &places);
        let bytes = |column, offset, length| Some(Bytes { column, offset, length });
        let expected = [
            bytes(2, 7, 2),
            bytes(1, 0, 3),
            bytes(2, 2, 1),
            bytes(1, 5, 0),
            bytes(4, 9, 0),
            None,
            None,
        ];
        assert_eq!(found.iter().map(|region| region.bytes).collect::<Vec<_>>(), expected);
        assert_eq!(found[0].line, 3);
        assert_eq!(regions(None::<&[u8]>, &places[..1])[0].bytes, None);
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_counted_whole() {
        let text = format!("{}\n", "é".repeat(100_000));
        let found = regions(Some(text.as_bytes()), &[at(1, 180_000), at(1, 10)]);
        let bytes = Bytes { column: 90_001, offset: 180_000, length: 20_000 };
        assert_eq!(found[0].bytes, Some(bytes));
        assert_eq!(found[1].bytes, Some(Bytes { column: 6, offset: 10, length: 199_990 }));
    }
}
