//! What is checked before anything is written.

use super::destination::Policy;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The path of a part whose name is put behind `stem`. Names can come from what a file holds, so
/// none may lead elsewhere, not even through links that stand there already.
///
/// # Errors
/// If it would.
pub fn check_part(stem: &Path, name: &str) -> Result<PathBuf> {
    let refused =
        |why: &str| Error::request(Code::NoName, format!("no file can be called {name:?}: {why}"));
    let unfit = |piece: &str| matches!(piece, "" | "." | "..") || piece.contains(['\\', '\0']);
    let (ending, below) = name.split_once('/').map_or((name, None), |(a, b)| (a, Some(b)));
    if ending.contains(['\\', '\0']) || below.is_some_and(|below| below.split('/').any(unfit)) {
        return Err(refused("it is no plain path"));
    }
    let mut path = stem.as_os_str().to_owned();
    path.push(ending);
    let mut path = PathBuf::from(path);
    for piece in below.into_iter().flat_map(|below| below.split('/')) {
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
            return Err(refused("a symbolic link stands in the way"));
        }
        path.push(piece);
    }
    Ok(path)
}

/// What stands at a place where an output is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Nothing at all.
    Nothing,
    /// A file, or a link that leads to one or nowhere.
    File,
    /// A folder.
    Folder,
    /// A device or a pipe, which is written to, never replaced.
    Special,
}

impl Stands {
    /// Looks. Most places are free, which the system is asked only once.
    pub fn at(target: &Path) -> Self {
        let Ok(own) = fs::symlink_metadata(target) else { return Self::Nothing };
        let meta = if own.is_symlink() { fs::metadata(target).ok() } else { Some(own) };
        match meta {
            Some(meta) if meta.is_dir() => Self::Folder,
            Some(meta) if !meta.is_file() => Self::Special,
            _ => Self::File,
        }
    }
}

/// Whether two paths lead to one file. Nothing but regular files is opened to see: opening a pipe
/// waits for somebody at its other end.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a.is_file() && b.is_file() && same_file::is_same_file(a, b).unwrap_or(false)
}

/// The error for a pipe or a device in a place where nobody asked for one.
pub fn special(target: &Path) -> Error {
    let message = format!("{} is no regular file, and was not named as output", target.display());
    Error::request(Code::OutputSpecial, message)
}

/// Whether an output may go where this stands.
///
/// # Errors
/// If it is one of the inputs, is a folder, or exists and may not be written over.
pub fn check_target<'p>(
    target: &Path,
    stands: Stands,
    mut inputs: impl Iterator<Item = &'p Path>,
    policy: Policy,
) -> Result<()> {
    if stands == Stands::Special {
        return Ok(());
    }
    let same = |input: &Path| is_same_file(input, target);
    if stands != Stands::Nothing && inputs.any(same) {
        return Err(Error::request(Code::SameFile, Code::SameFile.title()));
    }
    if stands == Stands::Folder || target.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let message = format!("{} is a folder", target.display());
        return Err(Error::request(Code::OutputFolder, message));
    }
    if !policy.force && stands != Stands::Nothing {
        return Err(exists(target));
    }
    Ok(())
}

/// The error for an output whose place is taken.
pub fn exists(target: &Path) -> Error {
    Error::request(Code::Exists, format!("{} exists", target.display()))
}

/// Whether a file may be changed in place.
///
/// # Errors
/// If it is a link or no regular file, or another program holds a lock on it.
pub fn check_in_place(path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path).map_err(|error| Error::io("cannot open", error))?;
    if meta.is_symlink() {
        return Err(Error::request(Code::Link, Code::Link.title()));
    }
    if !meta.is_file() {
        return Err(Error::request(Code::Link, "only a regular file can be changed in place"));
    }
    let file = File::open(path).map_err(|error| Error::io("cannot open", error))?;
    match file.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => {
            let message = "another program holds a lock on it";
            Err(Error::request(Code::Changed, message))
        }
        // Where the file system knows no locks there is nothing to ask.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_beside_and_below_the_stem() {
        let folder = tempfile::tempdir().expect("a folder");
        let stem = folder.path().join("a");
        let path = |name: &str| {
            let path = check_part(&stem, name).ok()?;
            path.strip_prefix(folder.path()).ok().map(Path::to_owned)
        };
        assert_eq!(path(".meta.json"), Some("a.meta.json".into()));
        assert_eq!(path("/b/c.jsonl"), Some("a/b/c.jsonl".into()));
        for name in ["/../b", "/..", "/b/../../c", "//etc/b", "/./b", "/b\\c", ".\0", "/b//c", "/"]
        {
            assert_eq!(path(name), None, "{name:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_part_goes_through_a_link() {
        let (folder, other) = (tempfile::tempdir(), tempfile::tempdir());
        let (folder, other) = (folder.expect("a folder"), other.expect("a folder"));
        let stem = folder.path().join("a");
        std::os::unix::fs::symlink(other.path(), &stem).expect("a link");
        assert!(check_part(&stem, "/b").is_err());
        assert!(check_part(&stem, ".b").is_ok());
    }
}
