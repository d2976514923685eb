//! Names of origin files: beside the main part of their session.

use super::packed::plain_name;
use crate::error::{Error, Result};
use crate::format::Format;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::{fs, io};

/// Ending that is appended to a file's name to form the name of its origin.
pub const ORIGIN: &str = ".origin";

/// Returns the path of a file's origin. The ending of a compressed file is removed first.
pub fn origin_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    match name.to_str() {
        Some(name) => file.with_file_name(format!("{}{ORIGIN}", plain_name(name))),
        None => {
            let mut name = name.to_owned();
            name.push(ORIGIN);
            file.with_file_name(name)
        }
    }
}

/// Returns the path of a file's origin, which its software may have left behind where the file was
/// before.
pub fn origin_of_moved(file: &Path, format: &Format) -> PathBuf {
    let beside = origin_of(file);
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    if is_there(&beside) {
        return beside;
    }
    let file = std::path::absolute(file).ok();
    let path = file.and_then(|file| Some(file.to_str()?.replace(MAIN_SEPARATOR, "/")));
    let earlier = path.map(|path| (format.files.earlier)(&path)).unwrap_or_default();
    let mut origins = earlier.into_iter().map(|path| origin_of(Path::new(&path)));
    origins.find(is_there).unwrap_or(beside)
}

/// Returns the file that an origin belongs to, if it exists.
pub fn file_of(origin: &Path) -> Option<PathBuf> {
    let name = origin.file_name()?.to_str()?.strip_suffix(ORIGIN)?;
    let names =
        ["", ".gz", ".zst"].map(|packing| origin.with_file_name(format!("{name}{packing}")));
    names.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
}

/// Whether a file has the name of an origin.
pub fn is_origin(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(ORIGIN.as_bytes()))
}

/// Whether an origin is alone because its file does not exist.
pub fn is_alone(path: &Path) -> bool {
    is_origin(path) && file_of(path).is_none()
}

/// Removes the origin of a file that is replaced, because it does not belong to the new file.
pub fn remove_old(file: &Path) -> Result<()> {
    match fs::remove_file(origin_of(file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove the old origin", error))
        }
        _ => Ok(()),
    }
}
