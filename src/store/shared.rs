//! Files that sessions share. One of them is changed at a time, and never while the agent has it
//! open.

use super::fingerprint::Fingerprint;
use super::lock::is_locked;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

/// Maximum size in bytes of a file that is copied or changed.
pub const LARGEST: u64 = 1 << 30;

/// Lock on the files that sessions share. While it is held, no other thread of this run changes
/// them.
///
/// Another thread than the one that waited for the lock may drop it, which is not allowed for a
/// guard of the standard library.
#[derive(Debug)]
pub struct Alone(());

static TAKEN: Mutex<bool> = Mutex::new(false);
static FREE: Condvar = Condvar::new();

impl Alone {
    /// Waits until no other thread holds the lock.
    pub fn wait() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken =
            FREE.wait_while(taken, |taken| *taken).unwrap_or_else(PoisonError::into_inner);
        *taken = true;
        Self(())
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        FREE.notify_one();
    }
}

/// State of a shared file before its change.
#[derive(Debug)]
pub struct Before {
    /// The path of the file.
    pub path: PathBuf,
    /// The contents of the file; `None` if it does not exist.
    pub contents: Option<Vec<u8>>,
    fingerprint: Option<Fingerprint>,
}

impl Before {
    /// Reads the file, if it exists.
    ///
    /// # Errors
    /// If it is no regular file or too large, or another program may have it open.
    pub fn of(path: &Path) -> Result<Self> {
        let Ok(meta) = fs::symlink_metadata(path) else {
            return Ok(Self { path: path.to_owned(), contents: None, fingerprint: None });
        };
        let refused = |why: &str| {
            Error::request(Code::Changed, format!("{} is left alone: {why}", path.display()))
        };
        if !meta.is_file() || meta.len() > LARGEST {
            return Err(refused("it is no regular file, or larger than 1 GiB"));
        }
        // A database's program keeps changes that are not yet in the database in these files.
        for ending in ["-wal", "-journal"] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(ending);
            if fs::metadata(beside).is_ok_and(|meta| meta.len() > 0) {
                return Err(refused("its program has it open, or ended without closing it"));
            }
        }
        let fingerprint = Fingerprint::of(path)?;
        let mut file = File::open(path).map_err(|error| Error::io("cannot open", error))?;
        if is_locked(&file) {
            return Err(refused("another program is writing to it"));
        }
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).map_err(|error| Error::io("cannot read", error))?;
        let before = Self {
            path: path.to_owned(),
            contents: Some(contents),
            fingerprint: Some(fingerprint),
        };
        before.unchanged()?;
        Ok(before)
    }

    /// Checks that the file has not changed.
    ///
    /// # Errors
    /// If it is not.
    pub fn unchanged(&self) -> Result<()> {
        let now = Fingerprint::of(&self.path).ok();
        if now == self.fingerprint {
            return Ok(());
        }
        let message = format!("{} changed meanwhile", self.path.display());
        Err(Error::request(Code::Changed, message))
    }
}

/// Whether a file contains exactly these bytes.
pub fn holds(path: &Path, bytes: &[u8]) -> Result<bool> {
    let same =
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64);
    let read = || fs::read(path).map_err(|error| Error::io("cannot read", error));
    Ok(same && read()? == bytes)
}
