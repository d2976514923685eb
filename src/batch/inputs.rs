//! From the paths that a person gave to the files that are meant.

use super::filter::Filter;
use super::told::Told;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Error;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::repair::QUARANTINE;
use crate::store::{Among, BACKUP, TEMPORARY, below, folder_of, real_folder};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::{DirEntry, WalkDir};

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(Arc<Path>),
    /// Standard input.
    Stdin,
    /// Several files of a folder that all sessions of a software share.
    Whole(Whole),
    /// Sessions that are to be one, in their order.
    Joined {
        /// The agent that they are of.
        agent: String,
        /// Their files.
        files: Vec<Arc<Path>>,
    },
}

/// A session that is kept in several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The format.
    pub format: &'static Format,
    /// Its version.
    pub version: u32,
    /// Its place in the folder of all sessions.
    pub among: Among,
    /// The files, by the names of their parts.
    pub files: Vec<(String, Arc<Path>)>,
}

/// Why a file that was found in a folder is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It is a link, which may lead anywhere.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// A run made it: an original that was kept, what was set aside, or a temporary file.
    Ours,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Where it comes from.
    pub origin: Origin,
    /// Its place below an output folder, under its own name.
    pub relative: PathBuf,
    /// Whether the person named this very file; what is merely found may be no session at all.
    pub named: bool,
    /// Why it is only counted, if it is.
    pub passed_over: Option<Passed>,
}

impl Job {
    /// The name that people see.
    #[must_use]
    pub fn name(&self) -> Told {
        match &self.origin {
            Origin::File(path) => path.into(),
            Origin::Stdin => "-".to_owned().into(),
            Origin::Whole(whole) => {
                let mut name = whole.among.home.as_os_str().to_owned();
                name.push("#");
                name.push(&whole.among.session);
                PathBuf::from(name).into()
            }
            Origin::Joined { agent, files } => format!("{agent} ({} files)", files.len()).into(),
        }
    }

    /// The file's path, if it is one file.
    #[must_use]
    pub fn path(&self) -> Option<&Arc<Path>> {
        match &self.origin {
            Origin::File(path) => Some(path),
            Origin::Stdin | Origin::Whole(_) | Origin::Joined { .. } => None,
        }
    }

    /// All its files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let (parts, joined): (&[_], &[_]) = match &self.origin {
            Origin::Whole(whole) => (&whole.files, &[]),
            Origin::Joined { files, .. } => (&[], files),
            Origin::File(_) | Origin::Stdin => (&[], &[]),
        };
        let parts = parts.iter().map(|(_, path)| &**path);
        self.path()
            .map(|path| &**path)
            .into_iter()
            .chain(parts)
            .chain(joined.iter().map(|path| &**path))
    }

    /// How many bytes there are to read; `None` where only reading tells.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        if self.origin == Origin::Stdin {
            return None;
        }
        let files = self.files().filter(|_| self.passed_over.is_none());
        files.map(|file| size(std::fs::metadata(file).ok())).sum()
    }

    /// A file that was found in a folder.
    #[must_use]
    pub fn found(path: impl Into<Arc<Path>>, relative: PathBuf) -> Self {
        Self { origin: Origin::File(path.into()), relative, named: false, passed_over: None }
    }
}

/// What was found in folders, and what was not looked at.
#[derive(Debug, Default)]
pub struct Listed {
    /// The inputs.
    pub jobs: Vec<Job>,
    /// What could not be looked at.
    pub errors: Vec<(PathBuf, Error)>,
    /// What was left out.
    pub left: Vec<(PathBuf, Diagnostic)>,
}

/// What runs write into folders that they walk, which is no input.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The ending of originals that are kept.
    pub backup: Option<String>,
    /// The folder of outputs.
    pub folder: Option<PathBuf>,
}

/// Finds the files that `paths` mean. Folders are walked in the order of names, without following
/// links but those that were named, for files that `filter` takes and that are not `written` by
/// runs like this one. What cannot be looked at comes back as an error with its path.
#[must_use]
pub fn expand(paths: &[PathBuf], filter: &Filter, written: &Written) -> Listed {
    let output = written.folder.as_ref().and_then(|folder| folder.canonicalize().ok());
    let backup = written.backup.as_deref();
    let mut walk = Walk { filter, backup, output, found: Listed::default() };
    let mut roots = HashSet::new();
    for path in paths {
        if path == Path::new("-") {
            walk.found.jobs.push(Job {
                origin: Origin::Stdin,
                relative: "stdin".into(),
                named: true,
                passed_over: None,
            });
        } else if path.is_dir() {
            // Several inputs share the output folder, so each folder gets one of its own in it.
            let root = if paths.len() > 1 { unused(&mut roots, path) } else { PathBuf::new() };
            walk.folder(path, &root);
        } else {
            let relative = PathBuf::from(path.file_name().unwrap_or_default());
            let origin = Origin::File(path.as_path().into());
            walk.found.jobs.push(Job { origin, relative, named: true, passed_over: None });
        }
    }
    if paths.len() > 1 {
        once(&mut walk.found);
    }
    walk.found
}

/// Leaves out files that come again, by whatever path.
fn once(found: &mut Listed) {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut seen = HashSet::new();
    let left = &mut found.left;
    found.jobs.retain(|job| {
        let Some(path) = job.path() else { return true };
        let folder = folder_of(path);
        // Files are many, folders are few.
        let real = folders.entry(folder.to_owned()).or_insert_with(|| real_folder(folder));
        let new = seen.insert(real.join(path.file_name().unwrap_or_default()));
        if !new {
            let note = Diagnostic::new(Code::NamedTwice, Code::NamedTwice.title());
            left.push((path.to_path_buf(), note));
        }
        new
    });
}

/// The folder's own name, or that with a number if an earlier one has it.
fn unused(roots: &mut HashSet<PathBuf>, folder: &Path) -> PathBuf {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or(OsStr::new("root")).to_owned();
    let mut root = PathBuf::from(&name);
    for n in 2.. {
        if roots.insert(root.clone()) {
            break;
        }
        let mut numbered = name.clone();
        numbered.push(format!("-{n}"));
        root = numbered.into();
    }
    root
}

/// A regular file's size; what is not there has nothing to read.
fn size(meta: Option<Metadata>) -> Option<u64> {
    meta.map_or(Some(0), |meta| meta.is_file().then_some(meta.len()))
}

/// A walk through folders, and what it found.
struct Walk<'a> {
    filter: &'a Filter,
    backup: Option<&'a str>,
    /// The real path of the folder of outputs, if it is there.
    output: Option<PathBuf>,
    found: Listed,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, root: &Path) {
        let filter = self.filter;
        let output = self.output_inside(folder);
        let wanted = |entry: &DirEntry| {
            let is_folder = entry.file_type().is_dir();
            // Files are many.
            if !is_folder && filter.takes_all() {
                return true;
            }
            let inside = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            match is_folder {
                true if output.as_deref() == Some(inside) => false,
                true => entry.depth() == 0 || filter.enters(inside),
                // A link may lead to a folder that nobody wants.
                false if entry.path_is_symlink() && !filter.enters(inside) => false,
                false => filter.takes(inside),
            }
        };
        // Of files in one folder the paths are in the order of the names.
        let by_name = |a: &DirEntry, b: &DirEntry| a.path().as_os_str().cmp(b.path().as_os_str());
        for entry in WalkDir::new(folder).sort_by(by_name).into_iter().filter_entry(wanted) {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => self.file(entry, folder, root),
                Err(error) => self.failed(error, folder),
            }
        }
    }

    /// The path of the folder of outputs in a folder above it, which is told to be left out.
    fn output_inside(&mut self, folder: &Path) -> Option<PathBuf> {
        let real = folder.canonicalize().ok()?;
        let inside = self.output.as_ref()?.strip_prefix(real).ok()?.to_owned();
        let mut way = inside.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        if inside.as_os_str().is_empty() || !way.all(|folder| self.filter.enters(folder)) {
            return None;
        }
        let message = "the output folder is left out of the folder above it";
        let note = Diagnostic::new(Code::OutputInside, message);
        self.found.left.push((folder.join(&inside), note));
        Some(inside)
    }

    fn file(&mut self, entry: DirEntry, folder: &Path, root: &Path) {
        let kind = entry.file_type();
        // A folder that was named by a link to it is walked.
        if entry.depth() == 0 && kind.is_symlink() {
            return;
        }
        let passed_over = match () {
            () if is_ours(entry.file_name(), self.backup) => Some(Passed::Ours),
            () if kind.is_symlink() => Some(Passed::Link),
            () => (!kind.is_file()).then_some(Passed::Special),
        };
        let inside = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        self.found.jobs.push(Job {
            relative: below(root, inside),
            named: false,
            passed_over,
            origin: Origin::File(entry.into_path().into()),
        });
    }

    fn failed(&mut self, error: walkdir::Error, folder: &Path) {
        let path = error.path().unwrap_or(folder).to_owned();
        let found = match error.into_io_error() {
            Some(error) => Error::io("cannot read the folder", error),
            None => Error::request(Code::Io, "links form a loop"),
        };
        self.found.errors.push((path, found));
    }
}

/// Whether a file is one of our own: temporary, what repair set aside, or the original of one that was changed in place,
/// whose name may end in a number.
fn is_ours(name: &OsStr, backup: Option<&str>) -> bool {
    let name = name.as_encoded_bytes();
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let numberless = name.get(..name.len() - digits).unwrap_or_default();
    let plain = numberless.strip_suffix(b".").filter(|_| digits > 0).unwrap_or(name);
    let ours = [Some(BACKUP), backup, Some(QUARANTINE)];
    name.starts_with(TEMPORARY.as_bytes())
        || ours.iter().flatten().any(|suffix| plain.ends_with(suffix.as_bytes()))
}

/// A file name without the ending that its format gives it.
#[must_use]
pub fn stem(name: &str) -> &str {
    let endings = FORMATS.iter().flat_map(|format| format.extensions);
    let longest = endings.filter(|ending| name.ends_with(**ending)).max_by_key(|e| e.len());
    let stem = longest.and_then(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn originals_that_were_kept_are_no_inputs() {
        let ours = |name: &str| is_ours(OsStr::new(name), Some(".orig"));
        for name in [
            "a.jsonl.bak",
            "a.jsonl.bak.12",
            "a.orig",
            "a.orig.2",
            ".copyist-7-x.tmp",
            "a.quarantine.jsonl.2",
        ] {
            assert!(ours(name), "{name}");
        }
        for name in ["a.jsonl", "a.2", "bak.jsonl", "a.bak.jsonl", "12"] {
            assert!(!ours(name), "{name}");
        }
    }

    #[test]
    fn the_longest_ending_goes() {
        assert_eq!(stem("a.v1.jsonl"), "a.v1");
        assert_eq!(stem("a.copyist.jsonl"), "a");
        assert_eq!(stem("notes.txt"), "notes.txt");
        assert_eq!(stem(".jsonl"), ".jsonl");
    }
}
