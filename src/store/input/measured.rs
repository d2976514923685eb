//! A regular file whose size is known before it is read.

use crate::store::Fingerprint;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Take};
use std::rc::Rc;

/// The fingerprint of a file at the time when a reader reached its end.
pub type End = Rc<Cell<Option<Fingerprint>>>;

/// A regular file, read from its beginning. If a read returns fewer bytes than the buffer holds,
/// and the total is the known size, that is the end of the file. No further system call is made
/// then.
pub struct Measured {
    file: Take<File>,
    remaining: u64,
    over: bool,
    end: End,
}

impl Measured {
    /// Creates a reader for a file of `size` bytes. The fingerprint at the end of the file is
    /// stored in `end`.
    pub fn new(file: File, size: u64, end: End) -> Self {
        Self { file: file.take(u64::MAX), remaining: size, over: false, end }
    }

    /// Creates a reader for the next `size` bytes of a file.
    pub fn part(file: File, size: u64, end: End) -> Self {
        Self { file: file.take(size), remaining: size, over: false, end }
    }
}

impl Read for Measured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.over {
            return Ok(0);
        }
        let read = self.file.read(buffer)?;
        let remaining = self.remaining.checked_sub(read as u64);
        self.over = read < buffer.len() && remaining == Some(0);
        if self.over {
            self.end.set(Fingerprint::of_open(self.file.get_ref()).ok());
        }
        // A file that grows meanwhile is read to its new end.
        self.remaining = remaining.unwrap_or(u64::MAX);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn measured_file_that_grows_is_read_to_its_end() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"eleven long").expect("written");
        for (size, is_whole) in [(11, true), (10, false), (12, false)] {
            io::Seek::rewind(&mut file).expect("rewound");
            let end = End::default();
            let file = file.try_clone().expect("a second one");
            let mut text = Vec::new();
            Measured::new(file, size, End::clone(&end)).read_to_end(&mut text).expect("read");
            assert_eq!(text, b"eleven long");
            assert_eq!(end.get().is_some(), is_whole, "{size}");
        }
    }
}
