//! The places that belong to somebody in one run: what is read, and what is written already. Only
//! the person can say that what an earlier run wrote goes; what this run needs never does.

use super::check::{Stands, is_same_file};
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
    /// Their real paths. Nobody asks for them as long as all places are free.
    real: OnceLock<HashSet<PathBuf>>,
    taken: Mutex<Taken>,
    /// How many outputs there were.
    owners: AtomicU64,
    /// The real paths of the folders of outputs, by the paths under which they were named. Names are
    /// compared as they are spelled: there are many, and pieces of paths take their time.
    folders: RwLock<HashMap<OsString, PathBuf>>,
    /// The places that an earlier run wrote to, and that are as it left them.
    own: RwLock<HashSet<PathBuf>>,
    /// Folders that this run created.
    new: RwLock<HashSet<OsString>>,
    /// Who may take a place next, where places are not known before the work.
    turns: Option<Turns>,
}

/// The places of outputs.
#[derive(Debug, Default)]
struct Taken {
    places: HashMap<OsString, Owner>,
    /// Of names with a number, how many are taken, by the first. Many sessions may want one name, and
    /// to try all numbers for each would be the square of the work.
    numbers: HashMap<PathBuf, u64>,
    /// Hashes of what files get that sessions share.
    shared: HashMap<PathBuf, blake3::Hash>,
}

/// Whose a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u64);

impl Claims {
    /// Of a run with these inputs and this journal.
    #[must_use]
    pub fn of(inputs: Vec<Arc<Path>>, journal: Option<PathBuf>) -> Self {
        // Mostly each gets an output.
        let places = HashMap::with_capacity(inputs.len());
        let taken = Mutex::new(Taken { places, ..Taken::default() });
        Self { inputs, journal, taken, ..Self::default() }
    }

    /// The same for a run in which outputs take their places in the order of the inputs, with so
    /// many at work at a time.
    #[must_use]
    pub fn in_turn(self, workers: usize, hands: ThreadBudget) -> Self {
        Self { turns: Some(Turns::new(workers, hands)), ..self }
    }

    /// Waits for leave to work on the input in this place, if outputs take their places in turn.
    pub fn begin(&self, place: usize) -> Option<Turn<'_>> {
        self.turns.as_ref().map(|turns| turns.begin(place))
    }

    /// Waits until the output of the input in this place may take one.
    pub fn wait(&self, place: usize) {
        self.turns.iter().for_each(|turns| turns.wait(place));
    }

    /// The output of the input in this place takes none any more.
    pub fn pass(&self, place: usize) {
        self.turns.iter().for_each(|turns| turns.pass(place));
    }

    /// Sees to it that a file is none of the inputs, and not the journal.
    ///
    /// # Errors
    /// If it is.
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

    /// What stands at the place of an output. In a folder that this run created nothing does but its
    /// own outputs, whose places are taken; what another program puts there meanwhile is met when
    /// the output gets its place, as ever.
    pub fn stands(&self, path: &Path) -> Stands {
        if read(&self.new).contains(folder_of(path).as_os_str()) {
            Stands::Nothing
        } else {
            Stands::at(path)
        }
    }

    /// Says that this run created a folder.
    pub fn new_folder(&self, folder: &Path) {
        let mut new = self.new.write().unwrap_or_else(PoisonError::into_inner);
        new.insert(folder.into());
    }

    /// One that has no place yet.
    pub fn owner(&self) -> Owner {
        Owner(self.owners.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes a place; false if another one has it.
    pub fn take(&self, path: &Path, owner: Owner) -> bool {
        let place = self.place(path).into_os_string();
        *self.taken().places.entry(place).or_insert(owner) == owner
    }

    /// The first number that may be free for a name. A place once taken stays so.
    pub fn untaken(&self, first: &Path) -> u64 {
        let first = self.place(first);
        self.taken().numbers.get(&first).map_or(1, |taken| taken + 1)
    }

    /// Says that the places of a name are taken up to this number.
    pub fn taken_up_to(&self, first: &Path, number: u64) {
        let first = self.place(first);
        let mut taken = self.taken();
        let known = taken.numbers.entry(first).or_default();
        *known = number.max(*known);
    }

    /// Whether a file that sessions share gets these contents: those of the first that has it.
    pub fn share(&self, path: &Path, contents: &[u8]) -> bool {
        let (hash, place) = (blake3::hash(contents), self.place(path));
        *self.taken().shared.entry(place).or_insert(hash) == hash
    }

    /// Whose this place is.
    pub fn owner_of(&self, path: &Path) -> Option<Owner> {
        let place = self.place(path);
        self.taken().places.get(place.as_os_str()).copied()
    }

    /// Says that a file may be written over: an earlier run of this kind wrote it from the same
    /// input, and nobody touched it since.
    pub fn own(&self, path: &Path) {
        let place = self.place(path);
        self.own.write().unwrap_or_else(PoisonError::into_inner).insert(place);
    }

    /// Whether a file may be written over because it was said so.
    pub fn is_own(&self, path: &Path) -> bool {
        let own = read(&self.own);
        // Mostly there are none.
        !own.is_empty() && own.contains(&self.place(path))
    }

    /// The real path of a file that may not be there yet.
    fn place(&self, path: &Path) -> PathBuf {
        let (folder, name) = (folder_of(path), path.file_name().unwrap_or_default());
        if let Some(real) = read(&self.folders).get(folder.as_os_str()) {
            return below(real, name);
        }
        let real = real_folder(folder);
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        // It stays what the first said who asked: another may have made the folder since.
        below(folders.entry(folder.into()).or_insert(real), name)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// The real paths of files, links followed. Each folder is asked for its own only once.
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

/// A file's path by real folders, by which it is known before it is there. The file itself may be a
/// link that the person named.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    real_folder(folder_of(path)).join(path.file_name().unwrap_or_default())
}

/// A folder's real path. What of it is not there yet will be called as it is named.
#[must_use]
pub fn real_folder(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let real = |there: &Path| {
        let rest = whole.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.components().chain(rest.components()).collect())
    };
    whole.ancestors().find_map(real).unwrap_or_else(|| whole.clone())
}

/// Whether two paths name one place, where a file may or may not be.
pub fn is_one_place(a: &Path, b: &Path) -> bool {
    real(a) == real(b) || is_same_file(a, b)
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
