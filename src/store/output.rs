//! Outputs that appear whole or not at all.
//!
//! The bytes go to temporary files beside the target, readable by their owner only. Once they are
//! all there the files are flushed to the disk and renamed to their places, and the folders are
//! flushed. Whatever happens before that leaves the target as it was.

use super::check::{check_in_place, check_part, check_target, is_special};
use super::input::Fingerprint;
use super::place::{keep_attributes, keep_original, keep_owner, rename_failed, sync_folder};
use super::temporary::temporary;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Sink, Spool};
use crate::repair::QUARANTINE;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
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
    /// One file.
    File(PathBuf),
    /// A file, and others beside it or below it.
    Files {
        /// The main part's path.
        main: PathBuf,
        /// What the other parts' names are put behind.
        stem: PathBuf,
    },
    /// The file that is read.
    InPlace(Backup),
}

impl Destination {
    /// The main file that is written, if the input is `source`.
    #[must_use]
    pub fn target<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::File(path) | Self::Files { main: path, .. } => Some(path),
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
    /// The input's files, and what they were like before they were read.
    sources: Vec<(PathBuf, Fingerprint)>,
    policy: Policy,
    /// Where the quarantine goes, if a person said so.
    quarantine: Option<PathBuf>,
    /// The parts that are to be put in their places, as they were created.
    staged: Vec<Staged>,
    /// The paths of all parts that were created.
    created: Vec<PathBuf>,
}

#[derive(Debug)]
struct Staged {
    file: NamedTempFile,
    target: PathBuf,
}

/// Names of originals that are kept end so, unless the person says otherwise.
pub const BACKUP: &str = ".bak";

impl Output {
    /// Checks what can be checked before the work: that nothing is written over that must not be.
    /// `sources` are the regular files that are read, the main part's first.
    ///
    /// # Errors
    /// If the target exists, is the input, or is a symbolic link to be changed in place.
    pub fn prepare(destination: Destination, sources: &[PathBuf], policy: Policy) -> Result<Self> {
        let before = |path: &PathBuf| Ok((path.clone(), Fingerprint::of(path)?));
        let output = Self {
            sources: sources.iter().map(before).collect::<Result<_>>()?,
            destination,
            policy,
            quarantine: None,
            staged: Vec::new(),
            created: Vec::new(),
        };
        match (&output.destination, sources) {
            (Destination::File(target) | Destination::Files { main: target, .. }, _) => {
                check_target(target, sources, policy)?;
            }
            (Destination::InPlace(_), [source, ..]) => check_in_place(source)?,
            _ => {}
        }
        Ok(output)
    }

    /// Says where the quarantine goes.
    #[must_use]
    pub fn quarantined(self, quarantine: Option<PathBuf>) -> Self {
        Self { quarantine, ..self }
    }

    /// Where the quarantine goes: where the person said, else beside the output, else beside the
    /// input. There it may be all that is left of what an earlier run found, so it never takes the
    /// place of one.
    fn quarantine(&self) -> Result<PathBuf> {
        let beside = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let stem = name.strip_suffix(".jsonl").unwrap_or(&name).to_owned();
            path.with_file_name(stem + QUARANTINE)
        };
        match (&self.quarantine, &self.destination) {
            (Some(path), _) => Ok(path.clone()),
            (None, Destination::File(target)) if !is_special(target) => Ok(beside(target)),
            (None, _) => match self.source() {
                Some(source) => Ok(untaken(beside(source))),
                None => Err(Error::request(Code::NoQuarantine, Code::NoQuarantine.title())),
            },
        }
    }

    fn source(&self) -> Option<&Path> {
        self.sources.first().map(|(path, _)| path.as_path())
    }

    fn target(&self) -> Option<&Path> {
        self.destination.target(self.source())
    }

    /// Where a part goes that is not the main one; `None` if that is nowhere.
    fn part(&self, name: &str) -> Result<Option<PathBuf>> {
        let target = match &self.destination {
            Destination::Nowhere => return Ok(None),
            Destination::Files { stem, .. } if self.quarantine.is_none() || name != QUARANTINE => {
                check_part(stem, name)?
            }
            _ if name == QUARANTINE => self.quarantine()?,
            _ => {
                let message = "the session takes several files, and there is room for one";
                return Err(Error::request(Code::OutputName, message));
            }
        };
        let sources: Vec<_> = self.sources.iter().map(|(path, _)| path.clone()).collect();
        check_target(&target, &sources, self.policy)?;
        Ok(Some(target))
    }

    /// Opens the file that takes a part's bytes until all are there.
    fn stage(&mut self, target: &Path) -> Result<File> {
        if is_special(target) {
            let file = OpenOptions::new().write(true).open(target);
            return file.map_err(|error| Error::io("cannot open for writing", error));
        }
        // Parts that stand deeper get their folders when they are put there; a run that is killed
        // leaves what it leaves in one place.
        let main = self.target().filter(|main| target.starts_with(folder_of(main)));
        let folder = folder_of(main.unwrap_or(target));
        create_folder(folder)?;
        // With no input whose permissions are kept, the output gets those of any new file.
        let file = temporary(folder, !self.sources.is_empty())?;
        let clone = file.as_file().try_clone().map_err(|e| Error::io("cannot write", e))?;
        self.staged.push(Staged { file, target: target.to_owned() });
        Ok(clone)
    }

    /// The path of the main part, or of the first part that was created where that was not.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        let main = self.target().filter(|main| self.created.iter().any(|path| path == main));
        main.or(self.created.first().map(PathBuf::as_path))
    }

    /// Whether the input is still as it was before it was read.
    ///
    /// # Errors
    /// If it is not.
    pub fn unchanged(&self) -> Result<()> {
        for (path, before) in &self.sources {
            if Fingerprint::of(path)? != *before {
                return Err(Error::request(Code::Changed, Code::Changed.title()));
            }
        }
        Ok(())
    }

    /// Puts the output in its place. Without this call, nothing of it remains.
    ///
    /// # Errors
    /// If the input changed meanwhile, the target appeared meanwhile, or the system refuses.
    pub fn commit(mut self) -> Result<()> {
        let staged = std::mem::take(&mut self.staged);
        for Staged { file, .. } in &staged {
            self.finish(file.as_file())?;
        }
        // The flush can take long; the check is worth most right before the renaming.
        self.unchanged()?;
        let mut folders = BTreeSet::new();
        for Staged { file, target } in staged {
            create_folder(folder_of(&target))?;
            self.put(file, &target)?;
            folders.insert(folder_of(&target).to_owned());
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }

    /// Makes a file what it is to be, and durable.
    fn finish(&self, file: &File) -> Result<()> {
        if let Some(source) = self.source() {
            keep_attributes(source, file)?;
            if matches!(self.destination, Destination::InPlace(_)) {
                keep_owner(source, file)?;
            }
        }
        file.sync_all().map_err(|error| Error::io("cannot flush to the disk", error))
    }

    fn put(&self, file: NamedTempFile, target: &Path) -> Result<()> {
        let in_place = self.source().filter(|source| {
            *source == target && matches!(self.destination, Destination::InPlace(_))
        });
        if let (Some(_), Destination::InPlace(Backup::Suffix(suffix))) =
            (in_place, &self.destination)
        {
            keep_original(target, suffix)?;
        }
        let over = self.policy.force || in_place.is_some();
        let put = if over { file.persist(target) } else { file.persist_noclobber(target) };
        put.map(drop).map_err(|error| rename_failed(target, error.error))
    }
}

impl Sink for Output {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        if self.policy.dry {
            return Ok(Box::new(io::sink()));
        }
        let target = match name {
            "" => self.target().map(Path::to_owned),
            _ => self.part(name)?,
        };
        self.created.extend(target.clone());
        match target {
            Some(target) => Ok(Box::new(self.stage(&target)?)),
            None if self.destination == Destination::Stdout && name.is_empty() => {
                Ok(Box::new(io::stdout()))
            }
            None => Ok(Box::new(io::sink())),
        }
    }

    fn takes_parts(&self) -> bool {
        matches!(self.destination, Destination::Nowhere | Destination::Files { .. })
    }

    fn stem(&self) -> Option<String> {
        let Destination::Files { stem, .. } = &self.destination else { return None };
        Some(stem.file_name()?.to_string_lossy().into_owned())
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

/// The same path, or with a number behind it if something stands there.
fn untaken(path: PathBuf) -> PathBuf {
    let numbered = |n: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{n}"));
        PathBuf::from(name)
    };
    let free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    if free(&path) {
        return path;
    }
    (2..).map(numbered).find(free).unwrap_or(path)
}

/// The folder that a file stands in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn create_folder(folder: &Path) -> Result<()> {
    let doing = || format!("cannot create the folder {}", folder.display());
    fs::create_dir_all(folder).map_err(|error| Error::io(doing(), error))
}

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        // The device stands for a file that may not be renamed over.
        let stdout = ["-", "/dev/stdout", "/dev/fd/1"].iter().any(|name| path == Path::new(name));
        if stdout { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}
