//! Checks that run before anything is written.

use super::destination::{Policy, backup_of};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::parts::BESIDE;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Returns the path of a part whose name is appended to `stem`. Names can come from the contents of
/// a file. Therefore a name that leads out of the folder is refused, and so is one that leads
/// through an existing symbolic link.
pub fn check_part(stem: &Path, name: &str) -> Result<PathBuf> {
    let refused =
        |why: &str| Error::request(Code::NoName, format!("no file can be called {name:?}: {why}"));
    let unfit = |piece: &str| matches!(piece, "" | "." | "..") || piece.contains(['\\', '\0']);
    if let Some((name, file)) = name.split_once(BESIDE) {
        if unfit(file) || file.contains('/') {
            return Err(refused("it is not a plain path"));
        }
        return check_part(stem, name).map(|path| path.with_file_name(file));
    }
    let (ending, below) = name.split_once('/').map_or((name, None), |(a, b)| (a, Some(b)));
    if ending.contains(['\\', '\0']) || below.is_some_and(|below| below.split('/').any(unfit)) {
        return Err(refused("it is not a plain path"));
    }
    let mut path = stem.as_os_str().to_owned();
    path.push(ending);
    let (mut path, mut there) = (PathBuf::from(path), true);
    for piece in below.into_iter().flat_map(|below| below.split('/')) {
        // Below a path that does not exist there is nothing to check.
        match there.then(|| fs::symlink_metadata(&path)) {
            Some(Ok(meta)) if meta.is_symlink() => {
                return Err(refused("the path contains a symbolic link"));
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => there = false,
            _ => {}
        }
        path.push(piece);
    }
    Ok(path)
}

/// Kind of file that exists at the place of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// No file.
    Nothing,
    /// A file, or a link that leads to one or nowhere.
    File,
    /// A folder.
    Folder,
    /// A device or a pipe. The writer writes to it and never replaces it.
    Special,
}

impl Existing {
    /// Looks at `target`. Most places are free, and these need only one system call.
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

/// Whether two paths lead to the same file. Only regular files are opened for this check, because
/// opening a pipe waits for a process at its other end.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a.is_file() && b.is_file() && same_file::is_same_file(a, b).unwrap_or(false)
}

/// Returns the error for a pipe or a device in a place that the user did not name.
pub fn special(target: &Path) -> Error {
    let message =
        format!("{} is not a regular file, and was not named as output", target.display());
    Error::request(Code::OutputSpecial, message)
}

/// Checks whether an output may be written to `target`, where a file of kind `existing` is.
///
/// # Errors
/// If it is one of the inputs, is a folder, or exists and may not be written over.
pub fn check_target<'p>(
    target: &Path,
    existing: Existing,
    mut inputs: impl Iterator<Item = &'p Path>,
    policy: Policy,
) -> Result<()> {
    if existing == Existing::Special {
        return Ok(());
    }
    let same = |input: &Path| is_same_file(input, target);
    if existing != Existing::Nothing && inputs.any(same) {
        return Err(Error::request(Code::SameFile, Code::SameFile.title()));
    }
    if existing == Existing::Folder || target.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let message = format!("{} is a folder", target.display());
        return Err(Error::request(Code::OutputFolder, message));
    }
    if !policy.force && existing != Existing::Nothing {
        return Err(exists(target));
    }
    check_name(target)
}

/// Checks that the system accepts the names of the file and of the folders above it that do not
/// exist yet.
fn check_name(path: &Path) -> Result<()> {
    /// Length in bytes up to which every system accepts a name.
    const SHORT: usize = 128;
    let long = |name: &OsStr| name.len() > SHORT;
    // Hardly any name is that long, so mostly no system call is needed.
    if path.as_os_str().len() <= SHORT || !path.iter().any(long) {
        return Ok(());
    }
    let Some(folder) = there(path) else { return Ok(()) };
    let missing = path.ancestors().take_while(|above| or_here(above) != folder);
    for name in missing.filter_map(Path::file_name).filter(|name| long(name)) {
        if let Err(error) = fs::symlink_metadata(folder.join(name))
            && error.kind() == io::ErrorKind::InvalidFilename
        {
            let doing = format!("no file can be called {}", Path::new(name).display());
            return Err(Error::io(doing, error));
        }
    }
    Ok(())
}

/// Returns the nearest folder above a file that exists.
fn there(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).map(or_here).find(|folder| folder.is_dir())
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Checks in a dry run that the system would let the file be written. If the file `replaces`
/// another one, the new file needs the owner of the old one, and the old one needs a free name that
/// ends in `backup`.
pub fn check_room(path: &Path, backup: Option<&str>, replaces: bool) -> Result<()> {
    if Existing::at(path) == Existing::Special {
        return Ok(());
    }
    if replaces {
        check_backup(path, backup)?;
        check_owner(path)?;
    }
    there(path).map_or(Ok(()), check_writable)
}

/// Checks that the original of a file can be kept under a backup name.
pub fn check_backup(path: &Path, backup: Option<&str>) -> Result<()> {
    backup.map_or(Ok(()), |suffix| check_name(&backup_of(path, suffix)))
}

/// Start of the error message if the new file cannot get the owner and the group of the old one,
/// because the old file belongs to another user or to a group that the user is not in.
#[cfg(unix)]
pub const NO_OWNER: &str = "cannot give the new file the owner and the group of the old one (`-o` and \
                            `--out-dir` write another file)";

#[cfg(unix)]
fn check_owner(path: &Path) -> Result<()> {
    use rustix::process::{getegid, geteuid, getgroups};
    use std::os::unix::fs::MetadataExt;
    let failed = |error| Error::io(NO_OWNER, error);
    let meta = fs::metadata(path).map_err(failed)?;
    let (user, group) = (geteuid(), getegid());
    let mine = user.as_raw() == meta.uid();
    let member = || getgroups().is_ok_and(|groups| groups.iter().any(|g| g.as_raw() == meta.gid()));
    if user.is_root() || (mine && (group.as_raw() == meta.gid() || member())) {
        return Ok(());
    }
    Err(failed(io::ErrorKind::PermissionDenied.into()))
}

#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(unix)]
fn check_writable(folder: &Path) -> Result<()> {
    use rustix::fs::{Access, access};
    let allowed = access(folder, Access::WRITE_OK | Access::EXEC_OK);
    allowed
        .map_err(|error| Error::io(format!("cannot write into {}", folder.display()), error.into()))
}

#[cfg(not(unix))]
fn check_writable(_: &Path) -> Result<()> {
    Ok(())
}

/// Returns the error for an output whose place another output of the run has.
pub fn taken(target: &Path) -> Error {
    let message = format!("{} is another output of this run", target.display());
    Error::request(Code::OutputTaken, message)
}

/// Returns the error for an output at whose place a file exists.
pub fn exists(target: &Path) -> Error {
    Error::request(Code::Exists, format!("{} exists", target.display()))
}

/// Checks that a file to be changed in place is not a pipe or a device. Opening one of these can
/// block for ever.
pub fn check_no_pipe(path: &Path) -> Result<()> {
    match Existing::at(path) {
        Existing::Special => Err(not_regular()),
        _ => Ok(()),
    }
}

fn not_regular() -> Error {
    Error::request(Code::Link, "only a regular file can be changed in place")
}

/// Checks whether a file may be changed in place.
///
/// # Errors
/// If it is a link or no regular file, or another program holds a lock on it.
pub fn check_in_place(path: &Path) -> Result<()> {
    let meta = fs::symlink_metadata(path).map_err(|error| Error::io("cannot open", error))?;
    if meta.is_symlink() {
        return Err(Error::request(Code::Link, Code::Link.title()));
    }
    if !meta.is_file() {
        return Err(not_regular());
    }
    let file = File::open(path).map_err(|error| Error::io("cannot open", error))?;
    match file.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => {
            let message = "another program holds a lock on it";
            Err(Error::request(Code::Changed, message))
        }
        // Where the file system knows no locks there is nothing to check.
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
        assert_eq!(path("/../b"), Some("b".into()));
        assert_eq!(path("/c/d/../b"), Some("a/c/b".into()));
        for name in [
            "/../../b",
            "/../b/c",
            "/../",
            "/..",
            "/b/../../c",
            "//etc/b",
            "/./b",
            "/b\\c",
            ".\0",
            "/b//c",
            "/",
        ] {
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
