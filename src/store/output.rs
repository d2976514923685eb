//! Outputs that appear whole or not at all.
//!
//! The bytes go to a temporary file beside the target, readable by its owner only. Once they are
//! all there the file is flushed to the disk and renamed over the target, and the folder is
//! flushed. Whatever happens before that leaves the target as it was.

use super::input::Fingerprint;
use super::temporary::temporary;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Sink, Spool};
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a session goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// Nowhere: nothing is written.
    Nowhere,
    /// A file.
    File(PathBuf),
    /// The file that is read.
    InPlace(Backup),
}

impl Destination {
    /// The file that is written, if the input is `source`.
    #[must_use]
    pub fn target<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::File(path) => Some(path),
            Self::InPlace(_) => source,
            Self::Stdout | Self::Nowhere => None,
        }
    }
}

/// Whether the original of a file that is changed in place is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    /// Beside it, with this ending.
    Suffix(String),
    /// It is not.
    None,
}

/// What a person allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Existing files may be written over.
    pub force: bool,
    /// Everything is checked and done, but nothing is written.
    pub dry: bool,
}

/// An output while it is written.
#[derive(Debug)]
pub struct Output {
    destination: Destination,
    /// The input's path, and what it was like before it was read.
    source: Option<(PathBuf, Fingerprint)>,
    policy: Policy,
    staged: Staged,
}

#[derive(Debug)]
enum Staged {
    Nothing,
    Direct(File),
    Temporary(NamedTempFile),
}

/// Names of originals that are kept end so, unless the person says otherwise.
pub const BACKUP: &str = ".bak";

impl Output {
    /// Checks what can be checked before the work: that nothing is written over that must not be.
    ///
    /// # Errors
    /// If the target exists, is the input, or is a symbolic link to be changed in place.
    pub fn prepare(
        destination: Destination,
        source: Option<&Path>,
        policy: Policy,
    ) -> Result<Self> {
        let source = match source {
            Some(path) => Some((path.to_owned(), Fingerprint::of(path)?)),
            None => None,
        };
        match (&destination, &source) {
            (Destination::File(target), source) => {
                let input = source.as_ref().map(|(path, _)| path.as_path());
                check_target(target, input, policy)?;
            }
            (Destination::InPlace(_), Some((path, _))) => check_in_place(path)?,
            _ => {}
        }
        Ok(Self { destination, source, policy, staged: Staged::Nothing })
    }

    fn stage(&mut self) -> Result<()> {
        self.staged = match self.target() {
            None => Staged::Nothing,
            Some(_) if self.policy.dry => Staged::Nothing,
            Some(target) if is_special(target) => {
                let file = OpenOptions::new().write(true).open(target);
                Staged::Direct(file.map_err(|error| Error::io("cannot open for writing", error))?)
            }
            Some(target) => {
                let folder = folder_of(target);
                let doing = || format!("cannot create the folder {}", folder.display());
                fs::create_dir_all(folder).map_err(|error| Error::io(doing(), error))?;
                // With no input whose permissions are kept, the output gets those of any new file.
                Staged::Temporary(temporary(folder, self.source.is_some())?)
            }
        };
        Ok(())
    }

    fn target(&self) -> Option<&Path> {
        self.destination.target(self.source.as_ref().map(|(path, _)| path.as_path()))
    }

    /// Whether the input is still as it was before it was read.
    ///
    /// # Errors
    /// If it is not.
    pub fn unchanged(&self) -> Result<()> {
        match &self.source {
            Some((path, before)) if Fingerprint::of(path)? != *before => {
                Err(Error::request(Code::Changed, Code::Changed.title()))
            }
            _ => Ok(()),
        }
    }

    /// Puts the output in its place. Without this call, nothing of it remains.
    ///
    /// # Errors
    /// If the input changed meanwhile, the target appeared meanwhile, or the system refuses.
    pub fn commit(mut self) -> Result<()> {
        let Staged::Temporary(file) = std::mem::replace(&mut self.staged, Staged::Nothing) else {
            return Ok(());
        };
        if let Some((path, _)) = &self.source {
            keep_attributes(path, file.as_file())?;
            if matches!(self.destination, Destination::InPlace(_)) {
                keep_owner(path, file.as_file())?;
            }
        }
        file.as_file().sync_all().map_err(|error| Error::io("cannot flush to the disk", error))?;
        // The flush can take long; the check is worth most right before the renaming.
        self.unchanged()?;
        match (self.destination, self.source) {
            (Destination::File(target), _) => {
                let kept = if self.policy.force {
                    file.persist(&target).map(drop)
                } else {
                    file.persist_noclobber(&target).map(drop)
                };
                kept.map_err(|error| rename_failed(&target, error.error))?;
                sync_folder(&target)
            }
            (Destination::InPlace(backup), Some((path, _))) => {
                if let Backup::Suffix(suffix) = backup {
                    keep_original(&path, &suffix)?;
                }
                file.persist(&path).map_err(|error| rename_failed(&path, error.error))?;
                sync_folder(&path)
            }
            _ => Ok(()),
        }
    }
}

impl Sink for Output {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        if !name.is_empty() {
            let error = io::Error::from(io::ErrorKind::Unsupported);
            return Err(Error::io("cannot create a second part", error));
        }
        self.stage()?;
        let file = match &self.staged {
            Staged::Direct(file) => file,
            Staged::Temporary(file) => file.as_file(),
            Staged::Nothing if self.destination == Destination::Stdout && !self.policy.dry => {
                return Ok(Box::new(io::stdout()));
            }
            Staged::Nothing => return Ok(Box::new(io::sink())),
        };
        Ok(Box::new(file.try_clone().map_err(|error| Error::io("cannot write", error))?))
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        // Beside the output there is room for it; a temporary folder may lie in memory.
        let folder = self.target().map(folder_of).filter(|folder| folder.is_dir());
        let file = match folder.filter(|_| !self.policy.dry) {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let file = file.map_err(|error| Error::io("cannot create a temporary file", error))?;
        Ok(Box::new(file))
    }
}

/// The folder that a file stands in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the target is something that is written to, never replaced: a device or a pipe.
pub fn is_special(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn check_target(target: &Path, input: Option<&Path>, policy: Policy) -> Result<()> {
    if is_special(target) {
        return Ok(());
    }
    let same = input.is_some_and(|input| same_file::is_same_file(input, target).unwrap_or(false));
    if same {
        return Err(Error::request(Code::SameFile, Code::SameFile.title()));
    }
    if target.is_dir() || target.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let message = format!("{} is a folder", target.display());
        return Err(Error::request(Code::OutputFolder, message));
    }
    if !policy.force && fs::symlink_metadata(target).is_ok() {
        return Err(exists(target));
    }
    Ok(())
}

fn exists(target: &Path) -> Error {
    Error::request(Code::Exists, format!("{} exists", target.display()))
}

fn check_in_place(path: &Path) -> Result<()> {
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

/// Gives the new file the permissions and times of the old one.
fn keep_attributes(source: &Path, file: &File) -> Result<()> {
    let failed = |error| Error::io("cannot keep permissions and times", error);
    let meta = fs::metadata(source).map_err(failed)?;
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
fn keep_owner(source: &Path, file: &File) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let failed = |error| Error::io("cannot keep the owner", error);
    let (old, new) = (fs::metadata(source).map_err(failed)?, file.metadata().map_err(failed)?);
    if (old.uid(), old.gid()) == (new.uid(), new.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid())).map_err(failed)?;
    // A change of owner may take bits off.
    file.set_permissions(old.permissions()).map_err(failed)
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &File) -> Result<()> {
    Ok(())
}

/// Gives the original a second name, so that it is there at every moment. An older backup is
/// never replaced: it may be the only copy of what an earlier run found.
fn keep_original(path: &Path, suffix: &str) -> Result<()> {
    for n in 1u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if n > 1 {
            name.push(format!(".{n}"));
        }
        let backup = PathBuf::from(name);
        match fs::hard_link(path, &backup) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A run that was killed may have come as far as this.
                if same_file::is_same_file(path, &backup).unwrap_or(false) {
                    return Ok(());
                }
            }
            // Not every file system has links.
            Err(_) => return copy_original(path, &backup),
        }
    }
    Ok(())
}

fn copy_original(path: &Path, backup: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot keep a backup", error);
    let mut from = File::open(path).map_err(failed)?;
    let mut to = temporary(folder_of(backup), true)?;
    io::copy(&mut from, &mut to).map_err(failed)?;
    keep_attributes(path, to.as_file())?;
    to.as_file().sync_all().map_err(failed)?;
    to.persist_noclobber(backup).map(drop).map_err(|error| failed(error.error))
}

fn rename_failed(target: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        exists(target)
    } else {
        Error::io(format!("cannot rename to {}", target.display()), error)
    }
}

/// Makes the rename itself durable.
fn sync_folder(target: &Path) -> Result<()> {
    let synced = File::open(folder_of(target)).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems cannot flush a folder.
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
            Err(Error::io("cannot flush the folder", error))
        }
        _ => Ok(()),
    }
}

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        // The device stands for a file that may not be renamed over.
        let stdout = ["-", "/dev/stdout", "/dev/fd/1"].iter().any(|name| path == Path::new(name));
        if stdout { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}
