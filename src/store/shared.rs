//! Files that sessions share: one of them is changed at a time, and never while its own software
//! has it open.

use super::fingerprint::Fingerprint;
use super::lock::is_locked;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

/// The largest file that is copied or changed, in bytes.
pub const LARGEST: u64 = 1 << 30;

/// While it is held, no other thread of this run changes what sessions share.
///
/// It may be let go by another thread than the one that waited for it, as a guard of the standard
/// library may not.
#[derive(Debug)]
pub struct Alone(());

static TAKEN: Mutex<bool> = Mutex::new(false);
static FREE: Condvar = Condvar::new();

impl Alone {
    /// Waits until nobody else holds it.
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

/// A shared file before its change.
#[derive(Debug)]
pub struct Before {
    /// Where it stands.
    pub path: PathBuf,
    /// What it holds; `None` if it is not there.
    pub contents: Option<Vec<u8>>,
    fingerprint: Option<Fingerprint>,
}

impl Before {
    /// Reads the file, if it is there.
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
        // What a database's own program has not put into it yet stands beside it.
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

    /// Whether the file is still as it was.
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

/// Whether a file holds these bytes.
pub fn holds(path: &Path, bytes: &[u8]) -> Result<bool> {
    let same =
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64);
    let read = || fs::read(path).map_err(|error| Error::io("cannot read", error));
    Ok(same && read()? == bytes)
}
