//! Outputs that are complete, and how many of them get their places behind one wait for the disk.

use super::barrier::{flush, sync_folder};
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::origin::remove_old;
use super::place::{Kept, rename_failed, replace};
use super::shared::{Alone, Before};
use super::temporary::Temporary;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An output that is complete and waits for its place; if it is dropped, nothing of it remains.
#[derive(Debug, Default)]
pub struct Sealed {
    /// The files, in the order in which they get their places.
    pub(super) staged: Vec<Staged>,
    /// What was read, and what it was like before.
    pub(super) sources: Vec<(Arc<Path>, Fingerprint)>,
    /// What sessions share, as it was before the change.
    pub(super) before: Vec<Before>,
    /// Held until the new contents stand where the old ones were read.
    pub(super) alone: Option<Alone>,
    /// Whether files that were read are replaced.
    pub(super) in_place: bool,
    /// Whether it is of no concern what became of them since.
    pub(super) settled: bool,
    /// How the names of originals end that are kept.
    pub(super) backup: Option<String>,
    /// The originals that were kept and still stand in their places.
    pub(super) kept: Kept,
}

/// A file that waits for its place.
#[derive(Debug)]
pub(super) struct Staged {
    /// Its contents.
    pub file: Temporary,
    /// What it is like since nothing is written to it any more.
    pub made: Option<Metadata>,
    /// Its place.
    pub target: Arc<Path>,
    /// Whether that is in another folder, which may not be there yet.
    pub elsewhere: bool,
    /// What becomes of a file that stands there.
    pub meets: Meets,
    /// Whether such a file may be written over.
    pub over: bool,
    /// Whether it holds what was set aside.
    pub aside: bool,
    /// Whether it is the origin of the others.
    pub origin: bool,
}

/// What becomes of a file that stands where another is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// It stops the work, unless the person allows that it is written over.
    Stop,
    /// It stays, for sessions share it and it is as good.
    Stays,
    /// It goes, for the new one was made from it.
    Goes,
}

/// A file right before it gets its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its place.
    pub path: Arc<Path>,
    /// What it is like; it keeps that when it is renamed.
    pub fingerprint: Fingerprint,
    /// Where the original is that it takes the place of.
    pub backup: Option<PathBuf>,
    /// Whether it holds what was set aside.
    pub aside: bool,
}

impl Sealed {
    /// The files that were read, and what they were like before.
    #[must_use]
    pub fn sources(&self) -> &[(Arc<Path>, Fingerprint)] {
        &self.sources
    }

    /// Whether others wait for this one, because it changes what sessions share.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.alone.is_some()
    }

    /// Whether nothing waits for a place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty()
    }

    /// How many files it has open.
    #[must_use]
    pub fn files(&self) -> usize {
        self.staged.len()
    }

    /// How many bytes wait to be flushed, as far as that can be told.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let made = self.staged.iter().filter_map(|staged| staged.made.as_ref());
        made.map(Metadata::len).sum()
    }

    /// The hashes of the files that are this session's own.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn hashes(&self) -> Result<Vec<String>> {
        self.own().map(|staged| hash(staged.file.as_file().try_clone())).collect()
    }

    fn own(&self) -> impl Iterator<Item = &Staged> {
        self.staged.iter().filter(|staged| staged.meets == Meets::Stop)
    }

    /// What the file at `target` was like before, if a new one takes its place.
    fn replaced(&self, target: &Path) -> Option<&Fingerprint> {
        let sources = if self.in_place { self.sources.as_slice() } else { &[] };
        sources.iter().find(|(source, _)| **source == *target).map(|(_, before)| before)
    }

    /// The last checks, and the backups. Gives what its own files will be.
    fn prepare(&mut self) -> Result<Vec<Placed>> {
        // The flush can take long, and of a group of outputs most need not be touched at all.
        let sources = if self.settled { &[] } else { self.sources.as_slice() };
        sources.iter().try_for_each(|(path, before)| before.holds(path))?;
        self.before.iter().try_for_each(Before::unchanged)?;
        let (mut placed, mut kept) = (Vec::new(), std::mem::take(&mut self.kept));
        for staged in self.staged.iter().filter(|staged| staged.elsewhere) {
            create_folder(folder_of(&staged.target))?;
        }
        for staged in self.own() {
            let before = self.replaced(&staged.target);
            let backup = match self.backup.as_ref().zip(before) {
                Some((suffix, before)) => Some(kept.keep(&staged.target, before, suffix)?),
                None => None,
            };
            let fingerprint = match &staged.made {
                Some(made) => Fingerprint::from(made),
                None => Fingerprint::of_open(staged.file.as_file())?,
            };
            let (path, aside) = (Arc::clone(&staged.target), staged.aside);
            placed.push(Placed { path, fingerprint, backup, aside });
        }
        self.kept = kept;
        Ok(placed)
    }

    /// Renames the files to their places, and notes their folders.
    fn rename(mut self, folders: &mut BTreeSet<OsString>) -> Result<()> {
        // Since they were looked at, the journal may have waited for those of others.
        self.before.iter().try_for_each(Before::unchanged)?;
        let mut staged = std::mem::take(&mut self.staged);
        settle_origins(&mut staged, self.in_place)?;
        for Staged { file, target, meets, over, .. } in staged {
            let put = match self.replaced(&target) {
                Some(before) => {
                    let file = file.named(folder_of(&target));
                    let file = file.map_err(|error| rename_failed(&target, error))?;
                    replace(file, &target, before)?;
                    self.kept.stay(&target);
                    Ok(())
                }
                None if over => file.persist(&target),
                None => file.persist_noclobber(&target),
            };
            match put {
                Ok(()) => {
                    let folder = folder_of(&target).as_os_str();
                    if !folders.contains(folder) {
                        folders.insert(folder.to_owned());
                    }
                }
                Err(error)
                    if meets == Meets::Stays && error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(rename_failed(&target, error)),
            }
        }
        Ok(())
    }
}

/// Sees to it that no origin ever stands beside a file that it is not of: where files are replaced, their
/// old origins go before, and the new one comes last.
fn settle_origins(staged: &mut Vec<Staged>, in_place: bool) -> Result<()> {
    let replaced = |staged: &&Staged| {
        !in_place && !staged.origin && staged.over && fs::symlink_metadata(&staged.target).is_ok()
    };
    let old: Vec<_> = staged.iter().filter(replaced).map(|s| Arc::clone(&s.target)).collect();
    old.iter().try_for_each(|file| remove_old(file))?;
    if let Some(place) = staged.iter().position(|staged| staged.origin && !old.is_empty()) {
        let origin = staged.remove(place);
        staged.push(origin);
    }
    Ok(())
}

/// Puts outputs in their places. All of them are durable before the first one is renamed; between
/// the two, `record` is told what each will be (`None` for those that failed), and nothing is
/// renamed if it fails. Gives what became of each.
pub fn put(
    mut outputs: Vec<Sealed>,
    record: impl FnOnce(&[Option<Vec<Placed>>]) -> Result<()>,
) -> Vec<Result<()>> {
    let mut flushed = {
        let files = outputs.iter().flat_map(|output| &output.staged);
        let files = files.map(|staged| (&**staged.file.as_file(), staged.made.as_ref()));
        flush(&files.collect::<Vec<_>>()).into_iter()
    };
    let prepare = |output: &mut Sealed| {
        // Each takes its own outcomes, also behind a failed one.
        let durable: Vec<_> = flushed.by_ref().take(output.staged.len()).collect();
        durable.into_iter().collect::<Result<()>>()?;
        output.prepare()
    };
    let mut outcomes: Vec<Result<()>> = Vec::with_capacity(outputs.len());
    let mut placed = Vec::with_capacity(outputs.len());
    for prepared in outputs.iter_mut().map(prepare) {
        match prepared {
            Ok(files) => {
                placed.push(Some(files));
                outcomes.push(Ok(()));
            }
            Err(error) => {
                placed.push(None);
                outcomes.push(Err(error));
            }
        }
    }
    if let Err(error) = record(&placed) {
        let message = error.message().to_owned();
        let kind = error.io_kind();
        let failed = |outcome: Result<()>| {
            let why = io::Error::new(kind, "nothing was put in its place");
            outcome.and(Err(Error::io(&message, why)))
        };
        return outcomes.into_iter().map(failed).collect();
    }
    let mut folders = BTreeSet::new();
    let rename = |(output, outcome): (Sealed, Result<()>)| match outcome {
        Ok(()) => output.rename(&mut folders),
        failed => failed,
    };
    let mut outcomes: Vec<_> = outputs.into_iter().zip(outcomes).map(rename).collect();
    if let Err(error) = folders.iter().try_for_each(|folder| sync_folder(folder.as_ref())) {
        // Which of them it concerns cannot be told; each is in its place.
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.is_ok()) {
            *outcome = Err(error);
        }
    }
    outcomes
}

/// The hash of a file's contents, in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn hash(file: io::Result<File>) -> Result<String> {
    let hashed = file.and_then(|mut file| {
        file.rewind()?;
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher)?;
        Ok(hasher.finalize().to_hex().to_string())
    });
    hashed.map_err(|error| Error::io("cannot read", error))
}

/// Creates a folder, and those above it; false if it is there.
///
/// # Errors
/// If the system refuses.
pub fn create_folder(folder: &Path) -> Result<bool> {
    if folder.is_dir() {
        return Ok(false);
    }
    let above = folder_of(folder);
    let created = fs::create_dir_all(above).and_then(|()| fs::create_dir(folder));
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        created => {
            let doing = || format!("cannot create the folder {}", folder.display());
            created.map(|()| true).map_err(|error| Error::io(doing(), error))
        }
    }
}
