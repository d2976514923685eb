//! Files that are written before they get their names.
//!
//! Where the system can, such a file has no name at all until then (`unnamed`), and nothing of it
//! is left when the process ends for any reason. Otherwise it has a temporary name beside its
//! target. A file that is swapped with the one that it replaces also needs a temporary name.
//!
//! The process that creates a temporary name holds a lock on the file until the file has its final
//! name or is deleted. The system releases the lock when the process ends. So a temporary file that
//! can be locked belongs to no process. The process number in the name could not show that: numbers
//! are reused, and containers and other machines have numbers of their own.

mod unnamed;

use super::attributes::{keep_attributes, keep_owner};
use super::check::Existing;
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Seek};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tempfile::{Builder, NamedTempFile};

/// Beginning of the names of temporary files. Walks through folders skip these files.
pub const TEMPORARY: &str = ".copyist-";

/// Ending of the names of temporary files.
const ENDING: &str = ".tmp";

/// A file with a temporary name; other owners may have the same file open.
pub type Named = NamedTempFile<Arc<File>>;

/// A file that waits for its final name.
#[derive(Debug)]
pub enum Temporary {
    /// The file has a temporary name.
    Named(Named),
    /// The file has no name.
    Unnamed(Arc<File>),
}

impl Temporary {
    /// Returns the file.
    pub fn as_file(&self) -> &Arc<File> {
        match self {
            Self::Named(file) => file.as_file(),
            Self::Unnamed(file) => file,
        }
    }

    /// Gives the file a temporary name in `folder`, if it has none.
    pub fn named(self, folder: &Path) -> io::Result<Named> {
        match self {
            Self::Named(file) => Ok(file),
            Self::Unnamed(file) => {
                let link = |path: &Path| unnamed::link(&file, path).map(|()| Arc::clone(&file));
                named(folder, link).or_else(|_| copied(&file, folder))
            }
        }
    }

    /// Gives the file its final name, and replaces a file that has that name.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let file = self.named(folder_of(target))?;
        file.persist(target).map(drop).map_err(|error| error.error)
    }

    /// Gives the file its final name, if no file has that name.
    pub fn persist_noclobber(self, target: &Path) -> io::Result<()> {
        match self {
            Self::Named(file) => take_free(file, target),
            Self::Unnamed(file) => match unnamed::link(&file, target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    take_free(copied(&file, folder_of(target))?, target)
                }
                linked => linked,
            },
        }
    }
}

/// Renames a file from its temporary name to its final one, if no file has that name.
pub fn take_free(file: Named, target: &Path) -> io::Result<()> {
    match file.persist_noclobber(target) {
        Ok(_) => Ok(()),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Err(refused.error),
        Err(refused) => take_reserved(refused.file, target),
    }
}

/// Takes a name on file systems that have neither hard links nor a rename that fails if the name is
/// taken, such as exFAT: an empty file takes the name first and is then replaced.
fn take_reserved(file: Named, target: &Path) -> io::Result<()> {
    let place = File::options().write(true).create_new(true).open(target)?;
    let empty = Fingerprint::from(&place.metadata()?);
    // If another program writes to the empty file in between, that program keeps the name.
    let is_ours = || empty.holds(target).is_ok();
    if !is_ours() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    file.persist(target).map(drop).map_err(|refused| {
        if is_ours() {
            // A file that cannot be removed is empty, and the error names it.
            let _ = fs::remove_file(target);
        }
        refused.error
    })
}

/// Creates a file in `folder` that has no name yet, if the system can, else one with a [temporary
/// name](named_temporary). The permissions are those of any new file. If the file is to be `like`
/// another one, it gets the permissions of that file as far as the system grants them, or, where
/// other users could open it before it is complete, only those of the owner.
pub fn temporary(folder: &Path, like: Option<&Metadata>) -> Result<Temporary> {
    match unnamed::create(folder, like) {
        Some(file) => Ok(Temporary::Unnamed(Arc::new(file))),
        None => named_temporary(folder, like.is_some()).map(Temporary::Named),
    }
}

/// Returns the error that no temporary file can be created in a folder.
pub fn no_temporary(folder: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot create a temporary file in {}", folder.display()), error)
}

/// Creates a temporary file in `folder`, which stays locked as long as it is open. If it is
/// `private`, only its owner can access it.
pub fn named_temporary(folder: &Path, private: bool) -> Result<Named> {
    let mut new = File::options();
    new.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, if private { 0o600 } else { NEW });
    #[cfg(not(unix))]
    let _ = private;
    let file = named(folder, |path| new.open(path).map(Arc::new));
    file.map_err(|error| no_temporary(folder, error))
}

/// Copies a file that cannot get a name to one with a temporary name. A sandbox may forbid links,
/// and another file system can be mounted below the folder that contains the file.
fn copied(file: &File, folder: &Path) -> io::Result<Named> {
    let failed = |error: Error| io::Error::new(error.io_kind(), error.message().to_owned());
    let copy = named_temporary(folder, true).map_err(failed)?;
    let (mut from, mut to) = (file, &**copy.as_file());
    from.rewind()?;
    io::copy(&mut from, &mut to)?;
    let meta = file.metadata()?;
    keep_attributes(&meta, to).and_then(|_| keep_owner(&meta, to)).map_err(failed)?;
    to.sync_all()?;
    Ok(copy)
}

/// Permissions of the owner and of others for a new file, as far as the system grants them.
#[cfg(unix)]
const NEW: u32 = 0o666;

/// Lets `make` create a file under a temporary name, and locks the file.
fn named(folder: &Path, mut make: impl FnMut(&Path) -> io::Result<Arc<File>>) -> io::Result<Named> {
    let prefix = format!("{TEMPORARY}{}-", std::process::id());
    loop {
        let file = Builder::new().prefix(&prefix).suffix(ENDING).make_in(folder, &mut make)?;
        // Before it was locked, another run could take it for a stale one and remove it.
        let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !taken && file.path().exists() {
            return Ok(file);
        }
    }
}

/// The folders from which this run has removed the temporary files of killed runs.
#[derive(Debug, Default)]
pub struct Swept(RwLock<HashSet<OsString>>);

impl Swept {
    /// Removes stale temporary files from the folder of `target`, once per run. A target that is
    /// written to directly, such as a device, has no temporary files beside it.
    ///
    /// A file that cannot be removed does no harm and is not an error.
    pub fn beside(&self, target: &Path) {
        let folder = folder_of(target);
        let known =
            || self.0.read().unwrap_or_else(PoisonError::into_inner).contains(folder.as_os_str());
        if known() || Existing::at(target) == Existing::Special {
            return;
        }
        if self.0.write().unwrap_or_else(PoisonError::into_inner).insert(folder.into()) {
            sweep(folder);
        }
    }
}

fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        if regular && is_temporary(&entry.file_name()) {
            let _ = remove_stale(&entry.path());
        }
    }
}

/// Whether a name has the form of the names that [`temporary`] gives.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)?.strip_suffix(ENDING));
    let Some((process, random)) = name.and_then(|name| name.split_once('-')) else {
        return false;
    };
    let all = |text: &str, of: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|b| of(&b));
    all(process, u8::is_ascii_digit) && all(random, u8::is_ascii_alphanumeric)
}

/// Removes a temporary file that no process holds. On a file system without locks, stale files
/// cannot be distinguished from files in use, so all of them stay.
fn remove_stale(path: &Path) -> io::Result<()> {
    // Network file systems lock only a file that is open for writing. A run may have been killed
    // after the file got its final permissions, which may forbid writing.
    let file = File::options().write(true).open(path).or_else(|_| File::open(path))?;
    file.try_lock()?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry"));
        let mut names: Vec<_> =
            entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_no_one_holds_is_swept_and_only_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let held = named_temporary(folder.path(), true).expect("a temporary file");
        let name = held.path().file_name().expect("a name").to_string_lossy().into_owned();
        let stale = folder.path().join(".copyist-7-aB3dE6.tmp");
        fs::write(&stale, "half").expect("a file");
        let swept = Swept::default();
        swept.beside(&folder.path().join("target"));
        assert_eq!(names(folder.path()), [name.as_str()]);
        fs::write(&stale, "half").expect("a file");
        swept.beside(&folder.path().join("another target"));
        assert_eq!(names(folder.path()).len(), 2);
        Swept::default().beside(&folder.path().join("target"));
        assert_eq!(names(folder.path()), [name]);
    }

    #[test]
    fn a_file_in_its_place_is_locked_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("target");
        let file = named_temporary(folder.path(), true).expect("a temporary file");
        drop(file.persist(&target).expect("renamed"));
        File::open(&target).expect("it is there").try_lock().expect("no lock is left");
    }

    #[test]
    fn runs_that_sweep_and_runs_that_begin_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let begin = || {
            for _ in 0..500 {
                let file = named_temporary(folder.path(), true).expect("a temporary file");
                assert!(file.path().exists());
                file.close().expect("it is still there");
            }
        };
        std::thread::scope(|scope| {
            let beginners = [scope.spawn(begin), scope.spawn(begin)];
            while beginners.iter().any(|thread| !thread.is_finished()) {
                sweep(folder.path());
            }
        });
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn what_waits_takes_its_name_and_leaves_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let make: [fn(&Path) -> Temporary; 2] = [
            |folder| temporary(folder, None).expect("a file"),
            |folder| Temporary::Named(named_temporary(folder, true).expect("a file")),
        ];
        for make in make {
            let target = folder.path().join("target");
            let file = |text: &str| {
                let file = make(folder.path());
                (&**file.as_file()).write_all(text.as_bytes()).expect("written");
                file
            };
            file("one").persist_noclobber(&target).expect("it is free");
            let taken = file("two").persist_noclobber(&target).expect_err("it is taken");
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&target).expect("there"), "one");
            file("three").persist(&target).expect("it goes");
            assert_eq!(fs::read_to_string(&target).expect("there"), "three");
            drop(file("four"));
            assert_eq!(names(folder.path()), ["target"]);
            File::open(&target).expect("it is there").try_lock().expect("no lock is left");
            fs::remove_file(&target).expect("removed");
        }
    }

    #[test]
    fn a_name_is_reserved_where_it_cannot_be_taken_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("target");
        let file = |text: &str| {
            let file = named_temporary(folder.path(), true).expect("a temporary file");
            (&**file.as_file()).write_all(text.as_bytes()).expect("written");
            file
        };
        take_reserved(file("one"), &target).expect("it is free");
        let taken = take_reserved(file("two"), &target).expect_err("it is taken");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).expect("there"), "one");
        let gone = file("three");
        fs::remove_file(gone.path()).expect("removed");
        take_reserved(gone, &folder.path().join("other")).expect_err("there is nothing to name");
        assert_eq!(names(folder.path()), ["target"]);
    }

    #[test]
    fn what_gets_no_name_is_copied_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("target");
        let file = tempfile::tempfile().expect("a file");
        (&file).write_all(b"all of it").expect("written");
        file.set_modified(std::time::UNIX_EPOCH).expect("a time");
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o640)).expect("a mode");
        let copy = Temporary::Named(copied(&file, folder.path()).expect("a copy"));
        copy.persist_noclobber(&target).expect("it is free");
        assert_eq!(fs::read_to_string(&target).expect("there"), "all of it");
        let (old, new) = (file.metadata().expect("told"), fs::metadata(&target).expect("told"));
        assert_eq!(new.modified().expect("a time"), old.modified().expect("a time"));
        assert_eq!(new.permissions(), old.permissions());
        assert_eq!(names(folder.path()), ["target"]);
    }

    #[test]
    fn a_name_in_another_file_system_is_given_to_a_copy() {
        let folder = tempfile::tempdir().expect("a folder");
        let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
            return println!("SKIP: there is no /dev/shm");
        };
        let make = || {
            let file = temporary(other.path(), None).expect("a file");
            (&**file.as_file()).write_all(b"all of it").expect("written");
            file
        };
        if matches!(make(), Temporary::Named(_)) {
            return println!("SKIP: files have names in /dev/shm");
        }
        let target = folder.path().join("target");
        make().persist_noclobber(&target).expect("it is free");
        let taken = make().persist_noclobber(&target).expect_err("it is taken");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        make().persist(&target).expect("it goes");
        assert_eq!(fs::read_to_string(&target).expect("there"), "all of it");
        assert_eq!(names(folder.path()), ["target"]);
    }

    #[test]
    fn only_our_names_are_ours() {
        for name in [".copyist-1-a.tmp", ".copyist-4711-Xy12ab.tmp"] {
            assert!(is_temporary(OsStr::new(name)), "{name}");
        }
        let others = [
            ".copyist-.tmp",
            ".copyist--.tmp",
            ".copyist-notes.tmp",
            ".copyist-1-.tmp",
            ".copyist-1-a-b.tmp",
            ".copyist-1-a.tmp.bak",
            "x.copyist-1-a.tmp",
            ".copyist-1-a",
        ];
        for name in others {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }
}
