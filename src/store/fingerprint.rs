//! Detection of changes to a file.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Size, time of modification and inode of a file, which show whether the file was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Fingerprint {
    /// Returns the fingerprint of the file at `path`, with links followed.
    pub fn of(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(|error| Error::io("cannot open", error))?;
        Ok(Self::from(&meta))
    }

    /// Returns the fingerprint of an open file, whatever its name is.
    pub fn of_open(file: &File) -> Result<Self> {
        let meta = file.metadata().map_err(|error| Error::io("cannot read", error))?;
        Ok(Self::from(&meta))
    }

    /// Checks that the file at `path` still has this fingerprint.
    pub fn holds(&self, path: &Path) -> Result<()> {
        if Self::of(path)? == *self {
            return Ok(());
        }
        Err(Error::request(Code::Changed, Code::Changed.title()))
    }

    /// Whether both fingerprints belong to the same file, even if it was written to in between.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns how long ago the last change was; nothing for a change in the future.
    pub fn age(&self) -> Option<Duration> {
        self.modified?.elapsed().ok()
    }

    /// Returns the time of the last change, to the nanosecond; `None` where the file system has no
    /// such time, or where it is outside of the calendar's range.
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
