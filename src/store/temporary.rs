//! Temporary files beside targets, and those that killed runs left there.
//!
//! Whoever creates one holds a lock on it until it has its final name or is gone, and the system
//! takes the lock back when a process ends, however it ends. So a temporary file that can be
//! locked is nobody's. The process number in the name could not tell that: numbers are given out
//! again, and containers and other machines have numbers of their own.

use super::check::Stands;
use super::destination::folder_of;
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::NamedTempFile;

/// Names of temporary files begin so; walks pass over them.
pub const TEMPORARY: &str = ".copyist-";

/// Names of temporary files end so.
const ENDING: &str = ".tmp";

/// A temporary file that others may have open, too.
pub type Temporary = NamedTempFile<Arc<File>>;

/// Creates a temporary file in `folder`, locked for as long as it is open. Its permissions are
/// those of any new file, or the owner's alone if it is `private`.
///
/// # Errors
/// If the system refuses.
pub fn temporary(folder: &Path, private: bool) -> Result<Temporary> {
    let prefix = format!("{TEMPORARY}{}-", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(ENDING);
    #[cfg(unix)]
    if !private {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(folder);
        let file = file.map_err(|error| Error::io("cannot create a temporary file", error))?;
        // Until it was locked, another run could take it for a stale one and remove it.
        let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !taken && file.path().exists() {
            let (file, path) = file.into_parts();
            return Ok(Temporary::from_parts(Arc::new(file), path));
        }
    }
}

/// The folders out of which this run has swept what killed runs left.
#[derive(Debug, Default)]
pub struct Swept(Mutex<HashSet<PathBuf>>);

impl Swept {
    /// Removes stale temporary files from the folder of `target`, once a run. What is written
    /// straight, such as a device, has none beside it.
    ///
    /// What cannot be removed does no harm and is no error.
    pub fn beside(&self, target: &Path) {
        let folder = folder_of(target);
        let mut swept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if swept.contains(folder) || Stands::at(target) == Stands::Special {
            return;
        }
        swept.insert(folder.to_owned());
        drop(swept);
        sweep(folder);
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

/// Whether a name is one that [`temporary`] gives.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)?.strip_suffix(ENDING));
    let Some((process, random)) = name.and_then(|name| name.split_once('-')) else {
        return false;
    };
    let all = |text: &str, of: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|b| of(&b));
    all(process, u8::is_ascii_digit) && all(random, u8::is_ascii_alphanumeric)
}

/// Removes a temporary file that no one holds. Where the file system knows no locks, none can be
/// told from one in use, and all stay.
fn remove_stale(path: &Path) -> io::Result<()> {
    // Network file systems lock only what is open for writing; a run may have been killed when
    // the file had its final permissions already, which may forbid that.
    let file = File::options().write(true).open(path).or_else(|_| File::open(path))?;
    file.try_lock()?;
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let held = temporary(folder.path(), true).expect("a temporary file");
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
        let file = temporary(folder.path(), true).expect("a temporary file");
        drop(file.persist(&target).expect("renamed"));
        File::open(&target).expect("it is there").try_lock().expect("no lock is left");
    }

    #[test]
    fn runs_that_sweep_and_runs_that_begin_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let begin = || {
            for _ in 0..500 {
                let file = temporary(folder.path(), true).expect("a temporary file");
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
