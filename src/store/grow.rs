//! Files to which bytes are added at the end, as their agents do.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Adds bytes at the end of a file of this size. No byte of the file is replaced.
///
/// # Errors
/// If the file has another size by now, or cannot be written; then nothing is added.
pub fn grow(path: &Path, size: u64, bytes: &mut dyn Read) -> Result<()> {
    let failed = |error| Error::io(format!("cannot add to {}", path.display()), error);
    let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() != size {
        return Err(failed(io::Error::other("another program is writing to it; try again")));
    }
    let mut to = Added { file, bytes: 0 };
    let added = io::copy(bytes, &mut to).and_then(|_| to.file.sync_data());
    added.map_err(|error| {
        take_back(&mut to.file, to.bytes);
        failed(error)
    })
}

/// File to which bytes are added, and their number so far.
struct Added {
    file: File,
    bytes: u64,
}

impl Write for Added {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Takes away the bytes that were written last to an open file, because half a line would make the
/// next one unreadable, unless another program has appended to them.
pub fn take_back(file: &mut File, written: u64) {
    if let (Ok(end), Ok(size)) = (file.stream_position(), file.metadata())
        && written > 0
        && size.len() == end
    {
        let _ = file.set_len(end.saturating_sub(written));
    }
}

/// Removes what was added to a file that had this size.
pub(super) fn cut(path: &Path, size: u64) -> Result<()> {
    let cut = OpenOptions::new().write(true).open(path).and_then(|file: File| {
        file.set_len(size)?;
        file.sync_data()
    });
    cut.map_err(|error| Error::io("cannot remove what the run added", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_only_from_the_size_that_was_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one\n").expect("room");
        assert!(grow(&path, 3, &mut &b"two\n"[..]).is_err());
        grow(&path, 4, &mut &b"two\n"[..]).expect("room");
        assert_eq!(std::fs::read(&path).expect("a file"), b"one\ntwo\n");
        cut(&path, 4).expect("room");
        assert_eq!(std::fs::read(&path).expect("a file"), b"one\n");
    }
    /// Bytes that another program's line comes between, and that cannot be read to their end.
    struct Torn<'p> {
        path: &'p Path,
        appends: bool,
        begun: bool,
    }

    impl Read for Torn<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if !std::mem::replace(&mut self.begun, true) {
                return (&b"half"[..]).read(into);
            }
            if self.appends {
                let mut file = OpenOptions::new().append(true).open(self.path)?;
                file.write_all(b"theirs\n")?;
            }
            Err(io::Error::other("torn"))
        }
    }

    #[test]
    fn what_another_program_adds_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for (appends, left) in [(false, "one\n"), (true, "one\nhalftheirs\n")] {
            std::fs::write(&path, "one\n").expect("room");
            let mut torn = Torn { path: &path, appends, begun: false };
            assert!(grow(&path, 4, &mut torn).is_err());
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), left);
        }
    }
}
