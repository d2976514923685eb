//! Whether a file is still what it was.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::path::Path;
use std::time::SystemTime;

/// What tells whether a file was written to: its size, its time and the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Fingerprint {
    /// Of the file at `path`, links followed.
    ///
    /// # Errors
    /// If it is not there.
    pub fn of(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(|error| Error::io("cannot open", error))?;
        Ok(Self::from(&meta))
    }

    /// Of an open file, whatever its name is.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn of_open(file: &File) -> Result<Self> {
        let meta = file.metadata().map_err(|error| Error::io("cannot read", error))?;
        Ok(Self::from(&meta))
    }

    /// Whether the file at `path` is still like that.
    ///
    /// # Errors
    /// If it is not, or is not there.
    pub fn holds(&self, path: &Path) -> Result<()> {
        if Self::of(path)? == *self {
            return Ok(());
        }
        Err(Error::request(Code::Changed, Code::Changed.title()))
    }

    /// Whether both are of one file, whatever was written to it.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The time of the last change, to the nanosecond; `None` where the file system knows none, or
    /// one that no calendar has.
    #[must_use]
    pub fn modified(&self) -> Option<String> {
        Some(jiff::Timestamp::try_from(self.modified?).ok()?.to_string())
    }
}

impl From<&Metadata> for Fingerprint {
    fn from(meta: &Metadata) -> Self {
        Self { size: meta.len(), modified: meta.modified().ok(), inode: inode(meta) }
    }
}

#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
