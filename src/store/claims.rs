//! The files that one run needs: the inputs, the journal, and the outputs written so far. The user
//! can allow that the run overwrites what an earlier run wrote. No option allows that it overwrites
//! what it needs itself.

use super::check::{Existing, is_same_file};
use super::destination::{below, folder_of};
use super::turns::{Turn, Turns};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::threads::ThreadBudget;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// The places of one run.
#[derive(Debug, Default)]
pub struct Claims {
    inputs: Vec<Arc<Path>>,
    journal: Option<PathBuf>,
    /// The real paths of the inputs. Computed at the first use, and not needed as long as all
    /// places are free.
    real: OnceLock<HashSet<PathBuf>>,
    taken: Mutex<Taken>,
    /// Number of outputs that got an owner so far.
    owners: AtomicU64,
    /// The real paths of the folders of outputs, by the paths under which they were named. Names
    /// are compared byte by byte: there are many, and comparing paths by their components is slow.
    folders: RwLock<HashMap<OsString, PathBuf>>,
    /// The files that an earlier run wrote and that have not changed since.
    own: RwLock<HashSet<PathBuf>>,
    /// Folders that this run created.
    new: RwLock<HashSet<OsString>>,
    /// The order in which outputs take places, where the places are not known before the work.
    turns: Option<Turns>,
}

/// The places of outputs.
#[derive(Debug, Default)]
struct Taken {
    places: HashMap<OsString, Owner>,
    /// The highest number that is taken for a numbered name, by the path of the first one. Many
    /// sessions can request the same name. Trying every number for each of them would take
    /// quadratic time.
    numbers: HashMap<PathBuf, u64>,
    /// Hashes of the contents that this run writes to files that sessions share.
    shared: HashMap<PathBuf, blake3::Hash>,
}

/// Identifier of the output that a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u64);

impl Claims {
    /// Creates the claims of a run with these inputs and this journal.
    pub fn of(inputs: Vec<Arc<Path>>, journal: Option<PathBuf>) -> Self {
        // Mostly each gets an output.
        let places = HashMap::with_capacity(inputs.len());
        let taken = Mutex::new(Taken { places, ..Taken::default() });
        Self { inputs, journal, taken, ..Self::default() }
    }

    /// Makes outputs take their places in the order of the inputs. At most `workers` inputs are
    /// worked on at a time.
    pub fn in_turn(self, workers: usize, thread_budget: ThreadBudget) -> Self {
        Self { turns: Some(Turns::new(workers, thread_budget)), ..self }
    }

    /// Waits for the permission to work on the input number `place`, if outputs take their places
    /// in order.
    pub fn begin(&self, place: usize) -> Option<Turn<'_>> {
        self.turns.as_ref().map(|turns| turns.begin(place))
    }

    /// Waits until the output of input number `place` may take a place.
    pub fn wait(&self, place: usize) {
        self.turns.iter().for_each(|turns| turns.wait(place));
    }

    /// Records that the output of input number `place` takes no more places.
    pub fn pass(&self, place: usize) {
        self.turns.iter().for_each(|turns| turns.pass(place));
    }

    /// Checks that a file is not one of the inputs and not the journal.
    pub fn check(&self, path: &Path) -> Result<()> {
        if self.journal.as_ref().is_some_and(|journal| is_one_place(path, journal)) {
            let message = format!("{} is the journal of this run", path.display());
            return Err(Error::request(Code::SameFile, message));
        }
        let there = fs::symlink_metadata(path).is_ok();
        let inputs = || self.real.get_or_init(|| real_paths(&self.inputs));
        if there && path.canonicalize().is_ok_and(|path| inputs().contains(&path)) {
            let message = format!("{} is an input of this run", path.display());
            return Err(Error::request(Code::SameFile, message));
        }
        Ok(())
    }

    /// Returns the kind of file that exists at the place of an output. A folder that this run
    /// created contains only outputs of this run, whose places are taken, so no system call is
    /// needed. If another program creates a file there meanwhile, the check at the final rename
    /// finds it.
    pub fn existing_at(&self, path: &Path) -> Existing {
        if read(&self.new).contains(folder_of(path).as_os_str()) {
            Existing::Nothing
        } else {
            Existing::at(path)
        }
    }

    /// Records that this run created a folder.
    pub fn new_folder(&self, folder: &Path) {
        let mut new = self.new.write().unwrap_or_else(PoisonError::into_inner);
        new.insert(folder.into());
    }

    /// Returns a new owner, which has no place yet.
    pub fn owner(&self) -> Owner {
        Owner(self.owners.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes a place for `owner`; false if another owner has it.
    pub fn take(&self, path: &Path, owner: Owner) -> bool {
        let place = self.place(path).into_os_string();
        *self.taken().places.entry(place).or_insert(owner) == owner
    }

    /// Returns the lowest number that may be free for a name. A place that is taken is never
    /// released.
    pub fn untaken(&self, first: &Path) -> u64 {
        let first = self.place(first);
        self.taken().numbers.get(&first).map_or(1, |taken| taken + 1)
    }

    /// Records that the places of a name are taken up to this number.
    pub fn taken_up_to(&self, first: &Path, number: u64) {
        let first = self.place(first);
        let mut taken = self.taken();
        let known = taken.numbers.entry(first).or_default();
        *known = number.max(*known);
    }

    /// Whether a file that sessions share gets these contents. The first output that writes the
    /// file in this run decides.
    pub fn share(&self, path: &Path, contents: &[u8]) -> bool {
        let (hash, place) = (blake3::hash(contents), self.place(path));
        *self.taken().shared.entry(place).or_insert(hash) == hash
    }

    /// Returns the owner of a place.
    pub fn owner_of(&self, path: &Path) -> Option<Owner> {
        let place = self.place(path);
        self.taken().places.get(place.as_os_str()).copied()
    }

    /// Records that a file may be overwritten: an earlier run of this kind wrote it from the same
    /// input, and it was not changed since.
    pub fn own(&self, path: &Path) {
        let place = self.place(path);
        self.own.write().unwrap_or_else(PoisonError::into_inner).insert(place);
    }

    /// Whether [`own`](Self::own) was called for a file, so that it may be overwritten.
    pub fn is_own(&self, path: &Path) -> bool {
        let own = read(&self.own);
        // Mostly there are none.
        !own.is_empty() && own.contains(&self.place(path))
    }

    /// Returns the real path of a file that may not exist yet.
    fn place(&self, path: &Path) -> PathBuf {
        let (folder, name) = (folder_of(path), path.file_name().unwrap_or_default());
        if let Some(real) = read(&self.folders).get(folder.as_os_str()) {
            return below(real, name);
        }
        let real = real_folder(folder);
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        // The first answer stays valid, even if another thread has created the folder since.
        below(folders.entry(folder.into()).or_insert(real), name)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the real paths of files, with links followed. Each folder is resolved only once.
fn real_paths<'p>(files: &'p [Arc<Path>]) -> HashSet<PathBuf> {
    let mut folders: HashMap<&Path, Option<PathBuf>> = HashMap::new();
    let real = |path: &'p Arc<Path>| {
        let link = path.symlink_metadata().ok()?.is_symlink();
        let (Some(name), false) = (path.file_name(), link) else { return path.canonicalize().ok() };
        let folder = folder_of(path);
        let folder = folders.entry(folder).or_insert_with(|| folder.canonicalize().ok());
        folder.as_ref().map(|folder| folder.join(name))
    };
    files.iter().filter_map(real).collect()
}

/// Returns a file's path with its folder resolved, which works before the file exists. The file
/// itself may be a link that the user named.
pub fn real(path: &Path) -> PathBuf {
    real_folder(folder_of(path)).join(path.file_name().unwrap_or_default())
}

/// Returns a folder's real path. The part that does not exist yet is kept as it is named.
pub fn real_folder(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let real = |there: &Path| {
        let rest = whole.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.components().chain(rest.components()).collect())
    };
    whole.ancestors().find_map(real).unwrap_or_else(|| whole.clone())
}

/// Whether two paths name the same place, whether or not a file exists there.
pub fn is_one_place(a: &Path, b: &Path) -> bool {
    real(a) == real(b) || is_same_file(a, b)
}

/// Whether a path is one that a backup of `original` can get, with `suffix` appended to its name.
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

/// Returns the first path that `fits`: `path` itself, or `path` with a number appended.
pub fn numbered(path: &Path, fits: impl Fn(&Path) -> bool) -> PathBuf {
    (1..).map(|n| nth(path, n)).find(|path| fits(path)).unwrap_or_else(|| path.to_owned())
}

/// Returns the path with the number `n` appended; for `n` of 1 the path itself.
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
        let (one, other) = (claims.owner(), claims.owner());
        assert!(claims.take(&folder.path().join("a"), one));
        assert!(claims.take(&folder.path().join("b"), one));
        assert!(!claims.take(&folder.path().join("./a"), other));
        assert!(claims.take(&folder.path().join("./a"), one));
    }

    #[cfg(unix)]
    #[test]
    fn a_place_in_a_folder_that_is_made_meanwhile_is_taken_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).expect("a folder");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        let claims = Claims::default();
        let (one, other) = (claims.owner(), claims.owner());
        assert!(claims.take(&link.join("new/deep/a"), one));
        fs::create_dir_all(real.join("new/deep")).expect("a folder");
        assert!(!claims.take(&real.join("new/deep/a"), other));
        assert!(claims.take(&link.join("new/deep/b"), other));
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
