//! Complete outputs, of which many are put in their places after a single wait for the disk.

use super::barrier::{flush, sync_folder};
use super::check::{Existing, exists};
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::origin_name::remove_old;
use super::replacement::{Backups, rename_failed, replace};
use super::shared::{Alone, Live};
use super::temporary::Temporary;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An output that is complete and waits for its place. If it is dropped, nothing of it remains.
#[derive(Debug, Default)]
pub struct Sealed {
    /// The files, in the order in which they get their places.
    pub(super) staged: Vec<Staged>,
    /// The files that were read, and their fingerprints before reading.
    pub(super) sources: Vec<(Arc<Path>, Fingerprint)>,
    /// The changes of existing files that sessions share.
    pub(super) live: Vec<Live>,
    /// The lock on shared files, held until the new contents are in place.
    pub(super) alone: Option<Alone>,
    /// Whether files that were read are replaced.
    pub(super) in_place: bool,
    /// Whether later changes to the files that were read do not matter.
    pub(super) settled: bool,
    /// The ending of the names under which originals are kept.
    pub(super) backup: Option<String>,
    /// The originals that have a backup and are not replaced yet.
    pub(super) backups: Backups,
}

/// A file that waits for its place.
#[derive(Debug)]
pub(super) struct Staged {
    /// The file with its contents.
    pub file: Temporary,
    /// The file's metadata since the last write to it.
    pub made: Option<Metadata>,
    /// The file's final path.
    pub target: Arc<Path>,
    /// Whether the final path is in another folder, which may not exist yet.
    pub elsewhere: bool,
    /// Treatment of an existing file at the final path.
    pub meets: Meets,
    /// Whether an existing file may be overwritten.
    pub over: bool,
    /// Whether the file contains quarantined data.
    pub aside: bool,
    /// Whether the file is the origin of the other files.
    pub origin: bool,
}

/// Treatment of an existing file at an output's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// The work fails, unless the user allows that the file is overwritten.
    Stop,
    /// The existing file stays, because sessions share it and it is equivalent.
    Stays,
    /// The work fails: sessions share the file, and another program made it meanwhile.
    Shared,
}

/// A file immediately before it gets its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The final path.
    pub path: Arc<Path>,
    /// The file's fingerprint. A rename does not change it.
    pub fingerprint: Fingerprint,
    /// The path of the backup of the original that the file replaces.
    pub backup: Option<PathBuf>,
    /// Whether the file contains quarantined data.
    pub aside: bool,
}

impl Staged {
    /// Whether a file with the same contents is in its place already. Where that is no reason to
    /// leave it there, or the contents differ, an existing file is an error.
    pub(super) fn is_complete(&self, completes: bool) -> Result<bool> {
        let Self { file, target, meets, over, .. } = self;
        if *over || *meets != Meets::Stop || Existing::at(target) == Existing::Nothing {
            return Ok(false);
        }
        if completes && hash(file.as_file().try_clone())? == hash(File::open(target))? {
            return Ok(true);
        }
        Err(exists(target))
    }
}

impl Sealed {
    /// Returns the files that were read, and their fingerprints before reading.
    pub fn sources(&self) -> &[(Arc<Path>, Fingerprint)] {
        &self.sources
    }

    /// Whether other outputs wait for this one, because it changes a file that sessions share.
    pub fn is_urgent(&self) -> bool {
        self.alone.is_some()
    }

    /// Whether there is nothing to do: no file waits for a place, and no shared file is changed.
    pub fn is_empty(&self) -> bool {
        self.staged.is_empty() && self.live.is_empty()
    }

    /// Returns how many files the output has open.
    pub fn files(&self) -> usize {
        self.staged.len()
    }

    /// Returns how many bytes wait to be flushed, as far as that is known.
    pub fn bytes(&self) -> u64 {
        let made = self.staged.iter().filter_map(|staged| staged.made.as_ref());
        made.map(Metadata::len).sum()
    }

    /// Returns the hashes of the files that belong to this session alone.
    pub fn hashes(&self) -> Result<Vec<String>> {
        self.own().map(|staged| hash(staged.file.as_file().try_clone())).collect()
    }

    fn own(&self) -> impl Iterator<Item = &Staged> {
        self.staged.iter().filter(|staged| staged.meets == Meets::Stop)
    }

    /// Returns the fingerprint that the file at `target` had before, if a new one replaces it.
    fn replaced(&self, target: &Path) -> Option<&Fingerprint> {
        let sources = if self.in_place { self.sources.as_slice() } else { &[] };
        sources.iter().find(|(source, _)| **source == *target).map(|(_, before)| before)
    }

    /// Runs the last checks and creates the backups. Returns the files that belong to this session
    /// alone, with their final paths.
    fn prepare(&mut self) -> Result<Vec<Placed>> {
        // The flush can take long, and most outputs of a group need no further request to the
        // system.
        let sources = if self.settled { &[] } else { self.sources.as_slice() };
        sources.iter().try_for_each(|(path, before)| before.holds(path))?;
        let (mut placed, mut backups) = (Vec::new(), std::mem::take(&mut self.backups));
        for staged in self.staged.iter().filter(|staged| staged.elsewhere) {
            create_folder(folder_of(&staged.target), false)?;
        }
        for staged in self.own() {
            let before = self.replaced(&staged.target);
            let backup = match self.backup.as_ref().zip(before) {
                Some((suffix, before)) => Some(backups.keep(&staged.target, before, suffix)?),
                None => None,
            };
            let fingerprint = match &staged.made {
                Some(made) => Fingerprint::from(made),
                None => Fingerprint::of_open(staged.file.as_file())?,
            };
            let (path, aside) = (Arc::clone(&staged.target), staged.aside);
            placed.push(Placed { path, fingerprint, backup, aside });
        }
        self.backups = backups;
        Ok(placed)
    }

    /// Renames the files to their places, and adds their folders to `folders`.
    fn rename(mut self, folders: &mut BTreeSet<OsString>) -> Result<()> {
        // From here on no other program can change what sessions share.
        let commits = self.live.iter().map(Live::begin).collect::<Result<Vec<_>>>()?;
        let mut staged = std::mem::take(&mut self.staged);
        settle_origins(&mut staged, self.in_place)?;
        for Staged { file, target, meets, over, .. } in staged {
            let put = match self.replaced(&target) {
                Some(before) => {
                    let file = file.named(folder_of(&target));
                    let file = file.map_err(|error| rename_failed(&target, error))?;
                    replace(file, &target, before)?;
                    self.backups.stay(&target);
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
        commits.into_iter().try_for_each(|commit| commit())
    }
}

/// Ensures that an origin is never beside a file that it does not belong to. The old origins of
/// replaced files are removed first, and the new origin is renamed last.
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

/// Puts outputs in their places. All of them are durable before the first one is renamed. Between
/// these two steps, `record` receives the files of each output (`None` for those that failed). If
/// `record` fails, nothing is renamed. Returns one outcome for each output.
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
        // Each output takes its own outcomes, also after one that failed.
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
            let why = io::Error::new(kind, "nothing was written in its place");
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
        // It is not known which outputs the error concerns; all of them are in their places.
        if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.is_ok()) {
            *outcome = Err(error);
        }
    }
    outcomes
}

/// Returns the hash of a file's contents, in hexadecimal digits.
pub fn hash(file: io::Result<File>) -> Result<String> {
    let hashed = file.and_then(|mut file| {
        file.rewind()?;
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher)?;
        Ok(hasher.finalize().to_hex().to_string())
    });
    hashed.map_err(|error| Error::io("cannot read", error))
}

/// Creates a folder and the folders above it; false if the folder exists already. If they are
/// `private`, only their owner can access them.
pub fn create_folder(folder: &Path, private: bool) -> Result<bool> {
    if folder.is_dir() {
        return Ok(false);
    }
    let mut new = fs::DirBuilder::new();
    #[cfg(unix)]
    if private {
        std::os::unix::fs::DirBuilderExt::mode(&mut new, 0o700);
    }
    #[cfg(not(unix))]
    let _ = private;
    new.recursive(true);
    let created = new.create(folder_of(folder)).and_then(|()| new.recursive(false).create(folder));
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        created => {
            let doing = || format!("cannot create the folder {}", folder.display());
            created.map(|()| true).map_err(|error| Error::io(doing(), error))
        }
    }
}
