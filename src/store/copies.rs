//! Copies of files that sessions share, made once for all of these sessions.

use super::fingerprint::Fingerprint;
use super::lock::is_locked;
use super::meter::{Reach, Tally};
use super::shared::LARGEST;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// The copies of a folder's shared files. All clones of one value share the copies.
#[derive(Clone, Debug, Default)]
pub struct Copies(Arc<Mutex<Option<Made>>>);

/// The copies, and the fingerprints of the copied files.
#[derive(Debug)]
struct Made {
    files: Vec<(Arc<Path>, Fingerprint)>,
    folder: Arc<TempDir>,
}

impl PartialEq for Copies {
    /// Always true: copies follow from the files, so they do not distinguish two values.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Copies {}

/// A folder with copies. The folder is deleted when its last user drops it.
#[derive(Debug)]
pub struct Lent(Arc<TempDir>);

impl AsRef<Path> for Lent {
    fn as_ref(&self) -> &Path {
        self.0.path()
    }
}

impl Copies {
    /// Returns copies of these files, under their names. If a file has changed since it was copied,
    /// all are copied again.
    pub fn of(&self, files: &[Arc<Path>], tally: &Tally) -> Result<Lent> {
        let mut made = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = fingerprints(files)?;
        if let Some(made) = made.as_ref().filter(|made| made.files == before) {
            return Ok(Lent(made.folder.clone()));
        }
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|e| Error::io("cannot create a temporary folder", e))?;
        for file in files {
            copy(file, &folder.path().join(file.file_name().unwrap_or_default()), tally)?;
        }
        if fingerprints(files)? != before {
            return Err(Error::request(Code::Changed, Code::Changed.title()));
        }
        let folder = Arc::new(folder);
        *made = Some(Made { files: before, folder: folder.clone() });
        Ok(Lent(folder))
    }
}

fn fingerprints(files: &[Arc<Path>]) -> Result<Vec<(Arc<Path>, Fingerprint)>> {
    files.iter().map(|file| Ok((Arc::clone(file), Fingerprint::of(file)?))).collect()
}

/// Copies a file, unless another program is writing to it.
fn copy(from: &Path, to: &Path, tally: &Tally) -> Result<()> {
    let failed = |error| Error::io("cannot copy the input to a temporary file", error);
    let file = File::open(from).map_err(|error| Error::io("cannot open", error))?;
    let refused = |why: &str| Error::request(Code::Changed, format!("{why} {}", from.display()));
    if file.metadata().is_ok_and(|meta| meta.len() > LARGEST) {
        let message = format!("{} is larger than 1 GiB", from.display());
        return Err(Error::damaged(Diagnostic::new(Code::Database, message)));
    }
    if is_locked(&file) {
        return Err(refused("another program is writing to"));
    }
    if unfinished(from) {
        return Err(refused("another program is writing to, or ended in the middle of it:"));
    }
    let mut copy = File::create(to).map_err(failed)?;
    io::copy(&mut tally.reader(&Reach::default(), file), &mut copy).map(drop).map_err(failed)
}

/// Whether a database has an unfinished change, so that a journal beside it contains the replaced
/// data.
fn unfinished(database: &Path) -> bool {
    let mut journal = database.as_os_str().to_owned();
    journal.push("-journal");
    std::fs::metadata(journal).is_ok_and(|meta| meta.len() > 0)
}
