//! A new file that takes the place of an old one.

use super::attributes::keep_attributes;
use super::check::{exists, is_same_file};
use super::claims::{nth, numbered};
use super::destination::{BACKUP, backup_of, folder_of};
use super::fingerprint::Fingerprint;
use super::temporary::{Named, named_temporary, take_free};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::parts::read_the_same;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Returns how many other hard links a file has. A new file in its place has none of them. The
/// backup with this ending that a killed run created as a second name does not count, because the
/// next run uses it as its backup.
#[cfg(unix)]
pub fn other_names(path: &Path, suffix: Option<&str>) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let others = fs::symlink_metadata(path).map_or(0, |meta| meta.nlink().saturating_sub(1));
    let kept = |suffix: &str| is_same_file(path, &backup_of(path, suffix));
    others - u64::from(others > 0 && suffix.is_some_and(kept))
}

/// Always returns 0, because the system does not report the number.
#[cfg(not(unix))]
pub fn other_names(_: &Path, _: Option<&str>) -> u64 {
    0
}

/// The originals that were kept in this run and that are not yet replaced. On drop, the backups of
/// originals that were never replaced are removed.
#[derive(Debug, Default)]
pub struct Backups(Vec<(PathBuf, Fingerprint, PathBuf)>);

impl Backups {
    /// Gives the original, whose fingerprint is `before`, a second name, so that it exists at every
    /// moment. An older backup is never replaced, because it may be the only copy of what an
    /// earlier run found. Returns the second name.
    pub fn keep(&mut self, path: &Path, before: &Fingerprint, suffix: &str) -> Result<PathBuf> {
        let first = backup_of(path, suffix);
        let mut n = 1;
        loop {
            let backup = nth(&first, n);
            match keep_under(path, &backup)? {
                Kept::New => {
                    self.0.push((path.to_owned(), *before, backup.clone()));
                    return Ok(backup);
                }
                Kept::Already => return Ok(backup),
                Kept::Taken => n += 1,
            }
        }
    }

    /// Records that a new file has the place, so that the backup of the original stays.
    pub fn stay(&mut self, path: &Path) {
        self.0.retain(|(kept, ..)| kept != path);
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        for (path, before, backup) in &self.0 {
            if is_same_file(path, backup) || before.holds(path).is_ok() {
                // A backup that cannot be removed does no harm.
                let _ = fs::remove_file(backup);
            }
        }
    }
}

/// Result of giving an original a second name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It has the name.
    New,
    /// It had the name already. A run that was killed may have given it.
    Already,
    /// Another file has the name.
    Taken,
}

/// Gives an original this second name, if it is free.
pub fn keep_under(path: &Path, backup: &Path) -> Result<Kept> {
    match fs::hard_link(path, backup) {
        Ok(()) => Ok(Kept::New),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_its = is_same_file(path, backup) || is_copy(path, backup);
            Ok(if is_its { Kept::Already } else { Kept::Taken })
        }
        // Some file systems have no hard links.
        Err(_) => copy_original(path, backup).map(|()| Kept::New),
    }
}

/// Returns the name under which the original at `path` is kept beside `place`: the first that is
/// free, or that the original has already.
pub fn second_name(path: &Path, place: &Path) -> PathBuf {
    numbered(&backup_of(place, BACKUP), |name| {
        fs::symlink_metadata(name).is_err() || is_same_file(path, name)
    })
}

/// Renames a file, if no file has the new name.
pub fn rename_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            renamed => return Ok(renamed?),
        }
    }
    // Some file systems cannot do both at once.
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Whether a file is a copy of another one with the same time, so that it is as good a backup as a
/// new one.
fn is_copy(path: &Path, copy: &Path) -> bool {
    // The file with the backup's name may be a pipe.
    if !copy.is_file() {
        return false;
    }
    let open = |path: &Path| File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (Ok((meta, a)), Ok((other, b))) = (open(path), open(copy)) else { return false };
    let alike = meta.len() == other.len() && meta.modified().ok() == other.modified().ok();
    alike && read_the_same(BufReader::new(a), BufReader::new(b)).unwrap_or(false)
}

/// Puts a file in the place of the one that it was made from, unless that one has changed since
/// `before`. Contents that another program writes there at the last moment are not lost.
pub fn replace(file: Named, target: &Path, before: &Fingerprint) -> Result<()> {
    replace_if(file, target, &|path| before.holds(path))
}

/// Puts a file in the place of the one that it was made from, as long as the old one `holds`, before
/// and after it got another name.
pub fn replace_if(file: Named, target: &Path, holds: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
    holds(target)?;
    let new = Fingerprint::of_open(file.as_file())?;
    if swap(file.path(), target).is_err() {
        // Some file systems cannot swap names; there the check above must suffice.
        let put = file.persist(target).map(drop);
        return put.map_err(|error| rename_failed(target, error.error));
    }
    if holds(file.path()).is_ok() {
        return Ok(());
    }
    // The other program may write again before its file is back in place.
    match give_back(file.path(), target, &new) {
        Ok(()) => Err(Error::request(Code::Changed, Code::Changed.title())),
        Err(error) => {
            let newest = file.path().display().to_string();
            let _ = file.keep();
            Err(Error::io(format!("the data written meanwhile is in {newest}"), error))
        }
    }
}

/// Swaps the names until `path` is the name of the new file again.
fn give_back(path: &Path, target: &Path, new: &Fingerprint) -> io::Result<()> {
    while !Fingerprint::from(&fs::metadata(path)?).is_same_file(new) {
        swap(path, target)?;
    }
    Ok(())
}

/// Swaps the names of two files.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn swap(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Copies an original, with its times and permissions, to a name that is free.
pub fn copy_original(path: &Path, backup: &Path) -> Result<()> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidFilename => {
            Error::io("cannot keep a backup (try a shorter `--backup=`)", error)
        }
        _ => Error::io("cannot keep a backup", error),
    };
    let mut from = File::open(path).map_err(failed)?;
    let meta = from.metadata().map_err(failed)?;
    let mut to = named_temporary(folder_of(backup), true)?;
    io::copy(&mut from, &mut to).map_err(failed)?;
    keep_attributes(&meta, to.as_file())?;
    to.as_file().sync_all().map_err(failed)?;
    take_free(to, backup).map_err(failed)
}

/// Returns the error for an output that could not be renamed to its place.
pub fn rename_failed(target: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        exists(target)
    } else {
        Error::io(format!("cannot rename to {}", target.display()), error)
    }
}
