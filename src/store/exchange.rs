//! New contents for a file that the caller has locked.

use super::attributes::keep_owner;
use super::barrier::sync_folder;
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::replacement::replace;
use super::temporary::named_temporary;
use crate::error::{Error, Result};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Puts a file with these contents, and the permissions and owner of the old one, in the place of a
/// file, unless that has changed since `before`. A link to the file stays one. Returns the
/// fingerprint of the new file.
pub fn exchange(path: &Path, contents: &[u8], before: &Fingerprint) -> Result<Fingerprint> {
    let failed = |error| Error::io(format!("cannot write to {}", path.display()), error);
    let path = fs::canonicalize(path).map_err(failed)?;
    let old = fs::metadata(&path).map_err(failed)?;
    let mut new = named_temporary(folder_of(&path), true)?;
    new.write_all(contents).map_err(failed)?;
    keep_owner(&old, new.as_file())?;
    new.as_file().set_permissions(old.permissions()).map_err(failed)?;
    new.as_file().sync_all().map_err(failed)?;
    let made = Fingerprint::of_open(new.as_file())?;
    replace(new, &path, before)?;
    sync_folder(folder_of(&path))?;
    Ok(made)
}
