//! Temporary storage in a file that is accessed in small pieces through a buffer, because one
//! request to the system costs more than most of these accesses.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// Maximum number of bytes that are read ahead or wait to be written.
const MOST: usize = 64 << 10;
/// Minimum number of bytes that are read at a position that does not follow the previous piece.
const LEAST: usize = 4 << 10;

/// A file of which one piece is held in memory. Bytes that wait to be written are lost when the
/// value is dropped, as the file itself is.
#[derive(Debug)]
pub struct Buffered<F> {
    file: F,
    /// Position of the next byte that is read or written.
    at: u64,
    /// Position of the first byte of the piece.
    start: u64,
    piece: Vec<u8>,
    /// Whether the piece waits to be written.
    waits: bool,
}

impl<F: Read + Write + Seek> Buffered<F> {
    /// Wraps an empty file, or one that is read from its beginning.
    pub fn new(file: F) -> Self {
        Self { file, at: 0, start: 0, piece: Vec::new(), waits: false }
    }

    fn end(&self) -> u64 {
        self.start + self.piece.len() as u64
    }

    /// Writes the piece if it waits. After an error the contents of the file are undefined.
    fn settle(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.waits) {
            self.file.seek(SeekFrom::Start(self.start))?;
            self.file.write_all(&self.piece)?;
            self.begin(self.end());
        }
        Ok(())
    }

    /// Begins an empty piece at `start`.
    fn begin(&mut self, start: u64) {
        self.start = start;
        self.piece.clear();
    }

    /// Returns the bytes of the piece from the current position on.
    fn held(&self) -> &[u8] {
        let before = self.at.checked_sub(self.start).and_then(|before| before.try_into().ok());
        before.and_then(|before: usize| self.piece.get(before..)).unwrap_or_default()
    }

    /// Reads a piece, of which the caller wants `wanted` bytes.
    fn fetch(&mut self, wanted: usize) -> io::Result<()> {
        let onward = (self.start..=self.end() + MOST as u64).contains(&self.at);
        self.begin(self.at);
        self.piece.resize(if onward { MOST } else { wanted.clamp(LEAST, MOST) }, 0);
        self.file.seek(SeekFrom::Start(self.at))?;
        let read = self.file.read(&mut self.piece);
        self.piece.truncate(*read.as_ref().unwrap_or(&0));
        read.map(drop)
    }
}

impl<F: Read + Write + Seek> Read for Buffered<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.settle()?;
        if self.held().is_empty() {
            self.fetch(into.len())?;
        }
        let held = self.held();
        let length = held.len().min(into.len());
        let (Some(to), Some(from)) = (into.get_mut(..length), held.get(..length)) else {
            return Ok(0);
        };
        to.copy_from_slice(from);
        self.at += length as u64;
        Ok(length)
    }
}

impl<F: Read + Write + Seek> Write for Buffered<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joins = self.waits && self.at == self.end() && self.piece.len() + bytes.len() <= MOST;
        if !joins {
            self.settle()?;
            self.begin(self.at);
        }
        self.at += bytes.len() as u64;
        if bytes.len() <= MOST {
            self.piece.extend_from_slice(bytes);
            self.waits = true;
        } else {
            self.file.seek(SeekFrom::Start(self.start))?;
            self.file.write_all(bytes)?;
            self.begin(self.at);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.settle()?;
        self.file.flush()
    }
}

impl<F: Read + Write + Seek> Seek for Buffered<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(_) => {
                self.settle()?;
                self.file.seek(to)?
            }
            SeekFrom::Current(by) => self.at.checked_add_signed(by).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, "a place before the beginning")
            })?,
        };
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    proptest! {
        #[test]
        fn it_holds_what_a_file_would_hold(
            steps in prop::collection::vec((0..3u8, 0..200_000u64, 0..90_000usize), 1..60),
        ) {
            let mut plain = Cursor::new(Vec::new());
            let mut buffered = Buffered::new(Cursor::new(Vec::new()));
            for (n, (step, place, length)) in (0u8..).zip(steps) {
                match step {
                    0 => {
                        // Beyond the end there is nothing to be sought.
                        let place = place.min(plain.get_ref().len() as u64);
                        plain.seek(SeekFrom::Start(place)).expect("memory");
                        buffered.seek(SeekFrom::Start(place)).expect("memory");
                    }
                    1 => {
                        let length = if n % 2 == 0 { length } else { length % 50 };
                        plain.write_all(&vec![n; length]).expect("memory");
                        buffered.write_all(&vec![n; length]).expect("memory");
                    }
                    _ => {
                        let length = if n % 2 == 0 { length } else { length % 50 };
                        let (mut a, mut b) = (Vec::new(), Vec::new());
                        Read::by_ref(&mut plain).take(length as u64).read_to_end(&mut a).expect("memory");
                        Read::by_ref(&mut buffered).take(length as u64).read_to_end(&mut b).expect("memory");
                        prop_assert_eq!(a, b);
                    }
                }
                let here = |file: &mut dyn Seek| file.stream_position().expect("memory");
                prop_assert_eq!(here(&mut plain), here(&mut buffered));
            }
            buffered.flush().expect("memory");
            prop_assert_eq!(plain.into_inner(), buffered.file.into_inner());
        }
    }
}
