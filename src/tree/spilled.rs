//! Temporary file without a name that is filled by ordinary writes and then mapped for reading.
//!
//! Outside of `json`, no other module has `unsafe` code. The code needs it for one thing: a mapping
//! is memory that changes if its file does, and that ends the process if its file is shortened. The
//! file of a [`Spilled`] is created here, given to no other code, and has no name under which
//! another program could open it (on Windows the system refuses that). Its bytes are written before
//! they are mapped, are never written again, and are never cut off.
#![allow(unsafe_code, reason = "a mapping of a file of our own; see above")]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes outside of memory.
#[derive(Debug)]
pub struct Spilled {
    file: File,
    map: Mmap,
}

impl Spilled {
    /// Creates a file of the bytes that `fill` writes.
    pub fn filled(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        let map = map(&mut file, 0, fill)?;
        Ok(Self { file, map })
    }

    /// Adds the bytes that `fill` writes. After an error none are added.
    pub fn append(
        &mut self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.map = map(&mut self.file, self.map.len() as u64, fill)?;
        Ok(())
    }

    /// Returns the bytes, of which the system keeps in memory what it has room for.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Reads a range of the bytes into memory.
    pub fn read(&self, start: usize, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        (&self.file).seek(SeekFrom::Start(start as u64))?;
        (&self.file).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Lets `fill` write to a file behind its first `start` bytes, and maps all of it.
fn map(
    file: &mut File,
    start: u64,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Mmap> {
    file.seek(SeekFrom::Start(start))?;
    fill(file)?;
    let length = usize::try_from(file.stream_position()?).map_err(io::Error::other)?;
    // SAFETY: nothing but this module writes to the file, and it never changes or removes the bytes
    // that are mapped; see the documentation of the module.
    unsafe { MmapOptions::new().len(length).map(&*file) }
}
