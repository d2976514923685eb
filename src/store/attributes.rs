//! Attributes of an old file that the new file in its place gets.

#[cfg(unix)]
use super::check::NO_OWNER;
use crate::error::{Error, Result};
use std::fs::{File, FileTimes, Metadata, OpenOptions, Permissions};
use std::path::Path;

/// Gives the new file the permissions and times of the old one. Returns the new file's metadata
/// after that.
pub fn keep_attributes(meta: &Metadata, file: &File) -> Result<Metadata> {
    let failed = |error| Error::io("cannot keep permissions and times", error);
    let mut times = FileTimes::new();
    if let Ok(modified) = meta.modified() {
        times = times.set_modified(modified);
    }
    if let Ok(accessed) = meta.accessed() {
        times = times.set_accessed(accessed);
    }
    file.set_times(times).map_err(failed)?;
    keep_permissions(meta, file)
}

/// Gives the new file the permissions of the old one. Returns the new file's metadata after that.
pub fn keep_permissions(meta: &Metadata, file: &File) -> Result<Metadata> {
    let failed = |error| Error::io("cannot keep permissions", error);
    let made = file.metadata().map_err(failed)?;
    // Mostly the file was created with these permissions.
    if made.permissions() != meta.permissions() {
        file.set_permissions(meta.permissions()).map_err(failed)?;
    }
    Ok(made)
}

/// Returns options by which a file is created with the permissions of another one; without it, with
/// those of any new file.
pub fn new_like(meta: Option<&Metadata>) -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if let Some(meta) = meta {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        options.mode(meta.mode() & 0o666);
    }
    #[cfg(not(unix))]
    let _ = meta;
    options
}

/// Returns the permissions that all of these files have in common; `None` if there is no such file,
/// or the system has other permissions.
#[cfg(unix)]
pub fn narrowest<'p>(files: impl IntoIterator<Item = &'p Path>) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let modes = files.into_iter().filter_map(|file| file.metadata().ok());
    let modes = modes.filter(Metadata::is_file).map(|meta| meta.permissions().mode());
    modes.reduce(|one, other| one & other).map(|mode| Permissions::from_mode(mode & 0o666 | 0o600))
}

/// Always returns `None`, because the system has no such permissions.
#[cfg(not(unix))]
pub fn narrowest<'p>(_: impl IntoIterator<Item = &'p Path>) -> Option<Permissions> {
    None
}

/// Gives the new file the owner of the old one.
#[cfg(unix)]
pub fn keep_owner(old: &Metadata, file: &File) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let failed = |error| Error::io(NO_OWNER, error);
    let new = file.metadata().map_err(failed)?;
    if (old.uid(), old.gid()) == (new.uid(), new.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid())).map_err(failed)?;
    // A change of owner may remove permission bits.
    file.set_permissions(old.permissions()).map_err(failed)
}

#[cfg(not(unix))]
pub fn keep_owner(_: &Metadata, _: &File) -> Result<()> {
    Ok(())
}
