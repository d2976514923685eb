//! Files to which bytes are added at the end, as their agents do.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Adds bytes at the end of a file of this size. No byte of the file is replaced.
///
/// # Errors
/// If the file has another size by now, or cannot be written; then nothing is added.
pub fn grow(path: &Path, size: u64, bytes: &mut dyn Read) -> Result<()> {
    let failed = |error| Error::io(format!("cannot add to {}", path.display()), error);
    let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() != size {
        return Err(failed(io::Error::other("another program is writing to it; try again")));
    }
    let added = io::copy(bytes, &mut file).and_then(|_| file.flush());
    added.and_then(|()| file.sync_data()).map_err(|error| {
        // Half a line would spoil the next one.
        let _ = file.set_len(size);
        failed(error)
    })
}

/// Removes what was added to a file that had this size.
///
/// # Errors
/// If the system refuses.
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
}
