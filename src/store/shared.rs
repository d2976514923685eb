//! Files that sessions share. One output changes them at a time, in the file itself.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Change, Commit};
use std::fs;
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

/// Change of a shared file that exists. It is made in the file itself, as the last step of an
/// output: other programs may have the file open, and would continue in a file that was replaced.
pub struct Live {
    path: PathBuf,
    change: Box<dyn Change>,
    force: bool,
}

impl Live {
    /// Prepares the change; `None` if the file does not exist.
    pub fn of(path: &Path, change: Box<dyn Change>, force: bool) -> Result<Either> {
        let Ok(meta) = fs::symlink_metadata(path) else { return Ok(Either::New(change)) };
        if meta.is_file() && meta.len() <= LARGEST {
            return Ok(Either::Exists(Self { path: path.to_owned(), change, force }));
        }
        let why = "is left unchanged: it is not a regular file, or larger than 1 GiB";
        Err(Error::request(Code::Changed, format!("{} {why}", path.display())))
    }

    /// Begins the change.
    pub fn begin(&self) -> Result<Commit> {
        self.change.begin(&self.path, self.force)
    }
}

/// Whether a shared file exists.
pub enum Either {
    /// It does not exist and is created.
    New(Box<dyn Change>),
    /// It is changed.
    Exists(Live),
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Live").field(&self.path).finish()
    }
}

/// Whether a file contains exactly these bytes.
pub fn holds(path: &Path, bytes: &[u8]) -> Result<bool> {
    let same =
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64);
    let read = || fs::read(path).map_err(|error| Error::io("cannot read", error));
    Ok(same && read()? == bytes)
}
