//! What is kept of the old file when a new one takes its place.

use super::check::{exists, is_same_file};
use super::claims::nth;
use super::output::folder_of;
use super::temporary::temporary;
use crate::error::{Error, Result};
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Gives the new file the permissions and times of the old one.
pub fn keep_attributes(meta: &Metadata, file: &File) -> Result<()> {
    let failed = |error| Error::io("cannot keep permissions and times", error);
    file.set_permissions(meta.permissions()).map_err(failed)?;
    let mut times = FileTimes::new();
    if let Ok(modified) = meta.modified() {
        times = times.set_modified(modified);
    }
    if let Ok(accessed) = meta.accessed() {
        times = times.set_accessed(accessed);
    }
    file.set_times(times).map_err(failed)
}

/// Gives the new file the owner of the old one.
#[cfg(unix)]
pub fn keep_owner(old: &Metadata, file: &File) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let failed = |error| Error::io("cannot keep the owner", error);
    let new = file.metadata().map_err(failed)?;
    if (old.uid(), old.gid()) == (new.uid(), new.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid())).map_err(failed)?;
    // A change of owner may take bits off.
    file.set_permissions(old.permissions()).map_err(failed)
}

#[cfg(not(unix))]
pub fn keep_owner(_: &Metadata, _: &File) -> Result<()> {
    Ok(())
}

/// Gives the original a second name, so that it is there at every moment. An older backup is
/// never replaced: it may be the only copy of what an earlier run found. Gives the second name.
pub fn keep_original(path: &Path, suffix: &str) -> Result<PathBuf> {
    let mut first = path.as_os_str().to_owned();
    first.push(suffix);
    let mut n = 1;
    loop {
        let backup = nth(first.as_ref(), n);
        match fs::hard_link(path, &backup) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A run that was killed may have come as far as this.
                if is_same_file(path, &backup) {
                    return Ok(backup);
                }
            }
            // Not every file system has links.
            Err(_) => return copy_original(path, &backup).map(|()| backup),
        }
        n += 1;
    }
}

fn copy_original(path: &Path, backup: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot keep a backup", error);
    let mut from = File::open(path).map_err(failed)?;
    let meta = from.metadata().map_err(failed)?;
    let mut to = temporary(folder_of(backup), true)?;
    io::copy(&mut from, &mut to).map_err(failed)?;
    keep_attributes(&meta, to.as_file())?;
    to.as_file().sync_all().map_err(failed)?;
    to.persist_noclobber(backup).map(drop).map_err(|error| failed(error.error))
}

/// The error for an output that did not get its place.
pub fn rename_failed(target: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        exists(target)
    } else {
        Error::io(format!("cannot rename to {}", target.display()), error)
    }
}
