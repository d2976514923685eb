//! The places that belong to somebody in one run: what is read, and what is written already. Only
//! the person can say that what an earlier run wrote goes; what this run needs never does.

use super::output::folder_of;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The places of one run.
#[derive(Debug, Default)]
pub struct Claims {
    /// The real paths of all inputs.
    inputs: HashSet<PathBuf>,
    taken: Mutex<HashSet<PathBuf>>,
}

impl Claims {
    /// Of a run with these inputs, by their real paths.
    #[must_use]
    pub fn of(inputs: HashSet<PathBuf>) -> Self {
        Self { inputs, taken: Mutex::default() }
    }

    /// Sees to it that a file is none of the inputs.
    ///
    /// # Errors
    /// If it is.
    pub fn check(&self, path: &Path) -> Result<()> {
        let there = fs::symlink_metadata(path).is_ok();
        if there && path.canonicalize().is_ok_and(|path| self.inputs.contains(&path)) {
            let message = format!("{} is an input of this run", path.display());
            return Err(Error::request(Code::SameFile, message));
        }
        Ok(())
    }

    /// Takes a place for an output; false if another one has it.
    pub fn take(&self, path: &Path) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(place(path))
    }
}

/// A path by which a file is known that may not be there yet.
fn place(path: &Path) -> PathBuf {
    let folder = folder_of(path);
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    folder.unwrap_or_default().join(path.file_name().unwrap_or_default())
}

/// Whether two paths name one place, where a file may or may not be.
pub fn is_one_place(a: &Path, b: &Path) -> bool {
    place(a) == place(b) || same_file::is_same_file(a, b).unwrap_or(false)
}

/// Whether a path is one that an original gets which is kept, with `suffix` behind its name.
pub fn is_backup_of(path: &Path, original: &Path, suffix: &str) -> bool {
    let mut begin = original.file_name().unwrap_or_default().to_owned();
    begin.push(suffix);
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let numbered = |rest: &[u8]| {
        rest.strip_prefix(b".").is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    };
    let rest = name.strip_prefix(begin.as_encoded_bytes());
    rest.is_some_and(|rest| rest.is_empty() || numbered(rest))
        && is_one_place(folder_of(path), folder_of(original))
}

/// The first of a path, and the same with a number behind it, that `fits`.
pub fn numbered(path: &Path, fits: impl Fn(&Path) -> bool) -> PathBuf {
    (1..).map(|n| nth(path, n)).find(|path| fits(path)).unwrap_or_else(|| path.to_owned())
}

/// A path with a number behind it, but for the first.
pub fn nth(path: &Path, n: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if n > 1 {
        name.push(format!(".{n}"));
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once_however_it_is_spelled() {
        let folder = tempfile::tempdir().expect("a folder");
        let claims = Claims::default();
        assert!(claims.take(&folder.path().join("a")));
        assert!(claims.take(&folder.path().join("b")));
        assert!(!claims.take(&folder.path().join("./a")));
    }

    #[test]
    fn backups_are_known_by_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["a.jsonl.bak", "a.jsonl.bak.2", "a.jsonl.bak.17"] {
            assert!(is_backup_of(&path(name), &path("a.jsonl"), ".bak"), "{name}");
        }
        for name in ["a.jsonl", "a.bak", "b.jsonl.bak", "a.jsonl.bak2", "c/a.jsonl.bak"] {
            assert!(!is_backup_of(&path(name), &path("a.jsonl"), ".bak"), "{name}");
        }
    }
}
